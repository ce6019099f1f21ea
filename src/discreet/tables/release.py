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
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from ..engines.dates import Dates
from ..engines.held_file import KnownByBytes, check_file
from ..engines.reading import Reading
from ..engines.sources import whole_table
from ..errors import ReleaseError, TableInputError
from ..exact.aliases import Rational
from ..exact.level import LevelLike
from ..ledger.entries import Consulted
from ..ledger.ledger import Admission, Answer, Ledger, Terms, opened_ledger
from ..ledger.terms import Price
from ..progress import Progress, tell
from ..progress import part as step
from ..questions.margins import Margin, read_margins
from ..questions.question import Question, QuestionParts, refuse_other_words
from ..sharing.cascades import Cascade
from .ask.asked import Asked, Correction, Spelling, check_adds_up, check_columns, check_relation, spelling_of
from .count.parts_reading import parts_reading
from .count.question_check import QuestionCheck, question_findings
from .count.true_numbers import (
    TrueNumbers,
    check_admitted,
    check_part_has_rows,
    counted_for,
)
from .draw.answers import answer_text, head_text, stored_document
from .draw.audiences import Audiences, answers_of, audiences_text, cascades_for, draw_levels, handed_out
from .draw.measures import Plan, measures_for, tiers_for
from .publish.previews import Preview, preview_of
from .publish.readings import Confidence, members
from .publish.record import units_cut
from .publish.released import Release
from .publish.sheet import Sheet, served

Indices = NDArray[np.int64]
Confirm = Callable[[QuestionCheck], bool]


def release(
    table: Any,
    question: Question | None = None,
    *,
    dataset: str,
    ledger: Ledger | str | os.PathLike[str],
    epsilon: LevelLike | None = None,
    alpha: LevelLike | None = None,
    rho: Rational | None = None,
    version: str = "1",
    part: str | None = None,
    dates: Dates = (),
    margins: Any = (),
    confidence: Rational = "0.95",
    simultaneous: bool = False,
    fresh: bool = False,
    supersedes: str | None = None,
    reason: str | None = None,
    confirm: Confirm | None = None,
    progress: Progress | None = None,
    **parts: Unpack[QuestionParts],
) -> Release:
    """Count and add up, charge, draw, store and return: private statistics of `table`, for each declared group.

    What is asked is a `Question`, or the same parts as keywords (`help(discreet.Question)` has them).

    The ledger's terms for the data set say what is protected. Under "change-one", group membership is public and what a person
    adds is private: group sizes are public. Under "add-remove", one person is added or removed, and nothing about them is public.
    `epsilon` is spent once for the whole call: disjoint groups share it; several statistics divide it. A file must have been
    admitted as this `version` (`admit`); a table in memory is admitted by this call. `preview` says beforehand what error to
    expect, and with `check=True` what is counted in no group.

        rho         what is spent instead of an epsilon, where the data set's terms are concentrated: Gaussian noise
        version     your name for this version of the data
        part        count the people of one part alone, and charge no other; only where the data set's terms declare parts
        dates       of a table in memory: columns of dates with their form. {"born": "dd.mm.yyyy"}
        fresh       draw anew on changed data, and pay again
        confirm     a function that is shown the question beside what it counts (a QuestionCheck, for you alone), and says
                    whether to pay. lambda check: not check.proposals
        margins     totals that match their parts, by columns of `by`. ["sex", ["sex", "district"], []]
        confidence  how often the intervals cover. "0.95"
        simultaneous  make all intervals of the release cover at once, with that confidence, rather than each by itself
        supersedes  the version that this one corrects. Record and page say so
        reason      why it was corrected, published as you write it: put no number from the data in it. "late registrations"

    Of these the last five are no part of the question: they cost nothing, and may be asked for later.

    >>> import discreet as dt, pyarrow as pa
    >>> people, ledger = pa.table({"ill": ["yes", "no", "no"] * 20}), dt.Ledger("budget.db")
    >>> terms = ledger.create("town", budget="1", relation="add-remove")
    >>> made = dt.release(people, dataset="town", ledger=ledger, count="ill = 'yes'", epsilon="1/2")
    >>> print(len(made.rows()), ledger.balance("town").left)
    1 1/2
    """
    asked = Asked.at_level(_question(question, parts), dataset, version, alpha, epsilon, part, rho)
    coverage = Confidence.of(confidence, simultaneous)
    corrects = Correction.of(supersedes, reason, version)
    walk = _walked(table, ledger, asked, margins, coverage, fresh, corrects, confirm, progress, dates)
    return walk.releases[0]


def release_to(
    table: Any,
    question: Question | None = None,
    *,
    dataset: str,
    ledger: Ledger | str | os.PathLike[str],
    audiences: Mapping[str, Any],
    version: str = "1",
    part: str | None = None,
    dates: Dates = (),
    margins: Any = (),
    confidence: Rational = "0.95",
    simultaneous: bool = False,
    fresh: bool = False,
    supersedes: str | None = None,
    reason: str | None = None,
    confirm: Confirm | None = None,
    progress: Progress | None = None,
    **parts: Unpack[QuestionParts],
) -> Audiences:
    """A release for each of several audiences, {name: epsilon}, for example {"ministry": "1", "public": "1/4"}.

    Each audience gets a release of its own (`releases["public"]`). They are drawn such that audiences that share
    theirs learn no more than the least private of them knows, so the charge is the largest of the epsilons, once. Audiences
    with the same epsilon get the same reports. The names are for people: the same question with the same epsilons under
    other names has the stored answer.
    The rest is as in `release`; only geometric noise leads from every level to every more private one.

    >>> import discreet as dt, pyarrow as pa
    >>> people, ledger = pa.table({"ill": ["yes", "no", "no"] * 20}), dt.Ledger("budget.db")
    >>> terms = ledger.create("town", budget="1", relation="add-remove")
    >>> both = dt.release_to(people, dataset="town", ledger=ledger, count="ill = 'yes'", audiences={"ministry": 1, "public": "1/4"})
    >>> print(both["public"].record["epsilon_charged"], ledger.balance("town").left)
    1/4 0
    """
    if {"rho", "alpha", "epsilon"} & parts.keys():
        raise ReleaseError(
            'Audiences have epsilons, such as audiences={"ministry": "1", "public": "1/4"}: that one report can be made '
            "from a sharper one is proved for geometric noise alone."
        )
    asked = Asked.of_audiences(_question(question, parts), dataset, version, audiences, part)
    coverage = Confidence.of(confidence, simultaneous)
    corrects = Correction.of(supersedes, reason, version)
    walk = _walked(table, ledger, asked, margins, coverage, fresh, corrects, confirm, progress, dates)
    return handed_out(walk.releases, asked, walk.charged)


def preview(
    table: Any,
    question: Question | None = None,
    *,
    dataset: str,
    ledger: Ledger | str | os.PathLike[str],
    epsilon: LevelLike | None = None,
    alpha: LevelLike | None = None,
    rho: Rational | None = None,
    version: str = "1",
    part: str | None = None,
    dates: Dates = (),
    margins: Any = (),
    confidence: Rational = "0.95",
    simultaneous: bool = False,
    supersedes: str | None = None,
    reason: str | None = None,
    check: bool = False,
    progress: Progress | None = None,
    **parts: Unpack[QuestionParts],
) -> Preview:
    """The errors to expect from the release, computed from declared and public quantities: nothing is drawn or charged.

        check  compare the question with what it counts, for whoever holds the data: keys that no row has, conditions that are
               true of no row, rows in no group. `check` of the result (a QuestionCheck) has what was found, for you alone

    >>> import discreet as dt, pyarrow as pa
    >>> people, ledger = pa.table({"ill": ["yes", "no", "no"] * 20}), dt.Ledger("budget.db")
    >>> terms = ledger.create("town", budget="1", relation="add-remove")
    >>> expected = dt.preview(people, dataset="town", ledger=ledger, count="ill = 'yes'", epsilon="1/2")
    >>> print(expected.rows()[0]["half width"], ledger.balance("town").left)
    6.0 1
    """
    asked = Asked.at_level(_question(question, parts), dataset, version, alpha, epsilon, part, rho)
    coverage = Confidence.of(confidence, simultaneous)
    corrects = Correction.of(supersedes, reason, version)
    with opened_ledger(ledger) as book:
        allowed = _allowed(table, book, asked, margins, corrects, dates)
        table = whole_table(table)
        ready = _counted(table, book, asked, allowed, coverage, progress)
        compared = _compared(book, asked, allowed, ready) if check else None
    tell(progress, "done", 1.0)
    return preview_of(ready.sheets[0], compared)


def _question(question: Question | None, parts: QuestionParts) -> Question:
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
class _Walk:
    """The result of a walk: a release at each level, and what was charged for all of them."""

    releases: list[Release]
    charged: Fraction


def _walked(
    table: Any,
    ledger: Ledger | str | os.PathLike[str],
    asked: Asked,
    margins: Any,
    confidence: Confidence,
    fresh: bool,
    corrects: Correction | None,
    confirm: Confirm | None,
    progress: Progress | None,
    dates: Dates,
) -> _Walk:
    """The whole way: what is allowed, what was stored, count, compare and confirm where asked to, charge, draw, store, show."""
    with opened_ledger(ledger) as book:
        allowed = _allowed(table, book, asked, margins, corrects, dates)
        if allowed.answer is not None and allowed.spelling is not None:
            if not isinstance(table, KnownByBytes):
                check_file(Path(table))  # it need not be read, but one that is not there was mistyped
            walk = _repeated(allowed.answer, asked, allowed, allowed.spelling, confidence)
        else:
            table = whole_table(table)
            ready = _counted(table, book, asked, allowed, confidence, progress)
            if confirm is None:
                check_part_has_rows(allowed.terms, asked.part, ready.numbers)
            elif not ready.sheets[0].draws_nothing or not ready.numbers.has_rows:
                ready = _confirmed(_compared(book, asked, allowed, ready), confirm, ready)
            walk = _drawn(book, asked, allowed, ready, fresh, progress)
    tell(progress, "done", 1.0)
    if allowed.corrects is None:
        return walk
    said = {"supersedes": allowed.corrects.written}
    return replace(walk, releases=[replace(made, record={**made.record, **said}) for made in walk.releases])


@dataclass(frozen=True)
class _Allowed:
    """What the ledger says about a question before any data are read: its terms, how the file was admitted, and an answer."""

    said: Consulted
    margins: tuple[Margin, ...]
    admission: Admission | None = None  # of files
    spelling: Spelling | None = None  # of files that were admitted
    answer: Answer | None = None
    corrects: Correction | None = None
    reading: Reading | None = None  # as the file was admitted; the dates of a table in memory

    @property
    def terms(self) -> Terms:
        return self.said.terms


def _allowed(
    table: Any, book: Ledger, asked: Asked, margins: Any, corrects: Correction | None = None, dates: Dates = ()
) -> _Allowed:
    """Does the relation of the data set allow the question; and was it answered about the admitted version before?"""
    reading, is_file = Reading.of(dates=dates), isinstance(table, (str, os.PathLike, KnownByBytes))
    if reading.dates and is_file:
        raise TableInputError("The dates of a file are declared when it is admitted (admit); leave them out here.")
    names = read_margins(margins, asked.question.by, asked.question.domain)
    check_adds_up(asked.question, names)
    with book.consult(asked.dataset) as said:
        check_relation(asked, said.terms)
        admission = said.admission(asked.version) if is_file else None
        if admission is None:
            if corrects is not None and not is_file:
                corrects.check_known(said.terms, None)
            return _Allowed(said, names, corrects=corrects, reading=reading)
        spelling = spelling_of(asked, admission.columns, said.terms)
        corrects = None if corrects is None else corrects.found(said, spelling, admission)
        reading = Reading.from_dict(admission.reading)
        stored = said.stored(spelling.question, admission.number)
        return _Allowed(said, names, admission, spelling, stored, corrects, reading)


@dataclass(frozen=True)
class _Ready:
    """A question that may be asked, its true counts, and all that its release will need at each level."""

    sheets: tuple[Sheet, ...]
    cascades: tuple[dict[int, Cascade], ...]  # of each measure, where there are several levels
    numbers: TrueNumbers
    spelling: Spelling
    data: str  # what identifies the data: the digest of a file, or that of the rows of another table
    admission: Admission | None  # of what is known by its bytes
    parts_as: Mapping[str, Any] | None = None  # of a part of other data: how they read the column of parts


def _counted(
    table: Any, book: Ledger, asked: Asked, allowed: _Allowed, confidence: Confidence, progress: Progress | None
) -> _Ready:
    """Count, and choose the mechanisms: all that can fail, before anything is charged. A file is hashed first, and what is
    counted is what was hashed."""
    terms, question = allowed.terms, asked.question
    file = table if isinstance(table, KnownByBytes) else None
    admission = None if file is None else check_admitted(book, allowed.said, file, asked.version, allowed.admission)
    reading = allowed.reading if admission is None else Reading.from_dict(admission.reading)
    counting, vouched = step(progress, 0.0, _COUNTING), admission is not None
    numbers = counted_for(question, terms, table, counting, reading, vouched, asked.part)
    check_columns(question, terms, numbers.columns)
    parts_as = None
    if asked.part is not None and terms.parts is not None:
        parts_as = None if vouched else parts_reading(table, terms.parts, reading)
        allowed.said.check_part(asked.part, parts_as)
    spelling = allowed.spelling or spelling_of(asked, frozenset[str]().union(*numbers.columns.values()), terms)
    sheets = tuple(_sheet(asked.at(level), numbers, allowed, spelling, confidence) for level in asked.levels)
    several = range(len(sheets[0].measures)) if len(sheets) > 1 else ()
    cascades = tuple(cascades_for([sheet.measures[k] for sheet in sheets]) for k in several)
    ready = _Ready(
        sheets,
        cascades,
        numbers,
        spelling,
        spelling.fingerprint(numbers.each) if file is None else file.digest(),
        admission,
        parts_as,
    )
    tell(progress, "counted", _PLANNED)
    return ready


def _sheet(
    asked: Asked,
    numbers: TrueNumbers,
    allowed: _Allowed,
    spelling: Spelling,
    confidence: Confidence,
) -> Sheet:
    """Everything of the release at one level but its reports. Public zeros alone cost nothing."""
    terms, sizes = allowed.terms, numbers.sizes(allowed.terms.relation)
    measures, tiers = measures_for(asked, terms, sizes), tiers_for(asked, terms, sizes)
    charge = asked.level.charge if any(m.drawn for m in measures) else Fraction(0)
    return Sheet.of(asked, spelling, terms, charge, sizes, measures, allowed.margins, confidence, tiers)


def _compared(book: Ledger, asked: Asked, allowed: _Allowed, ready: _Ready) -> QuestionCheck:
    """The question beside what it counted, for whoever holds the data; nothing of it is kept."""
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
    book: Ledger, asked: Asked, allowed: _Allowed, ready: _Ready, fresh: bool, progress: Progress | None
) -> _Walk:
    """Charge, draw and store, in this order; or the answer that was stored before."""
    sheets, spelling, first = ready.sheets, ready.spelling, ready.sheets[0]
    if first.draws_nothing:  # public zeros alone: nothing is spent
        releases = [sheet.filled(*sheet.zeros(), allowed.said.totals_of(asked.part), None) for sheet in sheets]
        return _Walk(releases, Fraction(0))
    corrects = None if allowed.corrects is None else allowed.corrects.written
    heads = [head_text(sheet.asked, sheet.drawn_by, corrects) for sheet in sheets]
    begun = book.begin(
        asked.dataset,
        spelling.question,
        **{asked.measure: first.charge},
        data=ready.data,
        fresh=fresh,
        admission=None if ready.admission is None else ready.admission.number,
        what=asked.words(allowed.terms.unit),
        part=asked.part,
        parts_as=ready.parts_as,
    )
    if isinstance(begun, Answer):  # it is read with the mechanisms that drew it, whatever would be chosen today
        return _repeated(begun, asked, allowed, spelling, first.confidence)
    drawn = _draw_all(ready)
    texts = [answer_text(cells, head, totals) for (cells, totals), head in zip(drawn, heads, strict=True)]
    answer = book.finish(begun, audiences_text(texts) if asked.audiences else texts[0])
    # the reports are stored: from here on everything is post-processing
    tell(progress, "drawn and stored", _STORED)
    releases = [
        sheet.filled(cells, totals, answer.totals, answer) for sheet, (cells, totals) in zip(sheets, drawn, strict=True)
    ]
    return _Walk(releases, first.charge)


def _repeated(
    answer: Answer,
    asked: Asked,
    allowed: _Allowed,
    spelling: Spelling,
    confidence: Confidence,
) -> _Walk:
    """A stored answer, read again without the data: with the mechanisms and sizes that it was drawn with."""
    charged = answer.paid.get(asked.measure, asked.level.charge)
    releases = list[Release]()
    stored = answers_of(answer.text) if asked.audiences else [stored_document(answer.text)]
    for level, document in zip(asked.levels, stored, strict=True):
        # at one of several levels a release says what that level is worth, and never more than was charged for all of them
        paid = min(level.charge, charged) if asked.audiences else charged
        sheet, drawn = served(document, asked.at(level), spelling, allowed.terms, paid, allowed.margins, confidence)
        releases.append(sheet.filled(drawn.reports, drawn.totals, answer.totals, answer))
    return _Walk(releases, charged)


Drawn = tuple[list[NDArray[Any]], list[list[NDArray[Any]]]]  # of each measure, and of each measure of each tier


def _draw_all(ready: _Ready) -> list[Drawn]:
    """The reports at each level: one draw of each mechanism, or one of each cascade."""
    first, numbers = ready.sheets[0], ready.numbers
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
