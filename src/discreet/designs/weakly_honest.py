"""The weakly honest mechanism, in both variants."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ..channels.properties import letters_of
from ..errors import StructureError
from ..exact.grid import GridLike
from ..exact.level import LevelLike
from ..mechanism import Mechanism
from .design import design, ties_broken

CITATION = "Cormode, Kulkarni, Srivastava, Constrained private mechanisms for count data, ICDE 2018 (WM)"


def weakly_honest(
    n: GridLike, *, alpha: LevelLike | None = None, epsilon: LevelLike | None = None, require: Iterable[str] | str = ()
) -> Mechanism:
    """WM: each true value is reported with probability at least 1/(n+1), that of guessing, and as often as that allows.

    Symmetric and row monotone, which cost nothing; with require={"CM"} also column monotone, which costs a little. It is
    the geometric mechanism where that is weakly honest itself, for n = 1 or n >= 2a/(1-a) (with CM: for n = 1 or a <= 1/2).
    Elsewhere it is designed for the loss L0 and, among the best, for L2; its file has the certificate.

    >>> import discreet as dt
    >>> sorted(dt.properties(dt.weakly_honest(4, alpha="9/10")))
    ['RH', 'RM', 'S', 'WH']
    """
    more = letters_of(require)
    if not more <= {"WH", "RM", "RH", "S", "CM", "CH"}:
        raise StructureError(
            f"weakly_honest takes CM or CH beside its own properties, not {', '.join(sorted(more))}; "
            "use design for other sets, or explicit_fair for all seven."
        )
    wanted = frozenset({"WH", "RM", "S"}) | more
    best = design(n, alpha=alpha, epsilon=epsilon, loss="l0", require=wanted)
    made = (best if best.by_theorem else ties_broken(best, "l2")).mechanism
    return replace(made, recipe=replace(made.recipe, family="weakly_honest", citation=CITATION))
