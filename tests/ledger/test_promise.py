"""The lawyer's page: its numbers by an independent rule, its words as docs/promise.md has them, in the same order."""

from __future__ import annotations

import itertools
import json
import re
from decimal import ROUND_CEILING, Decimal, localcontext
from fractions import Fraction
from pathlib import Path

import pytest

import discreet as dt
from discreet.ledger import promise as page
from discreet.ledger.book import Book
from tests.cells import for_each

DOCS = Path(__file__).parents[2] / "docs" / "promise.md"


@pytest.fixture
def town(tmp_path):
    with Book(tmp_path / "l.db") as ledger:
        ledger.create("town", 20, relation="add-remove", per={"year": 2})
        ledger.charge("town", epsilon="1/4", what="elsewhere")
        ledger.create("bits", "1/2", relation="change-one", public=["district", "sex"], unit="household")
        yield ledger


@for_each("epsilon", ["1/1000", "1/10", "1/2", "1", "2", "5", "6.9", "6.91", "12", "20", "40", "300"])
@for_each("before", ["1/100", "1/10", "1/2"])
def test_numbers_are_rounded_up_and_by_less_than_a_digit(epsilon, before):
    """By Python's decimal arithmetic with 200 digits."""
    exact, chance = Fraction(epsilon), Fraction(before)
    with localcontext() as context:
        context.prec = 200
        grown = (Decimal(exact.numerator) / Decimal(exact.denominator)).exp()
        number, _, name = page.odds_factor(exact).replace(",", "").partition(" ")
        power = number.partition("^")[2]
        told = (
            Decimal(10) ** int(power)
            if power
            else Decimal(number) * 10 ** {"": 0, "million": 6, "billion": 9, "trillion": 12}[name]
        )
        assert grown <= told <= grown * Decimal(10 if power else "1.1")
        assert bool(power) == (grown > 10**15)
        assert grown > 1000 or told - grown < Decimal("0.001")
        p = Decimal(chance.numerator) / Decimal(chance.denominator)
        share = 100 * p / (p + (1 - p) / grown)
        text = page.sure_afterwards(chance, exact).removesuffix(" %")
        unit = Decimal(1).scaleb(-len(text.partition(".")[2]))
        assert Decimal(text) == share.quantize(unit, ROUND_CEILING)
        if text != "100":  # one digit less would say that it is certain, or has one digit anyway
            assert Decimal(text) < 100
            assert unit == Decimal("0.1") or share.quantize(unit.scaleb(1), ROUND_CEILING) == 100


def test_a_budget_beyond_all_floats_has_a_page():
    huge = Fraction(10**70)
    assert page.odds_factor(huge).startswith("10^4342944819")
    assert page.sure_afterwards(Fraction(1, 2), huge) == "100 %"
    assert (page.odds_factor(Fraction(0)), page.sure_afterwards(Fraction(1, 10), Fraction(0))) == ("1.000", "10.0 %")


def test_the_whole_budget_comes_first_and_caps_second(town):
    told = town.promise("town")
    text = str(told)
    places = [
        text.index(words)
        for words in (*page.HEADINGS[:1], "epsilon 20 for everything", "At most 2 is spent in a year", "490 million")
    ]
    assert places[1] < places[2]
    assert [text.index(f"\n{heading}\n") for heading in page.HEADINGS] == sorted(
        text.index(f"\n{h}\n") for h in page.HEADINGS
    )
    assert "Spent so far: 1/4. What is left, 79/4" in text
    assert "After 10 years all of 20 may be spent." in text
    assert "What was charged elsewhere: 1/4 was stated" in text
    assert "Public columns: there are none." in text
    assert json.loads(json.dumps(told.to_dict()))["stated"] == "1/4"


def test_attributes_are_two_changes_apart_where_presence_is_protected(tmp_path):
    """Somebody is known to be in the data: is she ill? By all reports of a table of the ill and the well, next to the page."""
    with Book(tmp_path / "l.db") as ledger:
        ledger.create("open", "1/2", relation="add-remove")
        ledger.create("bits", "1/2", relation="change-one", public=["g"])
        told, bits = ledger.promise("open"), ledger.promise("bits")
    channel = dt.geometric(6, epsilon="1/2").channel
    worst = max(
        channel.entry(3, y) * channel.entry(2, z) / (channel.entry(2, y) * channel.entry(3, z))  # (ill, well)
        for y, z in itertools.product(range(7), repeat=2)
    )
    allowed = [Decimal(row["odds change by at most"]) for row in told.rows()]
    assert float(allowed[0]) < float(worst) <= float(allowed[2]) < float(worst) + 0.001
    sure = Fraction(1, 10) * worst / (Fraction(1, 10) * worst + Fraction(9, 10))
    assert "10 % becomes at most 23.2 %" in " ".join(told.whole())
    assert 0.2315 < float(sure) <= 0.232
    assert page.TWICE in str(told)
    assert page.TWICE not in str(bits)
    assert [row["after"] for row in bits.rows()] == ["the whole budget", "what is spent so far"]
    assert [row["epsilon"] for row in told.rows()] == ["1/2", "0", "1", "0"]


@for_each(
    "per, words",
    [
        ({"year": 2}, "10 years"),
        ({"year": 12, "month": "1/2"}, "4 years"),  # 6 in a year
        ({"year": 2, "month": "1/2"}, "10 years"),
        ({"quarter": 7, "month": 1}, "7 quarters"),
        ({"year": 20, "quarter": 3, "month": 2}, "2 years"),
        ({"month": 20}, "1 month"),
    ],
)
def test_all_of_the_budget_may_be_spent_after_as_long_as_the_caps_together_say(per, words, tmp_path):
    """Greedily month by month: in the last period named all is spent, and not before."""
    length = {"month": 1, "quarter": 3, "year": 12}
    spent, month, used = Fraction(0), 0, {}
    while spent < 20:
        caps = [Fraction(cap) - used.get((kind, month // length[kind]), 0) for kind, cap in per.items()]
        now = min(Fraction(20) - spent, *caps)
        for kind in per:
            used[kind, month // length[kind]] = used.get((kind, month // length[kind]), 0) + now
        spent, month = spent + now, month + 1
    number, kind = words.split()
    assert -(-month // length[kind.removesuffix("s")]) == int(number)
    with Book(tmp_path / "l.db") as ledger:
        ledger.create(f"town {words} {per}", 20, relation="add-remove", per=per)
        assert f"After {words} all of 20 may be spent." in str(ledger.promise(f"town {words} {per}"))


def test_terms_decide_the_words(town):
    assert "The privacy unit, called a person here, is everything with one value of household." in str(
        town.promise("bits")
    )
    text = str(town.promise("bits"))
    assert "add-remove" not in text
    assert page.CHANGED["add-remove"] in str(town.promise("town"))
    assert "Public columns, and the sizes of groups: district, sex." in text
    assert "There is no cap" in text
    assert "nothing was so far" in text


def test_the_page_is_html_with_nothing_in_it_that_runs(tmp_path):
    with Book(tmp_path / "l.db") as ledger:
        ledger.create("<script>x</script>", 1, relation="change-one", public=["<b>"], unit="<i>")
        html = ledger.promise("<script>x</script>").to_html()
    assert not any(tag in html for tag in ("<script", "<b>", "<i>"))
    assert html.count("<h2>") == len(page.HEADINGS)
    assert "&lt;script&gt;" in html


def test_the_general_form_has_the_same_headings_and_sentences():
    """Word by word, but for what depends on the data set."""
    text = DOCS.read_text(encoding="utf-8")
    assert re.findall(r"^## (.*)$", text, re.MULTILINE) == list(page.HEADINGS)
    flat = " ".join(text.split())
    always = [
        page.DEFINITION,
        *page.CHANGED.values(),
        page.A_ROW,
        page.PERSON.format(unit="the id column"),
        page.PROVED,
    ]
    assert page.TWICE in flat
    for sentence in (*always, page.PACING, *page.ADDS_UP, *page.NOT_PROMISED):
        assert sentence in flat, sentence
    order = [flat.index(sentence) for sentence in (*always, *page.ADDS_UP, *page.NOT_PROMISED)]
    assert [k for k in order if k > flat.index("## What adds up")] == sorted(order[len(always) :])
