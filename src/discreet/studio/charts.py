"""The charts of the studio as specifications: made once, since making one takes longer than a slider may."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from fastapi import APIRouter, HTTPException

from ..present import plot

_CHARTS: Mapping[str, Callable[[], Any]] = {
    "heat-map": plot.live_heat_map,
    "shared-loss": lambda: plot.live_curves("users who share", "mean distance from the truth", width=330, height=200),
    "shared-level": lambda: plot.live_curves("users who share", "epsilon of all their reports", width=330, height=200),
    "law": lambda: plot.live_law(width=760, height=200),
    "fit": lambda: plot.live_curves(
        "steps", "log-likelihood of a report, on average", width=330, height=180, log_x=True
    ),
}

router = APIRouter(prefix="/api/charts", tags=["charts"])


@lru_cache
def specification(name: str) -> dict[str, Any]:
    """A chart without its data, as Vega-Lite has it. The page behind gives the colour of its ground."""
    spec: dict[str, Any] = _CHARTS[name]().to_dict()
    spec["config"] |= {"background": "transparent", "padding": 3}
    return spec


@router.get("/{name}")
def chart(name: str) -> dict[str, Any]:
    """The specification of a chart by its name."""
    if name not in _CHARTS:
        raise HTTPException(404, "There is no such chart.")
    return specification(name)
