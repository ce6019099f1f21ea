"""Draw geometric noise with one peer and print its rate. It runs inside the peer's own virtual environment.

Usage: python _peer_draws.py NAME SECONDS ROUNDS

Prints one line of JSON: {"rate": values per second of the fastest route, "route": its name, "version": ..., "routes":
the rate of every route}, by processor time. Only the standard library and the peer are imported. Every route ends with
answers in 0..100: where the peer does not bound its answers, they are clipped in plain Python, inside the timing.
"""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Callable
from importlib.metadata import version

EPSILON = math.log(2) / 10
HIGH = 100
VALUES = [i % (HIGH + 1) for i in range(2000)]

Route = Callable[[list[int]], list[int]]


def clip(values: list[int]) -> list[int]:
    """Move each value into 0..100."""
    return [0 if v < 0 else HIGH if v > HIGH else v for v in values]


def opendp() -> dict[str, Route]:
    """OpenDP's geometric mechanism: a vector at a time, bounded by us or by it, and one value at a time."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    vector = dp.vector_domain(dp.atom_domain(T="i32")), dp.l1_distance(T="i32")
    scalar = dp.atom_domain(T="i32"), dp.absolute_distance(T="i32")
    free = dp.m.make_geometric(*vector, scale=1 / EPSILON)
    bounded = dp.m.make_geometric(*vector, scale=1 / EPSILON, bounds=(0, HIGH))
    single = dp.m.make_geometric(*scalar, scale=1 / EPSILON)
    return {
        "make_geometric, vector, then clip": lambda values: clip(free(values)),
        "make_geometric, vector, bounds": bounded,
        "make_geometric, scalar, then clip": lambda values: clip([single(v) for v in values]),
    }


def diffprivlib() -> dict[str, Route]:
    """diffprivlib's geometric mechanisms, which take one value at a time."""
    from diffprivlib.mechanisms import Geometric, GeometricFolded, GeometricTruncated

    free = Geometric(epsilon=EPSILON)
    truncated = GeometricTruncated(epsilon=EPSILON, lower=0, upper=HIGH)
    folded = GeometricFolded(epsilon=EPSILON, lower=0, upper=HIGH)
    return {
        "Geometric, then clip": lambda values: clip([free.randomise(v) for v in values]),
        "GeometricTruncated": lambda values: [truncated.randomise(v) for v in values],
        "GeometricFolded": lambda values: [folded.randomise(v) for v in values],
    }


def pydp() -> dict[str, Route]:
    """PyDP's Laplace mechanism on whole numbers, and the difference of two of its geometric draws."""
    from pydp.algorithms.numerical_mechanisms import LaplaceMechanism
    from pydp.distributions import GeometricDistribution

    laplace = LaplaceMechanism(EPSILON, 1.0)
    geometric = GeometricDistribution(EPSILON)
    add_noise, draw = laplace.add_noise, geometric.sample
    return {
        "LaplaceMechanism.add_noise, then clip": lambda values: clip([add_noise(v) for v in values]),
        "two GeometricDistribution draws, then clip": lambda values: clip([v + draw() - draw() for v in values]),
    }


def tmlt_core() -> dict[str, Route]:
    """Tumult Core's geometric noise, one value at a time and on a pandas series."""
    import pandas
    import sympy
    from tmlt.core.measurements.noise_mechanisms import AddGeometricNoise
    from tmlt.core.measurements.pandas_measurements.series import AddNoiseToSeries

    single = AddGeometricNoise(sympy.Rational(*(1 / EPSILON).as_integer_ratio()))
    series = AddNoiseToSeries(single)
    return {
        "AddGeometricNoise, then clip": lambda values: clip([single(v) for v in values]),
        "AddNoiseToSeries, then clip": lambda values: clip(series(pandas.Series(values)).tolist()),
    }


PEERS: dict[str, tuple[str, Callable[[], dict[str, Route]]]] = {
    "opendp": ("opendp", opendp),
    "diffprivlib": ("diffprivlib", diffprivlib),
    "pydp": ("python-dp", pydp),
    "tmlt.core": ("tmlt.core", tmlt_core),
}  # name: its distribution, its routes


def rate(route: Route, seconds: float, rounds: int) -> float:
    """Values per second in the best of some rounds. Each round lasts the given seconds or one pass, if longer."""
    route(VALUES[:100])
    best = 0.0
    for _ in range(rounds):
        drawn, start = 0, time.process_time()
        while (spent := time.process_time() - start) < seconds:
            drawn += len(route(VALUES))
        best = max(best, drawn / spent)
    return best


def main(name: str, seconds: float, rounds: int) -> None:
    """Time every route of a peer and print the fastest."""
    distribution, build = PEERS[name]
    routes = {label: rate(route, seconds, rounds) for label, route in build().items()}
    fastest = max(routes, key=lambda label: routes[label])
    answer = {"rate": routes[fastest], "route": fastest, "version": version(distribution), "routes": routes}
    print(json.dumps(answer))


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]), int(sys.argv[3]))
