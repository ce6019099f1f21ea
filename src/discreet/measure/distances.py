"""How far apart two distributions are: Kantorovich, total variation."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import MetricError, SizeError
from ..exact.given import NOT_NEGATIVE, WITHIN, law, matrix, vector

Floats = NDArray[np.float64]

_MOST = 200  # values up to which transport with any cost is solved: a linear program of 40,000 unknowns


def kantorovich(p: Any, q: Any, points: Any = None, cost: Any = None) -> float:
    """The earth mover's distance: how far probability must be moved, on average, to turn one distribution into the other.

    It is also the largest difference between the means of a function that changes no faster than the distance
    (Fernandes, Lefki and Palamidessi, Definition 2; the two are equal by Kantorovich and Rubinstein). On a line it is
    the area between the two distribution functions: exact and O(n). `points` says where the values lie (0, 1, 2, ... if
    left out; in any order). For another distance give `cost`, a matrix with what it costs to move from each value of p
    to each of q: a linear program, for up to 200 values.

    >>> import numpy as np
    >>> round(kantorovich(np.full(10, 0.1), np.eye(10)[0]), 12)
    4.5
    """
    if cost is not None:
        if points is not None:
            raise MetricError("Give either the points of a line or a matrix of costs, not both.")
        return _transport(_law(p, "The first distribution"), _law(q, "The second distribution"), cost)
    first, second = _laws(p, q)
    difference = first - second
    if points is None:
        return float(np.abs(np.cumsum(difference[:-1])).sum())
    places = np.array(vector(points, "The points", error=MetricError), dtype=np.float64)
    if places.shape != first.shape:
        raise MetricError(f"There are {len(first)} probabilities and {len(places)} points; give one point for each.")
    order = np.argsort(places, kind="stable")
    return float(np.abs(np.cumsum(difference[order])[:-1]) @ np.diff(places[order]))


def total_variation(p: Any, q: Any) -> float:
    """The largest difference between the probabilities of any event: half the sum of |p - q|.

    >>> total_variation([0.5, 0.5, 0], [0.25, 0.5, 0.25])
    0.25
    """
    first, second = _laws(p, q)
    return float(np.abs(first - second).sum() / 2)


def _laws(p: Any, q: Any) -> tuple[Floats, Floats]:
    first, second = _law(p, "The first distribution"), _law(q, "The second distribution")
    if first.shape != second.shape:
        raise MetricError(
            f"The distributions have {len(first)} and {len(second)} probabilities; both must be on the same values."
        )
    return first, second


def _law(values: Any, what: str) -> Floats:
    # an inverse without projection may lie below 0: then it is no distribution
    plain = isinstance(values, np.ndarray) and values.dtype == np.float64 and values.ndim == 1 and values.size > 0
    if plain and values.min() >= -float(WITHIN) and abs(float(values.sum()) - 1) <= float(WITHIN):  # NaN is neither
        return np.asarray(np.maximum(values, 0.0))  # without looking at entries one by one
    return np.array(law(values, what, below=WITHIN, error=MetricError), dtype=np.float64)


def _transport(p: Floats, q: Floats, cost: Any) -> float:
    costs = np.array(
        matrix(cost, "The costs", shape=(len(p), len(q)), bounds=NOT_NEGATIVE, error=MetricError), dtype=np.float64
    )
    rows, columns = np.flatnonzero(p), np.flatnonzero(q)
    if max(len(rows), len(columns)) > _MOST:
        raise SizeError(
            f"Transport with any cost is for at most {_MOST} values with positive probability, not "
            f"{max(len(rows), len(columns))}; give points on a line, where it is O(n)."
        )
    from scipy import sparse  # slow imports, kept out of the way of those who do not need them
    from scipy.optimize import linprog

    n, m = len(rows), len(columns)
    leaving = sparse.kron(sparse.eye_array(n), np.ones((1, m)))
    arriving = sparse.kron(np.ones((1, n)), sparse.eye_array(m))
    masses = np.concatenate([p[rows] / p[rows].sum(), q[columns] / q[columns].sum()])
    scale = float(costs.max()) or 1.0
    found = linprog(
        costs[np.ix_(rows, columns)].ravel() / scale,
        A_eq=sparse.vstack([leaving, arriving]).tocsr()[:-1],  # the last follows from the others
        b_eq=masses[:-1],
        method="highs",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    if found.status != 0:
        raise MetricError("The transport problem could not be solved; scale the costs to the order of 1.")
    return float(found.fun) * scale
