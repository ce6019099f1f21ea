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
