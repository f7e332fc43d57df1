"""A stand-in for Tempo, which cannot be built here: its documented API over what `dialects` writes.

Traces by id in v1 and v2, JSON and protobuf, and a search that understands TraceQL of the few forms that we send:
conditions `field = value` joined by `&&` and `||` inside braces, and such spansets joined in the same way. As in Tempo,
conditions on events that are joined by `&&` hold for one event, and start and end are whole seconds.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from dialects import Document, merged, tempo, tempo_message, tempo_v2_message, text
from http_stand_in import Asked, Handler, Reply, Server, serving

SECOND = 1_000_000_000
_TOKEN = re.compile(r'\s*(?:(&&|\|\||[{}()=])|("(?:[^"\\\n]|\\.)*")|([A-Za-z_][\w.:]*)|(\d+))')
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)")
_NOT_FOUND = Reply(b"404 page not found\n", 404, "text/plain")


@contextmanager
def tempo_stand_in(
    *documents: Document,
    v2: bool = True,
    protobuf: bool = True,
    part: str | None = None,
    too_large: int = 1 << 40,
    prefix: str = "",
) -> Iterator[Server]:
    """Serves the traces of documents; below `prefix`, without v2, in JSON only, partly, or not where too large."""
    traces = by_trace(documents)

    def answer(asked: Asked, _: Handler) -> Reply:
        if not asked.path.startswith(f"{prefix}/api/"):
            return _NOT_FOUND
        path = asked.path.removeprefix(f"{prefix}/api/")
        wanted = path.rpartition("/")[2].lower().zfill(32)
        binary = protobuf and asked.headers.get("accept") == "application/protobuf"
        if path == "echo":
            return Reply(b"echo", type="text/plain")
        if path == "search":
            return search(traces, asked.fields)
        if path.startswith("traces/"):
            return one_v1(traces.get(wanted), too_large, binary=binary)
        if path.startswith("v2/traces/") and v2:
            return one_v2(traces.get(wanted), part, binary=binary)
        return _NOT_FOUND

    with serving(answer) as server:
        yield server


def by_trace(documents: tuple[Document, ...]) -> dict[str, Document]:
    """Each trace as a document of its own, its resources kept apart."""
    found: dict[str, list[Document]] = {}
    for resource_spans in merged(*documents)["resourceSpans"]:
        spans = [
            span for scope_spans in resource_spans["scopeSpans"] for span in scope_spans["spans"]
        ]
        spans.sort(key=lambda span: span["traceId"])
        for trace_id, group in itertools.groupby(spans, key=lambda span: span["traceId"]):
            scope_spans = [{"scope": {"name": "test"}, "spans": list(group)}]
            found.setdefault(trace_id, []).append(
                {"resource": resource_spans["resource"], "scopeSpans": scope_spans}
            )
    return {trace_id: {"resourceSpans": each} for trace_id, each in found.items()}


def one_v1(document: Document | None, too_large: int, *, binary: bool) -> Reply:
    if document is None:
        return Reply(b"trace not found\n", 404, "text/plain")
    body = tempo_message(document) if binary else text(tempo(document, "batches"))
    if len(body) > too_large:
        words = f"trace exceeds max size (max bytes: {too_large})".encode()
        return Reply(words, 422, "text/plain")
    return Reply(body, type="application/protobuf" if binary else "application/json")


def one_v2(document: Document | None, part: str | None, *, binary: bool) -> Reply:
    found = document or {"resourceSpans": []}
    if binary:
        return Reply(tempo_v2_message(found, part), type="application/protobuf")
    answer = {
        "trace": tempo(found, "resourceSpans") if document else {},
        "metrics": {"inspectedBytes": "9"},
    }
    return Reply(text({**answer, "status": "PARTIAL", "message": part} if part else answer))


def search(traces: dict[str, Document], fields: dict[str, str]) -> Reply:
    try:
        matches = parsed(fields["q"])
    except ValueError as error:
        return Reply(f"invalid TraceQL query: {error}".encode(), 400, "text/plain")
    found = []
    for trace_id, document in traces.items():
        spans = list(spans_of(document))
        start = min(int(span["startTimeUnixNano"]) for _, span in spans)
        end = max(int(span.get("endTimeUnixNano", 0)) for _, span in spans)
        overlaps = end >= int(fields["start"]) * SECOND and start <= int(fields["end"]) * SECOND
        if overlaps and matches(spans):
            found.append(
                {
                    "traceID": trace_id.lstrip("0"),
                    "startTimeUnixNano": str(start),
                    "durationMs": (end - start) // 10**6,
                }
            )
    return Reply(
        text({"traces": found[: int(fields["limit"])], "metrics": {"inspectedTraces": len(traces)}})
    )


def spans_of(document: Document) -> Iterator[tuple[Document, Document]]:
    for resource_spans in document["resourceSpans"]:
        for scope_spans in resource_spans["scopeSpans"]:
            yield from ((resource_spans["resource"], span) for span in scope_spans["spans"])


# --- TraceQL

Values = Callable[[str], Iterator[Any]]
"""The values of a field of one span and one of its events."""
Condition = Callable[[Values], bool]
Spans = list[tuple[Document, Document]]


def parsed(query: str) -> Callable[[Spans], bool]:
    tokens, at = [], 0
    while at < len(query.rstrip()):
        token = _TOKEN.match(query, at)
        if token is None:
            raise ValueError(f"at {at}")
        tokens.append(token[0].strip())
        at = token.end()
    found, rest = _either(tokens, _spanset)
    if rest:
        raise ValueError(f"unexpected {rest[0]}")
    return found


def _either(tokens: list[str], inner: Callable[..., Any]) -> tuple[Any, list[str]]:
    """`inner` joined by `||`, of less weight, and `&&`."""
    alternatives = [[]]
    while True:
        found, tokens = inner(tokens)
        alternatives[-1].append(found)
        if tokens[:1] == ["||"]:
            alternatives.append([])
        elif tokens[:1] != ["&&"]:
            return lambda given: any(
                all(each(given) for each in group) for group in alternatives
            ), tokens
        tokens = tokens[1:]


def _spanset(tokens: list[str]) -> tuple[Callable[[Spans], bool], list[str]]:
    if tokens[:2] == ["{", "}"]:
        return lambda _: True, tokens[2:]
    condition, rest = _either(_after(tokens, "{"), _condition)

    def matches(spans: Spans) -> bool:
        return any(
            condition(partial(_values, resource, span, event))
            for resource, span in spans
            for event in span.get("events") or [{}]
        )

    return matches, _after(rest, "}")


def _condition(tokens: list[str]) -> tuple[Condition, list[str]]:
    if tokens[:1] == ["("]:
        found, rest = _either(tokens[1:], _condition)
        return found, _after(rest, ")")
    if len(tokens) < 3 or tokens[1] != "=":
        raise ValueError("no condition")
    field, _, literal = tokens[:3]
    wanted = _string(literal) if literal.startswith('"') else int(literal)
    return lambda values: wanted in list(values(field)), tokens[3:]


def _after(tokens: list[str], expected: str) -> list[str]:
    if tokens[:1] != [expected]:
        raise ValueError(f"no {expected}")
    return tokens[1:]


def _string(literal: str) -> str:
    """A string as Go reads one: no half characters."""
    plain = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", '"': '"', "\\": "\\"}

    def one(escape: re.Match[str]) -> str:
        if not escape[1].startswith("u"):
            return plain[escape[1]]
        code = int(escape[1][1:], 16)
        if 0xD800 <= code < 0xE000:
            raise ValueError("a half character")
        return chr(code)

    return _ESCAPE.sub(one, literal[1:-1])


def _values(resource: Document, span: Document, event: Document, field: str) -> Iterator[Any]:
    if field == "event:name":
        yield event.get("name")
        return
    scope, _, key = field.partition(".")
    holder = {"resource": resource, "span": span, "event": event}[scope]
    for pair in holder.get("attributes", []):
        if pair["key"] == key:
            value = pair["value"]
            if "arrayValue" in value:
                yield from (next(iter(item.values())) for item in value["arrayValue"]["values"])
            else:
                yield int(value["intValue"]) if "intValue" in value else next(iter(value.values()))
