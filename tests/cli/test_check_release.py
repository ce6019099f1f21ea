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
    assert "out.csv was changed after" in cut.out
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
    assert run("release", *survey, "--round-to", "5", "-o", "coarse.csv").code == 0
    for name in ("coarse.json", "nothing.json", "ledger.json"):
        assert_one_good_error(run("ledger", "export", record["dataset"], "--ledger", "b.db", "--release", name))
    assert verify.main(["coarse.json", "ledger.json"]) == 0
    page = run("ledger", "promise", record["dataset"], "--ledger", "b.db")
    assert (page.code, page.err) == (0, "")
    assert "The promise is the whole budget: epsilon" in page.out
    assert run("ledger", "promise", record["dataset"], "--ledger", "b.db", "-o", "promise.html").code == 0
    assert Path("promise.html").read_text().startswith("<!doctype html>")
    assert_one_good_error(run("ledger", "promise", "nobody", "--ledger", "b.db"))
