"""The records against the schema of NeMo Gym: fields, limits, validators, form on the wire."""

from __future__ import annotations

import json
from enum import Enum
from typing import Any, get_args

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from pydantic import BaseModel, ValidationError

from builders import event
from failgraph import (
    EpisodeFailure,
    FailureBoundary,
    FailureDetails,
    FailureEvent,
    FailureReport,
    FailureStage,
    ModelFailureDetails,
    SandboxFailureDetails,
    SdkErrorDetails,
    validate_failure_event_map,
)

# No deadline: these properties must hold on a slow machine too.
law = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

EVENT = {"event_id": "e", "failure_kind": "agent_timeout", "boundary": "agent"}
SANDBOX_EVENT = {**EVENT, "boundary": "sandbox"}
SDK = {"exception_type": "ReadError", "message": "gone"}
EPISODE = {"failure_reason": "it broke", "terminal": True}

# From the schema of NeMo Gym: model, the fields that it needs, a text, its limit in characters.
TEXTS = [
    (FailureEvent, EVENT, "failure_reason", 2000),
    (FailureEvent, EVENT, "exception_type", 256),
    (FailureEvent, EVENT, "operation", 256),
    (FailureEvent, EVENT, "operation_id", 128),
    (FailureEvent, EVENT, "attempt_id", 128),
    (FailureEvent, EVENT, "cause_id", 128),
    (SdkErrorDetails, SDK, "exception_type", 256),
    (SdkErrorDetails, SDK, "message", 2000),
    (SandboxFailureDetails, {}, "provider", 256),
    (SandboxFailureDetails, {}, "sandbox_id", 256),
    (SandboxFailureDetails, {}, "execution_id", 256),
    (SandboxFailureDetails, {}, "provider_status_reason", 2000),
    (ModelFailureDetails, {}, "provider_request_id", 256),
    (EpisodeFailure, EPISODE, "failure_reason", 2000),
]

# Every field with its default; `...` where it is required.
FIELDS = {
    FailureEvent: {
        "event_id": ...,
        "failure_kind": ...,
        "boundary": ...,
        "failure_reason": "",
        "exception_type": None,
        "http_status": None,
        "stage": None,
        "operation": None,
        "operation_id": None,
        "attempt_id": None,
        "cause_id": None,
        "foreign_error": None,
        "details": None,
    },
    FailureReport: {"events": {}, "failure_id": None, "omitted": False},
    SdkErrorDetails: {"exception_type": ..., "message": ..., "http_status": None},
    SandboxFailureDetails: dict.fromkeys(
        ("provider", "sandbox_id", "execution_id", "exit_code", "provider_status_reason")
    ),
    ModelFailureDetails: {"provider_request_id": None, "request_upload_complete": None},
    EpisodeFailure: {"failure_reason": ..., "terminal": ..., "failure_kind": None, "stage": None},
}
SMALLEST = {
    FailureEvent: EVENT,
    FailureReport: {},
    SdkErrorDetails: SDK,
    SandboxFailureDetails: {},
    ModelFailureDetails: {},
    EpisodeFailure: EPISODE,
}
FROZEN = (FailureEvent, SdkErrorDetails, SandboxFailureDetails, ModelFailureDetails)


def report(*events: FailureEvent, **fields: Any) -> FailureReport:
    return FailureReport(events={one.event_id: one for one in events}, **fields)


def texts(limit: int, smallest: int = 0) -> st.SearchStrategy[str]:
    """Return short texts, and texts at the limit that have four bytes per character."""
    return st.text(min_size=smallest, max_size=12) | st.just("\U0001f4a5" * limit)


def maybe(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.none() | strategy


STATUS = maybe(st.integers(100, 599))
DETAILS = {
    "sandbox": st.builds(
        SandboxFailureDetails,
        provider=maybe(texts(256)),
        sandbox_id=maybe(texts(256)),
        execution_id=maybe(texts(256)),
        exit_code=maybe(st.integers()),
        provider_status_reason=maybe(texts(2000)),
    ),
    "model": st.builds(
        ModelFailureDetails,
        provider_request_id=maybe(texts(256)),
        request_upload_complete=maybe(st.booleans()),
    ),
}


@st.composite
def events(draw: st.DrawFn, event_id: str = "e", cause_id: str | None = None) -> FailureEvent:
    """Return any valid event with that id and cause."""
    boundary = draw(st.sampled_from(FailureBoundary))
    return FailureEvent(
        event_id=event_id,
        cause_id=cause_id,
        failure_kind=draw(texts(300, smallest=1)),
        boundary=boundary,
        failure_reason=draw(texts(2000)),
        exception_type=draw(maybe(texts(256))),
        http_status=draw(STATUS),
        stage=draw(maybe(st.sampled_from(get_args(FailureStage)))),
        operation=draw(maybe(texts(256))),
        operation_id=draw(maybe(texts(128))),
        attempt_id=draw(maybe(texts(128))),
        foreign_error=draw(
            maybe(
                st.builds(
                    SdkErrorDetails,
                    exception_type=texts(256, 1),
                    message=texts(2000),
                    http_status=STATUS,
                )
            )
        ),
        details=draw(maybe(DETAILS[boundary.value])) if boundary.value in DETAILS else None,
    )


@st.composite
def reports(draw: st.DrawFn) -> FailureReport:
    """Return any valid report over a few ids, so that two reports often share some."""
    ids = draw(st.lists(st.sampled_from("abcdef"), unique=True))
    made = [
        draw(events(id_, draw(st.none() | st.sampled_from(ids[:at])) if at else None))
        for at, id_ in enumerate(ids)
    ]
    return report(
        *made,
        failure_id=draw(st.none() | st.sampled_from(ids)) if ids else None,
        omitted=draw(st.booleans()),
    )


def holds_null(value: object) -> bool:
    if isinstance(value, dict):
        return any(map(holds_null, value.values()))
    return value is None


# --- the schema


@pytest.mark.parametrize("model", FIELDS, ids=lambda model: model.__name__)
def test_fields_and_defaults_are_those_of_the_schema(model):
    """A record has the fields of the schema and no others, with the same defaults."""
    expected = FIELDS[model]
    assert set(model.model_fields) == set(expected)
    assert {name for name, field in model.model_fields.items() if field.is_required()} == {
        name for name, default in expected.items() if default is ...
    }
    smallest = model(**SMALLEST[model])
    for name, default in expected.items():
        if default is not ...:
            assert getattr(smallest, name) == default, name


@pytest.mark.parametrize(("model", "needed", "field", "limit"), TEXTS)
def test_a_text_may_be_as_long_as_its_limit_and_no_longer(model, needed, field, limit):
    """Limits count characters, not bytes; a text at the limit passes, one more is refused."""
    for letter in ("x", "\U0001f4a5"):
        made = model(**{**needed, field: letter * limit})
        assert getattr(made, field) == letter * limit
        with pytest.raises(ValidationError, match=field):
            model(**{**needed, field: letter * (limit + 1)})


@pytest.mark.parametrize(("model", "needed"), [(FailureEvent, EVENT), (SdkErrorDetails, SDK)])
def test_a_status_lies_between_100_and_599(model, needed):
    """An HTTP status is 100 to 599, both included."""
    for status in (100, 599):
        assert model(**needed, http_status=status).http_status == status
    for status in (99, 600, 0, -1):
        with pytest.raises(ValidationError, match="http_status"):
            model(**needed, http_status=status)


def test_a_failure_id_has_at_most_128_characters():
    """A report's `failure_id` may have 128 characters and no more."""
    assert report(event("i" * 128), failure_id="i" * 128).failure_id == "i" * 128
    with pytest.raises(ValidationError, match="failure_id"):
        report(event("i" * 129), failure_id="i" * 129)


def test_an_event_id_has_no_limit():
    """The schema does not limit `event_id`."""
    assert event("i" * 5000).event_id == "i" * 5000


def test_a_foreign_error_names_its_type():
    """The `exception_type` of a foreign error has at least one character."""
    with pytest.raises(ValidationError, match="exception_type"):
        SdkErrorDetails(exception_type="", message="")


@pytest.mark.parametrize("code", [0, -9, 137, 2**70])
def test_an_exit_code_is_any_integer(code):
    """The schema does not limit an exit code."""
    assert SandboxFailureDetails(exit_code=code).exit_code == code


@pytest.mark.parametrize("model", SMALLEST, ids=lambda model: model.__name__)
def test_an_unknown_field_is_refused(model):
    """Every record class forbids unknown fields."""
    with pytest.raises(ValidationError, match="surprise"):
        model(**SMALLEST[model], surprise=1)


@pytest.mark.parametrize("model", FROZEN, ids=lambda model: model.__name__)
def test_a_frozen_record_cannot_be_changed(model):
    """Events, details and foreign errors are frozen: no field can be set, and they hash."""
    made = model(**SMALLEST[model])
    for name in model.model_fields:
        with pytest.raises(ValidationError, match="frozen"):
            setattr(made, name, getattr(made, name))
    assert hash(made) == hash(model(**SMALLEST[model]))


def test_a_report_and_an_episode_failure_are_not_frozen():
    """The schema does not freeze `FailureReport` and `EpisodeFailure`."""
    made = report()
    made.omitted = True
    assert made.omitted is True
    episode = EpisodeFailure(**EPISODE)
    episode.terminal = False
    assert episode.terminal is False


def test_there_are_seven_boundaries():
    """A boundary is one of the seven of the schema, a plain enum by name and value."""
    assert {boundary.name: boundary.value for boundary in FailureBoundary} == {
        "AGENT": "agent",
        "COLLECTION": "collection",
        "ENVIRONMENT": "environment",
        "HARNESS": "harness",
        "MODEL": "model",
        "RESOURCES_SERVER": "resources_server",
        "SANDBOX": "sandbox",
    }
    assert not issubclass(FailureBoundary, str)
    with pytest.raises(ValidationError, match="boundary"):
        event(boundary="judge")


def test_there_are_five_stages():
    """A stage is one of the five of the schema."""
    stages = ("admission", "seed", "agent", "verification", "cleanup")
    assert get_args(FailureStage) == stages
    for stage in stages:
        assert event(stage=stage).stage == stage
        assert EpisodeFailure(**EPISODE, stage=stage).stage == stage
    for model, needed in ((FailureEvent, EVENT), (EpisodeFailure, EPISODE)):
        with pytest.raises(ValidationError, match="stage"):
            model(**needed, stage="teardown")


@pytest.mark.parametrize(
    "kind", ["agent_timeout", "my_server:odd", "Anything At All", "a" * 5000, "trailing\n"]
)
def test_any_kind_that_is_not_empty_is_kept(kind):
    """Any kind that is not empty is kept as it is, on an event and on an episode failure."""
    assert event(kind=kind).failure_kind == kind
    assert EpisodeFailure(**EPISODE, failure_kind=kind).failure_kind == kind


@pytest.mark.parametrize(("model", "needed"), [(FailureEvent, EVENT), (EpisodeFailure, EPISODE)])
def test_an_empty_kind_is_refused(model, needed):
    """An empty kind is refused."""
    with pytest.raises(ValidationError, match="failure_kind"):
        model(**{**needed, "failure_kind": ""})


# --- details


def test_details_are_a_union_of_two_models():
    """`FailureDetails` is the union of the two details models."""
    assert set(get_args(FailureDetails)) == {SandboxFailureDetails, ModelFailureDetails}


@pytest.mark.parametrize(
    ("boundary", "given", "expected"),
    [
        ("sandbox", {"exit_code": -9}, SandboxFailureDetails(exit_code=-9)),
        (
            "model",
            {"request_upload_complete": False},
            ModelFailureDetails(request_upload_complete=False),
        ),
        ("sandbox", {}, SandboxFailureDetails()),
        ("model", {}, ModelFailureDetails()),
        ("sandbox", SandboxFailureDetails(provider="p"), SandboxFailureDetails(provider="p")),
        (
            "model",
            ModelFailureDetails(provider_request_id="r"),
            ModelFailureDetails(provider_request_id="r"),
        ),
    ],
)
def test_the_boundary_selects_the_schema_of_the_details(boundary, given, expected):
    """The schema of the event's boundary reads its details, even if every field is absent."""
    made = event(boundary=boundary, details=given)
    assert type(made.details) is type(expected)
    assert made.details == expected


@pytest.mark.parametrize(
    ("boundary", "given"),
    [
        ("sandbox", {"provider_request_id": "r"}),
        ("model", {"exit_code": 1}),
        ("sandbox", ModelFailureDetails()),
        ("model", SandboxFailureDetails()),
        ("sandbox", {"surprise": 1}),
        ("model", {"surprise": 1}),
        ("sandbox", "text"),
        ("sandbox", {"provider": "x" * 257}),
    ],
)
def test_details_of_another_schema_are_refused(boundary, given):
    """Details that do not fit the schema of the event's boundary are refused."""
    with pytest.raises(ValidationError, match="details"):
        event(boundary=boundary, details=given)


@pytest.mark.parametrize(
    "boundary", ["agent", "collection", "environment", "harness", "resources_server"]
)
@pytest.mark.parametrize(
    "given", [{}, {"exit_code": 1}, SandboxFailureDetails(), ModelFailureDetails()]
)
def test_the_other_boundaries_take_no_details(boundary, given):
    """Any boundary but sandbox and model refuses details, even empty ones, but takes None."""
    assert event(boundary=boundary, details=None).details is None
    with pytest.raises(ValidationError, match="details"):
        event(boundary=boundary, details=given)


def test_a_bad_boundary_is_not_reported_as_bad_details():
    """If the boundary is unknown the error names it, not the details that it would select."""
    with pytest.raises(ValidationError) as caught:
        event(boundary="judge", details={"surprise": 1})
    assert [error["loc"] for error in caught.value.errors()] == [("boundary",)]


# --- the map


def test_a_valid_map_is_returned():
    """A valid map is returned itself."""
    made = {"a": event("a"), "b": event("b", cause_id="a"), "c": event("c", cause_id="a")}
    assert validate_failure_event_map(made) is made


@pytest.mark.parametrize(
    "made",
    [
        {"x": event("a")},
        {"a": event("a", cause_id="gone")},
        {"a": event("a", cause_id="a")},
        {"a": event("a", cause_id="b"), "b": event("b", cause_id="a")},
        {
            "r": event("r", cause_id="a"),
            "a": event("a", cause_id="b"),
            "b": event("b", cause_id="c"),
            "c": event("c", cause_id="a"),
        },
    ],
    ids=[
        "key is not the id",
        "cause is missing",
        "own cause",
        "ring of two",
        "ring below an effect",
    ],
)
def test_a_map_that_breaks_a_rule_is_refused(made):
    """Keys are event ids, causes are in the map and form no cycle; a report asks the same."""
    with pytest.raises(ValueError):
        validate_failure_event_map(made)
    with pytest.raises(ValidationError, match="events"):
        FailureReport(events=made)


@pytest.mark.slow
@pytest.mark.parametrize("direction", [1, -1], ids=["causes first", "effects first"])
def test_a_chain_of_100_000_validates(direction):
    """A long chain is checked without recursion, whichever end comes first."""
    ids = [str(at) for at in range(100_000)]
    made = {id_: event(id_, cause_id=cause) for id_, cause in zip(ids, [None, *ids], strict=False)}
    made = dict(list(made.items())[::direction])
    assert validate_failure_event_map(made) is made
    assert len(FailureReport(events=made).events) == len(ids)
    made["0"] = event("0", cause_id=ids[-1])
    with pytest.raises(ValueError, match="cycle"):
        validate_failure_event_map(made)


def test_a_failure_id_names_an_event_of_the_report():
    """`failure_id` is None or the id of an event in the report."""
    assert report(event("a"), failure_id="a").failure_id == "a"
    for made in ((), (event("b"),)):
        with pytest.raises(ValidationError, match="failure_id"):
            report(*made, failure_id="a")


# --- the wire


def test_the_form_on_the_wire():
    """Absent fields stay absent, an event does not repeat its id, and a boundary is its text."""
    made = report(
        event("a", boundary="sandbox", details={"exit_code": 0}),
        event("b", cause_id="a", http_status=500, foreign_error=SDK),
        failure_id="b",
    )
    kind = {"failure_kind": "judge_failed", "failure_reason": ""}
    assert json.loads(made.model_dump_json()) == {
        "events": {
            "a": {**kind, "boundary": "sandbox", "details": {"exit_code": 0}},
            "b": {
                **kind,
                "boundary": "agent",
                "cause_id": "a",
                "http_status": 500,
                "foreign_error": SDK,
            },
        },
        "failure_id": "b",
        "omitted": False,
    }


@law
@given(events())
def test_an_event_alone_keeps_its_id_and_holds_no_null(made):
    """An event alone keeps its id, holds no null in any dump, and reads back equal."""
    for dumped in (
        made.model_dump(),
        made.model_dump(mode="json"),
        json.loads(made.model_dump_json()),
    ):
        assert dumped["event_id"] == made.event_id
        assert not holds_null(dumped)
        assert FailureEvent.model_validate(dumped) == made
    assert FailureEvent.model_validate_json(made.model_dump_json()) == made


@law
@given(reports())
def test_a_report_reads_back_as_it_was_without_ids_or_nulls(made):
    """A report repeats no event id, holds no null in any dump, and reads back equal."""
    for dumped in (
        made.model_dump(),
        made.model_dump(mode="json"),
        json.loads(made.model_dump_json()),
    ):
        assert not holds_null(dumped)
        assert list(dumped["events"]) == list(made.events)
        assert all("event_id" not in one for one in dumped["events"].values())
        assert FailureReport.model_validate(dumped) == made
    assert FailureReport.model_validate_json(made.model_dump_json()) == made


def test_a_report_inside_another_model_has_the_same_form():
    """The form on the wire is the same for a report nested in another model."""

    class Reply(BaseModel):
        failure_report: FailureReport

    made = report(event("a"), failure_id="a")
    assert Reply(failure_report=made).model_dump(mode="json") == {
        "failure_report": made.model_dump(mode="json")
    }


@pytest.mark.parametrize("form", ["with the id", "without the id", "as an object", "with nulls"])
def test_a_reader_takes_every_form_of_an_event(form):
    """A report takes an event with or without its id, as an object, and with nulls."""
    made = event("a", http_status=500)
    forms = {
        "with the id": made.model_dump(mode="json"),
        "without the id": {
            key: value for key, value in made.model_dump(mode="json").items() if key != "event_id"
        },
        "as an object": made,
        "with nulls": {**made.model_dump(mode="json"), "details": None, "cause_id": None},
    }
    assert FailureReport(events={"a": forms[form]}).events == {"a": made}
    if form != "as an object":
        assert FailureReport.model_validate_json(
            json.dumps({"events": {"a": forms[form]}})
        ).events == {"a": made}


def test_an_id_that_contradicts_its_key_is_refused():
    """An event that repeats its id must repeat the key."""
    with pytest.raises(ValidationError, match="event_id"):
        FailureReport(events={"b": {**EVENT, "event_id": "a"}})


def test_reading_a_report_changes_nothing_that_was_given():
    """Reading a report does not change the given mapping."""
    given_ = {"events": {"a": {"failure_kind": "shutdown", "boundary": "agent"}}}
    before = json.dumps(given_)
    FailureReport.model_validate(given_)
    assert json.dumps(given_) == before


# --- merged


@pytest.mark.slow
@law
@given(reports(), reports())
def test_merged_keeps_first_copies_and_ors_omitted(ours, theirs):
    """`merged` has the events of both, the first copy of an id, and `omitted` if either has."""
    before = ours.model_copy(deep=True), theirs.model_copy(deep=True)
    both = ours.merged(theirs)
    assert set(both.events) == set(ours.events) | set(theirs.events)
    for id_, one in both.events.items():
        assert one == (ours.events[id_] if id_ in ours.events else theirs.events[id_])
    assert both.failure_id == ours.failure_id
    assert both.omitted is (ours.omitted or theirs.omitted)
    assert FailureReport.model_validate(both.model_dump()) == both
    assert (ours, theirs) == before


@law
@given(reports())
def test_merged_with_itself_or_nothing_is_the_same(made):
    """A report merged with itself or with an empty one is equal to it."""
    assert made.merged(made) == made
    assert made.merged(FailureReport()) == made


# --- the older envelope


@pytest.mark.parametrize("mode", ["python", "json"])
def test_an_episode_failure_leaves_out_an_absent_kind_and_stage(mode):
    """An episode failure is written with kind and stage only if it has them."""
    assert EpisodeFailure(**EPISODE).model_dump(mode=mode) == EPISODE
    full = {**EPISODE, "failure_kind": "agent_timeout", "stage": "seed"}
    assert EpisodeFailure(**full).model_dump(mode=mode) == full
    assert EpisodeFailure.model_validate_json(
        EpisodeFailure(**full).model_dump_json()
    ) == EpisodeFailure(**full)


@pytest.mark.parametrize("mode", ["python", "json"])
def test_a_subclass_of_episode_failure_keeps_its_own_fields(mode):
    """A null is left out for kind and stage only; saved records keep those of a subclass."""

    class WithNote(EpisodeFailure):
        note: str | None = None

    assert WithNote(**EPISODE).model_dump(mode=mode) == {**EPISODE, "note": None}
    assert WithNote(**EPISODE, note="n").model_dump(mode=mode) == {**EPISODE, "note": "n"}


@pytest.mark.parametrize("missing", ["failure_reason", "terminal"])
def test_an_episode_failure_needs_a_reason_and_terminal(missing):
    """`failure_reason` and `terminal` have no default."""
    with pytest.raises(ValidationError, match=missing):
        EpisodeFailure(**{name: value for name, value in EPISODE.items() if name != missing})


# --- Gym's own classes (stand-ins: no published Gym has them)


class GymBoundary(Enum):
    AGENT = "agent"
    SANDBOX = "sandbox"


class GymSandboxDetails(BaseModel):
    exit_code: int | None = None


def gym_classes() -> tuple[type[BaseModel], type[BaseModel]]:
    class FailureEvent(BaseModel):
        event_id: str
        failure_kind: str
        boundary: GymBoundary
        failure_reason: str = ""
        cause_id: str | None = None
        details: GymSandboxDetails | None = None

    class FailureReport(BaseModel):
        events: dict[str, FailureEvent]
        failure_id: str | None = None
        omitted: bool = False

    return FailureEvent, FailureReport


def gym_event() -> BaseModel:
    return gym_classes()[0](
        event_id="g",
        failure_kind="kill_shaped",
        boundary=GymBoundary.SANDBOX,
        details=GymSandboxDetails(exit_code=-9),
    )


OURS = FailureEvent(
    event_id="g", failure_kind="kill_shaped", boundary="sandbox", details={"exit_code": -9}
)


def test_the_map_takes_events_of_gyms_own_class_stand_in():
    """A map may hold records of Gym's own class."""
    made = {"g": gym_event()}
    assert validate_failure_event_map(made) is made


def test_a_report_takes_events_of_gyms_own_class_stand_in():
    """A record of Gym's own class in a report becomes ours."""
    assert FailureReport(events={"g": gym_event()}).events == {"g": OURS}


def test_merged_takes_a_report_of_gyms_own_class_stand_in():
    """A report of Gym's own class can be merged in."""
    theirs = gym_classes()[1](events={"g": gym_event().model_dump()}, omitted=True)
    assert report(event("a")).merged(theirs) == report(event("a"), OURS, omitted=True)
