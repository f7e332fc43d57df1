"""The addresses of the pages that show a trace."""

from __future__ import annotations

import json
from urllib.parse import quote, urlencode

GRAFANA_SOURCE = "tempo"
"""The uid of the Tempo data source in the Grafana that `docker-compose.yml` starts."""


def jaeger_page(base_url: str, trace_id: str, span_id: str | None = None) -> str:
    """In Jaeger, at the span where one is given."""
    return f"{base_url}/trace/{quote(trace_id)}" + (f"?uiFind={quote(span_id)}" if span_id else "")


def grafana_page(base_url: str, trace_id: str) -> str:
    """In Grafana's Explore, from the data source `tempo`."""
    query = {
        "refId": "A",
        "datasource": {"type": "tempo", "uid": GRAFANA_SOURCE},
        "queryType": "traceql",
    }
    pane = {"datasource": GRAFANA_SOURCE, "queries": [{**query, "query": trace_id}]}
    panes = json.dumps({"trace": pane}, separators=(",", ":"))
    return f"{base_url}/explore?{urlencode({'schemaVersion': 1, 'panes': panes})}"
