"""The rooms of the studio end to end in Chromium: what a person sees, presses and takes away."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from discreet.studio.access import HEADER
from discreet.studio.server import open_doorway

pytestmark = pytest.mark.outside("browser")


@pytest.fixture
def context(studio):
    """A browser that was not let in."""
    made = studio.browser.new_context()
    yield made
    made.close()


def entered(page):
    page.wait_for_function("() => Number(document.body?.dataset.painted) >= 6", timeout=30_000)


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
