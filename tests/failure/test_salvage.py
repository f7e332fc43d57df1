"""Lenient building of an event: what is kept, what is left out or cut, and that each is named."""

from __future__ import annotations

from typing import Any

import pytest

from failgraph import FailureBoundary, ModelFailureDetails, SandboxFailureDetails
from failgraph.failure.boundary import parse_boundary
from failgraph.failure.salvage import fields_of, salvage

FIELDS = {"boundary": "sandbox", "failure_kind": "kill_shaped"}


class Unreadable:
    """An object of a user's that raises when it is read."""

    def __str__(self) -> str:
        raise RuntimeError("no text")


def damage(fields: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the losses of these fields as (kind, what)."""
    losses = salvage("e1", fields).losses
    assert all(loss.detail.endswith(" of e1") for loss in losses)
    return [(loss.kind, loss.detail.removesuffix(" of e1")) for loss in losses]


def test_valid_fields_lose_nothing():
    """Valid fields become the event that they describe, under the given id."""
    details = {"provider": "docker", "exit_code": -9}
    event, losses = salvage(
        "e1", {**FIELDS, "event_id": "other", "stage": None, "details": details}
    )
    assert losses == ()
    assert event is not None
    assert (event.event_id, event.boundary) == ("e1", FailureBoundary.SANDBOX)
    assert event.details == SandboxFailureDetails(**details)


@pytest.mark.parametrize("boundary", [None, "kitchen", 5, Unreadable()])
def test_there_is_no_event_without_a_boundary(boundary):
    """Fields that name no boundary give no event, and the loss says so."""
    fields = {**FIELDS, "boundary": boundary}
    assert salvage("e1", fields).event is None
    assert damage(fields) == [("attribute_missing", "boundary")]


@pytest.mark.parametrize(
    ("field", "value", "loss"),
    [
        ("surprise", 1, ("unknown_field", "surprise")),
        ("http_status", 999, ("unknown_field", "http_status")),
        ("http_status", True, ("unknown_field", "http_status")),
        ("stage", "teardown", ("unknown_field", "stage")),
        ("operation", 5, ("unknown_field", "operation")),
        ("failure_kind", "", ("attribute_missing", "failure_kind")),
        ("failure_reason", "x" * 2001, ("text_cut", "failure_reason")),
        ("cause_id", "x" * 129, ("text_cut", "cause_id")),
        ("details", {"surprise": 1}, ("unknown_field", "surprise")),
        ("details", {"provider": "x" * 257}, ("text_cut", "provider")),
        ("foreign_error", {"exception_type": "OSError"}, ("attribute_missing", "SdkErrorDetails")),
    ],
)
def test_a_field_that_does_not_fit_is_named(field, value, loss):
    """The event is kept, and one loss names the field that was left out or cut."""
    fields = {**FIELDS, field: value}
    assert salvage("e1", fields).event is not None
    assert damage(fields) == [loss]


def test_details_of_another_boundary_are_left_out():
    """Only the sandbox and the model boundary carry details."""
    fields = {**FIELDS, "boundary": "agent", "details": {"exit_code": 1}}
    event = salvage("e1", fields).event
    assert event is not None
    assert event.details is None
    assert damage(fields) == [("unknown_field", "details")]


def test_a_given_function_shortens_texts_but_not_ids():
    """`shorten` is used for texts over their limit; an id keeps its beginning and gets a digest."""
    fields = {**FIELDS, "failure_reason": "x" * 2001, "cause_id": "c" * 129}
    event = salvage("e1", fields, lambda text, limit: f"{len(text)} over {limit}").event
    assert event is not None
    assert event.failure_reason == "2001 over 2000"
    assert event.cause_id is not None
    assert len(event.cause_id) == 128
    assert event.cause_id.startswith("ccc")


def test_an_object_that_cannot_be_read_is_replaced_by_its_type():
    """A value whose text raises never raises here."""
    event = salvage("e1", {**FIELDS, "operation": Unreadable()}).event
    assert event is not None
    assert event.operation == "<unprintable Unreadable>"


@pytest.mark.parametrize(
    ("record", "fields"),
    [
        ({"a": 1}, {"a": 1}),
        (ModelFailureDetails(provider_request_id="r"), {"provider_request_id": "r"}),
        ("text", {}),
        (None, {}),
    ],
)
def test_fields_of_a_record(record, fields):
    """Mappings and pydantic models have fields, anything else has none."""
    assert fields_of(record) == fields


@pytest.mark.parametrize(
    ("value", "boundary"),
    [
        (FailureBoundary.AGENT, FailureBoundary.AGENT),
        ("agent", FailureBoundary.AGENT),
        (None, None),
        ("Agent", None),
        (5, None),
    ],
)
def test_a_boundary_is_read_from_an_enumeration_or_its_text(value, boundary):
    """A boundary is given as ours or as its text; anything else names none."""
    assert parse_boundary(value) is boundary
