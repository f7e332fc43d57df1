"""Failure kinds: the registered names, the name patterns, and the kinds of foreign exceptions."""

from __future__ import annotations

import asyncio
import concurrent.futures
import errno
import http.client
import logging
import socket

import pytest

from failgraph import stats
from failgraph.failure import kinds

REGISTERED = [
    "transport_unreachable",
    "transport_peer_drop",
    "transport_timeout",
    "transport_local_resource",
    "agent_run_error",
    "agent_request_failed",
    "agent_timeout",
    "agent_command_not_allowed",
    "judge_failed",
    "judge_unparseable",
    "verifier_error",
    "provider_unavailable",
    "provider_quota_exhausted",
    "provider_oom_killed",
    "session_lost",
    "session_expired",
    "session_release_failed",
    "cancelled",
    "kill_shaped",
    "shutdown",
    "persistence_failed",
    "cohort_incomplete",
    "environment_server_failed",
    "protocol_violation",
]


def named(name: str, base: type[BaseException] = Exception) -> BaseException:
    """Return an error whose class has that name, as HTTP clients are not installed here."""
    return type(name, (base,), {})("x")


def test_the_24_names_of_gym_are_registered():
    """The registered kinds are Gym's 24, and each fits a pattern."""
    assert len(REGISTERED) == 24
    assert set(REGISTERED) == kinds.REGISTERED
    assert all(map(kinds.fits_pattern, REGISTERED))


@pytest.mark.parametrize("kind", ["a", "agent_timeout", "a1_2", "a_", "srv:kind", "a1:b_2"])
def test_a_shared_name_or_an_extension_fits(kind):
    """A kind is `name` or `server:kind`, each a lower-case letter, then letters, digits and `_`."""
    assert kinds.fits_pattern(kind)


@pytest.mark.parametrize(
    "kind",
    [
        "", "A", "1a", "_a", "a-b", "a b", "é", "aé", "a٣", "a:", ":a", "a:b:c", "a:B", "a:1",
        "a::b", "agent_timeout\n", "srv:kind\n", "\nagent_timeout", "agent_timeout\nb",
        " agent_timeout", kinds.OTHER,
    ],
)  # fmt: skip
def test_patterns_hold_for_the_whole_string(kind):
    """The patterns hold for the whole string and for ASCII only: no newline, no second colon."""
    assert not kinds.fits_pattern(kind)


def test_an_odd_kind_is_flagged_once(caplog):
    """A kind that fits no pattern is logged once, however often it comes; one that fits, never."""
    with caplog.at_level(logging.WARNING, logger="failgraph"):
        for _ in range(3):
            kinds.flag_unknown("Odd Kind")
            kinds.flag_unknown("srv:kind")
            kinds.flag_unknown("not_registered_but_fitting")
    assert [record.getMessage().count("Odd Kind") for record in caplog.records] == [1]
    assert stats()["unknown_kind"] == 3


def test_an_odd_kind_is_logged_in_plain_ascii(caplog):
    """The log line holds no control character of the kind and is short for a long one."""
    with caplog.at_level(logging.WARNING, logger="failgraph"):
        kinds.flag_unknown("\x1b[31mred\n\u202e" + "x" * 10_000)
    (record,) = caplog.records
    message = record.getMessage()
    assert message.isascii()
    assert message.isprintable()
    assert len(message) < 300


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (TimeoutError(), "transport_timeout"),
        (asyncio.TimeoutError(), "transport_timeout"),
        (concurrent.futures.TimeoutError(), "transport_timeout"),
        (named("timeout", TimeoutError), "transport_timeout"),
        (named("ReadTimeout", type(named("TimeoutException"))), "transport_timeout"),
        (named("ConnectTimeout", type(named("Timeout"))), "transport_timeout"),
        (ConnectionRefusedError(), "transport_unreachable"),
        (OSError(errno.ECONNREFUSED, "refused"), "transport_unreachable"),
        (socket.gaierror(), "transport_unreachable"),
        (named("ConnectError"), "transport_unreachable"),
        (named("ClientConnectorError", OSError), "transport_unreachable"),
        (ConnectionResetError(), "transport_peer_drop"),
        (ConnectionAbortedError(), "transport_peer_drop"),
        (BrokenPipeError(), "transport_peer_drop"),
        (http.client.RemoteDisconnected(), "transport_peer_drop"),
        (http.client.IncompleteRead(b""), "transport_peer_drop"),
        (asyncio.IncompleteReadError(b"", 1), "transport_peer_drop"),
        (named("ServerDisconnectedError"), "transport_peer_drop"),
        (named("RemoteProtocolError"), "transport_peer_drop"),
        (OSError(errno.EMFILE, "files"), "transport_local_resource"),
        (OSError(errno.ENOSPC, "disk"), "transport_local_resource"),
        (OSError(errno.ENOMEM, "memory"), "transport_local_resource"),
        (asyncio.CancelledError(), "cancelled"),
        (ValueError(), None),
        (OSError(), None),
        (FileNotFoundError(errno.ENOENT, "none"), None),
        (KeyboardInterrupt(), None),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else str(value),
)
def test_the_kind_of_a_foreign_exception(error, kind):
    """Time-outs, refusals, drops, lack of resources and cancellation have a kind by their type."""
    assert kinds.kind_of(error) == kind


def test_every_kind_that_the_table_gives_is_registered():
    """The table holds registered kinds only."""
    assert set(kinds._BY_CLASS.values()) <= kinds.REGISTERED
