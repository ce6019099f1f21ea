"""The door from probabilities to integers: whatever comes through keeps its level and properties, or is refused.

Everything that comes through is judged here from the definitions, in plain integers and loops that share nothing with
the package. Targets are feasible by construction: mixtures of known mechanisms, vertices of linear programs, exact
fractions with ties, and matrices that leave reports unused.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Collection, Iterator, Sequence
from fractions import Fraction
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy import optimize, sparse

from discreet import seal as sealing
from discreet.errors import DiscreetError, PrivacyError, SealError, SizeError, StructureError
from discreet.exact.level import Level
from discreet.seal import Sealed, seal
from tests import reference
from tests.cells import for_each
from tests.profiles import examples

SEVEN = ("RH", "RM", "CH", "CM", "F", "WH", "S")
LEVELS = [Fraction(1, 20), Fraction(1, 3), Fraction(1, 2), Fraction(2, 3), Fraction(9, 10), Fraction(99, 100)]
FLOAT_ROUNDING = Fraction(1, 2**50)  # a few roundings of a float around 1: what targets made of floats may break by

Pairs = list[tuple[int, int]]


# The judge


def near(rows: int, neighbours: int | Sequence[tuple[int, int]]) -> Pairs:
    """Every ordered pair of rows that the level compares."""
    if isinstance(neighbours, int):
        return [(i, k) for i in range(rows) for k in range(rows) if 0 < abs(i - k) <= neighbours]
    return [pair for i, k in neighbours for pair in ((i, k), (k, i))]


def broken_level(w: Sequence[Sequence[Any]], alpha: Any, pairs: Pairs) -> Any:
    """By how much some entry falls below alpha times its neighbour's, at most."""
    p, q = (alpha.numerator, alpha.denominator) if isinstance(alpha, Fraction) else (alpha, 1)
    return max((p * x - q * y for i, k in pairs for x, y in zip(w[i], w[k], strict=True)), default=0)


def broken_property(w: Sequence[Sequence[Any]], total: Any, letter: str) -> Any:
    """By how much a property fails, at most; from its definition. Steps outwards one by one decide monotonicity."""
    rows = range(len(w))
    columns = list(zip(*w, strict=True))
    match letter:
        case "RH":
            return max(x - columns[j][j] for j in rows for x in columns[j])
        case "CH":
            return max(x - w[i][i] for i in rows for x in w[i])
        case "RM":
            return max(_outward_rise(columns[j], j) for j in rows)
        case "CM":
            return max(_outward_rise(w[i], i) for i in rows)
        case "F":
            diagonal = [w[i][i] for i in rows]
            return max(diagonal) - min(diagonal)
        case "WH":
            return max(total - len(w) * w[i][i] for i in rows)
    return max(
        abs(x - y) for row, mirror in zip(w, w[::-1], strict=True) for x, y in zip(row, mirror[::-1], strict=True)
    )


def _outward_rise(values: Sequence[Any], centre: int) -> Any:
    """The largest step up on the ways from the centre to both ends."""
    return max((b - a for way in (values[centre:], values[centre::-1]) for a, b in pairwise(way)), default=0)


def exact(target: Any) -> list[list[Fraction]]:
    return [[Fraction(x) for x in row] for row in target]


def apart_at_least(weights: list[list[int]], total: int, target: Any) -> Fraction:
    """The total variation of the worst row, rounded down by less than 2^-180."""
    one = 1 << 200
    worst = 0
    for row, ws in zip(target, weights, strict=True):
        ratios = [x.as_integer_ratio() for x in row]
        worst = max(
            worst,
            sum(abs((w * one) // total - p * one // q) for w, (p, q) in zip(ws, ratios, strict=True)) - 2 * len(ws),
        )
    return Fraction(max(worst, 0), 2 * one)


def expected_distance(rows: int, alpha: Fraction | None, noise: Fraction) -> float:
    """What mending may cost: the noise and the last bits, over the slack of the inner matrix, (1 - alpha)/(16 rows^2)."""
    room = 1 - (Fraction(0) if alpha is None else alpha)
    return float(32 * rows**3 * (noise + Fraction(1, 2**60)) / room)


def judge(
    found: Sealed,
    target: Any,
    alpha: Fraction | None,
    letters: Collection[str] = (),
    neighbours: int | Sequence[tuple[int, int]] = 1,
    noise: Fraction = Fraction(0),
) -> None:
    """Everything that was promised, from the integers."""
    weights, total = found.table.weights.tolist(), found.table.total
    rows, reports = len(target), len(target[0])
    assert (len(weights), {len(row) for row in weights}) == (rows, {reports})
    assert {sum(row) for row in weights} == {total}
    assert 2**62 < total <= 2**63
    assert min(map(min, weights)) >= 0
    if alpha is not None:
        assert broken_level(weights, alpha, near(rows, neighbours)) <= 0
    for letter in letters:
        assert broken_property(weights, total, letter) <= 0, letter
    if letters:
        assert rows == reports
    if "S" not in letters or noise == 0:  # with noise, a report may be impossible on one side alone
        for j in range(reports):
            column, law = [row[j] for row in weights], [row[j] for row in target]
            if not any(law):
                assert not any(column), f"report {j} has become possible"
            elif alpha is not None and isinstance(neighbours, int) and max(law) > Fraction(1, 2**100):
                assert all(column), f"report {j} is impossible somewhere"
    assert apart_at_least(weights, total, target) <= found.distance <= expected_distance(rows, alpha, noise)
    assert found.distance <= 1e-9


def sealed(
    target: Any,
    alpha: Fraction | None,
    letters: Collection[str] = (),
    neighbours: int | Sequence[tuple[int, int]] = 1,
    noise: Fraction = Fraction(0),
) -> Sealed:
    found = seal(target, None if alpha is None else Level(alpha), letters, neighbours)
    judge(found, target, alpha, letters, neighbours, noise)
    return found


def test_the_judge_agrees_with_the_reference():
    """Both ways: on mechanisms that have and that lack each letter."""
    seen = {letter: set() for letter in SEVEN}
    rng = np.random.default_rng(1)
    matrices = [reference.geometric(n, a) for n in (2, 3, 6) for a in LEVELS]
    matrices += [reference.explicit_fair(n, a) for n in (2, 5) for a in LEVELS[:2]]
    matrices += [[row[::-1] for row in reference.explicit_fair(3, LEVELS[1])]]
    matrices += [[[Fraction(int(x), 12) for x in rng.multinomial(12, [0.25] * 4)] for _ in range(4)] for _ in range(40)]
    for m in matrices:
        for letter in SEVEN:
            holds = broken_property(m, 1, letter) <= 0
            seen[letter].add(holds)
            assert holds == (letter in reference.properties(m)), (letter, m)
        tight = reference.tight_alpha(m, 2)
        assert (
            broken_level(m, tight, near(len(m), 2)) <= 0 < broken_level(m, tight + Fraction(1, 10**9), near(len(m), 2))
        )
    assert all(found == {True, False} for found in seen.values())


# Feasible targets


def some_letters(rng: np.random.Generator, among: Collection[str] = SEVEN) -> frozenset[str]:
    """A random set; all of them as often as any other size."""
    names = sorted(among)
    return frozenset(rng.choice(names, size=int(rng.integers(0, len(names) + 1)), replace=False).tolist())


def shares(rng: np.random.Generator, parts: int, finest: int = 1000) -> list[Fraction]:
    cuts = [int(x) for x in rng.integers(0, finest, size=parts)]
    cuts[0] += 1
    return [Fraction(x, sum(cuts)) for x in cuts]


def root_above(alpha: Fraction, degree: int) -> Fraction:
    """A short fraction whose power is at least alpha, and just about."""
    if degree == 1:
        return alpha
    root = Fraction(math.ceil(float(alpha) ** (1 / degree) * 1000) + 1, 1000)
    assert root**degree >= alpha
    return min(root, Fraction(999, 1000))


@cache
def explicit_fair(n: int, a: Fraction) -> Any:
    return np.array(reference.explicit_fair(n, a), dtype=object)


@cache
def uniform(n: int) -> Any:
    return np.array(reference.uniform(n), dtype=object)


@cache
def randomized_response(n: int, a: Fraction) -> Any:
    return np.array(reference.randomized_response(n, a), dtype=object)


@cache
def geometric(n: int, a: Fraction) -> Any:
    return np.array(reference.geometric(n, a), dtype=object)


@cache
def geometric_letters(n: int, a: Fraction) -> frozenset[str]:
    return frozenset(reference.properties(reference.geometric(n, a)))


def uneven(rng: np.random.Generator, n: int, a: Fraction) -> Any:
    """b_j + d at the truth, b_j elsewhere, the b_j as unlike each other as the level lets them be: RM and nothing else.

    The same d for every truth, since rows sum to one; b_j >= a (b_j + d) for the level.
    """
    b = [Fraction(int(x), 1000) for x in rng.integers(100, 1000, size=n + 1)]
    d = min(b) * (1 - a) / a
    return np.array([[x + d * (i == j) for j, x in enumerate(b)] for i in range(n + 1)], dtype=object) / (sum(b) + d)


def mixture(rng: np.random.Generator, n: int, alpha: Fraction, steps: int) -> tuple[Any, frozenset[str]]:
    """A random convex mixture of mechanisms, and the letters all of them have."""
    a = root_above(alpha, steps)
    milder = (a + 1) / 2
    makers: list[Callable[[], tuple[Any, frozenset[str]]]] = [
        lambda: (explicit_fair(n, a), frozenset(SEVEN)),
        lambda: (explicit_fair(n, milder), frozenset(SEVEN)),
        lambda: (uniform(n), frozenset(SEVEN)),
        lambda: (randomized_response(n, alpha), frozenset(SEVEN)),
        lambda: (geometric(n, a), geometric_letters(n, a) if n < 20 else frozenset({"RM", "RH", "S"})),
        lambda: (uneven(rng, n, alpha), frozenset({"RM", "RH"})),
    ]
    fair_only = rng.random() < 0.5
    chosen = rng.choice(4 if fair_only else 6, size=int(rng.integers(1, 4)), replace=False)
    parts = [makers[k]() for k in chosen]
    whole = sum((law * share for (law, _), share in zip(parts, shares(rng, len(parts)), strict=True)), 0)
    return whole, frozenset.intersection(*(letters for _, letters in parts))


def as_floats(target: Any) -> Any:
    return np.array(target, dtype=np.float64)


def spread(rng: np.random.Generator, small: Any, n: int, symmetric: bool) -> Any:
    """A small square mechanism on a gapped set of reports in 0..n: truths in between pass from one row to the next.

    Columns that fall away from their truth keep doing so, and neighbours lie on a segment between neighbours. Truths
    before the first used report have its row, truths after the last one the last row.
    """
    size = len(small)
    used = sorted(int(x) for x in rng.choice(n + 1, size=size, replace=False))
    if symmetric:
        half = sorted(int(x) for x in rng.choice((n + 1) // 2, size=size // 2, replace=False))
        used = [*half, *([n // 2] if size % 2 else []), *(n - u for u in reversed(half))]
    target = np.full((n + 1, n + 1), Fraction(0), dtype=object)
    for i in range(n + 1):
        right = next((k for k, u in enumerate(used) if u >= i), size - 1)
        left = right if used[right] == i or right == 0 or used[-1] < i else right - 1
        gap = used[right] - used[left]
        passed = Fraction(i - used[left], gap) if gap else Fraction(0)
        target[i, used] = (1 - passed) * small[left] + passed * small[right]
    if rng.random() < 0.5 and not symmetric:  # passing in one jump is as private, and as monotone
        for k in range(size - 1):
            turn = int(rng.integers(used[k], used[k + 1]))
            target[used[k] + 1 : turn + 1], target[turn + 1 : used[k + 1]] = target[used[k]], target[used[k + 1]]
    return (target + target[::-1, ::-1]) / 2 if symmetric else target


# (a) Mixtures


@pytest.mark.parametrize("seed", range(examples(20)))
def test_mixtures_are_sealed_with_any_of_their_properties(seed):
    """Small ones; exact and as floats, neighbours one to three steps apart."""
    rng = np.random.default_rng([2, seed])
    for _ in range(100):
        n, steps = int(rng.integers(1, 13)), int(rng.choice([1, 1, 1, 2, 3]))
        alpha = LEVELS[rng.integers(len(LEVELS))]
        target, has = mixture(rng, n, alpha, steps)
        letters = some_letters(rng, has)
        sealed(target, alpha, letters, steps)
        sealed(as_floats(target), alpha, letters, steps, FLOAT_ROUNDING)


@pytest.mark.parametrize("seed", range(examples(20)))
def test_large_mixtures_are_sealed_with_any_of_their_properties(seed):
    rng = np.random.default_rng([3, seed])
    for _ in range(20):
        n, steps = (
            int(rng.choice([30, 31, 41, 47, 64, 100], p=[0.3, 0.3, 0.2, 0.1, 0.07, 0.03])),
            int(rng.integers(1, 4)),
        )
        alpha = LEVELS[rng.integers(len(LEVELS))]
        a = root_above(alpha, steps)
        fair, milder, plain = large_fair(n, a), large_fair(n, (a + 1) / 2), np.full((n + 1, n + 1), 1 / (n + 1))
        response = as_floats(reference.randomized_response(n, alpha))
        both = rng.dirichlet([1, 1, 1, 1])
        target = both[0] * fair + both[1] * milder + both[2] * plain + both[3] * response
        has = set(SEVEN)
        if rng.random() < 0.5:
            share = rng.random()
            target = share * target + (1 - share) * as_floats(uneven(rng, n, alpha))
            has = {"RM", "RH"}
        sealed(target, alpha, some_letters(rng, has), steps, FLOAT_ROUNDING)


@cache
def large_fair(n: int, a: Fraction) -> Any:
    """The explicit fair mechanism in floats."""
    exponents = np.array([[reference.fair_exponent(n, i, j) for j in range(n + 1)] for i in range(n + 1)])
    weights = float(a) ** exponents
    return weights / weights.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("seed", range(4))
def test_any_remap_of_a_private_mechanism_is_sealed(seed):
    """Post-processing keeps the level and no order at all; the remap and its mirror image together keep symmetry."""
    rng = np.random.default_rng([4, seed])
    for _ in range(75):
        n, steps = int(rng.integers(1, 10)), int(rng.integers(1, 3))
        alpha = LEVELS[rng.integers(len(LEVELS))]
        width = n + 1 if rng.random() < 0.6 else int(rng.integers(1, 8))
        remap = np.array([shares(rng, width, 7) for _ in range(n + 1)], dtype=object)
        letters = frozenset({"S"}) if width == n + 1 and rng.random() < 0.5 else frozenset()
        if letters:
            remap = (remap + remap[::-1, ::-1]) / 2
        target = geometric(n, root_above(alpha, steps)).dot(remap)
        sealed(target, alpha, letters, steps)
        if not letters:
            sealed(as_floats(target), alpha, letters, steps, FLOAT_ROUNDING)


# (b) Vertices


def vertex(n: int, alpha: Fraction | None, letters: Collection[str], steps: int, cost: Any) -> Any:
    """A solution of the linear program over all mechanisms with the level and the letters, as the solver leaves it.

    Every constraint from its definition; the solver's own rounding (1e-10 at most) stays in, negative entries become 0.
    """
    size = n + 1
    below: list[tuple[dict[tuple[int, int], float], float]] = []  # sum of coefficient * entry <= bound
    equal: list[tuple[dict[tuple[int, int], float], float]] = []
    places = [(i, j) for i in range(size) for j in range(size)]
    if alpha is not None:
        below += [({(i, j): float(alpha), (k, j): -1.0}, 0.0) for i, k in near(size, steps) for j in range(size)]
    for i, j in places:
        equal += [({(i, k): 1.0 for k in range(size)}, 1.0)] if j == 0 else []
        if i != j:
            outwards = 1 if i > j else -1
            below += [({(i, j): 1.0, (j, j): -1.0}, 0.0)] if "RH" in letters else []
            below += [({(i, j): 1.0, (i, i): -1.0}, 0.0)] if "CH" in letters else []
            below += [({(i, j): 1.0, (i - outwards, j): -1.0}, 0.0)] if "RM" in letters else []
            below += [({(i, j): 1.0, (i, j + outwards): -1.0}, 0.0)] if "CM" in letters else []
        elif "WH" in letters:
            below += [({(i, i): -1.0}, -1 / size)]
        if i == j > 0 and "F" in letters:
            equal += [({(i, i): 1.0, (0, 0): -1.0}, 0.0)]
        if (i, j) < (n - i, n - j) and "S" in letters:
            equal += [({(i, j): 1.0, (n - i, n - j): -1.0}, 0.0)]
    a_ub, b_ub = _sparse(below, size)
    a_eq, b_eq = _sparse(equal, size)
    tolerances = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
    found = optimize.linprog(
        np.asarray(cost).ravel(), a_ub, b_ub, a_eq, b_eq, bounds=(0, 1), method="highs", options=tolerances
    )
    assert found.status == 0
    return np.maximum(found.x, 0).reshape(size, size)


def _sparse(conditions: list[tuple[dict[tuple[int, int], float], float]], size: int) -> tuple[Any, Any]:
    if not conditions:
        return None, None
    entries = [(k, i * size + j, x) for k, (terms, _) in enumerate(conditions) for (i, j), x in terms.items()]
    rows, columns, values = zip(*entries, strict=True)
    return sparse.csr_array((values, (rows, columns)), shape=(len(conditions), size**2)), [b for _, b in conditions]


def noise_of(target: Any, alpha: Fraction | None, letters: Collection[str], steps: int) -> Fraction:
    """By how much a target breaks what it should hold, at most, row sums included; and one rounding of a float."""
    m = exact(target)
    found = [abs(sum(row) - 1) for row in m] + [broken_property(m, 1, letter) for letter in letters]
    if alpha is not None:
        found.append(broken_level(m, alpha, near(len(m), steps)) / alpha.denominator)
    return max(*found, Fraction(1, 2**53))


@pytest.mark.parametrize("seed", range(examples(24)))
def test_vertices_are_sealed(seed):
    """Solutions of linear programs lie on as many constraints as there can be, each broken a little or not at all."""
    rng = np.random.default_rng([5, seed])
    for _ in range(30):
        n, steps = int(rng.integers(1, 9)), int(rng.choice([1, 1, 2, 3]))
        alpha = LEVELS[rng.integers(len(LEVELS))] if rng.random() < 0.95 else None
        letters = some_letters(rng)
        target = vertex(n, alpha, letters, steps, rng.normal(size=(n + 1, n + 1)))
        noise = noise_of(target, alpha, letters, steps)
        assert noise < 1e-9
        found = seal(target, None if alpha is None else Level(alpha), letters, steps)
        judge(found, target, alpha, letters, steps, noise)


@pytest.mark.parametrize("letters", [(), ("RM",), ("RH",), ("S",), ("RM", "S")], ids="".join)
@pytest.mark.parametrize("p", [1, 2])
def test_optimal_mechanisms_with_unused_reports_are_sealed(p, letters):
    """Least mean loss often leaves reports out; those stay out, to the last bit."""
    gapped = 0
    for n in range(2, 9):
        for alpha in LEVELS:
            prior = np.random.default_rng([6, n, p]).dirichlet(np.ones(n + 1)) if "S" not in letters else np.ones(n + 1)
            cost = [[prior[i] * reference.loss(p, i, j) for j in range(n + 1)] for i in range(n + 1)]
            target = vertex(n, alpha, letters, 1, cost)
            gapped += not target.any(axis=0).all()
            noise = noise_of(target, alpha, letters, 1)
            judge(seal(target, Level(alpha), letters), target, alpha, letters, 1, noise)
    assert gapped >= 5


@pytest.mark.parametrize("size", [1e-12, 1e-11])
def test_noise_of_solvers_is_mended(size):
    """A feasible target moved at random, entry by entry, by up to 1e-12 or 1e-11; ties fall apart on both sides."""
    rng = np.random.default_rng([7, round(-math.log10(size))])
    for _ in range(150):
        n, steps = int(rng.integers(1, 9)), int(rng.integers(1, 3))
        alpha = LEVELS[rng.integers(5)]
        target, has = mixture(rng, n, alpha, steps)
        letters = some_letters(rng, has)
        moved = np.maximum(as_floats(target) + rng.uniform(-size, size, size=(n + 1, n + 1)), 0)
        found = seal(moved, Level(alpha), letters, steps, within=Fraction(1, 10**6))
        weights, total = found.table.weights.tolist(), found.table.total
        assert broken_level(weights, alpha, near(n + 1, steps)) <= 0
        assert all(broken_property(weights, total, letter) <= 0 for letter in letters)
        assert apart_at_least(weights, total, moved) <= found.distance
        assert found.distance <= expected_distance(n + 1, alpha, Fraction(size) * 4)


# (c) Exact fractions


@pytest.mark.parametrize("alpha", [Fraction(899_999_999, 10**9), Fraction(2, 3) + Fraction(1, 10**9)])
def test_the_fair_mechanism_of_eight_values_keeps_its_ties(alpha):
    """Mixing in some of the uniform mechanism, rounding down and giving the rest to the largest loses S and CM."""
    target, total, share = reference.explicit_fair(7, alpha), 2**63, Fraction(1, 10**12)
    plain = [[int(((1 - share) * x + share / 8) * total) for x in row] for row in target]
    for i, row in enumerate(plain):
        largest = max((j for j in range(8) if j != i), key=row.__getitem__)
        row[largest] += total - sum(row)
    assert {letter for letter in SEVEN if broken_property(plain, total, letter) > 0} == {"S", "CM"}
    found = sealed(target, alpha, SEVEN)
    assert 0 < found.distance < 1e-15  # its fractions are too long to be kept


def test_the_fair_mechanism_is_sealed_at_every_size():
    for n in (*range(1, 12), 16, 25):
        for alpha in (Fraction(333_333_331, 10**9), Fraction(9, 10), Fraction(998_999_999, 10**9)):
            assert sealed(reference.explicit_fair(n, alpha), alpha, SEVEN).distance < 1e-12


def test_fractions_with_huge_denominators_are_sealed():
    rng = np.random.default_rng(8)
    for _ in range(60):
        n = int(rng.integers(1, 8))
        alpha = Fraction(int.from_bytes(rng.bytes(60)), 2**480 + int.from_bytes(rng.bytes(59)))
        part, has = mixture(rng, n, alpha, 1)
        target = (part + explicit_fair(n, alpha)) / 2
        assert max(x.denominator for x in target.ravel()) > 2**400
        sealed(target, alpha, some_letters(rng, has))


def test_what_fits_is_kept_as_it_is():
    """A small common denominator: not one bit is moved, ties with the level itself included."""
    for n, alpha in ((2, Fraction(1, 2)), (4, Fraction(1, 2)), (3, Fraction(1, 3)), (5, Fraction(2, 3))):
        target = reference.geometric(n, alpha)
        found = sealed(target, alpha, {"RM", "RH", "S"})
        assert found.distance == 0
        assert [[Fraction(w, found.table.total) for w in row] for row in found.table.weights.tolist()] == target


# (d) Unused reports


@pytest.mark.parametrize("seed", range(examples(20)))
def test_unused_reports_stay_unused(seed):
    rng = np.random.default_rng([9, seed])
    for _ in range(60):
        size, symmetric = int(rng.integers(1, 7)), bool(rng.random() < 0.4)
        n = int(rng.integers(max(size, 2), 25)) if rng.random() < 0.9 else int(rng.integers(30, 60))
        n += symmetric and size % 2 and n % 2  # a middle report needs a middle
        alpha = LEVELS[rng.integers(len(LEVELS))]
        small = mixture(rng, size - 1, alpha, 1)[0] if size > 1 else np.array([[Fraction(1)]], dtype=object)
        target = spread(rng, small, n, symmetric)
        letters = some_letters(rng, {"RM", "RH", "S"} if symmetric else {"RM", "RH"})
        sealed(target, alpha, letters)
        sealed(as_floats(target), alpha, letters, 1, FLOAT_ROUNDING)


def test_a_report_far_rarer_than_one_unit_stays_possible():
    """2^-90 is no weight over 2^63, and yet not nothing."""
    rare = Fraction(1, 2**90)
    for target in ([[1 - rare, rare]] * 2, [[1 - rare, rare, Fraction(0)], [1 - rare / 2, rare / 2, Fraction(0)]]):
        found = sealed(target, Fraction(1, 2))
        assert found.table.weights[:, 1].all()
        assert found.distance < 1e-17


def test_one_report_for_every_truth_is_sealed():
    """Also when floats do not quite say so."""
    for n in (1, 2, 5, 40):
        for only in {0, n // 2, n}:
            for value in (1.0, 1 - 2**-53, 1 + 2**-40, "0.9999999999"):
                target = [[value if j == only else 0 for j in range(n + 1)] for _ in range(n + 1)]
                letters = {"RM", "RH", "S"} if 2 * only == n else {"RM", "RH"}
                found = seal(target, Level(1 - Fraction(1, 10**6)), letters)
                assert found.table.weights[:, only].tolist() == [found.table.total] * (n + 1)


def test_merged_reports_of_the_geometric_mechanism_are_sealed():
    """Blocks of three reports become their middle one, the ends what lies beyond: monotone, and two thirds unused."""
    for n in (5, 8, 20, 35):
        for alpha in LEVELS:
            target = np.full((n + 1, n + 1), Fraction(0), dtype=object)
            whole = geometric(n, alpha)
            for j in range(n + 1):
                target[:, 0 if j < 3 else n if j > n - 3 else j - j % 3 + 1] += whole[:, j]
            sealed(target, alpha, {"RM", "RH", "S"})
            sealed(as_floats(target), alpha, {"RM", "RH", "S"}, 1, FLOAT_ROUNDING)
            sealed(target, alpha)


def test_a_report_that_rounding_made_possible_on_one_side_only_is_mended_on_both():
    """Symmetry is broken by 1e-13, and one of two mirrored reports is exactly impossible: within reach, so sealed."""
    tiny = Fraction(1, 10**13)
    columns = [[tiny / 2**i for i in range(4)], None, None, [Fraction(0)] * 4]
    target = [
        [columns[0][i], (1 - columns[0][i]) / 2, (1 - columns[0][i]) / 2, columns[3][i]] for i in range(4)
    ]  # the level is tight in the first column
    for letters in ({"S"}, {"S", "RH"}, {"S", "RM"}):
        m = target if "RM" not in letters else [[tiny, Fraction(1, 2) - tiny, Fraction(1, 2), Fraction(0)]] * 4
        found = seal(m, Level(Fraction(1, 2)), letters)
        judge(found, m, Fraction(1, 2), letters, 1, tiny)


def test_without_a_level_and_properties_what_is_impossible_stays_so():
    """Nothing is asked, so nothing is mixed in: a zero is a zero, entry by entry, and the claim stays honest."""
    target = [[0.1, 0.2, 0.7, 0.0], [0.3, 0.6, 0.0, 0.1], [0.0, 0.1, 0.2, 0.7]]
    assert any(sum(exact([row])[0]) != 1 for row in target)
    found = sealed(target, None, noise=FLOAT_ROUNDING)
    assert [[w == 0 for w in row] for row in found.table.weights.tolist()] == [[x == 0 for x in row] for row in target]


def test_fairness_where_a_report_is_never_used_is_refused_or_kept():
    """Then no truth is ever reported. In small fractions it is kept; else there is no room to round."""
    kept = seal([[0, 0, 1], ["1/4", 0, "3/4"], [1, 0, 0]], None, {"F"})
    assert not kept.table.weights[:, 1].any()
    odd = Fraction(1, 3) + Fraction(1, 10**30)
    with pytest.raises(DiscreetError):
        seal([[0, 0, 1], [odd, 0, 1 - odd], [1, 0, 0]], None, {"F"})
    for letters in ({"F"}, {"F", "RM"}, {"F", "RH", "S"}):
        with pytest.raises(StructureError, match=r"does not have (F|S) "):
            seal([[0, 0, 1]] * 3, Level(Fraction(1, 2)), letters)


# (e) Sensitivities and graphs


@pytest.mark.parametrize("seed", range(3))
def test_neighbours_as_a_list_of_pairs(seed):
    """Laws at the end points of a graph's edges differ by the level; far rows may be as unlike as they come."""
    rng = np.random.default_rng([10, seed])
    for _ in range(80):
        n = int(rng.integers(2, 10))
        alpha = LEVELS[rng.integers(len(LEVELS))]
        order = [int(x) for x in rng.permutation(n + 1)]
        edges = [(order[k], order[k + 1]) for k in range(n) if rng.random() < 0.8] or [(order[0], order[1])]
        chain = geometric(n, alpha)
        target = np.empty_like(chain)
        for k, i in enumerate(order):
            target[i] = chain[k]
        if len(edges) == n and n > 2 and order not in (list(range(n + 1)), list(range(n, -1, -1))):
            with pytest.raises(PrivacyError):  # along the line the same matrix is less private: the graph matters
                seal(target, Level(alpha), (), 1)
        sealed(target, alpha, (), edges)
        fair = explicit_fair(n, alpha)
        sealed(fair, alpha, some_letters(rng), [(i, i + 1) for i in range(n) if rng.random() < 0.7] or [(1, 0)])


def test_a_pair_is_compared_both_ways():
    """Tight in one direction only, and the pair given in either order."""
    rng = np.random.default_rng(13)
    for _ in range(40):
        alpha = Fraction(int(rng.integers(800_000_000, 950_000_000)), 999_999_937)
        half, low = Fraction(1, 2), alpha / 2
        target = [[half, half / 2, half / 2], [low, (1 - low) / 2, (1 - low) / 2], [half, half / 2, half / 2]]
        tight = [target[1][0] / target[0][0], target[0][1] / target[1][1]]
        assert tight[0] == alpha < tight[1]
        for pairs in ([(0, 1)], [(1, 0)], [(1, 2)], [(2, 1), (0, 1)]):
            sealed([[*row] for row in target], alpha, (), pairs)
            sealed(as_floats(target), alpha, (), pairs, FLOAT_ROUNDING)


def test_neighbours_at_any_distance():
    """Randomised response has its level between any two truths; sensitivities beyond the grid are its length."""
    for n in (1, 2, 5, 30):
        target = reference.randomized_response(n, Fraction(9, 10))
        for steps in (1, 2, n, n + 3):
            found = seal(as_floats(target), Level(Fraction(9, 10)), SEVEN, steps)
            judge(found, as_floats(target), Fraction(9, 10), SEVEN, min(steps, n), FLOAT_ROUNDING)


# (f) Extreme levels


def extremes() -> Iterator[Fraction]:
    for k in (6, 9, 12, 14, 15, 16, 17, 18, 19, 20, 25, 30, 45, 60, 100):
        yield Fraction(1, 10**k)
        yield 1 - Fraction(1, 10**k)


@pytest.mark.parametrize("make", [reference.explicit_fair, reference.randomized_response, reference.geometric])
def test_extreme_levels_are_sealed_or_refused_with_a_sentence(make):
    told = {}
    for n in (1, 2, 5, 12):
        for alpha in extremes():
            target = make(n, alpha)
            letters = SEVEN if make is not reference.geometric else ("RM", "RH", "S")
            for m, noise in ((target, Fraction(0)), (as_floats(target), FLOAT_ROUNDING)):
                try:
                    found = seal(m, Level(alpha), letters)
                except (SealError, PrivacyError, StructureError) as error:
                    told[n, alpha, noise] = str(error)
                else:
                    weights, total = found.table.weights.tolist(), found.table.total
                    assert broken_level(weights, alpha, near(n + 1, 1)) <= 0
                    assert all(broken_property(weights, total, letter) <= 0 for letter in letters)
                    assert apart_at_least(weights, total, m) <= found.distance <= 1e-9
    assert all(text.endswith(".") and ";" in text for text in told.values())
    for (n, alpha, noise), text in told.items():
        assert alpha > 1 - Fraction(1, 10**6), (n, alpha)  # close to 0 there is always room
        if make is not reference.geometric:  # which is far from uniform, so that a share of uniform costs more
            assert noise or alpha > 1 - Fraction(1, 10**14), (n, alpha)
        assert noise or "no room" in text, (n, alpha, text)  # an exact target breaks nothing, and is not told so
    assert {noise for _, _, noise in told} == {Fraction(0), FLOAT_ROUNDING}


def test_a_millionth_from_both_ends():
    for alpha in (Fraction(1, 10**6), 1 - Fraction(1, 10**6)):
        for n in (1, 2, 7, 12, 40):
            sealed(
                reference.explicit_fair(n, alpha) if n < 20 else large_fair(n, alpha), alpha, SEVEN, 1, FLOAT_ROUNDING
            )


# Refusals


def moved(n: int, changes: dict[tuple[int, int], Fraction]) -> list[list[Fraction]]:
    """The uniform mechanism with some entries moved."""
    return [[Fraction(1, n + 1) + changes.get((i, j), Fraction(0)) for j in range(n + 1)] for i in range(n + 1)]


LITTLE = Fraction(1, 10**6)
ONE_FAULT = {
    "RH": moved(4, {(1, 3): LITTLE, (1, 0): -LITTLE}),
    "RM": moved(4, {(1, 3): LITTLE, (1, 0): -LITTLE}),
    "CH": moved(4, {(1, 3): LITTLE, (1, 0): -LITTLE}),
    "CM": moved(4, {(1, 3): LITTLE, (1, 0): -LITTLE}),
    "F": moved(4, {(2, 2): LITTLE, (2, 1): -LITTLE / 2, (2, 3): -LITTLE / 2}),
    "WH": moved(4, {(2, 2): -LITTLE, (2, 1): LITTLE / 2, (2, 3): LITTLE / 2}),
    "S": moved(4, {(1, 3): LITTLE, (1, 0): -LITTLE}),
}


def compares(letter: str, n: int, low: tuple[int, int], high: tuple[int, int]) -> bool:
    """Is the entry at low, by the definition of the letter, never below the entry at high?"""
    (i, j), (k, m) = low, high
    match letter:
        case "RH":
            return i == j == m
        case "CH":
            return i == j == k
        case "RM":
            return j == m and (j <= i <= k or k <= i <= j)
        case "CM":
            return i == k and (i <= j <= m or m <= j <= i)
        case "F":
            return i == j and k == m
    return letter == "S" and (k, m) == (n - i, n - j)


@pytest.mark.parametrize("as_given", [list, as_floats], ids=["exact", "floats"])
@pytest.mark.parametrize("letter", SEVEN)
def test_a_property_broken_by_a_millionth_is_refused_with_the_entries_that_show_it(letter, as_given):
    target = ONE_FAULT[letter]
    with pytest.raises(StructureError, match=rf"does not have {letter} \(.*leave {letter} out") as caught:
        seal(as_given(target), Level(Fraction(1, 2)), {letter})
    fault = caught.value.fault
    low = target[fault.low[0]][fault.low[1]]
    assert f"row {fault.low[0]}, column {fault.low[1]} is {float(low):.9g}" in str(caught.value)
    if letter == "WH":
        assert fault.high is None
        assert fault.low[0] == fault.low[1]
        assert low <= Fraction(1, 5) - LITTLE
    else:
        assert compares(letter, 4, fault.low, fault.high)
        assert low <= target[fault.high[0]][fault.high[1]] - LITTLE / 2
    sealed(target, Fraction(1, 2))  # the letter alone was the reason


def test_the_property_that_is_named_was_asked_for():
    """Two steps up break honesty by more than monotonicity: who asked for monotonicity alone is not told of another."""
    target = [["0.2", "0.4", "0.4"], ["0.3", "0.35", "0.35"], ["0.4", "0.3", "0.3"]]
    for letter, m in (("RM", target), ("CM", [["0.2", "0.3", "0.5"], ["0.3", "0.4", "0.3"], ["0.2", "0.3", "0.5"]])):
        with pytest.raises(StructureError, match=f"does not have {letter} .*leave {letter} out") as caught:
            seal(m, None, {letter})
        assert compares(letter, 2, caught.value.fault.low, caught.value.fault.high)


@pytest.mark.parametrize("neighbours", [1, 2, [(0, 1), (2, 1)]], ids=["1", "2", "pairs"])
def test_a_level_broken_by_a_millionth_is_refused_with_the_pair_that_shows_it(neighbours):
    a = Fraction(9, 10)
    tight = a**2 if neighbours == 2 else a
    target = reference.geometric(5, a)
    for m in (target, as_floats(target)):
        with pytest.raises(PrivacyError, match=r"not private at alpha .*ask for epsilon [0-9.]+ or more") as caught:
            seal(m, Level(tight + LITTLE), (), neighbours)
        witness = caught.value.witness
        assert (witness.first, witness.second) in near(6, neighbours)
        above, below = (Fraction(m[i][witness.report]) for i in (witness.first, witness.second))
        assert below < (tight + LITTLE) * above
        assert float(witness.alpha) == pytest.approx(float(tight), rel=1e-12)
        judge(seal(m, Level(witness.alpha), (), neighbours), m, witness.alpha, (), neighbours, FLOAT_ROUNDING)


def test_a_zero_beside_what_is_possible_is_refused():
    """Beside a probability that matters; beside one of 1e-12, or between truths that are no neighbours, it is not."""
    target = [["1/2", "1/2", 0], ["1/4", "1/2", "1/4"], ["1/4", "1/4", "1/2"]]
    with pytest.raises(
        PrivacyError, match=r"row 1, column 2 is 0.25, but row 0, column 2 is 0; no epsilon holds"
    ) as caught:
        seal(target, Level(Fraction(1, 1000)))
    witness = caught.value.witness
    assert (witness.first, witness.second, witness.report, witness.alpha) == (1, 0, 2, 0)
    seal(target, Level(Fraction(1, 2)), (), [(1, 2)])
    small = [
        [Fraction(1, 2), Fraction(1, 2), 0],
        [Fraction(1, 2), Fraction(1, 2) - Fraction(1, 10**12), Fraction(1, 10**12)],
    ]
    sealed(small, Fraction(1, 2), noise=Fraction(1, 10**12))


def test_of_several_faults_the_largest_is_named():
    target = moved(4, {(1, 3): LITTLE, (1, 0): -LITTLE, (2, 2): -50 * LITTLE, (2, 1): 50 * LITTLE})
    with pytest.raises(StructureError, match="does not have WH"):
        seal(target, Level(Fraction(1, 2)), {"S", "WH"})
    with pytest.raises(PrivacyError):
        seal([["0.9", "0.1"], ["0.100001", "0.899999"]], Level(Fraction(1, 2)), {"S"})


def test_no_target_is_moved_farther_than_allowed():
    rng = np.random.default_rng(11)
    target = as_floats(reference.explicit_fair(6, Fraction(2, 3)))
    target += rng.uniform(-1e-11, 1e-11, size=target.shape)
    distance = seal(target, Level(Fraction(2, 3)), SEVEN).distance
    assert 1e-12 < distance <= 1e-9
    for factor, accepted in ((Fraction(101, 100), True), (Fraction(99, 100), False)):
        within = Fraction(distance) * factor
        if accepted:
            assert seal(target, Level(Fraction(2, 3)), SEVEN, within=within).distance == distance
        else:
            with pytest.raises(StructureError):
                seal(target, Level(Fraction(2, 3)), SEVEN, within=within)
    exactly = reference.explicit_fair(7, Fraction(899_999_999, 10**9))
    with pytest.raises(SealError, match="no room"):
        seal(exactly, Level(Fraction(899_999_999, 10**9)), SEVEN, within=Fraction(1, 10**30))


BAD: dict[str, tuple[Any, str]] = {
    "NaN": ([[0.5, 0.5], [float("nan"), 0.5]], r"Row 1, column 0 .*nan.*not a probability"),
    "infinite": ([[0.5, float("inf")], [0.5, 0.5]], r"Row 0, column 1 .*inf.*not a probability"),
    "negative": ([[0.5, 0.5], ["-1/4", "5/4"]], r"Row 1, column 0 .*-1/4.*not a probability"),
    "negative by rounding": ([[1.0, 0.0], [1 + 1e-17, -1e-17]], r"Row 1, column 1 .*not a probability"),
    "text": ([["a half", "1/2"], ["1/2", "1/2"]], r"Row 0, column 0 .*a half.*not a probability"),
    "nothing": ([[0.5, None], [0.5, 0.5]], r"Row 0, column 1 .*None.*not a probability"),
    "truth values": ([[True, False], [False, True]], r"Row 0, column 0 .*True.*not a probability"),
    "ragged": ([[0.5, 0.5], [1.0]], "all of one length"),
    "one row": ([[0.5, 0.5]], "at least 2 rows"),
    "no columns": ([[], []], "at least 2 rows"),
    "a vector": ([0.5, 0.5], "a list of at least 2 rows"),
    "a number": (0.5, "a list of at least 2 rows"),
    "low sum": ([[0.5, 0.5], [0.5, 0.499999]], "Row 1 of the matrix sums to 0.999999;"),
    "high sum": ([["1/2", "1/2"], ["1/2", "0.500001"]], "Row 1 of the matrix sums to 1.000001;"),
    "beyond floats": ([[10**400, 0], [0, 1]], "Row 0"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_no_matrix_of_probabilities_is_refused(name):
    target, text = BAD[name]
    with pytest.raises(SealError, match=text):
        seal(target, Level(Fraction(1, 2)))


def test_a_row_that_sums_to_one_up_to_rounding_is_made_whole():
    found = sealed(exact([["0.5", "0.4999999999"], ["0.5000000001", "0.5"]]), Fraction(1, 2), noise=Fraction(1, 10**10))
    assert 1e-11 < found.distance < 1e-9


def test_what_seal_cannot_be_asked_is_refused():
    with pytest.raises(StructureError, match=r"'XX' is none of the seven properties; use RH, RM, CH, CM, F, WH, S"):
        seal([[0.5, 0.5], [0.5, 0.5]], None, {"RM", "XX"})
    with pytest.raises(StructureError, match="3 and 2 of them; require none, or give a square matrix"):
        seal([[0.5, 0.25, 0.25], [0.25, 0.25, 0.5]], None, {"S"})
    sealed([[0.5, 0.25, 0.25], [0.25, 0.25, 0.5]], Fraction(1, 2))
    with pytest.raises(SizeError, match=r"at most 2\^20 weights, not 1025 x 1024"):
        seal(np.full((1025, 1024), 1 / 1024), Level(Fraction(1, 2)))
    with pytest.raises(SizeError, match=r"not 2 x 524289"):
        seal(np.zeros((2, 2**19 + 1)), None)


def test_the_integers_are_checked_whatever_made_them(monkeypatch):
    """A fault in the rounding itself ends in an error and in no table: here one unit, moved beside where it belongs."""
    whole = sealing._whole

    def astray(*given: Any) -> Any:
        weights = whole(*given)
        weights[2, 0] -= 1
        weights[2, 1] += 1
        return weights

    target = as_floats(reference.explicit_fair(6, Fraction(2, 3)))
    sealed(target, Fraction(2, 3), SEVEN, 1, FLOAT_ROUNDING)
    monkeypatch.setattr(sealing, "_whole", astray)
    with pytest.raises(AssertionError, match="must hold what was asked"):
        seal(target, Level(Fraction(2, 3)), SEVEN)


def test_random_matrices_are_sealed_only_when_what_they_break_is_tiny():
    """Arbitrary input: an answer that the judge accepts, or one of three errors; most of it must be refused."""
    rng = np.random.default_rng(12)
    outcomes: dict[str, int] = {}
    makes: list[Callable[[int], Any]] = [
        lambda n: rng.dirichlet(np.ones(n + 1), size=n + 1),
        lambda n: rng.dirichlet(np.full(n + 1, 0.2), size=n + 1).round(2),
        lambda n: rng.multinomial(16, np.full(n + 1, 1 / (n + 1)), size=n + 1) / 16,
        lambda n: as_floats(geometric(n, Fraction(1, 2))) * rng.integers(0, 2, size=n + 1),
    ]
    for _ in range(400):
        n = int(rng.integers(1, 6))
        target = makes[rng.integers(len(makes))](n)
        target = target / np.maximum(target.sum(axis=1, keepdims=True), 1e-300)
        alpha = LEVELS[rng.integers(len(LEVELS))] if rng.random() < 0.5 else None
        letters = some_letters(rng)
        try:
            found = seal(target, None if alpha is None else Level(alpha), letters)
        except (SealError, PrivacyError, StructureError) as error:
            outcome = type(error).__name__
        else:
            outcome = "sealed"
            judge(found, target, alpha, letters, 1, Fraction(1, 10**9))
            assert noise_of(target, alpha, letters, 1) < 1e-8
        outcomes[outcome] = outcomes.get(outcome, 0) + 1
    assert outcomes["sealed"] > 20
    assert outcomes["PrivacyError"] > 20
    assert outcomes["StructureError"] > 100


# The two helpers whose every entry matters


@for_each("by_truth, by_report", [(True, False), (False, True), (True, True), (False, False)])
@for_each("size", range(1, 8))
def test_entries_are_raised_to_all_that_lie_farther_from_the_diagonal(size, by_truth, by_report):
    """Each becomes the largest of the corner beyond it, by definition; the last row and column too.

    A longer range of places changes nothing, since what lies beyond the matrix is left out; a shorter one is seen here.
    """
    r = random.Random(size)
    for _ in range(20):
        given = np.array([[r.randrange(100) for _ in range(size)] for _ in range(size)], dtype=object)
        raised = given.copy()
        sealing._raise_nearer(raised, by_truth, by_report)
        for i, j in itertools.product(range(size), repeat=2):
            truths = range(i + 1) if i < j else range(i, size)
            reports = range(j, size) if i < j else range(j + 1)
            beyond = [given[k, x] for k in (truths if by_truth else [i]) for x in (reports if by_report else [j])]
            assert raised[i, j] == (given[i, j] if i == j else max(beyond)), (i, j)


@pytest.mark.parametrize("used", [[1, 4], [2, 3, 7], [0, 5], [3], [0, 8], [4, 8], [0, 1, 2, 3, 4, 5, 6, 7, 8]], ids=str)
def test_truths_between_two_reports_pass_from_one_to_the_other_in_proportion(used):
    """The extra weight of truth i, between the reports l < i < r: (i - l)/(r - l) of it at r, the rest at l.

    Where there is no such pair it all stands at the one report; the clamps of `passed` are for that case alone, where
    what they give is overwritten.
    """
    alpha, size = Fraction(1, 3), 9
    found = sealing._inner((size, size), np.array(used), frozenset({"RM"}), alpha)
    extra = int((1 - alpha) * sealing._ONE / (4 * (len(used) + 1)))
    plain = (sealing._ONE - extra) // len(used)
    for i in range(size):
        low, high = (
            max((u for u in used if u <= i), default=used[0]),
            min((u for u in used if u >= i), default=used[-1]),
        )
        expected = dict.fromkeys(used, plain)
        if low == high or i < used[0] or i > used[-1]:
            expected[used[0] if i < used[0] else used[-1] if i > used[-1] else i] += extra
        else:
            expected[high] += extra * (i - low) // (high - low)
            expected[low] += extra * (high - i) // (high - low)
        assert {j: int(w) for j, w in enumerate(found[i]) if w} == expected


def test_a_target_is_moved_by_a_billionth_and_no_more():
    """Symmetry moves the first row half of what it is off: a billionth or less is taken, more is refused unless it is allowed."""
    half = Fraction(1, 2)

    def off(by: Fraction) -> list[list[Fraction]]:
        return [[half + by, half - by], [half, half]]

    billionth = Fraction(1, 10**9)
    assert 0.95e-9 < seal(off(Fraction(19, 10) * billionth), None, "S").distance <= 1e-9
    for target in (off(Fraction(21, 10) * billionth), off(Fraction(39, 10) * billionth)):
        with pytest.raises(StructureError, match="does not have S"):
            seal(target, None, "S")
        assert seal(target, None, "S", within=2 * billionth).distance > 1e-9


def test_floats_in_fixed_point_are_rounded_down_however_small():
    """Also below 2^-107, where a mantissa of 53 bits reaches beyond the last bit of the fixed point."""
    floats = [0.0, 1.0, 0.1, 1 / 3, *(2.0**-k for k in range(1, 175)), *(0.7 * 2.0**-k for k in range(90, 175))]
    found = sealing._fixed(np.array([floats])).ravel().tolist()
    assert found == [math.floor(Fraction(x) * 2**160) for x in floats]
