"""The room of those who collect: from noisy reports and a mechanism file back to the distribution of the true values."""

from __future__ import annotations

from typing import Any

import numpy as np
from fastapi import APIRouter, Request
from pydantic import BaseModel, Field

from .. import files
from ..errors import DiscreetError, RecoveryError
from ..exact.grid import Grid
from ..measure.description import describe
from ..mechanism import Mechanism
from ..progress import tell
from ..recovery.estimate import Estimate, group_intervals
from ..recovery.recover import recover
from ..recovery.tallies import listed, read_reports
from .jobs import Promise, answered, promised
from .rooms import Form, Shelf, Text

_STEPS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
_MOST_VALUES = 1001
_MOST_NAMES, _MOST_OF_NAMES = 2001, 4201  # answers that are names, and their reports
_MOST_LINES = 100_000

router = APIRouter(prefix="/api", tags=["recover"])


_mechanisms: Shelf[Mechanism] = Shelf()
_reports: Shelf[dict[Any, int]] = Shelf()


class Dropped(BaseModel):
    """A name to ask with, and what was understood; or the columns to choose from, and no name yet."""

    name: str
    told: str
    columns: list[str] = []


class RecoveryForm(Form):
    mechanism: str = Field(max_length=40)
    reports: str = Field(max_length=40)
    ordered: bool | None = None


class Bar(BaseModel):
    value: float
    share: float


class Span(BaseModel):
    """With 95 % confidence each, from the reports alone: the mean probability of a value
    from `start` to `end`."""

    start: float
    end: float
    low: float
    high: float


class Answer(BaseModel):
    """A name with its share and its rank; all intervals hold together with 95 % confidence."""

    name: str
    share: float
    low: float
    high: float
    first_rank: int
    last_rank: int


class RecoveredReply(BaseModel):
    """`noisy` has every report that there can be, also those that nobody gave. `misfit` is empty where the reports fit.

    Where answers are names, `answers` has them, the most frequent first; values are then their places.
    """

    step: float
    report_step: float
    fits: bool
    misfit: str
    auto: list[Bar]
    mle: list[Bar]
    noisy: list[Bar]
    intervals: list[Span]
    fit: list[tuple[int, float]]
    fit_auto: float
    fit_mle: float
    told: str
    mean: str
    answers: list[Answer] = []


_RAW: dict[str, Any] = {
    "requestBody": {"required": True, "content": {"text/plain": {"schema": {"type": "string"}}}},
}


@router.post("/upload/mechanism", openapi_extra=_RAW)
async def take_mechanism(request: Request) -> Dropped:
    """A mechanism file, verified as it is read."""
    body = await request.body()
    m, told = await answered(request, lambda tell: _read_mechanism(body))
    return Dropped(name=_mechanisms.put(m), told=told)


def _read_mechanism(body: bytes) -> tuple[Mechanism, str]:
    m = files.loads(body, "the mechanism file")
    m.finite()
    most = (_MOST_VALUES,) * 2 if m.inputs.is_ordered else (_MOST_NAMES, _MOST_OF_NAMES)
    if (m.inputs.size or 0) > most[0] or (m.outputs.size or 0) > most[1]:
        raise RecoveryError(
            f"The studio recovers distributions of at most {most[0]} values; use discreet recover for more."
        )
    return m, describe(m).headline


@router.post("/upload/reports", openapi_extra=_RAW)
async def take_reports(
    request: Request, column: Text | None = None, counts: Text | None = None, mechanism: Text | None = None
) -> Dropped:
    """Reports as CSV: one in each line, or a table of which one column has the reports, and perhaps one how often each was seen.
    Reports that are names need the mechanism, by the name that it was given.

    Where it is not clear which has the reports there is no name yet: ask again with one of the columns.
    """
    body = await request.body()
    answers = None if mechanism is None else _mechanisms.take(mechanism, "mechanism").outputs
    found = await answered(
        request,
        lambda tell: read_reports(body, column=column, counts=counts, most=_MOST_LINES, answers=answers, progress=tell),
    )
    if found.columns:
        told = f"The file has {listed(found.columns)}. Which one has the reports?"
        return Dropped(name="", told=told, columns=list(found.columns))
    number = sum(found.seen.values())
    shown = "1 report" if number == 1 else f"{number} reports"
    return Dropped(name=_reports.put(found.seen), told=f"{shown}, {len(found.seen)} of them different")


@router.post("/recover")
async def begin(request: Request, asked: RecoveryForm) -> Promise[RecoveredReply]:
    """The distribution behind the reports, or a promise of it."""
    m, seen = _mechanisms.take(asked.mechanism, "mechanism"), _reports.take(asked.reports, "file of reports")
    found: Promise[RecoveredReply] = await promised(
        request, lambda progress: _law(m, seen, asked.ordered, progress), soon=1.0
    )
    return found


def _law(m: Mechanism, seen: dict[Any, int], ordered: bool | None, progress: Any) -> RecoveredReply:
    auto = recover(seen, m, ordered=ordered, progress=progress)
    likeliest = recover(seen, m, "mle", progress=progress)
    total = sum(seen.values())
    fit = []
    for steps in _STEPS:
        tell(progress, f"the fit after {steps} steps")
        fit.append((steps, recover(seen, m, "ibu", iterations=steps).log_likelihood / total))
    truths, reports = (grid if grid.is_ordered else Grid(0, grid.n) for grid in (m.inputs, m.outputs))
    values, outputs = truths.floats(len(auto.distribution)), reports.floats(len(auto.counts))
    half, named = float(truths.step) / 2, not m.inputs.is_ordered
    spans = [
        Span(start=a - half, end=b + half, low=low, high=high)
        for a, b, low, high in ([] if named else group_intervals(auto, values, 0.95))
    ]
    return RecoveredReply(
        step=float(truths.step),
        report_step=float(reports.step),
        auto=_bars(values, auto.distribution),
        mle=_bars(values, likeliest.distribution),
        noisy=_bars(outputs, auto.counts / total),
        intervals=spans,
        fit=fit,
        fit_auto=auto.log_likelihood / total,
        fit_mle=likeliest.log_likelihood / total,
        told=str(auto),
        mean=_mean(auto),
        fits=auto.fit.holds,
        misfit="" if auto.fit.holds else str(auto.fit),
        answers=_answers(auto) if named else [],
    )


def _answers(estimate: Estimate) -> list[Answer]:
    return [
        Answer(name=row.pop("answer"), **{title.replace(" ", "_"): value for title, value in row.items()})
        for row in estimate.shares(0.95).rows()
    ]


def _bars(values: Any, shares: Any) -> list[Bar]:
    return [Bar(value=float(v), share=float(p)) for v, p in zip(values, np.asarray(shares), strict=True)]


def _mean(estimate: Estimate) -> str:
    if not estimate.fit.holds:
        return "Of a mean, nothing can be said."
    if not estimate.mechanism.inputs.is_ordered:
        return "All intervals and ranks hold together with 95 % confidence."
    if not estimate.ordered:
        return (
            "The values are names, which have no mean. If they are numbers, such as ages, choose so beside the reports."
        )
    try:
        low, high = estimate.interval(0.95)
    except DiscreetError as error:
        return str(error)
    return f"The mean lies in {low:.5g} to {high:.5g}, with 95 % confidence."
