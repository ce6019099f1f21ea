"""What readers of a mean are told: bounds, doubled rows, digits; and whom a page of units speaks of."""

from __future__ import annotations

import pandas
import pytest

import discreet as dt
from discreet.errors import TableInputError
from discreet.tables.publish.page import rows_table
from tests.asking import ask_preview, ask_release
from tests.cells import for_each

PEOPLE = pandas.DataFrame(
    [(f"p{k}", "ab"[k % 2], 1000, "yes" if k % 5 else "no") for k in range(400)],
    columns=["pid", "town", "income", "ill"],
)


@pytest.fixture
def asked(tmp_path):
    with dt.Ledger(tmp_path / "l.db") as book:
        book.create("ids", 9, relation="add-remove", unit="pid", per={"year": 5})
        book.create("known", 9, relation="change-one", public=["town"])
        yield {"dataset": "ids", "ledger": book, "by": "town", "domain": {"town": ["a", "b"]}, "epsilon": "1/4"}


def test_doubled_rows_and_bounds_are_said_of_means_and_not_of_counts(asked):
    mean = ask_release(PEOPLE, **asked, mean="income:0..2000/100", margins=["total"])
    count = ask_release(PEOPLE, **asked, margins=["total"])
    for made, is_mean in ((mean, True), (count, False)):
        page = made.to_html()
        assert ("the rows of a unit in a group are added up first" in page) == is_mean
        assert ("the groups add up to it" in page) != is_mean
        assert ("so counts may be too low." in page) != is_mean
        folded = page[page.index("<details>") :]
        assert ("Fitted numbers add up to the totals. With a standard error it is unbiased" in folded) != is_mean
        assert ("u/(u + v) of the way from the lower bound to the upper one, and is not unbiased." in folded) == is_mean
    shown = str(ask_preview(PEOPLE, **asked, mean="income:0..2000/100"))
    assert "added up first" in shown
    assert "half width" not in shown.splitlines()[1]
    assert "in a group of 100 " in shown
    assert "half width" in str(ask_preview(PEOPLE, **asked)).splitlines()[1]


def test_a_preview_prints_the_error_of_a_mean_in_a_group_of_a_thousand(asked):
    """Not over the number of people, which is no error of anything; and none that is as wide as the bounds."""
    both = ask_preview(PEOPLE, **asked, mean={"m": "income:0..2000/100"}, count={"all": "*"})
    counts, means = both.rows()[:2], both.rows()[2:]
    view = both.view()
    place = view.columns.index("standard error in a group of 1,000")
    assert [row[place] for row in view.rows] == [None, None, *(row["error by size"] / 1000 for row in means)]
    assert 0 < means[0]["error by size"] / 1000 < 2000
    assert all(row["standard error"] for row in counts)
    noisy = ask_preview(PEOPLE, **{**asked, "epsilon": "1/1000"}, mean="income:0..2000/100")
    assert noisy.rows()[0]["error by size"] > 2000 * 1000
    assert {row[noisy.view().columns.index("standard error in a group of 1,000")] for row in noisy.view().rows} == {
        None
    }


@for_each(
    "statistics, words",
    [
        ({"count": "*"}, ", so counts may be too low."),
        ({"sum": "income:-100..100"}, ", so sums may lack what the rest would add."),
        (
            {"count": {"all": "*"}, "sum": "income:0..100"},
            ", so counts may be too low and sums may lack what the rest would add.",
        ),
        ({"mean": "income:0..100"}, "."),
    ],
)
def test_what_is_not_counted_is_said_of_counts_and_of_sums_in_their_own_words(asked, statistics, words):
    """Of negative values a sum that lacks some is too high."""
    units = ask_preview(PEOPLE, **asked, **statistics).record["beware"]
    rows = ask_preview(PEOPLE, **asked, **statistics, counted="rows", max_rows=6).record["beware"]
    two = ask_preview(PEOPLE, **asked, **statistics, max_groups=2).record["beware"]
    assert f"A unit in several groups is counted in only one of them{words}" in units
    assert f"A unit in more than 2 of the groups is counted in only 2 of them{words}" in two
    assert f"Of a unit with more than 6 rows in the groups only 6 are counted, chosen by a hash{words}" in rows


def test_ids_with_several_rows_are_found_for_the_holder():
    doubled = pandas.concat([PEOPLE, PEOPLE[:3]])
    found = {finding.what: finding for finding in dt.profile(doubled, unit="pid").findings}
    assert found["ids with more than one row, at most 2"].count == 3
    assert not dt.profile(PEOPLE, unit="pid").findings


def test_a_page_says_both_what_presence_and_what_an_answer_costs(asked):
    """e^(1/4) = 1.2840 and e^(1/2) = 1.6487, rounded up."""
    page = ask_release(PEOPLE, **asked).to_html()
    assert "at most 1.29 times as likely with your data as without." in page
    assert "about what they say of you is at most 1.65 times as likely as if they said something else:" in page
    known = ask_release(PEOPLE, **{**asked, "dataset": "known"}, count="ill = 'yes'").to_html()
    assert "at most 1.29 times as likely with your data as with any other data of yours." in known
    assert "1.65" not in known


def test_labels_say_what_is_counted_and_head_the_numbers(asked):
    made = ask_release(PEOPLE, **asked, count="ill = 'yes'")
    plain, page = made.to_html(), made.presented(labels={"pid": "people", "count": "recipients"}).to_html()
    assert "<h1>ids: units of pid with ill = &#x27;yes&#x27;</h1>" in plain
    assert "<h1>ids: people with ill = &#x27;yes&#x27;</h1>" in page
    assert ">recipients</th>" in page
    assert ">recipients</th>" not in plain


def test_means_are_written_as_exactly_as_their_intervals_are_wide():
    """To a hundredth of the narrowest interval, 5810.9: to tens; the ends outwards."""
    row = {"town": "a", "published": 30953.98472304452, "low": 28056.3, "high": 33867.2}
    html = rows_table([row], ["town"], "published", kind="mean")
    assert ">30,950<" in html
    assert "28,050 to 33,870" in html
    assert "30,953.98" in rows_table([row], ["town"], "published", kind="sum")
    short = {**row, "low": 0.3, "high": 0.8, "published": 0.5}  # in digits that say it exactly: nothing is rounded
    assert ">0.3 to 0.8<" in rows_table([short], ["town"], "published", kind="mean")
    narrow = {**row, "low": 12.3456, "high": 13.3452, "published": 12.9}  # 0.9996 wide: to thousandths
    assert ">12.345 to 13.346<" in rows_table([narrow], ["town"], "published", kind="mean")
    assert ">29 % to 57 %<" in rows_table([{**row, "low": 0.29, "high": 0.57}], ["town"], "published", kind="share")
    lone = {**row, "low": 7.0, "high": 7.0, "published": 7.0}
    assert ">7<" in rows_table([lone], ["town"], "published", kind="mean")


def test_a_check_says_which_cap_leaves_so_little(asked):
    """5 of 9 are left in this year."""
    [*_, price] = ask_preview(PEOPLE, **asked, check=True).check.view().notes
    assert "It would charge epsilon 1/4 of 5 left in the year " in price


def test_missing_values_are_to_be_declared_only_where_groups_are(tmp_path):
    gaps = PEOPLE.assign(town=[None if k < 3 else town for k, town in enumerate(PEOPLE["town"])], income=None)
    for domain, town, income in (
        (None, "if you group by this column", "if you group by this column"),
        ({"town": ["a", "b"]}, "declare null as a key", "the groups are not by this column: these rows stay in them"),
        ({"town": ["a", "b", None]}, "null is declared", "the groups are not by this column: these rows stay in them"),
    ):
        found = {f.column: f.advice for f in dt.profile(gaps, domain=domain).findings if f.what == "missing"}
        assert (town in found["town"], income in found["income"]) == (True, True)


@for_each(
    "domain, words",
    [
        ("town=towns.csv", "write town=file:towns.csv for a code list"),
        ("towns.csv", "check the path"),
        (
            {"town": {"north": ["a"], "other": ["x", None]}},
            'null stands alone, with a label of its own: "unknown": null',
        ),
    ],
)
def test_groups_that_cannot_be_read_say_how_to_write_them(domain, words):
    with pytest.raises(TableInputError) as refused:
        dt.Question(by="town", domain=domain)
    assert words in str(refused.value)
