"""Recover a law with the peer qif and print how long it took. It runs inside the peer's own virtual environment.

Usage: python _peer_recovery.py COUNTS.npy ALPHA LAW.npy ROUNDS

The channel is the truncated geometric one on as many values as there are counts. It is iterated to qif's default tolerance
from its default start. The recovered law goes to LAW.npy. Prints one line of JSON: {"seconds": the best round,
"iterations": ..., "version": ...}. Only the standard library, NumPy and the peer are imported.
"""

from __future__ import annotations

import json
import sys
import time
from importlib.metadata import version

import numpy as np
import qif


def main(counts_file: str, alpha: float, law_file: str, rounds: int) -> None:
    """Time the recovery, without the making of the channel."""
    counts = np.load(counts_file)
    place = np.arange(len(counts))
    weights = np.full(len(counts), (1 - alpha) / (1 + alpha))
    weights[[0, -1]] = 1 / (1 + alpha)
    channel = weights * alpha ** np.abs(place[:, None] - place)
    seconds, law, iterations = float("inf"), None, 0
    for _ in range(rounds):
        start = time.process_time()
        law, iterations = qif.channel.iterative_bayesian_update(channel, counts / counts.sum())
        seconds = min(seconds, time.process_time() - start)
    np.save(law_file, np.asarray(law, dtype=np.float64))
    print(json.dumps({"seconds": seconds, "iterations": int(iterations), "version": version("qif")}))


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]), sys.argv[3], int(sys.argv[4]))
