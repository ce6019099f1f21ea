"""Draw discrete Gaussian noise with one peer and print its rate. It runs inside the peer's own virtual environment.

Usage: python _peer_gaussian.py NAME SECONDS ROUNDS STANDARD_ERROR

Prints one line of JSON: {"rate": values per second of the fastest route, "route": its name, "version": ..., "routes":
the rate of every route, "rho": what the peer says this noise keeps between counts one apart}. Only the standard library and the
peer are imported. Rates are per second of processor time.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from importlib.metadata import version

VALUES = [i % 101 for i in range(2000)]

Route = Callable[[list[int]], object]


def opendp(error: float) -> tuple[dict[str, Route], float]:
    """OpenDP's discrete Gaussian: a vector at a time, and one value at a time."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    vector = dp.m.make_gaussian(dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T="i64"), error)
    single = dp.m.make_gaussian(
        dp.atom_domain(T="i64"), dp.absolute_distance(T="i64"), error
    )  # zero-concentrated by default
    routes: dict[str, Route] = {
        "make_gaussian, vector": vector,
        "make_gaussian, scalar": lambda values: [single(v) for v in values],
    }
    return routes, float(single.map(1))


def tmlt_core(error: float) -> tuple[dict[str, Route], float]:
    """Tumult Core's discrete Gaussian, one value at a time and on a pandas series."""
    import pandas
    import sympy
    from tmlt.core.measurements.noise_mechanisms import AddDiscreteGaussianNoise
    from tmlt.core.measurements.pandas_measurements.series import AddNoiseToSeries

    single = AddDiscreteGaussianNoise(sympy.Rational(*error.as_integer_ratio()) ** 2)
    series = AddNoiseToSeries(single)
    routes: dict[str, Route] = {
        "AddDiscreteGaussianNoise": lambda values: [single(v) for v in values],
        "AddNoiseToSeries": lambda values: series(pandas.Series(values)).tolist(),
    }
    return routes, float(single.privacy_function(1).to_float(round_up=True))


PEERS = {"opendp": ("opendp", opendp), "tmlt.core": ("tmlt.core", tmlt_core)}  # name: its distribution, its routes


def rate(route: Route, seconds: float, rounds: int) -> float:
    """Values per second in the best of some rounds. Each round lasts the given seconds or one pass, if longer."""
    route(VALUES[:100])
    best = 0.0
    for _ in range(rounds):
        drawn, start = 0, time.process_time()
        while (spent := time.process_time() - start) < seconds:
            route(VALUES)
            drawn += len(VALUES)
        best = max(best, drawn / spent)
    return best


def main(name: str, seconds: float, rounds: int, error: float) -> None:
    """Time every route of a peer and print the fastest."""
    distribution, build = PEERS[name]
    made, rho = build(error)
    routes = {label: rate(route, seconds, rounds) for label, route in made.items()}
    fastest = max(routes, key=lambda label: routes[label])
    answer = {"rate": routes[fastest], "route": fastest, "version": version(distribution), "routes": routes, "rho": rho}
    print(json.dumps(answer))


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4]))
