"""The tables of the README, made of the code that they describe. `python tests/support/doc_tables.py` writes them."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterator
from pathlib import Path

from failgraph import semconv
from failgraph.cli import exit_codes
from failgraph.losses import HIDDEN, MEANING
from failgraph.settings import names as settings

README = Path(__file__).parents[2] / "README.md"


def documented(module) -> Iterator[tuple[str, object, str]]:
    """The constants of a module that have a docstring: name, value, docstring."""
    body = ast.parse(Path(module.__file__).read_text()).body
    for constant, doc in itertools.pairwise(body):
        if (
            isinstance(constant, ast.AnnAssign)
            and isinstance(doc, ast.Expr)
            and isinstance(doc.value, ast.Constant)
        ):
            name = ast.unparse(constant.target)
            yield name, getattr(module, name), " ".join(str(doc.value.value).split())


def table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join(
        "| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines
    )


def attributes() -> str:
    names = [(value, doc) for _, value, doc in documented(semconv) if isinstance(value, str)]
    rows = [
        (f"`{value}`", doc) for value, doc in names if value not in (semconv.PREFIX, semconv.REST)
    ]
    return table(("name", "meaning"), [row for row in rows if row[0] != f"`{semconv.EVENT_NAME}`"])


def settings_table() -> str:
    rows = [
        (name, doc)
        for _, name, doc in documented(settings)
        if isinstance(name, str) and name in settings.NAMES
    ]
    return table(("variable", "meaning"), [(f"`{name}`", doc) for name, doc in rows])


def losses() -> str:
    return table(("loss", "meaning"), [(f"`{kind}`", meaning) for kind, meaning in MEANING.items()])


def hidden() -> str:
    return table(("what", "what becomes of it"), list(HIDDEN.items()))


def exit_code_table() -> str:
    return table(
        ("code", "meaning"),
        [(str(code), doc) for _, code, doc in documented(exit_codes) if isinstance(code, int)],
    )


TABLES = {
    "attributes": attributes,
    "settings": settings_table,
    "losses": losses,
    "hidden": hidden,
    "exit codes": exit_code_table,
}


def with_tables(text: str) -> str:
    """`text` with each generated table in its place, between `<!-- NAME -->` and `<!-- /NAME -->`."""
    for name, make in TABLES.items():
        pattern = re.compile(f"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.DOTALL)
        place = pattern.search(text)
        assert place is not None, f"README.md has no place for the table of {name}"
        text = f"{text[: place.end(1)]}{make()}\n{text[place.start(2) :]}"
    return text


if __name__ == "__main__":
    README.write_text(with_tables(README.read_text()))
