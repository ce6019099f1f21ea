"""Sums, means and shares: what one person can change, by brute force; intervals that cover, exactly and in simulation."""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from math import prod

import numpy as np
import pandas
import polars
import pytest

import discreet as dt
from discreet.engines.table import Table
from discreet.errors import ReleaseError
from discreet.exact.grid import FARTHEST
from discreet.ledger.book import Terms
from discreet.tables.count.true_numbers import counted_for
from discreet.tables.draw.choices import best_noise, open_noise
from discreet.tables.draw.measures import change_of, measures_for
from discreet.tables.publish.readings import COVERAGE, in_steps, published
from tests.asking import ask_preview, ask_release

from .asking import ask

ALPHA = Fraction(1, 3)
ASKED = {
    "count": "flag",
    "sum": {"plain": "x:-2..4/2", "some": "x:-2..4/2 where flag", "filled": "x:-2..4/2 missing 2", "above": "x:2..4"},
    "mean": {"average": "x:-2..4/2 missing 0", "from one": "x:1..4/3", "chosen": "x:-2..4/2 where flag missing 2"},
    "share": {
        "part": "flag",
        "of answers": "flag missing out",
        "of some": "flag where x > 0",
        "of some answers": "flag where x > 0 missing out",
    },
}
UNDER_BIT = {
    **ASKED,
    "sum": {**ASKED["sum"], "odd": "x:-1..5/2 missing 1"},
    "mean": {**ASKED["mean"], "from one": "x:1..4/3 missing out"},
}
VALUES = (None, -9.0, -2.0, 0.9, 3.0, 50.0)  # missing, beyond the bounds, at them, between


def terms_of(relation, unit=None):
    return Terms("d", Fraction(9), relation, ("world", "g"), unit, "then")


def measured(rows, relation, asked, keys, by, unit=None, max_groups=1):
    """The measures of a question and their true numbers: one row of groups for each world."""
    table = pandas.DataFrame(rows, columns=["world", "id", "g", "x", "flag"]).astype(
        {"x": "Float64", "flag": "boolean"}
    )
    question = ask(alpha=ALPHA, by=by, domain=keys, max_groups=max_groups, **asked)
    terms = terms_of(relation, unit)
    found = counted_for(question.question, terms, Table(table), None, False)
    measures = measures_for(question, terms, found.sizes(relation))
    return question, measures, [found.truth(m).reshape(-1, 2) for m in measures]


@lru_cache(maxsize=4096)
def factor(noise, steps: int) -> Fraction:
    """How many times as likely a report can be when the truth moves by so many steps: from the law of the noise."""
    if steps == 0:
        return Fraction(1)
    return max(noise.exact(k - steps) / noise.exact(k) for k in range(-80, 81))


def losses(measures, truths, pairs):
    """Of neighbouring worlds the largest product of factors over a statistic's groups and measures, and over all of them."""
    worst: dict[str, Fraction] = {}
    for moved in {tuple(tuple(np.abs(t[a] - t[b]).tolist()) for t in truths) for a, b in pairs}:
        each: dict[str, Fraction] = {}
        for m, steps in zip(measures, moved, strict=True):
            noise = next(x for x in m.plan.values() if x is not None).channel.noise
            # a count of a small public group has no noise of its own: its level is that of its mechanism
            mine = [1 / m.level.alpha ** int(k) if noise is None else factor(noise, int(k)) for k in steps]
            each[m.name] = each.get(m.name, Fraction(1)) * prod(mine)
        for name, loss in {**each, "all": prod(each.values())}.items():
            worst[name] = max(worst.get(name, Fraction(1)), loss)
    return worst


def check(question, measures, truths, pairs):
    """No neighbour costs more than was charged, and each statistic's part is used up by some (but for rounding of levels)."""
    worst = losses(measures, truths, pairs)
    assert worst["all"] <= 1 / ALPHA
    for one in question.question.statistics:
        assert question.level.admits(
            1 / worst[one.name], one.weight.denominator
        )  # the weights are equal: 1 over their number
        assert float(worst[one.name]) >= float(ALPHA) ** (-float(one.weight)) * (1 - 1e-9), one.name


ANSWERS = (True, False, None)
ROWS = list(itertools.product("ab", VALUES, ANSWERS))


def test_adding_a_person_changes_no_more_than_was_charged_and_that_much():
    """Presence: all data sets of up to two people over 36 kinds of row, each with every person removed."""
    worlds = (
        [()] + [(k,) for k in range(len(ROWS))] + list(itertools.combinations_with_replacement(range(len(ROWS)), 2))
    )
    place = {world: k for k, world in enumerate(worlds)}
    rows = [(place[world], 0, *ROWS[k]) for world in worlds for k in world]
    pairs = [(place[world], place[world[:j] + world[j + 1 :]]) for world in worlds for j in range(len(world))]
    keys = {"world": list(range(len(worlds))), "g": ["a", "b"]}
    question, measures, truths = measured(rows, "add-remove", ASKED, keys, ["world", "g"])
    check(question, measures, truths, pairs)
    halved = [
        replace(m, plan={-1: open_noise("geometric", m.change // 2, m.level)}) if m.name == "plain" else m
        for m in measures
    ]
    with pytest.raises(AssertionError):  # negative control: noise for half of the change is found out
        check(question, halved, truths, pairs)


def test_changing_what_is_private_changes_no_more_than_was_charged_and_that_much():
    """Bit: all data sets of two people in the same or in two groups, each with every other value of one of them."""
    private = list(itertools.product(VALUES, ANSWERS))
    worlds = [(g, p, q) for g in ("aa", "ab") for p in range(len(private)) for q in range(len(private))]
    place = {world: k for k, world in enumerate(worlds)}
    rows = [(k, 0, g[j], *private[(p, q)[j]]) for k, (g, p, q) in enumerate(worlds) for j in (0, 1)]
    pairs = [
        (k, place[g, other, q]) for k, (g, p, q) in enumerate(worlds) for other in range(len(private)) if other > p
    ]
    keys = {"world": list(range(len(worlds))), "g": ["a", "b"]}
    question, measures, truths = measured(rows, "change-one", UNDER_BIT, keys, ["world", "g"])
    check(question, measures, truths, pairs)
    for name in ("of answers", "of some", "of some answers", "from one", "chosen"):
        halved = [
            replace(m, plan={2: open_noise("geometric", m.change // 2, m.level)}) if m.name == name else m
            for m in measures
        ]
        with pytest.raises(AssertionError):  # negative control: noise as if a person moved one number of the two
            check(question, halved, truths, pairs)


@pytest.mark.long
@pytest.mark.parametrize("relation", ["add-remove", "change-one"])
@pytest.mark.parametrize("max_groups", [1, 2])
def test_people_with_several_rows_and_groups_change_no_more_than_was_charged(relation, max_groups):
    """With ids: a person's one or two rows over both groups and three values, beside somebody else's."""
    asked = {
        "count": "flag",
        "sum": {"s": "x:-2..4/2", "f": "x:-2..4/2 missing 2"},
        "share": {"p": "flag", "a": "flag missing out", "w": "flag where x > -10 missing out"},
        "mean": {"m": "x:-2..4/2 missing 0", "o": "x:-2..4/2 missing out"},
    }
    ends = list(itertools.product("ab", (-9.0, 3.0, None)))
    people = [(), *((k,) for k in ends), *itertools.combinations_with_replacement(ends, 2)]
    if relation == "add-remove":
        pairs = [(0, k) for k in range(1, len(people))]
    else:
        places = {k: [g for g, _ in rows] for k, rows in enumerate(people)}
        pairs = [(a, b) for a, b in itertools.combinations(range(1, len(people)), 2) if places[a] == places[b]]
    found = []
    other = [(0, 8, "a", 1.0, True), (0, 8, "b", None, False), (0, 8, "b", 1.5, True)]
    for mine in people:
        rows = [(0, 7, g, x, None if x is None else x == 3) for g, x in mine] + other
        question, measures, truths = measured(rows, relation, asked, {"g": ["a", "b"]}, ["g"], "id", max_groups)
        found.append((measures, truths))
    stacked = [np.concatenate([truths[k] for _, truths in found]) for k in range(len(found[0][1]))]
    worst = losses(found[1][0], stacked, pairs)
    assert worst["all"] <= 1 / ALPHA
    assert all(
        float(worst[one.name]) >= float(ALPHA) ** (-float(one.weight)) * (1 - 1e-9)
        for one in question.question.statistics
    )


@pytest.mark.parametrize(
    ("relation", "text", "change"),
    [
        ("add-remove", "x:0..100000/100", 1000),
        ("add-remove", "x:-30..10", 30),
        ("add-remove", "x:5..10/5", 2),
        ("change-one", "x:5..10 missing 7", 5),
        ("change-one", "x:5..10", 10),
        ("change-one", "x:-3..-1", 3),
        ("change-one", "x:-3..4 where y", 7),
        ("change-one", "x:0.5..10.5 missing 0.5", 10),
        ("change-one", "x:-4..4/2 where y missing 0", 4),
    ],
)
def test_the_change_of_a_sum_follows_from_what_is_declared(relation, text, change):
    (one,) = dt.Question(sum=text).statistics
    assert change_of(one, terms_of(relation))[0] == change


@pytest.mark.parametrize(
    ("relation", "text"),
    [
        ("add-remove", "x:0.5..10.5"),
        ("add-remove", "x:1..11/2 missing 1"),
        ("change-one", "x:0.5..10.5"),
        ("change-one", "x:1..11/2 where y missing 1"),
    ],
)
def test_bounds_that_would_tell_the_head_count_are_refused(relation, text):
    (one,) = dt.Question(sum=text).statistics
    with pytest.raises(ReleaseError, match="multiples of its step"):
        change_of(one, terms_of(relation))


@pytest.mark.parametrize(("change", "alpha"), [(1, "1/2"), (3, "1/2"), (7, "1/1000"), (40, "9/10")])
def test_totals_get_the_noise_with_the_smaller_expected_error(change, alpha):
    """The mean absolute error of both laws, added up term by term."""
    level = dt.Level.of(alpha=alpha)

    def error(m):
        k = np.arange(1, 400 * change)
        return 2 * float(k @ m.channel.noise.pmf(k))

    both = {family: error(open_noise(family, change, level)) for family in ("geometric", "staircase")}
    assert error(best_noise(change, (change, 1), level, tuple(both))) == pytest.approx(min(both.values()), rel=1e-9)


@pytest.mark.parametrize(
    ("family", "change"),
    [
        ("geometric", 2**59),  # reaches beyond 2^60, where no 63-bit report could lie
        ("geometric", 2**62),  # no level between 0 and 1 is left for one step
        ("staircase", 8193),  # longer than any stair
    ],
)
def test_noise_that_no_report_could_hold_is_refused(family, change):
    level = dt.Level.of(epsilon=1)
    with pytest.raises(ReleaseError, match=f"hides {change} steps .* Nothing was charged"):
        open_noise(family, change, level)
    assert open_noise("geometric", 2**58, level).channel.noise.reach(Fraction(1, 80)) < 2**60
    assert open_noise("staircase", 8192, level).sensitivity == 8192


# Intervals


def a_measure(relation, **asked):
    question = ask(alpha=Fraction(1, 4), **asked)
    size = np.array([-1]) if relation == "add-remove" else np.array([6])
    return measures_for(question, terms_of(relation), size), size


def shown(measures, reports, size):
    sizes = np.repeat(size, len(reports[0]))
    parts = [
        in_steps(m, sizes, np.asarray(d), (1 - COVERAGE) / len(measures))
        for m, d in zip(measures, reports, strict=True)
    ]
    return published(measures, parts, sizes)


@pytest.mark.parametrize(
    ("text", "any_size", "six_people"),
    [
        ("x:-1..2", (-FARTHEST, FARTHEST), (-6, 12)),
        ("x:-2..0", (-FARTHEST, 0), (-12, 0)),
        ("x:-3..-1", (-FARTHEST, 0), (-18, 0)),  # who has no value adds nothing
        ("x:0..2", (0, FARTHEST), (0, 12)),
        ("x:2..4/2", (0, FARTHEST), (0, 12)),
        ("x:-4..4/2", (-FARTHEST, FARTHEST), (-12, 12)),
    ],
)
def test_a_sum_lies_where_its_bounds_and_the_size_of_the_group_leave_it(text, any_size, six_people):
    for relation, ends in (("add-remove", any_size), ("change-one", six_people)):
        (measure,), size = a_measure(relation, sum=text)
        assert measure.ends(int(size[0])) == ends
    (filled,), _ = a_measure("change-one", sum=f"{text} missing {text[2:].partition('..')[0]}")
    low, high = filled.bounds
    assert filled.ends(6) == (0, 6 * (high - low) / filled.units[1])  # counted from the lower bound, by everybody


@pytest.mark.parametrize("kind", ["share", "mean"])
def test_intervals_of_ratios_cover_every_truth_in_exact_enumeration(kind):
    """For each pair of true parts the probabilities of all reports whose interval holds the mean, as fractions."""
    asked = {"share": "y"} if kind == "share" else {"mean": "x:-1..2"}
    measures, size = a_measure("add-remove", **asked)
    low, high = (0, 1) if kind == "share" else (-1, 2)
    noise = measures[0].plan[-1].channel.noise
    reach = 10 * measures[0].change
    law = {k: noise.exact(k) for k in range(-reach, reach + 1)}
    least = Fraction(1)
    reports = np.array(list(itertools.product(law, law)))
    for u, v in [(0, 1), (3, 0), (2, 7), (30, 30)]:
        read = shown(measures, [reports[:, 0] + u, reports[:, 1] + v], size)
        mean = low + (high - low) * Fraction(u, u + v)
        held = np.array([a <= mean <= b for a, b in zip(read["low"], read["high"], strict=True)]).reshape(len(law), -1)
        covered = sum(
            p * sum(q for q, yes in zip(law.values(), row, strict=True) if yes)
            for p, row in zip(law.values(), held.tolist(), strict=True)
        )
        least = min(least, covered)
        assert all(low <= a <= b <= high for a, b in zip(read["low"], read["high"], strict=True))
        for value, a, b in zip(read["report"], read["low"], read["high"], strict=True):
            assert (value is None) == ((a, b) == (low, high))
            assert value is None or a <= value <= b
    assert COVERAGE <= least < 1


@pytest.mark.parametrize("relation", ["add-remove", "change-one"])
@pytest.mark.parametrize("text", ["x:-1..2/0.5", "x:2..4/2", "x:-4..4/4 missing 0"])
def test_intervals_of_sums_cover_every_truth_in_exact_enumeration(relation, text):
    for kind in ("sum",) if relation == "add-remove" else ("sum", "mean"):
        (measure,), size = a_measure(relation, **{kind: text})
        (m,) = measure.plan.values()
        start, step = measure.units
        people = max(int(size[0]), 0)
        over = people if kind == "mean" else 1
        law = {k: m.channel.noise.exact(k) for k in range(-15 * measure.change, 15 * measure.change + 1)}
        least, most = measure.ends(int(size[0])) if people else (0 if text.startswith("x:2") else -5, 5)
        for truth in {least, most, (least + most) // 2}:
            reports = np.array(list(law)) + truth
            read = shown([measure], [reports], size)
            value = (people * start + step * truth) / over
            held = [
                Fraction(a).limit_denominator(10**6) <= value <= Fraction(b).limit_denominator(10**6)
                for a, b in zip(read["low"], read["high"], strict=True)
            ]
            assert sum(law[k] for k, yes in zip(law, held, strict=True) if yes) >= COVERAGE
            assert not text.startswith("x:2") or min(read["low"]) >= 0  # nobody adds less
            exact = [(people * start + step * k) / over for k in reports.tolist()]
            assert read["report"] == [float(x) for x in exact]
            assert all(type(x) is (int if kind == "sum" and step.denominator == 1 else float) for x in read["report"])
            average = np.average(np.array(read["report"]), weights=[float(p) for p in law.values()])
            assert average == pytest.approx(float(value), abs=1e-6)


def test_intervals_cover_in_ten_thousand_simulated_releases():
    """And with the intervals of noise of a weaker level, the negative control, they do not."""
    size, times = 200, 10**4
    rng = np.random.default_rng(5)
    x = rng.integers(0, 11, size)
    for asked, truths in (
        ({"mean": "x:0..10"}, (x.sum(), (10 - x).sum())),
        ({"share": "y"}, (60, 140)),
        ({"sum": "x:0..10"}, (x.sum(),)),
    ):
        measures, none = a_measure("add-remove", **asked)
        source = dt.insecure_source(11)
        drawn = [m.plan[-1].sample(np.full(times, t), source=source) for m, t in zip(measures, truths, strict=True)]
        truth = truths[0] if len(truths) == 1 else measures[0].bounds[1] * truths[0] / sum(truths)

        def share(measures, drawn=drawn, none=none, truth=truth):
            read = shown(measures, drawn, none)
            return np.mean([a <= truth <= b for a, b in zip(read["low"], read["high"], strict=True)])

        assert share(measures) >= 0.95 - 4 * (0.95 * 0.05 / times) ** 0.5
        weak = [replace(m, plan={-1: open_noise("geometric", m.change, dt.Level.of(alpha="1/300"))}) for m in measures]
        assert share(weak) < 0.9


# Whole releases


@pytest.fixture
def ledger(tmp_path):
    with dt.Ledger(tmp_path / "budget.db") as book:
        book.create("bits", "50", relation="change-one", public=["g", "h"])
        book.create("people", "50", relation="add-remove")
        yield book


@pytest.fixture
def people() -> pandas.DataFrame:
    rng = np.random.default_rng(3)
    return pandas.DataFrame(
        {
            "g": rng.choice(["a", "b"], 300),
            "h": rng.integers(0, 2, 300),
            "x": rng.choice([1.2, 7.7, -3.0, 40.0, np.nan], 300),
            "ill": rng.choice([True, False], 300),
        }
    )


def quiet(monkeypatch):
    monkeypatch.setattr(dt.Mechanism, "sample", lambda self, values, clamp: np.asarray(values))


def test_every_statistic_is_what_pandas_makes_of_the_rows(people, ledger, monkeypatch):
    """Without noise: rounded to the nearest step, clamped, added; in the order of the statistics and groups."""
    quiet(monkeypatch)
    made = ledger["people"].release(
        people,
        count="ill",
        sum={"s": "x:0..10/0.5", "t": "x:-5..5 where ill"},
        mean="x:-1..9/2",
        share={"part": "ill"},
        by=["g"],
        domain={"g": ["b", "a"]},
        epsilon=40,
    )
    assert made.columns["statistic"] == [n for n in ("count", "s", "t", "x", "part") for _ in "ba"]
    rows = {(r["statistic"], r["g"]): r for r in made.rows()}
    for g, part in people.groupby("g"):
        assert rows["count", g]["report"] == part.ill.sum()
        assert rows["s", g]["report"] == (np.floor(part.x * 2 + 0.5) / 2).clip(0, 10).sum()
        assert rows["t", g]["report"] == np.floor(part.x[part.ill] + 0.5).clip(-5, 5).sum()
        there = part.x.dropna()
        assert rows["x", g]["report"] == pytest.approx((np.floor((there + 1) / 2 + 0.5) * 2 - 1).clip(-1, 9).mean())
        assert rows["part", g]["report"] == pytest.approx(part.ill.mean())
        assert rows["x", g]["report_u"] + rows["x", g]["report_v"] == 5 * len(there)
    assert made.record["epsilon_charged"] == "40"
    assert [one["epsilon"] for one in made.record["statistics"]] == ["8"] * 5


def test_under_bit_privacy_means_and_shares_are_over_the_public_size(people, ledger, monkeypatch):
    quiet(monkeypatch)
    made = ledger["bits"].release(
        people,
        sum="x:0.5..10.5 missing 0.5",
        mean={"m": "x:0..10/2"},
        share="ill",
        by=["g"],
        domain={"g": ["a", "none"]},
        epsilon=4,
    )
    part = people[people.g == "a"]
    total, mean, share = (made.columns["report"][k] for k in (0, 2, 4))
    assert total == np.where(part.x.isna(), 0.5, np.floor(part.x - 0.5 + 0.5) + 0.5).clip(0.5, 10.5).sum()
    assert mean == pytest.approx((np.floor(part.x.dropna() / 2 + 0.5) * 2).clip(0, 10).sum() / len(part))
    assert share == pytest.approx(part.ill.mean())
    assert made.columns["report"][1::2] == [0, None, None]  # nobody: a sum of 0, and no mean
    assert made.columns["low"][3] is None
    assert made.columns["mechanism"][1] == "public zero"


def test_epsilon_is_divided_as_the_weights_say(people, ledger):
    made = ledger["people"].release(
        people, count="ill", sum="x:0..10", weights={"x": "5/2", "count": "1/2"}, epsilon="3/2"
    )
    told = {one["name"]: (one["part"], one["epsilon"], Fraction(one["alpha"])) for one in made.record["statistics"]}
    assert {name: part[:2] for name, part in told.items()} == {"count": ("1/6", "1/4"), "x": ("5/6", "5/4")}
    assert made.columns["epsilon"] == ["1/4", "5/4"]
    level = dt.Level.of(epsilon="3/2")
    assert level.admits(told["count"][2] * told["x"][2])  # all together keep what was asked, exactly
    assert not level.admits((told["count"][2] - Fraction(1, 2**50)) * told["x"][2])
    assert ledger["people"].balance().spent == Fraction(3, 2)


def test_a_preview_says_what_a_release_would_have_and_costs_nothing(people, ledger):
    asked = {"dataset": "people", "ledger": ledger, "sum": "x:0..10", "mean": {"m": "x:0..10"}, "epsilon": 2}
    expected = ask_preview(people, **asked)
    assert ledger["people"].balance().spent == 0
    row = ask_release(people, **asked).rows()[0]
    assert row["high"] - row["low"] == 2 * expected.rows()[0]["half width"]
    assert row["standard_error"] == float(f"{expected.rows()[0]['standard error']:.10g}")  # as it is published
    assert expected.rows()[1]["error by size"] > 0
    assert "nothing was drawn or charged" in str(expected)


ORDERED = {
    "count": {"one": "ill and h = 1", "two": "h in (0, 1) or ill"},
    "sum": {"s": "x:0..10 where h = 1 and ill"},
    "epsilon": 3,
    "by": ["g", "h"],
    "domain": {"g": ["a", "b"], "h": [0, 1]},
}


@pytest.mark.parametrize(
    "change",
    [
        {"by": ["h", "g"]},
        {"domain": {"h": [1, 0], "g": ["b", "a"]}},
        {"by": ["G", "H"], "domain": {"G": ["a", "b"], "H": [0, 1]}},
        {
            "count": {"two": "ill or h in (1, 0)", "one": "h = 1 AND ill"},
            "sum": {"other": "x:0..10 where ill and h = 1"},
        },
    ],
)
def test_the_same_question_in_another_order_is_the_same_question(people, ledger, change):
    first = ledger["people"].release(people, **ORDERED)
    again = ledger["people"].release(people, **{**ORDERED, **change})
    assert again.record["repeated"]
    assert ledger["people"].balance().spent == 3

    def reports(made):
        renamed = {"other": "s"}
        keys = {name.lower(): values for name, values in made.columns.items()}
        names = [renamed.get(name, name) for name in keys["statistic"]]
        rows = zip(names, keys["g"], keys["h"], keys["report"], keys["low"], keys["high"], strict=True)
        return {row[:3]: row[3:] for row in rows}

    assert reports(again) == reports(first)
    assert again.columns[again.record["by"][0]][:2] == [
        key[0]
        for key in itertools.islice(
            itertools.product(*({**ORDERED, **change}["domain"][c] for c in again.record["by"])), 2
        )
    ]


@pytest.mark.parametrize(
    "change",
    [
        {"sum": {"s": "x:0..10 where h = 1 or ill"}},
        {"sum": {"s": "x:0..10/2 where h = 1 and ill"}},
        {"weights": {"s": 2}},
        {"sum": {"s": "x:0..10 where h = 1 and ill missing 0"}},
        {"domain": {"g": ["a", "b"], "h": [0, 2]}},
        {"sum": None, "mean": {"s": "x:0..10 where h = 1 and ill"}},
    ],
)
def test_another_question_is_another_question(people, ledger, change):
    ledger["people"].release(people, **ORDERED)
    assert not ledger["people"].release(people, **{**ORDERED, **change}).record["repeated"]


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"sum": "x:0..10/3"}, "whole number of steps"),
        ({"sum": {"x": dt.Grid(0, None)}}, "needs bounds"),
        ({"sum": "x:0..10 missing 11"}, "outside its bounds"),
        ({"sum": "x 0 10"}, "not a sum"),
        ({"sum": {}}, "Sums are declared"),
        ({"share": ["ill", 3]}, "share is"),
        ({"sum": "x:0..9", "weights": {"y": 1}}, "named x"),
        ({"sum": "x:0..9", "weights": {"x": 0}}, "positive"),
        ({"sum": "x:0..9", "mechanism": "geometric"}, "mechanism is for counts"),
        ({"sum": "x:0..9", "by": ["statistic"], "domain": {"statistic": [1]}}, "rename"),
    ],
)
def test_what_cannot_be_asked_is_refused_before_any_charge(people, ledger, asked, words):
    with pytest.raises(ReleaseError, match=words):
        ledger["people"].release(people, epsilon=1, **asked)
    assert ledger["people"].balance().spent == 0


@pytest.mark.parametrize(
    "asked",
    [
        {"mean": "x:0..9 where ill"},
        {"sum": {"h": dt.Grid(0, 9)}},
        {"share": "g = 'a'"},
        {"share": "g = 'a' where h = 1 missing out"},
    ],
)
def test_what_bit_privacy_does_not_allow_is_refused(people, ledger, asked):
    with pytest.raises(ReleaseError, match=r"missing out.* or .*missing VALUE|public columns alone"):
        ledger["bits"].release(people, epsilon=1, by=["g"], domain={"g": ["a"]}, **asked)
    assert ledger["bits"].balance().spent == 0


def test_sums_and_means_of_every_kind_of_table_make_frames(people, ledger):
    for table, version in ((people, "1"), (polars.from_pandas(people), "2")):
        made = ledger["people"].release(
            table,
            version=version,
            count="ill",
            mean="x:0..10",
            share={"p": "ill"},
            by=["g"],
            domain={"g": ["a", "nowhere"]},
            epsilon=1,
        )
        assert (len(made.to_pandas()), made.to_polars().height, made.to_arrow().num_rows) == (6, 6, 6)
