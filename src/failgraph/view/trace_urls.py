"""The URLs of the pages that show a trace."""

from __future__ import annotations

import json
from urllib.parse import quote, urlencode

GRAFANA_DATA_SOURCE = "tempo"
"""The uid of the Tempo data source in the Grafana that `docker-compose.yml` starts."""


def jaeger_trace_url(base_url: str, trace_id: str) -> str:
    """Return the URL of a trace in Jaeger's UI."""
    return f"{base_url}/trace/{quote(trace_id)}"


def grafana_trace_url(base_url: str, trace_id: str) -> str:
    """Return the URL of a trace in Grafana's Explore, read from the data source `tempo`."""
    query = {
        "refId": "A",
        "datasource": {"type": "tempo", "uid": GRAFANA_DATA_SOURCE},
        "queryType": "traceql",
        "query": trace_id,
    }
    pane = {"datasource": GRAFANA_DATA_SOURCE, "queries": [query]}
    panes = json.dumps({"trace": pane}, separators=(",", ":"))
    return f"{base_url}/explore?{urlencode({'schemaVersion': 1, 'panes': panes})}"
