"""How many examples Hypothesis tries: a profile, chosen by HYPOTHESIS_PROFILE.

`dev` is what `make test` runs, `check` tries four times as many, and `campaign` tries forty times as many. A test that
needs another number than Hypothesis' own says `@settings(max_examples=examples(60))`: sixty under `check`, and the
profile's share of it otherwise. A literal number would hold whatever the profile says.
"""

from __future__ import annotations

import os
from fractions import Fraction

from hypothesis import HealthCheck, settings

VARIABLE = "HYPOTHESIS_PROFILE"
SHARES = {"dev": Fraction(1, 4), "check": Fraction(1), "campaign": Fraction(10)}
FEWEST = 5  # below that a search is hardly one; a test that asks for fewer gets what it asks for
USUAL = 100  # examples under `check` of a test that names no number


def examples(number: int, profile: str | None = None) -> int:
    """The number of examples under a profile, the current one by default: `number` under `check`."""
    return max(int(number * SHARES[profile or current()]), min(number, FEWEST))


def current() -> str:
    """The profile that the environment chooses."""
    name = os.environ.get(VARIABLE, "dev")
    if name not in SHARES:
        raise ValueError(f"{VARIABLE} is {name!r}; choose one of {', '.join(SHARES)}.")
    return name


def load() -> None:
    """Register the profiles with Hypothesis, and load the current one."""
    for name in SHARES:
        # How long an example takes depends on the machine, and says nothing about the code.
        settings.register_profile(
            name, max_examples=examples(USUAL, name), deadline=None, suppress_health_check=[HealthCheck.too_slow]
        )
    settings.load_profile(current())
