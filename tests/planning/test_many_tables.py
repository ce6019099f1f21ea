"""How many tables a budget pays for: against the numbers of elsewhere, and by plain sums over the distributions."""

from __future__ import annotations

import json
import math
import re
from decimal import Decimal, localcontext
from fractions import Fraction

import pytest

import discreet as dt
from discreet.errors import DiscreetError
from discreet.ledger.book import Book
from discreet.planning.many_tables import _rho
from tests.cells import for_each

# by plain arithmetic outside of the library: largest rho for (epsilon, 1e-9), tables at one standard error, pure and Gaussian
RHO = {1: 0.0150, 2: 0.0561, 4: 0.2063, 8: 0.7328}
TABLES = {
    (2, 10): (14, 11),
    (2, 20): (28, 44),
    (2, 50): (70, 280),
    (4, 10): (28, 41),
    (4, 20): (56, 165),
    (8, 5): (28, 36),
}
TABLES[8, 20] = (113, 586)


def geometric_error(epsilon: float) -> float:
    chances = [math.exp(-epsilon * abs(k)) for k in range(-6000, 6001)]
    return math.sqrt(
        math.fsum(k * k * c for k, c in zip(range(-6000, 6001), chances, strict=True)) / math.fsum(chances)
    )


def gaussian_error(rho: float) -> float:
    chances = [math.exp(-rho * k * k) for k in range(-2000, 2001)]
    return math.sqrt(
        math.fsum(k * k * c for k, c in zip(range(-2000, 2001), chances, strict=True)) / math.fsum(chances)
    )


@for_each("epsilon, error", list(TABLES))
def test_tables_at_one_standard_error(epsilon, error):
    plan = dt.plan_tables(standard_error=error, budget=epsilon, delta="1e-9")
    assert plan.paid == TABLES[epsilon, error]
    assert abs(float(plan.rho) - RHO[epsilon]) < 6e-5
    pure, gaussian = plan.paid
    assert geometric_error(epsilon / pure) <= error < geometric_error(epsilon / (pure + 1))
    assert gaussian_error(float(plan.rho) / gaussian) <= error < gaussian_error(float(plan.rho) / (gaussian + 1))


def within(weights: dict[int, float], error: int) -> float:
    return math.fsum(w for k, w in weights.items() if abs(k) <= error) / math.fsum(weights.values())


@for_each("error, confidence", [(0, "0.9"), (3, "0.95"), (10, "0.95"), (20, "0.99")])
def test_tables_within_an_error_by_sums_over_both_distributions(error, confidence):
    """As many tables as keep to it, and one more does not."""
    plan = dt.plan_tables(error=error, confidence=confidence, budget=40)
    rho, wanted = float(plan.rho), float(confidence)
    for k, holds in ((0, True), (1, False)):
        pure, gaussian = (paid + k for paid in plan.paid)
        assert (within({x: math.exp(-40 / pure * abs(x)) for x in range(-3000, 3001)}, error) >= wanted) is holds
        assert (within({x: math.exp(-rho / gaussian * x * x) for x in range(-3000, 3001)}, error) >= wanted) is holds
    assert f"plus or minus {error} a count" in plan.sentences()[0]
    assert plan.to_dict()["error"] == error


@for_each(
    "asked, words",
    [
        ({}, "how many tables"),
        ({"error": 10, "standard_error": 5}, "give one of them"),
        ({"error": "1/2"}, "error"),
        ({"error": 10, "confidence": 1}, "confidence"),
        ({"tables": 5, "confidence": "0.9"}, "confidence is for error; leave it out, or give an error"),
        ({"standard_error": 5, "confidence": "0.95"}, "confidence is for error"),
    ],
)
def test_errors_that_cannot_be_planned_for(asked, words):
    with pytest.raises(DiscreetError, match=words):
        dt.plan_tables(**asked, budget=4)


def test_an_error_without_a_confidence_is_kept_to_in_95_of_100_cases():
    assert dt.plan_tables(error=10, budget=4) == dt.plan_tables(error=10, confidence="0.95", budget=4)
    assert dt.plan_tables(error=10, budget=4) != dt.plan_tables(error=10, confidence="0.9", budget=4)


def test_a_rho_is_a_short_decimal_or_rounded_up():
    """1/800 = 0.00125 exactly. What exceeds 0.123456 by less than a float can tell is not below it."""
    assert [_rho(Fraction(x)) for x in ("1/800", "1/8", "1/300")] == ["0.00125", "1/8", "1/300"]
    assert _rho(Fraction("0.123456") + Fraction(1, 10**30)) == "0.123457"


@pytest.mark.long
@for_each("budget, tables", [(1, 17), (2, 18), (4, 20), (8, 23), ("1/10", 15)])
def test_the_break_even_is_where_sums_over_both_distributions_cross(budget, tables):
    """It is epsilon^2 / (4 rho) but for the width of a step; 1/rho is another number at every budget but 2."""
    plan = dt.plan_tables(1, budget=budget, delta="1e-9")
    assert plan.break_even == tables
    rho, epsilon = float(plan.rho), float(Fraction(budget))
    assert 0 <= tables - epsilon**2 / (4 * rho) < 1.2
    if epsilon >= 1:
        for k in range(1, 60):
            assert (gaussian_error(rho / k) <= geometric_error(epsilon / k)) == (k >= tables), k


@for_each("budget, tables", [(4, 100), (1, 3), (8, 2), (2, 1000)])
def test_errors_are_those_of_the_noise_that_would_be_drawn(budget, tables):
    plan = dt.plan_tables(tables, budget=budget)
    pure, gaussian = plan.errors(tables)
    drawn = dt.geometric(dt.Grid(None, None), epsilon=Fraction(budget, tables)).channel.standard_error
    noise = dt.gaussian(dt.Grid(None, None), rho=plan.rho / tables).channel.standard_error
    assert math.isclose(pure, drawn, rel_tol=1e-9)
    assert math.isclose(gaussian, noise, rel_tol=1e-9)


@for_each("budget, tables", [("1e-18", 1), ("1e-18", 1000), ("1e-9", 3), (800, 1), (800, 3), ("1/7", 900)])
def test_errors_of_very_small_and_large_budgets(budget, tables):
    """sqrt(2a)/(1-a), and the sum over the Gaussian's weights, in 60 digits; each plan can be printed."""
    plan = dt.plan_tables(tables, budget=budget)
    with localcontext(prec=60, Emin=-9999):
        a, x = (
            (-Decimal(y.numerator) / Decimal(y.denominator)).exp() for y in (plan.budget / tables, plan.rho / tables)
        )
        assert plan.errors(tables)[0] == pytest.approx(float((2 * a).sqrt() / (1 - a)), rel=1e-9)
        if x < Decimal("0.9"):
            weights = [x ** (k * k) for k in range(1, 60)]
            square = 2 * sum(k * k * w for k, w in enumerate(weights, 1)) / (1 + 2 * sum(weights))
            assert plan.errors(tables)[1] == pytest.approx(float(square.sqrt()), rel=1e-9)
        else:
            assert plan.errors(tables)[1] == pytest.approx(float(1 / (2 * plan.rho / tables)) ** 0.5, rel=1e-9)
    assert f"{tables} tables within" in str(plan)
    assert all((row["better"] == "pure epsilon") == (row["tables"] < plan.break_even) for row in plan.rows())


def test_what_is_said_is_what_a_ledger_grants(tmp_path):
    plan = dt.plan_tables(100, standard_error=20, budget=4)
    said = " ".join(plan.sentences())
    assert (
        "epsilon 4 pays for 56 tables (epsilon 0.070696 each), and with delta 1e-9 for 165 (rho 0.00125 each)" in said
    )
    assert (
        "100 tables at that standard error need epsilon 7.0696; or rho 1/8, which is epsilon 3.05813 with that delta"
        in said
    )
    shown = re.search(r"of 15\.6 \(rho ([0-9.]+) each\)", said)
    assert shown is not None
    assert plan.rho * Fraction(99999, 100000) < 100 * Fraction(shown[1]) <= plan.rho, "what is printed can be paid"
    assert "from 20 tables on; for fewer, pure epsilon is better" in said
    with Book(tmp_path / "l.db") as ledger:
        assert abs(ledger.create("census", 4, delta="1e-9").budget - plan.rho) < Fraction(1, 10**11)
        assert str(ledger.create("eighth", rho="1/8", delta="1e-9").words()).startswith(
            "budget rho 1/8 (epsilon <= 3.05813 "
        )
    told = json.loads(json.dumps(plan.to_dict()))
    assert (told["paid"], told["break_even"]) == ({"pure": 56, "concentrated": 165}, 20)
    rows = {row["tables"]: row for row in plan.rows()}
    assert {1, 20, 56, 100, 165, 1000} <= rows.keys()
    assert all((row["better"] == "pure epsilon") == (k < 20) for k, row in rows.items())
    assert "<table" in plan._repr_html_()


@for_each(
    "asked, words",
    [
        ({"budget": 4}, "how many tables there are to be"),
        ({"tables": 0, "budget": 4}, "tables = 0"),
        ({"tables": 2, "budget": 0}, "budget = 0"),
        ({"tables": 2, "budget": 1, "delta": 1}, "delta = 1"),
        ({"standard_error": 0, "budget": 1}, "standard_error = 0"),
        ({"tables": "1,5", "budget": 1}, "has a comma"),
    ],
)
def test_what_cannot_be_planned_is_refused_with_a_sentence(asked, words):
    with pytest.raises(DiscreetError, match=words):
        dt.plan_tables(**asked)


def test_a_picture_has_both_errors():
    chart = dt.plan_tables(100, budget=4).plot().to_dict()
    text = json.dumps(chart)
    assert "From 20 tables on" in text
    assert "standard error of a count" in text
