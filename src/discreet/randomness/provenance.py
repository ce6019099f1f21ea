"""Which mechanism drew some reports: Arrow tables, and files of Parquet and Arrow, say it of themselves by its digest.

Names in another order, or another list of them, make another mechanism whose reports look the same. CSV has no place for it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ..errors import DiscreetError

METADATA = b"discreet.perturb"  # the key under which a result's Arrow schema holds its summary, as JSON


def drawn_by(data: Any, column: str | None = None) -> str | None:
    """The digest of the mechanism that drew a table's reports (those of `column`, if named), or a tally's; None if unsaid."""
    said = getattr(data, "drawn_by", None)
    if isinstance(said, str):
        return said
    lazy = hasattr(data, "collect_schema")  # a frame of Polars, which has no metadata and would work out its schema
    metadata = None if lazy else getattr(getattr(data, "schema", data), "metadata", None)
    written = metadata.get(METADATA) if isinstance(metadata, Mapping) else None
    try:
        facts = json.loads(written) if isinstance(written, bytes) else None
    except (ValueError, RecursionError):
        facts = None
    if not isinstance(facts, dict) or (column is not None and facts.get("column") != column):
        return None
    digest = facts.get("mechanism")
    return digest if isinstance(digest, str) else None


def check_drawn_by(said: str | None, digest: str, error: type[DiscreetError], where: str = "") -> None:
    """Refuse reports that say that another mechanism drew them."""
    if said is not None and said != digest:
        raise error(
            f"The reports{where} say that another mechanism drew them (digest {said[:19]}...) than this one "
            f"({digest[:19]}...); use the mechanism that drew them: the same names in another order are another one."
        )


def one_digest(said: str | None, more: str | None, error: type[DiscreetError]) -> str | None:
    """The digest that two collections share, as far as they say it; refused where they differ."""
    if said is not None and more is not None and said != more:
        raise error(
            f"These reports were drawn by two mechanisms (digests {said[:19]}... and {more[:19]}...), so they do not add up; "
            "count them apart."
        )
    return said if more is None else more


def says(schema: Any, facts: Mapping[str, Any]) -> Any:
    """An Arrow schema that holds these facts of a perturbation."""
    return schema.with_metadata({**(schema.metadata or {}), METADATA: json.dumps(facts).encode()})
