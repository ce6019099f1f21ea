"""Whether reports fit the mechanism: exactly at most as many false alarms as stated, and what is seen how soon."""

from __future__ import annotations

import itertools
import json
import math

import numpy as np
import pytest
from scipy import stats

import discreet as dt
from discreet.recovery.agreement import LEVEL, agreement, evidence, step_functions

N = 20
BELL = stats.binom.pmf(np.arange(N + 1), N, 0.13)
SMALL = [
    dt.geometric(2, alpha="3/4"),
    dt.randomized_response(2, epsilon="1/2"),
    dt.square_wave(2, epsilon=1),
    dt.uniform(2),
    dt.geometric(1, alpha="1/2"),
    dt.geometric(3, alpha="1/5").then(dt.geometric(3, alpha="1/2")),
]


def mean_gain(m, truths, gain):
    """The mean of exp(gain(counts)) over all reports of these people, each report weighed by its exact chance."""
    law, reports, total = np.full(m.inputs.size, 1 / m.inputs.size), m.outputs.size, 0.0
    known: dict[tuple[int, ...], float] = {}
    for seen in itertools.product(range(reports), repeat=len(truths)):
        counts = np.bincount(seen, minlength=reports)
        key = tuple(counts.tolist())
        if key not in known:
            known[key] = math.exp(gain(m.finite(), counts, law))
        total += known[key] * math.prod(m.matrix[x, y] for x, y in zip(truths, seen, strict=True))
    return total


@pytest.mark.parametrize("m", SMALL, ids=lambda m: f"{m.recipe.family} {m.inputs.size}")
def test_the_mean_gain_is_at_most_one_for_all_people_whatever_their_values(m):
    """Exactly, by enumeration, for people with the same value and with different ones. The negative control takes the best
    law of the reports in hindsight in place of the mixture that was fixed before: its mean is far above 1."""

    def hindsight(channel, counts, law):
        seen = counts[counts > 0]
        best = float(seen @ np.log(seen / counts.sum()))
        return best - float(counts @ np.log(law @ channel.matrix))

    last = m.inputs.size - 1
    everybody = [(0,) * 4, (last,) * 4, (0, 0, last, last), (0, 1, 1, last)]
    assert max(mean_gain(m, truths, evidence) for truths in everybody) <= 1 + 1e-9
    assert max(mean_gain(m, truths, hindsight) for truths in everybody) > 1.5


def test_the_mixture_is_a_law_of_sequences():
    """Over all sequences its chances sum to 1, for sides that are and are not powers of 2."""
    for size, number in ((2, 4), (3, 4), (5, 3), (8, 2), (1, 3)):
        total = sum(
            math.exp(step_functions(np.bincount(seen, minlength=size)))
            for seen in itertools.product(range(size), repeat=number)
        )
        assert total == pytest.approx(1, abs=1e-12)


def test_reports_of_the_mechanism_fit():
    """400 histograms of four mechanisms, few and many reports, smooth and spiky truths: by the bound itself at most one in a
    thousand is an alarm, and the seed is fixed."""
    rng = np.random.default_rng(20)
    for m in (
        dt.geometric(N, alpha="1/2"),
        dt.geometric(100, epsilon="ln(2)/10"),
        dt.randomized_response(N, epsilon=1),
        dt.square_wave(30, epsilon=1),
    ):
        size = m.inputs.size
        laws = [np.full(size, 1 / size), np.eye(size)[0], np.eye(size)[size // 2], rng.dirichlet(np.full(size, 0.1))]
        for law, number in itertools.product(laws, (1, 30, 1000, 100_000, 10**9)):
            for counts in rng.multinomial(number, law @ m.matrix, size=5):
                assert agreement(m.finite(), counts, law).chance > LEVEL


@pytest.mark.parametrize("method", ["auto", "mle", "ibu", "inverse"])
def test_reports_of_another_mechanism_do_not_fit_whatever_the_method(method):
    """Randomised response read with a geometric file, where the mean was said to lie in a narrow interval."""
    made, read, rng = dt.randomized_response(N, epsilon=1), dt.geometric(N, epsilon="1/5"), np.random.default_rng(21)
    counts = rng.multinomial(2300, BELL @ made.matrix)
    steps = {"iterations": 3} if method == "ibu" else {}
    e = dt.recover(counts, read, method, kind="counts", **steps)
    assert not e.fit.holds
    assert e.fit.chance < 1e-20
    assert str(e.fit) in str(e)
    assert "do not fit the mechanism" in str(e).splitlines()[1]
    told = json.loads(json.dumps(e.to_dict(), allow_nan=False))["fit"]
    assert told == {"holds": False, "chance": e.fit.chance, "sentence": str(e.fit)}
    own = dt.recover(counts, made, method, kind="counts", **steps)
    assert own.fit.holds
    assert "fit the mechanism" not in str(own)
    assert own.to_dict()["fit"]["holds"]


def counted(m, law, number, seed=22):
    return np.random.default_rng(seed).multinomial(number, law @ m.matrix)


POINT, FLAT = np.eye(N + 1)[7], np.full(N + 1, 1 / (N + 1))
GEOMETRIC, LOCAL, WAVE = (
    dt.geometric(N, epsilon="1/2"),
    dt.randomized_response(N, epsilon=1),
    dt.square_wave(N, epsilon=1),
)
LONG = dt.geometric(20_000, epsilon="1/1000")
WRONG = {
    "a geometric file with too small an epsilon": (GEOMETRIC, counted(dt.geometric(N, epsilon=2), POINT, 200)),
    "true values without noise": (GEOMETRIC, counted(dt.geometric(N, epsilon=30), POINT, 50)),
    "randomised response read as geometric": (GEOMETRIC, counted(LOCAL, POINT, 10_000)),
    "the same, a bell": (GEOMETRIC, counted(LOCAL, BELL, 10_000)),
    "geometric read as randomised response": (LOCAL, counted(GEOMETRIC, BELL, 500)),
    "every report twenty times": (GEOMETRIC, 20 * counted(GEOMETRIC, POINT, 500)),
    "a report that is missing": (GEOMETRIC, np.where(np.arange(N + 1) == 9, 0, counted(GEOMETRIC, FLAT, 2000))),
    "a wave whose ends were cut off": (WAVE, np.where(np.arange(WAVE.outputs.size) < 12, 0, counted(WAVE, FLAT, 3000))),
    "a yes-no question, all yes": (dt.randomized_response(1, epsilon="1/10"), np.array([0, 200])),
    "a mechanism that tells nothing": (dt.uniform(9), np.array([300] * 5 + [200] * 5)),
    "many values": (LONG, np.random.default_rng(1).multinomial(50_000, np.full(20_001, 1 / 20_001))),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_does_not_fit_is_seen(name):
    m, counts = WRONG[name]
    e = dt.recover(counts, m, "ibu", kind="counts", iterations=20)
    assert not e.fit.holds


def test_little_that_does_not_fit_is_not_called_a_misfit():
    """Ten reports say nothing yet; and what both mechanisms could have made fits both."""
    assert dt.recover(counted(LOCAL, POINT, 10), GEOMETRIC, "mle", kind="counts").fit.holds
    flat = dt.recover(counted(LOCAL, FLAT, 10_000), dt.geometric(N, epsilon=2), "mle", kind="counts")
    assert flat.fit.holds
    assert flat.fit.chance == 1
