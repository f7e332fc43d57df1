"""The names of the settings, one documented constant each, and the choices of those that have some.

The table of settings in the documentation is made of these docstrings.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from failgraph.failure.boundary import FailureBoundary

PREFIX: Final = "FAILGRAPH_"

ENABLED: Final = "FAILGRAPH_ENABLED"
"""`true`: attach failgraph to every tracer provider of this process; `false`: do nothing, also in
`record` and `hop`; unset: attach only under `opentelemetry-instrument`, while `record` and `hop`
work."""

AUTO_INSTRUMENT: Final = "FAILGRAPH_AUTO_INSTRUMENT"
"""`true`: attach failgraph and start OpenTelemetry's own auto-instrumentation, unless
`FAILGRAPH_ENABLED=false`; or `false` (default)."""

LOG_LEVEL: Final = "FAILGRAPH_LOG_LEVEL"
"""The level of the logger `failgraph`: `warning` (default), `info` or `debug`. The last two are
written to standard error if the program has no log handler; `debug` reports what was attached, to
what, and how."""

BOUNDARY: Final = "FAILGRAPH_BOUNDARY"
"""The boundary of a failure that names none: `agent`, `collection`, `environment`, `harness`,
`model`, `resources_server` or `sandbox`. If unset, that of the Gym server around it; without one
the failure is counted but not recorded."""

CAPTURE: Final = "FAILGRAPH_CAPTURE"
"""Which exceptions that leave a hop are recorded: `failures` (default), those that are a failure or
have one in their explicit cause chain; or `all`, which needs `FAILGRAPH_BOUNDARY` for exceptions
that are no failure themselves."""

EVENTS: Final = "FAILGRAPH_EVENTS"
"""Where a failure is written: `span` (default), the span that is running; or `failure_span`, a
short span of its own."""

PEERS: Final = "FAILGRAPH_PEERS"
"""The fleet: the servers that are asked for failure reports and believed, and the clients that get
one if they ask. `private` (default): loopback and private addresses, names without a dot, and names
that end in `.internal`, `.local` or `.svc`; `none`: nobody; `*`: everybody; or a list of host
patterns, networks and `private`, separated by commas (such as `*.rollouts.example, 10.0.0.0/8`). A
client is known only by its address, and, except with `*`, not at all if its request has a
forwarding header."""

PEER_TOKEN: Final = "FAILGRAPH_PEER_TOKEN"  # noqa: S105 - a name
"""A secret that all your processes share and ask with. Then only a client that sends it gets
reports, from whatever address, unless `FAILGRAPH_PEERS=none`. It is sent to each server that is
asked."""

REDACT: Final = "FAILGRAPH_REDACT"
"""`true` (default): replace secrets in texts by markers; `false`: change no text; or `all`: also
leave out reasons and the messages of exceptions, so that only kinds, types and ids remain."""

REDACT_PATTERNS: Final = "FAILGRAPH_REDACT_PATTERNS"
"""Your own regular expressions for further secrets: one, or a JSON list. If one is invalid, every
text is hidden."""

REDACT_WITH: Final = "FAILGRAPH_REDACT_WITH"
"""Your own function, `package.module:function`. It gets each text after all rules and returns the
text to show; if it raises, the text is hidden."""

JOURNAL: Final = "FAILGRAPH_JOURNAL"
"""A directory on a local disk, in which each failure is also written as a line of JSON when it is
recorded, to one file for each process: it survives however the process ends. The directory is made
if its parent exists; if unset, no journal is written."""

JOURNAL_MAX_BYTES: Final = "FAILGRAPH_JOURNAL_MAX_BYTES"
"""The most bytes of journal that a process keeps, in two files of which the older is deleted first:
67108864 (64 MiB) by default, 65536 to 1099511627776."""

JAEGER_URL: Final = "FAILGRAPH_JAEGER_URL"
"""The URL of Jaeger, for the source `jaeger` and for links to its pages;
`http://localhost:16686` by default."""

JAEGER_HEADERS: Final = "FAILGRAPH_JAEGER_HEADERS"
"""Headers for requests to Jaeger, such as `authorization=Bearer%20…`, in the format of
`OTEL_EXPORTER_OTLP_HEADERS`; sent only to the origin of `FAILGRAPH_JAEGER_URL`."""

TEMPO_URL: Final = "FAILGRAPH_TEMPO_URL"
"""The URL of Tempo, for the source `tempo`; `http://localhost:3200` by default."""

TEMPO_HEADERS: Final = "FAILGRAPH_TEMPO_HEADERS"
"""Headers for requests to Tempo, such as `x-scope-orgid=team-a`; as for Jaeger."""

GRAFANA_URL: Final = "FAILGRAPH_GRAFANA_URL"
"""The URL of Grafana, for links to its pages; if unset, none are shown."""

CHOICES: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        ENABLED: ("true", "false"),
        AUTO_INSTRUMENT: ("false", "true"),
        LOG_LEVEL: ("warning", "info", "debug"),
        BOUNDARY: tuple(boundary.value for boundary in FailureBoundary),
        CAPTURE: ("failures", "all"),
        EVENTS: ("span", "failure_span"),
        REDACT: ("true", "false", "all"),
    }
)
"""The choices of the settings that have some. They are taken in upper case too."""

NAMES: Final = (
    ENABLED,
    AUTO_INSTRUMENT,
    LOG_LEVEL,
    BOUNDARY,
    CAPTURE,
    EVENTS,
    PEERS,
    PEER_TOKEN,
    REDACT,
    REDACT_PATTERNS,
    REDACT_WITH,
    JOURNAL,
    JOURNAL_MAX_BYTES,
    JAEGER_URL,
    JAEGER_HEADERS,
    TEMPO_URL,
    TEMPO_HEADERS,
    GRAFANA_URL,
)
"""All settings, in the order in which they are listed."""

FORMER: Final[Mapping[str, str]] = MappingProxyType(
    {
        "FAILGRAPH_PLACEMENT": f"set {EVENTS} instead",
        "FAILGRAPH_REPLY": f"set {PEERS} instead; never is none, always is *",
        "FAILGRAPH_REASON": f"to leave out reasons, set {REDACT}=all instead",
        "FAILGRAPH_LINKS": "unset it; causes in other traces are always linked",
        "FAILGRAPH_HEADER_BYTES": "unset it; reports take at most 3072 bytes",
    }
)
"""Names that settings had before, and what to do instead."""
