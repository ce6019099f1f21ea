"""What the room Recover is given: a mechanism, from a file or made by its fields, and reports, of which columns are asked about."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal, NamedTuple

from fastapi import APIRouter, Request
from pydantic import BaseModel, Field

from .. import files
from ..collect.tallying import ReportCounts, names_in, tallies_of
from ..engines.reading import Reading
from ..errors import DiscreetError, RecoveryError
from ..exact.arithmetic import show_above
from ..exact.grid import Grid
from ..exact.names import Names
from ..measure.description import describe
from ..mechanism import Mechanism
from ..recovery.tallies import COUNT, chosen_columns, listed
from ..registry import FAMILIES
from . import survey
from .field_words import FieldRefusedError
from .jobs import answered, as_job
from .rooms import Form, LevelForm, Shelf, Text

_MOST_VALUES = 1001
_MOST_NAMES, _MOST_OF_NAMES = 2001, 4201  # answers that are names, and their reports
_MOST_DIFFERENT = 100_000
_MOST_GROUPS = 40

Family = Literal["geometric", "randomized_response", "square_wave", "projective_response"]
_MAKERS = {family.name: family.make for family in FAMILIES}
_OF_NAMES = ("randomized_response", "projective_response")

router = APIRouter(prefix="/api", tags=["recover"])


class HeldMechanism(NamedTuple):
    """A mechanism, and how Python makes it; None where it came in a file."""

    mechanism: Mechanism
    python: str | None


class HeldReports(NamedTuple):
    """How often each report was seen, for each group (one without a name, where there are none); the columns of the file, and
    which of them were read."""

    groups: dict[str, ReportCounts]
    names: tuple[str, ...]
    separator: str
    column: str
    counts: str | None
    by: str | None

    @property
    def seen(self) -> Counter[Any]:
        """How often each report was seen in all groups."""
        return sum(self.groups.values(), Counter[Any]())


class Dropped(BaseModel):
    """A name to ask with, and what was understood. `columns` are those of the file, where there are several; without a name yet,
    it is to be said which one has the reports, else `column` and `counts` are those that were read. `names` says whether answers
    are categories."""

    name: str
    told: str
    columns: list[str] = []
    column: str | None = None
    counts: str | None = None
    names: bool = False


class MakingForm(LevelForm):
    """A mechanism that is made here: of numbers from `low` to `high`, or of categories."""

    family: Family
    low: Text = "0"
    high: Text = ""
    names: list[Text] | None = Field(default=None, max_length=_MOST_NAMES)


class ExampleForm(Form):
    kind: Literal["numbers", "categories"]


class ExampleReply(BaseModel):
    """Made-up reports, with the mechanism that made them, as they stand in the fields."""

    mechanism: MakingForm
    file: str
    content: str
    by: str | None


mechanisms: Shelf[HeldMechanism] = Shelf()
reports: Shelf[HeldReports] = Shelf()

_RAW: dict[str, Any] = {
    "requestBody": {"required": True, "content": {"text/plain": {"schema": {"type": "string"}}}},
}


# The mechanism


@router.post("/upload/mechanism", openapi_extra=_RAW)
async def take_mechanism(request: Request) -> Dropped:
    """A mechanism file, verified as it is read."""
    body = await request.body()
    dropped: Dropped = await answered(
        request, lambda tell: _kept(HeldMechanism(files.loads(body, "the mechanism file"), None))
    )
    return dropped


def _kept(held: HeldMechanism) -> Dropped:
    m = held.mechanism
    m.finite()
    most = (_MOST_VALUES,) * 2 if m.inputs.is_ordered else (_MOST_NAMES, _MOST_OF_NAMES)
    if (m.inputs.size or 0) > most[0] or (m.outputs.size or 0) > most[1]:
        raise RecoveryError(
            f"The studio recovers distributions of at most {most[0]} values; the command line takes more."
        )
    return Dropped(name=mechanisms.put(held), told=_short(m), names=not m.inputs.is_ordered)


def _short(m: Mechanism) -> str:
    """What it is, and its level; the rest is told where mechanisms are chosen."""
    what, level, *_ = describe(m).headline.splitlines()
    if not m.claim.alpha:
        return f"{what}\n{level}"
    family, places = what.split(" on ", 1)
    return f"{family.replace('_', ' ')} on {places}: epsilon {show_above(m.claim.epsilon)} between {m.neighbours.words(m.inputs)}"


@router.post("/recover/make")
@as_job(quick=True)
def make(asked: MakingForm) -> Dropped:
    """A mechanism by its family, its answers and its level; what is wrong is said at its field."""
    asked.level()  # is one
    if asked.names is not None and asked.family not in _OF_NAMES:
        raise FieldRefusedError(
            "Categories have no order, and this mechanism needs one; choose another.", field="family"
        )
    level = {"epsilon": asked.epsilon} if asked.alpha is None else {"alpha": asked.alpha}
    answers, spelt = _answers(asked)
    with _at("names" if asked.names is not None else "high"):
        m = _MAKERS[asked.family](answers, **level)
        return _kept(HeldMechanism(m, f"dt.{asked.family}({spelt}, {asked.spelt()})"))


def _answers(asked: MakingForm) -> tuple[Any, str]:
    """The answers as the library takes them, and as Python spells them."""
    if asked.names is not None:
        with _at("names"):
            return Names(list(asked.names)), repr(list(asked.names))
    ends = {}
    for name, text in (("low", asked.low), ("high", asked.high)):
        if not text.strip().removeprefix("-").isdecimal() or len(text) > 12:
            raise FieldRefusedError("Write a whole number here, such as 100.", field=name)
        ends[name] = int(text)
    if ends["low"] >= ends["high"]:
        raise FieldRefusedError("The highest value must be above the lowest.", field="high")
    if ends["low"] == 0:
        return ends["high"], str(ends["high"])
    return Grid(ends["low"], ends["high"]), f"dt.Grid({ends['low']}, {ends['high']})"


class _at:
    """Refusals in here belong to one field."""

    def __init__(self, field: str) -> None:
        self.field = field

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if isinstance(error, DiscreetError) and not isinstance(error, FieldRefusedError):
            text = str(error)
            raise FieldRefusedError(text[:1].upper() + text[1:], field=self.field) from None


# The reports


@router.post("/upload/reports", openapi_extra=_RAW)
async def take_reports(
    request: Request,
    column: Text | None = None,
    counts: Text | None = None,
    once: bool = False,
    by: Text | None = None,
    mechanism: Text | None = None,
) -> Dropped:
    """Reports as CSV below a line of names: one column has the reports, and perhaps one how often each was seen, and one the
    groups; with `once` each line is one report, whatever its columns are called. Reports that are names need the mechanism, by the
    name that it was given.

    Where it is not clear which has the reports there is no name yet: ask again with one of the columns.
    """
    body = await request.body()
    m = None if mechanism is None else mechanisms.take(mechanism, "mechanism").mechanism
    often: str | Literal[False] | None = False if once else counts

    def read(progress: Any) -> Dropped:
        with _at("reports"):
            return _counted(body, m, column, often, by, progress)

    dropped: Dropped = await answered(request, read)
    return dropped


def _counted(
    body: bytes,
    m: Mechanism | None,
    column: str | None,
    often: str | Literal[False] | None,
    by: str | None,
    progress: Any,
) -> Dropped:
    groups = () if by is None else (by,)
    if not body.strip():
        raise FieldRefusedError(
            f"The file is empty; it needs a line of names, such as report,{COUNT}.", field="reports"
        )
    first = body.decode("utf-8-sig", errors="replace").lstrip().partition("\n")[0]
    separator = next((mark for mark in "\t;" if mark in first), ",")
    reading = Reading.of(separator=separator)
    with TemporaryDirectory() as folder:
        file = Path(folder) / "reports.csv"
        file.write_bytes(body)
        names = tuple(names_in(file, reading))
        column, counts = chosen_columns(names, column, often, groups, None if m is None else m.outputs)
        columns = list(names) if len(names) > 1 else []
        if column is None:
            return Dropped(name="", told=f"The file has {listed(names)}. Which one has the reports?", columns=columns)
        counted = tallies_of([file], column, m, groups, counts, reading, progress)
    if len(counted) > _MOST_GROUPS:
        raise FieldRefusedError(
            f"This column has {len(counted)} different values. The studio recovers at most {_MOST_GROUPS} groups; "
            "choose another column, or none.",
            field="by",
        )
    named = {_group(values): seen for values, seen in counted.items()}
    held = HeldReports(named, names, separator, column, counts, by)
    number, different = sum(held.seen.values()), len(held.seen)
    if number == 0 or different > _MOST_DIFFERENT:
        raise FieldRefusedError(
            f"The studio takes 1 to {_MOST_DIFFERENT:,} different reports; this file has {different:,}. Choose another column.",
            field="reports",
        )
    told = f"{'1 report' if number == 1 else f'{number:,} reports'}, {different} of them different"
    if by is not None:
        told += f", in {'1 group' if len(counted) == 1 else f'{len(counted)} groups'}"
    return Dropped(name=reports.put(held), told=told, columns=columns, column=column, counts=counts)


def _group(values: tuple[Any, ...]) -> str:
    """The name of a group; of all reports, where there are none."""
    return "".join("(missing)" if value is None else str(value) for value in values)


@router.post("/recover/example")
@as_job(quick=True)
def example(asked: ExampleForm) -> ExampleReply:
    """Made-up reports, of numbers or of categories."""
    made = survey.ages() if asked.kind == "numbers" else survey.cars()
    form = MakingForm.model_validate(made.mechanism)
    m = _MAKERS[form.family](_answers(form)[0], epsilon=form.epsilon)
    return ExampleReply(mechanism=form, file=made.file, content=made.csv(m), by=made.by)
