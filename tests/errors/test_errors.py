"""The errors of the public module: what each is, and what it holds."""

from __future__ import annotations

import pickle

import pytest

from failgraph.errors import ConfigError, FailgraphError, SourceError


@pytest.mark.parametrize("error", [ConfigError(["a problem"]), SourceError("a sentence")])
def test_every_error_is_a_failgraph_error(error):
    """One `except` catches all of them."""
    assert isinstance(error, FailgraphError)


def test_a_config_error_holds_every_problem():
    """As a list, and as one sentence in its text."""
    error = ConfigError(["first", "second"])
    assert error.problems == ["first", "second"]
    assert str(error) == "first; second"


@pytest.mark.parametrize("error", [ConfigError(["a problem", "another"]), SourceError("a text")])
def test_an_error_survives_pickling(error):
    """It may cross a process boundary, as all exceptions may."""
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error)
    assert str(copy) == str(error)
    assert vars(copy) == vars(error)
