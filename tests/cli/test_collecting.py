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
from discreet.errors import RecoveryError
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
    grouped = run("perturb", *ages, "-o", "by.arrow", "--rows", "--by", "town")
    assert "must be public" in grouped.out
    assert grouped.err == ""
    shown = json.loads(run("perturb", *ages, "--by", "town", "--json").out)
    assert sum(n for *_, n in shown["tally"]) == 900
    assert {len(row) for row in shown["tally"]} == {3}
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
        ["--by", "nowhere"],
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
    missing = run("perturb", *asked)
    assert_says(missing, "is missing")
    assert "--on-bad map=NAME" in missing.err
    assert "clamp" not in missing.err
    assert run("perturb", *asked, "--on-bad", "map=Alfa Romeo", "--rows", "--by", "g", "-o", "r.csv").code == 0
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
    shown = run("recover", "r.csv", "--column", "brand", "-m", "m.json", "--by", "g", "--confidence", "39/40").out
    assert "at least 0.95 for all 2 groups together" in " ".join(shown.split())
    assert "ask for confidence" not in shown
    assert " to " in shown
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
    Path("plain.csv").write_text("Fiat\n08\nFiat\n")  # the first of them would be lost
    assert_says(run("recover", "plain.csv", "-m", "m.json"), "put a line of names above the reports")
    Path("wrong.csv").write_text("brand\nFiat\nLada\n")
    assert_says(
        run("recover", "wrong.csv", "-m", "m.json"),
        "row 2 of the column 'brand' of wrong.csv is not one of the 4 names",
    )
    for words, why in (
        (["geometric", "--names", "a,b"], "Names have no order, and geometric needs one"),
        (["randomized-response", "--n", "3", "--names", "a,b"], "Answers are names or numbers"),
        (["randomized-response", "--n", "3", "--other", "b"], "--other is for answers that are names"),
        (["randomized-response", "--names", "a,a"], "look alike"),
        (["randomized-response", "--names", "none.csv"], "There is no code list 'none.csv'; check"),
        (["randomized-response", "--names", "none.txt"], "'none.txt' was read as one name; a code list is a .csv file"),
        (["randomized-response", "--names", "none.txt", "--other", "x"], "'none.txt' was read as one name"),
    ):
        assert_says(run("make", *words, "--epsilon", "1"), why)
    alone = run("recover", "r.csv", "-m", "m.json", "--by", "g", "--csv")  # one column is neither group nor count
    assert list(csv.DictReader(alone.out.splitlines())) == by
    Path("wide.csv").write_text("g,h,brand,count\nn,1,Fiat,2\n")
    assert_says(run("recover", "wide.csv", "-m", "m.json", "--by", "g"), "for example --column brand")
    assert_says(run("recover", "wide.csv", "-m", "m.json"), "for example --column brand")
    assert_says(run("sample", "m.json", "nofile"), "no name and no file")


LEFT, RIGHT = (dt.randomized_response(names, epsilon=60) for names in (["a", "b", "c"], ["b", "a", "c"]))
SPACE = dt.projective_response([f"n{k}" for k in range(13)], epsilon=1)


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
def test_files_say_which_mechanism_drew_them(run, suffix):  # noqa: F811
    """The same names in another order are another mechanism: without the digest its estimate would have wrong names."""
    LEFT.save("left.json")
    RIGHT.save("right.json")
    Path("t.csv").write_text("g,x\n" + "n,a\ns,b\n" * 20)
    rows, noisy, summed = (f"{name}.{suffix}" for name in ("rows", "noisy", "summed"))
    asked = ["perturb", "t.csv", "--column", "x", "-m", "left.json"]
    assert run(*asked, "-o", noisy).code == 0
    assert run(*asked, "--rows", "--by", "g", "-o", rows).code == 0
    assert run("tally", noisy, "--column", "x", "-m", "left.json", "-o", summed).code == 0
    for name in (rows, noisy, summed):
        assert run("recover", name, "--column", "x", "-m", "left.json").code == 0
        for words in (["recover"], ["tally"], *([["recover", "--by", "g"]] if name == rows else [])):
            told = run(*words, name, "--column", "x", "-m", "right.json")
            assert_says(told, f"another mechanism drew them (digest {LEFT.digest[:19]}...)")
    assert run("perturb", "t.csv", "--column", "x", "-m", "right.json", "-o", f"other.{suffix}").code == 0
    assert_says(run("recover", noisy, f"other.{suffix}", "-m", "left.json"), "another mechanism drew them")
    assert (
        "another mechanism" not in run("tally", rows, "--column", "g", "-m", "right.json").err
    )  # it speaks of x alone


def test_reports_of_two_mechanisms_do_not_add_up(run):  # noqa: F811
    near, far = dt.geometric(4, epsilon=3), dt.geometric(4, epsilon=2)
    near.save("near.json")
    far.save("far.json")
    Path("t.csv").write_text("x\n" + "1\n3\n" * 9)
    for name in ("near", "far"):
        assert run("perturb", "t.csv", "--column", "x", "-m", f"{name}.json", "-o", f"{name}.parquet").code == 0
    assert_says(run("tally", "near.parquet", "far.parquet", "--column", "x"), "drawn by two mechanisms")
    told = run("recover", "near.parquet", "far.parquet", "-m", "near.json")
    assert_says(told, "The reports of far.parquet say that another mechanism drew them")
    assert_says(run("recover", "far.parquet", "-m", "near.json"), "another mechanism drew them")


def test_a_report_that_cannot_be_is_named_by_its_row(run):  # noqa: F811
    dt.square_wave(dt.Grid(0, 600, 15), epsilon=2).save("m.json")
    pq.write_table(pa.table({"minutes": [-60, 30, -150, 45]}), "r.parquet")
    for more in ([], ["--by", "g"]):
        if more:
            pq.write_table(pa.table({"minutes": [-60, 30, -150, 45], "g": ["a"] * 4}), "r.parquet")
        told = run("recover", "r.parquet", "--column", "minutes", "-m", "m.json", *more)
        assert_says(told, "The value in row 3 of the column 'minutes' of r.parquet is not a report on -75..675")
        assert "position" not in told.err


def test_what_takes_the_place_of_a_file_says_so(run):  # noqa: F811
    for told in ("saved to m.json", "replaced m.json"):
        assert told in run("make", "geometric", "--n", "4", "--epsilon", "1", "-o", "m.json").out
    Path("r.csv").write_text("y\n1\n2\n2\n")
    for told in ("saved to e.json", "replaced e.json"):
        assert told in run("recover", "r.csv", "-m", "m.json", "-o", "e.json").out


def test_an_estimate_is_written_as_csv_where_its_name_says_so(run):  # noqa: F811
    LEFT.save("m.json")
    Path("r.csv").write_text("g,x\n" + "n,a\ns,b\n" * 20)
    for by, first in (([], ["answer"]), (["--by", "g"], ["g", "answer"])):
        asked = ["recover", "r.csv", "--column", "x", "-m", "m.json", *by]
        shown = run(*asked, "--csv").out
        assert shown.split("\n")[0].split(",")[: len(first)] == first
        for more in (["-o", "table.csv"], ["-o", "table.txt", "--csv"]):
            assert run(*asked, *more).code == 0
            assert Path(more[1]).read_text() == shown
        assert run(*asked, "-o", "-", "--csv").out == shown
        run(*asked, "-o", "e.json", "--csv")
        assert isinstance(json.loads(Path("e.json").read_text()), dict)


def test_a_misfit_is_told_and_not_an_error(run):  # noqa: F811
    """All reports alike, which no answers make likely: exit code 1 and the test's sentence, whatever the format."""
    SPACE.save("m.json")
    Path("r.csv").write_text("y\n" + "0\n" * 5000)
    for form in ([], ["--csv"], ["--json"]):
        told = run("recover", "r.csv", "-m", "m.json", *form)
        assert told.code == 1
        assert "fit" in told.out + told.err
        assert "No shares lie" not in told.err
    assert json.loads(told.out)["fit"]["holds"] is False


def test_notes_go_to_standard_error_where_the_output_is_csv(run):  # noqa: F811
    LEFT.save("m.json")
    Path("t.csv").write_text("g,x\nn,a\ns,\n")
    told = run("perturb", "t.csv", "--column", "x", "-m", "m.json", "--on-bad", "drop", "-o", "-")
    assert told.out == "x,count\na,1\n"
    assert "Bad values were left out, which is not private" in told.err


def test_answers_that_are_no_reports_are_not_quoted(run):  # noqa: F811
    SPACE.save("m.json")
    Path("answers.csv").write_text("brand\nb005\n")
    told = run("recover", "answers.csv", "-m", "m.json")
    assert_says(told, f"row 1 of the column 'brand' of answers.csv is not a report on {SPACE.outputs}")
    with pytest.raises(RecoveryError, match="perturb them first") as refused:
        dt.recover(["b005", "b006"], SPACE)
    assert "b00" not in told.err + str(refused.value)
