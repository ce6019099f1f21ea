"""What is asked of each group, and how it is shown, as options that preview, release and release-to share."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from cyclopts import Parameter

from ..registry import RELEASED
from .options import (
    PRESENTED,
    QUESTION,
    RELEASE,
    SUM,
    DataVersion,
    Domain,
    Number,
    described,
    entry,
    listed,
    meaning,
    mechanism_option,
    switch,
)
from .statistic_texts import statistic_arguments

if TYPE_CHECKING:
    from ..questions.question import Question
    from ..tables.publish.previews import Preview
    from ..tables.publish.released import Release

Shown = TypeVar("Shown", "Release", "Preview")


def columns_of(by: list[str] | None) -> list[str]:
    """The columns of all that was said."""
    return [name for some in by or () for name in listed(some)]


By = Annotated[
    list[str] | None,
    Parameter(negative="", help=meaning(QUESTION, "by", ", separated by commas; may be repeated")),
]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class QuestionOptions:
    """What is asked of each group: the parts of a Question, as the command line writes them."""

    count: Annotated[
        list[str] | None,
        Parameter(
            negative="",
            help=meaning(QUESTION, "count", ": \"income = '>50K'\"; * is everybody. May be repeated"),
        ),
    ] = None
    sum: Annotated[list[str] | None, SUM] = None
    mean: Annotated[list[str] | None, Parameter(negative=(), help=meaning(QUESTION, "mean"))] = None
    share: Annotated[list[str] | None, Parameter(negative=(), help=meaning(QUESTION, "share"))] = None
    by: By = None
    domain: Domain = None
    weights: Annotated[str, Parameter(help=meaning(QUESTION, "weights", ": count=1,income=3"))] = ""
    mechanism: Annotated[
        str,
        mechanism_option(
            f"auto, {', '.join(name.replace('_', '-') for name in RELEASED)}, gaussian (for a rho), or the file of a mechanism."
        ),
    ] = "auto"
    max_groups: Annotated[Number | None, entry(meaning(QUESTION, "max_groups"))] = None
    counted: Annotated[
        str,
        Parameter(help=meaning(QUESTION, "counted", ": units (the default), rows, or a column of ids within the unit")),
    ] = "units"
    max_rows: Annotated[Number | None, entry(meaning(QUESTION, "max_rows"))] = None
    pool_other: Annotated[bool, switch(meaning(QUESTION, "pool_other"))] = False
    measure_totals: Annotated[
        str,
        Parameter(help=meaning(QUESTION, "measure_totals", ": total,district or total=1,cells=6")),
    ] = ""

    def question(self) -> Question:
        """The question that these options ask."""
        from ..files import load
        from ..questions import domain as declared
        from ..questions.margins import measure_of
        from ..questions.question import Question

        columns = columns_of(self.by)
        own = Path(self.mechanism).suffix == ".json"
        return Question(
            **statistic_arguments(self.count, self.sum, self.mean, self.share, self.weights),
            by=columns,
            domain=declared.Domain.read(self.domain, columns) if self.domain else None,
            max_groups=self.max_groups,
            counted=self.counted,
            max_rows=self.max_rows,
            pool_other=self.pool_other,
            measure_totals=measure_of(self.measure_totals),
            mechanism=load(self.mechanism) if own else self.mechanism.replace("-", "_"),
        )


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class ReleaseOptions(QuestionOptions):
    """A question, and what else preview, release and release-to take alike."""

    version: DataVersion = "1"
    part: Annotated[str | None, Parameter(help=meaning(RELEASE, "part"))] = None
    margins: Annotated[
        str, Parameter(help="Totals that match their parts, by columns of --by: sex,sex+district,total.")
    ] = ""
    confidence: Annotated[Number, described(PRESENTED, "confidence")] = "0.95"
    simultaneous: Annotated[bool, switch(meaning(PRESENTED, "simultaneous"))] = False

    def keywords(self) -> dict[str, Any]:
        """What the library's functions take besides the question."""
        return {"version": self.version, "part": self.part}

    def check(self, question: Question) -> None:
        """Refuse what could not be shown, before anything is charged."""
        from ..questions.margins import read_margins
        from ..tables.ask.asked import check_adds_up
        from ..tables.publish.readings import Confidence

        check_adds_up(question, read_margins(listed(self.margins), question.by, question.domain))
        Confidence.of(self.confidence)

    def shown(self, made: Shown) -> Shown:
        """A release or a preview with the totals and intervals that were asked for."""
        made = made.with_totals(*listed(self.margins)) if listed(self.margins) else made
        if (self.confidence, self.simultaneous) == (AS_ASKED.confidence, AS_ASKED.simultaneous):
            return made
        return made.presented(confidence=self.confidence, simultaneous=self.simultaneous)


AS_ASKED = ReleaseOptions()
