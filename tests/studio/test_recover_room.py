"""The room Recover answers what the library says, makes the mechanism that its fields name, or says which field is wrong."""

from __future__ import annotations

import csv
import io
import json
import re

import numpy as np
import pytest

import discreet as dt
from tests.studio.asking import asked, promised


def given(guest, tmp_path, m, text, **chosen):
    """The mechanism and the reports, as the studio calls them."""
    m.save(tmp_path / "m.json")
    name = guest.post("/api/upload/mechanism", content=(tmp_path / "m.json").read_bytes()).json()["name"]
    answer = guest.post("/api/upload/reports", content=text.encode(), params={"mechanism": name, **chosen})
    assert answer.status_code == 200, answer.text
    return {"mechanism": name, "reports": answer.json()["name"]}


def tallied(m, counts):
    return "y,count\n" + "".join(f"{m.outputs.value(k)},{c}\n" for k, c in enumerate(counts) if c)


def recovered(guest, tmp_path, m, counts, **more):
    """The one group of a recovery without groups."""
    found = promised(guest, "/api/recover", **given(guest, tmp_path, m, tallied(m, counts)), **more)
    (group,) = found["groups"]
    return group


def test_reports_are_recovered_as_by_the_library(guest, tmp_path):
    g = dt.geometric(12, alpha="1/2")
    reports = g.sample(np.repeat(np.arange(13), 40), source=dt.insecure_source(4))
    names = given(guest, tmp_path, g, "y\n" + "\n".join(map(str, reports)))
    found = promised(guest, "/api/recover", **names)
    (group,) = found["groups"]
    for method in ("auto", "mle"):
        estimate = dt.recover(reports, g, method, kind="reports")
        assert np.allclose([v[method] for v in group["values"]], estimate.distribution, atol=1e-9)
        assert np.allclose([r[method] for r in group["seen"]], 520 * estimate.distribution @ g.matrix)
    assert [r["count"] for r in group["seen"]] == np.bincount(reports, minlength=13).tolist()
    low, high = dt.recover(reports, g, kind="reports").interval(0.95)
    assert group["mean"][1:] == pytest.approx([low, high])
    assert f"{low:.4g} to {high:.4g}" in group["headline"]
    steps = promised(guest, "/api/recover/steps", **names)
    values = [y for _, y in steps["steps"]]
    assert values == sorted(values)
    assert values[-1] <= steps["mle"] + 1e-12


def test_groups_are_recovered_as_by_the_library(guest, tmp_path):
    """Each by itself, and taken away with the name of their column."""
    g = dt.geometric(6, epsilon=1)
    north, south = (g.sample([k] * 80, source=dt.insecure_source(k)) for k in (1, 5))
    rows = [("north", r) for r in north] + [("south", r) for r in south]
    text = "region;y\n" + "".join(f"{group};{r}\n" for group, r in rows)
    names = given(guest, tmp_path, g, text, column="y", by="region")
    found = promised(guest, "/api/recover", **names)
    assert (found["by"], [each["group"] for each in found["groups"]]) == ("region", ["north", "south"])
    for each, reports in zip(found["groups"], (north, south), strict=True):
        wanted = dt.recover(reports, g, kind="reports")
        assert each["reports"] == 80
        assert np.allclose([v["auto"] for v in each["values"]], wanted.distribution)
    listed = list(csv.DictReader(io.StringIO(guest.get(f"/api/recover/made/{found['name']}/auto.csv").text)))
    assert listed[0].keys() == {"region", "value", "probability"}
    assert [row["region"] for row in listed] == ["north"] * 7 + ["south"] * 7
    told = json.loads(guest.get(f"/api/recover/made/{found['name']}/mle.json").text)
    assert told["groups"][1]["estimate"]["distribution"] == pytest.approx(
        dt.recover(south, g, "mle", kind="reports").distribution.tolist()
    )
    promised(guest, "/api/recover/steps", **names, group="south")


@pytest.mark.parametrize(
    ("text", "chosen"),
    [
        ("y\n1\n2\n2\n4\n4\n4\n", {}),
        ("y;count\n1;9\n2;17\n4;1\n", {}),
        ("y,count\n1,9\n2,17\n4,1\n", {"column": "y", "once": "true"}),
        ("größe\tg\tn\n1\ta\t3\n2\tb\t5\n2\ta\t4\n", {"column": "größe", "counts": "n", "by": "g"}),
    ],
)
def test_the_same_in_python_is_the_same(guest, tmp_path, monkeypatch, text, chosen):
    g = dt.geometric(4, alpha="1/2")
    names = given(guest, tmp_path, g, text, **chosen)
    (group, *_) = promised(guest, "/api/recover", **names)["groups"]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "r.csv").write_text(text, encoding="utf-8")
    code = asked(guest, "/api/recover/code", **names, mechanism_file="m.json", file="r.csv")["python"]
    scope: dict[str, object] = {}
    exec(code.replace("print(found)", ""), scope)
    found = scope["found"]
    estimate = found[group["group"]] if "by" in chosen else found
    assert np.allclose([v["auto"] for v in group["values"]], estimate.distribution)
    assert estimate.reports == group["reports"]


def test_reports_of_several_columns_are_asked_about(guest):
    """An id was taken for the report, and 0,12 for the report 0."""
    text = "id,report\n17,3\n18,3\n19,1\n"
    asked = guest.post("/api/upload/reports", content=text).json()
    assert (asked["name"], asked["columns"]) == ("", ["id", "report"])
    assert asked["told"] == "The file has the columns id, report. Which one has the reports?"
    told = guest.post("/api/upload/reports?column=report", content=text).json()
    assert (told["told"], told["column"], told["counts"]) == ("3 reports, 2 of them different", "report", None)
    named = guest.post("/api/upload/reports?column=report&counts=id", content=text).json()
    assert named["told"] == "54 reports, 2 of them different"
    for wrong, words in (("0,12\n1,3\n", "line of names"), ("3\n1\n", "line of names"), ("y\n1,5\n", "line 2")):
        answer = guest.post("/api/upload/reports", content=wrong)
        assert (answer.status_code, words in answer.json()["detail"]) == (422, True)
        assert answer.json()["field"] == "reports"


def test_a_column_named_count_can_be_something_else(guest):
    """Where it is said that each line is one report, no column is taken for how often."""
    text = "age,count\n3,4\n1,2\n3,1\n"
    tally = guest.post("/api/upload/reports", content=text).json()
    assert (tally["told"], tally["column"], tally["counts"]) == ("7 reports, 2 of them different", "age", "count")
    once = guest.post("/api/upload/reports?column=age&once=true", content=text).json()
    assert (once["told"], once["counts"]) == ("3 reports, 2 of them different", None)


def test_too_many_groups_are_refused_at_their_field(guest):
    rows = "".join(f"{k},{k % 3}\n" for k in range(41))
    answer = guest.post("/api/upload/reports?column=y&by=id", content=f"id,y\n{rows}")
    assert (answer.status_code, answer.json()["field"]) == (422, "by")
    fewer = "".join(f"{k % 40},{k % 3}\n" for k in range(41))
    answer = guest.post("/api/upload/reports?column=y&by=id", content=f"id,y\n{fewer}")
    assert "in 40 groups" in answer.json()["told"]


def test_a_report_that_the_mechanism_does_not_have_is_told_by_its_row(guest, tmp_path):
    dt.geometric(4, alpha="1/2").save(tmp_path / "m.json")
    name = guest.post("/api/upload/mechanism", content=(tmp_path / "m.json").read_bytes()).json()["name"]
    answer = guest.post(f"/api/upload/reports?mechanism={name}", content="y\n3\n1234\n")
    assert answer.status_code == 422
    assert answer.json()["detail"].startswith(
        "The value in row 2 of the column 'y' of reports.csv is not a report on 0..4"
    )
    assert "1234" not in answer.json()["detail"]  # it may be an answer that was not yet perturbed


@pytest.mark.parametrize("make", [dt.randomized_response, dt.projective_response])
def test_names_are_recovered_as_by_the_library(guest, tmp_path, make):
    m = make(["Fiat", "Alfa Romeo", "08", "it's"], epsilon=3)
    reports = m.sample(["Fiat"] * 300 + ["08"] * 100, source=dt.insecure_source(4))
    text = "y\n" + "\n".join(map(str, reports))
    if make is dt.randomized_response:
        assert guest.post("/api/upload/reports", content=text).status_code == 422  # they are no numbers
    found = promised(guest, "/api/recover", **given(guest, tmp_path, m, text))
    (group,) = found["groups"]
    wanted = dt.recover(reports, m, kind="reports").shares().rows()
    assert [a["name"] for a in group["answers"]] == [row["answer"] for row in wanted]
    assert group["answers"][0]["name"] == "Fiat"
    for name in ("share", "low", "high"):
        assert np.allclose([a[name] for a in group["answers"]], [row[name] for row in wanted])
    assert [a["last_rank"] for a in group["answers"]] == [row["last rank"] for row in wanted]
    reported = [a["reported"] for a in group["answers"]]
    assert reported[0] == (None if make is dt.projective_response else list(reports).count("Fiat") / 400)
    assert "hold together" in group["headline"]
    assert group["spans"] == []
    listed = list(csv.DictReader(io.StringIO(guest.get(f"/api/recover/made/{found['name']}/auto.csv").text)))
    assert [row["answer"] for row in listed] == [row["answer"] for row in wanted]
    assert guest.post("/api/upload/reports?mechanism=none", content=text).status_code in (404, 410, 422)


def test_names_that_do_not_fit_are_told_without_intervals(guest, tmp_path):
    """Where no shares lie within all intervals there is a sentence, and not a refusal."""
    m = dt.randomized_response(["a", "b", "c"], epsilon="1/10")
    group = recovered(guest, tmp_path, m, [3000, 1, 1])
    assert group["fits"] is False
    assert group["headline"].startswith("These reports do not look like this mechanism's")
    assert {a["low"] for a in group["answers"]} == {None}
    fine = recovered(guest, tmp_path, m, [1000, 980, 990])
    assert fine["fits"] is True
    assert all(0 <= a["low"] < a["high"] <= 1 for a in fine["answers"])


def test_reports_that_nobody_gave_are_drawn_as_none(guest, tmp_path):
    m = dt.square_wave(6, epsilon=1)
    counts = [40 if k in (3, 4, 5, 9) else 0 for k in range(m.outputs.size)]
    group = recovered(guest, tmp_path, m, counts)
    assert [r["value"] for r in group["seen"]] == [float(m.outputs.value(k)) for k in range(m.outputs.size)]
    assert [r["count"] for r in group["seen"]] == counts


def test_numbers_as_names_have_no_mean_and_an_interval_each(guest, tmp_path):
    m = dt.randomized_response(20, epsilon=2)
    counts = np.random.default_rng(6).multinomial(900, np.eye(1, 21, 4)[0] @ m.matrix)
    names = recovered(guest, tmp_path, m, counts)
    assert "The values are names, which have no mean" in names["headline"]
    assert names["mean"] is None
    assert len(names["spans"]) == 21
    assert "ordered=" not in names["words"]  # which is no field of the page
    numbers = recovered(guest, tmp_path, m, counts, ordered=True)
    assert "The mean lies in" in numbers["headline"]


def test_reports_that_do_not_fit_are_told_before_any_number(guest, tmp_path):
    rng, bell = np.random.default_rng(5), np.array([0.3, 0.4, 0.2, 0.1, *[0.0] * 17])
    counts = rng.multinomial(2300, bell @ dt.randomized_response(20, epsilon=1).matrix)
    wrong = recovered(guest, tmp_path, dt.geometric(20, epsilon="1/5"), counts)
    assert (wrong["fits"], "lies in" in wrong["headline"], wrong["mean"], wrong["spans"]) == (False, False, None, [])
    assert "do not fit the mechanism" in wrong["fit_told"]
    right = recovered(guest, tmp_path, dt.randomized_response(20, epsilon=1), counts, ordered=True)
    assert (right["fits"], "do not contradict" in right["fit_told"]) == (True, True)
    assert "lies in" in right["headline"]
    assert all(0 <= span["low"] < span["high"] <= 1 for span in right["spans"])


@pytest.mark.parametrize(
    "text", ["", "y\n", "y\nx\n", "report,count\n1,-2\n", "report,count\n1\n", "\x00", "1;2", "1e-9999999\n1\n"]
)
def test_reports_that_make_no_sense_get_a_sentence(guest, text):
    answer = guest.post("/api/upload/reports", content=text)
    assert answer.status_code == 422
    assert answer.json()["detail"][0].isupper()


@pytest.mark.parametrize(
    ("form", "wanted"),
    [
        ({"family": "geometric", "high": "20", "epsilon": "1/2"}, lambda: dt.geometric(20, epsilon="1/2")),
        (
            {"family": "geometric", "low": "-3", "high": "9", "alpha": "9/10"},
            lambda: dt.geometric(dt.Grid(-3, 9), alpha="9/10"),
        ),
        ({"family": "square_wave", "high": "8", "epsilon": "1"}, lambda: dt.square_wave(8, epsilon=1)),
        (
            {"family": "projective_response", "names": ["it's", "no"], "epsilon": "1"},
            lambda: dt.projective_response(["it's", "no"], epsilon=1),
        ),
    ],
)
def test_a_mechanism_is_made_as_its_fields_say(guest, form, wanted):
    made = asked(guest, "/api/recover/make", **form)
    assert made["names"] is ("names" in form)
    assert "\n" not in made["told"]
    assert made["told"].startswith(f"{form['family'].replace('_', ' ')} on ")
    assert re.search(r": epsilon [\d.]+ between (any two|neighbours)", made["told"])
    reports = guest.post("/api/upload/reports", content="y\n0\n1\n", params={"mechanism": made["name"]})
    names = {"mechanism": made["name"], "reports": reports.json().get("name") or "none"}
    if "names" not in form or form["family"] == "projective_response":
        code = asked(guest, "/api/recover/code", **names)["python"]
        line = next(line for line in code.splitlines() if line.startswith("m = "))
        assert eval(line.removeprefix("m = "), {"dt": dt}).digest == wanted().digest


@pytest.mark.parametrize(
    ("form", "field"),
    [
        ({"family": "geometric", "high": "20", "epsilon": "x"}, "epsilon"),
        ({"family": "geometric", "high": "20", "alpha": "2"}, "alpha"),
        ({"family": "geometric", "high": "20", "epsilon": ""}, "epsilon"),
        ({"family": "geometric", "high": "", "epsilon": "1"}, "high"),
        ({"family": "geometric", "low": "1.5", "high": "3", "epsilon": "1"}, "low"),
        ({"family": "geometric", "low": "5", "high": "5", "epsilon": "1"}, "high"),
        ({"family": "geometric", "high": "100000", "epsilon": "1"}, "high"),
        ({"family": "randomized_response", "names": ["yes"], "epsilon": "1"}, "names"),
        ({"family": "randomized_response", "names": ["yes", "yes"], "epsilon": "1"}, "names"),
        ({"family": "geometric", "names": ["yes", "no"], "epsilon": "1"}, "family"),
    ],
)
def test_what_is_wrong_with_a_mechanism_is_said_at_its_field(guest, form, field):
    told = asked(guest, "/api/recover/make", 422, **form)
    assert told["field"] == field
    assert not re.search(r"--|dt\.|\w=\S|Python", told["detail"])  # fields, and no options or arguments


@pytest.mark.parametrize("kind", ["numbers", "categories"])
def test_the_example_fits_its_mechanism(guest, kind):
    made = asked(guest, "/api/recover/example", kind=kind)
    form = {name: value for name, value in made["mechanism"].items() if value is not None}
    mechanism = asked(guest, "/api/recover/make", **form)["name"]
    chosen = {"column": "report", **({"by": made["by"]} if made["by"] else {})}
    params = {"mechanism": mechanism, **chosen}
    reports = guest.post("/api/upload/reports", content=made["content"].encode(), params=params).json()["name"]
    found = promised(guest, "/api/recover", mechanism=mechanism, reports=reports)
    assert len(found["groups"]) == (1 if kind == "numbers" else 2)
    assert all(group["fits"] for group in found["groups"])
    other = asked(guest, "/api/recover/make", **{**form, "epsilon": "1/100"})["name"]  # another one's they are not
    found = promised(guest, "/api/recover", mechanism=other, reports=reports)
    assert not any(group["fits"] for group in found["groups"])
