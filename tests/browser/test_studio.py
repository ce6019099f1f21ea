"""The rooms of the studio end to end in Chromium: what a person sees, presses and takes away."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

import discreet as dt
from discreet.cli import main
from discreet.studio.access import HEADER
from discreet.studio.server import open_doorway

pytestmark = pytest.mark.outside("browser")
WIDE = pytest.mark.parametrize("guest", [1280], indirect=True)  # the same on a phone


def fits(page):
    """Nothing sticks out to the right: a phone shows all of it."""
    return page.evaluate("() => document.documentElement.scrollWidth <= window.innerWidth")


def command(*words):
    with pytest.raises(SystemExit) as stopped:
        main(list(words))
    return stopped.value.code or 0


@pytest.fixture
def context(studio):
    """A browser that was not let in."""
    made = studio.browser.new_context()
    yield made
    made.close()


def entered(page):
    page.wait_for_function("() => Number(document.body.dataset.painted) >= 6", timeout=30_000)


def test_the_file_lets_in_and_leaves_no_key_in_the_address(studio, context, tmp_path, monkeypatch):
    """Nor a cookie, which a browser would send to every other server on this machine. Reloading and a second page go on."""
    opened, page = [], context.new_page()
    monkeypatch.setattr("webbrowser.open", opened.append)
    open_doorway(studio.keys.address, tmp_path)
    page.goto(opened[0])
    page.wait_for_url(f"{studio.address}/choose*")
    entered(page)
    assert studio.keys.secret not in page.url
    page.go_back()
    assert studio.keys.secret not in page.url
    page.go_forward()
    page.reload()
    entered(page)
    second = context.new_page()
    second.goto(f"{studio.address}/collude")
    second.wait_for_selector("#cascade td")
    assert context.cookies() == []


def test_without_the_key_a_page_says_how_to_get_it_and_takes_it(studio, context):
    """A bookmark; a key that is none, which does not displace the right one; and the address pasted over the page."""
    page = context.new_page()
    for address in ("choose", "choose#key=x", "release#key=%0d%0a", "choose#room"):
        page.goto(f"{studio.address}/{address}")
        page.wait_for_selector("#outside")
        assert "discreet studio printed in the terminal" in page.inner_text("#outside")
        assert not page.locator("form").first.is_visible()
    page.goto(f"{studio.address}/choose")
    page.wait_for_selector("#outside")
    page.evaluate("key => { location.hash = `key=${key}` }", studio.keys.secret)
    entered(page)
    page.goto(f"{studio.address}/collude#key={'x' * 43}")
    page.wait_for_selector("#cascade td")
    assert page.locator("#outside").count() == 0


def test_another_server_of_this_machine_is_told_nothing(studio, context):
    """It sees what a browser sends there from the studio's own page, and its page asks the studio in vain."""
    heard = []

    class Other(BaseHTTPRequestHandler):
        def do_GET(self):
            heard.append(str(self.headers) + self.path)
            self.send_response(200)
            self.send_header("content-type", "text/html")
            self.end_headers()

        def log_message(self, *given):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Other) as other:
        threading.Thread(target=other.serve_forever, daemon=True).start()
        page = context.new_page()
        page.goto(studio.keys.address)
        entered(page)
        page.evaluate("address => { location.href = address }", f"http://127.0.0.1:{other.server_port}/")
        page.wait_for_url(f"http://127.0.0.1:{other.server_port}/")
        assert heard
        told = (
            studio.keys.secret.lower(),
            "cookie",
            f"127.0.0.1:{studio.keys.port}",
        )  # its own address may be told, as Referer
        assert not any(word in text.lower() for text in heard for word in told)
        assert page.evaluate("() => localStorage.length + document.cookie.length") == 0
        asked = """([address, header]) => Promise.all([{}, { [header]: "x" }].map((headers) =>
            fetch(address, { headers, credentials: "include" }).then(() => "answered", () => "refused")))"""
        assert page.evaluate(asked, [f"{studio.address}/api/enter", HEADER]) == ["refused"] * 2
        context.add_cookies([{"name": "of", "value": "the-studio", "url": studio.address}])
        page.reload()
        assert "of=the-studio" in heard[-1]  # which is why it has none
        other.shutdown()


def test_choose(guest, tmp_path, capsys):
    page = guest.go("choose?n=6&alpha=1%2F2&loss=l1&require=WH")
    guest.painted(6)
    assert fits(page)
    faces = page.locator("#faces article")
    assert faces.count() == 6
    assert "piles up" in page.locator("#face-geometric").inner_text()  # why GM looks as it does
    assert "spread over" in page.locator("#face-explicit_fair").inner_text()  # and what EM does about it
    assert "WH" in page.locator("#face-optimum").inner_text()
    with page.expect_download() as loading:
        page.locator("#face-optimum button", has_text="Download").click()
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
    before = page.url
    page.locator("#sliders [name=n]").focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_function("() => location.search.includes('n=7')")
    assert page.url != before
    page.fill("#sliders [name=alpha]", "7/2")
    page.wait_for_function("() => !document.querySelector('#problem').hidden")
    assert "alpha" in page.inner_text("#problem")
    guest.errors.clear()  # the browser itself writes down that a request was refused


def test_a_newcomer_sees_why_the_geometric_mechanism_piles_up_and_what_the_fair_one_does(guest):
    """Beside the sentences: how often the ends are reported, computed here from the library's channel."""
    page = guest.go("choose?n=8&alpha=9%2F10")
    guest.painted(6)
    for name, make in (("geometric", dt.geometric), ("explicit_fair", dt.explicit_fair)):
        often = make(8, alpha="9/10").matrix.mean(axis=0)
        told = page.locator(f"#face-{name} dd").first.inner_text()
        assert told == f"reported {float(f'{100 * (often[0] + often[-1]):.2g}'):g} %, true 22 %"
    for words in ("truths no rarer", "every truth told", "alike from both ends", "likeliest truth", "likeliest report"):
        assert words in page.locator("#properties").inner_text()


@WIDE
def test_nothing_stays_beside_settings_that_it_is_not_of(guest):
    """The explained square and the optimum go when the settings change; where no picture can be made, the old ones are marked."""
    page = guest.go("choose?n=4&alpha=1%2F2")
    guest.painted(6)
    page.click("#square button")
    page.wait_for_function("() => document.querySelector('#told-text').textContent.includes('When the truth is')")
    page.route(
        "**/api/choose/optimum", lambda route: route.abort() if "3/4" in route.request.post_data else route.continue_()
    )
    page.fill("#sliders [name=alpha]", "3/4")
    page.wait_for_function("() => document.querySelector('#level-told').textContent.includes('3/4')")
    page.wait_for_function("() => document.querySelector('#face-optimum').innerText.includes('There is none to show')")
    assert "When the truth is" not in page.inner_text("#told")
    assert not page.is_visible("#face-optimum canvas")
    assert page.locator("#face-optimum button:visible").count() == 0
    page.fill("#sliders [name=alpha]", "7/2")
    page.wait_for_selector("#stale:visible")
    assert "they still show n = 4 and alpha 3/4" in page.inner_text("#stale")
    page.fill("#sliders [name=alpha]", "1/2")
    page.wait_for_selector("#face-optimum canvas:visible")
    assert not page.is_visible("#stale")
    guest.errors.clear()  # the browser itself writes down that a request was refused


@WIDE
def test_all_pictures_have_one_scale_of_colours(guest):
    """At n = 8 and alpha 9/10 the optimum has the largest probability of all; it was drawn on a scale of its own."""
    page = guest.go("choose?n=8&alpha=9%2F10")
    guest.painted(6)
    best = dt.design(8, alpha="9/10", loss="l1").mechanism.matrix.max()
    assert best > dt.geometric(8, alpha="9/10").matrix.max()
    page.wait_for_function("top => document.querySelector('#scale-told').textContent.includes(top)", arg=f"{best:.3g}")
    tops = page.evaluate("() => [...document.querySelectorAll('#faces .chart')].map((c) => c.dataset.top)")
    assert len(tops) == 6
    assert len(set(tops)) == 1
    assert float(tops[0]) == pytest.approx(best, rel=1e-5)


@WIDE
def test_copying_is_confirmed_and_a_failed_copy_leaves_the_text_to_be_taken(guest):
    page = guest.go("choose?n=3&alpha=1%2F2")
    guest.painted(6)
    button = page.locator("#face-geometric button", has_text="Python")
    button.focus()
    page.keyboard.press("Enter")
    page.wait_for_function("() => document.querySelector('#face-geometric pre').textContent.includes('dt.geometric(3')")
    page.wait_for_function("() => /Copied|See below/.test(document.querySelector('#face-geometric').innerText)")


@WIDE
def test_every_control_is_reached_with_the_tab_key_and_shows_it(guest):
    page = guest.go("choose?n=3&alpha=1%2F2")
    guest.painted(6)
    reached = set()
    for _ in range(60):
        page.keyboard.press("Tab")
        name, outline = page.evaluate("""() => { const e = document.activeElement;
            return [e === document.body ? "" : e.name || e.textContent.trim(), getComputedStyle(e).outlineStyle] }""")
        assert outline != "none" or not name
        reached.add(name)
    assert {
        "n",
        "eps",
        "alpha",
        "loss",
        "prior",
        "require",
        "truth",
        "report",
        "Explain",
        "Download",
        "Command",
    } <= reached


@WIDE
def test_a_long_design_shows_how_far_it_is_and_is_called_off(guest):
    """The slider ends at 50; here it goes on."""
    page = guest.go("choose?n=3&alpha=1%2F2")
    guest.painted(6)
    page.evaluate("""() => { const f = document.querySelector("#sliders"); f.n.max = 128; f.n.value = 128; f.loss.value = "l2";
        f.querySelector("[value=WH]").checked = f.querySelector("[value=CM]").checked = true;
        f.n.dispatchEvent(new Event("input", { bubbles: true })) }""")
    page.locator("#face-optimum button", has_text="Call it off").click(timeout=20_000)
    page.wait_for_function(
        "() => document.querySelector('#problem').textContent.includes('called off')", timeout=20_000
    )
    guest.errors.clear()  # the browser itself writes down that a request was refused


def test_a_square_that_is_clicked_is_explained(guest):
    page = guest.go("choose?n=4&alpha=1%2F2")
    guest.painted(6)
    page.locator("#face-geometric canvas").click(position={"x": 80, "y": 60})
    page.wait_for_function("() => document.querySelector('#told-text').textContent.includes('When the truth is')")


@WIDE
def test_the_square_that_was_asked_for_last_is_explained(guest):
    """Whichever answer comes first; the sentence says of which mechanism it is."""
    page = guest.go("choose")
    guest.painted(6)
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


@WIDE
def test_nothing_stays_in_collude_beside_settings_that_it_is_not_of(guest):
    page = guest.go("collude")
    guest.painted()
    page.fill("[name=alphas]", "1/2, 3")
    page.wait_for_selector("#problem:visible")
    assert page.is_hidden("#cascade table")
    page.fill("[name=alphas]", "1/2, 3/4")
    page.wait_for_selector("#cascade table")
    assert page.is_hidden("#problem")
    guest.errors.clear()  # the browser notes the refusal


@WIDE
def test_what_is_called_off_is_not_said_not_to_be(guest):
    page = guest.go("choose?n=8")
    guest.painted(6)
    told = "This was called off."
    page.route("**/api/choose/optimum", lambda route: route.fulfill(status=422, json={"detail": told}))
    page.fill("[name=alpha]", "1/2")
    page.wait_for_selector("#problem:visible")
    assert told in page.inner_text("#face-optimum")
    guest.errors.clear()


def test_a_prior_is_drawn_by_hand(guest):
    page = guest.go("choose?n=3&alpha=1%2F2&prior=drawn&drawn=10,20,30,40")
    guest.painted(6)
    page.locator("#bars input").nth(0).focus()
    page.keyboard.press("End")
    page.wait_for_function("() => location.search.includes('drawn=100')")


def test_collude(guest):
    page = guest.go("collude?n=10&alpha=1%2F2&most=5&mechanisms=geometric&alphas=3%2F10,1%2F2")
    guest.painted(1)
    assert fits(page)
    told = dt.sharing.collude(dt.geometric(10, alpha="1/2"), 5)
    assert f"{told.expected_loss:.3g}" in page.inner_text("#shared-told")
    assert page.locator("#cascade tbody tr").count() == 4
