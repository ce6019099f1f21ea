"""`discreet check-release`: exit codes, and what is told; and what -o writes under its options."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.test_cli import assert_one_good_error, run, survey  # noqa: F401


def test_a_release_is_checked_with_and_without_its_ledger(run, survey):  # noqa: F811
    assert run("release", *survey, "--margins", "sex", "--bom", "-o", "out.csv").code == 0
    assert Path("out.csv").read_bytes().startswith(b"\xef\xbb\xbf")
    told = run("check-release", "out.json", "--ledger", "b.db")
    assert (told.code, told.err) == (0, "")
    assert "NO" not in told.out
    assert "not checked" not in told.out
    assert told.out.startswith("out.json: holds\n")
    told = run("check-release", "out.json", "--json")
    assert told.code == 1  # nobody vouches for the reports
    alone = json.loads(told.out)
    assert (alone["holds"], alone["complete"]) == (True, False)
    assert run("check-release", "out.json").out.startswith(
        "out.json: NOT CHECKED: the ledger; what could be checked holds\n"
    )
    rows = Path("out.csv").read_text().splitlines()
    Path("out.csv").write_text("\n".join([*rows[:-1], ""]))
    cut = run("check-release", "out.json", "--ledger", "b.db")
    assert (cut.code, cut.err) == (1, "")
    assert "out.csv, line" in cut.out
    assert run("release", *survey, "-o", "out.csv", "--overwrite").code == 0
    assert not Path("out-by-sex.csv").exists()
    assert run("check-release", "out.json", "--ledger", "b.db").code == 0


def test_what_cannot_be_checked_is_bad_input(run, survey):  # noqa: F811
    for words in (["nothing.json"], ["domain.json"], ["people.csv"]):
        assert_one_good_error(run("check-release", *words))
    assert run("release", *survey, "-o", "out.csv").code == 0
    assert_one_good_error(run("check-release", "out.json", "--ledger", "none.db"))


def test_a_release_is_exported_with_its_line_for_verify(run, survey):  # noqa: F811
    """The operator's two commands, and what a journalist runs then."""
    from discreet import verify

    assert run("release", *survey, "--margins", "sex", "--bom", "-o", "out.csv").code == 0
    record = json.loads(Path("out.json").read_text())["record"]
    told = run("ledger", "export", record["dataset"], "--ledger", "b.db", "--release", "out.json", "-o", "ledger.json")
    assert (told.code, told.err) == (0, "")
    assert verify.main(["out.json", "ledger.json"]) == 0
    for name in ("nothing.json", "ledger.json"):
        assert_one_good_error(run("ledger", "export", record["dataset"], "--ledger", "b.db", "--release", name))
    page = run("ledger", "promise", record["dataset"], "--ledger", "b.db")
    assert (page.code, page.err) == (0, "")
    assert "The promise is the whole budget: epsilon" in page.out
    assert run("ledger", "promise", record["dataset"], "--ledger", "b.db", "-o", "promise.html").code == 0
    assert Path("promise.html").read_text().startswith("<!doctype html>")
    assert_one_good_error(run("ledger", "promise", "nobody", "--ledger", "b.db"))


def test_words_for_the_page_and_marks_of_the_csvs(run, survey):  # noqa: F811
    words = [
        "--title",
        "Who <earns> much",
        "--source",
        "Register",
        "--note",
        "First.",
        "--note",
        "Second.",
        "--label",
        "sex=Sex = at birth",
    ]
    told = run("release", *survey, "--margins", "total", *words, "--out-decimal", ",", "-o", "out.csv")
    assert told.code == 0
    assert run("check-release", "out.json", "--ledger", "b.db").code == 0
    page = Path("out.html").read_text()
    for part in (
        "<h1>Who &lt;earns&gt; much</h1>",
        "Source: Register",
        "<p>First.</p>\n<p>Second.</p>",
        "Sex = at birth</th>",
    ):
        assert part in page
    heading, row, *_ = Path("out.csv").read_text().splitlines()
    assert heading.startswith("sex;education;published;low;high;")
    assert "," in row
    assert run("release", *survey, "--out-separator", "tab", "-o", "-").out.startswith(
        "sex\teducation\tpublished\tlow\thigh"
    )  # stored


def test_what_the_ids_are_may_have_a_label(run):  # noqa: F811
    """The data set says which column that is, and it is no part of the question."""
    Path("homes.csv").write_text("household,district\n" + "".join(f"{k},{'ns'[k % 2]}\n" for k in range(60)))
    Path("d.json").write_text('{"district": ["n", "s"]}')
    place = ["--ledger", "b.db"]
    terms = ["--budget", "4", "--relation", "add-remove", "--unit", "household"]
    assert run("ledger", "create", "town", *place, *terms).code == 0
    assert run("admit", "homes.csv", "--dataset", "town", *place).code == 0
    asked = ["homes.csv", "--dataset", "town", *place, "--by", "district", "--domain", "d.json"]
    named = ["--label", "household=households"]
    told = run("release", *asked, "--epsilon", "1", *named, "-o", "h.csv")
    assert (told.code, told.err) == (0, "")
    assert "households" in Path("h.html").read_text()
    told = run("release-to", *asked, "--audience", "all=1", *named, "-o", "for.csv")
    assert (told.code, told.err) == (0, "")
    wrong = run("release", *asked, "--epsilon", "1", "--label", "home=households", "-o", "i.csv")
    assert "to label; there are district, count, household. Nothing was charged." in wrong.err


def test_words_that_cannot_be_shown_are_refused_before_anything_is_charged(run, survey):  # noqa: F811
    for words, answer in [
        (["--title", "x"], "--title is for the page: write it with -o FILE.csv."),
        (["--out-decimal", ","], "--out-separator and --out-decimal are for CSVs"),
        (
            ["-o", "out.csv", "--label", "town=x"],
            "There is no column or statistic 'town' to label; there are sex, education, count.",
        ),
        (["-o", "out.csv", "--label", "sex"], "A label is a name and what to call it"),
        (["-o", "out.csv", "--label", "sex=a", "--label", "sex=b"], "each name has one"),
        (["-o", "out.csv", "--out-decimal", ";"], "The decimal mark of a CSV is"),
        (["-o", "out.csv", "--separator", ";"], "for the CSV that is written, give --out-separator"),
    ]:
        told = run("release", *survey, *words)
        assert_one_good_error(told)
        assert answer in told.err
    assert not Path("out.csv").exists()
    assert json.loads(run("ledger", "show", "--ledger", "b.db", "--json").out)[0]["spent"] == "0"
