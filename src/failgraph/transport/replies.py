"""Take in the failure reports that peers send with their replies."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

from failgraph.diagnostics import count, guard
from failgraph.exceptions.reports import rebuild_failure
from failgraph.failure.records import FailureReport
from failgraph.recording.hop import running_hop
from failgraph.recording.recorder import recorder
from failgraph.transport import gym_codec, headers
from failgraph.transport.header_decoder import decode_spans
from failgraph.transport.peers import is_peer


def receive_report(host: str, value_of: Callable[[str], str | None]) -> FailureReport | None:
    """Record the report of a reply in the running hop, if the reply comes from a peer.

    Args:
        host: Where the reply comes from, without a port.
        value_of: Returns the value of a header by its name, or None.

    Returns:
        The report, or None if there is none or it is not believed.
    """
    with guard("reading a reply"):
        value = value_of(headers.REPORT)
        if value is None or not is_peer(host):
            return None
        hop = running_hop()
        if hop is not None:
            hop.on_report_received(value)
        report = gym_codec.decode_report(value)
        if report is None:
            count("report_unreadable")
            return None
        recorder().record_reply(report, decode_spans(value_of(headers.SPANS) or ""))
        return report
    return None


def raise_for_failure(response: Any) -> None:
    """Raise the failure that a peer's failing reply carries, with its causes as `__cause__`.

    Raises nothing without such a failure, so call the client's own `raise_for_status` after it.
    `raise … from` what was raised here continues the failure graph.

    Args:
        response: A response of aiohttp, httpx or requests.

    Raises:
        NgFailureEvent: The status is 400 or more and the report has an own failure.
    """
    failure = None
    with guard("raise_for_failure"):
        status: int = getattr(response, "status", 0) or getattr(response, "status_code", 0)
        fields: Mapping[str, str] = response.headers
        value = fields.get(headers.REPORT)
        if value is not None and status >= 400 and is_peer(_host(response)):
            report = gym_codec.decode_report(value)
            failure = rebuild_failure(report) if report is not None else None
    if failure is not None:
        raise failure


def _host(response: Any) -> str:
    """Return where a response came from. Its `url` is text or an object of the client's own."""
    url = response.url
    return (urlsplit(url).hostname if isinstance(url, str) else url.host) or ""
