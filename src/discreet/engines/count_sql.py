"""The SQL of a count: what is read of each row, how rows or people are put together, and digests of what was counted.

Digests of rows and texts of ids are the same for the same content, whatever the engine, the order or the kind of table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..questions.conditions import is_whole
from ..questions.predicate import COMMA, UNTYPED, family, literal, quoted
from .adding import FARTHEST, SumSql, clamped


@dataclass(frozen=True)
class KeyMatch:
    """How rows find their declared group: SQL of what is picked from each row, and of what must equal the declared keys."""

    picked: list[str]
    same: list[str]


@dataclass(frozen=True)
class CountQuery:
    """What is asked of the engine, as SQL: the values of one row, and how rows or people are put together."""

    groups: KeyMatch
    conditions: Sequence[str]
    digests: Sequence[str]  # for each condition: of the columns that it and the groups need
    adding: Sequence[SumSql]
    meant: Mapping[int, str]  # the conditions of those sums that have one
    person: str | None  # the column of ids, and its type
    ids: str
    max_groups: int
    other: bool
    size: int

    def rows(self) -> str:
        """Every row: its keys as k0, k1, ..., its id u; for each condition whether it counts (c0) and its digest (h0); for each
        sum whether the row is meant (w0) and how many steps it then has (v0), NULL where it has no number."""
        picked = [*self.groups.picked, *([] if self.person is None else [f"{self.person} AS u"])]
        picked += [f"({condition}) AS c{k}" for k, condition in enumerate(self.conditions)]
        picked += [f"{digest} AS h{k}" for k, digest in enumerate(self.digests)]
        picked += [f"({condition}) AS w{j}" for j, condition in self.meant.items()]
        picked += [part for one in self.adding for part in one.read]
        read = f"(SELECT {', '.join(picked) or '1 AS one'} FROM handed_over)"
        if not self.adding:
            return read
        names = [
            f"{f'CASE WHEN w{one.number} THEN {one.steps} END' if one.number in self.meant else one.steps} AS v{one.number}"
            for one in self.adding
        ]
        return f"(SELECT *, {', '.join(names)} FROM {read})"

    def matched(self) -> str:
        """The rows with the number `i` of their declared group; undeclared and missing keys have number `size`."""
        same = " AND ".join(self.groups.same) or "TRUE"
        return f"(SELECT * EXCLUDE (i), coalesce(i, {self.size}) AS i FROM {self.rows()} LEFT JOIN declared ON {same})"

    @property
    def counts(self) -> list[str]:
        """For each condition, the rows that count; for each sum, those that are meant and those of them with a number."""
        counts = [f"count(*) FILTER (WHERE c{k}) AS c{k}" for k in range(len(self.conditions))]
        counts += [f"count(*) FILTER (WHERE w{j}) AS w{j}" for j in self.meant]
        return counts + [f"count(v{j}) AS a{j}" for j in range(len(self.adding))]

    @property
    def halves(self) -> list[str]:
        """For each condition, the sums of the halves of the rows' digests."""
        return [_sum_of_halves(k) for k in range(len(self.digests))]

    @property
    def totals(self) -> list[str]:
        """The names of all that is added up, group by group."""
        counts = [f"c{k}" for k in range(len(self.conditions))]
        return [
            "size",
            *counts,
            *(f"w{j}" for j in self.meant),
            *(f"{x}{j}" for j in range(len(self.adding)) for x in "as"),
        ]

    def by_rows(self) -> str:
        """For each group: its rows, those that count, the sums, and the sums of the halves of the rows' digests."""
        added = [f"{_held(f'sum(v{j})')} AS s{j}" for j in range(len(self.adding))]
        asked = ", ".join(["i", "count(*) AS size", *self.counts, *added, *self.halves])
        return f"SELECT {asked} FROM {self.matched()} GROUP BY i"

    def content(self) -> str:
        """All rows: how many, about how many people, and the sums of the halves of their digests."""
        asked = ["count(*) AS rows", "approx_count_distinct(u) AS people", *self.halves]
        return f"SELECT {', '.join(asked)} FROM {self.rows()}"

    def by_people(self, parts: int, part: int, key: str) -> str:
        """For each group: its people, those who count, and their rows; of those people alone whose ids fall in a part.

        Where a person falls is a keyed hash of the id, so that nobody can choose ids that meet in one part. A person's groups
        are chosen by a hash of the id and of the key's content, so that no order of declaration decides.
        """
        text, id_ = _id_text(self.ids), _canonical("u", self.ids)
        here = (
            f"AND (md5_number({literal(key)} || {id_}) & {parts - 1}::UHUGEINT)::INTEGER = {part}" if parts > 1 else ""
        )
        there = "" if self.other else f"AND i < {self.size}"
        limited = self.max_groups < self.size + self.other
        content = "coalesce(content, '')"
        place = (
            f"row_number() OVER (PARTITION BY u ORDER BY md5({text} || ' ' || {content}), {content})"
            if limited
            else "1"
        )
        chosen = "m LEFT JOIN contents USING (i)" if limited else "m"
        counted = [f"count(*) FILTER (WHERE c{k} > 0) AS c{k}" for k in range(len(self.conditions))]
        counted += [f"count(*) FILTER (WHERE w{j} > 0) AS w{j}" for j in self.meant]
        counted += [f"count(*) FILTER (WHERE a{j} > 0) AS a{j}" for j in range(len(self.adding))]
        counted += [f"{_held(f'sum({one.of_person})')} AS s{one.number}" for one in self.adding]
        added = [f"sum(v{j}) AS s{j}" for j in range(len(self.adding))]
        return f"""
            WITH m AS (SELECT {", ".join(["u", "i", "count(*) AS n", *self.counts, *added])} FROM {self.matched()}
                       WHERE u IS NOT NULL {here} {there} GROUP BY u, i),
                 q AS (SELECT *, {place} AS place FROM {chosen})
            SELECT {", ".join(["i", "sum(n)::BIGINT AS n", "count(*) AS size", *counted])}
            FROM q WHERE place <= {self.max_groups} GROUP BY i"""


def _held(total: str) -> str:
    """A sum that 64 bits hold; nobody's step reaches the ends, and at them one person's change is no larger."""
    return f"{clamped(f'coalesce({total}, 0)', -FARTHEST, FARTHEST)}::BIGINT"


def _sum_of_halves(k: int) -> str:
    halves = (("low", f"(h{k} & 18446744073709551615::UHUGEINT)"), ("high", f"(h{k} >> 64)"))
    return ", ".join(f"(sum({half}::UBIGINT) % 18446744073709551616)::UBIGINT AS {name}{k}" for name, half in halves)


def row_digest(types: Mapping[str, str]) -> str:
    """MD5 of one row's used columns, in the order of their names, as a text that does not depend on the engine.

    A missing value is n; a text is its bytes' number, a colon and itself; whole numbers and decimals are their digits,
    floats their 64 bits, days and microseconds counted from 1970, all as whole numbers; values that are never compared
    are only there. The halves of all rows' digests are added up, each modulo 2^64, which knows no order.
    """
    texts = [f"coalesce({_canonical(quoted(name), kind)}, 'n')" for name, kind in types.items()]
    return f"md5_number({' || chr(32) || '.join(texts) or literal('')})"


def _canonical(column: str, type_name: str) -> str:
    kind = family(type_name)
    if type_name.upper() in ("FLOAT", "DOUBLE"):
        return f"({column}::DOUBLE + 0.0)::BIT::BIGINT::VARCHAR"  # -0.0 is 0.0
    if type_name in (UNTYPED, COMMA, "VARCHAR"):
        return f"(strlen({column}) || ':' || {column})"
    if kind == "date":
        return f"({column} - DATE '1970-01-01')::VARCHAR"
    if kind == "timestamp":
        return f"epoch_us({column})::VARCHAR"
    if kind == "boolean":
        return f"{column}::INTEGER::VARCHAR"
    if type_name.upper() == "BLOB":
        return f"hex({column})"
    return f"{column}::VARCHAR" if kind in ("number", "text") else f"CASE WHEN {column} IS NOT NULL THEN '1' END"


def _id_text(type_name: str) -> str:
    """An id as text, the same for 7 and 7.0: pandas turns whole numbers into floats where one is missing."""
    if family(type_name) != "number":
        return "u::VARCHAR"
    return f"coalesce(CASE WHEN {is_whole('u', type_name)} THEN TRY_CAST(u AS BIGINT)::VARCHAR END, u::VARCHAR)"
