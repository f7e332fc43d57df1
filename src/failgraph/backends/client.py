"""The one HTTP client: asks one backend, in bounded time and for bounded answers, and follows nobody elsewhere."""

from __future__ import annotations

import email.utils
import json
import ssl
import tempfile
import time
from collections.abc import Callable, Collection, Mapping
from typing import IO, TYPE_CHECKING, NamedTuple, cast

from failgraph.backends import refusals, response_body
from failgraph.backends.address import is_loopback
from failgraph.backends.refusals import HEAD, Place
from failgraph.errors import SourceError

if TYPE_CHECKING:
    import httpx

JSON = "application/json"
PROTOBUF = "application/protobuf"

_SPOOLED = 1 << 20
"""Bytes of an answer that are held in memory; a longer one goes into a temporary file."""
_BUSY = (429, 503)
_LONGEST = 15
"""Digits of a number that are read; with more it is too large whatever they are."""


class Limits(NamedTuple):
    """How much and how long; times in seconds."""

    bytes: int = 128 << 20
    connect: float = 5.0
    read: float = 30.0
    """Without a byte of it."""
    total: float = 120.0
    """For one body."""
    tries: int = 3
    pause: float = 1.0
    """Before the second try of a busy backend that does not say how long; twice as long before the third."""
    longest_pause: float = 15.0


LIMITS = Limits()
"""Those of a client to which nobody gives any."""


class Answer(NamedTuple):
    """An answer whose body is there as a whole, until the client is asked for the next."""

    status: int
    file: IO[bytes]
    size: int
    head: bytes
    """How the body begins."""

    @property
    def is_json(self) -> bool:
        """Whether it looks like JSON, whatever it is called."""
        return self.head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith((b"{", b"["))

    @property
    def is_page(self) -> bool:
        """Whether it is a page for people."""
        return refusals.is_page(self.head)

    def document(self) -> object:
        """The JSON that it is; None where it is none."""
        if not self.is_json:
            return None
        self.file.seek(0)
        try:
            return cast("object", json.load(self.file))
        except (ValueError, RecursionError):
            return None


class _BusyError(Exception):
    """It asks to be asked later: in `pause` seconds, where it says."""

    def __init__(self, pause: float | None) -> None:
        self.pause = pause


class Client:
    """Asks one backend, below one base address; `close` it in the end.

    Raises SourceError for everything but an answer, with one line that says what to do. `headers` go to that address
    and nowhere else, and into no message.
    """

    def __init__(
        self,
        place: Place,
        headers: Collection[tuple[str, str]] = (),
        limits: Limits | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.place = place._replace(sent=tuple(value for _, value in headers))
        self._limits = LIMITS if limits is None else limits
        self._sleep = sleep
        self._http = _http_client(self.place, headers, self._limits)
        self._file = _spool()

    def close(self) -> None:
        """Close its connections, and the last answer."""
        self._http.close()
        self._file.close()

    def get(
        self,
        path: str,
        fields: Mapping[str, str | int] | None = None,
        accept: str = JSON,
        allowed: Collection[int] = (404,),
    ) -> Answer:
        """Ask for `path` below the base. A status that is `allowed` is an answer like 200; any other an error."""
        attempt = 1
        while True:
            try:
                return self._asked(
                    path, fields or {}, accept, allowed, last=attempt >= self._limits.tries
                )
            except _BusyError as busy:
                self._sleep(
                    busy.pause
                    if busy.pause is not None
                    else self._limits.pause * 2 ** (attempt - 1)
                )
            attempt += 1

    def _asked(
        self,
        path: str,
        fields: Mapping[str, str | int],
        accept: str,
        allowed: Collection[int],
        *,
        last: bool,
    ) -> Answer:
        import httpx

        until = time.monotonic() + self._limits.total
        try:
            with self._http.stream(
                "GET", self.place.base + path, params=fields, headers={"accept": accept}
            ) as reply:
                if reply.status_code in _BUSY and not last:
                    pause = _pause(reply.headers.get("retry-after"))
                    if pause is None or pause <= self._limits.longest_pause:
                        raise _BusyError(pause)
                return self._taken(reply, allowed, until)
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            raise refusals.unreachable(self.place, error) from None
        except (httpx.TimeoutException, response_body.OverdueError):
            raise self.place.error(
                "does not answer in time; ask again, or for less (--limit, --since)"
            ) from None
        except httpx.ProxyError:
            raise self.place.error(
                "is behind a proxy of the environment (HTTPS_PROXY) that refuses"
            ) from None
        except (httpx.RemoteProtocolError, httpx.NetworkError, response_body.DamagedError):
            raise self.place.error(
                "breaks off its answer, or does not speak HTTP; ask again"
            ) from None
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise self.place.error(f"cannot be asked ({type(error).__name__})") from None
        except UnicodeError:
            raise self.place.error(
                f"has a name that no machine can have; mend {self.place.url_setting}"
            ) from None
        except response_body.OverlongError:
            raise refusals.too_large(self.place, self._limits.bytes) from None

    def _fresh_file(self) -> IO[bytes]:
        """A file for the next answer, in place of that of the one before."""
        self._file.close()
        self._file = _spool()
        return self._file

    def _taken(self, reply: httpx.Response, allowed: Collection[int], until: float) -> Answer:
        status = reply.status_code
        if 300 <= status < 400:
            raise refusals.redirected(self.place, status, reply.headers.get("location", ""))
        packing = reply.headers.get("content-encoding", "identity").strip().lower()
        if packing not in ("identity", "gzip", ""):
            raise self.place.error(
                "packs its answers in a way that it was not asked for; a proxy may do that"
            )
        accepted = status == 200 or status in allowed
        most = self._limits.bytes if accepted else HEAD
        if accepted and (_number(reply.headers.get("content-length", "")) or 0) > most:
            raise response_body.OverlongError
        file = self._fresh_file()
        try:
            size = response_body.write(
                reply.iter_raw(), file, most, until, packed=packing == "gzip"
            )
        except response_body.OverlongError:
            if accepted:
                raise
            size = most
        file.seek(0)
        head = file.read(HEAD)
        file.seek(0)
        if not accepted:
            raise refusals.refused(self.place, status, head)
        return Answer(status, file, size, head)


def _spool() -> IO[bytes]:
    return cast("IO[bytes]", tempfile.SpooledTemporaryFile(max_size=_SPOOLED, prefix="failgraph-"))


def _http_client(
    place: Place, headers: Collection[tuple[str, str]], limits: Limits
) -> httpx.Client:
    try:
        import httpx
    except ImportError:
        raise SourceError(f"asking {place} needs httpx: pip install 'failgraph[cli]'") from None
    times = httpx.Timeout(limits.read, connect=limits.connect)
    ours = [("accept-encoding", "gzip"), ("user-agent", "failgraph")]
    try:
        return httpx.Client(
            headers=[*ours, *headers],
            timeout=times,
            follow_redirects=False,
            # With a transport of its own it asks no proxy of the environment.
            transport=httpx.HTTPTransport(verify=_trusted(place.base))
            if is_loopback(place.base)
            else None,
        )
    except UnicodeError:
        raise SourceError(
            f"{place.headers_setting} holds a value that no header can carry"
        ) from None
    except OSError:
        raise SourceError("the file that SSL_CERT_FILE names cannot be read") from None
    except (ValueError, ImportError):
        raise SourceError(
            "the proxy of the environment (HTTPS_PROXY, ALL_PROXY) cannot be used"
        ) from None


def _trusted(base: str) -> ssl.SSLContext | bool:
    """Who is trusted: over plain http, where there is nothing to verify, nobody, since loading all CAs takes 50 ms."""
    return True if base.startswith("https:") else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def _pause(retry_after: str | None) -> float | None:
    """The seconds that a busy backend asks for; None where it does not say."""
    if retry_after is None:
        return None
    seconds = _number(retry_after)
    if seconds is not None:
        return float(seconds)
    try:
        return max(0.0, email.utils.parsedate_to_datetime(retry_after).timestamp() - time.time())
    except (ValueError, TypeError, OverflowError):
        return None


def _number(text: str) -> int | None:
    """A count as HTTP writes one; None for anything else."""
    found = text.strip()
    return int(found[:_LONGEST]) if found.isdecimal() and found.isascii() else None
