"""Comparing: every number against its definition, entry by entry, and the same story for people and machines."""

from __future__ import annotations

import itertools
import json
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.sparse import csr_array

import discreet as dt
from discreet.errors import DiscreetError, LevelError
from discreet.registry import FAMILIES
from tests import reference


def mean(law, cost) -> Fraction:
    size = len(law)
    return sum(law[i][j] * cost(i, j) for i in range(size) for j in range(size)) / size


def test_the_numbers_are_those_of_the_definitions():
    a = Fraction(9, 10)
    found = dt.compare(8, alpha=a)
    laws = {
        "GM": reference.geometric(8, a),
        "EM": reference.explicit_fair(8, a),
        "kRR": reference.randomized_response(8, a),
    }
    for name, law in {**laws, "UM": reference.uniform(8)}.items():
        row = found[name]
        l0, l1, l2 = (
            float(mean(law, cost)) for cost in (lambda i, j: i != j, lambda i, j: abs(i - j), lambda i, j: (i - j) ** 2)
        )
        assert (row["L0"], row["L1"], row["L2"]) == pytest.approx((l0, l1, l2))
        assert (row["rescaled"], row["RMSE"]) == pytest.approx((l0 * 9 / 8, math.sqrt(l2)))
        assert row["worst"] == pytest.approx(
            float(max(sum(p * abs(i - j) for j, p in enumerate(law[i])) for i in range(9)))
        )
        columns = [min(sum(law[i][j] * abs(i - g) for i in range(9)) for g in range(9)) for j in range(9)]
        assert row["best use"] == pytest.approx(float(sum(columns) / 9))
    assert found["GM"]["epsilon <="] == pytest.approx(math.log(10 / 9))
    assert found["GM"]["local <="] == pytest.approx(8 * math.log(10 / 9))
    assert all(row["proved"] for row in found.rows())


def test_the_best_is_best_and_the_geometric_serves_as_well():
    found = dt.compare(6, alpha="3/4", loss="l2", prior="binomial(0.3)", require="WH, CM")
    best = found["best l2, CM,WH"]
    assert {"WH", "CM"} <= set(best["properties"].split())
    assert found["GM"]["best use"] <= best["L2"]
    assert best["L2"] <= min(found[name]["L2"] for name in ("EM", "UM", "kRR"))
    assert dt.compare(6, alpha="3/4", loss="l2", prior="binomial(0.3)")["best l2"]["L2"] == pytest.approx(
        found["GM"]["best use"], rel=1e-9
    )


def test_one_story_for_people_machines_and_notebooks():
    found = dt.compare(4, epsilon=1)
    assert len(repr(found)) < 200
    assert "\n" not in repr(found)
    assert [row["mechanism"] for row in found.rows()] == list(found.mechanisms)
    told = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert [row["mechanism"] for row in told["rows"]] == list(found.mechanisms)
    for name in found.mechanisms:
        assert name in str(found)
        assert f">{name}<" in found._repr_html_()


def test_every_family_that_can_be_compared_is_compared():
    names = [name for family in FAMILIES for name in family.compared]
    assert list(dt.compare(4, alpha="1/2").mechanisms) == [*names, "best l1"]
    assert {"GM", "EM", "WM", "UM", "kRR"} <= set(names)


def test_mechanisms_of_your_own():
    g, s = dt.geometric(4, alpha="1/2"), dt.traditional.suppression(4)
    alone = dt.compare(mechanisms=[g, s])
    assert list(alone.mechanisms) == ["geometric", "suppression"]
    assert alone.mechanisms["geometric"] is g
    assert not alone["suppression"]["proved"]
    assert alone.to_dict()["rows"][1]["epsilon <="] is None  # infinite
    assert dt.compare([g, s]) == alone
    assert list(dt.compare([g, g]).mechanisms) == ["geometric", "geometric (2)"]
    beside = dt.compare(4, alpha="1/2", mechanisms={"mine": g, "best l1": s})
    assert list(beside.mechanisms) == ["mine", "best l1", "best l1 (designed)"]
    assert beside["best l1 (designed)"]["L1"] <= beside["mine"]["L1"]


def test_a_loss_of_your_own_has_a_column():
    found = dt.compare(3, alpha="1/2", loss=lambda i, j: abs(i - j) ** 3)
    cubes = [[abs(i - j) ** 3 for j in range(4)] for i in range(4)]
    assert found["UM"]["a function"] == pytest.approx(np.mean(cubes))


@pytest.mark.parametrize(
    "ask",
    [
        {"n": 4},
        {"n": 4, "alpha": "1/2", "epsilon": 1},
        {"mechanisms": []},
        {"mechanisms": ["geometric"]},
        {"mechanisms": [dt.geometric(4, alpha="1/2")], "require": "WH"},
        {"mechanisms": [dt.geometric(4, alpha="1/2"), dt.geometric(5, alpha="1/2")]},
        {"n": 5, "mechanisms": dt.geometric(4, alpha="1/2")},
        {"mechanisms": dt.geometric(dt.Grid(None, None), alpha="1/2")},
        {"n": [[1, 0], [0, 1]]},
    ],
)
def test_what_cannot_be_compared_is_refused_in_a_sentence(ask):
    with pytest.raises(DiscreetError, match=r"[.]$"):
        dt.compare(**ask)


def test_a_missing_level_and_an_unknown_name():
    with pytest.raises(LevelError, match="exactly one of alpha and epsilon"):
        dt.compare(4)
    with pytest.raises(DiscreetError, match="was not compared"):
        dt.compare(4, alpha="1/2")["XY"]


def test_a_row_of_a_comparison():
    row = dt.compare({"UM": dt.uniform(4)})["UM"]
    assert row["L0"] == pytest.approx(4 / 5)
    assert row["rescaled"] == pytest.approx(1)
    assert row["L1"] == pytest.approx(sum(abs(i - j) for i in range(5) for j in range(5)) / 25)
    assert row["best use"] == pytest.approx(6 / 5)  # the median of 0..4, whatever was reported
    assert (row["properties"], row["epsilon <="], row["proved"]) == ("all seven", 0.0, True)
    assert "tail(2)" in dt.compare({"UM": dt.uniform(4)}, loss="tail(2)")["UM"]


def test_a_design_is_no_mechanism_to_compare_but_has_one():
    with pytest.raises(DiscreetError, match=r"give its \.mechanism"):
        dt.compare(dt.design(4, alpha="1/2"))


# One promise for all rows, and the best for that promise: against the whole linear program, written anew


def least_mean_l1(grid, alpha, pairs):
    """The least mean l1 of any channel whose rows at these pairs differ by 1/alpha at most: every entry a variable."""
    size, a = grid.size, float(alpha)
    cost = [float(abs(grid.value(i) - grid.value(j))) / size for i in range(size) for j in range(size)]
    demands = [(i * size + j, k * size + j) for x, y in pairs for i, k in ((x, y), (y, x)) for j in range(size)]
    at = np.array(demands).ravel()
    under = csr_array(
        (np.tile([a, -1.0], len(demands)), (np.repeat(np.arange(len(demands)), 2), at)), (len(demands), size**2)
    )
    sums = np.kron(np.eye(size), np.ones(size))
    return linprog(cost, A_ub=under, b_ub=np.zeros(len(demands)), A_eq=sums, b_eq=np.ones(size)).fun


def near(grid, steps):
    return [(i, k) for i, k in itertools.combinations(range(grid.size), 2) if k - i <= steps]


def keeps(m, alpha, pairs):
    """In integers: does no report of one row exceed 1/alpha times that of the other?"""
    weights, _ = m.finite().integers()
    rows = [[int(w) for w in row] for row in weights.tolist()]
    ratio = Fraction(alpha)
    return all(
        ratio.numerator * p <= ratio.denominator * q and ratio.numerator * q <= ratio.denominator * p
        for i, k in pairs
        for p, q in zip(rows[i], rows[k], strict=True)
    )


RING = [(i, (i + 1) % 9) for i in range(9)]


@pytest.mark.parametrize(
    ("ask", "grid", "pairs", "words"),
    [
        (
            lambda: dt.compare(
                [dt.geometric(20, epsilon=2, sensitivity=3), dt.staircase(20, epsilon=2, sensitivity=3)], epsilon=2
            ),
            dt.Grid(0, 20),
            near(dt.Grid(0, 20), 3),
            "between neighbours at most 3 apart",
        ),
        (lambda: dt.compare(20, epsilon=2, sensitivity=3), dt.Grid(0, 20), near(dt.Grid(0, 20), 3), "at most 3 apart"),
        (lambda: dt.compare(12, epsilon=1, neighbours=4), dt.Grid(0, 12), near(dt.Grid(0, 12), 4), "at most 4 apart"),
        (lambda: dt.compare(8, epsilon=2, neighbours=RING), dt.Grid(0, 8), RING, "on a graph of neighbours"),
        (
            lambda: dt.compare(
                dt.from_matrix(dt.randomized_response(8, epsilon=2).matrix, epsilon=2, neighbours=RING), epsilon=2
            ),
            dt.Grid(0, 8),
            RING,
            "on a graph of neighbours",
        ),
        (
            lambda: dt.compare([dt.randomized_response(8, epsilon=1), dt.square_wave(8, epsilon=1)], epsilon=1),
            dt.Grid(0, 8),
            near(dt.Grid(0, 8), 8),
            "between any two values",
        ),
        (
            lambda: dt.compare(dt.Grid(0, 4, "1/2"), epsilon=1),
            dt.Grid(0, 4, "1/2"),
            near(dt.Grid(0, 8), 2),
            "at most 1 apart",
        ),
        (
            lambda: dt.compare(dt.Grid(10, 90, 10), epsilon=1, sensitivity=25),
            dt.Grid(10, 90, 10),
            near(dt.Grid(0, 8), 3),
            "at most 30 apart",
        ),
        (lambda: dt.compare(6, epsilon=1), dt.Grid(0, 6), near(dt.Grid(0, 6), 1), "between neighbours at most 1 apart"),
        (
            lambda: dt.compare(6, epsilon=1, neighbours="any", require="S"),
            dt.Grid(0, 6),
            near(dt.Grid(0, 6), 6),
            "any two",
        ),
    ],
)
def test_the_best_and_every_row_are_for_the_neighbours_of_the_title(ask, grid, pairs, words):
    found = ask()
    assert words in found.question
    best = next(name for name in found.mechanisms if name.startswith("best"))
    level = found.mechanisms[best].alpha
    assert found[best]["L1"] == pytest.approx(least_mean_l1(grid, level, pairs), rel=1e-5)
    assert all(row["proved"] for row in found.rows())
    edges = [(grid.value(i), grid.value(k)) for i, k in pairs]
    for name, m in found.mechanisms.items():
        assert dt.check_privacy(m, neighbours=edges).epsilon == found[name]["epsilon <="]
        assert found[name]["epsilon <="] <= -math.log(level) * (1 + 1e-9)
        assert keeps(m, level * (1 - Fraction(1, 10**12)), pairs)  # a level is e^-epsilon, rounded
    assert not keeps(found.mechanisms[best], level * Fraction(101, 100), pairs)  # a little more is not kept


def test_a_number_of_the_best_for_three_steps():
    found = dt.compare(
        [dt.geometric(20, epsilon=2, sensitivity=3), dt.staircase(20, epsilon=2, sensitivity=3)], epsilon=2
    )
    assert found["best l1"]["L1"] == pytest.approx(1.0476, abs=1e-4)
    assert dt.compare(20, epsilon=2)["best l1"]["L1"] == pytest.approx(
        0.2605, abs=1e-4
    )  # the weaker promise has its own title


def test_different_promises_are_not_set_side_by_side():
    one, three = dt.geometric(20, epsilon=2), dt.geometric(20, epsilon=2, sensitivity=3)
    for pair in ([one, three], [one, dt.randomized_response(20, epsilon=2)], {"a": three, "b": one}):
        for level in ({}, {"epsilon": 2}):
            with pytest.raises(DiscreetError, match=r"different promises\. Say which is meant"):
                dt.compare(pair, **level)
    for ask in ({"neighbours": 3}, {"sensitivity": 3}):
        found = dt.compare([one, three], epsilon=2, **ask)
        assert [row["proved"] for row in found.rows()] == [False, True, True]
        assert found["geometric"]["epsilon <="] == pytest.approx(6)
        assert "geometric does not keep epsilon 2 between neighbours at most 3 apart" in str(found)
        assert (
            found.plot().to_dict()["title"]["text"][0].startswith("best l1 has the least")
        )  # and not the weaker promise
    assert all(row["proved"] for row in dt.compare([one, three], epsilon=2, neighbours=1).rows())
    alone = dt.compare([one, three], neighbours=3)  # without a level: does what each claims hold between these?
    assert [row["proved"] for row in alone.rows()] == [False, True]
    same = dt.compare(
        [dt.geometric(1, epsilon=2), dt.randomized_response(1, epsilon=2)], epsilon=2
    )  # one step is any two
    assert "any two values" in same.question


def test_without_a_design_the_others_are_compared_all_the_same():
    by_distance = dt.compare(4, epsilon=1, neighbours={(0, 1): "1/2", (2, 4): 2})
    assert "no design" in str(by_distance)
    assert "left out: kRR does not keep epsilon 1 on distances" in str(by_distance)
    assert {"GM", "UM"} <= set(by_distance.mechanisms)
    assert all(row["proved"] for row in by_distance.rows())
    long = dt.compare(402, epsilon=1, sensitivity=3)
    assert "no design: Designs for a sensitivity of several steps" in str(long)
    assert list(long.mechanisms) == ["GM", "EM", "kRR", "UM"]
    with pytest.raises(DiscreetError, match="give one of them"):
        dt.compare(4, epsilon=1, neighbours=2, sensitivity=2)


def test_two_rows_that_are_one_mechanism_say_so():
    assert "WM: here the same mechanism as GM" in dt.compare(50, alpha="9/10").notes
    assert not any("the same mechanism" in note for note in dt.compare(8, alpha="9/10").notes)
    mine = {"a": dt.geometric(4, alpha="1/2"), "b": dt.geometric(4, alpha="2/3"), "c": dt.staircase(4, alpha="1/2")}
    assert "c: here the same mechanism as a" in dt.compare(mine).notes


def test_a_loss_of_your_own_has_the_name_of_its_function():
    def far_off(truth, report):
        return abs(truth - report) > 1

    def worst(truth, report):
        return abs(truth - report)

    named = dt.compare(3, alpha="1/2", loss=far_off)
    assert "far_off" in named.table[0]
    assert named.table[-1]["mechanism"] == "best far_off"
    unnamed = dt.compare(3, alpha="1/2", loss=lambda truth, report: far_off(truth, report))
    assert "a function" in unnamed.table[0]
    assert unnamed.table[-1]["mechanism"] == "best"
    ours = dt.compare(3, alpha="1/2", loss=worst)["GM"]  # a name that a column has already
    assert ours["function worst"] == ours["L1"] != ours["worst"]


@pytest.mark.parametrize("name", ["l1", "uniform", "L2"])
def test_a_function_with_the_name_of_ours_does_not_pass_for_it(name, tmp_path):
    def cost(truth, report):
        return 2 * abs(truth - report)

    cost.__name__ = name
    found = dt.design(3, alpha="1/2", loss=cost, require="WH")
    assert found.problem.loss.name == f"function {name}"
    found.mechanism.save(tmp_path / "m.json")
    assert dt.load(tmp_path / "m.json") == found.mechanism


def test_a_picture_names_all_that_have_the_least_mean():
    m = dt.geometric(4, alpha="1/2")
    wide = dt.geometric(4, alpha="9/10")
    both = dt.compare({"one": m, "other": m, "wide": wide})
    assert "one, other: least mean l1" in str(both.plot().to_dict()["title"])
    assert "one has the least mean l1" in str(dt.compare({"one": m, "wide": wide}).plot().to_dict()["title"])
