"""What a researcher takes from the command line: LaTeX, pictures, and losses, priors and graphs from files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import discreet as dt
from discreet.cli.app import FORMATS, app
from tests.cli.test_cli import assert_one_good_error, run  # noqa: F401
from tests.cli.test_grammar import ALL, options


def test_latex_is_what_the_library_gives(run):  # noqa: F811
    told = run("compare", "--n", "4", "--alpha", "9/10", "--latex")
    assert (told.code, told.out) == (0, dt.compare(4, alpha="9/10").to_latex())
    dt.geometric(4, alpha="1/2").save("g.json")
    shown = run("show", "g.json", "--latex").out
    assert shown.startswith("% geometric 0..4, alpha 1/2")
    assert "true & truthful & bias & l0 & l1 & l2 \\\\" in shown
    assert "\\begin{tabular}" in run("compose", "g.json", "--k", "3", "--latex").out


def test_one_form_at_a_time(run):  # noqa: F811
    for two in (("--json", "--latex"), ("--csv", "--latex"), ("--json", "--csv")):
        told = run("plan-error", "--n", "9", "--epsilon", "1", *two)
        assert_one_good_error(told)
        assert f"{two[0]} and {two[1]} cannot both be had" in told.err


def test_where_the_frame_prints_csv_it_prints_latex():
    """Commands that present an Output have both; those that write files of rows themselves have CSV alone."""
    known = {name: options(command) for name, command in ALL.items()}
    both = {name for name, found in known.items() if "--latex" in found}
    assert {"compare", "collude", "compose", "plan-error", "plan-tables", "lifetime", "show"} <= both
    assert set(FORMATS) == {"json", "csv", "latex"}
    assert app["make"].default_command is not None
    assert "--latex" not in known["make"]


@pytest.mark.parametrize("ending", ["pdf", "svg", "png"])
def test_pictures_are_written(run, ending):  # noqa: F811
    begins = {"pdf": b"%PDF-", "svg": b"<svg", "png": b"\x89PNG"}[ending]
    dt.geometric(4, alpha="1/2").save("g.json")
    for words in (["show", "g.json"], ["compare", "--n", "4", "--alpha", "9/10"]):
        told = run(*words, "-o", f"x.{ending}")
        assert told.code == 0
        assert told.out.rstrip().endswith(f"Written: x.{ending}.")
        assert Path(f"x.{ending}").read_bytes().startswith(begins)


def test_a_picture_that_cannot_be_written_is_told_before_any_work(run):  # noqa: F811
    dt.geometric(4, alpha="1/2").save("g.json")
    before = Path("g.json").read_bytes()
    for out, words in (("x.bmp", "choose one of these"), ("-", "needs a file"), ("g.json", "would be overwritten")):
        told = run("show", "g.json", "-o", out)
        assert_one_good_error(told)
        assert words in told.err
    assert Path("g.json").read_bytes() == before
    assert_one_good_error(run("collude", "--n", "8", "--alpha", "1/2", "--k", "3", "-o", "x.gif"))


def test_losses_and_priors_are_files(run):  # noqa: F811
    Path("l.csv").write_text("truth;2;1;0\n0;2;1;0\n1;1;0;1\n2;0;1;2\n")
    Path("p.csv").write_text("value,weight\n2,1\n0,2\n1,1\n")
    Path("p.json").write_text('["1/2", 0.25, 0.25]')
    wanted = dt.design(2, alpha="1/2", loss="l1", prior=["1/2", "1/4", "1/4"]).objective
    for prior in ("p.csv", "p.json", "1/2,1/4,1/4"):
        told = json.loads(
            run("design", "--n", "2", "--alpha", "1/2", "--loss", "l.csv", "--prior", prior, "--json").out
        )
        assert float(told["objective"]) == pytest.approx(wanted, rel=1e-12)
    assert (
        "l.csv under the prior p.csv"
        in run("compare", "--n", "2", "--alpha", "1/2", "--loss", "l.csv", "--prior", "p.csv").out
    )
    for words, why in (
        (["--loss", "no.csv"], "cannot be read"),
        (["--loss", "no"], "or a .csv or .json file"),
        (["--prior", "no.json"], "neither known nor a file"),
        (["--loss", "p.csv"], "the report 'weight' is not on 0..2"),
        (["--prior", "p.json", "-o", "p.json"], "would be overwritten"),
    ):
        told = run("design", "--n", "2", "--alpha", "1/2", *words)
        assert_one_good_error(told)
        assert why in told.err, told.err


def test_graphs_are_files(run):  # noqa: F811
    dt.geometric(4, alpha="1/2").save("g.json")
    Path("path.csv").write_text("from,to\n0,1\n1,2\n2,3\n3,4\n")
    Path("ring.json").write_text('{"adjacency": [[1, 4], [2], [3], [4], []]}')
    told = run("check", "g.json", "--neighbours", "path.csv")
    assert told.code == 0
    assert "a graph of neighbours (4 pairs, given as pairs in path.csv)" in told.out
    told = run("check", "g.json", "--neighbours", "ring.json")
    assert told.code == 1
    assert "5 pairs, given by the neighbours of each value in ring.json" in told.out
    assert run("design", "--n", "4", "--alpha", "1/2", "--neighbours", "ring.json", "-o", "best.json").code == 0
    assert run("check", "best.json", "--neighbours", "ring.json").code == 0
    assert_one_good_error(run("check", "g.json", "--neighbours", "no.csv"))
