"""One release for several audiences: a cascade for each group, its levels from the most accurate to the most private.

The most accurate report is drawn from the truth, each next one from the report before it (discreet.sharing.cascades): a
coalition of audiences learns what its least private member knows and nothing more, so all of it costs what the most accurate
level costs, once. Each audience gets a release of its own. Its reports, fits, totals, record and files are computed from its
own reports alone, at its own level; audiences of one level get the same reports. What is stored in the ledger holds all levels:
it is as sensitive as the least private.

    {"format": "discreet-audiences", "version": 1, "answers": [the answer of each level, as answers.py has it]}
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import ReleaseError
from ...exact.grid import Grid
from ...exact.level import Level
from ...formats import VERSION, check_version
from ...present.views import Result, View, one_line
from ...sharing.cascades import Cascade
from ..ask.asked import Asked, audience_levels
from ..publish.readings import members
from ..publish.released import Release
from ..publish.words import amount, asked_in_words, repeated_words
from .answers import Document, of_its_question
from .measures import Measure

Indices = NDArray[np.int64]

FORMAT = "discreet-audiences"


@dataclass(frozen=True, repr=False)
class Audiences(Result):
    """A release for each audience, by its name: releases["public"].

    Give each audience its own release, never this object: together they are as sensitive as the least private of them.
    """

    audiences: Mapping[str, Release]

    def __getitem__(self, name: str) -> Release:
        """The release of one audience, by its name."""
        if name not in self.audiences:
            raise ReleaseError(f"There is no such audience; the audiences are {', '.join(self.audiences)}.")
        return self.audiences[name]

    def __len__(self) -> int:
        return len(self.audiences)

    def __iter__(self) -> Iterator[str]:
        return iter(self.audiences)

    def view(self) -> View:
        """A line for each audience, and what all of it cost."""
        records = [release.record for release in self.audiences.values()]
        first = records[0]
        lines = [
            {
                "audience": name,
                "alpha": record["audience"]["alpha"],
                "epsilon": amount(record["audience"]["epsilon"]),
                "reports": release.size,
            }
            for (name, release), record in zip(self.audiences.items(), records, strict=True)
        ]
        title = one_line(f"{first['dataset']}: {asked_in_words(first)}; {len(self)} audiences")
        paid = f"Charged epsilon {amount(first['audience']['charged'])}, once for all of them."
        if first["repeated"]:
            title, paid = f"{repeated_words(first)}\n{title}", "These are stored answers, at no charge."
        alone = "Give each audience its own release alone: together they reveal what the least private one reveals."
        return replace(View.of(title, lines), notes=(paid, alone))

    def to_dict(self) -> dict[str, Any]:
        """What each audience's release holds, by its name; together as sensitive as the least private."""
        return {"audiences": {name: release.to_dict() for name, release in self.audiences.items()}}


def cascades_for(measures: Sequence[Measure]) -> dict[int, Cascade]:
    """One cascade for each size of group, from one measure at all levels, the most accurate first."""
    cascades: dict[tuple[Any, ...], Cascade] = {}
    plan: dict[int, Cascade] = {}
    for size, m in measures[0].plan.items():
        if m is None:
            continue
        key = (m.inputs, measures[0].change)
        if key not in cascades:
            cascades[key] = _cascade(m.inputs, measures)
            if tuple(each.plan[size] for each in measures) != cascades[key].mechanisms:
                raise ReleaseError("These mechanisms are not those of a cascade. Nothing was charged.")
        plan[size] = cascades[key]
    return plan


def _cascade(grid: Grid, measures: Sequence[Measure]) -> Cascade:
    levels = [each.level for each in measures]
    kept = tuple(
        Level(level.alpha) for level in levels if isinstance(level, Level)
    )  # audiences are asked for by epsilon
    return Cascade(kept, grid, measures[0].change * grid.step)


def draw_levels(
    cascades: Mapping[int, Cascade], sizes: Indices, truth: Indices, levels: int, source: Any = None
) -> list[Indices]:
    """A report of each group for each level, all groups of a size at once."""
    drawn = [np.zeros(len(truth), dtype=np.int64) for _ in range(levels)]
    for size, chosen in members(sizes).items():
        if size in cascades:
            for at_level, reports in zip(
                drawn, cascades[size].release(truth[chosen], clamp=True, source=source), strict=True
            ):
                at_level[chosen] = reports
    return drawn


def handed_out(releases: Sequence[Release], asked: Asked, charged: Fraction) -> Audiences:
    """The releases of all levels by the names of their audiences; each record says its own level, and what was charged for all."""
    by_name = {}
    for name, level in asked.audiences:
        release = releases[audience_levels(asked).index(str(level.alpha))]
        by_name[name] = for_audience(release, name, charged)
    return Audiences(by_name)


def for_audience(release: Release, name: str, charged: Fraction) -> Release:
    """The release at one level for one audience, whose record says its level, and what was charged for all of them."""
    own, cost = release.record["alpha"], release.record["epsilon_charged"]
    audience = {"name": name, "alpha": own, "epsilon": cost, "charged": str(charged)}
    return replace(release, record={**release.record, "audience": audience})


def audiences_text(answers: Sequence[str]) -> str:
    """The answers of all levels as they are stored, under one charge."""
    return f'{{"format":"{FORMAT}","version":{VERSION},"answers":[{",".join(answers)}]}}'


def answers_of(text: str) -> list[Document]:
    """The answer of each level, read back."""
    content = json.loads(text)
    if content.get("format") != FORMAT:
        raise ReleaseError("The stored answer is not one for several audiences; nothing was charged.")
    check_version(
        "stored answer for several audiences",
        content.get("version"),
        instead="ask under a new version of the data, which is charged",
    )
    return [of_its_question(answer) for answer in content["answers"]]
