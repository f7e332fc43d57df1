"""How messages name a backend, without repeating the headers that it was sent."""

from __future__ import annotations

from typing import NamedTuple

from failgraph.backends.urls import display_url
from failgraph.errors import SourceError
from failgraph.redaction.header_values import remove_header_values


class BackendLocation(NamedTuple):
    """A backend and the settings that belong to it.

    Attributes:
        name: The product: `Jaeger`, `Tempo`, or both names if it is unknown.
        base: Its base URL, without a slash at the end.
        url_setting: The name of the setting that holds the URL.
        headers_setting: The name of the setting that holds the headers.
        sent: The values of the headers that it gets, which no message may hold.
    """

    name: str
    base: str
    url_setting: str
    headers_setting: str
    sent: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"BackendLocation({self})"

    def __str__(self) -> str:
        return f"{self.name} at {self.url}"

    @property
    def url(self) -> str:
        """The base URL for a message."""
        return self.clean(display_url(self.base))

    def clean(self, text: str) -> str:
        """Remove the values of the sent headers from text that the backend may have written."""
        return remove_header_values(text, self.sent)

    def error(self, what: str) -> SourceError:
        """Return an error that begins with the name and URL of this backend."""
        return SourceError(f"{self} {what}")
