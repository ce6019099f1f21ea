"""Composition where many pairs of true values are alike or nearly so, and at large deltas: processor seconds against a floor.

The floor, in the same run: the table in integers and one transform of 2^13 places, without which no bound is had. Asked: `print`
of the composition of randomised response on 171 and 1001 values, and an epsilon at delta 0.9 of a 3 x 3 table, in a few
seconds; each took more than a minute, or did not end.
"""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Callable
from datetime import date
from typing import Any

import _machine
import _page
import numpy as np

import discreet as dt
from discreet.sharing.convolution import convolved
from discreet.sharing.losses import losses_of

RESULTS = _page.FOLDER
ASKED = 3.0  # processor seconds


def nearly_alike(n: int) -> dt.Mechanism:
    """Randomised response, every entry off by up to a thousandth: no two pairs are the same."""
    matrix = dt.randomized_response(n, epsilon=2).matrix * np.random.default_rng(0).uniform(
        0.999, 1.001, (n + 1, n + 1)
    )
    return dt.from_matrix(matrix / matrix.sum(axis=1, keepdims=True), neighbours="any")


def small() -> dt.Mechanism:
    return dt.from_matrix([["2/3", "1/4", "1/12"], ["1/5", "4/15", "8/15"], ["1/2", "1/10", "2/5"]], neighbours="any")


CASES: dict[str, tuple[Callable[[], dt.Mechanism], int, Callable[[Any], object]]] = {
    "print, randomised response 0..170": (lambda: dt.randomized_response(170, epsilon=2), 52, str),
    "print, randomised response 0..1000": (lambda: dt.randomized_response(1000, epsilon=2), 52, str),
    "print, square wave 0..170": (lambda: dt.square_wave(170, epsilon=2), 52, str),
    "epsilon at delta 0.9, a 3 x 3 table": (small, 4, lambda c: c.epsilon("0.9")),
    "epsilon at delta 1e-6, 31 values nearly alike": (lambda: nearly_alike(30), 52, lambda c: c.epsilon("1e-6")),
}


def floor(make: Callable[[], dt.Mechanism], k: int) -> float:
    """The table in integers, and one transform for one pair."""
    start = time.process_time()
    weights, total = make().finite().integers() or ([], 0)
    convolved(((losses_of(weights[0].tolist(), weights[1].tolist(), total), k),), 1.0, 2**13)
    return time.process_time() - start


def main() -> None:
    rows = []
    for name, (make, k, ask) in CASES.items():
        ask(dt.sharing.compose(make(), k))  # what is loaded once is loaded
        start = time.process_time()
        ask(dt.sharing.compose(make(), k))
        seconds, least = time.process_time() - start, min(floor(make, k) for _ in range(3))
        rows.append({"case": name, "k": k, "seconds": seconds, "floor": least, "met": seconds <= ASKED})
        print(rows[-1], flush=True)
    _page.keep(
        __file__,
        [
            _page.Line(
                f"compose: {r['case']}, k = {r['k']}",
                _page.seconds(r["seconds"]),
                f"{_page.seconds(r['floor'])}, one transform",
                r["seconds"] / r["floor"],
                f"at most {ASKED:g} s",
                r["met"],
            )
            for r in rows
        ],
    )
    about = {"date": date.today().isoformat(), "python": platform.python_version(), "machine": _machine.cpu_model()}
    (RESULTS / "alike.json").write_text(json.dumps({**about, "rows": rows}, indent=1) + "\n", encoding="utf-8")
    text = [
        "# Composition of pairs that are alike",
        "",
        f"{', '.join(about.values())}, load {os.getloadavg()[0]:.2f}. Processor seconds; the floor is the table in integers "
        f"and one transform of 2^13 places for one pair, in the same run. Asked: {ASKED:g} s.",
        "",
        "| case | k | s | floor, s | times the floor | met |",
        "|---|--:|--:|--:|--:|---|",
    ]
    text += [
        f"| {r['case']} | {r['k']} | {r['seconds']:.3f} | {r['floor']:.4f} | {r['seconds'] / r['floor']:.1f} | "
        f"{'yes' if r['met'] else 'NO'} |"
        for r in rows
    ]
    (RESULTS / "alike.md").write_text("\n".join(text) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
