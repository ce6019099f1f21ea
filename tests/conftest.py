"""What several test modules share."""

from __future__ import annotations

import atexit
import gc
import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from tests import postgres, profiles, shortcuts

profiles.load()


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """What collecting makes stays until the end: the garbage collector need not look at it, now or while tests run."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(
            50_000, 20, 20
        )  # the usual 700 looks for garbage so often that it takes a fortieth of the time
        gc.enable()
        atexit.register(gc.unfreeze)  # or some libraries would call what is left a leak


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    named = [item.nodeid for item in items if has_address(item.nodeid)]
    if named:
        raise pytest.UsageError(f"{named[0]}: the id holds an address, which differs from worker to worker; give ids=.")


def has_address(nodeid: str) -> bool:
    return re.search(r" at 0x[0-9a-f]{6,}>", nodeid) is not None


@pytest.hookimpl(optionalhook=True)  # of pytest-xdist, without which the tests run as well
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Under --dist loadscope a folder stays on one worker: one Spark, one PostgreSQL, one Chromium at a time.

    Groups of pytest-xdist's own would say the same, but its version 3.8 forgets them under pytest 9.2.
    """
    if config.getoption("dist") != "loadscope":
        return None
    from xdist.scheduler import LoadScopeScheduling

    class ByFolder(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return folder_of(nodeid)

    return ByFolder(config, log)


def folder_of(nodeid: str) -> str:
    """The folder below tests/ that a test lies in, or its file where it lies in none."""
    path = PurePosixPath(nodeid.partition("::")[0])
    return path.as_posix() if path.parent.name == "tests" else path.parent.as_posix()


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
    with shortcuts.folder_in_memory(tmp_path) as folder:
        yield folder
