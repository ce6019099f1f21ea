"""Composition of 101 x 101 tables: how close the bounds are, how long they take, and what dp-accounting says of one pair.

Asked: upper and lower epsilon at delta = 1e-6 differ by at most .05 at k = 1000 (10 s) and by 1 % at k = 10^6 (60 s).
dp-accounting is given the dominating pair; its bounds must overlap ours. It runs in its own environment, made
by `make bench PEERS=1`; where it is not there its columns stay empty. --bars leaves it out at k = 10^6, where it has no answer in
20 s; --quick leaves it out altogether, and k = 10^6 too.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from datetime import date
from typing import Any

import _machine
import _page
import _peers
import numpy as np

import discreet as dt
from discreet.sharing.pairs import dominating_losses

RESULTS = _page.FOLDER
DELTA = "1e-6"
ASKED = {1000: (10.0, lambda gap, epsilon: gap <= 0.05), 10**6: (60.0, lambda gap, epsilon: gap <= 0.01 * epsilon)}
ROUNDED = 1e-8  # dp-accounting's bounds leave out its rounding
PEER_SECONDS = 20


def tables() -> dict[str, dt.Mechanism]:
    fair = dt.explicit_fair(100, alpha="9/10")
    uneven = fair.matrix * np.random.default_rng(0).uniform(0.97, 1.03, fair.matrix.shape)
    wild = np.random.default_rng(1).uniform(0.5, 1.5, (101, 101))
    return {
        "geometric, epsilon 1/10": dt.geometric(100, epsilon="1/10"),
        "explicit fair, alpha 9/10": fair,
        "the same, every entry off by up to 3 %": dt.from_matrix(uneven / uneven.sum(axis=1, keepdims=True)),
        "uniform(.5, 1.5) entries": dt.from_matrix(wild / wild.sum(axis=1, keepdims=True)),
        "uniform(.5, 1.5), any two values neighbours": dt.from_matrix(
            wild / wild.sum(axis=1, keepdims=True), neighbours="any"
        ),
        "randomised response, epsilon 1/2": dt.randomized_response(100, epsilon="1/2"),
    }


def pair(m: dt.Mechanism) -> dict[str, list[float]]:
    """The two distributions of the dominating pair."""
    losses = dominating_losses(m, m.neighbours)
    return {"first": losses.masses.tolist(), "second": (losses.masses * np.exp(-losses.values)).tolist()}


def peer(m: dt.Mechanism, k: int, ready: bool) -> dict[str, float]:
    if not ready:
        return {}
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(pair(m), file)
        file.flush()
        # its grid: as fine as its memory allows
        words = [file.name, str(k), DELTA, "1e-4" if k <= 1000 else "1e-3"]
        script = [str(_peers._python(_peers.FOLDER / "dp-accounting")), str(_peers.HERE / "_peer_compose.py"), *words]
        outside = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
        try:
            done = subprocess.run(script, check=True, capture_output=True, text=True, timeout=PEER_SECONDS, env=outside)
        except (subprocess.TimeoutExpired, subprocess.CalledProcessError):
            return {}
    return dict(json.loads(done.stdout.splitlines()[-1]))


def main() -> None:
    quick, bars = ("--quick" in sys.argv[1:]), ("--bars" in sys.argv[1:])
    problem = "left out" if quick else _peers.missing("dp-accounting")
    rows: list[dict[str, Any]] = []
    for name, m in tables().items():
        for k in (20, 1000) if quick else (20, *ASKED):
            start = time.perf_counter()
            low, high = dt.sharing.compose(m, k).dominating_epsilon(DELTA)
            seconds = time.perf_counter() - start
            most, close = ASKED.get(k, (10.0, lambda gap, epsilon: gap <= 0.05))
            theirs = peer(m, k, not (problem or (bars and k > 1000)))
            overlap = not theirs or (theirs["lower"] <= high * (1 + ROUNDED) and low <= theirs["upper"] * (1 + ROUNDED))
            rows.append(
                {
                    "table": name,
                    "k": k,
                    "lower": low,
                    "upper": high,
                    "seconds": seconds,
                    "met": seconds <= most and close(high - low, high),
                    "peer": theirs,
                    "problem": problem,
                    "overlap": overlap,
                }
            )
            print(rows[-1], flush=True)
    _page.keep(__file__, map(kept_line, rows))
    if not (quick or bars):
        write(rows, problem)


def kept_line(row: dict[str, Any]) -> _page.Line:
    """A row for the page."""
    theirs = row["peer"].get("seconds") if row["peer"] else None
    what = f"dp-accounting: {row['table']}, k = {row['k']:,}"
    if theirs is None:
        problem = "dp-accounting: " + (row["problem"] or f"no answer in {PEER_SECONDS} s, or not enough memory")
        other, ratio = _peers.latest(what, problem), None
    else:
        other, ratio = f"{_page.seconds(theirs)}, dp-accounting", theirs / row["seconds"]
        _peers.remember(what, f"{_page.seconds(theirs)}, ours {_page.seconds(row['seconds'])}")
    most, _ = ASKED.get(row["k"], (10.0, None))
    ours = f"{_page.seconds(row['seconds'])}, epsilon {row['lower']:.4g} to {row['upper']:.4g}"
    return _page.Line(
        f"compose {row['table']}, k = {row['k']:,}", ours, other, ratio, f"within {most:g} s, and close", row["met"]
    )


def write(rows: list[dict[str, Any]], problem: str) -> None:
    """The results as JSON, and as a table for people."""
    RESULTS.mkdir(exist_ok=True)
    about = {"date": date.today().isoformat(), "python": platform.python_version(), "machine": _machine.cpu_model()}
    (RESULTS / "compose.json").write_text(json.dumps({**about, "rows": rows}, indent=1) + "\n", encoding="utf-8")
    theirs = (
        "dp-accounting 0.6.0 has the dominating pair, and the time of its upper bound; its grid is 1e-4 (1e-3 at k = 10^6). Where "
        f"its columns are empty it had no answer in {PEER_SECONDS} s, or not enough memory. Overlap is up to 1e-8 of epsilon: "
        "its bounds leave out the rounding of its transforms (for randomised response at k = 1000 its upper bound is 4e-10 of "
        "epsilon below the truth, which sums of integers confirm in the tests)."
    )
    lines = [
        "# Composition",
        "",
        f"{', '.join(about.values())}, load {os.getloadavg()[0]:.2f}. epsilon of k reports at delta = 1e-6, "
        "101 x 101 tables, all pairs of neighbours. Asked: within .05 in 10 s at k = 1000, within 1 % in 60 s at 10^6.",
        "",
        f"dp-accounting: {problem}." if problem else theirs,
        "",
        "| table | k | epsilon >= | epsilon <= | gap | s | met | dp-accounting >= | <= | s | bounds overlap |",
        "|---|--:|--:|--:|--:|--:|---|--:|--:|--:|---|",
    ]
    for r in rows:
        told = [f"{r['peer'][x]:.6g}" if r["peer"] else "" for x in ("lower", "upper", "seconds")]
        overlap = ("yes" if r["overlap"] else "NO") if r["peer"] else ""
        lines.append(
            f"| {r['table']} | {r['k']} | {r['lower']:.6g} | {r['upper']:.6g} | {r['upper'] - r['lower']:.2g} | "
            f"{r['seconds']:.2f} | {'yes' if r['met'] else 'NO'} | {told[0]} | {told[1]} | {told[2][:5]} | {overlap} |"
        )
    (RESULTS / "compose.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
