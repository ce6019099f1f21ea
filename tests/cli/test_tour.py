"""The tour: where it may write, and its sketches, whose curves are where the numbers are."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pyarrow
import pytest

import discreet as dt
from discreet.cli import tour
from discreet.cli.tour import sketch
from discreet.errors import FileError
from discreet.present.plot import chart_files
from tests.asking import ask_release

from .test_cli import assert_one_good_error, run  # noqa: F401  # fixtures


@pytest.fixture
def office(run):  # noqa: F811
    """A folder in which somebody works, with a ledger of the name that the README gives it."""
    with dt.Ledger("budget.db") as book:
        book.create("town", budget=6, relation="add-remove")
        book["town"].charge(epsilon=5, what="tables of last year")
    Path("index.html").write_text("ours")
    return {file.name: file.read_bytes() for file in Path().iterdir()}


def test_the_demo_writes_to_no_folder_but_its_own(run, office):  # noqa: F811
    """It used to delete the ledger of the folder it was run in, with all that was spent."""
    Path("empty").mkdir()
    for folder in (".", "empty", "budget.db"):
        assert_one_good_error(run("demo", "-o", folder))
    Path("empty").rmdir()
    assert {file.name: file.read_bytes() for file in Path().iterdir()} == office


@pytest.mark.parametrize(
    "words",
    [
        ["make", "geometric", "--n", "8", "--epsilon", "1", "-o", "budget.db"],
        ["profile", "people.csv", "-o", "budget.db", "--overwrite"],
        ["perturb", "people.csv", "--column", "age", "-m", "gm.json", "-o", "budget.db", "--overwrite"],
    ],
    ids=lambda words: words[0],
)
def test_no_command_writes_over_a_ledger(run, office, words):  # noqa: F811
    Path("people.csv").write_text("age\n3\n4\n")
    dt.geometric(8, epsilon=1).save("gm.json")
    assert_one_good_error(run(*words))
    assert Path("budget.db").read_bytes() == office["budget.db"]


@pytest.mark.parametrize("place", ["index.html", "asthma.csv", "GM.json", "ledger.json"])
def test_a_ledger_in_a_folder_with_the_mark_is_not_written_over(run, office, monkeypatch, place):  # noqa: F811
    """Somebody has put one there under a name of the demo's own, or a link to one; negative control: a text goes."""
    monkeypatch.setattr(tour, "PEOPLE", 500)
    out = Path("out")
    out.mkdir()
    (out / tour.MARK).touch()
    (out / place).symlink_to(Path("../budget.db"))
    refused = run("demo", "-o", "out")
    assert (refused.code, refused.err.count("is a database")) == (2, 1)
    assert Path("budget.db").read_bytes() == office["budget.db"]
    (out / place).unlink()
    (out / place).write_text("ours")
    assert run("demo", "-o", "out").code == 0
    assert (out / place).read_text() != "ours"


def test_tables_and_pictures_do_not_replace_a_ledger(run, office):  # noqa: F811
    found, chart = dt.compare(8, alpha="9/10"), Path("picture.json")
    chart.symlink_to("budget.db")
    for write in (
        found.to_csv,
        found.to_latex,
        lambda path: chart_files.save(dt.geometric(4, alpha="1/2").plot(), chart),
    ):
        with pytest.raises(FileError, match="is a database"):
            write("budget.db")
    assert Path("budget.db").read_bytes() == office["budget.db"]
    Path("budget.db").write_text("a text")  # negative control: it is the content that counts
    found.to_csv("budget.db")
    assert Path("budget.db").read_text() == found.to_csv()


def test_a_record_cannot_have_a_ledger_removed_as_old_totals(run, office):  # noqa: F811
    with dt.Ledger("own.db") as book:
        book.create("town", budget=1, relation="add-remove")
        table = pyarrow.table({"sex": ["f", "m"] * 20})
        asked = {"dataset": "town", "ledger": book, "by": ["sex"], "domain": {"sex": ["f", "m"]}}
        made = ask_release(table, epsilon=1, **asked)
    made.save("x.csv")
    told = json.loads(Path("x.json").read_text())
    told["record"]["files"] |= {"x-by-a.csv": "", "x-by-b.csv": ""}
    Path("x.json").write_text(json.dumps(told))
    Path("budget.db").rename("x-by-a.csv")
    Path("x-by-b.csv").write_text("totals")
    made.save("x.csv", overwrite=True)
    assert Path("x-by-a.csv").read_bytes() == office["budget.db"]
    assert not Path("x-by-b.csv").exists()  # negative control


@pytest.mark.long
def test_the_demo_may_be_run_again_and_touches_no_ledger(run, monkeypatch):  # noqa: F811
    monkeypatch.setattr(tour, "PEOPLE", 2_000)
    assert run("demo", "-o", "out").code == 0
    first = Path("out/asthma.csv").read_bytes()
    with dt.Ledger("out/budget.db") as book:
        book.create("ours", budget=1, relation="add-remove")
    ours = {file: file.read_bytes() for file in Path("out").glob("budget.db*")}
    assert run("demo", "-o", "out").code == 0
    assert Path("out/asthma.csv").read_bytes() != first
    assert {file: file.read_bytes() for file in Path("out").glob("budget.db*")} == ours


def points(line):
    return [tuple(map(float, point.split(","))) for point in line.attrib["points"].split()]


def test_a_sketch_has_its_curves_where_the_numbers_are():
    """Equal values at equal heights, larger ones higher, all inside the frame, ticks at round numbers, texts escaped."""
    picture = sketch(
        {"a<b": ([0, 5, 10], [0.0, 0.3, 0.1]), "c": ([0, 5, 10], [0.1, 0.1, 0.3])}, "<t>", "x & y", "share"
    )
    tree = ElementTree.fromstring(picture)
    space = "{http://www.w3.org/2000/svg}"
    first, second = (points(line) for line in tree.iter(f"{space}polyline"))
    assert first[1][1] == second[2][1] < first[2][1] == second[0][1] < first[0][1]  # upwards is less
    assert [p[0] for p in first] == [p[0] for p in second]
    assert first[1][0] == (first[0][0] + first[2][0]) / 2
    height = first[0][1] - first[1][1]
    assert abs((first[0][1] - first[2][1]) / height - 1 / 3) < 2e-3  # to a tenth of a point
    assert all(0 <= p[0] <= 640 and 0 <= p[1] <= 300 for p in first + second)
    texts = [text.text for text in tree.iter(f"{space}text")]
    assert {"<t>", "x & y", "share", "a<b", "c", "0", "10", "0.1", "0.3"} <= set(texts)
    assert tree.attrib["aria-label"] == "<t>"


def test_a_sketch_of_next_to_nothing():
    for series in ({"a": ([3], [0.0])}, {"a": ([0, 1], [1e-12, 2e-12])}, {"a": ([-7, 10**6], [5, 1e9])}):
        ElementTree.fromstring(sketch(series, "t", "x", "y"))
