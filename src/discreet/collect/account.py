"""What a perturbation costs a data set that has a ledger.

The reports of one person tell at most epsilon (between any two values of the column) for each of the person's rows. That is
charged before anything is drawn, for the first perturbation as for every other; the tally is stored, and asking the same
again gives it once more, free of charge. Rows are the same tally written out, and cost nothing beyond it.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from ..engines.reading import Reading
from ..errors import ReleaseError
from ..exact.arithmetic import show
from ..exact.level import charged_above
from ..ledger.ledger import Answer, Balance, Ledger, Pending, Terms
from ..mechanism import Mechanism
from ..tables.admission import admission_for
from .counting import PositionCounts
from .request import ChargedDataset, PerturbRequest
from .summary import ReportLevels

_LEAST = Fraction(1, 10**12)  # a ledger has no line for nothing


def cost(mechanism: Mechanism, levels: ReportLevels) -> Fraction:
    """The epsilon between any two values: rounded up, or as it was asked for where it was asked so and is no more."""
    above = max(charged_above(levels.far), _LEAST)
    asked = mechanism.level.asked
    n = mechanism.inputs.n
    if asked is None or asked.base is not None or n is None or mechanism.sensitivity != n:
        return above
    return min(asked.factor, above)


@dataclass(frozen=True)
class DatasetCharge:
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
    def of(cls, book: Ledger, table: Any, request: PerturbRequest, charged: ChargedDataset) -> DatasetCharge:
        """By the terms of the data set, before any data are read."""
        terms = book.terms(charged.dataset)
        if terms.relation == "add-remove":
            raise ReleaseError(
                f"In {show(charged.dataset)} it is private who is in the data, and the number of reports is the number "
                "of people; release counts of it instead. Nothing was charged."
            )
        admission = None
        if isinstance(table, (str, os.PathLike)):
            admission = admission_for(book, Path(table), charged.dataset, charged.version)
        question = {
            "kind": "perturb",
            "version": charged.version,
            "column": request.column,
            "mechanism": request.mechanism.digest,
            "on_bad": request.rule.text,
            "max_rows": charged.max_rows,
            "unit": terms.unit,
        }
        return cls(
            book=book,
            terms=terms,
            question=question,
            epsilon=cost(request.mechanism, request.levels) * charged.max_rows,
            max_rows=charged.max_rows,
            admission=None if admission is None else admission.number,
            reading=None if admission is None else Reading.from_dict(admission.reading),
            fresh=charged.fresh,
        )

    def begin(self, truth: PositionCounts) -> Answer | Pending:
        """The stored tally, or a charge that is on disk."""
        data = hashlib.sha256(json.dumps([part.tolist() for part in truth.pairs()]).encode()).hexdigest()
        return self.book.begin(
            self.terms.name, self.question, epsilon=self.epsilon, data=data, fresh=self.fresh, admission=self.admission
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
