"""The room of those who collect: from noisy reports and a mechanism file back to the law of the true values."""

from __future__ import annotations

import csv
import io
from collections import Counter
from typing import Any

import numpy as np
from fastapi import APIRouter, HTTPException, Request
from pydantic import BaseModel, Field

from .. import files
from ..errors import DiscreetError, RecoveryError
from ..measure.description import describe
from ..mechanism import Mechanism
from ..numbers.exact import parse_exact
from ..recovery.pictures import group_intervals
from ..recovery.recover import recover
from .jobs import Job, Jobs
from .shelf import Shelf
from .wire import Asked

_STEPS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
_MOST_VALUES = 1001

router = APIRouter(prefix="/api", tags=["recover"])


_mechanisms: Shelf[Mechanism] = Shelf()
_reports: Shelf[dict[Any, int]] = Shelf()
_jobs = Jobs()


class Dropped(BaseModel):
    """A name to ask with, and what was understood."""

    name: str
    told: str


class Recovering(Asked):
    mechanism: str = Field(max_length=40)
    reports: str = Field(max_length=40)


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


class Law(BaseModel):
    step: float
    auto: list[Bar]
    mle: list[Bar]
    noisy: list[Bar]
    intervals: list[Span]
    fit: list[tuple[int, float]]
    fit_auto: float
    fit_mle: float
    told: str
    mean: str


class Recovered(BaseModel):
    job: str
    done: bool
    told: str
    law: Law | None = None


_RAW: dict[str, Any] = {
    "requestBody": {"required": True, "content": {"text/plain": {"schema": {"type": "string"}}}},
}


@router.post("/upload/mechanism", openapi_extra=_RAW)
async def take_mechanism(request: Request) -> Dropped:
    """A mechanism file, verified as it is read."""
    m = files.loads(await request.body(), "the mechanism file")
    m.finite()
    if max(m.inputs.size or 0, m.outputs.size or 0) > _MOST_VALUES:
        raise RecoveryError(f"The studio recovers laws of at most {_MOST_VALUES} values; use discreet recover for more.")
    return Dropped(name=_mechanisms.put(m), told=describe(m).headline)


@router.post("/upload/reports", openapi_extra=_RAW)
async def take_reports(request: Request) -> Dropped:
    """Reports as CSV: one in each line, or with a column named count how often each was seen."""
    seen = read_reports(await request.body())
    return Dropped(name=_reports.put(seen), told=f"{sum(seen.values())} reports, {len(seen)} different ones")


def read_reports(body: bytes) -> dict[Any, int]:
    """Reports in CSV, with or without a heading; the first column has the reports, one named count how often."""
    try:
        rows = [row for row in csv.reader(io.StringIO(body.decode("utf-8-sig"), newline="")) if row]
    except (UnicodeDecodeError, csv.Error):
        raise RecoveryError("The reports are no CSV in UTF-8; give one report in each line.") from None
    heading = [part.strip().lower() for part in rows[0]] if rows and parse_exact(rows[0][0].strip()) is None else None
    place = heading.index("count") if heading is not None and "count" in heading else None
    first = 1 if place == 0 else 0
    seen: Counter[Any] = Counter()
    for number, row in enumerate(rows if heading is None else rows[1:], start=1 if heading is None else 2):
        value = parse_exact(row[first].strip()) if first < len(row) else None
        often = "1" if place is None else row[place].strip() if place < len(row) else ""
        if value is None or not often.isdecimal() or len(often) > 16:
            raise RecoveryError(f"Row {number} of the reports is not understood; give a number, with a whole count or none.")
        seen[value.numerator if value.denominator == 1 else value] += int(often)
    if not seen:
        raise RecoveryError("There are no reports in the file; give one in each line.")
    return dict(seen)


@router.post("/recover")
def begin(asked: Recovering) -> Recovered:
    """The law behind the reports, or a promise of it."""
    m, seen = _mechanisms.take(asked.mechanism, "mechanism"), _reports.take(asked.reports, "file of reports")
    return _promise(_jobs.start(lambda progress: _law(m, seen, progress), soon=1.0))


@router.get("/recover/jobs/{name}")
def ask_again(name: str) -> Recovered:
    """How far it is, or the law."""
    job = _jobs.find(name)
    if job is None:
        raise HTTPException(404, "There is no such work; ask anew.")
    job.done.wait(1.0)
    return _promise(job)


@router.post("/recover/jobs/{name}/off")
def call_off(name: str) -> Recovered:
    """Nobody waits for it any more."""
    job = _jobs.find(name)
    if job is None:
        raise HTTPException(404, "There is no such work; ask anew.")
    job.off = True
    return Recovered(job=job.name, done=job.done.is_set(), told="called off")


def _promise(job: Job) -> Recovered:
    done = job.done.is_set()
    return Recovered(job=job.name, done=done, told=job.told, law=job.answer() if done else None)


def _law(m: Mechanism, seen: dict[Any, int], progress: Any) -> Law:
    auto = recover(seen, m, progress=progress)
    likeliest = recover(seen, m, "mle", progress=progress)
    total = sum(seen.values())
    fit = [(steps, recover(seen, m, "ibu", iterations=steps).log_likelihood / total) for steps in _STEPS]
    values = m.inputs.floats(len(auto.distribution))
    noisy = [Bar(value=float(v), share=k / total) for v, k in sorted(seen.items())]
    half = float(m.inputs.step) / 2
    spans = [
        Span(start=a - half, end=b + half, low=max(low, 0.0), high=max(high, 0.0))
        for a, b, low, high in group_intervals(auto, values, 0.95)
    ]
    return Law(
        step=float(m.inputs.step), auto=_bars(values, auto.distribution),
        mle=_bars(values, likeliest.distribution), noisy=noisy, intervals=spans, fit=fit,
        fit_auto=auto.log_likelihood / total, fit_mle=likeliest.log_likelihood / total, told=str(auto), mean=_mean(auto),
    )  # fmt: skip


def _bars(values: Any, shares: Any) -> list[Bar]:
    return [Bar(value=float(v), share=float(p)) for v, p in zip(values, np.asarray(shares), strict=True)]


def _mean(estimate: Any) -> str:
    try:
        low, high = estimate.interval(0.95)
    except DiscreetError as error:
        return str(error)
    return f"The mean lies in {low:.5g} to {high:.5g}, with 95 % confidence."
