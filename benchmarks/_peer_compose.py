"""Compose a pair of laws with the peer dp-accounting and print what it found. It runs in the peer's own environment.

Usage: python _peer_compose.py PAIR.json K DELTA INTERVAL

PAIR.json has two lists of probabilities, {"first": [...], "second": [...]}. Prints one line of JSON: {"lower": ..., "upper":
..., "seconds": of the upper bound alone}: epsilon of K reports at DELTA, by its optimistic and its pessimistic estimate.
"""

from __future__ import annotations

import json
import math
import sys
import time
from pathlib import Path

from dp_accounting.pld import privacy_loss_distribution as pld


def main(file: str, k: int, delta: float, interval: float) -> None:
    pair = json.loads(Path(file).read_text())
    laws = [{y: math.log(p) for y, p in enumerate(pair[name]) if p > 0} for name in ("second", "first")]
    found, seconds = {}, 0.0
    for name, pessimistic in (("lower", False), ("upper", True)):
        start = time.perf_counter()
        one = pld.from_two_probability_mass_functions(
            *laws, pessimistic_estimate=pessimistic, value_discretization_interval=interval, symmetric=False
        )
        found[name] = one.self_compose(k).get_epsilon_for_delta(delta)
        seconds = time.perf_counter() - start
    print(json.dumps({**found, "seconds": seconds}))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), float(sys.argv[4]))
