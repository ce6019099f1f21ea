"""The seven properties of Cormode, Kulkarni and Srivastava (ICDE 2018), decided on integers.

Beware: in the paper's names a "row" is a report and a "column" a true value. In words, for the probability
P(report | truth) on one grid of n + 1 values:

    RH  row honesty           each report is most likely when it is the truth
    RM  row monotonicity      a report gets less likely (or stays as likely) as the truth moves away from it
    CH  column honesty        for each truth, the most likely report is the truth
    CM  column monotonicity   for each truth, reports get less likely as they move away from it
    F   fairness              every value is reported truthfully with the same probability
    WH  weak honesty          every value is reported truthfully at least as often as by guessing, 1/(n+1)
    S   symmetry              turning the grid around changes nothing

RM implies RH, CM implies CH, CH implies WH, and F with RH implies CH.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .channels import Fault, Finite
from .channels.contract import Integers
from .errors import SizeError, StructureError
from .mechanism import Mechanism

LETTERS = ("RH", "RM", "CH", "CM", "F", "WH", "S")

WORDS = {
    "RH": "each report is most likely when it is the truth",
    "RM": "a report gets less likely as the truth moves away from it",
    "CH": "for each truth, the most likely report is the truth",
    "CM": "for each truth, reports get less likely as they move away from it",
    "F": "every value is reported truthfully with the same probability",
    "WH": "every value is reported truthfully at least as often as by guessing",
    "S": "turning the grid around changes nothing",
}


def properties(m: Mechanism) -> frozenset[str]:
    """The letters of the properties that hold, decided exactly.

    >>> import discreet as dt
    >>> sorted(dt.properties(dt.geometric(5, alpha="9/10")))
    ['RH', 'RM', 'S']
    """
    return frozenset(LETTERS) - faults(m).keys()


def explain(m: Mechanism) -> dict[str, str]:
    """For each property that fails, a sentence with the two probabilities that break it."""
    channel, sentences = m.finite(), {}
    for letter, fault in faults(m).items():
        low = _words(m, fault.low)
        bar = f"guessing has 1/{channel.rows} = {1 / channel.rows:.6g}" if fault.high is None else _words(m, fault.high)
        sentences[letter] = f"fails: {WORDS[letter]}; but {low}, while {bar}"
    return sentences


def _words(m: Mechanism, place: tuple[int, int]) -> str:
    i, j = place
    return f"Pr[report {m.outputs.value(j)} | truth {m.inputs.value(i)}] = {float(m.finite().entry(i, j)):.6g}"


def faults(m: Mechanism) -> dict[str, Fault]:
    """For each property that fails, the two entries that show it (as positions: true value, report)."""
    channel: Finite = m.finite()
    if m.inputs != m.outputs:
        raise StructureError(
            f"The seven properties compare true values with reports on one grid; here the truth lives on "
            f"{m.inputs} and reports on {m.outputs}."
        )
    known = channel.faults()
    if known is not None:
        return {letter: known[letter] for letter in LETTERS if letter in known}
    exact = channel.integers()
    if exact is None:
        raise SizeError(
            f"The properties of a mechanism of {channel.rows} x {channel.reports} cannot be read off entry by "
            "entry, and no theorem covers it; use a smaller grid."
        )
    found = {letter: _CHECKS[letter](*exact) for letter in LETTERS}
    return {letter: fault for letter, fault in found.items() if fault is not None}


def _first(bad: NDArray[Any]) -> tuple[int, int] | None:
    where = np.argwhere(bad)
    return None if len(where) == 0 else (int(where[0][0]), int(where[0][1]))


def _report_honest(w: Integers, total: int) -> Fault | None:
    place = _first(w > np.diag(w)[None, :])
    return None if place is None else Fault(low=(place[1], place[1]), high=place)


def _truth_honest(w: Integers, total: int) -> Fault | None:
    place = _first(w > np.diag(w)[:, None])
    return None if place is None else Fault(low=(place[0], place[0]), high=place)


def _truth_monotone(w: Integers, total: int) -> Fault | None:
    """Along each row of weights (one truth): rising up to the diagonal, falling after it."""
    n = len(w)
    i, j = np.arange(n)[:, None], np.arange(n - 1)[None, :]
    place = _first(((j < i) & (w[:, :-1] > w[:, 1:])) | ((j >= i) & (w[:, :-1] < w[:, 1:])))
    if place is None:
        return None
    r, c = place
    near, far = ((r, c + 1), (r, c)) if c < r else ((r, c), (r, c + 1))
    return Fault(low=near, high=far)


def _report_monotone(w: Integers, total: int) -> Fault | None:
    fault = _truth_monotone(w.T, total)
    if fault is None or fault.high is None:
        return None
    return Fault(low=fault.low[::-1], high=fault.high[::-1])


def _fair(w: Integers, total: int) -> Fault | None:
    diagonal = np.diag(w).tolist()
    low, high = diagonal.index(min(diagonal)), diagonal.index(max(diagonal))
    return None if diagonal[low] == diagonal[high] else Fault(low=(low, low), high=(high, high))


def _weakly_honest(w: Integers, total: int) -> Fault | None:
    diagonal = np.diag(w).tolist()  # Python integers: the product with n + 1 cannot overflow
    low = diagonal.index(min(diagonal))
    return None if diagonal[low] * len(w) >= total else Fault(low=(low, low), high=None)


def _symmetric(w: Integers, total: int) -> Fault | None:
    place = _first(w < w[::-1, ::-1])
    return None if place is None else Fault(low=place, high=(len(w) - 1 - place[0], len(w) - 1 - place[1]))


_CHECKS = {
    "RH": _report_honest,
    "RM": _report_monotone,
    "CH": _truth_honest,
    "CM": _truth_monotone,
    "F": _fair,
    "WH": _weakly_honest,
    "S": _symmetric,
}
