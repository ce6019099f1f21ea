"""How often intervals cover: each by itself and all of a release at once, by exact enumeration of all reports."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from itertools import product
from math import prod

import numpy as np
import pyarrow as pa
import pytest

import discreet as dt
from discreet.errors import ReleaseError
from discreet.ledger.book import Terms
from discreet.questions.margins import read_margins
from discreet.tables.ask.asked import spelling_of
from discreet.tables.draw.measures import measures_for, tiers_for
from discreet.tables.publish.error_statement import error_table
from discreet.tables.publish.readings import Confidence
from discreet.tables.publish.sheet import Sheet
from tests.asking import ask_preview, ask_release

from ..cells import for_each
from .asking import ask

LEVELS = [Fraction(text) for text in ("0.5", "0.9", "0.95", "0.99", "0.999")]


def sheet_of(relation, sizes, alpha, confidence, margins=(), **parts):
    """The sheet of a question about groups of these public sizes (or -1)."""
    keys = list("abcdefgh"[: len(sizes)])
    asked = ask(alpha=Fraction(alpha), by=["g"], domain={"g": keys}, **parts)
    terms = Terms("d", Fraction(100), relation, ("g",), None, "")
    sizes = np.array(sizes, dtype=np.int64)
    read = read_margins(margins, asked.question.by, asked.question.domain)
    return Sheet.of(
        asked,
        spelling_of(asked, ["g", "x", "y"], terms),
        terms,
        asked.level.charge,
        sizes,
        measures_for(asked, terms, sizes),
        tiers_for(asked, terms, sizes),
        read,
        confidence,
    )


def laws_of(sheet, truths, reach):
    """For each report, cells of every measure first and measured totals then, what it may be and how likely that is. Noise without
    ends is cut off at `reach`: what lies beyond counts as missed."""
    cells = [
        (m.plan[n], x)
        for m, own in zip(sheet.measures, truths, strict=True)
        for n, x in zip(sheet.sizes, own, strict=True)
    ]
    for tier in sheet.tiers:
        added = [tier.added(np.array(own)).tolist() for own in truths]
        cells += [
            (m.plan[n], x)
            for m, own in zip(tier.measures, added, strict=True)
            for n, x in zip(tier.sizes, own, strict=True)
        ]
    laws = []
    for m, x in cells:
        if m is None:
            laws.append({0: Fraction(1)})
        elif (finite := m.channel.finite()) is not None:
            laws.append({j: finite.entry(x, j) for j in range(finite.reports)})
        else:
            low = m.channel.ends[0]
            law = {x + k: m.channel.noise.exact(k) for k in range(-reach, reach + 1)}
            if low is not None and x - reach < low:  # saturated at the end
                law = {j: p for j, p in law.items() if j > low} | {low: sum(p for j, p in law.items() if j <= low)}
            laws.append(law)
    return laws


def ends_of(sheet, reports):
    """All intervals of the release with these reports: of its rows, and of its totals."""
    groups, count = len(sheet.sizes), len(sheet.measures)
    cells = [np.array(reports[k * groups : (k + 1) * groups], dtype=np.int64) for k in range(count)]
    rest, totals = list(reports[count * groups :]), []
    for tier in sheet.tiers:
        totals.append([])
        for _ in tier.measures:
            own, rest = rest[: len(tier.sizes)], rest[len(tier.sizes) :]
            totals[-1].append(np.array(own, dtype=np.int64))
    made = sheet.filled(cells, totals, None, None)
    ends = [*zip(made.columns["low"], made.columns["high"], strict=True)]
    return ends + [(line["low"], line["high"]) for lines in made.margins.values() for line in lines]


def least_coverage(sheet, cases, reach=0):
    """The probability that every interval of the release covers, of the true table where that is least likely. Each case has
    the true numbers of all measures, and what rows and totals should be."""
    known, least = {}, Fraction(1)
    for truths, wanted in cases:
        laws, covered = laws_of(sheet, truths, reach), Fraction(0)
        for reports in product(*laws):
            if reports not in known:
                known[reports] = ends_of(sheet, reports)
            pairs = zip(known[reports], wanted, strict=True)
            if all((low is None or low <= x) and (high is None or x <= high) for (low, high), x in pairs):
                covered += prod(law[r] for law, r in zip(laws, reports, strict=True))
        least = min(least, covered)
    return least


def check_both(level, cases, relation, sizes, alpha, margins, reach=0, **parts):
    """All at once as often as they should, whatever is true; is that so of intervals that cover each by itself?"""
    together, alone = (
        least_coverage(sheet_of(relation, sizes, alpha, Confidence(level, both), margins, **parts), cases, reach)
        for both in (True, False)
    )
    assert together >= level
    return alone >= level


@for_each("mechanism", ["explicit_fair", "randomized_response"])
def test_all_counts_by_mechanisms_with_ends_are_covered_at_once_whatever_is_true(mechanism):
    """Change-one: groups of 2, 1, 0 and 2 people, every true table and every report."""
    sizes = (2, 1, 0, 2)
    cases = [([x], x) for x in product(*(range(n + 1) for n in sizes))]
    asked = {"count": "y", "mechanism": mechanism}
    alone = [check_both(level, cases, "change-one", sizes, "1/5", (), **asked) for level in LEVELS]
    assert not all(alone)  # the control: intervals that cover each by itself do not do so together


def test_all_counts_and_their_total_are_covered_at_once_in_groups_of_public_size():
    sizes = (2, 2, 0)
    cases = [([x], [*x, sum(x)]) for x in product(*(range(n + 1) for n in sizes))]
    alone = [
        check_both(level, cases, "change-one", sizes, alpha, [[]], 3, count="y")
        for level, alpha in zip(LEVELS, ("1/4", "1/20", "1/40", "1/200", "1/2000"), strict=True)
    ]
    assert not any(alone)


def test_counts_without_an_upper_end_are_covered_at_once_with_their_total():
    """Add-remove: two groups; the total has an error of its own (Bonferroni)."""
    cases = [([x], [*x, sum(x)]) for x in [(0, 0), (1, 0), (2, 3)]]
    alone = [
        check_both(level, cases, "add-remove", (-1, -1), alpha, [[]], reach, count="y")
        for level, alpha, reach in zip(LEVELS, ("1/5", "1/8", "1/12", "1/30", "1/90"), (2, 2, 3, 2, 2), strict=True)
    ]
    assert not all(alone)


def test_shares_and_means_of_groups_of_unknown_size_are_covered_at_once_with_that_of_all():
    """Pairs (u, v) of two groups, 4 reports: the image of four intervals, and the sum of errors for the two totals."""
    alone = []
    for asked, level, alpha in (
        ({"share": "y"}, "2/3", "1/11"),
        ({"share": "y"}, "19/20", "1/50"),
        ({"mean": "x:0..1"}, "999/1000", "1/400"),
    ):
        cases = []
        for u, v in [((1, 3), (2, 0)), ((9, 0), (9, 5))]:
            means = [Fraction(u[k], u[k] + v[k]) for k in (0, 1)] + [Fraction(sum(u), sum(u) + sum(v))]
            cases.append(([u, v], means))
        alone.append(check_both(Fraction(level), cases, "add-remove", (-1, -1), alpha, [[]], 1, **asked))
    assert not all(alone)


def test_counts_and_shares_are_covered_at_once_though_they_are_different_statistics():
    cases = [([x, u, v], [*x, Fraction(u[0], u[0] + v[0])]) for x, u, v in [((3,), (1,), (2,)), ((0,), (4,), (0,))]]
    asked = {"count": "y", "share": {"part": "y"}}
    alone = [
        check_both(Fraction(level), cases, "add-remove", (-1,), alpha, (), 2, **asked)
        for level, alpha in (("1/2", "1/10"), ("9/10", "1/400"))
    ]
    assert not all(alone)


def test_measured_totals_are_covered_at_once():
    """Two groups and a total that is measured itself: three independent reports, each at the root of alpha."""
    cases = [([x], [*x, sum(x)]) for x in [(0, 4), (7, 8)]]
    asked = {"count": "y", "measure_totals": [[]]}
    alone = [
        check_both(level, cases, "add-remove", (-1, -1), alpha, (), 1, **asked)
        for level, alpha in zip(LEVELS, ("1/100", "1/900", "1/1600", "1/40000", "1/1000000"), strict=True)
    ]
    assert not all(alone)


def test_the_parts_of_the_error_multiply_and_add_up_to_the_confidence():
    for level, reports, totals in product(LEVELS, (1, 2, 3, 190), (0, 1, 25)):
        found = Confidence(level, True).misses(reports, totals)
        missed = totals * found.total
        assert (1 - found.report) ** reports - missed >= level
        assert (
            1 - found.report * (1 + Fraction(1, 2**60))
        ) ** reports - missed < level or reports == 1  # the last digit counts
        assert found.report >= found.total > 0  # the product leaves no less than the sum of errors
        alone = Confidence(level).misses(reports, totals)
        assert alone.report == alone.total == 1 - level


def test_intervals_grow_with_the_confidence_and_hold_those_of_each_by_itself():
    reports = [np.array([4, 0, 31])]
    before = None
    for level in LEVELS:
        ends = []
        for simultaneous in (False, True):
            made = sheet_of("add-remove", (-1, -1, -1), "1/2", Confidence(level, simultaneous), [[]], count="y").filled(
                reports, [], None, None
            )
            (total,) = made.margins["total"]
            ends.append([*zip(made.columns["low"], made.columns["high"], strict=True), (total["low"], total["high"])])
        for smaller, larger in [(ends[0], ends[1]), *([] if before is None else zip(before, ends, strict=True))]:
            assert all(c <= a and b <= d for (a, b), (c, d) in zip(smaller, larger, strict=True))
        before = ends
    assert all(a < b for a, b in before[1])


def test_a_total_of_one_report_has_its_interval_at_no_error_of_its_own():
    made = sheet_of("change-one", (9, 0, 0), "1/2", Confidence(LEVELS[2], True), [[]], count="y")
    assert made.misses.report == Fraction(1, 20)
    shown = made.filled([np.array([5, 0, 0])], [], None, None)
    (total,) = shown.margins["total"]
    assert (total["low"], total["high"], total["interval_by"]) == (
        shown.columns["low"][0],
        shown.columns["high"][0],
        "exact convolution",
    )


# What is said beforehand


def drawn(rng, alpha, size):
    """Geometric noise, made here from two draws of NumPy's."""
    return rng.geometric(1 - alpha, size) - rng.geometric(1 - alpha, size)


def test_a_simulation_finds_the_errors_that_were_announced():
    """8 counts at alpha 3/5, 40,000 tables: single counts and all at once stay within what is said, and not within less."""
    sheet = sheet_of("add-remove", (-1,) * 8, "3/5", Confidence(), [[]], count="y")
    rows = {row["of"]: row for row in sheet.record["errors"]}
    off = np.abs(drawn(np.random.default_rng(20), 0.6, (40_000, 8)))
    assert 0.95 <= (off <= rows["groups"]["each"]).mean() < 0.98
    assert 0.95 <= (off <= rows["groups"]["all"]).all(axis=1).mean() < 1
    assert (off <= rows["groups"]["each"]).all(axis=1).mean() < 0.9  # the control
    total = np.abs(drawn(np.random.default_rng(21), 0.6, (40_000, 8)).sum(axis=1))
    assert (total <= rows["total"]["each"]).mean() >= 0.95
    assert rows["total"]["each"] < rows["total"]["all"] < 8 * rows["groups"]["all"]


def test_the_error_of_a_mean_of_n_people_is_at_most_what_is_said_over_n():
    """The ratio of two numbers that are each off by k steps at most: brute force over small pairs, exactly."""
    for k, u, v in product(range(1, 4), range(6), range(6)):
        if u + v:
            for a, b in product(range(-k, k + 1), repeat=2):
                x, y = max(u + a, 0), max(v + b, 0)
                assert x + y == 0 or abs(Fraction(x, x + y) - Fraction(u, u + v)) <= Fraction(k, u + v)
    sheet = sheet_of("add-remove", (-1,), "1/2", Confidence(), mean="x:0..10/2")
    (row,) = sheet.record["errors"]
    k = sheet.measures[0].plan[-1].channel.noise.reach(Fraction(1, 80)) - 1
    assert (row["by_size"], row["each"]) == (True, 2 * k)


def test_an_error_is_written_as_it_is_and_never_below():
    """4.5 percentage points are 4.5, though the float nearest to 0.045 lies below it; a third is rounded up."""
    for sizes, number in (
        ((200, 200), Fraction(9, 200)),
        ((300, 300), Fraction(9, 300)),
        ((700, 700), Fraction(9, 700)),
    ):
        sheet = sheet_of("change-one", sizes, Fraction("0.71653131"), Confidence(), share="y")  # epsilon 1/3: 9 steps
        (row,) = sheet.record["errors"]
        assert number <= Fraction(str(row["each"])) < number * (1 + Fraction(1, 10**15))
        assert error_table(sheet.record).rows[0][3] == "4.5 percentage points" or number != Fraction(9, 200)


def test_each_count_by_a_mechanism_with_ends_is_within_what_is_said():
    """The rows of their matrices, by fractions; all at once, every cell for itself. It is no more than the intervals reach."""
    for mechanism, n, alpha, level in product(
        ("explicit_fair", "randomized_response"), (3, 12), ("3/5", "9/10"), (Fraction(1, 2), Fraction(19, 20))
    ):
        sheet = sheet_of("change-one", (n, n), alpha, Confidence(level), count="y", mechanism=mechanism)
        (row,), entry = sheet.record["errors"], sheet.measures[0].plan[n].channel.entry
        ends = [ends_of(sheet, [y, 0])[0] for y in range(n + 1)]
        printed = [min(max(y, low), high) for y, (low, high) in enumerate(ends)]

        def least(k, printed=printed, entry=entry, n=n):
            """How likely it is to be no farther off, where that is least so."""
            return min(sum(entry(x, y) for y in range(n + 1) if abs(printed[y] - x) <= k) for x in range(n + 1))

        assert least(row["each"]) >= level
        assert least(row["all"]) ** 2 >= level
        assert row["each"] == max(max(high - x, x - low) for x, (low, high) in zip(printed, ends, strict=True))


def test_the_limit_of_a_mean_names_what_it_is_taken_over(book):
    asked = {"dataset": "homes", "ledger": book, "epsilon": 1, "counted": "rows", "max_rows": 2, "mean": "x:0..9"}
    book.create("homes", 9, relation="add-remove", unit="home")
    homes = PEOPLE.append_column("home", pa.array([k // 2 for k in range(100)]))
    told = ask_preview(homes, by="town", domain={"town": ["a", "b"]}, **asked)
    assert "in a group of 100 rows; " in str(told)


# As people ask


@pytest.fixture
def book(tmp_path):
    with dt.Ledger(tmp_path / "budget.db") as ledger:
        ledger.create("town", 10, relation="add-remove")
        ledger.create("open", 10, relation="change-one", public=["town"])
        yield ledger


PEOPLE = pa.table({"town": ["a", "b", "b", "c"] * 25, "x": list(range(100)), "y": [k % 3 == 0 for k in range(100)]})
ASKED = {"by": ["town"], "domain": {"town": ["a", "b", "c"]}, "count": "y", "epsilon": "1/2"}


@pytest.mark.parametrize("dataset", ["town", "open"])
def test_another_confidence_costs_nothing_is_kept_and_is_checked_again(book, tmp_path, dataset):
    first = book[dataset].release(PEOPLE, **ASKED)
    spent = book[dataset].balance().spent
    for confidence, simultaneous in (("0.99", False), (0.8, True), (Fraction(2, 3), True)):
        made = (
            book[dataset]
            .release(PEOPLE, **ASKED)
            .with_totals("total")
            .presented(confidence=confidence, simultaneous=simultaneous)
        )
        assert made.columns["report"] == first.columns["report"]
        assert book[dataset].balance().spent == spent
        assert (made.record["confidence"], made.record["simultaneous"]) == (
            str(Fraction(str(confidence))),
            simultaneous,
        )
        files = made.save(tmp_path / f"{str(confidence)[:1]}{float(confidence):.2}.csv")
        assert dt.check_release(files[-1], ledger=book)
        words = Confidence.of(confidence).words()
        page = made.to_html()
        assert f"{words} interval{', all at once' if simultaneous else ''}" in page
        assert not re.search(r"\b95 %", page)
        assert not re.search(r"\b95 (%|of)", str(made.error_statement()))
        assert ("Bonferroni" in page) == simultaneous
    wider = [high - low for low, high in zip(made.columns["low"], made.columns["high"], strict=True)]
    assert wider != [high - low for low, high in zip(first.columns["low"], first.columns["high"], strict=True)]


def test_audiences_have_the_same_confidence(book):
    made = (
        book["town"]
        .release_to(
            PEOPLE,
            audiences={"office": 1, "all": "1/2"},
            **{name: part for name, part in ASKED.items() if name != "epsilon"},
        )
        .audiences
    )
    made = {name: one.presented(confidence="0.9", simultaneous=True) for name, one in made.items()}
    assert [made[name].record["confidence"] for name in made] == ["9/10", "9/10"]
    each = 1 - 0.9 ** (1 / 3)
    for name, alpha in (("office", math.exp(-1)), ("all", math.exp(-0.5))):
        k = next(k for k in range(99) if 2 * alpha ** (k + 1) / (1 + alpha) <= each)
        assert made[name].record["errors"][0]["all"] == k


@for_each("bad", [0, 1, "95 %", "95", -0.5, "0.9999999999999", "1e-400", float("nan"), True])
def test_a_confidence_that_is_none_is_refused_with_the_next_step(book, bad):
    with pytest.raises(ReleaseError, match="write for example confidence="):
        book["town"].preview(table=PEOPLE, **ASKED).presented(confidence=bad)
    with pytest.raises(ReleaseError, match="all intervals of the release cover at once"):
        book["town"].preview(table=PEOPLE, **ASKED).presented(simultaneous="yes")
    assert book["town"].balance().spent == 0


def test_a_preview_says_how_wrong_the_numbers_can_be(book):
    """By hand: at alpha = e^-1/2, Pr[|noise| > k] = 2 alpha^(k+1) / (1 + alpha) is at most 1/20 from k = 6 on."""
    alpha = 0.6065306597126334
    assert 2 * alpha**7 / (1 + alpha) <= 0.05 < 2 * alpha**6 / (1 + alpha)
    told = book["town"].preview(table=PEOPLE, **ASKED).presented(confidence="0.95")
    each = 1 - 0.95 ** (1 / 3)
    k = next(k for k in range(99) if 2 * alpha ** (k + 1) / (1 + alpha) <= each)
    assert error_table(told.record).rows == (("count", "each group", 3, "6", str(k)),)
    assert "In 95 of 100 cases" in str(told)
    sure = book["town"].preview(table=PEOPLE, **ASKED).with_totals("total").presented(confidence="0.999")
    assert "999 of 1,000 cases" in str(sure)
    assert [row["of"] for row in sure.errors] == ["groups", "total"]
    assert sure.to_dict()["record"]["errors"] == sure.errors
    assert "999 of 1,000" in sure._repr_html_()


def test_an_error_statement_says_nothing_that_depends_on_the_data_beyond_the_release(book):
    """Two data sets with one set of public sizes: the statements differ in the time alone."""
    other = PEOPLE.set_column(2, "y", pa.array([True] * 100))
    made = [
        book["open"].release(table, version=str(k), share={"part": "y"}, **ASKED).with_totals("total")
        for k, table in enumerate((PEOPLE, other))
    ]
    told = [re.sub(r", released .*?UTC|version \d", "", str(one.error_statement())) for one in made]
    assert told[0] == told[1]
    assert "errors in the data themselves" in told[0]
    assert "people in none of the groups listed, who are not counted" in told[0]
    assert "percentage points" in told[0]
    page = made[0].to_html()
    assert all(line in page for line in ("How wrong can these numbers be?", "groups listed, who are not counted"))
    statement = made[0].error_statement()
    assert statement.to_html().startswith("<!doctype html>")
    assert statement.to_html().count("<li>") == len(statement.view().notes)
    assert statement.to_html().count("<tr>") == 1 + len(statement.rows()) == 5


def test_errors_of_private_sizes_are_cut_at_the_range(book):
    """By examples of groups, none beyond the range of the values and none of totals; under the page's names."""
    asked = {"dataset": "town", "ledger": book, "by": ["town"], "domain": {"town": ["a", "b", "c"]}, "margins": [[]]}
    asked |= {"share": {"part": "y"}}
    low = ask_preview(PEOPLE, epsilon="1/100", **asked)
    over = {row["of"]: row["each"] for row in low.errors}
    assert 100 < over["groups"] < 1000  # more than 100 people, fewer than 1,000
    groups, totals = error_table(low.record).rows
    assert (
        groups[3]
        == f"100 percentage points in a group of 100 people; {over['groups'] / 10:g} percentage points in 1,000"
    )
    assert totals[3:] == ("see their intervals",) * 2
    made = ask_release(PEOPLE, epsilon="1", **asked).presented(labels={"part": "Teil", "town": "Ort"})
    told = made.error_statement().view()
    assert [row[0] for row in told.rows] == ["Teil", "Teil"]
    assert told.notes[0].startswith("What was counted: Teil (share of y) by Ort, 3 groups")
    assert made.to_html().count("Not included: ") == 1


def test_the_command_line_reads_the_confidence_exactly(tmp_path, capsys):
    from discreet.cli.app import main

    def run(*words):
        with pytest.raises(SystemExit) as ended:
            main([*words, "--ledger", str(tmp_path / "budget.db")])
        return ended.value.code, *capsys.readouterr()

    table, keys = tmp_path / "people.csv", tmp_path / "domain.json"
    table.write_text("town,y\n" + "a,yes\nb,no\n" * 40)
    keys.write_text('{"town": ["a", "b"]}')
    assert run("ledger", "create", "town", "--budget", "2", "--relation", "add-remove")[0] == 0
    assert run("admit", str(table), "--dataset", "town")[0] == 0
    asked = [str(table), "--dataset", "town", "--count", "y = 'yes'", "--by", "town", "--domain", str(keys)]
    code, told, _ = run("preview", *asked, "--epsilon", "1/2", "--confidence", "0.999")
    assert code == 0
    assert "999 of 1,000 cases" in told
    made = tmp_path / "released.csv"
    assert run("release", *asked, "--epsilon", "1/2", "--confidence", "0.99", "--simultaneous", "-o", str(made))[0] == 0
    assert '"confidence": "99/100"' in made.with_suffix(".json").read_text()
    assert "99 % interval, all at once" in made.with_suffix(".html").read_text()
    assert run("check-release", str(made.with_suffix(".json")))[0] == 0
