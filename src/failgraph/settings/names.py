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
"""`true`, with `FAILGRAPH_ENABLED=true`: also start OpenTelemetry's own auto-instrumentation;
`false` by default."""

LOG_LEVEL: Final = "FAILGRAPH_LOG_LEVEL"
"""The level of the logger `failgraph`: `warning` (default), `info` or `debug`. The last two are
written to standard error if the program has no log handler; `debug` reports what was attached, to
what, and how."""

BOUNDARY: Final = "FAILGRAPH_BOUNDARY"
"""The boundary of a failure that names none: `agent`, `collection`, `environment`, `harness`,
`model`, `resources_server` or `sandbox`. If unset, that of the Gym server around it; without one
the failure is counted but not recorded."""

LINKS: Final = "FAILGRAPH_LINKS"
"""Which causes also get a span link: `cross` (default), those in another trace; `all`; or `off`."""

PLACEMENT: Final = "FAILGRAPH_PLACEMENT"
"""Where a failure is written: `span` (default), the span that is running; or `failure_span`, a
short span of its own."""

CAPTURE: Final = "FAILGRAPH_CAPTURE"
"""Which exceptions that leave a hop are recorded: `failures` (default), those that are a failure or
have one in their explicit cause chain; or `all`, which needs `FAILGRAPH_BOUNDARY` for exceptions
that are no failure themselves."""

REPLY: Final = "FAILGRAPH_REPLY"
"""Who gets the failure report of a request in reply headers, if it asks for it: `peers` (default),
a client with a loopback or private address and no forwarding headers; `always`; or `never`."""

PEERS: Final = "FAILGRAPH_PEERS"
"""The servers that are asked for reports and believed: host patterns and networks, separated by
commas (such as `*.rollouts.example, 10.0.0.0/8`). By default loopback and private addresses, names
without a dot, and names that end in `.internal`, `.local` or `.svc`."""

PEER_TOKEN: Final = "FAILGRAPH_PEER_TOKEN"  # noqa: S105 - a name
"""A secret that all your processes share and ask with. With `FAILGRAPH_REPLY=peers` only a client
that sends it gets reports, from whatever address."""

HEADER_BYTES: Final = "FAILGRAPH_HEADER_BYTES"
"""The most bytes of a reply's head that reports take: 3072 by default, 256 to 65536."""

REDACT: Final = "FAILGRAPH_REDACT"
"""`true` (default): replace secrets in texts by markers; or `false`."""

REDACT_PATTERNS: Final = "FAILGRAPH_REDACT_PATTERNS"
"""Your own regular expressions for further secrets: one, or a JSON list. If one is invalid, every
text is hidden."""

REDACT_WITH: Final = "FAILGRAPH_REDACT_WITH"
"""Your own function, `package.module:function`. It gets each text after all rules and returns the
text to show; if it raises, the text is hidden."""

REASON: Final = "FAILGRAPH_REASON"
"""`on` (default); or `off`: leave out reasons and the messages of foreign errors, so that only
kinds, types and ids remain."""

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
        LINKS: ("cross", "all", "off"),
        PLACEMENT: ("span", "failure_span"),
        CAPTURE: ("failures", "all"),
        REPLY: ("peers", "always", "never"),
        REDACT: ("true", "false"),
        REASON: ("on", "off"),
    }
)
"""The choices of the settings that have some. They are taken in upper case too."""

NAMES: Final = (
    *CHOICES,
    PEERS,
    PEER_TOKEN,
    HEADER_BYTES,
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
