"""The rooms Choose and Collude in Chromium: six mechanisms compared, what users learn together, and what can be handed on."""

from __future__ import annotations

import itertools
import json
import time

import pytest

import discreet as dt
from discreet.cli import main
from discreet.progress import Told
from tests.browser.looks import assert_sound

pytestmark = pytest.mark.outside("browser")
WIDE = pytest.mark.parametrize("guest", [1280], indirect=True)  # the same on a phone
NARROW = pytest.mark.parametrize("guest", [390], indirect=True)
TURNS = itertools.count(1)


def command(*words):
    with pytest.raises(SystemExit) as stopped:
        main(list(words))
    return stopped.value.code or 0


def chosen(guest, query="", cards=6):
    page = guest.go(f"choose{query}")
    page.set_default_timeout(20_000)
    guest.painted(cards)
    return page


@pytest.fixture
def long_work(monkeypatch):
    """Settings whose optimum takes half a minute, however fast the solvers become, unless it is called off."""

    def slow(n, *, progress, **rest):
        for _ in range(600 if n == 50 else 0):
            progress(Told("at work"))
            time.sleep(0.05)
        return dt.design(n, progress=progress, **rest)

    monkeypatch.setattr("discreet.studio.choose_room.design", slow)
    return f"?n=50&epsilon=1.{next(TURNS):03}&loss=l2&prior=binomial(0.2)&require=WH,CM"  # what was designed is kept


def four(x):
    """As the page writes a number: four digits, no zeros at the end."""
    digits, exponent = f"{x:.3e}".split("e")
    return f"{float(f'{x:.4g}'):g}" if x >= 1e-4 else f"{digits.rstrip('0').rstrip('.')}e{int(exponent)}"


def readout(page, name="geometric"):
    return page.inner_text(f"#face-{name} .readout")


def state(page, name):
    return page.get_attribute(f"#face-{name}", "data-state")


def row(page, short):
    return page.locator("#compared tbody tr", has=page.locator(f"th:text-is('{short}')"))


# Choose


def test_choose(guest, tmp_path, capsys):
    page = chosen(guest, "?n=6&alpha=1%2F2&loss=l1&require=WH")
    assert_sound(page)
    assert page.locator("#faces article").count() == 6
    assert "piles up" in page.locator("#face-geometric .unseen").first.inner_text()  # why GM looks as it does
    assert "spread over" in page.locator("#face-explicit_fair .unseen").first.inner_text()  # and what EM does about it
    assert "WH" in row(page, "optimum").inner_text()
    with page.expect_download() as loading:
        page.get_by_role("button", name="Mechanism file of optimum").click()
    path = tmp_path / "optimum.json"
    loading.value.save_as(path)
    assert dt.load(path) == dt.design(6, alpha="1/2", loss="l1", require=["WH"]).mechanism
    assert command("check", str(path), "--alpha", "1/2") == 0
    capsys.readouterr()
    page.select_option("#square select", "geometric")
    page.fill("#square [name=truth]", "1")
    page.fill("#square [name=report]", "0")
    page.press("#square [name=report]", "Enter")  # by the keyboard alone
    page.wait_for_function("() => document.querySelector('#told-text').textContent.includes('1/3')")
    assert_sound(page)
    page.locator("#sliders [name=n]").focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_function("() => location.search.includes('n=7')")


@WIDE
def test_a_newcomer_starts_at_epsilon_one_and_sees_what_is_alike(guest):
    """At epsilon 1 the geometric mechanism is weakly honest, and the best for l1: the cards say that they are the same."""
    page = chosen(guest)
    assert page.input_value("#level [name=epsilon]") == "1"
    assert page.get_attribute("#level [name=alpha]", "placeholder") == "≈ 0.3679"  # 1/e
    assert "becomes at most 23.2 %" in page.inner_text("#level")  # e/(e + 9) = 0.23197
    assert dt.geometric(8, epsilon=1).matrix == pytest.approx(dt.weakly_honest(8, epsilon=1).matrix, abs=1e-6)
    assert "= GM here" in page.inner_text("#face-weakly_honest h2")
    assert "= " not in page.inner_text("#face-explicit_fair h2")
    page.fill("#level [name=alpha]", "9/10")
    page.wait_for_function("() => !document.querySelector('#face-weakly_honest .same').textContent")
    assert page.input_value("#level [name=epsilon]") == ""
    assert page.get_attribute("#level [name=epsilon]", "placeholder") == "≈ 0.1054"


@WIDE
def test_every_number_of_six_mechanisms_at_fifty_can_be_read(guest):
    """By pointing, in all six at once; by the arrow keys; and in a table. Against the library's own channels."""
    page = chosen(guest, "?n=50&epsilon=1")
    made = {
        "geometric": dt.geometric(50, epsilon=1),
        "explicit_fair": dt.explicit_fair(50, epsilon=1),
        "weakly_honest": dt.weakly_honest(50, epsilon=1),
        "randomized_response": dt.randomized_response(50, epsilon=1),
        "uniform": dt.uniform(50),
        "optimum": dt.design(50, epsilon=1, loss="l1").mechanism,
    }
    page.locator("#face-explicit_fair .heat").focus()
    page.keyboard.press("End")
    for key, times in (("ArrowUp", 3), ("ArrowLeft", 1), ("PageUp", 1)):
        for _ in range(times):
            page.keyboard.press(key)
    truth, report = 50 - 3 - 10, 50 - 1
    for name, m in made.items():
        assert readout(page, name).startswith(f"{truth} → {report}: {four(m.matrix[truth, report])};")
    assert four(made["explicit_fair"].matrix[truth, report]) in page.inner_text("#heard")  # for whoever only hears
    page.keyboard.press("Enter")
    page.wait_for_function("() => document.querySelector('#told-text').textContent.includes('When the truth is 37')")
    assert page.evaluate("() => document.activeElement.closest('article').id") == "face-explicit_fair"  # focus is kept
    page.locator("#matrix summary").click()
    page.select_option("#matrix-of", "randomized_response")
    cells = page.locator("#matrix-table tbody tr").nth(3).locator("th, td").all_inner_texts()
    assert cells == ["3", *(four(p) for p in made["randomized_response"].matrix[3])]
    assert page.locator("#matrix-table tbody tr").count() == 51 + 2
    for short, name in (
        ("GM", "geometric"),
        ("EM", "explicit_fair"),
        ("kRR", "randomized_response"),
        ("UM", "uniform"),
    ):
        told = row(page, short).inner_text().split("\t")
        assert told[1] == four(dt.expected_loss(made[name], "l1"))
        assert told[2] == four(dt.measure.worst_loss(made[name], "l1"))
    assert_sound(page)


def test_a_picture_says_what_it_shows(guest):
    page = chosen(guest, "?n=4&alpha=1%2F2")
    label = page.get_attribute("#face-geometric canvas", "aria-label")
    g = dt.geometric(4, alpha="1/2").matrix
    assert "5 truths by 5 reports" in label
    assert f"probability {four(g.diagonal().min())} to {four(g.diagonal().max())}" in label
    often = g.mean(axis=0)
    assert f"0 or 4 is reported {float(f'{100 * (often[0] + often[-1]):.2g}'):g} % of the time, and true 40 %" in label


def test_a_square_that_is_pressed_is_explained(guest):
    page = chosen(guest, "?n=4&alpha=1%2F2")
    page.locator("#face-geometric .heat").click(position={"x": 80, "y": 60})
    page.wait_for_function("() => document.querySelector('#told-text').textContent.includes('When the truth is')")


@WIDE
def test_terms_are_explained_on_hover_and_focus(guest):
    page = chosen(guest, "?n=4&alpha=1%2F2")
    assert page.is_hidden("#tip")
    page.get_by_role("button", name="any two").focus()
    assert "any two counts, however far apart" in page.inner_text("#tip")
    page.keyboard.press("Escape")
    assert page.is_hidden("#tip")
    page.hover("#properties .term:text-is('RH')")
    assert "a report is likeliest under the one that it names" in page.inner_text("#tip")
    page.mouse.move(2, 2)
    page.wait_for_selector("#tip", state="hidden")
    described = page.get_by_role("button", name="RH", exact=True).get_attribute("aria-describedby")
    assert "Row honest" in page.locator(f"#{described}").inner_text()


def test_nothing_stays_beside_settings_that_it_is_not_of(guest):
    """Where no picture can be made, the old ones are marked, the error stands at its field, and focus stays there."""
    page = chosen(guest, "?n=4&alpha=1%2F2")
    page.click("#square button")
    page.wait_for_function("() => document.querySelector('#told-text').textContent.includes('When the truth is')")
    page.fill("#level [name=alpha]", "7/2")
    page.wait_for_selector("#level .wrong")
    assert "9/10" in page.inner_text("#level .wrong")
    assert 'alpha="' not in page.inner_text("#level .wrong")  # fields, not Python
    assert page.evaluate("() => document.activeElement.name") == "alpha"
    assert page.get_attribute("#level [name=alpha]", "aria-invalid") == "true"
    for name in ("geometric", "optimum"):
        assert state(page, name) == "late"
        assert "Out of date: n = 4, alpha 1/2." in page.inner_text(f"#face-{name} .state")
    assert "Out of date" in page.inner_text("#numbers .state")
    assert "When the truth is" not in page.inner_text("#told")
    assert_sound(page)
    page.fill("#level [name=alpha]", "1/3")
    page.wait_for_selector("#face-optimum[data-state=fresh]")
    assert page.locator(".wrong").count() == 0
    assert state(page, "geometric") == "fresh"
    guest.errors.clear()  # the browser itself writes down that a request was refused


def test_only_the_optimum_is_dimmed_while_it_is_designed_and_it_can_be_cancelled(guest, long_work):
    page = chosen(guest, "?n=8&epsilon=1")
    page.evaluate("told => { location.search = told }", long_work)
    page.wait_for_selector("#face-optimum[data-state=computing] .state button:visible")
    page.wait_for_selector("#face-uniform[data-state=fresh]")
    assert all(state(page, name) == "fresh" for name in ("geometric", "explicit_fair", "weakly_honest", "uniform"))
    assert "Being designed" in page.inner_text("#face-optimum .state")
    assert_sound(page)
    page.locator("#face-optimum .state button").click()
    page.wait_for_selector("#face-optimum[data-state=late]")
    assert "called off" in page.inner_text("#face-optimum .state")
    assert "not designed" in row(page, "optimum").inner_text()
    assert page.is_hidden("#problem")
    assert_sound(page)
    guest.errors.clear()  # the browser itself writes down that a request was refused


@WIDE
def test_a_drag_cancels_the_design_that_it_started(guest, long_work):
    page = chosen(guest, long_work, 5)
    page.wait_for_selector("#face-optimum[data-state=computing]")
    with page.expect_request(lambda r: r.url.endswith("/off")):
        page.locator("#sliders [name=n]").focus()
        page.keyboard.press("Home")
    page.wait_for_selector("#face-optimum[data-state=fresh]")
    assert "n=1&" in page.url


@WIDE
def test_all_pictures_have_one_scale_of_colours(guest):
    """At n = 8 and alpha 9/10 the optimum has the largest probability of all; it was drawn on a scale of its own."""
    page = chosen(guest, "?n=8&alpha=9%2F10")
    best = dt.design(8, alpha="9/10", loss="l1").mechanism.matrix.max()
    assert best > dt.geometric(8, alpha="9/10").matrix.max()
    page.wait_for_function("top => document.querySelector('#scale').textContent.includes(top)", arg=four(best))
    tops = page.evaluate("() => [...document.querySelectorAll('#faces article')].map((c) => c.dataset.top)")
    assert len(tops) == 6
    assert len(set(tops)) == 1
    assert float(tops[0]) == pytest.approx(best, rel=1e-5)


@WIDE
def test_the_colours_are_those_of_the_library_and_outlines_end_at_twenty(guest):
    """The pixel in the middle of a square is the shade of its probability, by Lab between the library's stops."""
    pixel = """([x, y]) => { const c = document.querySelector("#face-uniform canvas");
        return [...c.getContext("2d").getImageData(Math.round(x * c.width), Math.round(y * c.height), 1, 1).data].slice(0, 3) }"""
    page = chosen(guest, "?n=2&alpha=99%2F100")  # the optimum always answers 1
    assert float(page.get_attribute("#face-uniform", "data-top")) == pytest.approx(1, abs=1e-3)
    assert page.evaluate(pixel, [0.2, 0.1]) == [
        158,
        202,
        225,
    ]  # a third of the largest is the second of the four stops, #9ecae1
    assert page.is_visible("#own")
    page.locator("#sliders [name=n]").fill("21")
    page.wait_for_selector("#own", state="hidden")


@WIDE
def test_copying_is_confirmed_and_a_failed_copy_leaves_the_text_to_be_taken(guest):
    page = chosen(guest, "?n=3&alpha=1%2F2")
    button = page.get_by_role("button", name="Python of GM")
    button.focus()
    page.keyboard.press("Enter")
    page.wait_for_function("() => document.querySelector('#code').textContent.includes('dt.geometric(3')")
    page.wait_for_function("() => /Copied|See below/.test(document.querySelector('#compared').innerText)")


def test_every_control_is_reached_with_the_tab_key_and_shows_it(guest):
    page = chosen(guest, "?n=3&alpha=1%2F2")
    reached = set()
    for _ in range(75):
        page.keyboard.press("Tab")
        name, outline, seen = page.evaluate("""() => { const e = document.activeElement, r = e.getBoundingClientRect();
            const pictures = document.querySelector(".stay"), stay = pictures.getBoundingClientRect();
            const stuck = getComputedStyle(pictures).position === "sticky", none = e === document.body;
            const free = none || e.closest(".stay") || !stuck || r.bottom > stay.bottom || r.bottom < stay.top;
            const name = none ? "" : e.name || e.getAttribute("aria-label") || e.textContent.trim();
            return [name, getComputedStyle(e).outlineStyle, free] }""")
        assert outline != "none" or not name
        assert seen, name  # not under the pictures that stay in view
        reached.add(name)
    wanted = {"n", "epsilon", "alpha", "loss", "prior", "require", "truth", "report", "Explain", "any two", "GM", "CM"}
    assert wanted - {"GM"} <= reached
    assert {"Use the example", "Copy as Python", "Save the settings", "Open settings", "Python of GM"} <= reached
    assert sum("Arrow keys go from square to square" in name for name in reached) >= 4


@NARROW
def test_on_a_phone_the_picture_stays_in_view_above_what_changes_it(guest):
    page = chosen(guest, "?n=8&epsilon=1")
    page.locator("#level [name=epsilon]").scroll_into_view_if_needed()
    page.locator("#properties [value=CM]").focus()
    page.keyboard.press("Space")
    page.wait_for_function("() => location.search.includes('require=CM')")
    top, bottom, focus = (
        page.evaluate("""() => { const p = document.querySelector("#face-geometric .heat").getBoundingClientRect();
        return [p.top, p.bottom, document.activeElement.getBoundingClientRect().top] }""")
    )
    assert 0 <= top < bottom < focus < 900
    wide, window = page.evaluate(
        "() => { const c = document.querySelector('#compared'); return [c.scrollWidth, c.clientWidth] }"
    )
    assert wide <= window  # the numbers stand below one another: nothing to be scrolled
    assert_sound(page)


@WIDE
def test_the_square_that_was_asked_for_last_is_explained(guest):
    """Whichever answer comes first; the sentence says of which mechanism it is."""
    page = chosen(guest)
    waiting = []
    page.route("**/api/choose/cell", lambda route: waiting.append(route) if not waiting else route.continue_())
    page.click("#square button")
    page.wait_for_timeout(200)
    page.select_option("#square [name=mechanism]", "explicit_fair")
    page.click("#square button")
    page.wait_for_function("() => document.querySelector('#told-text').textContent.includes('When the truth is')")
    with page.expect_response("**/api/choose/cell"):
        waiting[0].continue_()
    page.wait_for_timeout(300)
    assert "When the truth is 0, EM reports 0 with probability" in page.inner_text("#told-text")


def test_a_prior_is_drawn_by_hand(guest):
    page = chosen(guest, "?n=3&alpha=1%2F2&prior=drawn&drawn=10,20,30,40")
    page.locator("#bars input").nth(0).focus()
    page.keyboard.press("End")
    page.wait_for_function("() => location.search.includes('drawn=100')")
    assert_sound(page)


# What can be handed on


@pytest.mark.parametrize("room", ["choose", "collude"])
def test_settings_are_saved_and_opened_in_another_studio(guest, tmp_path, room):
    """And the example fills in what it says; no address of this machine is offered as a link."""
    page = guest.go(room)
    guest.painted()
    page.get_by_role("button", name="Use the example").click()
    page.wait_for_function("() => location.search.includes('n=20')")
    page.fill("#level [name=alpha]", "2/3")
    with page.expect_download() as loading:
        page.get_by_role("button", name="Save the settings").click()
    path = tmp_path / "settings.json"
    loading.value.save_as(path)
    assert "127.0.0.1" not in path.read_text()
    assert page.locator("main a[href*='127.0.0.1']").count() == 0
    page.wait_for_function("() => location.search.includes('alpha=2%2F3')")
    before = page.evaluate("() => location.search")
    guest.go(room)
    guest.painted()
    with page.expect_file_chooser() as choosing:
        page.get_by_role("button", name="Open settings").click()
    choosing.value.set_files(path)
    page.wait_for_function("told => location.search === told", arg=before)
    assert page.input_value("#level [name=alpha]") == "2/3"
    document = json.loads(path.read_text())
    for wrong in (
        "{",
        "[]",
        json.dumps({**document, "room": "release"}),
        json.dumps({**document, "version": 2}),
        json.dumps({**document, "settings": {"n": 5}}),
        json.dumps({**document, "settings": {"x" * 60: "1"}}),
    ):
        path.write_text(wrong)
        with page.expect_file_chooser() as choosing:
            page.get_by_role("button", name="Open settings").click()
        choosing.value.set_files(path)
        page.wait_for_selector("#share .problem:visible")
        assert page.evaluate("() => location.search") == before  # nothing of it was taken
        assert_sound(page)
        page.evaluate("() => { document.querySelector('#share .problem').hidden = true }")


@WIDE
def test_the_python_of_a_room_computes_what_it_shows(guest, capsys):
    page = chosen(guest, "?n=5&alpha=1%2F2&prior=drawn&drawn=1,2,3,4,5,6&require=WH")
    page.get_by_role("button", name="Copy as Python").click()
    page.wait_for_function("() => document.querySelector('#share pre').textContent.includes('import discreet')")
    exec(page.text_content("#share pre"), {})
    printed = [line.split() for line in capsys.readouterr().out.splitlines()]
    shown = [row(page, short).inner_text().split("\t")[1] for short in ("GM", "EM", "WM", "kRR", "UM", "optimum")]
    assert [four(float(words[1])) for words in printed] == shown


# Collude


def test_collude(guest):
    page = guest.go(
        "collude?n=10&alpha=1%2F2&most=5&mechanisms=geometric,explicit_fair&levels=alpha 3%2F10,alpha 1%2F2"
    )
    guest.painted(1)
    assert_sound(page)
    for name, make in (("geometric (GM)", dt.geometric), ("explicit fair (EM)", dt.explicit_fair)):
        told = dt.sharing.collude(make(10, alpha="1/2"), 5)
        sentence = page.locator("#sentences dt", has_text=name).locator("+ dd").inner_text()
        assert f"{told.expected_loss:.3g}" in sentence
        assert f"{four(told.expected_loss)} for 5 users" in page.get_attribute("#loss", "aria-label")
    page.locator("#as-table summary").click()
    assert page.locator("#as-table tbody tr").count() == 6
    assert page.locator("#cascade tbody tr").count() == 4
    assert_sound(page)


@WIDE
def test_one_user_is_no_users(guest):
    page = guest.go("collude?n=10&epsilon=1&most=1")
    guest.painted(1)
    assert page.inner_text("#sentences").count("One user alone is off by") == 2
    assert "1 users" not in page.inner_text("#findings")
    assert "for 1 user." in page.get_attribute("#loss", "aria-label")


def test_audiences_are_levels_and_an_error_stands_at_its_own(guest):
    page = guest.go("collude")
    guest.painted()
    page.get_by_role("textbox", name="epsilon of audience 2").fill("3x")
    page.wait_for_selector("#levels .wrong")
    assert page.get_attribute("#cascade", "data-state") == "late"
    assert page.get_attribute("#shared", "data-state") == "fresh"  # only what the field belongs to
    assert page.get_by_role("textbox", name="epsilon of audience 2").get_attribute("aria-invalid") == "true"
    assert_sound(page)
    page.get_by_role("textbox", name="alpha of audience 2").fill("1/5")
    page.wait_for_selector("#cascade[data-state=fresh]")
    rows = page.locator("#cascade tbody tr td:nth-child(2)").all_inner_texts()
    assert rows[1] == "1/5"  # from the least private: epsilon 2, then ln 5, then 1/2
    page.get_by_role("button", name="Remove audience 3").click()
    page.wait_for_function("() => document.querySelectorAll('#cascade tbody tr').length === 4")
    page.get_by_role("button", name="Add an audience").click()
    page.wait_for_function("() => document.querySelectorAll('#cascade tbody tr').length === 5")
    assert page.evaluate("() => document.activeElement.getAttribute('aria-label')") == "epsilon of audience 3"
    guest.errors.clear()  # the browser itself writes down that a request was refused


def test_long_work_in_collude_is_cancelled_and_begun_again(guest):
    page = guest.go("collude?n=50&epsilon=1%2F10&most=51&mechanisms=geometric,explicit_fair,randomized_response")
    page.locator("#shared .state button", has_text="Cancel").click(timeout=20_000)
    page.wait_for_selector("#shared[data-state=late]")
    assert page.is_hidden("#problem")
    assert_sound(page)
    page.evaluate("() => { const n = document.querySelector('#sliders').n; n.value = 3; }")
    page.locator("#shared .state button", has_text="Compute it").click()
    page.wait_for_selector("#shared[data-state=fresh]", timeout=30_000)
    guest.errors.clear()
