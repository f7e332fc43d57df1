"""A failure graph for people (a tree, plain or on a terminal) and for programs (JSON)."""

from failgraph.redaction.display import sanitize
from failgraph.view.json_rows import list_row, show_row
from failgraph.view.picture import list_line, loss_lines, picture
from failgraph.view.plain import plain, plain_lines
from failgraph.view.top import top_lines, top_row, top_rows

__all__ = [
    "list_line",
    "list_row",
    "loss_lines",
    "picture",
    "plain",
    "plain_lines",
    "sanitize",
    "show_row",
    "top_lines",
    "top_row",
    "top_rows",
]
