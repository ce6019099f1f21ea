"""True counts and sums of a table's groups, and how they come together: exact, private, and the same in every order of keys."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..questions.predicate import Predicate
from .adding import FARTHEST, SumSql

Indices = NDArray[np.int64]


@dataclass(frozen=True)
class Counts:
    """True counts, in the order of the declared keys: all of this is private, `fingerprint` and `dropped` included."""

    sizes: Indices  # rows, or people, in each group
    counts: Indices  # those of them for which the predicate is true
    other_size: int  # the same for all undeclared and missing keys together, when asked for
    other_count: int
    dropped: int  # rows that stand in no group: for the operator alone
    fingerprint: str  # of the used columns' content, whatever the order of the rows (`_digest`): for the ledger alone
    canonical: str  # the predicate as it was understood, "" when there is none
    columns: frozenset[str]  # those that the predicate looks at


@dataclass(frozen=True)
class Sums:
    """True sums in steps, in the order of the declared keys: private like counts.

    A person adds a whole number of steps from `SumOf.steps`, so that one person moves a sum by no more than these are apart
    where everybody adds one, and by no more than the farther of them is from 0 where a person is added or removed.
    """

    sums: Indices  # for each group, over its people (or rows): what each adds, in steps from the origin
    people: Indices  # those who add something, a declared missing value included
    without: Indices  # those with rows for which the condition is true, and no number in them
    other_sum: int  # the same for all undeclared and missing keys together, when asked for
    other_people: int
    other_without: int
    fingerprint: str  # of all columns that the call looks at: for the ledger alone
    canonical: str  # the condition as it was understood, "" when there is none
    column: str  # as the table spells it
    columns: frozenset[str]  # those that the sum looks at, its condition's included


class Counted(NamedTuple):
    """What one pass over a table found: for each predicate its counts, for each sum its sums."""

    counts: list[Counts]
    sums: list[Sums]


class GroupTotals:
    """Of all groups and the pooled cell: sizes, counts and sums, part by part; and what else was seen of the rows."""

    def __init__(self, size: int, other: bool, names: Sequence[str]) -> None:
        self.size, self.other = size, other
        self.rows = self.counted = 0  # rows, and those that stand in a group
        self.digests: Sequence[tuple[int, int]] = ()  # for each condition, the sums of both halves
        self.totals = {name: np.zeros(size + 1, dtype=np.int64) for name in names}

    def add(self, seen: Mapping[str, NDArray[Any]]) -> None:
        """What was seen of some people: of group `i` that much more."""
        for name, total in self.totals.items():
            total[seen["i"]] = np.clip(total[seen["i"]] + seen[name], -FARTHEST, FARTHEST)

    def counts(self, k: int, asked: Predicate | None, looked_at: frozenset[str]) -> Counts:
        """Those for the condition number k."""
        sizes, counts = self.totals["size"], self.totals[f"c{k}"]
        low, high = self.digests[k]
        return Counts(
            sizes=self._declared(sizes),
            counts=self._declared(counts),
            other_size=self._pooled(sizes),
            other_count=self._pooled(counts),
            dropped=self.rows - self.counted,
            fingerprint=hashlib.sha256(f"{self.rows} {low} {high}".encode()).hexdigest(),
            canonical="" if asked is None else asked.canonical,
            columns=looked_at,
        )

    def sums(self, adding: SumSql, asked: Predicate | None, looked_at: frozenset[str], keys: Sequence[str]) -> Sums:
        """Those of one sum; `keys` are the texts of the declared keys."""
        j, missing = adding.number, adding.asked.missing_steps
        numbers, total = self.totals[f"a{j}"], self.totals[f"s{j}"]
        meant = self.totals.get(f"w{j}", self.totals["size"])
        without = meant - numbers
        people = numbers if missing is None else meant
        total = total if missing is None else total + missing * without
        return Sums(
            sums=self._declared(total),
            people=self._declared(people),
            without=self._declared(without),
            other_sum=self._pooled(total),
            other_people=self._pooled(people),
            other_without=self._pooled(without),
            fingerprint=self._fingerprint([total, people, without], keys),
            canonical="" if asked is None else asked.canonical,
            column=adding.column,
            columns=looked_at | {adding.column},
        )

    def _fingerprint(self, columns: Sequence[Indices], keys: Sequence[str]) -> str:
        """SHA-256 of what a question sees of the data: its groups by the texts of their keys, and their numbers.

        Other data that give the same numbers have the same answer.
        """
        order = self._order(keys)
        seen = hashlib.sha256("\n".join([keys[i] for i in order.tolist()]).encode())
        for column in (self.totals["size"], *columns):
            seen.update(np.append(column[order], self._pooled(column)).astype("<i8").tobytes())
        return seen.hexdigest()

    def _order(self, keys: Sequence[str]) -> Indices:
        if not hasattr(self, "_sorted"):
            self._sorted = np.array(sorted(range(len(keys)), key=keys.__getitem__), dtype=np.int64)
        return self._sorted

    def _declared(self, column: Indices) -> Indices:
        declared = column[: self.size]
        declared.flags.writeable = False
        return declared

    def _pooled(self, column: Indices) -> int:
        return int(column[self.size]) if self.other else 0
