"""The inequalities of a design, all of one form: P[p] - u P[q] >= h, for entries p and q of the matrix.

Entries are numbered row by row. What other inequalities imply is left out: its multipliers are zero.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .certificate import Dual
from .problem import Floats, Problem

Indices = NDArray[np.int64]


def scatter(index: NDArray[Any], weight: NDArray[Any], size: int) -> Floats:
    """The sum of the weights that fall on each index."""
    return np.bincount(index, weight, size).astype(np.float64, copy=False)


def essential(require: frozenset[str]) -> frozenset[str]:
    """The properties without those that others imply, and without S, which a symmetric cost gives for free.

    CM implies CH, CH implies WH, RM implies RH; with F the conditions CH and RH are the same, and imply WH.
    """
    kept = set(require) - {"S"}
    if "F" in kept and kept & {"CH", "RM", "RH"} and "CM" not in kept:
        kept = (kept | {"RH"}) - {"CH"}
    if "F" in kept and kept & {"RH", "RM", "CM"}:
        kept -= {"CH", "WH"}
    if "F" in kept and "CM" in kept:
        kept -= {"RH"}
    if "CM" in kept:
        kept -= {"CH", "WH"}
    if "CH" in kept:
        kept -= {"WH"}
    if "RM" in kept:
        kept -= {"RH"}
    return frozenset(kept)


class InequalityList:
    """Which inequalities P[p] - u P[q] >= h there are: by neighbours and properties alone. Those of the level have u = nan here,
    and alpha in Inequalities."""

    def __init__(self, size: int, edges: tuple[tuple[int, int], ...], require: frozenset[str]) -> None:
        self.size, self._parts = size, list[tuple[Any, ...]]()
        place, nothing = np.arange(size), size * size
        pairs = np.array(edges)
        for way, (one, other) in enumerate(((pairs[:, :1], pairs[:, 1:]), (pairs[:, 1:], pairs[:, :1]))):
            needed = np.ones((len(pairs), size), dtype=bool)
            if "RM" in require:  # implied where `one` lies between the report and `other`
                needed &= ~(((place <= one) & (one < other)) | ((other < one) & (one <= place)))
            elif "RH" in require:
                needed &= one != place
            slot = (2 * np.arange(len(pairs))[:, None] + way) * size + place
            self._add("level", one * size + place, other * size + place, np.nan, slot, needed)
        row, column = np.arange(size - 1)[:, None], place[None, :]
        near, far = np.where(row >= column, row, row + 1), np.where(row >= column, row + 1, row)
        if "RM" in require:
            self._add("RM", near * size + column, far * size + column, 1.0, row * size + column)
        if "CM" in require:  # the same along the rows
            self._add("CM", column * size + near, column * size + far, 1.0, column * (size - 1) + row)
        i, j = place[:, None], place[None, :]
        if "RH" in require:
            self._add("RH", 0 * i + j * size + j, i * size + j, 1.0, i * size + j, i != j)
        if "CH" in require:
            self._add("CH", i * size + i + 0 * j, i * size + j, 1.0, i * size + j, i != j)
        if "WH" in require:
            self._add("WH", place * size + place, np.full(size, nothing), 0.0, place, h=1 / size)
        lonely = np.flatnonzero(np.bincount(pairs.ravel(), minlength=size) == 0)  # P >= 0 is implied by any neighbour
        alone = (lonely[:, None] * size + place).ravel()
        if "WH" in require:
            alone = alone[alone // size != alone % size]
        self._add("", alone, np.full(len(alone), nothing), 0.0, np.zeros(len(alone), dtype=np.int64))
        self.p, self.q, self.u, self.h = (np.concatenate([part[k] for part in self._parts]) for k in (0, 1, 3, 4))
        self.is_level = np.isnan(self.u)
        self.is_ch = np.concatenate([np.full(len(part[0]), part[5] == "CH") for part in self._parts])
        ends = np.cumsum([len(part[0]) for part in self._parts]).tolist()
        #: for each kind: its name, where it starts and ends, and the place of each multiplier in a certificate
        self.kinds = [(part[5], end - len(part[0]), end, part[2]) for part, end in zip(self._parts, ends, strict=True)]
        del self._parts

    def _add(self, name: str, p: Any, q: Any, u: float, slot: Any, needed: Any = True, h: float = 0.0) -> None:
        p, q, slot, mask = np.broadcast_arrays(p, q, slot, needed)
        count = int(mask.sum())
        self._parts.append((p[mask], q[mask], slot[mask], np.full(count, u), np.full(count, h), name))

    def mirrored(self) -> Indices:
        """The number of the mirror image of each inequality."""
        last = self.size**2
        key = self.p * (last + 1) + self.q
        order = np.argsort(key, kind="stable")
        image = (last - 1 - self.p) * (last + 1) + np.where(self.q == last, last, last - 1 - self.q)
        return np.asarray(order[np.searchsorted(key[order], image)])


class Inequalities:
    """All inequalities of a problem; q = size^2 where there is no second entry."""

    def __init__(self, problem: Problem, require: frozenset[str], listed: InequalityList | None = None) -> None:
        self.problem, self.require, self.size = problem, require, problem.size
        self.listed = listed = InequalityList(problem.size, problem.edges, require) if listed is None else listed
        self.p, self.q, self.h, self.is_ch = listed.p, listed.q, listed.h, listed.is_ch
        self.u = np.where(listed.is_level, float(problem.level.alpha), listed.u)

    def __len__(self) -> int:
        return len(self.p)

    def slack(self, matrix: Floats) -> Floats:
        """P[p] - u P[q] - h."""
        flat = np.append(matrix.ravel(), 0.0)
        return np.asarray(flat[self.p] - self.u * flat[self.q] - self.h)

    def payments(self, multipliers: Floats) -> Floats:
        """What multipliers pay to each entry: the transpose of the left-hand sides."""
        size = self.size * self.size
        paid = scatter(self.p, multipliers, size + 1) - scatter(self.q, self.u * multipliers, size + 1)
        return np.asarray(paid[:-1].reshape(self.size, self.size))

    def dual(self, rows: Floats, multipliers: Floats, fair: Floats | None, prior: Floats | None) -> Dual:
        """Multipliers by kind, as certificates have them. `fair` are what fairness adds to the diagonal: they sum to 0."""
        size, edges = self.size, len(self.problem.edges)
        shapes = {
            "level": (2 * edges, size),
            "RM": (size - 1, size),
            "CM": (size, size - 1),
            "RH": (size, size),
            "CH": (size, size),
            "WH": (size,),
        }
        told: dict[str, Floats] = {"level": np.zeros(shapes["level"])}
        for name, start, end, slot in self.listed.kinds:
            if name and end > start:
                told.setdefault(name, np.zeros(shapes[name])).ravel()[slot] = multipliers[start:end]
        if fair is not None:
            told["F"] = np.cumsum(fair)[:-1]
        return Dual(rows, told.pop("level"), told, prior)


def inner_point(problem: Problem) -> Floats:
    """A matrix that satisfies every property and every level constraint strictly, whatever the graph of neighbours."""
    size, last = problem.size, problem.size - 1
    truth, report = np.arange(size)[:, None], np.arange(size)[None, :]
    apart, room = np.abs(truth - report).astype(np.float64), np.minimum(truth, last - truth)
    # ranks 0, 1.5, 3.5, ... on both sides while there is room, then one by one: every row has the same mean ...
    rank = np.where(apart == 0, 0.0, np.where(apart <= room, 2 * apart - 0.5, apart + room))
    mean = (truth * (truth + 1) + (last - truth) * (last - truth + 1)) / (2 * last)
    rank = rank + (apart - np.where(apart == 0, 0.0, mean)) / size  # ... also with strict orders both ways
    height = 1 - 2 * rank / last
    height /= np.abs(height).max()
    edges = np.array(problem.edges)
    steepest = float(np.abs(height[edges[:, 0]] - height[edges[:, 1]]).max())
    tilt = min(0.5, 0.5 * float(1 - problem.level.alpha) / max(steepest, 1e-9))
    tilt = tilt / (1 + tilt)  # neighbours differ by at most tilt * steepest, entries are at least 1 - tilt
    return np.asarray((1 + tilt * height) / size)
