"""Counting people, or what people have, group by group: in as many parts as it takes for each to fit in memory.

Neither many people nor one with many rows can exceed it, so that nothing that is raised tells of anybody: people fall into parts
by a hash of their ids, and somebody who does not fit alone is counted place by place, by the same rule.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .count_sql import CountQuery, GroupTotals, Indices

_MOST_PARTS = 2**16
_BYTES_ADDED = 48  # for each sum
_BYTES_EACH = 120  # what the engine holds, about, for each person in a group, besides 8 for each condition

Answer = dict[str, NDArray[Any]]
Ask = Callable[
    [str, float, float], Answer
]  # SQL to columns by name; what share of the work is done before and after it


def count_people(ask: Ask, query: CountQuery, memory_mb: int, order: Indices) -> GroupTotals:
    """First all rows, then people in as many parts as it takes for each part to fit in memory; and those alone, place by place, of
    whom one would not. `order` has the numbers of the engine's groups."""
    import duckdb

    totals = GroupTotals(query.size, query.other, query.totals)
    order = np.append(order, query.size)
    share = 0.3  # of the time, for the first look
    seen = ask(query.content(), 0.0, share)
    totals.rows, people = int(seen["rows"][0]), int(seen["people"][0])
    held = people if query.max_rows is None else 2 * totals.rows  # each row, and again in order
    totals.digests = [(int(seen[f"low{k}"][0]), int(seen[f"high{k}"][0])) for k in range(len(query.digests))]
    each = _BYTES_EACH + 8 * len(query.conditions) + _BYTES_ADDED * len(query.adding)
    parts, tables, key, done = 1, 0, secrets.token_hex(16), Fraction(0)

    def add(seen: Mapping[str, NDArray[Any]]) -> None:
        totals.add({**seen, "i": order[seen["i"]]})
        totals.cut += int(seen["cut"].sum())
        totals.counted += int(seen["n"].sum())

    while held * each > parts * memory_mb * 10**6 and parts < _MOST_PARTS:
        parts *= 2
    ahead: list[tuple[int, int, tuple[str, ...]]] = [(parts, part, ()) for part in reversed(range(parts))]
    while ahead:
        parts, part, without = ahead.pop()
        start, end = (share + (1 - share) * float(done + k * Fraction(1, parts)) for k in (0, 1))
        here = query.of_people(parts, part, key, without)
        try:
            add(ask(query.by_people(here), start, end))
        except duckdb.OutOfMemoryException:
            tables += 1
            large = _largest_person(ask, query, here, f"large{tables}", start)
            if large and (2 * large["rows"] >= large["all_rows"] or parts >= _MOST_PARTS):
                for seen in _seen_of_one(ask, query, f"u = (SELECT u FROM large{tables})", large["turn"], start):
                    add(seen)
                ahead.append((parts, part, (*without, f"large{tables}")))
            elif parts >= _MOST_PARTS:
                raise
            else:  # the same people: one more bit of the hash
                ahead += [(2 * parts, part + parts, without), (2 * parts, part, without)]
            continue
        done += Fraction(1, parts)
    return totals


def _largest_person(ask: Ask, query: CountQuery, here: str, table: str, at: float) -> dict[str, int]:
    """Of people who do not fit in memory together the one with most rows, whose id gets a table of its own: how many rows, and
    how many all have. Nothing where there is nobody, or not even their ids fit."""
    import duckdb

    try:
        ask(f"CREATE TEMP TABLE {table} AS {query.largest_person(here)}", at, at)
    except duckdb.OutOfMemoryException:
        return {}
    seen = ask(f"SELECT turn, rows, all_rows FROM {table}", at, at)
    return {name: int(column[0]) for name, column in seen.items() if len(column)}


def _seen_of_one(ask: Ask, query: CountQuery, here: str, turn: int, at: float) -> Iterator[Answer]:
    """What one person adds, however many rows they have: their items in the order in which they are chosen, as many at a time as
    fit in memory. First all are counted, since that decides which are kept."""
    if not ask(query.is_in_part(here), at, at)["is_in_part"][0]:
        return
    n_all, before, ranges = 0, 0, []
    for places, seen in _by_places(ask, lambda *p: query.copies_of_one(here, *p), [(0, query.places)], at):
        n_all += int(seen["copies"].sum())
        ranges.append(places)
    if n_all == 0:
        return

    def chosen(first: int, end: int) -> str:
        return query.by_places_of_one(here, first, end, before, n_all, turn)

    for _, seen in _by_places(ask, chosen, ranges, at):
        before += int(seen["copies"].sum())
        yield seen


def _by_places(
    ask: Ask, sql: Callable[[int, int], str], ranges: Iterable[tuple[int, int]], at: float
) -> Iterator[tuple[tuple[int, int], Answer]]:
    """What is asked of the places from a first to an end, in ranges as large as fit in memory, one after the other."""
    import duckdb

    ahead = list(ranges)[::-1]
    while ahead:
        first, end = ahead.pop()
        try:
            yield (first, end), ask(sql(first, end), at, at)
        except duckdb.OutOfMemoryException:
            middle = (first + end) // 2
            if middle == first:
                raise
            ahead += [(middle, end), (first, middle)]
