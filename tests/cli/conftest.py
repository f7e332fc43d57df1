"""What the tests of the command line share."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from failgraph.cli import main
from run_command import Done


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., Done]:
    """Return a function that runs a command in this process."""

    def run_command(*arguments: object) -> Done:
        try:
            code = main([str(argument) for argument in arguments])
        except SystemExit as error:
            assert isinstance(error.code, int)
            code = error.code
        return Done(code, *capsys.readouterr())

    return run_command
