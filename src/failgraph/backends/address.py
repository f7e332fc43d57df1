"""What somebody gives as a source, to a backend and a trace: `jaeger`, a base URL, or the address of a trace's page."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Literal, NamedTuple, cast
from urllib.parse import SplitResult, parse_qs, unquote, urlsplit

from failgraph.errors import SourceError
from failgraph.redaction.display import display
from failgraph.settings import Settings
from failgraph.settings.names import JAEGER_HEADERS, JAEGER_URL, TEMPO_HEADERS, TEMPO_URL

Kind = Literal["jaeger", "tempo"]

KINDS: tuple[Kind, ...] = ("jaeger", "tempo")
"""The backends that are read, also as sources: at the address of their settings."""

URLS = {"jaeger": JAEGER_URL, "tempo": TEMPO_URL}
"""The setting that says where a backend is."""

HEADERS = {"jaeger": JAEGER_HEADERS, "tempo": TEMPO_HEADERS}
"""The setting that holds what to send along, to that place only."""

_TRACE_ID = re.compile(r"[0-9a-fA-F]{16}|[0-9a-fA-F]{32}")
_TRACE_PAGE = re.compile(
    r"(?P<prefix>.*?)/(?P<what>trace|api/v1/traces|api/traces|api/v[23]/traces)/(?P<id>[^/]+)/?"
)
_KIND_OF_PAGE: dict[str, Kind] = {
    "trace": "jaeger",
    "api/v3/traces": "jaeger",
    "api/v2/traces": "tempo",
}
_JAEGER_PAGE = re.compile(r"(?P<prefix>.*)/search/?")
_GRAFANA_PAGE = re.compile(r".*/(explore|a/grafana-exploretraces-app(/.*)?)/?")
_HOST = re.compile(r"[A-Za-z0-9_]([A-Za-z0-9._-]{0,252})|\[[0-9A-Fa-f:.]{2,45}\]")
_UNSAFE = re.compile(r"[\x00-\x20\x7f\\]")
_PATH = re.compile(r"(/[A-Za-z0-9._~!$&'()*+,;=:@%-]*)*")
_PLACE = re.compile(r"[A-Za-z0-9._-]+:[0-9]{1,5}(/.*)?")
_SOURCES = (
    "give a file, - for standard input, jaeger, tempo, or an address such as http://localhost:16686"
)


class Address(NamedTuple):
    """Where a trace, or all of a backend's, can be asked for."""

    kind: Kind | None
    """None: whichever it is has to be found out by asking."""
    base: str
    """Scheme, host, port and the path before `/api`, without a slash at its end, and never with credentials."""
    trace_id: str | None = None
    """32 hex digits; None for the traces that a search finds."""


def address_of(source: str, settings: Settings, exists: Callable[[str], bool]) -> Address | None:
    """The backend that `source` is; None where it is a file or standard input. A file wins over a backend's name.

    Raises SourceError where it is neither.
    """
    if source == "-" or exists(source):
        return None
    for kind in KINDS:
        if source == kind:
            return Address(kind, configured(kind, settings))
    if "://" in source:
        return _address(source.strip(), settings)
    is_place = _PLACE.fullmatch(source)
    if "/" in source and not is_place:
        return None  # a path; the reader says what is wrong with it
    meant = f"did you mean http://{source}?" if is_place else _SOURCES
    raise SourceError(f"{display(source) or 'an empty text'} is no file that is there; {meant}")


def configured(kind: Kind, settings: Settings) -> str:
    """The base of a backend as its setting has it. Raises SourceError, naming the setting."""
    url = settings.jaeger_url if kind == "jaeger" else settings.tempo_url
    return _base(_split(url, URLS[kind]), URLS[kind])


def headers_for(kind: Kind, base: str, settings: Settings) -> tuple[tuple[str, str], ...]:
    """What is sent along to `base`: the configured headers where it is of the configured origin, else nothing.

    Raises SourceError where they would travel in the clear to another machine.
    """
    headers = settings.jaeger_headers if kind == "jaeger" else settings.tempo_headers
    if not headers or origin(base) != origin(configured(kind, settings)):
        return ()
    if base.startswith("http://") and not is_loopback(base):
        raise SourceError(
            f"{HEADERS[kind]} is not sent to {shown(base)}: over plain http everybody on the way could read it; use"
            f" https in {URLS[kind]}"
        )
    return headers


def origin(base: str) -> tuple[str, str, int]:
    """Scheme, host and port of an address."""
    url = urlsplit(base)
    return (
        url.scheme,
        (url.hostname or "").lower(),
        url.port or (443 if url.scheme == "https" else 80),
    )


def is_loopback(base: str) -> bool:
    """Whether an address is of this machine, by how it is written."""
    host = origin(base)[1]
    return host in ("localhost", "::1") or re.fullmatch(r"127(\.[0-9]{1,3}){3}", host) is not None


def shown(url: str) -> str:
    """An address as it may stand in a message: without user, query and fragment, and without what looks secret."""
    try:
        parts = urlsplit(url)
        port = "" if parts.port is None else f":{parts.port}"
        host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    except ValueError:
        return "an address that is none"
    return display(f"{parts.scheme}://{host}{port}{parts.path}" if host else parts.path or "/")


def _address(source: str, settings: Settings) -> Address:
    url = _split(source, None)
    if _GRAFANA_PAGE.fullmatch(url.path):
        # The page says which trace, but not where the API is: Grafana hands that on, with a session that is not ours.
        kind, trace_id = _grafana(url)
        return Address(kind, configured(kind, settings), trace_id)
    page = _TRACE_PAGE.fullmatch(url.path)
    if page is not None:
        base = _base(url._replace(path=page["prefix"]), None)
        return Address(_KIND_OF_PAGE.get(page["what"]), base, _trace_id(unquote(page["id"])))
    searching = _JAEGER_PAGE.fullmatch(url.path)
    if searching is not None:
        return Address("jaeger", _base(url._replace(path=searching["prefix"]), None))
    base = _base(url, None)
    of_settings = [kind for kind in KINDS if base == configured(kind, settings)]
    return Address(of_settings[0] if len(of_settings) == 1 else None, base)


def _split(source: str, setting: str | None) -> SplitResult:
    """The parts of an address that every program reads in the same way; what is not such a one is refused."""
    what = f"{setting}: {shown(source)}" if setting else shown(source)
    try:
        url = urlsplit(source)
        port = url.port
    except ValueError:
        raise SourceError(
            f"{setting or 'the source'} is no address such as http://localhost:16686"
        ) from None
    if url.scheme not in ("http", "https"):
        raise SourceError(f"{what} is no address that begins with http:// or https://")
    if "@" in url.netloc:
        where = setting or "the address"
        raise SourceError(
            f"{where} holds a user name or a password, which is not sent that way; leave it out, and put an"
            f" Authorization into {JAEGER_HEADERS} or {TEMPO_HEADERS}"
        )
    host = url.netloc.removesuffix(":") if port is None else url.netloc.rpartition(":")[0]
    if _UNSAFE.search(source) or not _HOST.fullmatch(host):
        raise SourceError(f"{what} is no address such as http://localhost:16686")
    return url


def _base(url: SplitResult, setting: str | None) -> str:
    path = url.path.rstrip("/")
    if not _PATH.fullmatch(path):
        raise SourceError(
            f"{setting or 'the address'} has characters in its path that belong percent-encoded"
        )
    return f"{url.scheme}://{url.netloc.removesuffix(':').lower()}{path}"


def _trace_id(text: str) -> str:
    if not _TRACE_ID.fullmatch(text):
        raise SourceError(f"{display(text)} in the address is no trace id of 16 or 32 hex digits")
    return text.lower().zfill(32)


def _grafana(url: SplitResult) -> tuple[Kind, str]:
    """The trace that a page of Grafana shows, and what kind of data source it is from."""
    try:
        fields = parse_qs(url.query, max_num_fields=200)
    except ValueError:
        fields = {}
    found = {
        (_kind(ds), id_.lower().zfill(32)) for ds, id_ in _named(fields) if _TRACE_ID.fullmatch(id_)
    }
    if len(found) != 1:
        what = "names no trace" if not found else f"names {len(found)} traces"
        raise SourceError(
            f"the address of Grafana's page {what}; open one trace there, or ask for it: failgraph show tempo TRACE_ID"
        )
    return found.pop()


def _kind(data_source: object) -> Kind:
    return "jaeger" if "jaeger" in json.dumps(data_source, default=str).lower() else "tempo"


def _named(fields: dict[str, list[str]]) -> Iterator[tuple[object, str]]:
    """Each text of a page's address that can be a trace id, with its data source."""
    for name in ("traceId", "traceID"):
        yield from (("tempo", value.strip()) for value in fields.get(name, ()))
    for value in (value for name in ("panes", "left", "right") for value in fields.get(name, ())):
        yield from _queries(_json(value), "")


def _json(text: str) -> object:
    try:
        return cast("object", json.loads(text))
    except (ValueError, RecursionError):
        return None


def _queries(value: object, data_source: object) -> Iterator[tuple[object, str]]:
    if isinstance(value, dict):
        data_source = value.get("datasource", data_source)
        query = value.get("query")
        if isinstance(query, str):
            yield data_source, query.strip()
    for item in (
        value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    ):
        yield from _queries(item, data_source)
