"""The API against its own description: schemathesis makes requests from it, good ones and bad ones."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.config import SchemathesisConfig

from discreet.studio.access import HEADER, Keys
from discreet.studio.release_room import Place
from discreet.studio.server import make_app
from tests.profiles import examples

PORT = 7533
_KEYS = Keys(PORT)
_OWN = {HEADER: _KEYS.secret, "host": f"127.0.0.1:{PORT}"}

_CONFIG = SchemathesisConfig.from_dict(
    {
        "checks": {"positive_data_acceptance": {"expected-statuses": ["2xx", 404, 422]}},
    }
)  # a level that is none, or a job that is no more, is refused as declared
_FOLDER = TemporaryDirectory()
_PLACE = Place(Path(_FOLDER.name), Path(_FOLDER.name))
schema = schemathesis.openapi.from_asgi("/openapi.json", make_app(_KEYS, _PLACE), config=_CONFIG, headers=_OWN)


@schema.parametrize()
@settings(max_examples=examples(25), derandomize=True, suppress_health_check=list(HealthCheck))
def test_every_answer_is_as_described(case):
    case.call_and_validate(headers=_OWN)
