"""What a user gives as a source: the name of a backend, its URL, or the URL of a trace's page."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple
from urllib.parse import unquote

from failgraph.backends.backend_settings import BACKEND_KINDS, BackendKind, configured_base
from failgraph.backends.grafana_pages import grafana_trace
from failgraph.backends.trace_ids import whole_trace_id
from failgraph.backends.urls import base_url, parse_url
from failgraph.errors import SourceError
from failgraph.redaction.display import display
from failgraph.settings import Settings
from failgraph.text import did_you_mean

_TRACE_PAGE = re.compile(
    r"(?P<prefix>.*?)/(?P<what>trace|api/v1/traces|api/traces|api/v[23]/traces)/(?P<id>[^/]+)/?"
)
_KIND_OF_PAGE: dict[str, BackendKind] = {
    "trace": "jaeger",
    "api/v3/traces": "jaeger",
    "api/v2/traces": "tempo",
}
_JAEGER_SEARCH_PAGE = re.compile(r"(?P<prefix>.*)/search/?")
_GRAFANA_PAGE = re.compile(r".*/(explore|a/grafana-exploretraces-app(/.*)?)/?")
_HOST_AND_PORT = re.compile(r"[A-Za-z0-9._-]+:[0-9]{1,5}(/.*)?")
_PATH = re.compile(r"[/\\]|\.[A-Za-z][A-Za-z0-9]{0,9}$")
_SOURCES = "A source is a file, a directory, -, jaeger, tempo or a URL."


class Address(NamedTuple):
    """Where to read a trace, or the traces that a search finds.

    Attributes:
        kind: The backend, or None if only asking it tells.
        base: Scheme, host, port and the path before `/api`, without a slash at the end; never holds
            credentials.
        trace_id: 32 hex digits, or None to search.
    """

    kind: BackendKind | None
    base: str
    trace_id: str | None = None


def names_source(text: str, exists: Callable[[str], bool]) -> bool:
    """Return True if a text can only be meant as a source, even as one that does not exist.

    Anything else may be an id. What has a slash or an extension is meant as a file.

    Args:
        text: What the user gave.
        exists: Returns True if there is a file with a name.
    """
    if text == "-" or text in BACKEND_KINDS or exists(text):
        return True
    return _PATH.search(text) is not None or _HOST_AND_PORT.fullmatch(text) is not None


def address_of(source: str, settings: Settings, exists: Callable[[str], bool]) -> Address | None:
    """Return the backend that `source` names, or None if it is a file or standard input.

    A file wins over a backend of the same name.

    Args:
        source: What the user gave.
        settings: The settings, which say where each backend is.
        exists: Returns True if there is a file with a name.

    Raises:
        SourceError: It is neither, or it is a URL that cannot be used.
    """
    if source == "-" or exists(source):
        return None
    for kind in BACKEND_KINDS:
        if source == kind:
            return Address(kind, configured_base(kind, settings))
    if "://" in source:
        return _address_of_url(source.strip(), settings)
    lacks_scheme = _HOST_AND_PORT.fullmatch(source)
    if "/" in source and not lacks_scheme:
        return None  # a path: the reader says what is wrong with it
    if not source:
        raise SourceError(f"the source is empty. {_SOURCES}")
    shown = display(source)
    hint = f"Did you mean http://{shown}?" if lacks_scheme else _SOURCES
    raise SourceError(f"{shown}: no such file{did_you_mean(source, BACKEND_KINDS)}. {hint}")


def _address_of_url(source: str, settings: Settings) -> Address:
    url = parse_url(source)
    if _GRAFANA_PAGE.fullmatch(url.path):
        # The page names a trace but not its API. Grafana's proxy for that needs a login of its own.
        kind, trace_id = grafana_trace(url)
        return Address(kind, configured_base(kind, settings), trace_id)
    page = _TRACE_PAGE.fullmatch(url.path)
    if page is not None:
        base = base_url(url._replace(path=page["prefix"]))
        return Address(_KIND_OF_PAGE.get(page["what"]), base, _trace_id(unquote(page["id"])))
    search = _JAEGER_SEARCH_PAGE.fullmatch(url.path)
    if search is not None:
        return Address("jaeger", base_url(url._replace(path=search["prefix"])))
    base = base_url(url)
    kinds = [kind for kind in BACKEND_KINDS if base == configured_base(kind, settings)]
    return Address(kinds[0] if len(kinds) == 1 else None, base)


def _trace_id(text: str) -> str:
    trace_id = whole_trace_id(text)
    if trace_id is None:
        raise SourceError(
            f"invalid trace id {display(text)} in the URL; it must have 16 or 32 hex digits"
        )
    return trace_id
