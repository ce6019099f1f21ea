"""What a perturbation costs a data set that has a ledger.

The reports of one person tell at most epsilon (between any two values of the column) for each of the person's rows. That is
charged before anything is drawn, for the first perturbation as for every other; the tally is stored, and asking the same
again gives it once more, free of charge. Rows are the same tally written out, and cost nothing beyond it.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from ..engines.reading import Reading
from ..errors import ReleaseError
from ..exact.arithmetic import show, show_above
from ..exact.given import whole
from ..exact.level import charged_above
from ..ledger.ledger import Answer, Balance, Ledger, Pending, Terms
from ..measure.privacy import check_privacy
from ..mechanism import Mechanism
from ..tables.count.admitting import admission_for
from .counting import MOST, Counts
from .plain import Flags, are_ids, ids_of, kind_name
from .values import Rule

_LEAST = Fraction(1, 10**12)  # a ledger has no line for nothing


@dataclass(frozen=True)
class Levels:
    """What a report tells at most: between values one step apart, and between any two."""

    near: float
    far: float

    @classmethod
    def of(cls, m: Mechanism) -> Levels:
        far = math.inf if m.inputs.size is None else check_privacy(m, neighbours="any").epsilon
        return cls(check_privacy(m, neighbours=1).epsilon, far)

    def __str__(self) -> str:
        near, far = ("no bound" if x == math.inf else f"epsilon {show_above(x)}" for x in (self.near, self.far))
        return f"Each report: {near} between values one step apart, {far} between any two."


def cost(m: Mechanism, levels: Levels) -> Fraction:
    """The epsilon between any two values: rounded up, or as it was asked for where it was asked so and is no more."""
    above = max(charged_above(levels.far), _LEAST)
    asked = m.level.asked
    if asked is None or asked.base is not None or m.inputs.n is None or m.sensitivity != m.inputs.n:
        return above
    return min(asked.factor, above)


@dataclass(frozen=True)
class Account:
    """One perturbation of a data set with a ledger: what it is charged, and what is asked."""

    book: Ledger
    terms: Terms
    question: dict[str, Any]
    epsilon: Fraction
    max_rows: int
    admission: int | None
    reading: Reading | None
    fresh: bool

    @classmethod
    def of(
        cls,
        book: Ledger,
        table: Any,
        dataset: str,
        version: str,
        column: str,
        m: Mechanism,
        rule: Rule,
        levels: Levels,
        max_rows: Any,
        fresh: bool,
        keep: tuple[str, ...],
        source: Any,
    ) -> Account:
        """All that can be refused before any data are read."""
        terms = book.terms(dataset)
        most = 1 if max_rows is None else whole(max_rows, "max_rows", error=ReleaseError)
        if terms.relation == "add-remove":
            raise ReleaseError(
                f"In {show(dataset)} it is private who is in the data, and the number of reports is the number of "
                "people; release counts of it instead. Nothing was charged."
            )
        if keep:
            raise ReleaseError(
                "Kept columns link reports to people, and the order of rows tells, which no charge covers; for a "
                "data set with a ledger leave keep out. Nothing was charged."
            )
        if not rule.never_fails:
            told = (
                "Values that are left out tell by their absence"
                if rule.drop
                else "A refusal tells that there is a bad value"
            )
            raise ReleaseError(
                f"{told}, which no charge covers; for a data set with a ledger say where bad values go: "
                'on_bad="map=VALUE" or "clamp,map=VALUE". Nothing was charged.'
            )
        if source is not None:
            raise ReleaseError(
                "What a ledger is charged for is drawn once, from the secure source; leave source out. Nothing was "
                "charged."
            )
        if levels.far == math.inf:
            raise ReleaseError(
                "This mechanism has no level between any two values, which is what a collected report costs; use "
                "one on a closed grid, such as m.truncate(0, 100). Nothing was charged."
            )
        if any(grid.size is None or grid.size > MOST for grid in (m.inputs, m.outputs)):
            raise ReleaseError(
                f"More than {MOST} different values or reports are too many to count; use a coarser grid. Nothing "
                "was charged."
            )
        found = None
        if isinstance(table, (str, os.PathLike)):
            found = admission_for(book, Path(table), dataset, version)
        question = {
            "kind": "perturb",
            "version": version,
            "column": column,
            "mechanism": m.digest,
            "on_bad": rule.text,
            "max_rows": most,
            "unit": terms.unit,
        }
        return cls(
            book,
            terms,
            question,
            cost(m, levels) * most,
            most,
            None if found is None else found.number,
            None if found is None else Reading.from_dict(found.reading),
            fresh,
        )

    def begin(self, truth: Counts) -> Answer | Pending:
        """The stored tally, or a charge that is on disk."""
        data = hashlib.sha256(json.dumps([part.tolist() for part in truth.pairs()]).encode()).hexdigest()
        return self.book.begin(
            self.terms.name, self.question, epsilon=self.epsilon, data=data, fresh=self.fresh, admission=self.admission
        )

    def finish(self, pending: Pending, reports: Counts) -> None:
        at, often = reports.pairs()
        self.book.finish(pending, json.dumps({"at": at.tolist(), "count": often.tolist()}))

    def balance(self) -> Balance:
        return self.book.balance(self.terms.name)


def stored(answer: Answer) -> Counts:
    """The tally of an earlier answer."""
    found = json.loads(answer.text)
    return Counts(np.array(found["at"], dtype=np.int64), np.array(found["count"], dtype=np.int64))


class FirstRows:
    """Which rows count: the first `most` of each person, in the order of the table, and none without an id.

    Whether a row counts depends on its own person's rows alone, and not on any value in the column that is perturbed. Ids
    that are equal are one person's, whatever stands for them: 0.0 and -0.0, a word that is twice in a dictionary. NaN is none.
    Any bytes are an id, a text that is no UTF-8 and a day beyond the calendar too.
    """

    def __init__(self, most: int) -> None:
        self.most, self._seen = min(most, 2**62), dict[Any, int]()

    def stay(self, ids: Any) -> Flags:
        """For the next batch of ids."""
        words, codes = ids_of(ids)
        codes = np.where(codes < 0, len(words), codes)
        often = np.bincount(codes, minlength=len(words))
        order = np.argsort(codes, kind="stable")
        rank = np.empty(len(codes), dtype=np.int64)
        rank[order] = np.arange(len(codes)) - np.repeat(np.cumsum(often) - often, often)
        before = np.array([*(self._seen.get(word, 0) for word in words), self.most], dtype=np.int64)
        for word, count in zip(words, often.tolist(), strict=False):
            self._seen[word] = self._seen.get(word, 0) + count
        return np.asarray(rank + before[codes] < self.most)


def check_ids(kind: Any, name: str) -> None:
    """Refuse a column whose values cannot be compared as ids, by its type alone."""
    if not are_ids(kind):
        raise ReleaseError(
            f"The column {show(name)} holds {kind_name(kind)}, and no ids; give each person one number or text. "
            "Nothing was charged."
        )
