"""A regularised law of the true values: how far to go towards the maximum likelihood is decided on the reports.

On a grid of up to 256 values the law is a blend of an average over laws of few bumps and of an estimate near the maximum
likelihood (smoothing.py). On a longer grid, what can be done depends on the noise:

  * wide noise hides what happens within a five-hundredth of the range. Neighbouring values are taken together in cells,
    reports in groups; the blend is found for the cells, spread out over their values, and sharpened by a few steps of the
    iterative Bayesian update at full resolution.
  * narrow noise shows more than the cells could hold, and there is little to regularise. Stopped iterations and the
    maximum likelihood estimate are averaged, weighed by how well they predict reports that were held out.

Given the reports the result is always the same: the random numbers of the analysis start from a fixed seed.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from ..blas import one_thread
from ..channels import Finite
from ..channels.contract import MATRIX_ENTRIES
from ..progress import Progress
from .bumps import STEPS, STRATA, USUAL
from .heldout import held_out_average, iterate
from .likelihood import Fit, Floats, certificate, is_injective, mean_log_likelihood
from .mle import mle
from .smoothing import Cells, Counts, blend

_SEED = 0
_SINGLE = 256  # true values up to which each is a cell of its own
_CELLS = 512  # cells of a longer grid
_SINGLE_REPORTS = 1024  # reports up to which each stands alone, where the true values do
_GROUPS = 256  # groups of reports otherwise
_NARROW = 0.05  # a report tells the cell with this chance: the noise is hardly wider than the cells
_SHARPENED = 30  # steps at full resolution, after the cells
_FLOOR = 1e-3  # part of the uniform law with which they start: a step cannot fill a value without any mass
_PATH = (3, 10, 30, 100, 300, 1000, 3000)  # steps of the iterative Bayesian update to choose from
_WORK = 6e7  # steps times true values; a path is cut where it would take more
_PRODUCTS = 10  # entries of a matrix that take the time of one true value in a recursion
_DENSE = 512  # true values up to which the maximum likelihood estimate of any channel is quick


def auto(channel: Finite, counts: Counts, *, gap: float = 1e-9, progress: Progress | None = None) -> Fit:
    """A law that suits smooth and spiky truths alike; for most truths it is nearer to them than the likeliest law is.

    It is regularised: its certificate is not meant to be 0. `gap` is for the maximum likelihood estimates that it may look
    at on the way.
    """
    q = counts / counts.sum()
    with one_thread():
        if channel.rows <= _SINGLE and channel.reports <= _SINGLE_REPORTS:
            return _finished(channel, q, *_blended(_each_value(channel, counts), progress))
        cells, told = _grouped(channel, counts)
        if channel.rows > _SINGLE and told > _NARROW:
            return _finished(channel, q, *_averaged(channel, counts, gap, progress))
        law, steps, note = _blended(cells, progress, coarse=True)
        if channel.rows == cells.rows:
            return _finished(channel, q, law, steps, note)
        law = np.repeat(law / cells.sizes, cells.sizes)  # evenly within a cell
        law = iterate(channel, q, (1 - _FLOOR) * law + _FLOOR / channel.rows, _SHARPENED)
        law /= law.sum()
        note = f"Found for {cells.rows} cells of the grid, then sharpened by {_SHARPENED} iterations. {note}"
        return _finished(channel, q, law, steps + _SHARPENED, note)


def _finished(channel: Finite, q: Floats, law: Floats, steps: int, note: str) -> Fit:
    found = certificate(channel, q, law)
    trace = ((steps, mean_log_likelihood(channel, q, law), found),)
    note = f"{note} It is regularised, so its gap is not meant to be 0."
    return Fit(law, found, steps, trace, (note,), True if is_injective(channel, q) else None)


def _blended(cells: Cells, progress: Progress | None, coarse: bool = False) -> tuple[Floats, int, str]:
    """The blend for cells. For single values it is as it was validated, with strata that do not grow with the grid."""
    rng = np.random.default_rng(_SEED)
    if coarse:
        limits = tuple(least * max(1.0, cells.rows / USUAL) for least in STRATA)
        found = blend(cells, rng, limits=limits, near=_stopped, progress=progress)
    else:
        found = blend(cells, rng, progress=progress)
    note = (
        f"A blend: {1 - found.near:.0%} an average over laws of few bumps ({found.bumps:.1f} on average), "
        f"{found.near:.0%} near the maximum likelihood."
    )
    return found.law, STEPS, note


# Cells and groups


def _each_value(channel: Finite, counts: Counts) -> Cells:
    """Every true value and every report by itself."""
    seen = counts > 0
    matrix = np.ascontiguousarray(channel.matrix[:, seen])
    return Cells(np.ones(channel.rows, dtype=np.int64), matrix, counts[seen])


def _grouped(channel: Finite, counts: Counts) -> tuple[Cells, float]:
    """Neighbouring true values in cells, reports in groups; and how well a report tells its cell.

    Reports that say the same about the true value are grouped: they are sorted by its mean given the report, when all
    values are equally likely. For noise around the true value that is their own order; for others it need not be.
    """
    edges = _edges(channel.rows, _CELLS)
    flat = np.full(channel.rows, 1 / channel.rows)
    chance = channel.push(flat)
    means = channel.push(flat * np.arange(channel.rows)) / np.where(chance > 0, chance, 1)
    order = np.argsort(means, kind="stable")
    starts = _edges(channel.reports, _GROUPS)[:-1]
    matrix = np.empty((len(edges) - 1, len(starts)))
    for k, (low, high) in enumerate(pairwise(edges)):
        inside = np.zeros(channel.rows)
        inside[low:high] = 1 / (high - low)
        matrix[k] = np.add.reduceat(channel.push(inside)[order], starts)
    together = np.add.reduceat(counts[order], starts)
    seen = together > 0
    told = float(matrix.max(axis=0).sum()) / len(matrix)  # by the best guess, when all cells are equally likely
    return Cells(np.diff(edges), np.ascontiguousarray(matrix[:, seen]), together[seen]), told


def _edges(size: int, most: int) -> Counts:
    return np.linspace(0, size, min(size, most) + 1).round().astype(np.int64)


# Iterations that stop


def _stopped(cells: Cells) -> Floats:
    """In place of 5000 steps on many cells, which are too many for smooth truths there: as far as held-out reports say."""
    return held_out_average(cells, cells.counts, _PATH, np.random.default_rng(_SEED)).law


def _averaged(channel: Finite, counts: Counts, gap: float, progress: Progress | None) -> tuple[Floats, int, str]:
    """Stopped iterations and, where it is quick to find, the maximum likelihood estimate, at full resolution."""
    structured = channel.is_structured
    entries = channel.rows * channel.reports
    work = channel.rows if structured or entries > MATRIX_ENTRIES else entries / _PRODUCTS
    path = [steps for steps in _PATH if steps * work <= _WORK] or [_PATH[0]]
    quick = structured or channel.rows <= _DENSE

    def likeliest(q: Floats) -> Floats:
        return mle(channel, q, gap=gap).law

    rng = np.random.default_rng(_SEED)
    law, weights = held_out_average(channel, counts, path, rng, likeliest if quick else None, progress)
    names = [f"{steps} iterations" for steps in path] + ["the maximum likelihood estimate"]
    parts = [f"{weight:.0%} {name}" for name, weight in zip(names, weights, strict=False) if weight > 0.005]
    return law, path[-1], f"An average, weighed on held-out reports: {', '.join(parts)}."
