"""A question: what is asked of each group, of which groups, and how it is to be drawn. Everything is declared, and checked once.

A question knows no data set and no privacy level: those are given where it is asked (`release`, `preview`, `release_to`). So one
question may be asked of several data sets, at several levels, and be written down.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Never, TypedDict, final

from ..errors import DiscreetError, ReleaseError
from ..exact.aliases import Rational
from ..exact.arithmetic import encodable, parse_exact, show
from ..exact.given import whole
from ..exact.grid import Grid
from ..exact.written import did_you_mean
from ..mechanism import Mechanism, Procedure, mechanism_of
from ..registry import RELEASED
from .domain import Domain, key_lists, read_hierarchies, read_labels
from .margins import OF_TOTALS, Margin, best_rho_parts, groups_of, largest_moves, margin_name, read_tiers
from .recoding import Recoding
from .statistic import KINDS, ROWS, UNITS, Statistic, statistics_of

FORMAT, VERSION = "discreet-question", 1
OTHER, MISSING = "(other)", "(missing)"
GAUSSIAN = "gaussian"  # the mechanism of releases for a rho, by name
_NAMES = {UNITS: "all", ROWS: ROWS}  # of a count of everything
_RIGHT = {
    **dict.fromkeys(
        ("bounds", "low", "high", "lower", "upper", "clip", "clamp"), 'the bounds of a sum with it: sum="x:0..9"'
    ),
    **dict.fromkeys(("where", "filter", "condition"), """the condition as what is counted: count="age >= 18\""""),
    **dict.fromkeys(("groupby", "group_by", "group", "groups"), 'by=["sex", "district"]'),
    **dict.fromkeys(("keys", "keyset", "values", "labels"), 'domain={"sex": ["f", "m"]}'),
    **dict.fromkeys(("avg", "average"), 'mean="income:0..100000/100"'),
    **dict.fromkeys(
        ("epsilon", "alpha", "rho"), "it where the question is asked, such as town.release(table, question, epsilon=1)"
    ),
    **dict.fromkeys(("margins", "totals"), 'totals afterwards, for nothing: made.with_totals("sex", "total")'),
    **dict.fromkeys(("confidence", "simultaneous"), 'it afterwards, for nothing: made.presented(confidence="0.9")'),
    **dict.fromkeys(
        ("dataset", "ledger"), 'it before the question: ledger["town"].release(table, question, epsilon=1)'
    ),
    **dict.fromkeys(
        ("dates", "separator", "encoding", "decimal", "null", "sheet"),
        'it where the table is: read("p.csv", separator=";")',
    ),
    **dict.fromkeys(
        ("unit", "relation", "public", "delta"), "it once, where the data set is created: they are its terms"
    ),
}  # what people say elsewhere, and what to write here
NEEDLESS = {
    "max_count": "Leave it out: noise on counts has no ends, and no count is cut off. A mechanism of your own brings its ends.",
    "purpose": "Leave it out: all counts are drawn so that they add up. Small groups of public size that are only read one by one "
    "may have the mechanism explicit_fair.",
}
_MOST = 20  # parts that are named in words; the others are counted
ALSO_RESERVED = frozenset(["statistic", "report_u", "report_v"])  # names of columns where there is more than counts
RESERVED = frozenset(OF_TOTALS) - ALSO_RESERVED | {
    "published",
    "estimate",
    "standard_error",
    "epsilon",
    "rho",
    "count",
    "fitted",
}
Conditions = str | Sequence[str] | Mapping[str, str] | None
Values = str | Sequence[str] | Mapping[str, str | Grid] | None


class QuestionParts(TypedDict, total=False):
    """The parts of a question as keywords of whatever asks it: those that `Question` takes, and describes."""

    count: Conditions
    sum: Values
    mean: Values
    share: Conditions
    by: str | Sequence[str]
    domain: Domain | Mapping[str, Any] | str | os.PathLike[str] | None
    weights: Mapping[str, Any] | None
    max_groups: Rational | None
    counted: str
    max_rows: Rational | None
    pool_other: bool
    measure_totals: Any
    mechanism: str | Mechanism


@final
@dataclass(frozen=True, init=False, repr=False)
class Question:
    """What to release: counts, sums, means or shares of each declared group.

        count           what to count, a condition on one row. "*" is everybody; also a list of conditions or {name: condition}
        sum             a column to add up, and what one person may add. {"income": Grid(0, 100000, 100)}, or a text
                        "income:0..100000/100 where CONDITION missing VALUE", a list of them or {name: text}
        mean            a column whose mean is wanted, written like `sum`; "missing out" leaves out people without a value
        share           a condition whose share is wanted, written like `count`; after it "where CONDITION" says of whom, and
                        "missing out" leaves out people without an answer
        by              columns to group by
        domain          the keys that these columns can have, declared and never learned from the data. {"sex": ["f", "m"]}; the
                        values of a column are a list, a set, a range, an array or a Series; or the path of a JSON file of them
        pool_other      pool undeclared and missing keys in one more group
        weights         parts of epsilon by name where they are not equal. {"count": 1, "income": 3}
        max_groups      with an id column: in how many groups a person may count; by default one
        counted         with an id column (the privacy unit): what is counted. "units" (the default: a unit once per group), "rows",
                        or a column of ids within the unit, such as "person"
        max_rows        with `counted`: how many rows, or ids, a unit adds at most, in all groups together
        measure_totals  totals to measure besides the cells, for a part of epsilon. [[], "district"], or with weights
                        {"total": 1, "cells": 6}
        mechanism       the mechanism of every count. "auto" (the default: noise that adds up); or one with ends, of which nothing
                        can be added up: "explicit_fair", for groups of public size, or a Mechanism

    >>> Question(count="ill = 'yes'", by=["district"], domain={"district": ["north", "south"]})
    Question(count of ill = 'yes' by district, 2 groups)
    """

    statistics: tuple[Statistic, ...]
    by: tuple[str, ...]
    domain: Domain
    max_groups: int
    groups_said: bool = field(compare=False)  # or is it 1 since nobody said anything?
    counted: str  # UNITS, ROWS, or the name of a column
    max_rows: int | None  # that one unit adds; of units none
    pool_other: bool
    tiers: tuple[tuple[Margin, Fraction], ...]  # totals that are measured too, each with its part of epsilon
    mechanism: str | Mechanism
    divided: bool = field(compare=False)  # were the parts of measured totals given, or read? Else they are the best

    def __init__(
        self,
        count: Conditions = None,
        *,
        sum: Values = None,
        mean: Values = None,
        share: Conditions = None,
        by: str | Sequence[str] = (),
        domain: Domain | Mapping[str, Any] | str | os.PathLike[str] | None = None,
        weights: Mapping[str, Any] | None = None,
        max_groups: Rational | None = None,
        counted: str = UNITS,
        max_rows: Rational | None = None,
        pool_other: bool = False,
        measure_totals: Any = (),
        mechanism: str | Mechanism = "auto",
        **other: Never,
    ) -> None:
        refuse_other_words(other)
        if isinstance(mechanism, Procedure):
            mechanism = mechanism_of(mechanism, ReleaseError)  # traditional methods are refused
        elif not isinstance(mechanism, str) or mechanism not in ("auto", GAUSSIAN, *RELEASED):
            raise ReleaseError(
                f"mechanism = {show(mechanism)} is not known; use auto, {', '.join(RELEASED)}, {GAUSSIAN} or a Mechanism."
            )
        if not isinstance(pool_other, bool):
            raise ReleaseError(f"pool_other = {show(pool_other)} must be True or False.")
        groups = 1 if max_groups is None else whole(max_groups, "max_groups", error=ReleaseError)
        rows = None if max_rows is None else whole(max_rows, "max_rows", example=6, error=ReleaseError)
        if isinstance(counted, str) and counted.lower() in (UNITS, ROWS):
            counted = counted.lower()  # the ledger knows no case: a column Rows would be one question with the rows
        _check_counted(counted, rows, groups)
        columns = _columns(by)
        declared = _declared(domain, columns)
        self._set(
            statistics=statistics_of(count, sum, mean, share, weights, _NAMES.get(counted, counted)),
            by=columns,
            domain=declared,
            max_groups=min(groups, len(declared) + pool_other),  # nobody counts in more groups than there are
            groups_said=max_groups is not None,
            counted=counted,
            max_rows=rows,
            pool_other=pool_other,
            tiers=(),
            mechanism=mechanism,
            divided=isinstance(measure_totals, Mapping),
        )
        self._check_names()
        self._set(tiers=read_tiers(measure_totals, self))

    def _set(self, **parts: Any) -> None:
        for name, value in parts.items():
            object.__setattr__(self, name, value)

    def _check_names(self) -> None:
        """Refuse a column with two meanings in the result, and a declared key with the name of one of our own groups."""
        reserved = RESERVED if self.name_column == "count" else RESERVED | ALSO_RESERVED
        for names, where in ((self.by, "data"), ([h.column for h in self.domain.hierarchies], "domain")):
            taken = [name for name in names if name.lower() in reserved]
            if taken:
                raise ReleaseError(
                    f"{', '.join(taken)} is also the name of a column of the result; rename it in the {where}."
                )
        containers = {label for hierarchy in self.domain.hierarchies for _, label in hierarchy.containers}
        if self.pool_other and (OTHER in containers or any(OTHER in values for values in self.domain.values)):
            raise ReleaseError(f"{OTHER} is the name of the pooled cell; a declared key or container cannot have it.")
        if any({None, MISSING} <= values for values in self.domain.values):
            raise ReleaseError(
                f"{MISSING} is the name of missing values, which are declared too; a declared key cannot have it."
            )

    def changed(self, **parts: Any) -> Question:
        """The same with some of its fields replaced by values that were read and checked before."""
        mine = {part.name: getattr(self, part.name) for part in fields(self)}
        assert parts.keys() <= mine.keys(), "a question has no such field"
        changed = Question.__new__(Question)
        changed._set(**{**mine, **parts})
        return changed

    @property
    def cells(self) -> list[tuple[Any, ...]]:
        """The keys of the reports in their order: the declared ones, then the pooled cell."""
        return [*self.domain.keys, *([(OTHER,) * len(self.by)] if self.pool_other else [])]

    @property
    def spelled_cells(self) -> Sequence[tuple[Any, ...]]:
        """The cells as they are published."""
        if not self.pool_other and not self._named_missing:
            return self.domain.keys
        return [self.spelled_key(key) for key in self.cells]

    def spelled_key(self, key: tuple[Any, ...], columns: Sequence[str] | None = None) -> tuple[Any, ...]:
        """A key as it is published, of `columns` or of all: beside the pooled cell all keys are texts, of one type. A CSV has
        nothing for a missing value, so that beside an empty text it has its name too."""
        if self.pool_other:
            return tuple(MISSING if value is None else str(value) for value in key)
        if not self._named_missing:
            return key
        names = self.by if columns is None else columns
        return tuple(
            MISSING if value is None and c in self._named_missing else value
            for c, value in zip(names, key, strict=True)
        )

    @cached_property
    def _named_missing(self) -> frozenset[str]:
        """The columns in which both the missing value and the empty text are keys."""
        return frozenset(c for c, values in zip(self.by, self.domain.values, strict=True) if {None, ""} <= values)

    @property
    def cells_part(self) -> Fraction:
        """What measured totals leave of epsilon for the cells."""
        return 1 - sum((part for _, part in self.tiers), Fraction(0))

    def for_rho(self) -> Question:
        """The same with the parts of measured totals that are best for a rho, unless they were given."""
        if self.divided or not self.tiers:
            return self
        groups = [groups_of(margin, self.by, self.domain, self.cells) for margin, _ in self.tiers]
        moves = [largest_moves(each.place, self.max_groups) for each in groups]
        squares = [*(sum(k * k for k in each) for each in moves), self.max_groups]
        parts = best_rho_parts([*(len(each.keys) for each in groups), len(self.cells)], squares)
        margins = [margin for margin, _ in self.tiers]
        return self.changed(tiers=tuple(zip(margins, parts, strict=False)), divided=True)

    @property
    def has_tables(self) -> bool:
        """Are its counts drawn by mechanisms with ends? No total of their reports is unbiased, so nothing is added up of them."""
        return isinstance(self.mechanism, Mechanism) or self.mechanism not in ("auto", "geometric", GAUSSIAN)

    @property
    def nothing_adds_up(self) -> str | None:
        """What to know before paying for counts of which there are no totals."""
        if not self.has_tables:
            return None
        drawn = "a mechanism of your own" if isinstance(self.mechanism, Mechanism) else self.mechanism
        return (
            f"Counts drawn by {drawn} cannot be added up: their reports have ends, and no sum of them is unbiased. Where totals "
            "matter, leave the mechanism out."
        )

    @property
    def names(self) -> list[str]:
        """The names of what is asked of each group, in the order asked for."""
        return [statistic.name for statistic in self.statistics]

    @property
    def name_column(self) -> str:
        """The column that names the statistic, where there are several."""
        return "count" if all(statistic.kind == "count" for statistic in self.statistics) else "statistic"

    @property
    def counted_column(self) -> str | None:
        """The column of ids that are counted, where neither units nor rows are."""
        return None if self.counted in (UNITS, ROWS) else self.counted

    def counted_words(self, unit: str | None) -> str:
        """What is counted, for people, where the data set has this privacy unit. Without one a row is a person."""
        if self.counted_column is not None:
            return f"distinct values of {self.counted}"
        return ROWS if self.counted == ROWS else "people" if unit is None else f"{UNITS} of {unit}"

    def words(self, unit: str | None = None) -> str:
        """What is asked of each group, by which columns, and which totals are measured, for people; `unit` as the terms name it."""
        groups = len(self.domain.keys) + self.pool_other
        by = f" by {_listed(list(self.by))}, {groups} group{'s' if groups > 1 else ''}" if self.by else ""
        pooled = " (one of them of all others)" if self.pool_other and self.by else ""
        measured = [margin_name(margin) for margin, _ in self.tiers]
        totals = f"; totals measured: {_listed(measured)}" if measured else ""
        counted = None if unit is None and self.counted == UNITS else self.counted_words(unit)
        return f"{_listed([_statistic_words(statistic, counted) for statistic in self.statistics])}{by}{pooled}{totals}"

    def how_drawn(self) -> str:
        """How it is drawn, for people, where that was said: ", drawn by geometric"."""
        if isinstance(self.mechanism, Mechanism):
            return ", drawn by a mechanism of its own"
        return "" if self.mechanism == "auto" else f", drawn by {self.mechanism}"

    def limits(self) -> str:
        """The bounds that were declared, for people, where there are some: "; a person in up to 2 groups"."""
        found = [f"; a person in up to {self.max_groups} groups"] if self.max_groups > 1 else []
        found += [f"; up to {self.max_rows} of each unit"] if self.max_rows is not None else []
        return "".join(found)

    def __str__(self) -> str:
        return self.words() + self.how_drawn() + self.limits()

    def __repr__(self) -> str:
        text = " ".join(str(self).split())
        return f"Question({text if len(text) <= 150 else text[:147] + '...'})"

    def to_dict(self) -> dict[str, Any]:
        """For machines: JSON that `from_dict` reads."""
        from ..files import document

        return {
            "format": FORMAT,
            "version": VERSION,
            "statistics": [_statistic_dict(statistic) for statistic in self.statistics],
            "by": list(self.by),
            "domain": _domain_dict(self.domain),
            "max_groups": self.max_groups,
            "counted": self.counted,
            "max_rows": self.max_rows,
            "pool_other": self.pool_other,
            "measure_totals": [{"by": list(margin), "part": str(part)} for margin, part in self.tiers],
            "mechanism": document(self.mechanism) if isinstance(self.mechanism, Mechanism) else self.mechanism,
        }

    @classmethod
    def from_dict(cls, written: Mapping[str, Any]) -> Question:
        """A question as `to_dict` wrote it, checked like a new one."""
        if not isinstance(written, Mapping) or (written.get("format"), written.get("version")) != (FORMAT, VERSION):
            raise ReleaseError(
                f"This is not a question of version {VERSION}; give what Question.to_dict wrote, or make one with Question(...)."
            )
        try:
            return _read(written)
        except DiscreetError:
            raise
        except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError):
            raise ReleaseError(
                "The question cannot be read: a part of it is missing or of another kind. Give what Question.to_dict wrote."
            ) from None


_EVERYBODY = Domain((), ((),))  # one group, of no columns


def refuse_other_words(words: Iterable[str]) -> None:
    """Keywords that a question does not have are refused; where people may mean a part of it, this names that part."""
    known = QuestionParts.__annotations__
    for word in words:
        if word not in known:
            right = _RIGHT.get(word)
            instead = f"Write {right}." if right else f"Its parts are {', '.join(known)}."
            near = "" if right or word in NEEDLESS else did_you_mean(word, known)
            raise ReleaseError(f"{word} is no part of a question.{near} {NEEDLESS.get(word, instead)}")


def _columns(by: Any) -> tuple[str, ...]:
    """The columns to group by, each once; the engine knows no case."""
    try:
        columns = [by] if isinstance(by, str) else list(by)
    except TypeError:
        columns = [None]
    if not all(isinstance(name, str) and name and encodable(name) for name in columns):
        raise ReleaseError(
            f'by = {show(by)} must be a column or a list of them; write for example by=["sex", "district"].'
        )
    twice = [name for k, name in enumerate(columns) if name.lower() in map(str.lower, columns[:k])]
    if twice:
        raise ReleaseError(f"by names {show(twice[0])} twice; name each column once.")
    return tuple(map(str, columns))


def _declared(domain: Any, columns: tuple[str, ...]) -> Domain:
    """The domain of these columns: ready made, from its file, or from the values themselves."""
    if domain is None and columns:
        raise ReleaseError(
            f"Declare the groups: domain={{{columns[0]!r}: [...]}} lists the values that {', '.join(columns)} "
            "may take. Keys are declared, never learned from the data."
        )
    if domain is None:
        return _EVERYBODY
    if isinstance(domain, Domain):
        declared = domain.ordered(columns)
    else:
        declared = (
            Domain.read(domain, columns) if isinstance(domain, (str, os.PathLike)) else Domain.of(domain, columns)
        )
    if len(declared.keys[0]) != len(columns):
        raise ReleaseError(
            f"Each declared key has {len(declared.keys[0])} values, but by names {len(columns)} columns; name them all with by."
        )
    return declared


def _check_counted(counted: Any, max_rows: int | None, max_groups: int) -> None:
    """Is it said how many a unit may add, where something else than units is counted, and only there?"""
    if not (isinstance(counted, str) and counted.strip() and encodable(counted)):
        raise ReleaseError('counted is "units", "rows" or the name of a column of ids, such as "person".')
    if counted == UNITS and max_rows is not None:
        raise ReleaseError(
            'max_rows is for counted="rows", or for a column of ids that is counted; units have max_groups.'
        )
    if counted != UNITS and max_rows is None:
        raise ReleaseError(
            f"To count {counted}, declare max_rows, the most that one unit adds in all groups together, for example max_rows=6."
        )
    if counted != UNITS and max_groups != 1:
        raise ReleaseError(
            "max_rows is the most that a unit adds in all groups together, in however many; leave max_groups out."
        )


def _statistic_words(statistic: Statistic, counted: str | None) -> str:
    text = f"{statistic.kind} of {statistic.words(counted)}"
    return (
        text
        if statistic.name in (statistic.kind, statistic.where, statistic.column, f"{statistic.kind} {statistic.column}")
        else f"{text} ({statistic.name})"
    )


def _listed(parts: list[str]) -> str:
    more = len(parts) - _MOST
    return ", ".join(parts[:_MOST]) + (f" and {more} more" if more > 0 else "")


def _statistic_dict(statistic: Statistic) -> dict[str, Any]:
    what = "*" if statistic.kind == "count" and statistic.where is None else statistic.words()
    return {"name": statistic.name, "kind": statistic.kind, "what": what, "weight": str(statistic.weight)}


def _domain_dict(domain: Domain) -> dict[str, Any]:
    return {
        "keys": key_lists(domain),
        "recodings": [None if part is None else part.declared() for part in domain.recodings],
        "source": domain.source,
        "containers": [
            {"column": part.column, "of": part.of, "map": [list(pair) for pair in part.containers]}
            for part in domain.hierarchies
        ],
        **({"labels": {name: dict(own) for name, own in domain.labels}} if domain.labels else {}),
    }


def _rational(written: Any) -> Fraction:
    """A number of a question that anybody may have written: 1e999999999, which would fill the memory, is refused."""
    number = parse_exact(written)
    if number is None:
        raise ValueError("not a number that a question can have")
    return number


def _read(written: Mapping[str, Any]) -> Question:
    from ..files import loads

    by, given = tuple(written["by"]), written["mechanism"]
    kinds: dict[str, dict[str, Any]] = {}
    for entry in written["statistics"]:
        kinds.setdefault(entry["kind"], {})[entry["name"]] = entry["what"]
    if not kinds or not kinds.keys() <= {*KINDS}:
        raise ReleaseError("A question asks for counts, sums, means or shares.")
    measured = {tuple(entry["by"]): _rational(entry["part"]) for entry in written["measure_totals"]}
    weights = {entry["name"]: _rational(entry["weight"]) for entry in written["statistics"]}
    if sum(weights.values()) != 1 or sum(measured.values()) >= 1 or min([*weights.values(), *measured.values()]) <= 0:
        raise ReleaseError("The parts of epsilon in this question are not positive numbers that add up to 1.")
    parts: dict[str, Any] = kinds
    question = Question(
        **parts,
        by=by,
        domain=_read_domain(by, written["domain"]),
        max_groups=written["max_groups"],
        counted=written["counted"],
        max_rows=written["max_rows"],
        pool_other=written["pool_other"],
        measure_totals=dict.fromkeys(measured, 1),
        mechanism=loads(json.dumps(given).encode(), "the mechanism of the question")
        if isinstance(given, dict)
        else given,
    )
    weighed = {each.name: replace(each, weight=weights[each.name]) for each in question.statistics}
    return question.changed(
        statistics=tuple(weighed[name] for name in weights),
        tiers=tuple((margin, measured[margin]) for margin, _ in question.tiers),
    )


def _read_domain(by: tuple[str, ...], written: Mapping[str, Any]) -> Domain:
    keys = Domain.of({"keys": [tuple(key) for key in written["keys"]]} if by else {}, by).keys
    recodings = tuple(
        None if entry is None else Recoding.of(column, entry)
        for column, entry in zip(by, written["recodings"] or [None] * len(by), strict=True)
    )
    columns = {name: list(dict.fromkeys(key[k] for key in keys)) for k, name in enumerate(by)}
    maps = {entry["column"]: {"of": entry["of"], "map": entry["map"]} for entry in written["containers"]}
    hierarchies, labels = read_hierarchies(maps, columns), read_labels(written.get("labels", {}))
    return Domain(by, keys, recodings if any(recodings) else (), str(written["source"]), hierarchies, labels)
