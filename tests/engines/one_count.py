"""The groups of one count: most tests ask for no more."""

from __future__ import annotations

from typing import Any

from discreet.engines.count_sql import Counts
from discreet.engines.duckdb import count_each


def count_groups(table: Any, *, predicate: str | None, **asked: Any) -> Counts:
    """For each declared key, how many there are and for how many the predicate is true."""
    return count_each(table, predicates=[predicate], **asked).counts[0]
