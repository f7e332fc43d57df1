"""Failure graphs for people (lines and trees, plain or on a terminal) and for programs (JSON)."""

from failgraph.view.json_rows import list_row, show_row, source_row, top_row
from failgraph.view.list_table import list_lines
from failgraph.view.loss_lines import loss_lines
from failgraph.view.plain_text import line_text, tree_text
from failgraph.view.top import top_rows
from failgraph.view.top_table import top_lines
from failgraph.view.tree import failure_tree

__all__ = [
    "failure_tree",
    "line_text",
    "list_lines",
    "list_row",
    "loss_lines",
    "show_row",
    "source_row",
    "top_lines",
    "top_row",
    "top_rows",
    "tree_text",
]
