"""The seven properties of Cormode, Kulkarni and Srivastava (ICDE 2018), decided on integer weights.

Beware: in the paper's names a "row" is a report and a "column" a true value. In words, for the probability
P(report | truth) on one grid of n + 1 values:

    RH  row honesty           each report is most likely when it is the truth
    RM  row monotonicity      a report gets less likely (or stays as likely) as the truth moves away from it
    CH  column honesty        for each truth, the most likely report is the truth
    CM  column monotonicity   for each truth, reports get less likely as they move away from it
    F   fairness              every value is reported truthfully with the same probability
    WH  weak honesty          each true value is reported with probability at least 1/(n+1), that of guessing
    S   symmetry              turning the grid around changes nothing

RM implies RH, CM implies CH, CH implies WH, and F with RH implies CH.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import StructureError
from ..exact.arithmetic import show
from .contract import Integers, PropertyFault

LETTERS = ("RH", "RM", "CH", "CM", "F", "WH", "S")
WITHOUT_ORDER = ("RH", "CH", "F", "WH")  # those that mean something for names

WORDS = {
    "RH": "each report is most likely when it is the truth",
    "RM": "a report gets less likely as the truth moves away from it",
    "CH": "for each truth, the most likely report is the truth",
    "CM": "for each truth, reports get less likely as they move away from it",
    "F": "every value is reported truthfully with the same probability",
    "WH": "each true value is reported with probability at least 1/(n+1)",
    "S": "turning the grid around changes nothing",
}


def letters_of(require: Iterable[str] | str) -> frozenset[str]:
    """The properties that were asked for: a collection of letters, or a text such as "WH,CM"."""
    try:
        given = require.replace(",", " ").split() if isinstance(require, str) else list(require)
        letters = frozenset(letter.strip().upper() for letter in given)
    except (TypeError, AttributeError):
        raise StructureError(f"require = {show(require)} names no properties; use {', '.join(LETTERS)}.") from None
    unknown = sorted(letters - set(LETTERS), key=str)
    if unknown:
        raise StructureError(f"{unknown[0]!r} is none of the seven properties; use {', '.join(LETTERS)}.")
    return letters


def shape_faults(weights: Integers, total: int, letters: Iterable[str] = LETTERS) -> dict[str, PropertyFault]:
    """For each of the properties that fails, the two entries that show it (as positions: true value, report)."""
    found = {letter: _CHECKS[letter](weights, total) for letter in letters}
    return {letter: fault for letter, fault in found.items() if fault is not None}


def _first(bad: NDArray[Any]) -> tuple[int, int] | None:
    if not bad.any():
        return None
    row, column = np.argwhere(bad)[0]
    return int(row), int(column)


def _report_honest(w: Integers, total: int) -> PropertyFault | None:
    place = _first(w > w.diagonal()[None, :])
    return None if place is None else PropertyFault(low=(place[1], place[1]), high=place)


def _truth_honest(w: Integers, total: int) -> PropertyFault | None:
    place = _first(w > w.diagonal()[:, None])
    return None if place is None else PropertyFault(low=(place[0], place[0]), high=place)


def _truth_monotone(w: Integers, total: int) -> PropertyFault | None:
    """Along each row of weights (one truth): rising up to the diagonal, falling after it."""
    n = len(w)
    i, j = np.arange(n)[:, None], np.arange(n - 1)[None, :]
    place = _first(((j < i) & (w[:, :-1] > w[:, 1:])) | ((j >= i) & (w[:, :-1] < w[:, 1:])))
    if place is None:
        return None
    r, c = place
    near, far = ((r, c + 1), (r, c)) if c < r else ((r, c), (r, c + 1))
    return PropertyFault(low=near, high=far)


def _report_monotone(w: Integers, total: int) -> PropertyFault | None:
    fault = _truth_monotone(w.T, total)
    if fault is None or fault.high is None:
        return None
    return PropertyFault(low=fault.low[::-1], high=fault.high[::-1])


def _fair(w: Integers, total: int) -> PropertyFault | None:
    diagonal = w.diagonal().tolist()
    low, high = diagonal.index(min(diagonal)), diagonal.index(max(diagonal))
    return None if diagonal[low] == diagonal[high] else PropertyFault(low=(low, low), high=(high, high))


def _weakly_honest(w: Integers, total: int) -> PropertyFault | None:
    diagonal = w.diagonal().tolist()  # Python integers: the product with n + 1 cannot overflow
    low = diagonal.index(min(diagonal))
    return None if diagonal[low] * len(w) >= total else PropertyFault(low=(low, low), high=None)


def _symmetric(w: Integers, total: int) -> PropertyFault | None:
    place = _first(w < w[::-1, ::-1])
    return None if place is None else PropertyFault(low=place, high=(len(w) - 1 - place[0], len(w) - 1 - place[1]))


_CHECKS = {
    "RH": _report_honest,
    "RM": _report_monotone,
    "CH": _truth_honest,
    "CM": _truth_monotone,
    "F": _fair,
    "WH": _weakly_honest,
    "S": _symmetric,
}
