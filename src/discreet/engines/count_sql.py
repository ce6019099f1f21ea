"""The SQL of a count, and what it finds: true counts and sums of a table's groups, exact, private, the same in every order of keys.

The SQL says what is read of each row, and how rows or people are put together. Texts of ids and items are the same for the same
content, whatever the engine, the order or the kind of table.
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

    def rows(self) -> str:
        """Every row: its keys as k0, k1, ..., its id u; for each condition whether it counts (c0); for each
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
        gated += [f"({mine} AND w{j}) AS w{j}" for j in self.meant]
        gated += [f"(CASE WHEN {mine} THEN v{one.number} END) AS v{one.number}" for one in self.adding]
        gated += [] if self.item is None else [f"(CASE WHEN {mine} THEN item END) AS item"]
        return f"(SELECT * REPLACE ({', '.join(gated)}) FROM {read})"

    def _read_rows(self) -> str:
        picked = [*self.groups.picked, *([] if self.person is None else [f"{self.person} AS u"])]
        picked += [f"({condition}) AS c{k}" for k, condition in enumerate(self.conditions)]
        picked += [f"({condition}) AS w{j}" for j, condition in self.meant.items()]
        picked += [part for one in self.adding for part in one.read]
        picked += [] if self.part is None else [f"{self.part.read} AS p"]
        picked += [] if self.item is None else [f"{self.item} AS item"]
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
        """For each group: its rows, those that count, and the sums."""
        added = [f"{_held(f'sum(v{j})')} AS s{j}" for j in range(len(self.adding))]
        asked = ", ".join(["i", "count(*) AS size", *self.counts, *added])
        return f"SELECT {asked} FROM {self.matched()} GROUP BY i"

    def by_rows_of_keys(self) -> str:
        """The same, where the rows of each key are put together first, and find their group then: less work, and as much memory as
        there are different keys, declared or not."""
        keys, numbers = self.groups.names, range(len(self.adding))
        of_key = [*keys, "count(*) AS size", *self.counts, *(f"sum(v{j}) AS s{j}" for j in numbers)]
        together = f"SELECT {', '.join(of_key)} FROM {self.rows()}" + (f" GROUP BY {', '.join(keys)}" if keys else "")
        sums = {f"s{j}" for j in numbers}
        asked = [
            f"{_held(f'sum({name})') if name in sums else f'sum({name})::BIGINT'} AS {name}" for name in self.totals
        ]
        same = " AND ".join(self.groups.same) or "TRUE"
        return (
            f"SELECT coalesce(d.i, {self.size}) AS i, {', '.join(asked)} "
            f"FROM ({together}) LEFT JOIN declared d ON {same} GROUP BY 1"
        )

    def content(self) -> str:
        """All rows: how many, and about how many people."""
        here = "" if self.part is None else f" FILTER (WHERE {self.part.mine})"
        return f"SELECT count(*){here} AS rows, approx_count_distinct(u) AS people FROM {self.rows()}"

    def of_people(self, parts: int, part: int, key: str) -> str:
        """Is a row one of those people whose ids fall in a part?

        Where a person falls is a keyed hash of the id, so that nobody can choose ids that meet in one part."""
        hashed = f"md5_number({literal(key)} || {_canonical('u', self.ids)})"
        return (
            f"u IS NOT NULL AND ({hashed} & {parts - 1}::UHUGEINT)::INTEGER = {part}" if parts > 1 else "u IS NOT NULL"
        )

    @property
    def most(self) -> int | None:
        """How many items a person may add: rows, ids, or groups; None where all that there can be."""
        if self.max_rows is not None:
            return min(self.max_rows, FARTHEST)  # nobody has more
        return self.max_groups if self.max_groups < self.size + self.other else None

    def by_people(self, here: str) -> str:
        """For each group: the items of people that count in it, those for which each condition is true, the sums, and how many rows
        they are; and of how many people not all items count (`cut`), each in one group.

        An item is what is counted: a person in a group, an id in a group, or a row. Of a person who has n items, more than may
        count (`most`), so many are kept. In the order of their groups, and in a group of a hash, they are numbered from 1 to n;
        number j is kept where (j most + turn) // n is above ((j - 1) most + turn) // n, and turn is a hash of the id modulo n.
        That is systematic sampling: over all turns each is kept equally often. How many are kept in each group depends on the
        id and on how many there are in each, and on nothing else of the person's rows: under change-one privacy it is public.
        Items that are alike in all that is counted stand side by side, and are put together: which of them are kept is all one.

        Of a part alone, where one is asked for: a person's part is the smallest of those of all their rows, so that it follows
        from these rows and nobody is in two.
        """
        items = self._items(here)
        if self.most is None:
            return self._totals(f"(SELECT *, copies AS kept, FALSE AS is_cut FROM {items})")
        upto = f"sum(copies) OVER (PARTITION BY u ORDER BY {self._order} ROWS UNBOUNDED PRECEDING) AS upto"
        numbered = f"(SELECT *, sum(copies) OVER (PARTITION BY u) AS n_all, {upto} FROM {items})"
        turn = f"{_turn(self.ids)}::HUGEINT % n_all"
        chosen, before = (f"(({upto}) * {self.most} + {turn}) // n_all" for upto in ("upto", "upto - copies"))
        kept = f"CASE WHEN n_all <= {self.most} THEN copies ELSE {chosen} - {before} END AS kept"
        is_cut = f"upto = n_all AND n_all > {self.most} AS is_cut"
        return self._totals(f"(SELECT *, {kept}, {is_cut} FROM {numbered})")

    @property
    def _alike(self) -> list[str]:
        """What items of a person in a group must have in common to be put together, besides these two: the id that is counted;
        of rows all that is counted of them; of people nothing."""
        if self.max_rows is None:
            return []
        if self.item is not None:
            return ["item"]
        names = [f"c{k}" for k in range(len(self.conditions))] + [f"w{j}" for j in self.meant]
        return names + [f"v{j}" for j in range(len(self.adding))]

    @property
    def _hash(self) -> str:
        """Where an item stands in its group: 64 bits of a digest, of which nobody can find many that are the same."""
        if self.max_rows is None:
            return "0"
        text = " || chr(32) || ".join(f"coalesce({name}::VARCHAR, 'n')" for name in self._alike) or literal("")
        return f"md5_number_upper({text if self.item is None else _canonical('item', self.item_type)})"

    @property
    def _order(self) -> str:
        return ", ".join(["i", *([] if self.max_rows is None else [self._hash]), *self._alike])

    def _items(self, here: str) -> str:
        """The items of each person u in each group i, those that are alike together: `copies` of them, each of n rows, with those
        of its rows that count (c0), are meant (w0) and have a number (a0), and the sums of these (s0).
        """
        mine = "TRUE" if self.part is None else self.part.mine
        inside = [] if self.other else [f"i < {self.size}"]
        inside += [] if self.item is None else ["item IS NOT NULL"]
        keys = ["u", "i", *self._alike]
        number = f"count(*) FILTER (WHERE {mine})"
        if self.max_rows is not None and self.item is None:
            read = [*keys, f"{number} AS copies", "1 AS n"]
            read += [f"v{j} AS s{j}, (v{j} IS NOT NULL)::INTEGER AS a{j}" for j in range(len(self.adding))]
        else:
            read = [*keys, f"least({number}, 1) AS copies", f"{number} AS n", *self.counts]
            read += [f"sum(v{j}) AS s{j}" for j in range(len(self.adding))]
        if self.part is None:
            which = " AND ".join([here, mine, *inside])
            return f"(SELECT {', '.join(read)} FROM {self.matched()} WHERE {which} GROUP BY {', '.join(keys)})"
        # rows of other parts and of no group, too, say which part a person is in
        read.append("min(p) AS first")
        items = f"SELECT {', '.join(read)} FROM {self.matched()} WHERE {here} GROUP BY {', '.join(keys)}"
        least = f"SELECT *, min(first) OVER (PARTITION BY u) AS least FROM ({items})"
        which = " AND ".join([f"least = {self.part.name}", "copies > 0", *inside])
        return f"(SELECT * FROM ({least}) WHERE {which})"

    def _totals(self, kept: str) -> str:
        """What is found in items of which so many are kept."""
        found = ["i", "sum(n * kept)::BIGINT AS n", "sum(kept)::BIGINT AS size"]
        found.append("count(*) FILTER (WHERE is_cut) AS cut")
        names = [f"c{k}" for k in range(len(self.conditions))] + [f"w{j}" for j in self.meant]
        names += [f"a{j}" for j in range(len(self.adding))]
        found += [f"coalesce(sum(kept) FILTER (WHERE {name}::BOOLEAN), 0)::BIGINT AS {name}" for name in names]
        found += [f"{_held(f'sum({one.of_person}::HUGEINT * kept)')} AS s{one.number}" for one in self.adding]
        return f"SELECT {', '.join(found)} FROM {kept} GROUP BY i"


def _held(total: str) -> str:
    """A sum that 64 bits hold; nobody's step reaches the ends, and at them one person's change is no larger."""
    return f"{clamped(f'coalesce({total}, 0)', -FARTHEST, FARTHEST)}::BIGINT"


def saturated(total: Any, more: Any) -> Any:
    """The sum of two such sums, again one that 64 bits hold: what is added up before it is moved to an end would not be."""
    return np.clip(total, -FARTHEST - np.minimum(more, 0), FARTHEST - np.maximum(more, 0)) + more


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


def _turn(type_name: str) -> str:
    """64 bits of a hash of an id, the same for 7 and 7.0: pandas turns whole numbers into floats where one is missing."""
    text = "u::VARCHAR"
    if family(type_name) == "number":
        text = f"coalesce(CASE WHEN {is_whole('u', type_name)} THEN TRY_CAST(u AS BIGINT)::VARCHAR END, {text})"
    return f"md5_number_lower({text})"


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
    fingerprint: str  # of these numbers; none of a file, which is known by its bytes
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
    fingerprint: str  # as of counts
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
        self.totals = {name: np.zeros(size + 1, dtype=np.int64) for name in names}

    def add(self, seen: Mapping[str, NDArray[Any]]) -> None:
        """What was seen of some people: of group `i` that much more."""
        for name, total in self.totals.items():
            total[seen["i"]] = saturated(total[seen["i"]], seen[name])

    def counts(
        self,
        k: int,
        asked: Predicate | None,
        looked_at: frozenset[str],
        keys: Sequence[str] | None,
    ) -> Counts:
        """Those for the condition number k; `keys` are the texts of the declared keys, None where nobody needs a fingerprint."""
        sizes, counts = self.totals["size"], self.totals[f"c{k}"]
        return Counts(
            sizes=self._declared(sizes),
            counts=self._declared(counts),
            other_size=self._pooled(sizes),
            other_count=self._pooled(counts),
            dropped=self.rows - self.counted,
            cut=self.cut,
            fingerprint="" if keys is None else self._fingerprint([counts], keys),
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
