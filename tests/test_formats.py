"""Formats: one way from any older version to today's, and a refusal of all others."""

from __future__ import annotations

import pytest

from discreet.errors import FileError
from discreet.formats import Format

KEPT: Format[dict[str, int]] = Format("note", (lambda d: {**d, "b": d["a"] + 1}, lambda d: {**d, "c": d["b"] * 2}))


def test_every_older_version_becomes_todays():
    assert KEPT.version == 3
    assert KEPT.upgrade({"a": 1}, 1) == {"a": 1, "b": 2, "c": 4}
    assert KEPT.upgrade({"a": 1, "b": 7}, 2) == {"a": 1, "b": 7, "c": 14}  # no step runs twice
    assert KEPT.upgrade({"a": 0}, 3) == {"a": 0}


@pytest.mark.parametrize("version", [0, 4, -1, True, "1", 1.0, None])
def test_any_other_version_is_refused(version):
    with pytest.raises(FileError, match="this discreet reads versions 1 to 3") as refused:
        KEPT.upgrade({"a": 1}, version)
    assert refused.value.kind == "version"
