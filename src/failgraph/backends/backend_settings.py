"""What the settings say of each backend: where it is, and which headers it gets."""

from __future__ import annotations

from typing import Final, Literal

from failgraph.backends.urls import base_url, display_url, is_loopback, origin, parse_url
from failgraph.errors import SourceError
from failgraph.settings import Settings
from failgraph.settings.names import JAEGER_HEADERS, JAEGER_URL, TEMPO_HEADERS, TEMPO_URL

BackendKind = Literal["jaeger", "tempo"]

BACKEND_KINDS: Final[tuple[BackendKind, ...]] = ("jaeger", "tempo")
"""The backends that can be read; each name is also a source, at the address of its setting."""

URL_SETTINGS: Final[dict[BackendKind, str]] = {"jaeger": JAEGER_URL, "tempo": TEMPO_URL}
HEADERS_SETTINGS: Final[dict[BackendKind, str]] = {
    "jaeger": JAEGER_HEADERS,
    "tempo": TEMPO_HEADERS,
}


def configured_base(kind: BackendKind, settings: Settings) -> str:
    """Return the base URL that the settings give a backend.

    Raises:
        SourceError: The setting, which the message names, holds no usable URL.
    """
    url = settings.jaeger_url if kind == "jaeger" else settings.tempo_url
    return base_url(parse_url(url, URL_SETTINGS[kind]), URL_SETTINGS[kind])


def headers_for(kind: BackendKind, base: str, settings: Settings) -> tuple[tuple[str, str], ...]:
    """Return the headers to send to `base`: those of the settings, to their own origin only.

    Raises:
        SourceError: They would travel unencrypted to another machine.
    """
    headers = settings.jaeger_headers if kind == "jaeger" else settings.tempo_headers
    if not headers or origin(base) != origin(configured_base(kind, settings)):
        return ()
    if base.startswith("http://") and not is_loopback(base):
        raise SourceError(
            f"{HEADERS_SETTINGS[kind]} is not sent to {display_url(base)}, since plain http is not"
            f" encrypted; use https in {URL_SETTINGS[kind]}"
        )
    return headers
