"""What stands between us and an answer, each in one sentence that says what to do."""

from __future__ import annotations

import json
import ssl
from collections.abc import Iterator
from typing import NamedTuple

from failgraph.backends.address import shown
from failgraph.errors import SourceError
from failgraph.readers.api_responses import unwrap
from failgraph.redaction import redact
from failgraph.redaction.display import display
from failgraph.redaction.header_values import remove_header_values

HEAD = 4096
"""Bytes of an answer by which it is told what it is, and of an error all that is read."""


class TooLargeError(SourceError):
    """An answer is larger than is taken in."""


class Place(NamedTuple):
    """How messages call a backend."""

    name: str
    """`Jaeger`, `Tempo`; where nobody knows yet, `the backend`."""
    base: str
    url_setting: str
    """Names of settings."""
    headers_setting: str
    sent: tuple[str, ...] = ()
    """The values of the headers that are sent along, which no message may hold."""

    def __repr__(self) -> str:
        return f"Place({self})"

    def __str__(self) -> str:
        return self.clean(f"{self.name} at {shown(self.base)}")

    def clean(self, text: str) -> str:
        """`text` without what was sent along, as it is or decoded."""
        return remove_header_values(text, self.sent)

    def error(self, what: str) -> SourceError:
        """An error of this backend."""
        return SourceError(f"{self} {what}")

    def words(self, data: bytes) -> str:
        """What the beginning of an answer says went wrong, in the backend's words; empty where it says nothing."""
        text = self.clean(data.decode("utf-8", "replace"))
        try:
            document = json.loads(text)
        except (ValueError, RecursionError):
            # The last word may be half of a secret, which nobody would know as one; and a line's end is a secret's.
            words = redact(
                text if len(data) < HEAD else " ".join(text.rsplit(maxsplit=1)[:-1])
            ).split()
            return "" if is_page(data) else display(" ".join(words))
        errors = [error for response in unwrap(document) for error in response.errors]
        if not errors and isinstance(document, dict):
            errors = [
                value
                for key in ("message", "error", "msg")
                if isinstance(value := document.get(key), str)
            ]
        return self.clean("; ".join(map(display, errors)))


def is_page(data: bytes) -> bool:
    """Whether an answer is a page for people."""
    head = data[:512].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    return head.startswith((b"<!doctype", b"<html", b"<head", b"<?xml", b"<!--"))


def refused(place: Place, status: int, data: bytes) -> SourceError:
    """The error for an answer of such a status, of which `data` is the beginning."""
    if status in (401, 403):
        said_of = (
            "what it holds is not enough" if place.sent else f"it goes to {place.url_setting} only"
        )
        return place.error(
            f"does not let us in ({status}); set {place.headers_setting} ({said_of})"
        )
    words = place.words(data)
    told = f": {words}" if words else ""
    if status == 422:
        return place.error(
            f"does not give so much at once (422){told}; raise max_bytes_per_trace in its overrides"
        )
    if status in (429, 503):
        return place.error(f"is busy ({status}) and stayed so{told}; ask again later")
    if status == 404:
        return place.error(f"does not know what it is asked for (404); {_elsewhere(place)}")
    return place.error(f"answered {status}{told}")


def redirected(place: Place, status: int, location: str) -> SourceError:
    """The error for a redirect, which is never followed: whatever we send along was given for one place."""
    target = place.clean(shown(location)) if location else "nowhere"
    return place.error(
        f"points elsewhere ({status}, to {target}), which is not followed; set {place.url_setting} to the address that"
        f" answers by itself, and {place.headers_setting} where it asks for a login"
    )


def a_page(place: Place) -> SourceError:
    """The error for a page where data belongs: a login, a proxy's, or the user interface of another path."""
    return place.error(
        f"answered with a page for people, perhaps a login; {_elsewhere(place)}, and {place.headers_setting} where it"
        " asks for a login"
    )


def _elsewhere(place: Place) -> str:
    return f"set {place.url_setting} to where its API is, with the path before /api"


def other_product(place: Place) -> SourceError:
    """The error for data that is no answer of this backend."""
    return place.error(f"answered with something that is not {place.name}'s; {_elsewhere(place)}")


def too_large(place: Place, most: int) -> TooLargeError:
    """The error for an answer of more than `most` bytes."""
    return TooLargeError(
        f"{place} answered with more than {most >> 20} MB, which is not taken in; save it with another program and read"
        " the file: failgraph show FILE"
    )


def unreachable(place: Place, error: BaseException) -> SourceError:
    """The error where no connection came about."""
    causes = list(_causes(error))
    for cause in causes:
        if isinstance(cause, ssl.SSLCertVerificationError):
            why = display(str(cause.verify_message))
            return place.error(
                f"has a certificate that is not trusted ({why}); name its CA's file in SSL_CERT_FILE"
            )
    reason = next(
        (
            cause.strerror
            for cause in reversed(causes)
            if isinstance(cause, OSError) and cause.strerror
        ),
        None,
    )
    if any(isinstance(cause, ssl.SSLError) for cause in causes):
        reason = "it does not speak TLS, as https asks for"
    return place.error(
        f"cannot be reached ({display(reason or 'no answer')}); is it running? {place.url_setting} says where"
    )


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
