"""How httpx is used: a client that follows no redirects, and its errors as ours.

httpx is imported on first use, since the base install lacks it.
"""

from __future__ import annotations

import ssl
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from failgraph.backends.location import BackendLocation
from failgraph.backends.request_errors import broken_response_error, connection_error, timeout_error
from failgraph.backends.urls import is_loopback
from failgraph.errors import SourceError

if TYPE_CHECKING:
    import httpx

_OUR_HEADERS = (("accept-encoding", "gzip"), ("user-agent", "failgraph"))


def open_httpx(
    location: BackendLocation, headers: Collection[tuple[str, str]], timeout: float, connect: float
) -> httpx.Client:
    """Return a client that sends `headers` with every request.

    Args:
        location: The backend.
        headers: Names and values of the headers.
        timeout: Seconds without a byte after which a request fails.
        connect: Seconds after which an attempt to connect fails.

    Raises:
        SourceError: httpx is missing, or something of the environment cannot be used.
    """
    try:
        import httpx
    except ImportError:
        raise SourceError(
            f"reading from {location} requires httpx: pip install 'failgraph[cli]'"
        ) from None
    try:
        transport = None
        if is_loopback(location.base):
            # With a transport of its own, httpx ignores the proxies of the environment.
            transport = httpx.HTTPTransport(verify=_trust(location.base))
        return httpx.Client(
            headers=[*_OUR_HEADERS, *headers],
            timeout=httpx.Timeout(timeout, connect=connect),
            follow_redirects=False,
            transport=transport,
        )
    except UnicodeError:
        raise SourceError(
            f"{location.headers_setting}: the values of headers must be ASCII"
        ) from None
    except OSError:
        raise SourceError("cannot read the file in SSL_CERT_FILE; check its path") from None
    except (ValueError, ImportError):
        raise SourceError("invalid proxy; check HTTPS_PROXY, HTTP_PROXY and ALL_PROXY") from None


def _trust(base: str) -> ssl.SSLContext | bool:
    """Return what verifies certificates; nothing for plain http, as loading all CAs takes 50 ms."""
    return True if base.startswith("https:") else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


@contextmanager
def httpx_errors(location: BackendLocation) -> Iterator[None]:
    """Raise a SourceError that says what to do for each error of httpx."""
    import httpx

    try:
        yield
    except (httpx.ConnectError, httpx.ConnectTimeout) as error:
        raise connection_error(location, error) from None
    except httpx.TimeoutException:
        raise timeout_error(location) from None
    except httpx.ProxyError:
        raise location.error(
            "cannot be reached: the proxy of HTTPS_PROXY, HTTP_PROXY or ALL_PROXY refused the"
            " connection"
        ) from None
    except (httpx.RemoteProtocolError, httpx.NetworkError):
        raise broken_response_error(location) from None
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise SourceError(f"the request to {location} failed ({type(error).__name__})") from None
    except UnicodeError:
        raise SourceError(f"{location}: invalid host name; check {location.url_setting}") from None
