"""Mechanisms side by side: level, properties, losses, and what somebody who makes the best of a report gets from each.

    compare          for one count, or for local privacy with neighbours="any"
    compare_names    for local privacy and answers without an order: the variance of a share

The same local epsilon is not the same promise. Randomised response and square wave treat any two values alike: whoever sees the
report can tell 30 from 31 as well as 30 from 90, and neither by more than epsilon. The geometric mechanism spends epsilon
over the whole grid: it tells values at a distance of d steps apart by at most d epsilon/n, near ones hardly at all. What a
report is worth depends on what is done with it: on its own, or with many others to recover the distribution of the values.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from ..channels.properties import LETTERS
from ..designs.design import design
from ..errors import DiscreetError, MetricError, SizeError
from ..exact.aliases import Rational
from ..exact.concentrated import MOST_RHO
from ..exact.given import NAMELESS
from ..exact.grid import Grid, GridLike
from ..exact.level import Level, LevelLike
from ..exact.neighbours import Neighbours, NeighboursLike
from ..measure.description import property_letters
from ..measure.loss import LossLike, loss_name, loss_of
from ..measure.prior import PriorLike, prior_of
from ..measure.privacy import check_privacy
from ..measure.remaps import bayes_risk
from ..measure.utility import loss_per_value
from ..mechanism import Mechanism, Procedure, procedure_of
from ..mechanisms.categories import projective_response
from ..mechanisms.guessing import randomized_response
from ..mechanisms.wave import square_wave
from ..present.views import Result, View, plain
from ..progress import Progress
from ..registry import FAMILIES, legend
from .categories import OPTIMUM, PROJECTIVE, RESPONSE, advice, is_named, named_answers, shares_of
from .choices import is_any_two, named

_TIE = 1e-9  # means that differ by less than this part are alike: that is a float's rounding, or a certificate's gap
_WRITTEN = 2**12  # values up to which a loss is written out
_SAME_EPSILON = 0.99  # of epsilon, and more, is epsilon in words
_ALIKE, _NEAR = "any two values alike", "near values more than far ones"


@dataclass(frozen=True, repr=False)
class Comparison(Result):
    """One row for each mechanism; `mechanisms` has the mechanisms themselves, by the names of the rows."""

    question: str
    table: tuple[Mapping[str, Any], ...]
    notes: tuple[str, ...]
    mechanisms: Mapping[str, Procedure] = field(compare=False)
    loss: str = "l1"

    def __getitem__(self, name: str) -> Mapping[str, Any]:
        found = {row["mechanism"]: row for row in self.table}
        if name not in found:
            raise DiscreetError(f"{name} was not compared; choose from {'; '.join(found)}.")
        return found[name]

    def view(self) -> View:
        return replace(View.of(self.question, self.table), notes=self.notes)

    def plot(self) -> Any:
        """The mean loss of a report, of the worst truth and after the best remap, for each mechanism."""
        from ..present import plot

        cost = next((key for key in (self.loss, self.loss.upper()) if key in self.table[0]), None)
        if cost is None:
            raise DiscreetError("Names have no losses of a report that a picture could show; print the comparison.")
        series = {cost: "mean", "worst": "worst truth", "best use": "best use"}
        known = [row for row in self.table if None not in (row[key] for key in series)]
        if not known:
            raise DiscreetError("The grid is too long for a picture of the losses of one report; use a coarser step.")
        rows = [
            {"name": r["mechanism"], "series": word, "value": r[key]} for r in known for key, word in series.items()
        ]
        private = [row for row in known if row.get("proved")] or known
        least = min(float(row[cost]) for row in private)
        best = [row["mechanism"] for row in private if float(row[cost]) <= least * (1 + _TIE)]
        have = f"{best[0]} has the" if len(best) == 1 else f"{', '.join(best)}:"
        title = f"{have} least mean {self.loss}, {least:.4g}"
        sizes = [float(row["value"]) for row in rows]
        far = 0 < 8 * min(sizes) < max(sizes)  # else the best would stand on top of each other
        return plot.dots(rows, title, self.question, x=f"{self.loss} of a report", log=far)

    def to_dict(self) -> dict[str, Any]:
        return {"question": self.question, "rows": plain(self.table), "notes": list(self.notes)}


def compare(
    n: GridLike | Procedure | Sequence[Procedure] | Mapping[str, Procedure] | None = None,
    *,
    alpha: LevelLike | None = None,
    epsilon: LevelLike | None = None,
    loss: LossLike = "l1",
    prior: PriorLike | None = None,
    require: Iterable[str] | str = (),
    mechanisms: Procedure | Sequence[Procedure] | Mapping[str, Procedure] | None = None,
    sensitivity: Rational | None = None,
    neighbours: NeighboursLike | None = None,
    ordered: bool | None = None,
    progress: Progress | None = None,
) -> Comparison:
    """The known mechanisms on 0..n (or a grid) at a level, and the best one for the loss, the prior and the properties.

    Or `mechanisms` of your own, one, a list or by name, in place of the known ones; with a level the best one stands beside
    them. All rows are about one promise, which the title names: between values at most the `sensitivity` apart (1 unless
    given), between `neighbours` (steps, pairs, distances or "any" two values), or between those that mechanisms of your own
    share. Where these differ, say which neighbours are meant. The columns: epsilon between them and between any two values;
    whether the level of the title is proved between them, or without one the level that the mechanism claims; the properties;
    mean losses under the prior; `worst`, the largest mean loss of a true value; and `best use`, the mean loss after the best
    remap for the prior. There the geometric mechanism reaches the optimum for a count, whatever the prior and the monotone
    loss (Ghosh, Roughgarden, Sundararajan 2009).

    With neighbours="any" the square wave stands beside them, and `one step <=` is what one step of the grid costs: where that is
    less, near values are hidden more than far ones. With ordered=False, or a list of names as n, those for answers without an
    order (see compare_names). How near a distribution recovered from many reports comes is for plan_reports.

    >>> import discreet as dt
    >>> side_by_side = dt.compare(8, alpha="9/10")
    >>> side_by_side["EM"]["properties"], side_by_side["GM"]["best use"] < side_by_side["EM"]["best use"]
    ('all seven', True)
    """
    if ordered is False or (mechanisms is None and is_named(n)):
        if ordered or mechanisms is not None or prior is not None or sensitivity is not None or require or loss != "l1":
            raise DiscreetError("Names have no order, and no loss by distance; give n or names, and a level, alone.")
        return compare_names(n, Level.of(alpha=alpha, epsilon=epsilon))
    if mechanisms is None and isinstance(getattr(n, "mechanism", None), Mechanism):
        procedure_of(n)  # a design: says to give its mechanism
    if mechanisms is None and (isinstance(n, (Procedure, list, tuple, Mapping)) or getattr(n, "ndim", 0) > 0):
        n, mechanisms = None, n
    if sensitivity is not None and neighbours is not None:
        raise DiscreetError(
            "Both sensitivity and neighbours say between which values the level holds; give one of them."
        )
    known = mechanisms is None
    level = Level.of(alpha=alpha, epsilon=epsilon) if known or (alpha, epsilon) != (None, None) else None
    if require and level is None:
        raise DiscreetError("require is for the best mechanism at a level; give an epsilon (or alpha) as well.")
    grid, found = (Grid.of(n), {}) if known else named(n, mechanisms)
    between = _promised(grid, found, sensitivity, neighbours)
    promise = f"{'' if level is None else f'{level} '}{_in_words(between, grid)}"
    notes: list[str] = []
    if known and level is not None:
        found, left_out = _known(grid, level, between)
        notes = [legend(), *(f"left out: {name} does not keep {promise}" for name in left_out)]
    if level is not None:
        try:
            if not between.is_plain:
                raise MetricError("designs are between neighbours, and these values have distances other than 1.")
            best = design(
                grid, alpha=level, loss=loss, prior=prior, require=require, neighbours=between, progress=progress
            )
        except (SizeError, MetricError) as reason:  # the others can be compared all the same
            notes.append(f"no design: {reason}")
        else:
            letters = ",".join(letter for letter in LETTERS if letter in best.problem.require)
            asked = best.problem.loss.name
            title = ", ".join(filter(None, ("best" if asked == NAMELESS else f"best {asked}", letters)))
            found[f"{title} (designed)" if title in found else title] = best.mechanism
    cost = loss_name(loss) or loss_of(loss, grid, grid).name
    law = "uniform" if prior is None else str(prior_of(prior, grid))
    rows = tuple(MappingProxyType(_row(name, m, between, level, loss, cost, prior)) for name, m in found.items())
    if any(m.is_concentrated for m in found.values()) and between.is_plain:
        each = zip(rows, found.values(), strict=True)
        rows = tuple(MappingProxyType(_with_rho(row, m, between, level)) for row, m in each)
    if known and "WM" in found:
        notes.append("WM is the best weakly honest mechanism for L0 and a uniform prior, whatever is asked here")
    notes += _equal(found)
    other = "one step <=: between values one step apart" if is_any_two(between) else "local <=: between any two values"
    notes.append(
        f"epsilon <=: between neighbours; {other}; proved: whether the level of the "
        f"{'mechanism' if level is None else 'title'} is; rescaled: L0 times (n+1)/n, 1 for guessing"
    )
    notes.append(
        f"L0, L1, L2: means under the prior; worst: the largest mean {cost} of a truth; best use: the mean {cost} after the best "
        "remap"
    )
    weaker = [row["mechanism"] for row in rows if not row["proved"]] if level is not None else []
    if weaker:
        verb = "does not keep" if len(weaker) == 1 else "do not keep"
        notes.append(
            f"proved no: {' and '.join(weaker)} {verb} {promise}; the losses there are those of a weaker promise"
        )
    question = f"{grid}, {promise}: {cost} under the prior {law}"
    return Comparison(question, rows, tuple(notes), MappingProxyType(found), cost)


def _equal(found: Mapping[str, Procedure]) -> list[str]:
    """Which rows are of one and the same mechanism."""
    alike: dict[str, list[str]] = {}
    for name, m in found.items():
        alike.setdefault(next((first for first in alike if found[first] == m), name), []).append(name)
    return [
        f"{' and '.join(names[1:])}: here the same mechanism as {first}" for first, names in alike.items() if names[1:]
    ]


def _with_rho(row: Mapping[str, Any], m: Procedure, between: Neighbours, level: Level | None) -> dict[str, Any]:
    """The row with a rho that is proved beside epsilon; without a level that was asked for, Gaussian noise claims rho."""
    rho = check_privacy(m, rho=MOST_RHO, neighbours=between).proved
    proved = row["proved"]
    if level is None and isinstance(m, Mechanism) and m.is_concentrated:
        proved = bool(check_privacy(m, rho=m.rho, neighbours=between))
    first, *rest = row.items()
    return {**dict([first, ("rho <=", math.inf if rho is None else float(rho)), *rest]), "proved": proved}


def _in_words(between: Neighbours, grid: Grid) -> str:
    """Between which true values, in words."""
    return f"{'on' if between.span(grid) is None else 'between'} {between.words(grid)}"


def _promised(grid: Grid, found: Mapping[str, Procedure], sensitivity: Any, neighbours: Any) -> Neighbours:
    """Between which true values the levels of all rows are compared: those given, or those that the mechanisms share."""
    if neighbours is not None:
        return Neighbours.of(neighbours, grid)
    if sensitivity is not None or not found:
        return Neighbours.steps(grid.steps(1 if sensitivity is None else sensitivity))
    (first, shared), *others = [(name, m.neighbours) for name, m in found.items()]
    for name, other in others:
        if other.reduced(grid) != shared.reduced(grid):
            raise DiscreetError(
                f"{first} has a level {_in_words(shared, grid)}, {name} {_in_words(other, grid)}: these are different promises. "
                "Say which is meant, for example neighbours=1, and all are measured by that; or compare them apart."
            )
    return shared


def _known(grid: Grid, level: Level, between: Neighbours) -> tuple[dict[str, Procedure], list[str]]:
    """The families that are compared, as far as they go, each at the level between these neighbours; and who cannot keep it.

    Those that are tables end at n = 1023. On a graph, families for steps are made for its farthest neighbours.
    """
    span = between.span(grid)
    apart = max(abs(i - k) for i, k, _ in between.demands(grid)) if span is None else span
    asked = {"alpha": level, "sensitivity": apart * grid.step}
    found: dict[str, Procedure] = {}
    left_out = []
    for family in FAMILIES:
        for name, more in family.compared.items():
            with suppress(SizeError):
                m = family.make(grid, **{key: asked[key] for key in asked if key in family.takes}, **more)
                if check_privacy(m, alpha=level, neighbours=between):
                    found[name] = m
                else:
                    left_out.append(name)
    if is_any_two(between):
        found["square wave"] = square_wave(grid, alpha=level)
    return found, left_out


def _row(
    name: str, m: Procedure, between: Neighbours, level: Level | None, loss: Any, loss_name: str, prior: Any
) -> dict[str, Any]:
    """One mechanism in one line, its level between the neighbours of all rows."""
    others = m.finite().rows - 1
    verdict, letters = check_privacy(m, alpha=level, neighbours=between), property_letters(m) or []
    losses = {kind: loss_per_value(m, kind) for kind in ("l0", "l1", "l2")}
    if not isinstance(loss, str) or loss_name not in losses:
        losses[loss_name] = loss_per_value(m, loss)
    law = None if prior is None else prior_of(prior, m.inputs).floats
    means = {kind: float(part.mean() if law is None else law @ part) for kind, part in losses.items()}
    return {
        "mechanism": name,
        "epsilon <=": verdict.epsilon,
        **(
            {"one step <=": check_privacy(m, neighbours=1).epsilon}
            if is_any_two(between)
            else {"local <=": check_privacy(m, neighbours="any").epsilon}
        ),
        "proved": bool(verdict),
        "properties": "all seven" if letters == list(LETTERS) else " ".join(letters),
        "L0": means["l0"],
        "rescaled": means["l0"] * (others + 1) / others,
        "L1": means["l1"],
        "L2": means["l2"],
        "RMSE": math.sqrt(means["l2"]),
        **({} if loss_name in ("l0", "l1", "l2") else {loss_name: means[loss_name]}),
        "worst": float(losses[loss_name].max()),
        "best use": bayes_risk(m, prior=prior, loss=loss),
    }


def compare_names(n: Any, level: Level) -> Comparison:
    """Randomised response and projective response for answers without an order, beside the optimum of all mechanisms (subset
    selection with the best size; Ye and Barg 2018), which is analysis: its reports are sets of answers.

    Columns: how many different reports there are; the variance of the estimate of a rare share from one report, N times that
    from N; the same over the optimum's; and the standard error with 10,000 reports.
    """
    grid = named_answers(n)
    answers = grid.size or 0
    known = shares_of(answers, level.alpha)
    best = known[OPTIMUM].variance()
    rows = tuple(
        MappingProxyType(
            {
                "mechanism": family,
                "different reports": None if family == OPTIMUM else told.size,
                "N x variance": float(told.variance()),
                "/ optimum": float(told.variance() / best),
                "error at N = 10000": math.sqrt(told.variance() / 10_000),
            }
        )
        for family, told in known.items()
    )
    notes = (
        advice(known),
        f"{OPTIMUM}: the least mean squared error of all mechanisms of this level for large N; not available in discreet",
    )
    question = f"{answers} answers without an order, {level} between any two: the estimate of a rare answer's share"
    made = {RESPONSE: randomized_response(grid, alpha=level), PROJECTIVE: projective_response(grid, alpha=level)}
    return Comparison(question, rows, notes, MappingProxyType(made), "variance")
