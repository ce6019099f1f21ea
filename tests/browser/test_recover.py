"""The room Recover in Chromium: examples, files, what is asked and what is wrong, at both widths; each state is sound."""

from __future__ import annotations

import csv

import numpy as np
import pytest

import discreet as dt

from .looks import assert_sound

pytestmark = pytest.mark.outside("browser")
WIDE = pytest.mark.parametrize("guest", [1280], indirect=True)  # the same on a phone


def ready(page):
    page.wait_for_selector("#go:not([aria-disabled=true])")


def recovered(guest, page, times=1):
    ready(page)
    page.click("#go")
    guest.painted(times)


def entered(guest):
    page = guest.go("recover")
    page.wait_for_selector("body[data-ready]")
    return page


def focused(page):
    return page.evaluate("() => document.activeElement.id")


def in_view(page, selector):
    return page.evaluate(
        "s => { const r = document.querySelector(s).getBoundingClientRect(); return r.top < innerHeight && r.bottom > 0; }",
        selector,
    )


def test_both_examples(guest, tmp_path):
    """From nothing to shares, tables and files, with every state sound; results are brought into view."""
    page = entered(guest)
    assert_sound(page)
    page.click("[data-example=numbers]")
    recovered(guest, page)
    assert "The mean lies in" in page.inner_text("#headline")
    assert focused(page) == "headline"
    assert in_view(page, "#headline")
    assert not page.is_visible("#misfit")
    assert not page.is_visible("#by-group")
    for part in ("#law-table", "#seen-table"):
        page.locator(f"{part} summary").click()
        page.wait_for_selector(f"{part} td")
    assert page.locator("#seen-table tbody tr").count() == 46  # also those that nobody gave
    assert "3,979" in page.inner_text("#of-what")
    page.locator("#steps summary").first.click()
    page.wait_for_selector("#steps-chart canvas")
    page.locator("#code summary").click()
    assert "dt.geometric(dt.Grid(15, 60), epsilon='1/2')" in page.inner_text("#python")
    assert_sound(page)
    page.check("[name=method][value=mle]")
    guest.painted(2)
    with page.expect_download() as loading:
        page.click("[data-kind=csv]")
    loading.value.save_as(tmp_path / "found.csv")
    shares = np.loadtxt(tmp_path / "found.csv", delimiter=",", skiprows=1)[:, 1]
    assert shares.sum() == pytest.approx(1)
    assert (shares == 0).any()  # the likeliest has spikes
    page.click("[data-example=categories]")
    page.wait_for_selector("#found[data-state=late]")
    assert_sound(page)
    page.wait_for_selector("#columns:visible")
    recovered(guest, page, 3)
    assert page.is_visible("#by-group")
    assert not page.is_visible("#methods")
    page.select_option("#answer", "Fiat")
    page.wait_for_function("() => document.querySelector('#compared-table').innerText.includes('Share of Fiat')")
    page.select_option("#group", label="south")
    guest.painted(4)
    assert "south: 2,100 reports" in page.inner_text("#of-what")
    assert "Most frequent: Fiat" in page.inner_text("#headline")
    page.locator("#law-table summary").click()
    page.wait_for_selector("#law-table td")
    assert_sound(page)
    assert "recover?" not in page.url


def test_files_of_names(guest, tmp_path):
    """Where the reports come first they wait for the mechanism. Names are texts and nothing else, also the longest."""
    long = "a name that is sixty characters long, as some offices have it"
    m = dt.randomized_response(["Fiat", long, 'a, "b"', "<b>x</b>"], epsilon=3)
    m.save(tmp_path / "m.json")
    reports = m.sample(["Fiat"] * 300 + ["<b>x</b>"] * 100, source=dt.insecure_source(4))
    (tmp_path / "r.csv").write_text("y\n" + "".join('"' + r.replace('"', '""') + '"\n' for r in reports))
    page = entered(guest)
    page.set_input_files("#reports-file", tmp_path / "r.csv")
    page.wait_for_function("() => document.querySelector('#reports-told').textContent.includes('as soon as')")
    page.set_input_files("#mechanism-file", tmp_path / "m.json")
    recovered(guest, page)
    assert not page.is_visible("#order")  # names have none
    page.locator("#law-table summary").click()
    page.wait_for_selector("#law-table td")
    assert page.inner_text("#law-table tbody tr:first-child").startswith("Fiat")
    assert "<b>x</b>" in page.inner_text("#law-table")
    assert_sound(page)
    with page.expect_download() as loading:
        page.click("[data-kind=csv]")
    loading.value.save_as(tmp_path / "law.csv")
    with open(tmp_path / "law.csv", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    wanted = dt.recover(reports, m).shares()
    assert [row["answer"] for row in rows] == list(wanted.answers)
    assert np.allclose([float(row["high"]) for row in rows], wanted.high)
    with page.expect_download() as loading:
        page.click("[data-kind=json]")
    assert loading.value.suggested_filename == "recovered.json"


def test_a_column_is_asked_for_and_a_misfit_told(guest, tmp_path):
    dt.geometric(20, epsilon="1/5").save(tmp_path / "g.json")
    made = dt.randomized_response(20, epsilon=1).sample(np.full(2300, 3), source=dt.insecure_source(9))
    (tmp_path / "r.csv").write_text("id,report\n" + "".join(f"{k},{r}\n" for k, r in enumerate(made)))
    page = entered(guest)
    page.set_input_files("#mechanism-file", tmp_path / "g.json")
    page.set_input_files("#reports-file", tmp_path / "r.csv")
    page.wait_for_selector("#columns:visible")
    page.click("#choose")  # nothing is taken before it is said
    assert "which column" in page.inner_text("#reports .wrong")
    assert page.evaluate("() => document.activeElement.name") == "column"
    assert_sound(page)
    page.click("#go", force=True)  # nor is anything recovered
    assert page.is_visible("#reports .wrong")
    assert page.is_visible("#nothing")
    page.select_option("[name=column]", "report")
    page.click("#choose")
    ready(page)
    assert "2,300 reports, 21 of them different" in page.inner_text("#reports-told")
    recovered(guest, page)
    assert "do not fit the mechanism" in page.inner_text("#misfit")
    assert page.inner_text("#headline").startswith("These reports do not look like this mechanism's")
    assert "lies in" not in page.inner_text("#headline")
    assert_sound(page)
    (tmp_path / "comma.csv").write_text("1,5\n2,5\n")
    page.set_input_files("#reports-file", tmp_path / "comma.csv")
    page.wait_for_selector("#reports .wrong")
    assert "put a line of names above the reports" in page.inner_text("#reports .wrong")
    assert focused(page) == "reports-file"
    assert in_view(page, "#reports .wrong")
    assert page.get_attribute("#found", "data-state") == "late"  # it is of other reports
    assert page.get_attribute("#go", "aria-disabled") == "true"
    assert_sound(page)
    guest.errors.clear()  # the browser itself writes down that a request was refused


def test_a_mechanism_made_here_is_wrong_at_its_field(guest):
    page = entered(guest)
    page.click("#go", force=True)  # it says what is missing
    assert "which mechanism" in page.inner_text("#mechanism .wrong")
    page.check("[name=source][value=made]")
    page.click("#make")
    page.wait_for_selector("#mechanism .wrong")
    assert page.evaluate("() => document.activeElement.name") == "high"
    page.fill("[name=high]", "50")
    page.get_by_label("epsilon", exact=True).fill("much")
    page.click("#make")
    page.wait_for_function("() => document.activeElement.name === 'epsilon'")
    page.wait_for_selector("#mechanism .wrong")
    assert_sound(page)
    page.get_by_label("epsilon", exact=True).fill("1/2")
    page.click("#make")
    page.wait_for_function("() => document.querySelector('#mechanism-told').textContent.includes('geometric on 0..50')")
    assert not page.is_visible("#mechanism .wrong")
    guest.errors.clear()


@WIDE
def test_reading_and_recovering_are_cancelled(guest):
    """What is cancelled is let go: a request that is held back is aborted, and nothing of it is shown."""
    page = entered(guest)
    page.click("[data-example=numbers]")
    ready(page)
    held = []
    page.route("**/api/upload/reports**", lambda route: held.append(route))
    page.set_input_files("#reports-file", {"name": "r.csv", "mimeType": "text/csv", "buffer": b"y\n20\n"})
    page.locator("#reports-told button").click()
    page.wait_for_function("() => document.querySelector('#reports-told').textContent.includes('Cancelled')")
    assert page.get_attribute("#go", "aria-disabled") == "true"
    page.unroute("**/api/upload/reports**")
    page.set_input_files("#reports-file", {"name": "r.csv", "mimeType": "text/csv", "buffer": b"y\n20\n30\n"})
    ready(page)
    page.route("**/api/recover", lambda route: held.append(route))
    page.click("#go")
    page.locator("#found .state button").click()
    page.wait_for_function("() => document.activeElement.id === 'go'")
    assert page.is_visible("#nothing")
    page.unroute("**/api/recover")
    recovered(guest, page)
    assert "2 reports" in page.inner_text("#of-what")
    assert len(held) == 2
