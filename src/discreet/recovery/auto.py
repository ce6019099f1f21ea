"""A regularised distribution of the true values: the field and atoms of field.py, on the grid itself or on cells of it.

Up to 1024 values each stands for itself. On a longer grid neighbouring values are taken together in cells and reports that say
the same in groups; the distribution of the cells is spread out over their values and sharpened by steps of the
iterative Bayesian update at full resolution, which bring back what narrow noise shows within a cell. Given the reports
the result is always the same.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ..blas import one_thread
from ..channels import Finite
from ..progress import Progress
from .field import Fitted, Operator, Search
from .likelihood import Fit, Floats, certificate, check_possible, is_injective, mean_log_likelihood
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
_DENSE = 512  # true values up to which the likeliest distribution of any channel is quick


def auto(channel: Finite, counts: Counts, *, gap: float = 1e-9, progress: Progress | None = None) -> Fit:
    """A distribution that suits smooth and spiky truths alike; it is mostly nearer to the truth than the likeliest one is.

    It is regularised: its certificate need not be 0. `gap` is for the likeliest distribution, which it looks at on the way.
    """
    q = counts / counts.sum()
    check_possible(channel, q)
    nothing = says_nothing(channel, q)
    if nothing is not None:
        return nothing
    with one_thread():
        single = channel.rows <= _SINGLE and channel.reports <= _SINGLE_REPORTS
        cells = None if single else _Cells(channel)
        search = Search(
            channel if cells is None else cells, counts if cells is None else cells.together(counts), progress
        )
        own = channel.likeliest(q, gap)
        fit = mle(channel, q, gap=gap) if own is None and channel.rows <= _DENSE else own
        likeliest = None if fit is None else fit.law
        search.run(
            None if likeliest is None else likeliest if cells is None else np.add.reduceat(likeliest, cells.starts)
        )
        law, weights, models = search.law()
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
    found, steps = certificate(channel, q, law), search.steps
    trace = ((steps, mean_log_likelihood(channel, q, law), found),)
    sure = with_atoms if best.atoms else 1 - with_atoms
    note = _model_words(best, sure, len(models), None if cells is None else len(cells.sizes))
    return Fit(law, found, steps, trace, (note,), True if is_injective(channel, q) else None, atoms)


def _masses(best: Fitted, weights: Floats, models: list[Fitted]) -> Floats:
    """The probability of each atom of the best model, averaged over all: an atom of another counts for the nearest one."""
    found, near = np.zeros(len(best.atoms)), max(len(best.law) // 64, 1)
    for weight, model in zip(weights, models, strict=True):
        for place, mass in zip(model.atoms, model.masses, strict=True):
            apart = np.abs(np.array(best.atoms, dtype=np.int64) - place)
            if len(apart) and apart.min() <= near:
                found[apart.argmin()] += weight * mass
    return found


def _model_words(best: Fitted, sure: float, models: int, cells: int | None) -> str:
    """What was found, in words: the best model, and how much weight models of its kind (with atoms, or without) have."""
    share = 1 - float(best.masses.sum())
    smooth = {1.0: "rough", 2.0: "smooth", 3.0: "very smooth"}[best.smooth]
    atoms = f"{len(best.atoms)} atom{'s' if len(best.atoms) != 1 else ''} and " if best.atoms else ""
    rest = f"a {smooth} curve" + (f" with {share:.0%} of the mass" if best.atoms else "")
    where = (
        ""
        if cells is None
        else f" Found for {cells} cells of the grid, then sharpened by iterations at full resolution."
    )
    return (
        f"An average of {models} models by their evidence; the best is {atoms}{rest}, and "
        f"{'such with' if best.atoms else 'those without'} atoms have {sure:.0%} of the weight.{where} "
        "It is regularised, so its gap need not be 0."
    )


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
