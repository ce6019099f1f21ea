"""A data set with a ledger is charged before anything is drawn, at the level between any two values, for each row of a person."""

from __future__ import annotations

import json
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

import discreet as dt
from discreet.collect import work
from discreet.collect.account import FirstRows, cost
from discreet.collect.perturbing import perturb_summary
from discreet.collect.request import PerturbRequest, ReportLevels
from discreet.engines.plain import plain
from discreet.errors import BudgetError, LedgerError, ReleaseError, TableInputError

G = dt.geometric(100, epsilon="ln(2)/10")
RESPONSE = dt.randomized_response(100, epsilon="1/2")
SURE = dt.geometric(100, epsilon=45)


@pytest.fixture
def book(tmp_path):
    with dt.Ledger(tmp_path / "budget.db") as ledger:
        ledger.create("ages", "20", relation="change-one")
        yield ledger


def table() -> pa.Table:
    return pa.table({"age": np.arange(1000) % 101})


def test_the_first_is_charged_between_any_two_and_a_repeat_is_free(book):
    asked, ages = {"on_bad": "map=0"}, book["ages"]
    first = ages.perturb(table(), "age", G, **asked)
    spent = book["ages"].balance().spent
    assert 10 * np.log(2) <= spent <= 10 * np.log(2) + 1e-11
    assert ages.perturb(table(), "age", G, **asked) == first
    rows = ages.perturb(table(), "age", G, rows=True, **asked)  # the same tally, written out
    assert dt.tally(rows, "age").to_pydict() == first.to_pydict()
    assert book["ages"].balance().spent == spent
    ages.perturb(table(), "age", RESPONSE, **asked)
    assert book["ages"].balance().spent == spent + Fraction(1, 2)  # as it was asked, not rounded
    ages.perturb(table(), "age", RESPONSE, max_rows=3, **asked)
    assert book["ages"].balance().spent == spent + Fraction(1, 2) * 4
    again = json.loads(ages.perturb(table(), "age", RESPONSE, **asked).schema.metadata[b"discreet.perturb"])
    left = str(book["ages"].balance().left)
    assert (again["repeated"], again["epsilon_charged"], again["left"]) == (True, "1/2", left)
    summary = perturb_summary(
        table(), PerturbRequest.of(column="age", mechanism=RESPONSE, charged=ages.paying(), **asked)
    )
    assert summary.repeated
    assert "free of charge" in str(summary)
    book["ages"].verify()


HALF = dt.randomized_response(2, epsilon=1)
CHARGED = {
    "asked so": (dt.square_wave(9, epsilon="3/7"), Fraction(3, 7)),
    "hyperplanes": (dt.projective_response(9, epsilon="3/7"), Fraction(3, 7)),
    "a logarithm": (dt.square_wave(9, epsilon="ln 3"), None),
    "an alpha": (dt.randomized_response(9, alpha="1/3"), None),
    "one step": (dt.geometric(9, epsilon="1/10"), Fraction(9, 10)),
    "the whole grid": (dt.geometric(9, epsilon="1/10", sensitivity=9), Fraction(1, 10)),
    "fair": (dt.explicit_fair(8, alpha="9/10"), None),
    "nothing": (dt.uniform(9), Fraction(1, 10**12)),
    "less than asked": (
        dt.Mechanism(HALF.inputs, HALF.outputs, HALF.channel, dt.Level.of(epsilon=5), HALF.neighbours, HALF.recipe),
        None,
    ),
}


@pytest.mark.parametrize("name", CHARGED)
def test_a_charge_is_the_logarithm_of_the_largest_ratio_rounded_up(name):
    """Against every entry of the channel, in 50 digits; as it was asked where that is the same."""
    m, told = CHARGED[name]
    rows, reports = range(m.finite().rows), range(m.finite().reports)
    ratio = max(m.finite().entry(i, j) / m.finite().entry(k, j) for i in rows for k in rows for j in reports)
    with localcontext(prec=50):
        exact = (Decimal(ratio.numerator) / ratio.denominator).ln()
        found = cost(m, ReportLevels.of(m))
        over = Decimal(found.numerator) / found.denominator - exact
    assert 0 <= over <= Decimal("1.1e-12")
    assert told is None or 0 <= found - told <= Fraction(1, 10**12) * (name == "one step")


def test_beyond_the_budget_nothing_is_drawn(book, monkeypatch):
    drawn = []
    monkeypatch.setattr(work.Work, "drawn", lambda *_: drawn.append(1))
    with pytest.raises(BudgetError):
        book["ages"].perturb(table(), "age", RESPONSE, on_bad="map=0", max_rows=50)
    assert drawn == []
    assert book["ages"].balance().spent == 0


def test_the_charge_is_on_disk_before_the_draw(book, monkeypatch):
    def killed(*_: object) -> None:
        assert book["ages"].balance().spent == Fraction(1, 2)
        raise KeyboardInterrupt

    monkeypatch.setattr(work.Work, "drawn", killed)
    with pytest.raises(KeyboardInterrupt):
        book["ages"].perturb(table(), "age", RESPONSE, on_bad="map=0")
    assert book["ages"].balance().pending == 1


def test_what_no_charge_covers_is_refused(book):
    book.create("who", "20", relation="add-remove")
    more = table().append_column("town", pa.array(["x"] * 1000))
    refused = {
        "Which group": {"by": ["town"]},
        "Leaving out a value": {"on_bad": "drop"},
        "any two values": {"mechanism": dt.geometric(dt.Grid(None, None), epsilon=1)},
        "leave source out": {"source": dt.insecure_source(1)},
    }
    for words, ask in refused.items():
        with pytest.raises(ReleaseError, match=words):
            PerturbRequest.of(
                **{"column": "age", "mechanism": G, "charged": book["ages"].paying(), "on_bad": "map=0", **ask}
            )
    with pytest.raises(ReleaseError, match="number of people"):
        book["who"].perturb(more, "age", G, on_bad="map=0")
    assert book["ages"].balance().spent == 0


def test_where_nothing_is_said_bad_numbers_have_a_place(book):
    """A charge covers no refusal: numbers go to the nearest value, and what is none to the first; of names it must be said."""
    book.create("rich", "100000")
    made = book["rich"].perturb(pa.table({"age": [1, None, 300]}), "age", SURE)
    assert made.to_pydict() == {"age": [0, 1, 100], "count": [1, 1, 1]}
    with pytest.raises(ReleaseError, match="say where bad values go"):
        book["rich"].perturb(pa.table({"age": ["a"]}), "age", dt.randomized_response(["a", "b"], epsilon=1))


def test_no_refusal_depends_on_the_values(book):
    """A row number for each grid that is asked for would tell everybody's value, free of charge."""
    bad = pa.table({"age": [1, None, 300]})
    for rule, data in [("error", bad), ("clamp", bad), ("error", table())]:
        with pytest.raises(ReleaseError, match=r"no charge covers.*map=VALUE"):
            book["ages"].perturb(data, "age", RESPONSE, on_bad=rule)
    long = dt.randomized_response(2**25, epsilon=1)  # the number of different values could be too large to count
    with pytest.raises(ReleaseError, match="coarser grid"):
        book["ages"].perturb(table(), "age", long, on_bad="map=7")
    assert book["ages"].balance().spent == 0
    book.create("rich", "100000")
    made = book["rich"].perturb(bad, "age", SURE, on_bad="clamp,map=7")
    assert made.to_pydict() == {"age": [1, 7, 100], "count": [1, 1, 1]}


def test_a_file_must_be_the_one_that_was_admitted(book, tmp_path):
    path = tmp_path / "ages.csv"
    path.write_text("age;id\n" + "".join(f"{k % 101};{k}\n" for k in range(300)))
    asked = {"column": "age", "mechanism": RESPONSE, "on_bad": "map=0"}
    with pytest.raises(ReleaseError, match="was not admitted"):
        book["ages"].perturb(path, **asked)
    book["ages"].admit(dt.read(path, separator=";"))
    made = book["ages"].perturb(path, **asked)
    assert sum(made.column("count").to_pylist()) == 300
    assert book["ages"].perturb(dt.read(path, separator=";"), **asked) == made
    with pytest.raises(TableInputError, match="as it was admitted"):
        book["ages"].perturb(dt.read(path, separator=",", decimal="."), **asked)
    path.write_text(path.read_text() + "5;9\n")
    with pytest.raises(ReleaseError, match="is not the file"):
        book["ages"].perturb(path, **asked)
    assert book["ages"].balance().spent == Fraction(1, 2)


def test_other_data_under_the_same_question_are_refused(book):
    book["ages"].perturb(table(), "age", RESPONSE, on_bad="map=0")
    other = pa.table({"age": [5] * 1000})
    with pytest.raises(LedgerError, match="other data"):
        book["ages"].perturb(other, "age", RESPONSE, on_bad="map=0")
    book["ages"].perturb(other, "age", RESPONSE, on_bad="map=0", fresh=True)
    assert book["ages"].balance().spent == 1


def test_of_a_person_the_first_rows_count(tmp_path, monkeypatch):
    """Whoever has more rows counts with the first, whatever stands in them; without an id nobody does."""
    monkeypatch.setattr(work, "BATCH", 3)
    with dt.Ledger(tmp_path / "budget.db") as book:
        book.create("visits", "100000", unit="id")
        visits = pa.table({"id": ["a", "b", "a", None, "a", "b", "c", "a"], "age": [1, 2, 3, 4, 5, 6, 7, 8]})
        asked = {"mechanism": SURE, "on_bad": "map=0"}
        made = book["visits"].perturb(visits, "age", max_rows=2, **asked)
        assert made.column("age").to_pylist() == [1, 2, 3, 6, 7]
        assert book["visits"].balance().spent == pytest.approx(2 * 45 * 100, rel=1e-12)
        assert book["visits"].perturb(visits, "age", max_rows=1, **asked).column("age").to_pylist() == [1, 2, 7]


@pytest.mark.parametrize(
    "ids",
    [
        pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, 3, 0]), pa.array(["a", "a", "b", None])),
        pa.array([0.0, -0.0, 1.0, float("nan"), 0.0]),
        pa.array([0.0, -0.0, 1.0, None, 0.0], pa.float32()),
    ],
)
def test_equal_ids_are_one_person_whatever_stands_for_them(tmp_path, monkeypatch, ids):
    """A person who counts twice is charged for once: words twice in a dictionary, zeros of both signs, NaN in every batch."""
    monkeypatch.setattr(work, "BATCH", 2)
    visits = pa.table({"id": ids, "age": [1, 2, 3, 4, 5]})
    visits = pa.concat_tables([visits.slice(0, 3), visits.slice(3), visits])
    with dt.Ledger(tmp_path / "budget.db") as book:
        book.create("visits", "100000", unit="id")
        asked = {"mechanism": SURE, "on_bad": "map=0"}
        assert book["visits"].perturb(visits, "age", **asked).to_pydict() == {"age": [1, 3], "count": [1, 1]}
        assert sum(book["visits"].perturb(visits, "age", max_rows=9, **asked).column("count").to_pylist()) == 8


def test_ids_of_the_wrong_kind_and_any_number_of_rows(tmp_path):
    with dt.Ledger(tmp_path / "budget.db") as book:
        book.create("visits", 10**40, unit="id")
        asked = {"mechanism": SURE, "on_bad": "map=0"}
        with pytest.raises(TableInputError, match="has type list, which identifies nobody"):
            book["visits"].perturb(pa.table({"id": [[1], [1]], "age": [1, 2]}), "age", **asked)
        assert (
            book["visits"].perturb(pa.table({"id": [1, 1], "age": [1, 2]}), "age", max_rows=10**30, **asked).num_rows
            == 2
        )
        assert book["visits"].balance().spent == 4500 * 10**30


def test_first_rows_against_plain_counting():
    rng = np.random.default_rng(2)
    ids = [None if x == 0 else int(x) for x in rng.integers(0, 40, 500)]
    first, seen, stays = FirstRows(3), dict[int | None, int](), []
    for start in range(0, 500, 70):
        stays += first.stay(pa.array(ids[start : start + 70], pa.int64())).tolist()
    expected = []
    for each in ids:
        seen[each] = seen.get(each, 0) + 1
        expected.append(each is not None and seen[each] <= 3)
    assert stays == expected


def test_a_row_whose_index_is_missing_is_nobody_s():
    ids = pa.DictionaryArray.from_arrays(pa.array([0, None, 1, 0]), pa.array(["a", "b"]))
    assert FirstRows(1).stay(plain(ids, as_id=True)).tolist() == [True, False, True, False]
