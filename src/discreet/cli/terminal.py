"""What people see in a terminal: tables, heat maps, and the same rows as CSV."""

from __future__ import annotations

import csv
import io
import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Timer
from time import monotonic
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from ..errors import DiscreetError
from ..measure.privacy import check_privacy
from ..measure.properties import LETTERS, explain, properties
from ..measure.remaps import bayes_risk
from ..measure.utility import bias, expected_loss, loss_per_value, rmse, worst_loss
from ..mechanism import Mechanism
from ..numbers.exact import show_above, show_rational
from ..numbers.grid import Grid

_WIDEST = 40  # values a heat map shows side by side
_MOST_ROWS = 24
_SHADES = " .:-=+*#%@"  # where there is no colour, density says it


def property_letters(m: Mechanism) -> list[str] | None:
    """The properties that hold, in the paper's order; None where the question has no meaning."""
    try:
        held = properties(m)
    except DiscreetError:
        return None
    return [letter for letter in LETTERS if letter in held]


def headline(m: Mechanism) -> str:
    """Family, grids, level, and the level of local privacy beside it."""
    tight = check_privacy(m)
    places = f"{m.inputs}" + ("" if m.inputs == m.outputs else f" -> {m.outputs}")
    lines = [f"{m.recipe.family} on {places}"]
    asked = f" (asked as epsilon {m.level.asked})" if m.level.asked is not None else ""
    level = (
        f"level: alpha {show_rational(m.alpha)}, epsilon <= {show_above(m.epsilon)}{asked}, proved for "
        f"{m.neighbours.words(m.inputs)}; tight: epsilon <= {show_above(tight.epsilon)}"
    )
    lines.append(level if m.alpha else f"level: {tight}")
    if m.inputs.n is not None:
        local = check_privacy(m, metric="discrete")
        lines.append(f"between any two values (local privacy): epsilon <= {show_above(local.epsilon)}")
    if m.recipe.distance:
        lines.append(f"integers within {m.recipe.distance:.2g} of the law in total variation; drawn is what was proved")
    letters = property_letters(m)
    if letters is not None:
        lines.append("properties: " + (" ".join(letters) or "none"))
    return "\n".join(lines)


def heat_map(m: Mechanism) -> Text:
    """The matrix as shades: rows are true values, columns reports; brighter (or denser) is likelier."""
    matrix = m.matrix
    shown = Text()
    top = float(matrix.max()) or 1.0
    labels = [str(m.inputs.value(i)) for i in range(len(matrix))]
    width = max(map(len, labels))
    cell = _cell_width(m)
    shown.append(
        " " * (width + 1) + "".join(f"{m.outputs.value(j)!s:>{cell}}" for j in range(matrix.shape[1])) + "\n", "dim"
    )
    for label, row in zip(labels, matrix, strict=True):
        shown.append(f"{label:>{width}} ", style="dim")
        for p in row:
            level = float(p) / top
            shade = _SHADES[min(int(level * len(_SHADES)), len(_SHADES) - 1)]
            colour = _colour(level)  # the shade hides in its own colour, and shows where there is none
            shown.append(shade * cell, style=f"#{colour} on #{colour}")
        shown.append("\n")
    shown.right_crop(1)
    return shown


def _cell_width(m: Mechanism) -> int:
    return max(2, *(len(str(m.outputs.value(j))) + 1 for j in range(m.finite().reports)))


def _map_width(m: Mechanism) -> int:
    labels = max(len(str(m.inputs.value(i))) for i in range(m.finite().rows))
    return labels + 1 + _cell_width(m) * m.finite().reports


def _colour(level: float) -> str:
    """From near black to warm yellow, through violet and orange."""
    stops = np.array([[16, 16, 32], [92, 30, 110], [200, 70, 70], [250, 200, 80]], dtype=float)
    place = level * (len(stops) - 1)
    k = min(int(place), len(stops) - 2)
    mixed = stops[k] + (place - k) * (stops[k + 1] - stops[k])
    return "".join(f"{round(float(c)):02x}" for c in mixed)


def per_value_rows(m: Mechanism) -> list[dict[str, Any]]:
    """For each true value: the chance of the truth, bias and expected losses."""
    channel = m.finite()
    diagonal: Any = np.diag(m.matrix) if m.inputs == m.outputs else [None] * channel.rows
    columns = zip(diagonal, bias(m), *(loss_per_value(m, loss) for loss in ("l0", "l1", "l2")), strict=True)
    return [
        {"true": str(m.inputs.value(i)), "truthful": None if t is None else float(t), "bias": float(b),
         "l0": float(l0), "l1": float(l1), "l2": float(l2)}
        for i, (t, b, l0, l1, l2) in enumerate(columns)
    ]  # fmt: skip


def comparison_row(name: str, m: Mechanism, prior: Any = None, loss: str = "l1") -> dict[str, Any]:
    """One mechanism in one line: level, properties, losses under a prior, and what a rational user gets from it."""
    n = m.finite().rows - 1
    l0, letters = expected_loss(m, "l0", prior), property_letters(m) or []
    return {
        "mechanism": name,
        "epsilon <=": check_privacy(m).epsilon,
        "local <=": check_privacy(m, metric="discrete").epsilon,
        "proved": bool(check_privacy(m)),
        "properties": "all seven" if letters == list(LETTERS) else " ".join(letters),
        "L0": l0,
        "rescaled": l0 * (n + 1) / n,
        "L1": expected_loss(m, "l1", prior),
        "L2": expected_loss(m, "l2", prior),
        "RMSE": rmse(m, prior),
        **({} if loss in ("l0", "l1", "l2") else {loss: expected_loss(m, loss, prior)}),
        "worst": worst_loss(m, loss),
        "best use": bayes_risk(m, prior, loss),
    }


def table(rows: list[dict[str, Any]]) -> RichTable:
    """Rows as a table for people."""
    shown = RichTable(box=None, header_style="bold", pad_edge=False)
    for name, value in rows[0].items():
        shown.add_column(Text(name), justify="right" if isinstance(value, float) else "left")
    for row in rows:
        # as Text: a value in brackets is no markup
        shown.add_row(*(Text(_cell(value, above=name.endswith("<="))) for name, value in row.items()))
    return shown


def print_table(console: Console, rows: list[dict[str, Any]]) -> None:
    """Rows as a table in full width: in a narrow terminal its lines wrap, and no number is cut off."""
    shown, width = table(rows), console.width
    console.width = max(width, console.measure(shown, options=console.options.update(width=1000)).maximum)
    console.print(shown)
    console.width = width


def _cell(value: Any, above: bool) -> str:
    if above:
        return show_above(value, 4)
    if isinstance(value, bool):
        return "yes" if value else "NO"
    return f"{value:.4f}" if isinstance(value, float) else "" if value is None else str(value)


def csv_text(rows: list[dict[str, Any]]) -> str:
    """Rows as CSV, numbers in full."""
    buffer = io.StringIO()
    names = list(rows[0])
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(names)
    writer.writerows([row[name] for name in names] for row in rows)
    return buffer.getvalue()


def print_csv(rows: list[dict[str, Any]]) -> None:
    sys.stdout.write(csv_text(rows))


@contextmanager
def progress(what: str) -> Iterator[Callable[[int], None]]:
    """A bar of percentages on standard error, from the second second on; silent where there is no terminal."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    bar = Progress(TextColumn(what), BarColumn(), TimeElapsedColumn(), console=console, transient=True,
                   disable=not console.is_terminal)  # fmt: skip
    task = bar.add_task(what, total=100)
    shown = Timer(2, bar.start)  # also while nobody tells anything
    if console.is_terminal:
        shown.start()
    try:
        yield lambda percent: bar.update(task, completed=percent)
    finally:
        shown.cancel()
        if console.is_terminal:
            shown.join()
        bar.stop()


def bars(grid: Grid, law: NDArray[np.float64], width: int) -> Text:
    """A law as horizontal bars, neighbouring values together where there are many."""
    size = len(law)
    together = -(-size // _MOST_ROWS)
    groups = [np.arange(size)[k : k + together] for k in range(0, size, together)]
    shares = [float(law[group].sum()) for group in groups]
    names = [
        str(grid.value(int(g[0]))) if len(g) == 1 else f"{grid.value(int(g[0]))}..{grid.value(int(g[-1]))}"
        for g in groups
    ]
    label, top = max(map(len, names)), max(shares) or 1.0
    room = max(width - label - 10, 10)
    shown = Text()
    for name, share in zip(names, shares, strict=True):
        shown.append(f"{name:>{label}} {share:6.1%} ", style="dim")
        shown.append("#" * round(share / top * room) + "\n")
    shown.right_crop(1)
    return shown


@contextmanager
def patience() -> Iterator[Callable[[str], None]]:
    """One line of progress on standard error, from the second second on, wiped at the end; silent without a terminal."""
    start, last = monotonic(), [0.0]

    def tell(line: str) -> None:
        now = monotonic()
        if sys.stderr.isatty() and now - start > 1 and now - last[0] > 0.2:
            last[0] = now
            print(f"\r\x1b[K{line}", end="", file=sys.stderr, flush=True)

    try:
        yield tell
    finally:
        if last[0]:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def _noise_words(m: Mechanism) -> str:
    """The size of unbounded noise, in the answer's units."""
    noise, step = m.channel.noise, float(m.inputs.step)
    if noise is None:
        return ""
    mean, deviation = float(noise.mean_absolute) * step, math.sqrt(noise.variance) * step
    reach = float(noise.quantile(0.975)) * step
    return f"noise: mean distance {mean:.6g}, standard deviation {deviation:.6g}; 95 % of it within {reach:.6g} of the truth"


def show_mechanism(console: Console, m: Mechanism) -> None:
    """Heat map, failing properties with their witnesses, and bias and loss per true value, as far as they fit."""
    channel = m.channel.finite()
    if channel is None:
        console.print(_noise_words(m), markup=False)
        console.print("The reports are unbounded: no heat map. Truncate the mechanism to see one.", style="dim")
        return
    if channel.rows <= _WIDEST and channel.reports <= _WIDEST and _map_width(m) <= console.width:
        console.print("\nHow often each report (across) follows each truth (down); brighter is more often:")
        console.print(heat_map(m))
    else:
        console.print(
            f"\n{channel.rows} x {channel.reports}: too wide for a heat map; --csv gives a row for each true value.",
            style="dim",
        )
    if property_letters(m) is not None and (failing := explain(m)):
        console.print("\nProperties that fail, and where:")
        for letter, sentence in failing.items():
            console.print(f"  {letter:2}  {sentence}", markup=False)
    if channel.rows * channel.reports > 2**22:
        return
    rows = per_value_rows(m)
    console.print("\nFor each true value (l0: chance of a wrong report, l1: mean distance, l2: mean square):")
    console.print(table(rows[:_MOST_ROWS]))
    if len(rows) > _MOST_ROWS:
        console.print(f"... and {len(rows) - _MOST_ROWS} more; --csv gives all of them", style="dim")
