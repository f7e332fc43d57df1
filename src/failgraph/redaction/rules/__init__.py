"""The rules that find secrets, a module for each way in which a secret shows.

- `key_shapes`: the secret's own shape (keys of known services, JWTs, private keys)
- `urls`, `credentials`, `cookies`, `commands`: where it stands (a URL, a request header, a cookie,
  a command line)
- `separated_names`, `named_values`: the name beside it (`password=…`)
- `random_tokens`: long tokens without a name, after all rules

To add a rule, add a call of `rule()` to the `RULES` of one of these modules (`rule` says what it
takes), texts that it must change and texts that it must leave alone to
`tests/support/redaction_corpus.py`, and run `tests/redaction`.
"""

from __future__ import annotations

from typing import Final

from failgraph.redaction.rules import (
    commands,
    cookies,
    credentials,
    key_shapes,
    named_values,
    separated_names,
    urls,
)

# In this order: what a rule has replaced is a marker for those after it.
RULES: Final = (
    *key_shapes.RULES,
    *urls.RULES,
    *credentials.RULES,
    *cookies.RULES,
    *commands.RULES,
    *separated_names.RULES,
    *named_values.RULES,
)
