"""Write one file of each format, as this version writes it: python tools/freeze.py 0.1.0

The files go to tests/frozen/VERSION, once and for all: a folder that is there is left alone. tests/test_frozen.py says what they
mean, and reads them with every later version. The data are made up, and so is the noise where a seed allows it.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import warnings
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

import discreet as dt
from discreet.collect.reporter import Reporter

FROZEN = Path(__file__).resolve().parent.parent / "tests" / "frozen"


def main(version: str) -> None:
    folder = FROZEN / version
    if folder.exists():
        raise SystemExit(
            f"{folder} is there already, and frozen. Files of a new version go into a folder of their own."
        )
    if version != dt.__version__:
        raise SystemExit(f"This is discreet {dt.__version__}, not {version}.")
    folder.mkdir(parents=True)
    write(folder)


def write(folder: Path) -> None:
    """All files, into an empty folder."""
    with contextlib.chdir(folder), warnings.catch_warnings():
        warnings.simplefilter("ignore", dt.errors.PrivacyWarning)
        mechanisms()
        cascade()
        collection()
        releases()


def mechanisms() -> None:
    """One for each kind of channel, of neighbours and of certificate."""
    names = ["Fiat", "Opel", "another"]
    table = [["1/2", "1/4", "1/4"], ["1/4", "1/2", "1/4"], ["1/4", "1/4", "1/2"]]
    made: dict[str, Any] = {
        "geometric": dt.geometric(8, alpha="9/10"),
        "geometric-open": dt.geometric(dt.Grid(0, None), epsilon=1),
        "laplace": dt.laplace(dt.Grid(None, None, "1/2"), epsilon="1/10"),
        "staircase": dt.staircase(20, epsilon=1, sensitivity=3),
        "gaussian": dt.gaussian(dt.Grid(None, None), rho="1/800"),
        "gaussian-clamped": dt.gaussian(30, q="99/100"),
        "explicit-fair": dt.explicit_fair(8, alpha="9/10"),
        "randomized-response": dt.randomized_response(dt.Names(names, other="another"), alpha="1/3"),
        "projective-response": dt.projective_response(12, epsilon=1),
        "square-wave": dt.square_wave(10, epsilon=1),
        "uniform": dt.uniform(3),
        "from-matrix-pairs": dt.from_matrix(table, alpha="1/2", neighbours=[(0, 1), (1, 2)]),
        "distances": replace(
            dt.from_matrix(table, alpha="1/2"), neighbours=dt.Neighbours.distances({(0, 1): 1, (0, 2): 2})
        ),
        "then": dt.geometric(8, alpha="1/2").then(dt.randomized_response(8, alpha="1/2")),
        "map": dt.geometric(8, alpha="1/2").remap([0, 0, 2, 2, 4, 4, 6, 6, 8]),
        "design-average": dt.design(4, alpha="2/3", loss="l1", require={"WH", "CM"}).mechanism,
        "design-worst": dt.design(3, alpha="1/2", loss="l2", risk="worst").mechanism,
        "design-priors": dt.design(
            3, alpha="1/2", loss="l1", priors=[dt.Prior("low", (3, 1, 1, 1)), dt.Prior("high", (1, 1, 1, 3))]
        ).mechanism,
    }
    for name, m in made.items():
        m.save(f"mechanism-{name}.json")
    dt.traditional.random_rounding(9, base=3).save("method-random-rounding.json")
    written("digests.json", {name: m.digest for name, m in made.items()})


def cascade() -> None:
    reports = dt.sharing.cascade(["1/4", "1/2", "4/5"], 10).release([3, 0, 10], source=dt.insecure_source(1))
    reports.save("cascade.json")


def collection() -> None:
    """A column of reports with its tally, an estimate of it, and a reporter's memo."""
    m = dt.randomized_response(4, epsilon=1)
    drawn = m.sample(np.arange(500) % 3, source=dt.insecure_source(2))
    table = pa.table({"age": drawn})
    pq.write_table(table, "reports.parquet")
    counted = dt.tally(table, column="age", mechanism=m)
    pq.write_table(counted, "tally.parquet")
    pyarrow.csv.write_csv(counted, "tally.csv")
    m.save("mechanism-of-reports.json")
    estimate = dt.recover(counted, m, method="mle")
    written("estimate.json", estimate.to_dict())
    reporter = Reporter(Path("mechanism-of-reports.json").read_bytes())
    for value in ("1", "3", "1"):
        reporter.remembered(value, "memo.json", most=2)
    os.chmod("memo.json", 0o644)


def releases() -> None:
    """A ledger of four data sets, their exports, a question, a domain and releases of each kind."""
    people = pa.table(
        {
            "id": [k // 2 for k in range(120)],
            "district": ["north", "south", "west"] * 40,
            "age": [(7 * k) % 90 for k in range(120)],
            "ill": ["yes", "no", "no", "yes", "no"] * 24,
            "income": [100 * (k % 50) for k in range(120)],
        }
    )
    ledger = dt.Ledger("ledger.db")
    ledger.create("town", budget="4", relation="add-remove", per={"month": "4", "year": "4"})
    ledger.create("survey", budget="3", relation="change-one", public=["district"])
    ledger.create("census", rho="1/5", delta="1e-9", relation="add-remove", unit="id")
    ledger.create("births", budget="2", relation="add-remove", parts="district")
    pq.write_table(people, "people.parquet")
    dt.admit("people.parquet", dataset="town", ledger=ledger, version="2026-01", codes=["district"])
    domain = {"district": ["north", "south", "west"], "age": {"0-17": [0, 17], "18-64": [18, 64], "65+": [65, None]}}
    asked = dt.Question(count="ill = 'yes'", by=["district"], domain={"district": domain["district"]}, max_count=500)
    written("question.json", asked.to_dict())
    table = dt.release("people.parquet", asked, dataset="town", ledger=ledger, epsilon="1/2", version="2026-01")
    table.save("ill.csv")
    several = dt.release(
        people,
        dataset="town",
        ledger=ledger,
        count={"ill": "ill = 'yes'", "all": "*"},
        sum={"income": "income:0..5000/100"},
        by=["district", "age"],
        domain=domain,
        margins=["district", []],
        measure_totals={"district": 1, "cells": 3},
        epsilon=1,
        version="2026-02",
    )
    several.save("several.csv")
    both = dt.release_to(
        people, asked, dataset="town", ledger=ledger, audiences={"ministry": "1", "public": "1/4"}, version="2026-03"
    )
    both["public"].save("public.csv")
    kept = dt.release(
        people,
        dataset="survey",
        ledger=ledger,
        count="ill = 'yes'",
        by=["district"],
        domain={"district": ["north", "south", "west", "east"]},
        epsilon=1,
    )
    kept.save("survey.csv")
    dt.release(
        people,
        dataset="census",
        ledger=ledger,
        count="ill = 'yes'",
        mean={"income": "income:0..5000/100"},
        by=["district"],
        domain={"district": domain["district"]},
        rho="1/800",
    ).save("census.csv")
    dt.release(
        people,
        dataset="births",
        ledger=ledger,
        count="ill = 'yes'",
        part="north",
        epsilon="1/2",
        max_count=100,
    ).save("births.csv")
    ledger.charge("births", epsilon="1/4", what="drawn elsewhere", part="south")
    with ledger.spend("births", epsilon="1/4", what="a count by hand", part="west") as paid:
        paid.sample(dt.geometric(100, epsilon="1/4"), 42)
    for name in ("town", "survey", "census", "births"):
        lines = [entry.number for entry in ledger.history(name) if entry.kind == "charge"]
        answered = {entry.facts["charge"] for entry in ledger.history(name) if entry.kind == "answer"}
        written(f"ledger-{name}.json", ledger.export(name, words=True, published=[n for n in lines if n in answered]))
    ledger.close()
    written("domain-learned.json", dt.profile(people).domain())
    source = {"format": "discreet-domain", "version": 1, "source": "a public list", "columns": domain}
    written("domain.json", source)


def written(name: str, value: Any) -> None:
    text = json.dumps(value, indent=1, default=lambda x: str(x) if isinstance(x, Fraction) else x)
    Path(name).write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    main(sys.argv[1])
