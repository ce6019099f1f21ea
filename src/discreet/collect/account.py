"""What a perturbation costs a data set that has a ledger, and which rows of a person it pays for.

The reports of one person tell at most epsilon (between any two values of the column) for each of the person's rows. That is
charged before anything is drawn, for the first perturbation as for every other; the tally is stored, and asking the same
again gives it once more, free of charge. Rows are the same tally written out, and cost nothing beyond it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from ..engines.plain import Flags, Indices, different
from ..engines.table import Table
from ..errors import ReleaseError
from ..exact.arithmetic import show
from ..exact.level import charged_above
from ..ledger.book import Answer, Balance, Book, Pending, Terms
from ..mechanism import Mechanism
from .counting import PositionCounts
from .request import ChargedDataset, PerturbRequest, ReportLevels

_LEAST = Fraction(1, 10**12)  # a ledger has no line for nothing


def cost(mechanism: Mechanism, levels: ReportLevels) -> Fraction:
    """The epsilon between any two values: rounded up, or the one asked for where that is enough."""
    above = max(charged_above(levels.far), _LEAST)
    asked = mechanism.level.asked
    n = mechanism.inputs.n
    if asked is None or asked.base is not None or n is None or mechanism.sensitivity != n:
        return above
    return min(asked.factor, above)


@dataclass(frozen=True)
class DatasetCharge:
    """One perturbation of a data set with a ledger: what it is charged, and what is asked."""

    book: Book
    terms: Terms
    question: dict[str, Any]
    epsilon: Fraction
    max_rows: int
    admission: int | None
    fresh: bool

    @classmethod
    def of(cls, table: Table, request: PerturbRequest, charged: ChargedDataset) -> tuple[DatasetCharge, Table]:
        """By the terms of the data set, before any data are read; and the table as it was admitted."""
        book = charged.book
        with book.consult(charged.dataset) as said:
            terms = said.terms
        if terms.relation == "add-remove":
            raise ReleaseError(
                f"In {show(charged.dataset)} it is private who is in the data, and the number of reports would "
                "reveal the number of people; release counts instead. Nothing was charged."
            )
        table, admission = charged.admitted(table)
        question = {
            "kind": "perturb",
            "version": charged.version,
            "column": request.column,
            "mechanism": request.mechanism.digest,
            "on_bad": request.rule.text,
            "max_rows": charged.max_rows,
            "unit": terms.unit,
        }
        epsilon = cost(request.mechanism, request.levels) * charged.max_rows
        return cls(book, terms, question, epsilon, charged.max_rows, admission, charged.fresh), table

    def begin(self, truth: PositionCounts) -> Answer | Pending:
        """The stored tally, or a charge that is on disk."""
        data = hashlib.sha256(json.dumps([part.tolist() for part in truth.pairs()]).encode()).hexdigest()
        return self.book.begin(
            self.terms.name,
            self.question,
            epsilon=self.epsilon,
            data=data,
            fresh=self.fresh,
            admission=self.admission,
        )

    def finish(self, pending: Pending, reports: PositionCounts) -> None:
        at, often = reports.pairs()
        self.book.finish(pending, json.dumps({"at": at.tolist(), "count": often.tolist()}))

    def balance(self) -> Balance:
        return self.book.balance(self.terms.name)


def stored_tally(answer: Answer) -> PositionCounts:
    """The tally of an earlier answer."""
    tally = json.loads(answer.text)
    return PositionCounts(np.array(tally["at"], dtype=np.int64), np.array(tally["count"], dtype=np.int64))


class FirstRows:
    """Which rows count: the first `most` of each person, in the order of the table; rows without an id do not.

    Whether a row counts depends on its own person's rows alone, and not on any value in the column that is perturbed. Who is one
    person is the border's rule (engines/plain.py), as it is for releases.
    """

    def __init__(self, most: int) -> None:
        self.most, self._seen = min(most, 2**62), dict[Any, int]()

    def stay(self, ids: Any) -> Flags:
        """For the next batch of ids."""
        words, codes = different(ids)
        codes = np.where(codes < 0, len(words), codes)
        often = np.bincount(codes, minlength=len(words))
        order = np.argsort(codes, kind="stable")
        rank = np.empty(len(codes), dtype=np.int64)
        rank[order] = np.arange(len(codes)) - np.repeat(np.cumsum(often) - often, often)
        before = np.array([*(self._seen.get(word, 0) for word in words), self.most], dtype=np.int64)
        for word, count in zip(words, often.tolist(), strict=False):
            self._seen[word] = self._seen.get(word, 0) + count
        return np.asarray(rank + before[codes] < self.most)


def rows_by_content(ids: Sequence[Any], places: Indices, most: int) -> Flags:
    """Which rows count where rows come in no order, as they do in a cluster: of a person with n rows, more than `most`, so many are
    kept. In the order of their positions they are numbered from 1 to n, and chosen as in a release (`CountQuery.by_people`): over
    all ids each is kept equally often, and nothing but the person's own rows decides.
    """
    import pyarrow as pa

    words, codes = different(pa.chunked_array(ids).combine_chunks())
    order = np.lexsort((places, codes))
    order = order[np.searchsorted(codes[order], 0) :]  # rows without an id come first, and do not count
    often = np.bincount(codes[order], minlength=len(words))
    first = np.repeat(np.cumsum(often) - often, often)
    n, number = np.repeat(often, often), np.arange(len(order)) - first
    turns = [_turn(word) % n if n > most else 0 for word, n in zip(words, often.tolist(), strict=True)]
    turn, most = np.repeat(np.array(turns, dtype=np.int64), often), min(most, len(codes))
    stay = np.zeros(len(codes), dtype=np.bool_)
    stay[order] = (n <= most) | (((number + 1) * most + turn) // n > (number * most + turn) // n)
    return stay


def _turn(word: Any) -> int:
    """63 bits of a hash of an id."""
    return int.from_bytes(hashlib.sha256(str(word).encode("utf-8", "surrogatepass")).digest()[:8], "big") >> 1
