"""The names of the settings, one documented constant each, and the values that a setting with a choice takes."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from failgraph.failure.boundary import FailureBoundary

PREFIX: Final = "FAILGRAPH_"

ENABLED: Final = "FAILGRAPH_ENABLED"
"""`true`: failgraph attaches itself to every provider of this process; unset, it does so only under
`opentelemetry-instrument`, and code that uses failgraph works; `false`: neither, `record` and `hop` do nothing."""

AUTO_INSTRUMENT: Final = "FAILGRAPH_AUTO_INSTRUMENT"
"""`true`, with `FAILGRAPH_ENABLED=true`: OpenTelemetry's own auto-instrumentation is started too; `false` (default)."""

LOG_LEVEL: Final = "FAILGRAPH_LOG_LEVEL"
"""What failgraph says of itself, on the logger `failgraph`: `warning` (default), `info`, `debug`; the last two go to
standard error where the program has no log handler. `debug` says what was attached, to what, and by which way."""

BOUNDARY: Final = "FAILGRAPH_BOUNDARY"
"""The boundary of a failure that names none: `agent`, `collection`, `environment`, `harness`, `model`,
`resources_server` or `sandbox`; unset, that of the Gym server that it is in, else it is counted and not recorded."""

LINKS: Final = "FAILGRAPH_LINKS"
"""Which causes also get a span link: `cross` (default), a cause in another trace; `all`, each; `off`, none."""

PLACEMENT: Final = "FAILGRAPH_PLACEMENT"
"""Where a failure goes: `span` (default), on the span that was running; `failure_span`, on a short span of its own."""

CAPTURE: Final = "FAILGRAPH_CAPTURE"
"""Which exceptions that escape a hop are failures: `failures` (default), those that are one or have one in their
explicit chain; `all`, any; one that is none itself needs `FAILGRAPH_BOUNDARY`."""

REPLY: Final = "FAILGRAPH_REPLY"
"""Who gets the failure report of a request as reply headers, if it asks for it: `peers` (default), a loopback or
private address without forwarding headers; `always`, everybody; `never`, nobody."""

PEERS: Final = "FAILGRAPH_PEERS"
"""The servers that are asked for reports and believed: host patterns and networks, separated by commas (such as
`*.rollouts.example, 10.0.0.0/8`); by default loopback and private addresses, names without a dot, and those that end
in `.internal`, `.local` or `.svc`."""

PEER_TOKEN: Final = "FAILGRAPH_PEER_TOKEN"  # noqa: S105 - a name
"""A secret that all your processes share: they ask with it, and with `FAILGRAPH_REPLY=peers` only whoever does so gets
reports, from whatever address."""

HEADER_BYTES: Final = "FAILGRAPH_HEADER_BYTES"
"""The most bytes of reply head that reports take: 3072 by default, 256 to 65536."""

REDACT: Final = "FAILGRAPH_REDACT"
"""Whether secrets are taken out of texts: `true` (default) or `false`."""

REDACT_PATTERNS: Final = "FAILGRAPH_REDACT_PATTERNS"
"""Regular expressions of your own for what else is a secret: one, or a JSON list of them. While one does not compile,
every text is hidden."""

REDACT_WITH: Final = "FAILGRAPH_REDACT_WITH"
"""A function of your own, `package.module:function`, that gets each text after the rules and returns what is shown; a
text for which it raises is hidden."""

REASON: Final = "FAILGRAPH_REASON"
"""With `off`, reasons and the messages of foreign errors are left out altogether: only kinds, types and ids remain;
`on` is the default."""

JOURNAL: Final = "FAILGRAPH_JOURNAL"
"""A directory on a local disk: each failure is also written there when it is recorded, as a line of JSON, in a file for
each process, and survives it however it ends. Made where its parent is there; unset, nothing is written."""

JOURNAL_MAX_BYTES: Final = "FAILGRAPH_JOURNAL_MAX_BYTES"
"""The most bytes of journal that a process leaves, in two files of which the older one goes first: 67108864 (64 MiB) by
default, 65536 to 1099511627776."""

JAEGER_URL: Final = "FAILGRAPH_JAEGER_URL"
"""Where Jaeger is, for the source `jaeger` and for the addresses of pages; `http://localhost:16686` by default."""

JAEGER_HEADERS: Final = "FAILGRAPH_JAEGER_HEADERS"
"""What Jaeger asks for, such as `authorization=Bearer%20…`: written as `OTEL_EXPORTER_OTLP_HEADERS` is; sent to the
origin of `FAILGRAPH_JAEGER_URL` only."""

TEMPO_URL: Final = "FAILGRAPH_TEMPO_URL"
"""Where Tempo is, for the source `tempo`; `http://localhost:3200` by default."""

TEMPO_HEADERS: Final = "FAILGRAPH_TEMPO_HEADERS"
"""What Tempo asks for, such as `x-scope-orgid=team-a`; written and sent as for Jaeger."""

GRAFANA_URL: Final = "FAILGRAPH_GRAFANA_URL"
"""Where Grafana is, for the addresses of pages; unset, none are given."""

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
"""The values that a setting with a choice takes; the case of letters does not matter."""

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
"""All settings."""
