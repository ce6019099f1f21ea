"""The room of offices: a file that is admitted by whoever holds it, a question, the error to expect, and the release.

The file stays in a folder of the studio's own, for its owner's eyes alone, and goes when the studio is closed. Ledgers lie in
the folder where the studio was started, and nowhere else. Keys are declared by hand: none is ever offered from the file.
"""

from __future__ import annotations

import json
import re
import secrets
import shutil
from pathlib import Path
from typing import Annotated, Any, Literal

from fastapi import APIRouter, HTTPException, Request, Response
from pydantic import BaseModel, Field
from starlette.concurrency import run_in_threadpool

from ..errors import DiscreetError, TableInputError
from ..exact.code_lists import has_code_lists
from ..ledger.ledger import Ledger
from ..present.views import View, plain
from ..questions.question import Question
from ..tables.count import admitting
from ..tables.publish.presentation import Presentation, PresentationParts
from ..tables.publish.released import Release
from ..tables.release import preview, release
from ..tables.totals.margin_rows import names_to_label
from .jobs import as_job, under_way
from .rooms import Form, Shelf, Text

router = APIRouter(prefix="/api", tags=["release"])
_KINDS = {"csv": "text/csv; charset=utf-8", "json": "application/json", "html": "text/html; charset=utf-8"}
_NAME = re.compile(r"[^\\/\0:]{1,100}")
_AT_ONCE = 4  # files on their way

Condition = Annotated[str, Field(max_length=2000)]


class Place:
    """Where a studio keeps what was dropped in, and where its ledgers lie."""

    def __init__(self, uploads: Path, ledgers: Path) -> None:
        self.uploads, self.ledgers = uploads, ledgers
        self.tables: Shelf[Path] = _Files(4)
        self.made: Shelf[Release] = Shelf()
        self.under_way = 0

    def ledger(self, name: str) -> Path:
        """A ledger by its plain name: no path leads out of the folder."""
        if not _NAME.fullmatch(name) or not name.isprintable() or name[0] in ". " or len(name.encode()) > 200:
            raise DiscreetError(
                "A ledger is named without its folder, such as budget.db; it lies where the studio was started."
            )
        path = self.ledgers / name
        if path.is_symlink() or (path.exists() and not path.is_file()):
            raise DiscreetError(f"{name} is no plain file; name a ledger that is one.")
        return path


class _Files(Shelf[Path]):
    def dropped(self, thing: Path) -> None:
        shutil.rmtree(thing.parent, ignore_errors=True)


class ReadingForm(Form):
    """How the file is read."""

    encoding: Text = "utf-8"
    separator: Text | None = None
    decimal: Text | None = None
    quote: Text = '"'
    null: Text = ""
    header_row: Text = "1"
    dates: list[Text] = Field(default_factory=list, max_length=50)


class ProfileForm(Form):
    table: str = Field(max_length=40)
    way: ReadingForm = Field(default_factory=ReadingForm)
    unit: Text | None = None


class ProfileReply(BaseModel):
    """For whoever holds the file, alone."""

    columns: list[str]
    grave: bool
    told: str


class LedgerForm(Form):
    ledger: Text


class AccountReply(BaseModel):
    dataset: str
    relation: str
    public: list[str]
    unit: str | None
    budget: str
    spent: str
    left: str


class AccountsReply(BaseModel):
    accounts: list[AccountReply]


class OpeningForm(LedgerForm):
    """The terms of a new data set, which stay."""

    dataset: Text
    budget: Text
    relation: Literal["change-one", "add-remove"]
    public: list[Text] = Field(default_factory=list, max_length=50)
    unit: Text | None = None
    parts: Text | None = None


class AdmissionForm(LedgerForm):
    table: str = Field(max_length=40)
    dataset: Text
    version: Text = "1"
    way: ReadingForm = Field(default_factory=ReadingForm)


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
    count: str | None = Field(None, max_length=2000)
    sum: list[Condition] = Field(default_factory=list, max_length=20)
    mean: list[Condition] = Field(default_factory=list, max_length=20)
    share: list[Condition] = Field(default_factory=list, max_length=20)
    by: list[Text] = Field(default_factory=list, max_length=10)
    domain: dict[str, Any] | None = None
    epsilon: Text
    max_count: int | None = Field(None, ge=1, le=10**12)
    max_groups: int | None = Field(None, ge=1, le=1000)
    counted: Text = "units"
    max_rows: int | None = Field(None, ge=1, le=1000)
    margins: list[Text] = Field(default_factory=list, max_length=10)
    purpose: Literal["reading", "adding"] | None = None
    round_to: int | None = Field(None, ge=2, le=10**9)
    hide_below: int | None = Field(None, ge=1, le=10**9)
    confidence: Text = "0.95"
    simultaneous: bool = False
    presentation: PresentationForm = Field(default_factory=PresentationForm)


class TableReply(BaseModel):
    """A table for the page."""

    title: str
    columns: list[str]
    rows: list[list[Any]]
    notes: list[str]


class PriceReply(BaseModel):
    """The price of a question, and what may be a typing error in it: for whoever holds the file, alone."""

    measure: str  # epsilon, or rho under concentrated terms
    charge: str
    left: str
    paid_by: str | None
    spellings: list[str]
    advice: str | None


class ReleaseReply(BaseModel):
    """What may be published; its files are asked for by its name."""

    name: str
    sheet: TableReply
    totals: list[TableReply]
    left: str


def _table_reply(view: View) -> TableReply:
    rows = [[plain(x) for x in row] for row in view.rows]
    return TableReply(title=view.title, columns=list(view.columns), rows=rows, notes=list(view.notes))


def _place(request: Request) -> Place:
    place: Place = request.app.state.place
    return place


@router.post(
    "/upload/table",
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
        }
    },
)
async def take_table(request: Request, kind: Literal["csv", "tsv", "txt", "parquet", "xlsx"] = "csv") -> dict[str, str]:
    """A file of people, kept for its owner alone until the studio is closed."""
    place = _place(request)
    if place.under_way >= _AT_ONCE:
        raise HTTPException(429, "Other files are on their way; wait for them.")
    path = place.uploads / secrets.token_hex(8) / f"table.{kind}"
    place.under_way += 1
    try:
        path.parent.mkdir(mode=0o700)
        with path.open("xb") as out:
            async for part in request.stream():
                await run_in_threadpool(out.write, part)
        if path.stat().st_size == 0:
            raise TableInputError("The file is empty; give one with a line of names and rows below it.")
    except OSError:
        shutil.rmtree(path.parent, ignore_errors=True)
        raise HTTPException(413, "The file does not fit on the disk; use the command line where it lies.") from None
    except BaseException:
        shutil.rmtree(path.parent, ignore_errors=True)
        raise
    finally:
        place.under_way -= 1
    return {"name": place.tables.put(path)}


@router.post("/release/look")
@as_job()
def look(request: Request, asked: ProfileForm) -> ProfileReply:
    """What can be read of the file and what cannot: for you alone, not for publication."""
    path = _place(request).tables.take(asked.table, "file")
    return _profile_reply(admitting.profile(path, unit=asked.unit, progress=under_way(), **asked.way.model_dump()))


def _profile_reply(profile: admitting.Profile) -> ProfileReply:
    return ProfileReply(columns=list(profile.names), grave=bool(profile.grave), told=str(profile))


@router.post("/release/accounts")
@as_job(quick=True)
def accounts(request: Request, asked: LedgerForm) -> AccountsReply:
    """The data sets of a ledger; none where there is no such file yet."""
    return _accounts(_place(request).ledger(asked.ledger))


def _accounts(path: Path) -> AccountsReply:
    if not path.exists():
        return AccountsReply(accounts=[])
    with Ledger.existing(path) as book:
        listed = book.balances().accounts
    return AccountsReply(
        accounts=[
            AccountReply(
                dataset=t.name,
                relation=t.relation,
                public=list(t.public),
                unit=t.unit,
                budget=f"{t.rho}{b.budget}",
                spent=f"{t.rho}{b.spent}",
                left=f"{t.rho}{b.left}",
            )
            for t, b in listed
        ]
    )


@router.post("/release/open")
@as_job(quick=True)
def open_account(request: Request, asked: OpeningForm) -> AccountsReply:
    """Fix, once, what is protected in a data set and how much may be spent on it."""
    path = _place(request).ledger(asked.ledger)
    with Ledger(path) as book:
        book.create(
            asked.dataset,
            asked.budget,
            relation=asked.relation,
            public=asked.public,
            unit=asked.unit or None,
            parts=asked.parts or None,
        )
    return _accounts(path)


@router.post("/release/admit")
@as_job()
def admit(request: Request, asked: AdmissionForm) -> ProfileReply:
    """All checks of the file's content, once; then questions may be asked about it."""
    place = _place(request)
    path = place.tables.take(asked.table, "file")
    with Ledger.existing(place.ledger(asked.ledger)) as book:
        try:
            return _profile_reply(
                admitting.admit(
                    path,
                    dataset=asked.dataset,
                    ledger=book,
                    version=asked.version,
                    progress=under_way(),
                    **asked.way.model_dump(),
                )
            )
        except TableInputError as error:
            report = getattr(error, "report", None)
            if report is None:
                raise
            return _profile_reply(report)


def _question(asked: QuestionForm) -> Question:
    """The question of a page: what it leaves empty is not asked for. A page names no files of this machine."""
    if has_code_lists(asked.domain):
        raise TableInputError(
            "A page declares its keys themselves and names no file; use a code list with discreet release --domain."
        )
    names = (
        "count",
        "sum",
        "mean",
        "share",
        "by",
        "domain",
        "max_count",
        "max_groups",
        "counted",
        "max_rows",
        "purpose",
    )
    given = {name: getattr(asked, name) for name in names}
    return Question(**{name: value for name, value in given.items() if value != []})


def _terms(asked: QuestionForm) -> dict[str, Any]:
    """Of which data set it is asked, at which level, and how the table is shown: the same for a preview and for the release."""
    names = ("dataset", "epsilon", "version", "part", "margins", "round_to", "hide_below", "confidence", "simultaneous")
    return {name: getattr(asked, name) for name in names}


def _words(asked: QuestionForm, question: Question) -> PresentationParts:
    """Words and marks of the files; what could not be written is refused before anything is paid."""
    words: PresentationParts = asked.presentation.model_dump()  # type: ignore[assignment]
    Presentation.of(names_to_label(asked.margins, question), **words)
    return words


@router.post("/release/expect")
@as_job()
def expect(request: Request, asked: QuestionForm) -> TableReply:
    """How far off each report must be expected to be; nothing is drawn, nothing charged."""
    place = _place(request)
    path = place.tables.take(asked.table, "file")
    with Ledger.existing(place.ledger(asked.ledger)) as book:
        expected = preview(path, _question(asked), ledger=book, progress=under_way(), **_terms(asked))
    return _table_reply(expected.view())


@router.post("/release/before")
@as_job()
def before(request: Request, asked: QuestionForm) -> PriceReply:
    """What is asked once before anything is paid: the price, and what may be a mistake in the question."""
    place = _place(request)
    path = place.tables.take(asked.table, "file")
    with Ledger.existing(place.ledger(asked.ledger)) as book:
        question = _question(asked)
        _words(asked, question)
        check = preview(path, question, ledger=book, check=True, progress=under_way(), **_terms(asked)).check
    assert check is not None
    return PriceReply(
        measure=check.measure,
        charge=str(check.charge),
        left=str(check.left),
        paid_by=check.paid_by,
        spellings=list(map(str, check.findings)),
        advice=check.advice,
    )


@router.post("/release/ask")
@as_job()
def ask(request: Request, asked: QuestionForm) -> ReleaseReply:
    """Count, charge, draw and store: then it may be published. Once begun it goes on to its end, since it is paid for."""
    place = _place(request)
    path = place.tables.take(asked.table, "file")
    with Ledger.existing(place.ledger(asked.ledger)) as book:
        question = _question(asked)
        words = _words(asked, question)
        # whoever asks has seen the comparison before, and the record says that there was one
        made = release(path, question, ledger=book, confirm=lambda check: True, **_terms(asked)).presented(**words)
        left = str(book.balance(asked.dataset, asked.part).left)
    view = made.view()
    return ReleaseReply(
        name=place.made.put(made),
        sheet=_table_reply(view),
        totals=[_table_reply(part) for part in view.parts],
        left=left,
    )


@router.get(
    "/release/made/{name}/{kind}",
    response_class=Response,
    responses={200: {"content": {t: {} for t in _KINDS.values()}}},
)
@as_job(quick=True)
def file_of(request: Request, name: str, kind: Literal["csv", "json", "html"]) -> Response:
    """A file of a release: the rows, the record, or the page."""
    made = _place(request).made.take(name, "release")
    text = {
        "csv": made.csv_text,
        "json": lambda: json.dumps({"record": plain(made.record), "margins": plain(made.margins)}, indent=1) + "\n",
        "html": made.to_html,
    }[kind]()
    return Response(text, headers={"content-type": _KINDS[kind]})
