"""Short ways to ask in the tests of releases."""

from __future__ import annotations

from typing import Any

import discreet as dt
from discreet.tables.ask.asked import Asked
from tests.asking import ask_release, ask_release_to


def ask(
    dataset: str = "d",
    version: str = "1",
    *,
    alpha: object = None,
    epsilon: object = None,
    rho: object = None,
    **parts: Any,
) -> Asked:
    """A question about a data set at one level, or for a rho."""
    return Asked.at_level(dt.Question(**parts), dataset, version, alpha, epsilon, rho=rho)


def at(*alphas: str) -> dict[str, dt.Level]:
    """Audiences named by their alphas."""
    return {alpha: dt.Level.of(alpha=alpha) for alpha in alphas}


def release_any(table: Any, **asked: Any) -> Any:
    """A release, or one for each audience where there are several."""
    return ask_release_to(table, **asked) if "audiences" in asked else ask_release(table, **asked)
