"""Files that tasks read in parts, known by their bytes: every block that a task reads is hashed as it is read, and of all other
blocks each part hashes its share.

The digests of a file's blocks are put together by their numbers, whichever task found them and in whatever order. So one file is
known here by what the embedded engine knows it by (`HeldFile.digest`), and what tasks counted is what was hashed, or nothing is.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from ..errors import TableInputError
from ..exact.arithmetic import show
from .file_parts import FilePart, PartResult, PlannedFile, found_in
from .held_file import HeldFile, blocks_in, check_file, digest_of_blocks
from .sources import open_parquet

_SIZE = hashlib.sha256().digest_size


class BlockRun(NamedTuple):
    """Blocks of a file that follow each other: the number of the first, and the SHA-256 of each, one after the other."""

    path: str
    first: int
    digests: bytes


@dataclass(frozen=True, kw_only=True)
class PartBlocks(PartResult):
    """What a task hashed."""

    blocks: tuple[BlockRun, ...] = ()


def hash_part(part: FilePart) -> PartBlocks:
    """A task that hashes its share of a file, and reads no row."""
    return found_in(part, lambda: PartBlocks(parts=(part,), blocks=blocks_of(part, part.held())), PartBlocks)


def blocks_of(part: FilePart, file: HeldFile) -> tuple[BlockRun, ...]:
    """All blocks that were read of a part's file, and its share of all others."""
    with file.seekable() as raw:
        rows = open_parquet(raw).metadata.num_rows
    first, end = part.share(blocks_in(file.size), rows)
    own = BlockRun(part.path, first, file.hashed(first, end))
    return own, *(BlockRun(part.path, k, one) for k, one in file.digests.items() if not first <= k < end)


def can_be_held(files: Iterable[PlannedFile]) -> bool:
    """Have these files names by which they are tables, as admitted ones have? Spark reads others, too."""
    try:
        for file in files:
            check_file(Path(file.path))
    except TableInputError:
        return False
    return True


def files_digest(files: Sequence[PlannedFile], runs: Iterable[BlockRun]) -> str:
    """What some files are known by together: one by its blocks, several by the digests of each, whatever their names and order.

    Every block must have been hashed, and be the same whoever read it; else the files changed meanwhile.
    """
    found = {file.path: [b""] * blocks_in(file.state[0]) for file in files}
    for file in files:
        if not file.groups:  # no part has a row of it, and so none has read it
            found[file.path] = [HeldFile(Path(file.path)).hashed(0, len(found[file.path]))]
    for path, first, digests in runs:
        known = found[path]
        for place in range(0, len(digests), _SIZE):
            number, digest = first + place // _SIZE, digests[place : place + _SIZE]
            if number >= len(known) or known[number] not in (b"", digest):
                raise _changed(path)
            known[number] = digest
    texts = []
    for path, known in found.items():
        if b"" in known:
            raise _changed(path)
        texts.append(digest_of_blocks(b"".join(known)))
    if len(texts) == 1:
        return texts[0]
    return f"sha256-of-files:{hashlib.sha256(chr(10).join(sorted(texts)).encode()).hexdigest()}"


def _changed(path: str) -> TableInputError:
    return TableInputError(
        f"{show(Path(path).name)} changed while it was read, or workers have different files under that name. Nothing was charged; "
        "ask again when it is complete and the same everywhere."
    )
