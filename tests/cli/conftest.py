"""What the tests of the command line share: files in memory, predicates and options read once. They are about numbers and words."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import shortcuts


@pytest.fixture
def tmp_path(tmp_path) -> Iterator[Path]:
    with shortcuts.folder_in_memory(tmp_path) as folder:
        yield folder


@pytest.fixture(autouse=True, scope="package")
def options() -> Iterator[None]:
    with shortcuts.options_read_once():
        yield
