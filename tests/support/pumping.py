"""Texts on which a regular expression backtracks if it can: its own matches with a part repeated.

`python tests/support/pumping.py SECONDS` looks for them in every pattern of redaction.
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
"""Characters of the shorter text of a pair."""
GROWTH = 4
"""How many times longer the longer text is."""
LINEAR = 9
"""The ratio of times that is too much: twice that of a linear pattern; a quadratic one has 16."""
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
_ENDS = ["", "\n", '"', "'", "\\", "x", " ", "=", "\x00", "@"]


def patterns() -> dict[str, tuple[re.Pattern[str], list[Callable[[str], object]]]]:
    """Return each pattern by its name in the source, with the methods that are called on it."""
    named = {}
    for number, rule in enumerate(RULES):
        compiled = rule.pattern.compiled
        named[f"rule {number} ({min(rule.needles)})"] = (compiled, [_scan(compiled)])
    for module in _MODULES:
        source = inspect.getsource(module)
        for name, pattern in vars(module).items():
            if isinstance(pattern, Pattern):
                call = rf"(?<!\w){name}\.(fullmatch|match|search|findall|split|sub)\b"
                methods = sorted(set(re.findall(call, source))) or ["sub"]
                compiled = pattern.compiled
                named[f"{module.__name__.rpartition('.')[2]}.{name}"] = (
                    compiled,
                    [
                        _scan(compiled) if each == "sub" else getattr(compiled, each)
                        for each in methods
                    ],
                )
    return named


def _scan(pattern: re.Pattern[str]) -> Callable[[str], object]:
    """Return a function that looks for every match, as a rule does."""
    return lambda text: pattern.sub(lambda match: match[0], text)


class Sampler:
    """Draws texts that a pattern probably matches; it ignores most assertions."""

    def __init__(self, pattern: re.Pattern[str], rng: random.Random) -> None:
        self._tree = parser.parse(pattern.pattern, pattern.flags)
        self._rng = rng
        self._groups: dict[int, str] = {}

    def draw(self) -> str:
        """Return a random text."""
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
    """Yield functions that make a text of about a given length, without end.

    The text is a match with a part of it repeated and perhaps another end.
    """
    sampler = Sampler(pattern, rng)
    while True:
        text = sampler.draw()
        begin, end = sorted((rng.randint(0, len(text)), rng.randint(0, len(text))))
        part = text[begin:end] or text or rng.choice(_CHARS)
        before, after = rng.choice([text[:begin], ""]), rng.choice([text[end:], *_ENDS])
        yield lambda size, b=before, p=part, a=after: b + p * (size // len(p)) + a


def grows(run: Callable[[str], object], make: Callable[[int], str]) -> float:
    """Return the least ratio of the times for a text of `GROWTH` times the size and a short one.

    If it is too high, the same is measured again from the larger size: there may just be a step
    between the two.
    """
    ratio = float("inf")
    for size in (SIZE, SIZE * GROWTH):
        short, long = make(size), make(size * GROWTH)
        for _ in range(6):
            one, other = _timed(run, short), _timed(run, long)
            ratio = min(ratio, other / max(one, 2e-5))
            if ratio < LINEAR:
                return ratio
    return ratio


def _timed(run: Callable[[str], object], text: str) -> float:
    start = time.thread_time()
    run(text)
    return time.thread_time() - start


def main(seconds: float) -> None:
    """Print each text that takes too long, each new slowest one, and the number of texts."""
    seed = int(time.time())
    print("seed", seed)
    tried, slowest = 0, 0.0
    until = time.monotonic() + seconds
    rng = random.Random(seed)
    searches = [
        (name, methods, pumped(pattern, rng)) for name, (pattern, methods) in patterns().items()
    ]
    while time.monotonic() < until:
        for name, methods, texts in searches:
            make = next(texts)
            runs = [*((name, method) for method in methods), (f"redact on {name}", redact)]
            for label, run in runs:
                tried += 1
                ratio = grows(run, make)
                sample = make(SIZE * GROWTH)
                spent = _timed(run, sample) / len(sample) if sample else 0
                if ratio >= LINEAR or spent > slowest:
                    slowest = max(slowest, spent)
                    print(
                        label,
                        round(ratio, 1),
                        f"{spent * 1e6:.1f} us a character",
                        ascii(make(60)),
                        flush=True,
                    )
    print(tried, "tried")


if __name__ == "__main__":
    main(float(sys.argv[1]))
