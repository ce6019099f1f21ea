"""Tables leave as DataFrames, CSV and LaTeX: the same cells everywhere, nothing that LaTeX would obey, never half a file."""

from __future__ import annotations

import csv
import io
import math
import re
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dt
from discreet.errors import DiscreetError, FileError, MissingExtraError
from discreet.present.latex import tabular
from discreet.present.views import Result, View
from tests.present.test_results import RESULTS, made
from tests.profiles import examples


def has_table(result: Result) -> bool:
    return bool(result.rows() or result.view().columns)


def test_a_design_names_the_mechanism_that_has_a_table():
    found = dt.design(2, alpha="1/2")
    with pytest.raises(DiscreetError, match=r"This Design has no table; its mechanism has one \(\.mechanism\.to_latex"):
        found.to_latex()
    assert "tabular" in found.mechanism.to_latex()


@pytest.mark.parametrize("name", RESULTS)
def test_every_table_leaves_in_three_forms(name):
    result = made(name)
    if not has_table(result):
        for form in (result.to_csv, result.to_latex, result.to_pandas):
            with pytest.raises(DiscreetError, match=r"has no table.*to_dict"):
                form()
        return
    rows = result.rows()
    lines = list(csv.reader(io.StringIO(result.to_csv(), newline="")))
    assert len(lines) == len(rows) + 1
    frame = result.to_pandas()
    assert len(frame) == len(rows)
    body = result.to_latex().partition("\\midrule\n")[2].partition("\\bottomrule")[0]
    assert body.count("\n") == len(rows)
    for line, row in zip(lines[1:], rows, strict=True):
        assert [part or None for part in line] == [None if x is None else str(x) or None for x in row.values()]


def test_some_have_a_table_and_some_have_none():
    """The test above would pass on either alone."""
    assert 20 < sum(has_table(made(name)) for name in RESULTS) < len(RESULTS) - 20


def test_exact_numbers_stay_exact():
    class Thirds(Result):
        def view(self) -> View:
            return View("Thirds", ("name", "share"), (("a", Fraction(1, 3)), ("b", Fraction(2, 3))))

        def to_dict(self) -> dict[str, Any]:
            return {}

    assert Thirds().to_csv() == "name,share\na,1/3\nb,2/3\n"
    assert "a & 1/3 \\\\" in Thirds().to_latex()
    assert Thirds().to_pandas()["share"].tolist() == [Fraction(1, 3), Fraction(2, 3)]
    assert Thirds().to_pandas()["share"].sum() == 1


def test_the_matrix_of_a_mechanism_is_a_table():
    m = dt.geometric(dt.Grid(-1, 1), alpha="1/2")
    frame = m.to_pandas()
    assert frame.columns.tolist() == ["true value", "-1", "0", "1"]
    assert (frame[["-1", "0", "1"]].to_numpy() == m.matrix).all()
    assert "$-$1 & 0.6667 & 0.1667 & 0.1667 \\\\" in m.to_latex()
    names = dt.randomized_response(["a_b", "c"], epsilon=1)
    assert "true value & a\\_b & c \\\\" in names.to_latex()
    with pytest.raises(DiscreetError, match="no matrix"):
        dt.laplace(epsilon=1).to_csv()


def test_what_latex_says_of_numbers():
    values = (True, False, None, math.inf, -math.inf, math.nan, -1.5, Fraction(-1, 3), Fraction(1, 3**60), -7)
    table = View("T\nmore", ("x <=", "empty"), (*((x, None) for x in values[6:]), (None, None)), ("100 % sure",))
    assert tabular(table).splitlines()[:5] == [
        "% T",
        "% more",
        "% 100 % sure",
        "\\begin{tabular}{r}",
        "\\toprule",
    ]
    told = tabular(View("", ("x",), tuple((x,) for x in values)))
    cells = [line[:-3] for line in told.splitlines() if line.endswith("\\\\")][1:]
    assert cells[:6] == ["yes", "no", "", "$\\infty$", "$-\\infty$", ""]
    assert cells[6:8] == ["$-$1.5000", "$-$1/3"]
    assert cells[8] == f"$\\approx$ {1 / 42391158275216203514294433201:.9g}"
    assert cells[9] == "$-$7"
    assert "x $\\leq$ \\\\" in tabular(table)
    assert tabular(View("", ("pure epsilon <=",), ((1,),))).splitlines()[2] == r"pure $\varepsilon \leq$ \\"


def test_some_columns_of_a_table():
    found = dt.compare([dt.geometric(4, alpha="1/2"), dt.explicit_fair(4, alpha="1/2")])
    chosen = found.to_latex(columns=["L1", "mechanism"]).splitlines()
    heading = next(line for line in chosen if line.endswith("\\\\"))
    assert heading == "L1 & mechanism \\\\"
    assert len(chosen) == len(found.to_latex().splitlines())  # all rows
    for wrong in (["L1", "L7"], "L7", 3, []):
        with pytest.raises(DiscreetError, match="choose among mechanism, "):
            found.to_latex(columns=wrong)


SPECIAL = '\\{}$&#%_^~<>|"[]`'


def read_back(escaped: str) -> str:
    """What LaTeX prints for an escaped text; whatever it would obey is an error. Written apart from the code under test."""
    words = {
        "textbackslash": "\\",
        "textasciicircum": "^",
        "textasciitilde": "~",
        "textless": "<",
        "textgreater": ">",
        "textbar": "|",
        "textquotedbl": '"',
        "textasciigrave": "`",
    }
    printed, rest = "", escaped
    while rest:
        word = re.match(r"\\([a-z]+)\{\}", rest)
        if word:
            printed, rest = printed + words[word[1]], rest[word.end() :]
        elif rest[:2] in ("\\{", "\\}", "\\$", "\\&", "\\#", "\\%", "\\_"):
            printed, rest = printed + rest[1], rest[2:]
        elif rest[:3] in ("{[}", "{]}"):
            printed, rest = printed + rest[1], rest[3:]
        else:
            assert rest[0] not in SPECIAL, escaped
            printed, rest = printed + rest[0], rest[1:]
    return printed


@settings(max_examples=examples(150))
@given(st.text(st.sampled_from("ab =-" + SPECIAL), min_size=1, max_size=12), st.text(st.sampled_from("x" + SPECIAL)))
def test_every_text_is_printed_as_it_is(cell, heading):
    told = tabular(View("", (heading.removesuffix("<="),), ((cell,),)))
    lines = told.splitlines()
    assert lines[:2] == ["\\begin{tabular}{l}", "\\toprule"]
    assert read_back(lines[2].removesuffix(" \\\\")) == heading.removesuffix("<=")
    assert read_back(lines[4].removesuffix(" \\\\")) == cell


def test_the_reader_above_notices_what_is_not_escaped():
    for wrong in ("50%", "a_b", "\\input{x}", "$x$", "a & b"):
        with pytest.raises((AssertionError, KeyError)):
            read_back(wrong)


def test_a_path_writes_and_none_returns(tmp_path):
    found = dt.sharing.collude(dt.geometric(8, alpha="1/2"), [1, 3])
    for write in (found.to_csv, found.to_latex):
        assert write(tmp_path / "out") is None
        assert (tmp_path / "out").read_text(encoding="utf-8") == write()
    (tmp_path / "folder").mkdir()
    (tmp_path / "circle").symlink_to(tmp_path / "circle")
    for bad in (tmp_path / "nowhere" / "x.csv", tmp_path / "folder", tmp_path / "circle", "a\0b"):
        with pytest.raises(FileError, match=r"cannot be written .*choose another"):
            found.to_csv(bad)
    with pytest.raises(DiscreetError, match="give a path"):
        found.to_latex(3)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["circle", "folder", "out"], "nothing is left half written"


def test_without_pandas_it_says_so(monkeypatch):
    monkeypatch.setattr("discreet.present.exports.find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"pandas is not installed.*to_csv"):
        dt.geometric(3, alpha="1/2").to_pandas()
