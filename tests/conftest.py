"""What several test modules share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests import postgres


@pytest.fixture(autouse=True, scope="session")
def configuration(tmp_path_factory) -> Iterator[None]:
    """Secrets of ledgers in PostgreSQL lie in a folder of this run, not in the user's own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.mktemp("configuration")))
        patch.delenv("DISCREET_SECRET", raising=False)
        yield


@pytest.fixture(scope="session")
def server() -> Iterator[postgres.Server]:
    """A PostgreSQL server of this run's own."""
    reason = postgres.missing()
    if reason is not None:
        pytest.skip(reason)
    with postgres.cluster() as running:
        yield running
