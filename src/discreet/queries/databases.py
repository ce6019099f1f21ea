"""Designs over data sets: the best mechanism where what one record can change is not the same everywhere.

A mechanism that sees the answer alone must hold its level between any two answers that some neighbouring data sets have. One that
sees the data set needs it only between neighbouring data sets. Written over data sets, its design is the same linear program, with
an edge for each pair of neighbours and a loss for each data set and report; so it comes with the same certificate.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal, final

from ..designs.design import Design, design
from ..errors import DiscreetError, LossError, SizeError
from ..exact.arithmetic import show, show_rational
from ..exact.given import whole
from ..exact.grid import Grid
from ..exact.level import LevelLike
from ..measure.loss import loss_name
from ..measure.prior import prior_of
from ..present.views import Result, View
from .calculator import answer_of, domain_of

_MOST = 128  # data sets: graphs of so many values are designed for
_SHOWN = 12
_TRIED = 2**16  # tuples of records: the function is asked about every one
_LOSSES: dict[str, Callable[[Fraction], Fraction]] = {
    "l0": lambda error: Fraction(int(error != 0)),
    "l1": abs,
    "l2": lambda error: error * error,
}


@final
@dataclass(frozen=True, repr=False)
class DataSets(Result):
    """All data sets of a few records, up to their order; their answers; and which of them are neighbours.

    `sets[i]` has the answer `answers[i]`, and `edges` are the pairs (i, k), i < k, that differ in one record. A mechanism over
    them takes and reports numbers of data sets; what is told of a report j is `answers[j]`.
    """

    what: str
    sets: tuple[tuple[Any, ...], ...]
    answers: tuple[Fraction, ...]
    edges: tuple[tuple[int, int], ...] = field(repr=False)

    @property
    def local_sensitivities(self) -> tuple[Fraction, ...]:
        """Of each data set, on this domain."""
        found = [Fraction(0)] * len(self.sets)
        for i, k in self.edges:
            apart = abs(self.answers[i] - self.answers[k])
            found[i], found[k] = max(found[i], apart), max(found[k], apart)
        return tuple(found)

    def place(self, data: Any) -> int:
        """The number of a data set, in whatever order its records are."""
        wanted = Counter(data)
        for k, one in enumerate(self.sets):
            if Counter(one) == wanted:
                return k
        raise DiscreetError("This is none of the data sets; give as many records, each one of the domain's values.")

    def loss(self, loss: Any = "l1") -> list[list[Fraction]]:
        """The loss of each report, a column, on each data set, a row: "l0", "l1", "l2", or a function of two answers."""
        return _losses(loss, self.answers, self.answers)

    def design(
        self,
        *,
        alpha: LevelLike | None = None,
        epsilon: LevelLike | None = None,
        loss: Any = "l1",
        prior: Any = None,
        risk: Literal["average", "worst"] = "average",
    ) -> Design:
        """The best mechanism that sees the data set, with its certificate: `dt.design` with the edges and the loss of each pair.

        `prior` is over the data sets (uniform unless given), `risk` "average" or "worst".

        >>> import discreet as dt
        >>> three = dt.queries.data_sets(max, domain=range(5), records=3)
        >>> len(three.sets), len(three.edges), len(set(three.local_sensitivities))
        (35, 150, 5)
        >>> best, answers_alone = three.design(alpha="1/2"), three.oblivious(alpha="1/2")
        >>> round(best.objective, 4), round(answers_alone.objective, 4)
        (0.7322, 0.7619)
        """
        size = len(self.sets) - 1
        return design(
            size,
            alpha=alpha,
            epsilon=epsilon,
            loss=self.loss(loss),
            prior=prior,
            risk=risk,
            neighbours=list(self.edges),
        )

    def oblivious(
        self,
        *,
        alpha: LevelLike | None = None,
        epsilon: LevelLike | None = None,
        loss: Any = "l1",
        prior: Any = None,
        risk: Literal["average", "worst"] = "average",
    ) -> Design:
        """The best mechanism that sees the answer alone, whose values are numbered from the smallest."""
        values = self.values
        at = {value: k for k, value in enumerate(values)}
        pairs = {tuple(sorted((at[self.answers[i]], at[self.answers[k]]))) for i, k in self.edges}
        weights: Any = None
        if risk == "average":
            over = prior_of(prior, Grid.of(len(self.sets) - 1)).weights
            sums = Counter[int]()
            for answer, weight in zip(self.answers, over, strict=True):
                sums[at[answer]] += weight
            weights = [Fraction(sums[k], sum(over)) for k in range(len(values))]
        return design(
            len(values) - 1,
            alpha=alpha,
            epsilon=epsilon,
            loss=_losses(loss, values, values),
            prior=weights,
            risk=risk,
            neighbours=[pair for pair in sorted(pairs) if pair[0] != pair[1]],
        )

    @property
    def values(self) -> tuple[Fraction, ...]:
        """The different answers, from the smallest."""
        return tuple(sorted(set(self.answers)))

    def view(self) -> View:
        local = self.local_sensitivities
        rows = tuple(
            (k, show(one), show_rational(answer), show_rational(size))
            for k, (one, answer, size) in enumerate(zip(self.sets, self.answers, local, strict=True))
        )
        columns = ("number", "data set", "answer", "local sensitivity")
        more = max(len(rows) - _SHOWN, 0)
        return View(self._title(), columns, rows[:_SHOWN], more=more, where="see sets and answers" if more else "")

    def _title(self) -> str:
        return f"{self.what}: {len(self.sets)} data sets, {len(self.edges)} pairs of neighbours"

    def to_dict(self) -> dict[str, Any]:
        return {
            "query": self.what,
            "sets": [[str(x) for x in one] for one in self.sets],
            "answers": [str(x) for x in self.answers],
            "edges": [list(edge) for edge in self.edges],
        }


def data_sets(function: Callable[[tuple[Any, ...]], Any], *, domain: Any, records: object) -> DataSets:
    """All data sets of a few records of a small domain, for a design where the sensitivity is not constant.

    The function takes a tuple of records and must not depend on their order, which is tried for every tuple there is: then a
    mechanism need not either, since mixing over all orders keeps its level and its risk. There may be up to 128 data sets and
    65,536 tuples.

    >>> import discreet as dt
    >>> from statistics import median_low
    >>> five = dt.queries.data_sets(median_low, domain=range(4), records=5)
    >>> five
    <DataSets median_low of 5 records: 56 data sets, 210 pairs of neighbours>
    >>> d = five.design(alpha="1/4")
    >>> five.answers[int(d.mechanism.sample(five.place((0, 3, 0, 0, 1))))] in five.values
    True
    """
    if not callable(function):
        raise DiscreetError("Data sets are made for a function of a tuple of records; give one, for example max.")
    values = domain_of(domain)
    n = whole(records, "records", 1, example=3)
    sets = tuple(itertools.islice(itertools.combinations_with_replacement(values, n), _MOST + 1))
    if len(sets) > _MOST:
        raise SizeError(
            f"{len(values)} values for each of {n} records make more than {_MOST} data sets; give fewer records or values."
        )
    if len(values) ** n > _TRIED:
        raise SizeError(
            f"{len(values)} values for each of {n} records make more than {_TRIED} tuples, on each of which the function is tried; "
            "give fewer records or values."
        )
    answer = {x: answer_of(function, x) for x in sets}
    for x in itertools.product(values, repeat=n):
        in_order = tuple(sorted(x, key=values.index))
        if answer_of(function, x) != answer[in_order]:
            raise DiscreetError(
                f"The function depends on the order of the records: it differs on {show(in_order)} and {show(x)}; "
                "give one that does not."
            )
    answers = tuple(answer.values())
    if len(set(answers)) < 2:
        raise DiscreetError(
            "All data sets have the same answer, so that there is nothing to tell; give another function."
        )
    counted = [Counter(x) for x in sets]
    edges = tuple(
        (i, k) for i, k in itertools.combinations(range(len(sets)), 2) if sum((counted[i] - counted[k]).values()) == 1
    )
    name = getattr(function, "__name__", "function")
    return DataSets(f"{'function' if name == '<lambda>' else name} of {n} records", sets, answers, edges)


def _losses(loss: Any, truths: Any, reports: Any) -> list[list[Any]]:
    if callable(loss):
        return [[loss(truth, report) for report in reports] for truth in truths]
    cost = _LOSSES.get(loss_name(loss))
    if cost is None:
        raise LossError(
            f'loss = {show(loss)} is not known for data sets; use "l0", "l1", "l2" or a function of two answers.'
        )
    return [[cost(report - truth) for report in reports] for truth in truths]
