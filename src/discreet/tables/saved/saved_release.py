"""A saved release: as it is found, read and not yet believed; and made again from the question and the answer in its record.

What is made again is what it must say if it says the truth: by the code that releases, without the data.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, Self

from ...errors import DiscreetError, FileError
from ...exact.arithmetic import parse_exact, show
from ...exact.level import Level
from ...files import file_name
from ...ledger.chain import Totals
from ...ledger.ledger import Answer, Head, Ledger, Terms
from ...questions.margins import read_margins
from ...questions.question import Question
from ..ask.asked import Asked, Correction, check_relation, spelling_of
from ..draw.answers import head_text, recorded_document
from ..draw.audiences import for_audience
from ..publish.readings import Confidence
from ..publish.record import record_of
from ..publish.released import Release, charged_of
from ..publish.sheet import Sheet, served
from .release_files import MARK


def number_in(value: Any) -> Fraction:
    """A number of a record. Anybody may have written it: 1e999999999, which would fill the memory, is refused."""
    found = parse_exact(value)
    if found is None:
        raise ValueError("not a number that a release can have")
    return found


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


@dataclass(frozen=True)
class Rebuilt:
    """A saved release made again, and the sheet that made it."""

    sheet: Sheet
    release: Release


def rebuild(record: Mapping[str, Any]) -> Rebuilt:
    """Everything that a release consists of, from its record. What cannot be made is some ValueError, KeyError or DiscreetError."""
    question = Question.from_dict(record["question"])
    asked = _asked(record, question)
    own = asked.level if record["alpha"] is None else Level(number_in(record["alpha"]))
    public = (*question.by, *([question.counted_column] if question.counted_column else []))
    terms = Terms(
        record["dataset"],
        number_in(record["budget"]["budget"]),
        record["relation"],
        public,
        record["unit"],
        "",
        parts=record["parts"],
        delta=None if record["delta"] is None else number_in(record["delta"]),
    )
    if terms.relation not in ("change-one", "add-remove"):
        raise ValueError("the relation is neither change-one nor add-remove")
    check_relation(asked, terms)
    sheet, drawn = served(
        recorded_document(record["answer"], question),
        asked.at(own),
        spelling_of(asked, record["table_columns"], terms),
        terms,
        number_in(charged_of(record)),
        read_margins(record["margins"], question.by, question.domain),
        Confidence.of(number_in(record["confidence"]), record["simultaneous"]),
    )
    release = sheet.filled(drawn.reports, drawn.totals, *_in_the_ledger(record))
    if asked.audiences:
        release = for_audience(release, str(record["audience"]["name"]), number_in(record["audience"]["charged"]))
    release = release.presented(**record["presentation"])
    corrects = Correction.recorded(record["supersedes"], record["version"], record["part"])
    said = {"discreet": record["discreet"], "supersedes": None if corrects is None else corrects.written}
    return Rebuilt(sheet, replace(release, record={**release.record, **said}))


def _asked(record: Mapping[str, Any], question: Question) -> Asked:
    """The question at the level that was charged for: of several audiences, whose names do not matter, at the least private."""
    levels = {f"audience {k}": Level(number_in(alpha)) for k, alpha in enumerate(record["audiences"])}
    if levels:
        return Asked.of_audiences(question, record["dataset"], record["version"], levels, record["part"])
    part = record["part"]
    if record["alpha"] is None:
        rho = number_in(record["rho"])
        return Asked.at_level(question, record["dataset"], record["version"], None, None, part, rho)
    alpha = number_in(record["alpha"])
    return Asked.at_level(question, record["dataset"], record["version"], alpha, None, part)


def _in_the_ledger(record: Mapping[str, Any]) -> tuple[Totals, Answer]:
    """What the record says of its line."""
    budget, head = record["budget"], record["ledger_head"]
    answer = Answer(
        "",
        record["ledger_line"],
        record["released"],
        record["repeated"],
        None if head is None else Head(head["count"], head["hash"]),
    )
    return Totals(number_in(budget["budget"]), number_in(budget["spent"])), answer


def published_line(path: str | os.PathLike[str], ledger: Ledger, dataset: str) -> int:
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
            stored = ledger.answer(dataset, record["ledger_line"])
            text = head_text(Question.from_dict(record["question"]), record["answer"])
            if stored is None or stored.text != text:
                why = "is not the stored answer word by word: it was changed, or asked again in another order or by other names"
    except (DiscreetError, LookupError, TypeError, ValueError):
        why = "cannot be read as the record of a release"
    if why:
        raise FileError(
            f"{saved.path} {why}. Nothing was exported: leave it out, or give the record that was published.",
            kind="shape",
        )
    return int(record["ledger_line"])
