"""`discreet perturb`, `tally`, and `recover` of tallies: for people and machines, and one sentence for what is wrong."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dt
from tests.cli.test_cli import assert_one_good_error, run  # noqa: F401

AGES = [k % 9 for k in range(900)]


@pytest.fixture
def ages(run):  # noqa: F811
    pq.write_table(pa.table({"age": AGES, "town": ["x"] * 900}), "ages.parquet")
    Path("ages.csv").write_text("age,town\n" + "".join(f"{a},x\n" for a in AGES) + "secret,y\n")
    dt.geometric(8, epsilon="ln(2)/4").save("g.json")
    return ["ages.parquet", "--column", "age", "--mechanism", "g.json"]


def test_perturb_tally_recover(run, ages):  # noqa: F811
    told = run("perturb", *ages, "-o", "noisy.parquet")
    assert (told.code, told.err) == (0, "")
    for words in (
        "900 reports of age",
        "protects against the recipients of the result, not against the holder",
        "epsilon 0.173287",
        "epsilon 1.3863 between any two",
        "Written: noisy.parquet",
    ):
        assert words in told.out
    assert run("perturb", *ages, "-o", "more.csv", "--rows").code == 0
    both = run("tally", "noisy.parquet", "more.csv", "--column", "age", "-m", "g.json", "-o", "both.csv", "--csv")
    counts = [int(row["count"]) for row in csv.DictReader(both.out.splitlines())]
    assert sum(counts) == 1800
    apart = json.loads(run("recover", "noisy.parquet", "more.csv", "-m", "g.json", "--json").out)
    together = json.loads(run("recover", "both.csv", "-m", "g.json", "--json").out)
    assert apart == together
    assert together["reports"] == 1800
    rows = json.loads(run("perturb", *ages, "--json").out)
    assert sum(n for _, n in rows["tally"]) == rows["reports"] == 900
    kept = run("perturb", *ages, "-o", "kept.arrow", "--rows", "--keep", "town")
    assert "order of the rows" in kept.out
    assert kept.err == ""
    shown = run("perturb", "ages.csv", *ages[1:], "--on-bad", "drop")
    assert "not private" in shown.out


def test_a_ledger_is_charged_and_repeats(run, ages):  # noqa: F811
    asked = [*ages, "--dataset", "s", "--ledger", "b.db", "--on-bad", "map=0"]
    assert run("ledger", "create", "s", "--ledger", "b.db", "--budget", "2", "--relation", "change-one").code == 0
    assert "was not admitted" in run("perturb", *asked).err
    assert run("admit", "ages.parquet", "--dataset", "s", "--ledger", "b.db").code == 0
    first, second = (json.loads(run("perturb", *asked, "--json").out) for _ in range(2))
    assert (first["repeated"], second["repeated"]) == (False, True)
    assert first["tally"] == second["tally"]
    assert first["left"] == second["left"]
    assert_one_good_error(run("perturb", *asked, "--max-rows", 2))


@pytest.mark.parametrize(
    "more",
    [
        ["--rows"],
        ["-o", "ages.parquet"],
        ["-o", "taken.csv"],
        ["-o", "x.txt"],
        ["-o", "no/folder.csv"],
        ["--on-bad", "forget"],
        ["--keep", "town", "-o", "x.csv"],
        ["--json", "--csv"],
        ["--dataset", "s"],
        ["--column", "nobody"],
    ],
    ids=str,
)
def test_what_is_wrong_is_one_sentence(run, ages, more):  # noqa: F811
    Path("taken.csv").write_text("mine")
    told = run("perturb", *(ages[:1] + ages[3:] if "--column" in more else ages), *more)
    assert_one_good_error(told)
    assert "=True" not in told.err
    assert Path("taken.csv").read_text() == "mine"
    assert not Path("x.csv").exists()


def test_a_bad_value_is_named_by_its_line(run, ages):  # noqa: F811
    told = run("perturb", "ages.csv", *ages[1:], "-o", "x.csv")
    assert_one_good_error(told)
    assert "line 902 of the column 'age'" in told.err
    assert "secret" not in told.err
    assert "--on-bad map=VALUE" in told.err
    assert not Path("x.csv").exists()
    assert_one_good_error(run("recover", "-m", "g.json"))
    assert_one_good_error(run("tally", "--column", "age"))
    assert_one_good_error(run("tally", "ages.csv", "--column", "age"))
    assert_one_good_error(run("recover", "ages.parquet", "-m", "g.json"))


def test_a_tally_shows_every_digit(run):  # noqa: F811
    """20 and 20.0000000001 are two reports, and look like two."""
    Path("reports.csv").write_text("y\n20\n20.0000000001\n20\n")
    shown = run("tally", "reports.csv", "--column", "y").out.split()
    assert shown == ["y", "count", "20.0", "2", "20.0000000001", "1", "3", "reports"]
    Path("reports.csv").write_text("y\n20\n20\nx\n")
    refused = run("tally", "reports.csv", "--column", "y")
    assert_one_good_error(refused)
    assert "row 3 of the column 'y' of reports.csv" in refused.err
