"""What is drawn from a seed says so: every public way to hand over a source, so that a new one cannot be forgotten."""

from __future__ import annotations

import inspect
import json
import pickle
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dt
from discreet.cli import main
from discreet.collect.perturbing import perturb_summary
from discreet.collect.request import PerturbRequest
from discreet.errors import DiscreetError, PrivacyWarning, ReleaseError
from discreet.present.views import Result
from discreet.randomness.source import FROM_SEED, is_marked, simulation

G = dt.geometric(20, epsilon=1)
TABLE = pa.table({"age": [3, 4, 4, 20]})
CASCADE = dt.sharing.cascade(["3/10", "4/5"], 20)
MEDIAN = dt.queries.query("median", records=5, low=0, high=10)
LAW = MEDIAN.smooth_noise(step=1, epsilon=1)


WARNING = {
    "perturb": lambda source, _: dt.perturb(TABLE, "age", G, source=source),
    "Cascade.release": lambda source, _: CASCADE.release([1, 2], source=source),
    "Query.release": lambda source, _: MEDIAN.release([1, 2, 3, 4, 5], step=1, epsilon=1, source=source),
    "SmoothNoise.release": lambda source, _: LAW.release([1, 2, 3, 4, 5], source=source),
}
SILENT = {
    "Mechanism.sample": lambda source, _: G.sample([1, 2], source=source),  # bare numbers: for studies of the noise too
    "Design.sample": lambda source, _: dt.design(3, alpha="1/2").sample(1, source=source),
    "Method.sample": lambda source, _: dt.traditional.random_rounding(20).sample([1, 2], source=source),
    "SmoothNoise.draw": lambda source, _: LAW.draw(3, 0, source),  # a part of release, in steps
    "audit": lambda source, _: dt.audit(G, draws=1000, source=source),  # about no data; it names its source
}
OTHER = {"Audit", "Prior"}  # a text that says where something comes from


def ways() -> set[str]:
    """All public functions, classes and their methods that take a `source`, on top and one dot down."""
    public = {name: getattr(dt, name) for name in dt.__all__}
    for module in [value for value in public.values() if inspect.ismodule(value)]:
        public |= {name: getattr(module, name) for name in getattr(module, "__all__", vars(module))}
    takers = {name: value for name, value in public.items() if callable(value)}
    for name, value in public.items():
        if inspect.isclass(value):
            methods = inspect.getmembers(value, callable)
            takers |= {f"{name}.{part}": method for part, method in methods if part[0] != "_"}
    found = set()
    for name, taker in takers.items():
        try:
            if "source" in inspect.signature(taker).parameters:
                found.add(name)
        except ValueError:  # built in: it takes none of ours
            continue
    return found


def test_no_way_is_forgotten():
    assert ways() == {*WARNING, *SILENT, *OTHER}


@pytest.mark.parametrize("name", WARNING)
def test_a_seed_leaves_its_trace(name, tmp_path):
    """A warning for whoever draws, a field and a line in print for whoever reads; none of them without a seed."""
    with pytest.warns(PrivacyWarning, match="Drawn from a seed: not private") as seen:
        made = WARNING[name](dt.insecure_source(1), tmp_path)
    assert all(one.filename == __file__ for one in seen if "smooth" not in name.lower() and "Query" not in name)
    secure, quiet = WARNING[name](None, tmp_path), WARNING[name](simulation(1), tmp_path)
    if isinstance(made, pa.Table):
        assert [table.schema.metadata.get(b"discreet") for table in (made, quiet)] == [FROM_SEED.encode()] * 2
        assert b"discreet" not in secure.schema.metadata
        summaries = [json.loads(table.schema.metadata[b"discreet.perturb"]) for table in (made, quiet, secure)]
        assert [summary["insecure"] for summary in summaries] == [True, True, False]
        assert [FROM_SEED in summary["notes"] for summary in summaries] == [True, True, False]
        return
    assert (made.insecure, quiet.insecure, secure.insecure) == (True, True, False)
    assert [json.loads(json.dumps(x.to_dict())).get("insecure") is True for x in (made, secure)] == [True, False]
    assert [FROM_SEED in str(x) for x in (made, secure)] == [True, False]


def results(source: Any) -> dict[str, Any]:
    """What is made of reports about people, of every type that there is: all of them from one source."""
    rng, people = np.random.default_rng(1), 400
    table = pa.table({"age": rng.integers(0, 9, people), "sex": ["f", "m"] * (people // 2)})
    named = table.set_column(0, "age", pa.array([("ab", "c", "d")[k % 3] for k in range(people)]))
    numbers, words = dt.geometric(8, epsilon=1), dt.projective_response(["ab", "c", "d"], epsilon=1)
    asked = PerturbRequest.of(column="age", mechanism=numbers, source=source)
    found: dict[str, Any] = {"perturb_summary": perturb_summary(table, asked)}
    for name, answers, mechanism in (("numbers", table, numbers), ("names", named, words)):
        drawn = dt.perturb(answers, "age", mechanism, rows=True, by="sex", source=source)
        found[name] = alone = dt.recover(dt.tally(drawn, "age", mechanism), mechanism)
        found[f"{name} by group"] = groups = dt.recover(
            dt.tally(drawn, "age", mechanism, by="sex"), mechanism, by="sex"
        )
        found[f"{name}, a group"] = groups["f"]
        found[f"{name}, shares"], found[f"{name}, top"] = alone.shares(), groups["m"].top(2)
        found[f"{name}, difference"] = groups.difference("f", "m")
        found[f"{name}, a number's difference"] = groups.difference(
            "f", "m", of="mean" if name == "numbers" else [1, 0, 0]
        )
        quiet = dt.recover(dt.perturb(answers, "age", mechanism), mechanism)  # one of two was drawn from a seed
        found[f"{name}, half"], found[f"{name}, other half"] = alone.difference(quiet), quiet.difference(alone)
    found["cascade"], found["cascade of one"] = (CASCADE.release(x, source=source) for x in ([1, 2], 1))
    found["a copy"] = pickle.loads(pickle.dumps(found["cascade"]))
    found["smooth"] = MEDIAN.release([1, 2, 3, 4, 5], step=1, epsilon=1, source=source)
    return found


VIEWS: dict[str, Callable[[Any], str]] = {
    "str": str,
    "repr": repr,
    "html": lambda x: x._repr_html_().partition("<svg")[0],
    "view": lambda x: " ".join(x.view().notes),
    "rows": lambda x: " ".join(str(row["note"]) if "note" in row else "silent" for row in x.rows()),
    "to_dict": lambda x: json.dumps(x.to_dict()).replace('"insecure": true', FROM_SEED),
    "csv": lambda x: x.to_csv().splitlines()[1],
    "latex": lambda x: x.to_latex(),
    "latex of a column": lambda x: x.to_latex(columns=[x._table().columns[0]]),
    "pandas": lambda x: " ".join(map(str, x.to_pandas().iloc[-1])),
    "plot": lambda x: json.dumps(x.plot().to_dict()["title"]),
}


def shown(view: Callable[[Any], str], result: Any) -> str | None:
    """None of what has no table."""
    try:
        return view(result) or None
    except DiscreetError as error:
        if "has no table" not in str(error):
            raise
        return None


@pytest.mark.filterwarnings("ignore:Drawn from a seed", "ignore:Kept columns")
def test_every_view_of_every_result_says_that_it_was_drawn_from_a_seed():
    """And none of the same results without a seed: the negative control."""
    marked, clean = results(dt.insecure_source(1)), results(None)
    assert {type(x) for x in marked.values()} == {x for x in subclasses(Result) if "insecure" in x.__annotations__}
    looked = 0
    for name, result in marked.items():
        for way, view in VIEWS.items():
            if way == "plot" and not hasattr(result, "plot"):
                continue
            told, quiet = shown(view, result), shown(view, clean[name])
            assert (told is None) == (quiet is None), (name, way)
            if told is None or quiet is None:
                assert way not in ("str", "repr", "html", "view", "to_dict", "plot")
                continue
            looked += 1
            assert FROM_SEED in told, (name, way)
            assert "silent" not in told, (name, way)
            assert FROM_SEED not in quiet, (name, way)
            assert told.count(FROM_SEED) == 1 or way in ("rows", "latex", "to_dict"), (name, way)
    assert looked > 150


def subclasses(kind: type) -> set[type]:
    return {kind}.union(*map(subclasses, kind.__subclasses__())) - {Result}


@pytest.mark.parametrize("name", SILENT)
def test_studies_are_silent(name, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made = SILENT[name](dt.insecure_source(1), tmp_path)
    assert name != "audit" or "INSECURE" in str(made) + str(made.to_dict())


def test_files_keep_the_trace(tmp_path):
    for name in ("a.parquet", "a.arrow"):
        for rows in (False, True):
            insecure, secure = (
                PerturbRequest.of(column="age", mechanism=G, rows=rows, source=source)
                for source in (dt.insecure_source(1), None)
            )
            with pytest.warns(PrivacyWarning, match="seed"):
                perturb_summary(TABLE, insecure, out=tmp_path / name, overwrite=True)
            written = (
                pq.read_schema(tmp_path / name) if name == "a.parquet" else pa.ipc.open_file(tmp_path / name).schema
            )
            assert written.metadata[b"discreet"] == FROM_SEED.encode()
            perturb_summary(TABLE, secure, out=tmp_path / name, overwrite=True)
            written = (
                pq.read_schema(tmp_path / name) if name == "a.parquet" else pa.ipc.open_file(tmp_path / name).schema
            )
            assert b"discreet" not in (written.metadata or {})


def test_what_is_made_of_it_keeps_the_trace(tmp_path, capsys):
    """Tallies of tables and files that say it of themselves, batches, data frames, and what is recovered from them."""
    ages = pa.table({"age": [k % 9 for k in range(400)]})
    G.save(tmp_path / "g.json")
    for source, kept in ((simulation(1), True), (None, False)):
        made = dt.perturb(ages, "age", G, source=source)
        request = PerturbRequest.of(column="age", mechanism=G, source=source)
        perturb_summary(ages, request, out=tmp_path / "a.parquet", overwrite=True)
        told = dt.perturb(ages, "age", G, out=tmp_path / "a.arrow", source=source, overwrite=True)
        assert is_marked(told) is kept
        secure = dt.perturb(ages, "age", G)
        frame = made.to_pandas()
        rows = dt.perturb(ages, "age", G, rows=True, source=source)
        for one in (
            made,
            tmp_path / "a.parquet",
            tmp_path / "a.arrow",
            frame,
            rows.to_reader(),
            [secure, made],
            [made, secure],
        ):
            told = dt.tally(one, "age", G)
            assert is_marked(told) is kept, type(one)
            assert (FROM_SEED in str(dt.recover(told, G))) is kept
        with pytest.raises(SystemExit):
            main(["recover", str(tmp_path / "a.arrow"), "--column", "age", "--mechanism", str(tmp_path / "g.json")])
        assert (FROM_SEED in capsys.readouterr().out) is kept
    with pytest.warns(PrivacyWarning, match="seed") as seen:
        assert is_marked(dt.perturb(ages, "age", G, rows=True, source=dt.insecure_source(1)))
    assert seen[0].filename == __file__


def test_a_ledger_takes_nothing_from_a_seed(in_memory):
    with dt.Ledger(in_memory / "book.db") as book:
        book.create("people", "100", relation="change-one")
        for source in (dt.insecure_source(1), simulation(1)):
            with pytest.raises(ReleaseError, match="leave source out"):
                PerturbRequest.of(
                    column="age", mechanism=G, on_bad="map=0", source=source, charged=book["people"].paying()
                )
        assert book["people"].balance().spent == 0
