"""What was collected, as one count for each report: a histogram, a mapping, or the reports themselves in any kind of column.

Files and tables with several columns become a tally first (discreet.collect); `chosen_columns` says which of their columns has the
reports.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..channels.contract import MATRIX_ENTRIES
from ..errors import OutOfRangeError, RecoveryError, SizeError
from ..exact.arithmetic import parse_entry, show
from ..exact.grid import Grid
from ..exact.intake import as_array, as_texts
from ..exact.positions import positions, values_at
from ..mechanism import Procedure

Counts = NDArray[np.int64]

KINDS = {"auto": "auto", "counts": "counts", "histogram": "counts", "reports": "reports"}
_FEW = 16  # so many reports may well be meant as reports
_MOST = 2**53  # reports in all: as floats their number is exact

COUNT = "count"
_LIKE_A_NUMBER = re.compile(r"[\s+\-.,'_/\d]*\d[\s+\-.,'_/\deE]*")
_ANSWERS = "If these are the answers, not yet perturbed, perturb them first."


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


def chosen_columns(
    names: Sequence[str],
    column: str | None,
    counts: str | Literal[False] | None = None,
    by: Sequence[str] = (),
    outputs: Grid | None = None,
) -> tuple[str | None, str | None]:
    """The columns of reports and of counts in a table, as far as its names say; False: no column has counts.

    Where one column is left it has the reports, and a column "count" has the counts. A first line that has reports in place of
    names is refused: it would be lost.
    """
    for name in (column, counts or None):
        if name is not None and (name not in names or name in by):
            raise RecoveryError(f"There is no column {show(name)} beside the groups; it has {listed(names)}.")
    if column is not None and column == counts:
        raise RecoveryError(f"The column {show(column)} cannot have both reports and counts; name two columns.")
    others = [name for name in names if name not in by]
    found = [name for name in others if name.lower() == COUNT and name != column]
    if counts is None and len(found) == 1 and (len(others) == 2 or column is not None):
        counts = found[0]
    rest = [name for name in others if name != counts] if column is None else [column]
    if not any(_is_name(name, outputs) for name in rest):
        raise RecoveryError(
            f"The first line has no name of a column of reports; put a line of names above the reports, such as report,{COUNT}."
        )
    return (rest[0] if len(rest) == 1 else None), counts or None


def _is_name(name: str, outputs: Grid | None) -> bool:
    """Can it be the name of a column, and no report?"""
    return _LIKE_A_NUMBER.fullmatch(name) is None and (
        outputs is None or outputs.is_ordered or outputs.place(name) is None
    )


def listed(names: Sequence[str]) -> str:
    """Names of columns in a sentence, not too many of them."""
    shown = ", ".join(name[:40] or "(no name)" for name in names[:8])
    return f"the column{'s' if len(names) > 1 else ''} {shown}{' and more' if len(names) > 8 else ''}"
