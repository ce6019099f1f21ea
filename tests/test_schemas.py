"""The schemas of docs/schemas: what is written fits, and what readers refuse for its shape does not."""

from __future__ import annotations

import copy
import hashlib
import importlib.util
import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

import discreet as dt
from discreet import verify
from discreet.collect.reporter import RefusedError, Reporter
from discreet.designs import Priors
from discreet.errors import DiscreetError, FileError
from discreet.ledger.stores import SCHEMA
from tests import schemas
from tests.cells import for_each
from tests.test_frozen import FROZEN
from tests.test_verify import document as mechanism_document

ROOT = Path(__file__).parent.parent
FILES = [path for path in sorted(FROZEN.rglob("*.json")) if schemas.kind_of(path)]
ODD = (None, True, "odd", [], {"odd": 1}, 1.5)  # in the place of any part


def read(name: str) -> Any:
    return json.loads((FROZEN / "0.1.0" / name).read_text(encoding="utf-8"))


def test_schemas_are_schemas_and_say_what_they_are_of():
    assert set(schemas.DOCUMENTS) == {
        *("answer", "cascade", "domain", "estimate", "ledger", "mechanism", "memo", "question", "release")
    }
    for name, document in schemas.DOCUMENTS.items():
        Draft202012Validator.check_schema(document)
        assert document["$id"] == f"{name}.schema.json"
        assert document["title"]
        assert document["description"]


@for_each("path", FILES)
def test_frozen_files_fit(path):
    assert schemas.faults(schemas.kind_of(path), json.loads(path.read_text(encoding="utf-8"))) == []


def test_frozen_files_are_of_every_schema():
    assert {schemas.kind_of(path) for path in FILES} == set(schemas.DOCUMENTS) - {"answer"}


def answers(ledger: Path) -> list[Any]:
    with sqlite3.connect(f"file:{ledger}?mode=ro&immutable=1", uri=True) as connection:
        found = [json.loads(text) for (text,) in connection.execute("SELECT text FROM discreet_answer")]
    connection.close()
    return found


def test_stored_answers_fit():
    found = answers(FROZEN / "0.1.0" / "ledger.db")
    assert {each["format"] for each in found} == {"discreet-answer", "discreet-audiences", "discreet-draw"}
    for each in found:
        assert schemas.faults("answer", each) == []


@pytest.mark.long
def test_what_is_written_today_fits(tmp_path):
    spec = importlib.util.spec_from_file_location("freeze", ROOT / "tools" / "freeze.py")
    freeze = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(freeze)
    freeze.write(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {path.name for path in (FROZEN / dt.__version__).iterdir()}
    for path in tmp_path.glob("*.json"):
        if kind := schemas.kind_of(path):
            assert schemas.faults(kind, json.loads(path.read_text(encoding="utf-8"))) == [], path.name
    for each in answers(tmp_path / "ledger.db"):
        assert schemas.faults("answer", each) == []


def parts(document: Any) -> Iterator[tuple[Any, Any]]:
    """Every place of a document: what holds it, and its key there."""
    for key in [*document] if isinstance(document, dict) else range(len(document)):
        yield document, key
        if isinstance(document[key], (dict, list)):
            yield from parts(document[key])


def changed(document: Any) -> Iterator[tuple[str, Any]]:
    """The document with one part taken out, one added, or one of another kind, and what was done."""
    copied = copy.deepcopy(document)
    for holder, key in parts(copied):
        before = holder[key]
        if isinstance(holder, dict):
            del holder[key]
            yield f"without {key}", copied
            holder[key] = before  # now the last key, which means nothing
            if isinstance(before, dict):
                before["unheard of"] = 1
                yield f"more in {key}", copied
                del before["unheard of"]
        for odd in ODD:
            if json.dumps(odd) != json.dumps(before):
                holder[key] = odd
                yield f"{key} = {odd!r}", copied
        holder[key] = before
    assert copied == document


def refused(document: Any) -> verify.Fault | None:
    """Why verify.py refuses a mechanism, with a digest that fits."""
    sealed = {**document, "digest": verify.digest(document)}
    try:
        verify.parse(json.dumps(sealed).encode())
        verify.verify(sealed)
    except verify.Fault as fault:
        return fault
    return None


# Rules about two parts of a file at once, or about sizes, which a schema cannot say.
BEYOND = (
    "do not fit the channel",
    "less than one step",
    "lines of integers",
    "needs n >= 1",
    "needs two values",
    "no names, each once",
    "has negative numbers",
    "too many bits",
    "saturate where that grid ends",
    "needs a field",
    "what was not required",
    "A rho is claimed",
    "needs 0 <",
    "goes with the risk of one",
    "The among are not a text",
    "points outside",
    "need as many points",
)


def agree(path: Path) -> None:
    """One part taken out, added or of another kind: what verify.py refuses for its shape the schema refuses, and nothing else."""
    document, both = json.loads(path.read_text(encoding="utf-8")), 0
    for what, other in changed({k: v for k, v in document.items() if k != "digest"}):
        fault = refused(other)
        fit = schemas.fits("mechanism", {**other, "digest": document["digest"]})
        if fault is None:  # the name of a prior is not looked at where the risk is not under that prior
            assert fit or (what.startswith("name = ") and document["certificate"]["risk"] != "average"), what
        elif fault.kind in ("shape", "version", "format") and not any(words in str(fault) for words in BEYOND):
            assert not fit, f"{what}: {fault}"
            both += 1
    assert both >= 100


def test_a_mechanism_file_fits_exactly_where_its_shape_is_accepted():
    agree(FROZEN / "0.1.0" / "mechanism-uniform.json")


@pytest.mark.long
@for_each("path", [path for path in FILES if schemas.kind_of(path) == "mechanism"])
def test_so_do_mechanism_files_of_every_kind(path):
    agree(path)


@pytest.mark.parametrize("kind", ["hull", "limits"])
def test_so_do_certificates_for_sets_of_priors(kind):
    """Every part of the set of priors: taken out, one more, or of another kind."""
    sets = {"hull": ["uniform", "binomial(1/3)"], "limits": Priors.moments(mean=(1, 2))}
    design = dt.design(2, alpha="1/2", loss="l1", priors=sets[kind])
    document = mechanism_document(design.mechanism)
    assert schemas.faults("mechanism", document) == []
    holder, both = document["certificate"], 0
    assert holder["family"]["kind"] == kind
    for what, family in changed(holder["family"]):
        other = {**document, "certificate": {**holder, "family": family}}
        fault = refused({k: v for k, v in other.items() if k != "digest"})
        assert fault is not None, what
        if fault.kind == "shape" and not any(words in str(fault) for words in BEYOND):
            assert not schemas.fits("mechanism", other), f"{what}: {fault}"
            both += 1
    assert both >= 20


def test_properties_and_blocks_of_multipliers_are_those_that_there_are():
    document = mechanism_document(dt.design(2, alpha="9/10", loss="l1", require={"WH"}).mechanism)
    proof = document["certificate"]
    assert schemas.faults("mechanism", document) == []
    for more in ({"require": ["ZZ"]}, {"multipliers": {**proof["multipliers"], "foo": ["1 1 1"]}}):
        assert not schemas.fits("mechanism", {**document, "certificate": {**proof, **more}})
        assert refused({k: v for k, v in document.items() if k != "digest"} | {"certificate": {**proof, **more}})


def rehashed(exported: Any) -> Any:
    """An exported ledger whose hashes follow again."""
    link = bytes(32)
    for line in exported["entries"]:
        text = json.dumps(line["entry"], sort_keys=True, separators=(",", ":"), ensure_ascii=True)
        link = hashlib.sha256(link + text.encode()).digest()
        line["hash"] = link.hex()
    exported["head"] = {"count": len(exported["entries"]), "hash": link.hex()}
    return exported


def fault_of(exported: Any) -> verify.Fault | None:
    try:
        verify.history(exported)
    except verify.Fault as fault:
        return fault
    return None


@for_each("name", ["town", "survey", "census", "births"])
def test_a_line_of_a_ledger_that_lacks_a_part_or_has_one_more_fits_nowhere(name):
    document, both = read(f"ledger-{name}.json"), 0
    verify.history(rehashed(copy.deepcopy(document)))
    for k, line in enumerate(document["entries"]):
        for key in (*line["entry"], "unheard of"):
            other = copy.deepcopy(document)
            facts = other["entries"][k]["entry"]
            if key in facts:
                del facts[key]
            else:
                facts[key] = 1
            fault = fault_of(rehashed(other))
            if fault is None:
                assert schemas.fits("ledger", other), (k, key)
            elif fault.kind in ("shape", "unknown", "version") and "charges no" not in str(fault):
                # an epsilon or a rho: which of them, the terms say
                assert not schemas.fits("ledger", other), f"{k} {key}: {fault}"
                both += 1
    assert both >= 10


@for_each("name", ["ill", "census"])
def test_a_record_that_lacks_a_part_or_has_one_more_does_not_fit(name):
    document = read(f"{name}.json")
    for key in document["record"]:
        other = copy.deepcopy(document)
        del other["record"][key]
        assert not schemas.fits("release", other), key
    for place in ((), ("record",), ("record", "question"), ("record", "answer"), ("record", "presentation")):
        other = copy.deepcopy(document)
        holder = other
        for key in place:
            holder = holder[key]
        holder["unheard of"] = 1
        assert not schemas.fits("release", other), place


def test_verify_has_no_verdict_either_where_a_record_lacks_a_part(tmp_path):
    """Without most parts of the record; others are words for people."""
    folder = FROZEN / "0.1.0"
    for name in ("ill.csv", "ill.html"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    document, failed = read("ill.json"), 0
    for key in document["record"]:
        other = copy.deepcopy(document)
        del other["record"][key]
        text = json.dumps({k: v for k, v in other.items() if k != "digest"}, sort_keys=True, separators=(",", ":"))
        other["digest"] = "sha256:" + hashlib.sha256(text.encode()).hexdigest()
        failed += not verify.check_release(other, str(tmp_path / "ill.json"), None).holds
    assert failed >= 30


def is_cascade(document: Any) -> bool:
    try:
        dt.results.CascadeReports.loads(json.dumps(document))
    except FileError:
        return False
    return True


def test_a_cascade_that_lacks_a_part_fits_nowhere():
    """A note for people, and whether a seed was used, may be missing where it is read."""
    document = {k: v for k, v in read("cascade.json").items() if k != "digest"}
    assert is_cascade({**document, "digest": verify.digest(document)})
    for key in document:
        other = {k: v for k, v in document.items() if k != key}
        other["digest"] = verify.digest(other)
        assert key in ("note", "insecure") or not is_cascade(other)
        assert key == "insecure" or not schemas.fits("cascade", other), key
    for key, odd in (("version", 2), ("grid", {}), ("levels", [1]), ("places", [["a"]]), ("shape", "3")):
        other = {**document, key: odd}
        other["digest"] = verify.digest(other)
        assert not is_cascade(other)
        assert not schemas.fits("cascade", other), key


def test_a_question_that_lacks_a_part_fits_nowhere():
    document = read("question.json")
    assert dt.Question.from_dict(document).to_dict() == document
    for key in document:
        other = {k: v for k, v in document.items() if k != key}
        assert not schemas.fits("question", other)
        with pytest.raises(DiscreetError):
            dt.Question.from_dict(other)


def test_a_memo_that_lacks_a_part_fits_nowhere(tmp_path):
    reporter = Reporter((FROZEN / "0.1.0" / "mechanism-of-reports.json").read_bytes())
    document = read("memo.json")
    for key in (*document, "unheard of"):
        other = {**document, "unheard of": 1} if key not in document else {k: document[k] for k in document if k != key}
        (tmp_path / "memo.json").write_text(json.dumps(other), encoding="ascii")
        assert not schemas.fits("memo", other), key
        with pytest.raises(RefusedError):
            reporter.remembered("1", str(tmp_path / "memo.json"), most=2)


def test_a_domain_with_a_part_that_is_none_fits_nowhere():
    document = read("domain.json")
    for other in ({**document, "learnt": "from the data"}, {**document, "version": 2}):
        assert not schemas.fits("domain", other)
        with pytest.raises(DiscreetError):
            dt.Question(by=["district", "age"], domain=other)


def test_formats_are_specified_with_their_schemas_and_tables():
    text = (ROOT / "docs" / "reference" / "formats.md").read_text(encoding="utf-8")
    for name in schemas.DOCUMENTS:
        assert f"(../schemas/{name}.schema.json)" in text, name
    told = " ".join(text.split())
    for statement in SCHEMA:
        assert " ".join(statement.split()) in told, statement
