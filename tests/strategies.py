"""What the property-based tests draw from."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import strategies as st

import discreet as dt

sizes = st.integers(1, 60)
levels = st.one_of(
    st.fractions(Fraction(1, 10**6), 1 - Fraction(1, 10**6), max_denominator=10**6),
    st.sampled_from(
        [Fraction(1, 2), Fraction(1, 3), Fraction(2, 3), Fraction(9, 10), Fraction(1, 10**6), 1 - Fraction(1, 10**6)]
    ),
    st.floats(1e-6, 1 - 1e-6).map(Fraction),
)


@st.composite
def geometrics(draw: st.DrawFn) -> tuple[dt.Mechanism, int, Fraction]:
    n, a = draw(sizes), draw(levels)
    return dt.geometric(n, alpha=a), n, a


@st.composite
def mechanisms(draw: st.DrawFn, max_n: int = 60) -> dt.Mechanism:
    """A mechanism of any family of this part, at any level, possibly post-processed."""
    n, a = draw(st.integers(1, max_n)), draw(levels)
    family = draw(st.sampled_from(["geometric", "explicit_fair", "randomized_response", "uniform"]))
    m = dt.uniform(n) if family == "uniform" else getattr(dt, family)(n, alpha=a)
    match draw(st.sampled_from(["as it is", "as it is", "mapped", "random", "truncated"])):
        case "mapped":
            return m.remap(draw(st.lists(st.integers(0, n), min_size=n + 1, max_size=n + 1)))
        case "random" if n <= 12:
            width = draw(st.integers(2, 5))
            rows = draw(
                st.lists(
                    st.lists(st.integers(0, 9), min_size=width, max_size=width).filter(any),
                    min_size=n + 1,
                    max_size=n + 1,
                )
            )
            return m.remap([[Fraction(w, sum(row)) for w in row] for row in rows], outputs=dt.Grid(0, width - 1))
        case "truncated" if n >= 3:
            low = draw(st.integers(0, n - 1))
            return m.truncate(low, draw(st.integers(low + 1, n)))
    return m
