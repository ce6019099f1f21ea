"""Versions of what discreet writes down, and the one way from an older version to today's.

A format is a name and its upgrades: `steps[k - 1]` turns version k into version k + 1. Whoever reads asks `upgrade` for
today's version and knows no other; what is written is always today's. A new version is one more step at the end, and a
file of the version before it in tests/landed, never a second reader.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar, final

from .errors import FileError

Written = TypeVar("Written")  # a document as a dict, or the open transaction of a database


@final
@dataclass(frozen=True)
class Format(Generic[Written]):
    """One kind of document: what it is called, and how each version became the next."""

    name: str
    steps: tuple[Callable[[Written], Written], ...] = ()

    @property
    def version(self) -> int:
        """Today's version: the one that is written."""
        return 1 + len(self.steps)

    def upgrade(self, written: Written, version: object) -> Written:
        """What was written as `version`, as today's version would have written it."""
        if type(version) is not int or not 1 <= version <= self.version:
            raise FileError(
                f"This {self.name} has version {str(version)[:20]}; this discreet reads versions 1 to {self.version}. "
                "Use the discreet that wrote it, or a newer one.",
                kind="version",
            )
        for step in self.steps[version - 1 :]:
            written = step(written)
        return written
