"""Redaction takes linear time on any text: no pattern backtracks badly."""

from __future__ import annotations

import random
from itertools import islice

import pytest

from failgraph.redaction import redact
from pumping import LINEAR, grows, patterns, pumped

TEXTS = 40
"""Texts for each pattern; `python tests/support/pumping.py SECONDS` tries more."""
BEGINNINGS = (
    *(
        "password=",
        'password="',
        "://a:b@",
        "eyJ",
        "'\"",
        "token: a ",
        "aB3/",
        "\n- key: ",
        "--a-b-",
        "sig=&",
        "${{",
    ),
    *(
        "-----BEGIN PRIVATE KEY-----",
        "a=",
        "\\",
        '\\\\"',
        " ",
        "\n",
        "%3a//",
        "login a password ",
        "cookie={'a':",
    ),
    *(
        "mysql -p ",
        'form-data; name="password"',
        "value: ",
        "Authorization: digest ",
        "[redacted:",
        "a.",
        "A_KEY",
    ),
    *("<-:pass&gt;/Z;;", "api_key["),
)


@pytest.mark.slow
@pytest.mark.parametrize("name", patterns())
def test_every_pattern_is_linear(name):
    """On its own matches with a part repeated and another end, by itself and within `redact`."""
    pattern, methods = patterns()[name]
    for make in islice(pumped(pattern, random.Random(name)), TEXTS):
        for run in (*methods, redact):
            assert grows(run, make) < LINEAR, ascii(make(80))


@pytest.mark.parametrize("unit", BEGINNINGS)
def test_a_repeated_beginning_takes_linear_time(unit):
    """Of texts that many patterns start to match."""
    assert grows(redact, lambda size: unit * (size // len(unit))) < LINEAR
