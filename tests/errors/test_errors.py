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


def test_errors_name_only_the_public_module_in_a_pickle():
    """They can cross a process boundary whatever moves inside the package."""
    error = pickle.loads(pickle.dumps(SourceError("a sentence")))
    assert type(error) is SourceError
    assert str(error) == "a sentence"
