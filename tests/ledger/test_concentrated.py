"""Concentrated terms: rho adds up exactly, pure charges cost what they are worth, and everybody can check it."""

from __future__ import annotations

import json
import math
import re
from decimal import Decimal, localcontext
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dt
from discreet import verify
from discreet.errors import BudgetError, LedgerError, LevelError
from discreet.exact.rho import pure_level, pure_rho
from discreet.ledger import promise as page
from discreet.ledger.book import Book
from discreet.ledger.terms import Price
from tests import crashes
from tests.cells import for_each
from tests.ledger.test_caps import rewritten
from tests.profiles import examples

FIFTH, TENTH, HUNDREDTH = Fraction(1, 5), Fraction(1, 10), Fraction(1, 100)
NANO = Fraction(1, 10**9)


@pytest.fixture
def census(ledger):
    ledger.create("census", rho="1/5", delta="1e-9", relation="add-remove")
    return ledger


def decimal(x: Fraction) -> Decimal:
    return Decimal(x.numerator) / Decimal(x.denominator)


def ask(ledger: Book, question: object, **price: Fraction) -> object:
    return ledger.begin("census", {"q": question}, data="d", **price)


def test_terms_are_pure_or_concentrated_for_good(census):
    terms = census.terms("census")
    assert (terms.budget, terms.delta, terms.measure) == (FIFTH, NANO, "rho")
    assert terms.words().startswith("budget rho 1/5 (epsilon <= 3.93366 at delta 1e-9), relation add-remove")
    assert terms.to_dict()["delta"] == "1/1000000000"
    with pytest.raises(LedgerError, match=r"already.*Its terms stay: budget rho 1/5"):
        census.create("census", 1, relation="add-remove")
    census.create("old", 1, relation="add-remove")
    assert (census.terms("old").delta, census.terms("old").measure) == (None, "epsilon")
    with pytest.raises(LedgerError, match=r"pure epsilon.*Nothing was charged: use a mechanism with an epsilon"):
        census.begin("old", {"q": 1}, rho=HUNDREDTH, data="d")
    with pytest.raises(LedgerError, match="pure epsilon"):
        census.charge("old", rho="1/100", what="elsewhere")
    assert census.balance("old").spent == 0
    assert len(census.history("old")) == 1
    shown = str(census.balances())
    assert "rho 1/5" in shown
    assert re.search(r"old +add-remove +1 +0 +1 ", shown)


@for_each(
    "given, words",
    [
        ({}, "Give one budget"),
        ({"budget": 1, "rho": 1, "delta": "1e-9"}, "Give one budget"),
        ({"rho": "1/5"}, "needs a delta"),
        ({"rho": 0, "delta": "1e-9"}, "rho must be a positive rational"),
        ({"rho": "-1/5", "delta": "1e-9"}, "rho must be a positive rational"),
        ({"rho": "0,2", "delta": "1e-9"}, "has a comma"),
        (
            {"rho": "1/5", "delta": "0"},
            "between 0 and 1: every event is at most e\\^epsilon times as likely, plus delta",
        ),
        ({"rho": "1/5", "delta": "1"}, "between 0 and 1"),
        ({"rho": "1/5", "delta": f"1/{2**256}"}, "77 digits"),
    ],
)
def test_budgets_that_are_none(given, words, tmp_path):
    with Book(tmp_path / "l.db") as ledger, pytest.raises((LedgerError, LevelError), match=words):
        ledger.create("census", **given)


@for_each("epsilon, rho", [("1", 0.0150), ("2", 0.0561), ("4", 0.2063), ("8", 0.7328)])
def test_an_epsilon_with_a_delta_becomes_the_largest_rho(epsilon, rho, tmp_path):
    """The numbers of the bound by Canonne, Kamath and Steinke, computed elsewhere; and no more is promised than was asked."""
    with Book(tmp_path / "l.db") as ledger:
        terms = ledger.create(f"census {epsilon}", epsilon, delta="1e-9", relation="add-remove")
        assert abs(float(terms.budget) - rho) < 6e-5
        assert Fraction(epsilon) - Fraction(1, 10**6) < terms.epsilon <= Fraction(epsilon)
        assert ledger.create(
            f"more {epsilon}", rho=terms.budget * Fraction(1001, 1000), delta="1e-9"
        ).epsilon > Fraction(epsilon)


def test_rhos_add_up_exactly_to_the_last_bit(census):
    for k in range(19):
        assert census.finish(ask(census, k, rho=HUNDREDTH), "a").paid == {"rho": HUNDREDTH}
    assert census.balance("census").left == HUNDREDTH
    with pytest.raises(
        BudgetError, match=r"rho 0.01 left of its budget 1/5, but 1000001/100000000 was asked"
    ) as caught:
        ask(census, "more", rho=Fraction(1000001, 10**8))
    assert (caught.value.asked, caught.value.left) == (Fraction(1000001, 10**8), HUNDREDTH)
    ask(census, "last", rho=HUNDREDTH)
    with pytest.raises(BudgetError):
        ask(census, "beyond", rho=Fraction(1, 2**250))
    assert str(census.balance("census")) == "rho 1/5 of 1/5 spent, 0 left; 1 charged without an answer"
    assert census.verify("census").count == 1 + 2 * 19 + 1


@settings(max_examples=examples(60))
@given(st.fractions(min_value="1/1000000", max_value=60))
def test_a_pure_charge_costs_epsilon_times_tanh_of_its_half(epsilon):
    """By Python's decimals with 60 digits: never less, and hardly more; verify.py decides the same, and refuses less."""
    rho = pure_rho(epsilon)
    with localcontext() as context:
        context.prec = 60
        power = decimal(epsilon).exp()
        truth = decimal(epsilon) * (power - 1) / (power + 1)
        assert truth <= decimal(rho) <= truth * (1 + Decimal("1e-11")) + Decimal("1e-12")
    assert pure_rho(pure_level(rho).charge) <= rho
    assert abs(pure_level(rho).charge / epsilon - 1) < Fraction(1, 10**5)
    assert verify.pays_for(rho, epsilon, verify.Effort())
    assert not verify.pays_for(rho * (1 - Fraction(1, 10**5)) - Fraction(2, 10**12), epsilon, verify.Effort())


def test_pure_charges_stand_beside_their_rho(census):
    """What the contract says of one tenth: between 0.004995 and 0.005."""
    census.charge("census", epsilon="1/10", what="elsewhere")
    assert FIFTH - Fraction(5, 1000) <= census.balance("census").left < FIFTH - Fraction(4995, 10**6)
    got = census.finish(ask(census, 1, epsilon=TENTH), "a")
    assert got.paid == {"epsilon": TENTH, "rho": pure_rho(TENTH)}
    assert ask(census, 1, epsilon=TENTH).paid == got.paid  # stored, free of charge
    line = census.history("census")[1]
    assert (line.facts["epsilon"], line.charged) == ("1/10", pure_rho(TENTH))
    assert line.rows()[0]["rho"] == "0.004995837496"
    with pytest.raises(BudgetError, match=r"but epsilon 2 \(rho .*\) was asked"):
        ask(census, 2, epsilon=Fraction(2))
    with pytest.raises(LedgerError, match="one positive Fraction"):
        ask(census, 2, epsilon=TENTH, rho=TENTH)
    with pytest.raises(LevelError, match="exactly one of epsilon, alpha and rho"):
        census.charge("census", epsilon=1, rho=1, what="x")
    assert Price.read(alpha="1/2").measure == "epsilon"


def test_caps_and_parts_hold_as_for_epsilon(ledger):
    ledger.create("census", rho="1/5", delta="1e-9", relation="add-remove", per={"month": "1/20"}, parts="month")
    for part in ("a", "b"):
        ledger.begin("census", {"q": part}, rho=Fraction(1, 25), data="d", part=part)
        with pytest.raises(BudgetError, match="left of the 1/20 that may be spent in the month"):
            ledger.begin("census", {"more": part}, rho=Fraction(1, 50), data="d", part=part)
    assert ledger.balance("census").spent == Fraction(1, 25)
    ledger.verify("census")


def test_processes_race_for_rho(census, tmp_path):
    raced = crashes.race(census, ["census"], Fraction(1, 200), 4, tmp_path)
    assert sum(raced.shares) == 40
    assert census.balance("census").left == 0
    census.verify("census")


def test_killed_processes_never_lend_rho(census, tmp_path):
    found = crashes.kill(census, "census", kills=8, seed=3, folder=tmp_path)
    assert found.charges >= found.answers >= 1
    told = verify.history(census.export("census"))
    assert told.spent == census.balance("census").spent == found.charges * crashes.STEP


@pytest.mark.parametrize(
    ("changes", "line", "why"),
    [
        ((1, {"delta": None}), 2, "unreadable charge"),  # rho is no epsilon
        ((1, {"delta": "0/1"}), 1, "unreadable delta"),
        ((1, {"delta": "1/1"}), 1, "unreadable delta"),
        ((1, {"delta": "x"}), 1, "unreadable delta"),
        ((2, {"rho": "1/1000"}), 2, "charges less rho than its epsilon costs"),
        ((2, {"rho": None}), 2, "unreadable charge"),
        ((2, {"epsilon": "0/1"}), 2, "charges less rho than its epsilon costs"),
        ((3, {"rho": "1/5"}), 3, "charges more than the budget had left"),
    ],
    ids=str,
)
def test_changed_lines_are_found_here_and_by_verify_alone(place, ledger, changes, line, why):
    """Somebody who may write the file, and computes all hashes anew. verify.py shares no code with the ledger."""
    ledger.create("census", rho="1/5", delta="1e-9", relation="add-remove")
    ledger.charge("census", epsilon="1/10", what="elsewhere")
    ledger.charge("census", rho="1/100", what="elsewhere")
    ledger.verify("census")
    assert verify.check_ledger(ledger.export("census"))[0].holds
    rewritten(place, changes[0], **changes[1])
    with pytest.raises(LedgerError, match=why) as caught:
        ledger.verify("census")
    assert caught.value.line == line
    with pytest.raises((verify.Fault, LedgerError)):
        verify.history(ledger.export("census"))


def test_an_export_is_checked_with_the_standard_library_alone(census, capsys, tmp_path):
    census.charge("census", epsilon="1/10", what="elsewhere")
    census.finish(ask(census, 1, rho=HUNDREDTH), "a")
    file = tmp_path / "ledger.json"
    file.write_text(json.dumps(census.export("census")))
    assert verify.main([str(file)]) == 0
    told = capsys.readouterr().out
    assert "rho about 0.0149958375 of 1/5 is spent, in 2 charges" in told
    assert "every event is at most e^3.933654 times as likely if one person is changed, plus 1e-9" in told


@settings(max_examples=examples(25))
@given(st.fractions("1/100000", 20), st.integers(2, 30))
def test_verify_says_no_smaller_epsilon_than_is_true(rho, digits):
    """By Python's decimals: the bound at its best order, found by another search. Above it, by less than a part of a million."""
    delta = Fraction(1, 10**digits)
    found = verify.epsilon_of(rho, delta, verify.Effort())
    with localcontext() as context:
        context.prec = 40

        def bound(t: Decimal) -> Decimal:
            above = t.exp()
            a = 1 + above
            return a * decimal(rho) + (-decimal(delta).ln() + a * (above / a).ln() - t) / above

        best = min((Decimal(k) / 8 for k in range(-100, 140)), key=bound)
        for width in [Decimal(1) / 8 / 4**k for k in range(14)]:
            best = min((best + k * width / 4 for k in range(-4, 5)), key=bound)
        truth = max(bound(best), Decimal(0))
        assert truth * (1 - Decimal("1e-12")) <= decimal(found) <= truth * (1 + Decimal("1e-6"))


# What is promised


def test_the_promise_is_that_of_the_whole_budget(census):
    census.charge("census", rho="1/100", what="elsewhere")
    told = census.promise("census")
    text = str(told)
    assert page.WITH_DELTA in text
    assert page.DEFINITION not in text
    assert "no delta" not in text
    assert "epsilon 3.93366 with delta 1e-9 (rho 1/5) for everything that is ever published from census" in text
    assert (
        "Spent so far: rho 0.01. If it ends here by a rule fixed beforehand, that is epsilon 0.810175 with this delta."
        in text
    )
    rows = told.rows()
    assert [row["rho"] for row in rows] == ["1/5", "0.01", "4/5", "0.04"]  # two changes are four times rho
    assert rows[1]["after"] == "what is spent so far, if it ends here by a rule fixed beforehand"
    for wrong in ("except with probability", "fails with"):
        assert wrong not in text
    assert "That epsilon and delta are small enough" in text
    assert json.loads(json.dumps(told.to_dict()))["terms"]["delta"] == "1/1000000000"
    assert "<table" in told.to_html()


@for_each("epsilon, rho", [("2", "0.0561"), ("4", "1/5"), ("1/2", "1/100"), ("9", "8")])
def test_odds_beyond_epsilon_have_a_probability_that_is_rounded_up(epsilon, rho):
    e, r = Fraction(epsilon), Fraction(rho)
    with localcontext() as context:
        context.prec = 60
        truth = (-Decimal(((e - r) ** 2 / (4 * r)).numerator) / Decimal(((e - r) ** 2 / (4 * r)).denominator)).exp()
        assert truth <= Decimal(page.beyond(e, r)) <= truth * Decimal("1.1")


def test_a_loss_beyond_epsilon_is_likelier_than_delta_and_less_than_the_page_says():
    """One Gaussian report that fills a budget of (2, 1e-9), in floats of the continuous limit: its loss is normal with mean rho and
    variance 2 rho. "Except with probability delta" would be false."""
    from discreet.exact.concentrated import largest

    rho = largest(Fraction(2), NANO)
    sigma = math.sqrt(2 * float(rho))
    beyond = 0.5 * math.erfc((2 - float(rho)) / sigma / math.sqrt(2))
    assert 1e-9 < beyond < float(page.beyond(Fraction(2), rho))


def test_the_general_form_has_these_sentences_too():
    flat = " ".join((Path(__file__).parents[2] / "docs" / "promise.md").read_text(encoding="utf-8").split())
    for sentence in (
        page.WITH_DELTA,
        page.A_ROW_RHO,
        page.PROVED_RHO,
        page.TWICE_RHO,
        page.ENDS_HERE,
        *page.ADDS_UP_RHO,
    ):
        assert sentence in flat, sentence


# The command line


def test_the_command_line_has_the_same_words(place, capsys):
    from discreet.cli import main

    where = ["--ledger", place.address]

    def run(*words: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as ended:
            main(list(words))
        told = capsys.readouterr()
        return int(ended.value.code or 0), told.out, told.err

    code, out, _ = run(
        "ledger", "create", "census", *where, "--rho", "1/5", "--delta", "1e-9", "--relation", "add-remove"
    )
    assert (code, "budget rho 1/5 (epsilon <= 3.93366 at delta 1e-9)" in out) == (0, True)
    code, out, _ = run(
        "ledger", "create", "two", *where, "--budget", "2", "--delta", "1e-9", "--relation", "add-remove"
    )
    assert (code, "(epsilon <= 2 at delta 1e-9)" in out) == (0, True)
    code, out, _ = run("ledger", "charge", "census", *where, "--rho", "1/100", "--what", "elsewhere")
    assert (code, "rho 0.01 of 1/5 spent, 0.19 left" in out) == (0, True)
    code, out, _ = run("ledger", "history", "census", *where, "--json")
    assert [row["rho"] for row in json.loads(out)] == ["", "0.01"]
    assert "rho 1/5" in run("ledger", "show", *where)[1]
    assert page.WITH_DELTA[:40] in run("ledger", "promise", "census", *where)[1]
    code, _, err = run("ledger", "create", "none", *where, "--relation", "add-remove")
    assert (code, "Give one budget" in err) == (2, True)


# Single reports


def test_a_single_report_of_gaussian_noise_is_paid_for_in_rho(census):
    m = dt.gaussian(100, rho="1/100")
    with census.spend("census", rho="1/100", what="one count") as paid:
        assert paid.sample(m, 50) in range(101)
    assert census.balance("census").spent == HUNDREDTH
    assert json.loads(census.answer("census", 2).text)["digest"] == m.digest
    census.create("old", 1)
    with pytest.raises(LedgerError, match="pure epsilon"), census.spend("old", rho="1/100", what="one count"):
        pass
    with census.spend("census", epsilon="1/10", what="one count") as paid:
        with pytest.raises(LedgerError, match=r"as an epsilon of .*; epsilon 1/10 was charged"):
            paid.sample(m, 50)
        assert paid.sample(dt.geometric(100, epsilon="1/10"), 50) in range(101)


@for_each(
    "rho, m, change, holds",
    [
        ("1/100", dt.gaussian(100, rho="1/100"), None, True),
        ("0.0099999", dt.gaussian(100, rho="1/100"), None, False),
        ("4/100", dt.gaussian(dt.Grid(None, None), rho="1/100"), 2, True),  # squares count
        ("0.0399", dt.gaussian(dt.Grid(None, None), rho="1/100"), 2, False),
        ("1/100", dt.gaussian(dt.Grid(0, 100, 5), rho="1/100", sensitivity=5), None, True),
        ("0.004995837496", dt.geometric(100, epsilon="1/10"), None, True),
        ("0.00499583", dt.geometric(100, epsilon="1/10"), None, False),
        ("0.01994", dt.geometric(100, epsilon="1/10"), 2, True),
        ("1/1000", dt.uniform(8), None, True),
    ],
)
def test_what_a_rho_covers(rho, m, change, holds):
    from discreet.ledger.spending import covers

    price = Price.read(rho=rho)
    if holds:
        covers(price, m, change)
    else:
        with pytest.raises(LedgerError, match="Nothing was drawn: use a mechanism of a smaller rho"):
            covers(price, m, change)
