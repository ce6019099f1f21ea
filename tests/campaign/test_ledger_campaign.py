"""Five hundred kills and many races on each database; what was found is written to ledger-campaign.json."""

from __future__ import annotations

import json
import os
import platform
import random
import sqlite3
import time
from dataclasses import asdict
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from discreet.ledger.book import Book
from tests import crashes

pytestmark = pytest.mark.campaign

KILLS = 500
RACES = 20
RESULTS = Path(os.environ.get("DISCREET_RESULTS", "benchmarks/results"))


def record(kind: str, found: dict[str, Any]) -> None:
    """Put the findings of one database into the result file, beside those of the other."""
    path = RESULTS / "ledger-campaign.json"
    RESULTS.mkdir(parents=True, exist_ok=True)
    content = json.loads(path.read_text()) if path.exists() else {}
    about = {"date": datetime.now(UTC).date().isoformat(), "python": platform.python_version()}
    content[kind] = {**content.get(kind, {}), **about, **found}
    path.write_text(json.dumps(content, indent=1) + "\n")


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.outside("postgres"))])
def store(request, tmp_path) -> tuple[str, str, str]:
    """The kind, the version and the address of an empty database."""
    if request.param == "sqlite":
        return "sqlite", sqlite3.sqlite_version, str(tmp_path / "budget.db")
    running = request.getfixturevalue("server")
    return "postgres", running.version, running.database()


@pytest.mark.parametrize("at_once", [1, 8])
def test_kills(store, tmp_path, at_once):
    kind, version, address = store
    seed = random.SystemRandom().getrandbits(32)
    start = time.monotonic()
    with Book(address) as ledger:
        ledger.create("survey", 10**6)
        found = crashes.kill(ledger, "survey", KILLS // 2, seed, tmp_path, at_once)
    name = f"kills, {at_once} at once"
    record(
        kind, {"version": version, name: {**asdict(found), "seed": seed, "seconds": round(time.monotonic() - start, 1)}}
    )
    assert found.revealed > KILLS / 4


def test_races(store, tmp_path):
    """Eight processes use up budgets of a prime number of charges; none is lost, none is given twice."""
    kind, version, address = store
    charges = 211
    start = time.monotonic()
    shares = []
    with Book(address) as ledger:
        for turn in range(RACES):
            names = [f"survey {turn}-{k}" for k in range(1 + turn % 3)]
            for name in names:
                ledger.create(name, "1/3")
            got = crashes.race(ledger, names, Fraction(1, 3 * charges), 8, tmp_path)
            for name in names:
                assert ledger.balance(name).spent <= Fraction(1, 3)
                ledger.verify(name)
            assert sum(got.shares) == sum(ledger.balance(name).pending for name in names)
            assert ledger.balance(names[0]).left == 0 or len(names) > 1
            shares.append([min(got.shares), max(got.shares)])
    seconds = round(time.monotonic() - start, 1)
    record(
        kind,
        {
            "version": version,
            "races": {"races": RACES, "processes": 8, "least and most of a process": str(shares), "seconds": seconds},
        },
    )
