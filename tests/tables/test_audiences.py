"""Several audiences: the joint law is the cascade's, nobody's files tell of another's reports, one charge, one stored answer."""

from __future__ import annotations

import json
import pickle
import re
from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pandas
import pytest

import discreet as dt
from discreet.errors import ReleaseError, TableInputError
from discreet.randomness.source import simulation
from discreet.tables import release as module
from discreet.tables.ask.asked import Asked
from discreet.tables.draw.audiences import Audiences, cascades_for, draw_levels
from discreet.tables.draw.measures import measures_for
from discreet.tables.publish.page import release_page

from .asking import at

ALPHAS = ["3/10", "1/2", "4/5"]
LEVELS = [Fraction(a) for a in ALPHAS]
ASKED = {"count": "ill = 'yes'", "by": ["town"], "domain": {"town": ["a", "b", "c"]}}


@pytest.fixture
def people():
    return pandas.DataFrame({"town": ["a"] * 30 + ["b"] * 6, "ill": ["yes", "no"] * 18, "pay": [10, 15] * 18})


@pytest.fixture
def ledger(tmp_path):
    with dt.Ledger(tmp_path / "budget.db") as book:
        book.create("bits", "9", relation="change-one", public=["town"])
        book.create("people", "9", relation="add-remove")
        yield book


def geometric(n: int, a: Fraction) -> list[list[Fraction]]:
    """The law by its definition: two-sided geometric noise, what lies beyond an end at that end."""
    return [[(a ** abs(i - j) / (1 + a)) * (1 if j in (0, n) else 1 - a) for j in range(n + 1)] for i in range(n + 1)]


def inverse(matrix: list[list[Fraction]]) -> list[list[Fraction]]:
    """By Gauss and Jordan."""
    size = len(matrix)
    rows = [[*row, *(Fraction(int(i == k)) for k in range(size))] for i, row in enumerate(matrix)]
    for c in range(size):
        pivot = next(r for r in range(c, size) if rows[r][c])
        rows[c], rows[pivot] = rows[pivot], rows[c]
        rows[c] = [x / rows[c][c] for x in rows[c]]
        for r in range(size):
            if r != c:
                rows[r] = [x - rows[r][c] * y for x, y in zip(rows[r], rows[c], strict=True)]
    return [row[size:] for row in rows]


def times(a: list[list[Fraction]], b: list[list[Fraction]]) -> list[list[Fraction]]:
    return [
        [sum((x * y for x, y in zip(row, column, strict=True)), Fraction(0)) for column in zip(*b, strict=True)]
        for row in a
    ]


def joint(n: int, levels: list[Fraction]) -> dict[tuple[int, ...], list[Fraction]]:
    """Pr[reports | truth] from G_a and the steps G_a^-1 G_b, for each tuple of reports a chance for each truth."""
    laws = [geometric(n, a) for a in levels]
    steps = [times(inverse(first), second) for first, second in pairwise(laws)]
    found = {}
    for reports in product(range(n + 1), repeat=len(levels)):
        rest = Fraction(1)
        for step, (i, j) in zip(steps, pairwise(reports), strict=True):
            rest *= step[i][j]
        found[reports] = [laws[0][x][reports[0]] * rest for x in range(n + 1)]
    return found


def cascades(n: int) -> dict[int, dt.results.Cascade]:
    terms = type("Terms", (), {"relation": "change-one", "unit": None, "public": ("town",)})()
    asked = Asked.of_audiences(dt.Question(count="x = 1"), "d", "1", at(*ALPHAS))
    return cascades_for([measures_for(asked.at(level), terms, np.array([n]))[0] for level in asked.levels])


def test_the_reports_of_a_release_are_drawn_as_one_cascade():
    """The draws against the exact law of a cascade on 0..n, which is that of open noise moved into 0..n, since the noise has no
    memory; independent draws fail the same test."""
    n, truth, size = 3, 1, 20000
    made = cascades(n)
    exact = joint(n, LEVELS)
    sizes, truths = np.full(size, n), np.full(size, truth)
    drawn = [np.clip(reports, 0, n) for reports in draw_levels(made, sizes, truths, 3, source=simulation(5))]
    alone = [dt.geometric(n, alpha=a).sample(truths, source=simulation(6 + k)) for k, a in enumerate(ALPHAS)]

    def distance(reports) -> float:  # Pearson's statistic; 63 degrees of freedom
        cells = np.ravel_multi_index(tuple(reports), (n + 1,) * 3)
        seen = np.bincount(cells, minlength=(n + 1) ** 3)
        wanted = np.array([float(exact[key][truth]) * size for key in product(range(n + 1), repeat=3)])
        return float(((seen - wanted) ** 2 / wanted).sum())

    assert distance(drawn) < 150 < distance(alone)  # a chance of 1e-8 to lie above 150


@pytest.mark.parametrize("members", [(0, 1), (0, 2), (1, 2), (0, 1, 2)])
def test_a_coalition_learns_no_more_than_its_least_private_member(members):
    """Every pair of neighbouring truths, every tuple of its reports, in fractions."""
    together: dict[tuple[int, ...], list[Fraction]] = {}
    for reports, chances in joint(4, LEVELS).items():
        mine = tuple(reports[k] for k in members)
        together[mine] = [a + b for a, b in zip(together.get(mine, [Fraction(0)] * 5), chances, strict=True)]
    ratios = [c[x] / c[x + 1] for c in together.values() for x in range(4) if c[x + 1]]
    assert max(*ratios, *(1 / r for r in ratios if r)) == 1 / LEVELS[members[0]]


def everything(made) -> str:
    # the head covers the answer's commitment, whose salt of 128 bits stays in the ledger
    alike = dict.fromkeys(("ledger_head", "released", "ledger_line", "budget", "version", "question"))
    record = {**made.record, **alike}
    page = re.sub(r"<p class='lead'>.*?</p>", "", release_page(made)).partition("<p>Budget")[0]
    return "\n".join(
        [made.to_csv(), json.dumps(made.to_dict()["rows"]), json.dumps(made.margins), json.dumps(record), page]
    )


def test_nobody_sees_anything_of_anothers_reports(people, ledger, monkeypatch):
    """The reports of one audience change, and nothing of what the others get does; its own does."""
    asked = {**ASKED, "by": ["town", "ill"], "count": "pay = 10", "domain": {"town": ["a", "b"], "ill": ["yes", "no"]}}
    told = []
    for k, first in enumerate([[9, 4, 2, 1], [3, 5, 0, 1]]):
        reports = [first, [8, 4, 3, 1], [7, 5, 1, 0]]
        monkeypatch.setattr(module, "draw_levels", lambda *_, r=reports: [np.array(each) for each in r])
        made = ledger["people"].release_to(people, version=str(k), audiences=at(*ALPHAS), **asked)
        told.append([everything(one.with_totals("town")) for one in made.audiences.values()])
    assert told[0][0] != told[1][0]
    assert told[0][1:] == told[1][1:]


def test_one_charge_one_answer_and_the_question_is_found_again(people, ledger):
    made = ledger["bits"].release_to(people, audiences=at(*ALPHAS), **ASKED)
    assert isinstance(made, Audiences)
    assert list(made) == ALPHAS
    spent = ledger["bits"].balance().spent
    assert spent == dt.Level.of(alpha="3/10").charge
    named = {"everybody": dt.Level.of(alpha="0.8"), "ministry": at("3/10")["3/10"], "experts": at("1/2")["1/2"]}
    again = ledger["bits"].release_to(people, audiences=named, **ASKED)
    assert again["ministry"].record["repeated"]
    assert list(again) == ["everybody", "ministry", "experts"]  # in the order given, whatever the order of the levels
    for name, alpha in (("ministry", "3/10"), ("experts", "1/2"), ("everybody", "4/5")):
        assert again[name].to_csv() == made[alpha].to_csv()
        assert (again[name].record["audience"]["name"], again[name].record["audience"]["alpha"]) == (name, alpha)
    assert ledger["bits"].balance().spent == spent
    for name, one in made.audiences.items():
        assert one.columns["mechanism"] == ["geometric", "geometric", "public zero"]
        assert one.columns["digest"][0] == dt.geometric(dt.Grid(None, None), alpha=name).digest
        assert one.record["alpha_each_report"] == name
        assert Fraction(one.record["epsilon_charged"]) == dt.Level.of(alpha=name).charge
        assert Fraction(one.record["audience"]["charged"]) == spent
    assert pickle.loads(pickle.dumps(made.audiences["1/2"].record)) == made["1/2"].record
    assert (
        made["3/10"].columns["standard_error"][0]
        < made["1/2"].columns["standard_error"][0]
        < made["4/5"].columns["standard_error"][0]
    )
    ledger["bits"].verify()


def test_a_further_audience_is_another_question(people, ledger):
    ledger["bits"].release_to(people, audiences=at(*ALPHAS), **ASKED)
    more = ledger["bits"].release_to(people, audiences=at(*ALPHAS, "9/10"), **ASKED)
    assert not more["3/10"].record["repeated"]
    assert ledger["bits"].balance().spent == 2 * dt.Level.of(alpha="3/10").charge


def test_sums_means_and_shares_for_audiences(people, ledger):
    asked = {"by": ["town"], "domain": {"town": ["a", "b"]}, "sum": "pay:0..20/5 missing 0", "share": "ill = 'yes'"}
    asked |= {"mean": {"m": "pay:0..20/5"}, "audiences": {"office": "2", "public": "1/2"}}
    made = ledger["people"].release_to(people, **asked)
    assert list(made) == ["office", "public"]
    for one in made.audiences.values():
        assert set(one.columns["mechanism"]) == {"geometric"}
        assert one.size == 6
    again = ledger["people"].release_to(people, **asked)
    assert again["public"].to_csv() == made["public"].to_csv()
    assert ledger["people"].balance().spent == 2


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"audiences": {}}, "name: epsilon"),
        ({"audiences": 3}, "name: epsilon"),
        ({"audiences": ["1", "1/2"]}, "name: epsilon"),
        ({"audiences": {"": 1}}, "printable"),
        ({"audiences": {" a": 1}}, "printable"),
        ({"audiences": {"a\n": 1}}, "printable"),
        ({"audiences": {7: 1}}, "printable"),
        ({"audiences": {"a" * 61: 1}}, "printable"),
        ({"audiences": {"a b": 1, "A-b": 2}}, "files the same name"),
        ({"audiences": {"a": 1}, "mechanism": "explicit_fair"}, "geometric noise"),
        ({"audiences": {"a": 1}, "mechanism": dt.geometric(9, epsilon=1)}, "geometric noise"),
        ({"audiences": {"a": 1, "b": 2}, "measure_totals": ["total"]}, "without measure_totals"),
    ],
)
def test_bad_audiences_are_refused_before_any_charge(people, ledger, asked, words):
    with pytest.raises(ReleaseError, match=words):
        ledger["bits"].release_to(people, **ASKED, **asked)
    assert ledger["bits"].balance().spent == 0


def test_a_stored_cascade_is_read_without_its_file(people, ledger, tmp_path):
    file = tmp_path / "people.csv"
    people.to_csv(file, index=False)
    ledger["bits"].admit(file)
    made = ledger["bits"].release_to(file, audiences=at(*ALPHAS), **ASKED)
    assert "not read again" not in str(made)
    file.write_text("")
    again = ledger["bits"].release_to(file, audiences=at(*ALPHAS), **ASKED)
    assert "this is the answer stored for version 1, at no charge. A file is not read again." in str(again)
    file.unlink()
    with pytest.raises(TableInputError, match=r"There is no file 'people\.csv' there"):
        ledger["bits"].release_to(file, audiences=at(*ALPHAS), **ASKED)
    assert [one.to_csv() for one in again.audiences.values()] == [one.to_csv() for one in made.audiences.values()]


def test_each_audience_has_files_that_can_be_checked(people, ledger, tmp_path):
    asked = {**ASKED, "audiences": at(*ALPHAS)}
    made = ledger["bits"].release_to(people, **asked)
    for k, one in enumerate(made.audiences.values()):
        one.save(tmp_path / f"{k}.csv")
        verdict = dt.check_release(tmp_path / f"{k}.json", ledger=ledger)
        assert verdict.holds, str(verdict)
    made["4/5"].save(tmp_path / "plain.csv")
    assert dt.check_release(tmp_path / "plain.json", ledger=ledger)
    record = (tmp_path / "plain.json").read_text()
    (tmp_path / "plain.json").write_text(
        record.replace(f'"charged": "{made["3/10"].record["audience"]["charged"]}"', '"charged": "1"')
    )
    assert not dt.check_release(tmp_path / "plain.json", ledger=ledger).holds


def test_an_unknown_audience_is_refused(people, ledger):
    made = ledger["bits"].release_to(people, audiences={"public": "1/2"}, **ASKED)
    for wrong in ("1/2", 0, "Public"):
        with pytest.raises(ReleaseError, match="no such audience"):
            made[wrong]


def test_history_says_what_was_asked_for_audiences(people, ledger):
    audiences = {"ministry": "1", "public": "1/4"}
    ledger["people"].release_to(people, version="words", audiences=audiences, **ASKED)
    what = [entry.what for entry in ledger["people"].history() if entry.kind == "charge"][-1]
    assert "version words" in what
    assert "epsilon 1 for ministry (epsilon 1), public (epsilon 0.25)" in what


def test_audiences_with_the_same_epsilon_share_their_reports(people, ledger):
    """And no report of one tells anything of the other: there is one draw at each level."""
    audiences = {"public": "1/4", "ministry": "1", "press": "0.25", "office": "1"}
    made = ledger["people"].release_to(people, audiences=audiences, **ASKED)
    assert list(made) == list(audiences)
    assert made["public"].columns == made["press"].columns
    assert made["ministry"].columns == made["office"].columns
    assert made["public"].record["audience"]["name"] == "public"
    assert made["press"].record["audience"]["name"] == "press"
    assert made["public"].columns["standard_error"] > made["office"].columns["standard_error"]
    assert ledger["people"].balance().spent == 1
    again = ledger["people"].release_to(people, audiences={"b": 1, "a": "1/4"}, **ASKED)
    assert ledger["people"].balance().spent == 1  # the levels are the question, the names are not
    assert again["a"].columns == made["public"].columns


def test_one_audience_alone_is_a_release_with_a_name(people, ledger, tmp_path):
    made = ledger["people"].release_to(people, audiences={"public": "1/2"}, **ASKED)
    made["public"].save(tmp_path / "x.csv")
    assert dt.check_release(tmp_path / "x.json", ledger=ledger)
    assert ledger["people"].balance().spent == Fraction(1, 2)
    assert set(made["public"].columns["mechanism"]) == {"geometric"}


def test_a_preview_is_of_one_level(people, ledger):
    with pytest.raises(ReleaseError, match="audiences is no part of a question"):
        ledger["bits"].preview(table=people, audiences={"public": 1}, **ASKED)
    assert ledger["bits"].balance().spent == 0
