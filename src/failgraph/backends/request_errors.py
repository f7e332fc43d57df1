"""The error for each way in which a request to a backend fails; each says what to do."""

from __future__ import annotations

import ssl
from collections.abc import Iterator

from failgraph.backends.error_text import error_text
from failgraph.backends.location import BackendLocation
from failgraph.backends.urls import display_url
from failgraph.errors import SourceError
from failgraph.redaction.display import display


class TooLargeError(SourceError):
    """A response is larger than the limit; a request for less may succeed."""


def status_error(location: BackendLocation, status: int, head: bytes) -> SourceError:
    """Return the error for a status that is not OK.

    Args:
        location: The backend.
        status: The HTTP status.
        head: The beginning of the body.
    """
    if status in (401, 403):
        return _credentials_error(location, status)
    if status == 404:
        return wrong_api_error(location, "HTTP 404")
    text = error_text(location, head)
    reason = f": {text}" if text else ""
    if status == 422:
        return location.error(
            f"does not return a trace of this size (HTTP 422){reason}; raise max_bytes_per_trace in"
            " its overrides"
        )
    if status in (429, 503):
        return location.error(f"is busy (HTTP {status}){reason}; try again later")
    return location.error(f"returned HTTP {status}{reason}")


def _credentials_error(location: BackendLocation, status: int) -> SourceError:
    if location.sent:
        return location.error(
            f"rejected the credentials (HTTP {status}); check {location.headers_setting}"
        )
    return location.error(
        f"requires credentials (HTTP {status}); set {location.headers_setting} (sent only to"
        f" {location.url_setting})"
    )


def wrong_api_error(location: BackendLocation, reason: str) -> SourceError:
    """Return the error for a server that is not the expected backend.

    Args:
        location: The backend.
        reason: What the server returned: a status, an HTML page, unexpected data.
    """
    return SourceError(
        f"{location.url} is not a {location.name} API ({reason}). Give the address in front of"
        f" /api; behind a login, set {location.headers_setting}."
    )


def html_page_error(location: BackendLocation) -> SourceError:
    """Return the error for an HTML page: a login, a proxy's page, or the UI under another path."""
    return wrong_api_error(location, "an HTML page")


def unexpected_data_error(location: BackendLocation) -> SourceError:
    """Return the error for data that this kind of backend does not send."""
    return wrong_api_error(location, "unexpected data")


def redirect_error(location: BackendLocation, status: int, target: str) -> SourceError:
    """Return the error for a redirect, which is never followed: headers are for one origin.

    Args:
        location: The backend.
        status: The HTTP status.
        target: The `Location` header, or an empty string if there is none.
    """
    where = f" to {location.clean(display_url(target))}" if target else ""
    return location.error(
        f"redirects{where} (HTTP {status}), which is not followed; set {location.url_setting} to"
        f" the address of the API; behind a login, set {location.headers_setting}"
    )


def too_large_error(location: BackendLocation, max_bytes: int) -> TooLargeError:
    """Return the error for a response of more than `max_bytes` bytes."""
    return TooLargeError(
        f"{location} returned more than {max_bytes >> 20} MB; save the trace with another program,"
        ' then run "failgraph show FILE"'
    )


def timeout_error(location: BackendLocation) -> SourceError:
    """Return the error for a response that does not arrive in time."""
    return location.error("did not respond in time; try again, or ask for less (--limit, --since)")


def broken_response_error(location: BackendLocation) -> SourceError:
    """Return the error for a response that ends early, or is not HTTP."""
    return location.error(
        f"sent an incomplete response, or does not speak HTTP; check {location.url_setting}, or try"
        " again"
    )


def connection_error(location: BackendLocation, error: BaseException) -> SourceError:
    """Return the error for a connection that could not be made because of `error`."""
    causes = list(_cause_chain(error))
    for cause in causes:
        if isinstance(cause, ssl.SSLCertVerificationError):
            why = display(str(cause.verify_message))
            return location.error(
                f"has an untrusted certificate ({why}); set SSL_CERT_FILE to the file of its CA"
            )
    if any(isinstance(cause, ssl.SSLError) for cause in causes):
        return _not_connected(location, "the TLS handshake failed", "Check that it uses https")
    reasons = [cause.strerror for cause in causes if isinstance(cause, OSError) and cause.strerror]
    reason = display(reasons[-1]) if reasons else "no response"
    return _not_connected(location, reason[0].lower() + reason[1:], "Start it")


def _not_connected(location: BackendLocation, reason: str, remedy: str) -> SourceError:
    return SourceError(
        f"cannot connect to {location}: {reason}. {remedy}, or set {location.url_setting}."
    )


def _cause_chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
