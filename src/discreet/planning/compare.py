"""Mechanisms side by side: level, properties, losses, and what somebody who makes the best of a report gets from each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import numpy as np

from ..designs.design import design
from ..errors import DiscreetError, SizeError
from ..measure.description import property_letters
from ..measure.loss import loss_of
from ..measure.prior import prior_of
from ..measure.privacy import check_privacy
from ..measure.properties import LETTERS
from ..measure.remaps import bayes_risk
from ..measure.utility import expected_loss, rmse, worst_loss
from ..mechanism import Mechanism, mechanism_of
from ..numbers.grid import Grid
from ..numbers.level import Level
from ..present.shown import Result, Shown, plain
from ..progress import Progress
from ..registry import FAMILIES, legend
from .choices import named


@dataclass(frozen=True, repr=False)
class Comparison(Result):
    """One row for each mechanism; `mechanisms` has the mechanisms themselves, by the names of the rows."""

    question: str
    table: tuple[Mapping[str, Any], ...]
    notes: tuple[str, ...]
    mechanisms: Mapping[str, Mechanism] = field(compare=False)
    loss: str = "l1"

    def __getitem__(self, name: str) -> Mapping[str, Any]:
        found = {row["mechanism"]: row for row in self.table}
        if name not in found:
            raise DiscreetError(f"{name} was not compared; choose from {'; '.join(found)}.")
        return found[name]

    def shown(self) -> Shown:
        return replace(Shown.of(self.question, self.table), notes=self.notes)

    def plot(self) -> Any:
        """The mean loss of a report, of the worst truth and after the best remap, for each mechanism."""
        from ..present import plot

        cost = next(key for key in (self.loss, self.loss.upper(), f"mean {self.loss}") if key in self.table[0])
        told = {cost: "mean", "worst": "worst truth", "best use": "best use"}
        known = [row for row in self.table if None not in (row[key] for key in told)]
        if not known:
            raise DiscreetError("The grid is too long for a picture of the losses of one report; use a coarser step.")
        rows = [{"name": r["mechanism"], "series": word, "value": r[key]} for r in known for key, word in told.items()]
        best = min(known, key=lambda row: float(row[cost]))
        title = f"{best['mechanism']} has the least mean {self.loss}, {best[cost]:.4g}"
        sizes = [float(row["value"]) for row in rows]
        far = 0 < 8 * min(sizes) < max(sizes)  # else the best would stand on top of each other
        return plot.dots(rows, title, self.question, x=f"{self.loss} of a report", log=far)

    def to_dict(self) -> dict[str, Any]:
        return {"question": self.question, "rows": plain(self.table), "notes": list(self.notes)}


def compare(
    n: Any = None,
    *,
    alpha: Any = None,
    epsilon: Any = None,
    loss: Any = "l1",
    prior: Any = None,
    require: Iterable[str] | str = (),
    mechanisms: Any = None,
    neighbours: Any = None,
    reports: Any = None,
    method: str | None = None,
    runs: int | None = None,
    seed: int | None = None,
    query: str | None = None,
    records: Any = None,
    low: Any = None,
    high: Any = None,
    sensitivity: Any = None,
    step: Any = None,
    cells: Any = None,
    progress: Progress | None = None,
) -> Comparison:
    """The known mechanisms on 0..n (or a grid) at a level, and the best one for the loss, the prior and the properties.

    Or `mechanisms` of your own, one, a list or by name, in place of the known ones; with a level the best one stands beside
    them. The columns: epsilon between neighbours and between any two values; whether the claimed level is proved; the
    properties; mean losses under the prior; `worst`, the largest mean loss of a true value; and `best use`, the mean loss
    after the best remap for the prior. There the geometric mechanism reaches the optimum for a count, whatever the prior
    and the monotone loss (Ghosh, Roughgarden, Sundararajan 2009).

    With a `query`, "mean", "max" and so on, the mechanisms for its answer in place of counts, and the best answer without
    data; `records`, `low` and `high` say what it is asked of, `sensitivity`, `step` and `cells` are found if not given (see
    discreet.planning.answers).

    With neighbours="any" the mechanisms for local privacy, all at one level between any two values, and which promise each
    keeps; with `reports` as well, how near the law comes that is recovered from so many of them, when the truth is the prior
    (see discreet.planning.local).

    >>> import discreet as dt
    >>> side_by_side = dt.compare(8, alpha="9/10")
    >>> side_by_side["EM"]["properties"], side_by_side["GM"]["best use"] < side_by_side["EM"]["best use"]
    ('all seven', True)
    """
    asked = {"records": records, "low": low, "high": high, "sensitivity": sensitivity, "step": step, "cells": cells}
    if query is not None:
        from .answers import compare_answers

        if n is not None or mechanisms is not None or require:
            raise DiscreetError("A query has its own range and mechanisms; leave out n, mechanisms and require.")
        return compare_answers(query, alpha=alpha, epsilon=epsilon, prior=prior, loss=loss, progress=progress, **asked)
    if neighbours is not None:
        from .local import compare_local

        if mechanisms is not None or require or any(value is not None for value in asked.values()):
            raise DiscreetError("neighbours compares mechanisms of its own; leave out mechanisms, require and what is for a query.")
        return compare_local(n, neighbours, alpha=alpha, epsilon=epsilon, loss=loss, prior=prior, reports=reports, method=method,
                             runs=runs, seed=seed, progress=progress)  # fmt: skip
    for name, value in {"reports": reports, "method": method, "runs": runs, "seed": seed}.items():
        if value is not None:
            raise DiscreetError(f'{name} is for local privacy; say neighbours="any", or leave it out.')
    stray = next((name for name, value in asked.items() if value is not None), None)
    if stray is not None:
        raise DiscreetError(f"{stray} is for a query; say which one, for example query=\"mean\", or leave it out.")
    if mechanisms is None and isinstance(getattr(n, "mechanism", None), Mechanism):
        mechanism_of(n)  # a design: says to give its mechanism
    if mechanisms is None and (isinstance(n, (Mechanism, list, tuple, Mapping)) or np.ndim(n) > 0):
        n, mechanisms = None, n
    known = mechanisms is None
    level = Level.of(alpha=alpha, epsilon=epsilon) if known or (alpha, epsilon) != (None, None) else None
    if require and level is None:
        raise DiscreetError("require is for the best mechanism at a level; give an epsilon (or alpha) as well.")
    grid, found = (Grid.of(n), _known(n, alpha, epsilon)) if known else named(n, mechanisms)
    if level is not None:
        best = design(grid, alpha=alpha, epsilon=epsilon, loss=loss, prior=prior, require=require, progress=progress)
        letters = ",".join(letter for letter in LETTERS if letter in best.problem.require)
        title = ", ".join(filter(None, (f"best {best.problem.loss.name}", letters)))
        found[f"{title} (designed)" if title in found else title] = best.mechanism
    cost = loss.strip().lower() if isinstance(loss, str) else loss_of(loss, grid, grid).name
    law = "uniform" if prior is None else str(prior_of(prior, grid))
    rows = tuple(MappingProxyType(_row(name, m, loss, cost, prior)) for name, m in found.items())
    told = f"worst: the largest mean {cost} of a truth; best use: the mean {cost} after the best remap; the others: means"
    question = f"{grid}{'' if level is None else f', {level}'}: {cost} under the prior {law}"
    return Comparison(question, rows, ((legend(), told) if known else (told,)), MappingProxyType(found), cost)


def _known(n: Any, alpha: Any, epsilon: Any) -> dict[str, Mechanism]:
    """The families that are compared, as far as they go: those that are tables end at n = 1023."""
    given = {"alpha": alpha, "epsilon": epsilon}
    found: dict[str, Mechanism] = {}
    for family in FAMILIES:
        for name, more in family.compared.items():
            with suppress(SizeError):
                found[name] = family.make(n, **{key: given[key] for key in given if key in family.takes}, **more)
    return found


def _row(name: str, m: Mechanism, loss: Any, loss_name: str, prior: Any) -> dict[str, Any]:
    """One mechanism in one line."""
    others = m.finite().rows - 1
    verdict, letters = check_privacy(m), property_letters(m) or []
    l0 = expected_loss(m, "l0", prior=prior)
    return {
        "mechanism": name,
        "epsilon <=": verdict.epsilon,
        "local <=": check_privacy(m, metric="discrete").epsilon,
        "proved": bool(verdict),
        "properties": "all seven" if letters == list(LETTERS) else " ".join(letters),
        "L0": l0,
        "rescaled": l0 * (others + 1) / others,
        "L1": expected_loss(m, "l1", prior=prior),
        "L2": expected_loss(m, "l2", prior=prior),
        "RMSE": rmse(m, prior=prior),
        **({} if loss_name in ("l0", "l1", "l2") else {loss_name: expected_loss(m, loss, prior=prior)}),
        "worst": worst_loss(m, loss),
        "best use": bayes_risk(m, prior=prior, loss=loss),
    }
