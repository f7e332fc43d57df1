"""A stand-in for the Jaeger after 2.20, which is no Go module: v1 search is gone, v3 searches by attributes.

Whatever it has nothing for is the page of its user interface.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime

from dialects import Document, jaeger_v1, jaeger_v3, text
from http_stand_in import Asked, Handler, Reply, Server, serving
from tempo_stand_in import by_trace, spans_of

PAGE = Reply(
    b"<!DOCTYPE html>\n<html lang=en><title>Jaeger UI</title></html>",
    type="text/html; charset=utf-8",
)


@contextmanager
def later_jaeger_stand_in(*documents: Document, v3: bool = True) -> Iterator[Server]:
    """Serves the traces of documents; without v3 it is a Jaeger of before that, by id only."""
    traces = by_trace(documents)

    def answer(asked: Asked, _: Handler) -> Reply:
        folder, _, last = asked.path.rpartition("/")
        if folder == "/api/traces":
            found = traces.get(last)
            absent = {"data": None, "total": 0, "errors": [{"code": 404, "msg": "trace not found"}]}
            return (
                Reply(text(jaeger_v1(found))) if found else Reply(text(absent), 404, "text/plain")
            )
        if not v3 or not folder.startswith("/api/v3"):
            return PAGE
        if last == "services":
            return Reply(text({"services": services_of(*traces.values())}), type="text/plain")
        if last == "trace-summaries":
            return Reply(text({"summaries": list(summaries(traces, asked.fields))}))
        found = traces.get(last)
        absent = {"error": {"httpCode": 404, "message": "No traces found"}}
        return Reply(text(jaeger_v3(found))) if found else Reply(text(absent), 404, "text/plain")

    with serving(answer) as server:
        yield server


def services_of(*documents: Document) -> list[str]:
    resources = [resource for document in documents for resource, _ in spans_of(document)]
    return sorted({attributes(resource)["service.name"] for resource in resources})


def summaries(traces: dict[str, Document], fields: dict[str, str]) -> Iterator[Document]:
    """Of the traces that match, no more than asked for; both bounds of time are needed."""
    since, until = (nano(fields[f"query.start_time_{name}"]) for name in ("min", "max"))
    wanted = json.loads(fields["query.attributes"])
    left = int(fields["query.search_depth"])
    for trace_id, document in traces.items():
        starts = [int(span["startTimeUnixNano"]) for _, span in spans_of(document)]
        matching = [
            span
            for resource, span in spans_of(document)
            if attributes(resource)["service.name"] == fields["query.service_name"]
            and since <= int(span["startTimeUnixNano"]) <= until
            and wanted.items() <= attributes(span).items()
        ]
        if matching and left:
            left -= 1
            services = [{"name": name} for name in services_of(document)]
            ends = [int(span["endTimeUnixNano"]) for _, span in spans_of(document)]
            times = {"minStartTimeUnixNano": str(min(starts)), "maxEndTimeUnixNano": str(max(ends))}
            yield {"traceId": trace_id, **times, "services": services}


def nano(text_: str) -> int:
    return round(datetime.fromisoformat(text_.replace("Z", "+00:00")).timestamp() * 10**6) * 1000


def attributes(span: Document) -> dict[str, str]:
    """Of a span and its events, as text."""
    holders = [span, *span.get("events", [])]
    return {
        pair["key"]: str(next(iter(pair["value"].values())))
        for each in holders
        for pair in each["attributes"]
    }
