"""What a release is for: which mechanism that chooses, that it is part of the question, what is refused."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pandas
import pytest

import discreet as dt
from discreet.errors import DiscreetError, ReleaseError
from discreet.questions.purpose import LARGEST, Purpose
from discreet.registry import RELEASED
from discreet.tables.draw.choices import chosen
from discreet.tables.release import release


def true_error(m: dt.Mechanism) -> float:
    """The largest standard error of the unbiased estimate over all truths, solved from the matrix of the law."""
    truth = np.arange(m.inputs.size, dtype=float)
    estimate = np.linalg.solve(m.matrix, truth)
    return math.sqrt(max(float(row @ estimate**2 - x**2) for row, x in zip(m.matrix, truth, strict=True)))


@pytest.mark.parametrize("epsilon", ["1/10", "1/2", "2"])
@pytest.mark.parametrize("n", [1, 2, 3, 8, 20, 64])
def test_adding_has_the_smallest_standard_error_of_what_can_be_released(n, epsilon):
    level = dt.Level.of(epsilon=epsilon)
    errors = {name: true_error(family.make(dt.Grid(0, n), alpha=level.alpha)) for name, family in RELEASED.items()}
    chosen = Purpose.of("adding").family(n)
    assert errors[chosen] <= min(errors.values()) * (1 + 1e-9)
    reading = Purpose.of("reading").family(n)
    assert n < 2 or errors[reading] > 1.3 * errors[chosen]  # and the fair mechanism has not


def test_the_errors_of_the_two_purposes_at_twenty_people():
    level = dt.Level.of(epsilon="1/2")
    families = {p: RELEASED[Purpose.of(p).family(20)] for p in ("reading", "adding")}
    errors = {p: round(true_error(family.make(20, alpha=level.alpha)), 1) for p, family in families.items()}
    assert errors == {"reading": 7.6, "adding": 2.8}


@pytest.mark.parametrize(
    ("loss", "prior"),
    [
        ("l1", None),
        ("L2", "binomial(0.3)"),
        ("threshold(2)", {0: "1/2", 2: "1/4", 5: "1/4"}),
        ("l0", ["1/6"] * 6),
    ],
)
def test_least_error_is_the_certified_optimum(loss, prior):
    level = dt.Level.of(epsilon=1)
    m = chosen(Purpose.of("Least_Error", loss, prior), 5, level)
    binomial = [math.comb(5, k) * Fraction(3, 10) ** k * Fraction(7, 10) ** (5 - k) for k in range(6)]
    given = dict(enumerate(prior)) if isinstance(prior, list) else prior if isinstance(prior, dict) else {}
    named = {None: [Fraction(1, 6)] * 6, "binomial(0.3)": binomial}
    chances = [Fraction(given.get(k, 0)) for k in range(6)] if given else named[prior]
    cost = {
        "l1": lambda i, j: abs(i - j),
        "L2": lambda i, j: (i - j) ** 2,
        "l0": lambda i, j: int(i != j),
        "threshold(2)": lambda i, j: int((i >= 2) != (j >= 2)),
    }[loss]

    def risk(channel) -> Fraction:
        return sum((chances[i] * channel.entry(i, j) * cost(i, j) for i in range(6) for j in range(6)), Fraction(0))

    best = linear_program(chances, cost, float(level.alpha))
    assert abs(float(risk(m.finite())) - best) < 1e-6 * max(best, 0.01)
    assert dt.check_privacy(m, alpha=level.alpha).holds
    geometric, fair = dt.geometric(5, epsilon=1), dt.explicit_fair(5, epsilon=1)
    assert risk(m.finite()) <= min(risk(geometric.finite()), risk(fair.finite())) + Fraction(1, 10**6)


def linear_program(chances, cost, alpha: float) -> float:
    """The least risk of any private channel, by the linear program itself."""
    from scipy.optimize import linprog

    size = len(chances)
    place = np.arange(size * size).reshape(size, size)
    rows = []
    for i in range(size - 1):
        for j in range(size):
            for near, far in ((i, i + 1), (i + 1, i)):
                row = np.zeros(size * size)
                row[place[near, j]], row[place[far, j]] = alpha, -1.0
                rows.append(row)
    sums = np.zeros((size, size * size))
    for i in range(size):
        sums[i, place[i]] = 1.0
    costs = [float(chances[i]) * cost(i, j) for i in range(size) for j in range(size)]
    found = linprog(costs, A_ub=np.array(rows), b_ub=np.zeros(len(rows)), A_eq=sums, b_eq=np.ones(size), method="highs")
    return float(found.fun)


@pytest.fixture
def people():
    return pandas.DataFrame({"town": ["a"] * 12 + ["b"] * 5, "ill": (["yes", "no"] * 9)[:17], "pay": [10] * 17})


@pytest.fixture
def ledger(tmp_path):
    with dt.Ledger(tmp_path / "budget.db") as book:
        book.create("bits", "20", relation="change-one", public=["town"])
        book.create("people", "20", relation="add-remove")
        yield book


ASKED = {"count": "ill = 'yes'", "by": ["town"], "domain": {"town": ["a", "b"]}, "epsilon": "1/2"}


def test_a_purpose_is_part_of_the_question_and_reading_is_what_was_asked_before(people, ledger, tmp_path):
    plain = release(people, dataset="bits", ledger=ledger, **ASKED)
    assert release(people, dataset="bits", ledger=ledger, **ASKED, purpose="reading").record["repeated"]
    assert plain.columns["mechanism"] == ["explicit_fair"] * 2
    assert plain.record["purpose"] == {"name": "reading"}
    adding = release(people, dataset="bits", ledger=ledger, **ASKED, purpose="adding")
    assert not adding.record["repeated"]
    assert adding.columns["mechanism"] == ["geometric"] * 2
    least = {"purpose": "least error", "loss": "l1", "prior": "binomial(0.5)"}
    first = release(people, dataset="bits", ledger=ledger, **ASKED, **least)
    assert first.columns["mechanism"] == ["design"] * 2
    assert first.record["purpose"] == {"name": "least error", "loss": "l1", "prior": "binomial(0.5)"}
    first.save(tmp_path / "least.csv")
    assert dt.check_release(tmp_path / "least.json", ledger=ledger)
    again = release(people, dataset="bits", ledger=ledger, **ASKED, **least)
    assert again.record["repeated"]
    assert again.to_csv() == first.to_csv()
    other = release(people, dataset="bits", ledger=ledger, **ASKED, **{**least, "prior": "binomial(0.4)"})
    assert not other.record["repeated"]
    assert ledger.balance("bits").spent == 2


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"purpose": "beauty"}, "not known"),
        ({"purpose": "adding", "mechanism": "geometric"}, "one of the two"),
        ({"loss": "l1"}, "need purpose"),
        ({"purpose": "adding", "prior": "uniform"}, "need purpose"),
        ({"purpose": "least error"}, "needs a loss"),
        ({"purpose": "least error", "loss": "l9"}, "not known"),
        ({"purpose": "least error", "loss": "l1", "prior": 7}, "public knowledge"),
        ({"purpose": "least error", "loss": "l1", "prior": "binomial(2)"}, "groups of 5"),
        ({"purpose": "least error", "loss": "l1", "prior": ["1/2", "1/2"]}, "groups of 5"),
        ({"purpose": "reading", "sum": "pay:0..20/5 missing 0"}, "for adding"),
        ({"purpose": "least error", "loss": "l1", "mean": "pay:0..20/5 missing 0"}, "for adding"),
    ],
)
def test_what_makes_no_sense_is_refused_before_any_charge(people, ledger, asked, words):
    with pytest.raises(DiscreetError, match=words):
        release(people, dataset="bits", ledger=ledger, **{**ASKED, **asked})
    assert ledger.balance("bits").spent == 0


def test_designs_end_where_they_are_slow(people, ledger):
    least = {"purpose": "least error", "loss": "l1"}
    with pytest.raises(ReleaseError, match="declare max_count"):
        release(people, dataset="people", ledger=ledger, **ASKED, **least)
    with pytest.raises(ReleaseError, match=f"up to {LARGEST}"):
        release(people, dataset="people", ledger=ledger, **ASKED, **least, max_count=LARGEST + 1)
    with pytest.raises(ReleaseError, match="fewer groups"):
        Purpose.of("least error", "l1").check_sizes(101)
    assert ledger.balance("people").spent == 0
