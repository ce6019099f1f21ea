"""What SciPy's routines cost, and what would stand in their place without it: processor time, one thread, in turns.

For docs/decisions/scipy.md. In its place: NumPy where it has the same, python-flint for special functions, a loop where neither
has it. `python benchmarks/without_scipy.py [--quick]` prints the table; --sizes FOLDER adds up what packages in a folder take
(`pip install --target FOLDER ...` of the core's dependencies).
"""

from __future__ import annotations

import os

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"))

import sys
import time
from collections.abc import Callable
from pathlib import Path

import _page
import numpy as np
from flint import arb, ctx
from numpy.lib.stride_tricks import sliding_window_view
from scipy import ndimage, signal, sparse, special
from scipy.linalg import lapack, lu_factor, lu_solve
from scipy.sparse.linalg import factorized

RNG = np.random.default_rng(1)
ROUNDS = 7
SOLVES = 4  # with one factor, as the steps of an interior point do


def spd(n: int) -> np.ndarray:
    """A positive definite matrix."""
    a = RNG.normal(size=(n, n))
    return a @ a.T + n * np.eye(n)


def tridiagonal(d: np.ndarray, e: np.ndarray, b: np.ndarray) -> list[float]:
    """Solve L D L' x = b, one number after the other."""
    d, e, x = d.tolist(), e.tolist(), b.tolist()
    for k in range(1, len(d)):
        factor = e[k - 1] / d[k - 1]
        d[k] -= factor * e[k - 1]
        x[k] -= factor * x[k - 1]
    x[-1] /= d[-1]
    for k in range(len(d) - 2, -1, -1):
        x[k] = (x[k] - e[k] * x[k + 1]) / d[k]
    return x


def banded(bands: np.ndarray, b: np.ndarray) -> list[float]:
    """A system with two diagonals on each side, without pivots; `bands` are rows of five numbers."""
    rows, x = bands.tolist(), b.tolist()
    n = len(x)
    for k in range(n):
        for below in range(k + 1, min(k + 3, n)):
            at = 2 - (below - k)
            factor = rows[below][at] / rows[k][2]
            for right in range(1, 3):
                rows[below][at + right] -= factor * rows[k][2 + right]
            x[below] -= factor * x[k]
    for k in range(n - 1, -1, -1):
        x[k] = (x[k] - sum(rows[k][2 + r] * x[k + r] for r in range(1, 3) if k + r < n)) / rows[k][2]
    return x


def quantile(a: float, b: float, p: float) -> float:
    """Of a beta distribution, by halving: python-flint has the distribution, and not its inverse."""
    low, high = 0.0, 1.0
    while high - low > 1e-12:
        middle = (low + high) / 2
        low, high = (middle, high) if float(arb(middle).beta_lower(a, b, regularized=1)) < p else (low, middle)
    return low


def many_solves(a: np.ndarray, right: list[np.ndarray]) -> None:
    lu = lu_factor(a, check_finite=False)
    for b in right:
        lu_solve(lu, b, check_finite=False)


def cases() -> dict[str, tuple[Callable[[], object], Callable[[], object]]]:
    """By what they do: with SciPy, and without."""
    found: dict[str, tuple[Callable[[], object], Callable[[], object]]] = {}
    for n in (64, 256):
        a, right = spd(n), [RNG.normal(size=n) for _ in range(SOLVES)]
        found[f"LU of {n} x {n} and {SOLVES} solves, one after the other"] = (
            lambda a=a, right=right: many_solves(a, right),
            lambda a=a, right=right: [np.linalg.solve(a, b) for b in right],
        )

        def factored(a: np.ndarray = a, b: np.ndarray = right[0]) -> object:
            return lapack.dpotrs(lapack.dpotrf(a, lower=1, clean=0)[0], b, lower=1)

        def general(a: np.ndarray = a, b: np.ndarray = right[0]) -> object:
            factor = np.linalg.cholesky(a)
            return np.linalg.solve(factor.T, np.linalg.solve(factor, b))

        found[f"Cholesky of {n} x {n} and one solve"] = factored, general
    for n in (100, 1000):
        d, e, b = 3 + RNG.random(n), RNG.random(n - 1), RNG.normal(size=n)
        rows = np.concatenate([RNG.random((n, 2)), 9 + RNG.random((n, 1)), RNG.random((n, 2))], axis=1)
        store = np.zeros((7, n))  # LAPACK's own layout, with room for pivots
        for k in range(-2, 3):
            own = slice(max(0, -k), min(n, n - k))
            store[4 - k, max(0, k) : min(n, n + k)] = rows[own, 2 + k]

        found[f"tridiagonal system of {n}"] = (
            lambda d=d, e=e, b=b: lapack.dpttrs(*lapack.dpttrf(d, e)[:2], b),
            lambda d=d, e=e, b=b: tridiagonal(d, e, b),
        )
        found[f"banded system of {n}, two diagonals on each side"] = (
            lambda store=store, b=b: lapack.dgbsv(2, 2, store, b),
            lambda rows=rows, b=b: banded(rows, b),
        )
        assert np.allclose(found[f"tridiagonal system of {n}"][0]()[0], found[f"tridiagonal system of {n}"][1]())
        assert np.allclose(lapack.dgbsv(2, 2, store, b)[2], banded(rows, b))
    tiers = [np.arange(3000) // 5, np.arange(3000) % 50, np.zeros(3000, dtype=np.int64)]  # of 600, 50 and 1 totals
    rows, own = np.concatenate([tiers[0], 600 + tiers[1], 650 + tiers[2]]), np.tile(np.arange(3000), 3)
    sums, noise, right = sparse.csr_matrix((np.ones(9000), (rows, own))), 1 + RNG.random(651), RNG.normal(size=651)

    def fitted() -> object:
        return factorized((sums @ sums.T + sparse.diags(noise)).tocsc())(right)

    def dense() -> object:
        table = np.zeros((651, 3000))
        table[rows, own] = 1
        return np.linalg.solve(table @ table.T + np.diag(noise), right)

    assert np.allclose(fitted(), dense())
    found["651 measured totals of 3,000 cells, fitted"] = fitted, dense
    x, kernel = RNG.random(4001), RNG.random(8001)
    size = 2 ** int(np.ceil(np.log2(len(x) + len(kernel))))
    found["product of distributions of 4,001 and 8,001 numbers"] = (
        lambda: signal.fftconvolve(x, kernel),
        lambda: np.fft.irfft(np.fft.rfft(x, size) * np.fft.rfft(kernel, size), size),
    )
    found["largest of each 9 of 4,001 neighbours"] = (
        lambda: ndimage.maximum_filter1d(x, 9),
        lambda: sliding_window_view(np.pad(x, 4, mode="edge"), 9).max(axis=1),
    )
    seen = np.arange(1, 201.0)
    assert abs(special.betaincinv(3, 198, 0.025) - quantile(3, 198, 0.025)) < 1e-10
    few = seen[:5]
    found["5 quantiles of beta distributions"] = (
        lambda: special.betaincinv(few, 201 - few, 0.025),
        lambda: [quantile(k, 201 - k, 0.025) for k in few.tolist()],
    )
    found["200 normal tails"] = (
        lambda: special.ndtr(-seen / 20),
        lambda: [float((arb(k) / 20 / arb(2).sqrt()).erfc() / 2) for k in seen.tolist()],
    )
    return found


def least(call: Callable[[], object]) -> float:
    """Processor seconds of one of many calls."""
    start, repeats = time.process_time(), 0
    while (taken := time.process_time() - start) < 0.05 or not repeats:
        call()
        repeats += 1
    return taken / repeats


def sizes(folder: Path) -> None:
    """The mebibytes of each package, by what it holds, and of all of them."""
    total = 0
    for one in sorted(folder.iterdir()):
        taken = (
            sum(path.lstat().st_size for path in one.rglob("*") if path.is_file())
            if one.is_dir()
            else one.stat().st_size
        )
        total += taken
        if taken >= 2**20:
            print(f"| {one.name} | {taken / 2**20:.1f} |")
    print(f"| all | {total / 2**20:.1f} |")


def main() -> None:
    ctx.prec = 64
    if sys.argv[1:2] == ["--sizes"]:
        sizes(Path(sys.argv[2]))
        return
    rounds, kept = 3 if sys.argv[1:2] == ["--quick"] else ROUNDS, []
    print("| what | with SciPy | without | times: median (of all rounds) |\n|---|--:|--:|--:|")
    for name, (own, other) in cases().items():
        own(), other()
        turns = [(least(own), least(other)) for _ in range(rounds)]
        ratios = sorted(without / with_it for with_it, without in turns)
        with_it, without = (min(part) * 1e6 for part in zip(*turns, strict=True))
        print(
            f"| {name} | {with_it:,.1f} us | {without:,.1f} us | {ratios[rounds // 2]:.2g} ({ratios[0]:.2g} to {ratios[-1]:.2g}) |"
        )
        with_text, without_text = (_page.seconds(value / 1e6) for value in (with_it, without))
        kept.append(_page.Line(f"SciPy: {name}", with_text, f"{without_text}, without it", ratios[rounds // 2]))
    _page.keep(__file__, kept)


if __name__ == "__main__":
    main()
