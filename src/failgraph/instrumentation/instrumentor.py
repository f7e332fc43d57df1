"""The entry point of `opentelemetry_instrumentor`: how `opentelemetry-instrument` and configuration files find us.

Imports next to nothing: an error while it is loaded would stop the instrumentors that come after it.
"""

from __future__ import annotations

import logging
from collections.abc import Collection
from typing import Any

from opentelemetry.instrumentation.instrumentor import BaseInstrumentor


class FailgraphInstrumentor(BaseInstrumentor):  # type: ignore[misc]
    """Attaches failgraph to the current provider and to those made later.

    `instrument(tracer_provider=…)` attaches it to that one too. Other keywords are settings, in lower case and without
    their prefix, as an OpenTelemetry configuration file gives them; the environment wins over them.
    """

    def instrumentation_dependencies(self) -> Collection[str]:
        """Nothing: what is missing is not hooked."""
        return ()

    def _instrument(self, **kwargs: Any) -> None:
        try:
            from failgraph.instrumentation.attach import attach
            from failgraph.settings import configure

            provider = kwargs.pop("tracer_provider", None)
            if kwargs:
                configure(kwargs)
            attach("opentelemetry_instrumentor", provider=provider)
        except Exception as error:  # noqa: BLE001 - it would stop every instrumentor after ours
            logging.getLogger("failgraph").warning(
                "failgraph cannot attach itself (%s: %s); the program goes on",
                type(error).__name__,
                error,
            )

    def _uninstrument(self, **kwargs: Any) -> None:  # noqa: ARG002 - the base class's signature
        from failgraph.instrumentation.attach import detach

        detach()
