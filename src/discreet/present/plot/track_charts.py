"""Curves from the rows of a table: a line for each name, a band where its rows have ends."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from ...errors import DiscreetError
from .charts import Row, curves
from .looks import Chart


def tracks(rows: Iterable[Row], title: str, subtitle: str = "", **more: Any) -> Chart:
    """Rows have "name", "at" and "value", perhaps "low" and "high"; those with a number that is not finite are left out."""
    kept = [row for row in rows if all(math.isfinite(value) for key, value in row.items() if key != "name")]
    if not kept:
        raise DiscreetError("Nothing here is finite, so there is no picture; ask for other numbers.")
    names = list(dict.fromkeys(row["name"] for row in kept))
    own = {name: [row for row in kept if row["name"] == name] for name in names}
    series = {name: ([row["at"] for row in found], [row["value"] for row in found]) for name, found in own.items()}
    held = {name: [row for row in found if "low" in row] for name, found in own.items()}
    bands = {
        name: ([row["at"] for row in found], [row["low"] for row in found], [row["high"] for row in found])
        for name, found in held.items()
        if found
    }
    return curves(series, title, subtitle, bands=bands, **more)
