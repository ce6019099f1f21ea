"""Cascades: every formula in two independent ways, every coalition at n = 6, and draws that follow the law."""

from __future__ import annotations

import copy
import math
import pickle
from fractions import Fraction
from itertools import combinations, pairwise, product

import numpy as np
import pandas
import polars
import pyarrow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2

import discreet as dt
from discreet.channels import Geometric
from discreet.errors import GridError, LevelError, OutOfRangeError, SizeError, SourceError, TableError
from discreet.randomness.source import Source, simulation
from discreet.sharing.cascades import step
from tests import reference
from tests.profiles import examples

LEVELS = [Fraction(1, 10), Fraction(3, 10), Fraction(1, 2), Fraction(4, 5)]
TINY = Fraction(1, 10**7)  # the false-alarm rate of each statistical test


def closed_form(n: int, a: Fraction, b: Fraction) -> reference.Matrix:
    """T_{a,b} entry by entry, as Gupte and Sundararajan's remap works out."""

    def entry(k: int, r: int) -> Fraction:
        w = 1 / (1 + b) if r in (0, n) else (1 - b) / (1 + b)
        if k in (0, n):
            return w * (1 - a * b) / (1 - a) if k == r else w * b ** (abs(k - r) - 1) * (b - a) / (1 - a)
        if k == r:
            return w * (1 + a * a - 2 * a * b) / (1 - a) ** 2
        return w * b ** (abs(k - r) - 1) * (b - a) * (1 - a * b) / (1 - a) ** 2

    return [[entry(k, r) for r in range(n + 1)] for k in range(n + 1)]


def exact(channel) -> reference.Matrix:
    weights, total = channel.integers()
    return [[Fraction(int(w), total) for w in row] for row in weights.tolist()]


levels = st.fractions(Fraction(1, 50), Fraction(49, 50), max_denominator=60)


@settings(max_examples=examples(60))
@given(st.integers(1, 7), levels, levels, levels)
def test_a_step_is_the_remap_between_two_levels_in_four_ways(n, a, b, c):
    """Keep or draw anew; the closed form; the inverse times the next mechanism; and G_a T = G_b. It is a law iff a <= b."""
    form = closed_form(n, a, b)
    assert form == reference.multiply(reference.geometric_inverse(n, a), reference.geometric(n, b))
    assert all(sum(row) == 1 for row in form)
    assert (min(min(row) for row in form) >= 0) == (a <= b)
    if a < b:
        assert exact(step(n, a, b)) == form
        assert reference.multiply(reference.geometric(n, a), exact(step(n, a, b))) == reference.geometric(n, b)
    elif b < a:
        with pytest.raises(TableError):
            step(n, a, b)
    assert reference.multiply(form, closed_form(n, b, c)) == closed_form(n, a, c)


def joint_by_hand(n: int, alphas: list[Fraction], members: tuple[int, ...]) -> dict[tuple[int, ...], Fraction]:
    """Every path of the cascade, one after the other: the chance of (truth, members' reports)."""
    first, steps = reference.geometric(n, alphas[0]), [closed_form(n, a, b) for a, b in pairwise(alphas)]
    law: dict[tuple[int, ...], Fraction] = {}
    for truth, *path in product(range(n + 1), repeat=len(alphas) + 1):
        chance = first[truth][path[0]] * math.prod(t[x][y] for t, (x, y) in zip(steps, pairwise(path), strict=True))
        key = (truth, *(path[k] for k in members))
        law[key] = law.get(key, Fraction(0)) + chance
    return law


def tight_by_hand(law: dict[tuple[int, ...], Fraction], distance: int = 1) -> Fraction:
    return min(
        law[other, *key[1:]] / p
        for key, p in law.items()
        for other in range(key[0] - distance, key[0] + distance + 1)
        if (other, *key[1:]) in law
    )


@pytest.mark.parametrize("members", [m for k in (1, 2, 3) for m in combinations(range(3), k)])
def test_every_coalition_is_as_private_as_its_least_private_member(members):
    alphas = LEVELS[1:]
    c = dt.sharing.cascade(alphas, 6)
    law = joint_by_hand(6, alphas, members)
    joint, verdict = c.joint([alphas[k] for k in members]), c.coalition([alphas[k] for k in members])
    assert {key: joint[key] for key in law} == law
    assert joint.size == len(law)
    assert tight_by_hand(law) == verdict.tight == alphas[members[0]]
    assert (verdict.holds, verdict.exact, verdict.measured) == (True, True, True)
    for k, member in enumerate(members):
        others = tuple(axis + 1 for axis in range(len(members)) if axis != k)
        marginal = joint.sum(axis=others) if others else joint
        assert marginal.tolist() == reference.geometric(6, alphas[member])


def test_everyone_together_with_four_levels_and_a_wider_sensitivity():
    assert dt.sharing.cascade(LEVELS, 5).coalition().tight == LEVELS[0]
    grid = dt.Grid(-1, 2, "1/2")
    c = dt.sharing.cascade(["1/4", "9/16"], grid, sensitivity=1)  # two steps
    assert c.decays == tuple(m.channel.decay for m in c.mechanisms)
    joint = c.joint()
    law = {(i, x, y): joint[i, x, y] for i, x, y in product(range(7), repeat=3)}
    assert tight_by_hand(law, 2) == c.coalition().tight == c.decays[0] ** 2 >= Fraction(1, 4)
    witness = c.coalition().witness
    first, second, *reports = (grid.place(x) for x in (witness.first, witness.second, *witness.report))
    assert joint[first, *reports] / joint[second, *reports] == witness.ratio == 1 / c.coalition().tight


def test_reports_that_are_no_remaps_would_not_do():
    """The control: drawn apart from one truth, two reports cost the sum."""
    g, h = reference.geometric(4, LEVELS[1]), reference.geometric(4, LEVELS[2])
    law = {(i, x, y): g[i][x] * h[i][y] for i, x, y in product(range(5), repeat=3)}
    assert tight_by_hand(law) == LEVELS[1] * LEVELS[2]


def between(first: reference.Matrix, second: reference.Matrix) -> Fraction:
    """The smallest entry of the only matrix that could be a remap from the first to the second."""
    return min(min(row) for row in reference.multiply(reference.inverse(first), second))


def test_why_other_families_are_refused():
    """No remap leads from EM at 1/2 to EM at 51/100 on 0..8, nor between two WM on 0..3; at some levels one would."""
    a, b, c = Fraction(3, 10), Fraction(1, 2), Fraction(51, 100)
    assert between(reference.geometric(8, b), reference.geometric(8, c)) > 0
    assert between(reference.explicit_fair(8, b), reference.explicit_fair(8, c)) < Fraction(-1, 10**4)
    assert between(reference.explicit_fair(8, a), reference.explicit_fair(8, b)) > 0
    honest = [exact(dt.weakly_honest(3, alpha=x).channel) for x in ("4/5", "9/10")]
    assert between(*honest) < Fraction(-1, 10**3)


def test_joint_laws_are_listed_up_to_the_limits_and_not_beyond(monkeypatch):
    c = dt.sharing.cascade(LEVELS[1:], 6)
    for name, most in (
        ("_LISTED", 7**3),
        ("_WORK", 7**3 * 24),
    ):  # 24 bits: (10 + 3) 10^6, the total of the first report
        monkeypatch.setattr(f"discreet.sharing.cascades.{name}", most)
        members = LEVELS[1:3] if name == "_LISTED" else LEVELS[1:2]
        assert c.joint(members).shape == (7,) * (len(members) + 1)
        monkeypatch.setattr(f"discreet.sharing.cascades.{name}", most - 1)
        with pytest.raises(SizeError):
            c.joint(members)
        assert c.coalition(members).tight == LEVELS[1]
        monkeypatch.undo()


def test_large_grids_have_the_theorem():
    c = dt.sharing.cascade(["1/2", "4/5", "9/10"], 10**6)
    assert c.coalition(["9/10", "4/5"]).tight == Fraction(4, 5)
    with pytest.raises(SizeError, match="coalition"):
        c.joint()
    assert dt.sharing.cascade(["1/2", "4/5"], dt.Grid(None, None)).coalition().tight == Fraction(1, 2)
    fine = dt.sharing.cascade(epsilons=[1, "1/2"], n=63)  # too many digits to list
    assert fine.coalition().holds
    assert fine.coalition().tight == fine.levels[0].alpha


# Draws


def is_far(counts: np.ndarray, law: np.ndarray) -> bool:
    """Pearson's statistic beyond what one law in 10^7 gives; cells with few expected counts go together."""
    expected = law.ravel().astype(float) * counts.sum()
    few = expected < 20
    seen, wanted = (
        np.append(counts.ravel()[~few], counts.ravel()[few].sum()),
        np.append(expected[~few], expected[few].sum()),
    )
    keep = wanted > 0
    statistic = ((seen[keep] - wanted[keep]) ** 2 / wanted[keep]).sum()
    return bool(statistic > chi2.isf(float(TINY), keep.sum() - 1)) or bool(seen[~keep].any())


def tallied(size: int, *reports: np.ndarray) -> np.ndarray:
    counts = np.zeros([size] * len(reports), dtype=np.int64)
    np.add.at(counts, reports, 1)
    return counts


@pytest.mark.parametrize("truth", [0, 2, 4])
def test_drawn_reports_have_the_joint_law(truth):
    c = dt.sharing.cascade(LEVELS[1:], 4)
    one, two, three = c.release(np.full(150_000, truth), source=simulation(truth))
    assert not is_far(tallied(5, one, two, three), c.joint()[truth])
    apart = [m.sample(np.full(150_000, truth), source=simulation(7)) for m in c.mechanisms[1:]]
    assert not is_far(tallied(5, apart[1]), c.joint([LEVELS[3]])[truth])
    assert is_far(tallied(5, one, *apart), c.joint()[truth])  # right alone, and wrong together


@pytest.mark.parametrize(
    ("grid", "truth"),
    [(dt.Grid(None, None), -3), (dt.Grid(5, None), 5), (dt.Grid(None, 5), 5), (dt.Grid(None, None, "1/2"), 1)],
)
def test_open_grids_are_drawn_alike(grid, truth):
    """Against a long closed grid around the truth, whose other ends no report reaches."""
    a, b = Fraction(3, 10), Fraction(1, 2)
    c = dt.sharing.cascade([a, b], grid, sensitivity=grid.step)
    reports = c.release(np.full(60_000, truth), source=simulation(3))
    shifted = [(np.array(x, dtype=float) - truth) / float(grid.step) for x in reports]
    wide = 60
    start = 0 if grid.low is not None else wide if grid.high is not None else wide // 2
    places = [np.clip(x + start, 0, wide).astype(int) for x in shifted]
    first = [reference.geometric(wide, a)[start]]
    law = np.array(
        [[p * t for t in row] for p, row in zip(first[0], closed_form(wide, a, b), strict=True)], dtype=object
    )
    assert not is_far(tallied(wide + 1, *places), law)
    assert all(np.all((x * float(grid.step) + truth) % float(grid.step) == 0) for x in shifted)


class Counted(Source):
    def __init__(self) -> None:
        self.inner, self.count = simulation(1), 0

    def words(self, count, out=None):
        self.count += count
        return self.inner.words(count)

    def word(self):
        return int(self.words(1)[0])

    def describe(self):
        return "counted"


def test_the_number_of_words_does_not_depend_on_the_truth():
    c, used = dt.sharing.cascade(LEVELS, 50), set()
    for truth in (0, 1, 25, 50):
        source = Counted()
        c.release(np.full(1000, truth), source=source)
        used.add(source.count)
    assert used == {1000 * (1 + 2 * 3)}  # one for the first report, a coin and fresh noise for each further one


def test_kinds_come_back_as_they_went_in():
    c = dt.sharing.cascade(["3/10", "1/2"], 9)
    assert all(type(r) is int for r in c.release(4))
    assert [type(r) for r in c.release([1, 2, 3])] == [list, list]
    assert c.release(np.arange(6).reshape(2, 3))[1].shape == (2, 3)
    assert len(c.release([])[0]) == 0
    assert c.release(99, clamp=True)[0] <= 9
    first = c.release(np.arange(10))[0]
    with pytest.raises(ValueError, match="read-only"):
        first[0] = 1
    fine = dt.sharing.cascade(["3/10", "1/2"], dt.Grid(0, 1, "1/4"), sensitivity="1/4")
    assert fine.release("1/2")[0] in {Fraction(k, 4) for k in range(5)}


# What is given


@pytest.mark.parametrize(
    ("call", "error", "told"),
    [
        (lambda: dt.sharing.cascade(["1/2", "3/10"], 6), LevelError, "alpha 3/10 follows alpha 1/2"),
        (lambda: dt.sharing.cascade(["1/2", 0.5], 6), LevelError, "alpha 1/2 follows alpha 1/2"),
        (lambda: dt.sharing.cascade(n=6, epsilons=["1/2", 1]), LevelError, "epsilon 1 follows epsilon 1/2"),
        (lambda: dt.sharing.cascade([], 6), LevelError, "at least one level"),
        (lambda: dt.sharing.cascade("1/2", "x"), GridError, "not an integer"),
        (lambda: dt.sharing.cascade(0.5, 6), LevelError, "list of levels"),
        (lambda: dt.sharing.cascade(["1/2"]), LevelError, "largest count or a Grid"),
        (lambda: dt.sharing.cascade(["1/2"], 6, epsilons=[1]), LevelError, "give one of them"),
        (lambda: dt.sharing.cascade(["1/2", "7/5"], 6), LevelError, "outside"),
        (lambda: dt.sharing.cascade(["1/2"], 6, sensitivity=0), GridError, "sensitivity"),
        (lambda: dt.sharing.cascade([dt.explicit_fair(6, alpha="1/2")], 6), LevelError, "made of geometric ones"),
        (lambda: dt.sharing.cascade(dt.geometric(6, alpha="1/2"), 6), LevelError, "list of levels"),
        (
            lambda: dt.sharing.cascade([Fraction(1, 2), Fraction(1, 2) + Fraction(1, 2**64)], 9, sensitivity=2),
            LevelError,
            "farther apart",
        ),
        (lambda: dt.sharing.cascade(["1/2"], 6).release(7), OutOfRangeError, "position 0 lies outside"),
        (lambda: dt.sharing.cascade(["1/2"], 6).release("many"), OutOfRangeError, "Nothing was drawn"),
        (lambda: dt.sharing.cascade(["1/2"], 6).coalition(["1/3"]), LevelError, "it has 1/2"),
        (lambda: dt.sharing.cascade(["1/2"], 6).release(3, source=5), SourceError, "no source"),
    ],
)
def test_what_is_wrong_is_said_in_a_sentence(call, error, told):
    with pytest.raises(error, match=told) as refused:
        call()
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 300


def test_levels_are_read_like_everywhere():
    c = dt.sharing.cascade("3/10, 1/2", 6)
    assert (
        c
        == dt.sharing.cascade([Fraction(3, 10), 0.5], dt.Grid(0, 6))
        == dt.sharing.cascade(["0.3", dt.Level.of(alpha="0.5")], "6")
    )
    assert c.price.alpha == Fraction(3, 10)
    assert [m.channel for m in c.mechanisms] == [Geometric(6, Fraction(3, 10)), Geometric(6, Fraction(1, 2))]
    assert str(c.mechanisms[0]) == str(dt.geometric(6, alpha="3/10"))
    assert "costs epsilon <= 1.20398" in str(c)
    assert c.to_dict()["price"]["alpha"] == "3/10"
    assert [(row["audience"], row["alpha"]) for row in c.rows()] == [(1, "3/10"), (2, "1/2")]
    by_epsilon = dt.sharing.cascade(n=6, epsilons=["ln(10/3)", "ln 2"])
    assert [x.alpha >= y.alpha for x, y in zip(by_epsilon.levels, c.levels, strict=True)] == [True, True]


def test_levels_asked_as_epsilons_are_found_as_such():
    c = dt.sharing.cascade(epsilons=["1", "1/2"], n=8)
    reports = c.release(5)
    assert reports.at(epsilon="1/2") == reports[1] == reports.at(epsilon=0.5)
    with pytest.raises(LevelError, match=r'it has epsilon 1, epsilon 1/2 \(write epsilon="1"'):
        reports.at("1/2")
    assert c.coalition(epsilons=["1/2"]).tight == c.levels[1].alpha
    assert (c.joint(epsilons=["1/2"]) == np.array(reference.geometric(8, c.levels[1].alpha), dtype=object)).all()
    assert [row[1] for row in reports.view().rows] == ["epsilon 1", "epsilon 1/2"]
    assert dt.sharing.cascade(["1/2"], 8).view().columns[1] == "alpha"
    with pytest.raises(LevelError, match="with epsilons write n="):
        dt.sharing.cascade(100, epsilons=["1", "1/2"])


@pytest.mark.parametrize(
    "values",
    [5, [1, 2], np.array([[1, 2], [3, 0]]), pandas.Series([4, 5]), polars.Series([1, 8]), pyarrow.array([0, 7])],
    ids=lambda values: type(values).__module__.partition(".")[0],
)
@pytest.mark.parametrize("grid", [8, dt.Grid(None, None), dt.Grid(0, 9, "1/2")], ids=str)
def test_a_copy_has_the_reports_in_the_container_of_the_true_values(values, grid):
    reports = dt.sharing.cascade(["3/10", "4/5"], grid, sensitivity=1).release(values)
    for copied in (copy.copy(reports), copy.deepcopy(reports), pickle.loads(pickle.dumps(reports))):
        assert [type(each) for each in copied] == [type(each) for each in reports]
        assert copied.to_dict() == reports.to_dict()
        assert copied.cascade == reports.cascade
    if grid == 8:
        assert type(reports[0]) is type(values)
