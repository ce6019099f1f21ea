"""What a report tells about shares: the closed forms against sums over all reports, and against what the issue measured."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import pytest

from discreet.channels.shares import (
    Shares,
    of_projective_response,
    of_randomized_response,
    of_subset_selection,
    prime_power,
)
from discreet.exact.level import Level


def _counted(k: int, d: int, alpha: Fraction) -> tuple[Fraction, Fraction, Fraction]:
    """A, B and the variance of a rare share, by listing every report of subset selection."""
    weights = {y: (1 / alpha if 0 in y else Fraction(1)) for y in combinations(range(k), d)}
    whole = sum(weights.values())
    hit = sum(w for y, w in weights.items() if 0 in y) / whole
    miss = sum(w for y, w in weights.items() if 1 in y) / whole
    values = {y: ((1 in y) - miss) / (hit - miss) for y in weights}
    mean = sum(w * values[y] for y, w in weights.items()) / whole
    assert mean == 0  # unbiased: nobody's answer is 1
    return hit, miss, sum(w * values[y] ** 2 for y, w in weights.items()) / whole


@pytest.mark.parametrize("alpha", [Fraction(9, 10), Fraction(1, 2), Fraction(1, 7), Fraction(1, 40)])
def test_a_report_tells_what_the_sum_over_all_reports_says(alpha: Fraction) -> None:
    for k in range(2, 9):
        counted = {d: _counted(k, d, alpha) for d in range(1, k)}
        for d, (hit, miss, variance) in counted.items():
            told = Shares(k, d, alpha)
            assert (told.hit, told.miss, told.variance()) == (hit, miss, variance)
            assert told.variance(Fraction(1)) == hit * (1 - hit) / (hit - miss) ** 2  # everybody's answer
        assert of_randomized_response(k, alpha).variance() == counted[1][2]
        assert of_subset_selection(k, alpha).variance() == min(v for _, _, v in counted.values())


@pytest.mark.parametrize("k", [2, 3, 10, 57, 100, 1000])
@pytest.mark.parametrize("epsilon", ["1/100", "1/2", 1, 2, 3, 5, 8])
def test_the_best_number_of_answers_in_a_report_is_found(k: int, epsilon: object) -> None:
    alpha = Level.of(epsilon=epsilon).alpha
    assert of_subset_selection(k, alpha).variance() == min(Shares(k, d, alpha).variance() for d in range(1, k))


# from the issue and facts 15: randomised response, subset selection, projective response (None: not given)
@pytest.mark.parametrize(
    ("epsilon", "k", "numbers"),
    [
        ("1/2", 10, (22.9, 12.6, 13.4)),
        ("1/2", 100, (237, 15.3, 15.6)),
        ("1/2", 1000, (2375, 15.6, 15.8)),
        (1, 10, (3.63, 2.82, 3.05)),
        (1, 100, (34.1, 3.59, 3.66)),
        (1, 1000, (339, 3.67, 3.68)),
        (1, 10_000, (3387, 3.68, 3.69)),
        (2, 100, (2.6, 0.69, 0.71)),
        (2, 1000, (24.6, 0.72, 0.72)),
        (3, 1000, (2.8, 0.22, 0.22)),
    ],
)
def test_variances_are_those_of_the_literature(epsilon: object, k: int, numbers: tuple[float, float, float]) -> None:
    alpha = Level.of(epsilon=epsilon).alpha
    found = (
        of_randomized_response(k, alpha),
        of_subset_selection(k, alpha),
        of_projective_response(k, alpha)[1],
    )
    assert [float(f.variance()) for f in found] == pytest.approx(numbers, rel=0.02)


@pytest.mark.parametrize("k", [10, 100, 1000, 10_000])
@pytest.mark.parametrize("epsilon", ["1/2", 1, 2, 3])
def test_projective_response_is_within_a_tenth_of_the_optimum(k: int, epsilon: object) -> None:
    alpha = Level.of(epsilon=epsilon).alpha
    space, told = of_projective_response(k, alpha)
    best = of_subset_selection(k, alpha)
    assert told.variance() <= Fraction(11, 10) * best.variance()
    assert told.error(k) <= Fraction(11, 10) * best.error(k)  # on Zipf, uniform and sparse answers alike
    if k >= 100 and epsilon != 3:  # randomised response is not
        assert of_randomized_response(k, alpha).variance() > 3 * best.variance()
    assert space.points >= k
    assert told.variance() >= of_subset_selection(space.points, alpha).variance()  # nobody beats the optimum


@pytest.mark.parametrize("k", [14, 20, 30, 50, 70, 150, 200, 300, 500, 700, 2000, 5000])
@pytest.mark.parametrize("epsilon", ["1/4", "1/2", 1, "3/2", 2, 3, 4, 5])
def test_between_these_it_is_within_a_fifth(k: int, epsilon: object) -> None:
    alpha = Level.of(epsilon=epsilon).alpha
    told, guessed = of_projective_response(k, alpha)[1], of_randomized_response(k, alpha)
    assert min(told.variance(), guessed.variance()) <= Fraction(6, 5) * of_subset_selection(k, alpha).variance()


@pytest.mark.parametrize("alpha", [Fraction(9, 10), Fraction(1, 3), Fraction(1, 20), Fraction(1, 200)])
@pytest.mark.parametrize("k", [2, 5, 14, 91, 400])
def test_no_other_space_is_better(k: int, alpha: Fraction) -> None:
    """Every field and every dimension, also the higher ones that the search leaves out."""
    space, told = of_projective_response(k, alpha)
    for q in (q for q in range(2, 500) if prime_power(q)):
        for t in range(2, 12):
            points, inside = (q**t - 1) // (q - 1), (q ** (t - 1) - 1) // (q - 1)
            if k <= points <= 10**6:
                assert told.variance() <= Shares(points, inside, alpha).variance()
    assert (space.points, space.inside) == (told.size, told.inside)


def test_prime_powers_are_told_from_other_numbers() -> None:
    powers = {p**m: (p, m) for p in (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31) for m in range(1, 6)}
    assert [prime_power(q) for q in range(2, 33)] == [powers.get(q) for q in range(2, 33)]
