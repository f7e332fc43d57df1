"""Take secrets out of everything that leaves the process or is shown.

`redact` replaces each secret in a text by a marker such as `[redacted:api_key]`; the rules that
find them are in `rules/`. `display` also makes a text safe for a terminal.
"""

from __future__ import annotations

from failgraph.redaction.events import redact_event, redact_fields, redact_report
from failgraph.redaction.markers import HIDDEN
from failgraph.redaction.own_rules import redact_with_problem
from failgraph.redaction.texts import redact, survives_redaction
from failgraph.redaction.truncation import redact_and_truncate, truncate_redacted

__all__ = [
    "HIDDEN",
    "redact",
    "redact_and_truncate",
    "redact_event",
    "redact_fields",
    "redact_report",
    "redact_with_problem",
    "survives_redaction",
    "truncate_redacted",
]
