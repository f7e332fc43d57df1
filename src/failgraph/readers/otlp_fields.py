"""Read single fields of OTLP JSON, in each spelling that is in use: names, ids, enums, attributes.

Ids are hex or base64, enums numbers or names, 64-bit integers numbers or text, keys camelCase or
snake_case.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping

from failgraph import semconv
from failgraph.readers.json_values import DocumentContext, array, integer, non_negative
from failgraph.text import interned
from failgraph.traces.spans import KINDS, Value

_HEX = re.compile(r"[0-9a-fA-F]+")
_SCALARS = ("stringValue", "boolValue", "doubleValue")
_SNAKE_CASE = {
    name: re.sub("([A-Z])", lambda upper: "_" + upper[1].lower(), name)
    for name in (
        "resourceSpans",
        "scopeSpans",
        "instrumentationLibrarySpans",
        "traceId",
        "spanId",
        "parentSpanId",
        "startTimeUnixNano",
        "endTimeUnixNano",
        "timeUnixNano",
        "droppedEventsCount",
        "droppedAttributesCount",
        "arrayValue",
        "intValue",
        *_SCALARS,
    )
}
_STATUS_CODES = {1: "OK", 2: "ERROR"}


def get(fields: Mapping[str, object], name: str) -> object:
    """Return the field `name`, also if it is spelled in snake_case, or None if it is absent."""
    value = fields.get(name)
    return fields.get(_SNAKE_CASE.get(name, name)) if value is None else value


def attributes(pairs: object, others: frozenset[str], context: DocumentContext) -> dict[str, Value]:
    """Return the attributes with failgraph's prefix, and those named in `others`."""
    result: dict[str, Value] = {}
    for item in context.list(pairs, "attributes"):
        pair = item if isinstance(item, dict) else context.dict(item, "an attribute")
        key = pair.get("key")
        if isinstance(key, str) and (key.startswith(semconv.PREFIX) or key in others):
            value = _value(pair.get("value"))
            key = semconv.NAMES.get(key, key)
            if isinstance(value, str):
                if semconv.is_array(key):
                    # Jaeger stores arrays as text in Badger and Cassandra, and returns them so.
                    value = array(value)
                elif key in semconv.REPEATED:
                    value = interned(value)
            result[key] = value
    return result


def _value(value: object) -> Value:
    """Return an `AnyValue`, or None if its type is not one that failgraph writes.

    The codec reports such an attribute as unreadable.
    """
    fields = value if isinstance(value, dict) else {}
    if len(fields) == 1 and (text := fields.get("stringValue")) is not None:
        return text  # the most frequent case
    array_value = get(fields, "arrayValue")
    if isinstance(array_value, dict):
        values = array_value.get("values")
        return [_scalar(item) for item in values] if isinstance(values, list) else []
    return _scalar(fields)


def _scalar(value: object) -> Value:
    fields = value if isinstance(value, dict) else {}
    number = get(fields, "intValue")
    if number is not None:
        return integer(number)
    return next((scalar for name in _SCALARS if (scalar := get(fields, name)) is not None), None)


def span_kind(value: object, context: DocumentContext) -> str:
    """Return a span kind given as a number or as a name. An invalid one is reported, and empty."""
    name = value.upper().removeprefix("SPAN_KIND_") if isinstance(value, str) else ""
    if name and (name in KINDS or name == "UNSPECIFIED"):
        return name.replace("UNSPECIFIED", "")
    number = 0 if value is None else integer(value)
    if number is None or not 0 <= number < len(KINDS):
        context.add_problem("a span with an invalid kind")
        return ""
    return KINDS[number]


def status_code(code: object) -> str:
    """Return `OK` or `ERROR`, given as a number or as a name, or an empty string."""
    if code is None:
        return ""
    name = code.upper().removeprefix("STATUS_CODE_") if isinstance(code, str) else ""
    return name if name in ("OK", "ERROR") else _STATUS_CODES.get(integer(code) or 0, "")


def hex_id(value: object, size: int) -> str | None:
    """Return an id of `size` bytes in lower-case hex, or None if it is absent, invalid or zero."""
    if not isinstance(value, str):
        return None
    if len(value) == 2 * size and _HEX.fullmatch(value):
        digits = value.lower()
    elif len(value) == 4 * ((size + 2) // 3):
        try:
            digits = base64.b64decode(value, validate=True).hex()
        except (binascii.Error, ValueError):
            return None
    else:
        return None
    return digits if len(digits) == 2 * size and digits.strip("0") else None


def parent_id(value: object) -> str | None:
    """Return the parent's id. An invalid one is kept: a parent that the source does not hold."""
    valid = hex_id(value, 8)
    if valid is not None or value is None:
        return valid
    # Only a text or a number is written out: other values may be nested without a limit.
    text = str(value)[:32] if isinstance(value, (str, int, float)) else "no id"
    return text if set(text) - {"0", "A", "="} else None


def dropped_count(span: Mapping[str, object], name: str, context: DocumentContext) -> int:
    """Return a count of dropped events or attributes, 0 if it is absent or invalid."""
    value = get(span, name)
    if value is None:
        return 0
    if integer(value) is None:
        context.add_problem(f"{name} must be a number")
    return non_negative(value)
