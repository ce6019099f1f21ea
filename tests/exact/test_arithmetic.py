"""Exact numbers: what people write, what data hold, and certified bounds that end."""

from __future__ import annotations

import math
import os
import signal
import sys
import threading
import warnings
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import flint
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dt
from discreet.exact import arithmetic
from discreet.exact.given import matrix, vector
from discreet.exact.level import Epsilon, Level
from discreet.measure.loss import loss_of
from discreet.measure.prior import prior_of
from tests.profiles import examples


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("0.1", Fraction(1, 10)),
        (" 3 / 4 ", Fraction(3, 4)),
        ("-1e-3", Fraction(-1, 1000)),
        (0.1, Fraction(1, 10)),
        (np.float64(0.1), Fraction(1, 10)),
        (np.float32(0.1), Fraction(1, 10)),
        (np.float16(0.1), Fraction(1, 10)),
        (np.longdouble("0.1"), Fraction(1, 10)),
        (0.1 + 0.2, Fraction(30000000000000004, 10**17)),
        (-2.5e-7, Fraction(-1, 4 * 10**6)),
        (1e23, Fraction(10**23)),
        (np.float32("inf"), None),
        (np.float16("nan"), None),
        (Decimal("0.10"), Fraction(1, 10)),
        (7, Fraction(7)),
        (True, None),
        ("1/0", None),
        ("", None),
        (math.nan, None),
        (math.inf, None),
        (None, None),
        ("0x10", None),
        ("1" * 401, None),
        (10**5000, None),
        (Decimal("1e999999999"), None),
        (Decimal("NaN"), None),
        (1j, None),
        (np.timedelta64(5, "ns"), None),
        (np.datetime64(5, "ns"), None),
        (Decimal("0e999999"), Fraction(0)),
    ],
    ids=lambda x: type(x).__name__,
)
def test_numbers_that_people_write(value, expected):
    assert arithmetic.parse_exact(value) == expected
    if not isinstance(value, (float, np.floating)):
        assert arithmetic.parse_entry(value) == expected


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_parameter_is_its_shortest_decimal_and_an_entry_its_binary_value(x):
    assert arithmetic.parse_exact(x) == Fraction(repr(x))
    assert arithmetic.parse_entry(x) == arithmetic.parse_value(x) == Fraction(x)
    narrow = np.float32(min(max(x, -3e38), 3e38))
    read = arithmetic.parse_exact(narrow)
    assert np.float32(str(Decimal(read.numerator) / Decimal(read.denominator))) == narrow
    assert arithmetic.parse_entry(narrow) == Fraction(float(narrow))


def test_arrays_data_and_functions_are_read_by_their_binary_values():
    tenth = Fraction(0.1)
    assert tenth != Fraction(1, 10)
    assert Fraction(vector([0.1, 0.2], "The list")[0]) == tenth
    assert Fraction(matrix(np.array([[0.1]]), "The matrix")[0][0]) == tenth
    assert matrix([[np.float32(0.1)]], "The matrix")[0][0] == Fraction(float(np.float32(0.1)))
    prior = prior_of([0.1, 0.2, 0.7], dt.Grid(0, 2))
    assert Fraction(prior.weights[0], prior.total) == tenth / (Fraction(0.1) + Fraction(0.2) + Fraction(0.7))
    loss = loss_of(lambda truth, report: 0.1 * (truth != report), dt.Grid(0, 1), dt.Grid(0, 1))
    assert Fraction(int(loss.numerators[0][1]), loss.denominator) == tenth
    # a true value on the edge between two values of the grid: 0.15 lies below 3/20, so it is rounded down
    assert Fraction(0.15) < Fraction(3, 20)
    assert dt.Grid(0, 1, 0.1).position(0.15) == 1
    assert dt.Grid(0, 1, 0.1).position("0.15") == 2


def test_parameters_are_read_by_their_shortest_decimals():
    assert dt.Grid(0, 0.7, 0.1) == dt.Grid(0, "7/10", "1/10")
    assert dt.geometric(5, alpha=0.1).alpha == Fraction(1, 10)
    assert dt.geometric(5, epsilon=np.float32(0.1)) == dt.geometric(5, epsilon="1/10")
    assert str(dt.Level.of(epsilon=0.1)) == "epsilon 1/10"
    grid = dt.Grid(0, 1, 0.1)
    assert grid.steps(0.3) == 3
    assert grid.place(0.3) == 3
    assert dt.Neighbours.of({(0.1, 0.2): 0.1}, grid).links == ((Fraction(1, 10), Fraction(1, 5), Fraction(1, 10)),)
    assert dt.Neighbours.of([(0.1, 0.3)], grid) == dt.Neighbours.of([("1/10", "3/10")], grid)
    by_floats, by_texts = (
        dt.queries.rounded(grid, cells, alpha="1/2", sensitivity="0.1") for cells in ([0, 0.3, 1], ["0", "3/10", "1"])
    )
    assert by_floats == by_texts


def test_a_budget_of_three_tenths_serves_three_charges_of_a_tenth(tmp_path):
    ledger = dt.Ledger(tmp_path / "ledger.db")
    ledger.create("town", budget=0.3, relation="add-remove")
    for year in (2021, 2022, 2023):
        ledger["town"].charge(epsilon=0.1, what=f"a histogram of {year}")
    assert ledger["town"].balance().left == 0
    assert "/" not in str(ledger["town"].balance()).replace("3/10", "")
    with pytest.raises(dt.errors.BudgetError):
        ledger["town"].charge(epsilon=1e-9, what="one more")


@given(st.fractions(Fraction(1, 10**6), Fraction(10**6 - 1, 10**6), max_denominator=10**6))
def test_the_epsilon_of_a_level_can_be_asked_for(alpha):
    """Read back as a parameter, by its shortest decimal, the epsilon that is shown is still not below the truth."""
    level = Level(alpha)
    assert Level.of(epsilon=level.epsilon).admits(alpha)
    assert not Level.of(epsilon=level.epsilon * (1 - 1e-13)).admits(alpha)


@given(st.integers(1, 60), st.integers(1, 300), st.integers(1, 300), st.integers(1, 70))
def test_a_power_that_is_a_multiple_is_found_and_not_waited_for(j, p, q, bits):
    """(2^-jq)^(p/q) = 2^-jp: a multiple of 2^-bits exactly if jp <= bits, and then the answer; else one step is."""
    found = arithmetic.dyadic_power_above(Fraction(1, 2 ** (j * q)), Fraction(p, q), bits)
    assert found == (Fraction(1, 2 ** (j * p)) if j * p <= bits else Fraction(1, 2**bits))


@settings(max_examples=examples(200))
@given(
    st.fractions(Fraction(1, 10**6), 1 - Fraction(1, 10**6), max_denominator=10**6),
    st.integers(1, 12),
    st.integers(1, 12),
    st.integers(1, 80),
)
def test_a_power_is_rounded_up_to_the_next_multiple(alpha, p, q, bits):
    """k 2^-bits >= alpha^(p/q) > (k-1) 2^-bits, decided by integer powers."""
    exponent = Fraction(p, q)
    p, q = exponent.numerator, exponent.denominator
    k = arithmetic.dyadic_power_above(alpha, exponent, bits) * 2**bits
    assert k.denominator == 1
    assert (k / 2**bits) ** q >= alpha**p > (Fraction(k - 1) / 2**bits) ** q


@given(st.fractions(Fraction(1, 50), Fraction(49, 50), max_denominator=50), st.integers(1, 9), st.integers(1, 9))
def test_perfect_powers_are_decided_in_integers(root, p, q):
    """alpha = root^q: its power p/q is root^p, rational, and a ball alone would never tell it from a multiple."""
    found = arithmetic.dyadic_power_above(root**q, Fraction(p, q), 62)
    assert found == Fraction(math.ceil(root**p * 2**62), 2**62)


def test_a_number_that_is_an_integer_is_not_waited_for():
    """sqrt(2)^2 is 2 but no ball says so; a bound on the precision does."""
    assert arithmetic.certified_ceil(lambda: flint.arb(2).sqrt()) == 2
    with pytest.raises(ArithmeticError, match="integer"):
        arithmetic.certified_ceil(lambda: flint.arb(2).sqrt() ** 2)


@pytest.mark.parametrize(("bits", "part"), [(191, 44), (191, 45), (200, 31), (64, 3), (997, 44)])
def test_a_tight_level_that_is_a_power_of_two_is_found(bits, part):
    """At the distance bits/part the level 2^-bits is 2^-part a unit: exactly, where it took for ever."""
    m = dt.geometric(1, alpha=Fraction(1, 2**bits))
    distance = Fraction(bits, part)
    verdict = dt.check_privacy(m, alpha=Fraction(1, 2**part), neighbours=[[0, distance], [distance, 0]])
    assert verdict.holds
    assert verdict.tight == Fraction(1, 2**part)
    assert verdict.exact
    stronger = dt.check_privacy(
        m, alpha=Fraction(1, 2**part) + Fraction(1, 2**99), neighbours=[[0, distance], [distance, 0]]
    )
    assert not stronger.holds


@pytest.mark.parametrize("power", [60, 500, 1020, 1023, 1074, 1100, 4000])
def test_levels_next_to_one_can_be_drawn_from(power):
    """alpha = 1 - 2^-power: noise so wide that it saturates; 65 over its epsilon is no float."""
    alpha = 1 - Fraction(1, 2**power)
    for grid in (10, dt.Grid(0, None), dt.Grid(None, None)):
        m = dt.geometric(grid, alpha=alpha)
        reports = m.sample(np.full(64, 5), source=dt.insecure_source(1))
        assert len(set(reports.tolist())) <= (11 if power >= 500 else 64)
        assert isinstance(m.sample(5), int)
        assert Fraction(m.epsilon) >= Fraction(1, 2**power)
        assert repr(m)
    ends = dt.geometric(10, alpha=alpha).sample(np.full(2000, 5), source=dt.insecure_source(2))
    assert set(ends.tolist()) == {0, 10}  # with probability 1 - 2^-57 each


def _work(k: int) -> tuple[object, ...]:
    alpha = Level.of(epsilon=Fraction(k + 1, 7)).alpha
    root = Level(alpha).per_step(k % 5 + 2)
    m = dt.geometric(2**20, alpha=1 - Fraction(1, 10**4 + k))
    drawn = m.sample(3, source=dt.insecure_source(k))
    return alpha, root, Epsilon(Fraction(k + 1, 7)).admits(alpha), drawn, dt.explicit_fair(4, epsilon=k + 1).recipe


@pytest.mark.long
def test_threads_do_not_disturb_each_others_precision():
    """Balls of several threads at once, at precisions that differ: the same numbers as one after the other."""
    expected = [_work(k) for k in range(24)]
    wrong: list[object] = []
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)

    def loop(first: int) -> None:
        try:
            for k in range(first, first + 24):
                if _work(k % 24) != expected[k % 24]:
                    wrong.append(k)
        except Exception as error:  # whatever it is, it must not happen
            wrong.append(error)

    before = flint.ctx.prec
    threads = [threading.Thread(target=loop, args=(6 * t,)) for t in range(4)]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert not wrong
    assert flint.ctx.prec == before  # nobody's precision is left behind


def test_another_threads_precision_is_never_seen():
    """The stress test's accident, made certain: one thread in the middle of its balls while another begins its own."""
    before, seen = flint.ctx.prec, []
    begun, finish = threading.Event(), threading.Event()

    def wait() -> flint.arb:
        begun.set()
        finish.wait(60)
        return flint.arb(1)

    other = threading.Thread(target=lambda: arithmetic.certified_sign(wait))  # at 128 bits

    def compute() -> flint.arb:
        other.start()
        begun.wait(0.3)  # long enough for one that does not wait for its turn
        seen.append(flint.ctx.prec)
        return flint.arb(1)

    arithmetic.float_above(compute)  # at 256 bits
    finish.set()
    other.join()
    assert seen == [256]
    assert flint.ctx.prec == before


def test_one_thread_at_a_time_sets_the_precision():
    """The turn, without luck: while one thread computes, another waits; the same thread may nest."""
    seen: list[int] = []
    with arithmetic.precision(300):
        other = threading.Thread(
            target=lambda: arithmetic.certified_sign(lambda: (seen.append(flint.ctx.prec), flint.arb(1))[1])
        )
        other.start()
        other.join(0.2)
        assert not seen
        assert flint.ctx.prec == 300
        with arithmetic.precision(400):
            assert flint.ctx.prec == 400
        assert flint.ctx.prec == 300
    other.join()
    assert seen == [128]


def test_a_forked_child_does_not_wait_for_a_thread_it_does_not_have():
    if not hasattr(os, "fork"):
        pytest.skip("no fork here")
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with arithmetic.precision(200):
            held.set()
            done.wait(60)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait(60)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        child = os.fork()
    if child == 0:
        signal.alarm(20)  # a child that waits for ever is ended, and fails
        os._exit(0 if arithmetic.certified_sign(lambda: flint.arb(1)) == 1 else 1)
    done.set()
    thread.join()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_nobody_sets_flints_precision_elsewhere():
    rooms = [
        p
        for p in Path(dt.__file__).parent.rglob("*.py")
        if "ctx" in p.read_text(encoding="utf-8") and p.name != "arithmetic.py"
    ]
    assert [p.name for p in rooms if "flint.ctx" in p.read_text(encoding="utf-8")] == []


def test_a_level_too_small_for_a_float_is_not_shown_as_none():
    assert arithmetic.show_rational(Fraction(1, 2**3000)) == "~2^-3000"
    assert "~0" not in repr(dt.geometric(3, epsilon=2000))
    assert arithmetic.show_rational(Fraction(0)) == "0"
