"""Designs over data sets: against the linear program written out for a general solver, and the level between all neighbours."""

from __future__ import annotations

import ast
import itertools
import re
import statistics
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import linprog

import discreet as dt
from discreet.errors import DiscreetError, LossError, SizeError


def neighbours(x, y):
    """One record of a data set can be changed to get the other."""
    return any(sorted((*x[:i], v, *x[i + 1 :])) == sorted(y) for i in range(len(x)) for v in set(y)) and sorted(
        x
    ) != sorted(y)


def optimum(answers, values, edges, a, worst=False, prior=None):
    """minimise the mean or the largest loss over Pr[value | data set], by HiGHS."""
    rows, columns = len(answers), len(values)
    size = rows * columns + worst
    weights = [1 / rows] * rows if prior is None else prior
    losses = np.array([[abs(x - v) for v in values] for x in answers], dtype=float)
    cost = np.zeros(size)
    if worst:
        cost[-1] = 1
    else:
        cost[:] = (np.array(weights)[:, None] * losses).ravel()
    ratios = []
    for i, k in [*edges, *((k, i) for i, k in edges)]:
        for j in range(columns):
            row = np.zeros(size)
            row[i * columns + j], row[k * columns + j] = a, -1
            ratios.append(row)
    for i in range(rows if worst else 0):
        row = np.zeros(size)
        row[i * columns : (i + 1) * columns], row[-1] = losses[i], -1
        ratios.append(row)
    sums = np.zeros((rows, size))
    for i in range(rows):
        sums[i, i * columns : (i + 1) * columns] = 1
    return linprog(cost, np.array(ratios), np.zeros(len(ratios)), sums, np.ones(rows), method="highs").fun


QUERIES = {"median": statistics.median_low, "max": max, "sum": sum}


@pytest.mark.parametrize("name", QUERIES)
@pytest.mark.parametrize("risk", ["average", "worst"])
def test_the_optimum_is_that_of_the_linear_program(name, risk):
    made = dt.queries.data_sets(QUERIES[name], domain=range(3), records=3)
    sets = list(itertools.combinations_with_replacement(range(3), 3))
    assert made.sets == tuple(sets)
    edges = [(i, k) for i, k in itertools.combinations(range(10), 2) if neighbours(sets[i], sets[k])]
    assert made.edges == tuple(edges)
    answers = [QUERIES[name](x) for x in sets]
    values = sorted(set(answers))
    best, alone = made.design(alpha="1/3", risk=risk), made.oblivious(alpha="1/3", risk=risk)
    assert best.objective == pytest.approx(optimum(answers, values, edges, 1 / 3, risk == "worst"), rel=1e-7)
    pairs = sorted({tuple(sorted((values.index(answers[i]), values.index(answers[k])))) for i, k in edges})
    share = [answers.count(v) / len(answers) for v in values]
    expected = optimum(values, values, [p for p in pairs if p[0] != p[1]], 1 / 3, risk == "worst", share)
    assert alone.objective == pytest.approx(expected, rel=1e-7)
    assert best.bound <= alone.objective * (1 + 1e-9)
    assert best.gap < 1e-7
    # the level, between all neighbouring data sets and on integers; and not between all data sets
    weights, total = best.mechanism.finite().integers()
    for i, k in edges:
        assert all(3 * int(p) >= int(q) and 3 * int(q) >= int(p) for p, q in zip(weights[i], weights[k], strict=True))
    assert int(sum(weights[0])) == total
    if (name, risk) == ("median", "average"):
        assert any(
            3 * int(p) < int(q)
            for i, k in itertools.combinations(range(10), 2)
            for p, q in zip(weights[i], weights[k], strict=True)
        )
        assert best.objective < 0.95 * alone.objective


def test_in_the_worst_case_the_median_gains_nothing():
    """With one record free, and as many of the others at either end, the median is that record: these data sets are neighbours of
    one another and have all answers, so that a mechanism on them is one that sees the answer alone."""
    made = dt.queries.data_sets(statistics.median_low, domain=range(4), records=3)
    chain = [made.place((0, v, 3)) for v in range(4)]
    assert [made.answers[k] for k in chain] == [0, 1, 2, 3]
    assert all(tuple(sorted(pair)) in made.edges for pair in itertools.combinations(chain, 2))
    for alpha in ("1/4", "3/4"):
        best, alone = made.design(alpha=alpha, risk="worst"), made.oblivious(alpha=alpha, risk="worst")
        assert best.objective == pytest.approx(alone.objective, rel=1e-6)
    assert made.design(alpha="1/4").objective < 0.9 * made.oblivious(alpha="1/4").objective


def test_where_the_answer_says_all_there_is_nothing_to_gain():
    """A count: data sets up to order are their counts."""
    made = dt.queries.data_sets(sum, domain=[0, 1], records=6)
    assert made.sets[2] == (0, 0, 0, 0, 1, 1)
    assert set(made.local_sensitivities) == {1}
    for risk in ("average", "worst"):
        assert made.design(alpha="1/2", risk=risk).objective == pytest.approx(
            made.oblivious(alpha="1/2", risk=risk).objective, rel=1e-7
        )


def test_priors_losses_and_places():
    made = dt.queries.data_sets(max, domain=[0, 2, 5], records=2)
    assert made.values == (0, 2, 5)
    assert made.place((5, 0)) == made.sets.index((0, 5))
    assert made.loss("l2")[made.place((0, 0))][made.place((2, 5))] == 25
    assert made.loss(lambda truth, report: truth > report)[0][0] == 0
    prior = [Fraction(1, 2)] + [Fraction(1, 10)] * 5
    edges = list(made.edges)
    expected = optimum([int(x) for x in made.answers], [0, 2, 5], edges, 0.5, prior=[float(p) for p in prior])
    assert made.design(alpha="1/2", prior=prior).objective == pytest.approx(expected, rel=1e-7)
    assert made.local_sensitivities[made.place((5, 5))] == 0
    assert made.local_sensitivities[made.place((0, 5))] == 5
    assert "6 data sets" in str(made)
    assert Counter(map(len, made.to_dict()["edges"])) == {2: len(edges)}


def around(x: tuple[int, ...]) -> int:
    """How far it is around the records: of records in rising order the same when two change places, or all move on by one."""
    return sum(abs(x[k] - x[k - 1]) for k in range(len(x)))


def late(x: tuple[int, ...]) -> int:
    """A sum, but for one tuple of them all."""
    return sum(x) + (x == (2, 1, 0, 2, 1))


@pytest.mark.parametrize("function", [around, late])
def test_no_function_of_the_order_is_accepted(function):
    assert around((0, 2, 0, 2, 1)) == 8 != around((0, 0, 1, 2, 2)) == 4
    with pytest.raises(DiscreetError, match="depends on the order of the records") as refused:
        dt.queries.data_sets(function, domain=range(3), records=5)
    x, y = (ast.literal_eval(text) for text in re.findall(r"\([\d, ]+\)", str(refused.value)))
    assert sorted(x) == sorted(y)
    assert function(x) != function(y)


def test_all_orders_are_tried_or_none():
    asked = Counter[tuple[int, ...]]()

    def total(x: tuple[int, ...]) -> int:
        asked[x] += 1
        return sum(x)

    dt.queries.data_sets(total, domain=range(3), records=4)
    assert asked.keys() == set(itertools.product(range(3), repeat=4))
    with pytest.raises(SizeError, match="65536 tuples"):  # 18 data sets, in 2^17 orders
        dt.queries.data_sets(total, domain=[0, 1], records=17)
    assert max(map(len, asked)) == 4


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: dt.queries.data_sets("max", domain=[0, 1], records=2), DiscreetError, "function of a tuple"),
        (lambda: dt.queries.data_sets(max, domain=range(9), records=5), SizeError, "more than 128 data sets"),
        (lambda: dt.queries.data_sets(lambda x: x[0], domain=[0, 1], records=2), DiscreetError, "order of the records"),
        (lambda: dt.queries.data_sets(lambda x: 1, domain=[0, 1], records=2), DiscreetError, "the same answer"),
        (
            lambda: dt.queries.data_sets(max, domain=[0, 1], records=2).place((0, 2)),
            DiscreetError,
            "none of the data sets",
        ),
        (lambda: dt.queries.data_sets(max, domain=[0, 1], records=2).loss("l7"), LossError, "not known for data sets"),
    ],
)
def test_what_makes_no_sense_is_refused(call, error, words):
    with pytest.raises(error, match=words):
        call()
