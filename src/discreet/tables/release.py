"""Releasing counts: from a table, a question and a budget to reports that may be published.

The order matters. Everything declared is checked first; then the data are counted; then the charge is written and
synced; then the reports are drawn; then they are stored; only then are they shown. Nothing that is shown depends on the
data but the reports, and, where group membership is public, the sizes of the groups.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..level import Level
from ..mechanism import Mechanism
from ..readings import reading_of
from .counting import Counts, count_groups
from .ledger import Answer, Balance, Ledger, Terms
from .question import (
    Question,
    ask,
    charge_of,
    check_columns,
    check_relation,
    group_level,
    margin_names,
    mechanisms_for,
)
from .results import COVERAGE, Release, assemble

Indices = NDArray[np.int64]


def release(
    table: Any,
    *,
    dataset: str,
    ledger: Ledger | str,
    count: str | Sequence[str] | Mapping[str, str] | None = None,
    by: Sequence[str] = (),
    domain: Any = None,
    alpha: object = None,
    epsilon: object = None,
    mechanism: str | Mechanism = "auto",
    version: str = "1",
    bound: int | None = None,
    max_groups: int = 1,
    other: bool = False,
    margins: Sequence[str] = (),
    fresh: bool = False,
    progress: Callable[[int], None] | None = None,
) -> Release:
    """Count, charge, draw, store and return: private counts of `table`, one for each declared group.

    The ledger's terms for the data set say what is protected. Under "bit", group membership is public and one person's
    counted bit is private: group sizes are public, and every group gets a mechanism for its own size. Under "presence",
    one person is added or removed: give `bound`, the largest count that can be, or the noise has no upper end.
    `epsilon` is spent once for the whole call: disjoint groups share it, several counts divide it.
    """
    with _opened(ledger) as book:
        ready = _prepare(table, book.terms(dataset), margins, progress, ask(
            dataset, version, count, by, domain, alpha, epsilon, mechanism, bound, max_groups, other))  # fmt: skip
        if not any(ready.plan.values()):  # public zeros alone: nothing is drawn, nothing is spent
            zeros = {name: np.zeros(len(ready.sizes), dtype=np.int64) for name in ready.counted}
            _tell(progress, 100)
            return _published(ready, zeros, Fraction(0), book.balance(dataset), None, table)
        charge = charge_of(ready.question.level)
        predicates = {name: c.canonical for name, c in ready.counted.items()}
        asked = book.begin(dataset, ready.question.canonical(predicates), epsilon=charge, data=_fingerprint(ready.counted),
                           fresh=fresh)  # fmt: skip
        if isinstance(asked, Answer):
            answer = asked
        else:
            drawn = {
                name: _draw(ready.plan, ready.sizes, _truth(c, other)).tolist() for name, c in ready.counted.items()
            }
            answer = book.finish(asked, json.dumps({"reports": drawn}, separators=(",", ":")))
        # the reports are stored: from here on everything is post-processing
        _tell(progress, _STORED)
        reports = {
            name: np.array(values, dtype=np.int64) for name, values in json.loads(answer.text)["reports"].items()
        }
        made = _published(ready, reports, charge, book.balance(dataset), answer, table)
        _tell(progress, 100)
        return made


@dataclass(frozen=True)
class _Ready:
    """A question that may be asked, its true counts, and how they will be protected."""

    question: Question
    terms: Terms
    margins: tuple[str, ...]
    counted: Mapping[str, Counts]
    level: Level
    sizes: Indices
    plan: Mapping[int, Mechanism | None]


def _prepare(
    table: Any, terms: Terms, margins: Sequence[str], progress: Callable[[int], None] | None, question: Question
) -> _Ready:
    """Check everything declared, count, and choose the mechanisms: all that can fail, before anything is charged."""
    check_relation(question, terms)
    names = margin_names(margins, question)
    if hasattr(table, "read_all"):  # a reader of record batches is used up by one pass
        table = table.read_all()
    counted = {
        name: count_groups(table, predicate=text, by=list(question.by), domain=question.domain, unit=terms.unit,
                           max_groups=question.max_groups, other=question.other,
                           progress=_stage(progress, _COUNTING * k // len(question.counts), _COUNTING // len(question.counts)))
        for k, (name, text) in enumerate(question.counts.items())
    }  # fmt: skip
    check_columns(question, terms, counted)
    level = group_level(question, terms)
    sizes = _sizes(next(iter(counted.values())), question, terms)
    plan = mechanisms_for(question, level, sizes)
    for m in plan.values():
        if m is not None:
            reading_of(m.channel).interval(np.array([0]), 1 - COVERAGE)
    _tell(progress, _PLANNED)
    return _Ready(question, terms, names, counted, level, sizes, plan)


_COUNTING, _PLANNED, _STORED = 60, 70, 85  # percent of a release that are done by then, about


def _stage(progress: Callable[[int], None] | None, start: int, length: int) -> Callable[[int], None] | None:
    """Progress of a part as progress of the whole, or nobody to tell."""
    return None if progress is None else lambda percent: progress(start + percent * length // 100)


def _tell(progress: Callable[[int], None] | None, percent: int) -> None:
    if progress is not None:
        progress(percent)


def _published(
    ready: _Ready, reports: Mapping[str, Indices], charge: Fraction, balance: Balance, answer: Answer | None, table: Any
) -> Release:
    return assemble(ready.question, ready.terms, ready.plan, ready.sizes, reports, ready.level, charge, balance, answer,
                    ready.margins, table)  # fmt: skip


@contextmanager
def _opened(ledger: Ledger | str) -> Iterator[Ledger]:
    """The ledger as it is, or opened for this call alone."""
    if isinstance(ledger, Ledger):
        yield ledger
    else:
        with Ledger.existing(ledger) as book:
            yield book


def expected_errors(
    table: Any, *, dataset: str, ledger: Ledger | str, count: Any = None, by: Sequence[str] = (), domain: Any = None,
    alpha: object = None, epsilon: object = None, mechanism: str | Mechanism = "auto", version: str = "1",
    bound: int | None = None, max_groups: int = 1, other: bool = False, margins: Sequence[str] = (),
    progress: Callable[[int], None] | None = None,
) -> list[dict[str, Any]]:  # fmt: skip
    """The dry run: how far off each report must be expected to be, from declared and public sizes; nothing is charged."""
    with _opened(ledger) as book:
        ready = _prepare(table, book.terms(dataset), margins, progress, ask(
            dataset, version, count, by, domain, alpha, epsilon, mechanism, bound, max_groups, other))  # fmt: skip
    question, sizes = ready.question, ready.sizes
    expected = {size: _expected(m, size) for size, m in ready.plan.items()}  # groups of a size are alike
    rows = [
        dict(zip(question.by, key, strict=True)) | expected[size]
        for key, size in zip(question.cells, sizes.tolist(), strict=True)
    ]
    _tell(progress, 100)
    return rows


def _expected(m: Mechanism | None, size: int) -> dict[str, Any]:
    if m is None:
        return {"n": 0, "mechanism": "none", "standard error": 0.0, "half width": 0.0}
    reading = reading_of(m.channel)
    middle = np.array([10**9 if m.inputs.n is None else m.inputs.n // 2])  # far from the ends, where it is widest
    low, high = reading.interval(middle, 1 - COVERAGE)
    return {"n": None if size < 0 else size, "mechanism": m.recipe.family,
            "standard error": reading.standard_error, "half width": float(high[0] - low[0]) / 2}  # fmt: skip


def _sizes(counted: Counts, question: Question, terms: Terms) -> Indices:
    """The public size of each group under bit privacy; -1, for all alike, under presence privacy."""
    if terms.relation == "bit":
        extra = [counted.other_size] if question.other else []
        return np.array([*counted.sizes.tolist(), *extra], dtype=np.int64)
    return np.full(len(question.domain.keys) + question.other, -1, dtype=np.int64)


def _truth(counted: Counts, other: bool) -> Indices:
    return np.array([*counted.counts.tolist(), *([counted.other_count] if other else [])], dtype=np.int64)


def _fingerprint(counted: Mapping[str, Counts]) -> str:
    return hashlib.sha256(
        json.dumps({n: c.fingerprint for n, c in counted.items()}, sort_keys=True).encode()
    ).hexdigest()


def _draw(plan: Mapping[int, Mechanism | None], sizes: Indices, truth: Indices) -> Indices:
    """One report for each group, all groups of a size at once. Counts beyond a declared bound are clamped to it."""
    reports = np.zeros(len(truth), dtype=np.int64)
    for size, m in plan.items():
        if m is not None:
            chosen = np.flatnonzero(sizes == size)
            reports[chosen] = m.sample(truth[chosen], clamp=True)
    return reports
