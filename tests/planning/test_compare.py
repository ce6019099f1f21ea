"""Comparing: every number against its definition, entry by entry, and the same story for people and machines."""

from __future__ import annotations

import json
import math
from fractions import Fraction

import numpy as np
import pytest

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
    laws = {"GM": reference.geometric(8, a), "EM": reference.explicit_fair(8, a), "kRR": reference.randomized_response(8, a)}
    for name, law in {**laws, "UM": reference.uniform(8)}.items():
        row = found[name]
        l0, l1, l2 = (float(mean(law, cost)) for cost in (lambda i, j: i != j, lambda i, j: abs(i - j), lambda i, j: (i - j) ** 2))
        assert (row["L0"], row["L1"], row["L2"]) == pytest.approx((l0, l1, l2))
        assert (row["rescaled"], row["RMSE"]) == pytest.approx((l0 * 9 / 8, math.sqrt(l2)))
        assert row["worst"] == pytest.approx(float(max(sum(p * abs(i - j) for j, p in enumerate(law[i])) for i in range(9))))
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
    g, s = dt.geometric(4, alpha="1/2"), dt.suppression(4)
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
    column = next(name for name in found.rows()[0] if name.startswith("function"))
    assert found["UM"][column] == pytest.approx(np.mean(cubes))


@pytest.mark.parametrize(
    "ask",
    [
        {"n": 4}, {"n": 4, "alpha": "1/2", "epsilon": 1}, {"mechanisms": []}, {"mechanisms": ["geometric"]},
        {"mechanisms": [dt.geometric(4, alpha="1/2")], "require": "WH"},
        {"mechanisms": [dt.geometric(4, alpha="1/2"), dt.geometric(5, alpha="1/2")]},
        {"n": 5, "mechanisms": dt.geometric(4, alpha="1/2")},
        {"mechanisms": dt.geometric(dt.Grid(None, None), alpha="1/2")}, {"n": [[1, 0], [0, 1]]},
    ],
)  # fmt: skip
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
