"""Secrets out of text: one function, `redact`, for everything that leaves the process or is shown.

The rules are in the modules beside this one; here is what the settings make of them. Where the user's own rules fail,
the text is hidden.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from typing import Any

from failgraph.diagnostics import count, warn_once
from failgraph.failure.records import FailureEvent
from failgraph.failure.salvage import salvage
from failgraph.redaction import commands, cookies, credentials, fields, names, shapes, urls
from failgraph.redaction.rule import mark
from failgraph.settings import Settings, current
from failgraph.settings.names import REDACT_WITH
from failgraph.text import ELLIPSIS, cut

_RULES = (
    *shapes.RULES,
    *urls.RULES,
    *credentials.RULES,
    *cookies.RULES,
    *commands.RULES,
    *fields.RULES,
    *names.RULES,
)


def _by_rarest(needles: Iterable[str]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Needles under the one of their characters that is the rarest in text: where that is not, none of them is."""
    found: dict[str, list[str]] = {}
    for needle in sorted(needles):
        found.setdefault(min(needle, key=_RARITY.find), []).append(needle)
    return tuple((character, tuple(each)) for character, each in found.items())


_RARITY = "zqxjvkw_=@<%;-:/.ygbpmfucldhrsnitaoe"
"""From rare to frequent; any other character is rarer."""
_NEEDLES = _by_rarest({needle for rule in _RULES for needle in rule.needles})

_FOLDED = str.maketrans("\u017f\u0130\u0131", "sii")
"""What `re.IGNORECASE` takes for an ASCII letter and `lower` does not."""
_MAX_NAME, _MAX_PLAIN = 64, 1024
_plain: set[str] = set()
"""Short texts without a secret: names of classes and operations, of which the same few come again and again."""

_SHORT_TOKEN = 8
"""A peer token of fewer characters may be part of any word."""
_MARK = mark("").removesuffix("]")
HIDDEN = mark("hidden")
"""Stands for a text that the rules could not be applied to."""


def redact(text: str) -> str:
    """`text` with each secret replaced by a fixed marker that says its kind, so that equal texts stay equal.

    Applied twice it changes nothing more. Never raises: where a rule of the user's own fails, or the stack has no room
    left for one, the whole text is hidden.
    """
    settings = current()
    if not settings.redact or not text:
        return text
    if settings.redact_fault is not None:
        return HIDDEN
    if settings.peer_token is not None and len(settings.peer_token) >= _SHORT_TOKEN:
        text = text.replace(settings.peer_token, mark("peer_token"))
    try:
        return _with_own_rules(_without_secrets(text), settings)
    except RecursionError:
        return HIDDEN


def _without_secrets(text: str) -> str:
    if text in _plain:
        return text
    shown = text
    lowered = (text if text.isascii() else text.translate(_FOLDED)).lower()
    found = [
        needle
        for rarest, needles in _NEEDLES
        if rarest in lowered
        for needle in needles
        if needle in lowered
    ]
    for rule in _RULES if found else ():
        if not rule.needles.isdisjoint(found):
            shown = rule.pattern.sub(rule.replace, shown)
    shown = shapes.without_random_tokens(shown)
    if len(text) <= _MAX_NAME and shown == text:
        if len(_plain) >= _MAX_PLAIN:
            _plain.clear()
        _plain.add(text)
    return shown


def _with_own_rules(text: str, settings: Settings) -> str:
    try:
        for pattern in settings.redact_patterns:
            text = pattern.sub(mark("pattern"), text)
        if settings.redact_with is not None:
            shown = _function(settings.redact_with)(text)
            if not isinstance(shown, str):
                raise TypeError(f"it returned {type(shown).__name__}, not a str")
            text = shown
    except Exception as error:  # noqa: BLE001 - the function is the user's and may raise anything
        count("redact_failed")
        name = type(error).__name__
        what = f"{REDACT_WITH}={settings.redact_with}"
        warn_once(f"redact:{name}", "failgraph: %s failed (%s); the text is hidden", what, name)
        return HIDDEN
    return text


def missing_function() -> str | None:
    """A sentence where the user's own function cannot be loaded; for commands, which had better not start."""
    reference = current().redact_with
    if reference is None:
        return None
    try:
        _function(reference)
    except Exception as error:  # noqa: BLE001 - importing a module of the user's may raise anything
        return f"{REDACT_WITH}={reference} cannot be loaded ({type(error).__name__}); is its folder on PYTHONPATH?"
    return None


@functools.lru_cache(maxsize=1)
def _function(reference: str) -> Callable[[str], object]:
    module, _, path = reference.partition(":")
    found: Any = import_module(module)
    for name in path.split("."):
        found = getattr(found, name)
    return found  # type: ignore[no-any-return]


def truncate_redacted(text: str, limit: int) -> str:
    """`text`, redacted, in at most `limit` characters; a marker that the limit would cut in two goes as a whole."""
    if len(text) <= limit:
        return text
    shown = cut(text, limit)
    at = shown.rfind("[", 0, -1)
    half = shown[at:-1]
    if at >= 0 and "]" not in half and (half.startswith(_MARK) or _MARK.startswith(half)):
        shown = shown[:at] + ELLIPSIS
    return shown


def redact_and_truncate(text: str, limit: int) -> str:
    """At most `limit` characters of the redacted `text`; a cut one ends in an ellipsis.

    Redaction comes first, since half a secret is not known as one; and it looks at no more than it needs to.
    """
    window = limit + 4096
    if len(text) <= window:
        return truncate_redacted(redact(text), limit)
    # The word that the window cuts is dropped with it: it may be half a secret.
    return truncate_redacted(redact(text[:window].rpartition(" ")[0]) + ELLIPSIS, limit)


def survives(part: str, whole: str) -> bool:
    """Whether `part`, which was taken out of `whole` in small letters, is no part of its secrets.

    Alone, or in small letters, nobody would know it as one.
    """
    return part in redact(whole).lower()


def redact_fields(event_id: str, fields: Mapping[str, Any]) -> FailureEvent | None:
    """The event of `fields` as it may leave this process; None without a boundary. What had to go is counted."""
    event, losses = salvage(event_id, fields, redact_and_truncate)
    for loss in losses:
        count(f"record_{loss.kind}")
    return None if event is None else redact_event(event)


def redact_event(event: FailureEvent) -> FailureEvent:
    """`event` with its texts redacted, and without them where the settings say so; the same object where none changes.

    Kind, boundary and ids are never altered.
    """
    changes: dict[str, object] = {}
    for name in ("failure_reason", "operation", "exception_type"):
        _change(changes, name, getattr(event, name), 2000 if name == "failure_reason" else 256)
    foreign, details = event.foreign_error, event.details
    if foreign is not None:
        inner: dict[str, object] = {}
        _change(inner, "message", foreign.message, 2000)
        _change(inner, "exception_type", foreign.exception_type, 256)
        if inner:
            changes["foreign_error"] = foreign.model_copy(update=inner)
    reason = getattr(details, "provider_status_reason", None)
    if details is not None and reason is not None:
        inner = {}
        _change(inner, "provider_status_reason", reason, 2000)
        if inner:
            changes["details"] = details.model_copy(update=inner)
    return event.model_copy(update=changes) if changes else event


_LEFT_OUT = {"failure_reason": "", "message": "", "provider_status_reason": None}
"""What stands in the fields that `FAILGRAPH_REASON=off` keeps out."""


def _change(changes: dict[str, object], name: str, text: str | None, limit: int) -> None:
    if not text:
        return
    shown = (
        _LEFT_OUT[name]
        if name in _LEFT_OUT and not current().reason
        else truncate_redacted(redact(text), limit)
    )
    if shown != text:
        changes[name] = shown
