"""Formats: every one has version 1, and any other version is refused."""

from __future__ import annotations

import pytest

from discreet import verify
from discreet.errors import FileError
from discreet.formats import VERSION, check_version


def test_every_format_has_version_1():
    assert VERSION == verify.VERSION == 1
    check_version("note", 1)


@pytest.mark.parametrize("version", [0, 2, -1, True, "1", 1.0, None])
def test_any_other_version_is_refused(version):
    told = f"This note has version {version}, and this version of discreet reads version 1. Use .*, or write it anew."
    with pytest.raises(FileError, match=told) as refused:
        check_version("note", version)
    assert refused.value.kind == "version"
