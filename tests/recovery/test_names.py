"""Recovery of answers that are names: shares with intervals and ranks that hold together, groups, and their differences."""

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import discreet as dt
from discreet.errors import DiscreetError, RecoveryError, TableInputError

NAMES = ["Fiat", "Alfa Romeo", "VW"]
M = dt.randomized_response(NAMES, epsilon=2)
SAME = dt.randomized_response(2, epsilon=2)
SEEN = {"Fiat": 50, "Alfa Romeo": 30, "VW": 20}
REPORTS = [name for name, times in SEEN.items() for _ in range(times)]


@pytest.mark.parametrize("method", ["auto", "mle", "ibu", "inverse"])
def test_every_method_finds_what_it_finds_for_numbers(method):
    found, known = dt.recover(SEEN, M, method), dt.recover([50, 30, 20], SAME, method, kind="counts", ordered=False)
    assert found.distribution.tolist() == known.distribution.tolist()
    assert not found.ordered
    assert [row["value"] for row in found.rows()] == NAMES
    assert found.to_dict()["names"] == NAMES


@pytest.mark.parametrize(
    "data",
    [
        SEEN,
        REPORTS,
        tuple(REPORTS),
        np.array(REPORTS),
        np.array(REPORTS, dtype=object),
        pa.array(REPORTS),
        pa.array(REPORTS).dictionary_encode(),
        pa.chunked_array([REPORTS[:3], REPORTS[3:]]),
        pd.Series(REPORTS),
        pd.Series(REPORTS, dtype="category"),
        pl.Series(REPORTS),
        pl.Series(REPORTS, dtype=pl.Categorical),
        [50, 30, 20],
        np.array([50, 30, 20]),
        pd.Series([50, 30, 20], index=NAMES),
        pd.Series(REPORTS).value_counts().to_dict(),
        dt.tally(pa.table({"b": REPORTS}), "b", M),
        dt.tally(pa.table({"b": REPORTS}), "b", M).to_pandas(),
        pl.from_arrow(dt.tally(pa.table({"b": REPORTS}), "b", M)),
    ],
    ids=lambda data: type(data).__name__,
)
def test_names_and_their_counts_come_in_any_form(data):
    assert dt.recover(data, M, "mle").counts.tolist() == [50, 30, 20]


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        (["Fiat", "Lada"], "position 1 is not one of the 3 names"),
        (["Fiat", None], "position 1 is missing or no text"),
        ({"Lada": 3}, "position 0 is not one of the 3 names"),
        ([1, 2], "one count for each of the 3 reports|not one of the 3 names"),
        ([1.5, 2, 3], "position 0 is missing or no text"),
        (pd.Series([1, 2, 3], index=["VW", "Fiat", "Alfa Romeo"]), "labels that are not the reports"),
        (object(), "Cannot read reports from object; give a histogram"),
        ("brands.csv", r'make a tally of the file first, for example dt\.tally\("reports\.csv", "age", m\)'),
        (
            pd.DataFrame({"b": ["VW", None], "g": [1, 2]}),
            r'make a tally of the table first, .* dt\.tally\(table, "age", m\)',
        ),
        (pa.table({"g": ["a"], "b": ["VW"], "count": [1]}), "tally by groups; say by='g'"),
    ],
)
def test_what_are_no_reports_is_said(bad, why):
    with pytest.raises(RecoveryError, match=why):
        dt.recover(bad, M)


def test_what_needs_an_order_refuses():
    e = dt.recover(SEEN, M)
    for call in (
        e.mean,
        e.variance,
        lambda: e.quantile(0.5),
        lambda: e.tail(1),
        e.direct,
        e.interval,
        lambda: e.direct("cdf"),
        e.band,
        lambda: e.plot("cdf"),
    ):
        with pytest.raises(RecoveryError, match="Names have no order"):
            call()
    with pytest.raises(RecoveryError, match="Names have no order"):
        dt.recover(SEEN, M, ordered=True)
    assert e.direct(lambda name: name == "VW").estimate == pytest.approx(e.direct("cells").estimate[2])
    assert "Fiat" in str(e)
    assert "mean" not in str(e)
    assert "Alfa Romeo" in e.plot().to_json()


# Coverage, by every outcome that there is


POINTS = dt.projective_response(NAMES, epsilon=2)  # it has three reports, too, which are numbers


def outcomes(people, m=M):
    """The distribution of the counts of reports when these are the true answers (positions) of some people: exactly."""
    rows = [[Fraction(x).limit_denominator(10**15) for x in row] for row in m.matrix.tolist()]
    found = {(0, 0, 0): Fraction(1)}
    for truth in people:
        after = Counter()
        for counts, chance in found.items():
            for report in range(3):
                more = tuple(c + (k == report) for k, c in enumerate(counts))
                after[more] += chance * rows[truth][report]
        found = after
    return {counts: float(chance) for counts, chance in found.items()}


def drawn(law, number, m=M):
    """The same for people who are drawn from a distribution."""
    pushed = np.asarray(law) @ m.matrix
    found = {}
    for counts in itertools.product(range(number + 1), repeat=3):
        if sum(counts) == number:
            ways = math.factorial(number) / math.prod(map(math.factorial, counts))
            found[counts] = ways * math.prod(float(p) ** c for p, c in zip(pushed, counts, strict=True))
    return found


def holds(shares, law):
    """Do all intervals hold these shares, and all ranks theirs?"""
    truth = dict(zip(NAMES, law, strict=True))
    ranks = {name: 1 + sum(other > own + 1e-12 for other in law) for name, own in truth.items()}
    return all(
        row["low"] - 1e-12 <= truth[row["answer"]] <= row["high"] + 1e-12
        and row["first rank"] <= ranks[row["answer"]] <= row["last rank"]
        for row in shares.rows()
    )


PEOPLE = [[0] * 12, [0] * 6 + [1] * 6, [0] * 9 + [1] * 2 + [2], [0, 1, 2] * 4]


COUNTS = [c for c in itertools.product(range(13), repeat=3) if sum(c) == 12]


@pytest.fixture(scope="module")
def estimates():
    return {c: dt.recover(list(c), M, "inverse", kind="counts") for c in COUNTS}


@pytest.mark.parametrize(("m", "confidence"), [(M, "0.8"), (M, "0.95"), (POINTS, "0.95")])
def test_intervals_and_ranks_hold_together_as_often_as_they_say(m, confidence):
    made = {counts: dt.recover(list(counts), m, "inverse", kind="counts") for counts in COUNTS}
    found = {counts: e.shares(confidence) for counts, e in made.items()}
    for people in PEOPLE:
        law = [people.count(k) / 12 for k in range(3)]
        for chances in (outcomes(people, m), drawn(law, 12, m)):
            assert sum(chances.values()) == pytest.approx(1)
            covered = sum(chance for counts, chance in chances.items() if holds(found[counts], law))
            assert covered >= float(confidence)


def test_narrower_intervals_would_not_hold(estimates):
    """Negative control: half the width misses more often than it may."""
    law = [0.5, 0.5, 0.0]
    missed = 0.0
    for counts, chance in drawn(law, 12).items():
        shares = estimates[counts].shares("0.95")
        middle, half = (shares.low + shares.high) / 2, (shares.high - shares.low) / 4
        truth = np.array([law[NAMES.index(a)] for a in shares.answers])
        missed += chance * bool((np.abs(truth - middle) > half).any())
    assert missed > 0.05


@pytest.mark.parametrize("confidence", ["0.8", "0.95"])
def test_differences_hold_together_as_often_as_they_say(confidence, estimates):
    pairs = [(PEOPLE[0], PEOPLE[1]), (PEOPLE[2], PEOPLE[2]), (PEOPLE[3], PEOPLE[0])]
    some = {c: e for c, e in estimates.items() if max(c) >= 2}
    for first, second in pairs:
        ones, others = (
            {c: p for c, p in outcomes(people).items() if p > 1e-3 and c in some} for people in (first, second)
        )
        truth = {name: (first.count(k) - second.count(k)) / 12 for k, name in enumerate(NAMES)}
        apart = sum(max(d, 0) for d in truth.values())
        seen = missed = 0.0
        for (a, p), (b, q) in itertools.islice(itertools.product(ones.items(), others.items()), 0, None, 7):
            told = some[a].difference(some[b], confidence)
            right = all(row["low"] <= truth[row["answer"]] <= row["high"] for row in told.rows())
            right &= told.total_variation[0] <= apart + 1e-12 <= told.total_variation[1] + 2e-12
            seen, missed = seen + p * q, missed + p * q * (not right)
        assert seen > 0.05
        assert missed / seen <= 1 - float(confidence)


def test_intervals_narrow_with_the_number_of_reports_and_ranks_become_sure():
    few, many = (dt.recover({n: c * k for n, c in SEEN.items()}, M, "mle").top(2) for k in (1, 1000))
    assert ((many.high - many.low) < (few.high - few.low) / 20).all()
    assert (many.sure, many.possible, many.first_rank, many.last_rank) == (2, 2, (1, 2), (1, 2))
    assert few.possible >= 2
    assert "hold for any number of reports" in str(few)
    assert many.answers == ("Fiat", "Alfa Romeo")
    certain = dt.recover({n: c * 1000 for n, c in SEEN.items()}, M).difference(dt.recover([900, 90, 10], M))
    assert (certain.low > 0).any()
    assert (certain.high < 0).any()
    assert certain.total_variation[0] > 0


def test_ranks_are_those_of_the_definition():
    rng = np.random.default_rng(5)
    m = dt.randomized_response([f"a{k}" for k in range(40)], epsilon=4)
    e = dt.recover(rng.multinomial(5000, 1 / np.arange(1, 41) / (1 / np.arange(1, 41)).sum()).tolist(), m, "inverse")
    shares = e.shares()
    for v, row in enumerate(shares.rows()):
        assert row["first rank"] == 1 + (shares.low > shares.high[v]).sum()
        others = np.arange(40) != v
        assert row["last rank"] == 1 + (shares.high[others] > shares.low[v]).sum()
    assert shares.sure == shares.possible == 40
    order = list(zip(-shares.share, -(shares.low + shares.high), strict=True))
    assert order == sorted(order)  # those with the same share, 0, by their intervals
    assert (shares.share == 0).sum() > 3
    assert (shares.low >= 0).all()
    assert (shares.high <= 1).all()
    top = e.top(5)
    assert top.answers == shares.answers[:5]
    assert top.sure == sum(k <= 5 for k in shares.last_rank)
    assert top.possible == sum(k <= 5 for k in shares.first_rank)


def test_other_channels_have_normal_intervals():
    m = dt.from_matrix([["1/2", "1/4", "1/4"], ["1/5", "3/5", "1/5"], ["0", "1/2", "1/2"]], inputs=NAMES)
    e = dt.recover([400, 300, 300], m, "mle", kind="counts")
    shares = e.shares()
    assert not shares.any_number
    assert "for many reports" in str(shares)
    alone = e.interval(1 - 0.05 / 3, "cells")
    order = [NAMES.index(a) for a in shares.answers]
    assert (shares.low >= alone[0][order] - 1e-12).all()
    assert (shares.high <= alone[1][order] + 1e-12).all()
    told = e.difference(dt.recover(SEEN, M))
    assert not told.any_number
    assert (told.low <= told.difference).all()
    assert (told.difference <= told.high).all()


def test_answers_that_nobody_gave_differ_for_no_group():
    """Of two groups alike on a channel with normal intervals: a share without any report has an interval, too."""
    m = dt.geometric(20, epsilon=2)
    one, other = (dt.recover({4: 90, 5: 80, 6: 30 + more}, m) for more in (0, 1))
    told = one.difference(other)
    assert (told.low < 0).all()
    assert (told.high > 0).all()
    assert "0 of 21 shares differ for certain" in str(told)
    far = one.difference(dt.recover({9: 9000}, m))  # the negative control: what differs is seen
    assert far.answers[0] == 9
    assert far.high[0] < 0


def test_a_mechanism_that_tells_nothing_leaves_everything_open():
    e = dt.recover(SEEN, dt.uniform(NAMES))
    assert e.shares().low.tolist() == [0, 0, 0]
    assert e.shares().high.tolist() == [1, 1, 1]
    with pytest.raises(DiscreetError, match="says nothing"):
        e.difference(e)


def test_a_tally_by_groups_gives_an_estimate_for_each():
    table = pa.table({"g": ["n"] * 60 + ["s"] * 40, "b": REPORTS})
    tally = dt.tally(table, "b", M, by="g")
    for data in (tally, tally.to_pandas(), pl.from_arrow(tally)):
        found = dt.recover(data, M, by="g")
        assert list(found) == ["n", "s"]
        assert len(found) == 2
        assert "n" in found
        assert found["n"].counts.tolist() == [50, 10, 0]
        assert found["s"].counts.tolist() == [0, 20, 20]
        assert [row["g"] for row in found.rows()] == ["n"] * 3 + ["s"] * 3
    told = found.difference("n", "s")
    assert told.answers[0] == "Fiat"
    assert told.low[0] > 0
    assert "n less s" in str(told)
    assert told.to_dict()["groups"] == ["n", "s"]
    assert found.to_dict()["groups"][1]["group"] == ["s"]
    two = dt.tally(table.append_column("h", pa.array([1, 2] * 50)), "b", M, by=["g", "h"])
    assert list(dt.recover(two, M, by=["g", "h"])) == [("n", 1), ("n", 2), ("s", 1), ("s", 2)]
    for bad, why in (
        (("g", "x"), "has the columns g, x"),
        ("b", "position 0 is not one of the 3 names"),
        ((), "has the columns"),
    ):
        with pytest.raises(RecoveryError, match=why):
            dt.recover(tally, M, by=bad)
    with pytest.raises(RecoveryError, match="no group 'w' of g; there are 'n', 's'"):
        found["w"]
    with pytest.raises(RecoveryError, match="listed twice in a group"):
        dt.recover(pa.concat_tables([tally, tally]), M, by="g")
    with pytest.raises(DiscreetError, match="other answers"):
        found["n"].difference(dt.recover([1, 2, 3], SAME, kind="counts"))
    with pytest.raises(RecoveryError, match="no estimate"):
        found["n"].difference([1, 2, 3])


def test_groups_are_told_with_intervals_at_the_confidence_that_was_asked_for():
    table = pa.table({"g": ["n"] * 60 + ["s"] * 40, "b": REPORTS})
    found = dt.recover(dt.tally(table, "b", M, by="g"), M, by="g")
    top = found["n"].top(1)
    assert f"Fiat {top.share[0]:.1%} ({top.low[0]:.1%} to {top.high[0]:.1%})" in str(found)
    assert "ask for confidence 39/40" in str(found)
    wide = found["n"].top(1, "39/40")
    told = found.view("39/40")
    assert f"({wide.low[0]:.1%} to {wide.high[0]:.1%})" in told.rows[0][-1]
    assert wide.low[0] < top.low[0]
    assert "at least 0.95 for all 2 groups together" in told.notes[0]
    assert "ask for" in found.view("0.974").notes[0]  # just too little
    ages = {"g": [1, 1, 2], "age": [3, 5, 4], "count": [300, 500, 1]}
    m = dt.square_wave(10, epsilon=2)
    aged = dt.recover(pa.table(ages), m, by="g")
    low, high = aged[1].interval("0.9")
    assert f"mean {aged[1].mean():.4g} ({low:.4g} to {high:.4g}), median" in aged.view("0.9").rows[0][-1]
    assert aged.view().rows[1][-1].startswith("median")  # one report has no standard error
    assert aged.to_dict("0.9")["groups"][0]["estimate"]["direct"]["interval"] == [low, high]


def test_a_table_of_spark_is_sent_back_to_be_counted_there():
    def columns(self):
        return ["b", "count"]

    spark = type("DataFrame", (), {"__module__": "pyspark.sql.classic.dataframe", "columns": property(columns)})
    for ask in (lambda: dt.recover(spark(), M), lambda: dt.recover(spark(), M, by="g")):
        with pytest.raises(RecoveryError, match=r"Spark DataFrame.*groupBy\(\.\.\.\)\.count\(\)\.toArrow\(\)"):
            ask()
    with pytest.raises(TableInputError, match=r"groupBy\('g', 'b'\)\.count\(\)\.toArrow\(\), and hand that to recover"):
        dt.tally(spark(), "b", M, by="g")
    brought = pd.DataFrame({"g": ["n", "n", "s"], "b": ["VW", "Fiat", "VW"], "count": [1, 2, 3]})  # as Spark gives it
    assert dt.recover(brought, M, by="g")["n"].counts.tolist() == [2, 0, 1]


def test_a_tally_of_another_mechanism_is_refused():
    """Metadata decide where there are some; what is no such metadata is left alone."""
    same, other = dt.randomized_response(["a", "b"], epsilon=60), dt.randomized_response(["b", "a"], epsilon=60)
    noisy = dt.perturb(pa.table({"x": ["a", "b", "b"]}), "x", same)
    tally = dt.tally(pa.table({"g": [1, 2], "x": ["a", "b"]}), "x", same, by="g")
    assert dt.recover(noisy, same).counts.tolist() == [1, 2]
    with pytest.raises(RecoveryError, match="another mechanism drew them"):
        dt.recover(noisy, other)
    with pytest.raises(RecoveryError, match="another mechanism drew them"):
        dt.recover(tally, other, by="g")
    with pytest.raises(DiscreetError, match="another mechanism drew them"):
        dt.tally(noisy, "x", other)
    for said in (b"", b"{", b"[1]", b"{}", b'{"mechanism": 3}', b"[" * 10**5):
        assert dt.recover(noisy.replace_schema_metadata({b"discreet.perturb": said}), other).reports == 3


@pytest.mark.parametrize(
    "m", [dt.projective_response(6, epsilon=1), dt.projective_response(list("abcdefg"), alpha="1/3")]
)
def test_direct_shares_and_their_errors_are_right_on_average_over_every_pair_of_reports(m):
    """By enumeration: sets that no report lies in, or all of them, have an error of exactly 0."""
    truths, matrix = (0, 1), m.channel.matrix
    pairs = [
        (dt.recover(list(pair), m, "inverse", kind="reports"), pair) for pair in itertools.product(range(8), repeat=2)
    ]
    chances = [matrix[truths[0], i] * matrix[truths[1], j] for _, (i, j) in pairs]
    shares, errors = (np.array([e.direct("cells")[k] for e, _ in pairs]) for k in range(2))
    assert np.isfinite(errors).all()
    assert (errors == 0).any(axis=0).all()
    assert chances @ shares == pytest.approx([0.5, 0.5, 0, 0, 0, 0, 0], abs=1e-12)
    # of a population from which these two people were drawn: (1/2)(1/2) more than of the people themselves, for two of seven
    spread = chances @ (shares - chances @ shares) ** 2
    assert chances @ errors**2 == pytest.approx(spread + np.array([0.25, 0.25, 0, 0, 0, 0, 0]), rel=1e-9)
