"""Replies of peers: what they say of their failures is taken into the hop that asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from failgraph.diagnostics import count, guard
from failgraph.exceptions.reports import rebuild_failure
from failgraph.failure.records import FailureReport
from failgraph.recording.hop import running_hop
from failgraph.recording.recorder import recorder
from failgraph.transport import gym_codec, headers
from failgraph.transport.peers import is_peer
from failgraph.transport.request import contexts


def take(host: str, value_of: Callable[[str], str | None]) -> FailureReport | None:
    """Take in the report of a reply from `host`, if it is a peer; `value_of` gives a header's value by its name."""
    with guard("reading a reply"):
        value = value_of(headers.REPORT)
        if value is None or not is_peer(host):
            return None
        hop = running_hop()
        if hop is not None:
            hop.on_report_received(value)
        report = gym_codec.decode(value)
        if report is None:
            count("report_unreadable")
            return None
        recorder().record_reply(
            report, contexts(headers.decode_spans(value_of(headers.SPANS) or ""))
        )
        return report
    return None


def raise_for_failure(response: Any) -> None:
    """Raise the failure that a failing reply (400 or more) of a peer is, with its causes as `__cause__`.

    Takes a response of aiohttp, httpx or requests. Without a failure in it nothing is raised: a call of the client's
    own `raise_for_status` belongs after it. `raise … from` what was raised here continues the failure graph.
    """
    failure = None
    with guard("raise_for_failure"):
        status: int = getattr(response, "status", 0) or getattr(response, "status_code", 0)
        fields: Mapping[str, str] = response.headers
        value = fields.get(headers.REPORT)
        if value is not None and status >= 400 and is_peer(_host(response)):
            report = gym_codec.decode(value)
            failure = rebuild_failure(report) if report is not None else None
    if failure is not None:
        raise failure


def _host(response: Any) -> str:
    """The host that a response came from: `url` is an object of the client's own, or text."""
    from urllib.parse import urlsplit

    url = response.url
    return (urlsplit(url).hostname if isinstance(url, str) else url.host) or ""
