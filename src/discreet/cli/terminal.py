"""What a terminal adds to what is shown: colours, heat maps, bars and progress."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from threading import Timer
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from ..exact.grid import Grid
from ..measure.description import Description
from ..mechanism import Procedure
from ..present.views import View
from ..present.words import are_right, cells, csv_text
from ..progress import Told

_WIDEST = 40  # values a heat map shows side by side
MOST_ROWS = 24
_SHADES = " .:-=+*#%@"  # where there is no colour, density says it


def heat_map(m: Procedure) -> Text:
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


def _cell_width(m: Procedure) -> int:
    return max(2, *(len(str(m.outputs.value(j))) + 1 for j in range(m.finite().reports)))


def _map_width(m: Procedure) -> int:
    labels = max(len(str(m.inputs.value(i))) for i in range(m.finite().rows))
    return labels + 1 + _cell_width(m) * m.finite().reports


def _colour(level: float) -> str:
    """From near black to warm yellow, through violet and orange."""
    stops = np.array([[16, 16, 32], [92, 30, 110], [200, 70, 70], [250, 200, 80]], dtype=float)
    place = level * (len(stops) - 1)
    k = min(int(place), len(stops) - 2)
    mixed = stops[k] + (place - k) * (stops[k + 1] - stops[k])
    return "".join(f"{round(float(c)):02x}" for c in mixed)


def show(console: Console, shown: View, most: int = MOST_ROWS) -> None:
    """Title, table, parts and notes. The table has its full width: in a narrow terminal its lines wrap, and no number is
    cut off."""
    if shown.title:
        console.print(shown.title, markup=False)
    if shown.rows:
        texts, rest = cells(shown, most)
        table, width = RichTable(box=None, header_style="bold", pad_edge=False), console.width
        for name, right in zip(shown.columns, are_right(shown), strict=True):
            table.add_column(Text(name), justify="right" if right else "left")
        for row in texts:
            table.add_row(*map(Text, row))  # as Text: a value in brackets is no markup
        console.width = max(width, console.measure(table, options=console.options.update(width=1000)).maximum)
        console.print(table)
        console.width = width
        if rest:
            console.print(rest, style="dim")
    for part in shown.parts:
        console.print("")
        show(console, part, most)
    if shown.parts and shown.notes:
        console.print("")
    for note in shown.notes:
        console.print(note, markup=False)


def print_rows(console: Console, rows: Sequence[Mapping[str, Any]], most: int = MOST_ROWS) -> None:
    """Rows that are all there is to see."""
    show(console, View.of("", rows), most)


def print_csv(rows: Sequence[Mapping[str, Any]]) -> None:
    sys.stdout.write(csv_text(rows))


def is_interactive() -> bool:
    """Does somebody sit there who reads what is written and can answer?"""
    return sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty()


def agrees(question: str) -> bool:
    """Ask once on standard error; only a yes is one, and the end of the input is none."""
    print(f"{question} [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


class Bar:
    """Somebody who is told how far the work is, and shows nothing."""

    def __call__(self, line: Told) -> None:
        """How far it is."""

    @contextmanager
    def paused(self) -> Iterator[None]:
        """A time in which the terminal is somebody else's."""
        yield


class _RichBar(Bar):
    def __init__(self, what: str, console: Console) -> None:
        from rich import progress as rich

        words = rich.TextColumn("{task.description}", markup=False)
        columns = rich.TextColumn(what), rich.BarColumn(), rich.TimeElapsedColumn(), rich.TimeRemainingColumn(), words
        self.bar = rich.Progress(*columns, console=console, transient=True)
        self.task = self.bar.add_task("", total=None)
        self.show_later()

    def __call__(self, line: Told) -> None:
        done = line.done
        self.bar.update(self.task, description=line.words, completed=done, total=None if done is None else 1.0)

    def show_later(self) -> None:
        self.shown = Timer(2, self.bar.start)  # also while nobody tells anything
        self.shown.start()

    def hide(self) -> None:
        self.shown.cancel()
        self.shown.join()
        self.bar.stop()

    @contextmanager
    def paused(self) -> Iterator[None]:
        self.hide()
        try:
            yield
        finally:
            self.show_later()


@contextmanager
def progress(what: str) -> Iterator[Bar]:
    """A bar on standard error, from the second second on, wiped at the end; silent where there is no terminal.

    It fills where somebody knows how much is done, and else moves while words say how far it is.
    """
    console = Console(stderr=True)
    if not console.is_terminal:
        yield Bar()
        return
    bar = _RichBar(what, console)
    try:
        yield bar
    finally:
        bar.hide()


def bars(grid: Grid, law: NDArray[np.float64], width: int) -> Text:
    """A distribution as horizontal bars, neighbouring values together where there are many."""
    size = len(law)
    together = -(-size // MOST_ROWS)
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


def show_description(console: Console, found: Description) -> None:
    """Headline, heat map, failing properties with their witnesses, and bias and loss per true value, as far as they fit."""
    m, shown = found.mechanism, found.view()
    channel = m.channel.finite()
    console.print(shown.title, markup=False)
    if channel is None:
        console.print("The reports are unbounded: no heat map. Truncate the mechanism to see one.", style="dim")
    elif channel.rows <= _WIDEST and channel.reports <= _WIDEST and _map_width(m) <= console.width:
        console.print("\nHow often each report (across) follows each truth (down); brighter is more often:")
        console.print(heat_map(m))
    else:
        console.print(
            f"\n{channel.rows} x {channel.reports}: too wide for a heat map; --csv gives a row for each true value.",
            style="dim",
        )
    show(console, replace(shown, title=""))
