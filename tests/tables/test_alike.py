"""A question that was answered before, but for what does not change what is asked, says so before it is paid for again."""

from __future__ import annotations

from pathlib import Path

import polars
import pytest

import discreet as dt

FRAME = polars.DataFrame(
    {
        "g": ["x", "y"] * 20,
        "h": ["a"] * 30 + ["b"] * 10,
        "v": [1, 2] * 20,
        "ill": ["yes", "no"] * 20,
        "month": ["1", "2"] * 20,
    }
)
GROUPS = {"by": ["g"], "domain": {"g": ["x", "y"]}}
FIRST = {"count": "ill = 'yes' and v > 0", **GROUPS, "max_count": 50, "epsilon": "1/2"}


@pytest.fixture(params=["file", "memory"])
def town(request, tmp_path):
    """A data set, its table, and the words for both."""
    ledger = dt.Ledger(tmp_path / "b.db")
    ledger.create("town", 9, relation="add-remove", parts="month")
    table = FRAME
    if request.param == "file":
        table = tmp_path / "town.csv"
        FRAME.write_csv(table)
        dt.admit(table, dataset="town", ledger=ledger, version="1")
    return table, {"dataset": "town", "ledger": ledger}


def said(town, **asked) -> bool:
    """Is it told that it was answered? Preview, check and confirmation say the same, and nothing is charged."""
    table, about = town
    spent = about["ledger"].balance("town").spent
    expected, checked, seen = dt.preview(table, **about, **asked), dt.preview(table, **about, **asked, check=True), []

    def confirm(check):
        seen.append(check.advice)
        return False

    with pytest.raises(dt.errors.ReleaseError, match="not confirmed"):
        dt.release(table, **about, **asked, confirm=confirm)
    assert expected.advice == checked.check.advice == checked.advice == seen[0]
    assert about["ledger"].balance("town").spent == spent
    told = "answered the same statistics of the same groups before" in (expected.advice or "")
    if told:
        assert "; counts up to 50" in expected.advice
        assert expected.advice in str(expected)
        assert expected.advice in str(checked.check)
        assert checked.check.passes
        assert expected.to_dict()["advice"] == expected.advice
    return told


def test_what_differs_only_in_how_it_is_drawn_is_told(town):
    table, about = town
    assert not said(town, **FIRST)
    dt.release(table, **about, **FIRST)
    for change in (
        {"max_count": 60},
        {"max_count": None},
        {"epsilon": "1/4"},
        {"mechanism": "geometric"},
        {"purpose": "adding"},
        {"max_count": 60, "count": {"sick": "v > 0 and ill = 'yes'"}, "domain": {"g": ["y", "x"]}},
        {"max_count": 60, "count": "ill = 'yes' AND v > 0", "by": ["G"], "domain": {"G": ["x", "y"]}},
    ):
        assert said(town, **{**FIRST, **change}), change


def test_what_asks_something_else_is_not_told(town):
    table, about = town
    dt.release(table, **about, **FIRST)
    for change in (
        {"count": "ill = 'no' and v > 0"},
        {"domain": {"g": ["x", "z"]}},
        {"domain": {"g": ["x"]}},
        {"by": ["h"], "domain": {"h": ["x", "y"]}},
        {"count": ["ill = 'yes' and v > 0", "ill = 'no'"]},
        {"count": None, "share": "ill = 'yes'", "max_count": None},
        {"part": "1"},
        {"pool_other": True},
    ):
        assert not said(town, **{**FIRST, "max_count": 60, **change}), change


def test_the_very_question_is_not_told_of(town):
    """It is given again for nothing, although a question like it was charged too."""
    table, about = town
    dt.release(table, **about, **FIRST)
    dt.release(table, **about, **{**FIRST, "max_count": 60})
    for most in (50, 60):
        assert "before" not in (dt.preview(table, **about, **{**FIRST, "max_count": most}).advice or "")
    line, told = (
        (5 if isinstance(table, str | Path) else 4),
        dt.preview(table, **about, **{**FIRST, "max_count": 70}).advice,
    )
    assert told.startswith(f"Line {line} of the ledger")  # the last one


def test_what_is_paid_in_rho_is_told_too(tmp_path):
    with dt.Ledger(tmp_path / "b.db") as ledger:
        ledger.create("town", rho=2, delta="1e-9", relation="add-remove")
        about = {"dataset": "town", "ledger": ledger, **GROUPS}
        dt.release(FRAME, **about, max_count=50, rho="1/10")
        for how in ({"rho": "1/10"}, {"rho": "1/5"}, {"epsilon": "1/2"}):
            assert "counts up to 50" in dt.preview(FRAME, **about, max_count=60, **how).advice


def test_each_version_and_each_audience_is_its_own(tmp_path):
    with dt.Ledger(tmp_path / "b.db") as ledger:
        ledger.create("town", 9, relation="add-remove", unit="v")
        about = {"dataset": "town", "ledger": ledger, **GROUPS, "max_count": 50}
        dt.release(FRAME, **about, epsilon="1/2", version="1")
        other = {**about, "max_count": 60, "epsilon": "1/2"}
        told = [
            "before" in (dt.preview(FRAME, **{**other, **change}).advice or "")
            for change in ({}, {"version": "2"}, {"version": "1; epsilon 1"}, {"counted": "rows", "max_rows": 2})
        ]
        assert told == [True, False, False, False]
        dt.release_to(FRAME, **{**about, "max_count": 80}, audiences={"a": 1, "b": "1/2"}, version="3")
        assert "a (epsilon 1), b (epsilon 0.5)" in dt.preview(FRAME, **other, version="3").advice
        with ledger.spend(
            "town", epsilon="1/2", what="; version 4; epsilon "
        ) as paid:  # a single report is none of this
            paid.sample(dt.geometric(10, epsilon="1/2"), 3)
        assert "before" not in dt.preview(FRAME, **other, version="4").advice
