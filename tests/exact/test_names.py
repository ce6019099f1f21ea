"""Names as answers: what is declared, where each text goes, and that nothing takes them for numbers."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet as dt
from discreet.errors import DiscreetError, GridError, LossError, MetricError, OutOfRangeError, RemapError
from discreet.exact.names import LONGEST_NAME, MOST_NAMES, answers_of

pd, pl, pa = map(pytest.importorskip, ("pandas", "polars", "pyarrow"))  # answers come as their columns, too

BRANDS = ["Fiat", "Opel", "VW"]
M = dt.randomized_response(BRANDS, epsilon=2)


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        (["a"], "There is 1 name; give between 2 and 1,048,576; with a single possible answer"),
        ([], r"0 names; give between 2 and 1,048,576\."),
        (["a", "a"], "positions 0 and 1 look alike, 'a'"),
        (["e\u0301", "\u00e9"], "positions 0 and 1 look alike"),
        (["a b", "c", "a  b"], "positions 0 and 2 look alike"),
        (["a", ""], "position 1, '', is empty"),
        (["a", "  "], "is empty"),
        (["a", " b"], "begins or ends with a blank"),
        (["a", "b\n"], "begins or ends with a blank"),
        (["a", "b\0c"], "cannot be written in one line"),
        (["a", "b\tc"], "cannot be written in one line"),
        (["a", "\ud800"], "cannot be written in one line"),
        (["a", "b\u202ec"], "cannot be written in one line"),  # what follows is shown from the right
        (["a", "b\u2066c"], "cannot be written in one line"),
        (["a", "\u200b"], "is empty"),
        (["a", "\u200ba"], "positions 0 and 1 look alike"),
        (["ab", "a\u00adb"], "positions 0 and 1 look alike"),
        (["a", "x" * (LONGEST_NAME + 1)], "more than 1000 characters"),
        ([1, 2], "position 0 is 1; names are texts"),
        (["a", None], "position 1 is None; names are texts"),
        ({"a", "b"}, "a list of texts"),
        ({"a": 1, "b": 2}, "a list of texts"),
        ("a,b", "a list of texts"),
        (7, "a list of texts"),
        (pa.array([1, 2]), "Cannot read names from Int64Array"),
        (pd.Series(["a", None]), "Cannot read names from Series"),
        (map(str, range(MOST_NAMES + 1)), "a list of texts"),
    ],
)
def test_what_are_no_names_is_said_in_a_sentence(bad, why):
    with pytest.raises(GridError, match=why):
        dt.Names(bad)


def test_too_many_names_are_refused():
    with pytest.raises(GridError, match="1048577 names; give between 2 and 1,048,576"):
        dt.Names([str(k) for k in range(MOST_NAMES + 1)])


@pytest.mark.parametrize(
    "given_as",
    [
        tuple,
        np.array,
        lambda names: np.array(names, dtype=object),
        lambda names: np.array(names, dtype=np.dtypes.StringDType()),
        pa.array,
        lambda names: pa.chunked_array([names[:1], names[1:]]),
        lambda names: pa.array(names).dictionary_encode(),
        lambda names: pa.array(names, pa.large_string()),
        lambda names: pa.array(names, pa.string_view()),
        pd.Series,
        pd.Index,
        lambda names: pd.Series(names, dtype="category"),
        lambda names: pd.Series(names, dtype="string"),
        pl.Series,
        lambda names: pl.Series(names, dtype=pl.Categorical),
        lambda names: pl.Series(names, dtype=pl.Enum(names)),
        dt.Names,
    ],
)
def test_names_come_in_any_column_of_texts(given_as):
    assert answers_of(given_as(BRANDS)) == dt.Names(BRANDS)
    assert dt.Names(given_as(BRANDS)).names == tuple(BRANDS)


def test_names_come_from_a_code_list(tmp_path, monkeypatch):
    (tmp_path / "codes.csv").write_text("code;label;parent\n08;South;\n08111;Stuttgart;08\n08115;Boeblingen;08\n")
    monkeypatch.chdir(tmp_path)
    assert dt.randomized_response("file:codes.csv", epsilon=1).inputs == dt.Names(["08111", "08115"])
    assert dt.Names("file:codes.csv", other="elsewhere").names == ("08111", "08115", "elsewhere")


def test_names_are_equal_by_what_they_say_and_no_grid():
    assert dt.Names(BRANDS) == dt.Names(BRANDS)
    assert hash(dt.Names(BRANDS)) == hash(dt.Names(BRANDS))
    assert len({dt.Names(BRANDS), dt.Names(BRANDS[::-1]), dt.Names([*BRANDS, "x"], "x"), dt.Grid(0, 2)}) == 4
    assert pickle.loads(pickle.dumps(M)) == M
    assert dt.randomized_response(BRANDS[::-1], epsilon=2) != M
    assert dt.randomized_response(2, epsilon=2) != M
    assert (dt.randomized_response(2, epsilon=2).matrix == M.matrix).all()


def test_what_is_not_declared_goes_to_the_other_answer_and_never_stands_in_a_message():
    both = dt.Names(BRANDS, other="another")
    assert [both.position(text) for text in ("VW", "Lada", "another", "vw", " VW")] == [2, 3, 3, 3, 3]
    assert both.place("Lada") is None  # no report
    assert dt.Names(BRANDS, other="Opel").names == tuple(BRANDS)
    for value in ("Lada", "", None, 7, float("nan")):
        with pytest.raises(OutOfRangeError, match="position 1") as caught:
            M.sample(["VW", value])
        assert "Lada" not in str(caught.value)
    for value in ("", None, 7, 7.5, b"VW"):  # no text, whatever answer there is for others
        with pytest.raises(OutOfRangeError, match="position 0 is missing or not a text"):
            both.position(value)
        with pytest.raises(OutOfRangeError, match="position 6 is missing or not a text"):
            both.positions(["VW", value], offset=5)
    with pytest.raises(OutOfRangeError, match="position 0 is none of the 3 names"):
        M.sample("Lada")
    for value in ("", None, 7):
        with pytest.raises(OutOfRangeError, match=r"missing or not a text|no text|is missing"):
            dt.randomized_response(both, epsilon=1).sample(["VW", value])


@given(st.lists(st.text(max_size=4), max_size=30))
def test_many_texts_have_the_places_of_each(texts):
    names = dt.Names(["a", "b", "\u00e9", "c d"], other="else")
    wanted = [names.names.index(t) if t in names.names else 4 for t in texts]
    if "" in texts:
        with pytest.raises(OutOfRangeError, match=f"position {texts.index('') + 5} is missing"):
            names.positions(texts, offset=5)
    else:
        assert names.positions(texts, offset=5).tolist() == wanted


@pytest.mark.parametrize(
    ("column", "same"),
    [
        (["VW", "Fiat"], list),
        (("VW", "Fiat"), tuple),
        (np.array(["VW", "Fiat"]), np.ndarray),
        (np.array([["VW"], ["Fiat"]]), np.ndarray),
        (np.array(["VW", "Fiat"], dtype=np.dtypes.StringDType()), np.ndarray),
        (np.ma.array(["VW", "Fiat"]), np.ma.MaskedArray),
        (pa.array(["VW", "Fiat"]), pa.StringArray),
        (pa.array(["VW", "Fiat"], pa.large_string()), pa.LargeStringArray),
        (pa.array(["VW", "Fiat"], pa.string_view()), pa.StringViewArray),
        (pa.array(["VW", "Fiat"]).dictionary_encode(), pa.StringArray),
        (pa.chunked_array([["VW"], ["Fiat"]]), pa.ChunkedArray),
        (pd.Series(["VW", "Fiat"], index=[5, 6], name="x"), pd.Series),
        (pd.Series(["VW", "Fiat"], dtype="category"), pd.Series),
        (pd.Series(["VW", "Fiat"], dtype=object), pd.Series),
        (pd.Series(["VW", "Fiat"], dtype="string[pyarrow]"), pd.Series),
        (pl.Series("x", ["VW", "Fiat"]), pl.Series),
        (pl.Series("x", ["VW", "Fiat"], dtype=pl.Categorical), pl.Series),
        (pl.Series("x", ["VW", "Fiat"], dtype=pl.Enum(["VW", "Fiat"])), pl.Series),
    ],
)
def test_reports_are_names_of_the_same_kind(column, same):
    """The draws are those of the same channel on numbers, from the same words."""
    drawn = M.sample(column, source=dt.insecure_source(3))
    places = dt.randomized_response(2, epsilon=2).sample([2, 0], source=dt.insecure_source(3))
    flat = np.asarray(drawn, dtype=object).reshape(-1).tolist()
    assert isinstance(drawn, same)
    assert flat == [BRANDS[k] for k in places]
    if isinstance(column, np.ndarray):
        assert drawn.dtype.kind == column.dtype.kind
        assert drawn.shape == column.shape
    if isinstance(column, pd.Series):
        assert str(drawn.dtype) == str(column.dtype)
        assert (list(drawn.index), drawn.name) == (list(column.index), column.name)
    if isinstance(column, pl.Series):
        assert drawn.name == "x"


def test_one_name_and_many_reports_of_it():
    assert M.sample("VW") in BRANDS
    assert M.sample(np.str_("VW")) in BRANDS
    drawn = M.sample("VW", size=200, source=dt.insecure_source(4))
    assert set(drawn.tolist()) == set(BRANDS)
    with pytest.raises(GridError, match="Names have no order"):
        M.sample("Lada", clamp=True)
    for bad in (3, b"VW", np.array([1, 2]), pa.array([1]), pd.Series([1]), pl.Series([1]), range(2), [["VW"]]):
        with pytest.raises(OutOfRangeError, match=r"text|names|bytes"):
            M.sample(bad)


NEEDS_ORDER = [
    lambda x: dt.geometric(x, epsilon=1),
    lambda x: dt.gaussian(x, rho=1),
    lambda x: dt.laplace(x, epsilon=1),
    lambda x: dt.staircase(x, epsilon=1),
    lambda x: dt.square_wave(x, epsilon=1),
    lambda x: dt.explicit_fair(x, epsilon=1),
    lambda x: dt.queries.rounded(x, [0, 1], epsilon=1),
    lambda x: dt.sharing.cascade(["1/3", "1/2"], x),
    lambda x: dt.traditional.random_rounding(x, base=3),
]


@pytest.mark.parametrize("make", NEEDS_ORDER)
@pytest.mark.parametrize("names", [BRANDS, dt.Names(BRANDS), "file:codes.csv"], ids=["list", "Names", "file"])
def test_what_needs_an_order_refuses_names_and_says_what_takes_them(make, names):
    with pytest.raises(DiscreetError, match="randomized_response and projective_response take names"):
        make(names)


def test_a_design_is_for_numbers():
    for names in (BRANDS, dt.Names(BRANDS)):
        with pytest.raises(DiscreetError, match=r"list of numbers|take names"):
            dt.design(names, alpha="1/2", loss="l0")


def test_privacy_and_properties_are_those_that_need_no_order():
    assert dt.check_privacy(M, epsilon=2).holds
    assert dt.check_privacy(M, epsilon=2, neighbours="any").holds
    assert not dt.check_privacy(M, epsilon="1.9", neighbours="any").holds
    assert dt.properties(M) == {"RH", "CH", "F", "WH"}
    for near in (1, "line", [("Fiat", "VW")], {(0, 1): 1}):
        with pytest.raises(DiscreetError):
            dt.check_privacy(M, neighbours=near)
    with pytest.raises(MetricError, match="any two are neighbours"):
        dt.from_matrix(np.full((3, 3), 1 / 3), inputs=BRANDS, neighbours=2)
    with pytest.raises(GridError, match="only RH, CH, F, WH"):
        dt.from_matrix(np.full((3, 3), 1 / 3), inputs=BRANDS, require="RM")
    assert dt.from_matrix([["3/4", "1/4"], ["1/4", "3/4"]], inputs=["a", "b"]).alpha == dt.Level.of(alpha="1/3").alpha


def test_losses_and_posteriors_use_names_or_refuse():
    same = dt.randomized_response(2, epsilon=2)
    assert dt.expected_loss(M, "l0", {"Fiat": "1/2", "VW": "1/2"}) == dt.expected_loss(same, "l0", ["1/2", 0, "1/2"])
    assert dt.expected_loss(M, lambda truth, report: truth[0] != report[0]) == dt.expected_loss(same, "l0")
    assert dt.measure.worst_loss(M, "l0", among=["VW"]) == dt.measure.worst_loss(same, "l0")
    assert dt.measure.posterior(M, "VW").tolist() == dt.measure.posterior(same, 2).tolist()
    assert dt.measure.best_remap(M, "l0") == BRANDS
    for loss in ("l1", "l2", "tail(1)", "threshold(1)", "asymmetric(1, 2)"):
        with pytest.raises(LossError, match="names have none"):
            dt.expected_loss(M, loss)
    for call in (
        lambda: dt.measure.rmse(M),
        lambda: dt.measure.confidence_interval(M, "VW"),
        lambda: dt.measure.credible_interval(M, "VW"),
        lambda: dt.measure.unbiased_estimate(M),
        lambda: dt.expected_loss(M, "l0", "normal(1, 1)"),
        lambda: dt.expected_loss(M, "l0", "maximum(3)"),
        lambda: M.to_opendp(),
    ):
        with pytest.raises(DiscreetError, match="ames"):
            call()


def test_reports_can_be_merged_by_name():
    merged = M.remap({"Fiat": "Fiat", "Opel": "German", "VW": "German"}, outputs=["Fiat", "German"])
    assert merged.outputs == dt.Names(["Fiat", "German"])
    assert merged.matrix[:, 1] == pytest.approx(M.matrix[:, 1:].sum(axis=1))
    with pytest.raises(RemapError, match="'Lada', which is not one of the 3 names"):
        M.remap(["Fiat", "VW", "Lada"])
    with pytest.raises(RemapError, match="use remap to merge"):
        M.truncate("Fiat", "VW")


def test_the_pictures_have_the_names():
    awkward = dt.randomized_response(["north to south", "it's", 'a "b"'], epsilon=1)
    told = awkward.plot().to_json()
    assert "north to south" in told
    assert '\\"it\'s\\"' in told
    assert "north to south" in awkward.plot("distribution").to_json()
    assert "north to south" in awkward.plot("loss", loss="l0").to_json()


def test_a_ledger_pays_for_one_name_between_any_two(tmp_path):
    book = dt.Ledger(tmp_path / "l.db")
    book.create("t", budget="9", relation="add-remove")
    for epsilon, more, why in ((1, {}, "epsilon of 2; epsilon 1 was charged"), (2, {"change": 1}, "leave out change=")):
        with pytest.raises(DiscreetError, match=why), book["t"].spend(epsilon=epsilon, what="x") as paid:
            paid.sample(M, "VW", **more)
    with book["t"].spend(epsilon=2, what="x") as paid:
        assert paid.sample(M, "VW") in BRANDS
    table = pa.table({"g": ["a", "b"]})
    with pytest.raises(DiscreetError, match=r"a count needs 0\.\.n in steps of 1"):
        book["t"].release(table, by=["g"], domain={"g": ["a", "b"]}, epsilon=2, mechanism=M)


def test_theory_about_an_order_refuses():
    for call in (lambda: dt.theory.derivable(M), lambda: dt.sharing.collude(M, k=3)):
        with pytest.raises(GridError, match="Names have no order"):
            call()
