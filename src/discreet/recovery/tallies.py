"""What was collected, as one count for each report: a histogram, a mapping, or the reports themselves in any kind of column.

They may stand in a text file, for whoever drops one in or names it: what can be misread is refused, in a sentence. A file
has one report in each line, or is a table with a line of names whose columns are named by the reader or by themselves (a tally
has a column "count"). Columns stand between commas, semicolons or tabs. A number has a decimal point: a comma could as well
stand between two columns or between thousands, so nothing with one is read as a number.
"""

from __future__ import annotations

import csv
import io
import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import chain
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..channels.contract import MATRIX_ENTRIES
from ..errors import OutOfRangeError, RecoveryError, SizeError
from ..exact.arithmetic import parse_entry, show
from ..exact.grid import Grid
from ..exact.intake import as_array, as_texts
from ..exact.positions import positions, values_at
from ..mechanism import Procedure
from ..progress import Progress, tell

Counts = NDArray[np.int64]

KINDS = {"auto": "auto", "counts": "counts", "histogram": "counts", "reports": "reports"}
_FEW = 16  # so many reports may well be meant as reports
_MOST = 2**53  # reports in all: as floats their number is exact

COUNT = "count"
_LINES = 2**14  # between two words of how far it is
_SEPARATORS = "\t;,"  # the first of them in the first line is the one
_HINT = re.compile(r"sep=([,;\t|])", re.IGNORECASE)  # a line that spreadsheets write above the names
_LIKE_A_NUMBER = re.compile(r"[\s+\-.,'_/\d]*\d[\s+\-.,'_/\deE]*")
_EMPTY = "has no report; leave such lines out."
_ANSWERS = "If these are the answers, not yet perturbed, perturb them first."
_POINT = "if a comma is the decimal mark, write a point, such as 1.5"


def histogram_of(data: Any, mechanism: Procedure, kind: str = "auto") -> Counts:
    """How often each report of the mechanism was seen.

    `data` is a histogram (one count for each report, in the grid's order), a mapping {report: count}, a tally as `perturb`
    makes it (a table of reports with a second column "count"), or the reports themselves: a list, a NumPy or Arrow array, a
    pandas or Polars Series. `kind` says which: "counts" or "reports".
    "auto" takes as many whole numbers of 0 or more as there are reports for counts and everything else for reports. Up to
    16 such numbers that could be reports too are refused until you say what they are; an estimate from more has a note.
    Reports must be values of the grid: nothing is rounded.

    >>> import discreet as dt
    >>> g = dt.geometric(3, alpha="1/2")
    >>> [histogram_of(x, g).tolist() for x in ([5, 0, 2, 1], {0: 5, 2: 2, 3: 1}, [0, 0, 2, 0, 3, 2, 0, 0])]
    [[5, 0, 2, 1], [5, 0, 2, 1], [5, 0, 2, 1]]
    """
    return counts_of(data, mechanism, kind)[0]


def counts_of(data: Any, mechanism: Procedure, kind: str = "auto") -> tuple[Counts, bool]:
    """The same, and whether numbers that were taken for counts could be reports as well."""
    if not isinstance(kind, str) or kind not in KINDS:
        raise RecoveryError(f'kind = {show(kind)} must be "auto", "counts", "histogram" (the same) or "reports".')
    kind = KINDS[kind]
    size = mechanism.outputs.size
    if size is None:
        raise RecoveryError(
            f"The reports of this mechanism are unbounded ({mechanism.outputs}); recover with a truncated one, for "
            "example m.truncate(0, 100), after moving the reports beyond its ends to them."
        )
    if size > MATRIX_ENTRIES:
        raise SizeError(f"A histogram of {size} reports is too large; use a coarser grid.")
    data, could_be_reports = _tally(data), False
    if isinstance(data, Mapping):
        if kind == "reports":
            raise RecoveryError('A mapping {report: count} has counts: set kind="counts", or leave kind out.')
        counts = _of_mapping(data, mechanism.outputs, size)
    else:
        array = _read(data, mechanism.outputs)
        if kind == "counts" or (kind == "auto" and array.shape == (size,) and _are_counts(array)):
            counts = _of_counts(array, size)
            could_be_reports = kind == "auto" and _could_be_reports(counts, mechanism.outputs)
            _clearly_counts(data, counts, mechanism.outputs, could_be_reports)
        else:
            counts = _of_reports(array.reshape(-1), mechanism.outputs, size)
    total = sum(counts.tolist())
    if total == 0:
        raise RecoveryError("There are no reports: all counts are 0, or the list is empty; give at least one report.")
    return counts, could_be_reports


def by_group(data: Any, by: tuple[str, ...]) -> dict[Any, dict[Any, Any]]:
    """A tally by groups as a mapping {report: count} for each: columns of groups, one of reports and "count".

    A group is a value, or a tuple of values where several columns say which it is.
    """
    names = [str(name) for name in _columns(data) or ()]
    rest = [name for name in names if name not in by]
    if not by or len(names) != len(by) + 2 or len(rest) != 2 or rest[1] != COUNT:
        raise RecoveryError(
            f"A tally by groups has the columns {', '.join([*by, '(reports)', COUNT])}; make it with dt.tally(..., by=...)."
        )
    listed = _lists([data[name] for name in (*by, *rest)])
    if listed is None:
        raise RecoveryError("The tally holds values that its library cannot read; make it with dt.tally(..., by=...).")
    found: dict[Any, dict[Any, Any]] = {}
    for *group, report, count in zip(*listed, strict=True):
        own = found.setdefault(group[0] if len(by) == 1 else tuple(group), {})
        if report in own:
            raise RecoveryError("A report is listed twice in a group of the tally; add tallies up with dt.tally first.")
        own[report] = count
    if not found:
        raise RecoveryError("The tally has no rows; give at least one report.")
    return found


def _tally(data: Any) -> Any:
    """A table of reports and their counts as a mapping; anything else as it is."""
    names = _columns(data)
    if isinstance(data, Mapping) or names is None or [str(name) for name in names][1:] != [COUNT]:
        if names is not None and len(names) > 2 and str(names[-1]) == COUNT:
            raise RecoveryError(f"This is a tally by groups; say by={show(str(names[0]))} for an estimate of each.")
        return data
    found, rows = _mapping([data[name] for name in names])
    if found is None:
        raise RecoveryError(
            "The tally holds values that are not numbers, or that its library cannot read; give reports and counts "
            "as numbers."
        )
    if len(found) < rows:
        raise RecoveryError("A report is listed twice in the tally; add tallies up with dt.tally first.")
    return found


def _columns(data: Any) -> list[Any] | None:
    """The names of a table's columns; None for what is no table. A Spark DataFrame is not read."""
    if any(kind.__module__.startswith("pyspark.sql") for kind in type(data).__mro__):
        raise RecoveryError(
            "This is a Spark DataFrame, whose rows are not here; count its reports and bring the counts, with "
            "table.groupBy(...).count().toArrow()."
        )
    names = getattr(data, "column_names", getattr(data, "columns", None))
    return None if names is None or callable(names) else list(names)


def _mapping(columns: list[Any]) -> tuple[dict[Any, Any] | None, int]:
    """Counts by report, and the number of rows; None where their library fails on one, whose words may quote it."""
    listed = _lists(columns)
    try:
        return (None, 0) if listed is None else (dict(zip(*listed, strict=True)), len(listed[0]))
    except (TypeError, ValueError):  # values that are lists, or columns of other lengths
        return None, 0


def _lists(columns: list[Any]) -> list[list[Any]] | None:
    """Columns as lists; None where their library fails on one, whose words may quote it."""
    try:
        for part in columns:
            if hasattr(part, "validate"):
                part.validate(full=True)  # Arrow's own reading takes on trust where a text begins and ends
        return [part.to_pylist() if hasattr(part, "to_pylist") else part.to_list() for part in columns]
    except Exception:
        return None


def _clearly_counts(data: Any, counts: Counts, grid: Grid, could_be_reports: bool) -> None:
    """Refuse what is ambiguous: as many reports as a histogram has places, and labelled counts."""
    index = getattr(data, "index", None)
    if index is not None and hasattr(data, "to_dict"):  # a Series may stand in any order, as value_counts() does
        labels = [parse_entry(x) for x in index] if grid.is_ordered else list(index)
        if labels != list(range(len(counts))) and labels != [grid.value(k) for k in range(len(counts))]:
            raise RecoveryError(
                "These counts have labels that are not the reports in their order; give counts.to_dict() instead."
            )
    if could_be_reports and len(counts) <= _FEW:
        raise RecoveryError(
            f"These {len(counts)} numbers could be reports, or a histogram with a count for each report; "
            'set kind="reports" or kind="counts".'
        )


def _could_be_reports(counts: Counts, grid: Grid) -> bool:
    """Is every count a value of the reports' grid as well?"""
    if not grid.is_ordered:
        return False
    low, high = grid.reach
    return all((c - grid.anchor) % grid.step == 0 and low <= c <= high for c in np.unique(counts).tolist())


def _read(data: Any, grid: Grid) -> NDArray[Any]:
    """The numbers or names as an array; missing ones are named by their position."""
    if not grid.is_ordered:
        return _read_names(data)
    try:
        return as_array(data)[1]
    except OutOfRangeError:
        _refuse_tables(data)
        missing = _first_missing(data)
        if missing is not None:
            raise _refusal(missing, "is missing; leave it out or fill it in") from None
        raise RecoveryError(
            f"Cannot read reports from {type(data).__name__}; give a histogram, a mapping from report to count, or "
            "the reports as a list, a NumPy or Arrow array, or a Series of numbers."
        ) from None


def _read_names(data: Any) -> NDArray[Any]:
    """Names as an array of texts, or whole numbers, which can only be counts."""
    try:
        return as_texts(data)[1]
    except OutOfRangeError as error:
        try:
            array = as_array(data)[1]
        except OutOfRangeError:
            array = np.array([""])
        if array.dtype.kind in "iuf":
            return array
        _refuse_tables(data)
        missing = getattr(error, "position", None)
        if missing is not None:
            raise _refusal(missing, "is missing or no text; leave it out or fill it in") from None
        raise RecoveryError(
            f"Cannot read reports from {type(data).__name__}; give a histogram, a mapping from name to count, or the "
            "reports as a list or column of names."
        ) from None


def _refuse_tables(data: Any) -> None:
    """Say how reports in a table or a file become a tally; without a text's words, which may be an answer."""
    what = "file" if isinstance(data, (str, os.PathLike)) else "table" if _columns(data) is not None else None
    if what is not None:
        called = '"reports.csv"' if what == "file" else "table"
        raise RecoveryError(
            f"Cannot read reports from {type(data).__name__}; make a tally of the {what} first, for example "
            f'dt.tally({called}, "age", m).'
        )


def _first_missing(data: Any) -> int | None:
    if isinstance(data, np.ma.MaskedArray):
        masked = np.flatnonzero(np.ma.getmaskarray(data))
        return int(masked[0]) if len(masked) else None
    ask = getattr(data, "isna", None) or getattr(data, "is_null", None)  # pandas; Arrow and Polars
    missing = np.flatnonzero(np.asarray(ask() if ask is not None else False))
    return int(missing[0]) if len(missing) else None


def _refusal(position: int, why: str, value: Any = None) -> RecoveryError:
    """Without a text in its words: it may be an answer that was not yet perturbed."""
    is_text = isinstance(value, str)
    shown, more = "" if value is None or is_text else f", {show(value)},", f" {_ANSWERS}" if is_text else ""
    return RecoveryError(f"The report at position {position}{shown} {why}.{more}", position=position)


def _are_counts(array: NDArray[Any]) -> bool:
    if array.dtype.kind in "iu":
        return bool((array >= 0).all())
    if array.dtype.kind == "f":
        return bool(np.isfinite(array).all() and (array >= 0).all() and (array == np.floor(array)).all())
    return array.dtype.kind == "O" and all(_count(v) is not None for v in array.tolist())


def _count(value: Any) -> int | None:
    number = None if isinstance(value, str) else parse_entry(value)
    return int(number) if number is not None and number >= 0 and number.denominator == 1 else None


def _of_counts(array: NDArray[Any], size: int) -> Counts:
    if array.shape != (size,):
        raise RecoveryError(
            f"A histogram needs one count for each of the {size} reports, not the shape {array.shape}; "
            'if these are the reports themselves, set kind="reports".'
        )
    if array.dtype.kind in "iu" and (array >= 0).all():
        _countable(sum(array.tolist()))
        return array.astype(np.int64)
    counts = [_count(v) for v in array.tolist()]
    bad = next((k for k, c in enumerate(counts) if c is None), None)
    if bad is not None:
        raise RecoveryError(
            f"The count at position {bad} is {show(array[bad].item() if hasattr(array[bad], 'item') else array[bad])}; "
            "counts are whole numbers of 0 or more.",
            position=bad,
        )
    _countable(sum(c for c in counts if c is not None))
    return np.array(counts, dtype=np.int64)


def _countable(total: int) -> None:
    if total > _MOST:
        raise RecoveryError(f"There are {total} reports in all; at most 2^53 can be counted: divide the counts.")


def _of_mapping(data: Mapping[Any, Any], grid: Grid, size: int) -> Counts:
    counts = np.zeros(size, dtype=np.int64)
    _countable(sum(_count(given) or 0 for given in data.values()))
    for k, (report, given) in enumerate(data.items()):
        place = grid.placed(report)
        if place is None:
            off = f"on the reports' grid {grid}" if grid.is_ordered else grid.among
            raise _refusal(k, f"is not {off}; use the mechanism that made the reports", report)
        count = _count(given)
        if count is None:
            raise RecoveryError(
                f"The count of the report {show(report)} is {show(given)}; counts are whole numbers of 0 or more.",
                position=k,
            )
        counts[place] += count
    return counts


def _of_reports(array: NDArray[Any], grid: Grid, size: int) -> Counts:
    if not grid.is_ordered:
        return _of_names(array, grid, size)
    hint = "; if these are counts, they must be whole numbers of 0 or more" if len(array) == size else ""
    try:
        places = positions(grid, array, clamp=True)  # a float next to an end may stand for it; others differ from it
    except OutOfRangeError as error:
        at: int = error.position  # type: ignore[attr-defined]
        raise _refusal(at, f"is missing or not a number; leave it out{hint}", array[at : at + 1].tolist()[0]) from None
    off = np.flatnonzero(_differ(array, grid, places))
    if len(off):
        value = array[off[0]].item() if hasattr(array[off[0]], "item") else array[off[0]]
        exact = _exact(value)
        inside = exact is not None and grid.reach[0] < exact < grid.reach[1]
        why = (
            f"lies between two values of the reports' grid {grid}; give the reports as they were drawn"
            if inside
            else f"lies outside the reports' grid {grid}; use the mechanism that made the reports"
        )
        raise _refusal(int(off[0]), why + hint, value)
    return np.bincount(places, minlength=size).astype(np.int64)


def _of_names(array: NDArray[Any], names: Grid, size: int) -> Counts:
    places = [names.place(value) for value in array.tolist()]
    bad = next((k for k, place in enumerate(places) if place is None), None)
    if bad is not None:
        why = f"is not {names.among}; use the mechanism that made the reports"
        raise _refusal(bad, why, array[bad])
    return np.bincount(np.array(places, dtype=np.int64), minlength=size).astype(np.int64)


def _exact(value: Any) -> Fraction | None:
    return Fraction(int(value)) if isinstance(value, bool) else parse_entry(value)


def _differ(array: NDArray[Any], grid: Grid, places: Counts) -> NDArray[np.bool_]:
    """Where the value is not that of its position. A float may be the nearest one to the grid's value."""
    if array.dtype.kind in "iub":
        return np.asarray(values_at(grid, places) != array)
    if array.dtype.kind == "f":
        return np.asarray(values_at(grid, places).astype(array.dtype) != array)
    return np.array(
        [
            _exact(v) != grid.value(k) and not (isinstance(v, float) and v == float(grid.value(k)))
            for v, k in zip(array.tolist(), places.tolist(), strict=True)
        ],
        dtype=bool,
    )


class Reports(NamedTuple):
    """How often each report was seen; or, where that is for the reader to say, the names of the columns to choose from.

    `groups` has the same for each value of the column `by`, in the order of its first line.
    """

    seen: dict[Any, int]
    columns: tuple[str, ...] = ()
    groups: dict[str, dict[Any, int]] = {}  # noqa: RUF012 (nobody writes to it)


class Layout(NamedTuple):
    """How a text of reports is laid out: the names of its columns (none where it has no line of names), what stands between them,
    and its encoding."""

    names: tuple[str, ...]
    separator: str
    encoding: str


def layout_of(content: bytes, answers: Grid | None = None) -> Layout:
    """The layout, as `read_reports` takes it."""
    text, encoding = _decoded(content)
    _, first = next(_lines(text, "The file"), (0, []))
    return Layout(tuple(first) if first and _is_headed(first, answers) else (), _beginning(text)[2], encoding)


def _is_headed(first: list[str], answers: Grid | None) -> bool:
    """Is the first line one of names? Where reports are names, it is one if it has none of them."""
    if answers is None or answers.is_ordered:
        return _is_heading(first)
    return all(answers.place(part) is None for part in first)


def read_reports(
    content: bytes | str,
    name: str = "The file",
    *,
    column: str | None = None,
    counts: str | Literal[False] | None = None,
    by: str | None = None,
    most: int | None = None,
    answers: Grid | None = None,
    progress: Progress | None = None,
) -> Reports:
    """The reports in a text: those of `column`, each as often as the column `counts` says; with `by`, also for each group.

    Where there is one column it need not be named, and of two a column "count" has the counts; with counts=False each line is one
    report. Where it is not clear which column has the reports, nothing is read and the result has the names.
    At most `most` lines may differ. Where the reports are names, `answers` has them.
    """
    named = None if answers is None or answers.is_ordered else answers
    lines = _lines(content, name)
    start, first = next(lines, (0, []))
    if not first:
        raise RecoveryError(f"{name} is empty; give one report in each line.")
    headed = _is_headed(first, answers)
    if not headed and len(first) > 1:
        what, point = ("numbers", f"; {_POINT}") if named is None else ("values", "")
        raise RecoveryError(
            f"Line {start} of {name} has {len(first)} {what} and no names: put a line of names above it, such as "
            f"report,{COUNT}{point}."
        )
    names = tuple(first) if headed else ("report",)
    column, counts = chosen_columns(names, column, counts, by)
    if column is None:
        return Reports({}, names)
    if len(names) > 1 and counts is None and _LIKE_A_NUMBER.fullmatch(column):
        raise RecoveryError(
            f"Line {start} of {name} has {column} where the name of a column is expected; put a line of names above "
            "it, or give the column a name that is not a number."
        )
    places = [None if one is None else _place(names, one, name) for one in (column, counts, by)]
    if places[0] == places[1]:
        raise RecoveryError(f"The column {column} of {name} cannot have both reports and counts; name two columns.")
    if by is not None and places[2] in places[:2]:
        raise RecoveryError(f"The column {by} of {name} cannot have the groups as well; name another column.")
    rows = lines if headed else chain([(start, first)], lines)
    groups = _tallied(_with_progress(rows, progress), len(names), places, name, most, answers)
    seen: Counter[Any] = Counter()
    for counted in groups.values():
        seen.update(counted)
    return Reports(dict(seen), groups={} if by is None else groups)


def chosen_columns(
    names: tuple[str, ...], column: str | None, counts: str | Literal[False] | None, by: str | None
) -> tuple[str | None, str | None]:
    """The columns of reports and of counts, as far as the names say."""
    names = tuple(one for one in names if one != by)
    tallies = [] if counts is False else [one for one in names if one.lower() == COUNT]
    counts = counts or None
    if counts is None and len(tallies) == 1 and column != tallies[0] and (len(names) == 2 or column is not None):
        counts = tallies[0]
    others = [one for one in names if one != counts]
    return (others[0] if column is None and len(others) == 1 else column), counts


def _place(names: tuple[str, ...], wanted: str, name: str) -> int:
    if names.count(wanted) > 1:
        raise RecoveryError(f"{name} has several columns named {wanted}; give them different names.")
    if wanted not in names:
        raise RecoveryError(f"{name} has no column {wanted}; it has {listed(names)}.")
    return names.index(wanted)


def listed(names: tuple[str, ...]) -> str:
    """Names of columns in a sentence, not too many of them."""
    shown = ", ".join(one[:40] or "(no name)" for one in names[:8])
    return f"the column{'s' if len(names) > 1 else ''} {shown}{' and more' if len(names) > 8 else ''}"


def _with_progress(rows: Iterator[tuple[int, list[str]]], progress: Progress | None) -> Iterator[tuple[int, list[str]]]:
    for number, row in enumerate(rows):
        if number % _LINES == 0:
            tell(progress, f"line {number + 1}")
        yield row


def _tallied(
    rows: Iterator[tuple[int, list[str]]],
    width: int,
    places: list[int | None],
    name: str,
    most: int | None,
    answers: Grid | None,
) -> dict[str, dict[Any, int]]:
    """How often each report was seen in each group. Lines that are alike are read once: a file has many lines, and few reports."""
    report_at, count_at, group_at = places
    assert report_at is not None
    lines: Counter[tuple[str, str, str]] = Counter()
    where: dict[tuple[str, str, str], int] = {}
    for line, row in rows:
        if len(row) > width:
            commas = f"; {_POINT}" if width == 1 else ""
            raise RecoveryError(
                f"Line {line} of {name} has {len(row)} columns where the first line has {width}{commas}."
            )
        cells = [*row, *[""] * (width - len(row))]
        often, group = "1" if count_at is None else cells[count_at], "" if group_at is None else cells[group_at]
        key = cells[report_at], often, group
        lines[key] += 1
        if where.setdefault(key, line) == line and most is not None and len(where) > most:
            raise RecoveryError(f"{name} has more than {most} different lines; use discreet recover for it.")
    named = None if answers is None or answers.is_ordered else answers
    seen: dict[str, Counter[Any]] = {}
    for (report, often, group), times in lines.items():
        line, value = where[report, often, group], parse_entry(report)
        if named is not None and named.place(report) is None:
            shown = f"is not {named.among}; use the mechanism that made the reports. {_ANSWERS}"
            raise RecoveryError(f"Line {line} of {name} {shown if report else _EMPTY}")
        if named is None and value is None:
            raise RecoveryError(f"Line {line} of {name} {_no_number(report, answers)}")
        if answers is not None and named is None and answers.placed(value) is None:
            raise RecoveryError(
                f"Line {line} of {name} has a number that is not on the reports' grid {answers}; use "
                "the mechanism that made the reports."
            )
        if not often.isdecimal() or len(often) > 16:
            raise RecoveryError(f"Line {line} of {name} has the count {often[:40]!r}; give whole counts of 0 or more.")
        seen_as = report if named is not None or value is None else value.numerator if value.denominator == 1 else value
        seen.setdefault(group, Counter())[seen_as] += int(often) * times
    if not seen:
        raise RecoveryError(f"{name} has no report below its first line; give one in each line.")
    return {group: dict(counted) for group, counted in seen.items()}


def _no_number(text: str, answers: Grid | None) -> str:
    """Why a text is no report, without the text: it may be an answer that was not yet perturbed."""
    if not text:
        return _EMPTY
    if "," in text and _LIKE_A_NUMBER.fullmatch(text):
        return f"has what is no number here; {_POINT}."
    return f"is no report{'' if answers is None else f' on {answers}'}: it is no number. {_ANSWERS}"


def _is_heading(row: list[str]) -> bool:
    """Is it a line of names? What looks like a number, even a wrong one, is none."""
    return any(part and parse_entry(part) is None and not _LIKE_A_NUMBER.fullmatch(part) for part in row)


def _lines(content: bytes | str, name: str) -> Iterator[tuple[int, list[str]]]:
    """Every line that is not blank, with the number at which it begins, without blank cells at its end."""
    text = _text(content)
    before = 0
    first, hint, separator = _beginning(text)
    if "\0" in first:
        raise RecoveryError(f"{name} is not a text; give a CSV file with one report in each line.")
    if hint:
        text, before = text.lstrip().removeprefix(first).lstrip("\r\n"), 1
    rows, begun = csv.reader(io.StringIO(text, newline=""), delimiter=separator), 1
    try:
        for row in rows:
            cells = [part.strip() for part in row]
            while cells and not cells[-1]:
                cells.pop()
            if cells:
                yield begun + before, cells
            begun = rows.line_num + 1
    except csv.Error:
        raise RecoveryError(
            f"{name} cannot be read as CSV from line {begun + before} on; give one report in each line."
        ) from None


def _beginning(text: str) -> tuple[str, bool, str]:
    """The first line, whether it says nothing but the separator, and the separator."""
    first = text.lstrip().splitlines()[0] if text.strip() else ""
    hint = _HINT.fullmatch(first.strip())
    bare = re.sub(r'"[^"]*"', "", first)
    return first, hint is not None, hint[1] if hint is not None else next((m for m in _SEPARATORS if m in bare), ",")


def _text(content: bytes | str) -> str:
    return content.removeprefix("\ufeff") if isinstance(content, str) else _decoded(content)[0]


def _decoded(content: bytes) -> tuple[str, str]:
    """UTF-8, UTF-16 with its mark, or else Latin-1: only names of columns differ there, never a number."""
    if content[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return content.decode("utf-16", errors="replace"), "utf-16"
    try:
        return content.decode("utf-8-sig"), "utf-8"
    except UnicodeDecodeError:
        return content.decode("latin-1"), "latin-1"
