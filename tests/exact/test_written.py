"""Numbers as offices write them: what may mean two numbers is refused with both, and no level is taken for a count."""

from __future__ import annotations

import itertools
import re
from fractions import Fraction

import pytest
from hypothesis import given as over
from hypothesis import strategies as st

import discreet as dt
from discreet.errors import (
    DiscreetError,
    GridError,
    LedgerError,
    LevelError,
    MetricError,
    ReleaseError,
    TableInputError,
)
from discreet.exact.arithmetic import parse_exact
from discreet.exact.given import positive, share, whole
from discreet.exact.written import misread
from discreet.questions.statistic import read_sums

IN_TWO_WAYS = {
    "20.000": "20 or 20000",
    "20,000": "20 or 20000",
    " 1.500 ": "1.5 or 1500",
    "1.125": "9/8 or 1125",
    "-7.250": "-7.25 or -7250",
    "100.000": "100 or 100000",
}
IN_ONE = {
    "1.234.567": "1234567",
    "1,234,567": "1234567",
    "1.234.567,8": "1234567.8",
    "1,234.5": "1234.5",
    "20 000": "20000",
    "20\u00a0000": "20000",
    "20\u202f000": "20000",
    "20'000": "20000",
    "20’000": "20000",
    "20_000": "20000",
    "20 000,5": "20000.5",
    "0,5": "0.5",
    ",5": "0.5",
    "12,50": "12.5",
    "0,500": "0.5",
    "-0,25": "-0.25",
}
PLAIN = ["20", "20000", "20.0", "20.00", "20.0000", "0.500", "0.125", "1e3", "20000.000", "1/3", ".125", "2.5"]
NO_NUMBER = ["", "twenty", "1.23.456", "1 2", "20 00", "1,2,3", "1,234,5", "0.1,0.9", "1, 5", "20.000 people", "9" * 70]


@pytest.mark.parametrize(("text", "both"), IN_TWO_WAYS.items())
def test_both_readings_are_told(text, both):
    with pytest.raises(GridError) as caught:
        whole(text, "max_count", error=GridError)
    assert str(caught.value) == f"max_count = {text!r} may mean {both}: write {both}."
    assert caught.value.value == text


@pytest.mark.parametrize(("text", "instead"), IN_ONE.items())
def test_the_one_reading_is_told(text, instead):
    told = misread(text)
    assert told is not None
    assert told.endswith(f": write {instead}")
    assert misread(text, whole=True) == told
    with pytest.raises(DiscreetError, match=f"write {instead}\\.$"):
        positive(text, "size")


@pytest.mark.parametrize("text", [*PLAIN, *NO_NUMBER])
def test_nothing_is_said_of_other_texts(text):
    """The controls: numbers that can be read in one way alone, and texts that nobody reads as a number."""
    assert misread(text) is None
    assert misread(text, whole=True) is None


@over(st.integers(-(10**9), 10**9), st.integers(0, 9))
def test_what_is_proposed_can_be_written(number, tenths):
    """Whatever a spreadsheet of any country prints for a number, one of the proposals is that number."""
    for mark, point in ((",", "."), (".", ","), (" ", ","), ("'", ".")):
        shown = f"{number:,}".replace(",", mark)
        for text, value in ((shown, Fraction(number)), (f"{shown}{point}{tenths}", Fraction(f"{number}.{tenths}"))):
            told = misread(text, whole=True)
            if told is None:
                assert parse_exact(text) == value
                continue
            proposed = told.rpartition("write ")[2].split(" or ")
            assert value in [parse_exact(x) for x in proposed]
            assert all(misread(x, whole=True) is None for x in proposed)


def read_as(text: str, point: str, thousands: str) -> Fraction | None:
    """The number that a text is where these two marks are in use; an independent reader."""
    grouped = rf"[1-9]\d{{0,2}}(?:{re.escape(thousands)}\d{{3}})+|\d+"
    found = re.fullmatch(rf"({grouped})(?:{re.escape(point)}(\d+))?", text, re.ASCII)
    return found and Fraction(found[1].replace(thousands, "") + (f".{found[2]}" if found[2] else ""))


def test_no_short_text_is_silently_read_as_another_number_than_somebody_means():
    """Every text of up to six digits and marks, in the two ways of writing numbers."""
    for text in map("".join, (w for size in range(1, 7) for w in itertools.product("120.,", repeat=size))):
        ours, others = parse_exact(text), {read_as(text, ".", ","), read_as(text, ",", ".")} - {None}
        assert misread(text, whole=True) or others <= {ours}, text


def test_levels_and_shares_are_no_counts():
    assert dt.geometric(3, epsilon="1.500").level == dt.geometric(3, epsilon="1.5").level
    assert share("0.500", "confidence", "how often") == Fraction(1, 2)
    assert positive("1.500", "error") == Fraction(3, 2)
    for name in ("alpha", "epsilon"):
        with pytest.raises(LevelError, match=rf"{name} = '0,5' has a comma: write 0\.5\."):
            dt.geometric(3, **{name: "0,5"})
    with pytest.raises(LevelError, match="has no delta beside it"):
        dt.geometric(3, epsilon="1,1e-6")


def test_grids_counts_and_steps_are():
    for make in (
        lambda: dt.Grid(0, "200.000", 100),
        lambda: dt.geometric("200.000", epsilon=1),
        lambda: dt.laplace(epsilon=1, sensitivity="200.000"),
    ):
        with pytest.raises(GridError, match=r"'200.000' may mean 200 or 200000: write 200 or 200000\."):
            make()
    with pytest.raises(MetricError, match=r"'2.000' may mean 2 or 2000"):
        dt.Neighbours.steps("2.000")
    with pytest.raises(ReleaseError, match=r"max_rows = '20.000' may mean 20 or 20000"):
        dt.Question(counted="rows", max_rows="20.000")
    assert dt.Question(counted="rows", max_rows="20.0").max_rows == 20
    assert dt.Grid(0, "1.25", "0.125").n == 10


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("pay:0..200.000/100", "'200.000' in the bounds of the sum of 'pay' may mean 200 or 200000: write 200 or 200000"),
        ("pay:0..200,000/100", "'200,000' in the bounds of the sum of 'pay' may mean 200 or 200000"),
        ("pay:0..200 000/100", "'200 000' in the bounds of the sum of 'pay' has separators of thousands: write 200000"),
        ("pay:0..9/0,5", "'0,5' in the bounds of the sum of 'pay' has a comma: write 0.5"),
        ("pay:1.000..9000", "'1.000' in the bounds of the sum of 'pay' may mean 1 or 1000"),
        ("pay:0..9000 missing 1.500", "'1.500' in the bounds of the sum of 'pay' may mean 1.5 or 1500"),
        ("pay:0..9000 where sex = 'f' missing 1,5", "'1,5' in the bounds of the sum of 'pay' has a comma: write 1.5"),
    ],
)  # fmt: skip
def test_bounds_of_sums(text, said):
    for given in (text, {"pay": text}):
        with pytest.raises(TableInputError) as caught:
            read_sums(given)
        assert said in str(caught.value)


def test_a_condition_of_a_sum_is_no_bound():
    read = read_sums("pay:0..9/0.125 where place = '1.000' and note = ' missing 1,5 '")
    assert read["pay"].where == "place = '1.000' and note = ' missing 1,5 '"


def test_budgets_and_caps_say_what_to_write(tmp_path):
    with dt.Ledger(tmp_path / "b.db") as book:
        with pytest.raises(LedgerError, match=r"The budget '0,5' has a comma: write 0\.5\."):
            book.create("town", "0,5", relation="add-remove")
        with pytest.raises(LedgerError, match=r"The cap '0,5' of a month has a comma: write 0\.5\."):
            book.create("town", 2, relation="add-remove", per={"month": "0,5"})
        assert book.create("town", "2.500", relation="add-remove").terms.budget == Fraction(5, 2), "no count"
