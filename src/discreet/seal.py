"""The one door from real numbers to integers: a target becomes a table whose level and properties hold exactly."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import flint
import numpy as np
from numpy.typing import NDArray

from .channels.contract import Integers, Ratio
from .channels.properties import WORDS, letters_of, shape_faults
from .channels.ratios import pair_ratio, window_extreme, worst_ratio
from .channels.table import MAX_ENTRIES, MAX_TOTAL, Table, cells
from .errors import PrivacyError, RemapError, SealError, SizeError, StructureError
from .exact.arithmetic import float_above, minus_log_above, show_above
from .exact.given import rows_of, stochastic
from .exact.grid import Grid
from .exact.level import Level
from .exact.neighbours import Neighbours

Near = int | Sequence[tuple[int, int]]  # neighbours as rows: all at most so many steps apart, or the pairs themselves

WITHIN = Fraction(1, 10**9)  # a target is moved by no more than this, in total variation

_BITS = 160  # of the fixed point in which targets are mended: far finer than the integers they become
_ONE = 1 << _BITS


@dataclass(frozen=True)
class Sealed:
    """A table whose level and required properties were verified on its integers, and how far it is from its target."""

    table: Table
    distance: float


def seal(
    target: Any,
    level: Level | None,
    require: Iterable[str] | str = (),
    neighbours: Any = 1,
    within: Fraction = WITHIN,
    grid: Grid | None = None,
) -> Sealed:
    """The target as integers, private at the level and with the required properties, exactly; or refused.

    `target` is a matrix of probabilities (floats, Fractions or texts), rows being true values; without a level nothing
    is asked about privacy. `neighbours` are those of the grid of true values (without one, of rows 0, 1, 2, ...), without
    distances other than 1. A target with a small common denominator that holds what is asked is kept as it is. Any
    other is moved as little as rounding needs (docs/theory/sealing.md has the proof): equal entries become one number,
    required orders are evened out, what a row then lacks goes where it can break no order, and so much of a strictly
    private and strictly honest matrix is mixed in that rounding breaks nothing either. Reports of probability zero stay
    so. A target that would have to be moved by more than `within` is refused, with the entries that show why.
    """
    letters = letters_of(require)
    fixed, exact = read_matrix(target)
    rows, reports = fixed.shape
    if letters and rows != reports:
        raise StructureError(
            f"The seven properties compare reports with true values, and here are {reports} and {rows} of them; "
            "require none, or give a square matrix."
        )
    places = Grid(0, rows - 1) if grid is None else grid
    told = Neighbours.of(neighbours, places)
    near = told.span(places) or told.places(places)
    kept = _kept(fixed, exact, level, letters, near)
    return _rounded(fixed, level, letters, near, within) if kept is None else Sealed(kept, 0.0)


def read_matrix(target: Any) -> tuple[Integers, list[list[Fraction]] | None]:
    """A matrix of probabilities in fixed point, rounded down, and as Fractions (None for an array of floats).

    Rows must sum to 1 up to the rounding of floats.
    """
    listed = rows_of(target, "The matrix", least=2, error=SealError)
    if len(listed) * len(listed[0]) > MAX_ENTRIES:
        raise SizeError(
            f"A table holds at most 2^20 weights, not {len(listed)} x {len(listed[0])}; use a coarser grid."
        )
    plain = isinstance(target, np.ndarray) and target.dtype == np.float64
    if plain and (target >= 0).all() and (np.abs(target.sum(axis=1) - 1) < float(WITHIN)).all():
        return _fixed(target), None
    exact = stochastic(listed, "The matrix", error=SealError)
    return np.array([[x.numerator * _ONE // x.denominator for x in row] for row in exact], dtype=object), exact


def _fixed(floats: NDArray[np.float64]) -> Integers:
    """Floats in fixed point, rounded down: a thousand times faster than one by one."""
    mantissa, exponent = np.frexp(floats)
    whole, shift = (mantissa * 2.0**53).astype(np.int64).astype(object), exponent.astype(np.int64) - 53 + _BITS
    return np.asarray((whole << np.maximum(shift, 0).astype(object)) >> np.maximum(-shift, 0).astype(object))


# Targets that need no rounding


def _kept(
    fixed: Integers,
    exact: list[list[Fraction]] | None,
    level: Level | None,
    letters: frozenset[str],
    neighbours: Near,
) -> Table | None:
    """The target's own integers, where its common denominator is small and it holds all that is asked."""
    if exact is None:  # floats: their denominators are powers of two
        unit = _ONE // MAX_TOTAL
        if (fixed % unit != 0).any() or (fixed.sum(axis=1) != _ONE).any():
            return None
        weights = (fixed // unit).astype(np.uint64)
    else:
        common = 1
        for row in exact:
            common = math.lcm(common, *(x.denominator for x in row))
            if common > MAX_TOTAL or sum(row) != 1:
                return None
        total = largest_total(common, len(exact[0]))
        if total is None:
            return None
        weights = np.array([[int(x * total) for x in row] for row in exact], dtype=np.uint64)
    table = Table(weights)
    return table if _holds(table, level, letters, neighbours) else None


def _holds(table: Table, level: Level | None, letters: frozenset[str], neighbours: Near) -> bool:
    if level is not None:
        worst = table.worst(neighbours) if isinstance(neighbours, int) else _worst_pair(table.weights, neighbours)
        if worst.alpha < level.alpha:
            return False
    return not shape_faults(table.weights, table.total, letters)


def _worst_pair(weights: Integers, pairs: Sequence[tuple[int, int]]) -> Ratio:
    """The largest ratio of these pairs, with its witness."""
    return min((pair_ratio(weights, *pair) for i, k in pairs for pair in ((i, k), (k, i))), key=lambda r: r.alpha)


# Targets that do


def _rounded(
    target: Integers, level: Level | None, letters: frozenset[str], neighbours: Near, within: Fraction
) -> Sealed:
    possible = np.asarray((target > 0).any(axis=0))
    used = np.flatnonzero(possible | possible[::-1] if "S" in letters else possible)
    if "F" in letters and len(used) < len(target):  # then no truth is ever reported: no inner matrix has that
        raise _refusal(target, used, level, letters, neighbours)
    takers = _takers(target, used, letters)
    mended = _mended(target, used, letters, takers)
    inner = _inner(target.shape, used, letters, Fraction(0) if level is None else level.alpha)
    total = MAX_TOTAL  # a power of two, and so a multiple of every number of cells
    margin = (len(used) + 4) * (_ONE // total)  # rounding and making rows whole moves no entry by more
    pairs = zip(*(_slacks(m, used, level, letters, neighbours) for m in (mended, inner)), strict=True)
    share = max((_share(have, give, margin) for (_, have), (_, give) in pairs), default=0.0)
    if share > 1:
        raise _refusal(target, used, level, letters, neighbours)
    part = math.ceil(share * _ONE)
    weights = _whole((((_ONE - part) * mended + part * inner) >> _BITS) * total >> _BITS, total, letters, takers)
    moved = Fraction(int(np.abs(weights * (_ONE // total) - target).sum(axis=1).max()) + len(target[0]), 2 * _ONE)
    if moved > within:
        raise _refusal(target, used, level, letters, neighbours)
    table = Table(weights.astype(np.uint64))
    if not _holds(table, level, letters, neighbours):
        raise AssertionError("a sealed table must hold what was asked of it")  # a fault in here: never go on
    return Sealed(table, math.nextafter(float(moved), 1.0))


def _takers(target: Integers, used: NDArray[np.int64], letters: frozenset[str]) -> list[list[int]]:
    """For each row the reports that take what the row lacks: the truth, or else the nearest reports in use.

    With fairness the truth must not move, and its neighbours take it. Two takers share alike.
    """
    if not letters:
        return [[int(np.argmax(row))] for row in target]
    apart = np.abs(used - np.arange(len(target))[:, None])
    if "F" in letters:
        apart[apart == 0] = len(target)
    found: list[list[int]] = [[] for _ in target]
    rows, nearest = np.nonzero(apart == apart.min(axis=1, keepdims=True))
    for i, report in zip(rows.tolist(), used[nearest].tolist(), strict=True):
        found[i].append(report)
    return found


def _mended(target: Integers, used: NDArray[np.int64], letters: frozenset[str], takers: list[list[int]]) -> Integers:
    """Equal where equality is required, in order where an order is (but for the takers), and every row whole."""
    mended = target.copy()
    if "S" in letters:
        mended = (mended + mended[::-1, ::-1]) // 2
    if "F" in letters:
        np.fill_diagonal(mended, int(mended.diagonal().sum()) // len(mended))
    _raise_nearer(mended, "RM" in letters, "CM" in letters)
    if "RM" in letters:  # beyond the reports in use every entry could only fall, yet rows sum to one: all are equal
        mended[: used[0]], mended[used[-1] + 1 :] = mended[used[0]], mended[used[-1]]
    for row, reports in zip(mended, takers, strict=True):
        row[reports] += (_ONE - int(row.sum())) // len(reports)
    return mended


def _raise_nearer(matrix: Integers, by_truth: bool, by_report: bool) -> None:
    """Raise entries off the diagonal to those farther from it, in place: from the corners inwards."""
    truth, report = np.arange(matrix.shape[0])[:, None], np.arange(matrix.shape[1])
    above = (truth < report) & (by_truth or by_report)
    for turned in (matrix, matrix[::-1, ::-1]):  # what lies below the diagonal, turned around, lies above it
        raised = np.where(above, turned, 0)
        if by_truth:
            raised = np.maximum.accumulate(raised, axis=0)
        if by_report:
            raised = np.maximum.accumulate(raised[:, ::-1], axis=1)[:, ::-1]
        turned[above] = raised[above]


def _inner(shape: tuple[int, ...], used: NDArray[np.int64], letters: frozenset[str], alpha: Fraction) -> Integers:
    """A matrix that is strictly private, and strictly within every required order that concerns a taker.

    Nearly uniform on the reports in use, and a little higher at the truth: with fairness also at its neighbours, and
    at the ends, where there is only one, twice as much. Truths between two reports in use pass from one to the other.
    """
    rows, size = shape[0], len(used)
    extra = int((1 - alpha) * _ONE / (4 * (size + 1)))
    matrix = np.zeros(shape, dtype=object)
    if shape[0] != shape[1]:
        matrix[:, used] = _ONE // size
        return matrix
    place = np.arange(rows)
    if "F" in letters:
        step = extra // 4
        matrix[place[1:], place[:-1]] = matrix[place[:-1], place[1:]] = step
        matrix[0, 1] = matrix[-1, -2] = 2 * step
        matrix[place, place] = extra
        return np.asarray(matrix + (_ONE - extra - 2 * step) // size)
    if "RM" in letters:
        for i in place:
            right = min(int(np.searchsorted(used, i)), size - 1)
            left = max(right - 1, 0) if used[right] > i else right
            gap = int(used[right] - used[left])
            passed = min(max(int(i - used[left]), 0), gap)
            matrix[i, used[right]] = extra * passed // max(gap, 1)
            matrix[i, used[left]] = extra * (gap - passed) // gap if gap else extra
    else:
        matrix[:, used] = extra // size
        matrix[used] = 0
        matrix[used, used] = extra
    matrix[:, used] += (_ONE - extra) // size
    return matrix


def _slacks(
    m: Integers, used: NDArray[np.int64], level: Level | None, letters: frozenset[str], neighbours: Near
) -> Iterator[tuple[str, Integers]]:
    """Everything that must not be negative, by the letter that asks for it; "" is the level."""
    if level is not None or letters:  # else zeros stay, and rounding down keeps the rest
        yield "", m[:, used]
    if level is not None:
        p, q = level.alpha.numerator, level.alpha.denominator
        yield "", (q * m[:, used] - p * _largest_near(m[:, used], neighbours)) // q
    for letter, matrix in (("R", m), ("C", m.T)):
        if f"{letter}M" in letters:
            yield f"{letter}M", _outward_steps(matrix)
        if letters & {f"{letter}M", f"{letter}H"}:
            yield f"{letter}H", matrix.diagonal()[None, :] - matrix
    if "WH" in letters:
        yield "WH", m.diagonal() - _ONE // len(m)


def _largest_near(m: Integers, neighbours: Near) -> Integers:
    """For each entry, the largest in its column among the neighbours of its row."""
    if isinstance(neighbours, int):
        return window_extreme(m, neighbours, np.maximum)
    largest = m.copy()
    for i, k in neighbours:
        largest[i], largest[k] = np.maximum(largest[i], m[k]), np.maximum(largest[k], m[i])
    return largest


def _outward_steps(m: Integers) -> Integers:
    """Along each column, by how much the entry nearer to the diagonal exceeds the next one."""
    truth, report = np.arange(len(m) - 1)[:, None], np.arange(len(m))[None, :]
    return np.asarray(np.where(truth < report, m[1:] - m[:-1], m[:-1] - m[1:]))


def _share(have: Integers, give: Integers, margin: int) -> float:
    """How much of the inner matrix must be mixed in, rounded up; above 1 when it does not help.

    Where the inner matrix has no slack, two entries without takers are compared, and rounding down keeps their order.
    """
    have, give = have.ravel(), give.ravel()
    short = np.flatnonzero((have < 0) | ((have < margin) & (give > 0)))
    if len(short) == 0:
        return 0.0
    lack, gain = (margin - have[short]).astype(np.float64), (give[short] - have[short]).astype(np.float64)
    helps = give[short] > margin
    return float((lack[helps] / gain[helps]).max(initial=0.0)) * (1 + 1e-12) if helps.all() else math.inf


def _whole(weights: Integers, total: int, letters: frozenset[str], takers: list[list[int]]) -> Integers:
    """Rows that sum to the total: the takers get what is left, and the mirror image of a row its mirror image."""
    if "F" in letters:  # even, like the total: with symmetry the two takers of the middle row share alike
        np.fill_diagonal(weights, weights.diagonal().min() // 2 * 2)
    for i, (row, reports) in enumerate(zip(weights, takers, strict=True)):
        lack = total - int(row.sum())
        for k, report in enumerate(reports if 2 * i < len(weights) else reports[::-1]):
            row[report] += (lack + k) // len(reports)
    return weights


def _refusal(
    target: Integers, used: NDArray[np.int64], level: Level | None, letters: frozenset[str], neighbours: Near
) -> SealError | PrivacyError | StructureError:
    """Why a target cannot be sealed: what it breaks most."""
    broken = {
        letter: -int(min(slack.ravel(), default=0))
        for letter, slack in _slacks(target, used, level, letters, neighbours)
        if not letter or letter in letters
    }
    if "F" in letters:
        broken["F"] = int(target.diagonal().max() - target.diagonal().min())
    if "S" in letters:
        broken["S"] = int(np.abs(target - target[::-1, ::-1]).max())
    worst = max(broken, key=lambda letter: broken[letter], default="")
    if broken.get(worst, 0) <= 2:  # no more than the fixed point's own rounding
        return SealError(
            "The target leaves 63-bit integers no room; ask for a smaller alpha (a larger epsilon), or for less."
        )
    if worst:
        fault = shape_faults(target, _ONE, [worst])[worst]
        return StructureError(
            f"The matrix does not have {worst} ({WORDS[worst]}): {_entry(target, fault.low)}, "
            f"while {_entry(target, fault.high) if fault.high else f'guessing has {1 / len(target):.9g}'}; "
            f"leave {worst} out of what is required, or change the matrix.",
            fault=fault,
        )
    assert level is not None
    ratio = worst_ratio(target, neighbours) if isinstance(neighbours, int) else _worst_pair(target, neighbours)
    told = show_above(minus_log_above(ratio.alpha))
    return PrivacyError(
        f"The matrix is not private at {level}: {_entry(target, (ratio.first, ratio.report or 0))}, "
        f"but {_entry(target, (ratio.second, ratio.report or 0))}; "
        + ("no epsilon holds: change the matrix." if ratio.bound is None else f"ask for epsilon {told} or more."),
        witness=ratio,
    )


def _entry(m: Integers, place: tuple[int, int]) -> str:
    i, j = place
    return f"row {i}, column {j} is {int(m[i, j]) / _ONE:.9g}"


# Totals, and matrices for post-processing


def largest_total(divisor: int, reports: int) -> int | None:
    """The largest total <= 2^63 that `divisor` and the cells of the drawing structure divide; None if there is none.

    Close to 2^63, so that hardly any 64-bit word has to be drawn again.
    """
    unit = math.lcm(divisor, cells(reports))
    return unit * (MAX_TOTAL // unit) or None


def total_variation_above(terms: Iterable[tuple[int, int, flint.arb]], total: int) -> float:
    """An upper bound of half the sum of multiplicity * |weight - target| over the total.

    Terms are (multiplicity, weight, target), targets as balls on the scale of the weights.
    """
    gap = sum((m * abs(flint.arb(w) - t) for m, w, t in terms), flint.arb(0))
    if gap == 0:
        return 0.0
    return float_above(lambda: gap / (2 * total))


def stochastic_table(matrix: Any) -> tuple[Table, float]:
    """A stochastic matrix (floats, Fractions or texts) as a Table, for post-processing: no privacy rests on it.

    Exact when the common denominator fits; else each row is rounded down and its largest entry takes the rest. The
    second result bounds the total variation between a row and its rounding.
    """
    read = stochastic(matrix, "The remap", error=RemapError)
    exact_rows = [[x / whole for x in row] for row in read for whole in [sum(row)]]
    reports = len(exact_rows[0])
    common = largest_total(math.lcm(*(x.denominator for row in exact_rows for x in row)), reports)
    total = common or cells(reports) * (MAX_TOTAL // cells(reports))
    rounded = [_whole_row(row, total) for row in exact_rows]
    apart = max(
        sum(abs(x - Fraction(w, total)) for x, w in zip(row, ws, strict=True)) / 2
        for row, ws in zip(exact_rows, rounded, strict=True)
    )
    return Table(np.array(rounded, dtype=np.uint64)), math.nextafter(float(apart), 1.0) if apart else 0.0


def _whole_row(row: list[Fraction], total: int) -> list[int]:
    whole = [x.numerator * total // x.denominator for x in row]
    whole[row.index(max(row))] += total - sum(whole)
    return whole
