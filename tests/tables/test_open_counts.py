"""Counts are drawn on all whole numbers and moved into what is possible when they are printed: exact coverage near both ends, no
interval of one point, totals from the reports as they were drawn, and what has no totals."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pyarrow as pa
import pytest

import discreet as dt
from discreet.errors import ReleaseError
from discreet.ledger.book import Terms
from discreet.tables.draw.measures import measures_for
from discreet.tables.publish.readings import Confidence, in_steps

from ..cells import for_each
from .asking import ask
from .test_confidence import ends_of, sheet_of

LEVELS = [Fraction(text) for text in ("0.5", "0.8", "0.95", "0.99")]
FAR = 60  # steps of noise that are enumerated; what lies beyond counts as missed


def printed(n, alpha, level, reports):
    """What is printed for each of these reports of groups of n people (or of a private number, -1), and its interval."""
    terms = Terms("d", Fraction(9), "add-remove" if n < 0 else "change-one", ("g",), None, "")
    (measure,) = measures_for(ask(alpha=Fraction(alpha), count="y"), terms, np.array([n]))
    error, sizes = 1 - level, np.full(len(reports), n)
    part = in_steps(measure, sizes, np.array(reports), error)
    return measure.noise, part["low"].tolist(), part["high"].tolist()


def covered(noise, truth, ends):
    """How often the interval holds the truth; `ends` by report."""
    return sum(
        noise.exact(y - truth) for y, (low, high) in ends.items() if low <= truth <= high and abs(y - truth) <= FAR
    )


@for_each("alpha, level", product(("1/10", "1/2", "9/10"), LEVELS))
@for_each("n", [-1, 1, 2, 5, 40])
def test_the_printed_interval_covers_at_every_truth_and_is_never_a_point(n, alpha, level):
    """Every truth near 0 and near n, every report up to 60 steps away, by fractions."""
    top = 100 if n < 0 else n
    reports = range(-FAR, top + FAR + 1)
    noise, low, high = printed(n, alpha, level, reports)
    ends = dict(zip(reports, zip(low, high, strict=True), strict=True))
    beyond = 2 * noise.upper(FAR + 1)
    for truth in {*range(min(top, 12) + 1), *range(max(top - 12, 0), top + 1)}:
        assert covered(noise, truth, ends) >= level - beyond
    reach = noise.reach((1 - level) / 2) - 1
    for y, (least, most) in ends.items():
        moved = max(y, 0) if n < 0 else min(max(y, 0), n)
        assert (least, most) == (max(moved - reach, 0), moved + reach if n < 0 else min(moved + reach, n))
        assert least < most or reach == 0


def test_cutting_the_interval_of_the_report_instead_prints_points():
    """The negative control: [y - s, y + s], cut at 0, covers as often, and is [0, 0] in 3.6 % of draws at a true 0."""
    level, noise = Fraction(19, 20), dt.noise.geometric(epsilon=1)
    s = noise.reach((1 - level) / 2) - 1
    cut = {y: (max(y - s, 0), max(y + s, 0)) for y in range(-FAR, FAR)}
    assert covered(noise, 0, cut) >= level
    points = sum(noise.exact(y) for y, (low, high) in cut.items() if low == high)
    assert float(points) == pytest.approx(0.0364, abs=5e-4)
    low, high = printed(-1, noise.a, level, list(cut))[1:]
    assert all(a < b for a, b in zip(low, high, strict=True))


def test_an_interval_that_is_a_step_narrower_does_not_cover():
    """The second control: at no end is there room to give away."""
    for n, truth in ((-1, 0), (-1, 9), (40, 40), (40, 20)):
        reports = range(-FAR, 40 + FAR)
        noise, low, high = printed(n, "1/2", LEVELS[2], reports)
        narrow = {y: (a + 1, b - 1) for y, a, b in zip(reports, low, high, strict=True)}
        assert covered(noise, truth, narrow) < LEVELS[2]


def test_printed_counts_are_too_large_on_average_and_reports_are_not():
    """Of a true 0 by a/(1 - a^2): .43 at epsilon 1 and 4.99 at 1/10, which the record says; the sum of reports is unbiased."""
    for epsilon, words in (("1", "0.425"), ("1/10", "4.99")):
        sheet = sheet_of("add-remove", (-1, -1), dt.Level.of(epsilon=epsilon).alpha, Confidence(), count="y")
        noise, reach = sheet.measures[0].noise, 2000
        law = {k: float(noise.pmf(k)) for k in range(-reach, reach + 1)}
        assert sum(p * k for k, p in law.items()) == pytest.approx(0, abs=1e-9)
        more = sum(p * max(k, 0) for k, p in law.items())
        a = float(noise.a)
        assert more == pytest.approx(a / (1 - a * a))
        assert words in next(text for text in sheet.record["beware"] if "do not add up the printed numbers" in text)
        assert float(words) == pytest.approx(more, rel=2e-3)
        for drawn in ([-7, 3], [0, -1]):
            shown = sheet.filled([np.array(drawn)], [], None, None)
            assert shown.columns["report"] == shown.record["answer"]["reports"][0] == drawn
            assert shown.columns["published"] == [max(y, 0) for y in drawn]


@for_each("drawn", [[-9, 4, 5], [-3, -4, -5], [45, 41, 47], [0, 0, 0]])
def test_totals_are_made_of_the_reports_as_they_were_drawn(drawn):
    """Public groups of 40: the interval is around the sum of the reports, moved into 0..120, not around that of printed counts."""
    sheet = sheet_of("change-one", (40, 40, 40), "1/2", Confidence(), [[]], count="y")
    shown = sheet.filled([np.array(drawn)], [], None, None)
    (total,) = shown.margins["total"]
    (reach,) = {row["each"] for row in sheet.record["errors"] if row["of"] == "total"}
    centre = min(max(sum(drawn), 0), 120)
    assert (total["low"], total["high"]) == (max(centre - reach, 0), min(centre + reach, 120))
    assert total["low"] < total["high"]
    assert total["total"] == centre == sum(shown.columns["published"])
    assert "do not add up" not in " ".join(sheet.record["beware"])  # they were fitted to the total


def test_a_total_is_covered_at_every_truth_near_the_ends():
    """Two groups of 1 and 2 people, every true table, reports up to 8 steps away, by fractions; beyond they count as missed."""
    sheet = sheet_of("change-one", (1, 2), "1/4", Confidence(Fraction(9, 10)), [[]], count="y")
    noise = sheet.measures[0].noise
    steps = range(-8, 9)
    known = {}
    for truth in product(range(2), range(3)):
        held = Fraction(0)
        for k, j in product(steps, steps):
            reports = truth[0] + k, truth[1] + j
            if reports not in known:
                known[reports] = ends_of(sheet, list(reports))[-1]
                assert known[reports][0] < known[reports][1]
            low, high = known[reports]
            held += noise.exact(k) * noise.exact(j) * (low <= sum(truth) <= high)
        assert held >= Fraction(9, 10)


# As people ask


TOWNS = pa.table({"g": ["a"] * 12 + ["b"] * 30, "y": [True, False, False] * 14})
ASKED = {"by": "g", "domain": {"g": ["a", "b"]}, "count": "y", "epsilon": "1/2"}


@pytest.fixture
def book(tmp_path):
    with dt.Ledger(tmp_path / "b.db") as ledger:
        ledger.create("open", 9, relation="add-remove")
        ledger.create("public", 9, relation="change-one", public=["g"])
        yield ledger


@pytest.mark.parametrize("dataset", ["open", "public"])
def test_the_default_is_geometric_noise_without_ends_at_every_size(book, tmp_path, dataset):
    made = book[dataset].release(TOWNS, **ASKED)
    assert made.columns["mechanism"] == ["geometric"] * 2
    entry = made.record["answer"]["measures"][0]["mechanism"]
    assert (entry["family"], entry["change"]) == ("geometric", 1)
    words = "count: do not add up the printed numbers."
    assert all(words in text for text in (str(made), made.to_html(), str(made.error_statement())))
    again = made.with_totals("total")
    assert again.columns["report"] == made.columns["report"]
    assert words not in again.to_html()
    for one, name in ((made, "made"), (again, "again")):
        one.save(tmp_path / f"{name}.csv")
        assert dt.check_release(tmp_path / f"{name}.json", ledger=book)


def test_explicit_fair_is_there_by_name_and_has_no_totals(book):
    fair = {**ASKED, "mechanism": "explicit_fair"}
    with pytest.raises(ReleaseError, match="Counts drawn by explicit_fair cannot be added up"):
        book["public"].release(TOWNS, **fair, measure_totals="total")
    with pytest.raises(ReleaseError, match="Counts drawn by explicit_fair cannot be added up"):
        book["public"].preview(table=TOWNS, **fair).with_totals("total")
    with pytest.raises(ReleaseError, match="explicit_fair needs the public size of each group"):
        book["open"].release(TOWNS, **fair)
    assert book["public"].balance().spent == book["open"].balance().spent == 0
    told, seen = book["public"].preview(table=TOWNS, **fair), []
    assert "Counts drawn by explicit_fair cannot be added up" in str(told)
    made = book["public"].release(TOWNS, **fair, confirm=lambda check: bool(seen.append(str(check)) or True))
    assert "Counts drawn by explicit_fair cannot be added up" in seen[0]
    assert made.columns["mechanism"] == ["explicit_fair"] * 2
    assert all(0 <= y <= n for y, n in zip(made.columns["report"], made.columns["n"], strict=True))


@for_each("word, instead", [("max_count", "noise on counts has no ends"), ("purpose", "drawn so that they add up")])
def test_words_that_went_say_what_to_do_instead(book, word, instead):
    with pytest.raises(ReleaseError, match=f"{word} is no part of a question. Leave it out: .*{instead}"):
        book["open"].release(TOWNS, **ASKED, **{word: 9})
    assert book["open"].balance().spent == 0
