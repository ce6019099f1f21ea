"""The description of a mechanism: its level, its properties, and what it does to each true value.

Which of the seven properties it has is decided exactly (see discreet.channels.properties for their meaning).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from ..channels import Finite, PropertyFault
from ..channels.properties import LETTERS, WITHOUT_ORDER, WORDS, shape_faults
from ..errors import DiscreetError, SizeError, StructureError
from ..exact.arithmetic import show_above, show_rational
from ..exact.concentrated import epsilon_above
from ..mechanism import Mechanism, Procedure, procedure_of
from ..present.views import Result, View, plain
from .privacy import Verdict, check_privacy
from .utility import bias, loss_per_value


def properties(mechanism: Procedure) -> frozenset[str]:
    """The letters of the properties that hold, decided exactly; of names, those that need no order: RH, CH, F and WH.

    >>> import discreet as dt
    >>> sorted(dt.properties(dt.geometric(5, alpha="9/10")))
    ['RH', 'RM', 'S']
    """
    failing = faults(mechanism)
    return frozenset(_letters(mechanism)) - failing.keys()


def _letters(m: Procedure) -> tuple[str, ...]:
    return LETTERS if m.inputs.is_ordered else WITHOUT_ORDER


def explain(mechanism: Procedure) -> dict[str, str]:
    """For each property that fails, a sentence with the two probabilities that break it.

    >>> import discreet as dt
    >>> sorted(dt.measure.explain(dt.geometric(8, alpha="1/2")))
    ['F']
    """
    channel, sentences = procedure_of(mechanism).finite(), {}
    for letter, fault in faults(mechanism).items():
        low = _entry_words(mechanism, fault.low)
        bar = (
            f"guessing has 1/{channel.rows} = {1 / channel.rows:.6g}"
            if fault.high is None
            else _entry_words(mechanism, fault.high)
        )
        sentences[letter] = f"fails: {WORDS[letter]}; but {low}, while {bar}"
    return sentences


def _entry_words(m: Procedure, place: tuple[int, int]) -> str:
    i, j = place
    return f"Pr[report {m.outputs.value(j)} | truth {m.inputs.value(i)}] = {float(m.finite().entry(i, j)):.6g}"


def faults(m: Procedure) -> dict[str, PropertyFault]:
    """For each property that fails, the two entries that show it (as positions: true value, report)."""
    channel: Finite = procedure_of(m).finite()
    if m.inputs != m.outputs:
        raise StructureError(
            f"The seven properties compare true values with reports on one grid; here the truth is on {m.inputs} "
            f"and reports are on {m.outputs}."
        )
    known = channel.faults()
    if known is not None:
        return {letter: known[letter] for letter in _letters(m) if letter in known}
    exact = channel.integers()
    if exact is None:
        raise SizeError(
            f"The properties of a mechanism of {channel.rows} x {channel.reports} are too many to check entry by "
            "entry, and no theorem covers it; use a smaller grid."
        )
    return shape_faults(*exact, _letters(m))


_MOST_ENTRIES = 2**22  # of a channel whose values are gone through one by one
_MATRIX = 2**16  # entries of a matrix that is written out


@dataclass(frozen=True, eq=False, repr=False)
class Description(Result):
    """A mechanism in words and numbers. `tight` is the verdict on its own claim, `local` that between any two values."""

    mechanism: Procedure
    tight: Verdict
    local: Verdict | None
    properties: tuple[str, ...] | None
    with_matrix: bool = False

    @property
    def headline(self) -> str:
        """Family, grids, level, the level of local privacy beside it, and the properties that hold."""
        m = self.mechanism
        places = f"{m.inputs}" + ("" if m.inputs == m.outputs else f" -> {m.outputs}")
        lines = [f"{m.recipe.family} on {places}"]
        asked = f" (asked as epsilon {m.claim.asked})" if m.claim.asked is not None else ""
        level = (
            f"level: alpha {show_rational(m.claim.alpha)}, epsilon <= {show_above(m.claim.epsilon)}{asked}, proved for "
            f"{m.neighbours.words(m.inputs)}; tight: epsilon <= {show_above(self.tight.epsilon)}"
        )
        lines.append(level if m.claim.alpha else self._without_level())
        if self.local is not None:
            lines.append(f"between any two values (local privacy): epsilon <= {show_above(self.local.epsilon)}")
        if m.recipe.distance:
            lines.append(
                f"integers within {m.recipe.distance:.2g} of the distribution in total variation; what was proved is what is drawn"
            )
        if self.properties is not None:
            lines.append("properties: " + (" ".join(self.properties) or "none"))
        if self.share_error is not None:
            lines.append(
                f"of N reports, the share of a rare answer is found with the standard error {self.share_error:.4g}/sqrt(N)"
            )
        return "\n".join(lines)

    @property
    def share_error(self) -> float | None:
        """The standard error of a rare answer's share, times the root of the number of reports; None where the channel
        knows distances between values, or has no set of reports for each value (see discreet.channels.shares)."""
        channel = self.mechanism.channel.finite()
        hits = None if channel is None else channel.hits(np.zeros(channel.reports))
        return None if hits is None else math.sqrt(hits[2] * (1 - hits[2])) / (hits[1] - hits[2])

    def _without_level(self) -> str:
        m = self.mechanism
        if not isinstance(m, Mechanism) or not m.is_concentrated:
            return f"level: {self.tight}"
        worth = ", ".join(
            f"{show_above(float(epsilon_above(m.rho, Fraction(d))))} with delta {d}" for d in ("1e-6", "1e-9")
        )
        told = f"no level, but {m.privacy} (zCDP), proved for {m.neighbours.words(m.inputs)}; that is epsilon {worth}"
        if not math.isfinite(self.tight.epsilon):
            return told
        own = f"epsilon <= {show_above(self.tight.epsilon)} without a delta"
        return f"{told}; clamped to its ends it keeps {own}, too, which it does not claim"

    def view(self) -> View:
        """The headline, the size of unbounded noise, the properties that fail and where, and a row for each true value."""
        failing = explain(self.mechanism) if self.properties is not None else {}
        noise = _noise_words(self.mechanism)
        rows, parts = self.rows(), []
        if failing:
            where = tuple(f"  {letter:2}  {sentence}" for letter, sentence in failing.items())
            parts.append(View("Properties that fail, and where:", notes=where))
        if rows:
            distances = ", l1: mean distance, l2: mean square" if "l1" in rows[0] else ""
            told = "how often a report lies in its own set, and in that of another value"
            words = f"For each true value ({f'l0: chance of a wrong report{distances}' if 'l0' in rows[0] else told}):"
            parts.append(View.of(words, rows))
        return View(self.headline + (f"\n{noise}" if noise else ""), parts=tuple(parts))

    def _title(self) -> str:
        return self.headline

    def rows(self) -> list[dict[str, Any]]:
        """As `per_value_rows`; empty where the mechanism is too large to go through its values, or unbounded."""
        channel = self.mechanism.channel.finite()
        small = channel is not None and channel.rows * channel.reports <= _MOST_ENTRIES
        return per_value_rows(self.mechanism) if small else []

    def to_dict(self) -> dict[str, Any]:
        """Everything in the headline; the matrix where it was asked for (null where it is large or unbounded)."""
        m = self.mechanism
        told: dict[str, Any] = {
            "family": m.recipe.family,
            "inputs": str(m.inputs),
            "outputs": str(m.outputs),
            "sensitivity_steps": m.sensitivity,
            "neighbours": m.neighbours.words(m.inputs),
            "alpha": m.claim.alpha,
            "epsilon": m.claim.epsilon,
            "asked_epsilon": None if m.claim.asked is None else str(m.claim.asked),
            "rho": m.rho if isinstance(m, Mechanism) and (m.alpha or m.is_concentrated) else None,
            "tight_alpha": self.tight.tight,
            "tight_epsilon": self.tight.epsilon,
            "local_epsilon": None if self.local is None else self.local.epsilon,
            "properties": self.properties,
            "share_error": self.share_error,
            "distance_from_law": m.recipe.distance,
            "citation": m.recipe.citation,
            "digest": m.digest,
        }
        if self.with_matrix:
            channel = m.channel.finite()
            small = channel is not None and channel.rows * channel.reports <= _MATRIX
            told["matrix"] = m.matrix if small else None
        return {name: plain(value) for name, value in told.items()}


def describe(mechanism: Procedure, *, matrix: bool = False) -> Description:
    """A full description of a mechanism: level, properties, and bias and loss for each true value.

    With matrix=True the matrix, where it is small, is in `to_dict()` too.

    >>> import discreet as dt
    >>> print(dt.measure.describe(dt.geometric(8, alpha="9/10")).headline)
    geometric on 0..8
    level: alpha 9/10, epsilon <= 0.105361, proved for neighbours at most 1 apart; tight: epsilon <= 0.105361
    between any two values (local privacy): epsilon <= 0.842885
    properties: RH RM S
    """
    mechanism = procedure_of(mechanism)
    letters = property_letters(mechanism)
    local = None if mechanism.inputs.n is None else check_privacy(mechanism, neighbours="any")
    return Description(mechanism, check_privacy(mechanism), local, None if letters is None else tuple(letters), matrix)


def property_letters(m: Procedure) -> list[str] | None:
    """The properties that hold, in the paper's order; None where the question has no meaning."""
    try:
        held = properties(m)
    except DiscreetError:
        return None
    return [letter for letter in LETTERS if letter in held]


def per_value_rows(m: Procedure) -> list[dict[str, Any]]:
    """For each true value: the chance of the truth, bias and expected losses; of names, what needs no order. Where reports are no
    values, but each value has a set of them, how often that is hit."""
    channel = m.finite()
    hits = None if m.inputs == m.outputs else channel.hits(np.zeros(channel.reports))
    if hits is not None:
        return [{"true": m.inputs.value(i), "hit": hits[1], "miss": hits[2]} for i in range(channel.rows)]
    diagonal: Any = np.diag(m.matrix) if m.inputs == m.outputs else [None] * channel.rows
    if not m.inputs.is_ordered:
        wrong = loss_per_value(m, "l0") if m.inputs == m.outputs else diagonal
        return [
            {"true": m.inputs.value(i), "truthful": plain(t), "l0": plain(l0)}
            for i, (t, l0) in enumerate(zip(diagonal, wrong, strict=True))
        ]
    columns = zip(diagonal, bias(m), *(loss_per_value(m, loss) for loss in ("l0", "l1", "l2")), strict=True)
    return [
        {
            "true": str(m.inputs.value(i)),
            "truthful": None if t is None else float(t),
            "bias": float(b),
            "l0": float(l0),
            "l1": float(l1),
            "l2": float(l2),
        }
        for i, (t, b, l0, l1, l2) in enumerate(columns)
    ]


def _noise_words(m: Procedure) -> str:
    """The size of unbounded noise, in the answer's units; nothing where reports have an end."""
    noise = m.channel.noise
    if noise is None or m.channel.finite() is not None:
        return ""
    step = float(m.inputs.step)
    mean, deviation = float(noise.mean_absolute) * step, math.sqrt(noise.variance) * step
    reach = float(noise.quantile(0.975)) * step
    return f"noise: mean distance {mean:.6g}, standard deviation {deviation:.6g}; 95 % of it within {reach:.6g} of the truth"
