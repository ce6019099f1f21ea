"""Draw and estimate shares with one peer, cell by cell. It runs inside the peer's own virtual environment.

Usage: python _peer_categories.py NAME < CELLS

Standard input is JSON: a list of {"answers": k, "epsilon": ..., "counts": how many people have each answer, "runs": ...}. Prints
one line of JSON: {"version": ..., "ways": {name: [a row for each cell, ...]}}. A row has the seconds of processor time for each
report, "draw" and "estimate"; "error", the mean over answers and runs of the squared error of the unbiased share, times the number
of reports; and "doubt", its standard error. The estimates are the peer's own where they are unbiased, and made of its reports where
it cuts off what is negative; its own estimate is timed all the same. Only the standard library, NumPy and the peer are imported.
"""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import numpy as np

Draw = Callable[[int], Any]
Estimate = Callable[[list[Any]], tuple[Any, float]]  # shares, and the seconds that the peer's own way took
Way = tuple[Draw, Estimate]


def timed(task: Callable[[], Any]) -> tuple[Any, float]:
    """What a task gives, and the processor time that it takes."""
    start = time.process_time()
    made = task()
    return made, time.process_time() - start


def pure_ldp(k: int, epsilon: float) -> dict[str, Callable[[], Way]]:
    """Hadamard response and optimised unary encoding."""
    from pure_ldp.frequency_oracles.hadamard_response import HadamardResponseClient, HadamardResponseServer
    from pure_ldp.frequency_oracles.unary_encoding import UEClient, UEServer

    def of(client: Any, server: Any) -> Way:
        def estimate(reports: list[Any]) -> tuple[Any, float]:
            def own() -> Any:
                for report in reports:
                    server.aggregate(report)
                return np.array([server.estimate(v, suppress_warnings=True) for v in range(k)]) / len(reports)

            return timed(own)

        return client.privatise, estimate

    def hadamard() -> Way:
        server = HadamardResponseServer(epsilon, k, index_mapper=int)
        return of(HadamardResponseClient(epsilon, k, server.get_hash_funcs(), index_mapper=int), server)

    def unary() -> Way:
        server = UEServer(epsilon, k, use_oue=True, index_mapper=int)
        return of(UEClient(epsilon, k, use_oue=True, index_mapper=int), server)

    return {"Hadamard response": hadamard, "OUE": unary}


def multi_freq_ldpy(k: int, epsilon: float) -> dict[str, Callable[[], Way]]:
    """Optimised unary encoding and subset selection; their estimates cut off what is negative, so they are made again here."""
    from multi_freq_ldpy.pure_frequency_oracles.SS import SS_Aggregator_MI, SS_Client
    from multi_freq_ldpy.pure_frequency_oracles.UE import UE_Aggregator_MI, UE_Client

    e = math.exp(epsilon)

    def unary() -> Way:
        def estimate(reports: list[Any]) -> tuple[Any, float]:
            _, seconds = timed(lambda: UE_Aggregator_MI(reports, epsilon, optimal=True))
            return (np.sum(reports, axis=0) / len(reports) - 1 / (e + 1)) / (1 / 2 - 1 / (e + 1)), seconds

        return lambda x: UE_Client(x, k, epsilon, True), estimate

    def subset() -> Way:
        def estimate(reports: list[Any]) -> tuple[Any, float]:
            _, seconds = timed(lambda: SS_Aggregator_MI(reports, k, epsilon))
            d = int(max(1, np.rint(k / (e + 1))))
            hit = d * e / (d * e + k - d)
            miss = ((d - 1) * d * e + (k - d) * d) / ((k - 1) * (d * e + k - d))
            counts = np.bincount(np.concatenate(reports), minlength=k)
            return (counts / len(reports) - miss) / (hit - miss), seconds

        return lambda x: SS_Client(x, k, epsilon), estimate

    return {"OUE": unary, "subset selection": subset}


PEERS = {"pure-ldp": pure_ldp, "multi-freq-ldpy": multi_freq_ldpy}


def cell(make: Callable[[], Way], answers: int, counts: list[int], runs: int) -> dict[str, float]:
    """One way in one cell: people with these answers report, and their shares are estimated, so many times."""
    truths = [v for v, count in enumerate(counts) for _ in range(count)]
    shares, drawing, estimating = np.array(counts) / len(truths), 0.0, 0.0
    squares: list[float] = []
    warm, _ = make()
    warm(truths[0])
    for _ in range(runs):
        draw, estimate = make()
        reports, seconds = timed(lambda draw=draw: [draw(x) for x in truths])
        drawing += seconds
        found, seconds = estimate(reports)
        estimating += seconds
        squares.append(float(((np.asarray(found)[:answers] - shares) ** 2).mean()) * len(truths))
    each, doubt = runs * len(truths), float(np.std(squares, ddof=1)) / math.sqrt(runs)
    return {"draw": drawing / each, "estimate": estimating / each, "error": float(np.mean(squares)), "doubt": doubt}


def main(name: str) -> None:
    """Every way of a peer in every cell."""
    ways: dict[str, list[dict[str, float]]] = {}
    for asked in json.load(sys.stdin):
        for way, make in PEERS[name](asked["answers"], asked["epsilon"]).items():
            ways.setdefault(way, []).append(cell(make, asked["answers"], asked["counts"], asked["runs"]))
    print(json.dumps({"version": version(name), "ways": ways}))


if __name__ == "__main__":
    main(sys.argv[1])
