"""Folders that Spark fills: on a disk that this process sees as well we look after them ourselves, else Spark does.

A checkpoint holds true values. So it is for its owner alone, and goes away with the work: when it succeeds, when it fails, when
Spark is killed (then this process deletes it, where it sees it) and when this process is (then Spark does, as it ends).
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
import uuid
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

from ..errors import PrivacyWarning, TableInputError
from ..exact.arithmetic import show


class Folder:
    """A path on whatever file system: a disk that this process sees (`here`), or one that Spark reaches by Hadoop."""

    def __init__(self, session: Any, path: str) -> None:
        there = session._jvm.org.apache.hadoop.fs.Path(path)
        self._system = there.getFileSystem(session._jsc.hadoopConfiguration())
        self._session, self._there = session, self._system.makeQualified(there)
        self.here = Path(self._there.toUri().getPath()) if self._system.getScheme() == "file" else None
        self.path = str(self._there.toString())

    def beside(self, suffix: str) -> Folder:
        """The same name with more behind it."""
        return Folder(self._session, self.path + suffix)

    def holds(self, name: str = "") -> bool:
        """Is it there, or what is called so in it?"""
        if self.here is not None:
            return os.path.lexists(self.here / name)
        return bool(self._system.exists(self._there.suffix(f"/{name}") if name else self._there))

    def rename(self, other: Folder) -> bool:
        """Give it another name, if that is free."""
        if self.here is None or other.here is None:
            return bool(self._system.rename(self._there, other._there))
        if other.holds():
            return False
        os.rename(self.here, other.here)
        return True

    def make_private(self) -> None:
        """Make it, for its owner alone."""
        if self.here is not None:
            self.here.parent.mkdir(parents=True, exist_ok=True)
            self.here.mkdir(mode=0o700)
        else:
            owner = self._session._jvm.org.apache.hadoop.fs.permission.FsPermission("700")
            self._system.mkdirs(self._there, owner)
            self._system.setPermission(self._there, owner)  # whatever the mask took or left
        self._system.deleteOnExit(self._there)

    def close_files(self) -> None:
        """Nobody but their owner may read the files in it, should it be moved or opened."""
        if self.here is not None:
            for path in self.here.rglob("*"):
                path.chmod(0o700 if path.is_dir() else 0o600)

    def remove(self) -> None:
        """Delete it with all that is in it, if it is there."""
        if self.here is None:
            self._system.delete(self._there, True)
        elif self.here.is_symlink() or self.here.is_file():
            self.here.unlink()
        elif self.here.exists():
            shutil.rmtree(self.here)


@contextmanager
def checkpoint_folder(session: Any, checkpoint: str | None, is_local: bool) -> Iterator[Folder]:
    """A new folder for true values, in `checkpoint` or in this machine's temporary folder; it ends with the block."""
    if checkpoint is None and not is_local:
        raise TableInputError(
            "This table was computed, and its rows are numbered from files: name a folder that all workers "
            "share, checkpoint=..., where its used columns are written until the work is done."
        )
    parent = f"file:{tempfile.gettempdir()}" if checkpoint is None else checkpoint.rstrip("/")
    folder = Folder(session, f"{parent}/discreet-{uuid.uuid4().hex}")
    forget = partial(_forget, folder)
    atexit.register(forget)
    try:
        folder.make_private()
        yield folder
        atexit.unregister(forget)  # after a failure it stays: a task that still runs could make the folder anew
    finally:
        if forget():
            warnings.warn(
                f"True values may be left in {show(folder.path)}: Spark went away before it deleted them; delete that "
                "folder.",
                PrivacyWarning,
                stacklevel=2,
            )


def _forget(folder: Folder) -> bool:
    """Delete a folder; whether it may still be there."""
    with suppress(Exception):  # a cluster that is gone, or a disk that refuses
        folder.remove()
        return False
    return True
