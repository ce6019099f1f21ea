"""The room Release, its last three steps: a question, the error to expect of it, and the release that is paid for.

Keys are declared by hand or from a public list: none is ever offered from the file.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal, TypeVar

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, Field

from ..errors import BudgetError, DiscreetError, TableInputError
from ..exact.arithmetic import parse_exact, show, show_amount
from ..exact.code_lists import has_code_lists
from ..exact.concentrated import read_rho
from ..exact.level import Level
from ..present.views import View, plain
from ..questions.margins import read_margins
from ..questions.predicate import find_column, parse, unknown_column
from ..questions.question import Question
from ..tables.ask.asked import check_adds_up
from ..tables.dataset import DataSet
from ..tables.ledger import Ledger
from ..tables.publish.error_statement import PEOPLE, error_sentences, error_table
from ..tables.publish.expected_errors import GROUPS
from ..tables.publish.presentation import Presentation, PresentationParts
from ..tables.publish.previews import Preview
from ..tables.publish.readings import Confidence
from ..tables.publish.released import Release
from ..tables.saved.release_files import contents_of
from ..tables.totals.margin_rows import names_to_label
from .field_words import FieldRefusedError, in_fields
from .jobs import as_job, under_way
from .release_code import as_command, as_python
from .release_place import Condition, Place, place_of
from .release_room import LedgerForm
from .rooms import Form, Text

router = APIRouter(prefix="/api/release", tags=["release"])
_KINDS = {
    "csv": "text/csv; charset=utf-8",
    "spreadsheet": "text/csv; charset=utf-8",
    "json": "application/json",
    "html": "text/html; charset=utf-8",
    "zip": "application/zip",
}
_TIMES = [Fraction(2) ** k for k in range(-3, 4)]  # around the epsilon that was chosen
_SMALLEST = 5  # groups that are named
Shown = TypeVar("Shown", Release, Preview)
Kind = Literal["csv", "spreadsheet", "json", "html", "zip"]


class PresentationForm(Form):
    """Words for the page, and marks for the CSV: no part of the question, and free."""

    title: Text | None = None
    source: Text | None = None
    notes: list[Condition] = Field(default_factory=list, max_length=20)
    labels: dict[Text, Text] = Field(default_factory=dict, max_length=100)
    separator: Text | None = None
    decimal: Text = "."


class QuestionForm(LedgerForm):
    """What is asked. `domain` has the declared keys, as domain.json has them."""

    table: str = Field(max_length=40)
    dataset: Text
    version: Text = "1"
    part: Text | None = None
    count: Condition | list[Condition] | None = None
    sum: list[Condition] = Field(default_factory=list, max_length=20)
    mean: list[Condition] = Field(default_factory=list, max_length=20)
    share: list[Condition] = Field(default_factory=list, max_length=20)
    by: list[Text] = Field(default_factory=list, max_length=10)
    domain: dict[str, Any] | None = None
    epsilon: Text | None = None
    rho: Text | None = None
    max_groups: int | None = Field(None, ge=1, le=1000)
    counted: Text = "units"
    max_rows: int | None = Field(None, ge=1, le=1000)
    margins: list[Text] = Field(default_factory=list, max_length=10)
    confidence: Text = "0.95"
    simultaneous: bool = False
    presentation: PresentationForm = Field(default_factory=PresentationForm)


class TableReply(BaseModel):
    """A table for the page."""

    title: str
    columns: list[str]
    rows: list[list[Any]]
    notes: list[str]


class ExpectReply(TableReply):
    """How wrong the numbers of a release will be; `smallest` names the smallest groups, where their sizes are public."""

    sentences: list[str]
    smallest: list[str]


class PointReply(BaseModel):
    at: float
    value: float
    series: str
    chosen: bool


class CurveReply(BaseModel):
    """Errors at several epsilons around the chosen one, or at several rhos."""

    measure: str
    points: list[PointReply]


class FoundReply(BaseModel):
    what: str
    where: str
    found: str
    proposal: str
    to_correct: bool


class PriceReply(BaseModel):
    """The price of a question, and what may be a mistake in it: for whoever holds the file, alone."""

    measure: str  # epsilon, or rho under concentrated terms
    charge: str
    left: str
    after: str
    enough: bool
    paid_by: str | None
    findings: list[FoundReply]
    advice: str | None
    cut: str | None


class ReleaseReply(BaseModel):
    """What may be published; its files are asked for by its name."""

    name: str
    sheet: TableReply
    totals: list[TableReply]
    left: str
    python: str
    command: str


def _table_reply(view: View) -> TableReply:
    rows = [[plain(x) for x in row] for row in view.rows]
    return TableReply(title=view.title, columns=list(view.columns), rows=rows, notes=list(view.notes))


_PARTS = ("count", "sum", "mean", "share", "by", "domain", "max_groups", "counted", "max_rows")


def _parts(asked: QuestionForm) -> dict[str, Any]:
    """The parts of a question: what the page leaves empty is not asked for."""
    return {name: value for name in _PARTS if (value := getattr(asked, name)) not in ([], None)}


def _terms(asked: QuestionForm) -> dict[str, Any]:
    """At which level it is asked, and of what: the same for a preview and for the release."""
    return {name: getattr(asked, name) for name in ("epsilon", "rho", "version", "part")}


def _shown(asked: QuestionForm, made: Shown) -> Shown:
    """A release or a preview with the totals and intervals that the page asks for."""
    return made.with_totals(*asked.margins).presented(confidence=asked.confidence, simultaneous=asked.simultaneous)


def _words(asked: QuestionForm, question: Question, town: DataSet) -> PresentationParts:
    """Words and marks of the files; what could not be written is refused before anything is paid."""
    words: PresentationParts = asked.presentation.model_dump()  # type: ignore[assignment]
    Presentation.of(names_to_label(asked.margins, question, town.terms.unit), **words)
    Confidence.of(asked.confidence, asked.simultaneous)
    check_adds_up(question, read_margins(asked.margins, question.by, question.domain))
    return words


# Errors at their fields


@contextmanager
def _asked(request: Request, asked: QuestionForm) -> Iterator[tuple[Place, Path, DataSet]]:
    """The file and the data set that a question is about. What is refused is refused at the field to blame, where one is."""
    if has_code_lists(asked.domain):  # before anything is tried: no file of this machine is read by its name
        raise TableInputError(
            "A page declares its keys themselves and names no file; use a code list with discreet release --domain."
        )
    place = place_of(request)
    path = place.tables.take(asked.table, "file")
    with Ledger(place.ledger(asked.ledger)) as ledger:
        town = ledger[asked.dataset]
        try:
            yield place, path, town
        except DiscreetError as error:
            field = _blamed(asked, town, error)
            raise error if field is None else FieldRefusedError(str(field[1]), field=field[0]) from None


def _blamed(asked: QuestionForm, town: DataSet, error: DiscreetError) -> tuple[str, DiscreetError] | None:
    """The field that is wrong by itself, with what is wrong: each is tried alone, so that no wording decides."""
    if isinstance(error, BudgetError):
        return "epsilon" if asked.rho is None else "rho", error
    for field, attempt in _attempts(asked, town):
        try:
            attempt()
        except DiscreetError as own:
            return field, own
    return None


def _columns(asked: QuestionForm, town: DataSet) -> list[str]:
    try:
        admission = town.ledger.book.admission(town.name, asked.version)
    except DiscreetError:
        return []
    return [] if admission is None else list(admission.columns)


def _attempts(asked: QuestionForm, town: DataSet) -> Iterator[tuple[str, Callable[[], Any]]]:
    columns = _columns(asked, town)
    if asked.rho is not None:
        yield "rho", lambda: read_rho(asked.rho)
    elif asked.epsilon is not None:
        yield "epsilon", lambda: Level.of(epsilon=asked.epsilon)
    counts = [asked.count] if isinstance(asked.count, str) else asked.count or []
    for kind, texts in (("count", counts), ("sum", asked.sum), ("mean", asked.mean), ("share", asked.share)):
        for k, text in enumerate(texts):
            yield f"{kind}.{k}", lambda kind=kind, text=text: _check_statistic(kind, text, columns)  # type: ignore[misc]
    for column in asked.by:
        yield f"domain.{column}", lambda column=column: _check_keys(column, asked.domain, columns)  # type: ignore[misc]
    yield "confidence", lambda: Confidence.of(asked.confidence, asked.simultaneous)
    question = Question(**_parts(asked))
    yield "margins", lambda: read_margins(asked.margins, question.by, question.domain)
    words = asked.presentation
    for name in ("title", "source", "notes", "labels", "decimal", "separator"):
        known = names_to_label(asked.margins, question, town.terms.unit)
        one: Any = {name: getattr(words, name), **({"decimal": words.decimal} if name == "separator" else {})}
        yield f"presentation.{name}", lambda known=known, one=one: Presentation.of(known, **one)  # type: ignore[misc]


def _check_statistic(kind: str, text: str, columns: list[str]) -> None:
    parts: Any = {kind: [text]}
    for statistic in Question(**parts).statistics:
        if columns and statistic.column is not None and find_column(statistic.column, columns) is None:
            raise TableInputError(unknown_column(statistic.column, columns))
        for condition in statistic.conditions:
            if columns:
                parse(condition, columns)


def _check_keys(column: str, domain: dict[str, Any] | None, columns: list[str]) -> None:
    if columns and find_column(column, columns) is None:
        raise TableInputError(unknown_column(column, columns))
    if not (domain or {}).get(column) and "keys" not in (domain or {}) and "columns" not in (domain or {}):
        raise TableInputError(f"Declare the keys of {show(column)}: those of a public list, never those of the file.")
    if domain and column in domain:
        Question(by=[column], domain={column: domain[column]})


# The preview


@router.post("/expect")
@as_job()
def expect(request: Request, asked: QuestionForm) -> ExpectReply:
    """How far off each report must be expected to be; nothing is drawn, nothing charged."""
    with _asked(request, asked) as (_, path, town):
        expected = _shown(
            asked, town.preview(Question(**_parts(asked)), table=path, progress=under_way(), **_terms(asked))
        )
    table = _table_reply(expected.view())
    notes = [in_fields(note) for note in table.notes]
    limits = [
        f"{statistic}, {of}: each within {each}; all at once within {together}."
        for statistic, of, _, each, together in error_table(expected.record).rows
    ]
    told = [*limits, *error_sentences(expected.record), *expected.record["beware"]]
    return ExpectReply(
        **{**table.model_dump(), "notes": notes}, sentences=[in_fields(x) for x in told], smallest=_smallest(expected)
    )


def _smallest(expected: Preview) -> list[str]:
    """The smallest groups that are not empty, where sizes are public: there the noise weighs most."""
    by = expected.record["by"]
    sizes = {
        ", ".join(str(line[name]) for name in by): line["n"] for line in expected.lines if by and line["n"] is not None
    }
    small = sorted((n, name) for name, n in sizes.items() if n > 0)[:_SMALLEST]
    return [f"{name} ({n:,})" for n, name in small]


@router.post("/curve")
@as_job()
def curve(request: Request, asked: QuestionForm) -> CurveReply:
    """The same at several epsilons, or rhos, around the one that was chosen."""
    with _asked(request, asked) as (_, path, town):
        question, terms = Question(**_parts(asked)), _terms(asked)
        given, rho = terms.pop("epsilon"), terms.pop("rho")
        if rho is None:
            measure, chosen, exact = "epsilon", given, parse_exact(given)
            near = Fraction(f"{Level.of(epsilon=given).epsilon:.3g}") if exact is None else exact
        else:
            measure, chosen, near = "rho", rho, read_rho(rho)
        found = []
        for times in _TIMES:
            asked_for: dict[str, Any] = {measure: chosen if times == 1 else near * times}
            expected = town.preview(question, table=path, progress=under_way(), **asked_for, **terms)
            found.append((float(near * times), _shown(asked, expected).record, times == 1))
    return CurveReply(measure=measure, points=_points(found))


def _points(found: list[tuple[float, Any, bool]]) -> list[PointReply]:
    """Each group by itself, and all at once; of a mean over a private number of people, in a group of a hundred."""
    return [
        PointReply(
            at=at,
            value=float(row[which]) / (PEOPLE[0] if row["by_size"] else 1),
            series=(f"{row['statistic']}: " if len(record["statistics"]) > 1 else "")
            + ("each number" if which == "each" else "all at once")
            + (f" (of {PEOPLE[0]})" if row["by_size"] else ""),
            chosen=chosen,
        )
        for at, record, chosen in found
        for row in record["errors"]
        for which in ("each", "all")
        if row["of"] == GROUPS and row[which]
    ]


@router.post("/before")
@as_job()
def before(request: Request, asked: QuestionForm) -> PriceReply:
    """What is asked once before anything is paid: the price, and what may be a mistake in the question."""
    with _asked(request, asked) as (_, path, town):
        question = Question(**_parts(asked))
        _words(asked, question, town)
        expected = town.preview(question, table=path, check=True, progress=under_way(), **_terms(asked))
        check = _shown(asked, expected).check
    assert check is not None
    found = [
        FoundReply(what=f.what, where=f.where, found=f.found, proposal=in_fields(f.proposal), to_correct=f.to_correct)
        for f in check.findings
    ]
    return PriceReply(
        measure=check.measure,
        charge=str(check.charge),
        left=str(check.left),
        after=show_amount(max(check.left - check.charge, Fraction(0))),
        enough=check.charge <= check.left,
        paid_by=check.paid_by,
        findings=found,
        advice=None if check.advice is None else in_fields(check.advice),
        cut=check.cut,
    )


# The release


@router.post("/ask")
@as_job()
def ask(request: Request, asked: QuestionForm) -> ReleaseReply:
    """Count, charge, draw and store: then it may be published. Once begun it goes on to its end, since it is paid for."""
    with _asked(request, asked) as (place, path, town):
        parts = _parts(asked)
        question = Question(**parts)
        words = _words(asked, question, town)
        # whoever asks has seen the comparison before, and the record says that there was one
        made = town.release(path, question, confirm=lambda check: True, **_terms(asked))
        made = _shown(asked, made).presented(**words)
        left = str(town.balance(asked.part).left)
    view, name = made.view(), place.made.put(made)
    file = place.draft.file or "people.csv"
    code = {"python": as_python(asked, parts, file), "command": as_command(asked, parts, file)}
    if place.draft.table == asked.table:
        place.draft = place.draft.model_copy(update={"made": name, **code})
    return ReleaseReply(
        name=name,
        sheet=_table_reply(view),
        totals=[_table_reply(part) for part in view.parts],
        left=left,
        **code,
    )


@router.get(
    "/made/{name}/{kind}",
    response_class=Response,
    responses={200: {"content": {t: {} for t in _KINDS.values()}}},
)
@as_job(quick=True)
def file_of(request: Request, name: str, kind: Kind) -> Response:
    """A file of a release as `save` writes it: rows, record or page; rows with a mark that spreadsheets need; or all in one."""
    made = place_of(request).made.take(name, "release")
    contents = contents_of(made, Path("released.csv"), bom=kind == "spreadsheet")
    named = {path.name: text.encode() for path, text in contents.items()}
    if kind != "zip":
        content = named[f"released.{'csv' if kind == 'spreadsheet' else kind}"]
    else:
        with io.BytesIO() as held, zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
            for each, data in named.items():
                archive.writestr(zipfile.ZipInfo(each), data)
            archive.close()
            content = held.getvalue()
    return Response(content, headers={"content-type": _KINDS[kind]})
