"""The text of an error for a log line, without secrets."""

from __future__ import annotations


def describe_error(error: BaseException) -> str:
    """Return type and redacted text of `error`.

    Return the type alone if redaction cannot be loaded: the error may be that pydantic is missing.
    """
    name = type(error).__name__
    try:
        from failgraph.redaction.display import display

        return f"{name}: {display(str(error))}"
    except Exception:  # noqa: BLE001 - this runs while another error is being handled
        return name
