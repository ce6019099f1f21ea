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


PLAIN = ["geometric", "explicit_fair", "randomized_response"]  # of n and a level alone


def _made(draw: st.DrawFn, family: str, n: int, a: Fraction) -> dt.Mechanism:
    match family:
        case "uniform":
            return dt.uniform(n)
        case "laplace":
            step = Fraction(1, draw(st.sampled_from([1, 2, 3])))
            return dt.laplace(dt.Grid(0, n * step, step), alpha=a, sensitivity=draw(st.integers(1, 3)) * step)
        case "staircase":
            size = draw(st.integers(1, 5))
            return dt.staircase(n, step=1, alpha=a, sensitivity=size, r=draw(st.integers(1, min(size, n))))
        case "from_matrix":
            a = min(a, Fraction(999, 1000))  # closer to 1 the rounding of floats is worth more than 1e-9
            share = draw(st.fractions(0, 1, max_denominator=50))
            mixed = (
                float(share) * dt.explicit_fair(n, alpha=a).matrix + float(1 - share) * dt.geometric(n, alpha=a).matrix
            )
            return dt.from_matrix(mixed, alpha=a, require={"RM", "S"})
    return getattr(dt, family)(n, alpha=a)


@st.composite
def mechanisms(draw: st.DrawFn, max_n: int = 60) -> dt.Mechanism:
    """A mechanism of any family of this part, at any level, possibly post-processed."""
    n, a = draw(st.integers(1, max_n)), draw(levels)
    m = _made(
        draw,
        draw(
            st.sampled_from(
                [*PLAIN, "uniform", "laplace", "staircase", "from_matrix", "square_wave", "projective_response"]
            )
        ),
        n,
        a,
    )
    n = m.outputs.n or n
    match draw(st.sampled_from(["as it is", "as it is", "mapped", "random", "truncated"])):
        case "mapped":
            places = draw(st.lists(st.integers(0, n), min_size=n + 1, max_size=n + 1))
            return m.remap([m.outputs.value(k) for k in places])
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
            return m.truncate(*(m.outputs.value(k) for k in (low, draw(st.integers(low + 1, n)))))
    return m
