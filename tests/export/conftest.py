"""What the tests of `failgraph export` share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from grpc_server import Collector


@pytest.fixture
def collector() -> Iterator[Collector]:
    started = Collector()
    yield started
    started.stop()
