"""Concentrated privacy: rho as a short rational, never below the truth, and what it is worth in epsilon and delta.

zCDP (Bun and Steinke 2016): between neighbours the Renyi divergence of every order a > 1 is at most a rho. Rhos add up, also
those of releases that were chosen adaptively (Feldman and Zrnic 2021).

    of_level(level)            the rho of a pure level: epsilon tanh(epsilon/2)
    of_weights(q, steps)       the rho of the discrete Gaussian with weights q^(x^2): steps^2 ln(1/q)
    weights_for(rho, steps)    a short q that keeps a rho
    for_error(error, steps)    the rho at which the discrete Gaussian has this standard error
    keeps(q, power, rho)       is q^power >= e^-rho? Decided exactly
    epsilon_above, delta_above what rho gives with a delta, or with an epsilon
    largest(epsilon, delta)    the largest rho that gives both

All rest on balls that certainly contain the number; a float only guides the search. docs/theory/gaussian.md has the proofs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import flint

from ..errors import LevelError
from . import given
from .arithmetic import ball, float_above, precision
from .level import Epsilon, Level

DIGITS = 12  # of a rho that is rounded
_SHORT = 1000  # a rational with a denominator up to this is as short as twelve digits
_FINE = Fraction(1, 2**45)  # a q is found for a rho up to this part of it
_WIDEST = 2**30  # steps: standard errors beyond are refused, since draws add 64-bit numbers
_NARROWEST = Fraction(1, 10**6)
_LEAST_RHO = Fraction(1, 2**62)
MOST_RHO = Fraction(2700)  # so that q stays below 4096 bits, as alpha does

Ball = Callable[[], flint.arb]


def read_rho(value: object, name: str = "rho") -> Fraction:
    """A rho that somebody gave, exactly."""
    wanted = f"be a number from 2^-62 to {MOST_RHO}: the Renyi divergence of order a is at most a times {name}"
    return given.number(value, name, wanted, lambda x: _LEAST_RHO <= x <= MOST_RHO, example="1/10", error=LevelError)


def read_delta(value: object, name: str = "delta") -> Fraction:
    """A delta that somebody gave, exactly."""
    what = "every event is at most e^epsilon times as likely, plus delta"
    return given.share(value, name, what, example="1e-9", error=LevelError)


def short_above(value: Ball, bits: int = 256) -> Fraction:
    """A short rational at least a positive number and at most a part of 10^-11 above it.

    One with a denominator up to 1000 where there is one so near; else the number rounded up to twelve digits.
    """
    with precision(bits):
        return _rounded_up(_ends(value())[1])


def _rounded_up(number: Fraction) -> Fraction:
    simple = simplest(number, number * (1 + Fraction(1, 10**DIGITS)))
    return simple if simple.denominator <= _SHORT else -(-number // _unit(number)) * _unit(number)


def _unit(size: Fraction) -> Fraction:
    """One of the last of twelve digits of a number of this size; never more than 1e-12, so that sums stay short."""
    return Fraction(10) ** min(
        math.floor(math.log10(size.numerator) - math.log10(size.denominator)) - DIGITS + 1, -DIGITS
    )


def _ends(x: flint.arb) -> tuple[Fraction, Fraction]:
    """Rationals certainly not above and not below the number in a ball."""
    return _rational(x.lower()), _rational(x.upper())


def rational_above(x: flint.arb, bits: int = 64) -> Fraction:
    """A rational of so many bits, certainly not below the positive number in a ball."""
    number = _rational(x.upper())
    unit = Fraction(2) ** (number.numerator.bit_length() - number.denominator.bit_length() - bits)
    return -(-number // unit) * unit


def rational_below(x: flint.arb) -> Fraction:
    """A rational certainly not above the number in a ball."""
    return _rational(x.lower())


def rational_near(x: flint.arb) -> Fraction:
    """The middle of a ball."""
    return _rational(x.mid())


def _rational(x: flint.arb) -> Fraction:
    mantissa, exponent = (int(part) for part in x.man_exp())
    return Fraction(mantissa) * Fraction(2) ** exponent


def simplest(low: Fraction, high: Fraction) -> Fraction:
    """The rational of the smallest denominator in [low, high], 0 <= low <= high (Stern and Brocot).

    >>> simplest(Fraction(314, 100), Fraction(315, 100))
    Fraction(22, 7)
    """
    before, last = (0, 1), (1, 0)  # numerator and denominator of the two last convergents
    while True:
        whole = -(-low.numerator // low.denominator)
        if whole <= high:  # an integer lies between
            top, bottom = (whole * b + a for a, b in zip(before, last, strict=True))
            return Fraction(top, bottom)
        whole -= 1
        before, last = last, (whole * last[0] + before[0], whole * last[1] + before[1])
        low, high = 1 / (high - whole), 1 / (low - whole)


def of_level(level: Level) -> Fraction:
    """The rho of a pure level, a short rational never below epsilon tanh(epsilon/2).

    No mechanism of the level has more, and randomised response has as much (docs/theory/gaussian.md). With
    alpha = e^-epsilon it is -ln(alpha) (1-alpha)/(1+alpha).

    >>> float(of_level(Level.of(epsilon=1)))
    0.462117157261
    """
    alpha = level.alpha
    if alpha == 0:
        raise LevelError("A level of alpha = 0 claims no privacy, so it has no rho.", value=alpha)
    if alpha == 1:
        return Fraction(0)
    share = (1 - alpha) / (1 + alpha)
    return short_above(lambda: -ball(alpha).log() * ball(share), 256 + 2 * alpha.denominator.bit_length())


def of_weights(q: Fraction, steps: int = 1) -> Fraction:
    """The rho of the discrete Gaussian with weights q^(x^2) between true values at most so many steps apart.

    steps^2 ln(1/q) (Canonne, Kamath and Steinke 2020), as a short rational never below it.

    >>> float(of_weights(Fraction(99, 100)))
    0.0100503358536
    """
    return of_power(q, steps**2)


def of_power(q: Fraction, power: int) -> Fraction:
    """power ln(1/q), as a short rational never below it."""
    return short_above(lambda: -ball(q).log() * power, 256 + q.denominator.bit_length())


def keeps(q: Fraction, power: int, rho: Fraction) -> bool:
    """Is q^power >= e^-rho? Decided exactly, for 0 < q < 1."""
    return Epsilon(rho).admits(q, power)


def weights_for(rho: Fraction, steps: int = 1) -> Fraction:
    """A short q with q^(steps^2) >= e^-rho: the simplest rational that gives away less than a part of 10^-13 of rho.

    >>> q = weights_for(Fraction(1, 10))
    >>> q, keeps(q, 1, Fraction(1, 10)), of_weights(q)
    (Fraction(15977801, 17658201), True, Fraction(1, 10))
    """
    each = rho / steps**2
    if 2 * _WIDEST**2 * each < 1:
        raise LevelError(
            f"At rho = {float(rho):.3g} for a sensitivity of {steps} steps the noise would be wider than 2^30 steps; use a "
            "coarser grid, a smaller sensitivity or a larger rho.",
            value=rho,
        )
    with precision(256 + each.denominator.bit_length()):
        least = _ends((-ball(each)).exp())[1]
        most = _ends((-ball(each * (1 - _FINE))).exp())[0]
    return simplest(least, most)


def weights_of(*, rho: object, q: object, standard_error: object, steps: int, step: Fraction = Fraction(1)) -> Fraction:
    """The q of a discrete Gaussian that was asked for by exactly one of rho, q and the standard error, in units of which a step
    of the grid is so many."""
    given_one = [
        name for name, value in (("rho", rho), ("q", q), ("standard_error", standard_error)) if value is not None
    ]
    if len(given_one) != 1:
        named = " and ".join(given_one) or "none"
        raise LevelError(f'Give exactly one of rho, q and standard_error ({named} given), for example rho="1/10".')
    if q is not None:
        return given.share(q, "q", "noise x has the weight q^(x^2)", example="99/100", error=LevelError)
    if rho is None:
        error = given.positive(standard_error, "standard_error", "in the answer's units", example=20, error=LevelError)
        return weights_for(for_error(error / step))
    return weights_for(read_rho(rho), steps)


def for_error(standard_error: Fraction, steps: int = 1) -> Fraction:
    """The rho at which the discrete Gaussian has this standard error, in steps, to a part of 10^-11.

    steps^2 / (2 s^2) but for small s, where the sum over the integers is solved for.
    """
    if not _NARROWEST <= standard_error <= _WIDEST:
        raise LevelError(
            f"A standard error of {float(standard_error):.3g} steps is not from 1e-6 to 2^30, where noise can be drawn; use "
            "another, or another grid.",
            value=standard_error,
        )
    rate = _rate_for(float(standard_error)) if standard_error < 3 else None  # from 3 on they agree to 10^-75
    each = Fraction(1, 2) / standard_error**2 if rate is None else Fraction(rate)
    return _rounded_up(each * steps**2)


def _rate_for(error: float) -> float:
    """The x at which the discrete Gaussian has this standard error."""
    low, high = 1e-3, 100.0
    for _ in range(200):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if error_at(middle) > error else (low, middle)
    return high


def error_at(x: float) -> float:
    """The standard error of the discrete Gaussian with weights e^(-x k^2): sqrt(1/(2x)) where x is small, to 10^-75 below 1/18."""
    if x < 1 / 18:
        return math.sqrt(1 / (2 * x)) if x else math.inf
    terms = [math.exp(-x * k * k) for k in range(1, 300)]
    return math.sqrt(2 * math.fsum(k * k * t for k, t in enumerate(terms, 1)) / (1 + 2 * math.fsum(terms)))


# From rho to epsilon and delta: for every order a > 1, delta = exp((a-1)(a rho - epsilon)) (1-1/a)^a / (a-1) (Canonne, Kamath
# and Steinke 2020). Whichever a a float suggests, the bound holds there; what it gives is certified for that very a.


def _slack(a: Fraction) -> flint.arb:
    """a ln(1 - 1/a) - ln(a-1)."""
    return ball(a) * ball(1 - 1 / a).log() - ball(a - 1).log()


def _order(cost: Callable[[float], float]) -> Fraction:
    """The a > 1 at which a function is least, about: a short rational. `cost` takes ln(a-1) and has one valley."""
    low, high = -60.0, 700.0
    golden = (math.sqrt(5) - 1) / 2
    left, right = high - golden * (high - low), low + golden * (high - low)
    at_left, at_right = cost(left), cost(right)
    for _ in range(120):
        if at_left <= at_right:
            high, right, at_right = right, left, at_left
            left = high - golden * (high - low)
            at_left = cost(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + golden * (high - low)
            at_right = cost(right)
    beyond = Fraction(math.exp((low + high) / 2))
    return 1 + simplest(beyond * (1 - Fraction(1, 2**24)), beyond * (1 + Fraction(1, 2**24)))


def _slack_float(t: float) -> float:
    """The same as `_slack` at a = 1 + e^t, in floats: ln(1 - 1/a) = -ln(1 + e^-t)."""
    above = t + math.log1p(math.exp(-t)) if t > -30 else math.exp(t)  # ln a
    return -(1 + math.exp(t)) * (above - t) - t


def _bits(*numbers: Fraction) -> int:
    return 256 + 2 * sum(x.denominator.bit_length() + x.numerator.bit_length() for x in numbers)


def epsilon_above(rho: Fraction, delta: Fraction) -> Fraction:
    """An epsilon with which rho gives this delta: a short rational, rounded up.

    a rho + (ln(1/delta) + a ln(1-1/a) - ln(a-1)) / (a-1), at the best order a.

    >>> float(epsilon_above(Fraction(1, 5), Fraction(1, 10**9)))
    3.933653640419
    """
    if rho == 0:
        return Fraction(0)
    size, log_delta = float(rho), math.log(delta.denominator) - math.log(delta.numerator)
    a = _order(lambda t: (1 + math.exp(t)) * size + (log_delta + _slack_float(t)) * math.exp(-t))
    with precision(_bits(a, rho, delta)):
        _, above = _ends(ball(a * rho) + (_slack(a) - ball(delta).log()) / ball(a - 1))
    return _rounded_up(above) if above > 0 else Fraction(0)


def delta_above(rho: Fraction, epsilon: Fraction) -> float:
    """A delta that rho gives with this epsilon: a float, rounded up, at most 1."""
    if rho == 0:
        return 0.0
    size, wanted = float(rho), float(epsilon)

    def exponent(t: float) -> float:
        return math.exp(t) * ((1 + math.exp(t)) * size - wanted) + _slack_float(t)

    a = _order(exponent)
    return min(
        float_above(lambda: (ball((a - 1) * (a * rho - epsilon)) + _slack(a)).exp(), _bits(a, rho, epsilon)), 1.0
    )


def largest(epsilon: Fraction, delta: Fraction) -> Fraction:
    """The largest rho that gives this epsilon and delta: a short rational, rounded down.

    (epsilon - (ln(1/delta) + a ln(1-1/a) - ln(a-1)) / (a-1)) / a, at the best order a.

    >>> float(largest(Fraction(4), Fraction(1, 10**9)))
    0.206312909229
    """
    wanted, log_delta = float(epsilon), math.log(delta.denominator) - math.log(delta.numerator)
    a = _order(lambda t: -(wanted - (log_delta + _slack_float(t)) * math.exp(-t)) / (1 + math.exp(t)))
    with precision(_bits(a, epsilon, delta)):
        below, _ = _ends((ball(epsilon) - (_slack(a) - ball(delta).log()) / ball(a - 1)) / ball(a))
    if below <= 0:
        raise LevelError(
            f"epsilon {float(epsilon):.3g} with delta {float(delta):.3g} leaves no rho that can be told from 0; use larger ones."
        )
    simple = simplest(below * (1 - Fraction(1, 10**DIGITS)), below)
    return simple if simple.denominator <= _SHORT else below // _unit(below) * _unit(below)
