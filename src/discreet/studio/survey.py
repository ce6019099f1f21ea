"""Two made-up surveys to try the room Recover with: no real data. Their answers were perturbed before they were collected."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..mechanism import Mechanism

CARS = ("Fiat", "Opel", "Renault", "Seat", "Škoda", "Tesla", "Toyota", "Volvo")
_REGIONS = {"north": (30, 60, 40, 20, 90, 40, 120, 200), "south": (220, 110, 70, 110, 60, 40, 60, 30)}


@dataclass(frozen=True)
class Survey:
    """The mechanism as its fields have it, the people's answers by group, and how the file is called."""

    mechanism: dict[str, Any]
    file: str
    answers: dict[str, list[int]]  # by group: how many people have each answer
    by: str | None = None

    def csv(self, m: Mechanism, seed: int = 2026) -> str:
        """Its file: what each person's report is, by the mechanism."""
        draw, lines = np.random.default_rng(seed), []
        for group, people in self.answers.items():
            for place, number in enumerate(people):
                reports = draw.choice(m.matrix.shape[1], size=number, p=m.matrix[place] / m.matrix[place].sum())
                lines += [(group, str(m.outputs.value(k))) for k in reports.tolist()]
        order = draw.permutation(len(lines)).tolist()
        if self.by is None:
            return "report\n" + "".join(f"{lines[k][1]}\n" for k in order)
        return f"{self.by},report\n" + "".join(f"{lines[k][0]},{lines[k][1]}\n" for k in order)


def ages() -> Survey:
    """How old people were when they first lived alone, in years: most between 18 and 30, some later."""
    at = np.arange(15, 61)
    shape = np.exp(-0.5 * ((at - 22) / 3.0) ** 2) + 0.35 * np.exp(-0.5 * ((at - 34) / 6.0) ** 2)
    people = np.floor(4000 * shape / shape.sum()).astype(int).tolist()
    form = {"family": "geometric", "low": "15", "high": "60", "epsilon": "1/2"}
    return Survey(form, "made-up ages.csv", {"": people})


def cars() -> Survey:
    """Which car people have, in two regions."""
    form = {"family": "randomized_response", "names": list(CARS), "epsilon": "2"}
    return Survey(form, "made-up cars.csv", {g: [3 * n for n in people] for g, people in _REGIONS.items()}, "region")
