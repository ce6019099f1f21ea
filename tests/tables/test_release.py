"""Releases: what relations allow, what is charged, what is stored, what is shown."""

from __future__ import annotations

import json
import math
import pickle
from fractions import Fraction

import numpy as np
import pandas
import polars
import pyarrow
import pyarrow.parquet
import pytest

import discreet as dt
from discreet.errors import BudgetError, LedgerError, ReleaseError, TableInputError
from discreet.tables import release as module
from discreet.tables.publish.page import release_page, times_at_most
from tests.asking import ask_preview, ask_release
from tests.cells import for_each

DOMAIN = {"district": ["a", "b", "c"], "age": ["old", "young"]}


@pytest.fixture
def people() -> pandas.DataFrame:
    rng = np.random.default_rng(7)
    size = 900
    return pandas.DataFrame(
        {
            "district": rng.choice(["a", "b", "z", None], size, p=[0.6, 0.2, 0.1, 0.1]),
            "age": rng.choice(["old", "young"], size),
            "sick": rng.choice(["yes", "no"], size, p=[0.3, 0.7]),
            "id": rng.integers(0, 400, size),
        }
    )


@pytest.fixture
def ledger(tmp_path):
    with dt.Ledger(tmp_path / "budget.db") as book:
        book.create("bits", "2", relation="change-one", public=["district", "age"])
        book.create("people", "2", relation="add-remove")
        book.create("persons", "2", relation="add-remove", unit="id")
        yield book


def bits(people, ledger, **other):
    asked = {"dataset": "bits", "count": "sick = 'yes'", "by": ["district", "age"], "domain": DOMAIN, "epsilon": "1/2"}
    return ask_release(people, ledger=ledger, **{**asked, **other})


def test_a_bit_private_release_has_a_row_for_each_declared_key(people, ledger):
    made = bits(people, ledger)
    assert [(r["district"], r["age"]) for r in made.rows()] == [(d, a) for d in "abc" for a in ("old", "young")]
    sizes = people.groupby(["district", "age"]).size()
    assert [r["n"] for r in made.rows()] == [int(sizes.get((d, a), 0)) for d in "abc" for a in ("old", "young")]
    for row in made.rows():
        assert row["published"] == min(max(row["report"], 0), row["n"])
        assert 0 <= row["low"] <= row["published"] <= row["high"] <= row["n"]
        assert row["mechanism"] == ("public zero" if row["n"] == 0 else "geometric")
        assert row["epsilon"] == ("0" if row["n"] == 0 else "1/2")
    zero = made.rows()[-1]
    assert (zero["n"], zero["report"], zero["low"], zero["high"], zero["standard_error"]) == (0, 0, 0, 0, 0.0)


def test_reports_follow_the_mechanism_on_the_true_counts(people, ledger, monkeypatch):
    """With noise switched off the reports are the true counts: the counting reaches the drawing unchanged."""
    monkeypatch.setattr(dt.Mechanism, "sample", lambda self, values, clamp: np.asarray(values))
    made = bits(people, ledger)
    truth = people[people.sick == "yes"].groupby(["district", "age"]).size()
    assert made.columns["report"] == [int(truth.get((d, a), 0)) for d in "abc" for a in ("old", "young")]


def test_the_same_question_gets_the_stored_answer_for_nothing(people, ledger):
    first = bits(people, ledger)
    again = bits(people.sample(frac=1, random_state=1), ledger)  # another order of the rows is the same data
    assert again.columns["report"] == first.columns["report"]
    assert again.record["repeated"]
    assert not first.record["repeated"]
    assert ledger["bits"].balance().spent == Fraction(1, 2)


@pytest.mark.parametrize(
    "change",
    [
        {"epsilon": "1/4"},
        {"count": "sick = 'no'"},
        {"version": "2"},
        {"mechanism": "geometric"},
        {"pool_other": True},
        {"by": ["district"], "domain": {"district": ["a", "b"]}},
        {"domain": {"district": ["b", "a"], "age": ["old", "young"]}},
    ],
)
def test_another_question_is_charged(people, ledger, change):
    bits(people, ledger)
    made = bits(people, ledger, **change)
    assert not made.record["repeated"]
    assert ledger["bits"].balance().spent > Fraction(1, 2)


def test_changed_data_are_refused_unless_fresh(people, ledger):
    bits(people, ledger)
    changed = people.copy()
    changed.loc[0, "sick"] = "no" if changed.loc[0, "sick"] == "yes" else "yes"
    with pytest.raises(LedgerError, match="fresh"):
        bits(changed, ledger)
    assert ledger["bits"].balance().spent == Fraction(1, 2)
    bits(changed, ledger, fresh=True)
    assert ledger["bits"].balance().spent == 1


def test_a_spent_budget_refuses_and_says_what_is_left(people, ledger):
    bits(people, ledger, epsilon="3/2")
    with pytest.raises(BudgetError, match="1/2 left") as caught:
        bits(people, ledger, epsilon="1")
    assert caught.value.left == Fraction(1, 2)
    assert ledger["bits"].balance().spent == Fraction(3, 2)


def test_what_is_charged_is_what_was_asked():
    assert dt.Level.of(epsilon="0.1").charge == Fraction(1, 10)
    logarithm = dt.Level.of(epsilon="ln(2)/10").charge
    assert 0 <= logarithm - Fraction("0.069314718055994530941") < Fraction(2, 10**12)
    from_alpha = dt.Level.of(alpha="9/10").charge
    assert 0 <= from_alpha - Fraction("0.10536051565782630122") < Fraction(2, 10**12)


def test_charged_before_drawn_stored_before_shown(people, ledger, monkeypatch):
    """The order of begin, draw, finish; a crash while drawing leaves the charge and no answer."""
    steps = []
    book = ledger.book
    real_begin, real_finish, real_draw = book.begin, book.finish, module._draw
    monkeypatch.setattr(book, "begin", lambda *a, **k: (steps.append("charge"), real_begin(*a, **k))[1])
    monkeypatch.setattr(book, "finish", lambda *a, **k: (steps.append("store"), real_finish(*a, **k))[1])
    monkeypatch.setattr(module, "_draw", lambda *a: (steps.append("draw"), real_draw(*a))[1])
    bits(people, ledger)
    assert steps == ["charge", "draw", "store"]

    def crash(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "_draw", crash)
    with pytest.raises(KeyboardInterrupt):
        bits(people, ledger, version="2")
    assert ledger["bits"].balance().spent == 1
    assert ledger["bits"].balance().pending == 1


def test_printed_counts_lie_where_counts_can_and_reports_anywhere(people, ledger):
    """Under both relations: at a small epsilon some of 40 reports lie beyond 0 or n, of which none is printed."""
    keys = {"age": ["old", "young", *(f"none {k}" for k in range(38))]}
    made = ledger["people"].release(people, by=["age"], domain=keys, epsilon="1/20")
    assert set(made.columns["mechanism"]) == {"geometric"}
    assert "n" not in made.columns
    assert min(made.columns["report"]) < 0  # 38 true zeros: all reports are 0 or more once in 10^10
    for row in made:
        assert row["published"] == max(row["report"], 0)
        assert 0 <= row["low"] <= row["published"] <= row["high"]
        assert row["low"] < row["high"]


def test_people_with_several_groups_share_their_level(people, ledger):
    made = ledger["persons"].release(
        people, count="sick = 'yes'", by=["age"], domain={"age": ["old", "young"]}, epsilon="1", max_groups=2
    )
    assert made.record["epsilon_charged"] == "1"
    assert made.record["epsilon_each_report"] == "1/2"
    beta = Fraction(made.record["alpha_each_report"])
    assert dt.Level.of(epsilon=1).admits(beta, power=2)


def test_a_release_reads_its_table_once(people, ledger, monkeypatch):
    from discreet.engines import duckdb as counting

    opened, open_table = [], counting.open_table
    monkeypatch.setattr(counting, "open_table", lambda *a, **k: opened.append(1) or open_table(*a, **k))
    bits(people, ledger, count={"ill": "sick = 'yes'", "well": "sick = 'no'", "young": "sick = 'yes' or age = 'young'"})
    assert len(opened) == 1


def test_several_counts_divide_the_level(people, ledger):
    made = bits(people, ledger, count={"ill": "sick = 'yes'", "well": "sick = 'no'"}, margins=["age"])
    assert made.record["epsilon_charged"] == "1/2"
    assert made.record["epsilon_each_report"] == "1/4"
    assert made.columns["count"] == ["ill"] * 6 + ["well"] * 6
    assert {r["count"] for r in made.margins["age"]} == {"ill", "well"}


def test_margins_match_their_parts(people, ledger):
    made = bits(people, ledger, margins=["district", "age"])
    for margin in ("district", "age"):
        for total in made.margins[margin]:
            parts = [r["fitted"] for r in made.rows() if r[margin] == total[margin]]
            assert total["total"] == sum(parts)
            assert total["low"] <= total["total"] <= total["high"]
    assert all(0 <= r["fitted"] <= r["n"] for r in made.rows())


def test_other_pools_what_is_not_declared(people, ledger, monkeypatch):
    monkeypatch.setattr(dt.Mechanism, "sample", lambda self, values, clamp: np.asarray(values))
    made = bits(people, ledger, pool_other=True)
    undeclared = people[~people.district.isin(["a", "b", "c"])]
    assert made.rows()[-1]["district"] == "(other)"
    assert made.rows()[-1]["n"] == len(undeclared)
    assert made.rows()[-1]["report"] == (undeclared.sick == "yes").sum()


def with_most_sick_rows(people) -> list[int]:
    """Three persons; each, counted by the row, would move a cell by more than one or several cells."""
    rows = people[people.sick == "yes"].groupby("id").size().nlargest(3)
    assert rows.min() > 1
    return rows.index.tolist()


@pytest.mark.parametrize("max_groups", [1, 2])
@pytest.mark.parametrize("other", [False, True])
def test_removing_one_person_changes_at_most_max_groups_cells_by_one(people, ledger, monkeypatch, max_groups, other):
    """The neighbour argument on the true cells, the pooled one included, for the persons with most rows.

    Counts alone meet every kind of person in tests/engines/test_duckdb.py.
    """
    monkeypatch.setattr(dt.Mechanism, "sample", lambda self, values, clamp: np.asarray(values))
    few = people[people.id < 30]

    def cells(table, version):
        return np.array(
            ledger["persons"]
            .release(
                table,
                by=["district"],
                domain={"district": ["a", "b"]},
                epsilon="1/1000",
                max_groups=max_groups,
                pool_other=other,
                version=version,
                count="sick = 'yes'",
            )
            .columns["report"]
        )

    whole = cells(few, "all")
    moved = 0
    for person in with_most_sick_rows(few):
        off = np.abs(cells(few[few.id != person], f"without {person}") - whole)
        assert off.max(initial=0) <= 1
        assert off.sum() <= max_groups
        moved += off.sum()
    assert moved > 0


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"by": ["sick"], "domain": {"sick": ["yes"]}}, "not public"),
        ({"count": None}, "say what to count"),
        ({"count": "age = 'old'"}, "public columns alone"),
        ({"max_count": 10}, "Leave it out: noise on counts has no ends"),
        ({"max_groups": 2}, "id column"),
        ({"mechanism": "laplace"}, "not known"),
        ({"domain": None}, "Declare the groups"),
        ({"version": ""}, "version"),
        ({"version": "\ud800"}, "version"),
        ({"pool_other": 2}, "True or False"),
        ({"count": {"\ud800": "sick = 'yes'"}}, "count is"),
        ({"mechanism": None}, "not known"),
        ({"mechanism": dt.geometric(5, epsilon="1/2")}, "up to 5"),
        ({"mechanism": dt.geometric(10**6, epsilon="1")}, "must guarantee"),
    ],
)
def test_what_the_relation_does_not_allow_is_refused_before_any_charge(people, ledger, change, words):
    with pytest.raises(ReleaseError, match=words):
        bits(people, ledger, **change)
    assert ledger["bits"].balance().spent == 0


@pytest.mark.parametrize(
    "bad",
    [
        {"count": "sick ="},
        {"count": "sick = 'yes'; DROP TABLE t"},
        {"count": "nothing = 1"},
        {"count": "count(*) > 1"},
        {"count": "sick IN (SELECT 1)"},
        {"domain": {"district": ["a", "a"], "age": ["old"]}},
        {"by": ["nowhere"]},
        {"epsilon": "-1"},
        {"dataset": "unknown"},
        {"alpha": "1/2"},
    ],
)
def test_bad_questions_are_refused_and_cost_nothing(people, ledger, bad):
    with pytest.raises(dt.errors.DiscreetError):
        bits(people, ledger, **bad)
    assert ledger["bits"].balance().spent == 0


def test_a_mechanism_of_ones_own(people, ledger):
    made = bits(people, ledger, mechanism=dt.geometric(1000, epsilon="1/2"))
    assert {r["mechanism"] for r in made.rows()} <= {"geometric", "public zero"}


def test_every_kind_of_table_is_counted_alike(people, ledger, tmp_path):
    people.to_csv(tmp_path / "p.csv", index=False)
    pyarrow.parquet.write_table(pyarrow.Table.from_pandas(people), tmp_path / "p.parquet")
    kinds = {
        "1": people,
        "2": polars.from_pandas(people),
        "3": pyarrow.Table.from_pandas(people),
        "4": tmp_path / "p.csv",
        "5": str(tmp_path / "p.parquet"),
    }
    for version, table in kinds.items():
        if version > "3":
            ledger["bits"].admit(table, version=version)
        made = bits(table, ledger, version=version, epsilon="1/10")
        assert made.columns["n"] == bits(people, ledger, version="1", epsilon="1/10").columns["n"]


def test_public_zeros_alone_cost_nothing(people, ledger):
    made = bits(people.head(0), ledger)
    assert set(made.columns["mechanism"]) == {"public zero"}
    assert made.record["epsilon_charged"] == "0"
    assert ledger["bits"].balance().spent == 0
    assert len(made.record["empty_groups"]) == 6
    assert "Empty groups: " in str(made)
    whole = ledger["bits"].release(people.head(0), count="sick = 'yes'", epsilon="1/10")
    assert whole.record["empty_groups"] == [[]]
    assert "Empty groups" not in str(whole)  # which could name none


def test_what_a_count_does_not_mean_is_said(people, ledger):
    persons = ledger["persons"].release(people, by=["age"], domain={"age": ["old"]}, epsilon="1/8")
    assert any("too low" in text for text in persons.record["beware"])


@pytest.mark.parametrize(
    ("epsilon", "words"),
    [
        ("1", "2.72"),
        ("2", "7.39"),
        ("1/2", "1.65"),
        ("1/1000", "1.0011"),
        ("0", "1"),
        ("20", "486,000,000"),
        ("100", "10<sup>44</sup>"),
        ("ln 3", "3.01"),
    ],
)
def test_the_page_says_how_many_times_in_plain_numbers_never_too_few(epsilon, words):
    """e = 2.71828..., e^2 = 7.38905..., e^(1/2) = 1.64872..., e^20 = 485165195.4..., e^100 = 2.69e43; rounded up."""
    exact = dt.Level.of(epsilon=epsilon).charge if "ln" in epsilon else Fraction(epsilon)
    assert times_at_most(exact) == words


@for_each("epsilon", [Fraction(k, 97) for k in range(1, 3800, 37)])
def test_the_number_of_times_is_above_and_close(epsilon):
    told = float(times_at_most(epsilon).replace(",", ""))
    assert math.exp(epsilon) * (1 - 1e-12) <= told <= math.exp(epsilon) * 1.01


def test_the_page_has_the_number_of_times(people, ledger):
    assert "at most 1.65 times as likely" in release_page(bits(people, ledger))


def test_a_margin_of_the_only_column_is_refused(people, ledger):
    with pytest.raises(ReleaseError, match="themselves are by age"):
        bits(people, ledger, by=["age"], domain={"age": ["old"]}, margins=["age"])


def test_a_repeated_release_has_the_same_record(people, ledger):
    first, again = bits(people, ledger), bits(people, ledger)
    assert {**first.record, "repeated": True} == dict(again.record)


def test_one_domain_serves_several_questions(people, ledger):
    assert len(bits(people, ledger, by=["age"]).rows()) == 2


def test_the_page_shows_the_parts_that_add_up(people, ledger):
    text = release_page(bits(people, ledger, margins=["age"]))
    assert "fitted to the totals" in text
    assert "(exact)" in text


def test_the_preview_is_as_wide_as_the_release(people, ledger):
    asked = {"dataset": "people", "by": ["age"], "domain": {"age": ["old"]}, "epsilon": "1/4", "ledger": ledger}
    expected = ask_preview(people, **asked).rows()[0]
    row = ask_release(people, **asked).rows()[0]
    assert row["high"] - row["low"] == 2 * expected["half width"]


def test_the_preview_charges_nothing(people, ledger):
    rows = (
        ledger["bits"]
        .preview(table=people, count="sick = 'yes'", by=["district", "age"], domain=DOMAIN, epsilon="1/2")
        .rows()
    )
    assert len(rows) == 6
    assert rows[0]["standard error"] > 0
    assert rows[-1]["mechanism"] == "none"
    assert ledger["bits"].balance().spent == 0


def test_nothing_private_is_in_the_record_or_the_page(people, ledger, monkeypatch):
    """With recognisable true counts, none of them, no row count and no fingerprint appears anywhere.

    The draws are fixed, since an interval may well end at a true count.
    """
    monkeypatch.setattr("discreet.sampling.secure_source", lambda: dt.insecure_source(3))
    captured = []
    real = module._draw
    monkeypatch.setattr(
        module, "_draw", lambda plan, sizes, truth: (captured.append(truth), real(plan, sizes, truth))[1]
    )
    big = pandas.concat([people] * 37, ignore_index=True)
    made = bits(big, ledger, margins=["age"], epsilon="1/100")
    text = json.dumps(
        {"record": made.record, "rows": made.rows(), "margins": made.margins}, default=str
    ) + release_page(made)
    shown = set(map(str, made.columns["report"])) | set(map(str, made.columns["n"]))
    for count in captured[0].tolist():
        if count > 100 and str(count) not in shown:
            assert f" {count}," not in text
            assert f">{count}<" not in text
    assert str(len(big)) not in text


def test_pages_are_safe_from_their_content(people, ledger):
    people["district"] = people["district"].replace({"a": "<script>alert(1)</script>"})
    made = bits(people, ledger, domain={"district": ["<script>alert(1)</script>", "b"], "age": ["old", "young"]})
    assert "<script>" not in release_page(made)


def test_a_missing_column_and_an_empty_file(ledger, tmp_path):
    (tmp_path / "e.csv").write_text("")
    with pytest.raises(TableInputError, match="empty"):
        bits(tmp_path / "e.csv", ledger)
    (tmp_path / "m.csv").write_text("district,age\na,old\n")
    ledger["bits"].admit(tmp_path / "m.csv")
    with pytest.raises(dt.errors.DiscreetError, match="sick"):
        bits(tmp_path / "m.csv", ledger)
    assert ledger["bits"].balance().spent == 0


def test_columns_may_be_declared_in_another_order(people, ledger):
    """Labels follow their columns, whatever order the domain declares them in."""
    from discreet.questions.domain import Domain

    turned = Domain.of({"age": ["old", "young"], "district": ["a", "b", "c"]})
    made = bits(people, ledger, domain=turned, by=["District", "Age"])
    assert set(made.columns["District"]) == {"a", "b", "c"}
    made = bits(people, ledger, domain=turned)
    assert set(made.columns["district"]) == {"a", "b", "c"}
    sizes = people.groupby(["district", "age"]).size()
    assert all(r["n"] == sizes.get((r["district"], r["age"]), 0) for r in made.rows())


def test_pooled_cells_beside_whole_numbers_make_a_table(people, ledger):
    people["district"] = np.arange(len(people)) % 5
    for table, version in ((people, "1"), (polars.from_pandas(people), "2"), (pyarrow.Table.from_pandas(people), "3")):
        made = bits(
            table,
            ledger,
            by=["district"],
            domain={"district": [1, 2]},
            pool_other=True,
            version=version,
            epsilon="1/10",
        )
        assert made.to_arrow().num_rows == 3
    with pytest.raises(ReleaseError, match="pooled"):
        bits(people, ledger, by=["age"], domain={"age": ["(other)"]}, pool_other=True)


@pytest.mark.parametrize("name", ["report", "n", "Digest", "fitted"])
def test_columns_of_the_result_are_not_grouped_by(people, ledger, name):
    with pytest.raises(ReleaseError, match="rename"):
        bits(people, ledger, by=[name], domain={name: ["x"]})


@pytest.mark.parametrize("epsilon", ["1e-17", "1e-6", "1e-3", "40"])
def test_extreme_levels_are_released_and_read(people, ledger, epsilon):
    """Nothing fails after the charge, at any level."""
    ledger.create("wide", "50", relation="change-one", public=["district", "age"])
    made = bits(people, ledger, dataset="wide", epsilon=epsilon, margins=["age"])
    assert len(made.rows()) == 6
    release_page(made)


def test_a_mechanism_that_cannot_be_made_is_refused_before_the_charge(people, ledger):
    with pytest.raises(dt.errors.DiscreetError):
        ledger["people"].release(people, by=["age"], domain={"age": ["old"]}, epsilon="1/2", mechanism="explicit_fair")
    assert ledger["people"].balance().spent == 0


def test_spelling_in_another_case_is_the_same_column(people, ledger):
    with pytest.raises(ReleaseError, match="identifies people"):
        ledger["persons"].release(people, by=["ID"], domain={"ID": [1]}, epsilon="1/2")
    with pytest.raises(ReleaseError, match="identifies people"):
        ledger["persons"].release(people, count="ID = 2", by=["age"], domain={"age": ["old"]}, epsilon="1/2")
    with pytest.raises(ReleaseError, match="public columns alone"):
        bits(people, ledger, count="AGE = 'old'")


def test_a_mistyped_ledger_is_refused_and_not_made(people, tmp_path):
    with pytest.raises(LedgerError, match="no ledger"):
        bits(people, dt.Ledger(tmp_path / "typo.db"))
    assert not (tmp_path / "typo.db").exists()


@pytest.mark.parametrize(("unit", "max_groups"), [(False, 1), (True, 1), (True, 2)])
def test_changing_one_person_s_bit_moves_few_cells_by_one_and_no_size(people, ledger, monkeypatch, unit, max_groups):
    """The neighbour argument of change-one privacy: sizes stay, and at most max_groups cells move, by at most one.

    Counts alone meet every kind of person in tests/engines/test_duckdb.py.
    """
    monkeypatch.setattr(dt.Mechanism, "sample", lambda self, values, clamp: np.asarray(values))
    ledger.create("own", "1", relation="change-one", public=["district", "age"], unit="id" if unit else None)
    few = people[people.id < 30].reset_index(drop=True)

    def cells(table, version):
        made = ledger["own"].release(
            table,
            count="sick = 'yes'",
            by=["district", "age"],
            domain=DOMAIN,
            pool_other=True,
            epsilon="1/1000",
            max_groups=max_groups,
            version=version,
        )
        return np.array(made.columns["report"]), made.columns["n"]

    whole, sizes = cells(few, "all")
    most = 0
    for k in with_most_sick_rows(few):
        changed = few.copy()
        who = few.id == k if unit else few.index == few.index[(few.id == k) & (few.sick == "yes")][0]
        for value in ("no", None):
            changed.loc[who, "sick"] = value
            moved, now = cells(changed, f"{k} {value}")
            assert now == sizes
            assert np.abs(moved - whole).max() <= 1
            assert np.abs(moved - whole).sum() <= max_groups
            most = max(most, np.abs(moved - whole).sum())
    assert most == max_groups  # the bound is reached


@pytest.mark.outside("postgres")
def test_a_release_on_postgres(people, server):
    with dt.Ledger(server.database()) as book:
        book.create("town", "1", relation="change-one", public=["district", "age"])
        first = bits(people, book, dataset="town")
        assert bits(people, book, dataset="town").columns["report"] == first.columns["report"]
        assert book["town"].balance().spent == Fraction(1, 2)
        book["town"].verify()


@pytest.mark.parametrize("count", [5, 1.5, True, b"x = 1", [], {}, [3], [["x = 1"]], {"a": 5}, {1: "x = 1"}], ids=repr)
def test_what_is_no_predicate_is_refused(ledger, count):
    ledger.create("odd", "1", relation="add-remove")
    with pytest.raises(ReleaseError, match="count is a predicate, a list of them"):
        ledger["odd"].release({"x": [1, 2]}, count=count, epsilon=1)


@pytest.mark.parametrize(
    "asked",
    [
        {"epsilon": "1/576460752303423488", "count": ["x = 1", "x = 2", "x = 3", "x = 4"]},
        {"alpha": Fraction(10**23 - 1, 10**23), "count": "x = 1"},
    ],
    ids=["2^-59 in four", "1e-23 in one"],
)
def test_reports_that_would_say_nothing_are_refused_before_the_charge(ledger, asked):
    """2^-59 over four counts is 2^-61 each: the reach of its noise, beyond ln(20) * 2^61, no longer fits 63 bits."""
    ledger.create("odd", "1", relation="add-remove")
    table = pyarrow.table({"x": [1, 2, 3, 4]})
    with pytest.raises(ReleaseError, match=r"epsilon below 2\^-61"):
        ledger["odd"].release(table, **asked)
    assert ledger["odd"].balance().spent == 0


@pytest.mark.parametrize("how", [ask_release, ask_preview])
def test_progress_covers_the_whole(people, ledger, how):
    """From 0 to 1, told once the counting is done too, and 1 is told last: a dry run and several counts alike."""
    seen = []
    how(
        people,
        dataset="bits",
        ledger=ledger,
        count=["sick = 'yes'", "sick = 'no'"],
        by=["district", "age"],
        domain=DOMAIN,
        epsilon="1/2",
        progress=seen.append,
    )
    done = [line.done for line in seen]
    assert (done[0], done[-1], done) == (0, 1, sorted(done))
    assert any(0.6 < part < 1 for part in done)
    assert (seen[0], seen[-1]) == ("counting: 0 %", "done: 100 %")


def test_groups_of_a_size_are_reckoned_once(people, ledger, monkeypatch):
    """A dry run of many groups read the same mechanism anew for each of them."""
    from discreet.tables.publish import previews as module

    read, times = module._expected, []
    monkeypatch.setattr(module, "_expected", lambda sheet, k, size: times.append(size) or read(sheet, k, size))
    domain = {"district": [f"nowhere {k}" for k in range(2000)]}
    rows = (
        ledger["people"]
        .preview(table=people, count="sick = 'yes'", by=["district"], domain=domain, epsilon="1/2")
        .rows()
    )
    assert len(rows) == 2000
    assert len(times) < 10


def test_columns_are_lists_of_pythons_own_numbers_however_they_are_held(people, ledger):
    """Sums and counts beside each other, in arrays until they are asked for; the rows, the table and a copy have the same."""
    made = bits(people, ledger, count={"ill": "sick = 'yes'", "well": "sick = 'no'"})
    assert len(made) == made.size == len(made.columns["report"]) > 2
    for name, values in made.columns.items():
        assert type(values) is list
        assert {*map(type, values)} <= {int, float, str, type(None)}, name
        assert [row[name] for row in made.rows()] == values
        assert made.to_arrow().column(name).to_pylist() == values
    copy = pickle.loads(pickle.dumps(made))
    assert copy.columns == made.columns == dict(made.columns)
    assert list(copy.columns) == list(made.columns)
    assert repr(made.columns) == repr(dict(made.columns))
    ends = [made.columns[name] for name in ("low", "published", "high")]
    assert all(low <= printed <= high for low, printed, high in zip(*ends, strict=True))
