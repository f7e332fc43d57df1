"""The public surface: these names and no others. To change one is a change for every user."""

from __future__ import annotations

from importlib import import_module

import pytest

PUBLIC = {
    "failgraph": """
        EpisodeFailure FailureBoundary FailureDetails FailureEvent FailureMiddleware FailureReport
        FailureSpanProcessor FailureStage LostCauseError ModelFailureDetails NgFailureEvent
        Recorded SandboxFailureDetails SdkErrorDetails current_report failure_report_for
        find_boundary_failure flush hop raise_for_failure rebuild_failure record report_for_trace
        sdk_error_details stats unpickle_failure validate_failure_event_map
    """,
    "failgraph.codec": """
        AttributeLimits Attributes CauseSpan decode encode_event encode_report
    """,
    "failgraph.readers": """
        EventRecord FailureRecord HopRecord Reading SpanRecord Trace read spans
    """,
    "failgraph.testing": "Failures failures",
    "failgraph.errors": "ConfigError FailgraphError SourceError",
    "failgraph.losses": "HIDDEN Loss LossKind Losses MEANING",
}


@pytest.mark.parametrize("module", PUBLIC)
def test_a_public_module_has_these_names(module):
    """`__all__` is what the documentation promises, and each name can be had."""
    found = import_module(module)
    names = set(found.__all__)
    assert names == set(PUBLIC[module].split())
    assert all(hasattr(found, name) for name in names)
