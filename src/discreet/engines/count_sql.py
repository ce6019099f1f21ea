"""The SQL of a count, and what it finds: true counts and sums of a table's groups, exact, private, the same in every order of keys.

The SQL says what is read of each row, how rows or people are put together, and digests of what was counted. Digests of rows and
texts of ids are the same for the same content, whatever the engine, the order or the kind of table.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..questions.conditions import is_whole
from ..questions.predicate import COMMA, UNTYPED, Predicate, family, literal, quoted
from .adding import FARTHEST, SumSql, clamped

Indices = NDArray[np.int64]


@dataclass(frozen=True)
class KeyMatch:
    """How rows find their declared group: SQL of what is picked from each row, and of what must equal the declared keys."""

    picked: list[str]
    same: list[str]

    @property
    def names(self) -> list[str]:
        """Those of what is picked."""
        return [sql.rpartition(" AS ")[2] for sql in self.picked]


@dataclass(frozen=True)
class PartSql:
    """A part of a table: SQL of the part that a row names, and of the name that is asked for."""

    read: str
    name: str

    @property
    def mine(self) -> str:
        """Is a row, whose part is p, of this part? Never unknown."""
        return f"(p IS NOT DISTINCT FROM {self.name})"


def part_sql(column: str, type_name: str, name: str) -> PartSql | None:
    """The part that a row names, by a rule that looks at that row alone, as the ledger writes it (`part_name`): whole numbers as
    their digits, and other texts without blanks around them; NULL for no part, which is no text, or a number that is not whole.
    None where the type names no parts."""
    kind, value = family(type_name), quoted(column)
    if type_name in (UNTYPED, COMMA) or kind == "text":
        point = "," if type_name == COMMA else "\\."
        whole = rf"^(?:\+|(-))?0*(\d+)(?:{point}0*)?$"
        text = f"trim(CAST({value} AS VARCHAR), ' ')"
        read = f"nullif(regexp_replace({text}, '{whole}', '\\1\\2'), '')"
    elif kind == "number":
        read = f"CASE WHEN {is_whole(value, type_name)} THEN TRY_CAST({value} AS BIGINT)::VARCHAR END"
    elif kind in ("date", "boolean"):
        read = f"{value}::VARCHAR"
    else:
        return None
    return PartSql(read, literal(name))


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
    part: PartSql | None = None  # that rows must belong to
    item: str | None = None  # with `max_rows`: the column of ids that are counted, and its type; None where rows are
    item_type: str = ""
    max_rows: int | None = None  # how many rows, or ids, a person adds; None where people are counted
    row: str = ""  # digest of a row that is counted
    often: str | None = None  # a name for how often a row occurs, where rows that are alike are put together first

    def rows(self) -> str:
        """Every row: its keys as k0, k1, ..., its id u; for each condition whether it counts (c0) and its digest (h0); for each
        sum whether the row is meant (w0) and how many steps it then has (v0), NULL where it has no number.

        Of a part alone where one is asked for. Where people are counted the other rows stay, as their part p says who is in which,
        and add nothing."""
        read = self._read_rows()
        if self.part is None:
            return read
        mine = self.part.mine
        if self.person is None:
            return f"(SELECT * FROM {read} WHERE {mine})"
        gated = [f"({mine} AND c{k}) AS c{k}" for k in range(len(self.conditions))]
        gated += [f"(CASE WHEN {mine} THEN h{k} END) AS h{k}" for k in range(len(self.digests))]
        gated += [f"({mine} AND w{j}) AS w{j}" for j in self.meant]
        gated += [f"(CASE WHEN {mine} THEN v{one.number} END) AS v{one.number}" for one in self.adding]
        return f"(SELECT * REPLACE ({', '.join(gated)}) FROM {read})"

    def _read_rows(self) -> str:
        picked = [*self.groups.picked, *([] if self.person is None else [f"{self.person} AS u"])]
        picked += [f"({condition}) AS c{k}" for k, condition in enumerate(self.conditions)]
        picked += [f"{digest} AS h{k}" for k, digest in enumerate(self.digests)]
        picked += [f"({condition}) AS w{j}" for j, condition in self.meant.items()]
        picked += [part for one in self.adding for part in one.read]
        picked += [] if self.part is None else [f"{self.part.read} AS p"]
        picked += [] if self.max_rows is None else [f"{self.row if self.item is None else self.item} AS item"]
        handed = "handed_over"
        if self.often is not None:
            handed = f"(SELECT *, count(*) AS {self.often} FROM handed_over GROUP BY ALL)"
            picked.append(f"{self.often} AS n")
        read = f"(SELECT {', '.join(picked) or '1 AS one'} FROM {handed})"
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

    def by_rows_of_keys(self) -> str:
        """The same, where the rows of each key are put together first, and find their group then: less work, and as much memory as
        there are different keys, declared or not."""
        keys, numbers = self.groups.names, range(len(self.adding))
        of_key = [*keys, "count(*) AS size", *self.counts, *(f"sum(v{j}) AS s{j}" for j in numbers), *self.halves]
        together = f"SELECT {', '.join(of_key)} FROM {self.rows()}" + (f" GROUP BY {', '.join(keys)}" if keys else "")
        sums = {f"s{j}" for j in numbers}
        asked = [
            f"{_held(f'sum({name})') if name in sums else f'sum({name})::BIGINT'} AS {name}" for name in self.totals
        ]
        asked += [_sum_of(f"{half}{k}") for k in range(len(self.digests)) for half in ("low", "high")]
        same = " AND ".join(self.groups.same) or "TRUE"
        return (
            f"SELECT coalesce(d.i, {self.size}) AS i, {', '.join(asked)} "
            f"FROM ({together}) LEFT JOIN declared d ON {same} GROUP BY 1"
        )

    def by_different_rows(self) -> str:
        """The same numbers, each row as often as it occurs (`often`): less work where few rows are different, and more memory."""
        each = [("size", "TRUE"), *((f"c{k}", f"c{k}") for k in range(len(self.conditions)))]
        each += [(f"w{j}", f"w{j}") for j in self.meant]
        each += [(f"a{j}", f"v{j} IS NOT NULL") for j in range(len(self.adding))]
        asked = [f"coalesce(sum(n) FILTER (WHERE {which}), 0)::BIGINT AS {name}" for name, which in each]
        asked += [f"{_held(f'sum(v{j}::HUGEINT * n)')} AS s{j}" for j in range(len(self.adding))]
        asked += [_sum_of_halves(k, "n") for k in range(len(self.digests))]
        return f"SELECT i, {', '.join(asked)} FROM {self.matched()} GROUP BY i"

    def content(self) -> str:
        """All rows: how many, about how many people, and the sums of the halves of their digests."""
        here = "" if self.part is None else f" FILTER (WHERE {self.part.mine})"
        asked = [f"count(*){here} AS rows", "approx_count_distinct(u) AS people", *self.halves]
        return f"SELECT {', '.join(asked)} FROM {self.rows()}"

    def by_people(self, parts: int, part: int, key: str) -> str:
        """For each group: its people (or what else is counted), those who count, and their rows; of those people alone whose ids
        fall in a part. Beside them, marked as beyond, the first that each person has beyond what may count: one for each such
        person.

        Where a person falls is a keyed hash of the id, so that nobody can choose ids that meet in one part. A person's groups
        are chosen by a hash of the id and of the key's content, so that no order of declaration decides.

        Of a part alone, where one is asked for: a person's part is the smallest of those of all their rows, so that it follows
        from these rows and nobody is in two.
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
        everybody, own, rows = "m", "", "count(*) AS n"
        if self.part is not None:  # rows of other parts and of no group, too, say which part a person is in
            rows = f"count(*) FILTER (WHERE {self.part.mine}) AS n, min(p) AS first"
            least = "SELECT *, min(first) OVER (PARTITION BY u) AS least FROM m"
            own = f"o AS (SELECT * FROM ({least}) WHERE least = {self.part.name} AND n > 0 {there}),"
            everybody, there = "o", ""
        chosen = f"{everybody} LEFT JOIN contents USING (i)" if limited else everybody
        counted = [f"count(*) FILTER (WHERE c{k} > 0) AS c{k}" for k in range(len(self.conditions))]
        counted += [f"count(*) FILTER (WHERE w{j} > 0) AS w{j}" for j in self.meant]
        counted += [f"count(*) FILTER (WHERE a{j} > 0) AS a{j}" for j in range(len(self.adding))]
        counted += [f"{_held(f'sum({one.of_person})')} AS s{one.number}" for one in self.adding]
        added = [f"sum(v{j}) AS s{j}" for j in range(len(self.adding))]
        people = f"""
            m AS (SELECT {", ".join(["u", "i", rows, *self.counts, *added])} FROM {self.matched()}
                  WHERE u IS NOT NULL {here} {there} GROUP BY u, i), {own}
            q AS (SELECT *, {place} AS place FROM {chosen})"""
        most = self.max_groups if self.max_rows is None else self.max_rows
        return f"""
            WITH {people if self.max_rows is None else self._items(here)}
            SELECT {", ".join(["i", f"place > {most} AS beyond", "sum(n)::BIGINT AS n", "count(*) AS size", *counted])} FROM q
            WHERE place <= {most + 1} GROUP BY i, beyond"""

    def _items(self, here: str) -> str:
        """The rows, or ids, of each group, with the place of each among all of its person's.

        Those of a person in a group are numbered from 1 on, in the order of a hash, and places are given by a hash of the id, the
        group and that number. So how many count in each group depends on how many the person has in each, and on nothing else of
        their rows: under change-one privacy it is public. Rows that are alike in all used columns are told apart by a number.
        """
        text, content = _id_text(self.ids), "coalesce(content, '')"
        there = "" if self.other else f"AND i < {self.size}"
        rows = f"{self.matched()} WHERE u IS NOT NULL {here} {there}"
        if self.part is not None:
            least = f"SELECT *, min(p) OVER (PARTITION BY u) AS least FROM {self.matched()} WHERE u IS NOT NULL {here}"
            rows = f"({least}) WHERE least = {self.part.name} AND {self.part.mine} {there}"
        if self.item is None:
            kept = ["u", "i", "item", "row_number() OVER (PARTITION BY u, i, item) AS d", "1 AS n"]
            kept += [f"c{k}::INTEGER AS c{k}" for k in range(len(self.conditions))]
            kept += [f"w{j}::INTEGER AS w{j}" for j in self.meant]
            kept += [f"(v{j} IS NOT NULL)::INTEGER AS a{j}" for j in range(len(self.adding))]
            kept += [f"v{j} AS s{j}" for j in range(len(self.adding))]
            together, own, order = f"SELECT {', '.join(kept)} FROM {rows}", "item || ' ' || d", "item, d"
        else:
            kept = [
                "u",
                "i",
                "item",
                "count(*) AS n",
                *self.counts,
                *(f"sum(v{j}) AS s{j}" for j in range(len(self.adding))),
            ]
            together = f"SELECT {', '.join(kept)} FROM {rows} AND item IS NOT NULL GROUP BY u, i, item"
            own, order = _canonical("item", self.item_type), "item"
        number = f"row_number() OVER (PARTITION BY u, i ORDER BY md5_number({text} || ' ' || {own}), {order})"
        place = f"row_number() OVER (PARTITION BY u ORDER BY md5_number({text} || ' ' || {content} || ' ' || r), {content}, r)"
        return (
            f"m AS ({together}), o AS (SELECT *, {number} AS r FROM m), "
            f"q AS (SELECT *, {place} AS place FROM o LEFT JOIN contents USING (i))"
        )


def _held(total: str) -> str:
    """A sum that 64 bits hold; nobody's step reaches the ends, and at them one person's change is no larger."""
    return f"{clamped(f'coalesce({total}, 0)', -FARTHEST, FARTHEST)}::BIGINT"


def _sum_of_halves(k: int, often: str | None = None) -> str:
    halves = [("low", f"(h{k} & 18446744073709551615::UHUGEINT)"), ("high", f"(h{k} >> 64)")]
    if often is not None:  # a product of two numbers of 64 bits, and again its lower half
        halves = [(name, f"(({half} * {often}::UHUGEINT) & 18446744073709551615::UHUGEINT)") for name, half in halves]
    return ", ".join(_sum_of(f"{half}::UBIGINT", f"{name}{k}") for name, half in halves)


def _sum_of(half: str, name: str = "") -> str:
    return f"(coalesce(sum({half}), 0) % 18446744073709551616)::UBIGINT AS {name or half}"


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


# What was found


@dataclass(frozen=True)
class Counts:
    """True counts, in the order of the declared keys: all of this is private, `fingerprint` and `dropped` included."""

    sizes: Indices  # rows, or people, in each group
    counts: Indices  # those of them for which the predicate is true
    other_size: int  # the same for all undeclared and missing keys together, when asked for
    other_count: int
    dropped: int  # rows that stand in no group: for the operator alone
    cut: int  # people of whom not everything is counted, since they have more than may count: for the operator alone
    fingerprint: str  # of the used columns' content, whatever the order of the rows (`row_digest`); none of a file
    canonical: str  # the predicate as it was understood, "" when there is none
    columns: frozenset[str]  # those that the predicate looks at


@dataclass(frozen=True)
class Sums:
    """True sums in steps, in the order of the declared keys: private like counts.

    A person adds a whole number of steps from `SumOf.steps`, so that one person moves a sum by no more than these are apart
    where everybody adds one, and by no more than the farther of them is from 0 where a person is added or removed.
    """

    sums: Indices  # for each group, over its people (or rows): what each adds, in steps from the origin
    people: Indices  # those who add something, a declared missing value included
    without: Indices  # those with rows for which the condition is true, and no number in them
    other_sum: int  # the same for all undeclared and missing keys together, when asked for
    other_people: int
    other_without: int
    fingerprint: str  # of all columns that the call looks at: for the ledger alone; none of a file
    canonical: str  # the condition as it was understood, "" when there is none
    column: str  # as the table spells it
    columns: frozenset[str]  # those that the sum looks at, its condition's included


class Counted(NamedTuple):
    """What one pass over a table found: for each predicate its counts, for each sum its sums."""

    counts: list[Counts]
    sums: list[Sums]


class GroupTotals:
    """Of all groups and the pooled cell: sizes, counts and sums, part by part; and what else was seen of the rows."""

    def __init__(self, size: int, other: bool, names: Sequence[str]) -> None:
        self.size, self.other = size, other
        self.rows = self.counted = 0  # rows, and those that stand in a group
        self.cut = 0  # people who have more than may count
        self.digests: Sequence[tuple[int, int]] = ()  # for each condition, the sums of both halves
        self.totals = {name: np.zeros(size + 1, dtype=np.int64) for name in names}

    def add(self, seen: Mapping[str, NDArray[Any]]) -> None:
        """What was seen of some people: of group `i` that much more."""
        for name, total in self.totals.items():
            total[seen["i"]] = np.clip(total[seen["i"]] + seen[name], -FARTHEST, FARTHEST)

    def counts(
        self,
        k: int,
        asked: Predicate | None,
        looked_at: frozenset[str],
        keys: Sequence[str] | None = (),
        others_decide: bool = False,
    ) -> Counts:
        """Those for the condition number k; `keys` are the texts of the declared keys, None where nobody needs a fingerprint.
        `others_decide`: rows that are not counted say who is (those of other parts)."""
        sizes, counts = self.totals["size"], self.totals[f"c{k}"]
        fingerprint = ""
        if keys is not None:
            seen = f" {self._fingerprint([counts], keys)}" if others_decide else ""
            low, high = self.digests[k]
            fingerprint = hashlib.sha256(f"{self.rows} {low} {high}{seen}".encode()).hexdigest()
        return Counts(
            sizes=self._declared(sizes),
            counts=self._declared(counts),
            other_size=self._pooled(sizes),
            other_count=self._pooled(counts),
            dropped=self.rows - self.counted,
            cut=self.cut,
            fingerprint=fingerprint,
            canonical="" if asked is None else asked.canonical,
            columns=looked_at,
        )

    def sums(
        self, adding: SumSql, asked: Predicate | None, looked_at: frozenset[str], keys: Sequence[str] | None
    ) -> Sums:
        """Those of one sum; `keys` as of counts."""
        j, missing = adding.number, adding.asked.missing_steps
        numbers, total = self.totals[f"a{j}"], self.totals[f"s{j}"]
        meant = self.totals.get(f"w{j}", self.totals["size"])
        without = meant - numbers
        people = numbers if missing is None else meant
        total = total if missing is None else total + missing * without
        return Sums(
            sums=self._declared(total),
            people=self._declared(people),
            without=self._declared(without),
            other_sum=self._pooled(total),
            other_people=self._pooled(people),
            other_without=self._pooled(without),
            fingerprint="" if keys is None else self._fingerprint([total, people, without], keys),
            canonical="" if asked is None else asked.canonical,
            column=adding.column,
            columns=looked_at | {adding.column},
        )

    def _fingerprint(self, columns: Sequence[Indices], keys: Sequence[str]) -> str:
        """SHA-256 of what a question sees of the data: its groups by the texts of their keys, and their numbers.

        Other data that give the same numbers have the same answer.
        """
        order = self._order(keys)
        seen = hashlib.sha256("\n".join([keys[i] for i in order.tolist()]).encode())
        for column in (self.totals["size"], *columns):
            seen.update(np.append(column[order], self._pooled(column)).astype("<i8").tobytes())
        return seen.hexdigest()

    def _order(self, keys: Sequence[str]) -> Indices:
        if not hasattr(self, "_sorted"):
            self._sorted = np.array(sorted(range(len(keys)), key=keys.__getitem__), dtype=np.int64)
        return self._sorted

    def _declared(self, column: Indices) -> Indices:
        declared = column[: self.size]
        declared.flags.writeable = False
        return declared

    def _pooled(self, column: Indices) -> int:
        return int(column[self.size]) if self.other else 0
