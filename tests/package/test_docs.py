"""The documentation is true: tables come from the code, code runs, links lead somewhere."""

from __future__ import annotations

import itertools
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet

from doc_tables import DOCS, README, ROOT, TABLES, with_tables
from failgraph.cli.parser import build_parser
from failgraph.settings import names as settings
from gym_rows import FAILING, lines, scored

pytest.importorskip(
    "opentelemetry.exporter.otlp.json.file", reason="the first page writes a file of OTLP JSON"
)

pytestmark = pytest.mark.once

FIRST = DOCS / "getting-started.md"
FIXED = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", ".github/SECURITY.md")
PAGES = [
    page
    for page in (
        *(ROOT / path for path in FIXED),
        *sorted(DOCS.glob("*.md")),
        *sorted((ROOT / "collector-config").rglob("*.md")),
    )
    if page.exists()  # the tests of the wheel have no pages beside them
]
CURRENT = [page for page in PAGES if page.name != "CHANGELOG.md"]
"""Pages about what is there today."""
LANGUAGES = {"mermaid", "python", "sh", "text", "traceql"}
NOT_RUN = ("curl ", "opentelemetry-instrument ", "pip install --upgrade pip")
EXPECTED = {
    "failgraph doctor -v": "FAILGRAPH_ENABLED=unset (default)",
    "failgraph doctor": " problem",
    "failgraph run -- python server.py": "enabled true\n",
    "FAILGRAPH_ENABLED=true python server.py": "enabled true\n",
    "failgraph export traces.jsonl journal": "1 span: 1 exported",
    "failgraph export journal": " 0 exported, ",  # nothing was lost
    "failgraph export rollouts": (
        "4 rows: 3 exported, 0 already there, 1 not a failure, 0 malformed"
    ),
    "failgraph show rollouts": "agent_run_error",
    "failgraph list traces.jsonl --kind transport_timeout --ids": "\n",
    "failgraph list traces.jsonl --json -q -o failures.json": "",
    "failgraph": "transport_timeout",
}
"""What a command prints, by how it begins; the first that fits counts."""


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


def blocks(page: Path, language: str) -> list[str]:
    """Return the code blocks of a page in one language."""
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)


def prose(page: Path) -> str:
    """Return the text of a page without its code blocks."""
    return re.sub(r"^```.*?^```", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)


def runnable(language: str) -> list[ParameterSet]:
    """Return the pages with such blocks. Only those that are read first are in `make test`."""
    return [
        pytest.param(page, marks=[] if page in (README, FIRST) else [pytest.mark.slow])
        for page in PAGES
        if blocks(page, language)
    ]


def run(
    command: str | list[str], folder: Path, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Run a command with this Python's programs first on the path, without settings of tests."""
    environ = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith(("FAILGRAPH_", "OTEL_"))
    }
    environ["PATH"] = os.pathsep.join((os.path.dirname(sys.executable), environ.get("PATH", "")))
    return subprocess.run(
        command,
        cwd=folder,
        env={**environ, **variables},
        shell=isinstance(command, str),
        capture_output=True,
        text=True,
    )


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with what the first page writes, a journal, rows of Gym and a program."""
    folder = tmp_path_factory.mktemp("docs")
    code = "\n".join(blocks(FIRST, "python"))
    command = [sys.executable, "-W", "error::UserWarning", "-c", code]
    ran = run(command, folder, FAILGRAPH_JOURNAL="journal")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.startswith("span\n")
    assert "model transport_timeout exception_type='TimeoutError'" in ran.stdout
    (folder / "rollouts.jsonl").write_bytes(lines(scored(1)))
    (folder / "rollouts_failures.jsonl").write_bytes(lines(*(case.row for case in FAILING[:3])))
    program = "import os; print('enabled', os.environ['FAILGRAPH_ENABLED'])\n"
    (folder / "server.py").write_text(program)
    return folder


@pytest.fixture
def folder(written: Path, tmp_path: Path) -> Path:
    """Return a copy of that folder."""
    subprocess.run(["cp", "-R", f"{written}/.", tmp_path], check=True)
    return tmp_path


# --- code


@pytest.mark.parametrize("page", runnable("python"), ids=name)
def test_the_python_of_a_page_runs(page, folder):
    """The blocks of a page run as one program; a test among them passes under pytest."""
    tests = [block for block in blocks(page, "python") if "\ndef test_" in block]
    code = "\n".join(block for block in blocks(page, "python") if block not in tests)
    ran = run([sys.executable, "-W", "error::UserWarning", "-c", code], folder)
    assert (ran.returncode, ran.stderr) == (0, "")
    for number, block in enumerate(tests):
        (folder / f"test_{number}.py").write_text(block)
        ran = run([sys.executable, "-m", "pytest", "-q", f"test_{number}.py"], folder)
        assert "1 passed" in ran.stdout, ran.stdout


def test_a_page_has_a_test_to_copy():
    """The page about testing shows one that runs."""
    assert "\ndef test_" in "".join(blocks(DOCS / "testing.md", "python"))


@pytest.mark.parametrize("page", runnable("sh"), ids=name)
def test_the_commands_of_a_page_work(page, folder):
    """Each command runs as it is, or its words are checked."""
    for block in blocks(page, "sh"):
        variables: dict[str, str] = {}
        for line in filter(None, (line.partition(" #")[0].strip() for line in block.splitlines())):
            if line.startswith("export "):
                variables.update(word.split("=", 1) for word in shlex.split(line)[1:])
            elif re.match(r"([A-Z_]+=\S+ )?(failgraph|python) ", line) and "://" not in line:
                works(line, folder, variables)
            else:
                assert is_plausible(line), f"{name(page)}: {line}"


def works(line: str, folder: Path, variables: dict[str, str]) -> None:
    """Run one command of failgraph, and look at what it prints."""
    ran = run(line, folder, **variables)
    assert ran.returncode == 0 or (line.startswith("failgraph doctor") and ran.returncode == 1), (
        line
    )
    assert ran.stderr == "", line
    expected = next(text for start, text in EXPECTED.items() if line.startswith(start))
    assert expected in ran.stdout, line


def is_plausible(line: str) -> bool:
    """Return True if a command names only make targets, extras and options that exist."""
    words = shlex.split(line)
    while "=" in words[0] and words[0].partition("=")[0].isupper():
        words.pop(0)
    if words[0] == "failgraph":
        return build_parser().parse_args(words[1:]) is not None
    if words[0] == "make":
        targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
        return all(word in targets for word in words[1:] if "=" not in word)
    if words[:2] == ["pip", "install"] and words[2].startswith("."):
        extras = re.findall(r"\w+", words[2])
        return all(f"\n{extra} = [" in (ROOT / "pyproject.toml").read_text() for extra in extras)
    if words[:2] == ["docker", "compose"]:
        profiles = [word for before, word in itertools.pairwise(words) if before == "--profile"]
        known = (ROOT / "docker-compose.yml").read_text()
        return all(f"profiles: [{each}]" in known for each in profiles)
    return line.startswith(NOT_RUN)


def shown_commands() -> Iterator[list[str]]:
    """Yield the words of each command of failgraph that a page shows without running it."""
    for page in CURRENT:
        code = [line for block in blocks(page, "text") for line in block.splitlines()]
        code += re.findall(r"`([^`\n]+)`", prose(page))
        for line in code:
            words = re.sub(r"[\[\]]|\.\.\.", "", line).split()
            if words[:1] == ["failgraph"] and words[1:] and words[-1] != "--help":
                yield words


def test_commands_that_are_only_shown_exist():
    """Every `failgraph …` in a text has a command and options that the parser takes."""
    shown = list(shown_commands())
    assert len(shown) > 20
    for _, *words in shown:
        if words[1:]:
            assert build_parser().parse_args(words), words
        else:
            assert f"    {words[0]} " in build_parser().format_help(), words


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_a_page_uses_known_languages(page):
    """A block in a language that no test looks at would not be checked."""
    fences = re.findall(r"^```(\w*)", page.read_text(), re.MULTILINE)
    assert set(fences[::2]) <= LANGUAGES
    assert set(fences[1::2]) <= {""}


# --- names


@pytest.mark.parametrize("page", TABLES)
def test_a_table_is_that_of_the_code(page):
    """`python tests/support/doc_tables.py` has nothing to change."""
    text = (DOCS / page).read_text()
    assert with_tables(page, text) == text


@pytest.mark.parametrize("page", CURRENT, ids=name)
def test_a_page_names_only_settings_that_exist(page):
    """A variable that begins as ours is one of ours."""
    assert set(re.findall(r"\bFAILGRAPH_[A-Z_]*[A-Z]", page.read_text())) <= set(settings.NAMES)


@pytest.mark.parametrize("page", CURRENT, ids=name)
def test_a_page_names_only_code_that_exists(page):
    """`failgraph.x.y` in a text is a module, or a name in one."""
    for dotted in re.findall(r"`(failgraph(?:\.[A-Za-z_]+)+)", prose(page)):
        if dotted not in ("failgraph.pth", "failgraph.start"):
            assert resolves(dotted), dotted


def resolves(dotted: str) -> bool:
    module, _, rest = dotted.rpartition(".")
    try:
        import_module(dotted)
    except ModuleNotFoundError:
        return hasattr(import_module(module), rest)
    return True


@pytest.mark.parametrize("page", CURRENT, ids=name)
def test_a_page_names_only_files_that_exist(page):
    """A path to a Python file, or to a folder, is one of the repository or of the package."""
    for path in re.findall(r"`([\w./-]+(?:\.py|/))`", prose(page)):
        found = [
            root / path for root in (ROOT, ROOT / "src" / "failgraph", ROOT / "collector-config")
        ]
        found += (ROOT / "src" / "failgraph").glob(f"*/{path}")
        theirs = path.endswith(("NAME.py", "sitecustomize.py"))
        assert theirs or any(each.exists() for each in found), path


def test_every_public_name_is_explained():
    """docs/api.md names what the public modules have; `Attributes` is only a type."""
    words = set(re.findall(r"\w+", (DOCS / "api.md").read_text()))
    modules = ("failgraph", "failgraph.readers", "failgraph.codec", "failgraph.errors")
    public = {name for module in modules for name in import_module(module).__all__}
    assert public - words <= {"Attributes"}


def test_every_counter_that_is_explained_is_counted():
    """The table of `stats()` has names that the code counts."""
    text = (DOCS / "troubleshooting.md").read_text()
    table = text[text.index("| counter |") : text.index("## 4")]
    counters = re.findall(r"`([a-z_]+)`", "".join(re.findall(r"^\| (.*?) \|", table, re.MULTILINE)))
    source = "".join(path.read_text() for path in (ROOT / "src").rglob("*.py"))
    assert len(counters) > 15
    for counter in counters:
        made = [counter, *(f"{counter.partition('_')[0]}_{{",)]  # count(f"recorded_{…}")
        assert any(f'"{each}' in source for each in made), counter


def test_the_design_page_lists_every_room_in_its_order():
    """The table and the diagram of the house are those of the architecture test."""
    text = (DOCS / "design.md").read_text()
    house = text[text.index("## Map of the house") : text.index("## Contracts")]
    rules = (ROOT / "tests" / "package" / "test_architecture.py").read_text()
    (listed,) = re.findall(r"^ROOMS = \((.*?)^\)", rules, re.DOTALL | re.MULTILINE)
    rooms = re.findall(r'"(\w+)"', listed)
    assert re.findall(r"^\| `(\w+)` \|", house, re.MULTILINE) == rooms
    (diagram,) = blocks(DOCS / "design.md", "mermaid")
    assert set(rooms) <= set(re.findall(r"\w+", diagram))


def test_the_readme_gives_figures_of_the_page_about_them():
    """Each row of its table of costs is in docs/performance.md with the same ratio and goal."""
    text = README.read_text()
    table = text[text.index("| work | ratio | goal |") : text.index("Other goals")]
    rows = re.findall(r"^\| (.*?) \| (.*?) \| (.*?) \|$", table, re.MULTILINE)[2:]
    there = (DOCS / "performance.md").read_text()
    assert len(rows) > 3
    for work, ratio, goal in rows:
        found = re.search(
            rf"^\| {re.escape(work)} \| .*? \| (.*?) \| .*? \| (.*?) \|$", there, re.MULTILINE
        )
        assert found is not None, work
        assert found.groups() == (ratio, goal)


# --- links


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub makes them."""
    heads = re.findall(r"^#+ (.*)$", prose(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_the_links_of_a_page_lead_somewhere(page):
    """A relative link leads to a file in the repository, and its anchor to a heading."""
    for target in re.findall(r"\]\(([^)\s]+)\)", prose(page)):
        if target.startswith(("http://", "https://")):
            continue
        path, _, anchor = target.partition("#")
        there = (page.parent / path).resolve() if path else page
        assert there.exists(), target
        assert there.is_relative_to(ROOT), target
        assert not anchor or anchor in anchors(there), target


def test_every_page_is_in_the_index():
    """The README links to every page of docs/, and no page of another folder was moved away."""
    assert {str(page.relative_to(ROOT)) for page in PAGES} >= set(FIXED)
    linked = set(re.findall(r"\]\(docs/([\w-]+\.md)\)", README.read_text()))
    assert linked == {page.name for page in DOCS.glob("*.md")}


# --- sizes


@pytest.mark.parametrize(
    ("path", "most"),
    [("README.md", 200), ("CONTRIBUTING.md", 100), (".github/workflows/ci.yml", 120)],
)
def test_a_file_stays_short(path, most):
    """What is read first is short."""
    assert len((ROOT / path).read_text().splitlines()) <= most


def test_the_workflow_runs_every_part_of_ci():
    """`.github/workflows/ci.yml` calls `.ci/run` once for each part that it has."""
    (parts,) = re.findall(r"^PARTS=\((.*)\)$", (ROOT / ".ci" / "run").read_text(), re.MULTILINE)
    workflow = (ROOT / ".github" / "workflows" / "ci.yml").read_text()
    assert re.findall(r'part: "?([\w.-]+)', workflow) == parts.split()
    assert "run: .ci/run ${{ matrix.part }}" in workflow


def test_the_picture_is_small():
    """A README with a heavy picture is slow to open."""
    picture = (DOCS / "jaeger.png").read_bytes()
    assert picture.startswith(b"\x89PNG")
    assert len(picture) < 150_000
