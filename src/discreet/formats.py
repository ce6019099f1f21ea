"""The version of what discreet writes down: mechanism files, ledgers, stored answers, records of releases.

Each format has version 1, and one reader. Until 0.1.0 a change of a format rewrites version 1; from then on a change is a new
version with one step that turns the old one into it (CONTRIBUTING.md), and those steps belong here.
"""

from __future__ import annotations

from .errors import FileError

VERSION = 1


def check_version(name: str, version: object, *, instead: str = "write it anew") -> None:
    """Refuse what was written in another version; `name` says what it is, `instead` what else can be done."""
    if type(version) is not int or version != VERSION:
        raise FileError(
            f"This {name} has version {str(version)[:20]}, and this version of discreet reads version {VERSION}. "
            f"Use the version of discreet that wrote it, or {instead}.",
            kind="version",
        )
