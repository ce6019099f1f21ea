"""A release as files: the rows and totals as CSV, a page for people and the record, all of them or none."""

from __future__ import annotations

import hashlib
import json
import os
import re
import unicodedata
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import FileError
from ...files import check_writable, file_name, write_together
from ...present.saving import is_database
from ...present.words import csv_text
from ..publish.page import release_page
from ..publish.record import record_of

if TYPE_CHECKING:
    from ..publish.released import Release

MARK = "\ufeff"  # the byte order mark: without it some spreadsheets take UTF-8 for something else


def save_release(
    made: Release, path: str | os.PathLike[str], *, overwrite: bool = False, bom: bool = False
) -> list[Path]:
    """What `Release.save` does."""
    target = Path(file_name(path))
    old = check_outputs(target, list(made.margins), [], overwrite)
    return write_releases({target: made}, old, bom=bom, overwrite=overwrite)


def outputs(path: Path, margins: Sequence[str]) -> list[Path]:
    """Everything a release writes, in that order: the page, the totals, the rows, and the record that lists them all.

    No two margins share a file (see `_in_a_name`).
    """
    totals = [path.with_name(f"{path.stem}-by-{name}.csv") for name in dict.fromkeys(map(_in_a_name, margins))]
    return [path.with_suffix(".html"), *totals, path, path.with_suffix(".json")]


def _in_a_name(margin: str) -> str:
    """A margin as its file's name spells it: sex+age as sex-and-age where both are plain words; else everything but letters,
    digits, _ and - is %XX, and so is a - that would look like that "and".

    >>> [_in_a_name(margin) for margin in ("sex+age", "sex-and-age", "sex+age group", "total")]
    ['sex-and-age', 'sex%2Dand-age', 'sex%2Bage%20group', 'total']
    """
    if re.fullmatch(r"\w+(\+\w+)+", margin):
        return margin.replace("+", "-and-")
    return re.sub(r"[^\w-]|-(?=and-)", lambda c: "".join(f"%{b:02X}" for b in os.fsencode(c[0])), margin)


def check_outputs(path: Path, margins: Sequence[str], inputs: Sequence[str | None], overwrite: bool) -> list[Path]:
    """Refuse to write where nothing can be written, over what is read (`inputs`) or over existing files.

    Returns the totals that an earlier release wrote here and this one does not: they go when the others are replaced.
    """
    if path.suffix.lower() != ".csv":
        raise FileError(f"{path} must end in .csv; the record and the page are written beside it.", kind="missing")
    if not path.parent.is_dir():
        raise FileError(f"There is no folder {path.parent} to write to; create it first.", kind="missing")
    targets = outputs(path, margins)
    if len({unicodedata.normalize("NFC", target.name.casefold()) for target in targets}) < len(targets):
        raise FileError(
            "Some systems would give the files of two margins the same name; ask for them one at a time.",
            kind="missing",
        )
    old = _old_totals(path, targets)
    try:
        real = {target: target.resolve() for target in [*targets, *old]}
    except (OSError, RuntimeError):
        raise FileError(f"{path} is a circular link; choose another name.", kind="missing") from None
    if len(set(real.values())) < len(real):
        raise FileError(f"Two of the files of {path} are links to one; remove them.", kind="missing")
    taken = {Path(name).resolve() for name in inputs if name is not None and "://" not in name}
    for target in [*targets, *old]:
        if real[target] in taken:
            raise FileError(f"{target} is read here and would be overwritten; choose another name.", kind="missing")
        if not overwrite and os.path.lexists(target):
            raise FileError(
                f"{target} already exists; choose another name, or pass overwrite=True to replace it and the files that were "
                "written with it.",
                kind="missing",
            )
    check_writable(targets)
    return old


def _old_totals(path: Path, targets: Sequence[Path]) -> list[Path]:
    """The totals that the record of an earlier release at this place lists and that will not be written again.

    Whatever the record says, nothing but plain files beside it with the names of such totals is taken for one.
    """
    try:
        saved = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
        names = list(record_of(saved["record"])["files"])
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return []  # no record of a release: nothing beside it is known to be ours
    beside = [path.with_name(name) for name in names if isinstance(name, str) and is_total(path, name)]
    ours = [old for old in beside if old not in targets and old.is_file() and not old.is_symlink()]
    return [old for old in ours if not is_database(old)]


def is_total(path: Path, name: str) -> bool:
    """Is this the name of a file of totals beside the CSV at `path`?"""
    return (
        Path(name).name == name and name.startswith(f"{path.stem}-by-") and name.endswith(".csv") and "\0" not in name
    )


def write_releases(
    made: Mapping[Path, Release], old: Sequence[Path] = (), *, bom: bool = False, overwrite: bool = False
) -> list[Path]:
    """The rows and totals as CSV, a page for people and the record as JSON, of one release or of every audience's: all of them,
    or none where there is no room, or where somebody else wrote one of them meanwhile.

    The records go last, when the totals of earlier releases are gone: until then it is the earlier ones that list them.
    """
    each = [contents_of(release, path, bom=bom) for path, release in made.items()]
    contents = {file: text for one in each for file, text in [*one.items()][:-1]}
    contents |= {file: text for one in each for file, text in [*one.items()][-1:]}
    write_together(contents, remove=old, overwrite=overwrite)
    return [file for one in each for file in one]


def contents_of(made: Release, path: Path, *, bom: bool = False) -> dict[Path, str]:
    """The content of each file of a release, in their order."""
    page, *totals, rows, record = outputs(path, list(made.margins))
    mark = MARK if bom else ""
    contents = {page: release_page(made)}
    marks = made.presentation.separator, made.presentation.decimal
    contents |= {f: mark + csv_text(lines, *marks) for f, lines in zip(totals, made.margins.values(), strict=True)}
    contents |= {rows: mark + made.to_csv()}
    listed = {file.name: digest_of(text.encode()) for file, text in contents.items()}
    return {**contents, record: record_text({**made.record, "files": listed}, made.margins)}


def record_text(record: Mapping[str, Any], margins: Mapping[str, Any]) -> str:
    """The file of a record: with the totals, and a digest over both."""
    body = {"record": dict(record), "margins": dict(margins)}
    return written({**body, "digest": body_digest(body)})


def written(document: Mapping[str, Any]) -> str:
    """The only spelling of a record's file, a field a line: any other byte tells that it was changed."""
    parts = [f"{json.dumps(name)}: {_lines(value)}" for name, value in document.items()]
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _lines(value: Any) -> str:
    if not isinstance(value, Mapping) or not value:
        return json.dumps(value, allow_nan=False)
    fields = [f" {json.dumps(name)}: {json.dumps(field, allow_nan=False)}" for name, field in value.items()]
    return "{\n" + ",\n".join(fields) + "\n}"


def body_digest(body: Mapping[str, Any]) -> str:
    """Over everything that the file of a record says."""
    return digest_of(json.dumps(body, sort_keys=True, separators=(",", ":"), allow_nan=False).encode())


def digest_of(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"
