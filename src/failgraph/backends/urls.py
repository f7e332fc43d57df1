"""The URLs of backends: parsed strictly, and shown without secrets."""

from __future__ import annotations

import re
from urllib.parse import SplitResult, urlsplit

from failgraph.errors import SourceError
from failgraph.redaction.display import display
from failgraph.settings.names import JAEGER_HEADERS, TEMPO_HEADERS

_HOST = re.compile(r"[A-Za-z0-9_]([A-Za-z0-9._-]{0,252})|\[[0-9A-Fa-f:.]{2,45}\]")
_UNSAFE = re.compile(r"[\x00-\x20\x7f\\]")
_PATH = re.compile(r"(/[A-Za-z0-9._~!$&'()*+,;=:@%-]*)*")
_EXAMPLE = "it must look like http://localhost:16686"
_LOOPBACK_NETWORK = re.compile(r"127(\.[0-9]{1,3}){3}")


def parse_url(text: str, setting: str | None = None) -> SplitResult:
    """Split a URL that every program reads in the same way.

    Args:
        text: The URL.
        setting: The name of the setting that holds it, or None if the user typed it.

    Raises:
        SourceError: It is no http(s) URL, holds credentials, or has an unusual host.
    """
    owner = f"{setting}: " if setting else ""
    try:
        url = urlsplit(text)
        port = url.port
    except ValueError:
        raise SourceError(f"{owner}invalid URL; {_EXAMPLE}") from None
    shown = display_url(text)
    if url.scheme not in ("http", "https"):
        raise SourceError(f"{owner}invalid URL {shown}; it must begin with http:// or https://")
    if "@" in url.netloc:
        raise SourceError(
            f"{setting or 'the URL'} must not contain a user name or a password; put an"
            f" Authorization header into {JAEGER_HEADERS} or {TEMPO_HEADERS}"
        )
    host = url.netloc.removesuffix(":") if port is None else url.netloc.rpartition(":")[0]
    if _UNSAFE.search(text) or not _HOST.fullmatch(host):
        raise SourceError(f"{owner}invalid URL {shown}; {_EXAMPLE}")
    return url


def base_url(url: SplitResult, setting: str | None = None) -> str:
    """Return scheme, host, port and path of a parsed URL, without a slash at the end.

    Args:
        url: What `parse_url` returned.
        setting: The name of the setting that holds it, or None if the user typed it.

    Raises:
        SourceError: The path has characters that need percent-encoding.
    """
    path = url.path.rstrip("/")
    if not _PATH.fullmatch(path):
        raise SourceError(
            f"{setting or 'the URL'} has characters in its path that must be percent-encoded"
        )
    return f"{url.scheme}://{url.netloc.removesuffix(':').lower()}{path}"


def origin(base: str) -> tuple[str, str, int]:
    """Return scheme, host and port of a URL."""
    url = urlsplit(base)
    default_port = 443 if url.scheme == "https" else 80
    return url.scheme, (url.hostname or "").lower(), url.port or default_port


def is_loopback(base: str) -> bool:
    """Return True if a URL is written with a name or address of this machine."""
    _, host, _ = origin(base)
    return host in ("localhost", "::1") or _LOOPBACK_NETWORK.fullmatch(host) is not None


def display_url(url: str) -> str:
    """Return a URL for a message: without user, query and fragment, and redacted."""
    try:
        parts = urlsplit(url)
        port = "" if parts.port is None else f":{parts.port}"
    except ValueError:
        return "an invalid URL"
    if not parts.hostname:
        scheme = f"{parts.scheme}://" if parts.scheme else ""
        return display(f"{scheme}{parts.path}" or "/")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return display(f"{parts.scheme}://{host}{port}{parts.path}")
