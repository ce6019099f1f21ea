"""Hyperplanes of projective spaces: sets, sums over them and draws, against fields and points written out by hand."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy import stats

import discreet as dt
from discreet.channels import Projective
from discreet.channels import projective as room
from discreet.channels.projective import recurrence_of
from discreet.channels.shares import Shares, Space, of_projective_response, prime_power
from discreet.errors import GridError, TableError
from discreet.randomness.source import insecure_source

from .. import reference
from ..randomness.test_alias import exact_law

SPACES = [
    Space(*found, t)
    for q in range(2, 400)
    if (found := prime_power(q)) is not None
    for t in range(2, 9)
    if (q**t - 1) // (q - 1) <= 400
]
FEW = [space for space in SPACES if space.points <= 130 and (space.t > 2 or space.q < 10)]


def _name(space: Space) -> str:
    return f"q={space.q}, t={space.t}"


def _field(p: int, m: int) -> tuple[list[list[int]], list[list[int]]]:
    """Sums and products of the field of p^m elements, as tables: polynomials modulo the first that has no factors."""
    elements = list(product(range(p), repeat=m))
    number = {e: i for i, e in enumerate(elements)}

    def times(a: tuple[int, ...], b: tuple[int, ...], modulus: tuple[int, ...]) -> tuple[int, ...]:
        made = [0] * (2 * m - 1)
        for i, x in enumerate(a):
            for j, y in enumerate(b):
                made[i + j] = (made[i + j] + x * y) % p
        for top in range(2 * m - 2, m - 1, -1):
            for j in range(m):
                made[top - m + j] = (made[top - m + j] - made[top] * modulus[j]) % p
        return tuple(made[:m])

    zero = (0,) * m
    for modulus in elements:
        table = [[number[times(a, b, modulus)] for b in elements] for a in elements]
        if all(table[i][j] for i, a in enumerate(elements) for j, b in enumerate(elements) if zero not in (a, b)):
            break
    sums = [[number[tuple((x + y) % p for x, y in zip(a, b, strict=True))] for b in elements] for a in elements]
    return sums, table


@pytest.mark.parametrize("space", [s for s in FEW if s.points <= 60], ids=_name)
def test_hyperplanes_of_coordinates_have_the_same_sizes(space: Space) -> None:
    """Points whose first coordinate that is not 0 is 1, and those orthogonal to each: nothing of discreet but the two numbers."""
    sums, times = _field(space.p, space.m)
    one = next(i for i in range(space.q) if all(times[i][j] == j for j in range(space.q)))
    points = [
        v for v in product(range(space.q), repeat=space.t) if any(v) and next(c for c in v if c) == one
    ]  # element 0 is zero
    assert len(points) == space.points

    def orthogonal(x: tuple[int, ...], y: tuple[int, ...]) -> bool:
        total = 0
        for a, b in zip(x, y, strict=True):
            total = sums[total][times[a][b]]
        return total == 0

    incident = np.array([[orthogonal(x, y) for y in points] for x in points], dtype=np.int64)
    shared = incident @ incident.T
    both = (space.q ** (space.t - 2) - 1) // (space.q - 1)
    assert (np.diag(shared) == space.inside).all()
    assert (shared[~np.eye(len(points), dtype=bool)] == both).all()
    channel = Projective.of(space.points, space, Fraction(1, 2))
    turned = channel._near().astype(np.int64)
    assert sorted(map(sorted, turned @ turned.T)) == sorted(map(sorted, shared))


@pytest.mark.parametrize("t", sorted({space.t for space in SPACES}))
def test_any_two_answers_differ_by_the_level_and_no_more(t: int) -> None:
    """Every field and dimension up to 400 points: the whole table, from the places that the reference finds."""
    a = Fraction(2, 5)
    for space in (s for s in SPACES if s.t == t):
        recurrence = recurrence_of(space.p, space.m * t)
        near = reference.hyperplane(space.p, space.m, t, recurrence) if space.q**t < 4000 else None
        channel = Projective.of(space.points, space, a)
        exact = channel.integers()
        assert exact is not None
        weights, total = np.array(exact[0], dtype=np.int64), exact[1]
        if near is not None:
            assert set(np.flatnonzero(weights[0] == a.denominator).tolist()) == near
        assert set(np.unique(weights)) == {a.numerator, a.denominator}
        assert (weights.sum(axis=1) == total).all()
        inside = (weights == a.denominator).astype(np.float64)  # products below 2^53: exact
        shared = inside @ inside.T
        both = (space.q ** (t - 2) - 1) // (space.q - 1)
        assert (shared[~np.eye(space.points, dtype=bool)] == both).all()
        assert (np.diag(shared) == space.inside).all()
        assert (
            both < space.inside
        )  # so that for any two answers some report is in the set of the first alone: the ratio is 1/a
        assert channel.worst(space.points - 1).bound == 1 / a
        for first, second in ((0, 1), (1, 0), (space.points - 1, space.points // 2), (0, space.points - 1)):
            ratio = channel.ratio(first, second)
            assert ratio.report is not None
            assert channel.entry(first, ratio.report) / channel.entry(second, ratio.report) == ratio.bound == 1 / a
        assert channel.ratio(1, 1).bound == 1
        apart = Fraction(int(np.maximum(weights[0] - weights[-1], 0).sum()), total)
        assert channel.total_variation() == (apart, True)


@pytest.mark.parametrize("space", FEW, ids=_name)
def test_sums_over_all_hyperplanes_are_those_of_the_matrix(space: Space) -> None:
    rng = np.random.default_rng(space.points)
    for size in {2, space.points // 2 + 1, space.points}:
        channel = Projective.of(size, space, Fraction(1, 3))
        matrix, told = channel.matrix, space.shares(Fraction(1, 3))
        p, v = rng.random(size), rng.random(space.points)
        assert channel.push(p) == pytest.approx(p @ matrix, rel=1e-12)
        assert channel.pull(v) == pytest.approx(matrix @ v, rel=1e-12)
        assert channel.pull_squares(v) == pytest.approx(matrix**2 @ v, rel=1e-12)
        assert channel.push_rows(np.array([p, 2 * p])) == pytest.approx(np.array([p, 2 * p]) @ matrix, rel=1e-12)
        assert channel.pull_rows(np.array([v, v**2])) == pytest.approx(np.array([v, v**2]) @ matrix.T, rel=1e-12)
        assert channel.row(size - 1) == pytest.approx(matrix[-1], rel=1e-12)
        assert channel.solve(channel.push(p)) == pytest.approx(p, abs=1e-10)
        f = rng.normal(size=(size, 3))
        found = channel.unpull(f)
        assert matrix @ found == pytest.approx(f, abs=1e-9)
        centre = f.mean(axis=0)
        least = np.linalg.lstsq(matrix, f - centre, rcond=None)[0] + centre
        assert found == pytest.approx(least, abs=1e-8)
        hits = channel.hits(v)
        inside = matrix > float(channel._outside) * 1.5
        assert hits[0] == pytest.approx(inside @ v, rel=1e-12)
        assert hits[1:] == (float(told.hit), float(told.miss))
        for j in (0, space.points - 1):
            assert channel.log_column(j) == pytest.approx(np.log(matrix[:, j]), rel=1e-12)


@pytest.mark.parametrize(
    "space", [Space(3, 1, 3), Space(2, 2, 3), Space(2, 1, 4), Space(3, 1, 4), Space(5, 1, 2)], ids=_name
)
def test_two_sets_meet_in_a_third_along_a_line_and_nowhere_else(space: Space) -> None:
    """The covariance of two estimates: of all truths q + 1 have the larger joint chance, the two themselves among them."""
    a = Fraction(1, 3)
    channel, q, t = Projective.of(space.points, space, a), space.q, space.t
    exact = channel.integers()
    assert exact is not None
    inside = (np.array(exact[0], dtype=np.int64) == a.denominator).astype(np.int64)
    two, three = (q ** (t - 2) - 1) // (q - 1), (q ** (t - 3) - 1) // (q - 1) if t > 2 else 0
    z = space.inside / a + space.points - space.inside
    on, off = two / a / z, (three / a + two - three) / z
    for v, w in ((0, 1), (2, space.points - 1)):
        joint = [Fraction(int(row @ (inside[v] * inside[w])), exact[1]) for row in exact[0]]
        assert joint[v] == joint[w] == on
        assert joint.count(on) == (q + 1 if t > 2 else space.points)
        assert set(joint) <= {on, off}


@pytest.mark.parametrize(("p", "n"), [(2, 2), (2, 12), (3, 4), (5, 4), (19, 3), (1009, 2)])
def test_recurrences_are_the_first_of_primitive_polynomials(p: int, n: int) -> None:
    """Its powers of x run through all elements but 0; those before it in the order do not."""

    def order(recurrence: tuple[int, ...]) -> int:
        element, steps = [1] + [0] * (n - 1), 0
        while True:
            top = element[-1]
            element = [(low - top * r) % p for low, r in zip([0, *element[:-1]], recurrence, strict=True)]
            steps += 1
            if element == [1] + [0] * (n - 1) or steps == p**n - 1:
                return steps if element == [1] + [0] * (n - 1) else 0

    found = recurrence_of(p, n)
    if p < 1000:
        assert order(found) == p**n - 1
        before = [
            (c, *(higher // p**k % p for k in range(n - 1))) for higher in range(1, p ** (n - 1)) for c in range(1, p)
        ]
        for other in before[: before.index(found)]:
            assert order(other) != p**n - 1
    assert room._is_primitive(p, found)
    assert not room._is_primitive(p, (*found[:-1], (found[-1] + 1) % p, 0)[:n][::-1]) or p < 4


@pytest.mark.parametrize(
    ("size", "space", "recurrence", "a"),
    [
        (1, Space(3, 1, 3), (1, 2, 0), Fraction(1, 2)),
        (14, Space(3, 1, 3), (1, 2, 0), Fraction(1, 2)),
        (5, Space(3, 1, 3), (1, 0, 0), Fraction(1, 2)),
        (5, Space(3, 1, 3), (1, 2), Fraction(1, 2)),
        (5, Space(3, 1, 3), (1, 2, 3), Fraction(1, 2)),
        (5, Space(4, 1, 3), (1, 2, 0), Fraction(1, 2)),
        (5, Space(3, 1, 3), (1, 2, 0), Fraction(1)),
        (5, Space(3, 1, 3), (1, 2, 0), Fraction(0)),
        (2, Space(3, 1, 1), (1,), Fraction(1, 2)),
        (5, Space(2, 10, 3), recurrence_of(2, 30), Fraction(1, 2)),
        (5, Space(2, 1, 22), recurrence_of(2, 22), Fraction(1, 2)),
    ],
)
def test_hyperplanes_that_are_none_are_refused(
    size: int, space: Space, recurrence: tuple[int, ...], a: Fraction
) -> None:
    with pytest.raises(TableError):
        Projective(size, space, recurrence, a)


# Drawing


def test_every_word_turns_the_hyperplane() -> None:
    channel = Projective.of(9, Space(3, 1, 3), Fraction(1, 3))
    law = reference.projective(13, 3, 1, 3, channel.recurrence, Fraction(1, 3))[0]
    assert exact_law(channel._circle.turn, law) == law
    for place in (0, 5, 8):
        many = channel.draw(np.full(300, place), insecure_source(place), np.empty(300, dtype=np.int64))
        turns = channel._circle.turn.draw(insecure_source(place), np.empty(300, dtype=np.int64))
        assert many.tolist() == ((turns + place) % 13).tolist()
        assert channel.draw_one(place, insecure_source(place)) == many[0]


def test_beyond_a_table_of_turns_three_draws_give_the_same_law(monkeypatch: pytest.MonkeyPatch) -> None:
    """The coin's chance, times 1/c, plus 1/K of the rest is the law; and draws follow it, with a control that does not."""
    monkeypatch.setattr(room, "_CIRCLE", 0)
    a, many = Fraction(1, 4), 40_000
    channel = Projective.of(15, Space(2, 2, 3), a)
    law = reference.projective(15, 2, 2, 3, channel.recurrence, a)
    chances = [Fraction(21, 21 + 3 * 5), Fraction(3 * 5, 21 + 3 * 5)]
    assert list(channel._coin.floors) == [int(p * 2**64) for p in chances]
    assert {chances[0] / 21, chances[0] / 21 + chances[1] / 5} == set(law[0])
    for x in (0, 7, 14):
        drawn = channel.draw(np.full(many, x), insecure_source(x), np.empty(many, dtype=np.int64))
        for seed in range(20):
            one = channel.draw(np.array([x]), insecure_source(seed), np.empty(1, np.int64))
            assert channel.draw_one(x, insecure_source(seed)) == one[0]
        counts = np.bincount(drawn, minlength=21)
        assert stats.chisquare(counts, many * np.array(law[x], dtype=float)).pvalue > 1e-7
        wrong = reference.projective(15, 2, 2, 3, channel.recurrence, Fraction(1, 5))[x]
        assert stats.chisquare(counts, many * np.array(wrong, dtype=float)).pvalue < 1e-7


# The estimate and its variance


@pytest.mark.parametrize(("answers", "epsilon"), [(10, 1), (100, 2)])
def test_variances_of_estimates_meet_the_formula(answers: int, epsilon: int) -> None:
    """10^4 runs of 1000 people whose answers stay: their reports are drawn, estimated, and the mean squares of the errors compared.

    The mean square over the runs, divided by the exact variance, is 1 with a standard deviation of about (2/10^4)^(1/2) = .014:
    six of them fail less than once in 10^8 times. With an alpha that is wrong by a tenth it is not.
    """
    m = dt.projective_response(answers - 1, epsilon=epsilon)
    channel, told = m.finite(), of_projective_response(answers, m.alpha)[1]
    zipf = 1 / np.arange(1, answers + 1)
    counts = np.ceil(500 * zipf / zipf.sum()).astype(int)
    counts[0] += 1000 - counts.sum()
    truths, runs, off, seen = (
        np.repeat(np.arange(answers), counts),
        10_000,
        6 * (2 / 10_000) ** 0.5,
        [0, 1, answers - 1],
    )
    inside, source = channel.matrix[seen] > float(channel.matrix.mean()), insecure_source(23)
    frequencies = np.empty((runs, 3))
    for run in range(0, runs, 500):
        places = np.tile(truths, 500)
        drawn = channel.draw(places, source, np.empty_like(places)).reshape(500, 1000)
        frequencies[run : run + 500] = np.array([here[drawn].mean(axis=1) for here in inside]).T
    tally = np.bincount(drawn[-1], minlength=channel.reports)
    estimates = (frequencies - float(told.miss)) / float(told.hit - told.miss)
    assert channel.solve(tally / 1000)[seen] == pytest.approx(estimates[-1], abs=1e-12)
    squares = ((estimates - counts[seen] / 1000) ** 2).mean(axis=0) * 1000
    exact = np.array([float(told.variance(Fraction(int(counts[v]), 1000))) for v in seen])
    assert (np.abs(estimates.mean(axis=0) - counts[seen] / 1000) <= 6 * np.sqrt(exact / 1000 / runs)).all()  # unbiased
    assert (np.abs(squares / exact - 1) <= off).all()
    wrong = Shares(told.size, told.inside, told.alpha * Fraction(11, 10))
    assert abs(squares[2] / float(wrong.variance()) - 1) > off


def test_standard_errors_come_from_the_sets_and_are_those_of_the_general_way() -> None:
    m = dt.projective_response(20, epsilon=1)
    rng = np.random.default_rng(1)
    counts = rng.multinomial(5000, m.finite().push(np.full(21, 1 / 21)))
    e = dt.recover(counts, m, method="inverse", kind="histogram")
    cells = e._direct("cells")
    parts = [e._linear(block) for block in e._blocks(False)]
    general = [np.concatenate(side) for side in zip(*(part[:-1] for part in parts), strict=True)]
    for fast, slow in zip(cells[:-1], general, strict=True):
        assert fast == pytest.approx(slow, abs=1e-10)
    kept = dt.randomized_response(20, epsilon=1)
    e = dt.recover(rng.multinomial(5000, np.full(21, 1 / 21)), kept, method="inverse", kind="histogram")
    slow = [np.concatenate(side) for side in zip(*[e._linear(b)[:-1] for b in e._blocks(False)], strict=True)]
    for fast, general_way in zip(e._direct("cells")[:-1], slow, strict=True):
        assert fast == pytest.approx(general_way, abs=1e-10)


@pytest.mark.parametrize("method", ["inverse", "mle", "ibu", "auto"])
@pytest.mark.parametrize("answers", [13, 30])
def test_every_way_of_recovering_finds_the_shares(method: str, answers: int) -> None:
    """With all points as answers, and with fewer; 10^8 reports leave an error of 10^-3 at most."""
    m = dt.projective_response(answers - 1, epsilon=2)
    shares = np.arange(1, answers + 1) / (answers * (answers + 1) / 2)
    counts = np.random.default_rng(2).multinomial(10**8, m.finite().push(shares))
    e = dt.recover(counts, m, method=method, kind="histogram")
    assert not e.ordered
    assert np.abs(e.distribution - shares).max() < 1e-3
    low, high = e.interval(0.999999, "cells")
    assert ((low <= shares) & (shares <= high)).all()
    if method in ("mle", "inverse"):
        other = dt.recover(counts[::-1], m, method=method, kind="histogram")
        assert np.abs(other.distribution - shares).max() > 1e-3


# The family


def test_a_long_list_needs_no_matrix() -> None:
    m = dt.projective_response(10**5 - 1, epsilon=1)
    channel = m.finite()
    y = m.sample([0, 1, 99_999] * 5, source=insecure_source(3))
    assert all(0 <= report < channel.reports for report in y)
    p = np.zeros(10**5)
    p[7] = 1
    law = channel.push(p)
    assert law.sum() == pytest.approx(1, rel=1e-12)
    assert channel.solve(law) == pytest.approx(p, abs=1e-9)
    assert dt.check_privacy(m, epsilon=1, neighbours="any").holds
    assert not dt.check_privacy(m, epsilon="99/100", neighbours="any").holds
    assert np.isfinite(channel.standard_error)
    low, high = channel.interval(np.array([3]), Fraction(1, 20))
    assert (low.tolist(), high.tolist()) == ([0], [99_999])
    assert channel.integers() is None


def test_the_level_is_tight_between_any_two_and_holds_in_integers() -> None:
    m = dt.projective_response(9, alpha="1/3")
    assert m.worst is not None
    assert m.worst.alpha == m.alpha == Fraction(1, 3)
    assert dt.check_privacy(m, alpha="1/3", neighbours="any").holds
    assert not dt.check_privacy(m, alpha="101/300", neighbours="any").holds
    assert dict(m.recipe.parameters)["q"] == "3"


@pytest.mark.parametrize(
    ("n", "words"),
    [(dt.Grid(0, None), "finite grid"), (2**20, "up to 2\\^20 answers"), (0, "at least 1"), ("many", "not an integer")],
)
def test_lists_that_cannot_be_are_refused(n: object, words: str) -> None:
    with pytest.raises(GridError, match=words):
        dt.projective_response(n, epsilon=1)  # type: ignore[arg-type]
    assert dt.projective_response(2**20 - 1, epsilon=20).inputs.size == 2**20  # the longest list


def test_a_file_with_another_polynomial_is_read_and_one_without_a_field_is_not() -> None:
    """x^3 + x^2 + 2 x + 1 is primitive modulo 3 as well: another numbering of the points, as good and as private."""
    from discreet.channels import read_channel

    part = dt.projective_response(9, alpha="1/3").channel.written()
    other = read_channel(part | {"recurrence": "1 2 1"})
    assert other.worst(9).alpha == Fraction(1, 3)
    assert other != read_channel(part)
    with pytest.raises(TableError, match="primitive"):
        read_channel(part | {"recurrence": "2 0 1"})


def test_rows_are_the_entries_to_the_last_digit():
    """Also where a report outside is a million times rarer: a Fourier transform is off in the eleventh digit."""
    channel = dt.projective_response(1, alpha="1/1000000").finite()
    exact = [[float(channel.entry(i, j)) for j in range(channel.reports)] for i in range(channel.rows)]
    assert [channel.row(i).tolist() for i in range(channel.rows)] == exact
    assert [channel.push(p).tolist() for p in np.eye(channel.rows)] != exact  # the way that is inherited
