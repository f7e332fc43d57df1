"""Exceptions of other libraries: what a record keeps of them."""

from __future__ import annotations

from typing import Any

from failgraph.failure.records import SdkErrorDetails
from failgraph.redaction import redact_and_truncate
from failgraph.text import escape_surrogates, safe_str, truncate

_STATUS_NAMES = ("status_code", "status", "http_status", "code")
_MAX_TYPE = 256
_MAX_MESSAGE = 2000


class LostCauseError(Exception):
    """Stands for an exception that could not be rebuilt from a pickle in this process.

    Attributes:
        exception_type: The class name of the original exception.
        message: Its message.
        http_status: The HTTP status that it carried, or None.
    """

    def __init__(self, exception_type: str, message: str, http_status: int | None = None) -> None:
        super().__init__(exception_type, message, http_status)
        self.exception_type = exception_type
        self.message = message
        self.http_status = http_status

    def __str__(self) -> str:
        return f"{self.exception_type}: {self.message}"


# Pickles name this class; they must outlive its place in the package.
LostCauseError.__module__ = "failgraph"


def safe_getattr(error: object, name: str) -> Any:
    """Return an attribute of a foreign object, or None if it is absent or reading it raises."""
    try:
        return getattr(error, name, None)
    except Exception:  # noqa: BLE001 - a property of another library may raise anything
        return None


def http_status_of(error: BaseException) -> int | None:
    """Return the HTTP status of an error or of its response, or None.

    The attribute names are those that HTTP clients and SDKs use.
    """
    for holder in (error, safe_getattr(error, "response")):
        for name in _STATUS_NAMES:
            value = safe_getattr(holder, name)
            if isinstance(value, int) and not isinstance(value, bool) and 100 <= value <= 599:
                return int(value)
    return None


def message_of(error: BaseException) -> str:
    """Return the error's own `message`, else its text.

    `str()` of an SDK's error can hold request data, its `message` rarely does.
    """
    message = safe_getattr(error, "message")
    return message if isinstance(message, str) else safe_str(error)


def sdk_error_details(error: BaseException) -> SdkErrorDetails:
    """Return type, message and HTTP status of a third-party error, without its request or body.

    The message is redacted and cut to 2,000 characters.
    """
    name = type(error).__name__ or "Exception"
    if isinstance(error, LostCauseError):
        name = error.exception_type
    return SdkErrorDetails(
        exception_type=truncate(escape_surrogates(name), _MAX_TYPE),
        message=redact_and_truncate(escape_surrogates(message_of(error)), _MAX_MESSAGE),
        http_status=http_status_of(error),
    )
