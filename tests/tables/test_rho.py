"""Releases for a rho: what one person can change, by brute force over neighbouring data sets, and what it costs, decided exactly.

Gaussian noise of the weights q^(x^2) costs ln(1/q) for each squared step that a number moves by; a mechanism of a pure level costs
epsilon tanh(epsilon/2) for the epsilon of the move. Both are added up here over all numbers of a release, from the true numbers of
two data sets, without the code that divides a rho.
"""

from __future__ import annotations

import itertools
import math
import re
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas
import pytest

import discreet as dt
from discreet.engines.table import Table
from discreet.errors import LedgerError, ReleaseError
from discreet.exact.concentrated import keeps
from discreet.ledger.book import Terms
from discreet.questions.margins import best_rho_parts, largest_moves
from discreet.tables.count.true_numbers import counted_for
from discreet.tables.draw.choices import Share, gaussian_noise
from discreet.tables.draw.measures import measures_for, tiers_for
from tests.asking import ask_release, ask_release_to
from tests.cells import for_each

from . import test_counted, test_statistics
from .asking import ask
from .test_statistics import ANSWERS, ASKED, ROWS, UNDER_BIT, VALUES

RHO, NANO = Fraction(1, 50), Fraction(1, 10**9)
GAUSSIAN = {"mechanism": "gaussian"}


def terms_of(relation, unit=None, public=("world", "g", "person")):
    return Terms("d", Fraction(9), relation, public, unit, "then", delta=NANO)


def counted_in(rows, relation, rho=RHO, unit=None, columns=("world", "id", "g", "x", "flag"), **asked):
    """All measures of a question, those of its tiers too, with their true numbers."""
    kinds = {"x": "Float64", "flag": "boolean", "person": "Int64", "world": "Int64"}
    table = pandas.DataFrame(rows, columns=list(columns)).astype({k: v for k, v in kinds.items() if k in columns})
    question, terms = ask(rho=rho, **asked), terms_of(relation, unit)
    found = counted_for(question.question, terms, Table(table), None, False)
    sizes = found.sizes(relation)
    measures, truths = list(measures_for(question, terms, sizes)), []
    truths += [found.truth(m) for m in measures]
    for tier in tiers_for(question, terms, sizes):
        truths += [tier.added(found.truth(m)) for m in tier.measures]
        measures += tier.measures
    return question, measures, truths


def spent(m, moved):
    """What the noise of a measure costs when its numbers move so far: with 50 digits to spare a float is enough to compare."""
    mechanism = next(x for x in m.plan.values() if x is not None)
    told = mechanism.channel.concentration(1)
    if told is not None:
        return float((np.asarray(moved, dtype=float) ** 2).sum()) * -math.log1p(-float(1 - told[0]))
    # of a sum the level is that of its whole change
    epsilons = [abs(int(k)) / m.change * -math.log(m_level(m)) for k in moved]
    return sum(e * math.tanh(e / 2) for e in epsilons)


def m_level(m):
    return float(next(x for x in m.plan.values() if x is not None).alpha)


def worst(measures, truths, pairs):
    """Of neighbouring worlds the largest cost of each statistic (in each tier), and of all together."""
    found: dict[object, float] = {}
    for moved in {tuple(tuple(np.abs(t[a] - t[b]).tolist()) for t in truths) for a, b in pairs}:
        costs = [spent(m, steps) for m, steps in zip(measures, moved, strict=True)]
        found["all"] = max(found.get("all", 0.0), sum(costs))
        each: dict[object, float] = {}
        for m, cost in zip(measures, costs, strict=True):
            each[m.name, m.level] = each.get((m.name, m.level), 0.0) + cost
        for key, cost in each.items():
            found[key] = max(found.get(key, 0.0), cost)
    return found


def check(measures, truths, pairs, rho=RHO, tight=True, loose=()):
    """No neighbour costs more than was charged; and each statistic's part is used up by some, where the noise is Gaussian, and
    these worlds hold the values at both of its ends."""
    found = worst(measures, truths, pairs)
    assert found.pop("all") <= float(rho) * (1 + 1e-12)
    for (name, share), cost in found.items():
        assert cost <= float(share.rho) * (1 + 1e-12), name
        if tight and name not in loose:
            assert cost >= float(share.rho) * (1 - 1e-9), name


def noisier(measures, name, by):
    """The same with noise for a `by`-th of the squared steps of one statistic: a mistake."""
    return [
        replace(m, plan=dict.fromkeys(m.plan, gaussian_noise(wrong(m, by), 1))) if m.name == name else m
        for m in measures
    ]


def wrong(m, by):
    q = next(x for x in m.plan.values() if x is not None).channel.concentration(1)[0]
    return Fraction(math.exp(by * math.log(q))).limit_denominator(10**12)


def people(relation):
    """Two people over all kinds of row: the rows of all worlds, the neighbours, and how many worlds there are."""
    if relation == "add-remove":
        worlds = [()] + [(k,) for k in range(len(ROWS))]
        worlds += list(itertools.combinations_with_replacement(range(len(ROWS)), 2))
        place = {world: k for k, world in enumerate(worlds)}
        rows = [(place[world], 0, *ROWS[k]) for world in worlds for k in world]
        return rows, [(place[w], place[w[:j] + w[j + 1 :]]) for w in worlds for j in range(len(w))], len(worlds)
    private = list(itertools.product(VALUES, ANSWERS))
    worlds = [(g, p, q) for g in ("aa", "ab") for p in range(len(private)) for q in range(len(private))]
    place = {world: k for k, world in enumerate(worlds)}
    rows = [(k, 0, g[j], *private[(p, q)[j]]) for k, (g, p, q) in enumerate(worlds) for j in (0, 1)]
    pairs = [
        (k, place[g, other, q]) for k, (g, p, q) in enumerate(worlds) for other in range(len(private)) if other > p
    ]
    return rows, pairs, len(worlds)


@for_each("relation, asked", [("add-remove", ASKED), ("change-one", UNDER_BIT)])
def test_a_person_costs_no_more_than_was_charged_and_that_much(relation, asked):
    """Every statistic under both relations, by all data sets of up to two people."""
    rows, pairs, worlds = people(relation)
    keys = {"world": list(range(worlds)), "g": ["a", "b"]}
    _, measures, truths = counted_in(rows, relation, by=["world", "g"], domain=keys, **asked, **GAUSSIAN)
    truths = [t.reshape(-1, 2) for t in truths]
    assert {m.name for m in measures} == {
        name for kind in asked.values() for name in (kind if kind != "flag" else ["count"])
    }
    check(measures, truths, pairs)
    for name in (
        "count",
        "plain",
        "average",
        "of some answers",
    ):  # negative control: as if one person moved a little less
        with pytest.raises(AssertionError):
            check(noisier(measures, name, 1.02), truths, pairs)
    for name in (
        ("of some", "chosen") if relation == "change-one" else ()
    ):  # and as if somebody moved one number of a pair
        with pytest.raises(AssertionError):
            check(noisier(measures, name, 2), truths, pairs)


@for_each("rho", [Fraction(1, 50), Fraction(3), Fraction(60)])
@for_each("relation, asked", [("add-remove", ASKED), ("change-one", UNDER_BIT)])
def test_what_is_chosen_costs_no_more_either(relation, asked, rho):
    """Where rho is large, pure levels have the smaller error, and cost epsilon tanh(epsilon/2)."""
    rows, pairs, worlds = people(relation)
    keys = {"world": list(range(worlds)), "g": ["a", "b"]}
    _, measures, truths = counted_in(rows, relation, rho, by=["world", "g"], domain=keys, **asked)
    check(measures, [t.reshape(-1, 2) for t in truths], pairs, rho, tight=False)
    families = {x.recipe.family for m in measures for x in m.plan.values() if x is not None}
    assert rho > 1 or "gaussian" in families
    assert rho < 60 or families & {"geometric", "staircase"}


@pytest.mark.long
@for_each("relation", ["add-remove", "change-one"])
@for_each("max_groups", [1, 2])
def test_units_in_several_groups_cost_no_more_than_was_charged(relation, max_groups):
    """With ids: a person's one or two rows over both groups and three values, beside somebody else's; cells and measured totals.

    In the total of all groups a person in both of them moves by two, which costs four times as much as one step."""
    asked = {
        "count": "flag",
        "sum": {"s": "x:-2..4/2", "f": "x:-2..4/2 missing 2"},
        "share": {"p": "flag", "a": "flag missing out"},
    }
    asked |= {
        "mean": {"m": "x:-2..4/2 missing 0", "o": "x:-2..4/2 missing out"},
        "measure_totals": {"total": 1, "cells": 2},
    }
    ends = list(itertools.product("ab", (-9.0, 3.0, None)))
    some = [(), *((k,) for k in ends), *itertools.combinations_with_replacement(ends, 2)]
    places = {k: [g for g, _ in rows] for k, rows in enumerate(some)}
    pairs = [(0, k) for k in range(1, len(some))]
    if relation == "change-one":
        pairs = [(a, b) for a, b in itertools.combinations(range(1, len(some)), 2) if places[a] == places[b]]
    found = []
    other = [(0, 8, "a", 1.0, True), (0, 8, "b", None, False), (0, 8, "b", 1.5, True)]
    for mine in some:
        rows = [(0, 7, g, x, None if x is None else x == 3) for g, x in mine] + other
        asked_of = {"by": ["g"], "domain": {"g": ["a", "b"]}, "max_groups": max_groups, **asked, **GAUSSIAN}
        _, measures, truths = counted_in(rows, relation, unit="id", **asked_of)
        found.append((measures, truths))
    stacked = [np.stack([truths[k] for _, truths in found]) for k in range(len(found[0][1]))]
    check(found[1][0], stacked, pairs)
    if max_groups == 2:  # negative control: totals as if a person were in one of their groups
        once = [m if len(m.level.moves) != 1 else spoiled(m) for m in found[1][0]]
        with pytest.raises(AssertionError):
            check(once, stacked, pairs)


def spoiled(m):
    """Noise for (m, sqrt(m)) where the moves of one total add up."""
    share = Share(m.level.rho, (1,) * sum(m.level.moves))
    return replace(m, plan=dict.fromkeys(m.plan, share.noise(*m.moved)))


@pytest.mark.long
@for_each("relation, counted, k", test_counted.CELLS)
def test_rows_of_a_unit_may_all_be_in_one_group(relation, counted, k):
    """k rows in all are (k, k): no root of k is saved. By the worlds of test_counted, and by (k, sqrt(k)) as a mistake."""
    pairs = test_counted.neighbours(relation)
    truths, worlds = [], len(pairs)
    for side in (0, 1):
        rows = [(w, *row, w) for w, pair in enumerate(pairs) for row in pair[side]]
        _, measures, found = counted_in(
            rows,
            relation,
            unit="u",
            columns=("u", "g", "person", "x", "flag", "world"),
            by=["world", "g"],
            domain={"world": list(range(worlds)), "g": ["a", "b"]},
            counted=counted,
            max_rows=k,
            **test_counted.ASKED,
            **GAUSSIAN,
        )
        truths.append([t.reshape(worlds, 2) for t in found])
    both = [np.concatenate(pair) for pair in zip(*truths, strict=True)]
    own = [(w, w + worlds) for w in range(worlds)]
    check(measures, both, own, loose=("some",) if relation == "change-one" else ())
    if k > 1:
        less = [replace(m, plan=dict.fromkeys(m.plan, Share(m.level.rho, (1,) * k).noise(*m.moved))) for m in measures]
        with pytest.raises(AssertionError):
            check(less, both, own)


@for_each("sizes", [(3, 2, 1), (1, 1, 1, 1), (2, 2, 2), (5,), (4, 1)])
@for_each("most", range(1, 7))
def test_moves_are_the_worst_of_all(sizes, most):
    """Against every way to lie in up to `most` of the groups."""
    place = np.repeat(np.arange(len(sizes)), sizes)
    groups = itertools.chain.from_iterable(
        itertools.combinations(range(len(place)), k) for k in range(min(most, len(place)) + 1)
    )
    squares = max(int((np.bincount(place[list(some)]) ** 2).sum()) if some else 0 for some in groups)
    assert sum(k * k for k in largest_moves(place, most)) == squares


@for_each("sizes", [(1, 240), (1, 12, 240), (7, 7), (2, 50, 51, 1000)])
def test_parts_of_rho_have_the_least_squared_error(sizes):
    """Against the solution by Lagrange, and against every other division in hundredths that moves one of them."""
    parts = best_rho_parts(sizes, [1] * len(sizes))
    assert sum(parts) == 1
    roots = [math.sqrt(x) for x in sizes]
    error = lambda some: sum(n / p for n, p in zip(sizes, some, strict=True))  # noqa: E731 - of all tables together
    assert error([float(p) for p in parts]) <= sum(roots) ** 2 * 1.01
    for a, b in itertools.permutations(range(len(sizes)), 2):
        moved = [float(p) for p in parts]
        moved[a] += 0.05
        moved[b] -= 0.05
        if moved[b] > 0:
            assert error(moved) > error([float(p) for p in parts]) * 0.999


@for_each("moves", [(1,), (1, 1, 1), (4,), (3, 1), (2, 2)])
@for_each("rho", [Fraction(1, 1000), Fraction(1, 7), Fraction(5)])
def test_a_share_pays_for_what_it_makes_and_for_nothing_more(moves, rho):
    share = Share(rho, moves)
    noise = share.noise(3, 2)
    assert share.pays(noise, 3, 2)
    assert not Share(rho * Fraction(999, 1000), moves).pays(noise, 3, 2)
    assert keeps(noise.concentration[0], 18 * share.squares, rho)
    pure = dt.geometric(dt.Grid(0, None), alpha=share.level.alpha)
    assert share.pays(pure)
    assert not share.pays(dt.geometric(dt.Grid(0, None), alpha=share.level.alpha * Fraction(9, 10)))
    epsilon, most = -math.log(share.level.alpha), max(moves)
    assert sum(k * epsilon * math.tanh(k * epsilon / 2) for k in moves) <= float(rho) * (1 + 1e-9)
    if len(set(moves)) == 1:
        assert len(moves) * most * epsilon * math.tanh(most * epsilon / 2) > float(rho) * 0.99999


# The choice of a mechanism


@for_each("relation, size", [("add-remove", -1), ("change-one", 1), ("change-one", 64), ("change-one", 5000)])
@for_each("rho, family", [("1/1000", "gaussian"), ("1/50", "gaussian"), ("1/2", "gaussian"), ("9", "geometric")])
def test_counts_have_the_noise_with_the_smaller_error_for_the_same_charge(relation, size, rho, family):
    """Without ends in groups of every size: Gaussian noise has half the variance where rho is small."""
    (m,) = measures_for(ask(rho=rho, count="ill"), terms_of(relation), np.array([size]))
    chosen = m.plan[size]
    assert (chosen.recipe.family, chosen.inputs) == (family, dt.Grid(None, None))
    both = m.level.noise(), dt.geometric(dt.Grid(None, None), alpha=m.level.level.alpha)
    assert m.noise.mean_absolute == min(each.channel.noise.mean_absolute for each in both)
    ratio = float(m.noise.variance) / float(both[1].channel.noise.variance)
    assert ratio <= 1
    if rho == "1/1000":
        assert abs(ratio - 0.5) < 0.01


# What is refused


@pytest.fixture
def books(tmp_path):
    with dt.Ledger(tmp_path / "l.db") as ledger:
        ledger.create("pure", 4, relation="add-remove")
        ledger.create("census", rho="1/5", delta="1e-9", relation="add-remove")
        yield ledger


TABLE = {"g": ["a", "b"] * 50, "x": list(range(100))}


@for_each(
    "asked, words",
    [
        ({"dataset": "pure", "rho": "1/100"}, "budget of pure epsilon, and Gaussian noise keeps none"),
        ({"rho": "1/100", "epsilon": "1"}, "exactly one of epsilon, alpha and rho"),
        ({"rho": "1/100", "mechanism": "geometric"}, "mechanism geometric keeps an epsilon: ask with epsilon"),
        ({"epsilon": "1", "mechanism": "gaussian"}, "Gaussian noise keeps no epsilon, it keeps a rho"),
        ({"rho": "0"}, "rho = '0' must be a number from 2"),
        ({"rho": "1"}, "rho 1/5 left of its budget 1/5, but 1 was asked"),
        ({"rho": "1/100", "mechanism": dt.gaussian(dt.Grid(0, None), rho="1/50")}, "costs more than rho 0.01"),
        ({"rho": "1/100", "mechanism": dt.geometric(dt.Grid(0, None), epsilon=1)}, "costs more than rho 0.01"),
    ],
)
def test_refusals_say_why_and_charge_nothing(books, asked, words):
    import pyarrow as pa

    given = {"dataset": "census", "by": ["g"], "domain": {"g": ["a", "b"]}, **asked}
    with pytest.raises((ReleaseError, LedgerError, dt.errors.LevelError), match=words):
        ask_release(pa.table(TABLE), ledger=books, **given)
    assert books["census"].balance().spent == books["pure"].balance().spent == 0


def test_audiences_are_refused_gaussian_noise_with_the_reason(books):
    import pyarrow as pa

    asked = {"dataset": "census", "ledger": books, "by": ["g"], "domain": {"g": ["a", "b"]}}
    with pytest.raises(ReleaseError, match="of Gaussian noise that is not proved"):
        ask_release_to(pa.table(TABLE), audiences={"all": "1/10"}, mechanism="gaussian", **asked)
    with pytest.raises(ReleaseError, match="Audiences have epsilons"):
        ask_release_to(pa.table(TABLE), audiences={"all": "1/10"}, rho="1/800", **asked)
    made = ask_release_to(
        pa.table(TABLE), audiences={"office": "1/5", "all": "1/10"}, **asked
    )  # pure levels are charged as rho
    assert made["all"].record["audience"]["charged"] == "1/5"
    spent_rho = books["census"].balance().spent
    assert Fraction(1, 5) ** 2 / 2 * Fraction(99, 100) < spent_rho < Fraction(1, 5) ** 2 / 2


def test_mechanisms_of_ones_own_are_drawn_where_rho_pays_for_them(books):
    import pyarrow as pa

    own = [dt.gaussian(dt.Grid(0, None), rho="1/100"), dt.geometric(dt.Grid(0, None), epsilon="1/10")]
    for m in own:
        made = books["census"].release(pa.table(TABLE), by=["g"], domain={"g": ["a", "b"]}, rho="1/100", mechanism=m)
        assert made.record["mechanisms"][0]["family"] == m.recipe.family
    assert test_statistics.ALPHA  # the worlds above are those of the pure tests


# From the command line to a page that others check


def test_the_command_line_releases_for_a_rho(tmp_path, monkeypatch, capsys):
    from discreet import verify
    from discreet.cli import main

    monkeypatch.chdir(tmp_path)
    lines = [f"{'ab'[k % 2]},{k % 7}" for k in range(400)]
    (tmp_path / "people.csv").write_text("\n".join(["g,x", *lines, ""]))
    (tmp_path / "domain.json").write_text('{"g": ["a", "b"]}')

    def run(*words):
        with pytest.raises(SystemExit) as ended:
            main(list(words))
        told = capsys.readouterr()
        return int(ended.value.code or 0), told.out, told.err

    where = ("--ledger", "b.db", "--dataset", "census")
    asked = ("people.csv", *where, "--count", "x > 3", "--by", "g", "--domain", "domain.json", "--rho", "1/100")
    assert (
        run(
            "ledger",
            "create",
            "census",
            "--ledger",
            "b.db",
            "--rho",
            "1/50",
            "--delta",
            "1e-9",
            "--relation",
            "add-remove",
        )[0]
        == 0
    )
    assert run("admit", "people.csv", *where)[0] == 0
    code, out, _ = run("preview", *asked)
    assert (code, "The release would charge rho 0.01; nothing was drawn or charged." in out) == (0, True)
    assert re.search(r"each group +2 +14 ", out)
    code, out, _ = run("release", *asked, "--check")
    assert (code, "It would charge rho 0.01 of 0.02 left" in out) == (0, True)
    code, out, _ = run("release", *asked, "-o", "released.csv", "--margins", "total")
    assert (code, "Charged rho 0.01." in out, "rho 0.01 of 0.02 spent, 0.01 left" in out) == (0, True, True)
    assert run("check-release", "released.json", "--ledger", "b.db")[0] == 0
    assert (
        run("ledger", "export", "census", "--ledger", "b.db", "--release", "released.json", "-o", "ledger.json")[0] == 0
    )
    assert verify.main(["ledger.json", "released.json"]) == 0
    page = (tmp_path / "released.html").read_text(encoding="utf-8")
    assert "2 groups, rho 0.01, " in page
    # epsilon of rho 1/100 at delta 1e-9 is 0.8102: e to it is 2.249
    assert "is at most 2.25 times as likely with your data as without, plus 1e-9." in page
    code, _, err = run("release", *(w if w != "x > 3" else "x > 4" for w in asked[:-1]), "1/99")
    assert code == 2
    assert "rho 0.01 left of its budget 0.02, but 1/99 was asked" in err


@for_each("rho, most", itertools.product(("100", "99", "50", "50/3", "1/100"), (2, 3, 7, 29, 40)))
def test_a_pure_mechanism_that_is_chosen_for_rows_is_paid_for(rho, most):
    """Where epsilon tanh(epsilon/2) is epsilon, the roots of a level are charged in steps of 1e-12, each rounded up."""
    share = Share(Fraction(rho), (most,))
    m = dt.geometric(dt.Grid(None, None), alpha=share.level.alpha)
    assert share.pays(m)
    assert not Share(share.rho * Fraction("0.99999"), (most,)).pays(m)  # and hardly less would pay for it
