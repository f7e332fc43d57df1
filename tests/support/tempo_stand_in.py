"""A stand-in for Tempo, which cannot be built from a Go module: its documented API.

It answers traces by id in v1 and v2, as JSON and protobuf. Its search understands the forms of
TraceQL that failgraph sends: conditions `field = value` joined by `&&` and `||` inside braces, and
such spansets joined in the same way. As in Tempo, conditions on events that are joined by `&&`
must hold for one event, and start and end are whole seconds.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from dialects import Document, merged, spans_of, tempo, tempo_message, tempo_v2_message, text
from http_stand_in import Handler, ReceivedRequest, Reply, StandIn, serving

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
) -> Iterator[StandIn]:
    """Serve the traces of documents.

    Args:
        documents: OTLP JSON.
        v2: False for a Tempo without the v2 API.
        protobuf: False for a server that answers JSON only.
        part: The reason why v2 returns a partial trace, or None if it is whole.
        too_large: Largest answer of v1 in bytes; for more it answers 422.
        prefix: The path in front of /api.
    """
    traces = by_trace(documents)

    def answer(request: ReceivedRequest, _: Handler) -> Reply:
        if not request.path.startswith(f"{prefix}/api/"):
            return _NOT_FOUND
        path = request.path.removeprefix(f"{prefix}/api/")
        trace_id = path.rpartition("/")[2].lower().zfill(32)
        binary = protobuf and request.headers.get("accept") == "application/protobuf"
        if path == "echo":
            return Reply(b"echo", type="text/plain")
        if path == "search":
            return search(traces, request.fields)
        if path.startswith("traces/"):
            return one_v1(traces.get(trace_id), too_large, binary=binary)
        if path.startswith("v2/traces/") and v2:
            return one_v2(traces.get(trace_id), part, binary=binary)
        return _NOT_FOUND

    with serving(answer) as server:
        yield server


def by_trace(documents: tuple[Document, ...]) -> dict[str, Document]:
    """Return a document for each trace, by its id; resources stay separate."""
    resources_of: dict[str, list[Document]] = {}
    for resource_spans in merged(*documents)["resourceSpans"]:
        spans = [
            span for scope_spans in resource_spans["scopeSpans"] for span in scope_spans["spans"]
        ]
        spans.sort(key=lambda span: span["traceId"])
        for trace_id, group in itertools.groupby(spans, key=lambda span: span["traceId"]):
            scope_spans = [{"scope": {"name": "test"}, "spans": list(group)}]
            resources_of.setdefault(trace_id, []).append(
                {"resource": resource_spans["resource"], "scopeSpans": scope_spans}
            )
    return {trace_id: {"resourceSpans": each} for trace_id, each in resources_of.items()}


def one_v1(document: Document | None, too_large: int, *, binary: bool) -> Reply:
    """Return v1's answer for one trace."""
    if document is None:
        return Reply(b"trace not found\n", 404, "text/plain")
    body = tempo_message(document) if binary else text(tempo(document, "batches"))
    if len(body) > too_large:
        message = f"trace exceeds max size (max bytes: {too_large})".encode()
        return Reply(message, 422, "text/plain")
    return Reply(body, type="application/protobuf" if binary else "application/json")


def one_v2(document: Document | None, part: str | None, *, binary: bool) -> Reply:
    """Return v2's answer for one trace; a trace that is unknown is empty there, not a 404."""
    trace = document or {"resourceSpans": []}
    if binary:
        return Reply(tempo_v2_message(trace, part), type="application/protobuf")
    answer = {
        "trace": tempo(trace, "resourceSpans") if document else {},
        "metrics": {"inspectedBytes": "9"},
    }
    return Reply(text({**answer, "status": "PARTIAL", "message": part} if part else answer))


def search(traces: dict[str, Document], fields: dict[str, str]) -> Reply:
    """Return the answer of a search; `fields` are those of its query string."""
    try:
        matches = parsed(fields["q"])
    except ValueError as error:
        return Reply(f"invalid TraceQL query: {error}".encode(), 400, "text/plain")
    summaries = []
    for trace_id, document in traces.items():
        spans = list(spans_of(document))
        start = min(int(span["startTimeUnixNano"]) for _, span in spans)
        end = max(int(span.get("endTimeUnixNano", 0)) for _, span in spans)
        overlaps = end >= int(fields["start"]) * SECOND and start <= int(fields["end"]) * SECOND
        if overlaps and matches(spans):
            summaries.append(
                {
                    "traceID": trace_id.lstrip("0"),
                    "startTimeUnixNano": str(start),
                    "durationMs": (end - start) // 10**6,
                }
            )
    metrics = {"inspectedTraces": len(traces)}
    return Reply(text({"traces": summaries[: int(fields["limit"])], "metrics": metrics}))


# --- TraceQL

Values = Callable[[str], Iterator[Any]]  # the values of a field of one span and one of its events
Condition = Callable[[Values], bool]
Spans = list[tuple[Document, Document]]


def parsed(query: str) -> Callable[[Spans], bool]:
    """Return a function that says whether the spans of a trace match.

    Raises:
        ValueError: The query is not of the forms that failgraph sends.
    """
    tokens, at = [], 0
    while at < len(query.rstrip()):
        token = _TOKEN.match(query, at)
        if token is None:
            raise ValueError(f"at {at}")
        tokens.append(token[0].strip())
        at = token.end()
    matches, rest = _joined(tokens, _spanset)
    if rest:
        raise ValueError(f"unexpected {rest[0]}")
    return matches


def _joined(tokens: list[str], parse_one: Callable[..., Any]) -> tuple[Any, list[str]]:
    """Parse what `parse_one` parses, joined by `&&` and `||`, which binds less tightly.

    Returns:
        A function that says whether its argument matches, and the tokens that are left.
    """
    alternatives = [[]]
    while True:
        matches, tokens = parse_one(tokens)
        alternatives[-1].append(matches)
        if tokens[:1] == ["||"]:
            alternatives.append([])
        elif tokens[:1] != ["&&"]:
            break
        tokens = tokens[1:]

    def any_matches(given: Any) -> bool:
        return any(all(matches(given) for matches in group) for group in alternatives)

    return any_matches, tokens


def _spanset(tokens: list[str]) -> tuple[Callable[[Spans], bool], list[str]]:
    if tokens[:2] == ["{", "}"]:
        return lambda _: True, tokens[2:]
    condition, rest = _joined(_after(tokens, "{"), _condition)

    def matches(spans: Spans) -> bool:
        return any(
            condition(partial(_values, resource, span, event))
            for resource, span in spans
            for event in span.get("events") or [{}]
        )

    return matches, _after(rest, "}")


def _condition(tokens: list[str]) -> tuple[Condition, list[str]]:
    if tokens[:1] == ["("]:
        matches, rest = _joined(tokens[1:], _condition)
        return matches, _after(rest, ")")
    if len(tokens) < 3 or tokens[1] != "=":
        raise ValueError("expected a condition")
    field, _, literal = tokens[:3]
    wanted = _string(literal) if literal.startswith('"') else int(literal)
    return lambda values: wanted in list(values(field)), tokens[3:]


def _after(tokens: list[str], expected: str) -> list[str]:
    """Return the tokens after the first one, which must be `expected`."""
    if tokens[:1] != [expected]:
        raise ValueError(f"expected {expected}")
    return tokens[1:]


def _string(literal: str) -> str:
    """Read a string literal as Go does, without half surrogate pairs."""
    plain = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", '"': '"', "\\": "\\"}

    def one(escape: re.Match[str]) -> str:
        if not escape[1].startswith("u"):
            return plain[escape[1]]
        code = int(escape[1][1:], 16)
        if 0xD800 <= code < 0xE000:
            raise ValueError("half a surrogate pair")
        return chr(code)

    return _ESCAPE.sub(one, literal[1:-1])


def _values(resource: Document, span: Document, event: Document, field: str) -> Iterator[Any]:
    """Yield the values of a field such as `resource.service.name` or `event:name`."""
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
