"""`discreet perturb`, `tally`, and `recover` of tallies: for people and machines, and one sentence for what is wrong."""

from __future__ import annotations

import csv
import io
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


def assert_says(told, words):
    assert_one_good_error(told)
    assert words in told.err


def test_names_from_a_code_list_to_a_table_by_groups(run, monkeypatch):  # noqa: F811
    Path("brands.csv").write_text("code,label\nFiat,F\nAlfa Romeo,A\n08,number\n")
    Path("t.csv").write_text("g,brand\n" + "n,Fiat\ns,Alfa Romeo\nn,Lada\ns,08\n" * 50 + "n,\n")
    made = run(
        "make", "randomized-response", "--names", "brands.csv", "--other", "another", "--epsilon", "60", "-o", "m.json"
    )
    assert (made.code, made.err) == (0, "")
    assert dt.load("m.json").inputs == dt.Names(["Fiat", "Alfa Romeo", "08"], other="another")
    asked = ["t.csv", "--column", "brand", "-m", "m.json"]
    assert_says(run("perturb", *asked), "is missing")
    assert run("perturb", *asked, "--on-bad", "map=Alfa Romeo", "--rows", "--keep", "g", "-o", "r.csv").code == 0
    counted = run("tally", "r.csv", "--column", "brand", "-m", "m.json", "--by", "g", "--csv")
    rows = {(r["g"], r["brand"]): int(r["count"]) for r in csv.DictReader(counted.out.splitlines())}
    assert rows == {
        ("n", "Fiat"): 50,
        ("n", "Alfa Romeo"): 1,
        ("n", "another"): 50,
        ("s", "Alfa Romeo"): 50,
        ("s", "08"): 50,
    }
    found = run("recover", "r.csv", "--column", "brand", "-m", "m.json")
    assert found.code == 0
    assert "hold together with 0.95 confidence" in found.out
    table = list(csv.DictReader(run("recover", "r.csv", "--column", "brand", "-m", "m.json", "--csv").out.splitlines()))
    assert {row["answer"] for row in table} == {"Fiat", "Alfa Romeo", "08", "another"}
    assert all(float(row["low"]) <= float(row["share"]) <= float(row["high"]) for row in table)
    by = list(
        csv.DictReader(
            run("recover", "r.csv", "--column", "brand", "-m", "m.json", "--by", "g", "--csv").out.splitlines()
        )
    )
    assert [row["g"] for row in by] == ["n"] * 4 + ["s"] * 4
    with Path("r.csv").open("rb") as given:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(given))
        piped = run("recover", "-", "--column", "brand", "-m", "m.json", "--by", "g", "--csv")
    assert list(csv.DictReader(piped.out.splitlines())) == by
    steps = ["recover", "r.csv", "--column", "brand", "-m", "m.json", "--by", "g", "--json"]
    one = json.loads(run(*steps, "--method", "ibu", "--iterations", "1").out)
    assert {each["estimate"]["iterations"] for each in one["groups"]} == {1}
    assert_says(run(*steps, "--ordered"), "Names have no order")
    both = json.loads(run("recover", "r.csv", "--column", "brand", "-m", "m.json", "--json").out)
    assert both["shares"]["among"] == 4
    assert run("sample", "m.json", "Fiat", "08").out.splitlines() == ["Fiat", "08"]
    assert run("sample", "m.json", "--value", "Lada").out == "another\n"
    assert run("sample", "m.json", "t.csv", "--column", "brand").code == 2  # one is missing
    Path("one.csv").write_text("brand\n08\nFiat\n")
    assert run("sample", "m.json", "one.csv").out.splitlines() == ["08", "Fiat"]
    Path("tally.csv").write_text("brand,count\nFiat,7\n08,3\n")
    assert json.loads(run("recover", "tally.csv", "-m", "m.json", "--json").out)["counts"] == [7, 0, 3, 0]
    Path("plain.csv").write_text("Fiat\n08\nFiat\n")
    assert json.loads(run("recover", "plain.csv", "-m", "m.json", "--json").out)["counts"] == [2, 0, 1, 0]
    Path("wrong.csv").write_text("brand\nFiat\nLada\n")
    assert_says(
        run("recover", "wrong.csv", "-m", "m.json"), "Line 3 of wrong.csv has 'Lada', which is not one of the 4 names"
    )
    for words, why in (
        (["geometric", "--names", "a,b"], "Names have no order, and geometric needs one"),
        (["randomized-response", "--n", "3", "--names", "a,b"], "Answers are names or numbers"),
        (["randomized-response", "--n", "3", "--other", "b"], "--other is for answers that are names"),
        (["randomized-response", "--names", "a,a"], "look alike"),
        (["randomized-response", "--names", "none.csv"], "There is no code list"),
    ):
        assert_says(run("make", *words, "--epsilon", "1"), why)
    assert_says(run("recover", "r.csv", "-m", "m.json", "--by", "g"), "Say which column has the reports")
    assert_says(run("sample", "m.json", "nofile"), "no name and no file")
