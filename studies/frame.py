"""What every study is made of: claims with verdicts, tables, pictures, and numbers that are checked against expected ones."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal, get_args

from discreet.present.views import Result, View, plain
from discreet.progress import Progress, tell

Word = Literal["holds", "holds in part", "does not hold", "not covered"]


@dataclass(frozen=True)
class Paper:
    """What is studied, and what its short words stand for."""

    title: str
    words: str = ""


@dataclass(frozen=True)
class Claim:
    """What is said and where, what was found, and the verdict.

    A claim of a paper carries the paper's own sentence as `quote` (formulas typed in plain text, "..." where words are left out).
    A claim that is `ours`, such as the solution of an exercise or something beyond the paper, quotes what it answers, if anything.
    `refuted_if` says what evidence would have led to another verdict. What is "not covered" is neither computed nor judged; `found`
    says what there is instead.
    """

    where: str
    says: str
    found: str
    verdict: Word
    quote: str = ""
    refuted_if: str = ""
    ours: bool = False


def verdict(held: Sequence[bool]) -> Word:
    """The verdict on a claim about several cells: of all, of some, of none."""
    return "holds" if all(held) else "holds in part" if any(held) else "does not hold"


@dataclass(frozen=True)
class Picture:
    """A picture by a name for its files; drawn when somebody looks, so that a study also runs without what draws."""

    name: str
    draw: Callable[[], Any]


@dataclass(frozen=True)
class Setting:
    """How a study is run: quickly or with the paper's own sizes, perhaps with a copy of the Adult data."""

    quick: bool = False
    adult: str | None = None
    progress: Progress | None = None

    def tell(self, words: str, done: float | None = None) -> None:
        tell(self.progress, words, done)


@dataclass(frozen=True)
class Found:
    """What a study's work gives."""

    claims: Sequence[Claim]
    tables: Sequence[View] = ()
    pictures: Sequence[Picture] = ()
    values: Mapping[str, float] = field(default_factory=dict)
    notes: Sequence[str] = ()


@dataclass(frozen=True)
class Study:
    """One figure or table of a paper. `expected` has values with tolerances, by the names that the work gives them; those of
    a full run, which averages over more, are `sharper` times as large."""

    name: str
    title: str
    paper: Paper
    place: str
    work: Callable[[Setting], Found]
    expected: Mapping[str, tuple[float, float]]
    order: int = 0
    sharper: float = 1.0

    def run(self, quick: bool = False, adult: str | None = None, progress: Progress | None = None) -> Findings:
        """The study's findings; what is drawn at random is drawn from fixed seeds."""
        started = time.monotonic()
        found = self.work(Setting(quick, adult, progress))
        return Findings(
            self.name,
            self.title,
            self.paper,
            self.place,
            quick,
            tuple(found.claims),
            tuple(found.tables),
            tuple(found.pictures),
            MappingProxyType(dict(found.values)),
            tuple(found.notes),
            _surprises(self.expected, found.values, 1.0 if quick else self.sharper),
            time.monotonic() - started,
        )


def counted(claims: Sequence[Claim]) -> str:
    """How many of the claims have which verdict: "1 holds, 4 hold in part, 2 do not hold"."""
    counts = {word: sum(claim.verdict == word for claim in claims) for word in get_args(Word)}
    return ", ".join(
        f"{n} {word if n == 1 else word.replace('holds', 'hold').replace('does', 'do')}"
        for word, n in counts.items()
        if n
    )


def tally(claims: Sequence[Claim]) -> str:
    """The verdicts on the paper's claims, and apart from them those on ours."""
    papers, ours = [c for c in claims if not c.ours], [c for c in claims if c.ours]
    if not ours:
        return counted(papers)
    return "; ".join(([f"paper: {counted(papers)}"] if papers else []) + [f"our own claims: {counted(ours)}"])


def otherwise(claim: Claim) -> str:
    """What would have led to another verdict, as a sentence without its end; empty where nothing is said."""
    if not claim.refuted_if:
        return ""
    plain_no = claim.verdict == "does not hold" and "(then: " not in claim.refuted_if
    lead = "refuted if" if claim.verdict == "holds" else "would hold if" if plain_no else "another verdict if"
    return f"{lead} {claim.refuted_if}"


@dataclass(frozen=True, eq=False, repr=False)
class Findings(Result):
    """What a study found: claims with verdicts, tables, pictures, and the values that were checked.

    `unexpected` names the values that are not what they were when the study was written.
    """

    name: str
    title: str
    paper: Paper
    place: str
    quick: bool
    claims: tuple[Claim, ...]
    tables: tuple[View, ...]
    pictures: tuple[Picture, ...]
    values: Mapping[str, float]
    notes: tuple[str, ...]
    unexpected: tuple[str, ...]
    seconds: float

    def plot(self) -> Any:
        """The study's pictures, one under the other."""
        from discreet.present import plot

        drawn = [picture.draw() for picture in self.pictures]
        return drawn[0] if len(drawn) == 1 else plot.beside(*drawn, columns=1)

    def headline(self) -> str:
        return f"{self.name}: {self.title} ({tally(self.claims)})"

    def view(self) -> View:
        lines = ["\n    ".join(_told(claim)) for claim in self.claims]
        size = "small sizes (quick)" if self.quick else "the paper's sizes"
        notes = [*self.notes, *(f"UNEXPECTED: {line}" for line in self.unexpected)]
        title = f"{self.headline()}\n{self.paper.title}, {self.place}; {size}"
        return View("\n".join([title, "", *lines]), parts=self.tables, notes=tuple(notes))

    def rows(self) -> list[dict[str, Any]]:
        """The claims, one in each row."""
        return [{"study": self.name, **vars(claim)} for claim in self.claims]

    def to_dict(self) -> dict[str, Any]:
        told: dict[str, Any] = plain(
            {
                "study": self.name,
                "title": self.title,
                "paper": self.paper.title,
                "place": self.place,
                "quick": self.quick,
                "claims": [vars(claim) for claim in self.claims],
                "tables": [
                    {"title": t.title, "rows": [dict(zip(t.columns, row, strict=True)) for row in t.rows]}
                    for t in self.tables
                ],
                "values": self.values,
                "notes": self.notes,
                "unexpected": self.unexpected,
            }
        )
        return told


def _told(claim: Claim) -> list[str]:
    """A claim as lines: verdict and claim, the paper's sentence, what was found, what would have refuted it."""
    lines = [f"{claim.verdict.upper()}: {claim.says} ({claim.where}{', ours' if claim.ours else ''})"]
    lines += [f'"{claim.quote}"'] if claim.quote else []
    lines.append(claim.found)
    return lines + list(filter(None, [otherwise(claim)]))


def _surprises(
    expected: Mapping[str, tuple[float, float]], values: Mapping[str, float], sharper: float
) -> tuple[str, ...]:
    """The expected values that were found to be something else; those that were not looked at do not count."""
    return tuple(
        f"{name} is {values[name]:.6g}, expected {value:.6g} +- {sharper * tolerance:.2g}"
        for name, (value, tolerance) in expected.items()
        if name in values and not math.isclose(values[name], value, rel_tol=0, abs_tol=sharper * tolerance)
    )
