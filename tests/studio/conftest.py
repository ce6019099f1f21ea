"""A studio with empty folders, for tests that only ask it questions."""

from __future__ import annotations

import pytest
from fastapi.testclient import TestClient

from discreet.studio.access import HEADER, Keys
from discreet.studio.release_room import Place
from discreet.studio.server import make_app

PORT = 7534


@pytest.fixture(scope="module")
def guest(tmp_path_factory):
    """A page that has the key."""
    keys = Keys(PORT)
    place = Place(tmp_path_factory.mktemp("uploads"), tmp_path_factory.mktemp("ledgers"))
    with TestClient(make_app(keys, place), base_url=f"http://127.0.0.1:{PORT}") as client:
        client.headers[HEADER] = keys.secret
        yield client
