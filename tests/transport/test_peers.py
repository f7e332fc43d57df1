"""Who is told and who is believed: servers of the same fleet, whatever their names, addresses and headers pretend."""

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
OURS = [*LOOPBACK, *PRIVATE, *MAPPED, *LINK_LOCAL]
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


@pytest.mark.parametrize("host", OURS)
def test_near_addresses_are_peers(host: str) -> None:
    """Loopback, private and link-local addresses, of both versions and mapped, with a zone or without."""
    assert is_peer(host)


@pytest.mark.parametrize("host", PUBLIC)
def test_public_addresses_are_none(host: str) -> None:
    """Mapped, with a zone, or just beside a private network: none of them is a peer."""
    assert not is_peer(host)


@pytest.mark.parametrize("host", [*OURS, *PUBLIC])
def test_brackets_say_nothing(host: str) -> None:
    """An IPv6 address is the same in the brackets of a URL and without."""
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
    """One label, or an ending of private names; in any case, and with the dot that ends a full name."""
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
def test_names_that_only_resemble_them_are_none(host: str, form: Callable[[str], str]) -> None:
    """A name that begins with, contains or nearly has such an ending, or an address in it, is a stranger's."""
    assert not is_peer(form(host))


@pytest.mark.parametrize("host", ["", ".", "..", "[]", "[.]", "[", "]", "[[]]"])
def test_no_host_is_none(host: str) -> None:
    """An empty name is nobody's."""
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
def test_hostile_text_is_none(host: str) -> None:
    """Ports, users, paths, line ends, NUL, zones: text with a stranger's name in it is not of the fleet."""
    assert not is_peer(host)


@pytest.mark.parametrize("host", ["134744072", "0x8080808", "0X08080808", "01002004010"])
def test_an_address_in_one_number_is_what_it_means(host: str) -> None:
    """`http://134744072/` goes to 8.8.8.8, a public address; it is no name of one label."""
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
def test_what_is_no_host_name_is_none(host: str) -> None:
    """Who cannot be read as a name or an address is not believed: other full stops, escapes, white space, paths."""
    assert not is_peer(host)


@LAX
@given(st.text(st.characters(codec=None)) | st.binary().map(lambda data: data.decode("latin-1")))
@example("\ud800")
@example("%")
@example("[%]")
def test_no_text_raises(host: str) -> None:
    """Whatever the host and the address of a client are, there is an answer."""
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
    """A pattern is matched against the whole name, in any case; a network holds addresses and never a name."""
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
    """They are separated by commas, with spaces or without; an empty one between them matches nothing."""
    setting("PEERS", " *.rollouts.example ,192.0.2.0/24,, 2001:db8::/32,box-?,")
    assert is_peer(host) is expected


@pytest.mark.parametrize(
    "host", ["localhost", "127.0.0.1", "::1", "10.0.0.1", "model-server", "gym.internal", "a.svc"]
)
@pytest.mark.parametrize("peers", ["*.rollouts.example", "192.0.2.0/24", "2001:db8::/32,judge"])
def test_the_default_no_longer_applies(setting: Setting, host: str, peers: str) -> None:
    """Who names the peers names all of them."""
    assert is_peer(host)
    setting("PEERS", peers)
    assert not is_peer(host)


@pytest.mark.parametrize("peers", ["", " ", ",", " , ", "10.0.0.0/33"])
def test_peers_without_a_pattern_are_the_default(setting: Setting, peers: str) -> None:
    """A value that names nobody is as good as none."""
    setting("PEERS", peers)
    assert is_peer("localhost")
    assert not is_peer("example.com")


@LAX
@given(st.text(st.characters(codec=None)))
def test_no_text_raises_with_patterns(setting: Setting, host: str) -> None:
    """A hostile name is matched as any other."""
    setting("PEERS", "*.rollouts.example,[a-,10.0.0.0/8,judge-[,fe80::/10")
    assert is_peer(host) in (True, False)


# --- who is told


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


@pytest.mark.parametrize("client", OURS)
@pytest.mark.parametrize("name", [ACCEPT, ACCEPT.upper(), ACCEPT.title()])
@pytest.mark.parametrize("reply", [None, "peers"])
def test_a_near_address_that_asks_is_told(
    setting: Setting, client: str, name: str, reply: str | None
) -> None:
    """A loopback or private address without forwarding headers is, however its client writes the header's name."""
    if reply is not None:
        setting("REPLY", reply)
    assert may_receive_report([*OTHERS, (name.encode(), b"1")], client)
    assert may_receive_report([(name.encode(), b" 1 "), *OTHERS], client)


@pytest.mark.parametrize("client", STRANGERS)
def test_a_stranger_that_asks_is_not(client: str | None) -> None:
    """A public address, a name, a socket's path, no address at all: none of them is a near address."""
    assert not may_receive_report([ASKS], client)


@pytest.mark.parametrize("reply", ["peers", "always", "never"])
@pytest.mark.parametrize("token", [None, "secret"])
@pytest.mark.parametrize(
    "headers", [[], OTHERS, [(b"x-ng-failure", b"1"), (b"x-ng-failure-accept ", b"1"), (b"", b"1")]]
)
def test_who_does_not_ask_is_never_told(
    setting: Setting, reply: str, token: str | None, headers: list
) -> None:
    """Whatever the settings are."""
    setting("REPLY", reply)
    if token is not None:
        setting("PEER_TOKEN", token)
    assert not may_receive_report(headers, "127.0.0.1")


@pytest.mark.parametrize("value", [b"", b" ", b"0", b"false", b"\xff"])
def test_another_value_does_not_ask(value: bytes) -> None:
    """A peer asks with `X-NG-Failure-Accept: 1`."""
    assert not may_receive_report([(ACCEPT.encode(), value)], "127.0.0.1")


@pytest.mark.parametrize("name", FORWARDING)
@pytest.mark.parametrize("form", [str.lower, str.upper, str.title, str.swapcase])
@pytest.mark.parametrize("first", [True, False])
def test_who_is_forwarded_is_not_told(name: str, form: Callable[[str], str], first: bool) -> None:
    """Behind a proxy the near address is the proxy's; the case of letters and the order of headers do not matter."""
    forwarded = (form(name).encode(), b"127.0.0.1")
    headers = [forwarded, *OTHERS, ASKS] if first else [ASKS, *OTHERS, forwarded]
    assert not may_receive_report(headers, "127.0.0.1")
    assert not may_receive_report([*headers, (form(name).encode(), b"")], "::1")


@pytest.mark.parametrize("client", [*STRANGERS, "127.0.0.1"])
@pytest.mark.parametrize("headers", [[ASKS], [ASKS, (b"X-Forwarded-For", b"8.8.8.8")]])
@pytest.mark.parametrize("token", [None, "secret"])
def test_always_and_never(
    setting: Setting, client: str | None, headers: list, token: str | None
) -> None:
    """`always`: everybody who asks, from wherever, forwarded or not; `never`: nobody, not even with the token."""
    if token is not None:
        setting("PEER_TOKEN", token)
    setting("REPLY", "always")
    assert may_receive_report(headers, client)
    setting("REPLY", "never")
    assert not may_receive_report(headers, client)
    assert not may_receive_report([(ACCEPT.encode(), b"secret")], client)


@pytest.mark.parametrize("token", ["secret", "1", "of ours", "x" * 4000])
@pytest.mark.parametrize("client", ["127.0.0.1", "8.8.8.8", None, "testclient"])
@pytest.mark.parametrize("forwarded", [[], [(b"x-forwarded-for", b"8.8.8.8")]])
def test_who_has_the_token_is_told(
    setting: Setting, token: str, client: str | None, forwarded: list
) -> None:
    """From whatever address, through whatever proxy, with the token in UTF-8 as the header's value."""
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
@pytest.mark.parametrize("client", OURS[:8])
def test_with_a_token_an_address_no_longer_suffices(
    setting: Setting, value: bytes, client: str
) -> None:
    """A wrong token, half of one, one more letter, other bytes, the plain `1`: not told, however near it is."""
    assert may_receive_report([ASKS], client)
    setting("PEER_TOKEN", "secret")
    assert not may_receive_report([(ACCEPT.encode(), value)], client)


@pytest.mark.parametrize("token", ["", "  "])
def test_an_empty_token_is_none(setting: Setting, token: str) -> None:
    """It opens nothing to strangers, and near addresses are told as without."""
    setting("PEER_TOKEN", token)
    assert may_receive_report([ASKS], "127.0.0.1")
    for value in (b"", b"1", token.encode()):
        assert not may_receive_report([(ACCEPT.encode(), value)], "8.8.8.8")


def test_a_token_of_any_bytes_raises_nothing(setting: Setting) -> None:
    """The environment holds bytes: a token that is no UTF-8 keeps others out, and is no error in each request."""
    setting("PEER_TOKEN", b"t\xffken".decode("utf-8", "surrogateescape"))
    assert not may_receive_report([ASKS], "127.0.0.1")


def test_of_two_asking_headers_no_wrong_one_helps(setting: Setting) -> None:
    """Two that are both wrong stay wrong."""
    setting("PEER_TOKEN", "secret")
    assert not may_receive_report(
        [(ACCEPT.encode(), b"sec"), (ACCEPT.encode(), b"ret")], "127.0.0.1"
    )


@pytest.mark.parametrize("peers", ["8.8.8.8", "*", "8.0.0.0/8"])
def test_whom_we_ask_is_not_who_is_told(setting: Setting, peers: str) -> None:
    """`FAILGRAPH_PEERS` says whom this process asks and believes, and opens nothing to those who ask it."""
    setting("PEERS", peers)
    assert not may_receive_report([ASKS], "8.8.8.8")
    assert may_receive_report([ASKS], "127.0.0.1")


GARBAGE = st.lists(st.tuples(st.binary(max_size=20), st.binary(max_size=20)), max_size=5)


@LAX
@given(GARBAGE, st.binary(max_size=20), st.sampled_from(["127.0.0.1", "8.8.8.8", None, "\x00"]))
def test_garbage_in_headers_is_no_error(
    setting: Setting, garbage: list, value: bytes, client: str | None
) -> None:
    """Bytes of any kind, in names and values, with a token and without: they open nothing to a stranger."""
    headers = [*garbage, (ACCEPT.encode(), value)]
    setting("PEER_TOKEN", "")
    assert may_receive_report(headers, client) in (
        (True, False) if client == "127.0.0.1" else (False,)
    )
    setting("PEER_TOKEN", "of forty bytes and so none of all of these")
    assert not may_receive_report(headers, client)


# --- asking


@pytest.mark.parametrize(
    "host", ["localhost", "127.0.0.1", "[::1]", "10.0.0.1", "model-server", "gym.internal"]
)
def test_peers_are_asked(setting: Setting, host: str) -> None:
    """With `1`, or with the token where there is one."""
    assert accept_value(host) == "1"
    setting("PEER_TOKEN", " of ours ")
    assert accept_value(host) == "of ours"


@pytest.mark.parametrize(
    "host", ["example.com", "8.8.8.8", "", "gym.internal.example.com", "[2001:4860:4860::8888]"]
)
def test_others_are_not_asked(setting: Setting, host: str) -> None:
    """And the token is not shown to them."""
    assert accept_value(host) is None
    setting("PEER_TOKEN", "secret")
    assert accept_value(host) is None
    setting("REPLY", "always")
    assert accept_value(host) is None


def test_who_is_asked_follows_the_setting(setting: Setting) -> None:
    """Those that `FAILGRAPH_PEERS` names, and nobody else."""
    setting("PEERS", "*.rollouts.example")
    assert accept_value("judge.rollouts.example") == "1"
    assert accept_value("localhost") is None


@pytest.mark.parametrize(
    ("enabled", "value"), [("", "1"), ("true", "1"), ("false", None), ("FALSE", None)]
)
def test_nobody_is_asked_when_failgraph_is_off(
    setting: Setting, enabled: str, value: str | None
) -> None:
    """`FAILGRAPH_ENABLED=false` keeps requests as they are, with a token too."""
    setting("ENABLED", enabled)
    assert accept_value("localhost") == value
    setting("PEER_TOKEN", "secret")
    assert accept_value("localhost") == (None if value is None else "secret")


@pytest.mark.parametrize("reply", ["peers", "always", "never"])
def test_asking_does_not_depend_on_telling(setting: Setting, reply: str) -> None:
    """`FAILGRAPH_REPLY` is about the reports that this process gives."""
    setting("REPLY", reply)
    assert accept_value("localhost") == "1"


@pytest.mark.parametrize(
    "token", ["a\nb", "a\r\nX-Other: 1", "a\x7fb", "鍵", "t\udcffken"], ids=ascii
)
def test_what_asks_can_stand_in_a_header(setting: Setting, token: str) -> None:
    """The value of the asking header is one that every client can send: printable, and no more than latin-1."""
    setting("PEER_TOKEN", token)
    value = accept_value("localhost")
    assert value is None or (value.isprintable() and value.encode("latin-1"))
