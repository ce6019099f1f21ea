"""Which of the seven properties does a mechanism have? (See discreet.channels.properties for their meaning.)"""

from __future__ import annotations

from ..channels import Fault, Finite
from ..channels.properties import LETTERS, WORDS, shape_faults
from ..errors import SizeError, StructureError
from ..mechanism import Procedure, procedure_of

__all__ = ["LETTERS", "WORDS", "explain", "faults", "properties"]


def properties(mechanism: Procedure) -> frozenset[str]:
    """The letters of the properties that hold, decided exactly.

    >>> import discreet as dt
    >>> sorted(dt.properties(dt.geometric(5, alpha="9/10")))
    ['RH', 'RM', 'S']
    """
    return frozenset(LETTERS) - faults(mechanism).keys()


def explain(mechanism: Procedure) -> dict[str, str]:
    """For each property that fails, a sentence with the two probabilities that break it."""
    channel, sentences = procedure_of(mechanism).finite(), {}
    for letter, fault in faults(mechanism).items():
        low = _words(mechanism, fault.low)
        bar = (
            f"guessing has 1/{channel.rows} = {1 / channel.rows:.6g}"
            if fault.high is None
            else _words(mechanism, fault.high)
        )
        sentences[letter] = f"fails: {WORDS[letter]}; but {low}, while {bar}"
    return sentences


def _words(m: Procedure, place: tuple[int, int]) -> str:
    i, j = place
    return f"Pr[report {m.outputs.value(j)} | truth {m.inputs.value(i)}] = {float(m.finite().entry(i, j)):.6g}"


def faults(m: Procedure) -> dict[str, Fault]:
    """For each property that fails, the two entries that show it (as positions: true value, report)."""
    channel: Finite = procedure_of(m).finite()
    if m.inputs != m.outputs:
        raise StructureError(
            f"The seven properties compare true values with reports on one grid; here the truth is on {m.inputs} "
            f"and reports are on {m.outputs}."
        )
    known = channel.faults()
    if known is not None:
        return {letter: known[letter] for letter in LETTERS if letter in known}
    exact = channel.integers()
    if exact is None:
        raise SizeError(
            f"The properties of a mechanism of {channel.rows} x {channel.reports} are too many to check entry by "
            "entry, and no theorem covers it; use a smaller grid."
        )
    return shape_faults(*exact)
