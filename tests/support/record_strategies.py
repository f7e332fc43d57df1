"""Hypothesis strategies for valid events and reports, with fields up to and past their limits."""

from __future__ import annotations

import functools
from typing import Any

from hypothesis import strategies as st

from failgraph import (
    FailureBoundary,
    FailureEvent,
    FailureReport,
    ModelFailureDetails,
    SandboxFailureDetails,
)
from failgraph.failure.kinds import REGISTERED


@functools.cache  # Hypothesis validates each strategy object anew
def texts(max_size: int | None, min_size: int = 0) -> st.SearchStrategy[str]:
    """Return texts of up to `max_size` characters; None stands for a field without a limit.

    Some are short, some have that size and 1 to 4 bytes a character.
    """
    full = 6001 if max_size is None else max_size
    hard = [
        "a" * full,
        "é" * full,
        "€" * full,
        "😀" * full,
        "a" + "😀" * (full - 1),
        "\x00" * full,
        "\x1b\r\n\t\x7f",
    ]
    return st.one_of(
        st.text(min_size=min_size, max_size=min(full, 30)),
        st.sampled_from([text for text in hard if len(text) <= full]),
    )


@functools.cache
def ids() -> st.SearchStrategy[str]:
    """Return ids: short, empty, of 128 characters, and too long to be named as a cause."""
    return st.one_of(
        st.text(max_size=40),
        st.sampled_from(["", "\x00", "i" * 128, "😀" * 128, "€" * 129, "l" * 2001, "😀" * 700]),
    )


@functools.cache
def optional(max_size: int) -> st.SearchStrategy[str | None]:
    """Return None and texts of up to `max_size` characters."""
    return st.none() | texts(max_size)


KINDS = st.one_of(
    st.sampled_from(sorted(REGISTERED)),
    st.just("my_server:odd_kind"),
    st.just("_OTHER"),
    texts(None, min_size=1),
)
STATUS = st.none() | st.sampled_from([100, 404, 599])
EXIT_CODES = (
    st.none()
    | st.integers()
    | st.sampled_from([0, -9, 2**63 - 1, 2**63, -(2**63), 2**70, -(2**70), 10**2500])
)
FOREIGN = st.none() | st.fixed_dictionaries(
    {"exception_type": texts(256, min_size=1), "message": texts(2000), "http_status": STATUS}
)
SANDBOX = st.builds(
    SandboxFailureDetails,
    provider=optional(256),
    sandbox_id=optional(256),
    execution_id=optional(256),
    exit_code=EXIT_CODES,
    provider_status_reason=optional(2000),
)
MODEL = st.builds(
    ModelFailureDetails,
    provider_request_id=optional(256),
    request_upload_complete=st.none() | st.booleans(),
)
BOUNDARIES = st.sampled_from(FailureBoundary)
DETAILS = {FailureBoundary.SANDBOX: st.none() | SANDBOX, FailureBoundary.MODEL: st.none() | MODEL}
STAGES = st.none() | st.sampled_from(["admission", "seed", "agent", "verification", "cleanup"])


@st.composite
def events(
    draw: st.DrawFn, event_id: str | None = None, cause_id: str | None = None
) -> FailureEvent:
    """Return any valid event."""
    boundary = draw(BOUNDARIES)
    return FailureEvent(
        event_id=draw(ids()) if event_id is None else event_id,
        failure_kind=draw(KINDS),
        boundary=boundary,
        failure_reason=draw(texts(2000)),
        exception_type=draw(optional(256)),
        http_status=draw(STATUS),
        stage=draw(STAGES),
        operation=draw(optional(256)),
        operation_id=draw(optional(128)),
        attempt_id=draw(optional(128)),
        cause_id=cause_id,
        foreign_error=draw(FOREIGN),
        details=draw(DETAILS[boundary]) if boundary in DETAILS else None,
    )


@st.composite
def reports(draw: st.DrawFn) -> FailureReport:
    """Return any valid report: causes form any forest, events come in any order."""
    keys = draw(st.lists(ids(), unique=True, max_size=5))
    made: dict[str, FailureEvent] = {}
    for key in keys:
        cause_ids = [cause for cause in made if len(cause) <= 128]
        made[key] = draw(
            events(key, draw(st.none() | st.sampled_from(cause_ids)) if cause_ids else None)
        )
    cause_ids = [key for key in keys if len(key) <= 128]
    order = draw(st.permutations(keys))
    return FailureReport(
        events={key: made[key] for key in order},
        failure_id=draw(st.none() | st.sampled_from(cause_ids)) if cause_ids else None,
        omitted=draw(st.booleans()),
    )


def strings_of(attributes: dict[str, Any]) -> list[str]:
    """Return each text among the values, those inside arrays too."""
    return [
        text
        for value in attributes.values()
        for text in (value if isinstance(value, tuple) else (value,))
        if isinstance(text, str)
    ]
