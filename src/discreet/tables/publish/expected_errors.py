"""How wrong the numbers of a release can be: each by itself, and all at once.

All of it follows from declared and public quantities, before any report is drawn, so that a preview says the same as the
release. A row says of the reports of one statistic, or of its totals by one margin:

    statistic, of    its name; "groups", or the name of the margin
    numbers          how many of them have noise
    each, all        how far from the truth: each by itself, and all numbers of the release at once, with the confidence. None
                     where that depends on the reports
    by_size          true: over the number of people in the group, which is private
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...exact.positions import values_at
from ...mechanism import Mechanism
from ...questions.margins import margin_name
from ..draw.measures import Measure, sizes_of
from ..totals.margin_rows import ReleaseTotals
from .readings import Misses, members

Indices = NDArray[np.int64]
Row = dict[str, Any]

GROUPS = "groups"
_UNBOUNDED = 2.0**61  # no sum of steps reaches as far


def expected_errors(
    measures: Sequence[Measure],
    sizes: Indices,
    sums: ReleaseTotals | None,
    misses: tuple[Misses, Misses],
) -> list[Row]:
    """The rows of a release; `misses` as it is published, and in the other sense."""
    senses = misses if misses[0].alone else misses[::-1]
    rows = []
    for k, measure in enumerate(measures):
        if measure.part == "v":
            continue  # both of a pair have the same noise
        shown = misses[0].of_report(measure)
        each, together = (
            {n: _reach(measure, n, m, sense.of_report(measure), shown) for n, m in measure.drawn.items()}
            for sense in senses
        )
        noisy = {n: len(alike) for n, alike in members(sizes).items() if n in measure.drawn}
        rows.append(_row(measure, GROUPS, {(n, each[n], together[n]): count for n, count in noisy.items()}))
        if sums is None:
            continue
        for groups, reaches in zip(sums.margins, sums.adding[k].reaches, strict=True):
            own = sizes_of(groups, sums.terms, sizes).tolist()
            by_sense = reaches if misses[0].alone else [(other, one) for one, other in reaches]
            alike = Counter(zip(own, by_sense, strict=True))
            lines = {
                (n, _total(each_of, measure), _total(all_of, measure)): count
                for (n, (each_of, all_of)), count in alike.items()
                if each_of != 0  # of empty public groups alone
            }
            rows.append(_row(measure, margin_name(groups.margin), lines))
    return rows


def _row(measure: Measure, of: str, lines: Mapping[tuple[int, Fraction | None, Fraction | None], int]) -> Row:
    """From (public size, each, all at once) in the units of the sum, and how many there are: the farthest of
    both. Where sizes are public none is farther off than the truth can be from what is published."""
    over = measure.statistic.kind in ("mean", "share") and not measure.part
    people = [max(n, 1) if over else 1 for n, _, _ in lines]
    bounded = not measure.part
    most = [_range(measure, n) if bounded and n >= 0 else None for n, _, _ in lines]
    each = [_over(x, end, n) for (_, x, _), end, n in zip(lines, most, people, strict=True)]
    together = [_over(x, end, n) for (_, _, x), end, n in zip(lines, most, people, strict=True)]
    return {
        "statistic": measure.name,
        "of": of,
        "numbers": sum(lines.values()),
        "each": _number(each),
        "all": _number(together),
        "by_size": bool(measure.part),
    }


def _over(error: Fraction | None, most: Fraction | None, people: int) -> Fraction | None:
    return None if error is None else (error if most is None else min(error, most)) / people


def _range(measure: Measure, size: int) -> Fraction:
    """How far apart two true numbers of a group of a public size can be."""
    least, most = measure.ends(size)
    return (most - least) * measure.units[1]


def _number(errors: Sequence[Fraction | None]) -> int | float | None:
    """The largest as JSON has it, rounded up: the number that is written, 0.045, is not below. None where one of them is not known,
    or there is none."""
    if not errors or None in errors:
        return None
    exact = Fraction(max(known for known in errors if known is not None))
    if exact.denominator == 1:
        return int(exact)
    near = float(exact)
    return near if Fraction(str(near)) >= exact else math.nextafter(near, math.inf)


def _reach(measure: Measure, size: int, m: Mechanism, error: Fraction, shown: Fraction) -> Fraction | None:
    """How far what is printed may be from the truth but for a probability of `error`, in the units of the column: no farther than
    the interval of any report reaches, which is the same for noise. What is printed lies in the interval that is `shown`, of
    another error."""
    step = measure.units[1]
    if m.channel.noise is not None and m.inputs == m.outputs:
        steps = m.channel.noise.reach(error / 2) - 1
        return (steps if m.inputs.n is None else min(steps, m.inputs.n)) * step
    finite = m.channel.finite()
    if finite is None:
        return None
    places = np.arange(finite.reports)
    ends = measure.ends(size)
    (low, high), beside = ([np.clip(end, *ends) for end in m.channel.interval(places, e)] for e in (error, shown))
    printed = np.clip(values_at(m.outputs, places), *beside)
    return Fraction(max((high - printed).max(), (printed - low).max())) * step


def _total(reach: float, measure: Measure) -> Fraction | None:
    """The same of a total."""
    return None if not reach < _UNBOUNDED else math.ceil(Fraction(reach)) * measure.units[1]
