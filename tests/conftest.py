"""What several test modules share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests import postgres


@pytest.fixture(scope="session")
def server() -> Iterator[postgres.Server]:
    """A PostgreSQL server of this run's own."""
    reason = postgres.missing()
    if reason is not None:
        pytest.skip(reason)
    with postgres.cluster() as running:
        yield running
