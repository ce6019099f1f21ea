"""What makes tests quick that are about numbers, not about disks or parsers."""

from __future__ import annotations

import copy
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from discreet.questions import predicate


@contextmanager
def folder_in_memory(otherwise: Path) -> Iterator[Path]:
    """A folder where syncing takes no time, or the one given if this machine has none."""
    if not os.access("/dev/shm", os.W_OK):
        yield otherwise
        return
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        yield Path(folder)


@contextmanager
def each_predicate_parsed_once() -> Iterator[None]:
    """Remember the syntax of each predicate: to open the parser takes as long as to count a small table.

    What is refused is parsed each time. tests/questions has the parser itself.
    """
    parse, known = predicate._syntax, dict[str, Any]()

    def remembered(text: str) -> Any:
        if text not in known or sys.modules.get("duckdb") is None:  # a test may take the parser away
            known[text] = parse(text)
        return copy.deepcopy(known[text])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(predicate, "_syntax", remembered)
        yield
