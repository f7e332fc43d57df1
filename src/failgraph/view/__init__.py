"""Failure graphs for people (lines and trees, plain or on a terminal) and for programs (JSON)."""

from failgraph.view.json_rows import list_row, show_row, top_row
from failgraph.view.lines import list_line
from failgraph.view.loss_lines import loss_lines
from failgraph.view.plain_text import line_text, tree_text
from failgraph.view.top import top_rows
from failgraph.view.top_table import top_lines
from failgraph.view.tree import failure_tree

__all__ = [
    "failure_tree",
    "line_text",
    "list_line",
    "list_row",
    "loss_lines",
    "show_row",
    "top_lines",
    "top_row",
    "top_rows",
    "tree_text",
]
