"""Whether a table is the one that was admitted: a file is known by its bytes, a table in memory by its plain columns."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import replace

from ...engines.reading import Reading
from ...engines.table import Table
from ...errors import ReleaseError
from ...exact.arithmetic import show
from ...ledger.book import Admission, Book
from ...ledger.entries import Consulted

_MOST_VERSIONS = 10  # named in a message


def admitted_as(book: Book, said: Consulted, table: Table, version: str, admission: Admission | None) -> Table:
    """A table, read as this version was admitted; `admission` is what was consulted of it. A table in memory need not have one.

    From here on nothing is read of a file but what was hashed. What was not admitted is refused with the command that admits it,
    which reads the file as this version was read, or else the last one.
    """
    dataset = said.terms.name
    if admission is None and not table.is_file:
        return table
    known = book.admissions(dataset) if admission is None else [admission]
    options = "".join(
        _reading_of(each, table).options() + (f" --codes {shlex.quote(','.join(each.codes))}" if each.codes else "")
        for each in known[-1:]
    )
    path = "" if table.known is None else str(table.known.path)
    how = f"discreet admit {shlex.join([path, '--dataset', dataset, '--ledger', book.place])}{options} --version"
    if admission is None:
        not_admitted = f"Version {show(version)} of {show(dataset)} was not admitted, and nothing was charged."
        same = versions_of(said, known, table.digest())
        if same:  # under another name its answers would be charged again
            raise ReleaseError(
                f"{not_admitted} This very file was admitted as version {show(same[-1])}: say --version {shlex.quote(same[-1])}"
            )
        others = f" Admitted versions, from other files: {_some_versions(known)}." if known else ""
        raise ReleaseError(f"{not_admitted}{others} Whoever holds the file runs: {how} {shlex.quote(version)}")
    table = table.read_as(Reading.from_dict(admission.reading))
    if said.is_admitted(admission, table.digest()):
        return table
    if table.known is None:
        raise ReleaseError(
            f"This table in memory is not what was admitted as version {show(version)} of {show(dataset)}; nothing was charged. "
            "Give that one, or give this one a version of its own."
        )
    raise ReleaseError(
        f"{show(table.known.name)} is not the file that was admitted as version {show(version)} of {show(dataset)}; "
        f"nothing was charged. Give that one, or admit this one under a new version: {how} {shlex.quote(version + '-revised')}"
    )


def _reading_of(admission: Admission, table: Table) -> Reading:
    """How a version was read, without the separator where the name of this file says it."""
    reading = Reading.from_dict(admission.reading)
    said = replace(table, reading=Reading()).separated().reading.separator == reading.separator
    return replace(reading, separator=None) if said else reading


def versions_of(said: Consulted, admitted: Sequence[Admission], data: str) -> list[str]:
    """The versions, of those admitted, whose file had this digest."""
    return [each.version for each in admitted if said.is_admitted(each, data)]


def _some_versions(admitted: Sequence[Admission]) -> str:
    names = [show(each.version) for each in admitted]
    more = f"{len(names) - _MOST_VERSIONS} earlier ones and " if len(names) > _MOST_VERSIONS else ""
    return f"{more}{', '.join(names[-_MOST_VERSIONS:])}"
