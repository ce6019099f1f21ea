"""The totals of a saved release: their rows, their files, and parts that add up to them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ...present.words import csv_text
from ...questions.margins import Groups, margin_name
from .rebuilt import Rebuilt
from .release_files import outputs
from .saved_release import Saved, csv_value, number_in

Rows = Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Unknown:
    """Something that could not be checked, and why."""

    why: str


def is_same(name: str, text: str, value: Any) -> bool:
    """Is this what a CSV has for a value of this column? Floats may differ in the last digits, from machine to machine, but for
    reports; and each has one spelling."""
    if isinstance(value, float) and text and not name.startswith("report"):
        told = float(text)
        return text == str(told) and abs(told - value) <= 1e-9 * max(abs(value), 1e-9)
    return text == csv_value(value)


def unmatched_totals(saved: Saved, rebuilt: Rebuilt) -> Iterator[str | Unknown]:
    """What is wrong with the totals."""
    again = rebuilt.release.margins
    if set(saved.margins) != set(again):
        yield "The totals are by other columns than the record says."
    groups = {} if rebuilt.sheet.sums is None else {margin_name(one.margin): one for one in rebuilt.sheet.sums.margins}
    for margin, rows in saved.margins.items():
        yield from _in_its_file(saved, margin, rows)
        yield from _as_made_again(margin, rows, again[margin])
        yield from _unlike_their_parts(saved, groups[margin], rows)


def _in_its_file(saved: Saved, margin: str, rows: Rows) -> Iterator[str | Unknown]:
    name = outputs(saved.path.with_suffix(".csv"), [margin])[1].name
    text = saved.csv_at(name)
    if name not in saved.record["files"]:
        yield f"The totals by {margin} are in none of the files."
    elif text is None:
        yield Unknown(f"The file of the totals by {margin} was not found.")
    elif text != csv_text(rows):
        yield f"{name} has other totals than the record."


def _as_made_again(margin: str, rows: Rows, again: Rows) -> Iterator[str]:
    for k, (row, must) in enumerate(zip(rows, again, strict=True), 1):
        wrong = [one for one in {**must, **row} if not is_same(one, csv_value(row.get(one)), must.get(one))]
        if wrong:
            yield f"Totals by {margin}, row {k}: {wrong[0]} is {row.get(wrong[0])}, but must be {must.get(wrong[0])}."
        elif list(row) != list(must):
            yield f"Totals by {margin}, row {k}: its columns, or their order, are not those of such totals."


def _unlike_their_parts(saved: Saved, groups: Groups, rows: Rows) -> Iterator[str]:
    """Do the fitted parts, as the CSV has them, add up to each total; of means, weighted by public sizes?"""
    size = saved.record["groups"]
    for k, one in enumerate(saved.record["statistics"]):
        if one["pair"]:  # a ratio of two totals: all of it was made again from the two
            continue
        weighted = one["kind"] in ("mean", "share")
        weights = [number_in(n) for n in saved.columns["n"][:size]] if weighted else [Fraction(1)] * size
        parts = saved.columns["fitted"][k * size : (k + 1) * size]
        for key, members, row in zip(groups.keys, groups.members, rows[k * len(groups.keys) :], strict=False):
            if row["total"] is None:
                continue
            mine = members.tolist()
            whole = sum(weights[p] for p in mine) if weighted else 1
            fitted = [parts[p] for p in mine if weights[p]]
            if "" in fitted:
                yield f"Totals by {margin_name(groups.margin)}: a part of {_named(key)} is missing, but there is a total."
                continue
            added = sum((number_in(parts[p]) * weights[p] for p in mine if weights[p]), Fraction(0))
            told = number_in(row["total"]) * whole
            exact = isinstance(row["total"], int) and not weighted
            if abs(added - told) > (0 if exact else Fraction(1, 10**9) * max(abs(told), 1)):
                yield f"Totals by {margin_name(groups.margin)}: the parts of {_named(key)} do not add up to {row['total']}."


def _named(key: Sequence[Any]) -> str:
    return ", ".join(map(csv_value, key)) or "all"
