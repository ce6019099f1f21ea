"""Releasing counts: from a table, a question and a budget to reports that may be published.

The order matters. Everything declared is checked first; then the data are counted; then the charge is written and
synced; then the reports are drawn; then they are stored; only then are they shown. Nothing that is shown depends on the
data but the reports, and, where group membership is public, the sizes of the groups.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..engines.duckdb import Counts, count_each
from ..engines.reading import Reading
from ..engines.sources import stamp
from ..errors import TableInputError
from ..ledger.ledger import Answer, Ledger, Terms
from ..mechanism import Mechanism
from ..numbers.positions import positions
from ..progress import Progress, part, tell
from .admission import Look, admission_for, examined
from .answers import answer_text, mechanisms_text, read_answer
from .frames import table_maker
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
from .records import COVERAGE, Plan
from .results import Release
from .sheet import Sheet, members

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
    progress: Progress | None = None,
) -> Release:
    """Count, charge, draw, store and return: private counts of `table`, one for each declared group.

    The ledger's terms for the data set say what is protected. Under "bit", group membership is public and one person's
    counted bit is private: group sizes are public, and every group gets a mechanism for its own size. Under "presence",
    one person is added or removed: give `bound`, the largest count that can be, or the noise has no upper end.
    `epsilon` is spent once for the whole call: disjoint groups share it, several counts divide it. A file must have been
    admitted as this `version` (`Ledger.admit`); a table in memory is admitted by this call, and `made.operator` has the
    report, which is not for publication.
    """
    with _opened(ledger) as book:
        question = ask(dataset, version, count, by, domain, alpha, epsilon, mechanism, bound, max_groups, other)
        return _released(table, book, question, margins, fresh, progress)[0]


def release_and_dropped(
    table: Any, *, ledger: Ledger, margins: Sequence[str] = (), fresh: bool = False,
    progress: Progress | None = None, **asked: Any,
) -> tuple[Release, int]:  # fmt: skip
    """A release, and for the operator alone, outside the guarantee: how many rows stand in none of its groups."""
    return _released(table, ledger, ask(**asked), margins, fresh, progress)


def _released(
    table: Any, book: Ledger, question: Question, margins: Sequence[str], fresh: bool,
    progress: Progress | None,
) -> tuple[Release, int]:  # fmt: skip
    dataset = question.dataset
    ready = _prepare(table, book, margins, progress, question)
    sheet = ready.sheet
    if not sheet.readings:  # public zeros alone: nothing is drawn, nothing is spent
        zeros = {name: np.zeros(len(sheet.sizes), dtype=np.int64) for name in ready.truths}
        tell(progress, "done", 1.0)
        return sheet.filled(zeros, book.balance(dataset), None).told(ready.operator), ready.dropped
    mechanisms = mechanisms_text(question, sheet.level, sheet.plan)
    asked = book.begin(dataset, question.canonical(ready.predicates), epsilon=sheet.charge, data=ready.fingerprint,
                       fresh=fresh, admission=ready.admission)  # fmt: skip
    if isinstance(asked, Answer):
        # what was stored is read with the mechanisms that drew it, whatever would be chosen today
        reports, plan = read_answer(asked.text, question, sheet.level, sheet.sizes)
        tell(progress, "done", 1.0)
        return sheet.drawn_by(plan).filled(reports, book.balance(dataset), asked).told(ready.operator), ready.dropped
    drawn = {name: _draw(sheet.plan, sheet.sizes, truth) for name, truth in ready.truths.items()}
    answer = book.finish(asked, answer_text({name: r.tolist() for name, r in drawn.items()}, mechanisms))
    # the reports are stored: from here on everything is post-processing
    tell(progress, "drawn and stored", _STORED)
    made = sheet.filled(drawn, book.balance(dataset), answer).told(ready.operator)
    tell(progress, "done", 1.0)
    return made, ready.dropped


@dataclass(frozen=True)
class _Ready:
    """A question that may be asked, its true counts, and all that their release will need."""

    sheet: Sheet
    truths: Mapping[str, Indices]
    predicates: Mapping[str, str]
    fingerprint: str
    dropped: int  # rows in no group: for the operator alone
    admission: int | None  # the line that admitted the file
    operator: Look | None  # of a table in memory


def _prepare(
    table: Any, book: Ledger, margins: Sequence[str], progress: Progress | None, question: Question
) -> _Ready:
    """Check everything declared, count, choose the mechanisms: all that can fail, before anything is charged."""
    terms = book.terms(question.dataset)
    check_relation(question, terms)
    names = margin_names(margins, question)
    if hasattr(table, "read_all"):  # a reader of record batches is used up by one pass
        table = table.read_all()
    path = Path(table) if isinstance(table, (str, os.PathLike)) else None
    before = None if path is None else stamp(path)
    admission = None if path is None else admission_for(book, path, question.dataset, question.version)
    reading = None if admission is None else Reading.from_dict(admission.reading)
    counts = count_each(table, predicates=list(question.counts.values()), by=list(question.by), domain=question.domain,
                        unit=terms.unit, max_groups=question.max_groups, other=question.other,
                        progress=part(progress, 0.0, _COUNTING), reading=reading,
                        vouched=admission is not None).counts  # fmt: skip
    if path is not None and stamp(path) != before:
        raise TableInputError("The file changed while it was read; ask again about the file that was admitted.")
    counted = dict(zip(question.counts, counts, strict=True))
    check_columns(question, terms, counted)
    level = group_level(question, terms)
    sizes = _sizes(next(iter(counted.values())), question, terms)
    plan = mechanisms_for(question, level, sizes)
    charge = charge_of(question.level) if any(plan.values()) else Fraction(0)
    ready = _Ready(
        Sheet.of(question, terms, level, charge, sizes, plan, names, table_maker(table)),
        {name: _truth(c, question.other) for name, c in counted.items()},
        {name: c.canonical for name, c in counted.items()},
        _fingerprint(counted),
        counts[0].dropped,
        None if admission is None else admission.number,
        _operator(table, terms, question, counts) if path is None else None,
    )
    tell(progress, "counted", _PLANNED)
    return ready


def _operator(table: Any, terms: Terms, question: Question, counts: Sequence[Counts]) -> Look | None:
    """What the call that admits a table in memory saw of the columns that it used: for whoever holds it, alone.

    A value that cannot be looked at must not stop a release, which would tell of it: then there is no report.
    """
    used = {*question.by, *([terms.unit] if terms.unit else []), *(name for c in counts for name in c.columns)}
    try:
        return examined(table, Reading(), None, terms.unit, only=used).with_dropped(counts[0].dropped)
    except Exception:  # in whatever library, for whatever value
        return None


_COUNTING, _PLANNED, _STORED = 0.6, 0.7, 0.85  # the part of a release that is done by then, about


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
    progress: Progress | None = None,
) -> list[dict[str, Any]]:  # fmt: skip
    """The dry run: how far off each report must be expected to be, from declared and public sizes; nothing is charged."""
    with _opened(ledger) as book:
        ready = _prepare(table, book, margins, progress, ask(
            dataset, version, count, by, domain, alpha, epsilon, mechanism, bound, max_groups, other))  # fmt: skip
    sheet = ready.sheet
    expected = {size: _expected(sheet, size) for size in sheet.plan}  # groups of a size are alike
    rows = [
        dict(zip(sheet.question.by, key, strict=True)) | expected[size]
        for key, size in zip(sheet.question.cells, sheet.sizes.tolist(), strict=True)
    ]
    tell(progress, "done", 1.0)
    return rows


def _expected(sheet: Sheet, size: int) -> dict[str, Any]:
    m = sheet.plan[size]
    if m is None:
        return {"n": 0, "mechanism": "none", "standard error": 0.0, "half width": 0.0}
    reading = sheet.readings[size]
    middle = np.array([10**9 if m.inputs.n is None else m.inputs.n // 2])  # far from the ends, where it is widest
    low, high = reading.interval(positions(m.outputs, middle, clamp=True), 1 - COVERAGE)
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


def _draw(plan: Plan, sizes: Indices, truth: Indices) -> NDArray[Any]:
    """One report for each group, all groups of a size at once. Counts beyond a declared bound are clamped to it."""
    whole = all(m is None or m.outputs.is_integer for m in plan.values())
    reports = np.zeros(len(truth), dtype=np.int64 if whole else np.float64)
    for size, chosen in members(sizes).items():
        m = plan[size]
        if m is not None:
            reports[chosen] = m.sample(truth[chosen], clamp=True)
    return reports
