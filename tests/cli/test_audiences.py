"""Audiences and mechanisms of releases on the command line."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest

from .test_cli import assert_one_good_error, run, survey  # noqa: F401  (fixtures)


@pytest.fixture
def asked(survey):  # noqa: F811
    return survey[:-2]  # without its epsilon


AUDIENCES = ["--audience", "public=ln(5/4)", "--audience", "ministry=ln(5/3)", "--audience", "press=ln(10/7)"]


def test_each_audience_gets_its_own_files_for_one_charge(run, asked):  # noqa: F811
    told = run("release-to", *asked, *AUDIENCES, "--margins", "sex", "-o", "for.csv")
    assert (told.code, told.err) == (0, "")
    assert "for-public.csv, for-ministry.csv, for-press.csv" in told.out
    assert not Path("for.csv").exists()
    for name, alpha in (("ministry", 0.6), ("press", 0.7), ("public", 0.8)):
        record = json.loads(Path(f"for-{name}.json").read_text())["record"]
        assert record["audience"]["name"] == name
        assert record["audience"]["alpha"] == record["alpha_each_report"]
        assert float(Fraction(record["audience"]["alpha"])) == pytest.approx(alpha)
        assert set(record["files"]) == {f"for-{name}.csv", f"for-{name}.html", f"for-{name}-by-sex.csv"}
        assert run("check-release", f"for-{name}.json", "--ledger", "b.db").code == 0
        assert_one_good_error(
            run("ledger", "export", record["dataset"], "--ledger", "b.db", "--release", f"for-{name}.json")
        )
    again = json.loads(run("release-to", *asked, *AUDIENCES, "--json").out)["audiences"]
    assert [one["record"]["repeated"] for one in again.values()] == [True] * 3
    assert_one_good_error(run("release-to", *asked, *AUDIENCES, "--csv"))
    assert_one_good_error(run("release-to", *asked, *AUDIENCES, "-o", "-"))
    assert_one_good_error(run("release-to", *asked, *AUDIENCES, "-o", "for.csv"))


@pytest.mark.parametrize(
    "wrong", [["--audience", "public"], ["--audience", "=1"], ["--audience", "a=1", "--audience", "a=2"], []]
)
def test_audiences_that_cannot_be_read_are_refused(run, asked, wrong):  # noqa: F811
    assert_one_good_error(run("release-to", *asked, *wrong))


def test_counts_have_noise_that_adds_up_unless_a_mechanism_is_named(run, asked):  # noqa: F811
    told = run("release", *asked, "--epsilon", "1/4", "--csv")
    assert (told.code, told.err) == (0, "")
    assert ",geometric," in told.out
    fair = run("release", *asked, "--epsilon", "1/4", "--mechanism", "explicit-fair", "--csv")
    assert (fair.code, fair.err) == (0, "")
    assert ",explicit_fair," in fair.out
    refused = run("release", *asked, "--epsilon", "1/4", "--mechanism", "explicit-fair", "--margins", "total")
    assert_one_good_error(refused)
    assert "cannot be added up" in refused.err


@pytest.mark.parametrize("option", ["--max-count", "--purpose"])
def test_options_that_went_say_what_to_do_instead(run, asked, option):  # noqa: F811
    told = run("release", *asked, "--epsilon", "1/4", option, "9")
    assert_one_good_error(told)
    assert f"{option} is no option of discreet release. Leave it out: " in told.err
