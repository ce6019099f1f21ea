"""The schemas of docs/schemas: what is written fits, and a file that lacks a part or has one more does not."""

from __future__ import annotations

import copy
import json
import sqlite3
from typing import Any

import pyarrow as pa
import pytest
from jsonschema import Draft202012Validator

import discreet as dt
from discreet.collect.reporter import Reporter
from tests.schemas import DOCUMENTS, faults

MECHANISMS = {
    "geometric": lambda: dt.geometric(dt.Grid(0, None), epsilon=1),
    "laplace": lambda: dt.laplace(dt.Grid(None, None, "1/2"), epsilon="1/10"),
    "staircase": lambda: dt.staircase(20, epsilon=1, sensitivity=3),
    "gaussian": lambda: dt.gaussian(30, q="99/100"),
    "explicit fair": lambda: dt.explicit_fair(8, alpha="9/10"),
    "randomised response": lambda: dt.randomized_response(dt.Names(["a", "b", "c"]), alpha="1/3"),
    "projective response": lambda: dt.projective_response(12, epsilon=1),
    "square wave": lambda: dt.square_wave(10, epsilon=1),
    "pairs": lambda: dt.from_matrix([["2/3", "1/3"], ["1/3", "2/3"]], alpha="1/2", neighbours=[(0, 1)]),
    "then": lambda: dt.geometric(8, alpha="1/2").then(dt.randomized_response(8, alpha="1/2")),
    "average": lambda: dt.design(4, alpha="2/3", loss="l1", require={"WH", "CM"}).mechanism,
    "worst": lambda: dt.design(3, alpha="1/2", loss="l2", risk="worst").mechanism,
    "priors": lambda: dt.design(2, alpha="1/2", loss="l1", priors=["uniform", "binomial(1/3)"]).mechanism,
}


def refuses_other_parts(name: str, document: dict[str, Any], optional: tuple[str, ...] = ()) -> None:
    """A schema accepts a document, and none that lacks one of its parts or has one more."""
    assert faults(name, document) == []
    for key in set(document) - set(optional):
        assert faults(name, {k: v for k, v in document.items() if k != key}), key
    assert faults(name, {**document, "unheard of": 1})


def test_schemas_are_schemas():
    for document in DOCUMENTS.values():
        Draft202012Validator.check_schema(document)


@pytest.mark.parametrize("name", MECHANISMS)
def test_mechanism_files_fit(name, tmp_path):
    MECHANISMS[name]().save(tmp_path / "m.json")
    refuses_other_parts("mechanism", json.loads((tmp_path / "m.json").read_text()), ("certificate", "recipe"))


def test_files_of_a_collection_fit(tmp_path):
    m = dt.randomized_response(4, epsilon=1)
    m.save(tmp_path / "m.json")
    Reporter((tmp_path / "m.json").read_bytes()).remembered("1", str(tmp_path / "memo.json"), most=2)
    refuses_other_parts("memo", json.loads((tmp_path / "memo.json").read_text()))
    estimate = dt.recover([100, 80, 60, 40, 20], m, method="mle")
    assert faults("estimate", json.loads(json.dumps(estimate.to_dict()))) == []


def test_files_of_a_release_fit(tmp_path):
    people = pa.table({"district": ["north", "south"] * 40, "ill": ["yes", "no", "no", "yes"] * 20})
    asked = dt.Question(count="ill = 'yes'", by=["district"], domain={"district": ["north", "south"]})
    refuses_other_parts("question", asked.to_dict())
    domain = {"format": "discreet-domain", "version": 1, "source": "a list", "columns": {"district": ["north"]}}
    assert faults("domain", domain) == []
    assert faults("domain", {**domain, "version": 2})
    with dt.Ledger(tmp_path / "ledger.db") as ledger:
        ledger.create("town", budget="1", relation="add-remove")
        ledger["town"].release(people, asked, epsilon="1/2").save(tmp_path / "ill.csv")
        exported = json.loads(json.dumps(ledger["town"].export()))
    saved = json.loads((tmp_path / "ill.json").read_text())
    assert faults("release", saved) == []
    for key in saved["record"]:
        other = copy.deepcopy(saved)
        del other["record"][key]
        assert faults("release", other), key
    refuses_other_parts("ledger", exported, ("published", "words"))
    with sqlite3.connect(tmp_path / "ledger.db") as connection:
        answers = [json.loads(text) for (text,) in connection.execute("SELECT text FROM discreet_answer")]
    connection.close()
    assert answers
    for answer in answers:
        assert faults("answer", answer) == []
