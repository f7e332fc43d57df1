"""From SOURCE to a backend, its URL and a trace; and which URL gets which headers."""

from __future__ import annotations

import json
from urllib.parse import quote

import pytest

from failgraph.backends.address import Address, address_of
from failgraph.backends.backend_settings import headers_for
from failgraph.backends.urls import display_url, is_loopback
from failgraph.errors import SourceError
from failgraph.settings import Settings

pytestmark = pytest.mark.once

ID = "0af7651916cd43dd8448eb211c80319c"
HALF = "8448eb211c80319c"
SETTINGS = Settings(
    jaeger_url="https://jaeger.example/jaeger", tempo_url="http://tempo.example:3200"
)


def address(source: str, *files: str, settings: Settings = SETTINGS) -> Address | None:
    return address_of(source, settings, files.__contains__)


def explore(query: object, kind: str = "tempo", **others: object) -> str:
    pane = {
        "datasource": "P1",
        "queries": [{"datasource": {"type": kind, "uid": "P1"}, "query": query, **others}],
    }
    panes = json.dumps({"abc": {**pane, "range": {"from": "now-1h", "to": "now"}}})
    return f"https://grafana.example/explore?schemaVersion=1&panes={quote(panes)}&orgId=1"


def left(value: object) -> str:
    return f"https://grafana.example/grafana/explore?orgId=1&left={quote(json.dumps(value))}"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("jaeger", Address("jaeger", "https://jaeger.example/jaeger")),
        ("tempo", Address("tempo", "http://tempo.example:3200")),
        ("http://host:16686", Address(None, "http://host:16686")),
        ("http://host:16686/", Address(None, "http://host:16686")),
        ("http://HOST:16686/Jaeger/?x=y#z", Address(None, "http://host:16686/Jaeger")),
        ("http://[::1]:16686", Address(None, "http://[::1]:16686")),
        ("https://jaeger.example/jaeger/", Address("jaeger", "https://jaeger.example/jaeger")),
        ("http://tempo.example:3200", Address("tempo", "http://tempo.example:3200")),
        (
            "https://grafana.example/api/datasources/proxy/uid/P1",
            Address(None, "https://grafana.example/api/datasources/proxy/uid/P1"),
        ),
        (f"http://host:16686/trace/{ID}", Address("jaeger", "http://host:16686", ID)),
        (f"http://host:16686/trace/{ID}?uiFind={HALF}", Address("jaeger", "http://host:16686", ID)),
        (
            f"http://host:16686/trace/{HALF}/",
            Address("jaeger", "http://host:16686", "0" * 16 + HALF),
        ),
        (
            f"http://host/jaeger/ui/trace/{ID.upper()}",
            Address("jaeger", "http://host/jaeger/ui", ID),
        ),
        ("http://host:16686/search?service=judge", Address("jaeger", "http://host:16686")),
        (f"http://host:16686/api/v3/traces/{ID}", Address("jaeger", "http://host:16686", ID)),
        (
            f"http://host:3200/tempo/api/v2/traces/{ID}",
            Address("tempo", "http://host:3200/tempo", ID),
        ),
        (f"http://host:3200/api/traces/{ID}", Address(None, "http://host:3200", ID)),
        (explore(ID), Address("tempo", "http://tempo.example:3200", ID)),
        (
            explore(f" {ID} ", queryType="traceql"),
            Address("tempo", "http://tempo.example:3200", ID),
        ),
        (explore(HALF), Address("tempo", "http://tempo.example:3200", "0" * 16 + HALF)),
        (explore(ID, kind="jaeger"), Address("jaeger", "https://jaeger.example/jaeger", ID)),
        (
            left({"datasource": "Tempo", "queries": [{"query": ID, "queryType": "traceId"}]}),
            Address("tempo", "http://tempo.example:3200", ID),
        ),
        (
            left(["now-1h", "now", "Tempo", {"query": ID}]),
            Address("tempo", "http://tempo.example:3200", ID),
        ),
        (
            f"https://grafana.example/a/grafana-exploretraces-app/explore?traceId={ID}&spanId={HALF}&var-ds=P1",
            Address("tempo", "http://tempo.example:3200", ID),
        ),
        (
            f"https://grafana.example/grafana/a/grafana-exploretraces-app/explore/trace?traceID={ID}",
            Address("tempo", "http://tempo.example:3200", ID),
        ),
        (f" http://host:3200/api/traces/{ID}\n", Address(None, "http://host:3200", ID)),
        ("-", None),
        ("./jaeger", None),
        ("traces/of/yesterday.jsonl", None),
    ],
)
def test_a_source_is_recognised_by_its_form(source, expected):
    """Names of backends, base URLs, pages of Jaeger and Grafana; others with a slash are paths."""
    assert address(source) == expected


def test_a_file_wins():
    """A file of the same name is preferred to a backend."""
    for name in ("jaeger", "tempo", "http://host:16686"):
        assert address(name, name) is None


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (
            "jeager",
            (
                "jeager: no such file (did you mean jaeger?). A source is a file, a directory, -,"
                " jaeger, tempo or a URL."
            ),
        ),
        ("", "the source is empty. A source is"),
        ("localhost:16686", "localhost:16686: no such file. Did you mean http://localhost:16686?"),
        (f"localhost:16686/trace/{ID}", f"Did you mean http://localhost:16686/trace/{ID}?"),
        ("ftp://host/x", "invalid URL ftp://host/x; it must begin with http:// or https://"),
        ("http://", "; it must look like http://localhost:16686"),
        ("http://host:99999", "; it must look like http://localhost:16686"),
        ("http://[::1", "; it must look like http://localhost:16686"),
        ("http://ho st/", "; it must look like http://localhost:16686"),
        ("http://good.example\\@evil.example/", "must not contain a user name or a password"),
        ("http://good.example\\evil.example/", "; it must look like http://localhost:16686"),
        ("http://häst/", "; it must look like http://localhost:16686"),
        ("http://host/a b", "; it must look like http://localhost:16686"),
        ("http://host/ä", "characters in its path that must be percent-encoded"),
        ("https://user:hunter22secret@host/", "must not contain a user name or a password"),
        ("https://hunter22secret@host/trace/" + ID, "must not contain a user name or a password"),
        (
            "http://host/trace/nonsense",
            "invalid trace id nonsense in the URL; it must have 16 or 32 hex digits",
        ),
        (f"http://host/trace/{ID}...{HALF}", "invalid trace id "),
        (f"http://host/trace/{ID}0", "invalid trace id "),
        ("https://grafana.example/explore", "names no trace; open one trace there"),
        (explore('{ status = error && .token = "hunter22secret" }'), "names no trace"),
        (explore(ID) + "&traceId=" + "f" * 32, "names 2 traces"),
        ("https://grafana.example/explore?panes={nonsense", "names no trace"),
        ("https://grafana.example/explore?panes=" + "[" * 50_000, "names no trace"),
        ("https://grafana.example/explore?" + "a=b&" * 500, "names no trace"),
    ],
)
def test_an_invalid_source_is_rejected(source, words):
    """One message says what to do and shows no password."""
    with pytest.raises(SourceError) as caught:
        address(source)
    assert words in str(caught.value)
    assert "hunter22secret" not in str(caught.value)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 500


def test_a_url_of_both_backends_has_no_kind():
    """If one gateway serves both, only asking tells which is meant."""
    both = Settings(jaeger_url="http://host:80", tempo_url="http://host:80/")
    assert address("http://host:80", settings=both) == Address(None, "http://host:80")


@pytest.mark.parametrize(
    ("base", "sent"),
    [
        ("https://jaeger.example/jaeger", True),
        ("https://jaeger.example:443/elsewhere", True),
        ("https://JAEGER.example", True),
        ("https://jaeger.example:8443", False),
        ("http://jaeger.example:443", False),
        ("https://jaeger.example.evil.example", False),
        ("https://evil.example/jaeger.example", False),
        ("https://localhost", False),
    ],
)
def test_headers_go_to_their_origin_only(base, sent):
    """Scheme, host and port must be those of the setting, and each backend gets its own headers."""
    settings = Settings(
        jaeger_url="https://jaeger.example/jaeger",
        jaeger_headers=(("authorization", "Bearer hunter22secret"),),
        tempo_headers=(("authorization", "other"),),
    )
    assert bool(headers_for("jaeger", base, settings)) is sent
    assert headers_for("tempo", base, settings) == ()


def test_headers_are_not_sent_over_plain_http_to_another_machine():
    """Plain http is for loopback. The error names the setting and not its value."""
    held = (("authorization", "Bearer hunter22secret"),)
    settings = Settings(jaeger_url="http://jaeger.example", jaeger_headers=held)
    with pytest.raises(
        SourceError, match="FAILGRAPH_JAEGER_HEADERS is not sent to http://jaeger"
    ) as caught:
        headers_for("jaeger", "http://jaeger.example/x", settings)
    assert "hunter22secret" not in str(caught.value)
    for url in ("http://localhost:1", "http://127.8.9.1:1", "http://[::1]:1"):
        assert headers_for("jaeger", url, Settings(jaeger_url=url, jaeger_headers=held)) == held


@pytest.mark.parametrize(
    "host", ["localhost.example", "127.0.0.1.example", "128.0.0.1", "0.0.0.0", "10.0.0.1", "[::2]"]
)
def test_loopback_is_recognised_by_the_whole_name(host):
    """No name of another machine is taken for this one."""
    assert not is_loopback(f"http://{host}:1")


def test_a_url_is_shown_without_secrets():
    """Without user, query and fragment."""
    assert (
        display_url("https://u:hunter22secret@host:1/p?token=hunter22secret#hunter22secret")
        == "https://host:1/p"
    )
    assert display_url("http://[::1]:5/x") == "http://[::1]:5/x"
    assert display_url("http://[nonsense") == "an invalid URL"
