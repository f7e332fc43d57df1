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
        said_of = (
            "what it holds is not enough"
            if location.sent
            else f"it goes to {location.url_setting} only"
        )
        return location.error(
            f"does not let us in ({status}); set {location.headers_setting} ({said_of})"
        )
    words = error_text(location, head)
    told = f": {words}" if words else ""
    if status == 422:
        return location.error(
            f"does not give so much at once (422){told}; raise max_bytes_per_trace in its overrides"
        )
    if status in (429, 503):
        return location.error(f"is busy ({status}) and stayed so{told}; ask again later")
    if status == 404:
        return location.error(f"does not know what it is asked for (404); {_elsewhere(location)}")
    return location.error(f"answered {status}{told}")


def redirect_error(location: BackendLocation, status: int, target: str) -> SourceError:
    """Return the error for a redirect, which is never followed: headers are for one origin.

    Args:
        location: The backend.
        status: The HTTP status.
        target: The `Location` header, or an empty string if there is none.
    """
    shown = location.clean(display_url(target)) if target else "nowhere"
    return location.error(
        f"points elsewhere ({status}, to {shown}), which is not followed; set {location.url_setting} to the address that"
        f" answers by itself, and {location.headers_setting} where it asks for a login"
    )


def html_page_error(location: BackendLocation) -> SourceError:
    """Return the error for an HTML page: a login, a proxy's page, or the UI under another path."""
    return location.error(
        f"answered with a page for people, perhaps a login; {_elsewhere(location)}, and {location.headers_setting} where"
        " it asks for a login"
    )


def wrong_product_error(location: BackendLocation) -> SourceError:
    """Return the error for data that this kind of backend does not send."""
    return location.error(
        f"answered with something that is not {location.name}'s; {_elsewhere(location)}"
    )


def too_large_error(location: BackendLocation, max_bytes: int) -> TooLargeError:
    """Return the error for a response of more than `max_bytes` bytes."""
    return TooLargeError(
        f"{location} answered with more than {max_bytes >> 20} MB, which is not taken in; save it with another program"
        " and read the file: failgraph show FILE"
    )


def timeout_error(location: BackendLocation) -> SourceError:
    """Return the error for a response that does not arrive in time."""
    return location.error("does not answer in time; ask again, or for less (--limit, --since)")


def broken_response_error(location: BackendLocation) -> SourceError:
    """Return the error for a response that ends early, or is not HTTP."""
    return location.error("breaks off its answer, or does not speak HTTP; ask again")


def connection_error(location: BackendLocation, error: BaseException) -> SourceError:
    """Return the error for a connection that could not be made because of `error`."""
    causes = list(_cause_chain(error))
    for cause in causes:
        if isinstance(cause, ssl.SSLCertVerificationError):
            why = display(str(cause.verify_message))
            return location.error(
                f"has a certificate that is not trusted ({why}); name its CA's file in SSL_CERT_FILE"
            )
    if any(isinstance(cause, ssl.SSLError) for cause in causes):
        reason = "it does not speak TLS, as https asks for"
    else:
        reasons = [cause.strerror for cause in causes if isinstance(cause, OSError)]
        reason = next(filter(None, reversed(reasons)), "no answer")
    return location.error(
        f"cannot be reached ({display(reason)}); is it running? {location.url_setting} says where"
    )


def _elsewhere(location: BackendLocation) -> str:
    return f"set {location.url_setting} to where its API is, with the path before /api"


def _cause_chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
