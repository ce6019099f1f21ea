"""What a release is for: which mechanism that chooses, that it is part of the question, what is refused."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pandas
import pytest

import discreet as dt
from discreet.errors import DiscreetError
from discreet.questions.purpose import Purpose
from discreet.registry import RELEASED


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
    plain = ledger["bits"].release(people, **ASKED)
    assert ledger["bits"].release(people, **ASKED, purpose="reading").record["repeated"]
    assert plain.columns["mechanism"] == ["explicit_fair"] * 2
    assert plain.record["purpose"] == {"name": "reading"}
    adding = ledger["bits"].release(people, **ASKED, purpose="adding")
    assert not adding.record["repeated"]
    assert adding.columns["mechanism"] == ["geometric"] * 2
    design = {"mechanism": dt.design(12, epsilon="1/2", loss="l1", prior="binomial(0.5)").mechanism}
    first = ledger["bits"].release(people, **ASKED, **design)
    assert first.columns["mechanism"] == ["design"] * 2
    assert first.record["purpose"] is None
    first.save(tmp_path / "design.csv")
    assert dt.check_release(tmp_path / "design.json", ledger=ledger)
    again = ledger["bits"].release(people, **ASKED, **design)
    assert again.record["repeated"]
    assert again.to_csv() == first.to_csv()
    assert ledger["bits"].balance().spent == Fraction(3, 2)


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"purpose": "beauty"}, "not known"),
        ({"purpose": "least error"}, "not known"),
        ({"purpose": "adding", "mechanism": "geometric"}, "one of the two"),
        ({"purpose": "reading", "sum": "pay:0..20/5 missing 0"}, "for adding"),
    ],
)
def test_what_makes_no_sense_is_refused_before_any_charge(people, ledger, asked, words):
    with pytest.raises(DiscreetError, match=words):
        ledger["bits"].release(people, **{**ASKED, **asked})
    assert ledger["bits"].balance().spent == 0
