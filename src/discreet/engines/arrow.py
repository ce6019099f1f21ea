"""Arrow files: record batches on disk, as Arrow and Feather (version 2) have them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..errors import TableInputError
from ..exact.arithmetic import show
from .sources import Source, distinct


class ArrowFile(Source):
    """Record batches in a file (Feather, version 2), one at a time."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        try:
            with self._opened() as file:
                self.whole, self.total = file.schema, file.num_record_batches
        except Exception:  # whatever the library says: it may quote what it found
            raise TableInputError(f"{show(path.name)} is no readable Arrow file.") from None
        self.names = distinct(self.whole.names)

    def _opened(self) -> Any:
        import pyarrow as pa

        return pa.ipc.open_file(pa.memory_map(str(self.path)))

    def fields(self) -> list[tuple[str, Any]]:
        return [(name, self.whole.field(name).type) for name in self.used]

    def batches(self) -> Iterator[Any]:
        with self._opened() as file:
            for k in range(file.num_record_batches):
                yield file.get_batch(k).select(self.used)
                self.done += 1
