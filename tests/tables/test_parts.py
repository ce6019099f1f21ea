"""Parts that share nobody: what one person changes, by brute force over neighbours; those that change part break it.

A sequence of releases, each of one part or of all of them, is charged to a ledger, which counts the largest sum over parts. For
every two neighbouring data sets the exact laws of the noise say how much more likely all reports together can be; nobody may move
them by more than was counted.
"""

from __future__ import annotations

import datetime
import itertools
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from math import prod

import numpy as np
import pandas
import polars
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dt
from discreet import verify
from discreet.engines.duckdb import count_each
from discreet.engines.table import Table
from discreet.errors import BudgetError, LedgerError, ReleaseError, TableInputError
from discreet.ledger.book import Terms
from discreet.ledger.periods import part_name
from discreet.questions.domain import Domain
from discreet.tables.count.true_numbers import counted_for
from discreet.tables.draw.measures import measures_for
from tests.asking import ask_preview, ask_release, ask_release_to

from ..ledger.test_moving import counts
from ..profiles import examples
from ..shortcuts import folder_in_memory
from .asking import ask

ALPHA = Fraction(1, 3)
PARTS = (None, "a", "b")  # all of them, and each; no part has c
# Everything that is asked of parts: each sequence of up to three releases
SEQUENCES = [s for n in (1, 2, 3) for s in itertools.combinations_with_replacement(PARTS, n)]


def counted(sequence) -> int:
    """How many of these releases count, by the ledger's own sums, each being worth 1."""
    return int(counts((0, part) for part in sequence))


def numbers(rows, relation, unit=None, max_groups=1, parts="p"):
    """Of each part and of all: what the releases of one level count in each world and group, and the sizes of the groups."""
    table = pandas.DataFrame(rows, columns=["world", "id", "p", "g", "flag"]).astype({"flag": "boolean"})
    worlds = 1 + max(row[0] for row in rows)
    keys = {"world": list(range(worlds)), "g": ["x", "y"]}
    question = ask(alpha=ALPHA, count="flag", by=["world", "g"], domain=keys, max_groups=max_groups)
    terms = Terms("d", Fraction(9), relation, ("world", "g", "p"), unit, "then", parts=parts)
    found = {p: counted_for(question.question, terms, Table(table), None, False, part=p) for p in PARTS}
    [measure] = measures_for(question, terms, found[None].sizes("add-remove"))
    truths = {p: found[p].truth(measure).reshape(worlds, 2) for p in PARTS}
    sizes = {p: found[p].sizes("change-one").reshape(worlds, 2) for p in PARTS}
    return measure, truths, sizes


def worst(measure, truths, pairs) -> dict[tuple[str | None, ...], Fraction]:
    """For each sequence of releases, how much more likely its reports can be in one world than in a neighbouring one."""
    moved = Counter(tuple((p, int(np.abs(t[i] - t[j]).sum())) for p, t in truths.items()) for i, j in pairs)
    found = dict.fromkeys(SEQUENCES, Fraction(1))
    for steps, sequence in itertools.product(map(dict, moved), SEQUENCES):
        found[sequence] = max(found[sequence], prod(1 / measure.level.alpha ** steps[p] for p in sequence))
    return found


def check(measure, truths, pairs):
    """Nobody moves a sequence by more than the ledger counts, and somebody moves each that much (but for rounding of levels)."""
    for sequence, loss in worst(measure, truths, pairs).items():
        most = (1 / ALPHA) ** counted(sequence)
        assert loss <= most, sequence
        assert float(loss) >= float(most) * (1 - 1e-9), sequence


KINDS = list(itertools.product(("a", "b", None, " "), "xy", (True, False)))  # part, group, flag: of a row


def worlds_of(kinds, most):
    """All data sets of up to so many rows of these kinds, as rows with the number of their data set."""
    worlds = [w for n in range(most + 1) for w in itertools.combinations_with_replacement(range(len(kinds)), n)]
    return worlds, {world: k for k, world in enumerate(worlds)}


def test_adding_a_row_changes_the_reports_of_its_own_part_alone():
    worlds, place = worlds_of(KINDS, 2)
    rows = [(place[w], 0, *KINDS[k]) for w in worlds for k in w]
    measure, truths, _ = numbers(rows, "add-remove")
    pairs = [(place[w], place[w[:j] + w[j + 1 :]]) for w in worlds for j in range(len(w))]
    check(measure, truths, pairs)
    # negative control: a row that may change its part, and nothing else, is in the reports of both
    changed = [
        (place[(i,)], place[(j,)])
        for i, j in itertools.product(range(len(KINDS)), repeat=2)
        if KINDS[i][1:] == KINDS[j][1:]
    ]
    assert worst(measure, truths, changed)["a", "b"] == (1 / ALPHA) ** 2 > (1 / ALPHA) ** counted(("a", "b"))


@pytest.mark.parametrize("max_groups", [1, 2])
def test_a_person_with_rows_in_several_parts_is_in_one_of_them(max_groups):
    """Add-remove with an id: everybody who has up to three rows, against nobody; other people add what they add alone."""
    worlds, place = worlds_of(KINDS, 3)
    rows = [(place[w], place[w], *KINDS[k]) for w in worlds for k in w]
    measure, truths, sizes = numbers(rows, "add-remove", "id", max_groups)
    groups = np.array([len({KINDS[k][1] for k in w}) for w in worlds])
    assert (sizes[None].sum(axis=1) == np.minimum(groups, max_groups)).all()
    assert not np.any(sizes["a"].any(axis=1) & sizes["b"].any(axis=1))
    own = [min((KINDS[k][0] for k in w if KINDS[k][0] in ("a", "b")), default=None) for w in worlds]
    for part in ("a", "b"):
        there = np.array([o == part for o in own])
        assert (sizes[part].any(axis=1) == there).all()
    check(measure, truths, [(0, place[w]) for w in worlds])
    # negative control: a condition on the column is no part; a person counts wherever there is a row
    plain = {
        p: np.array([[any(KINDS[k] == (p, g, True) for k in w) for g in "xy"] for w in worlds], dtype=int)
        for p in ("a", "b")
    } | {None: truths[None]}
    with pytest.raises(AssertionError):
        check(measure, plain, [(0, place[w]) for w in worlds])


@pytest.mark.parametrize("unit", [None, "id"])
def test_changing_what_is_private_moves_the_reports_of_one_part(unit):
    """Change-one: two people with public rows (part and group), of which one changes every flag."""
    public = list(itertools.product(("a", "b", None), "xy"))
    mine = [m for n in (1, 2) for m in itertools.combinations_with_replacement(public, n if unit else 1)]
    worlds = [
        (m, flags, other) for m in mine for flags in itertools.product((True, False), repeat=len(m)) for other in public
    ]
    place = {world: k for k, world in enumerate(worlds)}
    rows = [
        (k, person, p, g, flag)
        for (m, flags, other), k in place.items()
        for person, p, g, flag in [
            *((2 * k, *at, f) for at, f in zip(m, flags, strict=True)),
            (2 * k + 1, *other, True),
        ]
    ]
    measure, truths, sizes = numbers(rows, "change-one", unit, 2 if unit else 1)
    by_public = {}
    for world in worlds:
        by_public.setdefault((world[0], world[2]), []).append(place[world])
    pairs = [pair for same in by_public.values() for pair in itertools.permutations(same, 2)]
    for i, j in pairs:
        assert all((sizes[p][i] == sizes[p][j]).all() for p in PARTS)  # public, of every part
    # of several groups each has its level: a person in two moves both, and a level is for both together
    check(measure, truths, pairs)
    # negative control: the part of a person is private, and changes with the rest
    moving = [
        (place[first], place[second])
        for first, second in itertools.product(worlds, repeat=2)
        if len(first[0]) == len(second[0]) and first[2] == second[2] == public[0]
    ]
    assert worst(measure, truths, moving)["a", "b"] > (1 / ALPHA) ** counted(("a", "b"))


def test_a_private_column_of_parts_is_refused(tmp_path):
    with dt.Ledger(tmp_path / "b.db") as ledger:
        for public in ((), ("month_of_birth",)):
            with pytest.raises(LedgerError, match="not public, and under change-one privacy one person may change"):
                ledger.create("town", 2, relation="change-one", public=public, parts="month")
        assert ledger.create("town", 2, relation="change-one", public=["Month"], parts="month").terms.parts == "month"
        assert ledger.create("births", 2, relation="add-remove", parts="month").terms.parts == "month"


# What is counted of a part is what a table of its rows alone has, by every kind of column


def of_part(frame, part, unit):
    """The rows of a part by the rule as people read it, row by row."""
    own = frame["p"].map(lambda x: None if pandas.isna(x) or not str(x).strip(" ") else part_name(str(x)))
    if unit is None:
        return frame[own == part]
    first = own.dropna().groupby(frame["id"]).min()
    return frame[(own == part) & (frame["id"].map(first) == part)]


ASKED = {
    "count": {"all": "*", "some": "flag"},
    "sum": {"plain": "x:-2..4/2", "where": "x:-2..4/2 where flag", "filled": "x:-2..4/2 missing 2"},
    "mean": {"mean": "x:0..4"},
    "share": {"share": "flag"},
}


@pytest.mark.parametrize("unit", [None, "id"])
@pytest.mark.parametrize("other", [False, True])
def test_a_part_is_counted_as_a_table_of_its_rows_alone(unit, other):
    rng = np.random.default_rng(7)
    n = 400
    frame = pandas.DataFrame(
        {
            "id": rng.integers(0, 120, n),
            "p": rng.choice(["2026-01", "2026-02 ", "07", "7.0", "", None], n),
            "g": rng.choice(["x", "y", "z"], n),
            "x": pandas.array(rng.choice([None, -3, 0, 1, 9], n), dtype="Float64"),
            "flag": pandas.array(rng.choice([True, False, None], n), dtype="boolean"),
        }
    )
    asked = ask(epsilon=1, by="g", domain={"g": ["x", "y"]}, max_groups=2 if unit else 1, pool_other=other, **ASKED)
    terms = Terms("d", Fraction(9), "add-remove", (), unit, "then", parts="P")
    seen = 0
    for part in ("2026-01", "2026-02", "7", "8"):
        found = counted_for(asked.question, terms, Table(frame), None, False, part=part)
        alone = counted_for(asked.question, terms, Table(of_part(frame, part, unit)), None, False)
        for measure in measures_for(asked, terms, found.sizes("add-remove")):
            assert found.truth(measure).tolist() == alone.truth(measure).tolist(), (part, measure.name)
        assert found.sizes("change-one").tolist() == alone.sizes("change-one").tolist()
        seen += found.sizes("change-one").sum()
        if unit is None:  # with an id the rows of people who are in another part are seen too, and not counted
            assert found.dropped == alone.dropped
            assert {k: v.fingerprint for k, v in found.each.items()} == {
                k: v.fingerprint for k, v in alone.each.items()
            }
    assert seen > 50  # negative control: there is something to count, and nothing of the part 8


def groups_in(table, part, **more):
    counted = count_each(table, predicates=[None], by=[], domain=Domain.of({}, ()), part=("p", part), **more)
    return int(counted.counts[0].sizes[0])


def test_a_part_has_one_name_in_every_type_of_column(tmp_path):
    """A file and a frame that say the same have the same parts: else one person would be in two, from version to version."""
    days = [datetime.date(2026, 1, 2)] * 2 + [datetime.date(2026, 1, 3), None]
    columns = {
        "1": [
            [1, 1, 2, None],
            [1.0, 1.0, 1.5, None],
            ["1", "01", "1e0", ""],
            [" 1", "1.0 ", "+2", None],
            ["1.", "+1", "-1", "a"],
        ],
        "2026-01-02": [days, ["2026-01-02", " 2026-01-02", "2026-01-2", None]],
        "true": [[True, True, False, None], ["true", "true ", "True", None]],
        "-3": [[-3, -3, 3, None], ["-3", "-03.0", "- 3", None]],
        "a'b": [["a'b", "a'b ", "a", "A'B"]],
    }
    for part, each in columns.items():
        assert part_name(part) == part
        for values in each:
            table = polars.DataFrame({"p": values, "u": [1, 2, 3, 4]})
            assert groups_in(table, part) == 2, values
            assert groups_in(table, part, unit="u") == 2, values
            table.write_csv(tmp_path / "t.csv")
            assert groups_in(tmp_path / "t.csv", part) == 2, values
    with pytest.raises(TableInputError, match="which names no parts; convert it to texts, whole numbers or dates"):
        groups_in(polars.DataFrame({"p": [datetime.datetime(2026, 1, 2)]}), "1")
    with pytest.raises(TableInputError, match="no column"):
        groups_in(polars.DataFrame({"q": [1]}), "1")


def own_name(text: str) -> str | None:
    """The one name of a part by the rule of docs/release.md, letter by letter: blanks around it go, whole numbers are digits."""
    text = text.strip(" ")
    sign, rest = (text[:1], text[1:]) if text[:1] in ("+", "-") else ("", text)
    whole, _, zeros = rest.partition(".")
    is_whole = whole != "" and set(whole) <= set("0123456789") and set(zeros) <= {"0"}
    if not is_whole:
        return text or None
    digits = whole.lstrip("0") or "0"
    return ("-" if sign == "-" else "") + digits


NAMES = st.text(alphabet="01 2+-.,eE_'\"%\\aÄß\u0308\u00a0½２٣/:", max_size=6)


@settings(max_examples=examples(60), deadline=None)
@given(names=st.lists(NAMES, min_size=1, max_size=12))
def test_any_text_is_one_part_for_ledger_and_engine(tmp_path_factory, names):
    """In memory and in a file, against the rule read letter by letter: what is one part for one of them is one for all."""
    table = polars.DataFrame({"p": names, "u": range(len(names))})
    own = [own_name(name) for name in names]
    for name, mine in zip(names, own, strict=True):
        if mine is None or not mine.isprintable():
            with pytest.raises(LedgerError, match="A part is a value"):
                part_name(name)
            continue
        assert part_name(name) == mine == part_name(mine)
        assert groups_in(table, mine) == own.count(mine) == groups_in(table, mine, unit="u")
    with folder_in_memory(tmp_path_factory.mktemp("parts")) as folder:
        table.write_csv(folder / "t.csv", quote_style="always")
        for mine in {m for m in own if m is not None and m.isprintable()}:
            assert groups_in(folder / "t.csv", mine) == own.count(mine)


@pytest.mark.parametrize("name", ["2026-01", "1", "-3", "a b", "0", "10", "1.5", "Nord", "ä", "(all)", "0x1", "1_000"])
def test_names_of_parts_are_their_own(name):
    assert part_name(name) == name


@pytest.mark.parametrize("name", ["", " ", "a\nb", "\ud800", "x" * 201, None, 1.5, True, ["a"], b"a"])
def test_what_is_no_name_of_a_part(name):
    with pytest.raises(LedgerError, match="A part is a value of the column of parts"):
        part_name(name)


# Releases


TABLE = pandas.DataFrame(
    {"month": ["2026-01"] * 30 + ["2026-02"] * 50, "sex": ["m", "f"] * 40, "ill": (["yes"] * 3 + ["no"] * 2) * 16}
)
ABOUT = {"dataset": "births", "by": "sex", "domain": {"sex": ["m", "f"]}, "count": "*"}


@pytest.fixture
def births(tmp_path):
    with dt.Ledger(tmp_path / "b.db") as ledger:
        ledger.create("births", 2, relation="add-remove", parts="month")
        yield ledger


def test_each_month_has_its_budget(births, monkeypatch):
    monkeypatch.setattr(dt.Mechanism, "sample", lambda self, values, clamp: np.asarray(values))
    january = ask_release(TABLE, **ABOUT, ledger=births, epsilon=2, part="2026-01")
    february = ask_release(TABLE, **ABOUT, ledger=births, epsilon=1, part="2026-02")
    assert [row["report"] for row in january.rows()] == [15, 15]
    assert [row["report"] for row in february.rows()] == [25, 25]
    assert (january.record["parts"], january.record["part"]) == ("month", "2026-01")
    assert january.record["budget"] == {"budget": "2", "spent": "2", "left": "0"}
    assert february.record["budget"] == {"budget": "2", "spent": "1", "left": "1"}
    assert "stated, not checked" in january.record["person"]
    assert "Budget of part 2026-02 of births: 1 of 2 spent, 1 left." in str(february)
    with pytest.raises(BudgetError, match=r"'births' has 0 left .* in the part that has spent most, .* of every part"):
        ask_release(TABLE, **ABOUT, ledger=births, epsilon=1)
    with pytest.raises(BudgetError, match="Part '2026-02' of 'births' has 1 left"):
        ask_release(TABLE, **ABOUT, ledger=births, epsilon="3/2", part="2026-02")
    again = ask_release(TABLE, **ABOUT, ledger=births, epsilon=1, part=" 2026-02")
    assert (again.record["repeated"], again.record["ledger_line"]) == (True, february.record["ledger_line"])
    assert births["births"].verify().count == 5


def test_a_question_of_all_parts_charges_also_those_that_nobody_named(births):
    ask_release(TABLE, **ABOUT, ledger=births, epsilon="1/2", part="2026-01")
    whole = ask_release(TABLE, **ABOUT, ledger=births, epsilon="1/2")
    assert "All parts by month are counted, and every one was charged." in whole.record["person"]
    assert [births["births"].balance(part).spent for part in (None, "2026-01", "2026-02", "never")] == [
        1,
        1,
        Fraction(1, 2),
        Fraction(1, 2),
    ]
    said = births["births"].balance()
    assert (said.parts, said.others) == ((("2026-01", Fraction(1)),), Fraction(1, 2))
    shown = births.balances().view()
    assert shown.columns[:2] == ("data set", "part")
    assert [row[:2] for row in shown.rows] == [("births", ""), ("births", "2026-01"), ("births", "(any other)")]
    births.create("town", 1, relation="add-remove")
    assert births.book.balances("town").view().columns[:2] == ("data set", "relation")


def test_a_saved_release_of_a_part_is_checked_with_it(births, tmp_path):
    made = ask_release(TABLE, **ABOUT, ledger=births, epsilon="1/2", part="2026-01", margins=["total"])
    ask_release(TABLE, **ABOUT, ledger=births, epsilon="1/2", part="2026-02")
    ask_release(TABLE, **ABOUT, ledger=births, epsilon="1/4")
    made.save(tmp_path / "x.csv")
    assert dt.check_release(tmp_path / "x.json", ledger=births)
    page = (tmp_path / "x.html").read_text()
    assert "(month 2026-01)" in page
    assert "Budget of part 2026-01: 1/2 of 2 spent" in page
    for k, forged in enumerate(
        ({"part": "2026-02"}, {"part": None}, {"part": "2026-1"}, {"parts": "town"}, {"parts": None})
    ):
        replace(made, record={**made.record, **forged}).save(tmp_path / f"y{k}.csv")
        assert not dt.check_release(tmp_path / f"y{k}.json", ledger=births), forged


def test_a_journalist_compares_a_release_of_a_part_with_its_line(births, tmp_path):
    made = ask_release(TABLE, **ABOUT, ledger=births, epsilon="1/2", part="2026-01")
    ask_release(TABLE, **ABOUT, ledger=births, epsilon="1/2", part="2026-02")
    history = verify.history(births["births"].export(published=[made.record["ledger_line"]]))

    def beside_the_ledger(record):
        replace(made, record=record).save(tmp_path / "x.csv", overwrite=True)
        document = verify._document(str(tmp_path / "x.json"))[1]
        return verify._judged(lambda: verify.Release(document, str(tmp_path / "x.json")).in_ledger(history))

    assert beside_the_ledger(made.record).held
    for forged, why in (
        ({"part": "2026-02"}, "charged another part of the data set"),
        ({"part": None}, "charged another part of the data set"),
        ({"parts": "town"}, "other terms for the data set"),
        ({"parts": None}, "other terms for the data set"),
    ):
        found = beside_the_ledger({**made.record, **forged})
        assert not found.held
        assert why in found.words


def test_audiences_previews_and_confirmation_know_the_part(births):
    several = ask_release_to(TABLE, **ABOUT, ledger=births, audiences={"a": "1", "b": "1/2"}, part="2026-01")
    assert several["b"].record["part"] == "2026-01"
    assert [births["births"].balance(part).spent for part in ("2026-01", "2026-02")] == [1, 0]
    seen = []
    ask_release(
        TABLE, **ABOUT, ledger=births, epsilon="1/2", part="2026-02", confirm=lambda check: seen.append(check) or True
    )
    assert (seen[0].left, seen[0].paid_by) == (2, "part 2026-02")
    ahead = ask_preview(TABLE, **ABOUT, ledger=births, epsilon="1/2", part="2026-1", check=True)
    assert "would charge epsilon 1/2 of part 2026-1; nothing" in str(ahead)
    assert "of 2 left in part 2026-1;" in str(ahead.check)
    assert "would charge epsilon 1/2 of every part; nothing" in str(
        ask_preview(TABLE, **ABOUT, ledger=births, epsilon="1/2")
    )
    unknown = ask_preview(TABLE, **ABOUT, ledger=births, epsilon="1/2", part="2027-11", check=True)
    assert [str(f) for found in (ahead, unknown) for f in found.check.proposals] == [
        f"part, '{part}': no row names it; write it as the data do; what would be paid for is noise alone."
        for part in ("2026-1", "2027-11")
    ]
    blanks = TABLE.assign(month=TABLE["month"] + " ")
    for table, part in ((TABLE, "2026-01"), (blanks, "2026-01"), (TABLE, None)):
        assert not ask_preview(table, **ABOUT, ledger=births, epsilon="1/2", part=part, check=True).check.findings


def test_a_part_that_no_row_names_is_refused_where_its_column_is_public(births):
    """Under change-one privacy the zeros would be public, and cost nothing; under add-remove privacy the data must not refuse."""
    births.create("town", 2, relation="change-one", public=["month", "sex"], parts="month")
    about = {**ABOUT, "dataset": "town", "ledger": births, "epsilon": "1/2", "count": "ill = 'yes'"}
    with pytest.raises(ReleaseError, match=r"No row has '2026-1' in the public column month.*Nothing was charged"):
        ask_release(TABLE, **about, part="2026-1")
    check = ask_preview(TABLE, **about, part="2026-1", check=True).check
    assert [finding.what for finding in check.proposals] == ["part"]
    assert len(ask_release(TABLE, **about, part="2026-01")) == 2
    assert len(ask_release(TABLE, **ABOUT, ledger=births, epsilon="1/2", part="2026-1")) == 2


def test_what_is_refused_of_parts(births, tmp_path):
    births.create("town", 2, relation="add-remove")
    with pytest.raises(LedgerError, match="'town' has no parts: they are declared when a data set is created"):
        ask_release(TABLE, **{**ABOUT, "dataset": "town"}, ledger=births, epsilon=1, part="2026-01")
    with pytest.raises(LedgerError, match="A part is a value of the column of parts"):
        ask_release(TABLE, **ABOUT, ledger=births, epsilon=1, part="")
    with pytest.raises(TableInputError, match="month"):
        ask_release(TABLE.drop(columns="month"), **ABOUT, ledger=births, epsilon=1, part="2026-01")
    with pytest.raises(ReleaseError, match="may move people from one to another"):
        ask_release(TABLE, **ABOUT, ledger=births, epsilon=1, part="2026-01", supersedes="0", reason="late")
    assert births["births"].balance().spent == births["town"].balance().spent == 0
    TABLE.drop(columns="month").to_csv(tmp_path / "t.csv", index=False)
    report = births["births"].admit(tmp_path / "t.csv", version="1")
    assert [f.column for f in report.findings if f.what == "the column of parts that no admitted file has"] == ["month"]


def test_a_file_and_an_id_and_change_one(tmp_path):
    """Group membership is public: sizes of a part are its own, and an empty part costs nothing."""
    table = TABLE.assign(id=range(80))
    table.to_csv(tmp_path / "t.csv", index=False)
    asked = {**ABOUT, "count": "ill = 'yes'"}
    with dt.Ledger(tmp_path / "b.db") as ledger:
        ledger.create("births", 2, relation="change-one", public=["sex", "month"], unit="id", parts="month")
        ledger["births"].admit(tmp_path / "t.csv", version="1")
        made = ask_release(tmp_path / "t.csv", **asked, ledger=ledger, epsilon=1, part="2026-02")
        assert [row["n"] for row in made.rows()] == [25, 25]
        assert "One value of id counts in the smallest part of its rows alone." in made.record["person"]
        march = {"part": "2026-03", "confirm": lambda check: check.charge == 0}
        empty = ask_release(tmp_path / "t.csv", **asked, ledger=ledger, epsilon=1, **march)
        assert [row["n"] for row in empty.rows()] == [0, 0]
        assert ledger["births"].balance("2026-03").spent == 0
        again = ask_release(tmp_path / "t.csv", **asked, ledger=ledger, epsilon=1, part="2026-02")
        assert again.record["repeated"]


def test_a_unit_that_leaves_a_part_by_a_row_elsewhere_makes_other_data(tmp_path):
    """Rows of other parts say which part a unit is in: its rows of this part may stay, and still count no more."""
    table = pandas.DataFrame({"id": [1, 2, 2], "p": ["b", "b", "c"]})
    moved = pandas.DataFrame({"id": [1, 2, 2], "p": ["b", "b", "a"]})
    asked = {"dataset": "d", "epsilon": 1, "part": "b", "count": "*"}
    with dt.Ledger(tmp_path / "b.db") as ledger:
        ledger.create("d", 9, relation="add-remove", unit="id", parts="p")
        ask_release(table, ledger=ledger, **asked)
        assert ask_release(table[::-1], ledger=ledger, **asked).record["repeated"]
        with pytest.raises(LedgerError, match="answered from other data than these"):
            ask_release(moved, ledger=ledger, **asked)
