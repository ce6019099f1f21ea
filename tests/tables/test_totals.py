"""Totals of releases: any margin, hierarchies, means, and totals that are measured besides the cells."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize

import discreet as dt
from discreet.errors import ReleaseError
from discreet.ledger.book import Terms
from discreet.questions.margins import best_parts, groups_of, measure_of
from discreet.tables.draw.measures import measures_for, tiers_for
from discreet.tables.publish.readings import USUAL, in_steps
from discreet.tables.totals.margin_rows import ReleaseTotals, margins_of
from tests.asking import ask_preview, ask_release

from .asking import ask

TOWNS = ["a", "b", "c", "d"]
DOMAIN = {
    "town": TOWNS,
    "sex": ["f", "m"],
    "district": {"of": "town", "map": {"north": ["a", "b"], "south": ["c", "d"]}},
}
PRESENCE = Terms("people", Fraction(100), "add-remove", None, (), "")


@pytest.fixture
def people() -> pd.DataFrame:
    g = np.random.default_rng(5)
    return pd.DataFrame(
        {
            "id": np.arange(400) // 2,
            "town": g.choice(TOWNS, 400, p=[0.5, 0.3, 0.15, 0.05]),
            "sex": g.choice(["f", "m"], 400),
            "sick": g.choice(["yes", "no"], 400),
            "age": g.integers(0, 90, 400),
        }
    )


@pytest.fixture
def ledger(tmp_path):
    with dt.Ledger(tmp_path / "budget.db") as book:
        book.create("people", budget=100, relation="add-remove")
        book.create("ids", budget=100, relation="add-remove", unit="id")
        book.create("public", budget=100, relation="change-one", public=["town", "sex"])
        yield book


def released(people, ledger, **more):
    asked = {"dataset": "people", "by": ["town", "sex"], "domain": DOMAIN, "epsilon": "1/2", **more}
    return ask_release(people, ledger=ledger, **asked)


MARGINS = ["sex", ["district", "sex"], [], "district"]


def test_every_margin_matches_its_fitted_parts_and_costs_nothing_later(people, ledger):
    first = released(people, ledger)
    spent = ledger["people"].balance().spent
    made = released(people, ledger, margins=MARGINS)
    assert made.record["repeated"]
    assert ledger["people"].balance().spent == spent
    assert made.columns["report"] == first.columns["report"]
    assert list(made.margins) == ["sex", "district+sex", "total", "district"]
    north = {"a": "north", "b": "north", "c": "south", "d": "south"}
    rows = [{**row, "district": north[row["town"]]} for row in made.rows()]
    for name, columns in (
        ("sex", ["sex"]),
        ("district+sex", ["district", "sex"]),
        ("total", []),
        ("district", ["district"]),
    ):
        for line in made.margins[name]:
            parts = [row["fitted"] for row in rows if all(row[c] == line[c] for c in columns)]
            assert line["total"] == sum(parts)
            assert line["low"] <= line["total"] <= line["high"]
            assert line["interval_by"] == "exact convolution"
    assert len(made.margins["district+sex"]) == 4
    assert released(people, ledger, margins="total").margins["total"] == made.margins["total"]
    twice = released(people, ledger, by=["sex", "town"], margins=["sex+district", "total", ["sex", "district"]])
    assert twice.record["repeated"]
    assert list(twice.margins) == ["sex+district", "total"]
    json.dumps(made.to_dict(), allow_nan=False)


@pytest.mark.parametrize(
    ("margins", "words"),
    [
        (["age"], "columns of `by` .town, sex, district., not age"),
        ([["sex", "town"]], "other columns"),
        ([7], "not a list of margins"),
        (["sex+age"], "not age"),
    ],
)
def test_margins_that_cannot_be(people, ledger, margins, words):
    made = released(people, ledger, margins=[])
    ahead = ledger["people"].preview(dt.Question.from_dict(made.record["question"]), epsilon=1)
    for one in (made, ahead):
        with pytest.raises(ReleaseError, match=words):
            one.with_totals(*margins)


def test_no_container_has_the_name_of_the_pooled_cell():
    """The total by it would count all undeclared keys as well."""
    domain = {"g": ["a", "b"], "area": {"of": "g", "map": {"(other)": ["a"], "x": ["b"]}}}
    assert dt.Question(by="g", domain=domain).cells == [("a",), ("b",)]
    with pytest.raises(ReleaseError, match="the name of the pooled cell; a declared key or container"):
        dt.Question(by="g", domain=domain, pool_other=True)


@pytest.mark.parametrize("name", ["total", "Report", "digest"])
def test_a_containing_column_does_not_take_the_name_of_a_result(people, ledger, name):
    domain = {**DOMAIN, name: {"of": "town", "map": {"all": TOWNS}}}
    with pytest.raises(ReleaseError, match="rename it in the domain"):
        released(people, ledger, domain=domain)
    assert ledger["people"].balance().spent == 0


def test_totals_of_people_in_several_groups_are_memberships(people, ledger):
    made = released(people, ledger, dataset="ids", max_groups=2, margins=["total"])
    assert any("memberships, not units" in text for text in made.record["beware"])
    alone = released(people, ledger, dataset="ids", max_groups=2)
    assert not any("memberships" in text for text in alone.record["beware"])


@pytest.mark.parametrize("dataset", ["people", "public"])
def test_margins_of_sums_means_and_shares_are_ratios_of_totals(people, ledger, dataset):
    """At a large epsilon they are nearly the truth."""
    made = released(
        people,
        ledger,
        dataset=dataset,
        epsilon=90,
        count="sick = 'yes'",
        sum={"years": "age:0..100"},
        mean={"mean age": "age:0..100"},
        share={"ill": "sick = 'yes'"},
        margins=["sex", []],
    )
    for line in [*made.margins["sex"], *made.margins["total"]]:
        mine = people[people.sex == line["sex"]] if "sex" in line else people
        truth = {
            "count": (mine.sick == "yes").sum(),
            "years": mine.age.sum(),
            "mean age": mine.age.mean(),
            "ill": (mine.sick == "yes").mean(),
        }[line["statistic"]]
        # 95 % intervals miss now and then; at six half-widths the noise, whose tails are geometric, does in fewer than 1e-6 runs
        half = (line["high"] - line["low"]) / 2
        assert line["low"] - 5 * half - 1e-9 <= truth <= line["high"] + 5 * half + 1e-9
        assert line["low"] <= line["total"] <= line["high"]
        assert line["total"] == pytest.approx(truth, rel=0.05)
    json.dumps(made.to_dict(), allow_nan=False)


def test_measured_totals_are_part_of_the_question_and_of_its_stored_answer(people, ledger):
    first = released(people, ledger, measure_totals=[[], ["district"]], margins=["sex"])
    assert not first.record["repeated"]
    assert (
        sum(Fraction(level["epsilon"]) for level in first.record["measured"])
        == Fraction(1, 2)
        == ledger["people"].balance().spent
    )
    assert [level["by"] for level in first.record["measured"]] == [[], ["district"], ["town", "sex"]]
    assert list(first.margins) == ["sex", "total", "district"]
    again = released(people, ledger, by=["sex", "town"], measure_totals=["district", "total"], margins=["sex"])
    assert again.record["repeated"]
    assert {name: again.margins[name] for name in first.margins} == dict(first.margins)
    assert sorted(again.columns["fitted"]) == sorted(first.columns["fitted"])
    assert first.record["question"]["domain"]["containers"] == [
        {"column": "district", "of": "town", "map": [["a", "north"], ["b", "north"], ["c", "south"], ["d", "south"]]}
    ]
    asked = {"dataset": "people", "by": ["town", "sex"], "domain": DOMAIN, "epsilon": "1/2"}
    planned = ask_preview(people, ledger=ledger, measure_totals=[[], ["district"]], **asked)
    assert planned.record["measured"] == first.record["measured"]
    assert "all together" in str(planned)
    other = released(people, ledger, measure_totals={"total": 1, "district": 1, "cells": 2})
    assert not other.record["repeated"]
    assert [level["part"] for level in other.record["measured"]] == ["1/4", "1/4", "1/2"]
    assert not released(people, ledger).record["repeated"]
    for line in first.margins["district"]:
        towns = [town for town in TOWNS if (town in "ab") == (line["district"] == "north")]
        assert line["total"] == sum(row["fitted"] for row in first.rows() if row["town"] in towns)
        assert isinstance(line["report"], int)


def test_measured_totals_under_bit_privacy_and_of_private_sizes(people, ledger):
    made = released(people, ledger, dataset="public", epsilon=60, count="sick = 'yes'", measure_totals=["total"])
    line = made.margins["total"][0]
    assert line["low"] <= (people.sick == "yes").sum() <= line["high"]
    assert line["n"] == 400
    made = released(people, ledger, epsilon=60, measure_totals=["total", "district"])
    again = released(people, ledger, epsilon=60, measure_totals=["total", "district"])
    assert again.record["repeated"]
    assert dict(made.margins) == dict(again.margins)
    assert made.margins["total"][0]["report"] == pytest.approx(400, abs=5)
    assert made.margins["total"][0]["total"] == pytest.approx(400, abs=5)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"measure_totals": ["age"]}, "measure_totals are columns"),
        ({"measure_totals": {"total": 0}}, "weight"),
        (
            {"measure_totals": ["total"], "mechanism": dt.geometric(dt.Grid(0, None), epsilon="1/4")},
            "cannot be added up",
        ),
        ({"measure_totals": {"district+sex": 1, "sex+district": 2}}, "the same"),
    ],
)
def test_what_cannot_be_measured(people, ledger, more, words):
    with pytest.raises(ReleaseError, match=words):
        released(people, ledger, **more)
    assert ledger["people"].balance().spent == 0


def question(**more):
    given = {
        "by": ["town", "sex"],
        "domain": DOMAIN,
        "epsilon": "1/2",
        **more,
    }
    return ask("people", **given)


@pytest.mark.parametrize("groups", [1, 2])
def test_one_person_moves_all_levels_by_what_epsilon_allows(groups):
    """Brute force: a person in any set of up to `groups` cells, added to any data, against the levels of all reports."""
    asked = question(max_groups=groups, measure_totals=[[], "district", "sex"])
    terms = Terms("people", Fraction(100), "add-remove", "id" if groups > 1 else None, (), "")
    sizes = np.full(8, -1, dtype=np.int64)
    cells, tiers = measures_for(asked, terms, sizes)[0], tiers_for(asked, terms, sizes)
    worst = Fraction(1)
    for person in product([0, 1], repeat=8):
        if sum(person) > groups:
            continue
        moved = np.array(person, dtype=np.int64)
        lost = cells.level.alpha ** int(np.abs(moved).sum())
        for tier in tiers:
            lost *= tier.measures[0].level.alpha ** int(np.abs(tier.added(moved)).sum())
        worst = min(worst, lost)
    assert asked.level.alpha <= worst  # all ratios together stay within e^epsilon
    assert float(worst) == pytest.approx(float(asked.level.alpha), rel=1e-9)  # and nothing is given away


def test_the_parts_of_epsilon_against_a_numerical_minimiser():
    for sizes in ([1, 240], [1, 12, 500], [3, 4, 12], [1, 10, 100, 10_000]):
        weight = np.array(sizes, dtype=float)

        def loss(x, weight=weight):
            parts = np.exp(x) / np.exp(x).sum()
            return float((weight / parts**2).sum())

        best = minimize(loss, np.zeros(len(sizes)), method="Nelder-Mead", options={"maxiter": 4000, "fatol": 1e-9}).fun
        found = best_parts(sizes)
        assert sum(found) == 1
        assert best * (1 - 1e-6) <= float((weight / np.array([float(p) for p in found]) ** 2).sum()) < best * 1.01
    assert measure_of("total, district=2,cells=6") == {"total": "1", "district": "2", "cells": "6"}


@pytest.mark.long
@pytest.mark.parametrize("measure", [None, [[], "district"]])
def test_simulated_totals_are_covered_and_fitted_ones_are_closer(measure):
    """400 seeded releases, 7 totals each: misses stay below 5 %, and a third of the width would miss far more often."""
    asked = question(measure_totals=measure)
    truth, sizes = np.array([0, 1, 3, 0, 30, 7, 0, 90]), np.full(8, -1, dtype=np.int64)
    cells, tiers = measures_for(asked, PRESENCE, sizes)[0], tiers_for(asked, PRESENCE, sizes)
    margins = [(), ("district",), ("sex",), ("district", "sex")][:3]
    misses = USUAL.misses(0, 0), USUAL.other().misses(8, 5)
    groups = margins_of(asked.question, margins, tiers)
    sums = ReleaseTotals.of(asked.question, PRESENCE, sizes, (cells,), groups, tiers, misses)
    missed = narrow = totals = 0
    for seed in range(400):
        drawn = cells.plan[-1].sample(truth, source=dt.insecure_source(3 * seed + 1))
        above = [
            [t.measures[0].plan[-1].sample(t.added(truth), source=dt.insecure_source(3 * seed + 2 + k))]
            for k, t in enumerate(tiers)
        ]
        fitted, rows = sums.filled({"count": [0]}, [in_steps(cells, sizes, drawn, 1 - USUAL.level)], above)
        assert min(fitted) >= 0
        for groups in sums.margins:
            true = np.bincount(groups.place, truth)
            for line, t in zip(rows["+".join(groups.margin) or "total"], true, strict=True):
                totals += 1
                missed += not line["low"] <= t <= line["high"]
                middle, width = (line["low"] + line["high"]) / 2, (line["high"] - line["low"]) / 2
                narrow += abs(middle - t) > width / 3
    assert totals == 400 * 5
    assert missed < 0.05 * totals
    assert narrow > 0.15 * totals


def test_a_pooled_cell_keeps_its_own_name_in_a_containing_margin(people, ledger):
    made = released(
        people.assign(town=people.town.replace("d", "elsewhere")),
        ledger,
        pool_other=True,
        epsilon=60,
        domain={**DOMAIN, "town": ["a", "b", "c", "d"]},
        margins=["district", []],
    )
    assert [line["district"] for line in made.margins["district"]] == ["north", "south", "(other)"]
    assert math.isclose(made.margins["total"][0]["total"], 400, abs_tol=5)
    asked = question().question
    keys = groups_of(("district",), ["town", "sex"], asked.domain, asked.cells).keys
    assert keys == (("north",), ("south",))


def test_fits_do_not_hang_on_the_order_of_margins_columns_or_keys_nor_on_the_type_of_keys(
    ledger, tmp_path, monkeypatch
):
    """Tables of small numbers have many ties; what is saved has its keys as texts, and must be found the same."""
    people = pd.DataFrame({"town": [1], "sex": ["f"]})
    generator, keys = np.random.default_rng(2), [1, 2, 10]
    for k in range(8):
        drawn = generator.integers(0, 5, (3, 3))
        monkeypatch.setattr("discreet.tables.release._draw", lambda *_, r=drawn: r.ravel())
        asked = {"epsilon": "1/4", "version": str(k)}
        first = released(
            people, ledger, domain={"town": keys, "sex": ["f", "m", "x"]}, margins=["town", "sex"], **asked
        )
        again = released(
            people,
            ledger,
            by=["sex", "town"],
            domain={"town": keys[::-1], "sex": ["m", "x", "f"]},
            margins=["total", "sex", "town"],
            **asked,
        )
        assert again.record["repeated"]
        fits = [{(row["town"], row["sex"]): row["fitted"] for row in made.rows()} for made in (first, again)]
        assert fits[0] == fits[1]
        first.save(tmp_path / f"{k}.csv")
        assert dt.check_release(tmp_path / f"{k}.json").holds


def test_totals_are_named_as_the_rows_are(people, ledger):
    """Beside the pooled cell keys are texts, that of missing values too."""
    domain = {"town": ["a", None], "age": [1, 2]}
    made = released(people, ledger, by=["town", "age"], domain=domain, pool_other=True, margins=["town", "age"])
    for name in ("town", "age"):
        assert [line[name] for line in made.margins[name]] == list(dict.fromkeys(made.columns[name]))
    assert made.margins["town"][1]["town"] == "(missing)"


@pytest.mark.parametrize("measure", [None, [[]]])
def test_no_total_is_larger_than_what_is_public_of_its_parts(people, ledger, measure):
    made = released(
        people, ledger, dataset="public", count="sick = 'yes'", epsilon="1/50", margins="total", measure_totals=measure
    )
    assert all(
        0 <= low <= high <= n for low, high, n in zip(*(made.columns[x] for x in ("low", "high", "n")), strict=True)
    )
    assert 0 <= made.margins["total"][0]["low"] <= made.margins["total"][0]["high"] <= 400


@pytest.mark.parametrize(
    ("asked", "title", "headed", "caption", "left_out"),
    [
        (
            {},
            "Total of the groups listed",
            "total",
            "in the groups listed",
            "keys that were not declared. (This sentence is printed in every case.)",
        ),
        ({"pool_other": True}, "Total of all", "total", "in all", None),
        (
            {"pool_other": True, "dataset": "ids", "max_groups": 3},
            "Total of all groups",
            "total",
            "in all groups",
            "rows without id. (This sentence is printed in every case.)",
        ),
        (
            {"dataset": "ids", "max_groups": 2, "mean": "age:0..90"},
            "Mean of the groups listed",
            "mean",
            "in the groups listed",
            "keys that were not declared, rows without id. (This sentence is printed in every case.)",
        ),
        ({"pool_other": True, "share": "sick = 'yes'"}, "Share of all", "share", "in all", None),
        (
            {"pool_other": True, "count": "*", "mean": "age:0..90", "share": "sick = 'yes'"},
            "Total, mean and share of all",
            "value",
            "in all",
            None,
        ),
    ],
)
def test_totals_say_what_they_are_and_what_they_leave_out(people, ledger, asked, title, headed, caption, left_out):
    """By what is declared, whatever the data: no row of these has an undeclared key."""
    made = released(people, ledger, **{"margins": [[]], **asked})
    view = made.view()
    adds = {"total": " (the groups add up to it)", "value": " (counts and sums of the groups add up to it)"}.get(
        headed, ""
    )
    assert view.parts[0].title == f"{title}{adds}:"
    assert headed in view.parts[0].columns
    assert ("total" in view.parts[0].columns) == (headed == "total")
    page = made.to_html()
    assert f"<h2>{title}{adds}</h2>" in page  # means and shares add up to nothing
    assert "interval_by" not in view.parts[0].columns
    assert f" {caption}<" in page
    sentences = [text for text in made.record["beware"] if text.startswith("Not included: ")]
    assert all(text in str(made) for text in sentences)
    assert all(f"</h2>\n<p class='small'>{text}</p>" in page for text in sentences)
    assert len(sentences) == (left_out is not None)
    assert left_out is None or left_out in sentences[0]


def test_totals_by_a_column_are_of_the_declared_groups_too(people, ledger):
    made = released(people, ledger, margins=["sex"], mean="age:0..90")
    assert made.view().parts[0].title == "Means by sex, of the groups listed:"
    assert not any("Totals" in text for text in released(people, ledger, mean="age:0..90").record["beware"])


# Totals that are better measured


def test_nothing_is_advised_where_nothing_would_be_gained(people, ledger):
    asked = {"dataset": "public", "by": ["town", "sex"], "domain": DOMAIN, "epsilon": "1/2", "count": "sick = 'yes'"}
    for more in ({}, {"margins": [[]]}, {"dataset": "people", "margins": [[]]}):
        assert ask_preview(people, ledger=ledger, **{**asked, **more}).advice is None


@pytest.mark.parametrize(("towns", "told"), [(49, False), (50, True)])
def test_a_total_of_many_counts_is_better_measured_and_a_preview_says_so(ledger, towns, told):
    keys = [f"T{k}" for k in range(towns)]
    some = pd.DataFrame({"town": keys})
    asked = {
        "dataset": "people",
        "ledger": ledger,
        "by": ["town"],
        "domain": {"town": keys},
        "margins": [[]],
        "epsilon": 1,
    }
    plain, measured = (ask_preview(some, **asked, **more) for more in ({}, {"measure_totals": [[]]}))
    assert (f"adds up the noise of {towns} numbers" in str(plain)) == told
    assert "adds up the noise" not in str(measured)
    assert plain.errors[1]["each"] > 1.3 * measured.errors[1]["each"]
    assert "measure_totals" not in str(ask_preview(some, **asked, share="town = 'T1'"))  # shares add up to nothing
