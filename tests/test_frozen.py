"""Files that earlier versions wrote, in tests/frozen: today's discreet reads each, and finds the same in it."""

from __future__ import annotations

import csv
import json
import os
import shutil
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

import discreet as dt
from discreet import verify
from discreet.collect.reporter import Reporter
from discreet.errors import DiscreetError
from discreet.tables.saved.release_files import digest_of, record_text
from discreet.traditional.methods import Method

FROZEN = Path(__file__).parent / "frozen"
FIRST = FROZEN / "0.1.0"


def read(name):
    return json.loads((FIRST / name).read_text(encoding="utf-8"))


@pytest.fixture
def folder(tmp_path):
    """The files, where they may be opened for writing; Git keeps no rights, and a secret must be its owner's alone."""
    shutil.copytree(FIRST, tmp_path / "0.1.0")
    os.chmod(tmp_path / "0.1.0" / "ledger.db.secret", 0o600)
    return tmp_path / "0.1.0"


@pytest.mark.parametrize("name", sorted(read("digests.json")))
def test_mechanisms_have_the_digests_that_they_had(name):
    m = dt.load(FIRST / f"mechanism-{name}.json")
    assert m.digest == read("digests.json")[name]
    assert verify.verify(verify.read(FIRST / f"mechanism-{name}.json")).alpha == m.alpha


def test_mechanisms_mean_what_they_meant():
    """By the formulas of their papers, not by what the code makes today."""
    m = dt.load(FIRST / "mechanism-geometric.json")
    assert (m.alpha, m.inputs.size) == (Fraction(9, 10), 9)
    assert m.channel.entry(0, 0) == Fraction(10, 19)  # 1 / (1 + alpha) at an end
    assert m.channel.entry(3, 5) == Fraction(1, 19) * Fraction(81, 100)  # (1 - alpha) / (1 + alpha) alpha^2 between
    m = dt.load(FIRST / "mechanism-randomized-response.json")
    assert (m.alpha, m.inputs.names, m.inputs.other) == (Fraction(1, 3), ("Fiat", "Opel", "another"), "another")
    assert [m.channel.entry(0, j) for j in range(3)] == [Fraction(3, 5), Fraction(1, 5), Fraction(1, 5)]
    assert dt.load(FIRST / "mechanism-uniform.json").alpha == 1
    m = dt.load(FIRST / "mechanism-gaussian-clamped.json")
    assert (m.alpha, m.concentration) == (0, (Fraction(99, 100), 1))
    m = dt.load(FIRST / "mechanism-laplace.json")
    assert (m.inputs.low, m.inputs.step, m.level.asked.factor) == (None, Fraction(1, 2), Fraction(1, 10))
    m = dt.load(FIRST / "mechanism-from-matrix-pairs.json")
    assert (m.neighbours.kind, m.alpha) == ("pairs", Fraction(1, 2))
    assert dt.load(FIRST / "mechanism-distances.json").neighbours.kind == "distances"
    m = dt.load(FIRST / "mechanism-map.json")
    assert all(m.channel.entry(0, j) > 0 for j in (0, 2, 4, 6, 8))
    assert m.channel.entry(0, 1) == 0
    m = dt.load(FIRST / "mechanism-design-average.json")
    assert {"WH", "CM"} <= dt.properties(m)
    assert m.certificate["risk"] == "average"
    assert read("mechanism-design-priors.json")["certificate"]["family"]["kind"] == "hull"


def test_every_kind_of_channel_noise_and_neighbours_is_frozen():
    found = {"kind": set(), "family": set(), "near": set()}
    for path in FIRST.glob("mechanism-*.json"):
        document, ahead = json.loads(path.read_text(encoding="utf-8")), []
        found["near"].add(document["neighbours"]["kind"])
        ahead.append(document["channel"])
        while ahead:
            part = ahead.pop()
            found["kind"].add(part["kind"])
            if "noise" in part:
                found["family"].add(part["noise"]["family"])
            ahead += [part[k] for k in ("first", "second", "other") if isinstance(part.get(k), dict)]
    assert found["kind"] == {*verify._READERS, "then"}
    assert found["family"] == {"geometric", "staircase", "gaussian"}
    assert found["near"] == {"steps", "any", "pairs", "distances"}


def test_a_method_promises_nothing():
    m = Method.load(FIRST / "method-random-rounding.json")
    assert m.channel.entry(4, 1) == Fraction(2, 3)  # reports are 0, 3, 6, 9: 4 becomes 3 twice as often as 6
    with pytest.raises(DiscreetError):
        dt.load(FIRST / "method-random-rounding.json")


def test_the_reports_of_a_cascade_are_there():
    reports = dt.results.CascadeReports.load(FIRST / "cascade.json")
    assert [str(level.alpha) for level in reports.cascade.levels] == ["1/4", "1/2", "4/5"]
    assert [list(map(int, each)) for each in reports] == read("cascade.json")["places"]
    assert reports.insecure


def test_ledgers_balance_as_they_did(folder):
    with dt.Ledger(folder / "ledger.db") as ledger:
        assert sorted({row["data set"] for row in ledger.balances().rows()}) == ["births", "census", "survey", "town"]
        assert ledger.balance("town").left == Fraction(3, 2)  # of 4, after 1/2, 1 and 1
        assert ledger.balance("survey").left == 2
        assert ledger.balance("census").left == Fraction(1, 5) - Fraction(1, 800)
        assert ledger.balance("births", part="north").left == Fraction(3, 2)
        assert (
            ledger.balance("births", part="south").left == ledger.balance("births", part="west").left == Fraction(7, 4)
        )
        for name in ("births", "census", "survey", "town"):
            exported = read(f"ledger-{name}.json")
            assert ledger.verify(name).hash == exported["head"]["hash"]
            assert ledger.export(name)["entries"] == [
                {k: line[k] for k in ("entry", "hash")} for line in exported["entries"]
            ]
            assert verify.check_ledger(exported)[0].holds


def test_a_question_that_was_answered_then_is_answered_again_for_nothing(folder, monkeypatch):
    monkeypatch.chdir(folder)
    asked = dt.Question.from_dict(read("question.json"))
    assert asked.to_dict() == read("question.json")
    with dt.Ledger("ledger.db") as ledger:
        made = dt.release("people.parquet", asked, dataset="town", ledger=ledger, epsilon="1/2", version="2026-01")
        assert made.record["repeated"]
        assert ledger.balance("town").left == Fraction(3, 2)
    with open(FIRST / "ill.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["district"], int(row["report"])) for row in rows] == [
        (row["district"], row["report"]) for row in made.rows()
    ]


@pytest.mark.parametrize("name", ["ill", "several", "public", "survey", "census", "births"])
def test_releases_still_hold(folder, name):
    dataset = read(f"{name}.json")["record"]["dataset"]
    assert dt.check_release(folder / f"{name}.json").holds
    with dt.Ledger(folder / "ledger.db") as ledger:
        assert dt.check_release(folder / f"{name}.json", ledger=ledger).holds
    verdict = verify.check_release(
        read(f"{name}.json"), str(FIRST / f"{name}.json"), verify.history(read(f"ledger-{dataset}.json"))
    )
    assert verdict.holds, [finding.words for finding in verdict.findings if not finding.held]


def test_a_release_that_was_changed_since_does_not_hold(folder):
    path = folder / "ill.csv"
    path.write_bytes(path.read_bytes().replace(b"north", b"North"))
    assert not dt.check_release(folder / "ill.json").holds


@pytest.mark.parametrize(("writer", "held", "shown"), [("0.0.9", None, "not checked"), (dt.__version__, False, "NO")])
def test_sentences_of_another_version_are_not_checked(folder, writer, held, shown):
    """Its page and its record say the same in other words; everything else is checked. Of today's version it is wrong."""
    page, path = folder / "census.html", folder / "census.json"
    other = page.read_text(encoding="utf-8").replace("Random noise was added", "Noise was added")
    page.write_text(other, encoding="utf-8", newline="")
    document = json.loads(path.read_text(encoding="utf-8"))
    document["record"] |= {"discreet": writer, "beware": [text.upper() for text in document["record"]["beware"]]}
    document["record"]["files"]["census.html"] = digest_of(page.read_bytes())
    path.write_text(record_text(document["record"], document["margins"]), encoding="utf-8", newline="")
    with dt.Ledger(folder / "ledger.db") as ledger:
        verdict = dt.check_release(path, ledger=ledger)
    found = {check.matter: check.held for check in verdict.checks}
    in_words = ("what the record says", "the page for people")
    assert found == {matter: held if matter in in_words else True for matter in found}
    assert {in_words[1]: shown}.items() <= {row[0]: row[1] for row in verdict.view().rows}.items()


def test_a_memo_still_gives_the_same_reports(folder):
    reporter = Reporter((folder / "mechanism-of-reports.json").read_bytes())
    for value, report in read("memo.json")["reports"].items():
        assert reporter.remembered(value, str(folder / "memo.json"), most=2) == report


def test_a_tally_is_recovered_as_it_was():
    m = dt.load(FIRST / "mechanism-of-reports.json")
    counted = dt.tally(FIRST / "reports.parquet", column="age", mechanism=m)
    assert counted.to_pydict() == pq.read_table(FIRST / "tally.parquet").to_pydict()
    assert counted.to_pydict() == dt.tally(FIRST / "tally.csv", column="age", mechanism=m).to_pydict()
    estimate = dt.recover(pq.read_table(FIRST / "tally.parquet"), m, method="mle")
    assert estimate.reports == 500
    np.testing.assert_allclose(estimate.distribution, read("estimate.json")["distribution"], atol=1e-6)


def test_a_domain_declares_what_it_did():
    asked = dt.Question(by=["district", "age"], domain=str(FIRST / "domain.json"))
    assert len(asked.cells) == 9
    with pytest.raises(DiscreetError, match="learned from the data"):
        dt.Question(by=["district"], domain=str(FIRST / "domain-learned.json"))
