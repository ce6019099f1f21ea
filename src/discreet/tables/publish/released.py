"""A release: reports that may be published, as rows, totals and a record."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack, final

from ...errors import MissingExtraError, ReleaseError, TableInputError
from ...exact.aliases import Rational
from ...exact.arithmetic import show
from ...present.views import Result, View, one_line, plain
from ...present.words import csv_lines, text
from ...questions.domain import declared_key
from ...questions.margins import OF_TOTALS, TOTAL, margin_name, margin_of
from .presentation import Presentation, PresentationParts, labelled
from .readings import Column, Confidence, as_list
from .words import (
    adding_up,
    amount,
    asked_in_words,
    charged_words,
    checked_words,
    correction_words,
    key_for_people,
    repeated_words,
    short,
    total_words,
    totals_title,
)

if TYPE_CHECKING:
    from ..saved.differences import Difference
    from .error_statement import ErrorStatement

_FOR_STATISTICIANS = (
    "report",
    "fitted",
    "digest",
    "interval_by",
    "standard_error",
    "epsilon",
    "rho",
    "report_u",
    "report_v",
)  # columns that are not printed: beside them, `published` is the one number to read
_FIRST = 100  # rows that are shown
_WHERE = "rows() and columns have all, save() writes them"
_PRINTED = 30  # rows of each table that print shows


def _library(name: str) -> Any:
    """The library of a kind of frame."""
    try:
        return import_module(name)
    except ImportError:
        raise MissingExtraError(f"{name} is not installed; install it, or use to_arrow().") from None


def arrow_table(columns: Mapping[str, list[Any]]) -> Any:
    """The columns as an Arrow table."""
    try:
        import pyarrow
    except ImportError:
        raise MissingExtraError.needing("Tables need Arrow", "tables") from None
    return pyarrow.table({name: _one_type(values) for name, values in columns.items()})


def _one_type(values: list[Any]) -> list[Any]:
    """Counts beside means: whole numbers become floats where there are floats."""
    if {float, int} <= {*map(type, values)}:
        return [float(x) if type(x) is int else x for x in values]
    return values


@final
class Columns(Mapping[str, list[Any]]):
    """The columns of a release by name, each a list that is made when it is first asked for: until then it is held as it was
    computed, one part after the other, in arrays where it can be."""

    def __init__(self, parts: Mapping[str, Sequence[Column]]) -> None:
        self._parts, self._lists = dict(parts), dict[str, list[Any]]()

    def __getitem__(self, name: str) -> list[Any]:
        if name not in self._lists:
            self._lists[name] = [x for part in self._parts[name] for x in as_list(part)]
        return self._lists[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._parts)

    def __len__(self) -> int:
        return len(self._parts)

    def __repr__(self) -> str:
        return repr(dict(self))

    def size(self, name: str) -> int:
        """How many rows a column has."""
        return sum(map(len, self._parts[name]))


@dataclass(frozen=True, repr=False)
class Release(Result):
    """Reports that may be published, with what is needed to read them.

    `columns` holds one list per column, one entry per declared group (and count, when there are several). Of its numbers
    `published` is the one to print. A release is a table: it has a length, iteration gives its rows, and made["north", "f"] is
    the row of that group.
    """

    columns: Mapping[str, list[Any]]
    margins: Mapping[str, list[dict[str, Any]]]
    record: Mapping[str, Any]

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_places"}

    @property
    def size(self) -> int:
        """How many rows there are."""
        return self.columns.size("report") if isinstance(self.columns, Columns) else len(self.columns["report"])

    def rows(self, most: int | None = None, start: int = 0) -> list[dict[str, Any]]:
        """The rows as dictionaries, or the first ones from `start` on. `columns` holds the same and is quicker to go through."""
        names, end = list(self.columns), None if most is None else start + most
        lines = zip(*(values[start:end] for values in self.columns.values()), strict=True)
        return [dict(zip(names, line, strict=True)) for line in lines]

    def __len__(self) -> int:
        return self.size

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """The rows, one after the other."""
        names = list(self.columns)
        return (dict(zip(names, line, strict=True)) for line in zip(*self.columns.values(), strict=True))

    def __contains__(self, key: object) -> bool:
        """Is there a row with this key?"""
        return self._place(key) is not None

    def __getitem__(self, key: Any) -> dict[str, Any]:
        """The row of a group, by its key: made["north"], or made["north", "f"] by two columns. Where there are several
        statistics the name of one comes last: made["north", "f", "income"]."""
        place = self._place(key)
        if place is not None:
            return self.rows(1, place)[0]
        first = ", ".join(repr(self.columns[name][0]) for name in self._key_columns)
        example = f"made[{first or '()'}]"
        if isinstance(key, str) and key in self.columns:
            raise ReleaseError(
                f"{show(key)} is a column: made.columns[{key!r}] holds it. A row is had by its key, for example {example}."
            )
        raise ReleaseError(
            f"No row has the key {show(key)}. Give a value for each of {', '.join(self._key_columns) or 'no columns'}, for "
            f"example {example}; made.rows() has all rows."
        )

    @property
    def _key_columns(self) -> list[str]:
        """The columns that tell the rows apart: those grouped by, and the one that names the statistic where there are several."""
        return list(self.columns)[: list(self.columns).index("published")]

    def _place(self, key: object) -> int | None:
        """The number of the row with this key; None where there is none."""
        try:
            wanted = tuple(map(declared_key, key if isinstance(key, tuple) else (key,)))
        except TableInputError:
            return None
        return self._places.get(tuple((type(part), part) for part in wanted))  # True is no 1

    @cached_property
    def _places(self) -> dict[tuple[tuple[type, Any], ...], int]:
        columns = [self.columns[name] for name in self._key_columns]
        keys = zip(*columns, strict=True) if columns else [()]
        return {tuple((type(part), part) for part in key): k for k, key in enumerate(keys)}

    @property
    def presentation(self) -> Presentation:
        """Title, labels, source and notes of the page, separator of the CSVs, decimal mark of both."""
        return Presentation.of_record(self.record)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Release:
        """A saved release, by its record (the .json): totals and other intervals of it cost nothing. `check_release` says whether
        it holds."""
        from ..saved.saved_release import Saved

        return cls._rebuilt(Saved.read(path).record)

    @classmethod
    def _rebuilt(cls, record: Mapping[str, Any], **other: Any) -> Release:
        """A release made again from a record, with some other fields."""
        from .rebuilding import rebuild
        from .record import METHOD

        if record.get("method") != METHOD:
            raise ReleaseError(
                f"Its numbers were made by method {show(record.get('method'))}, and this is method {METHOD}: use "
                f"discreet {show(record.get('discreet'))}."
            )
        return rebuild({**record, **other}).release

    def with_totals(self, *margins: str | Sequence[str]) -> Release:
        """The same release with totals, which its page, CSVs and record have from then on: "sex", ["sex", "district"], or "total"
        for all together. They cost nothing: the reports are fitted to whole numbers that add up, all totals together, and
        those that were measured give theirs.

        >>> import discreet as dt, pyarrow as pa
        >>> town = dt.Ledger("budget.db").create("town", budget="1", relation="add-remove")
        >>> people = pa.table({"ill": ["yes", "no", "no"] * 20})
        >>> made = town.release(people, by="ill", domain={"ill": ["yes", "no"]}, epsilon="1/2").with_totals("total")
        >>> made.totals("total")[0]["total"] == sum(made.columns["published"])
        True
        """
        return self._rebuilt(self.record, margins=[*self.record["margins"], *margins])

    def totals(self, margin: str | Sequence[str]) -> list[dict[str, Any]]:
        """The rows of one set of totals: those that the release has, or would have with it."""
        containers = (entry["column"] for entry in self.record["question"]["domain"]["containers"])
        wanted = frozenset(margin_of(margin, [*self.record["by"], *containers]))
        known = {frozenset(columns): margin_name(tuple(columns)) for columns in self._total_columns}
        return self.margins[known[wanted]] if wanted in known else self.with_totals(margin).totals(margin)

    @property
    def _total_columns(self) -> list[Sequence[str]]:
        """By which columns it has totals: those that were asked for, and those that were measured, without the cells."""
        return [*self.record["margins"], *(tier["by"] for tier in self.record["measured"][:-1])]

    def presented(
        self,
        *,
        confidence: Rational | None = None,
        simultaneous: bool | None = None,
        **words: Unpack[PresentationParts],
    ) -> Release:
        """The same release with other intervals, words of your own on its page, or other marks in its CSVs. They cost nothing.

            confidence    how often the intervals cover. "0.95"
            simultaneous  make all intervals of the release cover at once, with that confidence, rather than each by itself
            title         the heading of the page; it is published as you write it, as are notes: put no number from the data in it
            source        where the data come from. "Register of residents, 1 January 2026"
            notes         a text, or a list of texts, for the reader of the page
            labels        what the page calls columns and statistics. {"sex": "Sex at birth"}
            separator     what separates the fields of the CSVs. "," or ";", "|" or "tab"; ";" beside a decimal comma
            decimal       the decimal mark of the CSVs, and of the numbers on the page. "." or ","

        Intervals of which nothing is said stay as they are. Words take the place of all that were said before.
        """
        if confidence is not None or simultaneous is not None:
            asked = Confidence.of(self.record["confidence"], self.record["simultaneous"]).changed(
                confidence, simultaneous
            )
            made = self._rebuilt(self.record, confidence=str(asked.level), simultaneous=asked.simultaneous)
            return made.presented(**words) if words else made
        said = Presentation.of(labelled(self.record), **words)
        return replace(self, record={**self.record, "presentation": said.to_dict()})

    def _csv(self) -> str:
        marks = self.presentation
        return csv_lines(self.columns, zip(*self.columns.values(), strict=True), marks.separator, marks.decimal)

    def to_arrow(self) -> Any:
        """All rows as an Arrow table."""

        return arrow_table(self.columns)

    def to_pandas(self) -> Any:
        """All rows as a DataFrame of pandas, with the types of the keys."""
        pandas, columns = _library("pandas"), {name: _one_type(values) for name, values in self.columns.items()}
        # whole numbers of which some are missing stay whole: as floats, large ones would be rounded
        kinds = {
            name: "Int64" if {*map(type, values)} == {int, type(None)} else None for name, values in columns.items()
        }
        return pandas.DataFrame({name: pandas.Series(x, dtype=kinds[name]) for name, x in columns.items()})

    def to_polars(self) -> Any:
        """All rows as a DataFrame of Polars."""
        return _library("polars").from_arrow(self.to_arrow())

    def plot(self) -> Any:
        """A dot with whiskers for each group: the published number and its interval; the totals beside. Saved by `.save(path)`."""
        from .pictures import release_picture

        return release_picture(self)

    def error_statement(self) -> ErrorStatement:
        """How wrong these numbers can be, on one page: print it, or write its `to_html()` to a file."""
        from .error_statement import ErrorStatement

        return ErrorStatement(self.record)

    def to_html(self) -> str:
        """The whole page for people, in one text that needs nothing else."""
        from .page import release_page

        return release_page(self)

    def difference(self, earlier: Release | str | os.PathLike[str], *, confidence: Rational = "0.95") -> Difference:
        """What changed since an `earlier` release of the same question (a Release, or the .json of a saved one), with intervals."""
        from ..saved.differences import difference

        return difference(self, earlier, confidence=confidence)

    def save(
        self,
        path: str | os.PathLike[str],
        *,
        overwrite: bool = False,
        bom: bool = False,
        **words: Unpack[PresentationParts],
    ) -> list[Path]:
        """Write the rows to `path` (.csv), and beside it the totals, the page (.html) and the record (.json): all or none.

        `bom` begins each CSV with a byte order mark, which some spreadsheets need. What is there already is kept unless
        `overwrite`; then the totals of an earlier release that this one does not have are removed. Title, source, notes and
        labels of the page, separator and decimal mark of the CSVs are those that `presented` takes. Returns the files.
        """
        from ..saved.release_files import save_release

        return save_release(self.presented(**words) if words else self, path, overwrite=overwrite, bom=bom)

    def __str__(self) -> str:
        return text(self.view(), _PRINTED)

    def _title(self) -> str:
        what = asked_in_words(self.record)
        by = f" by {', '.join(self.record['by'])}" if self.record["by"] else ""
        title = one_line(f"{self.record['dataset']}: {what}{by}; {self.size} report{'' if self.size == 1 else 's'}")
        return f"{repeated_words(self.record)}\n{title}" if self.record["repeated"] else title

    def view(self) -> View:
        """The first rows in the columns for people, the totals, what protects them and what they cost."""
        names = tuple(name for name in self.columns if name not in _FOR_STATISTICIANS)
        first = zip(*(self.columns[name][:_FIRST] for name in names), strict=True)
        by = set(self.record["by"])
        rows = tuple(
            tuple(short(key_for_people(x) if n in by else x) for n, x in zip(names, row, strict=True)) for row in first
        )
        words = total_words(self.record["statistics"])
        headed = words[0] if len(words) == 1 else "value"
        totals = tuple(
            replace(
                View.of(
                    f"{totals_title(margin, self.record)}{adding_up(margin, self.record)}:",
                    [
                        {
                            headed if n == TOTAL else n: short(x if n in OF_TOTALS else key_for_people(x))
                            for n, x in line.items()
                            if n not in _FOR_STATISTICIANS
                        }
                        for line in lines
                    ],
                ),
                where="margins has all",
            )
            for margin, lines in self.margins.items()
        )
        return View(self._title(), names, rows, self._notes(), totals, more=self.size - len(rows), where=_WHERE)

    def _notes(self) -> tuple[str, ...]:
        record, left = self.record, self.record["budget"]
        notes = [
            *correction_words(record),
            f"{record['protects']} {record['person']}",
            *record["beware"],
            *checked_words(record),
        ]
        if record["empty_groups"] and record["by"]:
            some = ", ".join(
                "/".join(str(short(key_for_people(x))) for x in key) for key in record["empty_groups"][:10]
            )
            notes.append(
                f"Empty groups: {some}{' ...' if len(record['empty_groups']) > 10 else ''}. Check their spelling."
            )
        if (record["confidence"], record["simultaneous"]) != ("19/20", False):
            notes.append(f"Intervals: {record['interval']}.")
        cost, audience = f"Charged {charged_words(record)}.", record.get("audience")
        if audience is not None:
            own, charged = amount(audience["epsilon"]), amount(audience["charged"])
            cost = f"Private at epsilon {own}; epsilon {charged} was charged, once for all audiences."
        if not record["repeated"]:
            notes.append(cost)
        spent, budget, rest = (amount(left[name]) for name in ("spent", "budget", "left"))
        whose = record["dataset"] if record["part"] is None else f"part {record['part']} of {record['dataset']}"
        most = ", in the part that has spent most" if record["parts"] and record["part"] is None else ""
        rho = "" if record["delta"] is None else "rho "
        notes.append(f"Budget of {whose}: {rho}{spent} of {budget} spent, {rest} left{most}.")
        return tuple(notes)

    def to_dict(self) -> dict[str, Any]:
        """All rows, the totals and the record."""
        return {"rows": plain(self.rows()), "margins": plain(self.margins), "record": plain(self.record)}
