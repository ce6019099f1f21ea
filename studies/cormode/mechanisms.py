"""The mechanisms of the paper by their names, and its rescaled score."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from discreet import Mechanism, design, expected_loss, explicit_fair, geometric, uniform, weakly_honest

NAMES = ("GM", "UM", "EM", "WM", "WM, CM")


@lru_cache(maxsize=512)
def made(name: str, n: int, alpha: Any) -> Mechanism:
    """GM, UM, EM, WM (weakly honest) or "WM, CM" (column monotone as well)."""
    match name:
        case "GM":
            return geometric(n, alpha=alpha)
        case "UM":
            return uniform(n)
        case "EM":
            return explicit_fair(n, alpha=alpha)
        case "WM":
            return weakly_honest(n, alpha=alpha)
    return weakly_honest(n, alpha=alpha, require={"CM"})


def rescaled(m: Mechanism) -> float:
    """The paper's L0: (n + 1 - trace)/n, so that guessing has 1."""
    n = m.finite().rows - 1
    return expected_loss(m, "l0") * (n + 1) / n


def best_rescaled(n: int, alpha: Any, *letters: str) -> float:
    """The least rescaled L0 with the properties."""
    return design(n, alpha=alpha, loss="l0", require=set(letters)).objective * (n + 1) / n
