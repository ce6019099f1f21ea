"""A hundred tables from one ledger with a standard error of 20, within epsilon 4 at delta 1e-9; checked with verify.py alone."""

from __future__ import annotations

import json
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import discreet as dt
from discreet import verify
from discreet.errors import BudgetError

pa = pytest.importorskip("pyarrow")

EACH, TABLES = Fraction(1, 800), 100
DISTRICTS = [f"district {k}" for k in range(8)]


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(7)
    return pa.table(
        {
            "district": np.array(DISTRICTS)[rng.integers(0, 8, 2_000)],
            "age": rng.integers(0, 100, 2_000).astype(np.int64),
        }
    )


def checked(folder: Path, *names: str) -> subprocess.CompletedProcess[str]:
    """verify.py in an interpreter of its own that sees the standard library and nothing else."""
    program = [sys.executable, "-I", "-S", str(verify.__file__), *names]
    return subprocess.run(program, cwd=folder, capture_output=True, text=True, check=False, timeout=600)


@pytest.mark.long
def test_a_hundred_tables_are_released_from_one_ledger_and_checked_by_others(place, ledger, people, tmp_path):
    terms = ledger.create("census", 4, delta="1e-9", relation="add-remove")
    census = dt.Ledger(place.address)["census"]
    made = [
        census.release(
            people,
            count=f"age >= {k}",
            by=["district"],
            domain={"district": DISTRICTS},
            rho=EACH,
        )
        for k in range(TABLES)
    ]
    balance = ledger.balance("census")
    assert balance.spent == TABLES * EACH == Fraction(1, 8)
    ages = np.asarray(people["age"])
    places = [np.asarray(people["district"]) == district for district in DISTRICTS]
    errors = [
        report - int((ages[chosen] >= k).sum())
        for k, release in enumerate(made)
        for chosen, report in zip(places, release.columns["report"], strict=True)
    ]
    # 800 draws of variance 400: their mean square has a standard deviation of 20, and leaves this interval with a probability
    # below 1e-6; geometric noise for a hundred tables within epsilon 4 has the variance 1,250
    assert 300 < np.mean(np.square(errors)) < 500
    assert all(abs(release.columns["standard_error"][0] - 20) < 1e-6 for release in made)
    files = []
    for k, release in enumerate(made):
        release.save(tmp_path / f"table-{k}.csv")
        files.append(f"table-{k}.json")
    lines = [release.record["ledger_line"] for release in made]
    exported = tmp_path / "ledger.json"
    exported.write_text(json.dumps(ledger.export("census", published=lines)))
    found = checked(tmp_path, "ledger.json", *files)
    assert (found.returncode, found.stderr) == (0, "")
    assert found.stdout.count("verdict: all of this holds") == TABLES + 1
    assert f"rho 1/8 of about {float(terms.budget):.9g} is spent, in 100 charges; 0 without an answer" in found.stdout
    assert "every event is at most e^4 times as likely if one person is changed, plus 1e-9" in found.stdout
    assert found.stdout.count("rho pays for all that one unit moves, by the weights of its noise (gaussian)") == TABLES
    assert found.stdout.count("are those that line") == TABLES  # the commitments were opened
    assert all(dt.check_release(tmp_path / name, ledger=census.ledger) for name in files[::25])

    # negative controls: a line that charges less, noise that costs more, and a table more than rho pays for
    told = json.loads(exported.read_text())
    forged = json.loads(json.dumps(told))
    forged["entries"][1]["entry"]["rho"] = "1/801"
    (tmp_path / "forged.json").write_text(json.dumps(forged))
    assert checked(tmp_path, "forged.json").returncode == 1
    record = json.loads((tmp_path / files[0]).read_text())
    record["record"]["answer"]["measures"][0]["mechanism"]["q"] = "1/2"
    (tmp_path / "table-0.json").write_text(json.dumps(record))
    refused = checked(tmp_path, "ledger.json", "table-0.json")
    assert refused.returncode == 1
    assert "costs more than rho 1/800" in refused.stdout

    paid = dt.plan_tables(standard_error=20, budget=4).paid
    assert paid == (56, 165)
    for k in range(TABLES, paid[1]):
        ledger.charge("census", rho=EACH, what=f"table {k}")
    with pytest.raises(BudgetError, match="1/800 was asked"):
        ledger.charge("census", rho=EACH, what="one more")
    assert ledger.verify("census").count == 1 + 2 * TABLES + 65


def test_pure_epsilon_pays_for_fifty_six(ledger):
    """What `plan_tables` says of the other side, with the epsilon of geometric noise that has the same standard error."""
    ledger.create("pure", 4, relation="add-remove")
    each = Fraction(70696, 10**6)  # arcosh(1 + 1/400) = 0.0706959...
    noise = dt.geometric(dt.Grid(None, None), epsilon=each)
    assert 19.999 < noise.channel.standard_error < 20
    for k in range(56):
        ledger.charge("pure", epsilon=each, what=f"table {k}")
    with pytest.raises(BudgetError):
        ledger.charge("pure", epsilon=each, what="one more")
