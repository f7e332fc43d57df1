"""The one HTTP client: asks one backend, bounded in time and size, and follows no redirect."""

from __future__ import annotations

import email.utils
import tempfile
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import closing, suppress
from typing import IO, TYPE_CHECKING, NamedTuple, cast

from failgraph.backends import request_errors
from failgraph.backends.httpx_client import httpx_errors, open_httpx
from failgraph.backends.location import BackendLocation
from failgraph.backends.response import HEAD_BYTES, Response
from failgraph.backends.response_body import (
    BodyDamagedError,
    BodyTimeoutError,
    BodyTooLargeError,
    copy_body,
)
from failgraph.redaction.display import display

if TYPE_CHECKING:
    import httpx

JSON = "application/json"
PROTOBUF = "application/protobuf"

_MAX_IN_MEMORY = 1 << 20  # bytes of a body; a longer one goes into a temporary file
_BUSY_STATUSES = (429, 503)
_MAX_DIGITS = 15  # of a number in a header; one with more is too large, whatever they are


class ClientLimits(NamedTuple):
    """How much a client reads, and how long it waits; times in seconds.

    Attributes:
        max_bytes: The largest body.
        connect: For a connection.
        read: Without a byte of the response.
        total: For one whole response.
        attempts: How often a busy backend is asked.
        pause: Before the second attempt if the backend does not say; twice as long before the next.
        max_pause: The longest pause that a backend may ask for.
    """

    max_bytes: int = 128 << 20
    connect: float = 5.0
    read: float = 30.0
    total: float = 120.0
    attempts: int = 3
    pause: float = 1.0
    max_pause: float = 15.0


DEFAULT_LIMITS = ClientLimits()


class _BusyError(Exception):
    """The backend is busy, and may answer after `pause` seconds; None if it does not say."""

    def __init__(self, pause: float | None) -> None:
        self.pause = pause


class Client:
    """Sends requests to one backend, below its base URL.

    The headers go to that URL and nowhere else, and appear in no message.

    Args:
        location: The backend.
        headers: Names and values of headers to send along.
        limits: How much to read and how long to wait; `DEFAULT_LIMITS` if None.
        sleep: Waits for some seconds.
    """

    def __init__(
        self,
        location: BackendLocation,
        headers: Collection[tuple[str, str]] = (),
        limits: ClientLimits | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.location = location._replace(sent=tuple(value for _, value in headers))
        self._limits = DEFAULT_LIMITS if limits is None else limits
        self._sleep = sleep
        self._http = open_httpx(self.location, headers, self._limits.read, self._limits.connect)
        self._file = _temporary_file()

    def close(self) -> None:
        """Close the connections, and the file of the last response."""
        self._http.close()
        self._file.close()

    def get(
        self,
        path: str,
        fields: Mapping[str, str | int] | None = None,
        accept: str = JSON,
        allowed: Collection[int] = (404,),
    ) -> Response:
        """Send a GET request; a busy backend is asked again.

        Args:
            path: What follows the base URL.
            fields: The fields of the query.
            accept: The content type to ask for.
            allowed: Statuses that are returned as 200 is.

        Raises:
            SourceError: There is no such response; the message says what to do.
        """
        with httpx_errors(self.location):
            request = self._http.build_request(
                "GET", self.location.base + path, params=fields or {}, headers={"accept": accept}
            )
        default_pause = self._limits.pause
        attempt = 1
        while True:
            try:
                return self._send(request, allowed, is_last=attempt >= self._limits.attempts)
            except _BusyError as busy:
                pause = default_pause if busy.pause is None else busy.pause
            self._sleep(pause)
            default_pause *= 2
            attempt += 1

    def _send(self, request: httpx.Request, allowed: Collection[int], *, is_last: bool) -> Response:
        deadline = time.monotonic() + self._limits.total
        with httpx_errors(self.location), closing(self._http.send(request, stream=True)) as reply:
            if reply.status_code in _BUSY_STATUSES and not is_last:
                pause = _requested_pause(reply.headers.get("retry-after"))
                if pause is None or pause <= self._limits.max_pause:
                    raise _BusyError(pause)
            return self._read(reply, allowed, deadline)

    def _read(self, reply: httpx.Response, allowed: Collection[int], deadline: float) -> Response:
        status = reply.status_code
        if 300 <= status < 400:
            target = reply.headers.get("location", "")
            raise request_errors.redirect_error(self.location, status, target)
        if status != 200 and status not in allowed:
            raise request_errors.status_error(self.location, status, self._head(reply, deadline))
        max_bytes = self._limits.max_bytes
        too_large = request_errors.too_large_error(self.location, max_bytes)
        if (_parse_count(reply.headers.get("content-length", "")) or 0) > max_bytes:
            raise too_large
        try:
            size = self._copy(reply, max_bytes, deadline)
        except BodyTooLargeError:
            raise too_large from None
        self._file.seek(0)
        head = self._file.read(HEAD_BYTES)
        self._file.seek(0)
        return Response(status, self._file, size, head)

    def _head(self, reply: httpx.Response, deadline: float) -> bytes:
        """Return the beginning of the body of an error."""
        with suppress(BodyTooLargeError):
            self._copy(reply, HEAD_BYTES, deadline)
        self._file.seek(0)
        return self._file.read(HEAD_BYTES)

    def _copy(self, reply: httpx.Response, max_bytes: int, deadline: float) -> int:
        """Copy a body into a new file in place of the last one, and return its size in bytes.

        Raises:
            BodyTooLargeError: It is larger than `max_bytes`, of which the file holds so many.
            SourceError: It cannot be read.
        """
        encoding = reply.headers.get("content-encoding", "identity").strip().lower()
        if encoding not in ("identity", "gzip", ""):
            name = self.location.clean(display(encoding, 40))
            raise self.location.error(
                f"sent a response in an encoding that was not requested ({name}); a proxy may cause"
                " that"
            )
        self._file.close()
        self._file = _temporary_file()
        chunks = reply.iter_raw()
        try:
            return copy_body(chunks, self._file, max_bytes, deadline, is_gzip=encoding == "gzip")
        except BodyTimeoutError:
            raise request_errors.timeout_error(self.location) from None
        except BodyDamagedError:
            raise request_errors.broken_response_error(self.location) from None


def _temporary_file() -> IO[bytes]:
    return cast(
        "IO[bytes]",
        tempfile.SpooledTemporaryFile(max_size=_MAX_IN_MEMORY, prefix="failgraph-"),
    )


def _requested_pause(retry_after: str | None) -> float | None:
    """Return the seconds that a `Retry-After` header asks for, or None if it is not usable."""
    if retry_after is None:
        return None
    seconds = _parse_count(retry_after)
    if seconds is not None:
        return float(seconds)
    try:
        return max(0.0, email.utils.parsedate_to_datetime(retry_after).timestamp() - time.time())
    except (ValueError, TypeError, OverflowError):
        return None


def _parse_count(text: str) -> int | None:
    """Return a count as HTTP writes one, or None for anything else."""
    digits = text.strip()
    return int(digits[:_MAX_DIGITS]) if digits.isdecimal() and digits.isascii() else None
