"""The studies there are, and running one by its name."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from typing import Any

from discreet.errors import DiscreetError
from discreet.exact.arithmetic import show
from discreet.progress import Progress

from . import __path__ as here
from .frame import Findings, Study


def all_studies() -> dict[str, Study]:
    """Every study by its name, in the order of the papers and of their figures."""
    found = sorted(_found(), key=lambda each: each[0])
    return {study.name: study for _, study in found}


def _found() -> Iterator[tuple[tuple[str, int, str], Study]]:
    for folder in pkgutil.iter_modules(here, f"{__package__}."):
        if folder.ispkg and folder.name != f"{__package__}.tests":  # tests need more than studies do
            package = importlib.import_module(folder.name)
            for module in pkgutil.iter_modules(package.__path__, f"{folder.name}."):
                study = getattr(importlib.import_module(module.name), "STUDY", None)
                if study is not None:
                    yield (folder.name, study.order, study.name), study


def study(name: str, *, quick: bool = False, adult: Any = None, progress: Progress | None = None) -> Findings:
    """Recompute a figure or table of a paper, and say claim by claim whether what the paper says holds.

    `quick` uses small sizes; else they are the paper's own. `adult` is the path of a copy of the UCI Adult data, for
    the study of that name, which has its group counts with it and runs without.

    >>> from studies import study
    >>> found = study("fair-matrix", quick=True)
    >>> [claim.verdict for claim in found.claims], found.unexpected
    (['holds', 'holds', 'holds', 'holds'], ())
    """
    known = all_studies()
    name = name.replace("_", "-") if isinstance(name, str) else name
    if adult is not None and name in known and name != "adult":
        raise DiscreetError("A copy of the Adult data is for the study adult; leave it out for the others.")
    if name not in known:
        raise DiscreetError(f"{show(name)} is no study; choose from {', '.join(known)}.")
    return known[name].run(quick, None if adult is None else str(adult), progress)
