"""What the tests of releases share: files in memory; predicates read and frames counted once. They are about numbers and words."""

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
def counts() -> Iterator[None]:
    with shortcuts.each_frame_counted_once():
        yield
