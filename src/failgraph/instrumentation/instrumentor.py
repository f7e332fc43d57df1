"""The entry point in the group `opentelemetry_instrumentor`.

`opentelemetry-instrument` and OpenTelemetry's configuration files find failgraph by it. Imports
next to nothing: an error while this is loaded would stop the instrumentors that come after it.
"""

from __future__ import annotations

import logging
from collections.abc import Collection
from typing import Any

from opentelemetry.instrumentation.instrumentor import BaseInstrumentor


class FailgraphInstrumentor(BaseInstrumentor):  # type: ignore[misc]
    """Attaches failgraph to the current tracer provider and to those made later.

    `instrument(tracer_provider=…)` also attaches it to that one. Other keywords are settings, in
    lower case and without their prefix, as an OpenTelemetry configuration file gives them. The
    environment takes precedence over them.
    """

    def instrumentation_dependencies(self) -> Collection[str]:
        """Return no packages: those that are not installed are not hooked."""
        return ()

    def _instrument(self, **kwargs: Any) -> None:
        try:
            from failgraph.instrumentation.attach import attach
            from failgraph.settings import configure

            provider = kwargs.pop("tracer_provider", None)
            if kwargs:
                configure(kwargs)
            attach("opentelemetry_instrumentor", provider=provider)
        except Exception as error:  # noqa: BLE001 - it would stop every instrumentor after this one
            from failgraph.instrumentation.error_description import describe_error

            logging.getLogger("failgraph").warning(
                "failgraph: cannot attach (%s); the program goes on without it",
                describe_error(error),
            )

    def _uninstrument(self, **kwargs: Any) -> None:  # noqa: ARG002 - the base class's signature
        from failgraph.instrumentation.attach import detach

        detach()
