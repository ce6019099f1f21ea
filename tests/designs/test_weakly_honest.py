"""The weakly honest mechanism in both variants: its values, its regimes, and what it has."""

from __future__ import annotations

from fractions import Fraction

import pytest

import discreet as dt
from discreet.errors import DiscreetError, StructureError
from tests import reference
from tests.cells import for_each
from tests.designs.test_design import best_value, objective_row, plain, program


def law(m: dt.Mechanism) -> list[list[Fraction]]:
    exact = m.finite().integers()
    assert exact is not None
    return [[Fraction(int(w), int(exact[1])) for w in row] for row in exact[0]]


REGIMES = [
    (1, "9/10"),
    (2, "1/2"),
    (2, "51/100"),
    (3, "3/5"),
    (3, "61/100"),
    (4, "2/3"),
    (4, "67/100"),
    (18, "9/10"),
    (17, "9/10"),
    (19, "9/10"),
    (6, "3/4"),
    (5, "3/4"),
    (8, "1/10"),
    (3, "1/2"),
    (3, "49/100"),
    (12, "1/2"),
]


@pytest.mark.parametrize(("n", "alpha"), REGIMES)
def test_it_is_the_geometric_mechanism_exactly_where_that_is_weakly_honest(n, alpha):
    """n >= 2a/(1-a), on either side of the border and on it."""
    a = Fraction(alpha)
    same = law(dt.weakly_honest(n, alpha=alpha)) == reference.geometric(n, a)
    assert same == (n == 1 or n >= 2 * a / (1 - a))


@for_each("n, alpha", REGIMES)
@for_each("letter", ["CM", "CH"])
def test_with_columns_it_is_the_geometric_mechanism_up_to_one_half(n, alpha, letter):
    a = Fraction(alpha)
    same = law(dt.weakly_honest(n, alpha=alpha, require={letter})) == reference.geometric(n, a)
    assert same == (n == 1 or a <= Fraction(1, 2))


@pytest.mark.parametrize("alpha", ["68/100", "3/4", "17/20", "9/10", "19/20", "99/100"])
def test_traces_for_five_values(alpha):
    a = Fraction(alpha)
    for require, trace in (
        ((), Fraction(3, 5) + 2 * (2 - a) / (5 * a**2)),
        ({"CM"}, Fraction(3, 5) + 2 * (1 + a - a**2) / (5 * a**2)),
    ):
        assert float(reference.trace(law(dt.weakly_honest(4, alpha=alpha, require=require)))) == pytest.approx(
            float(trace), abs=1e-8
        )


@pytest.mark.parametrize(("n", "alpha"), [(2, "4/5"), (4, "9/10"), (5, "3/4"), (7, "4/5"), (9, "19/20")])
@pytest.mark.parametrize("variant", ["", "CM", "CH"])
def test_what_it_has_and_that_it_is_best(n, alpha, variant):
    m = dt.weakly_honest(n, alpha=alpha, require=variant)
    found = law(m)
    assert reference.properties(found) >= {"WH", "RM", "RH", "S"} | set(variant.split())
    assert variant != "CM" or "CH" in reference.properties(found)
    assert reference.tight_alpha(found) >= Fraction(alpha)
    case = plain(n, alpha, "l0", {"WH", "RM", "S"} | set(variant.split()))
    best = best_value(case)
    assert float(reference.expected_loss(found, 0)) == pytest.approx(best, abs=1e-8)
    lp = program(case, float(case.alpha))  # and among the best, the smallest L2
    lp.most.append(({k: x for k, x in enumerate(objective_row(case, case.costs)) if x}, best + 1e-11))
    second = [[Fraction((i - j) ** 2) for j in range(n + 1)] for i in range(n + 1)]
    assert float(reference.expected_loss(found, 2)) == pytest.approx(lp.solve(objective_row(case, second))[0], abs=1e-5)


def test_of_the_best_for_l0_not_all_are_best_for_l2():
    """The negative control: without the second loss L2 is larger, at the same L0."""
    first = dt.design(5, alpha="3/4", loss="l0", require={"WH", "RM", "S"})
    m = dt.weakly_honest(5, alpha="3/4")
    assert dt.expected_loss(m, "l0") == pytest.approx(first.objective, abs=1e-8)
    assert dt.expected_loss(m, "l2") < dt.expected_loss(first.mechanism, "l2") - 1e-3


@pytest.mark.parametrize(("n", "alpha"), [(4, "9/10"), (7, "4/5"), (16, "24/25"), (30, "97/100")])
def test_between_the_geometric_and_the_fair_mechanism(n, alpha):
    a = Fraction(alpha)
    by_weak, by_columns = (
        reference.rescaled_l0(law(dt.weakly_honest(n, alpha=alpha, require=require))) for require in ("", "CM")
    )
    gm, em = reference.gm_l0_rescaled(a), reference.em_l0_rescaled(n, a)
    assert gm < by_weak < by_columns < em + Fraction(1, 10**9)


def test_it_says_what_it_is_and_proves_it(tmp_path):
    m = dt.weakly_honest(4, alpha="9/10")
    assert m.recipe.family == "weakly_honest"
    assert "Cormode" in m.recipe.citation
    assert m.certificate is not None
    m.save(tmp_path / "m.json")
    assert law(dt.load(tmp_path / "m.json")) == law(m)


def test_the_same_by_epsilon():
    m = dt.weakly_honest(4, epsilon="0.1")
    assert reference.tight_alpha(law(m)) >= m.alpha
    assert float(m.alpha) == pytest.approx(0.904837418, abs=1e-9)
    assert {"WH", "RM", "S"} <= reference.properties(law(m))


@pytest.mark.parametrize("require", ["F", "XX", {"CM", "F"}, ["WH", "CM", "ZZ"]], ids=["F", "XX", "CM and F", "a list"])
def test_other_properties_are_refused(require):
    with pytest.raises(StructureError, match="use ") as caught:
        dt.weakly_honest(4, alpha="9/10", require=require)
    assert str(caught.value).endswith(".")


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"alpha": "3/2"},
        {"alpha": "1/2", "epsilon": 1},
        {"alpha": "1/2", "n": dt.Grid(0, None)},
        {"alpha": "99/100", "n": 3000},
    ],
    ids=str,
)
def test_what_makes_no_sense_is_refused(asked):
    with pytest.raises(DiscreetError):
        dt.weakly_honest(asked.pop("n", 4), **asked)
