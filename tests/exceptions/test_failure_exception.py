"""Failures as exceptions: constructor, record, explicit causes, groups, rings and copies."""

from __future__ import annotations

import copy
import http
import io
import os
import pickle
import subprocess
import sys
import textwrap
import time
import uuid
from enum import Enum
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from pydantic import BaseModel

from builders import failure
from failgraph import (
    FailureBoundary,
    FailureEvent,
    FailureReport,
    LostCauseError,
    ModelFailureDetails,
    NgFailureEvent,
    SandboxFailureDetails,
    SdkErrorDetails,
    failure_report_for,
    find_boundary_failure,
    rebuild_failure,
    record,
    sdk_error_details,
    stats,
)
from failgraph.exceptions.cause_chain import cause_of
from failgraph.failure.ids import new_event_id

law = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
"""A law holds on a slow machine too."""


class Group(Exception):
    """A group as libraries have them on Python 3.10: any exception with `exceptions`."""

    def __init__(self, message: str, exceptions: list[BaseException]) -> None:
        super().__init__(message, exceptions)
        self.exceptions = tuple(exceptions)


GROUPS = [Group, *([ExceptionGroup] if sys.version_info >= (3, 11) else [])]  # noqa: F821 - not on Python 3.10


class Unpicklable(Exception):
    def __reduce__(self):
        raise TypeError("not across a process border")


class NeedsArguments(Exception):
    """Can be pickled but not rebuilt, like exceptions of many SDKs."""

    status_code = 503

    def __init__(self, request: str, response: str) -> None:
        super().__init__("upstream said no")


class Silent(NgFailureEvent):
    """A subclass that forgets `super().__init__`."""

    def __init__(self, a: int, *, b: int) -> None:
        self.sum = a + b


class Declared(NgFailureEvent):
    """A subclass that forgets `super().__init__` and has its fields at class level."""

    failure_kind = "session_lost"
    boundary = FailureBoundary.ENVIRONMENT

    def __init__(self, session: str) -> None:
        self.failure_reason = f"session {session} is gone"


class Chatty(NgFailureEvent):
    """A subclass with arguments and fields of its own."""

    def __init__(self, host: str, *, port: int) -> None:
        super().__init__("transport_unreachable", f"{host}:{port}", boundary="harness")
        self.port = port


class Unprintable:
    def __str__(self):
        raise RuntimeError("no text")

    __repr__ = __str__


class Hostile:
    """Raises whenever an attribute is read."""

    def __getattribute__(self, name):
        if name == "__class__":
            return Hostile
        raise RuntimeError(name)

    def __str__(self):
        raise RuntimeError("str")

    __repr__ = __str__

    def __bool__(self):
        raise RuntimeError("bool")

    def __eq__(self, other):
        raise RuntimeError("eq")

    def __hash__(self):
        raise RuntimeError("hash")


def caused(error: BaseException, cause: BaseException) -> BaseException:
    error.__cause__ = cause
    return error


def edges(report: FailureReport) -> dict[str, str | None]:
    """Map each kind to the kind of its cause; readable if every event has another kind."""
    kinds = {id_: event.failure_kind for id_, event in report.events.items()}
    return {
        event.failure_kind: kinds[event.cause_id] if event.cause_id else None
        for event in report.events.values()
    }


# -- the constructor -------------------------------------------------------------------------------


def test_the_documented_start_of_the_constructor_is_positional():
    """Kind, reason, status and foreign error are positional, in the order that Gym documents."""
    foreign = SdkErrorDetails(exception_type="ReadError", message="gone")
    error = NgFailureEvent("transport_peer_drop", "the peer left", 502, foreign)
    assert (error.failure_kind, error.failure_reason, error.http_status, error.foreign_error) == (
        "transport_peer_drop",
        "the peer left",
        502,
        foreign,
    )


def test_the_other_fields_come_by_keyword_only():
    """All other fields of the event are keyword-only."""
    with pytest.raises(TypeError):
        NgFailureEvent("shutdown", "", None, None, "agent")
    fields = {
        "event_id": "e",
        "failure_kind": "provider_oom_killed",
        "failure_reason": "killed",
        "http_status": 500,
        "foreign_error": SdkErrorDetails(exception_type="E", message="m", http_status=503),
        "boundary": FailureBoundary.SANDBOX,
        "stage": "agent",
        "operation": "exec",
        "operation_id": "o",
        "attempt_id": "a",
        "exception_type": "Killed",
        "details": SandboxFailureDetails(exit_code=-9),
        "cause_id": "c",
    }
    assert set(fields) == set(FailureEvent.model_fields)
    assert NgFailureEvent(**fields).to_record() == FailureEvent(**fields)


def test_a_boundary_may_be_given_as_its_text():
    """A boundary is accepted as the enum or as its value."""
    assert NgFailureEvent("shutdown", boundary="harness").boundary is FailureBoundary.HARNESS
    assert (
        NgFailureEvent("shutdown", boundary=FailureBoundary.HARNESS).boundary
        is FailureBoundary.HARNESS
    )


def test_the_id_is_given_at_construction_and_stays():
    """A failure has a unique id from construction on, and every record of it has that id."""
    one, other = failure(), failure()
    assert one.event_id != other.event_id
    assert one.to_record().event_id == one.event_id == one.to_record().event_id
    with pytest.raises(NgFailureEvent) as caught:
        raise one
    assert caught.value.to_record().event_id == one.event_id


def test_its_text_says_kind_and_reason():
    """`str()` of a failure is its kind and its reason."""
    assert str(failure("judge_failed", failure_reason="no verdict")) == "judge_failed: no verdict"
    assert str(failure("judge_failed")) == "judge_failed"


@pytest.mark.parametrize(
    "make",
    [lambda: Silent(1, b=2), lambda: Declared("s1")],
    ids=["says nothing", "says it by class"],
)
def test_a_subclass_may_forget_super_init(make):
    """A subclass that forgets `super().__init__` still has an id, a text and a record."""
    error = make()
    assert error.event_id != make().event_id
    assert str(error)
    made = error.to_record(FailureBoundary.AGENT)
    assert made.event_id == error.event_id
    if isinstance(error, Declared):
        assert (made.failure_kind, made.boundary.value) == ("session_lost", "environment")
        assert made.failure_reason == "session s1 is gone"


GARBAGE = [
    None,
    0,
    -1,
    True,
    2**70,
    float("nan"),
    b"\xff",
    "",
    "\udc80",
    "\0",
    "\U0001f4a5" * 10_000,
    [],
    {},
    {"surprise": object()},
    {1: 2},
    object(),
    Unprintable(),
    ValueError("x"),
    SandboxFailureDetails(),
    ModelFailureDetails(),
]


def survives(**fields: Any) -> FailureEvent | None:
    error = NgFailureEvent(**{"failure_kind": "shutdown", "boundary": "sandbox", **fields})
    str(error)
    return error.to_record()


@pytest.mark.parametrize("field", FailureEvent.model_fields)
@pytest.mark.parametrize("garbage", GARBAGE, ids=lambda value: type(value).__name__)
def test_garbage_in_a_field_costs_no_more_than_that_field(field, garbage):
    """Constructor and record never raise; the record is valid UTF-8 and keeps the other fields."""
    made = survives(**{field: garbage})
    if field == "boundary":
        assert made is None
        return
    assert FailureEvent.model_validate_json(made.model_dump_json()) == made
    assert made.boundary is FailureBoundary.SANDBOX
    assert field == "failure_kind" or made.failure_kind == "shutdown"
    assert made.event_id
    assert made.failure_kind


@pytest.mark.parametrize("field", FailureEvent.model_fields)
def test_a_value_that_raises_whatever_is_asked_of_it(field):
    """Constructor and record never raise, even if reading a value raises."""
    made = survives(**{field: Hostile()})
    assert made is None if field == "boundary" else made.event_id


@law
@given(st.dictionaries(st.sampled_from(list(FailureEvent.model_fields)), st.sampled_from(GARBAGE)))
def test_garbage_in_many_fields(fields):
    """Several bad fields at once are no worse than one."""
    made = survives(**fields)
    assert made is None or FailureEvent.model_validate(made.model_dump()) == made


# -- the record ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("field", "limit"),
    [("failure_reason", 2000), ("exception_type", 256), ("operation", 256)],
)
def test_a_text_over_its_limit_is_cut_and_counted(field, limit):
    """Text at its limit is kept; longer text is cut to it, marked as cut, and counted."""
    whole, long = "\U0001f4a5" * limit, "\U0001f4a5" * (limit + 1)
    assert getattr(failure(**{field: whole}).to_record(), field) == whole
    assert stats().get("record_text_cut", 0) == 0
    made = getattr(failure(**{field: long}).to_record(), field)
    assert len(made) == limit
    assert made == whole[:-1] + "…"
    assert stats()["record_text_cut"] == 1


@pytest.mark.parametrize(
    "field", ["failure_kind", "failure_reason", "operation", "operation_id", "event_id", "cause_id"]
)
def test_a_lone_surrogate_is_escaped_visibly_and_counted(field):
    r"""What UTF-8 cannot carry becomes a visible `\ud800` and is counted; other text stays."""
    fields = {"failure_kind": "judge_failed", "boundary": "agent", field: "ä\udc80z"}
    assert getattr(NgFailureEvent(**fields).to_record(), field) == "ä\\udc80z"
    assert stats()["surrogate_escaped"] >= 1


def test_a_long_id_still_meets_its_cause():
    """An id over 128 characters is shortened to one that a cause can name, and stays unique."""
    cause = failure("judge_failed", event_id="x" * 500)
    effect = failure(cause_id="x" * 500)
    assert len(cause.to_record().event_id) <= 128
    assert effect.to_record().cause_id == cause.to_record().event_id
    assert failure(cause_id="x" * 501).to_record().cause_id != effect.to_record().cause_id


@pytest.mark.parametrize(
    ("fields", "left"),
    [
        ({"http_status": 99}, {}),
        ({"http_status": 600}, {}),
        ({"http_status": True}, {}),
        ({"http_status": http.HTTPStatus.NOT_FOUND}, {"http_status": 404}),
        ({"stage": "teardown"}, {}),
        ({"details": {"exit_code": 1}}, {}),
        (
            {"boundary": "sandbox", "details": {"exit_code": 1, "surprise": 2}},
            {"details": SandboxFailureDetails(exit_code=1)},
        ),
        (
            {"boundary": "sandbox", "details": {"exit_code": "1x"}},
            {"details": SandboxFailureDetails()},
        ),
        (
            {"boundary": "model", "details": {"request_upload_complete": False}},
            {"details": ModelFailureDetails(request_upload_complete=False)},
        ),
    ],
)
def test_what_breaks_the_schema_is_left_out(fields, left):
    """A value outside of the schema is left out of the record; what is valid beside it stays."""
    made = failure("shutdown", event_id="e", **fields).to_record()
    boundary = fields.get("boundary", "agent")
    assert made == FailureEvent(event_id="e", failure_kind="shutdown", boundary=boundary, **left)


def test_without_a_boundary_there_is_no_record_and_it_is_counted():
    """A failure without a boundary has no record; it is counted and skipped in a report."""
    error = NgFailureEvent("shutdown")
    assert error.to_record() is None
    assert failure_report_for(error) == FailureReport()
    assert record(error).placement == "nowhere"
    assert stats()["no_boundary"] == 1


def test_the_setting_stands_in_for_a_boundary(setting):
    """`FAILGRAPH_BOUNDARY` applies to a failure without a boundary, and to no other."""
    setting("BOUNDARY", "harness")
    inner, outer = NgFailureEvent("judge_failed", boundary="model"), NgFailureEvent("shutdown")
    assert outer.to_record().boundary is FailureBoundary.HARNESS
    report = failure_report_for(caused(outer, inner))
    assert {event.failure_kind: event.boundary.value for event in report.events.values()} == {
        "judge_failed": "model",
        "shutdown": "harness",
    }
    assert report.failure_id == outer.event_id


CHOICES = "agent, collection, environment, harness, model, resources_server or sandbox"


def test_a_mistyped_boundary_is_named_in_the_log(caplog):
    """The failure is not recorded; the one log line has the value, the choices and the near one."""
    for _ in range(2):
        record(NgFailureEvent("shutdown", boundary="modle"))
    (message,) = caplog.messages
    assert message == (
        f"failgraph: NgFailureEvent: boundary must be {CHOICES}, not 'modle' (did you mean model?);"
        " it is not recorded"
    )
    assert stats()["no_boundary"] == 2


def test_what_stands_in_for_a_mistyped_boundary_is_said_once(setting, caplog):
    """`FAILGRAPH_BOUNDARY` applies to it too, and the log says so."""
    setting("BOUNDARY", "harness")
    for _ in range(2):
        made = NgFailureEvent("shutdown", boundary="modle").to_record()
        assert made.boundary is FailureBoundary.HARNESS
    (message,) = caplog.messages
    assert message.endswith("(did you mean model?); harness is recorded in its place")


@pytest.mark.parametrize(
    "make",
    [lambda: "x\n\x1b[31m" * 999, lambda: "\ud800", lambda: b"model", list, object, Hostile],
    ids=["long", "surrogate", "bytes", "list", "object", "hostile"],
)
def test_any_mistyped_boundary_is_shown_in_one_short_line(caplog, make):
    """A value of any type or length is safe to name, and raises nothing."""
    record(pickle.loads(pickle.dumps(NgFailureEvent("shutdown", boundary=make()))))
    (message,) = caplog.messages
    assert "it is not recorded" in message
    assert message.isprintable()
    assert len(message) < 300


@law
@given(
    st.builds(
        FailureEvent,
        event_id=st.text(min_size=1, max_size=128),
        failure_kind=st.text(min_size=1, max_size=20),
        boundary=st.just(FailureBoundary.MODEL),
        failure_reason=st.text(max_size=20),
        exception_type=st.none() | st.text(max_size=20),
        http_status=st.none() | st.integers(100, 599),
        stage=st.none() | st.sampled_from(["seed", "cleanup"]),
        operation=st.none() | st.text(max_size=20),
        operation_id=st.none() | st.text(max_size=128),
        attempt_id=st.none() | st.text(max_size=128),
        cause_id=st.none() | st.text(max_size=128),
        foreign_error=st.none()
        | st.builds(
            SdkErrorDetails,
            exception_type=st.text(min_size=1, max_size=9),
            message=st.text(max_size=9),
        ),
        details=st.none()
        | st.builds(
            ModelFailureDetails,
            provider_request_id=st.none() | st.text(max_size=9),
            request_upload_complete=st.none() | st.booleans(),
        ),
    )
)
def test_from_record_and_back_is_the_same_record(event):
    """`from_record` and `to_record` are each other's inverse."""
    assert NgFailureEvent.from_record(event).to_record() == event


# -- explicit causes -------------------------------------------------------------------------------


def test_a_from_foreign_from_b():
    """`A from ValueError from B`: A is caused by B and has the ValueError as foreign error."""
    b = failure("judge_failed")
    a = failure("agent_run_error", cause=caused(ValueError("no number"), b))
    report = failure_report_for(a)
    assert edges(report) == {"agent_run_error": "judge_failed", "judge_failed": None}
    assert report.failure_id == a.event_id
    assert report.events[a.event_id].foreign_error == SdkErrorDetails(
        exception_type="ValueError", message="no number"
    )
    assert report.events[b.event_id].foreign_error is None
    assert a.to_record() == report.events[a.event_id]


def test_the_nearest_foreign_exception_is_the_foreign_error():
    """The nearest foreign exception counts; one that was given explicitly wins."""
    chain = caused(KeyError("near"), ValueError("far"))
    assert (
        failure("agent_run_error", cause=chain).to_record().foreign_error.exception_type
        == "KeyError"
    )
    given_ = SdkErrorDetails(exception_type="Chosen", message="by the adapter")
    assert (
        failure("agent_run_error", cause=chain, foreign_error=given_).to_record().foreign_error
        == given_
    )


def test_an_exception_as_foreign_error_is_projected_at_once():
    """A foreign error given as the exception itself becomes type, message and status."""
    error = NgFailureEvent("provider_unavailable", "down", 503, NeedsArguments("secret", "body"))
    assert error.foreign_error == SdkErrorDetails(
        exception_type="NeedsArguments", message="upstream said no", http_status=503
    )


def test_implicit_context_is_no_cause():
    """An exception that was only being handled is no cause; only `raise … from` counts."""
    with pytest.raises(NgFailureEvent) as caught:
        try:
            raise failure("judge_failed")
        except NgFailureEvent:
            raise failure("shutdown")  # noqa: B904 - the point of the test
    assert caught.value.__context__ is not None
    assert edges(failure_report_for(caught.value)) == {"shutdown": None}


def test_an_explicit_cause_wins_over_one_named_by_id():
    """`raise … from` wins over a `cause_id` that was given by hand."""
    cause = failure("judge_failed")
    assert (
        failure("agent_run_error", cause=cause, cause_id="other").to_record().cause_id
        == cause.event_id
    )
    assert failure(cause_id="other").to_record().cause_id == "other"


def test_a_report_clears_a_cause_that_it_does_not_hold():
    """A report is valid by itself: a cause outside of it is cleared."""
    (event,) = failure_report_for(failure(cause_id="elsewhere")).events.values()
    assert event.cause_id is None


def test_a_failure_without_a_boundary_is_passed_over():
    """An effect names the next cause that can be recorded; the own failure is recordable too."""
    inner = failure("judge_failed")
    outer = failure("shutdown", cause=caused(NgFailureEvent("cancelled"), inner))
    assert edges(failure_report_for(outer)) == {"shutdown": "judge_failed", "judge_failed": None}
    wrapped = caused(NgFailureEvent("cancelled"), outer)
    assert failure_report_for(wrapped).failure_id == outer.event_id


def test_a_foreign_exception_has_an_own_failure_where_its_chain_has_one():
    """The report of a foreign exception holds the failures below it; without any it is empty."""
    inner = failure("judge_failed")
    assert failure_report_for(caused(ValueError(), inner)).failure_id == inner.event_id
    assert failure_report_for(ValueError()) == FailureReport()


def test_a_report_for_a_long_chain():
    """A chain of 5,000 failures with foreign exceptions in between needs no recursion."""
    error: BaseException = failure("judge_failed")
    for _ in range(4_999):
        error = failure("shutdown", cause=caused(ValueError(), error))
    report = failure_report_for(error)
    assert len(report.events) == 5_000
    assert sum(event.cause_id is None for event in report.events.values()) == 1


# -- groups ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("group", GROUPS)
def test_the_members_of_a_group_are_recorded_and_the_group_is_not(group):
    """A group has no id; its members, also those of nested groups, have their own causes."""
    a, b, c = (
        failure("agent_timeout", cause=failure("judge_failed")),
        failure("shutdown"),
        failure("cancelled"),
    )
    report = failure_report_for(group("several", [ValueError("x"), a, group("more", [b, c])]))
    assert edges(report) == {
        "agent_timeout": "judge_failed",
        "judge_failed": None,
        "shutdown": None,
        "cancelled": None,
    }
    assert report.failure_id in report.events


@pytest.mark.parametrize("group", GROUPS)
def test_the_cause_from_a_group_is_its_first_failure(group):
    """The cause of `F from group` is the first member that is a failure; all are reported."""
    first, second = failure("shutdown"), failure("cancelled")
    effect = failure(
        "agent_timeout", cause=group("several", [ValueError("x"), group("more", [first]), second])
    )
    assert effect.to_record().cause_id == first.event_id
    assert edges(failure_report_for(effect)) == {
        "agent_timeout": "shutdown",
        "shutdown": None,
        "cancelled": None,
    }


@pytest.mark.parametrize("group", GROUPS)
def test_a_group_behind_a_member_of_a_group_is_opened_too(group):
    """Below a member, a group counts by its first failure, as it does anywhere in a chain."""
    inner = group("inner", [ValueError("y"), failure("shutdown")])
    effect = failure("agent_timeout", cause=group("outer", [caused(ValueError("x"), inner)]))
    assert edges(failure_report_for(effect)) == {"agent_timeout": "shutdown", "shutdown": None}


@pytest.mark.parametrize("group", GROUPS)
def test_the_cause_of_a_group_inside_of_a_group_counts_last(group):
    """A group in a group may have a cause: it counts after all members and their causes."""
    nested = caused(group("nested", [ValueError("x")]), failure("shutdown"))
    only = failure("agent_timeout", cause=group("outer", [nested]))
    assert edges(failure_report_for(only)) == {"agent_timeout": "shutdown", "shutdown": None}
    member = caused(ValueError("y"), failure("cancelled"))
    both = failure("agent_timeout", cause=group("outer", [nested, member]))
    assert edges(failure_report_for(both))["agent_timeout"] == "cancelled"


def test_a_search_through_groups_looks_at_each_exception_once():
    """Groups that share members and causes are opened once: the time is linear."""
    chain: BaseException = ValueError("end")
    for _ in range(1000):
        member, group = caused(ValueError("x"), chain), ValueError("group")
        group.exceptions = (chain, member)
        chain = caused(group, chain)
    start = time.process_time()
    assert cause_of(failure("agent_timeout", cause=chain), lambda _: None).failure is None
    assert time.process_time() - start < 2


@pytest.mark.parametrize("group", GROUPS)
def test_a_group_without_failures_is_a_foreign_exception(group):
    """`F from group` without a failure in it has no cause, and the group is its foreign error."""
    made = failure("agent_run_error", cause=group("several", [ValueError("x")])).to_record()
    assert made.cause_id is None
    assert made.foreign_error.exception_type == group.__name__


@pytest.mark.parametrize("exceptions", [None, 5, "ab", [], ["x"], [ValueError(), 1]])
def test_any_other_attribute_exceptions_makes_no_group(exceptions):
    """Only a sequence of exceptions makes a group; other attributes of that name are ignored."""
    error = ValueError("x")
    error.exceptions = exceptions
    assert (
        failure("agent_run_error", cause=error).to_record().foreign_error.exception_type
        == "ValueError"
    )


# -- rings -----------------------------------------------------------------------------------------


def ring_of_two() -> NgFailureEvent:
    a, b = failure("agent_timeout"), failure("judge_failed")
    a.__cause__, b.__cause__ = b, a
    return a


def ring_through_a_foreign_one() -> NgFailureEvent:
    a = failure("agent_timeout")
    a.__cause__ = caused(ValueError("x"), a)
    return a


def ring_of_one() -> NgFailureEvent:
    a = failure("agent_timeout")
    a.__cause__ = a
    return a


def ring_through_a_group() -> NgFailureEvent:
    a = failure("agent_timeout")
    a.__cause__ = Group("several", [a, failure("judge_failed")])
    return a


RINGS = [ring_of_two, ring_through_a_foreign_one, ring_of_one, ring_through_a_group]


@pytest.mark.parametrize("make", RINGS)
def test_a_ring_of_causes_ends_where_it_meets_itself(make):
    """A ring of causes gives a valid report of every failure; one edge of the ring is left out."""
    error = make()
    report = failure_report_for(error)
    assert report.failure_id == error.event_id
    assert FailureReport.model_validate(report.model_dump()) == report
    expected = (
        {"agent_timeout"}
        if make in (ring_through_a_foreign_one, ring_of_one)
        else {"agent_timeout", "judge_failed"}
    )
    assert set(edges(report)) == expected
    assert error.to_record().cause_id != error.event_id
    assert find_boundary_failure(error) is error


# -- copies ----------------------------------------------------------------------------------------


def deep_chain() -> NgFailureEvent:
    error: BaseException | None = None
    for at in range(5_000):
        error = failure("shutdown", cause=error, failure_reason=str(at))
    return error


def deep_foreign_chain() -> NgFailureEvent:
    error: BaseException = failure("judge_failed")
    for at in range(5_000):
        error = caused(ValueError(at), error)
    return failure("agent_timeout", cause=error)


def with_note() -> NgFailureEvent:
    error = failure(
        "shutdown", failure_reason="r", http_status=502, operation="o", details={"x": 1}
    )
    error.note = ["n"]
    return error


COPIED = {
    "plain": with_note,
    "cause": lambda: failure(
        "agent_timeout", cause=failure("judge_failed", cause=failure("shutdown"))
    ),
    "foreign": lambda: failure("agent_run_error", cause=ValueError("x")),
    "foreign between": lambda: failure(
        "agent_timeout", cause=caused(ValueError("x"), failure("judge_failed"))
    ),
    "foreign unpicklable": lambda: failure(
        "agent_timeout", cause=caused(Unpicklable("x"), failure("judge_failed"))
    ),
    "foreign needs arguments": lambda: failure(
        "agent_run_error", cause=NeedsArguments("request", "response")
    ),
    "group": lambda: failure(
        "agent_timeout", cause=Group("g", [failure("judge_failed"), failure("shutdown")])
    ),
    "below a member of a group": lambda: failure(
        "cancelled", cause=Group("g", [caused(ValueError(), failure("shutdown"))])
    ),
    "group with an unpicklable member": lambda: failure(
        "cancelled", cause=Group("g", [Unpicklable(), failure("shutdown")])
    ),
    "ring of two": ring_of_two,
    "ring of one": ring_of_one,
    "ring through a foreign one": ring_through_a_foreign_one,
    "ring through a group": ring_through_a_group,
    "chain of 5,000": deep_chain,
    "5,000 foreign ones": deep_foreign_chain,
    "subclass with arguments": lambda: Chatty("host", port=1),
    "subclass as cause": lambda: failure("shutdown", cause=Chatty("host", port=1)),
    "subclass that forgets": lambda: failure("shutdown", cause=Declared("s1")),
}
WAYS = {
    **{
        f"pickle {at}": lambda error, at=at: pickle.loads(pickle.dumps(error, at))
        for at in (0, 2, 5)
    },
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("make", COPIED)
def test_a_copy_tells_the_same_failure(make, way):
    """Pickled or copied, a failure keeps class, id, text and fields, and the same graph."""
    error = COPIED[make]()
    before = failure_report_for(error)
    twin = WAYS[way](error)
    assert twin is not error
    assert type(twin) is type(error)
    assert (twin.event_id, str(twin), twin.args) == (error.event_id, str(error), error.args)
    assert failure_report_for(twin) == before
    for name in ("note", "port", "sum"):
        assert getattr(twin, name, None) == getattr(error, name, None)


@pytest.mark.parametrize("group", GROUPS)
def test_a_group_that_is_a_cause_too_stays_in_the_group_that_holds_it(group):
    """A copy builds the members of a group before the group, wherever else they are found."""
    inner = group("inner", [failure("shutdown")])
    inner.__cause__ = group("outer", [ValueError("x"), inner])
    twin = pickle.loads(pickle.dumps(failure("agent_timeout", cause=inner)))
    copied = twin.__cause__
    assert copied.__cause__.exceptions[1] is copied
    assert copied.exceptions[0].failure_kind == "shutdown"


def test_a_copied_ring_is_a_ring_of_its_own():
    """The copy of a ring of causes closes on the copy."""
    twin = pickle.loads(pickle.dumps(ring_of_two()))
    assert twin.__cause__.__cause__ is twin


def test_a_copy_knows_where_its_cause_was_suppressed():
    """A copy of `raise … from None` still suppresses its context."""
    error = NgFailureEvent("shutdown")
    assert pickle.loads(pickle.dumps(error)).__suppress_context__ is False
    error.__suppress_context__ = True
    assert pickle.loads(pickle.dumps(error)).__suppress_context__ is True


def test_a_shallow_copy_in_one_process_keeps_the_cause_itself():
    """A shallow copy has the same cause object, even one that pickle refuses."""
    error = failure("agent_run_error", cause=Unpicklable("x"))
    assert copy.copy(error).__cause__ is error.__cause__


WORKER = """
from failgraph import NgFailureEvent

def fail():
    inner = NgFailureEvent("judge_failed", "inner", boundary="model", event_id="inner")
    middle = ValueError("no number")
    middle.__cause__ = inner
    outer = NgFailureEvent("agent_timeout", "outer", 504, boundary="agent", event_id="outer")
    raise outer from middle

def give():
    try:
        fail()
    except NgFailureEvent as error:
        return error
"""


@pytest.mark.parametrize("method", ["spawn", "fork"])
@pytest.mark.parametrize("way", ["fail", "give"], ids=["raised", "returned"])
def test_a_failure_comes_out_of_a_process_pool_as_it_went_in(way, method, tmp_path):
    """Id, fields and explicit causes survive a process pool, returned as well as raised."""
    (tmp_path / "failgraph_pool_worker.py").write_text(WORKER)
    (tmp_path / "main.py").write_text(
        textwrap.dedent(
            f"""
            import multiprocessing, sys
            from concurrent.futures import ProcessPoolExecutor
            from failgraph import failure_report_for
            import failgraph_pool_worker as worker

            if __name__ == "__main__":
                context = multiprocessing.get_context({method!r})
                with ProcessPoolExecutor(1, mp_context=context) as pool:
                    future = pool.submit(worker.{way})
                    error = future.exception() or future.result()
                sys.stdout.write(failure_report_for(error).model_dump_json())
            """
        )
    )
    done = subprocess.run(
        [sys.executable, str(tmp_path / "main.py")], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr[-2000:]
    report = FailureReport.model_validate_json(done.stdout)
    assert report == FailureReport(
        events={
            "inner": {
                "failure_kind": "judge_failed",
                "failure_reason": "inner",
                "boundary": "model",
            },
            "outer": {
                "failure_kind": "agent_timeout",
                "failure_reason": "outer",
                "http_status": 504,
                "boundary": "agent",
                "cause_id": "inner",
                "foreign_error": {"exception_type": "ValueError", "message": "no number"},
            },
        },
        failure_id="outer",
    )


# -- the other functions ---------------------------------------------------------------------------


def test_rebuild_failure_gives_the_own_failure_with_its_causes():
    """The own failure is rebuilt with its causes as `__cause__`, and reports its chain again."""
    events = {
        "a": FailureEvent(
            event_id="a", failure_kind="shutdown", boundary="sandbox", details={"exit_code": -9}
        ),
        "b": FailureEvent(event_id="b", failure_kind="cancelled", boundary="agent", cause_id="a"),
        "other": FailureEvent(event_id="other", failure_kind="judge_failed", boundary="model"),
    }
    error = rebuild_failure(FailureReport(events=events, failure_id="b"))
    assert (error.event_id, error.__cause__.event_id, error.__cause__.__cause__) == ("b", "a", None)
    assert failure_report_for(error) == FailureReport(
        events={id_: events[id_] for id_ in ("a", "b")}, failure_id="b"
    )


def test_rebuild_failure_without_an_own_failure():
    """Without `failure_id` nothing is rebuilt."""
    event = FailureEvent(event_id="a", failure_kind="shutdown", boundary="agent")
    assert rebuild_failure(FailureReport(events={"a": event})) is None
    assert rebuild_failure(FailureReport()) is None


def test_rebuild_failure_of_a_long_chain():
    """A chain of 5,000 is rebuilt without recursion."""
    report = failure_report_for(deep_chain())
    assert failure_report_for(rebuild_failure(report)) == report


def test_find_boundary_failure(setting):
    """It finds the outermost failure that names a boundary itself; the setting does not count."""
    setting("BOUNDARY", "harness")
    inner = failure("shutdown")
    outer = failure("cancelled", cause=inner)
    nameless = caused(NgFailureEvent("judge_failed"), caused(ValueError(), outer))
    assert find_boundary_failure(nameless) is outer
    assert find_boundary_failure(outer) is outer
    assert find_boundary_failure(caused(Group("g", [ValueError(), inner]), outer)) is inner
    assert find_boundary_failure(NgFailureEvent("judge_failed")) is None
    foreign = ValueError()
    foreign.boundary = "agent"
    assert find_boundary_failure(foreign) is None
    foreign.__context__ = inner
    assert find_boundary_failure(foreign) is None


def error_with(text: str = "text", /, **attributes: Any) -> Exception:
    error = ValueError(text)
    for name, value in attributes.items():
        setattr(error, name, value)
    return error


@pytest.mark.parametrize(
    ("error", "message", "status"),
    [
        (error_with("text"), "text", None),
        (error_with("text with request", message="chosen"), "chosen", None),
        (error_with("text", message=5), "text", None),
        (error_with("text", message=None), "text", None),
        (error_with(status_code=429), "text", 429),
        (error_with(status=503), "text", 503),
        (error_with(status=http.HTTPStatus.BAD_GATEWAY), "text", 502),
        (error_with(response=SimpleNamespace(status_code=500)), "text", 500),
        (error_with(response=SimpleNamespace(status=504)), "text", 504),
        (error_with(status_code=400, response=SimpleNamespace(status_code=500)), "text", 400),
        (error_with(response=None), "text", None),
        (error_with(status_code="429"), "text", None),
        (error_with(status_code=True), "text", None),
        (error_with(status_code=0), "text", None),
        (error_with(status=600), "text", None),
        (error_with("x" * 2000), "x" * 2000, None),
        (error_with("x" * 2001), "x" * 1999 + "…", None),
        (error_with("ä\udc80"), "ä\\udc80", None),
    ],
)
def test_sdk_error_details(error, message, status):
    """Only type, message (the own one before the text) and HTTP status are kept."""
    assert sdk_error_details(error) == SdkErrorDetails(
        exception_type="ValueError", message=message, http_status=status
    )


class Stubborn(Exception):
    """An SDK error whose properties raise, like those of a half-built response."""

    @property
    def message(self) -> str:
        raise RuntimeError("no message yet")

    @property
    def response(self) -> object:
        raise RuntimeError("no response yet")

    def __str__(self) -> str:
        return "stubborn"


class HostileError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


NAMELESS = type("", (Exception,), {})
LONG_NAME = type("L" * 300, (Exception,), {})


@pytest.mark.parametrize(
    "foreign", [Stubborn(), HostileError(), NAMELESS("x"), LONG_NAME("x")], ids=lambda _: ""
)
def test_an_odd_foreign_exception_never_costs_the_failure(foreign):
    """A foreign exception makes neither constructor nor record raise."""
    for error in (failure(foreign_error=foreign), failure("agent_run_error", cause=foreign)):
        made = error.to_record()
        assert made is not None
        assert made.event_id == error.event_id
        assert made.model_dump_json()


# -- Gym's own classes (stand-ins: no published Gym has them) --------------------------------------


class GymBoundary(Enum):
    AGENT = "agent"
    SANDBOX = "sandbox"


class GymDetails(BaseModel):
    exit_code: int | None = None


def gym_classes() -> tuple[type[BaseModel], type[BaseModel], type[Exception]]:
    class FailureEvent(BaseModel):
        event_id: str
        failure_kind: str
        boundary: GymBoundary
        failure_reason: str = ""
        exception_type: str | None = None
        http_status: int | None = None
        stage: str | None = None
        operation: str | None = None
        operation_id: str | None = None
        attempt_id: str | None = None
        cause_id: str | None = None
        foreign_error: None = None
        details: GymDetails | None = None

    class FailureReport(BaseModel):
        events: dict[str, FailureEvent]
        failure_id: str | None = None
        omitted: bool = False

    class NgFailureEvent(Exception):
        def __init__(self, failure_kind: str, event_id: str, boundary: GymBoundary) -> None:
            super().__init__(failure_kind)
            self.event_id = event_id
            self.failure_kind = failure_kind
            self.boundary = boundary

        def to_record(self) -> BaseModel:
            details = GymDetails(exit_code=-9) if self.boundary is GymBoundary.SANDBOX else None
            return FailureEvent(
                event_id=self.event_id,
                failure_kind=self.failure_kind,
                boundary=self.boundary,
                details=details,
            )

    return FailureEvent, FailureReport, NgFailureEvent


def test_from_record_takes_a_record_of_gyms_own_class_stand_in():
    """`from_record` accepts a record of Gym's own class."""
    theirs = gym_classes()[0](
        event_id="g",
        failure_kind="shutdown",
        boundary=GymBoundary.SANDBOX,
        details=GymDetails(exit_code=-9),
    )
    assert NgFailureEvent.from_record(theirs).to_record() == FailureEvent(
        event_id="g", failure_kind="shutdown", boundary="sandbox", details={"exit_code": -9}
    )


def test_rebuild_failure_takes_a_report_of_gyms_own_class_stand_in():
    """`rebuild_failure` accepts a report of Gym's own class."""
    event_class, report_class, _ = gym_classes()
    events = {
        "a": {"event_id": "a", "failure_kind": "shutdown", "boundary": GymBoundary.SANDBOX},
        "b": {
            "event_id": "b",
            "failure_kind": "cancelled",
            "boundary": GymBoundary.AGENT,
            "cause_id": "a",
        },
    }
    error = rebuild_failure(report_class(events=events, failure_id="b"))
    assert edges(failure_report_for(error)) == {"shutdown": None, "cancelled": "shutdown"}
    assert event_class(**events["a"]).event_id == error.__cause__.event_id


def test_a_chain_of_our_exceptions_and_gyms_own_stand_in():
    """Gym's own exception counts above and below ours, with its edges."""
    gym = gym_classes()[2]
    bottom = gym("shutdown", "g1", GymBoundary.SANDBOX)
    middle = failure("judge_failed", cause=caused(ValueError("x"), bottom))
    top = caused(gym("cancelled", "g2", GymBoundary.AGENT), middle)
    report = failure_report_for(top)
    assert edges(report) == {
        "cancelled": "judge_failed",
        "judge_failed": "shutdown",
        "shutdown": None,
    }
    assert report.failure_id == "g2"
    assert all(type(event) is FailureEvent for event in report.events.values())
    assert report.events["g1"].details == SandboxFailureDetails(exit_code=-9)
    assert find_boundary_failure(top) is top


def test_gyms_own_stand_in_may_name_its_id_elsewhere():
    """If Gym's exception keeps its id elsewhere, the id of its record is used."""
    event_class, _, base = gym_classes()

    class NgFailureEvent(base):
        def __init__(self, id_: str) -> None:
            Exception.__init__(self, id_)
            self.boundary = GymBoundary.AGENT
            self._id = id_

        def to_record(self) -> BaseModel:
            return event_class(
                event_id=self._id, failure_kind="shutdown", boundary=GymBoundary.AGENT
            )

    report = failure_report_for(caused(NgFailureEvent("g2"), NgFailureEvent("g1")))
    assert {id_: event.cause_id for id_, event in report.events.items()} == {"g1": None, "g2": "g1"}
    assert report.failure_id == "g2"


# -- ids -------------------------------------------------------------------------------------------


def test_an_id_is_a_uuid_of_version_7():
    """An event id is a UUIDv7 in canonical text; its first 48 bits are Unix time in ms."""
    before = time.time_ns() // 1_000_000
    id_ = new_event_id()
    after = time.time_ns() // 1_000_000
    parsed = uuid.UUID(id_)
    assert str(parsed) == id_
    assert parsed.version == 7
    assert parsed.variant == uuid.RFC_4122
    assert before <= parsed.int >> 80 <= after
    assert uuid.UUID(failure().event_id).version == 7


def test_ids_differ_in_every_random_bit():
    """All 74 random bits vary, and no others except the time."""
    ids = [uuid.UUID(new_event_id()).int for _ in range(1_000)]
    ones, zeros = 0, 0
    for id_ in ids:
        ones |= id_
        zeros |= ~id_
    random = ((1 << 12) - 1) << 64 | (1 << 62) - 1
    assert ones & zeros & random == random
    assert ones & zeros & ((1 << 80) - 1) & ~random == 0


def test_100_000_ids_are_unique():
    """No id comes twice."""
    assert len({new_event_id() for _ in range(100_000)}) == 100_000


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
def test_ids_are_unique_across_a_fork(tmp_path):
    """A forked child makes other ids than its parent and its siblings."""
    script = textwrap.dedent(
        """
        import os, sys
        from failgraph import NgFailureEvent

        def made(name):
            with open(os.path.join(sys.argv[1], name), "w") as file:
                file.writelines(NgFailureEvent("shutdown").event_id + "\\n" for _ in range(2000))

        made("before")
        children = []
        for name in "abc":
            child = os.fork()
            if not child:
                made(name)
                os._exit(0)
            children.append(child)
        made("parent")
        for child in children:
            os.waitpid(child, 0)
        """
    )
    subprocess.run([sys.executable, "-c", script, str(tmp_path)], timeout=60, check=True)
    ids = [id_ for file in tmp_path.iterdir() for id_ in file.read_text().split()]
    assert len(ids) == 10_000
    assert len(set(ids)) == 10_000


class _Recording(pickle.Unpickler):
    """Records each module that a pickle names."""

    def __init__(self, data: bytes) -> None:
        super().__init__(io.BytesIO(data))
        self.modules: set[str] = set()

    def find_class(self, module: str, name: str) -> Any:
        self.modules.add(module)
        return super().find_class(module, name)


def _modules_in(data: bytes) -> set[str]:
    reader = _Recording(data)
    reader.load()
    return reader.modules


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_pickle_names_only_the_public_package(protocol: int) -> None:
    """Pickles name only `failgraph` and the standard library, so that modules may move."""
    carrier = NgFailureEvent("agent_timeout", boundary="agent")
    carrier.__cause__ = NeedsArguments("a", "b")
    lost = pickle.loads(pickle.dumps(carrier)).__cause__
    assert type(lost) is LostCauseError
    cause = NgFailureEvent("judge_failed", boundary="agent", details=SandboxFailureDetails())
    cause.__cause__ = ValueError("foreign")
    cause.report = FailureReport(events={})
    error = NgFailureEvent("agent_run_error", foreign_error=KeyError("gone"), boundary="agent")
    error.__cause__ = cause
    named = _modules_in(pickle.dumps(error, protocol))
    for foreign in (lost, sdk_error_details(error), FailureBoundary.AGENT, error.to_record()):
        named |= _modules_in(pickle.dumps(foreign, protocol))
    assert named <= {"failgraph", "builtins", "__builtin__", "copyreg", "copy_reg", "_codecs"}
    assert "failgraph" in named
