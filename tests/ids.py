"""Ids of tests: the same in every process, so that several can share the work and one can be run again."""

from __future__ import annotations

import re


def repr_id(value: object) -> str:
    """The repr of a value without the place in memory where it lies."""
    return re.sub(r" at 0x[0-9a-f]+", "", repr(value))


def str_id(value: object) -> str:
    """The same of its text."""
    return re.sub(r" at 0x[0-9a-f]+", "", str(value))
