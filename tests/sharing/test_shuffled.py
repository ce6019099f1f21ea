"""Mixed reports: the bounds against every way in which a few people can answer, and against the theorem term by term."""

from __future__ import annotations

import itertools
import math
import random
from collections import defaultdict
from fractions import Fraction
from functools import cache

import pytest

import discreet as dt
from discreet.errors import DiscreetError
from discreet.exact.arithmetic import ball, precision
from discreet.sharing import clones as clones_room
from discreet.sharing.clones import Clones, delta_above

shuffled = dt.sharing.shuffled

MECHANISMS = {
    "binary": dt.randomized_response(1, alpha="1/3"),
    "ternary": dt.randomized_response(2, alpha="2/5"),
    "four": dt.randomized_response(3, alpha="1/6"),
    "wave": dt.square_wave(2, alpha="1/2", width=1),
    "projective": dt.projective_response(4, alpha="2/3"),  # lines of the plane over two elements
    "geometric": dt.geometric(2, alpha="1/2"),  # a local level of 1/4
    "matrix": dt.from_matrix([["1/2", "1/4", "1/4"], ["1/4", "1/2", "1/4"], ["1/3", "1/3", "1/3"]], neighbours="any"),
}
POWERS = [Fraction(n, 16) for n in (17, 18, 20, 24, 28, 36, 48, 80)]


@cache
def rows(name):
    channel = MECHANISMS[name].finite()
    return tuple(tuple(channel.entry(i, j) for j in range(channel.reports)) for i in range(channel.rows))


def mixed(answers, table):
    """The distribution of how often each report came, when the answers are mixed."""
    found = {(0,) * len(table[0]): Fraction(1)}
    for x in answers:
        grown = defaultdict(Fraction)
        for counts, chance in found.items():
            for y, p in enumerate(table[x]):
                grown[(*counts[:y], counts[y] + 1, *counts[y + 1 :])] += chance * p
        found = grown
    return found


@cache
def worst_delta(name, n, power):
    """The largest delta over both answers of one person and all answers of the others, by going through all reports."""
    table = rows(name)
    most = Fraction(0)
    for others in itertools.combinations_with_replacement(range(len(table)), n - 1):
        laws = [mixed((x, *others), table) for x in range(len(table))]
        for p, q in itertools.permutations(laws, 2):
            most = max(most, sum((max(Fraction(0), p[c] - power * q[c]) for c in p), Fraction(0)))
    return most


def clones_of(m, any_mechanism=False):
    power = 1 / dt.check_privacy(m, neighbours="any").tight
    apart, alike = m.finite().total_variation()
    return Clones(power, Fraction(1)) if any_mechanism else Clones(power, apart * (power + 1) / (power - 1), alike)


CASES = [
    (name, n)
    for name in MECHANISMS
    for n in ((2, 3, 5, 8) if name == "binary" else (2, 3) if name in ("four", "projective") else (2, 3, 4))
]


@pytest.mark.parametrize(("name", "n"), CASES)
def test_no_way_to_answer_tells_more(name, n):
    m = MECHANISMS[name]
    this, general = clones_of(m), clones_of(m, any_mechanism=True)
    for power in POWERS:
        if power < this.power:
            exact = worst_delta(name, n, power)
            bound, wider = (Fraction(delta_above(x, n, power, 1e-12)) for x in (this, general))
            assert exact <= bound <= wider * (1 + Fraction(1, 10**5))


@pytest.mark.parametrize("name", ["binary", "ternary"])
def test_a_claim_that_is_a_little_too_strong_is_refuted(name):
    """The control: as if answers were nearer to each other, or as if there were more clones, than the mechanism has."""
    m, n, power = MECHANISMS[name], 3, Fraction(18, 16)
    this = clones_of(m)
    exact = worst_delta(name, n, power)
    assert delta_above(Clones(this.power, this.telling * Fraction(8, 10), True), n, power, 1e-12) < exact
    assert delta_above(this, 2 * n, power, 1e-12) < exact


def test_the_total_variation_is_that_of_the_rows():
    for name, m in MECHANISMS.items():
        table = rows(name)
        apart = [sum(max(p - q, 0) for p, q in zip(x, y, strict=True)) for x, y in itertools.combinations(table, 2)]
        assert m.finite().total_variation() == (max(apart), len(set(apart)) == 1)
    for m in (dt.square_wave(9, epsilon=1, width=2), dt.projective_response(20, epsilon=1)):
        channel = m.finite()
        assert channel.total_variation() == super(type(channel), channel).total_variation()


def binomial(n, p, k):
    return math.comb(n, k) * p**k * (1 - p) ** (n - k)


@pytest.mark.parametrize(("n", "e", "power"), [(6, 3, "5/4"), (20, 3, "5/4"), (20, 8, 2), (40, 2, "21/20")])
def test_the_theorem_for_any_mechanism_term_by_term(n, e, power):
    """C, A and Delta as Feldman, McMillan and Talwar write them, in Fractions."""
    power, laws = Fraction(power), (defaultdict(Fraction), defaultdict(Fraction))
    keep = Fraction(e, e + 1)
    for c in range(n):
        for a in range(c + 1):
            chance = binomial(n - 1, Fraction(1, e), c) * Fraction(math.comb(c, a), 2**c)
            for law, first in zip(laws, (keep, 1 - keep), strict=True):
                law[a + 1, c - a] += chance * first
                law[a, c - a + 1] += chance * (1 - first)
    exact = sum(max(Fraction(0), p - power * laws[1][x]) for x, p in laws[0].items())
    found = Fraction(delta_above(Clones(Fraction(e), Fraction(1)), n, power, 1e-13))
    assert exact <= found <= exact * (1 + Fraction(1, 10**5)) + Fraction(1, 10**12)


@pytest.mark.parametrize("chance", ["1/3", "9/10"])
def test_what_is_cut_off_of_a_binomial_number_is_bounded(chance):
    """With so large a tail that both ends are cut off; by the least that a geometric series allows."""
    n, p = 300, Fraction(chance)
    exact = [binomial(n, p, k) for k in range(n + 1)]
    for up in (False, True):
        low, masses, rest = clones_room._likely(n, p, 0.05, up)
        high = low + len(masses)
        left, kept = (sum(exact[high:]), sum(exact[:low])) if up else (sum(exact[:low]), sum(exact[high:]))
        assert min(left, kept) > 0
        assert left <= Fraction(rest) <= 2 * left
        every = [*exact[low:high]]
        every[0 if up else -1] += kept  # the other side counts with the last value on it
        for k, (mass, whole) in enumerate(zip(masses.tolist(), every, strict=True)):
            assert whole <= Fraction(mass) * (1 + Fraction(1, 10**12))
            assert Fraction(mass) <= whole * (Fraction(3, 2) if k in (0, len(every) - 1) else 1 + Fraction(1, 10**9))


def test_what_is_cut_off_of_an_excess_is_bounded(monkeypatch):
    m, u, level = 300, 7, 7 * 160
    exact = sum(Fraction(math.comb(m, x), 2**m) * max(0, u * x - level) for x in range(m + 1))
    assert (
        exact
        <= Fraction(clones_room._excess(m, u, level)) * (1 + Fraction(1, 10**12))
        <= exact * (1 + Fraction(1, 10**9))
    )
    monkeypatch.setattr(clones_room, "_TERMS", 1)
    cut = Fraction(clones_room._excess(m, u, level))
    assert exact * (1 + Fraction(1, 10**6)) < cut < Fraction(13, 10) * exact


@pytest.mark.parametrize("seed", range(24))
def test_the_three_kinds_of_clones_term_by_term(seed):
    rng = random.Random(seed)
    n, e, telling = rng.randint(1, 6), Fraction(rng.randint(11, 90), 10), Fraction(rng.randint(1, 20), 20)
    clones, power = Clones(e, telling, seed % 2 == 0), 1 + (e - 1) * Fraction(rng.randint(1, 99), 100)
    a = telling / (e + 1)
    chances = (clones.each, clones.each, clones.others, 1 - clones.all)
    person = ((e * a, a, 1 - telling), (a, e * a, 1 - telling))
    laws = (defaultdict(Fraction), defaultdict(Fraction))
    for counts in itertools.product(range(n), repeat=3):
        rest = n - 1 - sum(counts)
        if rest >= 0:
            ways = math.factorial(n - 1) // math.prod(map(math.factorial, (*counts, rest)))
            chance = ways * math.prod((p**k for p, k in zip(chances, (*counts, rest), strict=True)), start=Fraction(1))
            for law, own in zip(laws, person, strict=True):
                for k in range(3):
                    law[*counts[:k], counts[k] + 1, *counts[k + 1 :]] += chance * own[k]
    exact = sum(max(Fraction(0), p - power * laws[1][x]) for x, p in laws[0].items())
    found = Fraction(delta_above(clones, n, power, 1e-13))
    assert exact <= found <= exact * (1 + Fraction(1, 10**5)) + Fraction(1, 10**12)


def test_what_is_found_keeps_to_the_delta_of_every_way_to_answer():
    """Also at e^epsilon itself, which the float is above."""
    found = shuffled(MECHANISMS["binary"], reports=8, delta="1/20")
    assert found.helps
    with precision(128):
        power = Fraction(math.floor(float(ball(Fraction(found.epsilon)).exp().lower()) * 2**40), 2**40)
    assert worst_delta("binary", 8, power) <= Fraction(1, 20)
    assert worst_delta("binary", 8, 1 + (power - 1) / 2) > Fraction(1, 20)  # the control: half of it is too little


def test_more_reports_hide_better_and_the_bounds_are_in_order():
    m, before = dt.randomized_response(9, epsilon=2), math.inf
    for number in (10**3, 10**5, 10**8):
        found = shuffled(m, reports=number, delta="1e-8")
        assert found.epsilon == found.for_this < found.for_any < found.closed_form
        assert found.epsilon < before / 2
        before = found.epsilon
    by_level = shuffled(epsilon=2, reports=10**5, delta="1e-8")
    assert by_level.epsilon == by_level.for_any
    assert by_level.for_any == pytest.approx(shuffled(m, reports=10**5, delta="1e-8").for_any, rel=1e-3)


def test_the_closed_form_is_that_of_the_theorem():
    found = shuffled(epsilon=1, reports=10**6, delta="1e-6").closed_form
    e, n = math.e, 10**6
    expected = math.log(1 + (e - 1) / (e + 1) * (8 * math.sqrt(e * math.log(4e6)) / math.sqrt(n) + 8 * e / n))
    assert found == pytest.approx(expected, rel=1e-12)
    assert shuffled(epsilon=1, reports=600, delta="1e-6").closed_form == math.inf  # e > 600 / (16 ln(2e6)) = 2.58
    assert shuffled(epsilon=1, reports=640, delta="1e-6").closed_form < 1


def test_few_reports_hide_nobody_and_that_is_said():
    found = shuffled(dt.randomized_response(1, epsilon=1), reports=5, delta="1e-9")
    assert (found.epsilon, found.helps) == (1.0, False)
    assert "hide nobody" in str(found)
    assert "nothing links" in str(found)
    far = shuffled(
        dt.geometric(1000, epsilon=1), reports=10**9, delta="1e-6"
    )  # between the ends a local epsilon of 1000
    assert (far.epsilon, far.helps) == (far.local, False)
    alone = shuffled(
        epsilon=1, reports=1, delta="1/10"
    )  # a single report: (e - e^epsilon) / (e + 1) is the delta of its own
    assert alone.epsilon == pytest.approx(math.log(math.e - (math.e + 1) / 10), rel=1e-3)


def test_a_ledger_charges_no_mixed_reports(tmp_path):
    found = shuffled(epsilon=1, reports=10**5, delta="1e-6")
    ledger = dt.Ledger(tmp_path / "ledger.db")
    ledger.create("town", 10)
    with pytest.raises(DiscreetError):
        ledger.charge("town", epsilon=found, what="mixed reports")
    assert ledger.balance("town").spent == 0


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"reports": 0, "delta": "1e-6", "epsilon": 1}, "reports = 0"),
        ({"reports": 10, "delta": 0, "epsilon": 1}, "delta = 0"),
        ({"reports": 10, "delta": "1e-200", "epsilon": 1}, "1e-100"),
        ({"reports": 10, "delta": "1e-6"}, "epsilon"),
        ({"mechanism": dt.uniform(4), "reports": 10, "delta": "1e-6"}, "tells nothing"),
        ({"mechanism": dt.geometric(dt.Grid(None, None), epsilon=1), "reports": 10, "delta": "1e-6"}, "open grid"),
        ({"mechanism": dt.traditional.suppression(8), "reports": 10, "delta": "1e-6"}, "no local level"),
        ({"mechanism": dt.uniform(4), "epsilon": 1, "reports": 10, "delta": "1e-6"}, "of its own"),
    ],
)
def test_what_cannot_be_mixed_is_refused_in_words(given, words):
    with pytest.raises(DiscreetError, match=words):
        shuffled(**given)
