"""Names through perturb, tally and reporters: every way in against a reference in plain Python.

The mechanism tells the truth but for one time in e^60, so that its tally is that of the true names.
"""

import json
import warnings
from collections import Counter

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet as dt
from discreet import files
from discreet.collect.placing import BadValueError, BadValueRule, places_of
from discreet.collect.report_files import report_array
from discreet.collect.reporter import RefusedError, Reporter
from discreet.engines.plain import plain
from discreet.errors import OutOfRangeError, ReleaseError, TableInputError

from .test_reporter import assert_is_the_law, every_choice, law_of

NAMES = ["Fiat", "Alfa Romeo", "Citro\u00ebn", "\U0001f697", "08"]
ALONE = dt.randomized_response(NAMES, epsilon=60)
BOTH = dt.randomized_response(dt.Names(NAMES, other="another"), epsilon=60)
TEXTS = [
    "Fiat",
    None,
    "Alfa Romeo",
    "fiat",
    "",
    "08",
    "8",
    "Citro\u00ebn",
    "Citroe\u0308n",
    "\U0001f697",
    " Fiat",
    "Fiat",
]


def reference(values, m, rule):
    """The names that are drawn for, or the row of the first bad value; in words of this test alone."""
    names, other = list(m.inputs.names), m.inputs.other
    found = []
    for row, value in enumerate(values):
        if value in names:
            found.append(value)
        elif value and other is not None:
            found.append(other)
        elif rule.startswith("map="):
            found.append(rule[4:])
        elif rule == "error":
            return row
    return found


def columns(values):
    """A column of texts in every type that holds them."""
    plain = pa.array(values, pa.string())
    yield "string", plain
    yield "large_string", plain.cast(pa.large_string())
    yield "string_view", plain.cast(pa.string_view())
    yield "sliced", pa.concat_arrays([pa.array(["x"]), plain]).slice(1)
    yield "chunked", pa.chunked_array([plain.slice(0, 5), plain.slice(5)])
    for index in (pa.int8(), pa.uint16(), pa.int64()):
        yield f"dictionary of {index}", plain.dictionary_encode().cast(pa.dictionary(index, pa.string()))
    yield "large dictionary", plain.cast(pa.large_string()).dictionary_encode()
    codes = pa.array([None if v is None else k for k, v in enumerate(values)], pa.int32())
    yield "dictionary that repeats a word", pa.DictionaryArray.from_arrays(codes, plain)
    yield "run_end_encoded", pa.compute.run_end_encode(plain)
    yield "extension", pa.ExtensionArray.from_storage(pa.opaque(pa.string(), "mine", "here"), plain)


@pytest.mark.parametrize("m", [ALONE, BOTH], ids=["alone", "other"])
@pytest.mark.parametrize("rule", ["error", "drop", "map=Alfa Romeo"])
def test_every_type_of_text_is_read_as_the_reference_does(m, rule):
    wanted = reference(TEXTS, m, rule)
    for name, column in columns(TEXTS):
        column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        if isinstance(wanted, int):
            with pytest.raises(BadValueError) as caught:
                places_of(m.inputs, plain(column), BadValueRule.of(rule, m.inputs), start=10)
            assert caught.value.row == wanted + 10, name
            assert not any(text in str(caught.value) for text in ("fiat", "Citroe\u0308n", "\u00eb"))
        else:
            places, _ = places_of(m.inputs, plain(column), BadValueRule.of(rule, m.inputs))
            assert [m.inputs.names[k] for k in places] == wanted, name


@given(st.lists(st.one_of(st.none(), st.sampled_from(TEXTS), st.text(max_size=3)), max_size=20))
def test_any_texts_are_read_as_the_reference_does(values):
    for m in (ALONE, BOTH):
        places, _ = places_of(m.inputs, pa.array(values, pa.string()), BadValueRule.of("map=08", m.inputs))
        assert [m.inputs.names[k] for k in places] == reference(values, m, "map=08")


def frames(values):
    yield "pandas", pd.DataFrame({"brand": pd.Series(values, dtype=object)})
    yield "pandas string", pd.DataFrame({"brand": pd.Series(values, dtype="string")})
    yield "pandas category", pd.DataFrame({"brand": pd.Series(values, dtype="category")})
    yield "polars", pl.DataFrame({"brand": values})
    yield "polars categorical", pl.DataFrame({"brand": pl.Series(values, dtype=pl.Categorical)})
    listed = list(dict.fromkeys(v for v in values if v is not None))
    yield "polars enum", pl.DataFrame({"brand": pl.Series(values, dtype=pl.Enum(listed))})
    yield "polars lazy", pl.LazyFrame({"brand": values})
    table = pa.table({"brand": values})
    yield "duckdb", duckdb.connect().from_arrow(table)
    yield "reader", table.to_reader()
    for name, column in columns(values):
        yield name, pa.table({"brand": column})


@pytest.mark.parametrize("m", [ALONE, BOTH], ids=["alone", "other"])
def test_every_kind_of_table_gives_the_tally_of_the_reference(m):
    wanted = Counter(reference(TEXTS, m, "map=08"))
    for name, table in frames(TEXTS):
        made = dt.perturb(table, column="brand", mechanism=m, on_bad="map=08")
        assert dict(zip(*made.to_pydict().values(), strict=True)) == wanted, name
        assert made.column("brand").to_pylist() == [n for n in m.outputs.names if n in wanted]


@pytest.mark.parametrize("ending", ["csv", "parquet", "arrow"])
def test_files_give_the_tally_of_the_reference(ending, tmp_path):
    table = pa.table({"brand": ["" if ending == "csv" and v is None else v for v in TEXTS], "g": list("ab") * 6})
    path = tmp_path / f"t.{ending}"
    {
        "csv": pa.csv.write_csv,
        "parquet": pa.parquet.write_table,
        "arrow": lambda t, p: pa.feather.write_feather(t, str(p), compression="uncompressed"),
    }[ending](table, path)
    wanted = reference(TEXTS, BOTH, "map=08")
    made = dt.perturb(path, column="brand", mechanism=BOTH, on_bad="map=08")
    assert dict(zip(*made.to_pydict().values(), strict=True)) == Counter(wanted)
    out = tmp_path / f"reports.{ending}"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        dt.perturb(path, column="brand", mechanism=BOTH, on_bad="map=08", rows=True, by="g", out=out)
    by = dt.tally(out, "brand", BOTH, by="g").to_pydict()
    assert list(by) == ["g", "brand", "count"]
    found = {(g, b): n for g, b, n in zip(*by.values(), strict=True)}
    assert found == Counter(zip("ababababab" + "ab", wanted, strict=True))
    assert list(by["g"]) == sorted(by["g"])
    whole = dt.tally(dt.tally(out, "brand", BOTH, by="g"), "brand", BOTH)
    assert dict(zip(*whole.to_pydict().values(), strict=True)) == Counter(wanted)


@pytest.mark.filterwarnings("ignore:Drawn from a seed")
def test_reports_of_names_are_texts_and_are_drawn_by_the_channel():
    """From the same words, the reports of names are those of their positions."""
    m, same = dt.randomized_response(NAMES, epsilon=1), dt.randomized_response(4, epsilon=1)
    places = np.arange(200) % 5
    for kind in (pa.string(), pa.large_string(), pa.string_view()):
        texts, numbers = pa.table({"b": pa.array([NAMES[k] for k in places], kind)}), pa.table({"b": pa.array(places)})
        drawn = dt.perturb(texts, "b", m, rows=True, source=dt.insecure_source(5))
        again = dt.perturb(numbers, "b", same, rows=True, source=dt.insecure_source(5))
        assert drawn.column("b").type == pa.string()
        assert drawn.column("b").to_pylist() == [NAMES[k] for k in again.column("b").to_pylist()]
    assert report_array(m.outputs, np.array([4, 0]), pa.null()).to_pylist() == ["08", "Fiat"]


def test_what_are_no_texts_and_what_are_no_rules_is_said():
    for kind in (pa.int64(), pa.float64(), pa.bool_(), pa.date32(), pa.binary(), pa.list_(pa.string())):
        with pytest.raises(TableInputError, match="not texts, and names are"):
            dt.perturb(pa.table({"b": pa.nulls(2, kind)}), column="b", mechanism=ALONE)
    table = pa.table({"b": ["Fiat"]})
    for rule in ("clamp", "clamp,map=Fiat", "nearest", 3):
        with pytest.raises(TableInputError, match='for names use "error", "map=NAME" or "drop"'):
            dt.perturb(table, column="b", mechanism=ALONE, on_bad=rule)
    with pytest.raises(TableInputError, match="'fiat' is none of the 5 names"):
        dt.perturb(table, column="b", mechanism=ALONE, on_bad="map=fiat")
    with pytest.raises(
        TableInputError, match="row 1 of the column 'b' is not one of the 5 names, so it is not a report"
    ):
        dt.tally(pa.table({"b": ["Lada"]}), "b", ALONE)
    with pytest.raises(TableInputError, match="row 1 of the column 'b' is not one of the 6 names"):
        dt.tally(pa.table({"b": ["Lada"]}), "b", BOTH)  # what is not declared is no report
    with pytest.raises(TableInputError, match="names need their mechanism"):
        dt.tally(table, "b")
    damaged = pa.Array.from_buffers(
        pa.string(), 1, [None, pa.array([0, 2], pa.int32()).buffers()[1], pa.py_buffer(b"\xff\xfe")]
    )
    with pytest.raises(BadValueError, match="is missing"):  # and no answer that is not declared
        places_of(BOTH.inputs, plain(damaged), BadValueRule.of("error", BOTH.inputs))
    with pytest.raises(BadValueError, match="is missing") as missing:  # and no way that names do not have is offered
        dt.perturb(pa.table({"b": ["Fiat", None]}), column="b", mechanism=BOTH)
    assert missing.value.is_missing
    assert "clamp" not in str(missing.value)


def test_groups_are_counted_and_checked():
    table = pa.table({"g": [1, None, 1], "h": [True, False, True], "v": [3, 0, 3]})
    assert dt.tally(table, "v", by=["g", "h"]).to_pydict() == {
        "g": [1, None],
        "h": [True, False],
        "v": [3, 0],
        "count": [2, 1],
    }
    assert dt.tally(pa.table({"g": pa.nulls(2), "v": [3, 0]}), "v", by="g").num_rows == 2
    with pytest.raises(TableInputError, match="groups are texts, whole numbers or booleans"):
        dt.tally(pa.table({"g": [1.5], "v": [1]}), "v", by="g")
    with pytest.raises(TableInputError, match="There is no column 'x'"):
        dt.tally(table, "v", by="x")
    for by in ("v", ["g", "g"], "count"):
        with pytest.raises(TableInputError, match="columns of their own"):
            dt.tally(table, "v", by=by)
    for by in (None, 3, [3], [["g"]], {"g"}):
        with pytest.raises(TableInputError, match="names no columns; write for example"):
            dt.tally(table, "v", by=by)
    texts, booleans = (pa.table({"g": values, "v": [3]}) for values in (["1"], [True]))
    for other, kind in ((texts, "texts"), (booleans, "booleans")):  # True is 1, and would count as that group
        with pytest.raises(TableInputError, match=f"holds whole numbers in one table and {kind} in another"):
            dt.tally([table, other], "v", by="g")
    both = dt.tally([table, pa.table({"g": pa.nulls(1), "v": [0]}), table], "v", by="g")
    assert both.to_pydict() == {"g": [1, None], "v": [3, 0], "count": [4, 3]}
    with pytest.raises(TableInputError, match=r"groups beyond 2\^63"):
        dt.tally(pa.table({"g": pa.array([2**63], pa.uint64()), "v": [3]}), "v", by="g")


def test_a_ledger_pays_for_names_and_the_level_is_between_any_two(tmp_path):
    ledger = dt.Ledger(tmp_path / "l.db")
    ledger.create("t", budget="200", relation="change-one")
    table = pa.table({"b": TEXTS})
    asked = {"column": "b", "mechanism": BOTH}
    with pytest.raises(ReleaseError, match="say where bad values go"):
        ledger["t"].perturb(table, **asked)
    made = ledger["t"].perturb(table, **asked, on_bad="map=08")
    assert dict(zip(*made.to_pydict().values(), strict=True)) == Counter(reference(TEXTS, BOTH, "map=08"))
    assert ledger["t"].balance().left == 140
    told = json.loads(made.schema.metadata[b"discreet.perturb"])
    assert told["epsilon_any_two"] == told["epsilon_one_step"] == 60.0


SMALL = dt.randomized_response(dt.Names(["a b", "__proto__", "\u00e9"], other="else"), epsilon=1)


def test_a_device_takes_and_gives_names(tmp_path):
    reporter = Reporter(files.text(SMALL).encode())
    for value, place in (("a b", 0), ("__proto__", 1), ("\u00e9", 2), ("else", 3), ("A B", 3), ("e\u0301", 3)):
        leaves = every_choice(reporter, value)
        assert_is_the_law(leaves, law_of(SMALL, place))
    for bad in ("", None, 3, b"a b"):
        with pytest.raises(RefusedError, match="none of the mechanism's names"):
            reporter.report(bad)
    alone = Reporter(files.text(ALONE).encode())
    with pytest.raises(RefusedError, match="none of the mechanism's names") as caught:
        alone.report("Lada")
    assert "Lada" not in str(caught.value)
    assert alone.report("Alfa Romeo") == "Alfa Romeo"
    memo = tmp_path / "memo.json"
    first = [reporter.remembered(v, str(memo), 2) for v in ("__proto__", "x", "y", "__proto__", "else")]
    assert first[0] == first[3]
    assert first[1] == first[2] == first[4]  # one answer for all that is not declared


def test_a_whole_list_is_refused_before_anything_is_drawn():
    with pytest.raises(OutOfRangeError, match="position 3"):
        ALONE.sample(["Fiat", "08", "Fiat", "Lada"])
