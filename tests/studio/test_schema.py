"""The API against its own description: schemathesis makes requests from it, good ones and bad ones."""

from __future__ import annotations

import pytest
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


@pytest.fixture
def api(tmp_path, request):
    request.node._nodeid = request.node.nodeid  # schemathesis 4 adds each operation to it; pytest 9.2 no longer has it
    app = make_app(_KEYS, Place(tmp_path, tmp_path))
    return schemathesis.openapi.from_asgi("/openapi.json", app, config=_CONFIG, headers=_OWN)


# Read when the test runs, with a subtest for each operation: to make the requests while collecting takes seconds.
schema = schemathesis.pytest.from_fixture("api")


@pytest.mark.long
@schema.parametrize()
@settings(max_examples=examples(25), derandomize=True, suppress_health_check=list(HealthCheck))
def test_every_answer_is_as_described(case):
    case.call_and_validate(headers=_OWN)
