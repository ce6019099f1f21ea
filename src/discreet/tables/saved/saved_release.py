"""A saved release as it is found: read, and not yet believed."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from ...errors import FileError
from ...exact.arithmetic import parse_exact
from ...files import file_name
from ..publish.record import record_of
from .release_files import MARK


def csv_value(value: Any) -> str:
    """A value as a CSV has it."""
    return "" if value is None else str(value)


def as_texts(value: Any) -> Any:
    """A value of a record with all keys as texts: a CSV has no others."""
    if isinstance(value, Mapping):
        return {str(name): as_texts(part) for name, part in value.items()}
    return [as_texts(part) for part in value] if isinstance(value, (list, tuple)) else csv_value(value)


def without_words(name: str, value: Any) -> Any:
    """A field of a record as texts, without what another version may say in other words: how a mechanism is cited."""
    told = as_texts(value)
    return [{**one, "citation": ""} for one in told] if name == "mechanisms" else told


def number_in(value: Any) -> Fraction:
    """A number of a record or a CSV. Anybody may have written it: 1e999999999, which would fill the memory, is refused."""
    found = parse_exact(value)
    if found is None:
        raise ValueError("not a number that a release can have")
    return found


class RowsMissingError(ValueError):
    """The CSV that a record belongs to is not beside it."""


@dataclass(frozen=True)
class Saved:
    """The file of a record, and the files beside it."""

    path: Path
    text: str
    document: Mapping[str, Any]  # what the text says
    record: Mapping[str, Any]

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Self:
        """From the .json of a release; what is no record at all is refused."""
        place = Path(file_name(path))
        try:
            content = place.read_bytes()
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or "no file has such a name"
            raise FileError(
                f"{place} cannot be read ({why}); give the .json that release wrote.", kind="missing"
            ) from None
        return cls.of(place, content)

    @classmethod
    def of(cls, place: Path, content: bytes) -> Self:
        """From the content of that file."""
        try:
            text = content.decode("utf-8")
            document = json.loads(text)
            record = record_of(document["record"])
        except FileError:
            raise
        except json.JSONDecodeError as error:
            if error.doc.lstrip().startswith("{"):
                raise FileError(
                    f"{place} is not complete JSON: it was cut off or edited; copy it again from where release wrote it.",
                    kind="shape",
                ) from None
            raise FileError(
                f"{place} is not the record of a release; give the .json that release wrote.", kind="shape"
            ) from None
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
            raise FileError(
                f"{place} is not the record of a release; give the .json that release wrote.", kind="shape"
            ) from None
        return cls(place, text, document, record)

    @property
    def margins(self) -> Mapping[str, list[dict[str, Any]]]:
        return dict(self.document["margins"])

    def beside(self, name: str) -> bytes | None:
        """A file that lies beside the record; None where there is none."""
        if Path(name).name != name or "\0" in name:
            return None
        try:
            return self.path.with_name(name).read_bytes()
        except OSError:
            return None

    def csv_at(self, name: str) -> str | None:
        """The text of a CSV beside the record, without its byte order mark."""
        content = self.beside(name)
        return None if content is None else content.decode("utf-8").removeprefix(MARK)

    @property
    def rows_name(self) -> str:
        """The name of the CSV with the rows."""
        return self.path.with_suffix(".csv").name

    @cached_property
    def columns(self) -> dict[str, list[str]]:
        """The rows of the CSV as texts, column by column. A file that is no such table is a ValueError."""
        text = self.csv_at(self.rows_name)
        if text is None:
            raise RowsMissingError(f"{self.rows_name} is missing")
        try:
            head, *lines = (line for line in csv.reader(io.StringIO(text, newline=""), strict=True) if line)
        except csv.Error as error:
            raise ValueError(f"{self.rows_name} is not a CSV file ({error})") from None
        if len({*head}) < len(head) or any(len(line) != len(head) for line in lines):
            raise ValueError(f"{self.rows_name} has rows that are not as long as its header")
        return {name: [line[k] for line in lines] for k, name in enumerate(head)}

    @property
    def keys(self) -> list[tuple[str, ...]]:
        """The keys of all rows, as texts."""
        by = [self.columns[name] for name in self.record["by"]]
        return list(zip(*by, strict=True)) if by else [()] * len(self.columns["report"])
