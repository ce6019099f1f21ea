"""The room Release, its first two steps: a file that its holder looks at and admits, and the budget that it is asked about.

The file stays in a folder of the studio's own, for its owner's eyes alone, and goes when it is forgotten or the studio is closed.
Ledgers lie in the folder where the studio was started, and nowhere else.
"""

from __future__ import annotations

import secrets
import shutil
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

from fastapi import APIRouter, HTTPException, Request
from pydantic import BaseModel, Field
from starlette.concurrency import run_in_threadpool

from ..engines.table import read
from ..errors import DiscreetError, TableInputError
from ..exact.code_lists import read_code_list
from ..exact.concentrated import epsilon_above
from ..ledger.promise import TWICE, TWICE_RHO, Odds
from ..ledger.terms import cautions, terms_given
from ..planning.many_tables import CONCENTRATED, PURE, plan_tables
from ..tables.count import admitting
from ..tables.count.findings import Finding
from ..tables.count.first_rows import first_rows, misread_option
from ..tables.ledger import Ledger
from . import town
from .field_words import FieldRefusedError, in_fields
from .jobs import as_job, under_way
from .release_place import CoarserCodes, Draft, Place, ReadingForm, place_of
from .rooms import Form, Text

__all__ = ["Place", "router"]
router = APIRouter(prefix="/api", tags=["release"])
_AT_ONCE = 4  # files on their way
_NAMED = {"latin-1": "Latin-1", "cp1252": "Windows (cp1252)", "utf-8": "UTF-8", ";": "; (semicolon)", "|": "| (bar)"}
_BINARY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
    }
}


class TableForm(Form):
    """A file that was dropped in, and how it is read."""

    table: str = Field(max_length=40)
    way: ReadingForm = Field(default_factory=ReadingForm)
    codes: list[Text] = Field(default_factory=list, max_length=50)


class ProfileForm(TableForm):
    unit: Text | None = None


class RemedyReply(BaseModel):
    """A way of reading that would mend a finding: what to put into which field, and how its button is named."""

    option: str
    value: str
    label: str


class FindingReply(BaseModel):
    column: str
    what: str
    count: int | None
    places: list[int]
    advice: str
    grave: bool
    remedies: list[RemedyReply]


class ColumnReply(BaseModel):
    name: str
    holds: str
    different: str
    missing: int


class ProfileReply(BaseModel):
    """For whoever holds the file, alone: what it holds, what may be misread, and the first rows as they are read."""

    size: int
    place: str  # what findings are counted in: lines or rows
    columns: list[ColumnReply]
    findings: list[FindingReply]
    rows: list[list[Any]]
    grave: bool


class LedgerForm(Form):
    ledger: Text


class AccountReply(BaseModel):
    dataset: str
    relation: str
    public: list[str]
    unit: str | None
    parts: str | None
    measure: str  # what its budget adds up: epsilon, or rho
    delta: str | None
    budget: str
    spent: str
    left: str
    versions: list[str]


class AccountsReply(BaseModel):
    accounts: list[AccountReply]


class BudgetForm(Form):
    """A budget: an epsilon; a rho with a delta; or an epsilon with a delta."""

    budget: Text | None = None
    rho: Text | None = None
    delta: Text | None = None


class MeaningForm(BudgetForm):
    relation: Literal["change-one", "add-remove"]


class MeaningReply(BaseModel):
    """What a budget does to a suspicion about one person, at most."""

    sentence: str
    columns: list[str]
    rows: list[list[str]]


class OpeningForm(BudgetForm, LedgerForm):
    """The terms of a new data set, which stay."""

    dataset: Text
    relation: Literal["change-one", "add-remove"]
    public: list[Text] = Field(default_factory=list, max_length=50)
    unit: Text | None = None
    parts: Text | None = None


class TablesForm(Form):
    budget: Text
    delta: Text = "1e-9"
    tables: Text = "10"


class TablesReply(BaseModel):
    """How many tables a budget pays for, with one kind of terms and with the other."""

    sentences: list[str]
    break_even: int
    rows: list[dict[str, Any]]


class AdmissionForm(TableForm, LedgerForm):
    dataset: Text
    version: Text = "1"


class CodesReply(BaseModel):
    """The codes of a list, what they are called, and the coarser codes in which they lie, by column."""

    keys: list[str]
    source: str
    labels: dict[str, dict[str, str]]
    containing: dict[str, CoarserCodes]


# The file


async def _taken(request: Request, name: str) -> Path:
    """A file of the request's body in a folder of its own."""
    place = place_of(request)
    if place.under_way >= _AT_ONCE:
        raise HTTPException(429, "Other files are on their way; wait for them.")
    path = place.uploads / secrets.token_hex(8) / name
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
    return path


@router.post("/upload/table", openapi_extra=_BINARY)
async def take_table(
    request: Request, kind: Literal["csv", "tsv", "txt", "parquet", "xlsx"] = "csv", name: Text = ""
) -> dict[str, str]:
    """A file of people, kept for its owner alone until it is forgotten or the studio is closed."""
    path = await _taken(request, f"table.{kind}")
    return {"name": place_of(request).took(path, name or path.name)}


@router.post("/upload/codes", openapi_extra=_BINARY)
async def take_codes(request: Request, column: Text = "column") -> CodesReply:
    """What a public code list declares: a CSV with a column `code`, perhaps `label`, `parent` and `level`. The list is not kept."""
    path = await _taken(request, "codes.csv")
    try:
        found = await run_in_threadpool(read_code_list, path, column)
    finally:
        shutil.rmtree(path.parent, ignore_errors=True)
    containing = {name: CoarserCodes.model_validate(coarser) for name, coarser in found.containing.items()}
    return CodesReply(keys=found.keys, source=found.source, labels=found.labels, containing=containing)


@router.post("/release/example")
@as_job(quick=True)
def example(request: Request) -> Draft:
    """A made-up town in place of a file, with a question that one might ask of it. Nothing is opened, admitted or paid."""
    place = place_of(request)
    path = place.uploads / secrets.token_hex(8) / "table.csv"
    path.parent.mkdir(mode=0o700)
    path.write_bytes(town.people())
    place.took(path, town.NAME)
    place.draft = place.draft.model_copy(update=town.draft())
    return place.draft


@router.post("/release/look")
@as_job()
def look(request: Request, asked: ProfileForm) -> ProfileReply:
    """What can be read of the file and what cannot, with what would mend it: for you alone, not for publication."""
    path = place_of(request).tables.take(asked.table, "file")
    way = asked.way.model_dump()
    try:
        found = admitting.profile(read(path, **way), unit=asked.unit, codes=asked.codes, progress=under_way())
    except TableInputError as error:
        if not error.remedies:
            raise _placed(error, way) from None
        told = Finding("", "the file cannot be read so", 0, (), in_fields(str(error)), True, error.remedies)
        return _reply_of(0, "lines", [], [told], [])
    return _profile_reply(found, path)


def _placed(error: DiscreetError, way: dict[str, Any]) -> DiscreetError:
    """The refusal of a reading, at the field that is to blame."""
    field = misread_option(way)
    return error if field is None else FieldRefusedError(str(error), field=f"way.{field}")


def _profile_reply(profile: admitting.Profile, path: Path) -> ProfileReply:
    columns = [
        ColumnReply(name=str(name), holds=str(holds), different=str(different), missing=missing)
        for name, holds, different, missing in (column.values() for column in profile.columns)
    ]
    rows = first_rows(path, profile.reading)
    return _reply_of(profile.size, f"{profile.place}s", columns, profile.findings, rows)


def _reply_of(size: int, place: str, columns: list[ColumnReply], findings: Any, rows: list[list[Any]]) -> ProfileReply:
    replies = [
        FindingReply(
            column=f.column,
            what=in_fields(f.what),
            count=f.count or None,
            places=list(f.places),
            advice=in_fields(f.advice),
            grave=f.grave,
            remedies=[RemedyReply(option=o, value=v, label=_button(o, v)) for o, v in f.remedies],
        )
        for f in sorted(findings, key=lambda f: not f.grave)
    ]
    grave = any(f.grave for f in findings)
    return ProfileReply(size=size, place=place, columns=columns, findings=replies, rows=rows, grave=grave)


def _button(option: str, value: str) -> str:
    """What the button of a remedy says."""
    named = _NAMED.get(value, value)
    return {
        "encoding": f"Read as {named}",
        "separator": f"Read with {named}",
        "decimal": f"Decimal {'comma' if value == ',' else 'point'}",
        "null": f"{value} is missing",
        "sheet": f"Read the sheet {value}",
        "header_row": f"Names are in line {value}",
        "dates": f"Dates as {value.rpartition(':')[2]}",
        "codes": f"{value} has codes",
    }[option]


@router.post("/release/admit")
@as_job()
def admit(request: Request, asked: AdmissionForm) -> ProfileReply:
    """All checks of the file's content, once; then questions may be asked about it."""
    place = place_of(request)
    path = place.tables.take(asked.table, "file")
    with Ledger(place.ledger(asked.ledger)) as ledger:
        try:
            report = ledger[asked.dataset].admit(
                read(path, **asked.way.model_dump()),
                version=asked.version,
                codes=asked.codes,
                progress=under_way(),
            )
        except TableInputError as error:
            refused = getattr(error, "report", None)
            if refused is None:
                raise
            return _profile_reply(refused, path)
    place.admitted(asked.table, asked.dataset, asked.version)
    return _profile_reply(report, path)


# The budget


@router.post("/release/accounts")
@as_job(quick=True)
def accounts(request: Request, asked: LedgerForm) -> AccountsReply:
    """The data sets of a ledger; none where there is no such file yet."""
    return _accounts(place_of(request).ledger(asked.ledger))


def _accounts(path: Path) -> AccountsReply:
    if not path.exists():
        return AccountsReply(accounts=[])
    with Ledger(path) as ledger:
        listed = ledger.balances().accounts
        versions = {terms.name: [each.version for each in ledger.book.admissions(terms.name)] for terms, _ in listed}
    return AccountsReply(
        accounts=[
            AccountReply(
                dataset=t.name,
                relation=t.relation,
                public=list(t.public),
                unit=t.unit,
                parts=t.parts,
                measure="epsilon" if t.delta is None else "rho",
                delta=None if t.delta is None else str(t.delta),
                budget=str(b.budget),
                spent=str(b.spent),
                left=str(b.left),
                versions=versions[t.name],
            )
            for t, b in listed
        ]
    )


@router.post("/release/meaning")
@as_job(quick=True)
def meaning(asked: MeaningForm) -> MeaningReply:
    """What a budget means for one person, before it is fixed."""
    budget, delta = _amount(asked)
    rho = None if delta is None else budget
    odds = {
        word: Odds(times * budget, None)
        if rho is None or delta is None
        else Odds(epsilon_above(times * times * rho, delta), times * times * rho)
        for times, word in ((1, "that somebody is in the data"), (2, "what is true of somebody who is known to be"))
    }
    if asked.relation == "change-one":
        odds = {"what is true of one person": next(iter(odds.values()))}
    first, *known = odds.values()
    rows = [[about, *map(str, row.row().values())] for about, row in odds.items()]
    columns = ["a suspicion of", *first.row()]
    about = "that one person is in the data " if known else ""
    told = f"Everything that is ever published changes the odds {about}by a factor of at most {first.words()}."
    told += "".join(
        f" {TWICE if rho is None else TWICE_RHO} These odds change by at most {row.words()}." for row in known
    )
    told = " ".join([told, *cautions(budget, delta)])
    return MeaningReply(sentence=told, columns=columns, rows=rows)


def _amount(asked: BudgetForm) -> tuple[Fraction, Fraction | None]:
    """The budget as the ledger would have it: an epsilon, or a rho with its delta; refused at its field."""
    given = {"budget": asked.budget or None, "rho": asked.rho or None, "delta": asked.delta or None}
    try:
        facts = terms_given("new", given["budget"], "add-remove", (), None, (), None, given["rho"], given["delta"])
    except DiscreetError as error:
        blamed = [name for name, text in given.items() if text and name in str(error).lower()]
        field = blamed[0] if blamed else "budget" if given["rho"] is None else "rho"
        raise FieldRefusedError(str(error), field=field) from None
    delta = facts.get("delta")
    return Fraction(facts["budget"]), None if delta is None else Fraction(delta)


@router.post("/release/tables")
@as_job(quick=True)
def tables(asked: TablesForm) -> TablesReply:
    """How many tables a budget pays for: with an epsilon alone, and with rho and delta."""
    plan = plan_tables(asked.tables, budget=asked.budget, delta=asked.delta)
    rows = [{"tables": r["tables"], "pure": r[PURE], "concentrated": r[CONCENTRATED]} for r in plan.rows()]
    return TablesReply(sentences=plan.sentences(), break_even=plan.break_even, rows=rows)


@router.post("/release/open")
@as_job(quick=True)
def open_account(request: Request, asked: OpeningForm) -> AccountsReply:
    """Fix, once, what is protected in a data set and how much may be spent on it."""
    path = place_of(request).ledger(asked.ledger)
    _amount(asked)
    with Ledger(path) as book:
        book.create(
            asked.dataset,
            asked.budget or None,
            rho=asked.rho or None,
            delta=asked.delta or None,
            relation=asked.relation,
            public=asked.public,
            unit=asked.unit or None,
            parts=asked.parts or None,
        )
    return _accounts(path)
