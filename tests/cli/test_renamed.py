"""Old names of commands and flags, and the exit codes of programs that `run` cannot start."""

from __future__ import annotations

import pytest

from failgraph.cli import main


@pytest.mark.parametrize(
    ("old", "answer"),
    [
        (
            "import rows.jsonl --to out.jsonl",
            (
                "import is now export and --to is now -o."
                " Run: failgraph export rows.jsonl -o out.jsonl"
            ),
        ),
        (
            "import --to=http://localhost a b",
            (
                "import is now export and --to is now -o."
                " Run: failgraph export -o http://localhost a b"
            ),
        ),
        ("import rows.jsonl", "import is now export. Run: failgraph export rows.jsonl"),
        ("export rows.jsonl --to out", "--to is now -o. Run: failgraph export rows.jsonl -o out"),
        ("demo --out new.jsonl", "--out is now -o. Run: failgraph demo -o new.jsonl"),
    ],
)
def test_an_old_name_is_answered_with_the_new_call(old, answer, capsys):
    """Nothing runs; one line has the call as it is written now, and the exit code is 2."""
    assert main(old.split()) == 2
    assert capsys.readouterr() == ("", f"failgraph: {answer}\n")


def test_the_answer_quotes_and_has_no_secret(capsys):
    """The new call can be pasted into a shell, but for what is redacted in it."""
    assert main(["import", "my rows", "--to", "https://user:hunter2@host"]) == 2
    message = capsys.readouterr().err
    assert "failgraph export 'my rows' -o " in message
    assert "hunter2" not in message


@pytest.mark.parametrize("argv", [["run", "--", "import", "--to"], ["run", "--", "--out"]])
def test_arguments_of_another_program_are_left_alone(argv, monkeypatch, capsys):
    """What `run` starts may have flags with these names."""
    monkeypatch.setenv("PATH", "")
    assert main(argv) == 127
    assert "is now" not in capsys.readouterr().err


def test_run_ends_as_shells_do_if_the_program_cannot_be_started(tmp_path, capsys):
    """127 if there is no such program, 126 if it cannot be run, and one line says why."""
    assert main(["run", "--", str(tmp_path / "nothing")]) == 127
    assert capsys.readouterr().err.endswith("nothing: no such program. Check its name and PATH.\n")
    (tmp_path / "plain").write_text("text")
    assert main(["run", "--", str(tmp_path / "plain")]) == 126
    assert capsys.readouterr().err.endswith("plain: permission denied. Is it an executable file?\n")
