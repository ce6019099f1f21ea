"""Thousands of audits: our own samplers are flagged no more often than the auditor's confidence says."""

from __future__ import annotations

import json
import os
import platform
from datetime import date
from pathlib import Path

import pytest
from scipy import stats

import discreet as dt
from discreet.randomness.source import insecure_source

MECHANISMS = {
    "geometric": dt.geometric(100, epsilon="ln(2)/10"),
    "explicit fair": dt.explicit_fair(8, alpha="9/10"),
    "randomised response": dt.randomized_response(20, epsilon=1),
    "unbounded geometric": dt.geometric(dt.Grid(None, None), epsilon=1),
}


@pytest.mark.campaign
def test_a_thousand_audits_of_each_mechanism():
    """1,000 seeded audits each at confidence 0.95; the bar is passed by chance once in 1e7."""
    flags = {
        name: sum(dt.audit(m, draws=20_000, confidence=0.95, source=insecure_source(k)).flagged for k in range(1000))
        for name, m in MECHANISMS.items()
    }
    folder = Path(os.environ.get("DISCREET_RESULTS", "benchmarks/results"))
    folder.mkdir(parents=True, exist_ok=True)
    told = {
        "date": date.today().isoformat(),
        "machine": platform.machine(),
        "audits_each": 1000,
        "confidence": 0.95,
        "flags": flags,
    }
    (folder / "audit-campaign.json").write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
    assert max(flags.values()) <= stats.binom.isf(1e-7, 1000, 0.05)
