"""Redaction takes time in proportion to its text, whatever that is: no pattern backtracks badly."""

from __future__ import annotations

import random
from itertools import islice

import pytest

from failgraph.redaction import redact
from pumping import LINEAR, grows, patterns, pumped

TEXTS = 40
"""Of each pattern; `python tests/support/pumping.py SECONDS` tries others."""
BAD = (
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
    """On its own matches with a part repeated and another end: alone, and with everything around it."""
    pattern, ways = patterns()[name]
    for make in islice(pumped(pattern, random.Random(name)), TEXTS):
        for run in (*ways, redact):
            assert grows(run, make) < LINEAR, ascii(make(80))


@pytest.mark.parametrize("unit", BAD)
def test_what_is_repeated_without_end(unit):
    """Beginnings that many patterns look at."""
    assert grows(redact, lambda size: unit * (size // len(unit))) < LINEAR
