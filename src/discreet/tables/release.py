"""Releasing counts: from a table, a question and a budget to reports that may be published.

The order matters. Everything declared is checked first; then the data are counted; then the charge is written and
synced; then the reports are drawn; then they are stored; only then are they shown. Nothing that is shown depends on the
data but the reports, and, where group membership is public, the sizes of the groups.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..engines.reading import Reading
from ..engines.sources import stamp, whole_table
from ..errors import ReleaseError, TableInputError
from ..ledger.ledger import Answer, Ledger, Terms
from ..mechanism import Mechanism
from ..progress import Progress, part, tell
from .admission import Profile, admission_for, examined
from .answers import answer_text, mechanisms_text, read_answer, read_levels
from .audiences import (
    Audiences,
    answers_of,
    audiences_text,
    cascades_for,
    charged_for,
    draw_levels,
    for_audience,
    handed_out,
    paid_for,
)
from .coarse import Coarse
from .found import Found, counted_for
from .frames import table_maker
from .margins import read_margins
from .measures import Plan, measures_for
from .previews import Preview, preview_of
from .question import (
    Question,
    ask,
    charge_of,
    check_columns,
    check_relation,
)
from .results import Release
from .served import Served, served
from .sheet import Sheet
from .spelling import Spelling, spelling_of
from .tiers import tiers_for
from .values import members
from .words import question_words

Indices = NDArray[np.int64]


def release(
    table: Any,
    *,
    dataset: str,
    ledger: Ledger | str,
    count: str | Sequence[str] | Mapping[str, str] | None = None,
    sum: Any = None,
    mean: Any = None,
    share: Any = None,
    by: Sequence[str] = (),
    domain: Any = None,
    alpha: object = None,
    epsilon: object = None,
    alphas: Any = None,
    epsilons: Any = None,
    weights: Mapping[str, Any] | None = None,
    mechanism: str | Mechanism = "auto",
    purpose: str | None = None,
    loss: str | None = None,
    prior: Any = None,
    version: str = "1",
    max_count: int | None = None,
    max_groups: int = 1,
    pool_other: bool = False,
    margins: Any = (),
    measure_totals: Any = (),
    round_to: object = None,
    hide_below: object = None,
    fresh: bool = False,
    dry_run: bool = False,
    progress: Progress | None = None,
) -> Any:  # a Release, for several audiences Audiences, of a dry run an Preview
    """Count and add up, charge, draw, store and return: private statistics of `table`, for each declared group.

        count   people for whom a condition is true: a condition, a list of them or {name: condition}
        sum     of a column, what each person adds within declared bounds: {"income": Grid(0, 100000, 100)}, or a text
                "income:0..100000/100 where CONDITION missing VALUE", a list of them or {name: text}
        mean    written like sum
        share   of the people for whom a condition is true, written like count

    The ledger's terms for the data set say what is protected. Under "change-one", group membership is public and what a person
    adds is private: group sizes are public, and every group gets a mechanism for its own size. Under "add-remove",
    one person is added or removed: give `max_count`, the largest count that can be, or the noise of counts has no upper end.
    `epsilon` is spent once for the whole call: disjoint groups share it; several statistics divide it, equally or as
    `weights` say, {name: number}. A file must have been admitted as this `version` (`Ledger.admit`); a table in memory is
    admitted by this call, and `made.operator` has the report, which is not for publication. With `dry_run` the errors to
    expect are returned (an Preview); nothing is drawn and nothing charged.

        margins  totals that match their parts, from the reports that are there, at no cost: ["sex", ["sex", "district"], []]
        measure_totals  totals to draw reports of too, for a part of epsilon: [[], "district"], or weights {"total": 1, "cells": 6}

    `purpose` chooses the mechanisms of counts: "reading" (small groups as fair as can be), "adding" (the smallest error of
    sums of reports) or "least error" for a `loss` and a public `prior`. `round_to` and `hide_below` merge noisy reports before
    anything is computed from them; like `margins` they are no part of the question, and cost nothing when asked for later.

    `alphas` (or `epsilons`) are the levels of several audiences: each gets a release of its own (`made["1/2"]`), drawn such
    that whoever shares learns what the least private of them knows; the charge is that of the least private level, once.
    """
    coarse = Coarse.of(round_to, hide_below)
    with _opened(ledger) as book:
        question = ask(
            dataset,
            version,
            count,
            by,
            domain,
            alpha,
            epsilon,
            mechanism,
            max_count,
            max_groups,
            pool_other,
            sum,
            mean,
            share,
            weights,
            purpose,
            loss,
            prior,
            alphas,
            epsilons,
            measure_totals,
        )
        if dry_run:
            return _expected(table, book, question, margins, coarse, progress)
        run = _to_audiences if question.audiences else _released
        return run(table, book, question, margins, coarse, fresh, progress)[0]


def release_and_dropped(
    table: Any,
    *,
    ledger: Ledger,
    margins: Any = (),
    round_to: object = None,
    hide_below: object = None,
    fresh: bool = False,
    progress: Progress | None = None,
    **asked: Any,
) -> tuple[Release | Audiences, int | None]:
    """A release, and for the operator alone, outside the guarantee: how many rows stand in none of its groups.

    None where a stored answer was given without reading the file.
    """
    question, coarse = ask(**asked), Coarse.of(round_to, hide_below)
    run = _to_audiences if question.audiences else _released
    return run(table, ledger, question, margins, coarse, fresh, progress)


def expected_errors(
    table: Any,
    *,
    ledger: Ledger | str,
    margins: Any = (),
    round_to: object = None,
    hide_below: object = None,
    progress: Progress | None = None,
    **asked: Any,
) -> Preview:
    """The dry run of what `release` is asked."""
    rest = {
        "version": "1",
        "count": None,
        "by": (),
        "domain": None,
        "alpha": None,
        "epsilon": None,
        "mechanism": "auto",
        "max_count": None,
        "max_groups": 1,
        "pool_other": False,
    }
    with _opened(ledger) as book:
        return _expected(table, book, ask(**{**rest, **asked}), margins, Coarse.of(round_to, hide_below), progress)


def _expected(
    table: Any, book: Ledger, question: Question, margins: Any, coarse: Coarse, progress: Progress | None
) -> Preview:
    if question.audiences:
        raise ReleaseError('A dry run is of one level: ask for each audience with its alpha and purpose "adding".')
    expected = preview_of(_prepare(table, book, margins, coarse, progress, question).sheet)
    tell(progress, "done", 1.0)
    return expected


def _released(
    table: Any,
    book: Ledger,
    question: Question,
    margins: Any,
    coarse: Coarse,
    fresh: bool,
    progress: Progress | None,
) -> tuple[Release, int | None]:
    dataset = question.dataset
    again = _stored(table, book, question, margins, coarse)
    if again is not None:
        tell(progress, "done", 1.0)
        return again[0][0], None
    ready = _prepare(table, book, margins, coarse, progress, question)
    sheet = ready.sheet
    if sheet.draws_nothing:  # public zeros alone: nothing is spent
        zeros = [np.zeros(len(sheet.sizes), dtype=np.int64) for _ in sheet.measures]
        none = [[np.zeros(len(tier.sizes), dtype=np.int64) for _ in tier.measures] for tier in sheet.tiers]
        tell(progress, "done", 1.0)
        return sheet.filled(zeros, book.balance(dataset), None, none).told(ready.operator), ready.dropped
    spelling = ready.spelling
    head = mechanisms_text(question, sheet.measures, spelling.contents, sheet.sizes, sheet.tiers)
    before = [] if spelling.before is None else [(spelling.before, ready.found.fingerprint)]
    levels = [(sheet.sizes, sheet.measures), *((tier.sizes, tier.measures) for tier in sheet.tiers)]
    reports = sum(len(sizes) * len(measures) for sizes, measures in levels)
    with book.room(len(head) + reports * _LONGEST):
        asked = book.begin(
            dataset,
            spelling.question,
            epsilon=sheet.charge,
            data=spelling.fingerprint(ready.found.each),
            fresh=fresh,
            admission=ready.admission,
            spelled=before,
            what=question_words(question),
        )
        if isinstance(asked, Answer):
            # what was stored is read with the mechanisms that drew it, whatever would be chosen today
            made = _repeated(book, asked, asked.text, sheet, spelling)
            tell(progress, "done", 1.0)
            return made.told(ready.operator), ready.dropped
        drawn = [_draw(m.plan, sheet.sizes, ready.found.truth(m)) for m in sheet.measures]
        totals = [
            [
                _draw(
                    m.plan,
                    tier.sizes,
                    tier.added(ready.found.truth(m), question.max_count if m.counts_people else None),
                )
                for m in tier.measures
            ]
            for tier in sheet.tiers
        ]
    answer = book.finish(asked, answer_text(drawn, head, totals))
    # the reports are stored: from here on everything is post-processing
    tell(progress, "drawn and stored", _STORED)
    made = sheet.filled(drawn, book.balance(dataset), answer, totals).told(ready.operator)
    tell(progress, "done", 1.0)
    return made, ready.dropped


def _to_audiences(
    table: Any,
    book: Ledger,
    question: Question,
    margins: Any,
    coarse: Coarse,
    fresh: bool,
    progress: Progress | None,
) -> tuple[Audiences, int | None]:
    """A release for each audience: one charge, one stored answer, a cascade of reports for each group."""
    dataset, asked = question.dataset, [for_audience(question, level) for level in question.audiences]
    again = _stored(table, book, question, margins, coarse)
    if again is not None:
        tell(progress, "done", 1.0)
        return handed_out(again[0], question, again[1]), None
    ready = _prepare(table, book, margins, coarse, progress, question)
    sheets = [_at_level(ready.sheet, mine) for mine in asked]
    cascades = [cascades_for([sheet.measures[k] for sheet in sheets]) for k in range(len(ready.sheet.measures))]
    sizes, spelling, balance = ready.sheet.sizes, ready.spelling, book.balance
    if ready.sheet.draws_nothing:
        zeros = [np.zeros(len(sizes), dtype=np.int64) for _ in cascades]
        made = [sheet.filled(zeros, balance(dataset), None) for sheet in sheets]
        return handed_out(made, question, Fraction(0)).told(ready.operator), ready.dropped
    heads = [
        mechanisms_text(mine, sheet.measures, spelling.contents, sizes)
        for mine, sheet in zip(asked, sheets, strict=True)
    ]
    charge, levels = ready.sheet.charge, list[list[Any]]()  # of each audience the reports of each measure
    with book.room(sum(map(len, heads)) + len(heads) * len(sizes) * len(ready.sheet.measures) * _LONGEST):
        begun = book.begin(
            dataset,
            spelling.question,
            epsilon=ready.sheet.charge,
            data=spelling.fingerprint(ready.found.each),
            fresh=fresh,
            admission=ready.admission,
            what=question_words(question),
        )
        if not isinstance(begun, Answer):
            truths = [ready.found.truth(measure) for measure in ready.sheet.measures]
            drawn = [draw_levels(c, sizes, truth, len(asked)) for c, truth in zip(cascades, truths, strict=True)]
            levels = [list(reports) for reports in zip(*drawn, strict=True)]
    if isinstance(begun, Answer):
        made = [
            _repeated(book, begun, text, sheet, spelling)
            for text, sheet in zip(answers_of(begun.text), sheets, strict=True)
        ]
        charge = charged_for(begun, question)
    else:
        texts = [answer_text(reports, head) for reports, head in zip(levels, heads, strict=True)]
        answer = book.finish(begun, audiences_text(texts))
        tell(progress, "drawn and stored", _STORED)
        made = [sheet.filled(reports, balance(dataset), answer) for sheet, reports in zip(sheets, levels, strict=True)]
    tell(progress, "done", 1.0)
    return handed_out(made, question, charge).told(ready.operator), ready.dropped


def _at_level(sheet: Sheet, question: Question) -> Sheet:
    """The sheet of one audience: everything at its own level."""
    charge = charge_of(question.level) if sheet.charge else Fraction(0)
    mine = Sheet.of(
        question,
        sheet.terms,
        charge,
        sheet.sizes,
        measures_for(question, sheet.terms, sheet.sizes),
        sheet.margins,
        sheet.make_table,
        sheet.coarse,
    )
    return mine.asking(sheet.record["question"])


def _stored(
    table: Any, book: Ledger, question: Question, margins: Any, coarse: Coarse
) -> tuple[list[Release], Fraction] | None:
    """The stored answer about an admitted version, read without its file, of each audience, and what was charged for it; None
    where there is none, or an older one."""
    if not isinstance(table, (str, os.PathLike)):
        return None
    terms, names = book.terms(question.dataset), read_margins(margins, question.by, question.domain)
    check_relation(question, terms)
    admission = book.admission(question.dataset, question.version)
    if admission is None:
        return None
    spelling = spelling_of(question, dict.fromkeys(question.names, admission.columns))
    answer = book.stored(question.dataset, spelling.all, admission.number)
    if answer is None:
        return None
    made, texts = [], answers_of(answer.text) if question.audiences else [answer.text]
    for level, text in zip(question.audiences or [question.level], texts, strict=True):
        mine = for_audience(question, level)
        again = served(text, mine, terms, paid_for(answer, mine), spelling.contents, names, table_maker(table), coarse)
        if again is None:
            return None
        made.append(_filled(book, again, answer, spelling))
    return made, charged_for(answer, question)


def _repeated(book: Ledger, answer: Answer, text: str, sheet: Sheet, spelling: Spelling) -> Release:
    """A stored answer once more, or that of one audience, where the data were read: early answers need their sizes."""
    question, contents, charge = sheet.question, spelling.contents, paid_for(answer, sheet.question)
    again = served(text, question, sheet.terms, charge, contents, sheet.margins, sheet.make_table, sheet.coarse)
    if again is None:
        stored = read_answer(text, question, sheet.measures, contents, sheet.sizes)
        tiers, levels = read_levels(text, question, sheet.tiers, contents)
        again = Served(sheet.drawn_by(stored.measures, tiers, charge), stored.reports, levels)
    return _filled(book, again, answer, spelling)


def _filled(book: Ledger, again: Served, answer: Answer, spelling: Spelling) -> Release:
    balance = book.balance(again.sheet.question.dataset)
    return again.sheet.asking(spelling.question).filled(again.reports, balance, answer, again.totals)


@dataclass(frozen=True)
class _Ready:
    """A question that may be asked, its true counts, and all that their release will need."""

    sheet: Sheet
    found: Found
    spelling: Spelling
    admission: int | None  # the line that admitted the file
    operator: Profile | None  # of a table in memory

    @property
    def dropped(self) -> int:
        """Rows in no group: for the operator alone."""
        return self.found.dropped


def _prepare(
    table: Any, book: Ledger, margins: Any, coarse: Coarse, progress: Progress | None, question: Question
) -> _Ready:
    """Check everything declared, count, choose the mechanisms: all that can fail, before anything is charged."""
    terms = book.terms(question.dataset)
    check_relation(question, terms)
    names = read_margins(margins, question.by, question.domain)
    table = whole_table(table)
    path = Path(table) if isinstance(table, (str, os.PathLike)) else None
    before = None if path is None else stamp(path)
    admission = None if path is None else admission_for(book, path, question.dataset, question.version)
    reading = None if admission is None else Reading.from_dict(admission.reading)
    found = counted_for(
        question, terms, table, progress=part(progress, 0.0, _COUNTING), reading=reading, vouched=admission is not None
    )
    if path is not None and stamp(path) != before:
        raise TableInputError("The file changed while it was read; ask again about the file that was admitted.")
    check_columns(question, terms, found.columns)
    sizes = found.sizes(terms.relation)
    measures, tiers = measures_for(question, terms, sizes), tiers_for(question, terms, sizes)
    charge = charge_of(question.level) if any(any(m.plan.values()) for m in measures) else Fraction(0)
    spelling = spelling_of(question, found.columns)
    sheet = Sheet.of(question, terms, charge, sizes, measures, names, table_maker(table), coarse, tiers)
    ready = _Ready(
        sheet.asking(spelling.question),
        found,
        spelling,
        None if admission is None else admission.number,
        _operator(table, terms, question, found) if path is None else None,
    )
    tell(progress, "counted", _PLANNED)
    return ready


def _operator(table: Any, terms: Terms, question: Question, found: Found) -> Profile | None:
    """What the call that admits a table in memory saw of the columns that it used: for whoever holds it, alone.

    A value that cannot be looked at must not stop a release, which would tell of it: then there is no report.
    """
    used = {
        *question.by,
        *([terms.unit] if terms.unit else []),
        *(name for names in found.columns.values() for name in names),
    }
    try:
        return examined(table, Reading(), None, terms.unit, only=used).with_dropped(found.dropped)
    except Exception:  # in whatever library, for whatever value
        return None


_LONGEST = 26  # letters of a report as it is stored
_COUNTING, _PLANNED, _STORED = 0.6, 0.7, 0.85  # the part of a release that is done by then, about


@contextmanager
def _opened(ledger: Ledger | str) -> Iterator[Ledger]:
    """The ledger as it is, or opened for this call alone."""
    if isinstance(ledger, Ledger):
        yield ledger
    else:
        with Ledger.existing(ledger) as book:
            yield book


def _draw(plan: Plan, sizes: Indices, truth: Indices) -> NDArray[Any]:
    """One report for each group, all groups of a size at once. Counts beyond a declared bound are clamped to it."""
    whole = all(m is None or m.outputs.is_integer for m in plan.values())
    reports = np.zeros(len(truth), dtype=np.int64 if whole else np.float64)
    for size, chosen in members(sizes).items():
        m = plan[size]
        if m is not None:
            reports[chosen] = m.sample(truth[chosen], clamp=True)
    return reports
