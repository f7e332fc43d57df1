"""Who gets reports and who is believed: servers of the same fleet, whatever others pretend."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import (
    HealthCheck,
    example,
    given,
    settings as hypothesis_settings,
    strategies as st,
)

from failgraph.transport.headers import ACCEPT
from failgraph.transport.peers import accept_value, is_peer, may_receive_report

Setting = Callable[[str, str], None]
LAX = hypothesis_settings(
    deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)

LOOPBACK = [
    "127.0.0.1",
    "127.8.9.10",
    "::1",
    "::ffff:127.0.0.1",
    "0:0:0:0:0:0:0:1",
    "::FFFF:7F00:1",
]
PRIVATE = [
    "10.0.0.1",
    "10.255.255.255",
    "172.16.0.1",
    "172.31.9.9",
    "192.168.1.1",
    "fd00::1",
    "fc12:3456::1",
]
MAPPED = ["::ffff:10.0.0.1", "::ffff:192.168.1.1"]
LINK_LOCAL = ["169.254.1.1", "fe80::1", "fe80::1%eth0", "FE80::1%Eth0", "fe80::1%2"]
NEAR = [*LOOPBACK, *PRIVATE, *MAPPED, *LINK_LOCAL]
PUBLIC = [
    "8.8.8.8",
    "11.0.0.1",
    "9.255.255.255",
    "126.255.255.255",
    "128.0.0.1",
    "172.15.255.255",
    "172.32.0.1",
    "192.167.255.255",
    "192.169.0.1",
    "169.253.1.1",
    "2001:4860:4860::8888",
    "2001:4860:4860::8888%eth0",
    "::ffff:8.8.8.8",
    "::ffff:808:808",
]


# --- by default


@pytest.mark.parametrize("host", NEAR)
def test_near_addresses_are_peers(host: str) -> None:
    """Loopback, private and link-local addresses are peers: IPv4, IPv6, mapped, with a zone."""
    assert is_peer(host)


@pytest.mark.parametrize("host", PUBLIC)
def test_public_addresses_are_no_peers(host: str) -> None:
    """Public addresses are no peers: mapped, with a zone, or next to a private network."""
    assert not is_peer(host)


@pytest.mark.parametrize("host", [*NEAR, *PUBLIC])
def test_brackets_change_nothing(host: str) -> None:
    """An IPv6 address is the same with and without the brackets of a URL."""
    if ":" in host:
        assert is_peer(f"[{host}]") is is_peer(host)


@pytest.mark.parametrize(
    "host",
    [
        "localhost",
        "model-server",
        "model_server",
        "a",
        "gym.internal",
        "a.b.c.internal",
        "box.local",
        "judge.default.svc",
        "8.8.8.8.internal",
        "bücher",
    ],
)
@pytest.mark.parametrize(
    "form", [str, str.upper, str.title, lambda host: host + "."], ids=["", "upper", "title", "dot"]
)
def test_names_of_the_fleet_are_peers(host: str, form: Callable[[str], str]) -> None:
    """One label or a private suffix is a peer, in any case, with or without a final dot."""
    assert is_peer(form(host))


@pytest.mark.parametrize(
    "host",
    [
        "example.com",
        "api.openai.com",
        "internal.example.com",
        "gym.internal.example.com",
        "local.example.com",
        "svc.example.com",
        "judge.default.svc.example.com",
        "gym.internal.com",
        "gym.notinternal",
        "gym.xlocal",
        "gym.xsvc",
        "gym-internal.com",
        "gym.internally",
        "gym.internal-",
        "localhost.example.com",
        "127.0.0.1.example.com",
        "10.0.0.1.nip.io",
        "1.2.3",
        "127.1",
        "127.0.0.1.1",
        "127.0.0.256",
        "xn--bcher-kva.example",
    ],
)
@pytest.mark.parametrize(
    "form", [str, str.upper, lambda host: host + "."], ids=["", "upper", "dot"]
)
def test_names_that_resemble_them_are_no_peers(host: str, form: Callable[[str], str]) -> None:
    """A name that only contains or resembles a private suffix or address is no peer."""
    assert not is_peer(form(host))


@pytest.mark.parametrize("host", ["", ".", "..", "[]", "[.]", "[", "]", "[[]]"])
def test_an_empty_host_is_no_peer(host: str) -> None:
    """An empty name is no peer."""
    assert not is_peer(host)


@pytest.mark.parametrize(
    "host",
    [
        "evil.com:80",
        "8.8.8.8:80",
        "user@evil.com",
        "localhost@evil.com",
        "127.0.0.1@evil.com",
        "evil.com#localhost",
        "evil.com/localhost",
        "evil.com?.com",
        "evil.com\\x",
        "localhost evil.com",
        "localhost\nevil.com",
        "localhost\x00.evil.com",
        "127.0.0.1\x00.evil.com",
        "8.8.8.8%.local",
        "8.8.8.8%127.0.0.1",
        "evil.com%",
        "evil.com\ud800",
        "é.com",
        "a" * 100_000 + ".com",
        "." * 1000 + "com",
    ],
)
def test_hostile_text_is_no_peer(host: str) -> None:
    """Text with ports, users, paths, line ends, NUL or zones and another host in it is no peer."""
    assert not is_peer(host)


@pytest.mark.parametrize("host", ["134744072", "0x8080808", "0X08080808", "01002004010"])
def test_an_address_as_one_number_is_read_as_an_address(host: str) -> None:
    """`http://134744072/` goes to 8.8.8.8, so the number is no name of one label."""
    assert not is_peer(host)


@pytest.mark.parametrize(
    "host",
    [
        " ",
        "a b",
        "localhost\r\n",
        "\x00",
        "evil%2ecom",
        "evil。com",
        "evil．com",
        "evil｡com",
        "evil.com\x00.local",
        "evil.com/.local",
        "evil.com#.internal",
        "evil.com:80?.svc",
        ".local",
        "[2001:4860:4860::8888]:443",
        "2001:4860:4860::8888/64",
        "2001:4860:4860::8888::",
    ],
    ids=ascii,
)
def test_text_that_is_no_host_name_is_no_peer(host: str) -> None:
    """Text that is neither a name nor an address is no peer: other full stops, escapes, paths."""
    assert not is_peer(host)


@LAX
@given(st.text(st.characters(codec=None)) | st.binary().map(lambda data: data.decode("latin-1")))
@example("\ud800")
@example("%")
@example("[%]")
def test_no_text_raises(host: str) -> None:
    """There is an answer for any host and any client address."""
    assert is_peer(host) in (True, False)
    assert accept_value(host) in (None, "1")
    assert may_receive_report([(ACCEPT.encode(), b"1")], host) in (True, False)


# --- with FAILGRAPH_PEERS


@pytest.mark.parametrize(
    ("peers", "host", "expected"),
    [
        ("*.rollouts.example", "judge.rollouts.example", True),
        ("*.rollouts.example", "a.b.rollouts.example", True),
        ("*.rollouts.example", "JUDGE.Rollouts.Example.", True),
        ("*.Rollouts.EXAMPLE", "judge.rollouts.example", True),
        ("*.rollouts.example", "rollouts.example", False),
        ("*.rollouts.example", "judge.rollouts.example.com", False),
        ("*.rollouts.example", "judgerollouts.example", False),
        ("*.rollouts.example", "judge.rolloutsxexample", False),
        ("judge-?.example", "judge-1.example", True),
        ("judge-?.example", "judge-12.example", False),
        ("judge-[12].example", "judge-2.example", True),
        ("judge-[12].example", "judge-3.example", False),
        ("judge.example", "judge.example", True),
        ("judge.example", "xjudge.example", False),
        ("10.1.2.3", "10.1.2.3", True),
        ("10.1.2.3", "10.1.2.4", False),
        ("10.0.0.0/8", "10.9.9.9", True),
        ("10.0.0.0/8", "::ffff:10.9.9.9", True),
        ("10.0.0.0/8", "11.0.0.1", False),
        ("10.0.0.0/8", "fd00::1", False),
        ("10.0.0.0/8", "10.evil.com", False),
        ("10.0.0.0/8", "10.0.0.1.evil.com", False),
        ("10.1.2.3/8", "10.9.9.9", True),
        ("8.8.8.8/32", "8.8.8.8", True),
        ("8.8.8.8/32", "8.8.8.9", False),
        ("2001:db8::/32", "2001:db8::1", True),
        ("2001:db8::/32", "[2001:DB8::1]", True),
        ("2001:db8::/32", "2001:db9::1", False),
        ("2001:db8::/32", "10.0.0.1", False),
        ("fe80::/10", "fe80::1%eth0", True),
        ("0.0.0.0/0", "8.8.8.8", True),
        ("0.0.0.0/0", "evil.com", False),
        ("*", "evil.com", True),
        ("*", "", False),
    ],
)
def test_patterns_and_networks(setting: Setting, peers: str, host: str, expected: bool) -> None:
    """A pattern is matched against the whole name in any case; a network holds only addresses."""
    setting("PEERS", peers)
    assert is_peer(host) is expected


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("judge.rollouts.example", True),
        ("192.0.2.7", True),
        ("2001:db8::1", True),
        ("box-1", True),
        ("box-12", False),
        ("198.51.100.1", False),
        ("example.com", False),
    ],
)
def test_one_of_several_is_enough(setting: Setting, host: str, expected: bool) -> None:
    """Patterns are separated by commas, with or without spaces; an empty one matches nothing."""
    setting("PEERS", " *.rollouts.example ,192.0.2.0/24,, 2001:db8::/32,box-?,")
    assert is_peer(host) is expected


@pytest.mark.parametrize(
    "host", ["localhost", "127.0.0.1", "::1", "10.0.0.1", "model-server", "gym.internal", "a.svc"]
)
@pytest.mark.parametrize("peers", ["*.rollouts.example", "192.0.2.0/24", "2001:db8::/32,judge"])
def test_the_default_no_longer_applies(setting: Setting, host: str, peers: str) -> None:
    """The setting replaces the default, it does not add to it."""
    assert is_peer(host)
    setting("PEERS", peers)
    assert not is_peer(host)


@pytest.mark.parametrize("peers", ["", " ", "private", " Private ,"])
def test_private_is_the_default(setting: Setting, peers: str) -> None:
    """An empty value and `private` are the same."""
    setting("PEERS", peers)
    assert is_peer("localhost")
    assert not is_peer("example.com")


@pytest.mark.parametrize("peers", ["none", " NONE ", ",", " , ", "10.0.0.0/33", "none, none"])
def test_without_an_entry_nobody_is_a_peer(setting: Setting, peers: str) -> None:
    """`none`, and a value without a valid entry: nobody is asked, answered or believed."""
    setting("PEERS", peers)
    setting("PEER_TOKEN", "secret")
    assert not is_peer("localhost")
    assert accept_value("localhost") is None
    assert not may_receive_report([(ACCEPT.encode(), b"secret")], "127.0.0.1")


def test_private_in_a_list_adds_the_default(setting: Setting) -> None:
    """A fleet with public names keeps its private addresses."""
    setting("PEERS", "private, *.rollouts.example")
    assert all(is_peer(host) for host in ("localhost", "10.0.0.1", "judge.rollouts.example"))
    assert not is_peer("example.com")
    assert may_receive_report([ASKS], "10.0.0.1")
    assert not may_receive_report([ASKS], "8.8.8.8")


@LAX
@given(st.text(st.characters(codec=None)))
def test_no_text_raises_with_patterns(setting: Setting, host: str) -> None:
    """There is an answer for any host with odd patterns too."""
    setting("PEERS", "*.rollouts.example,[a-,10.0.0.0/8,judge-[,fe80::/10")
    assert is_peer(host) in (True, False)


# --- who gets a report


ASKS = (ACCEPT.encode(), b"1")
OTHERS = [(b"host", b"judge"), (b"accept", b"*/*"), (b"user-agent", b"x")]
FORWARDING = [
    "Forwarded",
    "X-Forwarded-For",
    "X-Forwarded-Host",
    "X-Forwarded-Proto",
    "X-Real-IP",
    "Via",
]
STRANGERS = [
    *PUBLIC,
    "",
    None,
    "testclient",
    "localhost",
    "unix:/tmp/socket",
    "10.0.0.1:80",
    "\ud800",
    "10.0.0.1.evil.com",
]


@pytest.mark.parametrize("client", NEAR)
@pytest.mark.parametrize("name", [ACCEPT, ACCEPT.upper(), ACCEPT.title()])
@pytest.mark.parametrize("peers", [None, "private"])
def test_a_near_address_that_asks_gets_a_report(
    setting: Setting, client: str, name: str, peers: str | None
) -> None:
    """A loopback or private address without forwarding headers gets a report."""
    if peers is not None:
        setting("PEERS", peers)
    assert may_receive_report([*OTHERS, (name.encode(), b"1")], client)
    assert may_receive_report([(name.encode(), b" 1 "), *OTHERS], client)


@pytest.mark.parametrize("client", STRANGERS)
def test_a_stranger_that_asks_gets_none(client: str | None) -> None:
    """A public address, a name, a socket's path or no address gets no report."""
    assert not may_receive_report([ASKS], client)


@pytest.mark.parametrize("peers", ["private", "*", "none", "127.0.0.0/8"])
@pytest.mark.parametrize("token", [None, "secret"])
@pytest.mark.parametrize(
    "headers", [[], OTHERS, [(b"x-ng-failure", b"1"), (b"x-ng-failure-accept ", b"1"), (b"", b"1")]]
)
def test_a_client_that_does_not_ask_never_gets_one(
    setting: Setting, peers: str, token: str | None, headers: list
) -> None:
    """No setting sends a report to a client that did not ask."""
    setting("PEERS", peers)
    if token is not None:
        setting("PEER_TOKEN", token)
    assert not may_receive_report(headers, "127.0.0.1")


@pytest.mark.parametrize("value", [b"", b" ", b"0", b"false", b"\xff"])
def test_another_value_does_not_ask(value: bytes) -> None:
    """A client asks only with `X-NG-Failure-Accept: 1`."""
    assert not may_receive_report([(ACCEPT.encode(), value)], "127.0.0.1")


@pytest.mark.parametrize("name", FORWARDING)
@pytest.mark.parametrize("form", [str.lower, str.upper, str.title, str.swapcase])
@pytest.mark.parametrize("first", [True, False])
def test_a_forwarded_client_gets_none(name: str, form: Callable[[str], str], first: bool) -> None:
    """Behind a proxy the address is the proxy's, in any case and order of the headers."""
    forwarded = (form(name).encode(), b"127.0.0.1")
    headers = [forwarded, *OTHERS, ASKS] if first else [ASKS, *OTHERS, forwarded]
    assert not may_receive_report(headers, "127.0.0.1")
    assert not may_receive_report([*headers, (form(name).encode(), b"")], "::1")


@pytest.mark.parametrize("client", [*STRANGERS, "127.0.0.1"])
@pytest.mark.parametrize("headers", [[ASKS], [ASKS, (b"X-Forwarded-For", b"8.8.8.8")]])
@pytest.mark.parametrize("peers", ["*", "*, judge.example"])
def test_everybody(setting: Setting, client: str | None, headers: list, peers: str) -> None:
    """With `*` every client that asks gets a report; if there is a token, only with that."""
    setting("PEERS", peers)
    assert may_receive_report(headers, client)
    setting("PEER_TOKEN", "secret")
    assert not may_receive_report(headers, client)
    assert may_receive_report([(ACCEPT.encode(), b"secret"), *headers[1:]], client)


@pytest.mark.parametrize("token", ["secret", "1", "our token", "x" * 4000])
@pytest.mark.parametrize("client", ["127.0.0.1", "8.8.8.8", None, "testclient"])
@pytest.mark.parametrize("forwarded", [[], [(b"x-forwarded-for", b"8.8.8.8")]])
def test_a_client_with_the_token_gets_a_report(
    setting: Setting, token: str, client: str | None, forwarded: list
) -> None:
    """The token in UTF-8 is enough, from any address and through any proxy."""
    setting("PEER_TOKEN", token)
    assert may_receive_report([(ACCEPT.encode(), token.encode()), *forwarded], client)
    assert may_receive_report(
        [(ACCEPT.title().encode(), b" " + token.encode() + b" "), *forwarded], client
    )


@pytest.mark.parametrize(
    "value",
    [
        b"",
        b"1",
        b"secre",
        b"secrets",
        b"Secret",
        b"SECRET",
        b"secret\x00",
        b"se cret",
        b'"secret"',
        b"secret,secret",
        b"\xff\xfe",
        "sécret".encode("latin-1"),
        b"\x00" * 6,
        b"x" * 100_000,
    ],
)
@pytest.mark.parametrize("client", NEAR[:8])
def test_with_a_token_an_address_is_not_enough(setting: Setting, value: bytes, client: str) -> None:
    """If a token is set, a wrong token or the plain `1` is refused from any address."""
    assert may_receive_report([ASKS], client)
    setting("PEER_TOKEN", "secret")
    assert not may_receive_report([(ACCEPT.encode(), value)], client)


@pytest.mark.parametrize("token", ["", "  "])
def test_an_empty_token_is_none(setting: Setting, token: str) -> None:
    """An empty token is the same as none."""
    setting("PEER_TOKEN", token)
    assert may_receive_report([ASKS], "127.0.0.1")
    for value in (b"", b"1", token.encode()):
        assert not may_receive_report([(ACCEPT.encode(), value)], "8.8.8.8")


def test_a_token_of_any_bytes_raises_nothing(setting: Setting) -> None:
    """A token that is not UTF-8 refuses others and raises nothing."""
    setting("PEER_TOKEN", b"t\xffken".decode("utf-8", "surrogateescape"))
    assert not may_receive_report([ASKS], "127.0.0.1")


def test_two_wrong_asking_headers_do_not_help(setting: Setting) -> None:
    """Two wrong headers stay wrong."""
    setting("PEER_TOKEN", "secret")
    assert not may_receive_report(
        [(ACCEPT.encode(), b"sec"), (ACCEPT.encode(), b"ret")], "127.0.0.1"
    )


@pytest.mark.parametrize("peers", ["8.8.8.8", "8.8.*", "8.0.0.0/8", "judge, 8.0.0.0/8"])
def test_a_list_says_who_is_answered_too(setting: Setting, peers: str) -> None:
    """A client whose address is in the list gets a report, directly; others do not."""
    setting("PEERS", peers)
    assert may_receive_report([ASKS], "8.8.8.8")
    assert may_receive_report([ASKS], "::ffff:8.8.8.8")
    assert not may_receive_report([ASKS, (b"X-Forwarded-For", b"8.8.8.8")], "8.8.8.8")
    assert not any(may_receive_report([ASKS], client) for client in ("127.0.0.1", "9.9.9.9", None))


def test_names_answer_no_address(setting: Setting) -> None:
    """A client is known by its address only: a host name admits none without a token."""
    setting("PEERS", "judge.rollouts.example, localhost")
    assert not any(may_receive_report([ASKS], client) for client in ("127.0.0.1", "localhost"))
    setting("PEER_TOKEN", "secret")
    assert may_receive_report([(ACCEPT.encode(), b"secret")], "127.0.0.1")


GARBAGE = st.lists(st.tuples(st.binary(max_size=20), st.binary(max_size=20)), max_size=5)


@LAX
@given(GARBAGE, st.binary(max_size=20), st.sampled_from(["127.0.0.1", "8.8.8.8", None, "\x00"]))
def test_garbage_in_headers_is_no_error(
    setting: Setting, garbage: list, value: bytes, client: str | None
) -> None:
    """Any bytes in names and values raise nothing and open nothing to strangers."""
    headers = [*garbage, (ACCEPT.encode(), value)]
    setting("PEER_TOKEN", "")
    assert may_receive_report(headers, client) in (
        (True, False) if client == "127.0.0.1" else (False,)
    )
    setting("PEER_TOKEN", "a token of forty bytes, longer than all of these")
    assert not may_receive_report(headers, client)


# --- asking


@pytest.mark.parametrize(
    "host", ["localhost", "127.0.0.1", "[::1]", "10.0.0.1", "model-server", "gym.internal"]
)
def test_peers_are_asked(setting: Setting, host: str) -> None:
    """A peer is asked with `1`, or with the token if one is set."""
    assert accept_value(host) == "1"
    setting("PEER_TOKEN", " our token ")
    assert accept_value(host) == "our token"


@pytest.mark.parametrize(
    "host", ["example.com", "8.8.8.8", "", "gym.internal.example.com", "[2001:4860:4860::8888]"]
)
def test_others_are_not_asked(setting: Setting, host: str) -> None:
    """A host that is no peer is not asked and does not get the token; with `*` all others do."""
    assert accept_value(host) is None
    setting("PEER_TOKEN", "secret")
    assert accept_value(host) is None
    setting("PEERS", "*")
    assert accept_value(host) == ("secret" if host else None)


def test_the_setting_says_which_hosts_are_asked(setting: Setting) -> None:
    """With `FAILGRAPH_PEERS` only the hosts that it names are asked."""
    setting("PEERS", "*.rollouts.example")
    assert accept_value("judge.rollouts.example") == "1"
    assert accept_value("localhost") is None


@pytest.mark.parametrize(
    ("enabled", "value"), [("", "1"), ("true", "1"), ("false", None), ("FALSE", None)]
)
def test_no_host_is_asked_when_failgraph_is_off(
    setting: Setting, enabled: str, value: str | None
) -> None:
    """`FAILGRAPH_ENABLED=false` leaves requests as they are, even with a token."""
    setting("ENABLED", enabled)
    assert accept_value("localhost") == value
    setting("PEER_TOKEN", "secret")
    assert accept_value("localhost") == (None if value is None else "secret")


@pytest.mark.parametrize(
    "token", ["a\nb", "a\r\nX-Other: 1", "a\x7fb", "鍵", "t\udcffken"], ids=ascii
)
def test_the_asking_value_is_valid_in_a_header(setting: Setting, token: str) -> None:
    """The value can be sent by every client: printable and within latin-1."""
    setting("PEER_TOKEN", token)
    value = accept_value("localhost")
    assert value is None or (value.isprintable() and value.encode("latin-1"))
