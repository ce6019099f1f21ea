"""Is it private with a rho, or with an epsilon and a delta? Verdicts that rest on a theorem or on certified bounds.

A rho holds where the Renyi divergence of every order a > 1 is at most a rho (zCDP). With f(a) = (a-1) D_a that is
f(a) <= rho a (a-1). f is convex, so between two orders it lies below its chord: where the chord does too, the orders between are
settled, and else they are halved. Beyond the order A it is enough that D_infinity <= A rho (docs/theory/gaussian.md).

An epsilon holds with a delta where no event is more than e^epsilon times as likely, plus delta: where the sum of
max(0, P[y] - e^epsilon Q[y]) over the reports is at most delta (the hockey-stick divergence).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import flint

from ..channels import Channel
from ..errors import MetricError
from ..exact.arithmetic import ball, certified_sign, float_above, precision, show_above, show_decimal
from ..exact.concentrated import delta_above, keeps, of_power, rational_above, short_above
from ..exact.level import Epsilon, Level
from ..exact.neighbours import Neighbours
from ..mechanism import Procedure, allows
from ..noise import DiscreteNoise
from ..present.views import Result, View, plain

_BITS = 192
_MOST_TERMS = 2**21  # terms of all sums together, beyond which nothing is decided
_BLOCKS = 16  # of reports within a standard deviation, where a wide distribution is merged to be looked at
_WIDTH = 10  # standard deviations on either side that are looked at
_NOTHING = Fraction(1, 2**300)  # a tail this rare is none
_FINEST = Fraction(1, 2**40)  # orders this near to each other are not halved

Pair = tuple[int, int]
Balls = list[flint.arb]


@dataclass(frozen=True, repr=False)
class RhoVerdict(Result):
    """Does the rho hold? Where neither is proved, `decided` is False and `holds` too.

    `proved` is a rho that is known to hold, None where there is none; `order` is one at which the divergence between the two
    true values of `pair` is at least `divergence`, which is too much.
    """

    holds: bool
    asked: Fraction
    neighbours: str
    proved: Fraction | None
    pair: tuple[Any, Any] | None = None
    order: float | None = None
    divergence: float | None = None
    decided: bool = True

    def __bool__(self) -> bool:
        return self.holds

    def view(self) -> View:
        best = "" if self.proved is None else f"; rho <= {show_decimal(self.proved)} is proved"
        if self.holds:
            return View(f"holds: rho {show_decimal(self.asked)}, {self.neighbours}{best}")
        if not self.decided:
            return View(f"undecided: rho {show_decimal(self.asked)}, {self.neighbours}{best}")
        assert self.pair is not None
        size = "infinite" if self.divergence == math.inf else f"at least {self.divergence:.6g}"
        return View(
            f"does not hold: rho {show_decimal(self.asked)}, {self.neighbours}; the Renyi divergence of order {self.order:.6g} "
            f"between the truths {self.pair[0]} and {self.pair[1]} is {size}{best}"
        )

    def to_dict(self) -> dict[str, Any]:
        """What was asked and what is true; `order` and `divergence` are null where it holds or is undecided."""
        return {
            "holds": self.holds,
            "decided": self.decided,
            "asked_rho": str(self.asked),
            "neighbours": self.neighbours,
            "proved_rho": None if self.proved is None else str(self.proved),
            "pair": None if self.pair is None else [str(x) for x in self.pair],
            "order": self.order,
            "divergence": None if self.divergence is None else plain(self.divergence),
        }


@dataclass(frozen=True, repr=False)
class DeltaVerdict(Result):
    """Does the epsilon hold with this delta: is every event at most e^epsilon times as likely, plus delta?

    `needed` is the smallest delta that does, from above. Where it does not hold, `event` has the reports that show it, which
    have the two `chances` when the truth is the first and the second of `pair`. Where neither is proved, `decided` is False.
    """

    holds: bool
    asked: Level
    delta: Fraction
    neighbours: str
    needed: float
    pair: tuple[Any, Any] | None = None
    event: str | None = None
    chances: tuple[float, float] | None = None
    decided: bool = True

    def __bool__(self) -> bool:
        return self.holds

    def view(self) -> View:
        asked = f"{self.asked} with delta {show_above(float(self.delta))}, {self.neighbours}"
        if self.holds:
            return View(f"holds: {asked}; a delta of {show_above(self.needed)} is enough")
        if not self.decided:
            return View(f"undecided: {asked}; a delta of {show_above(self.needed)} is enough")
        assert self.pair is not None
        assert self.chances is not None
        first, second = self.chances
        return View(
            f"does not hold: {asked}; {self.event} have the chance {first:.6g} when the truth is {self.pair[0]} and {second:.6g} "
            f"when it is {self.pair[1]}; it needs a delta of {show_above(self.needed)}"
        )

    def to_dict(self) -> dict[str, Any]:
        """What was asked and what is true; `event` and `chances` are null where it holds or is undecided."""
        return {
            "holds": self.holds,
            "decided": self.decided,
            "asked": str(self.asked.asked or self.asked.alpha),
            "delta": str(self.delta),
            "neighbours": self.neighbours,
            "needed_delta": self.needed,
            "pair": None if self.pair is None else [str(x) for x in self.pair],
            "event": self.event,
            "chances": None if self.chances is None else list(self.chances),
        }


def check_rho(m: Procedure, rho: Fraction, told: Neighbours, words: str) -> RhoVerdict:
    """By the theorem of Gaussian noise, by the pure level, or pair by pair and order by order."""
    farthest = _farthest(told, m)
    theorem = m.channel.concentration(farthest)
    known = [] if theorem is None else [of_power(*theorem)]
    if theorem is not None and keeps(*theorem, rho):
        return RhoVerdict(True, rho, words, known[0])
    pure = max((_pure_rho(ratio.alpha, ratio.power) for ratio, _ in m.ratios(told)), key=float)
    if isinstance(pure, Fraction):
        known.append(pure)
        if pure <= rho:
            return RhoVerdict(True, rho, words, min(known))
    proved = min(known, default=None)
    with precision(_BITS):
        found = _by_orders(m, rho, told, farthest)
    if isinstance(found, bool):
        return RhoVerdict(found, rho, words, rho if found else proved, decided=found)
    (i, k), order, divergence = found
    return RhoVerdict(False, rho, words, proved, (m.inputs.value(i), m.inputs.value(k)), order, divergence)


def _by_orders(m: Procedure, rho: Fraction, told: Neighbours, farthest: int) -> bool | tuple[Pair, float, float]:
    """True: it holds between all neighbours; a pair with an order and the divergence that is too much; False: undecided."""
    settled = False
    for pair, first, second, whole in _rows(m, told, farthest):
        outcome = _settle(first, second, rho)
        if isinstance(outcome, tuple):
            return pair, *outcome
        settled = outcome and whole
        if not settled:
            return False
    return settled


def _farthest(told: Neighbours, m: Procedure) -> int:
    farthest = told.farthest(m.inputs)
    if farthest is None:
        raise MetricError(
            "Neither rho nor delta has a meaning at distances other than 1; give a number of steps, or pairs."
        )
    return farthest


def _pure_rho(alpha: Fraction, power: int) -> Fraction | float:
    """epsilon tanh(epsilon/2) of the epsilon of a ratio, rounded up."""
    if alpha in (0, 1):
        return math.inf if alpha == 0 else Fraction(0)

    def value() -> flint.arb:
        epsilon = -power * ball(alpha).log()
        return epsilon * (epsilon / 2).tanh()

    return short_above(value, _BITS + 2 * alpha.denominator.bit_length())


def _rows(m: Procedure, told: Neighbours, farthest: int) -> Iterator[tuple[Pair, Balls, Balls, bool]]:
    """Pairs of neighbours both ways round, with the two rows, and whether these are whole: of Gaussian and
    unbounded noise reports are merged, which makes no divergence larger, for one pair away from the ends. Nothing where it would
    take too long."""
    noise, channel = m.channel.noise, m.channel.finite()
    if noise is not None and (channel is None or noise.concentration(1) is not None):
        yield _merged(noise, m.channel, farthest)
    elif channel is not None:
        pairs = list(_pairs(told, m))
        if len(pairs) * channel.reports > _MOST_TERMS:
            return
        for i, k in pairs:
            rows = channel.row_balls(i), channel.row_balls(k)
            if rows[0] is None or rows[1] is None:
                return
            yield (i, k), rows[0], rows[1], True


def _pairs(told: Neighbours, m: Procedure) -> Iterator[Pair]:
    return ((i, k) for i, k, _ in told.demands(m.inputs))


def _merged(noise: DiscreteNoise, channel: Channel, steps: int) -> tuple[Pair, Balls, Balls, bool]:
    """Two rows `steps` apart, as far from the ends as can be, with reports merged into blocks."""
    low, high = channel.ends
    spread = math.sqrt(noise.variance)
    block, reach = max(1, int(spread / _BLOCKS)), math.ceil(_WIDTH * spread) + 2 * steps
    first = (
        reach if low is not None and high is None else -reach - steps if low is None else (high or 0) // 2 - steps // 2
    )
    start = first - reach if low is None else max(first - reach, low)
    stop = first + steps + reach if high is None else min(first + steps + reach, high)
    edges = range(start + 1, stop + 1, block)
    rows = []
    for truth in (first, first + steps):
        tails = [flint.arb(1), *noise.tails(range(edges[0] - truth, edges[-1] - truth + 1, block)), flint.arb(0)]
        rows.append([a - b for a, b in itertools.pairwise(tails)])
    return (first, first + steps), rows[0], rows[1], False


def _settle(first: Balls, second: Balls, rho: Fraction) -> bool | tuple[float, float]:
    """True: the rho holds between two rows, in this order; an order at which it does not, and the divergence there; False: it is
    neither proved nor disproved."""
    chances: list[tuple[flint.arb, flint.arb]] = []  # P and ln(P/Q)
    for p, q in zip(first, second, strict=True):
        if p > 0 and not q > 0:
            return (1.0, math.inf) if q == 0 else False
        if p > 0:
            chances.append((p, (p / q).log()))
        elif not p.is_zero():  # a ball that holds 0 and more, of which `p != 0` is false too
            return False
    bound = ball(rho)
    near = sum((p * x for p, x in chances), flint.arb(0))  # of order 1, by Kullback and Leibler
    if near > bound:
        return 1.0, float(near.lower())

    known = {Fraction(1): flint.arb(0)}  # (order - 1) times the divergence

    def is_too_much(order: Fraction) -> bool:
        gap = ball(order - 1)
        known[order] = sum((p * (gap * x).expm1() for p, x in chances), flint.arb(0)).log1p()
        return bool(known[order] > ball(rho * order * (order - 1)))

    def shown(order: Fraction) -> tuple[float, float]:
        return float(order), float((known[order] / ball(order - 1)).lower())

    largest = max((rational_above(x) for _, x in chances if x.upper() > 0), default=Fraction(0))  # of all orders
    orders = [Fraction(1), Fraction(2)]
    while orders[-1] * rho < largest:
        orders.append(2 * orders[-1])
    for order in orders[1:]:
        if is_too_much(order):
            return shown(order)
    waiting = list(itertools.pairwise(orders))
    while waiting:
        low, high = waiting.pop()
        if _chord_is_below(known[low], known[high], low, high, rho):
            continue
        middle = (low + high) / 2
        if high - low < _FINEST or len(known) * len(chances) > _MOST_TERMS:
            return False
        if is_too_much(middle):
            return shown(middle)
        waiting += [(middle, high), (low, middle)]
    return True


def _chord_is_below(at_low: flint.arb, at_high: flint.arb, low: Fraction, high: Fraction, rho: Fraction) -> bool:
    """Is the line through both points below rho a (a-1) for every a between? The difference is a parabola in a."""
    slope = (at_high - at_low) / ball(high - low)
    if low == 1:
        return bool(slope <= ball(rho))  # both vanish at 1
    ends = at_low <= ball(rho * low * (low - 1)) and at_high <= ball(rho * high * (high - 1))
    turn = (1 + slope / ball(rho)) / 2
    if turn <= ball(low) or turn >= ball(high):
        return bool(ends)
    return bool(ends and -((ball(rho) + slope) ** 2) / ball(4 * rho) - at_low + slope * ball(low) >= 0)


# Epsilon and delta


def check_delta(m: Procedure, level: Level, delta: Fraction, told: Neighbours, words: str) -> DeltaVerdict:
    """By the pure level, by the tails of noise, pair by pair, or by what the rho of Gaussian noise gives."""
    farthest = _farthest(told, m)
    if all(allows(level, ratio, distance) for ratio, distance in m.ratios(told)):
        return DeltaVerdict(True, level, delta, words, 0.0)
    asked = level.asked or Epsilon(Fraction(1), 1 / level.alpha)
    noise, found = m.channel.noise, []
    if noise is not None and noise.is_log_concave:
        found = [_by_tails(noise, m.channel, asked, pair) for pair in _worst_pairs(told, m, farthest)]
    elif m.channel.finite() is not None:
        with precision(_BITS):
            factor = asked._ball().exp()
            rows = _rows(m, told, farthest)
            found = [_by_reports(pair, first, second, factor) for pair, first, second, _ in rows]
    if not found:
        theorem = m.channel.concentration(farthest)
        enough = 1.0 if theorem is None else delta_above(of_power(*theorem), Fraction(float(asked)))
        return DeltaVerdict(Fraction(enough) <= delta, level, delta, words, enough, decided=Fraction(enough) <= delta)
    worst = max(found, key=lambda one: float(one.excess.mid()))
    with precision(_BITS):
        needed = max(max(float_above(lambda one=one: one.excess) for one in found), 0.0)  # type: ignore[misc]
        holds = all(one.excess <= ball(delta) for one in found)
        fails = worst.excess > ball(delta)
    if not fails:
        return DeltaVerdict(holds, level, delta, words, needed, decided=holds)
    values = m.inputs.value(worst.pair[0]), m.inputs.value(worst.pair[1])
    event = _event_words(m, worst.event)
    return DeltaVerdict(False, level, delta, words, needed, values, event, worst.chances)


@dataclass(frozen=True)
class _Excess:
    """Pr[event | first] - e^epsilon Pr[event | second], of the event for which that is largest: the reports from one place to
    another (None: without end), or a list of them."""

    pair: Pair
    excess: flint.arb
    event: tuple[int | None, int | None] | list[int]
    chances: tuple[float, float]


def _event_words(m: Procedure, event: tuple[int | None, int | None] | list[int]) -> str:
    if isinstance(event, list):
        places = event
        if len(places) > 1 and places != list(range(places[0], places[-1] + 1)):
            return f"{len(places)} reports, the first of them {m.outputs.value(places[0])},"
        event = places[0], places[-1]
    first, last = (None if place is None else m.outputs.value(place) for place in event)
    if last is None or first is None:
        return f"reports from {first} up" if last is None else f"reports up to {last}"
    return f"reports of {first}" if first == last else f"reports {first} to {last}"


def _worst_pairs(told: Neighbours, m: Procedure, farthest: int) -> list[Pair]:
    """Of steps, the pair that has the most room beyond the first: tails of noise that was moved farther are larger."""
    if told.span(m.inputs) is None:
        return list(_pairs(told, m))
    low, high = m.channel.ends
    return [(farthest, 0)] if high is None or low is not None else [(-farthest, 0)]


def _by_tails(noise: DiscreteNoise, channel: Channel, asked: Epsilon, pair: Pair) -> _Excess:
    """Pr[k - d] / Pr[k] grows with k for log-concave noise, so the event is a tail: from the first k on at which it is above
    e^epsilon, or from the last report where that comes before."""
    first, second = pair
    low, high = channel.ends
    end = high if first > second else low
    steps, room = abs(first - second), None if end is None else abs(end - second)

    def is_worth_it(k: int) -> bool:
        """Is the ratio at k above e^epsilon, or so near that it does not matter?"""
        return (
            certified_sign(lambda: noise.chance(k - steps).log() - noise.chance(k).log() - asked._ball(), attempts=2)
            != -1
        )

    least, most = steps // 2, steps + noise.reach(_NOTHING)
    most = most if room is None else min(most, room)
    while most - least > 1:
        middle = (least + most) // 2
        least, most = (least, middle) if is_worth_it(middle) else (middle, most)
    ends_before = most != room and not is_worth_it(most)  # all that is worth it lies where nothing is likely
    with precision(_BITS + 2 * most.bit_length()):
        near, far = noise.tail(most - steps), noise.tail(most)
        excess = near * flint.arb(0.5, 0.5) if ends_before else near - asked._ball().exp() * far
        excess = excess if excess > 0 else excess.max(flint.arb(0)) if not excess <= 0 else flint.arb(0)
        start = second + most if first > second else second - most
        event = (start, end) if first > second else (end, start)
        return _Excess(pair, excess, event, (float(near.mid()), float(far.mid())))


def _by_reports(pair: Pair, first: Balls, second: Balls, factor: flint.arb) -> _Excess:
    total, reports, chances = flint.arb(0), [], [flint.arb(0), flint.arb(0)]
    for y, (p, q) in enumerate(zip(first, second, strict=True)):
        more = p - factor * q
        if more <= 0:
            continue
        total += more if more > 0 else more.max(flint.arb(0))
        reports.append(y)
        chances = [chances[0] + p, chances[1] + q]
    return _Excess(pair, total, reports, (float(chances[0].mid()), float(chances[1].mid())))
