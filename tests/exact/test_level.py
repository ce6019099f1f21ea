"""Levels: exact input, certified rounding, clear refusals."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import LevelError
from discreet.exact.arithmetic import show_above
from discreet.exact.level import Epsilon, Level, charged_above

SCALE = 2**62


def exp_minus(x: Fraction, digits: int = 60) -> Decimal:
    """e^-x by the decimal module, an independent implementation."""
    with localcontext() as context:
        context.prec = digits
        return (-(Decimal(x.numerator) / Decimal(x.denominator))).exp()


@pytest.mark.parametrize("given_as", ["9/10", "0.9", ".9", "9e-1", Fraction(9, 10), Decimal("0.9"), " 9 / 10 "])
def test_alpha_is_read_exactly(given_as):
    assert Level.of(alpha=given_as).alpha == Fraction(9, 10)


@pytest.mark.parametrize("x", [0.9, np.float64(0.9), np.float32(0.9), np.float16(0.9)])
def test_a_float_is_its_shortest_decimal(x):
    assert Level.of(alpha=x).alpha == Fraction(9, 10)


@pytest.mark.parametrize("text", ["0.5", "1/2", 0.5, Fraction(1, 2), Decimal("0.5"), np.float32(0.5)])
def test_epsilon_is_read_exactly(text):
    assert Level.of(epsilon=text).asked == Epsilon(Fraction(1, 2))


@pytest.mark.parametrize(
    ("text", "factor", "base"),
    [
        ("ln(2)/10", "1/10", 2),
        ("ln 2", "1", 2),
        ("ln2", "1", 2),
        ("10 ln 2", "10", 2),
        ("10*ln(2)", "10", 2),
        ("ln(2) * 3", "3", 2),
        ("3/2 ln(5)", "3/2", 5),
        ("ln(10/9)", "1", "10/9"),
        ("ln(1.5)/0.5", "2", "3/2"),
        (" ln( 2 ) / 10 ", "1/10", 2),
        ("-ln(1/2)", None, None),
    ],
)
def test_logarithms_are_read_symbolically(text, factor, base):
    if factor is None:
        with pytest.raises(LevelError):
            Level.of(epsilon=text)
        return
    assert Level.of(epsilon=text).asked == Epsilon(Fraction(factor), Fraction(base))


@given(st.fractions(Fraction(1, 10**9), 42, max_denominator=10**9))
def test_from_epsilon_alpha_is_the_smallest_dyadic_that_grants_it(epsilon):
    """k/2^62 >= e^-epsilon > (k-1)/2^62, against an independent exponential."""
    alpha = Level.of(epsilon=epsilon).alpha
    k = alpha * SCALE
    assert k.denominator == 1
    exact = exp_minus(epsilon) * SCALE
    assert Decimal(k.numerator) >= exact > Decimal(k.numerator - 1)


@pytest.mark.parametrize(("base", "root"), [(2, 1), (2, 10), (3, 1), (3, 7), (4, 2), (10, 3), (8, 3), (2**62, 1)])
def test_from_a_logarithm_alpha_is_the_smallest_dyadic_that_grants_it(base, root):
    """k/2^62 >= base^(-1/root) > (k-1)/2^62, decided by integer powers."""
    k = Level.of(epsilon=f"ln({base})/{root}").alpha * SCALE
    assert k**root * base >= SCALE**root > (k - 1) ** root * base


def test_logarithms_of_powers_of_two_are_exact():
    assert Level.of(epsilon="ln 2").alpha == Fraction(1, 2)
    assert Level.of(epsilon="ln(4)/2").alpha == Fraction(1, 2)
    assert Level.of(epsilon="3 ln 2").alpha == Fraction(1, 8)


@pytest.mark.parametrize("epsilon", [43, 44, "50", Fraction(621, 10), 100, 400, 1000, 2700])
def test_an_epsilon_beyond_62_bits_is_granted_as_closely(epsilon):
    """e^-epsilon <= alpha <= e^-epsilon (1 + 2^-62), against an independent exponential: no more noise than was asked."""
    alpha = Level.of(epsilon=epsilon).alpha
    truth = exp_minus(Fraction(epsilon), 2000)
    with localcontext() as context:
        context.prec = 2000
        granted = Decimal(alpha.numerator) / Decimal(alpha.denominator)
        assert truth <= granted <= truth * (1 + Decimal(2) ** -62)


def test_logarithms_beyond_62_bits_are_exact():
    assert Level.of(epsilon="62 ln 2").alpha == Fraction(1, SCALE)
    assert Level.of(epsilon="63 ln 2").alpha == Fraction(1, 2**63)
    assert Level.of(epsilon="1000 ln 2").alpha == Fraction(1, 2**1000)
    assert Level.of(epsilon="191/2 ln(4)").alpha == Fraction(1, 2**191)
    k = Level.of(epsilon="100 ln 3").alpha
    assert k >= Fraction(1, 3**100) > k * (1 - Fraction(1, 2**60))


@pytest.mark.parametrize("epsilon", [2701, "1e300", "1e99 ln 2", "1e999", 1e300])
def test_an_epsilon_that_hides_nothing_is_refused(epsilon):
    with pytest.raises(LevelError, match="above 2700"):
        Level.of(epsilon=epsilon)


@pytest.mark.parametrize(
    ("alpha", "steps"),
    [(Fraction(1, 2**200), 2), (Fraction(1, 3**150), 2), (Fraction(1, 10**300), 7), (Fraction(1, 11**36), 2)],
)
def test_a_step_below_62_bits_is_granted_as_closely(alpha, steps):
    beta = Level.of(alpha=alpha).per_step(steps)
    assert beta**steps >= alpha > (beta * (1 - Fraction(1, 2**60))) ** steps


@given(st.fractions(Fraction(1, 10**12), 1 - Fraction(1, 10**12)))
def test_the_float_epsilon_is_never_below_the_truth(alpha):
    epsilon = Level.of(alpha=alpha).epsilon
    with localcontext() as context:
        context.prec = 60
        truth = -(Decimal(alpha.numerator) / Decimal(alpha.denominator)).ln()
        assert Decimal(epsilon) >= truth
        assert Decimal(epsilon) <= truth * (1 + Decimal(2) ** -51)


@pytest.mark.parametrize(
    "bad",
    [
        {"alpha": 1},
        {"alpha": 0},
        {"alpha": -1},
        {"alpha": 2},
        {"alpha": "nine"},
        {"alpha": math.nan},
        {"alpha": True},
        {"alpha": math.inf},
        {"alpha": "9/0"},
        {"alpha": None},
        {"alpha": "1e99999999"},
        {"alpha": [0.5]},
        {"epsilon": 0},
        {"epsilon": -1},
        {"epsilon": math.nan},
        {"epsilon": math.inf},
        {"epsilon": "ln(1)"},
        {"epsilon": "ln(0)"},
        {"epsilon": "ln(2)/0"},
        {"epsilon": "log 2"},
        {"epsilon": ""},
        {"epsilon": 2.0**-61},
        {"epsilon": "ln(2)/9999999999999999999"},
        {"epsilon": "ln(2)/10/3"},
        {"epsilon": "3*ln(2)/4/2"},
        {"epsilon": Decimal("1e-999999999")},
        {"epsilon": 10**5000},
        {"alpha": Decimal("1e-99999999")},
        {"epsilon": "__import__('os')"},
        {"epsilon": Decimal("sNaN")},
        {"alpha": 0.5, "epsilon": 1},
        {},
        {"alpha": "0." + "9" * 2000},
    ],
)
def test_bad_levels_are_refused_with_a_good_example(bad):
    with pytest.raises(LevelError) as caught:
        Level.of(**bad)
    assert "alpha=" in str(caught.value) or "epsilon=" in str(caught.value) or "1e-6" in str(caught.value)


@pytest.mark.parametrize("pair", [(1, 1e-6), "1, 1e-6", "(1, 1e-6)"])
def test_there_is_no_delta(pair):
    with pytest.raises(LevelError, match="no delta"):
        Level.of(epsilon=pair)


def test_the_message_names_the_value_and_the_error_carries_it():
    with pytest.raises(LevelError, match=r"1\.5") as caught:
        Level.of(alpha=1.5)
    assert caught.value.value == 1.5


def test_the_smallest_epsilon_is_accepted():
    assert Level.of(epsilon=Fraction(1, 2**60)).alpha < 1


@given(st.fractions(Fraction(1, 100), Fraction(99, 100), max_denominator=1000), st.integers(1, 40))
def test_the_step_level_is_the_smallest_dyadic_whose_power_keeps_the_level(alpha, k):
    beta = Level.of(alpha=alpha).per_step(k)
    if k == 1:
        assert beta == alpha
        return
    assert (beta * SCALE).denominator == 1
    assert beta**k >= alpha > (beta - Fraction(1, SCALE)) ** k


def test_a_sensitivity_too_large_for_the_level_is_refused():
    with pytest.raises(LevelError, match="coarser grid"):
        Level.of(alpha="0.999999").per_step(10**14)


@given(st.fractions(Fraction(1, 10), 3, max_denominator=50), st.integers(-2, 2))
def test_admits_decides_on_the_exact_side(epsilon, offset):
    """Alphas one dyadic step around e^-epsilon: admitted exactly when at or above it."""
    k = Level.of(epsilon=epsilon).alpha * SCALE + offset
    assert Epsilon(epsilon).admits(k / SCALE) == (Decimal(k.numerator) >= exp_minus(epsilon) * SCALE)


@pytest.mark.parametrize("digits", [100, 330, 700, 1200])
@pytest.mark.parametrize("epsilon", ["1", "1/3", "7/2"])
def test_admits_decides_however_near_it_is(epsilon, digits):
    """Alphas as near to e^-epsilon as `digits` digits: 300 and more lie beyond the first four precisions (1024 bits)."""
    truth = exp_minus(Fraction(epsilon), digits + 50)
    with localcontext() as context:
        context.prec = digits + 60
        below = Fraction(int(truth * Decimal(10) ** digits), 10**digits)
    above = below + Fraction(1, 10**digits)
    asked = Epsilon(Fraction(epsilon))
    assert asked.admits(above)
    assert not asked.admits(below)
    halved = Epsilon(Fraction(epsilon) * 2)
    assert halved.admits(above, power=2)
    assert not halved.admits(below, power=2)


@pytest.mark.parametrize("digits", [20, 200, 400, 900])
def test_admits_decides_next_to_a_logarithm(digits):
    """epsilon = ln(base) and alpha nearly 1/base: equal, a little above, a little below."""
    asked, apart = Epsilon(Fraction(1), Fraction(10, 9)), Fraction(1, 10**digits)
    assert asked.admits(Fraction(9, 10))
    assert asked.admits(Fraction(9, 10) + apart)
    assert not asked.admits(Fraction(9, 10) - apart)


def test_admits_knows_equality():
    """9/10 is exactly e^-ln(10/9): no rounding of the epsilon may refuse it."""
    asked = Level.of(epsilon="ln(10/9)")
    assert asked.admits(Fraction(9, 10))
    assert not asked.admits(Fraction(9, 10) - Fraction(1, 10**40))
    assert Level.of(epsilon="10 ln(10/9)").admits(Fraction(9, 10), power=10)
    assert not Level.of(epsilon="10 ln(10/9)").admits(Fraction(9, 10), power=11)


def test_a_level_weaker_than_its_label_cannot_be_made():
    good = Level.of(epsilon=1)
    with pytest.raises(LevelError, match="weaker"):
        Level(good.alpha - Fraction(1, SCALE), good.asked)


@given(st.floats(1e-12, 1e3))
def test_a_printed_epsilon_is_never_below_the_truth(x):
    printed = Fraction(show_above(x))
    assert Fraction(repr(x)) <= printed <= Fraction(x) * (1 + Fraction(1, 10**5))
    assert show_above(0.1) == "0.1"
    assert show_above(math.log(2)) == "0.693148"


def test_the_logarithm_of_a_number_next_to_one_is_read():
    """5 10^150 ln(1 + 10^-149) is 50: its float was taken with fewer bits than the logarithm cancels."""
    level = Level.of(epsilon="5e150 ln(1." + "0" * 148 + "1)")
    assert level.epsilon == pytest.approx(50, rel=1e-12)
    assert float(level.asked) == pytest.approx(50, rel=1e-12)


def test_a_level_has_a_short_repr():
    assert repr(Level.of(alpha="1/2")) == "<Level alpha 1/2, epsilon <= 0.693148>"
    assert repr(Level.of(epsilon="1/2")) == "<Level alpha ~0.60653066, epsilon <= 0.5, asked as epsilon 1/2>"


def test_a_measured_level_admits_powers_by_the_exact_comparison():
    """Without an epsilon that was asked: alpha^power against the level's own rational, also where it has no root."""
    quarter, third, tiny = Level.of(alpha="1/4"), Level.of(alpha="1/3"), Fraction(1, 10**30)
    assert quarter.admits(Fraction(1, 4))
    assert not quarter.admits(Fraction(1, 4) - tiny)
    assert quarter.admits(Fraction(1, 2), power=2)
    assert quarter.admits(Fraction(1, 2) + tiny, power=2)
    assert not quarter.admits(Fraction(1, 2) - tiny, power=2)
    assert not quarter.admits(Fraction(1, 2), power=3)
    root = Fraction(57735026918962576450914878050, 10**29)  # of 1/3, rounded down
    assert root**2 < Fraction(1, 3) < (root + Fraction(1, 10**29)) ** 2
    assert third.admits(root + Fraction(1, 10**29), power=2)
    assert not third.admits(root, power=2)


@pytest.mark.parametrize("power", [1, 2, 7])
def test_the_ends_of_a_measured_level(power):
    """0 is no privacy at all, which everything keeps; 1 is a report that ignores the truth, which only that keeps."""
    none, half, all_of_it = (Level(Fraction(x)) for x in ("0", "1/2", "1"))
    values = [Fraction(0), Fraction(1, 3), Fraction(1)]
    assert [none.admits(x, power) for x in values] == [True, True, True]
    assert [half.admits(x, power) for x in values] == [False, False, True]
    assert [all_of_it.admits(x, power) for x in values] == [False, False, True]


def test_an_epsilon_of_nothing_and_one_below_it():
    values = [Fraction(0), Fraction(1, 2), Fraction(1)]
    assert [Epsilon(Fraction(0)).admits(x) for x in values] == [False, False, True]
    assert [Epsilon(Fraction(-1)).admits(x) for x in values] == [False, False, False]
    assert [Epsilon(Fraction(1)).admits(x) for x in values] == [False, True, True]


@pytest.mark.parametrize(
    ("text", "epsilon"),
    [
        ("-1 ln(1/2)", Epsilon(Fraction(1), Fraction(2))),
        ("-3/2 ln(2/5)", Epsilon(Fraction(3, 2), Fraction(5, 2))),
        ("ln(1/2)", Epsilon(Fraction(-1), Fraction(2))),
        ("7 ln(1)", Epsilon(Fraction(0))),
        ("3 ln(0)", None),
        ("ln(2)/0", None),
        ("2 * ln(3) * 5", Epsilon(Fraction(10), Fraction(3))),
        ("ln(x)", None),
        ("1/0 ln(2)", None),
        ("1/0 ln(x)", None),
        ("ln(-2)", None),
        (f"ln({'0' * 194}2)", Epsilon(Fraction(1), Fraction(2))),  # 199 letters; more are not looked at
        (f"ln({'0' * 195}2)", None),
    ],
)
def test_a_logarithm_of_less_than_one_turns_its_sign(text, epsilon):
    assert Epsilon.parse(text) == epsilon


@pytest.mark.parametrize(
    ("epsilon", "text"),
    [
        (Epsilon(Fraction(1), Fraction(2)), "ln(2)"),
        (Epsilon(Fraction(1, 10), Fraction(2)), "ln(2)/10"),
        (Epsilon(Fraction(3), Fraction(5)), "3 ln(5)"),
        (Epsilon(Fraction(3, 2), Fraction(10, 9)), "3 ln(10/9)/2"),
        (Epsilon(Fraction(1, 3)), "1/3"),
        (Epsilon(Fraction(2)), "2"),
        (Epsilon(Fraction(0.1)), "3602879701896397/36028797018963968"),  # no decimal of 17 digits is it
        (Epsilon(Fraction(1, 2**19)), "1/524288"),
        (Epsilon(Fraction(1, 10**6)), "1/1000000"),
        (Epsilon(Fraction(1, 2**20)), "9.5367431640625e-07"),
        (Epsilon(Fraction(1, 10**7)), "1e-07"),
        (Epsilon(Fraction(1, 10**7 + 1)), "1/10000001"),
    ],
)
def test_an_epsilon_is_written_as_it_was_asked(epsilon, text):
    assert str(epsilon) == text
    assert Epsilon.parse(text) == epsilon


def test_the_charge_is_the_epsilon_asked_or_rounded_up_to_a_millionth_of_a_millionth():
    assert Level.of(epsilon="1/3").charge == Fraction(1, 3)
    ln_2 = Fraction("0.693147180559945309417")
    for level in (Level.of(epsilon="ln(2)"), Level.of(alpha="1/2")):
        assert ln_2 < level.charge <= ln_2 + Fraction(1, 10**12)
        assert (level.charge * 10**12).denominator == 1
    assert charged_above(0.5) == Fraction(1, 2)


def test_a_part_of_a_level():
    level = Level.of(alpha="1/4")
    assert level.power(Fraction(1)) == Fraction(1, 4)
    assert level.power(Fraction(1, 2)) == Fraction(1, 2)
    third = level.power(Fraction(1, 3))
    assert third**3 >= Fraction(1, 4) > (third - Fraction(1, SCALE)) ** 3
    assert (third * SCALE).denominator == 1
    asked = Level.of(epsilon=1)  # its numerator and denominator are both long
    most = asked.power(Fraction(2, 3))
    assert (most * SCALE).denominator == 1
    assert most**3 >= asked.alpha**2 > (most - Fraction(1, SCALE)) ** 3


def test_a_level_says_what_was_asked():
    assert str(Level.of(epsilon="1/2")) == "epsilon 1/2"
    assert str(Level.of(epsilon="ln(2)")) == "epsilon ln(2) (epsilon <= 0.693148)"
    assert str(Level.of(alpha="1/2")) == "alpha 1/2 (epsilon <= 0.693148)"


@pytest.mark.parametrize("digits", [400, 900])
def test_admits_decides_next_to_a_power_that_is_no_rational(digits):
    """Too near for the first precisions, and with exponents too long for any equality: neither may be taken for one."""
    with localcontext() as context:
        context.prec = digits + 60
        root = Fraction(int(Decimal(2) ** (Decimal(-1) / 7) * Decimal(10) ** digits), 10**digits)
    power = Fraction(10**digits * 1000**2000 // 1001**2000, 10**digits)
    assert root**7 * 2 < 1 < (root + Fraction(1, 10**digits)) ** 7 * 2
    for asked, below in (
        (Epsilon(Fraction(1, 7), Fraction(2)), root),
        (Epsilon(Fraction(2000), Fraction(1001, 1000)), power),
    ):
        assert not asked.admits(below)
        assert asked.admits(below + Fraction(1, 10**digits))


def test_a_level_in_place_of_a_number_stays_as_it_is():
    asked = Level.of(epsilon="1/2")
    for again in (Level.of(alpha=asked), Level.of(epsilon=asked)):
        assert again is asked
    for measured in (Level(Fraction(0)), Level(Fraction(1))):
        for given_as in ("alpha", "epsilon"):
            with pytest.raises(LevelError, match=r"outside \(0, 1\)"):
                Level.of(**{given_as: measured})


@pytest.mark.parametrize(
    "epsilon",
    [
        Epsilon(Fraction(1), 1 + Fraction(1, 10**2000)),
        Epsilon(1 + Fraction(1, 10**2000), Fraction(2)),
        Epsilon(1 + Fraction(1, 10**2000)),
    ],
    ids=["a long base", "a long factor", "a long number"],
)
def test_an_epsilon_of_a_thousand_digits_is_refused_wherever_they_are(epsilon):
    with pytest.raises(LevelError, match="more than a thousand digits"):
        Level.of(epsilon=epsilon)


def test_the_longest_numbers_that_are_read():
    """Denominators of 4096 bits are read, of 4097 they are not; what is not positive is told so."""
    longest = Fraction(1, 2**4095)
    assert Level.of(alpha=longest).alpha == longest
    assert Level.of(epsilon=1 + longest).asked == Epsilon(1 + longest)
    assert Level.of(epsilon=Epsilon(Fraction(1), 2 + longest)).asked.base == 2 + longest
    for given_as in ({"alpha": longest / 2}, {"epsilon": 1 + longest / 2}):
        with pytest.raises(LevelError, match="more than a thousand digits"):
            Level.of(**given_as)
    for none in (0, -1, "ln(1)", "-1 ln(2)"):
        with pytest.raises(LevelError, match="must be positive"):
            Level.of(epsilon=none)
