"""What the tests of collecting share: files in memory, and predicates parsed once. They are about numbers and messages."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import shortcuts


@pytest.fixture
def tmp_path(tmp_path) -> Iterator[Path]:
    with shortcuts.folder_in_memory(tmp_path) as folder:
        yield folder
