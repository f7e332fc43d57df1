"""Hooks whose target is missing or whose wrapper cannot be loaded: the program goes on."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

import failgraph
from failgraph.instrumentation import attach as attaching, hooks, import_hooks, startup
from failgraph.instrumentation.error_description import describe_error
from failgraph.instrumentation.hook_target import HookTarget

KEY = "sk-" + "4f9aB27cQ1xZ8mLk" * 2


@pytest.fixture
def broken_hook(monkeypatch):
    """Make a module with a hook whose wrapper does not exist."""
    module = ModuleType("some_library")
    module.double = lambda number: 2 * number
    monkeypatch.setitem(sys.modules, "some_library", module)
    target = HookTarget("", "double", "no_such_module:wrapper")
    monkeypatch.setattr(hooks, "TARGETS", {"some_library": (target,)})
    hooks.install("some_library")
    yield module
    hooks.remove_all()


@pytest.fixture
def gym_module(monkeypatch):
    """Make a module of some Gym: one target fits, one is missing, one is no function."""
    module = ModuleType("nemo_gym.some")
    module.there = lambda: 1
    module.changed = 7
    monkeypatch.setitem(sys.modules, "nemo_gym.some", module)
    targets = tuple(
        HookTarget("", name, "gym.rollout_hops:run_from_config")
        for name in ("there", "gone", "changed")
    )
    elsewhere = HookTarget(
        "Class", "method", "gym.rollout_hops:run_from_config", "nemo_gym.not_loaded"
    )
    monkeypatch.setattr(hooks, "TARGETS", {"nemo_gym.some": (*targets, elsewhere)})
    yield module
    hooks.remove_all()


def test_a_missing_or_changed_target_is_named(gym_module):
    """The others are hooked, and removing the hooks restores everything."""
    original = gym_module.there
    hooks.install("nemo_gym.some")
    assert gym_module.there is not original
    hooks.note_unfit("nemo_gym.some.there", "its second argument is a str")
    assert hooks.missing() == {
        "nemo_gym.some.gone": "not found",
        "nemo_gym.some.changed": "not found",
        "nemo_gym.not_loaded.Class.method": "not found",
        "nemo_gym.some.there": "its second argument is a str",
    }
    hooks.remove_all()
    assert gym_module.there is original
    assert hooks.missing() == {}


def test_a_wrapper_that_cannot_be_loaded(broken_hook, caplog):
    """The original runs, and one line names the hook and the reason."""
    assert [broken_hook.double(2), broken_hook.double(3)] == [4, 6]
    assert failgraph.stats()["hook_failed"] == 1
    (line,) = caplog.messages
    assert line == (
        "failgraph: cannot load hook no_such_module:wrapper (ModuleNotFoundError: No module named "
        "'failgraph.instrumentation.no_such_module'); the program goes on without it"
    )


def test_an_error_while_attaching_at_start_up(monkeypatch, caplog):
    """One line gives the reason, without secrets. No other import is waited for."""

    def fail(*_: object, **__: object) -> None:
        raise RuntimeError(f"api_key={KEY}\x1b[31m")

    import_hooks.when_imported("never_imported", lambda _: None)
    monkeypatch.setattr(attaching, "attach", fail)
    startup._attach("opentelemetry.sdk.trace")
    (line,) = caplog.messages
    assert line.startswith("failgraph: cannot attach (RuntimeError: api_key=[redacted:")
    assert line.endswith("; the program goes on without it")
    assert KEY not in line
    assert line.isprintable()
    assert import_hooks._finder.after == {}


def test_an_error_while_redaction_cannot_be_loaded(monkeypatch):
    """Only its type is shown."""
    monkeypatch.setitem(sys.modules, "failgraph.redaction.display", None)
    assert describe_error(ImportError(KEY)) == "ImportError"


def test_an_error_without_text():
    """Its `__str__` raises."""

    class Unprintable(Exception):
        def __str__(self) -> str:
            raise LookupError

    assert describe_error(Unprintable()) == "Unprintable"


def test_a_reason_is_one_line_without_control_characters(broken_hook):
    """It may name a class of the program."""
    hooks.note_unfit("some_library.double", "its argument is \x1b[31m")
    assert hooks.missing() == {"some_library.double": r"its argument is \x1b[31m"}
