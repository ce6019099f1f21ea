"""The one model given to HiGHS, with the one set of tolerances.

What it returns is a suggestion in floats: whoever asks proves what he needs from it in integers. The defaults of the
solver will not do: at its tolerance of 1e-7 a basis called optimal was infeasible, and it drops entries below 1e-9, with
which the privacy constraints of a small alpha vanish.
"""

from __future__ import annotations

from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

_OPTIONS: dict[str, Any] = {
    "output_flag": False,
    "threads": 1,
    "presolve": "off",  # models that go on from their last solution, or are small: looking for shortcuts costs more
    "primal_feasibility_tolerance": 1e-10,
    "dual_feasibility_tolerance": 1e-10,
    "small_matrix_value": 1e-12,
}
_FEW = 2**13  # places of a matrix up to which it is sooner written in full than gathered from its entries


class Optimum(NamedTuple):
    """The value of the objective, the unknowns, and the multipliers of the rows."""

    value: float
    unknowns: Floats
    multipliers: Floats


@final
class Program:
    """min cost . x subject to lower <= A x <= upper and 0 <= x <= most, by the simplex method.

    `entries` are (row, column, value) of A, in any order; several at one place add up. Solved again with another cost it
    goes on from its last solution.
    """

    def __init__(
        self,
        cost: ArrayLike,
        entries: tuple[ArrayLike, ArrayLike, ArrayLike],
        lower: ArrayLike,
        upper: ArrayLike,
        most: ArrayLike = np.inf,
        **options: Any,
    ) -> None:
        import highspy  # a slow import, kept out of the way of those who do not need it

        self._cost = np.asarray(cost, dtype=np.float64)
        self._columns, count = np.arange(len(self._cost), dtype=np.int32), len(self._cost)
        low = np.asarray(lower, dtype=np.float64)
        start, index, values = _by_rows(entries, len(low), count)
        self._optimal = highspy.HighsModelStatus.kOptimal
        self._solver = highspy.Highs()
        for name, value in {**_OPTIONS, **options}.items():
            self._solver.setOptionValue(name, value)
        most = np.broadcast_to(np.asarray(most, dtype=np.float64), (count,)).copy()
        high = np.asarray(upper, dtype=np.float64)
        form, sense = int(highspy.MatrixFormat.kRowwise), int(highspy.ObjSense.kMinimize)
        continuous = np.zeros(count, dtype=np.int32)
        sizes = count, len(low), len(values), form, sense, 0.0  # the last: a constant of the objective
        bounds = np.zeros(count), most, low, high
        self._solver.passModel(*sizes, self._cost, *bounds, start, index, values, continuous)

    def solve(self, cost: ArrayLike | None = None) -> Optimum | None:
        """The optimum; None where the solver finds none, from its last solution or afresh."""
        if cost is not None:
            self._cost = np.asarray(cost, dtype=np.float64)
            self._solver.changeColsCost(len(self._cost), self._columns, self._cost)
        self._solver.run()
        if self._solver.getModelStatus() != self._optimal:
            self._solver.clearSolver()  # from the start, not from where it was
            self._solver.run()
        if self._solver.getModelStatus() != self._optimal:
            return None
        found = self._solver.getSolution()
        unknowns = np.array(found.col_value)
        return Optimum(float(self._cost @ unknowns), unknowns, np.array(found.row_dual))

    def tight(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Of the last solution's corner: the rows and the unknowns that lie at one of their ends and make it."""
        import highspy

        basis, basic = self._solver.getBasis(), highspy.HighsBasisStatus.kBasic
        return tuple(np.array([one != basic for one in part]) for part in (basis.row_status, basis.col_status))  # type: ignore[return-value]

    @property
    def status(self) -> str:
        """How the last attempt ended, in the solver's words."""
        return str(self._solver.modelStatusToString(self._solver.getModelStatus()))


def dense(matrix: ArrayLike) -> tuple[NDArray[Any], NDArray[Any], Floats]:
    """A full matrix as the entries of a Program."""
    rows = np.asarray(matrix, dtype=np.float64)
    row, column = np.indices(rows.shape)
    return row.ravel(), column.ravel(), rows.ravel()


def _by_rows(
    entries: tuple[ArrayLike, ArrayLike, ArrayLike], rows: int, columns: int
) -> tuple[NDArray[np.int32], NDArray[np.int32], Floats]:
    """Where each row starts, its columns in order, and their values; values at one place are added, and zeros left out."""
    row, column = (np.asarray(part, dtype=np.int64).ravel() for part in entries[:2])
    value = np.asarray(entries[2], dtype=np.float64).ravel()
    if rows * columns <= _FEW:
        full: Floats = np.bincount(row * columns + column, value, rows * columns).astype(np.float64, copy=False)
        places = full.nonzero()[0]
        starts = places.searchsorted(np.arange(0, rows * columns + 1, columns))
        return starts.astype(np.int32), (places % columns).astype(np.int32), full[places]
    from scipy import sparse  # a slow import, kept out of the way of those who do not need it

    matrix = sparse.csr_matrix((value, (row, column)), shape=(rows, columns))
    matrix.sort_indices()
    matrix.eliminate_zeros()
    return matrix.indptr.astype(np.int32), matrix.indices.astype(np.int32), matrix.data
