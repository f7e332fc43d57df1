"""Ids of traces and rollouts as people give them: pasted from logs, headers and pages, or cut."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

MIN_DIGITS: Final = 4  # of a trace id that is cut

_FORMS = tuple(
    re.compile(form, re.IGNORECASE)
    for form in (
        r"(?:0x)?([0-9a-f]{1,32})(?:…|\.\.\.)?",
        r"\{?([0-9a-f]{8})-([0-9a-f]{4})-([0-9a-f]{4})-([0-9a-f]{4})-([0-9a-f]{12})\}?",  # UUID
        # https://www.w3.org/TR/trace-context/#traceparent-header
        r"(?:traceparent[:=]\s*)?[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}.*",
        # https://docs.aws.amazon.com/xray/latest/devguide/xray-api-sendingdata.html
        r"(?:.*\bRoot=)?1-([0-9a-f]{8})-([0-9a-f]{24})(?:;.*)?",
    )
)
_WHOLE_LENGTHS = (16, 32)  # digits; Jaeger omits the first 16 if they are 0


class WantedId(NamedTuple):
    """An id that a user asks for. Which kind it is may depend on what a source holds.

    Attributes:
        text: The id as it was given, which may be a rollout's.
        digits: The first hex digits of a trace id, in lower case, or None if it is of no trace.
    """

    text: str
    digits: str | None

    @property
    def trace_id(self) -> str | None:
        """The 32 hex digits of a trace id, or None if it is cut or of no trace."""
        if self.digits is None or len(self.digits) not in _WHOLE_LENGTHS:
            return None
        return self.digits.zfill(32)

    @property
    def may_be_cut(self) -> bool:
        """True if it may be the beginning of a trace id."""
        return self.digits is not None and MIN_DIGITS <= len(self.digits) < 32

    @property
    def may_be_rollout(self) -> bool:
        """True unless it can only be a trace id."""
        return self.digits is None or len(self.digits) < 32

    def matching(self, trace_ids: Iterable[str]) -> list[str]:
        """Return the trace ids that this may be: the exact one, or all that begin with it."""
        if self.digits is None:
            return []
        known = list(trace_ids)
        exact = self.digits.zfill(32)
        if exact in known:
            return [exact]
        return [each for each in known if self.may_be_cut and each.startswith(self.digits)]

    def find(self, trace_ids: Iterable[str], rollouts: Mapping[str, frozenset[str]]) -> list[str]:
        """Return the traces of the rollout with this id, or else the trace ids that match.

        Args:
            trace_ids: The ids of all traces.
            rollouts: The trace ids of each rollout.
        """
        if self.text in rollouts:
            return sorted(rollouts[self.text])
        return self.matching(trace_ids)


def wanted_id(text: str) -> WantedId:
    """Parse an id in any form that is in use.

    A trace id may have capitals, be cut, begin with `0x`, or be written as a UUID, a `traceparent`
    header or a trace id or header of AWS X-Ray.
    """
    stripped = text.strip()
    for form in _FORMS:
        match = form.fullmatch(stripped)
        if match is not None:
            return WantedId(stripped, "".join(match.groups()).lower())
    return WantedId(stripped, None)
