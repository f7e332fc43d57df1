"""A failure graph for people (a tree) and for programs (JSON)."""

from failgraph.view.rows import list_row, show_row
from failgraph.view.tree import list_line, tree_lines

__all__ = ["list_line", "list_row", "show_row", "tree_lines"]
