"""Audiences, purposes and rounding on the command line."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from .test_cli import assert_one_good_error, run, survey  # noqa: F401  (fixtures)


@pytest.fixture
def asked(survey):  # noqa: F811
    return survey[:-2]  # without its epsilon


def rows(name):
    return list(csv.DictReader(Path(name).read_text().splitlines()))


def test_each_audience_gets_its_own_files_for_one_charge(run, asked):  # noqa: F811
    told = run("release", *asked, "--alphas", "4/5,3/5,0.7", "--round-to", "5", "--margins", "sex", "-o", "for.csv")
    assert (told.code, told.err) == (0, "")
    assert "for-3_5.csv, for-7_10.csv, for-4_5.csv" in told.out
    assert not Path("for.csv").exists()
    for name, alpha in (("3_5", "3/5"), ("7_10", "7/10"), ("4_5", "4/5")):
        assert all(not row["report"] or int(row["report"]) % 5 == 0 for row in rows(f"for-{name}.csv"))
        record = json.loads(Path(f"for-{name}.json").read_text())["record"]
        assert record["audience"]["alpha"] == record["alpha_each_report"] == alpha
        assert set(record["files"]) == {f"for-{name}.csv", f"for-{name}.html", f"for-{name}-by-sex.csv"}
        assert run("check-release", f"for-{name}.json", "--ledger", "b.db").code == 0
    again = json.loads(run("release", *asked, "--alphas", "3/5,7/10,4/5", "--json").out)["audiences"]
    assert [one["record"]["repeated"] for one in again.values()] == [True] * 3
    assert_one_good_error(run("release", *asked, "--alphas", "3/5,7/10,4/5", "--csv"))
    assert_one_good_error(run("release", *asked, "--alphas", "3/5,7/10,4/5", "-o", "for.csv"))


def test_purposes_and_hiding_are_options(run, asked):  # noqa: F811
    told = run("release", *asked, "--epsilon", "1/4", "--purpose", "adding", "--hide-below", "1000", "-o", "hidden.csv")
    assert (told.code, told.err) == (0, "")
    assert {row["report"] for row in rows("hidden.csv")} == {"", "0"}  # public zeros stay
    assert "hidden" in Path("hidden.html").read_text()
    least = run(
        "release", *asked, "--epsilon", "1/4", "--purpose", "least-error", "--loss", "l1", "--prior", "uniform", "--csv"
    )
    assert ",design," in least.out
    assert_one_good_error(run("release", *asked, "--epsilon", "1/4", "--purpose", "adding", "--mechanism", "geometric"))
    assert_one_good_error(run("release", *asked, "--epsilon", "1/4", "--round-to", "0"))
