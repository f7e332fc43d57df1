"""NeMo Gym's failure records in OpenTelemetry traces, and back out of them.

Each name is loaded on first use: importing this package loads neither pydantic nor the
OpenTelemetry SDK.
"""

from __future__ import annotations

# Every process with FAILGRAPH_ENABLED loads this module; `typing` would take 5 to 9 ms of it.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from importlib.metadata import version

    from failgraph.diagnostics import stats as stats
    from failgraph.exceptions.failure_exception import (
        NgFailureEvent as NgFailureEvent,
        unpickle_failure as unpickle_failure,
    )
    from failgraph.exceptions.foreign_errors import (
        LostCauseError as LostCauseError,
        sdk_error_details as sdk_error_details,
    )
    from failgraph.exceptions.reports import (
        failure_report_for as failure_report_for,
        find_boundary_failure as find_boundary_failure,
        rebuild_failure as rebuild_failure,
    )
    from failgraph.failure.records import (
        EpisodeFailure as EpisodeFailure,
        FailureBoundary as FailureBoundary,
        FailureDetails as FailureDetails,
        FailureEvent as FailureEvent,
        FailureReport as FailureReport,
        FailureStage as FailureStage,
        ModelFailureDetails as ModelFailureDetails,
        SandboxFailureDetails as SandboxFailureDetails,
        SdkErrorDetails as SdkErrorDetails,
        validate_failure_event_map as validate_failure_event_map,
    )
    from failgraph.recording.api import (
        flush as flush,
        record as record,
        report_for_trace as report_for_trace,
    )
    from failgraph.recording.hops import current_report as current_report, hop as hop
    from failgraph.recording.placement import Recorded as Recorded
    from failgraph.recording.processor import FailureSpanProcessor as FailureSpanProcessor
    from failgraph.transport.asgi import FailureMiddleware as FailureMiddleware
    from failgraph.transport.replies import raise_for_failure as raise_for_failure

    __version__ = version("failgraph")

_HOME = {
    "EpisodeFailure": "failure.records",
    "FailureBoundary": "failure.records",
    "FailureDetails": "failure.records",
    "FailureEvent": "failure.records",
    "FailureMiddleware": "transport.asgi",
    "FailureReport": "failure.records",
    "FailureSpanProcessor": "recording.processor",
    "FailureStage": "failure.records",
    "LostCauseError": "exceptions.foreign_errors",
    "ModelFailureDetails": "failure.records",
    "NgFailureEvent": "exceptions.failure_exception",
    "Recorded": "recording.placement",
    "SandboxFailureDetails": "failure.records",
    "SdkErrorDetails": "failure.records",
    "current_report": "recording.hops",
    "failure_report_for": "exceptions.reports",
    "find_boundary_failure": "exceptions.reports",
    "flush": "recording.api",
    "hop": "recording.hops",
    "raise_for_failure": "transport.replies",
    "rebuild_failure": "exceptions.reports",
    "record": "recording.api",
    "report_for_trace": "recording.api",
    "sdk_error_details": "exceptions.foreign_errors",
    "stats": "diagnostics",
    "unpickle_failure": "exceptions.failure_exception",
    "validate_failure_event_map": "failure.records",
}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name == "__version__":
        return import_module("importlib.metadata").version("failgraph")
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
