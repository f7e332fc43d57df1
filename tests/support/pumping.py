"""Texts on which a regular expression backtracks, if it can: one of its own matches with a part repeated.

`python tests/support/pumping.py SECONDS` looks for them in every pattern of the redaction, for as long as somebody has.
"""

from __future__ import annotations

import inspect
import random
import re
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from types import ModuleType

from failgraph.redaction import redact
from failgraph.redaction.rules import (
    RULES,
    commands,
    cookies,
    credentials,
    key_shapes,
    model_tokens,
    named_values,
    random_tokens,
    secret_or_prose,
    separated_names,
    urls,
    values,
)
from failgraph.redaction.rules.pattern import Pattern

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    import sre_parse as parser  # `re._parser` from Python 3.11 on

SIZE = 2_000
GROWTH = 4
"""How much longer the second text of a pair is."""
LINEAR = 9
"""Twice what a linear pattern takes for the longer text; a quadratic one takes sixteen times as long."""
_MODULES: tuple[ModuleType, ...] = (
    commands,
    cookies,
    credentials,
    key_shapes,
    model_tokens,
    named_values,
    random_tokens,
    secret_or_prose,
    separated_names,
    urls,
    values,
)
_CHARS = "aZ9_-.=: \n\"'\\/{}[]<>@,;%&\u00e9"
_ODD = ["", "\n", '"', "'", "\\", "x", " ", "=", "\x00", "@"]


def patterns() -> dict[str, tuple[re.Pattern[str], list[Callable[[str], object]]]]:
    """Every pattern that a text passes, by what the source calls it, and each way in which the source applies it."""
    found = {
        f"rule {number} ({min(rule.needles)})": (compiled, [_scan(compiled)])
        for number, rule in enumerate(RULES)
        for compiled in [rule.pattern.compiled]
    }
    for module in _MODULES:
        source = inspect.getsource(module)
        for name, pattern in vars(module).items():
            if isinstance(pattern, Pattern):
                compiled = pattern.compiled
                uses = sorted(
                    set(
                        re.findall(
                            rf"(?<!\w){name}\.(fullmatch|match|search|findall|split|sub)\b", source
                        )
                    )
                )
                ways = [
                    _scan(compiled) if use == "sub" else getattr(compiled, use)
                    for use in uses or ["sub"]
                ]
                found[f"{module.__name__.rpartition('.')[2]}.{name}"] = (compiled, ways)
    return found


def _scan(pattern: re.Pattern[str]) -> Callable[[str], object]:
    """Look for every match, as a rule does."""
    return lambda text: pattern.sub(lambda match: match[0], text)


class Sampler:
    """Draws texts that a pattern matches, more or less: assertions are not kept."""

    def __init__(self, pattern: re.Pattern[str], rng: random.Random) -> None:
        self._tree = parser.parse(pattern.pattern, pattern.flags)
        self._rng = rng
        self._groups: dict[int, str] = {}

    def draw(self) -> str:
        """One text."""
        self._groups = {}
        return self._of(self._tree)

    def _of(self, tree: object) -> str:
        return "".join(self._one(str(op), value) for op, value in tree)

    def _one(self, op: str, value: object) -> str:
        rng = self._rng
        if op == "LITERAL":
            return chr(value)
        if op == "NOT_LITERAL":
            return rng.choice([char for char in _CHARS if ord(char) != value])
        if op == "ANY":
            return rng.choice(_CHARS)
        if op == "IN":
            return self._in(value)
        if op == "BRANCH":
            return self._of(rng.choice(value[1]))
        if op in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
            least, most, inner = value
            return "".join(
                self._of(inner) for _ in range(rng.randint(least, min(int(most), least + 3)))
            )
        if op == "SUBPATTERN":
            text = self._of(value[3])
            self._groups[value[0]] = text
            return text
        if op == "GROUPREF":
            return self._groups.get(value, "")
        if op == "ATOMIC_GROUP":
            return self._of(value)
        if op == "ASSERT":
            return self._of(value[1]) if value[0] > 0 and rng.random() < 0.5 else ""
        return ""  # AT, ASSERT_NOT

    def _in(self, items: list[tuple[object, object]]) -> str:
        if str(items[0][0]) == "NEGATE":
            inside = re.compile("[" + "".join(map(_as_class, items[1:])) + "]")
            return self._rng.choice(
                [char for char in _CHARS if not inside.match(char)] or ["\u2603"]
            )
        op, value = self._rng.choice(items)
        if str(op) == "LITERAL":
            return chr(value)
        if str(op) == "RANGE":
            return chr(self._rng.randint(*value))
        return {
            "CATEGORY_DIGIT": "7",
            "CATEGORY_SPACE": self._rng.choice(" \n"),
            "CATEGORY_WORD": "w",
        }.get(str(value), "-")


def _as_class(item: tuple[object, object]) -> str:
    op, value = item
    if str(op) == "LITERAL":
        return re.escape(chr(value))
    if str(op) == "RANGE":
        return f"{re.escape(chr(value[0]))}-{re.escape(chr(value[1]))}"
    return {"CATEGORY_DIGIT": r"\d", "CATEGORY_SPACE": r"\s", "CATEGORY_WORD": r"\w"}.get(
        str(value), r"\W"
    )


def pumped(pattern: re.Pattern[str], rng: random.Random) -> Iterator[Callable[[int], str]]:
    """Without end, ways to make a text of about any length: a match with a part of it repeated, and another end."""
    sampler = Sampler(pattern, rng)
    while True:
        text = sampler.draw()
        begin, end = sorted((rng.randint(0, len(text)), rng.randint(0, len(text))))
        part = text[begin:end] or text or rng.choice(_CHARS)
        before, after = rng.choice([text[:begin], ""]), rng.choice([text[end:], *_ODD])
        yield lambda size, b=before, p=part, a=after: b + p * (size // len(p)) + a


def grows(run: Callable[[str], object], make: Callable[[int], str]) -> float:
    """By how much longer a text of `GROWTH` times the size takes, at best, the two measured in turns.

    One that grows too fast is measured again at that size: there may just have been a step between the two.
    """
    found = float("inf")
    for size in (SIZE, SIZE * GROWTH):
        short, long = make(size), make(size * GROWTH)
        for _ in range(6):
            one, other = _timed(run, short), _timed(run, long)
            found = min(found, other / max(one, 2e-5))
            if found < LINEAR:
                return found
    return found


def _timed(run: Callable[[str], object], text: str) -> float:
    start = time.thread_time()
    run(text)
    return time.thread_time() - start


def main(seconds: float) -> None:
    """Print each text that is not linear, the one that takes longest for its length, and how many were tried."""
    seed = int(time.time())
    print("seed", seed)
    tried, slowest = 0, 0.0
    until = time.monotonic() + seconds
    rng = random.Random(seed)
    each = [(name, ways, pumped(pattern, rng)) for name, (pattern, ways) in patterns().items()]
    while time.monotonic() < until:
        for name, ways, texts in each:
            make = next(texts)
            for which, look in [*((name, way) for way in ways), (f"redact on {name}", redact)]:
                tried += 1
                found = grows(look, make)
                sample = make(SIZE * GROWTH)
                spent = _timed(look, sample) / len(sample) if sample else 0
                if found >= LINEAR or spent > slowest:
                    slowest = max(slowest, spent)
                    print(
                        which,
                        round(found, 1),
                        f"{spent * 1e6:.1f} us a character",
                        ascii(make(60)),
                        flush=True,
                    )
    print(tried, "tried")


if __name__ == "__main__":
    main(float(sys.argv[1]))
