"""The room of those who collect: from noisy reports and a mechanism back to the distribution of the true values."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

import numpy as np
from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, Field

from .. import files
from ..errors import DiscreetError, RecoveryError
from ..exact.grid import Grid
from ..exact.level import Level
from ..exact.names import Names
from ..measure.description import describe
from ..mechanism import Mechanism
from ..present.words import csv_text
from ..progress import tell
from ..recovery.estimate import Estimate, group_intervals
from ..recovery.groups import GroupEstimates
from ..recovery.recover import recover
from ..recovery.tallies import Layout, Reports, chosen_columns, layout_of, listed, read_reports
from ..registry import FAMILIES
from . import survey
from .field_words import FieldRefusedError, in_fields
from .jobs import Promise, answered, as_job, promised
from .rooms import Form, LevelForm, Shelf, Text

CONFIDENCE = 0.95
_STEPS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
_MOST_VALUES = 1001
_MOST_NAMES, _MOST_OF_NAMES = 2001, 4201  # answers that are names, and their reports
_MOST_LINES = 100_000
_MOST_GROUPS = 40

Family = Literal["geometric", "randomized_response", "square_wave", "projective_response"]
Method = Literal["auto", "mle"]
_MAKERS = {family.name: family.make for family in FAMILIES}
_OF_NAMES = ("randomized_response", "projective_response")

router = APIRouter(prefix="/api", tags=["recover"])


class _Held(NamedTuple):
    """A mechanism, and how Python makes it; None where it came in a file."""

    mechanism: Mechanism
    python: str | None


class _Read(NamedTuple):
    """Reports, how their file is laid out, and which of its columns were read."""

    found: Reports
    layout: Layout
    column: str | None
    counts: str | None
    by: str | None


class _Recovered(NamedTuple):
    """Both estimates of each group, for whoever wants them as a file."""

    by: str | None
    estimates: dict[str, dict[str, Estimate]]


_mechanisms: Shelf[_Held] = Shelf()
_reports: Shelf[_Read] = Shelf()
_made: Shelf[_Recovered] = Shelf()


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


class RecoveryForm(Form):
    mechanism: str = Field(max_length=40)
    reports: str = Field(max_length=40)
    ordered: bool | None = None


class CodeForm(RecoveryForm):
    """How the files are called."""

    mechanism_file: Text = "mechanism.json"
    file: Text = "reports.csv"


class StepsForm(RecoveryForm):
    group: Text | None = None


class Value(BaseModel):
    """A true value, with the share that each method recovers."""

    value: float
    auto: float
    mle: float


class Seen(BaseModel):
    """A report that there can be: how often it was given, and how often it would be, were each recovered distribution the truth."""

    value: float
    label: str
    count: int
    auto: float
    mle: float


class Span(BaseModel):
    """The mean probability of a value from `start` to `end`, from the reports alone."""

    start: float
    end: float
    low: float
    high: float


class Answer(BaseModel):
    """A category with its share and its rank; intervals and ranks hold together. `reported` is its share of the reports, where
    reports are categories, too."""

    name: str
    share: float
    reported: float | None
    low: float | None
    high: float | None
    first_rank: int | None
    last_rank: int | None


class GroupReply(BaseModel):
    """What was recovered of one group, or of all reports where there are no groups."""

    group: str
    reports: int
    headline: str
    fits: bool
    fit_told: str
    words: str
    mean: tuple[float, float, float] | None
    values: list[Value]
    seen: list[Seen]
    spans: list[Span]
    answers: list[Answer]


class RecoveredReply(BaseModel):
    """`seen` has every report that there can be, also those that nobody gave."""

    name: str
    by: str | None
    names: bool
    named_reports: bool
    step: float
    report_step: float
    notes: list[str]
    groups: list[GroupReply]


class StepsReply(BaseModel):
    """The mean log-likelihood of a report after so many steps of the Bayesian update, and at both methods."""

    steps: list[tuple[int, float]]
    auto: float
    mle: float


class CodeReply(BaseModel):
    python: str


_RAW: dict[str, Any] = {
    "requestBody": {"required": True, "content": {"text/plain": {"schema": {"type": "string"}}}},
}


# The mechanism


@router.post("/upload/mechanism", openapi_extra=_RAW)
async def take_mechanism(request: Request) -> Dropped:
    """A mechanism file, verified as it is read."""
    body = await request.body()
    dropped: Dropped = await answered(request, lambda tell: _kept(_Held(files.loads(body, "the mechanism file"), None)))
    return dropped


def _kept(held: _Held) -> Dropped:
    m = held.mechanism
    m.finite()
    most = (_MOST_VALUES,) * 2 if m.inputs.is_ordered else (_MOST_NAMES, _MOST_OF_NAMES)
    if (m.inputs.size or 0) > most[0] or (m.outputs.size or 0) > most[1]:
        raise RecoveryError(
            f"The studio recovers distributions of at most {most[0]} values; the command line takes more."
        )
    return Dropped(name=_mechanisms.put(held), told=_short(m), names=not m.inputs.is_ordered)


def _short(m: Mechanism) -> str:
    """What it is, and its level; the rest is told where mechanisms are chosen."""
    return "\n".join(describe(m).headline.splitlines()[:2])


@router.post("/recover/make")
@as_job(quick=True)
def make(asked: MakingForm) -> Dropped:
    """A mechanism by its family, its answers and its level; what is wrong is said at its field."""
    with _at("alpha" if asked.epsilon is None else "epsilon"):
        Level.of(alpha=asked.alpha, epsilon=asked.epsilon)
    if asked.names is not None and asked.family not in _OF_NAMES:
        raise FieldRefusedError(
            "Categories have no order, and this mechanism needs one; choose another.", field="family"
        )
    level = {"epsilon": asked.epsilon} if asked.alpha is None else {"alpha": asked.alpha}
    answers, spelt = _answers(asked)
    with _at("names" if asked.names is not None else "high"):
        m = _MAKERS[asked.family](answers, **level)
        shown = ", ".join(f"{name}={text!r}" for name, text in level.items())
        return _kept(_Held(m, f"dt.{asked.family}({spelt}, {shown})"))


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
    """Reports as CSV: one in each line, or a table of which one column has the reports, and perhaps one how often each was seen,
    and one the groups; with `once` each line is one report, whatever its columns are called. Reports that are names need the
    mechanism, by the name that it was given.

    Where it is not clear which has the reports there is no name yet: ask again with one of the columns.
    """
    body = await request.body()
    answers = None if mechanism is None else _mechanisms.take(mechanism, "mechanism").mechanism.outputs
    often: str | Literal[False] | None = False if once else counts

    def read(progress: Any) -> Dropped:
        with _at("reports"):
            found = read_reports(
                body,
                "the file",
                column=column,
                counts=often,
                by=by,
                most=_MOST_LINES,
                answers=answers,
                progress=progress,
            )
        layout = layout_of(body, answers)
        return _counted(_Read(found, layout, *chosen_columns(layout.names, column, often, by), by))

    dropped: Dropped = await answered(request, read)
    return dropped


def _counted(read: _Read) -> Dropped:
    found, columns = read.found, list(read.layout.names) if len(read.layout.names) > 1 else []
    if found.columns:
        told = f"The file has {listed(found.columns)}. Which one has the reports?"
        return Dropped(name="", told=told, columns=columns)
    if len(found.groups) > _MOST_GROUPS:
        raise FieldRefusedError(
            f"This column has {len(found.groups)} different values. The studio recovers at most {_MOST_GROUPS} groups; "
            "choose another column, or none.",
            field="by",
        )
    number = sum(found.seen.values())
    told = f"{'1 report' if number == 1 else f'{number:,} reports'}, {len(found.seen)} of them different"
    if found.groups:
        told += f", in {'1 group' if len(found.groups) == 1 else f'{len(found.groups)} groups'}"
    return Dropped(name=_reports.put(read), told=told, columns=columns, column=read.column, counts=read.counts)


@router.post("/recover/example")
@as_job(quick=True)
def example(asked: ExampleForm) -> ExampleReply:
    """Made-up reports, of numbers or of categories."""
    made = survey.ages() if asked.kind == "numbers" else survey.cars()
    form = MakingForm.model_validate(made.mechanism)
    m = _MAKERS[form.family](_answers(form)[0], epsilon=form.epsilon)
    return ExampleReply(mechanism=form, file=made.file, content=made.csv(m), by=made.by)


# Back to the distribution


@router.post("/recover")
async def begin(request: Request, asked: RecoveryForm) -> Promise[RecoveredReply]:
    """The distribution behind the reports, or a promise of it."""
    m, read = _taken(asked)
    found: Promise[RecoveredReply] = await promised(
        request, lambda progress: _recovered(m, read, asked.ordered, progress), soon=1.0
    )
    return found


def _taken(asked: RecoveryForm) -> tuple[Mechanism, _Read]:
    return _mechanisms.take(asked.mechanism, "mechanism").mechanism, _reports.take(asked.reports, "file of reports")


def _recovered(m: Mechanism, read: _Read, ordered: bool | None, progress: Any) -> RecoveredReply:
    groups = read.found.groups or {"": read.found.seen}
    made: dict[str, dict[str, Estimate]] = {}
    for k, (group, seen) in enumerate(groups.items()):
        if len(groups) > 1:
            tell(progress, f"group {k + 1} of {len(groups)}")
        made[group] = {
            method: recover(seen, m, method, ordered=ordered if method == "auto" else None, progress=progress)
            for method in ("auto", "mle")
        }
    name = _made.put(_Recovered(read.by, made))
    notes = ["Each interval covers with 95 % confidence."] if m.inputs.is_ordered else []
    if len(groups) > 1:
        notes.append("Each group stands for itself: its intervals hold within it, not for all groups together.")
    return RecoveredReply(
        name=name,
        by=read.by,
        names=not m.inputs.is_ordered,
        named_reports=not m.outputs.is_ordered,
        step=float(_numbers(m.inputs).step),
        report_step=float(_numbers(m.outputs).step),
        notes=notes,
        groups=[_group(group, both["auto"], both["mle"]) for group, both in made.items()],
    )


def _numbers(grid: Grid) -> Grid:
    """A grid of numbers: names stand at their places."""
    return grid if grid.is_ordered else Grid(0, grid.n)


def _group(group: str, auto: Estimate, likeliest: Estimate) -> GroupReply:
    m, total = auto.mechanism, auto.reports
    values, half = _numbers(m.inputs).floats(len(auto.distribution)), float(_numbers(m.inputs).step) / 2
    named = not m.inputs.is_ordered
    expected = [np.maximum(m.finite().push(e.distribution), 0.0) * total for e in (auto, likeliest)]
    at = _numbers(m.outputs).floats(len(auto.counts))
    return GroupReply(
        group=group,
        reports=total,
        headline=_headline(auto),
        fits=auto.fit.holds,
        fit_told=str(auto.fit),
        words=in_fields(str(auto)),
        mean=_mean(auto),
        values=[
            Value(value=v, auto=p, mle=q)
            for v, p, q in zip(
                values.tolist(), auto.distribution.tolist(), likeliest.distribution.tolist(), strict=True
            )
        ],
        seen=[
            Seen(value=x, label=str(m.outputs.value(k)), count=c, auto=p, mle=q)
            for k, (x, c, p, q) in enumerate(
                zip(at.tolist(), auto.counts.tolist(), *(e.tolist() for e in expected), strict=True)
            )
        ],
        spans=[
            Span(start=a - half, end=b + half, low=low, high=high)
            for a, b, low, high in ([] if named else group_intervals(auto, values, CONFIDENCE))
        ],
        answers=list(_shares(auto)) if named else [],
    )


def _shares(estimate: Estimate) -> Iterator[Answer]:
    """Categories with their shares, the most frequent first; without intervals where they do not fit the mechanism."""
    outputs, names = estimate.mechanism.outputs, estimate.mechanism.inputs
    often = (
        {str(outputs.value(k)): c / estimate.reports for k, c in enumerate(estimate.counts.tolist())}
        if not outputs.is_ordered
        else {}
    )
    if estimate.fit.holds:
        rows = estimate.shares(CONFIDENCE).rows()
    else:
        order = np.argsort(-estimate.distribution, kind="stable").tolist()
        rows = [{"answer": names.value(k), "share": float(estimate.distribution[k])} for k in order]
    for row in rows:
        name, rest = row.pop("answer"), dict.fromkeys(("low", "high", "first_rank", "last_rank"))
        known = {title.replace(" ", "_"): value for title, value in row.items()}
        yield Answer.model_validate({"name": name, "reported": often.get(str(name)), **rest, **known})


def _mean(estimate: Estimate) -> tuple[float, float, float] | None:
    """The mean directly from the reports, with its interval; None where it means nothing."""
    if not (estimate.fit.holds and estimate.ordered):
        return None
    try:
        low, high = estimate.interval(CONFIDENCE)
        return float(np.clip(estimate.direct("mean").estimate, low, high)), low, high
    except DiscreetError:
        return None


def _headline(estimate: Estimate) -> str:
    if not estimate.fit.holds:
        return "These reports do not look like this mechanism's: nothing can be said of the true values."
    grid = estimate.mechanism.inputs
    often = " and ".join(
        f"{grid.value(place)} ({estimate.distribution[place]:.1%})".replace("%", " %")
        for place in estimate.most_frequent(2)
    )
    if not grid.is_ordered:
        return f"Most frequent: {often}. All intervals and ranks hold together with 95 % confidence."
    if not estimate.ordered:
        return (
            f"Most frequent: {often}. The values are names, which have no mean; if they are numbers, such as ages, choose so "
            "beside the reports."
        )
    try:
        low, high = estimate.interval(CONFIDENCE)
    except DiscreetError as error:
        return in_fields(str(error))
    middle = f"half of the values are at most {estimate.quantile('1/2')}"
    return f"The mean lies in {low:.4g} to {high:.4g} with 95 % confidence; as recovered, {middle}."


@router.post("/recover/steps")
async def steps(request: Request, asked: StepsForm) -> Promise[StepsReply]:
    """How much better each step of the Bayesian update fits the reports."""
    m, (found_in, *_) = _taken(asked)
    seen = found_in.seen if asked.group is None else found_in.groups.get(asked.group, found_in.seen)
    found: Promise[StepsReply] = await promised(
        request, lambda progress: _steps(m, seen, asked.ordered, progress), soon=1.0
    )
    return found


def _steps(m: Mechanism, seen: dict[Any, int], ordered: bool | None, progress: Any) -> StepsReply:
    total, found = sum(seen.values()), []
    for number in _STEPS:
        tell(progress, f"the fit after {number} steps")
        found.append((number, recover(seen, m, "ibu", iterations=number).log_likelihood / total))
    auto = recover(seen, m, ordered=ordered, progress=progress).log_likelihood
    return StepsReply(steps=found, auto=auto / total, mle=recover(seen, m, "mle").log_likelihood / total)


# What is taken away


_KINDS = {"csv": "text/csv; charset=utf-8", "json": "application/json"}


@router.get(
    "/recover/made/{name}/{method}.{kind}",
    response_class=Response,
    responses={200: {"content": {t: {} for t in _KINDS.values()}}},
)
@as_job(quick=True)
def file_of(name: str, method: Method, kind: Literal["csv", "json"]) -> Response:
    """What was recovered as a file, as `discreet recover` writes it."""
    by, made = _made.take(name, "recovered distribution")
    estimates = {group: both[method] for group, both in made.items()}
    if by is None:
        (one,) = estimates.values()
        told, rows = one.to_dict(), _rows(one)
        if not one.mechanism.inputs.is_ordered:
            told["shares"] = rows
    else:
        told = GroupEstimates((by,), tuple(estimates.items())).to_dict()
        rows = [{by: group, **row} for group, e in estimates.items() for row in _rows(e)]
    content = csv_text(rows) if kind == "csv" else json.dumps(told, indent=1, allow_nan=False) + "\n"
    return Response(content, headers={"content-type": _KINDS[kind]})


def _rows(e: Estimate) -> list[dict[str, Any]]:
    """Of numbers their probabilities; of categories their shares, with intervals and ranks where there are some."""
    if e.mechanism.inputs.is_ordered:
        return e.rows()
    try:
        return e.shares(CONFIDENCE).rows()
    except RecoveryError:
        return e.rows()


@router.post("/recover/code")
@as_job(quick=True)
def code(asked: CodeForm) -> CodeReply:
    """The same in Python."""
    held, read = _mechanisms.take(asked.mechanism, "mechanism"), _reports.take(asked.reports, "file of reports")
    ordered = "" if asked.ordered is None else f", ordered={asked.ordered}"
    lines = ["import discreet as dt", "", f"m = {held.python or f'dt.load({asked.mechanism_file!r})'}"]
    if not read.layout.names:  # a tally is read by the names of its columns
        kind = "float(line)" if held.mechanism.outputs.is_ordered else "line.strip()"
        text = f"Path({asked.file!r}).read_text(encoding={read.layout.encoding!r})"
        lines = ["from pathlib import Path", "", *lines]
        lines += [f"reports = [{kind} for line in {text}.splitlines() if line.strip()]"]
        lines += [f'found = dt.recover(reports, m, kind="reports"{ordered})']
    else:
        usual = {
            "by": None,
            "counts": "count" if "count" in read.layout.names else None,
            "separator": ",",
            "encoding": "utf-8",
        }
        said = {"by": read.by, "counts": read.counts, **read.layout._asdict()}
        more = "".join(f", {name}={said[name]!r}" for name, value in usual.items() if said[name] != value)
        lines += [f"counts = dt.tally({asked.file!r}, {read.column!r}, m{more})"]
        lines += [f"found = dt.recover(counts, m{'' if read.by is None else f', by={read.by!r}'}{ordered})"]
    return CodeReply(python="\n".join([*lines, "print(found)"]))
