"""The groups of one count: most tests ask for no more."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import pytest

from discreet.engines.count_sql import Counts
from discreet.engines.duckdb import count_each
from discreet.errors import PredicateError, TableInputError
from discreet.questions.domain import Domain


def count_groups(table: Any, *, predicate: str | None, **asked: Any) -> Counts:
    """For each declared key, how many there are and for how many the predicate is true."""
    return count_each(table, predicates=[predicate], **asked).counts[0]


def kept_of(person: str, items: Sequence[Any], most: int) -> list[Any]:
    """Those items of a person that count, by the definition: of n in their order, each takes up `most` numbers, from the remainder
    modulo n of a hash of the id on, and is kept where a multiple of n is among them."""
    n = len(items)
    if n <= most:
        return list(items)
    turn = int.from_bytes(hashlib.md5(person.encode()).digest()[8:], "little") % n
    return [x for j, x in enumerate(items) if any((turn + most * j + k + 1) % n == 0 for k in range(most))]


def refused(match: str, table: Any, **changes: Any) -> None:
    """A count of the table is refused in these words, and in none of the engine's or the table's."""
    question = {"predicate": "x > 1", "by": ["g"], "domain": Domain.of({"g": ["a"]}), **changes}
    with pytest.raises((TableInputError, PredicateError), match=match) as caught:
        count_groups(table, **question)
    for engine_word in ("Error:", "LINE", "Exception", "secret"):
        assert engine_word not in str(caught.value)
