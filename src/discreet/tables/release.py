"""Releasing counts: from a table, a question and a budget to reports that may be published.

The order matters. Everything declared is checked first; then the data are counted; then the charge is written and
synced; then the reports are drawn; then they are stored; only then are they shown. Of what is shown, only
the reports depend on the data, and, where group membership is public, the sizes of the groups.

One walk serves one audience or many: at each level there is a sheet, and one audience has one level.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..engines.held_file import check_file
from ..engines.reading import Reading
from ..engines.table import Table
from ..errors import ReleaseError
from ..ledger.book import Admission, Answer, Book, Terms
from ..ledger.entries import Consulted
from ..ledger.terms import Price
from ..progress import Progress, tell
from ..progress import part as step
from ..questions.question import Question, QuestionParts, refuse_other_words
from ..sharing.cascades import Cascade
from .ask.asked import Asked, Correction, Spelling, check_columns, check_relation, spelling_of
from .count.admitted import admitted_as
from .count.parts_reading import parts_reading
from .count.question_check import QuestionCheck, question_findings
from .count.true_numbers import TrueNumbers, check_part_has_rows, counted_for
from .draw.answers import answer_text, head_text, stored_document
from .draw.audiences import answers_of, audiences_text, cascades_for, draw_levels
from .draw.measures import Plan, measures_for, tiers_for
from .publish.previews import Preview, preview_of
from .publish.readings import members
from .publish.record import units_cut
from .publish.released import Release
from .publish.sheet import Sheet, served

Indices = NDArray[np.int64]
Confirm = Callable[[QuestionCheck], bool]


def released(
    book: Book,
    table: Table,
    asked: Asked,
    fresh: bool,
    corrects: Correction | None,
    confirm: Confirm | None,
    progress: Progress | None,
) -> tuple[list[Release], Fraction]:
    """The whole way: what is allowed, what was stored, count, compare and confirm where asked to, charge, draw, store, show.

    A release at each level, and what was charged for all of them."""
    allowed = _allowed(book, table, asked, corrects)
    if allowed.answer is not None and allowed.spelling is not None:
        if isinstance(table.what, (str, os.PathLike)):
            check_file(Path(table.what))  # it need not be read, but one that is not there was mistyped
        made, charged = _repeated(allowed.answer, asked, allowed, allowed.spelling)
    else:
        ready = _counted(book, table.opened(), asked, allowed, progress)
        assert ready.numbers is not None
        if confirm is None:
            check_part_has_rows(allowed.terms, asked.part, ready.numbers)
        elif not ready.sheets[0].draws_nothing or not ready.numbers.has_rows:
            ready = _confirmed(_compared(book, asked, allowed, ready), confirm, ready)
        made, charged = _drawn(book, asked, allowed, ready, fresh, progress)
    tell(progress, "done", 1.0)
    said = {} if allowed.corrects is None else {"supersedes": allowed.corrects.written}
    return [replace(each, record={**each.record, **said}) for each in made], charged


def previewed(
    book: Book,
    table: Table | None,
    asked: Asked,
    corrects: Correction | None,
    check: bool,
    progress: Progress | None,
) -> Preview:
    """The errors to expect. Without a table, where nothing public depends on it: from what is declared alone."""
    allowed = _allowed(book, table, asked, corrects)
    ready = _declared(asked, allowed) if table is None else _counted(book, table.opened(), asked, allowed, progress)
    if check and ready.numbers is None:
        raise ReleaseError(
            "To compare the question with the data, give them: preview(question, table=..., check=True)."
        )
    compared = _compared(book, asked, allowed, ready) if check else None
    tell(progress, "done", 1.0)
    return preview_of(ready.sheets[0], compared)


def question_of(question: Question | None, parts: QuestionParts) -> Question:
    """The question as it was given, whole or in parts. A part that says what nobody would need to say may stand beside it."""
    if question is None:
        return Question(**parts)
    refuse_other_words(parts)
    if not isinstance(question, Question):
        raise ReleaseError(
            "The question is a discreet.Question; make one with Question(count=..., by=..., domain=...), or give its parts "
            "as keywords."
        )
    defaults = {name: part.default for name, part in inspect.signature(Question).parameters.items()}
    given = [
        name
        for name, value in parts.items()
        if not _is_unsaid(value, defaults.get(name)) and not _is_one_group(name, value)
    ]
    if given:
        raise ReleaseError(
            f"Both a Question and {', '.join(given)} were given: put everything "
            "into the Question, or give all of it as keywords without a Question."
        )
    return question


def _is_one_group(name: str, value: Any) -> bool:
    """One group of a person is what counts where nothing is said."""
    return name == "max_groups" and _is_unsaid(value, 1)


def _is_unsaid(value: Any, default: Any) -> bool:
    return value is default or (type(value) is type(default) and bool(value == default))


@dataclass(frozen=True)
class _Allowed:
    """What the ledger says about a question before any data are read: its terms, how the data were admitted, and an answer."""

    said: Consulted
    admission: Admission | None = None
    spelling: Spelling | None = None  # of data that were admitted
    answer: Answer | None = None
    corrects: Correction | None = None

    @property
    def terms(self) -> Terms:
        return self.said.terms


def _allowed(book: Book, table: Table | None, asked: Asked, corrects: Correction | None) -> _Allowed:
    """Does the relation of the data set allow the question; and was it answered about the admitted version before?"""
    with book.consult(asked.dataset) as said:
        check_relation(asked, said.terms)
        admission = said.admission(asked.version)
        if admission is None:
            if corrects is not None and table is not None and not table.is_file:
                corrects.check_known(said.terms, None)
            return _Allowed(said, corrects=corrects)
        if table is not None:
            table.read_as(Reading.from_dict(admission.reading))  # refuses another way
        spelling = spelling_of(asked, admission.columns, said.terms)
        corrects = None if corrects is None else corrects.found(said, spelling, admission)
        stored = said.stored(spelling.question, admission.number)
        return _Allowed(said, admission, spelling, stored, corrects)


@dataclass(frozen=True)
class _Ready:
    """A question that may be asked, its true counts, and all that its release will need at each level."""

    sheets: tuple[Sheet, ...]
    spelling: Spelling
    numbers: TrueNumbers | None = None  # none of a question that was not counted, and cannot be drawn
    cascades: tuple[dict[int, Cascade], ...] = ()  # of each measure, where there are several levels
    data: str = ""  # what identifies the data: the digest of a file, or that of the rows of another table
    parts_as: Mapping[str, Any] | None = None  # of a part of data not admitted: how they read the column of parts


def _declared(asked: Asked, allowed: _Allowed) -> _Ready:
    """The same of what is declared alone, without any data."""
    question, terms = asked.question, allowed.terms
    if terms.relation == "change-one":
        raise ReleaseError(
            f"In {asked.dataset!r} the sizes of groups are public, and the noise depends on them: give the table they are of, "
            "preview(question, table=...)."
        )
    columns = {each.name: frozenset(each.columns) for each in question.statistics}
    check_columns(question, terms, columns)
    spelling = allowed.spelling or spelling_of(asked, frozenset[str]().union(*columns.values()), terms)
    sizes = np.full(len(question.cells), -1, dtype=np.int64)
    return _Ready((_sheet(asked, sizes, allowed, spelling),), spelling)


def _counted(book: Book, table: Table, asked: Asked, allowed: _Allowed, progress: Progress | None) -> _Ready:
    """Count, and choose the mechanisms: all that can fail, before anything is charged. A file is hashed first, and what is
    counted is what was hashed."""
    terms, question = allowed.terms, asked.question
    table = admitted_as(book, allowed.said, table, asked.version, allowed.admission)
    is_admitted = allowed.admission is not None
    numbers = counted_for(question, terms, table, step(progress, 0.0, _COUNTING), is_admitted, asked.part)
    check_columns(question, terms, numbers.columns)
    parts_as = None
    if asked.part is not None and terms.parts is not None:
        parts_as = None if is_admitted else parts_reading(table.what, terms.parts, table.reading)
        allowed.said.check_part(asked.part, parts_as)
    spelling = allowed.spelling or spelling_of(asked, frozenset[str]().union(*numbers.columns.values()), terms)
    sizes = numbers.sizes(terms.relation)
    sheets = tuple(_sheet(asked.at(level), sizes, allowed, spelling) for level in asked.levels)
    several = range(len(sheets[0].measures)) if len(sheets) > 1 else ()
    cascades = tuple(cascades_for([sheet.measures[k] for sheet in sheets]) for k in several)
    data = table.digest() if is_admitted else spelling.fingerprint(numbers.each)
    tell(progress, "counted", _PLANNED)
    return _Ready(sheets, spelling, numbers, cascades, data, parts_as)


def _sheet(asked: Asked, sizes: Indices, allowed: _Allowed, spelling: Spelling) -> Sheet:
    """Everything of the release at one level but its reports. Public zeros alone cost nothing."""
    terms = allowed.terms
    measures, tiers = measures_for(asked, terms, sizes), tiers_for(asked, terms, sizes)
    charge = asked.level.charge if any(any(m.plan.values()) for m in measures) else Fraction(0)
    return Sheet.of(asked, spelling, terms, charge, sizes, measures, tiers)


def _compared(book: Book, asked: Asked, allowed: _Allowed, ready: _Ready) -> QuestionCheck:
    """The question beside what it counted, for whoever holds the data; nothing of it is kept."""
    assert ready.numbers is not None
    findings = tuple(question_findings(ready.numbers, asked.part))
    balance, sheet = book.balance(asked.dataset, asked.part), ready.sheets[0]
    left = min([balance.left, *(period.left for period in balance.periods)])
    free = allowed.answer is not None or not sheet.charge  # what is stored is not paid for again
    charge = Fraction(0) if free else Price(sheet.charge, asked.measure).under(allowed.terms)
    cut = units_cut(ready.numbers.first.cut, asked.question, allowed.terms)
    paid_by = asked.paid_by(allowed.terms)
    measure = allowed.terms.measure
    return QuestionCheck(findings, asked.dataset, charge, left, paid_by, sheet.advice, cut, balance.periods, measure)


def _confirmed(check: QuestionCheck, confirm: Confirm, ready: _Ready) -> _Ready:
    """The same, if whoever pays agrees; from here on the record says that the question was checked."""
    if not confirm(check):
        raise ReleaseError("It was not confirmed: nothing was drawn or charged.", check=check)
    return replace(ready, sheets=tuple(sheet.after_check() for sheet in ready.sheets))


def _drawn(
    book: Book, asked: Asked, allowed: _Allowed, ready: _Ready, fresh: bool, progress: Progress | None
) -> tuple[list[Release], Fraction]:
    """Charge, draw and store, in this order; or the answer that was stored before."""
    sheets, spelling, first = ready.sheets, ready.spelling, ready.sheets[0]
    if first.draws_nothing:  # public zeros alone: nothing is spent
        releases = [sheet.filled(*sheet.zeros(), allowed.said.totals_of(asked.part), None) for sheet in sheets]
        return releases, Fraction(0)
    corrects = None if allowed.corrects is None else allowed.corrects.written
    heads = [head_text(sheet.asked, sheet.drawn_by, corrects) for sheet in sheets]
    begun = book.begin(
        asked.dataset,
        spelling.question,
        **{asked.measure: first.charge},
        data=ready.data,
        fresh=fresh,
        admission=None if allowed.admission is None else allowed.admission.number,
        what=asked.words(allowed.terms.unit),
        part=asked.part,
        parts_as=ready.parts_as,
    )
    if isinstance(begun, Answer):  # it is read with the mechanisms that drew it, whatever would be chosen today
        return _repeated(begun, asked, allowed, spelling)
    drawn = _draw_all(ready)
    texts = [answer_text(cells, head, totals) for (cells, totals), head in zip(drawn, heads, strict=True)]
    answer = book.finish(begun, audiences_text(texts) if asked.audiences else texts[0])
    # the reports are stored: from here on everything is post-processing
    tell(progress, "drawn and stored", _STORED)
    releases = [
        sheet.filled(cells, totals, answer.totals, answer) for sheet, (cells, totals) in zip(sheets, drawn, strict=True)
    ]
    return releases, first.charge


def _repeated(answer: Answer, asked: Asked, allowed: _Allowed, spelling: Spelling) -> tuple[list[Release], Fraction]:
    """A stored answer, read again without the data: with the mechanisms and sizes that it was drawn with."""
    charged = answer.paid.get(asked.measure, asked.level.charge)
    releases = list[Release]()
    stored = answers_of(answer.text) if asked.audiences else [stored_document(answer.text)]
    for level, document in zip(asked.levels, stored, strict=True):
        # at one of several levels a release says what that level is worth, and never more than was charged for all of them
        paid = min(level.charge, charged) if asked.audiences else charged
        sheet, drawn = served(document, asked.at(level), spelling, allowed.terms, paid)
        releases.append(sheet.filled(drawn.reports, drawn.totals, answer.totals, answer))
    return releases, charged


Drawn = tuple[list[NDArray[Any]], list[list[NDArray[Any]]]]  # of each measure, and of each measure of each tier


def _draw_all(ready: _Ready) -> list[Drawn]:
    """The reports at each level: one draw of each mechanism, or one of each cascade."""
    first, numbers = ready.sheets[0], ready.numbers
    assert numbers is not None
    if not ready.cascades:
        return [_draw_sheet(first, numbers)]
    truths = [numbers.truth(measure) for measure in first.measures]
    levels = [
        draw_levels(cascade, first.sizes, truth, len(ready.sheets))
        for cascade, truth in zip(ready.cascades, truths, strict=True)
    ]
    return [(list(reports), []) for reports in zip(*levels, strict=True)]


def _draw_sheet(sheet: Sheet, numbers: TrueNumbers) -> Drawn:
    cells = [_draw(m.plan, sheet.sizes, numbers.truth(m)) for m in sheet.measures]
    totals = [[_draw(m.plan, tier.sizes, tier.added(numbers.truth(m))) for m in tier.measures] for tier in sheet.tiers]
    return cells, totals


def _draw(plan: Plan, sizes: Indices, truth: Indices) -> NDArray[Any]:
    """One report for each group, all groups of a size at once. A count beyond the inputs of a mechanism of your own is moved into
    them."""
    whole = all(m is None or m.outputs.is_integer for m in plan.values())
    reports = np.zeros(len(truth), dtype=np.int64 if whole else np.float64)
    for size, chosen in members(sizes).items():
        m = plan[size]
        if m is not None:
            reports[chosen] = m.sample(truth[chosen], clamp=True)
    return reports


_COUNTING, _PLANNED, _STORED = 0.6, 0.7, 0.85  # the part of a release that is done by then, about
