"""What several test modules share."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import postgres, profiles

profiles.load()


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


@pytest.fixture
def in_memory(tmp_path) -> Iterator[Path]:
    """A folder where syncing takes no time, if this machine has one: for tests of numbers, not of disks."""
    if not os.access("/dev/shm", os.W_OK):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        yield Path(folder)
