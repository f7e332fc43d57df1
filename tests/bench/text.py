"""Measure what redaction costs for a text without secrets."""

from __future__ import annotations

import re
from collections.abc import Iterator

from bench.measure import Row, Scale, pairs, ratios
from failgraph.redaction import redact
from failgraph.redaction.rules import RULES

_PARAGRAPH = """Traceback (most recent call last):
  File "/app/agents/simple_agent.py", line 212, in run
    response = await self.model.create(messages, temperature=0.7, max_output=4096)
  File "/app/clients/openai_model.py", line 87, in create
    raise UpstreamError(f"upstream answered {status} after {attempt} attempts")
UpstreamError: the model answered 503 after 2 of 3 attempts; \
"upstream connect error or disconnect/reset before headers"
retry_after=1.5 endpoint=http://10.3.7.21:8000/v1/responses node=worker-17 \
step=118 of 400, elapsed: 31.2 s
"""
_TEXT = (_PARAGRAPH * 4)[:2000]
_LONG = _TEXT * 10
_TIMES = 20


def rows(scale: Scale) -> Iterator[Row]:
    """Yield each row as soon as it is measured."""
    needles = sorted({needle for rule in RULES for needle in rule.needles})
    alternation = re.compile("|".join(map(re.escape, needles)), re.IGNORECASE)
    assert redact(_TEXT) == _TEXT

    def ours(text: str) -> None:
        for _ in range(_TIMES):
            redact(text)

    def prefixes() -> None:
        for _ in range(_TIMES):
            alternation.sub("", _TEXT)

    times = pairs(lambda: ours(_TEXT), prefixes, scale.repeats)
    cost = sorted(times[0])[scale.repeats // 2] / _TIMES * 1e6
    against = "one `re.sub` of the rules' prefixes"
    yield Row(
        "text",
        "redaction of 2 kB without a secret",
        against,
        ratios(times),
        2.0,
        cost_us=cost,
        each="text",
    )
    times = pairs(lambda: ours(_LONG), lambda: ours(_TEXT), scale.repeats)
    yield Row("text", "redaction of 20 kB", "of 2 kB", ratios(times), 12.0)
