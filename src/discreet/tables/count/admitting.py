"""Admission and profiling: what a file holds, what will not be counted, and what to do about it, before anybody asks.

All of this is for whoever holds the data, and none of it for publication. The reader itself refuses what cannot be
repaired (bytes that are not text, lines of other lengths, broken quotation marks), with the numbers of the lines; what can
be read but looks like a mistake is a finding, and a serious one keeps a file from being admitted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from ...engines.cluster import ParquetOnCluster
from ...engines.duckdb import names_in
from ...engines.guard import Guarded
from ...engines.held_file import EXCEL, HeldFile
from ...engines.reading import Reading
from ...engines.sources import TableSource, open_table
from ...engines.table import Table
from ...errors import MissingExtraError, TableInputError
from ...exact.arithmetic import show
from ...ledger.book import Admission, Book
from ...present.views import Result, View
from ...progress import Progress
from ...questions.domain import FORMAT, VERSION, Domain, declared_columns
from ...questions.predicate import find_column, unknown_column
from ...questions.statistic import SumOf, read_sums
from .column_profiles import MOST_VALUES, proposed_keys, seen_columns
from .findings import (
    Finding,
    about_column,
    about_dates,
    about_ids,
    about_keys,
    about_names,
    about_public,
    about_sums,
    places_of,
)
from .parts_reading import parts_reading

ALONE = "For you alone, not for publication."


@dataclass(frozen=True, repr=False)
class Profile(Result):
    """What a table holds, for whoever holds it: its columns, and findings with the numbers of their lines (or rows)."""

    name: str
    size: int
    place: str  # "line" of a text file, else "row"
    columns: tuple[Mapping[str, Any], ...]
    findings: tuple[Finding, ...]
    reading: Reading
    keys: tuple[
        tuple[str, tuple[Any, ...]], ...
    ]  # of columns with few different values; no mapping, which a release would take

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(str(column["column"]) for column in self.columns)

    @property
    def grave(self) -> tuple[Finding, ...]:
        """The findings that keep a file from being admitted."""
        return tuple(f for f in self.findings if f.grave)

    def domain(self) -> dict[str, Any]:
        """Groups to start from, marked as learned from the data: a release refuses them until they have a public source."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "learned": "from the data: replace the keys by those of a public source, name it as source, then remove this line",
            "source": "",
            "columns": {name: list(keys) for name, keys in self.keys},
        }

    def _title(self) -> str:
        rows = f"{self.size} row{'' if self.size == 1 else 's'}"
        columns = f"{len(self.columns)} column{'' if len(self.columns) == 1 else 's'}"
        return f"{self.name}: {rows}, {columns}. {ALONE}"

    def view(self) -> View:
        rows = [
            {
                "column": f.column,
                "finding": f.what,
                "how many": f.count,
                f"{self.place}s": places_of(f),
                "what to do": f.advice,
            }
            for f in self.findings
        ]
        problems = View.of("Possible problems:", rows) if rows else View("No problems found.")
        return View(
            self._title(),
            ("column", "holds", "different values", "missing"),
            tuple(tuple(column.values()) for column in self.columns),
            (),
            (problems,),
        )

    def to_dict(self) -> dict[str, Any]:
        """The columns, the findings and the way of reading; for the operator too."""
        entries = [
            {
                "column": f.column,
                "finding": f.what,
                "count": f.count,
                f"{self.place}s": list(f.places),
                "advice": f.advice,
                "grave": f.grave,
            }
            for f in self.findings
        ]
        return {
            "note": ALONE,
            "table": self.name,
            "rows": self.size,
            "columns": [dict(c) for c in self.columns],
            "findings": entries,
            "reading": self.reading.to_dict(),
        }


def profile(
    table: Any,
    *,
    domain: Any = None,
    sum: Any = None,
    unit: str | None = None,
    codes: Sequence[str] = (),
    progress: Progress | None = None,
) -> Profile:
    """Profile a file or a table that you hold: its columns, what is missing, and what may be misread.

        domain      declared groups, which are compared with what is there
        sum         bounds of columns, which are compared, too. {"income": Grid(0, 100000, 100)}, or texts
        unit        the column that identifies a person; by default a row is a person
        codes       columns of codes: what looks like a number there is not one

    How a file is read is said with `read`. No bounds are ever proposed from the data. The result's `domain()` holds keys to start
    from, marked as learned from the data.

    >>> import pyarrow
    >>> profile(pyarrow.table({"town": ["a", "b", None]}))
    <Profile a table: 3 rows, 1 column. For you alone, not for publication.>
    """
    return examined(Table.of(table).opened(), domain, unit, progress, sums=read_sums(sum), codes=codes)


def admitted(
    book: Book,
    dataset: str,
    table: Table,
    version: str,
    *,
    domain: Any = None,
    sum: Any = None,
    codes: Sequence[str] = (),
    supersedes: str | None = None,
    progress: Progress | None = None,
) -> Profile:
    """Admit a file or a table in memory as a version of a data set; a grave finding refuses it, with the report."""
    terms, table = book.terms(dataset), table.opened().separated()
    digest, file = table.digest(), table.known  # what is examined is what was hashed
    report = examined(table, domain, terms.unit, progress, sums=read_sums(sum), codes=codes)
    with book.consult(dataset) as said:
        admissions = said.admissions()
    known = {*report.names, *(name for earlier in admissions for name in earlier.columns)}
    report = replace(report, findings=(*report.findings, *about_public(terms, known)))
    name = "The table in memory" if file is None else show(file.name)
    if report.grave:
        where = {f: f" (in {report.place} {places_of(f)})" if f.places else "" for f in report.grave}
        reasons = "; ".join(f"Column {show(f.column)}: {f.what}{where[f]}, {f.advice}" for f in report.grave)
        raise TableInputError(f"{name} was not admitted. {reasons}.", report=report)
    if file is not None:
        file.check_unchanged("admit it when it is complete")
    for earlier in admissions:
        if earlier.version != version and said.is_admitted(earlier, digest):
            report = replace(report, findings=(*report.findings, _admitted_before(earlier, name, table)))
    named = [find_column(column, report.names) or column for column in codes]
    book.note_admission(
        dataset,
        version,
        data=digest,
        reading=table.reading.to_dict(),
        columns=report.names,
        codes=named,
        supersedes=supersedes,
        parts_as=None if terms.parts is None else parts_reading(table.what, terms.parts, table.reading),
    )
    return report


def _admitted_before(earlier: Admission, name: str, table: Table) -> Finding:
    """That this very table has a version already: under a second one every question would be charged again. Read in the same way it
    is refused, and in another way told."""
    kind = "file" if table.is_file else "table"
    if dict(earlier.reading) == table.reading.to_dict():
        raise TableInputError(
            f"{name} was admitted before, as version {show(earlier.version)}, and is the same {kind}: ask about that "
            "version. Under another one the same answers would be charged again. Nothing was changed."
        )
    advice = "questions about this version are charged anew: use it only where that one was read wrongly"
    return Finding("", f"the {kind} of version {earlier.version}, read in another way", 1, (), advice)


def examined(
    given: Table,
    domain: Any,
    unit: str | None,
    progress: Progress | None = None,
    sums: Mapping[str, SumOf] = MappingProxyType({}),
    codes: Sequence[str] = (),
) -> Profile:
    """The same of a table that was opened before, of all columns."""
    try:
        import pyarrow  # noqa: F401  # what hands tables over
    except ImportError:
        raise MissingExtraError.needing("Looking at tables needs DuckDB and PyArrow", "tables") from None
    table, reading, file = given.what, given.reading, given.file
    if isinstance(table, ParquetOnCluster):
        if domain is not None or sums:
            raise TableInputError(
                "A table in a cluster is admitted by its columns alone; leave out domain and sum, and compare what is declared "
                "with what is there by preview(check=True)."
            )
        return _by_columns(table, reading, unit)
    source = open_table(table, again=True, reading=replace(reading, dates=()), progress=progress)
    names, untyped = list(source.names), bool(source.untyped) and file is not None
    if untyped:
        _check_names(names, file, reading.header_row)
    person = None if unit is None else find_column(unit, names)
    if unit is not None and person is None:
        raise TableInputError(f"There is no column {show(unit)} of ids; the columns are {', '.join(names)}.")
    dates = _columns_of_dates(source, reading, person)
    texts = _columns_of_codes(names, [*codes, *([] if unit is None else [unit])], domain)
    with Guarded(_unreadable):
        size, columns, ids = seen_columns(source, names, person, progress, dates)
    cells = file is not None and file.kind == EXCEL
    groups = {} if domain is None else declared_columns(domain)
    declared = {name: Domain.of({name: keys}) for name, keys in groups.items()}
    findings = [f for c in columns for f in about_column(c, reading, untyped, cells, c.name in texts, declared)]
    findings += [f for c in columns if c.name in dates for f in about_dates(c, dates[c.name], untyped)]
    findings += about_names(names, source.nameless, size, reading.header_row) if untyped else []
    if person is not None:
        findings += about_ids(next(c for c in columns if c.name == person), ids)
    findings += about_keys(table, reading, declared, {c.name: c for c in columns})
    findings += about_sums(table, reading, sums, person)
    if file is not None:
        file.check_unchanged("look again when it is complete")
    many, named = f"more than {MOST_VALUES}", {find_column(name, names) for name in codes}
    shown = tuple(
        {
            "column": c.name,
            "holds": "codes" if c.name in named else c.kind_in_words,
            "different values": many if c.values is None else len(c.values),
            "missing": c.missing.count,
        }
        for c in columns
    )
    keys = {c.name: proposed_keys(c) for c in columns if c.name != person}
    place = "line" if untyped and not cells else "row"
    return Profile(
        "a table" if file is None else file.name,
        size,
        place,
        shown,
        tuple(findings),
        reading,
        tuple((name, values) for name, values in keys.items() if values),
    )


def _by_columns(table: ParquetOnCluster, reading: Reading, unit: str | None) -> Profile:
    """What the footers of the files in a cluster say: nobody reads their rows here."""
    reading.check_for("A table in a cluster", "dates")
    table.declare_dates(reading.dates)
    person = None if unit is None else names_in([unit], table)[0]
    table.bind([*table.dates, *([] if person is None else [person])], person)  # refuses types that cannot be such
    unseen = {"different values": "not counted", "missing": "not counted"}
    columns = tuple({"column": name, "holds": str(table.whole.field(name).type), **unseen} for name in table.names)
    return Profile(table.name, table.total, "row", columns, (), reading, ())


def _unreadable() -> TableInputError:
    return TableInputError(
        "The table could not be read: it is damaged, or has a type that cannot be read. Repair it, or convert "
        "it to Parquet."
    )


def _check_names(names: Sequence[str], file: HeldFile | None, header_row: int) -> None:
    """A line of names that is a single name with another separator in it was written with that separator."""
    other = next((mark for mark in ";\t|," if len(names) == 1 and mark in names[0]), None)
    if other is not None and file is not None:
        word = "tab" if other == "\t" else other
        raise TableInputError(
            f"{'The first line' if header_row == 1 else f'Line {header_row}'} of {show(file.name)} reads as a single "
            f'column with "{word}" in its name; use --separator "{word}".',
            remedies=(("separator", word),),
        )


def _columns_of_codes(names: Sequence[str], said: Sequence[str], domain: Any) -> set[str]:
    """Columns of codes that only look like numbers: ids, those named as codes, those with declared texts."""
    coded = set()
    for name in said:
        column = find_column(name, names) if isinstance(name, str) else None
        if column is None:
            raise TableInputError(f"There is no column {show(name)} of codes; the columns are {', '.join(names)}.")
        coded.add(column)
    for name, keys in {} if domain is None else declared_columns(domain).items():
        lists = keys.values() if isinstance(keys, Mapping) else [keys]
        if any(isinstance(key, str) for some in lists if isinstance(some, (list, tuple)) for key in some):
            coded.add(find_column(name, names) or name)
    return coded


def _columns_of_dates(source: TableSource, reading: Reading, person: str | None) -> dict[str, str]:
    """The forms of the columns of dates, by the file's own names; refused where a column is not there or has no texts.

    The source goes on handing them over as texts.
    """
    if not reading.dates:
        return {}
    unknown = [name for name, _ in reading.dates if find_column(name, source.names) is None]
    if unknown:
        raise TableInputError(unknown_column(unknown[0], source.names))
    source.declare_dates(reading.dates)
    source.bind(list(source.dates), person if person in source.dates else None)
    dates, source.dates = source.dates, {}
    return dates
