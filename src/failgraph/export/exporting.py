"""The import: every row of every file to the target, in batches, and an account of what became of each."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence

from opentelemetry.sdk.trace import ReadableSpan

from failgraph.codec.attributes import text_bytes
from failgraph.export.account import Account
from failgraph.export.inputs import Kept, Saved, saved
from failgraph.export.known import key_of
from failgraph.export.spans import span_of
from failgraph.export.targets import Target, opened_target
from failgraph.readers.row_spans import failed_with
from failgraph.readers.source import Progress

_BATCH_SPANS = 512
_BATCH_BYTES = 1 << 20
"""Of text in one batch; a gRPC server takes messages of 4 MiB."""


def run(
    paths: Sequence[str],
    to: str,
    environ: Mapping[str, str] = os.environ,
    progress: Progress | None = None,
) -> Account:
    """Import the saved rows and the journals of `paths` into `to`; what became of each row or line.

    `progress` is told how many bytes of how many of all files have been read. Raises ConfigError where `to` can be no
    target, SourceError where it cannot be written. What is wrong with a file or a row is in the account.
    """
    account = Account()
    with opened_target(to, paths, environ) as target:
        account.into_file = target.is_file
        batch = _Batch(target, account)
        for path, told in zip(paths, _shares(paths, progress), strict=True):
            for found in saved(path, account, told):
                if not batch.take(found):
                    return account
        batch.send()
    return account


class _Batch:
    """Spans that wait until there are enough of them."""

    def __init__(self, target: Target, account: Account) -> None:
        self._target = target
        self._account = account
        self._spans: list[ReadableSpan] = []
        self._bytes = self._recovered = 0

    def take(self, found: Saved | Kept) -> bool:
        """One more attempt or failure; False where the target takes no more."""
        key = key_of(found)
        if key in self._target.known:
            self._account.already_there += 1
            return True
        self._target.known.add(key)
        span = span_of(found)
        self._recovered += isinstance(found, Saved) and failed_with(found.attempt) is None
        self._spans.append(span)
        self._bytes += sum(text_bytes(event.attributes or {}) for event in span.events)
        return (len(self._spans) < _BATCH_SPANS and self._bytes < _BATCH_BYTES) or self.send()

    def send(self) -> bool:
        """Hand over what there is; False where the target does not take it."""
        count, spans, recovered = len(self._spans), self._spans, self._recovered
        self._spans, self._bytes, self._recovered = [], 0, 0
        if not count or self._target.send(spans):
            self._account.imported += count
            self._account.recovered += recovered
            return True
        self._account.not_sent += count
        self._account.refused.append(
            f"{count} spans were not taken, and no more were sent: {self._target.why()}"
        )
        return False


def _shares(paths: Sequence[str], progress: Progress | None) -> Iterator[Progress | None]:
    """For each file what is told of its own bytes, as a part of those of all files."""
    sizes = [os.path.getsize(path) if os.path.isfile(path) else 0 for path in paths]
    for number in range(len(paths)):
        yield None if progress is None else _share(progress, sum(sizes[:number]), sum(sizes))


def _share(progress: Progress, before: int, whole: int) -> Callable[[int, int], None]:
    return lambda done, _: progress(min(before + done, whole), whole)
