"""Queries and their sensitivities: every closed form against the definition, on all data sets of small domains."""

from __future__ import annotations

import copy
import itertools
import json
import math
import pickle
import statistics
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dt
from discreet.errors import (
    DiscreetError,
    GridError,
    LevelError,
    OutOfRangeError,
    ReleaseError,
    SizeError,
    TableInputError,
)
from discreet.queries.exact_records import in_units
from discreet.queries.reach import best_of
from tests.cells import for_each
from tests.profiles import examples
from tests.work import lines_of

ANSWERS: dict[str, Callable[[tuple[Fraction, ...]], Fraction]] = {
    "sum": lambda x: sum(x, Fraction(0)),
    "mean": lambda x: sum(x, Fraction(0)) / len(x),
    "max": max,
    "min": min,
    "median": statistics.median_low,
    "quantile(1/4)": lambda x: sorted(x)[max(math.ceil(Fraction(len(x), 4)), 1) - 1],
    "quantile(0.9)": lambda x: sorted(x)[math.ceil(Fraction(9 * len(x), 10)) - 1],
}


def by_definition(answer, values, n):
    """For every data set its local sensitivity, and A_k, the largest within Hamming distance k, from nothing but the answers.

    Data sets are sorted, since answers do not depend on the order. Within distance k lies what one change makes of what lies
    within k - 1."""
    sets = list(itertools.combinations_with_replacement(sorted(values), n))
    answers = {x: answer(x) for x in sets}
    changed = {x: {tuple(sorted((*x[:i], v, *x[i + 1 :]))) for i in range(n) for v in values} for x in sets}
    local = {x: max(abs(answers[x] - answers[y]) for y in changed[x]) for x in sets}
    within = [local]
    for _ in range(n):
        within.append({x: max(within[-1][y] for y in changed[x]) for x in sets})

    def nearby(x):
        return [largest[tuple(sorted(x))] for largest in within]

    return local, nearby


@pytest.mark.parametrize("name", ANSWERS)
@for_each("n, values", [(1, (0, 1, 5)), (2, (0, 2, 3, 7)), (3, (-1, 0, 2, 4)), (4, (0, 1, 5)), (5, (0, 3, 4))])
def test_sensitivities_are_those_of_the_definition(name, n, values):
    """The domain holds both ends and the records, between which the closed forms only ever choose: they are exact on it.

    beta = ln 2 makes the discounts powers of 1/2, so that nothing is rounded on this side."""
    low, high = Fraction(values[0], 3), Fraction(values[-1], 3)
    domain = [Fraction(v, 3) for v in values]
    q = dt.queries.query(name, records=n, low=low, high=high)
    local, nearby = by_definition(ANSWERS[name], domain, n)
    assert q.global_sensitivity == max(local.values())
    assert q.output == (min(map(ANSWERS[name], local)), max(map(ANSWERS[name], local)))
    for x in set(map(tuple, map(sorted, local))):
        assert q.local_sensitivity(x)._value == local[x]
        assert q.answer(x)._value == ANSWERS[name](x)
        smooth = max(a / 2**k for k, a in enumerate(nearby(x)))
        told = q.smooth_sensitivity(x[::-1], beta="ln 2")._value
        assert smooth <= told <= smooth * (1 + Fraction(1, 2**51))


@pytest.mark.parametrize("name", ["max", "median", "mean"])
def test_the_closed_forms_as_they_are_printed(name):
    """Nissim, Raskhodnikova and Smith on [0, L], n odd, as formulas over sorted records, at an irrational discount."""
    n, length, beta = 7, 4.0, 0.3
    rng = np.random.default_rng(5)
    for _ in range(50):
        x = np.sort(rng.random(n) * length)

        def at(i, x=x):
            return 0.0 if i < 1 else length if i > n else float(x[i - 1])

        m = (n + 1) // 2
        forms = {
            "median": [max(at(m + t) - at(m + t - k - 1) for t in range(k + 2)) for k in range(n + 1)],
            "max": [max(length - at(n - k), at(n) - at(n - k - 1)) for k in range(n + 1)],
            "mean": [max(length - at(1), at(n)) / n, *[length / n] * n],
        }
        smooth = max(a * math.exp(-k * beta) for k, a in enumerate(forms[name]))
        told = dt.queries.query(name, records=n, low=0, high=4).smooth_sensitivity(x, beta=beta)
        assert float(told) == pytest.approx(smooth, rel=1e-13)


def test_a_count_moves_by_one():
    q = dt.queries.query("count", records=3)
    local, nearby = by_definition(sum, (0, 1), 3)
    assert q.global_sensitivity == 1 == max(local.values())
    for x in local:
        assert (float(q.local_sensitivity(x)), float(q.smooth_sensitivity(x)), float(q.answer(x))) == (
            1,
            max(nearby(x)),
            sum(x),
        )
    assert dt.queries.query("count", records=2).answer([True, False])._value == 1
    with pytest.raises(OutOfRangeError, match="position 1 is neither 0 nor 1"):
        q.answer([1, 0.5, 0])


def test_min_is_max_reflected_and_ranks_are_reflected_quantiles():
    rng = np.random.default_rng(8)
    for n in (4, 9, 30):
        x = np.round(rng.random(n) * 8) / 8  # exact binary numbers with ties
        pairs = [("min", "max")] + ([("median", "median")] if n % 2 else [("median", f"quantile({n // 2 + 1}/{n})")])
        for name, mirrored in pairs:
            one, other = (dt.queries.query(k, records=n, low=0, high=1) for k in (name, mirrored))
            for beta in ("1/50", "1/3", 2):
                assert one.smooth_sensitivity(x, beta=beta) == other.smooth_sensitivity(1 - x, beta=beta)


def test_it_is_smooth_and_above_the_local_one():
    """S(x) <= e^beta S(y) for neighbours, LS <= S: what privacy rests on, over all pairs of a small domain."""
    n, values = 4, (0, 1, 2, 6)
    for name in ("median", "max", "quantile(1/4)", "mean"):
        q = dt.queries.query(name, records=n, low=0, high=6)
        found = {x: float(q.smooth_sensitivity(x, beta="ln(3/2)")) for x in itertools.product(values, repeat=n)}
        for x, size in found.items():
            assert size >= float(q.local_sensitivity(x))
            assert all(found[(*x[:i], v, *x[i + 1 :])] <= 1.5 * size * (1 + 1e-14) for i in range(n) for v in values)


@settings(max_examples=examples(150))
@given(st.lists(st.floats(-3, 5), min_size=1, max_size=25), st.fractions(Fraction(1, 1000), 3), st.fractions(0, 1))
def test_the_search_misses_no_window(x, beta, p):
    """Against all windows, in Fractions and with the mathematical constant in 60 digits."""
    n, low, high = len(x), Fraction(-3), Fraction(5)
    q = dt.queries.query("quantile", p=p, records=n, low=low, high=high)
    ends = [low, *sorted(map(Fraction, x)), high]
    m = max(math.ceil(p * n), 1)
    decay = (-Decimal(beta.numerator) / Decimal(beta.denominator)).exp()
    smooth = max(
        Fraction(decay ** (b - a - 1)) * (ends[b] - ends[a]) for a in range(m + 1) for b in range(m, n + 2) if a < b
    )
    told = q.smooth_sensitivity(x, beta=beta)._value
    assert smooth * (1 - Fraction(1, 10**25)) <= told <= smooth * (1 + Fraction(1, 10**14))
    exactly = q.smooth_sensitivity([Fraction(v) for v in x], beta=beta)._value
    assert abs(exactly - told) <= told * Fraction(1, 2**50)


def test_the_search_on_flat_stretches_and_where_all_records_are_alike():
    """Gaps that grow as fast as their discount falls: nearly every k is as good as the best, and all are looked at."""
    gaps = 1.05 ** np.arange(150)
    x = np.concatenate([-np.cumsum(gaps)[::-1], [0], np.cumsum(gaps)])
    top = float(np.cumsum(1.05 ** np.arange(151))[-1])
    q = dt.queries.query("median", records=301, low=-top, high=top)
    ends = np.concatenate([[-top], x, [top]])
    direct = max((ends[b] - ends[a]) * 1.05 ** -(b - a - 1) for a in range(152) for b in range(151, 303) if a < b)
    assert float(q.smooth_sensitivity(x, beta="ln(1.05)")) == pytest.approx(direct, rel=1e-12)
    same = dt.queries.query("median", records=20001, low=0, high=100).smooth_sensitivity(np.full(20001, 50.0), beta=1)
    assert 0 < float(same) <= 5e-324  # 50 e^-10000, rounded up
    assert float(
        dt.queries.query("median", records=5, low=0, high=100).smooth_sensitivity([50] * 5, beta=1)
    ) == pytest.approx(max(50 * math.exp(-2), 100 * math.exp(-5)))


def test_a_search_that_cannot_trust_the_order_would_show():
    """Negative control of the search's one assumption: with an A_k that falls, it does miss the largest."""

    class Falling:
        last = 9

        def at(self, k):
            return 100 if k == 4 else 1

    assert best_of(Falling(), lambda size, k: size - k, 0)[0] == 1


@pytest.mark.parametrize(
    ("name", "beta"), [("mean", "1/6"), ("max", "1/6"), ("median", "1/6"), ("median", "1e-4"), ("median", "1e-7")]
)
def test_the_search_does_not_go_through_all_records(name, beta):
    """Of 10^5 records a search that asked for each A_k would run 10^5 lines at least, and one for each window far more."""
    x = np.random.default_rng(3).beta(2, 5, 10**5)
    q = dt.queries.query(name, records=10**5, low=0, high=1)
    lines_of(lambda: q.smooth_sensitivity(x, beta=beta), most=20_000)


def test_records_of_every_kind():
    q = dt.queries.query("median", records=3, low=0, high=1)
    kinds = [
        [0.25, 0.5, 1],
        (Fraction(1, 4), "1/2", 1),
        np.array([0.25, 0.5, 1], dtype=np.float32),
        pandas.Series([0.25, 0.5, 1]),
        [Decimal("0.25"), Decimal("0.5"), 1],
    ]
    assert {float(q.local_sensitivity(k)) for k in kinds} == {0.5}
    assert {float(q.smooth_sensitivity(k, beta=1)) for k in kinds} == {0.5}
    assert {float(q.answer(k)) for k in kinds} == {0.5}
    big = dt.queries.query("max", records=2, low=0, high=2**80)
    assert big.local_sensitivity([2**70 + 1, 1])._value == 2**80 - 2**70 - 1
    assert dt.queries.query("sum", records=3, low=0, high=1).answer([0.1, 0.2, 1e-300])._value == sum(
        map(Fraction, [0.1, 0.2, 1e-300])
    )
    assert dt.queries.query("sum", records=2, low=-9, high=2**62).answer(np.array([2**62, -7]))._value == 2**62 - 7


def test_ends_that_are_no_floats():
    """1/3 lies between two floats: the local sensitivity is exact, the smooth one at most a float's width above."""
    q = dt.queries.query("max", records=1, low="1/3", high="2/3")
    x = 0.5
    assert q.local_sensitivity([x])._value == Fraction(1, 6)
    told = q.smooth_sensitivity([x], beta="ln 2")._value
    assert Fraction(1, 6) <= told <= Fraction(1, 6) + Fraction(1, 2**52)
    assert q.answer([0.2], clamp=True)._value == Fraction(1, 3)
    with pytest.raises(OutOfRangeError):
        q.answer([0.33333333333333331])


def test_units_keep_fractions_exactly():
    numbers, unit = in_units([Fraction(1, 3), Fraction(-5, 7), Fraction(2)])
    assert [Fraction(int(k), unit) for k in numbers] == [Fraction(1, 3), Fraction(-5, 7), 2]
    odd = [Fraction(1, 3**50), Fraction(1, 7**30)]
    numbers, unit = in_units(odd)
    assert (numbers.tolist(), unit) == (odd, 1)


@pytest.mark.parametrize(
    "data",
    [
        [0.5, 0.5, 77.25],
        [0.5, math.nan, 77.25],
        [0.5, math.inf, 0.1],
        [1, 2**70, 0],
        ["1/2", "-3/7", 1],
        np.array([0, 1, -9]),
    ],
)
def test_bad_records_are_named_by_their_position_alone(data):
    q = dt.queries.query("median", records=3, low=0, high=1)
    bad = next(k for k, v in enumerate(data) if not 0 <= float(Fraction(v) if isinstance(v, str) else v) <= 1)
    for ask in (q.answer, q.local_sensitivity, q.smooth_sensitivity, lambda d: q.release(d, step="1/4", epsilon=1)):
        with pytest.raises(OutOfRangeError, match=f"position {bad} ") as told:
            ask(data)
        assert told.value.position == bad
        assert not any(text in str(told.value) for text in ("77", "nan", "inf", "118", "3/7", "-9"))


def test_a_wrong_number_of_records_and_two_dimensions():
    q = dt.queries.query("mean", records=3, low=0, high=1)
    with pytest.raises(TableInputError, match="2 records, and 3 were declared"):
        q.answer([0, 1])
    with pytest.raises(TableInputError, match="one column"):
        q.answer(np.zeros((3, 1)))


@pytest.mark.parametrize(
    ("given_", "error", "words"),
    [
        ({"name": "mode", "records": 3, "low": 0, "high": 1}, DiscreetError, "median"),
        ({"name": "median", "records": 0, "low": 0, "high": 1}, GridError, "records"),
        ({"name": "median", "records": 3, "low": 1, "high": 1}, GridError, "below"),
        ({"name": "median", "records": 3, "high": 1}, GridError, "range of one record"),
        ({"name": "quantile(2)", "records": 3, "low": 0, "high": 1}, DiscreetError, "from 0 to 1"),
        ({"name": "max", "p": "0.9", "records": 3, "low": 0, "high": 1}, DiscreetError, "quantile"),
        ({"name": "count", "records": 3, "low": 0, "high": 9}, GridError, "0 or 1"),
        ({"name": "mean", "records": 3, "low": 0, "high": 1, "relation": "presence"}, ReleaseError, "public"),
        (
            {"name": "median", "records": 3, "low": 0, "high": 10**400},
            GridError,
            "narrower range",
        ),  # no float could hold it
    ],
)
def test_queries_that_make_no_sense(given_, error, words):
    name = given_.pop("name")
    with pytest.raises(error, match=words):
        dt.queries.query(name, **given_)


@pytest.mark.parametrize(
    "parts",
    [
        ("median", 3, 0, 1),
        ("mean", 3.5, 0, 1),
        ("mean", "3", 0, 1),
        ("median", 3, 0, 1, 1.5),
        ("median", 3, 0, 1, 4),
        ("mean", 3, 1, 0),
        ("mean", 3, 0, math.inf),
        ("mean", 3, 0, math.nan),
        ("count", 3, 0, 2),
        (None, 3, 0, 1, 2),
        ("sum", 3, "9", "10e999"),
    ],
)
def test_parts_that_make_no_query_are_refused(parts):
    with pytest.raises(GridError, match="make one by its name"):
        dt.results.Query(*parts)
    assert dt.results.Query("median", 3, "9", "10", 2) == dt.queries.query("median", records=3, low=9, high=10)


def test_whole_sums_of_every_kind_of_record():
    """Units of 1/12, floats, and numbers beyond 64 bits, against Fractions."""
    for x in (
        [Fraction(k, 12) for k in range(-40, 41, 7)],
        [0.1, -2.5, 3.0],
        [2**70, Fraction(1, 3**50), -(2**61) - 1],
    ):
        low, high, exact = min(x) - 1, max(x) + Fraction(1, 5), list(map(Fraction, x))
        assert dt.queries.query("sum", records=len(x), low=low, high=high).answer(x)._value == sum(exact)
        q = dt.queries.query("median", records=len(x), low=low, high=high)
        placed = [Fraction(low), *sorted(exact), Fraction(high)]
        m = (len(x) + 1) // 2
        assert q.answer(x)._value == placed[m]
        assert q.local_sensitivity(x)._value == max(placed[m + 1] - placed[m], placed[m] - placed[m - 1])


def test_a_grid_for_a_mechanism():
    q = dt.queries.query("sum", records=10, low="-1/2", high=2)
    grid = q.grid("1/2")
    assert q.steps("1/2") == 5
    with pytest.raises(GridError, match="by its name"):
        dt.results.Query("median", 3, Fraction(0), Fraction(1), rank=4)
    assert (grid.low, grid.high) == (-5, 20)
    assert dt.geometric(grid, epsilon=1, sensitivity=q.global_sensitivity).sensitivity == 5
    with pytest.raises(LevelError, match="beta"):
        q.smooth_sensitivity([0] * 10, beta=0)


# Private numbers


def test_a_private_number_says_so_wherever_it_is_written():
    v = dt.queries.query("median", records=3, low=0, high=1).smooth_sensitivity([0.1, 0.5, 0.9])
    found = dt.queries.sensitivity("median", [0.1, 0.5, 0.9], low=0, high=1)
    texts = [
        str(v),
        repr(v),
        f"{v}",
        f"{v:.3f}",
        f"{v!r}",
        format(v, ">9"),
        v._repr_html_(),
        json.dumps(v.to_dict()),
        str([v]),
        str(found),
        found._repr_html_(),
        json.dumps(found.to_dict()),
        str(found.rows()),
    ]
    for text in texts:
        assert "do not publish" in text
    assert "0.4" not in repr(found)  # a title has no room for a warning, and so no private number
    assert float(v) == 0.4 and int(v) == 1  # noqa: PT018
    for use in (
        lambda: v + 1,
        lambda: 2 * v,
        lambda: v < 1,
        lambda: round(v),
        lambda: np.float64(2) * v,
        lambda: json.dumps(v),
        lambda: -v,
        lambda: sum([v]),
        lambda: v**2,
        lambda: abs(v),
    ):
        with pytest.raises(TypeError):
            use()
    with pytest.raises(DiscreetError, match="do not publish"):
        pickle.dumps(v)
    assert copy.deepcopy(v) is v
    assert v == dt.results.PrivateNumber(Fraction(0.4))
    assert hash(dt.results.PrivateNumber(Fraction(77))) != 77


def test_a_private_number_opens_upwards():
    third = dt.results.PrivateNumber(Fraction(1, 3))
    assert Fraction(float(third)) >= Fraction(1, 3) > Fraction(math.nextafter(float(third), 0))


# The calculator


def test_the_calculator_agrees_with_the_closed_forms():
    for name in ("median", "max", "mean"):
        q = dt.queries.query(name, records=3, low=0, high=4)
        found = dt.queries.sensitivity(ANSWERS[name], (0, 1, 4), domain=range(5), records=3, beta="ln 2")
        known = dt.queries.sensitivity(q, [0, 1, 4], beta="ln 2")
        assert found.global_sensitivity == known.global_sensitivity
        assert float(found.local) == float(known.local)
        assert float(found.smooth) == pytest.approx(float(known.smooth), rel=1e-15)
        one, other = found.pair
        assert sum(a != b for a, b in zip(one, other, strict=True)) == 1
        assert abs(ANSWERS[name](one) - ANSWERS[name](other)) == found.global_sensitivity
        assert found.data_sets == 125


def test_the_lecture_on_the_average_age():
    """ "What is the average age?", ages 0..120: with 100 records 6/5. Without a least number one record is a database."""
    assert dt.queries.sensitivity("mean", records=100, low=0, high=120).global_sensitivity == Fraction(6, 5)
    assert dt.queries.sensitivity("mean", records=1, low=0, high=120).global_sensitivity == 120
    small = dt.queries.sensitivity(lambda ages: Fraction(sum(ages), len(ages)), domain=[0, 60, 120], records=4)
    assert small.global_sensitivity == 30 == dt.queries.query("mean", records=4, low=0, high=120).global_sensitivity
    ill = dt.queries.sensitivity(lambda people: people.count("diabetic"), domain=["diabetic", "well"], records=5)
    assert ill.global_sensitivity == 1
    assert dt.queries.sensitivity(lambda x: all(x), domain=[False, True], records=3).global_sensitivity == 1


def test_the_calculator_refuses_in_a_sentence():
    with pytest.raises(SizeError, match="2\\^20"):
        dt.queries.sensitivity(max, domain=range(100), records=50)
    with pytest.raises(DiscreetError, match="no finite number"):
        dt.queries.sensitivity(lambda x: math.inf, domain=[0, 1], records=2)
    with pytest.raises(DiscreetError, match="ZeroDivisionError"):
        dt.queries.sensitivity(lambda x: 1 / sum(x), domain=[0, 1], records=2)
    with pytest.raises(DiscreetError, match="values that one record can have"):
        dt.queries.sensitivity(max, records=2)
    with pytest.raises(OutOfRangeError, match="position 1") as told:
        dt.queries.sensitivity(max, [0, 77], domain=[0, 1], records=2)
    assert "77" not in str(told.value)
    with pytest.raises(OutOfRangeError, match="position 0"):
        dt.queries.sensitivity(max, [[0], 1], domain=[0, 1], records=2)
    with pytest.raises(DiscreetError, match="list of 2 records"):
        dt.queries.sensitivity(max, 77, domain=[0, 1], records=2)
    with pytest.raises(DiscreetError, match="not both"):
        dt.queries.sensitivity("mean", records=2, low=0, high=1, beta=1, epsilon=1)
    with pytest.raises(GridError, match="number of records"):
        dt.queries.sensitivity("mean", low=0, high=1)


def test_a_function_of_floats_says_so_and_counts_the_records_that_are_given():
    found = dt.queries.sensitivity(np.var, [0, 1, 2], domain=[0, 1, 2])
    assert "global sensitivity ~0.888888889" in str(found)  # 8/9 between (0, 0, 0) and (2, 0, 0), up to float rounding
    assert abs(found.global_sensitivity - Fraction(8, 9)) < Fraction(1, 10**15)
    assert any("rounding of the function itself" in note for note in found.notes)
    assert any("The number of records, 3, was taken" in note for note in found.notes)
    assert dt.queries.sensitivity(max, domain=[0, 1], records=2).notes == ()


def test_the_next_move_is_one_that_can_be_made():
    q = dt.queries.query("mean", records=2, low=0, high=1)
    with pytest.raises(DiscreetError, match=r'use "cauchy" or "student\(3\)"'):
        q.release([0, 1], step="1/2", epsilon=1, distribution="laplace")
    with pytest.raises(OutOfRangeError, match="neither 0 nor 1") as refused:
        dt.queries.sensitivity("count", [0, 1, 7])
    assert (refused.value.position, "7" in str(vars(refused.value))) == (2, False)
    assert "widen" not in str(refused.value)
    with pytest.raises(GridError, match="low is missing"):
        dt.queries.query("mean", records=2)


@pytest.mark.parametrize(("n", "values"), [(2, (0, 3, 7)), (3, (-2, 0, 1, 5)), (4, (0, 1, 4)), (5, (0, 2))])
def test_the_global_sensitivity_of_variances_is_that_of_the_definition(n, values):
    """On all data sets: of the variance exactly, of the standard deviation rounded up; for more records it is smaller."""
    low, high = values[0], values[-1]
    variance, deviation = (
        dt.queries.query(name, records=n, low=low, high=high) for name in ("variance", "standard deviation")
    )
    found = {x: statistics.pvariance(map(Fraction, x)) for x in itertools.product(values, repeat=n)}
    ends = [(x, (*x[:k], v, *x[k + 1 :])) for x in found for k in range(n) for v in values]
    assert variance.global_sensitivity == max(abs(found[x] - found[y]) for x, y in ends)
    root = max(abs(math.sqrt(found[x]) - math.sqrt(found[y])) for x, y in ends)
    assert root * (1 - 1e-12) <= deviation.global_sensitivity <= root * (1 + 1e-12)
    assert variance.output == (0, max(found.values()))
    for x, exact in list(found.items())[:: max(1, len(found) // 20)]:
        assert variance.answer(x)._value == exact
        assert deviation.answer(x)._value >= Fraction(math.sqrt(exact) * (1 - 1e-15))
    more = dt.queries.query("variance", at_least=n, low=low, high=high)
    assert more.global_sensitivity == variance.global_sensitivity
    for q in (variance, deviation):
        for ask in (
            lambda q=q: q.local_sensitivity([low] * n),
            lambda q=q: q.smooth_sensitivity([low] * n),
            lambda q=q: dt.queries.sensitivity(q, [low] * n),
        ):
            with pytest.raises(DiscreetError, match="the global sensitivity alone is known"):
                ask()
        with pytest.raises(DiscreetError, match="no release with smooth sensitivity"):
            q.release([low] * n, step=1, epsilon=1)


def test_the_smooth_sensitivity_at_a_level_is_that_of_its_beta():
    q, data = dt.queries.query("median", records=5, low=0, high=100), [1, 2, 50, 70, 71]
    beta = dt.queries.admissible("cauchy", epsilon="1/2").beta
    assert float(q.smooth_sensitivity(data, epsilon="1/2")) == float(q.smooth_sensitivity(data, beta))
    assert float(q.smooth_sensitivity(data, epsilon="1/2")) != float(q.smooth_sensitivity(data))
    with pytest.raises(DiscreetError, match="not both"):
        q.smooth_sensitivity(data, 1, epsilon=1)
