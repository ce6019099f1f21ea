"""Who may talk to the studio: every way in but the right one is refused, with the right status, and the server stays up."""

from __future__ import annotations

import re

import pytest
from fastapi.testclient import TestClient

from discreet.studio import access
from discreet.studio.access import HEADER, Keys
from discreet.studio.release_room import Place
from discreet.studio.server import make_app, open_doorway

PORT = 7531
HERE = f"http://127.0.0.1:{PORT}"
GOOD = {"n": 4, "alpha": "1/2"}


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    keys = Keys(PORT)
    return make_app(keys, Place(tmp_path_factory.mktemp("uploads"), tmp_path_factory.mktemp("ledgers"))), keys


@pytest.fixture
def keys(house):
    return house[1]


@pytest.fixture
def stranger(house):
    return TestClient(house[0], base_url=HERE, follow_redirects=False)


@pytest.fixture
def guest(stranger, keys):
    """A page that has the key."""
    stranger.headers[HEADER] = keys.secret
    return stranger


OPEN = {"/", "/choose", "/release", "/recover", "/collude", "/static/{name}", "/vega.js"}


def routes(holder):
    """Every path with each of its methods, those of the rooms too."""
    found = set()
    for route in holder.routes:
        inner = getattr(route, "original_router", None)  # how newer versions of FastAPI keep what was included
        found |= routes(inner) if inner is not None else {(route.path, method) for method in route.methods}
    return found


def test_every_route_but_files_that_are_the_same_for_all_needs_the_key(house, stranger):
    app, keys = house
    found = routes(app)
    closed = {"/api/choose/faces", "/api/release/ask", "/api/jobs/{name}/off", "/api/upload/table", "/openapi.json"}
    assert closed | OPEN <= {path for path, _ in found}
    for path, method in sorted(found):
        where = re.sub(r"\{(\w+)\}", "studio.css", path)
        if path in OPEN and method in ("GET", "HEAD"):
            assert stranger.request(method, where).status_code in (200, 303)
            continue
        wrong = [{HEADER: key} for key in ("", keys.secret[:-1], keys.secret + "x", keys.secret.swapcase(), b"\xff")]
        wrong += [
            {},
            {"cookie": f"{HEADER}={keys.secret}"},
            {"authorization": keys.secret},
            [(HEADER, keys.secret)] * 2,
        ]
        for headers in wrong:
            assert stranger.request(method, where, headers=headers).status_code == 401, (path, headers)
        assert stranger.request(method, f"{where}?key={keys.secret}").status_code == 401
        assert stranger.request(method, where, headers={"accept": "text/html"}).status_code in (401, 404)
        assert stranger.request(method, where, headers={HEADER: keys.secret}).status_code != 401


def test_what_is_open_tells_nothing_of_this_studio(house, stranger, tmp_path):
    """The same bytes from a studio with another key and other folders, and no cookie anywhere: another server of this machine
    would be sent it."""
    other = TestClient(make_app(Keys(PORT), Place(tmp_path, tmp_path)), base_url=HERE, follow_redirects=False)
    for path in (
        "/",
        "/choose",
        "/release",
        "/recover",
        "/collude",
        "/static/studio.js",
        "/static/choose.js",
        "/nowhere",
    ):
        assert stranger.get(path).content == other.get(path).content
    for client, path in ((stranger, "/choose"), (stranger, "/api/enter")):
        for key in ("", house[1].secret):
            assert "set-cookie" not in client.get(path, headers={HEADER: key}).headers


@pytest.mark.parametrize(
    ("path", "status"), [("/nowhere", 404), ("/enter?token=x", 404), ("/static/nowhere", 404), ("/api/nowhere", 401)]
)
@pytest.mark.parametrize("known", [False, True])
def test_whoever_types_an_address_reads_a_page(stranger, keys, path, status, known):
    if known:
        stranger.headers[HEADER] = keys.secret
    answer = stranger.get(path, headers={"accept": "text/html,*/*"})
    assert answer.status_code == (404 if known else status)
    assert answer.headers["content-type"].startswith("text/html")
    assert "studio.css" in answer.text
    assert "{" not in answer.text
    assert "default-src 'none'" in answer.headers["content-security-policy"]


def test_the_first_address_carries_the_key_where_no_browser_sends_it(keys):
    assert keys.address == f"{HERE}/choose#key={keys.secret}"
    assert keys.secret not in repr(keys)
    assert Keys(PORT).secret != keys.secret
    assert len(keys.secret) >= 43


def test_the_browser_is_given_a_file_for_this_user_alone_and_no_key(tmp_path, monkeypatch):
    """What stands on a command line is read by every user of the machine."""
    given, keys = [], Keys(PORT)
    monkeypatch.setattr("webbrowser.open", given.append)
    monkeypatch.setattr("os.umask", lambda mask: mask)
    open_doorway(keys.address, tmp_path)
    (path,) = tmp_path.iterdir()
    assert given == [path.as_uri()]
    assert keys.secret not in given[0]
    assert path.stat().st_mode & 0o777 == 0o600
    assert f'content="0;url={keys.address}"' in path.read_text()
    client = TestClient(make_app(keys, Place(tmp_path, tmp_path)), base_url=HERE)
    assert client.get("/api/enter").status_code == 401
    assert path.exists()
    assert client.get("/api/enter", headers={HEADER: keys.secret}).status_code == 204
    assert not path.exists()  # it was used


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        f"evil.example:{PORT}",
        "127.0.0.1",
        *(f"127.0.0.1:{end}" for end in (PORT + 1, f"{PORT}.evil")),
        f"localhost:{PORT}",
        "",
    ],
)
def test_a_foreign_host_is_refused_even_with_the_key(guest, host):
    """A name that leads to 127.0.0.1 makes a foreign page same-origin with the studio: its Host gives it away."""
    assert guest.get("/choose", headers={"host": host}).status_code == 421


@pytest.mark.parametrize(
    "origin",
    ["http://evil.example", "null", f"https://127.0.0.1:{PORT}", "http://127.0.0.1", f"http://127.0.0.1:{PORT}.evil"],
)
def test_a_foreign_origin_is_refused_even_with_the_key(guest, origin):
    assert guest.post("/api/choose/faces", json=GOOD, headers={"origin": origin}).status_code == 403


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_other_sites_are_refused_where_the_browser_tells_of_them(guest, site):
    """But a link from elsewhere, such as the file that opens the studio, leads to the page: it tells nothing by itself."""
    for path in ("/choose", "/static/studio.js", "/vega.js", "/api/enter"):
        assert guest.get(path, headers={"sec-fetch-site": site}).status_code == 403
    followed = {"sec-fetch-site": site, "sec-fetch-mode": "navigate"}
    assert guest.get("/choose", headers=followed).status_code == 200
    assert guest.get("/api/enter", headers=followed).status_code == 403


def test_its_own_pages_are_answered(guest):
    own = {"origin": HERE, "sec-fetch-site": "same-origin"}
    assert guest.post("/api/choose/faces", json=GOOD, headers=own).status_code == 200


@pytest.mark.parametrize("path", ["/choose", "/static/studio.css", "/nowhere", "/api/enter"])
def test_every_answer_carries_the_policy(guest, path):
    headers = guest.get(path).headers
    policy = headers["content-security-policy"]
    assert "script-src 'self'" in policy
    assert "style-src 'self'" in policy
    assert "unsafe" not in policy
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert headers["cache-control"] == "no-store"
    assert headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize(
    "path",
    [
        "/static/../server.py",
        "/static/..%2fserver.py",
        "/static/%2e%2e%2fguard.py",
        "/static//etc/passwd",
        "/static/choose.html",
    ],
)
def test_no_path_leads_outside(guest, path):
    assert guest.get(path).status_code == 404


def test_a_body_beyond_its_limit_is_cut_off_whether_it_tells_its_length_or_not(guest):
    def endless():
        sent = 0
        while sent <= access.MOST_BODY:
            sent += 2**16
            yield b" " * 2**16

    told = {"content-type": "application/json"}
    assert guest.post("/api/choose/faces", content=b" " * (access.MOST_BODY + 1), headers=told).status_code == 413
    assert guest.post("/api/choose/faces", content=endless(), headers=told).status_code == 413
    assert guest.post("/api/choose/faces", json=GOOD).status_code == 200


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"{", 400),
        (b"[" * 100_000, 400),
        (b"\xff\xfe", 400),
        (b"[]", 422),
        (b"{}", 422),
        (b'{"n": 1e999, "alpha": "1/2"}', 422),
        (b'{"n": 129, "alpha": "1/2"}', 422),
        (b'{"n": 4, "alpha": "2"}', 422),
        (b'{"n": 4, "alpha": "1/2", "more": 1}', 422),
        (b'{"n": 4, "alpha": "1/2", "loss": "nope"}', 422),
        (b'{"n": 4, "alpha": "1/2", "prior": [0, 0, 0, 0, 0]}', 422),
        (b'{"n": 4, "alpha": "1/2", "prior": [1]}', 422),
    ],
)
def test_a_body_that_makes_no_sense_gets_a_sentence(guest, body, status):
    answer = guest.post("/api/choose/faces", content=body, headers={"content-type": "application/json"})
    assert answer.status_code == status
    assert {"detail"} <= set(answer.json()) <= {"detail", "field"}
    assert answer.json()["detail"].strip()
    assert guest.get("/choose").status_code == 200


def test_what_nobody_foresaw_is_neither_told_nor_logged(guest, monkeypatch, caplog):
    def fails(*given):
        raise ValueError("value SECRET of row 7")

    monkeypatch.setattr("discreet.studio.choose_room._spelt", fails)
    answer = guest.post("/api/choose/faces", json=GOOD)
    assert answer.status_code == 500
    assert answer.headers["cache-control"] == "no-store"
    assert "SECRET" not in answer.text + caplog.text
    assert "ValueError in fails" in caplog.text  # enough to find the place


def test_names_of_jobs_are_not_guessed(guest):
    for name in ("0", "AAAAAAAAAAAAAAAA", "..", "%2e%2e%2fx"):
        assert guest.get(f"/api/jobs/{name}").status_code in (401, 404)
        assert guest.post(f"/api/jobs/{name}/off").status_code in (200, 404, 405)  # whatever it is, it is off
