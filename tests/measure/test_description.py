"""What is said of a mechanism is true: levels, losses and properties against closed forms."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

import discreet as dt
from discreet.measure.description import per_value_rows

G = dt.geometric(8, alpha="9/10")


def test_a_description_has_the_levels_of_the_geometric_mechanism():
    told = dt.measure.describe(G, matrix=True).to_dict()
    assert (Fraction(told["alpha"]), Fraction(told["tight_alpha"])) == (Fraction(9, 10), Fraction(9, 10))
    assert told["local_epsilon"] == pytest.approx(8 * math.log(10 / 9))  # Pr[0|0]/Pr[0|8] = alpha^-8
    assert told["properties"] == ["RH", "RM", "S"]
    assert told["matrix"][3][0] == pytest.approx(0.9**3 / 1.9)
    assert "matrix" not in dt.measure.describe(G).to_dict()
    assert told["digest"] == G.digest


def test_rows_have_the_losses_of_each_true_value():
    rows = dt.measure.describe(G).rows()
    a = 0.9
    assert [row["true"] for row in rows] == [str(k) for k in range(9)]
    assert rows[0]["truthful"] == pytest.approx(1 / (1 + a))
    assert rows[4]["truthful"] == pytest.approx((1 - a) / (1 + a))
    assert rows[4]["bias"] == pytest.approx(0, abs=1e-12)
    for row in rows:
        assert row["l0"] == pytest.approx(1 - row["truthful"])
        assert row["l2"] >= row["l1"] >= row["l0"]
    assert rows[0]["bias"] == pytest.approx(rows[0]["l1"]), "at the end all errors are upwards"
    assert rows == per_value_rows(G)


def test_where_there_is_no_table_there_are_no_rows_but_words():
    open_ended = dt.measure.describe(dt.laplace(epsilon=1, sensitivity="1/2"), matrix=True)
    assert open_ended.rows() == []
    assert open_ended.to_dict()["matrix"] is open_ended.to_dict()["local_epsilon"] is None
    assert "noise: mean distance 0.5" in str(open_ended)  # the mean distance of Laplace noise is sensitivity/epsilon
    with pytest.raises(dt.errors.SizeError, match="truncate"):
        per_value_rows(open_ended.mechanism)
    huge = dt.measure.describe(dt.geometric(10**6, alpha="9/10"))
    assert huge.rows() == []
    assert str(huge).startswith("geometric on 0..1000000\n")


def test_the_failing_properties_stand_with_their_witnesses():
    told = str(dt.measure.describe(G))
    for letter, sentence in dt.measure.explain(G).items():
        assert f"  {letter:2}  {sentence}" in told
    assert "fail" not in str(dt.measure.describe(dt.explicit_fair(8, alpha="9/10")))


def test_one_that_claims_nothing_says_so():
    told = dt.measure.describe(dt.traditional.random_rounding(20, base=3))
    assert "no level is claimed" in told.headline
    assert (told.to_dict()["alpha"], told.to_dict()["epsilon"]) == ("0", None)


def test_a_repr_does_not_go_through_the_values(monkeypatch):
    found = dt.measure.describe(G)
    monkeypatch.setattr("discreet.measure.description.per_value_rows", lambda m: pytest.fail("it did"))
    assert repr(found) == "<Description geometric on 0..8>"
    with pytest.raises(pytest.fail.Exception):
        str(found)


@pytest.mark.parametrize(
    ("given", "said"),
    [(5, "no mechanism"), ("m.json", "discreet.load"), (dt.design(4, alpha="1/2"), r"give its \.mechanism")],
    ids=["a number", "a path", "a design"],
)
def test_what_is_no_mechanism_is_not_described(given, said):
    with pytest.raises(dt.errors.DiscreetError, match=said):
        dt.measure.describe(given)
