"""Tables of the documentation that come from the code. Run this file to write them."""

from __future__ import annotations

import argparse
import ast
import itertools
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

from failgraph import semconv
from failgraph.cli import exit_codes
from failgraph.cli.parser import build_parser
from failgraph.losses import HIDDEN, MEANING
from failgraph.settings import names as settings

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
DOCS = ROOT / "docs"


def documented(module: ModuleType) -> Iterator[tuple[str, object, str]]:
    """Yield name, value and docstring of each constant of a module that has a docstring."""
    body = ast.parse(Path(str(module.__file__)).read_text()).body
    for constant, doc in itertools.pairwise(body):
        if (
            isinstance(constant, ast.AnnAssign)
            and isinstance(doc, ast.Expr)
            and isinstance(doc.value, ast.Constant)
        ):
            name = ast.unparse(constant.target)
            yield name, getattr(module, name), " ".join(str(doc.value.value).split())


def table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """Return a Markdown table."""
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join(
        "| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines
    )


def attribute_table() -> str:
    """Return every name in `semconv` but the name of the event, the prefix and the suffix."""
    others = (semconv.PREFIX, semconv.REST, semconv.EVENT_NAME)
    rows = [
        (f"`{value}`", doc)
        for _, value, doc in documented(semconv)
        if isinstance(value, str) and value not in others
    ]
    return table(("name", "meaning"), rows)


def settings_table() -> str:
    """Return every setting."""
    rows = [
        (f"`{name}`", doc)
        for _, name, doc in documented(settings)
        if isinstance(name, str) and name in settings.NAMES
    ]
    return table(("variable", "meaning"), rows)


def loss_table() -> str:
    """Return every kind of loss."""
    return table(("loss", "meaning"), [(f"`{kind}`", meaning) for kind, meaning in MEANING.items()])


def hidden_table() -> str:
    """Return what Jaeger's own JSON hides."""
    return table(("what", "what becomes of it"), list(HIDDEN.items()))


def exit_code_table() -> str:
    """Return the exit codes."""
    rows = [(str(code), doc) for _, code, doc in documented(exit_codes) if isinstance(code, int)]
    return table(("code", "meaning"), rows)


def command_parsers() -> dict[str, argparse.ArgumentParser]:
    """Return the parser of each command, by its name."""
    (commands,) = [
        action
        for action in build_parser()._actions
        if isinstance(action, argparse._SubParsersAction)
    ]
    return dict(commands.choices)


def flag_table() -> str:
    """Return every option of a command; those with the same meaning in several stand once."""
    commands: dict[tuple[str, str], list[str]] = {}
    for name, parser in command_parsers().items():
        for action in parser._actions:
            if action.option_strings and action.dest != "help" and action.help != argparse.SUPPRESS:
                value = f" {action.metavar}" if action.metavar else ""
                flag = ", ".join(f"`{option}{value}`" for option in action.option_strings)
                meaning = parser._get_formatter()._expand_help(action)
                commands.setdefault((flag, meaning), []).append(name)
    rows = [(flag, ", ".join(names), meaning) for (flag, meaning), names in commands.items()]
    return table(("flag", "commands", "meaning"), rows)


TABLES: dict[str, dict[str, Callable[[], str]]] = {
    "attributes.md": {"attributes": attribute_table},
    "settings.md": {"settings": settings_table},
    "cli.md": {
        "flags": flag_table,
        "exit codes": exit_code_table,
        "losses": loss_table,
        "hidden": hidden_table,
    },
}
"""The tables of each page in docs/, by the name of the comments around them."""


def with_tables(page: str, text: str) -> str:
    """Return `text` with each table of `page` between `<!-- NAME -->` and `<!-- /NAME -->`."""
    for name, make in TABLES[page].items():
        pattern = re.compile(f"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.DOTALL)
        place = pattern.search(text)
        assert place is not None, f"docs/{page} has no place for the table of {name}"
        text = f"{text[: place.end(1)]}{make()}\n{text[place.start(2) :]}"
    return text


if __name__ == "__main__":
    for page in TABLES:
        path = DOCS / page
        path.write_text(with_tables(page, path.read_text()))
