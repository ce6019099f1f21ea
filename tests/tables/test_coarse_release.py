"""Rounded and hidden releases: nothing that is published tells more than the cells, later costs nothing, sums too."""

from __future__ import annotations

import json
import math
import re
from fractions import Fraction
from itertools import product

import numpy as np
import pandas
import pytest

import discreet as dt
from discreet.tables import release as module
from discreet.tables.publish.page import release_page

DOMAIN = {"town": ["a", "b", "c"], "age": ["old", "young"]}


@pytest.fixture
def people():
    rng = np.random.default_rng(3)
    return pandas.DataFrame(
        {
            "town": rng.choice(["a", "b", "c"], 400, p=[0.7, 0.2, 0.1]),
            "age": rng.choice(["old", "young"], 400),
            "ill": rng.choice(["yes", "no"], 400),
        }
    )


@pytest.fixture
def ledger(tmp_path):
    with dt.Ledger(tmp_path / "budget.db") as book:
        book.create("bits", "9", relation="change-one", public=["town", "age"])
        book.create("people", "9", relation="add-remove")
        yield book


ASKED = {
    "bits": {"count": "ill = 'yes'", "by": ["town", "age"], "domain": DOMAIN, "epsilon": "1/2"},
    "people": {"count": "ill = 'yes'", "by": ["town", "age"], "domain": DOMAIN, "epsilon": "1/2"},
}


def everything(made) -> str:
    """All that can be published of a release, but for when it was made and which line of the ledger it is."""
    record = {
        **made.record,
        "ledger_head": None,
        "released": None,
        "ledger_line": None,
        "budget": None,
        "repeated": None,
    }
    page = re.sub(r"<p class='lead'>.*?</p>", "", release_page(made)).partition("<p>Budget")[0]
    page, clocks = re.subn(r"released \d+ \w+ \d{4}, \d\d:\d\d UTC", "released", page)
    assert clocks == 1
    return "\n".join([made.to_csv(), json.dumps(made.rows()), json.dumps(made.margins), json.dumps(record), page])


def with_reports(monkeypatch, people, ledger, dataset, reports, version, **post):
    """`reports` of the cells, or of the cells and of measured totals by how many these are."""
    drawn = reports if isinstance(reports, dict) else {len(reports): reports}
    monkeypatch.setattr(module, "_draw", lambda plan, sizes, truth: np.array(drawn[len(sizes)]))
    return module.release(people, dataset=dataset, ledger=ledger, version=version, **ASKED[dataset], **post)


@pytest.mark.parametrize("dataset", ["bits", "people"])
def test_two_reports_of_one_cell_are_published_in_the_same_bytes(people, ledger, monkeypatch, dataset):
    """For every unit by which one report can be moved within its cell, margins and fitted parts included."""
    first = [13, 22, 8, 9, 3, 0]
    post = {"round_to": 5, "hide_below": 5, "margins": ["town"]}
    sent = {"version": "0", **post}
    told = everything(with_reports(monkeypatch, people, ledger, dataset, first, **sent))
    moved = [([14, 20, 11, 12, 7, 2], True), ([13, 23, 8, 9, 3, 0], False), ([13, 22, 8, 9, 2, 0], False)]
    for k, (reports, same) in enumerate(moved, 1):
        other = everything(with_reports(monkeypatch, people, ledger, dataset, reports, str(k), **post))
        assert (other.replace(f'"version": "{k}"', '"version": "0"') == told) is same
    plain = {"margins": ["town"]}  # the negative control: without rounding each of them is told apart
    monkeypatch.undo()
    texts = {
        everything(
            module.release(people, dataset=dataset, ledger=ledger, version=str(k), **ASKED[dataset], **plain)
        ).replace(f'"version": "{k}"', "")
        for k in range(4)
    }
    assert len(texts) == 4


@pytest.mark.parametrize("dataset", ["bits", "people"])
def test_measured_totals_of_one_cell_are_published_in_the_same_bytes(people, ledger, monkeypatch, dataset):
    """Reports of cells and of totals, moved within what they are rounded to or hidden by; and one that leaves it."""
    post = {"round_to": 5, "hide_below": 5, "margins": ["town", ["age"]], "measure_totals": [[], "town"]}
    cells, town, total = [13, 22, 8, 9, 3, 0], [33, 18, 4], [52]
    moved = [
        ({6: [14, 20, 11, 12, 7, 2], 3: [34, 22, 7], 1: [48]}, True),
        ({6: cells, 3: [33, 18, 2], 1: total}, False),
        ({6: cells, 3: town, 1: [53]}, False),
        ({6: [13, 23, 8, 9, 3, 0], 3: town, 1: total}, False),
    ]
    told = everything(with_reports(monkeypatch, people, ledger, dataset, {6: cells, 3: town, 1: total}, "0", **post))
    for k, (reports, same) in enumerate(moved, 1):
        other = everything(with_reports(monkeypatch, people, ledger, dataset, reports, str(k), **post))
        assert (other.replace(f'"version": "{k}"', '"version": "0"') == told) is same, k


def test_hidden_cells_leave_the_totals_of_others(people, ledger, monkeypatch):
    """Nothing bounds a hidden sum from below: its own totals are unknown, the others are there."""
    asked = {**ASKED["people"], "count": None, "sum": "pay:0..20/5", "epsilon": 8}
    drawn = {6: [40, 41, -3, 20, 30, 31], 3: [80, 20, 60]}
    monkeypatch.setattr(module, "_draw", lambda plan, sizes, truth: np.array(drawn[len(sizes)]))
    made = module.release(
        people.assign(pay=5),
        dataset="people",
        ledger=ledger,
        **asked,
        hide_below=5,
        margins=["town"],
        measure_totals=["town"],
    )
    assert made.columns["report"] == [200, 205, None, 100, 150, 155]
    assert [line["total"] is None for line in made.margins["town"]] == [False, True, False]
    assert [line["report"] for line in made.margins["town"]] == [400, 100, 300]


def test_rounding_is_no_part_of_the_question_and_says_what_stays_published(people, ledger):
    plain = module.release(people, dataset="bits", ledger=ledger, **ASKED["bits"])
    spent = ledger.balance("bits").spent
    for post in ({"round_to": 5}, {"hide_below": 10}, {"round_to": 10, "hide_below": 10, "margins": ["town"]}):
        made = module.release(people, dataset="bits", ledger=ledger, **ASKED["bits"], **post)
        assert made.record["repeated"]
        assert any("stays published" in text for text in made.record["beware"])
        for report, shown in zip(plain.columns["report"], made.columns["report"], strict=True):
            width = post.get("round_to", 1)
            nearest = (report + Fraction(width, 2)) // width * width
            assert shown == (None if nearest < post.get("hide_below", 0) else nearest)
    assert ledger.balance("bits").spent == spent
    assert plain.record["round_to"] is None
    assert not any("stays published" in text for text in plain.record["beware"])


def test_a_public_zero_is_no_report_and_stays(people, ledger):
    few = {**ASKED["bits"], "domain": {"town": ["a", "z"], "age": ["old"]}}
    made = module.release(people, dataset="bits", ledger=ledger, **few, hide_below=1000)
    assert made.columns["report"] == [None, 0]
    assert made.columns["low"][0] == 0
    assert made.columns["estimate"][0] is None


CASES = [
    {"epsilon": 2, "round_to": 3},
    {"epsilon": 2, "hide_below": 4},
    {"epsilon": 1, "round_to": 2, "hide_below": 3},
    {"epsilon": 2, "round_to": 3, "town": ["a", "z"]},  # with public zeros
    {"epsilon": 3, "round_to": 3, "measure_totals": ["total"]},
]


def over_one_number(rows):
    """Fractions as whole numbers over one, which comes first: they add up ten times as quickly."""
    whole = math.lcm(*(Fraction(x).denominator for row in rows for x in row))
    return whole, [[int(whole * x) for x in row] for row in rows]


@pytest.mark.parametrize("way", CASES)
def test_totals_of_merged_reports_cover_exactly(ledger, monkeypatch, way):
    """Two parts of 7 people each: every pair of truths, every pair of reports, with their chances as fractions; where the total
    is measured too, every report of it."""
    sheets, of = [], module.Sheet.of
    monkeypatch.setattr(module.Sheet, "of", lambda *given: sheets.append(of(*given)) or sheets[-1])
    few = pandas.DataFrame({"town": ["a"] * 14, "age": ["old", "young"] * 7, "ill": ["yes"] * 14})
    towns, way = way.get("town", ["a"]), {name: value for name, value in way.items() if name != "town"}
    asked = {**ASKED["bits"], "domain": {"town": towns, "age": ["old", "young"]}, "mechanism": "geometric", **way}
    module.release(few, dataset="bits", ledger=ledger, **asked, margins=["total"])
    sheet, balance = sheets[0], ledger.balance("bits")
    law = sheet.measures[0].plan[7].finite()
    above = sheet.tiers[0].measures[0].plan[14].finite() if sheet.tiers else None
    zeros = [0] * (2 * len(towns) - 2)
    held: dict[int, list[tuple[int, ...]]] = {}
    for i, j in product(range(8), repeat=2):
        for k in range(15 if above else 1):
            (row,) = sheet.filled(
                [np.array([i, j, *zeros])], [[np.array([k])]] if above else [], balance, None
            ).margins["total"]
            for total in range(row["low"], row["high"] + 1):
                held.setdefault(total, []).append((i, j, k))
    chance = [[law.entry(x, i) for i in range(8)] for x in range(8)]
    of_total = [[above.entry(x, k) for k in range(15)] for x in range(15)] if above else [[1]] * 15
    (one, chance), (two, of_total) = over_one_number(chance), over_one_number(of_total)
    covered = [
        sum(chance[x][i] * chance[y][j] * of_total[x + y][k] for i, j, k in held[x + y])
        for x, y in product(range(8), repeat=2)
    ]
    assert Fraction(min(covered), one * one * two) >= Fraction(19, 20)
    assert len(held[7]) < 64 * (15 if above else 1)  # and not because it holds everything


def test_totals_of_merged_sums_cover_exactly(ledger, monkeypatch):
    """Open noise on two sums in steps of 5, rounded to 10: all errors of both up to a chance of 1e-6."""
    sheets, of = [], module.Sheet.of
    monkeypatch.setattr(module.Sheet, "of", lambda *given: sheets.append(of(*given)) or sheets[-1])
    few = pandas.DataFrame({"town": ["a"] * 4, "age": ["old", "young"] * 2, "pay": [5] * 4})
    domain = {"town": ["a"], "age": ["old", "young"]}
    asked = {**ASKED["people"], "count": None, "sum": "pay:0..5/5", "domain": domain, "epsilon": 2}
    module.release(few, dataset="people", ledger=ledger, **asked, round_to=10, margins=["town"])
    noise, balance = sheets[0].measures[0].plan[-1].channel.noise, ledger.balance("people")
    far = 8
    chance = {e: noise.pmf(e) for e in range(-far, far + 1)}
    assert 1 - sum(chance.values()) < 1e-6
    for x, y in product(range(2), repeat=2):  # both places within a rounded step
        missed = 1 - sum(chance.values()) ** 2
        narrow = 0
        for e, f in product(chance, repeat=2):
            (row,) = sheets[0].filled([np.array([20 + x + e, 30 + y + f])], [], balance, None).margins["town"]
            missed += chance[e] * chance[f] * (not row["low"] <= 5 * (50 + x + y) <= row["high"])
            narrow += row["high"] - row["low"] < 100
        assert missed <= 0.05
        assert narrow


WAYS = [{"round_to": 5}, {"hide_below": 12}, {"round_to": 7, "hide_below": 10}, {"round_to": "5/2", "hide_below": 4}]


@pytest.mark.parametrize("dataset", ["bits", "people"])
def test_merged_releases_can_be_checked_without_the_data(people, ledger, tmp_path, dataset):
    """Sums, means and shares too; and a report that was changed to another cell is noticed."""
    more = {"sum": "pay:-5..20/5 missing 0", "mean": {"m": "pay:-5..20/5 missing 0"}, "share": "ill = 'no'"}
    table = people.assign(pay=np.arange(len(people)) % 6 * 5 - 5)
    for k, way in enumerate(WAYS):
        made = module.release(table, dataset=dataset, ledger=ledger, **{**ASKED[dataset], "epsilon": 2}, **more, **way)
        made.save(tmp_path / f"{k}.csv")
        verdict = dt.check_release(tmp_path / f"{k}.json", ledger=ledger)
        assert verdict.holds, str(verdict)
    rows = (tmp_path / "0.csv").read_text().splitlines()
    at = rows[0].split(",").index("report")
    changed = rows[1].split(",")
    changed[at] = str(int(changed[at]) + 5)
    (tmp_path / "0.csv").write_text("\n".join([rows[0], ",".join(changed), *rows[2:]]) + "\n")
    checks = {check.matter: check.held for check in dt.check_release(tmp_path / "0.json").checks}
    assert checks["rows, intervals and estimates"] is False
