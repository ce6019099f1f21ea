"""A saved release as it is found: read, and not yet believed."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from ...errors import DiscreetError, FileError
from ...exact.arithmetic import show
from ...files import file_name
from ...ledger.book import Book
from ..draw.answers import recorded_text
from ..publish.record import record_of


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
        document = None
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
            is_mechanism = isinstance(document, dict) and document.get("format") == "discreet-mechanism"
            move = "it is a mechanism: use discreet check" if is_mechanism else "give the .json that release wrote"
            raise FileError(f"{place} is not the record of a release; {move}.", kind="shape") from None
        return cls(place, text, document, record)

    def beside(self, name: str) -> bytes | None:
        """A file that lies beside the record; None where there is none."""
        if Path(name).name != name or "\0" in name:
            return None
        try:
            return self.path.with_name(name).read_bytes()
        except OSError:
            return None


def published_line(path: str | os.PathLike[str], book: Book, dataset: str) -> int:
    """The line that charged for a release that was published as it is stored, so that its commitment may be opened for everybody.

    Of several audiences the ledger stores more than one of them was given: those are refused.
    """
    saved = Saved.read(path)
    record, why = saved.record, ""
    try:
        if record["dataset"] != dataset:
            why = f"is a release from {show(record['dataset'])}, not from {show(dataset)}"
        elif record["audience"] is not None:
            why = "shows less than the ledger stores, which has the reports of other audiences too"
        else:
            stored = book.answer(dataset, record["ledger_line"])
            if stored is None or stored.text != recorded_text(record):
                why = "is not the stored answer word by word: it was changed, or asked again in another order or by other names"
    except (DiscreetError, LookupError, TypeError, ValueError):
        why = "cannot be read as the record of a release"
    if why:
        raise FileError(
            f"{saved.path} {why}. Nothing was exported: leave it out, or give the record that was published.",
            kind="shape",
        )
    return int(record["ledger_line"])
