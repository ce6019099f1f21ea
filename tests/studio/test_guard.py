"""Who may talk to the studio: every way in but the right one is refused, with the right status, and the server stays up."""

from __future__ import annotations

import pytest
from fastapi.testclient import TestClient

from discreet.studio import guard
from discreet.studio.guard import Keys
from discreet.studio.release import Place
from discreet.studio.server import make_app

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
    """A browser that has the cookie."""
    stranger.headers["cookie"] = f"{keys.name}={keys.cookie}"
    return stranger


def test_the_first_address_is_exchanged_once_for_a_cookie_that_no_script_reads(tmp_path):
    keys = Keys(PORT)
    stranger = TestClient(make_app(keys, Place(tmp_path, tmp_path)), base_url=HERE, follow_redirects=False)
    answer = stranger.get(f"/enter?token={keys.token}")
    told = answer.headers["set-cookie"]
    assert answer.headers["location"] == "/choose"
    assert "HttpOnly" in told
    assert "samesite=strict" in told.lower()
    assert keys.token not in told
    assert stranger.get("/choose").status_code == 200
    stranger.cookies.clear()
    assert stranger.get(f"/enter?token={keys.token}").status_code == 403
    assert stranger.get("/choose").status_code == 401


@pytest.mark.parametrize(
    "path", ["/", "/choose", "/static/studio.js", "/vega.js", "/openapi.json", "/api/charts/heat-map", "/nowhere"]
)
def test_nothing_is_told_without_the_cookie(stranger, keys, path):
    assert stranger.get(path).status_code == 401
    for wrong in ("x" * len(keys.cookie), keys.token, "", '"'):
        assert stranger.get(path, headers={"cookie": f"{keys.name}={wrong}"}).status_code == 401


def test_whoever_types_the_address_reads_a_sentence(stranger):
    answer = stranger.get("/choose", headers={"accept": "text/html,*/*"})
    assert answer.status_code == 401
    assert answer.headers["content-type"].startswith("text/html")
    assert "Open the address that discreet studio printed" in answer.text
    assert "default-src 'none'" in answer.headers["content-security-policy"]


@pytest.mark.parametrize("token", ["", "x", "%ED%A0%80", "é", "a" * 10_000])
def test_no_other_token_opens(stranger, token):
    answer = stranger.get(f"/enter?token={token}")
    assert answer.status_code == 403
    assert "set-cookie" not in answer.headers


@pytest.mark.parametrize(
    "host", ["evil.example", f"evil.example:{PORT}", "127.0.0.1", f"127.0.0.1:{PORT + 1}", f"127.0.0.1:{PORT}.evil", ""]
)
def test_a_foreign_host_is_refused_even_with_the_cookie(guest, host):
    """A name that leads to 127.0.0.1 makes a foreign page same-origin with the studio: its Host gives it away."""
    assert guest.get("/choose", headers={"host": host}).status_code == 421


@pytest.mark.parametrize(
    "origin",
    ["http://evil.example", "null", f"https://127.0.0.1:{PORT}", "http://127.0.0.1", f"http://127.0.0.1:{PORT}.evil"],
)
def test_a_foreign_origin_is_refused_even_with_the_cookie(guest, origin):
    assert guest.post("/api/choose/faces", json=GOOD, headers={"origin": origin}).status_code == 403


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_other_sites_are_refused_where_the_browser_tells_of_them(guest, site):
    assert guest.get("/choose", headers={"sec-fetch-site": site}).status_code == 403


def test_its_own_pages_are_answered(guest):
    own = {"origin": HERE, "sec-fetch-site": "same-origin"}
    assert guest.post("/api/choose/faces", json=GOOD, headers=own).status_code == 200


@pytest.mark.parametrize("path", ["/choose", "/static/studio.css", "/nowhere", "/enter?token=x"])
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
        while sent <= guard.MOST_BODY:
            sent += 2**16
            yield b" " * 2**16

    told = {"content-type": "application/json"}
    assert guest.post("/api/choose/faces", content=b" " * (guard.MOST_BODY + 1), headers=told).status_code == 413
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
    assert set(answer.json()) == {"detail"}
    assert answer.json()["detail"].strip()
    assert guest.get("/choose").status_code == 200


def test_what_nobody_foresaw_is_neither_told_nor_logged(guest, monkeypatch, caplog):
    def fails(*given):
        raise ValueError("value SECRET of row 7")

    monkeypatch.setattr("discreet.studio.choose._spelt", fails)
    answer = guest.post("/api/choose/faces", json=GOOD)
    assert answer.status_code == 500
    assert answer.headers["cache-control"] == "no-store"
    assert "SECRET" not in answer.text + caplog.text
    assert "ValueError in fails" in caplog.text  # enough to find the place


def test_two_studios_in_one_browser_keep_their_own_cookies():
    """A browser sends a cookie to every port of a machine."""
    assert Keys(PORT).name != Keys(PORT + 1).name


def test_names_of_jobs_are_not_guessed(guest):
    for name in ("0", "AAAAAAAAAAAAAAAA", "..", "%2e%2e%2fx"):
        assert guest.get(f"/api/jobs/{name}").status_code in (401, 404)
        assert guest.post(f"/api/jobs/{name}/off").status_code in (404, 405)
