"""A regularised distribution of the true values: the field and atoms of field.py, on the grid itself or on cells of it; for
names, and for channels that treat all values alike, the exchangeable values of exchangeable.py.

Up to 1024 values each stands for itself. On a longer grid neighbouring values are taken together in cells and reports that say
the same in groups; the distribution of the cells is spread out over their values and sharpened by steps of the
iterative Bayesian update at full resolution, which bring back what narrow noise shows within a cell. Given the reports
the result is always the same.
"""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ..blas import one_thread
from ..channels import Finite
from ..progress import Progress
from .exchangeable import IN_ORDER, Model, posterior
from .field import MODES, SCALES, SMOOTH, WHITE, Fitted, Operator, Search
from .likelihood import (
    Fit,
    Floats,
    certificate,
    check_possible,
    is_injective,
    is_injective_at_all,
    mean_log_likelihood,
)
from .mle import mle, says_nothing

Counts = NDArray[np.int64]

_SINGLE = 1024  # true values up to which each stands for itself
_SINGLE_REPORTS = 4096  # the same for reports
_NARROW = 0.05  # a report tells the cell with this chance: the noise is hardly wider than the cells
_CELLS = 512  # cells of a longer grid, and groups of its reports
_SHARPENED = 30  # steps at full resolution, after the cells
_NARROWED = 300  # the same where noise is narrow, and shows what happens within a cell
_FLOOR = 1e-3  # part of the uniform distribution with which they start: a step cannot fill a value without any mass
_CLEAR = 0.9  # weight of models with atoms from which on they are told
_ALONE = 0.8  # weight of values each for itself beforehand, where the channel treats all alike
_DENSE = 512  # true values up to which the likeliest distribution of any channel is quick


def auto(
    channel: Finite, counts: Counts, *, ordered: bool = True, gap: float = 1e-9, progress: Progress | None = None
) -> Fit:
    """A distribution that suits smooth and spiky truths alike; it is mostly nearer to the truth than the likeliest one is.

    It is regularised: its certificate need not be 0. `gap` is for the likeliest distribution, which it looks at on the way.
    Without an order the values are exchangeable.
    """
    q = counts / counts.sum()
    check_possible(channel, q)
    nothing = says_nothing(channel, q)
    if nothing is not None:
        return nothing
    with one_thread():
        if ordered:
            return _of_values_in_order(channel, counts, q, gap, progress)
        return _of_names(channel, counts, q, gap, progress)


def _of_values_in_order(channel: Finite, counts: Counts, q: Floats, gap: float, progress: Progress | None) -> Fit:
    """Fields and atoms; where the channel treats all values alike, together with exchangeable values.

    Reports of such a channel say nothing about the values next to one that was reported: with few of them every curve explains
    them about as well, and an average follows whichever fits the noise best. So exchangeable models count four times as much as
    fields beforehand, and the result is not the average of all models but their median: at each value the median of their
    distribution functions by their weights, which minimises the expected Kantorovich distance over the models.
    """
    single = channel.rows <= _SINGLE and channel.reports <= _SINGLE_REPORTS
    cells = None if single else _Cells(channel)
    search = Search(channel if cells is None else cells, counts if cells is None else cells.together(counts), progress)
    own = channel.likeliest(q, gap)
    fit = mle(channel, q, gap=gap) if own is None and channel.rows <= _DENSE else own
    likeliest = None if fit is None else fit.law
    if likeliest is not None and cells is not None:
        likeliest = np.add.reduceat(likeliest, cells.starts)
    search.run(likeliest)
    alone = None
    if channel.knows_distances or not _has_direct_estimates(channel):
        law, weights, models = search.law()
    else:
        law, weights, models, alone = _with_exchangeable(channel, counts, search, cells, likeliest, progress)
    if cells is not None:
        law = np.repeat(law / cells.sizes, cells.sizes)  # evenly within a cell
        law = (1 - _FLOOR) * law + _FLOOR / channel.rows
    for _ in range(1 if cells is None else cells.sharpening):
        law = law * channel.pull(np.divide(q, channel.push(law), out=np.zeros_like(q), where=q > 0))
    law /= law.sum()
    with_atoms = float(sum(w for w, f in zip(weights, models, strict=True) if f.atoms))
    best = next(
        f for f in models if bool(f.atoms) == (with_atoms > _CLEAR)
    )  # atoms are told where there is little doubt
    places = np.array(best.atoms, dtype=np.float64) if cells is None else cells.middles[list(best.atoms)]
    atoms = tuple(zip(places.tolist(), _masses(best, weights, models).tolist(), strict=True))
    sure = with_atoms if best.atoms else 1 - with_atoms
    note = _model_words(best, sure, len(models), None if cells is None else len(cells.sizes), alone)
    return _fit(channel, q, law, search.steps, note, atoms)


def _fit(
    channel: Finite, q: Floats, law: Floats, steps: int, note: str, atoms: tuple[tuple[float, float], ...] = ()
) -> Fit:
    found = certificate(channel, q, law)
    trace = ((steps, mean_log_likelihood(channel, q, law), found),)
    return Fit(law, found, steps, trace, (note,), True if is_injective(channel, q) else None, atoms)


def _has_direct_estimates(channel: Finite) -> bool:
    """Can the probability of each value be estimated from the reports alone, in a reasonable time?"""
    if channel.kept_and_guessed is not None or channel.hits(np.zeros(channel.reports)) is not None:
        return True
    return channel.rows <= _SINGLE and is_injective_at_all(channel)


def _with_exchangeable(
    channel: Finite,
    counts: Counts,
    search: Search,
    cells: _Cells | None,
    likeliest: Floats | None,
    progress: Progress | None,
) -> tuple[Floats, Floats, list[Fitted], float]:
    """The median of fields and exchangeable models; the weights of the fields; the fields; and the weight of the others.

    Exchangeable values lose a value that few reports speak for, and with it the way to the next one; the likeliest distribution
    does not, but has mass where the noise was. By half of their distance the one is drawn towards the other.
    """
    join = np.asarray if cells is None else lambda law: np.add.reduceat(law, cells.starts)
    found = posterior(channel, counts, progress, join, IN_ORDER)
    models = search.models
    before = np.log([model.weight for model in found.models])
    fields = np.array([f.evidence for f in models]) - search.evidence_of_uniform
    fields += math.log1p(-_ALONE) - math.log(len(SMOOTH) * len(SCALES))
    logs = np.concatenate([fields, found.evidence + math.log(_ALONE) + before - np.logaddexp.reduce(before)])
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    law = median_of(np.vstack([np.array([f.law for f in models]), found.means]), weights)
    alone = float(weights[len(models) :].sum())
    if likeliest is not None:
        part = alone * float(np.abs(law - likeliest).sum()) / 4
        law = (1 - part) * law + part * likeliest
    return law, weights[: len(models)], models, alone


def median_of(laws: Floats, weights: Floats) -> Floats:
    """The distribution whose distribution function is, at each value, the weighted median of those given.

    >>> median_of(np.array([[1.0, 0, 0], [0, 1, 0], [0, 0, 1]]), np.array([0.3, 0.3, 0.4])).tolist()
    [0.0, 1.0, 0.0]
    """
    functions = np.cumsum(laws, axis=1)
    order = np.argsort(functions, axis=0, kind="stable")
    reached = (np.cumsum(weights[order], axis=0) >= weights.sum() / 2).argmax(axis=0)
    place = np.arange(laws.shape[1])
    law = np.maximum(np.diff(functions[order[reached, place], place], prepend=0.0), 0.0)
    return np.asarray(law / law.sum())


def _of_names(channel: Finite, counts: Counts, q: Floats, gap: float, progress: Progress | None) -> Fit:
    """Exchangeable values: exactly so where the channel treats them alike; else by a field without an order, or by the
    likeliest distribution where that field would be too large."""
    if not channel.knows_distances and _has_direct_estimates(channel):
        found = posterior(channel, counts, progress)
        best = found.models[int(found.weights.argmax())]
        return _fit(channel, q, found.distribution, 0, _words_of_names(best, len(found.models)))
    if channel.rows > MODES + 1 or channel.reports > _SINGLE_REPORTS:
        likeliest = mle(channel, q, gap=gap, progress=progress)
        note = (
            f"The likeliest distribution: beyond {MODES + 1} names, and by a mechanism that does not treat them alike, it "
            "is not regularised."
        )
        return replace(likeliest, notes=(*likeliest.notes, note))
    search = Search(channel, counts, progress, WHITE)
    search.run(None)
    law, _, models = search.law()
    note = (
        f"A regularised estimate, the same for every numbering of the values: an average of {len(models)} models, weighed by "
        "how well each explains the reports."
    )
    return _fit(channel, q, law, search.steps, note)


def _words_of_names(best: Model, models: int) -> str:
    if best.share < 1:
        kind = f"about {best.share:.2g} of the values occur"
    else:
        kind = "all values are about equally frequent" if best.shape >= 1 else "a few values have most of the mass"
    return (
        f"A regularised estimate, the same for every numbering of the values: the nearest to {models} models, weighed by how "
        f"well each explains the reports; in the best of them {kind}."
    )


def _masses(best: Fitted, weights: Floats, models: list[Fitted]) -> Floats:
    """The probability of each atom of the best model, averaged over all: an atom of another counts for the nearest one."""
    found, near = np.zeros(len(best.atoms)), max(len(best.law) // 64, 1)
    for weight, model in zip(weights, models, strict=True):
        for place, mass in zip(model.atoms, model.masses, strict=True):
            apart = np.abs(np.array(best.atoms, dtype=np.int64) - place)
            if len(apart) and apart.min() <= near:
                found[apart.argmin()] += weight * mass
    return found


def _model_words(best: Fitted, sure: float, models: int, cells: int | None, alone: float | None) -> str:
    """What was found, in words: the best model, and how much weight models of its kind (with atoms, or without) have; where
    values count each for itself as well, how much weight that has."""
    share = 1 - float(best.masses.sum())
    smooth = {1.0: "rough", 2.0: "smooth", 3.0: "very smooth"}[best.smooth]
    number = len(best.atoms)
    told = f"a {smooth} curve fits best"
    if number:
        told = (
            f"a {smooth} curve with {share:.0%} of the mass and {number} single value{'s' if number > 1 else ''} that "
            f"stand{'' if number > 1 else 's'} out fit best"
        )
    where = (
        ""
        if cells is None
        else f" Found for {cells} cells of the grid, then sharpened by iterations at full resolution."
    )
    if alone is None:
        how = f"A regularised estimate: an average of {models} models, weighed by how well each explains the reports."
        if number:
            weight = f" (models with such values have {sure:.0%} of the weight)"
        elif sure > _CLEAR:
            weight = f"; no single value stands out (models without such values have {sure:.0%} of the weight)"
        else:
            weight = (
                f"; whether single values stand out is not clear (models without them have {sure:.0%} of the weight)"
            )
    else:
        how = (
            f"A regularised estimate: the median of {models} curves and of models without an order, weighed by how well each "
            "explains the reports."
        )
        weight = f" among curves; models without an order have {alone:.0%} of the weight"
    return f"{how} {told[0].upper()}{told[1:]}{weight}.{where}"


class _Cells(Operator):
    """Neighbouring true values in cells, reports in groups.

    Reports that say the same about the true value are grouped: they are sorted by its mean given the report, when all
    values are equally likely, or left in their own order, whichever keeps more chi-square information about the cells. For
    noise around the true value the two are one; the outermost reports of a square wave say little, and so their mean is
    that of reports in the middle which say something else.
    """

    def __init__(self, channel: Finite) -> None:
        edges = _edges(channel.rows)
        flat = np.full(channel.rows, 1 / channel.rows)
        chance = channel.push(flat)
        means = channel.push(flat * np.arange(channel.rows)) / np.where(chance > 0, chance, 1)
        self._groups = _edges(channel.reports)[:-1]
        self.starts, self.sizes = edges[:-1], np.diff(edges)
        self.middles = (edges[:-1] + edges[1:] - 1) / 2
        orders = np.argsort(means, kind="stable"), np.arange(channel.reports)
        tables = np.empty((2, len(self.sizes), len(self._groups)))
        for k, (low, high) in enumerate(pairwise(edges)):
            inside = np.zeros(channel.rows)
            inside[low:high] = 1 / (high - low)
            pushed = channel.push(inside)
            for table, order in zip(tables, orders, strict=True):
                table[k] = np.add.reduceat(pushed[order], self._groups)
        own = _information(tables[1]) > (1 + 1e-9) * _information(tables[0])
        self.order, self.matrix = orders[own], tables[int(own)]
        self.rows, self.reports = self.matrix.shape
        told = float(self.matrix.max(axis=0).sum()) / self.rows  # by the best guess, when all cells are equally likely
        self.sharpening = _NARROWED if told > _NARROW else _SHARPENED

    def together(self, values: NDArray[np.generic]) -> NDArray[np.generic]:
        """Counts or chances of the groups of reports."""
        return np.add.reduceat(values[self.order], self._groups)


def _information(table: Floats) -> float:
    """What a group of reports tells about the cell: the sum of C[x, y]^2 / (mean of C[., y]), the more distributions differ."""
    sums = table.sum(axis=0)
    return float(np.divide(table**2, sums, out=np.zeros_like(table), where=sums > 0).sum())


def _edges(size: int) -> Counts:
    return np.linspace(0, size, min(size, _CELLS) + 1).round().astype(np.int64)
