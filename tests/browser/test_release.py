"""The room Release in Chromium: from a file as offices have them to what may be published, on a desk and on a phone."""

from __future__ import annotations

import json
import socket
import threading
import time
import zipfile

import pytest

import discreet as dt
from tests.browser.looks import assert_sound, findings, wider

pytestmark = pytest.mark.outside("browser")
WIDE = pytest.mark.parametrize("guest", [1280], indirect=True)  # the same on a phone
LONG = "Einkommen des Haushalts im Jahr vor der Erhebung, in Euro, netto"  # 64 characters
MESSY = [
    f"Stadtteil;Alter;{LONG};krank",
    *(
        ";".join([("Mühle", "Hafen", "Süd")[k % 3], str(k % 90), income, "nein" if k % 4 else "ja"])
        for k, income in ((k, "k.A." if k % 20 == 7 else f"{1000 + 7 * k},50") for k in range(400))
    ),
]


@pytest.fixture(autouse=True)
def nothing_yet(studio):
    """What stands in the room is kept by the server, for all tabs: each test begins with nothing."""
    from discreet.studio.release_place import Draft

    studio.place.draft = Draft()


@pytest.fixture
def messy(tmp_path):
    path = tmp_path / "Einwohner 2026.csv"
    path.write_bytes("\n".join(MESSY).encode("latin-1"))
    return path


def name():
    return f"town{time.monotonic_ns()}"


def opened(guest):
    page = guest.go("release")
    page.wait_for_selector("body[data-ready]")
    page.set_default_timeout(15_000)
    return page


def usable(page):
    """Nothing keeps the file from being used, and k.A. is no text any more."""
    page.wait_for_function("""() => { const told = document.querySelector('#findings').textContent;
        return told.includes('The file can be used') && !told.includes('k.A.') }""")


def mended(page, path=None):
    """The file, read as it is meant, by the buttons alone."""
    if path is not None:
        page.set_input_files("#file", path)
    for label in ("Read as Latin-1", "Read with ; (semicolon)", "Decimal comma", "k.A. is missing"):
        page.get_by_role("button", name=label).first.click()
    usable(page)


def budgeted(page, dataset, **fields):
    page.click("#file-done")
    page.wait_for_selector("#meaning .said")
    page.fill("[name=dataset]", dataset)
    for field, value in fields.items():
        if field in ("relation", "terms"):
            page.check(f"[name={field}][value={value}]")
        elif field in ("unit", "parts"):
            page.locator("summary", has_text="several rows").click()
            page.select_option(f"[name={field}]", value)
        elif field == "public":
            page.check(f"[name=public][value='{value}']")
        else:
            page.fill(f"[name={field}]", value)
    page.click("#budget-done")
    page.get_by_role("button", name="Open it, for good").click()
    page.wait_for_selector("#step-3[data-state=open]")


def keyed(page, column, keys):
    page.select_option("#group-by", column)
    box = page.locator(f"[data-field='domain.{column}']")
    box.fill("\n".join(keys))
    page.get_by_role("button", name="Add these keys").last.click()


def focused_in_view(page):
    """What has focus can be seen: on a phone nobody looks for what happened."""
    return page.evaluate("""() => { const e = document.activeElement, r = e.getBoundingClientRect();
        const seen = e !== document.body && r.bottom > 0 && r.top < innerHeight;
        return seen || [e.outerHTML.slice(0, 200), r.top, r.bottom].join(" ") }""")


def test_from_a_messy_file_to_downloads_without_paying_for_a_mistake(guest, messy, tmp_path):
    """Latin-1, semicolons, decimal commas, k.A. for missing, a name of 64 characters; at each step a mistake that costs nothing."""
    page, dataset = opened(guest), name()
    assert_sound(page)
    assert page.is_disabled("#step-2 .head")  # steps open one after another
    page.set_input_files("#file", messy)
    page.wait_for_selector("#findings .grave")
    assert focused_in_view(page) is True
    assert_sound(page)
    assert "--" not in page.inner_text("#findings")  # no option of a command line
    page.click("#file-done", force=True)  # blocked: what keeps it is shown instead
    assert page.get_attribute("#step-1", "data-state") == "open"
    mended(page)
    assert "400 rows, 4 columns" in page.inner_text("#file-size")
    assert "1000,50" in page.inner_text("#first-rows")
    assert_sound(page)
    page.click("#file-done")
    page.wait_for_selector("#meaning .said")
    assert "a suspicion of 10 % becomes at most 23.2 %" in page.inner_text("#meaning")  # e/(e + 9) = 0.2320
    page.fill("[name=budget]", "2,5x")
    page.wait_for_selector("#meaning .wrong")
    assert_sound(page)
    page.press("[name=budget]", "Enter")  # fixes nothing
    page.fill("[name=budget]", "2")
    page.wait_for_selector("#meaning .said")  # the page moves when it comes
    page.click("#budget-done")  # it has no name yet
    assert "Give the data set a name" in page.inner_text("#step-2 .wrong")
    assert focused_in_view(page) is True
    page.fill("[name=dataset]", dataset)
    page.click("#budget-done")
    page.wait_for_selector("dialog")
    assert_sound(page)
    page.keyboard.press("Enter")  # once too often: focus is on the way back
    page.wait_for_selector("dialog", state="detached")
    assert not (guest.studio.folder / "budget.db").exists() or dataset not in list(
        dt.Ledger(guest.studio.folder / "budget.db")
    )
    page.click("#budget-done")
    page.get_by_role("button", name="Open it, for good").click()
    page.wait_for_selector("#step-3[data-state=open]")
    assert_sound(page)
    book = dt.Ledger(guest.studio.folder / "budget.db")
    page.fill(".expression", "krank = ")
    page.click("#question-done")
    page.wait_for_selector("#step-3 .wrong")
    told = page.inner_text("#step-3 .wrong")
    assert "condition cannot be read" in told
    assert page.evaluate("() => document.activeElement.matches('.expression[aria-invalid=true]')")
    assert_sound(page)
    page.fill(".expression", "")
    page.locator("[aria-label$=': column']").first.select_option("krank")
    page.locator("[aria-label$=': value']").first.fill("Ja")
    page.get_by_role("button", name="Add the condition").click()
    assert page.input_value(".expression") == "krank = 'Ja'"
    page.select_option("#group-by", "Stadtteil")
    assert not any(word in page.inner_text("#groups") for word in ("Mühle", "Hafen"))  # never offered from the file
    page.click("#question-done")
    assert "Say which keys Stadtteil can have" in page.inner_text("#step-3 .wrong")
    box = page.locator("[data-field='domain.Stadtteil']")
    box.fill("Mühle\nHafen\nSüd\nBerg")
    page.get_by_role("button", name="Add these keys").click()
    assert page.locator(".chips li").count() == 4
    page.fill("[name=epsilon]", "5")
    page.click("#question-done")
    page.wait_for_selector("#preview .problem")
    assert "Too little is left" in page.inner_text("#preview")
    assert page.is_hidden("#preview-done")
    page.click("#step-3 .head")
    page.fill("[name=epsilon]", "1/2")
    page.click("#question-done")
    page.wait_for_selector("#mistakes")
    assert focused_in_view(page) is True
    assert "krank = 'Ja': true of no row in a group" in page.inner_text("#mistakes")
    assert "'Berg'" in page.inner_text("#preview .late")  # a key that no row has stays
    page.wait_for_selector("#curve canvas")
    assert_sound(page)
    page.get_by_role("button", name="Correct the question").click()
    page.fill(".expression", "krank = 'ja'")
    page.click("#question-done")
    page.wait_for_selector("#preview .fine")
    assert "Left after it\n3/2" in page.inner_text("#price")
    errors = (
        book[dataset]
        .preview(
            table=str(next(guest.studio.place.tables._things[guest.studio.place.draft.table].parent.glob("table.*"))),
            count="krank = 'ja'",
            by="Stadtteil",
            domain={"Stadtteil": ["Mühle", "Hafen", "Süd", "Berg"]},
            epsilon="1/2",
        )
        .errors
    )
    said = f"krank = 'ja', each group: each within {errors[0]['each']}; all at once within {errors[0]['all']}."
    assert said in page.inner_text("#preview .said")
    page.click("#preview-done")
    assert_sound(page)
    page.click("#pay")
    page.wait_for_selector("dialog")
    page.keyboard.press("Enter")
    page.wait_for_selector("dialog", state="detached")
    assert book[dataset].balance().spent == 0  # nothing was charged by all these mistakes
    page.click("#pay")
    page.locator("dialog .main").dblclick()
    page.wait_for_function("() => document.querySelector('.result')?.shadowRoot?.querySelector('table')")
    assert str(book[dataset].balance().spent) == "1/2"
    assert focused_in_view(page) is True
    assert_sound(page)
    for kind in ("csv", "spreadsheet", "html", "json", "zip"):
        with page.expect_download() as loading:
            page.click(f"[data-kind={kind}]")
        loading.value.save_as(tmp_path / loading.value.suggested_filename)
    with zipfile.ZipFile(tmp_path / "released.zip") as archive:
        for each in ("released.csv", "released.html", "released.json"):
            assert archive.read(each) == (tmp_path / each).read_bytes()
    assert dt.check_release(tmp_path / "released.json").holds
    assert (tmp_path / "released-spreadsheet.csv").read_bytes().startswith(b"\xef\xbb\xbf")
    page.get_by_text("The same in Python").click()
    again = page.inner_text("#made pre >> nth=0")
    assert "count=[\"krank = 'ja'\"]" in again
    assert "epsilon='1/2'" in again
    for private in ("krank", "Mühle", dataset, "Einwohner", "budget"):
        assert private not in page.url
    kept = page.evaluate("() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie])")
    assert json.loads(kept) == [{"discreet-key": guest.studio.keys.secret}, {}, ""]
    book.close()
    guest.errors.clear()  # the browser itself writes down that a request was refused


@WIDE
def test_what_stands_there_survives_a_reload_going_back_and_a_second_tab_until_it_is_forgotten(guest, messy):
    page = opened(guest)
    mended(page, messy)
    budgeted(page, name())
    page.fill(".expression", "krank = 'ja'")
    keyed(page, "Stadtteil", ["Hafen", "Süd"])
    page.reload()  # at once: what was written last is kept too
    page.wait_for_selector("#step-3[data-state=open]")
    assert page.input_value(".expression") == "krank = 'ja'"
    assert page.locator(".chips li").count() == 2
    page.goto(f"{guest.studio.address}/collude")
    page.go_back()
    page.wait_for_selector("#step-3[data-state=open]")
    assert page.input_value(".expression") == "krank = 'ja'"
    second = page.context.new_page()
    second.goto(f"{guest.studio.address}/release")
    second.wait_for_selector("#step-3[data-state=open]")
    assert second.input_value(".expression") == "krank = 'ja'"
    second.close()
    held = guest.studio.place.tables._things[guest.studio.place.draft.table]
    assert held.exists()
    page.click("#step-1 .head")
    page.click("#forget")
    page.get_by_role("button", name="Forget it").click()
    page.wait_for_selector("#no-file", state="visible")
    assert not held.exists()
    assert "krank" not in page.content()


def test_a_stopped_studio_is_said_at_once(studio):
    """Another studio, which is closed while its page is open."""
    import uvicorn

    from discreet.studio.access import Keys
    from discreet.studio.server import configured, make_app

    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        keys = Keys(listening.getsockname()[1])
        server = uvicorn.Server(configured(make_app(keys, studio.place), log_level="error"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        context = studio.browser.new_context()
        page = context.new_page()
        page.goto(keys.address.replace("/choose", "/release"))
        page.wait_for_selector("body[data-ready]")
        assert page.is_hidden("#closed")
        server.should_exit = True
        thread.join(10)
    page.wait_for_selector("#closed:visible", timeout=10_000)
    context.close()


@WIDE
def test_bands_are_moved_by_keyboard_and_mouse_and_a_code_list_gives_keys(guest, messy, tmp_path):
    page = opened(guest)
    mended(page, messy)
    budgeted(page, name())
    page.select_option("#group-by", "Alter")
    page.check("[name=kind-0][value=bands]")
    page.locator("#groups label", has_text="from").locator("input").fill("0")
    page.locator("[data-field='domain.Alter']").fill("18, 65")
    page.locator("[data-field='domain.Alter']").press("Tab")
    page.wait_for_selector(".cut >> nth=1")
    page.locator(".cut").first.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert page.locator(".cut").first.get_attribute("aria-valuenow") == "20"
    assert "Bands: 0-19, 20-64, 65+" in page.inner_text("#groups")
    box = page.locator(".cut").nth(1).bounding_box()
    page.mouse.move(box["x"] + 5, box["y"] + 5)
    page.mouse.down()
    page.mouse.move(box["x"] + 105, box["y"] + 5, steps=4)
    page.mouse.up()
    assert int(page.locator(".cut").nth(1).get_attribute("aria-valuenow")) > 66
    codes = tmp_path / "codes.csv"
    codes.write_text("code;label\nHafen;Der Hafen\nSüd;Im Süden\n", encoding="utf-8")
    page.select_option("#group-by", "Stadtteil")
    page.locator("#groups [type=file]").set_input_files(codes)
    page.wait_for_function("() => document.querySelectorAll('.chips li').length === 2")
    assert findings(page) == []
    assert wider(page) == []


def test_a_budget_with_a_delta_is_spent_in_rho(guest, messy):
    page, dataset = opened(guest), name()
    mended(page, messy)
    page.click("#file-done")
    page.wait_for_selector("#meaning .said")
    page.check("[name=terms][value=concentrated]")
    page.wait_for_function("() => document.querySelector('#meaning').textContent.includes('except with a probability')")
    page.locator("#many > summary").click()
    page.wait_for_selector("#tables-chart canvas")
    plan = dt.plan_tables(10, budget=1, delta="1e-9")
    for sentence in plan.sentences():
        assert sentence in page.inner_text("#tables-told")
    assert_sound(page)
    page.locator("#many > summary").click()
    page.fill("[name=dataset]", dataset)
    page.click("#budget-done")
    page.get_by_role("button", name="Open it, for good").click()
    page.wait_for_selector("#step-3[data-state=open]")
    page.click("#question-done")
    assert "Say how much rho" in page.inner_text("#step-3 .wrong")
    page.fill("[name=rho]", "1/1000")
    page.click("#question-done")
    page.wait_for_selector("#preview .said")
    assert "rho 1/1000" in page.inner_text("#price")
    page.wait_for_selector("#curve canvas")
    page.click("#preview-done")
    page.click("#pay")
    page.locator("dialog .main").click()
    page.wait_for_selector("#made h3")
    with dt.Ledger(guest.studio.folder / "budget.db") as book:
        assert str(book[dataset].balance().spent) == "1/1000"


@WIDE
def test_the_example_needs_nothing_else(guest):
    """The made-up town, all its questions filled in; it pays from a ledger of its own."""
    page = opened(guest)
    page.click("[data-example]")
    for label in ("Read with ; (semicolon)", "Read as Latin-1", "Decimal comma", "k.A. is missing"):
        page.get_by_role("button", name=label).first.click()
    usable(page)
    page.click("#file-done")
    page.wait_for_selector("#meaning .said")
    page.click("#budget-done")
    page.get_by_role("button", name="Open it, for good").click()
    page.wait_for_selector("#step-3[data-state=open]")
    page.click("#question-done")
    page.wait_for_selector("#preview .fine")
    with dt.Ledger(guest.studio.folder / "example.db") as book:
        assert book["made-up town"].balance().spent == 0


@WIDE
def test_households_dates_words_and_public_groups_by_their_fields(guest, tmp_path):
    """A title above the names, days as Germans write them, households; words and marks for page and CSV; smallest groups named."""
    people = [
        "Einwohner;;",
        "haus;geboren;sex",
        *(f"h{k // 3};0{k % 9 + 1}.02.19{60 + k % 30};{'f' if k < 21 else 'm'}" for k in range(300)),
    ]
    path, dataset = tmp_path / "people.csv", name()
    path.write_text("\n".join(people), encoding="utf-8")
    page = opened(guest)
    page.set_input_files("#file", path)
    for label in ("Read with ; (semicolon)", "Names are in line 2", "Dates as dd.mm.yyyy"):
        page.get_by_role("button", name=label).first.click()
    page.wait_for_function("() => document.querySelector('#first-rows')?.textContent.includes('1960-02-01')")
    budgeted(page, dataset, budget="40", relation="change-one", public="sex", unit="haus")
    page.fill(".expression", "geboren < '1975-01-01'")
    keyed(page, "sex", ["f", "m"])
    page.locator("summary", has_text="Households, parts, confidence").click()
    page.locator("summary", has_text="Words on the page").click()
    asked = {"epsilon": "30", "counted": "rows", "max_rows": "3", "confidence": "0.99", "title": "Alte <Leute>"}
    asked |= {"source": "Register", "notes": "eins\nzwei", "labels": "sex Geschlecht"}
    for field, text in asked.items():
        page.fill(f"#question [name={field}]", text)
    page.check("[name=simultaneous]")
    page.select_option("[name=out_decimal]", ",")
    page.click("#question-done")
    assert "A label is a name and what to call it" in page.inner_text("#step-3 .wrong")
    page.fill("[name=labels]", "sex=Geschlecht\nsex=Sexus")
    page.click("#question-done")
    assert "each name has one" in page.inner_text("#step-3 .wrong")
    page.fill("[name=labels]", "geschlecht=Geschlecht")
    page.click("#question-done")
    page.wait_for_function(
        "() => document.querySelector('#step-3 .wrong')?.textContent.includes('no column or statistic')"
    )
    assert page.evaluate("() => document.activeElement.name") == "labels"  # at its field, which was opened
    page.fill("[name=labels]", "sex=Geschlecht = m/w")
    page.click("#question-done")
    page.wait_for_selector("#price")
    assert "f (21); m (279)" in page.inner_text("#price")
    page.click("#preview-done")
    page.click("#pay")
    page.locator("dialog .main").click()
    page.wait_for_selector("#made h3")
    with dt.Ledger(guest.studio.folder / "budget.db") as book:
        assert book[dataset].balance().spent == 30
    for kind in ("csv", "json", "html"):
        with page.expect_download() as loading:
            page.click(f"[data-kind={kind}]")
        loading.value.save_as(tmp_path / f"released.{kind}")
    lines = [line.split(";") for line in (tmp_path / "released.csv").read_text(encoding="utf-8").splitlines()]
    old = [
        k for k in range(300) if k % 30 < 15
    ]  # born before 1975, counted by hand: rows, of up to three in a household
    reports = {line[0]: int(line[lines[0].index("published")]) for line in lines[1:]}
    assert reports == {"f": sum(k < 21 for k in old), "m": sum(k >= 21 for k in old)}  # noise of a step: some e^-10
    record = json.loads((tmp_path / "released.json").read_text(encoding="utf-8"))["record"]
    assert (record["confidence"], record["simultaneous"], record["counted"]) == ("99/100", True, "rows")
    saved = (tmp_path / "released.html").read_text(encoding="utf-8")
    for word in ("Alte &lt;Leute&gt;", "Register", "eins", "zwei", "Geschlecht = m/w", "99 % interval, all at once"):
        assert word in saved
    guest.errors.clear()


@WIDE
def test_the_looks_tell(guest):
    """A picture without words and a line wider than the window are found, so that finding nothing says something."""
    page = opened(guest)
    assert_sound(page)
    page.evaluate("""() => { const wide = document.createElement("p"), bare = document.createElement("img");
        wide.style.width = "3000px"; wide.id = "planted"; bare.src = "/static/icon.svg";
        document.querySelector("#step-1 .body").append(wide, bare) }""")
    assert any(found.startswith("image-alt") for found in findings(page))
    assert wider(page) == ["P planted "]


def test_a_tab_that_is_behind_says_so_and_changes_nothing(guest, messy):
    """Both are visible, so that neither is looked at again: the second one to write is told, and pays for nothing."""
    page = opened(guest)
    mended(page, messy)
    page.click("#file-done")
    page.wait_for_selector("#meaning .said")
    other = page.context.new_page()
    other.goto(page.url)
    other.wait_for_selector("#step-2[data-state=open]")
    page.bring_to_front()
    page.evaluate("() => Object.defineProperty(document, 'visibilityState', { get: () => 'visible' })")
    other.fill("[name=dataset]", "of the other tab")
    other.wait_for_timeout(800)
    page.fill("[name=dataset]", "of this one")
    page.wait_for_selector("#newer:visible")
    assert page.evaluate("() => document.activeElement.id") == "reload"
    assert_sound(page)
    page.click("#budget-done")
    assert page.locator("dialog").count() == 0
    assert guest.studio.place.draft.dataset == "of the other tab"
    page.click("#reload")
    page.wait_for_function("() => document.querySelector('[name=dataset]')?.value === 'of the other tab'")
    assert not page.is_visible("#newer")
    other.close()
    guest.errors.clear()  # the browser itself writes down that a request was refused


@WIDE
def test_a_file_can_be_cancelled_while_it_is_taken_and_read(guest, messy):
    page, held = opened(guest), []
    page.route("**/api/upload/table**", lambda route: held.append(route))
    page.set_input_files("#file", messy)
    page.locator("#taking button").click()
    page.wait_for_selector("#taking", state="hidden")
    assert page.is_visible("#no-file")
    page.unroute("**/api/upload/table**")
    page.route("**/api/release/look", lambda route: held.append(route))
    page.set_input_files("#file", messy)
    page.wait_for_function("() => document.querySelector('#taking').textContent.startsWith('Reading')")
    page.locator("#taking button").click()
    page.wait_for_selector("#read-again")
    assert page.get_attribute("#file-done", "aria-disabled") == "true"
    assert_sound(page)
    page.unroute("**/api/release/look")
    page.click("#read-again")
    page.wait_for_selector("#findings .problem")
    assert len(held) == 2


@WIDE
def test_code_lists_bring_labels_and_totals_and_dates_have_bands(guest, tmp_path):
    rows = "".join(f"0{1 + k % 3},{1990 + k % 30}-05-0{1 + k % 9}\n" for k in range(600))
    (tmp_path / "t.csv").write_text("town,born\n" + rows)
    listed = [
        "code,label,parent,level",
        "N,North,,region",
        "S,South,,region",
        "01,Aarau,N,",
        "02,Bern,S,",
        "03,Chur,S,",
    ]
    (tmp_path / "codes.csv").write_text("\n".join(listed))
    page = opened(guest)
    page.set_input_files("#file", tmp_path / "t.csv")
    page.wait_for_selector("#first-rows table")
    page.locator("#reading > summary").click()
    page.fill("[name=dates]", "born:yyyy-mm-dd")
    page.fill("[name=codes]", "town")
    page.press("[name=codes]", "Tab")
    page.wait_for_function("() => document.querySelector('#findings').textContent.includes('The file can be used')")
    page.wait_for_selector("#taking", state="hidden")
    budgeted(page, name())
    page.select_option("#group-by", "town")
    page.set_input_files("#groups input[type=file]", tmp_path / "codes.csv")
    page.wait_for_function("() => document.querySelector('.chips')?.textContent.includes('01 Aarau')")
    page.get_by_label("by region").check()
    page.select_option("#group-by", "born")
    page.get_by_label("bands of dates").check()
    page.click("#question-done")
    page.wait_for_selector("#step-3 .wrong")  # nothing is guessed
    page.get_by_label("bands begin on").fill("2000-01-01, 2010-01-01")
    assert "2000-01-01 to 2009-12-31" in page.inner_text("#groups")
    assert_sound(page)
    page.click("#question-done")
    page.wait_for_selector("#preview-done:visible")
    page.click("#preview-done")
    page.click("#pay")
    page.locator("dialog .main").click()
    page.wait_for_selector("#made h3")
    page.wait_for_function("() => document.querySelector('.result')?.shadowRoot?.querySelector('table')")
    told = page.evaluate("() => document.querySelector('.result').shadowRoot.textContent")
    assert "Aarau" in told
    assert "South" in told
    assert "from 2010-01-01" in told
    assert guest.studio.place.made.take(guest.studio.place.draft.made, "release").rows()[0]["town"] == "01"


def test_a_line_that_lacks_a_field_is_told_and_no_wrong_remedy_offered(guest, tmp_path):
    (tmp_path / "odd.csv").write_text("a,b,c\n1,2,3\n4,5\n6,7,8\n9,1,2\n")
    page = opened(guest)
    page.set_input_files("#file", tmp_path / "odd.csv")
    page.wait_for_selector("#step-1 .wrong")
    assert "line 3 is not of 3 fields" in page.inner_text("#step-1 .wrong")
    assert page.locator(".mend button").count() == 0
    assert page.get_attribute("#file-done", "aria-disabled") == "true"
    assert focused_in_view(page) is True
    assert_sound(page)
    guest.errors.clear()  # the browser itself writes down that a request was refused
