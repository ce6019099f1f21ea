"""What offices use: exact laws, the moments they promise, and the verdict that none of them is private."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import flint
import numpy as np
import pytest
from scipy import optimize, stats

from discreet.channels import Map, Table
from discreet.errors import DiscreetError, GridError, SizeError
from discreet.exact.grid import Grid
from discreet.files import load_method
from discreet.measure.privacy import check_privacy
from discreet.randomness.source import insecure_source
from discreet.traditional import methods
from discreet.traditional.methods import Method, cell_key, random_rounding, suppression
from tests.cells import for_each

Law = dict[int, dict[int, Fraction]]

ALARM = 1e-7
CELL_KEYS = [
    (5, "2", 0),
    (5, "2", 2),
    (3, "1", 0),
    (4, "7/2", 1),
    (5, "20", 0),
    (2, "1", 1),
    (6, "13/2", 4),
    (1, "1/3", 0),
]


def exact_law(m: Method) -> Law:
    """Pr[report | truth] as values and Fractions, reports of probability 0 left out."""
    weights, total = m.channel.integers()
    return {
        m.inputs.value(i): {m.outputs.value(j): Fraction(int(w), total) for j, w in enumerate(row) if w}
        for i, row in enumerate(weights.tolist())
    }


def mean(law: dict[int, Fraction]) -> Fraction:
    return sum((p * y for y, p in law.items()), Fraction(0))


def variance(law: dict[int, Fraction]) -> Fraction:
    centre = mean(law)
    return sum((p * (y - centre) ** 2 for y, p in law.items()), Fraction(0))


def tight(law: Law) -> Fraction:
    """The tight alpha between neighbours, from the definition."""
    best = Fraction(1)
    for x, k in itertools.permutations(law, 2):
        if abs(x - k) == 1:
            for y, p in law[x].items():
                best = min(best, law[k].get(y, Fraction(0)) / p)
    return best


def assert_broken(m: Method) -> None:
    """No level above 0 holds, and the witness is one: possible here, impossible at a neighbour."""
    law, verdict = exact_law(m), check_privacy(m, epsilon=50)
    assert tight(law) == 0
    assert verdict.tight == 0
    assert verdict.epsilon == math.inf
    assert not verdict.holds
    witness = verdict.witness
    assert abs(witness.first - witness.second) == 1
    assert law[witness.first].get(witness.report, 0) > 0
    assert law[witness.second].get(witness.report, 0) == 0
    assert "impossible" in str(verdict)


# Random rounding


@for_each("base", [2, 3, 5, 7, 10])
@for_each("n", [1, 2, 3, 6, 11, 30])
def test_random_rounding_is_its_definition(n, base):
    m = random_rounding(n, base)
    expected = {}
    for x in range(n + 1):
        low = x - x % base
        expected[x] = {low: Fraction(base - x % base, base)}
        if x % base:
            expected[x][low + base] = Fraction(x % base, base)
    assert exact_law(m) == expected
    assert m.outputs == Grid(0, math.ceil(Fraction(n, base)) * base, base)
    assert m.recipe.distance == 0
    assert dict(m.recipe.parameters)["base"] == str(base)


@pytest.mark.parametrize("base", [2, 3, 5, 12])
def test_random_rounding_is_unbiased_to_the_last_digit(base):
    """The mean is the count, the variance r (base - r); one weight moved by 1 in 2^63 is seen."""
    m = random_rounding(40, base)
    for x, law in exact_law(m).items():
        assert mean(law) == x
        assert variance(law) == x % base * (base - x % base)
    weights = m.channel.weights.copy()
    weights[1, 0] -= np.uint64(1)
    weights[1, 1] += np.uint64(1)
    moved = Method(m.inputs, m.outputs, Table(weights), m.recipe)
    assert mean(exact_law(moved)[1]) != 1


def test_random_rounding_is_private_at_no_setting():
    """Not where the base is above every count either: 0 is never moved, and 1 is."""
    for n, base in itertools.product(range(1, 9), range(2, 12)):
        assert_broken(random_rounding(n, base))
    assert_broken(random_rounding(1, 2**60 + 1))
    assert check_privacy(random_rounding(9, 3), epsilon=50, neighbours=2).tight == 0


@pytest.mark.parametrize("base", [3, 4, 5, 10])
def test_between_two_multiples_rounding_hides_up_to_a_factor_of_two(base):
    """The only finite ratios: remainders r and r + 1, at their worst 1 and 2. One multiple among them, and it is gone."""
    m = random_rounding(2 * base, base)
    inside = [(r, r + 1) for r in range(1, base - 1)]
    assert check_privacy(m, epsilon=1, neighbours=inside).tight == Fraction(1, 2)
    assert check_privacy(m, epsilon=1, neighbours=[*inside, (base - 1, base)]).tight == 0


def test_random_rounding_of_large_counts_is_refused():
    assert random_rounding(1770).channel.rows == 1771
    with pytest.raises(SizeError, match=r"at most 2\^20 entries.*smaller n"):
        random_rounding(1771)


# Suppression


def test_suppression_is_its_definition():
    for n, below, show_zero in itertools.product(range(1, 9), range(2, 8), (True, False)):
        m = suppression(n, below, show_zero=show_zero)
        hidden = {x for x in range(n + 1) if x < below and (x > 0 or not show_zero)}
        assert exact_law(m) == {x: {(-1 if x in hidden else x): Fraction(1)} for x in range(n + 1)}
        assert (m.inputs, m.outputs) == (Grid(0, n), Grid(-1, n))


def test_suppression_is_private_only_where_it_says_nothing():
    for n, below, show_zero in itertools.product(range(1, 9), range(2, 8), (True, False)):
        m = suppression(n, below, show_zero=show_zero)
        if n < below and not show_zero:
            assert check_privacy(m).tight == tight(exact_law(m)) == 1
            assert check_privacy(m, epsilon="1e-6").holds
        else:
            assert_broken(m)


def test_suppression_of_zeros_alone_and_of_long_tables():
    assert suppression(3, below=1, show_zero=False).sample([0, 1, 2, 3]) == [-1, 1, 2, 3]
    long = suppression(10**6, below=10)
    assert isinstance(long.channel, Map)
    assert long.sample([0, 9, 10, 10**6]) == [0, -1, 10, 10**6]
    assert not check_privacy(long, epsilon=50)
    with pytest.raises(SizeError, match="smaller n"):
        suppression(2**24)


# Cell keys


def noises(count: int, deviation: int, never: int) -> list[int]:
    return [v for v in range(-deviation, deviation + 1) if count + v == 0 or count + v > never]


@pytest.mark.parametrize(("deviation", "wanted", "never"), CELL_KEYS)
def test_cell_keys_keep_their_conditions(deviation, wanted, never):
    """Mean 0, the variance or the largest there is, noise in bounds, 0 fixed, no small reports: in exact sums."""
    n = deviation + never + 6
    m = cell_key(n, deviation, wanted, never_report=never)
    law = exact_law(m)
    assert m.outputs == Grid(0, n + deviation)
    assert law[0] == {0: 1}
    for x in range(1, n + 1):
        allowed = noises(x, deviation, never)
        assert {y - x for y in law[x]} <= set(allowed)
        assert abs(mean(law[x]) - x) < 1e-14
        reachable = min(Fraction(wanted), -min(allowed) * max(allowed))
        assert abs(variance(law[x]) - reachable) < 1e-12
    assert_broken(m)


@pytest.mark.parametrize(("deviation", "wanted", "never"), CELL_KEYS)
def test_large_counts_share_one_law_and_smaller_ones_do_not(deviation, wanted, never):
    m = cell_key(deviation + never + 8, deviation, wanted, never_report=never)
    shifted = {x: {y - x: p for y, p in row.items()} for x, row in exact_law(m).items()}
    first = deviation + never + 1 if never else deviation
    assert all(shifted[x] == shifted[first] for x in range(first, m.inputs.n + 1))
    assert shifted[first - 1] != shifted[first]


def best_law(allowed: list[int], wanted: Fraction) -> list[flint.arb]:
    """The law of maximal entropy by its multipliers, at 300 bits: b by bisection, a by bisection within.

    For a fixed b the mean rises with a; at mean 0 the variance rises with b.
    """

    def law(a: flint.arb, b: flint.arb) -> list[flint.arb]:
        weights = [(a * v + b * v * v).exp() for v in allowed]
        whole = sum(weights, flint.arb(0))
        return [w / whole for w in weights]

    def moment(p: list[flint.arb], k: int) -> flint.arb:
        return sum((x * v**k for x, v in zip(p, allowed, strict=True)), flint.arb(0))

    def bisect(above, bits: int) -> flint.arb:
        low, high = flint.arb(-200), flint.arb(200)
        for _ in range(bits):
            middle = ((low + high) / 2).mid()
            low, high = (low, middle) if above(middle) else (middle, high)
        return low

    with flint.ctx.workprec(300):

        def centred(b: flint.arb) -> list[flint.arb]:
            return law(bisect(lambda a: moment(law(a, b), 1) > 0, 120), b)

        target = flint.arb(flint.fmpq(wanted.numerator, wanted.denominator))
        return centred(bisect(lambda b: moment(centred(b), 2) > target, 90))


@pytest.mark.parametrize(
    ("count", "deviation", "wanted", "never"),
    [
        (1, 5, "2", 0),
        (7, 5, "2", 0),
        (3, 5, "2", 2),
        (2, 4, "7/2", 1),
        (4, 5, "39/2", 0),
        (3, 6, "13/2", 4),
        (1, 2, "3/2", 1),
    ],
)
def test_the_law_is_that_of_the_multipliers_within_the_stated_distance(count, deviation, wanted, never):
    """Total variation to the law at 300 bits; floats of half the digits would be seen."""
    m = cell_key(count + deviation, deviation, wanted, never_report=never)
    allowed = noises(count, deviation, never)
    row = exact_law(m)[count]
    ours = [row.get(count + v, Fraction(0)) for v in allowed]

    def apart(law: list[Fraction]) -> float:
        with flint.ctx.workprec(300):
            gaps = [abs(flint.arb(flint.fmpq(p.numerator, p.denominator)) - q) for p, q in zip(law, best, strict=True)]
            return float(sum(gaps, flint.arb(0)) / 2)

    best = best_law(allowed, Fraction(wanted))
    assert 0 < apart(ours) < m.recipe.distance < 1e-11
    assert apart([Fraction(float(np.float32(p))) for p in ours]) > m.recipe.distance


def entropy(p: np.ndarray) -> float:
    return float(-(p[p > 0] * np.log(p[p > 0])).sum())


@pytest.mark.parametrize(
    ("count", "deviation", "wanted", "never"),
    [
        (1, 5, "2", 0),
        (3, 5, "2", 0),
        (9, 5, "2", 0),
        (4, 5, "2", 2),
        (2, 4, "7/2", 1),
        (5, 6, "13/2", 4),
    ],
)
@pytest.mark.filterwarnings("ignore:Values in x were outside bounds")  # SciPy 1.14 steps back into them and warns
def test_no_law_with_the_same_moments_has_more_entropy(count, deviation, wanted, never):
    """Against a general optimiser, and against every small step that keeps total, mean and variance."""
    m = cell_key(count + deviation, deviation, wanted, never_report=never)
    v = np.array(noises(count, deviation, never), dtype=float)
    law = m.matrix[count, (v + count).astype(int)]
    conditions = np.stack([np.ones_like(v), v, v**2])
    goal = np.array([1, 0, float(Fraction(wanted))])
    found = optimize.minimize(
        lambda p: float((p * np.log(p)).sum()),
        np.full(len(v), 1 / len(v)),
        jac=lambda p: np.log(p) + 1,
        bounds=[(1e-12, 1)] * len(v),
        method="SLSQP",
        constraints={"type": "eq", "fun": lambda p: conditions @ p - goal, "jac": lambda p: conditions},
        options={"ftol": 1e-14, "maxiter": 1000},
    )
    assert found.success
    assert entropy(law) == pytest.approx(-found.fun, abs=1e-8)
    np.testing.assert_allclose(law, found.x, atol=1e-4)
    free = np.linalg.svd(conditions)[2][3:]  # directions that change none of the three
    for direction in free:
        length = 0.5 * (law[direction != 0] / np.abs(direction[direction != 0])).min()
        other = law + length * direction
        assert other.min() > 0
        np.testing.assert_allclose(conditions @ other, goal, atol=1e-9)
        assert entropy(other) < entropy(law)
        assert entropy(other - length / 2 * direction) > entropy(other)  # and coming back raises it: the test can fail


def test_where_the_variance_cannot_be_reached_it_is_the_largest():
    """deviation 5, variance 20: counts 1, 2, 3 have the two ends, in closed form; 4 * 5 is just reached; 5 is inside."""
    law = exact_law(cell_key(12, 5, 20))
    for x in (1, 2, 3, 4):
        assert set(law[x]) == {0, x + 5}
        assert abs(law[x][0] - Fraction(5, x + 5)) < Fraction(1, 2**60)
        assert abs(variance(law[x]) - 5 * x) < 1e-15
    assert len(law[5]) == 11


def test_never_reported_counts_move_to_the_nearest_where_the_variance_asks_for_no_more():
    """never_report = 3 takes a variance of 4: a count of 2 goes to 0 or 4, each half of the time; 3 is too little."""
    law = exact_law(cell_key(12, 5, 4, never_report=3))
    assert set(law[2]) == {0, 4}
    assert abs(law[2][0] - Fraction(1, 2)) < Fraction(1, 2**60)
    assert set(law[1]) == {0, 4, 5, 6}
    with pytest.raises(DiscreetError, match="the count 2 has to move to 0 or 4, which takes a variance of 4; raise"):
        cell_key(12, 5, 3, never_report=3)


def test_cell_keys_with_extreme_variances():
    assert exact_law(cell_key(9, 4, 16))[6] == {2: Fraction(1, 2), 10: Fraction(1, 2)}
    little = exact_law(cell_key(9, 4, "1/1000000"))
    assert abs(variance(little[1]) - Fraction(1, 10**6)) < 1e-14
    for wanted in ("15.99999", "15.9999999999", str(16 - Fraction(1, 10**30))):
        assert abs(variance(exact_law(cell_key(9, 4, wanted))[6]) - Fraction(wanted)) < 1e-11


def test_a_law_that_is_not_found_is_not_used(monkeypatch):
    monkeypatch.setattr(methods, "_STEPS", 2)
    with pytest.raises(DiscreetError, match=r"too close to the end.*move it"):
        cell_key(9, 4, 15)


def test_cell_keys_of_large_tables_are_quick_or_refused():
    m = cell_key(1020, 5, 2)
    assert m.channel.weights.shape == (1021, 1026)
    with pytest.raises(SizeError, match="from 6 on share one distribution, so check it with a smaller n"):
        cell_key(1024, 5, 2)


# All three

FAMILY = {
    "rounding": random_rounding(20, 3),
    "suppression": suppression(20),
    "cell key": cell_key(20),
    "cell key, gaps": cell_key(20, 5, "5/2", never_report=2),
}


@pytest.mark.parametrize("name", FAMILY)
def test_files_keep_them(name, tmp_path):
    FAMILY[name].save(tmp_path / "m.json")
    again = load_method(tmp_path / "m.json")
    assert again.digest == FAMILY[name].digest
    assert again == FAMILY[name]
    assert exact_law(again) == exact_law(FAMILY[name])


@pytest.mark.parametrize("name", ["rounding", "cell key", "cell key, gaps"])
def test_draws_follow_the_law(name):
    """Chi-squared at the laws of several counts; the law of the next count is rejected."""
    m, size = FAMILY[name], 100_000
    law = exact_law(m)

    def p_value(x: int, other: int) -> float:
        drawn = m.sample(np.full(size, x), source=insecure_source(100 + x))
        reports = sorted(set(law[other]) | set(drawn.tolist()))
        wanted = np.array([float(law[other].get(y, 0)) for y in reports]) * size
        seen = np.array([(drawn == y).sum() for y in reports])
        if (seen[wanted == 0] > 0).any():
            return 0.0
        return float(stats.chisquare(seen, wanted).pvalue)

    for x in (1, 4, 10, 16):
        assert p_value(x, x) > ALARM
        assert p_value(x, x + 1) < ALARM


def test_draws_from_neighbouring_remainders_are_told_apart():
    """Counts 1 and 2 have the same two reports: here only the frequencies differ."""
    drawn = FAMILY["rounding"].sample(np.full(90_000, 1), source=insecure_source(7))
    ups = int((drawn == 3).sum())
    assert ups + int((drawn == 0).sum()) == 90_000
    assert stats.binomtest(ups, 90_000, 1 / 3).pvalue > ALARM
    assert stats.binomtest(ups, 90_000, 0.35).pvalue < ALARM


@pytest.mark.parametrize("make", [random_rounding, suppression, cell_key])
def test_only_counts_from_zero_are_taken(make):
    assert make(Grid(0, 8)).digest == make(8).digest
    for grid in (Grid(1, 8), Grid(0, 8, 2), Grid(0, None), Grid(None, None), Grid("1/2", "7/2")):
        with pytest.raises(GridError, match=r"counts 0, 1, ..., n.*give n or Grid\(0, n\)"):
            make(grid)
    with pytest.raises(GridError, match="at least 1"):
        make(0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: random_rounding(9, 1),
            r"base = 1 must be a whole number from 2 to 2\^61 - 1; write for example base=3\.",
        ),
        (lambda: random_rounding(9, 2.5), r"base = 2\.5 must"),
        (lambda: random_rounding(9, True), "base = True must"),
        (lambda: random_rounding(9, 2**61), r"whole number from 2 to 2\^61 - 1"),
        (lambda: suppression(9, 1), r"below = 1 must be a whole number of at least 2"),
        (lambda: suppression(9, 0, show_zero=False), r"below = 0 must be a whole number of at least 1"),
        (lambda: suppression(9, show_zero=1), "show_zero = 1 must be True or False"),
        (lambda: cell_key(9, 0), "deviation = 0 must be a whole number of at least 1"),
        (lambda: cell_key(9, never_report=-1), "never_report = -1 must be a whole number of at least 0"),
        (lambda: cell_key(9, 5, never_report=5), "never_report = 5 leaves.*smaller than the deviation"),
        (lambda: cell_key(9, 5, 0), r"variance = 0 must lie above 0 and be at most deviation\^2 = 25"),
        (lambda: cell_key(9, 5, 26), "variance = 26 must"),
        (lambda: cell_key(9, 5, "many"), "variance = 'many' must"),
        (lambda: cell_key(9, 5, math.nan), "variance = nan must"),
    ],
)
def test_bad_settings_are_refused_with_the_next_move(call, message):
    with pytest.raises(DiscreetError, match=message) as caught:
        call()
    assert str(caught.value).endswith(".")
