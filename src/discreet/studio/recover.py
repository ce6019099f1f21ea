"""The room of those who collect: from noisy reports and a mechanism file back to the law of the true values."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterator
from itertools import chain
from typing import Any

import numpy as np
from fastapi import APIRouter, Request
from pydantic import BaseModel, Field

from .. import files
from ..errors import DiscreetError, RecoveryError
from ..measure.description import describe
from ..mechanism import Mechanism
from ..numbers.exact import parse_exact
from ..progress import tell
from ..recovery.pictures import group_intervals
from ..recovery.recover import recover
from .jobs import Promise, answered, promised
from .shelf import Shelf
from .wire import Asked

_STEPS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
_MOST_VALUES = 1001
_MOST_LINES = 100_000

router = APIRouter(prefix="/api", tags=["recover"])


_mechanisms: Shelf[Mechanism] = Shelf()
_reports: Shelf[dict[Any, int]] = Shelf()


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
    if max(m.inputs.size or 0, m.outputs.size or 0) > _MOST_VALUES:
        raise RecoveryError(f"The studio recovers laws of at most {_MOST_VALUES} values; use discreet recover for more.")
    return m, describe(m).headline


@router.post("/upload/reports", openapi_extra=_RAW)
async def take_reports(request: Request) -> Dropped:
    """Reports as CSV: one in each line, or with a column named count how often each was seen."""
    body = await request.body()
    seen = await answered(request, lambda tell: read_reports(body))
    return Dropped(name=_reports.put(seen), told=f"{sum(seen.values())} reports, {len(seen)} of them different")


def read_reports(body: bytes) -> dict[Any, int]:
    """Reports in CSV, with or without a heading; the first column has the reports, one named count how often."""
    try:
        rows = csv.reader(io.StringIO(body.decode("utf-8-sig"), newline=""))
        return dict(_tallied(next((row for row in rows if row), []), rows))
    except (UnicodeDecodeError, csv.Error):
        raise RecoveryError("The reports are no CSV in UTF-8; give one report in each line.") from None


def _tallied(first: list[str], rows: Iterator[list[str]]) -> Counter[Any]:
    """How often each report was seen. Lines that are alike are read once: a file has many lines, and few reports."""
    names = [part.strip().lower() for part in first]
    headed = bool(first) and names[0][:1] not in set("+-.0123456789")  # what begins like a number is a report
    place = names.index("count") if headed and "count" in names else None
    of = 1 if place == 0 else 0
    lines: Counter[tuple[str, ...]] = Counter()
    where: dict[tuple[str, ...], int] = {}
    for number, row in enumerate(rows if headed else chain([first], rows), start=2 if headed else 1):
        if row:
            line = tuple(row)
            lines[line] += 1
            if where.setdefault(line, number) == number and len(where) > _MOST_LINES:
                raise RecoveryError(f"The reports have more than {_MOST_LINES} different lines; use discreet recover for them.")
    seen: Counter[Any] = Counter()
    for line, times in lines.items():
        value = parse_exact(line[of].strip()) if of < len(line) else None
        often = "1" if place is None else line[place].strip() if place < len(line) else ""
        if value is None or not often.isdecimal() or len(often) > 16:
            raise RecoveryError(f"Row {where[line]} of the reports is not understood; give a number, with a whole count or none.")
        seen[value.numerator if value.denominator == 1 else value] += int(often) * times
    if not seen:
        raise RecoveryError("There are no reports in the file; give one in each line.")
    return seen


@router.post("/recover")
async def begin(request: Request, asked: Recovering) -> Promise[Law]:
    """The law behind the reports, or a promise of it."""
    m, seen = _mechanisms.take(asked.mechanism, "mechanism"), _reports.take(asked.reports, "file of reports")
    found: Promise[Law] = await promised(request, lambda progress: _law(m, seen, progress), soon=1.0)
    return found


def _law(m: Mechanism, seen: dict[Any, int], progress: Any) -> Law:
    auto = recover(seen, m, progress=progress)
    likeliest = recover(seen, m, "mle", progress=progress)
    total = sum(seen.values())
    fit = []
    for steps in _STEPS:
        tell(progress, f"the fit after {steps} steps")
        fit.append((steps, recover(seen, m, "ibu", iterations=steps).log_likelihood / total))
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
