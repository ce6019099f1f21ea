"""The room of those who collect: from noisy reports and a mechanism back to the distribution of the true values."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

import numpy as np
from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, Field

from ..errors import DiscreetError, RecoveryError
from ..exact.grid import Grid
from ..mechanism import Mechanism
from ..present.words import csv_text
from ..progress import tell
from ..recovery.estimate import Estimate
from ..recovery.pictures import group_intervals
from ..recovery.recover import recover
from ..recovery.shares import GroupEstimates
from .field_words import in_fields
from .jobs import Promise, as_job, promised
from .recover_given import HeldReports, mechanisms, reports
from .rooms import Form, Shelf, Text

CONFIDENCE = 0.95
_STEPS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)

Method = Literal["auto", "mle"]

router = APIRouter(prefix="/api", tags=["recover"])


class _Recovered(NamedTuple):
    """Both estimates of each group, for whoever wants them as a file."""

    by: str | None
    estimates: dict[str, dict[str, Estimate]]


_made: Shelf[_Recovered] = Shelf()


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


# Back to the distribution


@router.post("/recover")
async def begin(request: Request, asked: RecoveryForm) -> Promise[RecoveredReply]:
    """The distribution behind the reports, or a promise of it."""
    m, read = _taken(asked)
    found: Promise[RecoveredReply] = await promised(
        request, lambda progress: _recovered(m, read, asked.ordered, progress), soon=1.0
    )
    return found


def _taken(asked: RecoveryForm) -> tuple[Mechanism, HeldReports]:
    return mechanisms.take(asked.mechanism, "mechanism").mechanism, reports.take(asked.reports, "file of reports")


def _recovered(m: Mechanism, read: HeldReports, ordered: bool | None, progress: Any) -> RecoveredReply:
    groups = read.groups
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
            for a, b, low, high in (group_intervals(auto, values, CONFIDENCE) if auto.fit.holds and not named else [])
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
    m, read = _taken(asked)
    seen = read.groups.get(asked.group or "", read.seen)
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
    held, read = mechanisms.take(asked.mechanism, "mechanism"), reports.take(asked.reports, "file of reports")
    ordered = "" if asked.ordered is None else f", ordered={asked.ordered}"
    lines = ["import discreet as dt", "", f"m = {held.python or f'dt.load({asked.mechanism_file!r})'}"]
    usual = {"by": None, "counts": "count" if "count" in read.names else None, "separator": ","}
    more = "".join(f", {name}={getattr(read, name)!r}" for name, value in usual.items() if getattr(read, name) != value)
    lines += [f"counts = dt.tally({asked.file!r}, {read.column!r}, m{more})"]
    lines += [f"found = dt.recover(counts, m{'' if read.by is None else f', by={read.by!r}'}{ordered})"]
    return CodeReply(python="\n".join([*lines, "print(found)"]))
