"""Hundreds of designs: the best value, the level on integers, bounds, and the time that checking a certificate takes."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import time
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import discreet as dt
from discreet import files, verify
from discreet.designs import design as making
from tests.designs.test_certificate import bound_of
from tests.designs.test_design import (
    EVERY_SUBSET,
    SEVEN,
    a_prior,
    agrees,
    any_case,
    best_value,
    integers,
    judge,
    monotone_loss,
    plain,
    private_case,
)

pytestmark = pytest.mark.campaign

RESULTS = Path(os.environ.get("DISCREET_RESULTS", "benchmarks/results"))


def record(name: str, found: dict[str, Any]) -> None:
    """Put the findings of one test into the result file, beside those of the others."""
    path = RESULTS / "design-campaign.json"
    RESULTS.mkdir(parents=True, exist_ok=True)
    content = json.loads(path.read_text()) if path.exists() else {}
    content[name] = {"date": datetime.now(UTC).date().isoformat(), **found}
    path.write_text(json.dumps(content, indent=1) + "\n")


def test_no_design_of_five_hundred_is_less_private_than_asked():
    """A quarter of them with epsilon 3 and 41 values, where the best matrix has zeros in floats."""
    largest = 0.0
    for seed in range(1000, 1500):
        case = private_case(seed)
        d = case.design()
        judge(d, case)
        largest = max(largest, d.gap)
    record("private", {"designs": 500, "largest_gap": largest})
    assert largest <= 1e-6


@pytest.mark.parametrize("few", [0, 1000], ids=["interior point", "simplex method"])
def test_six_hundred_random_problems(few, monkeypatch):
    """Each solver against the program of the test, its files against verify.py, its bounds against Fractions."""
    monkeypatch.setattr(making, "_FEW", few)
    monkeypatch.setattr(making, "by_theorem", lambda problem: None)
    largest, second_opinions = 0.0, 0
    for seed in range(10_000, 10_600):
        case = any_case(seed, most=12 if seed % 3 == 0 else 8)
        d = case.design()
        agrees(d, case)
        largest = max(largest, d.gap)
        second_opinions += d.method != ("simplex method" if few else "interior point")
        text = json.loads(files.text(d.mechanism))
        assert d.certificate is not None
        assert verify.verify(text).risk_and_bound == (d.certificate.objective, d.certificate.bound)
        if case.n <= 5:
            assert bound_of(text["certificate"], case.neighbours) == d.certificate.bound
    record(
        f"random, {'simplex method' if few else 'interior point'}",
        {"designs": 600, "largest_gap": largest, "second_opinions": second_opinions},
    )


@pytest.mark.parametrize("alpha", ["1/100", "1/10", "99/100"])
def test_every_subset_of_properties(alpha):
    """All 128 sets with three losses at levels far from the middle."""
    for require in [frozenset[str](), *EVERY_SUBSET]:
        for loss in ("l0", "l1", "l2"):
            case = plain(4, alpha, loss, require)
            agrees(case.design(), case)


def test_the_theorem_of_remaps_for_many_priors_and_losses():
    largest = 0.0
    for seed in range(300):
        r = random.Random(f"campaign remap {seed}")
        n = r.randint(1, 60)
        prior, _ = a_prior(r, n)
        alpha = Fraction(r.randint(1, 99), 100)
        d = dt.design(n, alpha=alpha, loss=monotone_loss(r, n), prior=prior)
        assert "geometric" in d.method
        largest = max(largest, d.gap)
    record("remaps", {"designs": 300, "largest_gap": largest})
    assert largest < 1e-9


@pytest.mark.parametrize("n", [50, 100, 200])
@pytest.mark.parametrize("require", ["WH", "F", "RM S WH", "CM", "all seven"])
def test_large_designs_keep_their_promises(n, require):
    """Too large for the program of the test: the certificate proves the value, the integers the rest."""
    letters = SEVEN if require == "all seven" else tuple(require.split())
    for alpha in ("1/2", "9/10", "99/100"):
        case = plain(n, alpha, "l1", letters)
        d = case.design()
        judge(d, case)
        assert d.gap <= 1e-6


def test_a_certificate_of_a_hundred_is_checked_in_a_minute(tmp_path):
    """By the lone script, with the standard library alone; n = 100 with the most multipliers there are."""
    shutil.copy(verify.__file__, tmp_path / "verify.py")
    seconds = {}
    for name, require in (("WH", ("WH",)), ("all seven", SEVEN)):
        d = dt.design(100, alpha="9/10", loss="l1", require=require)
        d.mechanism.save(tmp_path / "m.json")
        start = time.perf_counter()
        told = subprocess.run(
            [sys.executable, "-I", "-S", tmp_path / "verify.py", tmp_path / "m.json"],
            capture_output=True,
            text=True,
            timeout=300,
        )
        seconds[name] = round(time.perf_counter() - start, 2)
        assert (told.returncode, told.stderr) == (0, "")
    record("checking a certificate, n = 100", {"seconds": seconds})
    assert max(seconds.values()) < 60


def test_losses_of_any_unit_and_extreme_levels():
    """Levels so strict or so lax that floats are strained: a design that is right, or a refusal; never a wrong one."""
    refused = 0
    for alpha in ("1/1000000", "1/1000", "999/1000", "99999/100000", "9999999/10000000"):
        for loss in ("l0", "l1", "l2"):
            for require in ((), ("WH",), ("CH",), ("F",), SEVEN):
                for n in (2, 5, 16):
                    case = plain(n, alpha, loss, require)
                    try:
                        d = case.design()
                    except dt.errors.DiscreetError:
                        refused += 1
                        continue
                    judge(d, case)
                    if n < 16 and 1e-3 <= float(case.alpha) <= 0.9999:
                        assert d.objective == pytest.approx(best_value(case), rel=1e-6, abs=1e-6)
    record("extreme levels", {"designs": 225, "refused": refused})


def test_the_same_integers_in_another_process():
    code = (
        "import discreet as dt; d = dt.design(24, alpha='9/10', loss='l2', require='WH CH');"
        "print(hash(tuple(map(tuple, d.mechanism.finite().integers()[0].tolist()))))"
    )
    told = {
        subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "OMP_NUM_THREADS": threads},
        ).stdout
        for threads in ("1", "2")
    }
    own = integers(dt.design(24, alpha="9/10", loss="l2", require="WH CH"))[0]
    assert told == {f"{hash(tuple(map(tuple, own)))}\n"}
