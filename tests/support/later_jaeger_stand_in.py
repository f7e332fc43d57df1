"""A stand-in for the Jaeger after 2.20, which is not published as a Go module.

It has no v1 search; v3 searches by attributes. Any unknown path answers with its web page.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime

from dialects import Document, jaeger_v1, jaeger_v3, spans_of, text
from http_stand_in import Handler, ReceivedRequest, Reply, StandIn, serving
from tempo_stand_in import by_trace

PAGE = Reply(
    b"<!DOCTYPE html>\n<html lang=en><title>Jaeger UI</title></html>",
    type="text/html; charset=utf-8",
)


V1_NOT_FOUND = Reply(
    text({"data": None, "total": 0, "errors": [{"code": 404, "msg": "trace not found"}]}),
    404,
    "text/plain",
)
V3_NOT_FOUND = Reply(
    text({"error": {"httpCode": 404, "message": "No traces found"}}), 404, "text/plain"
)


@contextmanager
def later_jaeger_stand_in(*documents: Document, v3: bool = True) -> Iterator[StandIn]:
    """Serve the traces of documents; without v3, as an older Jaeger that only knows v1 by id."""
    traces = by_trace(documents)

    def answer(request: ReceivedRequest, _: Handler) -> Reply:
        folder, _, last = request.path.rpartition("/")
        document = traces.get(last)
        if folder == "/api/traces":
            return Reply(text(jaeger_v1(document))) if document else V1_NOT_FOUND
        if not v3 or not folder.startswith("/api/v3"):
            return PAGE
        if last == "services":
            return Reply(text({"services": services_of(*traces.values())}), type="text/plain")
        if last == "trace-summaries":
            return Reply(text({"summaries": list(summaries(traces, request.fields))}))
        return Reply(text(jaeger_v3(document))) if document else V3_NOT_FOUND

    with serving(answer) as server:
        yield server


def services_of(*documents: Document) -> list[str]:
    """Return the sorted names of the services in documents."""
    resources = [resource for document in documents for resource, _ in spans_of(document)]
    return sorted({attributes(resource)["service.name"] for resource in resources})


def summaries(traces: dict[str, Document], fields: dict[str, str]) -> Iterator[Document]:
    """Yield the matching traces, at most as many as asked for; both bounds of time are required."""
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


def nano(timestamp: str) -> int:
    """Return an ISO 8601 time in ns since the epoch, to the microsecond."""
    seconds = datetime.fromisoformat(timestamp.replace("Z", "+00:00")).timestamp()
    return round(seconds * 10**6) * 1000


def attributes(span: Document) -> dict[str, str]:
    """Return the attributes of a span and its events, with values as text."""
    holders = [span, *span.get("events", [])]
    return {
        pair["key"]: str(next(iter(pair["value"].values())))
        for each in holders
        for pair in each["attributes"]
    }
