"""Pictures: what is drawn is what was given, files need no network, and without the packages everything else works."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from xml.etree import ElementTree

import numpy as np
import pytest

import discreet as dt
from discreet.errors import DiscreetError, FileError, MissingExtraError, SizeError
from discreet.present import plot
from discreet.present.plot import looks

G = dt.geometric(4, alpha="9/10")


def values(chart) -> list[dict]:
    """All rows of data of a chart, each once."""
    rows = [row for rows in chart.to_dict()["datasets"].values() for row in rows]
    return list({json.dumps(row): row for row in rows}.values())


def words(chart) -> str:
    return " ".join(plot.svg(chart).split())


def test_a_heat_map_has_the_matrix_and_marks_the_diagonal():
    rows = values(G.plot())
    drawn = np.zeros((5, 5))
    for row in rows:
        drawn[row["truth"], row["report"]] = row["share"]
    assert np.array_equal(drawn, G.matrix)
    assert {(row["truth"], row["report"]) for row in rows if row["on"]} == {(k, k) for k in range(5)}


def test_truths_that_are_no_reports_are_not_counted_as_reported():
    """Truths -10, -19/2, ..., 10 rounded to -10, 0, 10: three truths can be reported, and only their cells are outlined."""
    m = dt.queries.rounded(dt.Grid(-10, 10, "1/2"), [-10, 0, 10], alpha="3/10", sensitivity=10)
    assert {(row["truth"], row["report"]) for row in values(m.plot()) if row["on"]} == {(0, 0), (20, 1), (40, 2)}
    title = " ".join(m.plot().to_dict()["title"]["text"])
    assert (
        title == "3 of 41 truths can be reported: they are reported with probability 0.538 to 0.769, the others never"
    )
    assert "The truth is reported with probability" in words(G.plot())
    apart = dt.from_matrix([["1/2", "1/2"], ["1/2", "1/2"]], outputs=dt.Grid(5, 6))
    assert "No truth is among the reports" in words(apart.plot())
    assert not any(row["on"] for row in values(apart.plot()))
    long = dt.queries.rounded(
        dt.Grid(-10, 10, "1/8"), [-10, 0, 10], alpha="3/10", sensitivity=10
    )  # 161 truths in blocks of 3
    assert {(row["truth"], row["report"]) for row in values(long.plot()) if row["on"]} == {(0, 0), (26, 1), (53, 2)}


def test_the_picture_of_a_comparison_has_the_numbers_of_its_table():
    for loss in ("l1", "l2"):
        found = dt.compare(8, epsilon=1, neighbours="any", loss=loss)
        rows = values(found.plot())
        for key, series in ((loss.upper(), "mean"), ("worst", "worst truth"), ("best use", "best use")):
            assert [row["value"] for row in rows if row["series"] == series] == [float(row[key]) for row in found.table]
        assert f"best {loss} has the least mean {loss}" in words(found.plot())


def test_a_long_channel_is_put_together_without_losing_anything():
    """1001 values in blocks of 17: a row still has probability 1, and the diagonal blocks are the means of their rows."""
    m = dt.geometric(1000, alpha="99/100")
    rows = values(m.plot())
    size = max(row["truth"] for row in rows) + 1
    drawn = np.zeros((size, size))
    for row in rows:
        drawn[row["truth"], row["report"]] = row["share"]
    assert size == 59
    assert drawn.sum(axis=1) == pytest.approx(1, abs=1e-12)
    assert drawn[3, 5] == pytest.approx(m.matrix[51:68, 85:102].sum(axis=1).mean(), rel=1e-12)
    assert len(plot.svg(m.plot())) < 2**20


def test_the_pictures_of_a_mechanism():
    assert [row["share"] for row in values(G.plot("distribution", at=1))] == pytest.approx(G.matrix[1], rel=1e-14)
    assert [row["here"] for row in values(G.plot("distribution", at=1))] == [False, True, False, False, False]
    assert "most often 0<" in words(G.plot("distribution", at=1))
    assert "most often 24 to 50, all alike" in words(dt.square_wave(100, epsilon=2).plot("distribution", at=37))
    listed = dt.projective_response(19, epsilon=1)  # a set of reports that are apart from each other
    assert "more alike" in words(listed.plot("distribution", at=7))
    loss = [sum(G.matrix[i, j] * abs(i - j) for j in range(5)) for i in range(5)]
    assert [row["share"] for row in values(G.plot("loss", loss="l1"))] == pytest.approx(loss, rel=1e-12)
    assert "true value" in words(dt.staircase(dt.Grid(0, 2, "1/4"), epsilon=1, sensitivity="1/2").plot())
    with pytest.raises(DiscreetError, match="choose"):
        G.plot("cake")
    with pytest.raises(SizeError, match="truncate"):
        dt.laplace(epsilon=1).plot()
    with pytest.raises(DiscreetError, match="at"):
        G.plot("distribution", at=9)
    with pytest.raises(SizeError, match="coarser"):
        dt.geometric(10**9, alpha="1/2").plot()
    assert "<svg" not in dt.geometric(10**9, alpha="1/2")._repr_html_()


def test_the_pictures_of_an_estimate():
    counts = np.array([300, 250, 200, 150, 100])
    e = dt.recover(counts, dt.geometric(4, alpha="1/2"))
    truth = [0.2, 0.3, 0.2, 0.2, 0.1]
    rows = values(e.plot(truth=truth))
    by = {
        name: [row["share"] for row in rows if row.get("name") == name]
        for name in ("recovered", "true", "noisy reports")
    }
    assert by["recovered"] == e.distribution.tolist()
    assert by["true"] == truth
    assert by["noisy reports"] == (counts / 1000).tolist()
    low, high = e.interval(0.95, "cells")
    top = 1.12 * max(map(max, by.values()))
    for side, end in (("low", low), ("high", high)):
        assert [row[side] for row in rows if side in row] == pytest.approx(np.clip(end, 0, top))
    assert "recovered by auto (regularised)" in words(e.plot())
    band = [(row["low"], row["high"]) for row in values(e.plot("cdf")) if "low" in row]
    assert band == list(zip(*e.band(0.95, seed=0), strict=True))
    with pytest.raises(DiscreetError, match="choose"):
        e.plot("cake")
    assert "<svg" in dt.recover([3], dt.geometric(4, alpha="1/2"))._repr_html_(), (
        "one report has no interval, but a picture"
    )


def test_intervals_that_leave_the_picture_are_cut_there_and_none_is_left_out():
    """The widest are the least certain: without them the picture would look surer than it is."""
    intervals = [(0, 0, 0.0, 0.2), (1, 1, 0.1, 0.9), (2, 2, 0.0, 0.9), (3, 3, 0.4, 0.9)]
    chart = plot.recovered(range(4), [0.25] * 4, "law", intervals=intervals)
    top = pytest.approx(0.28)
    found = [(row["value"], row["low"], row["high"], row["cut"]) for row in values(chart) if "low" in row]
    assert found == [(0, 0, 0.2, False), (1, 0.1, top, True), (2, 0, top, True), (3, top, top, True)]
    assert "3 intervals go on beyond the top" in words(chart)
    assert "1 interval goes on beyond the top" in words(
        plot.recovered(range(4), [0.25] * 4, "law", intervals=intervals[:2])
    )
    assert "beyond" not in words(plot.recovered(range(4), [0.25] * 4, "law", intervals=intervals[:1]))


def test_reports_that_do_not_fit_say_so_in_the_title():
    e = dt.recover([500, 0, 500, 0, 500], dt.geometric(4, alpha="9/10"), "mle", kind="counts")
    assert "do not fit the mechanism" in " ".join(e.plot().to_dict()["title"]["text"])
    own = dt.recover(np.round(1000 * G.matrix.mean(axis=0)).astype(int), G, "mle", kind="counts")
    assert "do not fit" not in " ".join(own.plot().to_dict()["title"]["text"])


def test_blocks_of_values_are_said():
    """201 values in blocks of 4; three reports and 161 truths in blocks of 3; up to 60 there are none."""
    both = "each square: 4 reports next to each other, their probabilities added up, the mean over 4 true values next to each other"
    picture = dt.geometric(200, epsilon=1).plot()
    shown = words(picture)
    assert all(part in shown for part in ("4 reports next to each other", "the mean over 4", "of a block"))
    assert " ".join(picture.to_dict()["title"]["subtitle"]).endswith(both)
    tall = (
        dt.queries.rounded(dt.Grid(-10, 10, "1/8"), [-10, 0, 10], alpha="3/10", sensitivity=10)
        .plot()
        .to_dict()["title"]["subtitle"]
    )
    assert " ".join(tall).endswith("each square: the mean over 3 true values next to each other")
    assert "square" not in words(dt.geometric(59, epsilon=1).plot())
    assert "square" in words(dt.geometric(60, epsilon=1).plot())


def test_the_pictures_of_designs_and_comparisons():
    d = dt.design(4, alpha="9/10", loss="l1", require={"WH"})
    rows = values(d.plot())
    drawn = [row["share"] for row in rows if row.get("name") == "designed"]
    assert np.mean(drawn) == pytest.approx(d.objective, rel=1e-9)
    assert len([row for row in rows if row.get("name") == "geometric"]) == 5
    assert (
        "<svg"
        in dt.design(4, alpha="1/2", loss="l0", neighbours=[(0, 1), (1, 2), (2, 3), (3, 4), (4, 0)])._repr_html_()
    )
    large = dt.design(1500, alpha="9/10", loss="l2").plot()
    assert len(large.to_dict()["concat"]) == 1, "the losses alone"
    for loss in ("l2", [[abs(i - j) ** 3 for j in range(5)] for i in range(5)]):
        side_by_side = dt.compare(4, alpha="9/10", loss=loss)
        rows = values(side_by_side.plot())
        means = {row["name"]: row["value"] for row in rows if row["series"] == "mean"}
        assert means["GM"] == pytest.approx(dt.expected_loss(G, loss))


@pytest.mark.long
def test_every_kind_of_file(tmp_path):
    chart = G.plot()
    for kind in plot.KINDS:
        plot.save(chart, tmp_path / f"picture{kind}")
    ElementTree.parse(tmp_path / "picture.svg")
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "picture.pdf").read_bytes().startswith(b"%PDF-")
    assert json.loads((tmp_path / "picture.json").read_text()) == chart.to_dict()
    page = (tmp_path / "picture.html").read_text()
    assert not re.search(r"<(script|link|img)[^>]*(src|href)\s*=\s*.?(https?:)?//", page)
    assert "0.5263" in page, "it has the numbers"
    assert not re.search(r"(src|href)=.https?:", (tmp_path / "picture.svg").read_text())
    for bad in ("picture.bmp", "no/such/folder.svg"):
        with pytest.raises(FileError, match="choose"):
            plot.save(chart, tmp_path / bad)


def test_pictures_in_one_page_do_not_share_names():
    law = dt.geometric(4, alpha="1/2").plot("distribution")
    first, second = plot.inline(G.plot), plot.inline(lambda: law)
    names = [set(re.findall(r'\bid="([^"]+)"', text)) for text in (first, second)]
    assert names[0]
    assert not names[0] & names[1]
    for text, own in zip((first, second), names, strict=True):
        assert set(re.findall(r"url\(#([^)]+)\)", text)) <= own


def test_pictures_stand_beside_each_other():
    both = plot.beside(G.plot(), G.plot("distribution"), title="Both")
    assert len(both.to_dict()["concat"]) == 2
    assert "Both" in words(both)
    under = plot.beside(both, G.plot(), columns=1).to_dict()
    assert (len(under["concat"]), under["columns"]) == (2, 1)


def test_without_the_packages_a_sentence_says_what_to_install(monkeypatch):
    monkeypatch.setattr(looks, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r'pip install "\.\[plots\]"'):
        G.plot()
    told = dt.design(4, alpha="9/10", loss="l1")._repr_html_()
    assert "l1" in told
    assert "<svg" not in told
    assert "geometric" in G._repr_html_()


def test_nothing_loads_the_packages_before_a_picture_is_drawn():
    code = "import sys, discreet as dt; str(dt.design(4, alpha='1/2')); sys.exit(bool({'altair', 'vl_convert'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_names_with_control_characters_are_drawn_without_them(tmp_path):
    """What draws would abort the whole process on them."""
    strange = "a\x1b[31m<b>\r\n\u2028\x00\ud800"
    chart = dt.compare(mechanisms={strange: G, "plain": G}).plot()
    drawn = plot.svg(chart)
    assert "a [31m&lt;b" in drawn
    assert "\x1b" not in drawn
    plot.save(chart, tmp_path / "strange.png")
    assert len((tmp_path / "strange.png").read_bytes()) > 1000


def lines(chart, side: str = "share") -> dict[str, list[tuple[float, float]]]:
    """What a chart of curves has, by name: where, and how much there."""
    found: dict[str, list[tuple[float, float]]] = {}
    for row in values(chart):
        if side in row and "name" in row:
            found.setdefault(row["name"], []).append((row["value"], row[side]))
    return found


def headline(chart) -> str:
    return " ".join(chart.to_dict()["title"]["text"])


def test_the_picture_of_a_graph_joins_the_answers_of_its_edges():
    ring = dt.results.Graph.of([("a", "b"), ("b", "c"), ("c", "d"), ("d", "a")])
    drawn = ring.plot().to_dict()
    rows = values(ring.plot())
    lines, dots = [row for row in rows if "x2" in row], [row for row in rows if "name" in row]
    places = {(round(dot["x"], 9), round(dot["y"], 9)): dot["name"] for dot in dots}
    assert len(places) == 4, "no two stand on top of each other"
    joined = {
        frozenset(places[round(line[x], 9), round(line[y], 9)] for x, y in (("x", "y"), ("x2", "y2"))) for line in lines
    }
    assert joined == {frozenset(edge) for edge in ring.edges}
    assert drawn["title"]["text"] == ["No one mechanism serves all users"]
    path = dt.results.Graph.of([(0, 1), (1, 2)]).plot().to_dict()
    assert path["title"]["text"] == ["One mechanism serves all users"]
    with pytest.raises(SizeError, match="at most 60"):
        dt.results.Graph.of([(k, k + 1) for k in range(60)]).plot()


def test_the_picture_of_a_tradeoff():
    """Against the formulas of the line; a tie with the optimum is no victory."""
    found = dt.queries.tradeoff(alphas=["1/4", "1/2"])
    drawn = lines(found.plot())
    assert drawn["laplace"] == [(0.25, pytest.approx(1 / np.log(4))), (0.5, pytest.approx(1 / np.log(2)))]
    assert headline(found.plot()) == "staircase has the least expected loss at 2 of 2 levels"
    tied = dt.queries.tradeoff(dt.Grid(0, 4), sensitivity=4, prior="maximum(50)", alphas=["1/2", "9/10"])
    assert headline(tied.plot()) == "optimum has the least expected loss at 2 of 2 levels"


def test_the_pictures_of_collusions_and_compositions():
    g, fair = dt.geometric(8, alpha="1/2"), dt.explicit_fair(8, alpha="1/2")
    found = dt.sharing.collude({"gm": g, "em": fair}, [1, 3])
    for name, m in (("gm", g), ("em", fair)):
        assert lines(found.plot())[name] == [(k, pytest.approx(dt.sharing.collude(m, k).expected_loss)) for k in (1, 3)]
    assert headline(found.plot()).startswith("The least mean l1 of 3 users together is")
    some = dt.sharing.collude(dt.explicit_fair(40, alpha="1/2"), [1, 25], strategy="mle", runs=20)
    assert lines(some.plot(), "high") == {"explicit_fair": [(25, some[1].interval[1])]}
    c = dt.sharing.compose(g, k=4)
    rows = lines(c.plot())
    assert rows["sum of the epsilons"] == [
        (at, pytest.approx(4 * np.log(2))) for at, _ in rows["these reports, at most"]
    ]
    assert dict(rows["these reports, at most"])[1e-3] == c.epsilon("1e-3")
    assert "<svg" in c._repr_html_()
    with pytest.raises(DiscreetError, match="finite"):
        dt.sharing.compose(dt.traditional.random_rounding(21, base=3), k=2).plot()


def test_the_picture_of_bounds_for_an_interval_encloses_the_least_loss():
    """Two points at most the sensitivity apart: the least loss is a/(1+a), here 1/3."""
    found = dt.queries.continuous_bounds(0, 1, sensitivity=1, alpha="1/2", prior={0: "1/2", 1: "1/2"}, cells=[4, 16])
    drawn = lines(found.plot())
    assert [at for at, _ in drawn["lower bound"]] == [at for at, _ in drawn["upper bound"]] == [4, 16]
    assert all(
        low <= 1 / 3 <= high for (_, low), (_, high) in zip(drawn["lower bound"], drawn["upper bound"], strict=True)
    )
    assert drawn["upper bound"][1][1] - drawn["lower bound"][1][1] < 0.07
