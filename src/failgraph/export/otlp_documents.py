"""OTLP JSON in canonical form, with all that a span holds.

Readers keep only what failgraph needs. Here nothing may be lost, and the same span has to look the
same for every writer: keys in camelCase, ids in hex, enums as numbers, 64-bit integers as text, and
no field that has its default value. https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding
"""

from __future__ import annotations

import functools
import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from failgraph.readers.json_values import integer
from failgraph.readers.otlp_fields import hex_id
from failgraph.traces.spans import KINDS

Fields = dict[str, Any]

_OLD_NAMES = {
    "batches": "resourceSpans",
    "instrumentationLibrarySpans": "scopeSpans",
    "instrumentationLibrary": "scope",
}
_STATUS_CODES = ("UNSET", "OK", "ERROR")
_ID_SIZES = {"traceId": 16, "spanId": 8, "parentSpanId": 8}  # bytes
_INTEGERS = frozenset({"startTimeUnixNano", "endTimeUnixNano", "timeUnixNano", "intValue"})


class SpanGroup(NamedTuple):
    """Spans of one resource and one instrumentation scope, in canonical form.

    Attributes:
        resource: The fields of a `ResourceSpans` without its scopes.
        scope: The fields of a `ScopeSpans` without its spans.
        spans: The spans.
    """

    resource: Fields
    scope: Fields
    spans: list[Fields]

    def document(self) -> Fields:
        """Return the group as a document."""
        scope_spans = {**self.scope, "spans": self.spans}
        return {"resourceSpans": [{**self.resource, "scopeSpans": [scope_spans]}]}


def span_groups(
    document: Mapping[str, object], add_problem: Callable[[str], object]
) -> Iterator[SpanGroup]:
    """Yield the spans of an OTLP document.

    Args:
        document: A document in any spelling that readers take.
        add_problem: Called with what cannot be read, and is left out.
    """
    named = _with_names(document)
    for resource_spans in _objects(named.get("resourceSpans"), "resourceSpans", add_problem):
        named = _with_names(resource_spans)
        scopes = named.pop("scopeSpans", None)
        resource = _canonical_or_none(named, "resourceSpans", add_problem)
        if resource is None:
            continue
        for scope_spans in _objects(scopes, "scopeSpans", add_problem):
            named = _with_names(scope_spans)
            spans = named.pop("spans", None)
            scope = _canonical_or_none(named, "scopeSpans", add_problem)
            if scope is None:
                continue
            read = (_span(span, add_problem) for span in _objects(spans, "spans", add_problem))
            yield SpanGroup(resource, scope, [span for span in read if span is not None])


def canonical(fields: Mapping[str, object]) -> Fields:
    """Return an object of OTLP in canonical form. Raise ValueError for an id that is none."""
    result = {}
    for name, value in _with_names(fields).items():
        changed = _canonical_value(name, value)
        # A field of an `AnyValue` says by its presence which type the value has.
        if changed or name.endswith("Value"):
            result[name] = changed
    return result


def _canonical_or_none(
    fields: Fields, name: str, add_problem: Callable[[str], object]
) -> Fields | None:
    """Return the fields around spans in canonical form, or None if these cannot be read."""
    try:
        return canonical(fields)
    except (ValueError, RecursionError):
        add_problem(f"{name} with an invalid id, or nested too deeply")
        return None


def span_key(resource: Fields, span: Fields) -> bytes:
    """Return 16 bytes that are equal for equal spans of equal resources."""
    return hashlib.blake2b(span_text(resource, span), digest_size=16).digest()


def span_text(resource: Fields, span: Fields) -> bytes:
    """Return a span with its resource as JSON, the same for equal ones."""
    return json.dumps([resource, span], sort_keys=True, separators=(",", ":")).encode()


def _span(fields: Fields, add_problem: Callable[[str], object]) -> Fields | None:
    """Return a span in canonical form, or None if it has no ids or is nested too deeply."""
    try:
        span = canonical(fields)
    except (ValueError, RecursionError):
        span = {}
    if "traceId" in span and "spanId" in span:
        return span
    add_problem("a span without a valid id")
    return None


def _canonical_value(name: str, value: object) -> object:
    if isinstance(value, dict):
        return canonical(value)
    if isinstance(value, list):
        return [_canonical_value("", item) for item in value]
    if name in _ID_SIZES:
        return _id(name, value)
    if name in _INTEGERS:
        number = integer(value)
        return value if number is None else _integer(name, number)
    if name == "kind":
        return _enum(value, "SPAN_KIND_", ("UNSPECIFIED", *KINDS[1:]))
    if name == "code":
        return _enum(value, "STATUS_CODE_", _STATUS_CODES)
    return value


def _integer(name: str, number: int) -> str:
    # A time of 0 is absent; a value of 0 is a value.
    return str(number) if number or name == "intValue" else ""


def _id(name: str, value: object) -> str:
    """Return an id in hex, or an empty text if it is absent."""
    digits = hex_id(value, _ID_SIZES[name])
    if digits is not None:
        return digits
    # Writers of protobuf's JSON have zeros in base64.
    if value is None or (isinstance(value, str) and not value.strip("0A=")):
        return ""
    raise ValueError("a span without a valid id")


def _enum(value: object, prefix: str, names: tuple[str, ...]) -> object:
    """Return the number of a name. A number, and what is neither, stays as it is."""
    if isinstance(value, str):
        name = value.upper().removeprefix(prefix)
        if name in names:
            return names.index(name)
    number = integer(value)
    return value if number is None else number


def _objects(value: object, name: str, add_problem: Callable[[str], object]) -> Iterator[Fields]:
    """Yield the objects of an array."""
    if value is not None and not isinstance(value, list):
        add_problem(f"{name} must be an array")
        return
    for item in value or ():
        if isinstance(item, dict):
            yield item
        else:
            add_problem(f"{name} must hold objects")


def _with_names(fields: Mapping[str, object]) -> Fields:
    # Names of attributes are values in OTLP, so that every key belongs to the format.
    return {_name(key): value for key, value in fields.items()}


@functools.lru_cache(maxsize=1024)
def _name(key: str) -> str:
    name = re.sub("_([a-z])", lambda match: match[1].upper(), key)
    return _OLD_NAMES.get(name, name)
