"""What is counted, and what a privacy unit adds to it: households are protected, people (rows, or ids) counted. By brute force.

Every unit has two groups of its own, (world, a) and (world, b), so that one count has the numbers of thousands of units, and
two counts of the same units with other rows have those of thousands of neighbours.
"""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pandas
import pytest

import discreet as dt
from discreet.engines.duckdb import count_each
from discreet.engines.table import Table
from discreet.errors import DiscreetError, ReleaseError
from discreet.ledger.book import Terms
from discreet.questions.domain import Domain
from discreet.tables.count.true_numbers import counted_for
from discreet.tables.draw.measures import measures_for, tiers_for
from tests.asking import ask_preview, ask_release
from tests.cells import for_each

from .asking import ask
from .test_statistics import ALPHA, losses

ASKED = {
    "count": {"rest": "flag IS NULL OR NOT flag", "flag": "flag"},
    "sum": {"s": "x:-2..4/2", "f": "x:-2..4/2 missing 2", "some": "x:-2..4/2 where flag"},
    "share": {"p": "flag"},
    "mean": {"m": "x:-2..4/2 missing 0"},
}
PUBLIC = list(itertools.product("ab", (1, 2, None)))  # group and person of a row
PRIVATE = ((None, None), (-9.0, False), (3.0, True))
MOST = 3  # rows of a unit
CELLS = [
    (relation, *cell)
    for relation in ("add-remove", "change-one")
    for cell in (("rows", 2), ("rows", 3), ("person", 1), ("person", 2))
]


def table_of(rows):
    """Rows (unit, group, person, x, flag); the unit is also the name of its world."""
    table = pandas.DataFrame([(u, *row) for u, *row in rows], columns=["u", "g", "person", "x", "flag"])
    return table.assign(world=table["u"]).astype(
        {"u": "Int64", "world": "Int64", "person": "Int64", "x": "Float64", "flag": "boolean"}
    )


def numbers(rows, relation, counted, k, worlds, by=("world", "g"), unit="u", **more):
    terms = Terms("d", Fraction(9), relation, ("world", "g", "person"), unit, "then")
    keys = {"world": list(range(worlds)), "g": ["a", "b"]}
    asked = ask(alpha=ALPHA, by=list(by), domain=keys, counted=counted, max_rows=k, **{**ASKED, **more})
    return asked, terms, counted_for(asked.question, terms, Table(table_of(rows)), None, False)


def neighbours(relation):
    """The rows of a unit, and those that it has in a neighbouring data set: other private values, or none at all."""
    pairs = []
    for size in range(1, MOST + 1):
        values = list(itertools.product(PRIVATE[0 if size < MOST else 1 :], repeat=size))
        for places in itertools.combinations_with_replacement(PUBLIC, size):
            own = [[(*p, *x) for p, x in zip(places, xs, strict=True)] for xs in values]
            pairs += itertools.combinations(own, 2) if relation == "change-one" else [(rows, []) for rows in own]
    return pairs


def seen(pairs, relation, counted, k):
    """The measures, their true numbers in both data sets, a pair of neighbours a row, and the sizes of the groups in both."""
    worlds, truths, sizes = len(pairs), [], []
    for side in (0, 1):
        rows = [(w, *row) for w, pair in enumerate(pairs) for row in pair[side]]
        asked, terms, found = numbers(rows, relation, counted, k, worlds)
        measures = measures_for(asked, terms, found.sizes(relation))
        truths.append([found.truth(m).reshape(worlds, 2) for m in measures])
        sizes.append(found.first.sizes.reshape(worlds, 2))
    return asked, terms, measures, [np.concatenate(both) for both in zip(*truths, strict=True)], sizes


def items(rows, counted):
    """How many of what is counted a unit has, in all groups together."""
    return len({(g, p) for g, p, *_ in rows if p is not None}) if counted == "person" else len(rows)


@pytest.mark.long
@for_each("relation, counted, k", CELLS)
def test_a_unit_moves_all_numbers_together_by_what_was_charged_and_no_more(relation, counted, k):
    pairs = neighbours(relation)
    worlds = len(pairs)
    asked, terms, measures, truths, (before, after) = seen(pairs, relation, counted, k)
    assert before.sum(axis=1).tolist() == [min(k, items(rows, counted)) for rows, _ in pairs]
    if relation == "change-one":
        assert np.array_equal(before, after)  # public
    moved = {m.name: np.abs(t[:worlds] - t[worlds:]).sum(axis=1).max() for m, t in zip(measures, truths, strict=True)}
    assert moved["flag"] == moved["rest"] == k  # the sensitivity that is stated, reached
    own = [(w, w + worlds) for w in range(worlds)]
    worst = losses(measures, truths, own)
    assert worst["all"] <= 1 / ALPHA
    for one in asked.question.statistics:
        assert asked.level.admits(1 / worst[one.name], one.weight.denominator)
        assert float(worst[one.name]) >= float(ALPHA) ** (-float(one.weight)) * (1 - 1e-9), one.name
    if k > 1:  # negative control: levels for one row less
        fewer = ask(alpha=ALPHA, **ASKED, counted=counted, max_rows=k - 1)
        few = measures_for(
            fewer, terms, np.unique(np.concatenate([before, after])) if relation == "change-one" else np.array([-1])
        )
        assert losses(few, truths, own)["all"] > 1 / ALPHA


@for_each("relation", ("add-remove", "change-one"))
def test_measured_totals_move_by_as_much(relation):
    """A tier of totals adds up cells: all of its totals together move by k, and its part of epsilon is for that."""
    pairs = [pair for pair in neighbours(relation) if len(pair[0]) > 1]
    tiers, sums = [], []
    for side in (0, 1):
        rows = [(w, *row) for w, pair in enumerate(pairs) for row in pair[side]]
        more = {"measure_totals": ["world"], "sum": None, "mean": None, "share": None}
        asked, terms, found = numbers(rows, relation, "rows", 2, len(pairs), **more)
        tiers = tiers_for(asked, terms, found.sizes(relation))
        sums.append([tiers[0].added(found.truth(m)) for m in tiers[0].measures])
    assert np.abs(np.array(sums[0]) - np.array(sums[1])).max() == 2
    (tier,) = tiers
    cells = measures_for(asked, terms, found.sizes(relation))
    levels = [m.level.alpha for m in (*cells, *tier.measures)]
    product = Fraction(1)
    for alpha in levels:
        product *= alpha**2
    assert product >= ALPHA


@for_each("counted, k", [("rows", 1), ("rows", 2), ("person", 2), ("units", None)])
def test_which_rows_count_depends_on_nobody_else_and_on_no_order(counted, k):
    rng = np.random.default_rng(5)
    rows = [
        (rng.choice([1, 2, 3, None], p=[0.4, 0.3, 0.2, 0.1]), *PUBLIC[rng.integers(6)], *PRIVATE[rng.integers(3)])
        for _ in range(60)
    ] + [(2, "elsewhere", 1, 3.0, True), (2, None, 1, 3.0, True)]

    def truth(some):
        asked, terms, found = numbers(some, "add-remove", counted, k, 0, by=["g"], pool_other=True)
        return np.array([found.truth(m) for m in measures_for(asked, terms, found.sizes("add-remove"))])

    whole = truth(rows)
    assert np.array_equal(whole, sum(truth([row for row in rows if row[0] == u]) for u in (1, 2, 3)))
    assert np.array_equal(whole, truth(rows[::-1]))
    if counted == "rows":
        assert whole[0].sum() + whole[1].sum() == 3 * k  # every row has one of both flags


def test_rows_that_are_alike_are_as_likely_kept_as_others():
    """Of 6 rows of 2000 units one is different, and 5 count: it is among them in 5 of 6 units."""
    rows = [(u, "a", None, -9.0, False) for u in range(2000) for _ in range(5)] + [
        (u, "a", None, 3.0, True) for u in range(2000)
    ]
    *_, found = numbers(rows, "add-remove", "rows", 5, 2000)
    assert abs(int(found.counts["flag"].counts.sum()) - 2000 * 5 / 6) < 5 * (2000 * 5 / 36) ** 0.5


HOUSEHOLDS = pandas.DataFrame(
    {
        "household": [h for h in range(200) for _ in range(1 + h % 4)],
        "person": [p for h in range(200) for p in range(1 + h % 4)],
        "district": ["north" if h % 3 else "south" for h in range(200) for _ in range(1 + h % 4)],
        "age": [(7 * h + 13 * p) % 90 for h in range(200) for p in range(1 + h % 4)],
    }
)
BY_DISTRICT = {"by": ["district"], "domain": {"district": ["north", "south"]}}


@pytest.fixture
def ledger(tmp_path):
    with dt.Ledger(tmp_path / "budget.db") as book:
        book.create("town", "100", relation="add-remove", unit="household")
        book.create("known", "100", relation="change-one", unit="household", public=["district", "person"])
        yield book


@for_each(
    "counted, most, word",
    [("units", None, "units of household"), ("rows", 4, "rows"), ("person", 4, "distinct values of person")],
)
def test_records_pages_and_print_name_what_is_counted(tmp_path, ledger, counted, most, word):
    asked = {"dataset": "town", "ledger": ledger, **BY_DISTRICT, "epsilon": 20, "counted": counted, "max_rows": most}
    made = ask_release(HOUSEHOLDS, **asked, margins=["total"])
    true = {"units": [133, 67], "rows": [333, 167], "person": [333, 167]}[counted]
    assert np.abs(np.array(made.columns["report"]) - true).max() <= 3 * (most or 1)
    assert made.record["counted"] == word
    assert made.record["contribution"] == (most or 1)
    assert f"town: {word} by district" in str(made)
    assert f"count of {word}" in made.to_html()
    assert word in str(ask_preview(HOUSEHOLDS, **asked))
    assert f"count of {word}" in ledger["town"].history()[-2].what
    assert "people" not in str(made)
    spent = ledger["town"].balance().spent
    question = dt.Question(**BY_DISTRICT, counted=counted.upper() if counted == "person" else counted, max_rows=most)
    again = ledger["town"].release(HOUSEHOLDS, dt.Question.from_dict(question.to_dict()), epsilon=20)
    assert again.columns["report"] == made.columns["report"]
    assert ledger["town"].balance().spent == spent
    made.save(tmp_path / f"{counted}.csv")
    assert dt.check_release(tmp_path / f"{counted}.json", ledger=ledger)


def test_people_of_protected_households_have_public_sizes_means_and_shares(tmp_path, ledger):
    asked = {"dataset": "known", "ledger": ledger, **BY_DISTRICT, "epsilon": 40, "counted": "rows", "max_rows": 3}
    made = ask_release(HOUSEHOLDS, **asked, mean="age:0..100 missing 0", share="age >= 60", count={"old": "age >= 60"})
    assert (
        made.columns["n"]
        == [sum(min(3, 1 + h % 4) for h in range(200) if bool(h % 3) is north) for north in (True, False)] * 3
    )
    mean = HOUSEHOLDS.groupby("district")["age"].mean()
    row = next(row for row in made.rows() if row["statistic"] == "age" and row["district"] == "north")
    assert abs(row["report"] - mean["north"]) < 6
    made.save(tmp_path / "known.csv")
    assert dt.check_release(tmp_path / "known.json", ledger=ledger)


@for_each(
    "dataset, parts, why",
    [
        ("town", {"counted": "rows"}, "declare max_rows"),
        ("town", {"max_rows": 3}, r"max_rows is for counted=\"rows\""),
        ("town", {"counted": "rows", "max_rows": 3, "max_groups": 2}, "leave max_groups out"),
        ("town", {"counted": "rows", "max_rows": 0}, "max_rows"),
        ("town", {"counted": "", "max_rows": 3}, "the name of a column"),
        ("town", {"counted": "persn", "max_rows": 3}, "did you mean|no column"),
        ("known", {"counted": "age", "max_rows": 3, "count": "age > 3"}, "age is not public in 'known'"),
        ("plain", {"counted": "rows", "max_rows": 3}, "needs an id column"),
    ],
)
def test_what_cannot_be_counted_is_refused_before_anything_is_charged(ledger, dataset, parts, why):
    if dataset == "plain":
        ledger.create("plain", "1", relation="add-remove")
    with pytest.raises(DiscreetError, match=why) as refused:
        ledger[dataset].release(HOUSEHOLDS, epsilon=1, **{**BY_DISTRICT, **parts})
    assert isinstance(refused.value, ReleaseError) or "column" in str(refused.value)
    assert ledger[dataset].balance().spent == 0


def test_rows_of_a_part_are_those_of_the_units_whose_part_it_is():
    """Units of up to three rows in two parts or none: each counts in the smallest part of its rows, with rows of that part."""
    kinds = list(itertools.product("abz", ("1", "2", None)))  # z is no declared group
    units = [rows for size in (1, 2, 3) for rows in itertools.combinations_with_replacement(kinds, size)]
    table = pandas.DataFrame(
        [(u, u, g, part) for u, rows in enumerate(units) for g, part in rows], columns=["u", "world", "g", "part"]
    )
    domain = Domain.of({"world": list(range(len(units))), "g": ["a", "b"]})
    asked = {
        "predicates": [None],
        "by": ["world", "g"],
        "domain": domain,
        "unit": "u",
        "counted": "rows",
        "max_rows": 2,
    }
    seen = [count_each(table, **asked, part=("part", part)).counts[0].sizes.reshape(-1, 2).sum(axis=1) for part in "12"]
    for u, rows in enumerate(units):
        named = sorted(part for _, part in rows if part is not None)
        own = named[0] if named else None
        mine = sum(g in "ab" and part == own for g, part in rows) if named else 0
        assert [int(count[u]) for count in seen] == [min(2, mine) if own == part else 0 for part in "12"], rows


def test_rows_are_one_question_in_whatever_case_they_are_written(tmp_path):
    """The ledger knows no case: a column named Rows, of one value for each unit, must not get the answer of the rows."""
    table = pandas.DataFrame({"u": [1, 1, 1, 2], "Rows": ["a", "a", "a", "b"]})
    with dt.Ledger(tmp_path / "b.db") as ledger:
        ledger.create("d", 9, relation="add-remove", unit="u")
        asked = {"dataset": "d", "ledger": ledger, "epsilon": 1, "count": "*", "max_rows": 3}
        first, again = (ask_release(table, counted=counted, **asked) for counted in ("rows", "Rows"))
    assert (again.record["repeated"], again.columns) == (True, first.columns)
    assert again.record["counted"] == first.record["counted"] == "rows"
    assert dt.Question(counted="Units") == dt.Question()


def test_so_many_of_a_unit_that_no_epsilon_is_left_are_refused_as_that(tmp_path):
    with dt.Ledger(tmp_path / "b.db") as ledger:
        ledger.create("d", 9, relation="add-remove", unit="u")
        with pytest.raises(ReleaseError, match="an epsilon below 2"):
            ledger["d"].release(pandas.DataFrame({"u": [1]}), epsilon=1, counted="rows", max_rows=10**99)


def test_the_unit_itself_is_not_what_is_counted_within_it(tmp_path):
    with dt.Ledger(tmp_path / "b.db") as ledger:
        ledger.create("d", 9, relation="add-remove", unit="home")
        with pytest.raises(ReleaseError, match="Home is the unit itself"):
            ledger["d"].preview(table=HOMES, epsilon=1, counted="Home", max_rows=3)


def test_more_groups_for_a_person_than_there_are_cost_no_noise(tmp_path):
    with dt.Ledger(tmp_path / "b.db") as ledger:
        ledger.create("d", 9, relation="add-remove", unit="home")
        asked = {"dataset": "d", "ledger": ledger, "epsilon": 1, "by": "g", "domain": {"g": ["a", "b"]}}
        widths = [ask_preview(HOMES, max_groups=k, **asked).rows()[0]["half width"] for k in (1, 2, 9)]
    assert widths[0] < widths[1] == widths[2]


HOMES = pandas.DataFrame(  # 5 units of 1 to 5 rows; those with an even number of rows lie in both groups
    [(u, "ab"[r % 2] if n % 2 == 0 else "a") for u, n in enumerate((1, 2, 3, 4, 5)) for r in range(n)],
    columns=["home", "g"],
)


@for_each(
    "more, cut",
    [
        ({}, "2 units have rows in more than 1 of the groups"),
        ({"counted": "rows", "max_rows": 3}, "2 units have more than 3 rows in the groups"),
        ({"counted": "rows", "max_rows": 4}, "1 unit has more than 4 rows in the groups"),
        ({"counted": "rows", "max_rows": 5}, "No unit has more than 5 rows in the groups: all are counted whole"),
        ({"max_groups": 1}, "2 units have rows in more than 1 of the groups"),  # said on purpose: no advice
        ({"max_groups": 2}, None),
    ],
)
def test_what_is_cut_off_is_said_before_paying_and_its_number_to_the_holder_alone(more, cut, tmp_path):
    """A preview says all that the release will say; in how many units something is cut off stands in the check alone."""
    book, name = dt.Ledger(tmp_path / "budget.db"), f"town {more}"
    book.create(name, budget=9, relation="add-remove", unit="home")
    asked = {"dataset": name, "ledger": book, "by": ["g"], "domain": {"g": ["a", "b"]}, "epsilon": 1, **more}
    shown = ask_preview(HOMES, **asked, check=True)
    assert (shown.check.cut or "").startswith(cut or "")
    assert (shown.check.cut is None) == (cut is None)
    assert cut is None or cut in str(shown.check)
    caution = "Choose such limits from public knowledge, not by this number."
    assert (shown.check.cut or caution).endswith(caution)
    alone = ask_preview(HOMES, **asked)
    made = ask_release(HOMES, **asked)
    assert all(warning in str(alone) for warning in made.record["beware"])
    assert ("say in how many it is counted" in str(alone.advice)) == (not more)
    assert not any(cut and cut in text for text in (str(alone), str(alone.to_dict()), str(made), str(made.record)))
