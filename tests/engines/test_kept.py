"""Which items of a person count, by the definition (docs/theory/sums.md), and how many rows one person may have."""

from __future__ import annotations

import hashlib
import itertools
import random
from collections import defaultdict

import numpy as np
import pytest

import discreet as dt
from discreet.engines import count_people
from discreet.engines.count_people import MOST_ROWS
from discreet.engines.duckdb import count_each
from discreet.errors import TableInputError
from discreet.exact.grid import Grid
from discreet.questions.domain import Domain
from discreet.questions.statistic import SumOf
from discreet.tables.count import findings
from tests.cells import for_each
from tests.engines.one_count import kept_of

duckdb = pytest.importorskip("duckdb")
pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

KEYS = ["c", "a", "b"]  # and others, which are the last in every order
MOST = 3
CELLS = list(itertools.product(("units", "rows", "p"), (False, True), (None, "1")))
SCHEMA = pa.schema(
    [
        ("u", pa.int64()),
        ("g", pa.string()),
        ("p", pa.int64()),
        ("x", pa.int64()),
        ("y", pa.int64()),
        ("part", pa.string()),
    ]
)


def table_of(seed, size=70):
    """Rows of six people, one of whom has most of them, and of nobody."""
    rng = random.Random(seed)
    return [
        {
            "u": rng.choice([1, 1, 1, 1, 2, 2, 3, 14, 15, 16, None]),
            "g": rng.choice(["a", "b", "c", "c", "z", None]),
            "p": rng.choice([None, *range(9)]),
            "x": rng.choice([None, *range(-2, 9)]),
            "y": rng.choice([0, 1]),
            "part": rng.choice(["1", "1", "2", None]) if seed % 2 else "1",
        }
        for _ in range(size)
    ]


def half(text):
    return int.from_bytes(hashlib.md5(text.encode()).digest()[:8], "little")


def added(values):
    """What numbers add together, within the bounds 0 and 5; None where there are none."""
    there = [x for x in values if x is not None]
    return min(max(sum(there), 0), 5) if there else None


def defined(rows, counted, other, part):
    """Sizes, counts of y > 0, sums of x and people with a number in each group, and how many people have more than may count."""
    people = defaultdict(list)
    for row in rows:
        if row["u"] is not None:
            people[row["u"]].append(row)
    found, cut = np.zeros((4, len(KEYS) + 1), dtype=int), 0
    for person, own in people.items():
        if part is not None:
            own = [r for r in own if r["part"] == part] if min(r["part"] or "9" for r in own) == part else []
        items = defaultdict(list)
        for k, r in enumerate(own):
            group = KEYS.index(r["g"]) if r["g"] in KEYS else len(KEYS)
            if (group == len(KEYS) and not other) or (counted == "p" and r["p"] is None):
                continue
            steps = added([r["x"]])
            alike = f"{'true' if r['y'] else 'false'} {'n' if steps is None else steps}"
            content, number = {"units": ("", 0), "rows": (alike, k), "p": (str(r["p"]), 0)}[counted]
            place = (group == len(KEYS), r["g"] if group < len(KEYS) else "", half(content), content)
            items[place, group, number].append(r)
        kept = kept_of(str(person), sorted(items, key=lambda item: item[0]), MOST if counted != "units" else 2)
        cut += len(kept) < len(items)
        for item in kept:
            total = added([r["x"] for r in items[item]])
            numbers = (1, any(r["y"] for r in items[item]), total or 0, total is not None)
            found[:, item[1]] += np.array(numbers, dtype=int)
    return found, cut


def engine(rows, counted, other, part, **more):
    most = {"max_groups": 2} if counted == "units" else {"counted": counted, "max_rows": MOST}
    seen = count_each(
        pa.Table.from_pylist(rows, schema=SCHEMA),
        predicates=["y > 0"],
        sums=[SumOf("x", Grid(0, 5))],
        by=["g"],
        domain=Domain.of({"g": KEYS}),
        unit="u",
        other=other,
        part=None if part is None else ("part", part),
        **most,
        **more,
    )
    (c,), (s,) = seen.counts, seen.sums
    numbers = [
        [*c.sizes, c.other_size],
        [*c.counts, c.other_count],
        [*s.sums, s.other_sum],
        [*s.people, s.other_people],
    ]
    return np.array(numbers), c.cut


@for_each("counted, other, part", CELLS)
def test_the_items_that_count_are_those_of_the_definition(counted, other, part):
    for seed in (1, 2, 3):
        rows = table_of(seed)
        expected, cut = defined(rows, counted, other, part)
        assert cut > 0
        found = engine(rows[:: -1 if seed == 3 else 1], counted, other, part)
        np.testing.assert_array_equal(found[0], expected)
        assert found[1] == cut


def giant(many, others=50):
    """One person with many different rows, and others with one each."""
    x = np.arange(many + others)
    return pa.table({"u": np.where(x < many, 0, x), "p": x, "g": x % 3})


@pytest.mark.long
@for_each("counted", ("rows", "p"))
def test_one_person_may_have_as_many_rows_as_admission_lets_pass(counted):
    """In the memory that a release has, and each third of the rows in one group; with less of it a sentence says so."""
    table, some = giant(MOST_ROWS), [f"p > {k}" for k in range(6)]
    asked = {"predicates": [None, *some], "by": ["g"], "domain": Domain.of({"g": range(3)}), "unit": "u"}
    asked |= {"sums": [SumOf("p", Grid(0, 2**20))], "counted": counted, "max_rows": 9}
    seen = count_each(table, **asked).counts[0]
    np.testing.assert_array_equal(seen.sizes, np.bincount(np.arange(MOST_ROWS, MOST_ROWS + 50) % 3, minlength=3) + 3)
    assert (seen.cut, seen.dropped) == (1, MOST_ROWS - 9)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(count_people, "_MOST_PARTS", 4)
        with pytest.raises(TableInputError, match="needs more than 24 MB of memory"):
            count_each(table, memory_mb=24, **asked)


def test_admission_refuses_a_person_with_more_rows(tmp_path, monkeypatch):
    """Only where ids identify people, and one row fewer is admitted."""
    monkeypatch.setattr(findings, "MOST_ROWS", 20)
    with dt.Ledger(tmp_path / "budget.db") as book:
        book.create("people", "1", unit="u")
        book.create("rows", "1")
        for many, others in ((20, 3), (21, 4)):
            pq.write_table(giant(many, others), tmp_path / f"{many}.parquet")
        book["people"].admit(tmp_path / "20.parquet")
        book["rows"].admit(tmp_path / "21.parquet")
        with pytest.raises(TableInputError, match="ids with more than 20 rows"):
            book["people"].admit(tmp_path / "21.parquet", version="2")
