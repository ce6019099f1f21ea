"""Shares and means of those who answered: what a text asks for, what a missing answer is, intervals that cover, whole releases.

What one person changes is in test_statistics.py, by brute force.
"""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pandas
import pytest

import discreet as dt
from discreet.engines.duckdb import count_each
from discreet.errors import PredicateError, ReleaseError
from discreet.questions.domain import Domain
from discreet.questions.statistic import OUT, Statistic, read_share
from discreet.tables.publish.readings import COVERAGE
from tests.asking import ask_release
from tests.cells import for_each

from .test_statistics import a_measure, quiet, shown

# What a text asks for

WORDS = ("where", "missing out", " where age >= 18", " missing out", "it''s where", "missing 0", "Where")
CONSTANTS = [f"'{word}'" for word in WORDS] + ["e'\\' where '"]
NAMES = ['"where"', '"missing out"', '"a where b"', "missing", "out"]
CONDITIONS = [f"{name} = {constant}" for name in NAMES for constant in CONSTANTS]


def test_words_in_quotes_are_no_words_of_the_share():
    """Each condition with such words in a constant or a name, alone, as the one or the other condition, and in any case."""
    for condition, other in itertools.product(CONDITIONS, ("age >= 18", CONDITIONS[0], CONDITIONS[-1])):
        assert read_share(condition) == (condition, None, None)
        assert read_share(f"{condition} missing out") == (condition, None, OUT)
        assert read_share(f"{condition} where {other}") == (condition, other, None)
        assert read_share(f"{condition}\n WHERE {other}  Missing\tOUT ") == (condition, other, OUT)
        with pytest.raises(ReleaseError, match="says what is missing before it says where"):
            read_share(f"{condition} missing out where {other}")
        asked = dt.Question(share=f"{condition} where {other} missing out")
        assert asked.statistics == (Statistic("share", "share", condition, missing=OUT, among=other),)
        assert dt.Question.from_dict(asked.to_dict()) == asked


@for_each(
    "text",
    [
        "missing out",
        "where age > 1",
        "a where",
        "a where  missing out",
        "a missing 0",
        "a where b missing 1.5",
        "a missing out missing out",
        " missing out",
    ],
)
def test_a_share_that_lacks_a_condition_says_how_it_is_written(text):
    with pytest.raises(ReleaseError, match="write a share as"):
        read_share(text)


@for_each(
    "text",
    ["a where b where c", "(a where b)", "a where b; c", "a -- where b", "a = 'x where b"],
)
def test_what_is_no_pair_of_conditions_is_refused_by_the_predicate(text):
    with pytest.raises(PredicateError):
        dt.Question(share=text)


# What a missing answer is: SQL's three values

TRUTHS = (True, False, None)
THREE = pandas.DataFrame(
    [(a, b, None if a is None else "yes" if a else "no") for a in TRUTHS for b in TRUTHS], columns=["a", "b", "t"]
).astype({"a": "boolean", "b": "boolean"})


def negated(x):
    return None if x is None else not x


def both(x, y):
    return False if False in (x, y) else None if None in (x, y) else True


def either(x, y):
    return negated(both(negated(x), negated(y)))


MEANT = {
    "a": lambda a, b: a,
    "NOT a": lambda a, b: negated(a),
    "t = 'yes'": lambda a, b: a,
    "t <> 'yes'": lambda a, b: negated(a),
    "a AND b": both,
    "a OR b": either,
    "NOT (a OR NOT b)": lambda a, b: negated(either(a, negated(b))),
    "a IS NULL": lambda a, b: a is None,
    "a IS NULL OR b": lambda a, b: either(a is None, b),
    "t IN ('yes', 'maybe')": lambda a, b: a,
    "t IN ('yes', NULL)": lambda a, b: a or None,
    "t = NULL": lambda a, b: None,
}


def test_an_answer_is_missing_where_its_condition_is_neither_true_nor_false(tmp_path):
    """Of all nine pairs of true, false and missing, in a frame; and in a file, where an empty field is missing."""
    file = tmp_path / "three.csv"
    THREE.to_csv(file, index=False)
    for condition, among in itertools.product(MEANT, (None, "b", "a OR b")):
        where = "" if among is None else f" where {among}"
        kept, out = (dt.Question(share=f"{condition}{where}{end}").statistics[0] for end in ("", " missing out"))
        pairs = [
            (a, b)
            for a, b in itertools.product(TRUTHS, TRUTHS)
            if among is None or MEANT.get(among, lambda a, b: b)(a, b) is True
        ]
        yes = sum(MEANT[condition](a, b) is True for a, b in pairs)
        no = sum(MEANT[condition](a, b) is False for a, b in pairs)
        asked = [kept.counted, out.counted, out.taken_over, kept.taken_over]
        for table in (THREE, file) if condition.startswith("t ") and among is None else (THREE,):
            counted = count_each(table, predicates=asked, by=[], domain=Domain.of({})).counts
            assert [int(c.counts[0]) for c in counted] == [yes, yes, yes + no, len(pairs)], (condition, among)


def test_a_person_with_several_rows_answers_once():
    """Yes where a row says so, else no where a row says so, else not at all; the two counts are disjoint."""
    rows = [(k, a) for k, rows in enumerate(itertools.product(TRUTHS, TRUTHS)) for a in rows]
    table = pandas.DataFrame(rows, columns=["id", "a"]).astype({"a": "boolean"})
    (asked,) = dt.Question(share="a missing out").statistics
    counted = count_each(
        table, predicates=[asked.counted, asked.taken_over], by=[], domain=Domain.of({}), unit="id"
    ).counts
    assert [int(c.counts[0]) for c in counted] == [5, 8]  # 5 of 9 have a yes, 3 more a no, and one nothing


# Intervals


@pytest.mark.parametrize(
    ("asked", "low", "high"),
    [
        ({"share": "y missing out"}, 0, 1),
        ({"share": "y where x > 1"}, 0, 1),
        ({"mean": "x:-1..2/3 missing out"}, -1, 2),
    ],
)
def test_intervals_under_change_one_cover_every_truth_in_exact_enumeration(asked, low, high):
    """Of a group of six: for each number of yes and of other answers the probabilities of all reports whose interval holds."""
    measures, size = a_measure("change-one", **asked)
    noise = measures[0].plan[6].channel.noise
    assert [m.change for m in measures] == [2, 2]
    law = {k: noise.exact(k) for k in range(-18, 19)}
    reports = np.array(list(itertools.product(law, law)))
    least = Fraction(1)
    for u, v in [(0, 1), (3, 0), (2, 4), (1, 2)]:
        read = shown(measures, [reports[:, 0] + u, reports[:, 1] + v], size)
        truth = low + (high - low) * Fraction(u, u + v)
        held = np.array([a <= truth <= b for a, b in zip(read["low"], read["high"], strict=True)]).reshape(len(law), -1)
        least = min(
            least,
            sum(
                p * sum(q for q, yes in zip(law.values(), row, strict=True) if yes)
                for p, row in zip(law.values(), held.tolist(), strict=True)
            ),
        )
        assert all(low <= a <= b <= high for a, b in zip(read["low"], read["high"], strict=True))
    assert COVERAGE <= least < 1
    narrow, _ = a_measure("add-remove", **asked)  # negative control: intervals of noise that hides one step
    read = shown(
        [m.drawn_by({6: other.plan[-1]}) for m, other in zip(measures, narrow, strict=True)],
        [reports[:, 0] + 2, reports[:, 1] + 4],
        size,
    )
    truth = low + (high - low) * Fraction(1, 3)
    held = [a <= truth <= b for a, b in zip(read["low"], read["high"], strict=True)]
    assert sum(law[a] * law[b] for (a, b), yes in zip(reports.tolist(), held, strict=True) if yes) < COVERAGE


# Whole releases


@pytest.fixture
def ledger(tmp_path):
    with dt.Ledger(tmp_path / "budget.db") as book:
        book.create("bits", "50", relation="change-one", public=["g"])
        book.create("people", "50", relation="add-remove")
        yield book


@pytest.fixture
def survey() -> pandas.DataFrame:
    rng = np.random.default_rng(28)
    return pandas.DataFrame(
        {
            "g": rng.choice(["a", "b"], 400),
            "age": rng.integers(0, 90, 400),
            "asthma": rng.choice(["yes", "no", None], 400, p=[0.35, 0.45, 0.2]),
            "x": rng.choice([1.0, 5.0, 9.0, np.nan], 400),
        }
    )


ASKED = {
    "share": {
        "all": "asthma = 'yes'",
        "answered": "asthma = 'yes' missing out",
        "adults": "asthma = 'yes' where age >= 18",
        "adults who answered": "asthma = 'yes' where age >= 18 missing out",
    },
    "mean": {
        "x": "x:0..10 missing out",
        "of adults": "x:0..10 where age >= 18 missing out",
        "filled": "x:0..10 where age >= 18 missing 2",
    },
    "by": ["g"],
    "domain": {"g": ["a", "b", "nobody"]},
    "epsilon": 7,
}


@pytest.mark.parametrize("dataset", ["people", "bits"])
def test_shares_and_means_of_those_who_answered_are_what_pandas_makes_of_the_rows(
    survey, ledger, monkeypatch, tmp_path, dataset
):
    quiet(monkeypatch)
    made = ledger[dataset].release(survey, **ASKED).with_totals("total")
    rows = {(row["statistic"], row["g"]): row for row in made.rows()}

    def expected(some):
        yes, adults = some.asthma == "yes", some.age >= 18
        there = some.asthma.notna()
        return {
            "all": yes.mean(),
            "answered": yes[there].mean(),
            "adults": yes[adults].mean(),
            "adults who answered": yes[adults & there].mean(),
            "x": some.x.mean(),
            "of adults": some.x[adults].mean(),
            "filled": some.x[adults].fillna(2).mean(),
        }

    for g, some in survey.groupby("g"):
        for name, value in expected(some).items():
            assert rows[name, g]["report"] == pytest.approx(value), (name, g)
            assert rows[name, g]["low"] <= value <= rows[name, g]["high"]
    for line in made.margins["total"]:
        assert line["total"] == pytest.approx(expected(survey)[line["statistic"]], abs=0.02)
    alone = {name for name, row in rows.items() if row["report_u"] is not None}
    whole = {"all"} if dataset == "bits" else set()
    assert {name for name, _ in alone} == {*expected(survey)} - whole
    if dataset == "bits":  # an empty public group is exact, and of nobody
        assert all(rows[name, "nobody"]["report"] is rows[name, "nobody"]["low"] is None for name in expected(survey))
    entries = {one["name"]: one for one in made.record["statistics"]}
    twice = 2 if dataset == "bits" else 1
    assert entries["answered"]["change"] == twice
    assert entries["of adults"]["change"] == 10 * twice
    assert entries["adults who answered"]["among"] == "age >= 18"
    beware = " ".join(made.record["beware"])
    assert "all: people without an answer (the condition is neither true nor false) are in the denominator" in beware
    assert "answered: people without an answer (the condition is neither true nor false) are left out" in beware
    files = made.save(tmp_path / "released.csv")
    assert dt.check_release(files[-1], ledger=ledger)
    again = ledger[dataset].release(survey, **ASKED)
    assert again.record["repeated"]
    assert again.columns["report"] == made.columns["report"]


def test_what_is_left_out_is_part_of_the_question(survey, ledger):
    """Every way of asking is another question, but for what says the same."""
    asked = {"dataset": "people", "ledger": ledger, "epsilon": 1}
    shares = [
        "asthma = 'yes'",
        "asthma = 'yes' missing out",
        "asthma = 'yes' where age > 9",
        "asthma = 'yes' where age > 9 missing out",
    ]
    assert not any(ask_release(survey, share=text, **asked).record["repeated"] for text in shares)
    same = "asthma = 'yes' WHERE AGE > 9.0 MISSING OUT"
    assert ask_release(survey, share={"another name": same}, **asked).record["repeated"]
    assert not ask_release(survey, mean="x:0..10", **asked).record["repeated"]
    assert ask_release(survey, mean="x:0..10 missing out", **asked).record[
        "repeated"
    ]  # as add-remove does without saying so
    assert not ask_release(survey, sum="x:0..10", **asked).record["repeated"]
    assert ask_release(survey, sum="x:0..10 missing out", **asked).record["repeated"]
    bits = {**asked, "dataset": "bits"}
    assert not any(
        ask_release(survey, mean=text, **bits).record["repeated"] for text in ("x:0..10", "x:0..10 missing out")
    )
    assert ledger["people"].balance().spent == 6


def test_audiences_and_measured_totals_take_shares_of_those_who_answered(survey, ledger):
    both_levels = ledger["bits"].release_to(
        survey, share="asthma = 'yes' missing out", audiences={"office": 2, "all": 1}
    )
    assert [made.record["statistics"][0]["change"] for made in both_levels.audiences.values()] == [2, 2]
    measured = ledger["bits"].release(
        survey, share="asthma = 'yes' missing out", by=["g"], domain={"g": ["a", "b"]}, measure_totals=[[]], epsilon=2
    )
    assert {"report_u", "report_v"} <= measured.margins["total"][0].keys()
    expected = ledger["bits"].preview(table=survey, share="asthma = 'yes' missing out", epsilon=2)
    noise = dt.geometric(dt.Grid(None, None), alpha=dt.Level.of(epsilon=2).alpha, sensitivity=2)
    assert expected.rows()[0]["error by size"] == pytest.approx(noise.channel.standard_error)


def test_a_mechanism_is_refused_for_a_pair(survey, ledger):
    for wrong in ({"mechanism": "explicit_fair"}, {"mechanism": "geometric"}):
        with pytest.raises(ReleaseError, match=r"for adding|for counts"):
            ledger["bits"].release(survey, share="asthma = 'yes' missing out", epsilon=1, **wrong)
        ledger["bits"].preview(table=survey, share="asthma = 'yes'", epsilon=1, **wrong)


def test_the_check_before_paying_reads_both_conditions(survey, ledger):
    found = (
        ledger["people"]
        .preview(table=survey, share="asthma = 'Yes' where g = 'A' missing out", epsilon=1, check=True)
        .check
    )
    assert [finding.where for finding in found.findings] == ["asthma = 'Yes', g = 'A'"]
