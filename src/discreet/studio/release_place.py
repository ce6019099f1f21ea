"""What stands in the room Release: the file that was dropped, the ledgers, and everything that was chosen and written so far.

It is kept here and not in the browser, so that going back, reloading and a second tab find it, and nothing of the data stays in
a browser. It goes when the studio is closed, and the file when it is forgotten.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Request
from pydantic import Field

from ..errors import DiscreetError
from ..tables.publish.released import Release
from .field_words import FieldRefusedError
from .rooms import Form, Shelf, Text

router = APIRouter(prefix="/api/release", tags=["release"])
_NAME = re.compile(r"[^\\/\0:]{1,100}")

Condition = Annotated[str, Field(max_length=2000)]


class ReadingForm(Form):
    """How the file is read."""

    encoding: Text = "utf-8"
    separator: Text | None = None
    decimal: Text | None = None
    quote: Text = '"'
    null: Text = ""
    sheet: Text | None = None
    header_row: Text = "1"
    dates: list[Text] = Field(default_factory=list, max_length=50)


class StatisticDraft(Form):
    """One statistic as it stands on the page."""

    kind: Literal["count", "sum", "mean", "share"] = "count"
    where: Condition = ""
    among: Condition = ""
    column: Text = ""
    low: Text = ""
    high: Text = ""
    step: Text = ""
    out: bool = Field(default=False, strict=True)


class CoarserCodes(Form):
    """Which codes of a finer column lie in each coarser one, as a code list says."""

    of: Text
    map: dict[Text, list[Text]] = Field(max_length=10_000)


class GroupDraft(Form):
    """One column to group by: its keys, or cuts between bands of numbers or of dates. A code list also says what its codes are
    called, and in which coarser codes they lie."""

    column: Text
    kind: Literal["keys", "bands", "dates"] = "keys"
    keys: list[Text] = Field(default_factory=list, max_length=10_000)
    source: Text = ""
    labels: dict[Text, dict[Text, Text]] = Field(default_factory=dict, max_length=10)
    containing: dict[Text, CoarserCodes] = Field(default_factory=dict, max_length=10)
    missing: bool = Field(default=False, strict=True)  # is a missing value a key, too?
    low: Text = ""
    high: Text = ""
    cuts: list[Text] = Field(default_factory=list, max_length=100)


class QuestionDraft(Form):
    """The question as it stands on the page."""

    statistics: list[StatisticDraft] = Field(default_factory=lambda: [StatisticDraft()], max_length=20)
    groups: list[GroupDraft] = Field(default_factory=list, max_length=10)
    totals: list[Text] = Field(default_factory=list, max_length=10)
    fields: dict[Text, Condition] = Field(default_factory=dict, max_length=40)


class DraftForm(Form):
    """Everything that was chosen and written so far."""

    way: ReadingForm = Field(default_factory=ReadingForm)
    codes: list[Text] = Field(default_factory=list, max_length=50)
    ledger: Text = "budget.db"
    dataset: Text = ""
    version: Text = "1"
    opening: dict[Text, Text] = Field(default_factory=dict, max_length=20)
    public: list[Text] = Field(default_factory=list, max_length=50)
    question: QuestionDraft = Field(default_factory=QuestionDraft)
    step: int = Field(default=1, ge=1, le=5, strict=True)
    revision: int | None = Field(default=None, ge=0, strict=True)  # which state the page changed; none: whichever


class Draft(DraftForm):
    """The same, with what the studio knows of it: the file, whether it was admitted so, and what was released last."""

    file: Text | None = None  # as its owner calls it
    table: Text | None = None
    admitted: bool = False
    made: Text | None = None
    python: str | None = None  # the same as was released last, as a program
    command: str | None = None  # and as a command


class Place:
    """Where a studio keeps what was dropped in, and where its ledgers lie."""

    def __init__(self, uploads: Path, ledgers: Path) -> None:
        self.uploads, self.ledgers = uploads, ledgers
        self.tables: Shelf[Path] = _Files(4)
        self.made: Shelf[Release] = Shelf()
        self.under_way = 0
        self.draft = Draft(revision=0)

    def ledger(self, name: str) -> Path:
        """A ledger by its plain name: no path leads out of the folder."""
        if not _NAME.fullmatch(name) or not name.isprintable() or name[0] in ". " or len(name.encode()) > 200:
            raise DiscreetError(
                "A ledger is named without its folder, such as budget.db; it lies where the studio was started."
            )
        path = self.ledgers / name
        if path.is_symlink() or (path.exists() and not path.is_file()):
            raise DiscreetError(f"{name} is no plain file; name a ledger that is one.")
        return path

    def took(self, path: Path, name: str) -> str:
        """Keep a file; what was chosen for the one before it no longer holds."""
        table = self.tables.put(path)
        before = self.draft
        self.draft = Draft(
            file=name,
            table=table,
            ledger=before.ledger,
            dataset=before.dataset,
            question=before.question,
            revision=(before.revision or 0) + 1,
        )
        return table

    def admitted(self, table: str, dataset: str, version: str) -> None:
        if self.draft.table == table:
            self.draft = self.draft.model_copy(update={"admitted": True, "dataset": dataset, "version": version})


class _Files(Shelf[Path]):
    def dropped(self, thing: Path) -> None:
        shutil.rmtree(thing.parent, ignore_errors=True)


def place_of(request: Request) -> Place:
    place: Place = request.app.state.place
    return place


_OF_ADMISSION = ("way", "codes", "ledger", "dataset", "version")


@router.get("/draft")
def read_draft(request: Request) -> Draft:
    """Everything that was chosen and written so far, in whichever tab."""
    return place_of(request).draft


@router.post("/keep")
def write_draft(request: Request, asked: DraftForm) -> Draft:
    """What stands on the page now. A file that is read in another way, or for another data set, must be admitted anew.

    A page that has not seen what another tab wrote since is refused, so that it does not undo that without knowing.
    """
    place = place_of(request)
    before = place.draft
    if asked.revision is not None and asked.revision != before.revision:
        raise FieldRefusedError("Another tab has changed this room since this page was loaded.", field="revision")
    same = all(getattr(before, name) == getattr(asked, name) for name in _OF_ADMISSION)
    known: dict[str, Any] = {
        "file": before.file,
        "table": before.table,
        "made": before.made,
        "python": before.python,
        "command": before.command,
        "admitted": before.admitted and same,
    }
    known |= {"revision": (before.revision or 0) + 1}
    place.draft = Draft.model_validate({**asked.model_dump(), **known})
    return place.draft


@router.post("/forget")
def forget(request: Request) -> Draft:
    """Forget the file: it is deleted, and everything that was written about it. What was published and paid for stays paid."""
    place = place_of(request)
    if place.draft.table is not None:
        place.tables.drop(place.draft.table)
    place.draft = Draft(revision=(place.draft.revision or 0) + 1)
    return place.draft
