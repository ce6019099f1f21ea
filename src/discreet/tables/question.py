"""A question about a data set: everything declared, checked before any data are read."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ReleaseError
from ..exact.arithmetic import encodable, show
from ..exact.given import whole
from ..exact.grid import Grid
from ..exact.level import Level
from ..ledger.ledger import Terms
from ..mechanism import Mechanism, Procedure, mechanism_of
from ..questions.domain import Domain
from ..registry import RELEASED
from .purpose import ADDING, FOR_READING, Purpose
from .statistics import Statistic, statistics_of
from .tiers import read_tiers

Indices = NDArray[np.int64]

OTHER, MISSING = "(other)", "(missing)"
_WEAKEST = 1 - Fraction(1, 2**61)  # of one report: at a 95 % interval of ln(20) * 2^61, half widths still fit 63 bits
RESERVED = frozenset(
    [
        "report",
        "low",
        "high",
        "estimate",
        "standard_error",
        "n",
        "mechanism",
        "digest",
        "epsilon",
        "count",
        "fitted",
        "total",
        "interval_by",
    ]
)
ALSO_RESERVED = frozenset(["statistic", "report_u", "report_v"])  # where there is more than counts


@dataclass(frozen=True)
class Question:
    """What is asked, in full: the same question about the same data has one answer."""

    dataset: str
    version: str
    statistics: tuple[Statistic, ...]
    by: tuple[str, ...]
    domain: Domain
    other: bool
    mechanism: str | Mechanism
    level: Level
    bound: int | None
    max_groups: int
    purpose: Purpose = FOR_READING
    audiences: tuple[Level, ...] = ()  # their levels, the most accurate first, which is `level`
    tiers: tuple[
        tuple[tuple[str, ...], Fraction], ...
    ] = ()  # totals that are measured too, each with its part of epsilon

    @property
    def cells(self) -> list[tuple[Any, ...]]:
        """The keys of the reports in their order: the declared ones, then the pooled cell."""
        return [*self.domain.keys, *([(OTHER,) * len(self.by)] if self.other else [])]

    def spelled_key(self, key: tuple[Any, ...], columns: Sequence[str] | None = None) -> tuple[Any, ...]:
        """A key as it is published, of `columns` or of all: beside the pooled cell all keys are texts, of one type. A CSV has
        nothing for a missing value, so that beside an empty text it has its name too."""
        if self.other:
            return tuple(MISSING if one is None else str(one) for one in key)
        if not self._named_missing:
            return key
        names = self.by if columns is None else columns
        return tuple(
            MISSING if one is None and c in self._named_missing else one for c, one in zip(names, key, strict=True)
        )

    @cached_property
    def _named_missing(self) -> frozenset[str]:
        """The columns in which both the missing value and the empty text are keys."""
        return frozenset(c for k, c in enumerate(self.by) if {None, ""} <= {key[k] for key in self.domain.keys})

    @property
    def cells_part(self) -> Fraction:
        """What measured totals leave of epsilon for the cells."""
        return 1 - sum((part for _, part in self.tiers), Fraction(0))

    @property
    def names(self) -> list[str]:
        """The names of what is asked of each group, in the order asked for."""
        return [one.name for one in self.statistics]

    @property
    def name_column(self) -> str:
        """The column that tells several statistics apart."""
        return "count" if all(one.kind == "count" for one in self.statistics) else "statistic"

    def groups_of_one(self, terms: Terms) -> int:
        """How many groups one person can be in."""
        return self.max_groups if terms.unit is not None else 1


def levels_of(alphas: Any, epsilons: Any) -> tuple[Level, ...]:
    """The levels of several audiences, the most accurate first, in whatever order they were given."""
    if alphas is not None and epsilons is not None:
        raise ReleaseError("alphas and epsilons say the same thing; give one of them.")
    name, given = ("alpha", alphas) if epsilons is None else ("epsilon", epsilons)
    listed = given.split(",") if isinstance(given, str) else list(given) if isinstance(given, Iterable) else []
    if not listed:
        raise ReleaseError(
            f'{name}s are a list of levels, one for each audience, for example alphas=["3/10", "1/2", "4/5"].'
        )
    found = sorted(
        (Level.of(**{name: x.strip() if isinstance(x, str) else x}) for x in listed), key=lambda level: level.alpha
    )
    if len({level.alpha for level in found}) < len(found):
        raise ReleaseError("Two audiences have the same level; give each level once, and its release to both of them.")
    return tuple(found)


def check_audiences(mechanism: str | Mechanism, purpose: Purpose) -> None:
    if isinstance(mechanism, Mechanism) or mechanism not in ("auto", "geometric"):
        raise ReleaseError(
            "Several audiences need geometric noise: the reports of other mechanisms are not remaps of one another "
            "at every two levels. Leave the mechanism out, or release it at one level alone."
        )
    if purpose.declared and purpose.name != ADDING:
        raise ReleaseError(
            'Several audiences get geometric noise, which is for adding: say purpose="adding", or leave it out.'
        )


def charge_of(level: Level) -> Fraction:
    """The epsilon to charge: as it was asked, or a certified upper bound in steps of 1e-12 where that is no rational."""
    return level.charge


def ask(
    dataset: str,
    version: str,
    count: Any,
    by: Sequence[str],
    domain: Any,
    alpha: object,
    epsilon: object,
    mechanism: str | Mechanism,
    bound: int | None,
    max_groups: int,
    other: bool,
    sum: Any = None,
    mean: Any = None,
    share: Any = None,
    weights: Any = None,
    purpose: object = None,
    loss: object = None,
    prior: object = None,
    alphas: Any = None,
    epsilons: Any = None,
    measure: Any = None,
) -> Question:
    """Everything declared, checked before any data are read."""
    audiences = () if alphas is None and epsilons is None else levels_of(alphas, epsilons)
    if audiences and (alpha is not None or epsilon is not None):
        raise ReleaseError(
            "Give one level (alpha or epsilon), or the levels of several audiences (alphas or epsilons)."
        )
    level = audiences[0] if audiences else Level.of(alpha=alpha, epsilon=epsilon)
    if isinstance(mechanism, Procedure):
        mechanism_of(mechanism, ReleaseError)  # traditional methods are refused
    elif mechanism != "auto" and mechanism not in RELEASED:
        raise ReleaseError(
            f"mechanism = {show(mechanism)} is not known; use auto, {', '.join(RELEASED)} or a Mechanism."
        )
    aim = Purpose.of(purpose, loss, prior)
    if purpose is not None and mechanism != "auto":
        raise ReleaseError("The purpose chooses the mechanism: give one of the two, and leave the other out.")
    if audiences:  # only geometric noise leads from every level to every more private one (docs/theory/cascade.md)
        check_audiences(mechanism, aim)
        mechanism, aim = "auto", Purpose(ADDING)
    bound = None if bound is None else whole(bound, "bound", example=100, error=ReleaseError)
    max_groups = whole(max_groups, "max_groups", error=ReleaseError)
    if not isinstance(other, bool):
        raise ReleaseError(f"other = {show(other)} must be True or False.")
    if not encodable(version) or not version:
        raise ReleaseError('The version of the data is a text that you choose, for example version="2026-11".')
    columns = tuple([by] if isinstance(by, str) else by)
    if domain is None and columns:
        raise ReleaseError(
            f"Declare the groups: domain={{{columns[0]!r}: [...]}} lists the values that {', '.join(columns)} "
            "may take. Keys are declared, never learned from the data."
        )
    asked = statistics_of(count, sum, mean, share, weights)
    counts_alone = all(one.kind == "count" for one in asked)
    reserved = RESERVED if counts_alone else RESERVED | ALSO_RESERVED
    taken = [name for name in columns if name.lower() in reserved]
    if taken:
        raise ReleaseError(f"{', '.join(taken)} is also the name of a column of the result; rename it in the data.")
    keys = (
        domain.ordered(columns) if isinstance(domain, Domain) else Domain.of({} if domain is None else domain, columns)
    )
    taken = [h.column for h in keys.hierarchies if h.column.lower() in reserved]
    if taken:
        raise ReleaseError(f"{', '.join(taken)} is also the name of a column of the result; rename it in the domain.")
    if other and any(OTHER in key for key in keys.keys):
        raise ReleaseError(f"{OTHER} stands for the pooled cell; a declared key cannot have that name.")
    if any({None, MISSING} <= {key[k] for key in keys.keys} for k in range(len(columns))):
        raise ReleaseError(
            f"{MISSING} stands for missing values, which are declared too; a declared key cannot have that name."
        )
    question = Question(
        dataset, version, asked, columns, keys, other, mechanism, level, bound, max_groups, aim, audiences
    )
    tiers = read_tiers(measure, question)
    if tiers and audiences:
        raise ReleaseError("Totals are measured for one level; release to several audiences without measure.")
    return replace(question, tiers=tiers)


def check_relation(question: Question, terms: Terms) -> None:
    """Does the relation of the data set allow this question?"""
    question.purpose.check([one.kind for one in question.statistics], terms.relation)
    if terms.relation == "change-one":
        public = {name.lower() for name in terms.public}  # the engine knows no case
        outside = [c for c in question.by if c.lower() not in public]
        if outside:
            raise ReleaseError(
                f"{', '.join(outside)} is not public in {question.dataset!r}, where only what is counted is "
                f"private; group by {', '.join(terms.public) or 'nothing'}, or create the data set with "
                "relation add-remove."
            )
        if any(one.where is None and not one.of_values for one in question.statistics):
            raise ReleaseError(
                "Under change-one privacy the size of a group is public: say what to count, for example "
                "count=\"income = '>50K'\"."
            )
        if question.bound is not None:
            raise ReleaseError(
                "bound goes with add-remove privacy; under change-one privacy the public size of a group bounds it."
            )
        partial = [one.name for one in question.statistics if one.kind == "mean" and one.where is not None]
        if partial:
            raise ReleaseError(
                f"The mean {partial[0]!r} is of people who are chosen by a condition, and under change-one privacy their "
                "number is private; ask for a sum and a count with that condition."
            )
    counted = [
        one
        for one in question.statistics
        if one.kind == "count" or (one.kind == "share" and terms.relation == "change-one")
    ]
    if not counted and (question.bound is not None or question.mechanism != "auto"):
        word = "mechanism" if question.bound is None else "bound"
        raise ReleaseError(f"{word} is for counts, and nothing is counted here; leave it out.")
    if terms.unit is None and question.max_groups != 1:
        raise ReleaseError(
            "max_groups needs an id column (unit) in the data set's terms; without one, a row is a person "
            "and lies in one group."
        )
    if terms.unit is not None and terms.unit.lower() in [c.lower() for c in question.by]:
        raise ReleaseError(f"{terms.unit} identifies people; do not group by it.")


def check_columns(question: Question, terms: Terms, looked_at: Mapping[str, frozenset[str]]) -> None:
    """What a statistic may look at, by the relation."""
    for one in question.statistics:
        columns = {name.lower() for name in looked_at[one.name]}
        if terms.unit is not None and terms.unit.lower() in columns:
            raise ReleaseError(f"The {one.kind} {one.name!r} uses {terms.unit}, which identifies people; leave it out.")
        if terms.relation == "change-one" and columns and columns <= {name.lower() for name in terms.public}:
            raise ReleaseError(
                f"The {one.kind} {one.name!r} uses public columns alone: its answer is public and needs no noise."
            )


def level_of(question: Question, terms: Terms, part: Fraction) -> Level:
    """The level of one report of a statistic that gets a part of epsilon: all that one person touches keep what was asked.

    beta with beta^groups >= alpha^part. The parts add up to 1, so the product over all groups and statistics of one person
    is at least alpha.
    """
    share = part / question.groups_of_one(terms)
    level = question.level if share == 1 else Level(question.level.power(share))
    if level.alpha > _WEAKEST:
        raise ReleaseError(
            "Each report would have an epsilon below 2^-61: its noise would be wider than any count. Ask for a "
            "larger epsilon, or for fewer counts or groups."
        )
    return level


def mechanisms_for(question: Question, level: Level, sizes: Indices) -> dict[int, Mechanism | None]:
    """A mechanism for each size of group that occurs: a function of declared and public quantities alone.

    A public group of nobody needs none: its count is 0, exactly.
    """
    found: dict[int, Mechanism | None] = {}
    occurring = np.unique(sizes).tolist()
    question.purpose.check_sizes(len(occurring))
    for size in occurring:
        if size == 0:
            found[size] = None
            continue
        top = question.bound if size < 0 else size
        if isinstance(question.mechanism, Mechanism):
            found[size] = _given(question.mechanism, top, level)
        elif question.mechanism == "auto":
            choice = question.purpose.mechanism(top, level)
            found[size] = choice if isinstance(choice, Mechanism) else made(choice, top, level)
        else:
            found[size] = made(question.mechanism, top, level)
    return found


@lru_cache(maxsize=4096)
def made(family: str, top: int | None, level: Level) -> Mechanism:
    """The mechanism of a family for counts from 0 to `top`, or without an upper end."""
    if top is None and family != "geometric":
        raise ReleaseError(f"{family} needs an upper end: declare bound, the largest count that can be.")
    return RELEASED[family].make(Grid(0, top), alpha=level.alpha)  # one mechanism however the level was spelled


def _given(m: Mechanism, top: int | None, level: Level) -> Mechanism:
    if not m.inputs.is_counts and not (m.inputs.low == 0 and m.inputs.high is None and m.inputs.step == 1):
        raise ReleaseError(f"The mechanism takes {m.inputs}; a count needs 0..n in steps of 1.")
    if m.inputs.high is not None and top is None:
        raise ReleaseError(
            f"The mechanism takes counts up to {m.inputs.high}, but a group may have any number; "
            "declare bound, the largest count that can be, or let auto choose."
        )
    if m.inputs.high is not None and top is not None and m.inputs.high < top:
        raise ReleaseError(
            f"The mechanism takes counts up to {m.inputs.high}, but a group may have {top}; "
            "make it larger or let auto choose."
        )
    if m.sensitivity is None:
        raise ReleaseError(
            f"The mechanism claims its level for {m.neighbours}, but one person changes any count by one; "
            "give a mechanism whose neighbours are steps."
        )
    if not level.admits(m.alpha):
        raise ReleaseError(
            f"The mechanism holds epsilon {m.epsilon:.6g} but each report must hold {level.epsilon:.6g}."
        )
    if not _told_apart(m.outputs):
        raise ReleaseError(
            f"The mechanism reports {m.outputs}, too fine for floats to tell apart; remap its reports to a "
            "coarser grid."
        )
    return m


def _told_apart(grid: Grid) -> bool:
    """Does every value of a grid, written as a number, lead back to its place? Whole numbers do; floats do that are the
    nearest to rationals with parts below 2^53."""
    if grid.is_integer or grid.n is None:
        return grid.is_integer
    unit = math.lcm(grid.anchor.denominator, grid.step.denominator)
    return unit < 2**53 and unit * (abs(grid.anchor) + grid.step * (grid.n + 1)) < 2**53
