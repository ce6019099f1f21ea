"""How fast the discrete Gaussian is drawn, against NumPy's insecure normal numbers and against peers; and its rho beside theirs.

Usage: python benchmarks/gaussian.py [--no-peers] [--rounds 5]

Each standard error is timed in turns with its floor, rounding `numpy.random`'s normal numbers, which are predictable and follow
another distribution: they must not protect anyone. Times are processor time of one thread, so that other work on the machine
disturbs little. Peers run in the same minutes, each in a process of its own, and tell the rho of their noise.

Writes results/gaussian.md beside this file.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"))

import _machine
import _page
import _peers
import numpy as np

import discreet as dt

RESULTS = _page.FOLDER
N = 2**22
ERRORS = ("0.3", "1", "20", "1000", "3000", "1e6")
PEER_ERROR = "20"
SCALAR_CALLS = 5000
ASKED_RATE, ASKED_ONE = 20e6, 15e-6


def seconds(task: Callable[[], object]) -> float:
    """The processor time of one call."""
    start = time.process_time()
    task()
    return time.process_time() - start


def row(error: str, rounds: int) -> str:
    """One standard error: ours and the floor in turns, and one number at a time."""
    m = dt.gaussian(dt.Grid(None, None), standard_error=error)
    values, rng = np.arange(N) % 101, np.random.default_rng()

    def floor() -> object:
        return values + np.rint(rng.normal(0, float(error), N)).astype(np.int64)

    def singly() -> None:
        for _ in range(SCALAR_CALLS):
            m.sample(50)

    m.sample(values[:10])
    ours = min(seconds(lambda: m.sample(values)) for _ in range(rounds))
    theirs = min(seconds(floor) for _ in range(rounds))
    one = min(seconds(singly) for _ in range(rounds)) / SCALAR_CALLS
    met = "yes" if N / ours >= ASKED_RATE and one <= ASKED_ONE else "no"
    return f"| {error} | {N / ours / 1e6:.1f} M | {N / theirs / 1e6:.1f} M | {theirs / ours:.2f} | {one * 1e6:.1f} us | {met} |"


def peer_row(name: str, rounds: int, ours: float, rho: float) -> tuple[str, _page.Line]:
    """A peer's fastest route at one standard error, and what it says of its rho; the same for the page."""
    problem = _peers.missing(name)
    found = None if problem else _peers.measure(name, 0.5, rounds, "_peer_gaussian.py", PEER_ERROR)
    case, mine = f"draw: Gaussian, error {PEER_ERROR}, against {name}", f"{ours / 1e6:.1f} M"
    if found is None or found.rate is None or found.rho is None:
        problem = _peers.latest(f"{name}: Gaussian", problem or (found.problem if found else ""))
        return f"| {name} | {problem} | | | |", _page.Line(case, mine, problem)
    same = f"{found.rho:.12g} ({found.rho / rho - 1:+.1e})"
    _peers.remember(f"{name}: Gaussian", f"{name} {found.version} {found.rate:,.0f} a second, ours {mine}")
    return (
        f"| {name} {found.version} | {found.route} | {found.rate:,.0f} | {ours / found.rate:,.0f} | {same} |",
        _page.Line(case, mine, f"{found.rate:,.0f}, {name} {found.version}", ours / found.rate),
    )


def kept_line(line: str) -> _page.Line:
    """A row for the page."""
    error, ours, floor, ratio, one, met = (cell.strip() for cell in line.strip("|").split("|"))
    bar = f"at least {ASKED_RATE / 1e6:.0f} M a second, one number below {ASKED_ONE * 1e6:.0f} us"
    other = f"{floor}, NumPy's normal numbers, rounded"
    return _page.Line(f"draw: Gaussian, error {error}", f"{ours}, one {one}", other, float(ratio), bar, met == "yes")


def main() -> None:
    """Print the tables, and write them down."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    machine = f"{_machine.cpu_model()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"
    rows = [row(error, given.rounds) for error in ERRORS]
    kept = [kept_line(row) for row in rows]
    lines = [
        "# The discrete Gaussian",
        "",
        f"{machine}; `python benchmarks/gaussian.py`. Values per second of processor time, one thread, secure source.",
        f"Asked: at least {ASKED_RATE / 1e6:.0f} M a second, one number below {ASKED_ONE * 1e6:.0f} us.",
        "",
        "| standard error | ours | NumPy's normal numbers, rounded, insecure | ratio | one number | as asked |",
        "|---|---|---|---|---|---|",
        *rows,
    ]
    if not given.no_peers:
        m = dt.gaussian(dt.Grid(None, None), standard_error=PEER_ERROR)
        values = np.arange(N) % 101
        ours = N / min(seconds(lambda: m.sample(values)) for _ in range(given.rounds))
        peers = [peer_row(name, given.rounds, ours, float(m.rho)) for name in ("opendp", "tmlt.core")]
        kept += [line for _, line in peers]
        lines += [
            "",
            f"Peers, in the same run, at a standard error of {PEER_ERROR}; ours draws {ours:,.0f} a second, and keeps rho "
            f"{float(m.rho):.12g}.",
            "",
            "| peer | fastest route | values a second | ours is so many times as fast | its rho (beside ours) |",
            "|---|---|---|---|---|",
            *(row for row, _ in peers),
        ]
    _page.keep(__file__, kept)
    text = "\n".join(lines) + "\n"
    print(text)
    (RESULTS / "gaussian.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
