"""The tour: a synthetic town, its counts released under a budget, and what people see of them.

Its pictures are sketches, curves as plain inline SVG that we draw ourselves: its pages must have one, whatever is installed.
"""

from __future__ import annotations

import html
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

from .app import command, dump, make_console
from .options import Json, target

if TYPE_CHECKING:
    from ..tables.publish.released import Release

Series = tuple[Sequence[float], Sequence[float]]

_WIDE, _HIGH, _LEFT, _TOP, _RIGHT, _BELOW = 640, 300, 62, 58, 14, 46  # of the picture, and what is around the curves
_LOOKS = (
    ("#0072B2", ""),
    ("#D55E00", "7 3"),
    ("#009E73", "2 2"),
    ("#CC79A7", "9 3 2 3"),
)  # colour, and dashes for print in grey
PEOPLE, DISTRICTS = 200_000, 40
BANDS = ["0-17", "18-29", "30-44", "45-64", "65-79", "80+"]
FIRST = [0, 18, 30, 45, 65, 80]  # years of the bands' youngest
SICK = "condition = 'asthma'"
AGES = "how old they are"
EPSILON = "2"
MARK = "made-by-discreet-demo.txt"  # in a folder that the demo made


def sketch(series: Mapping[str, Series], title: str, x: str, y: str) -> str:
    """Curves over a common axis, from 0 upwards; those with a name of their own stand in a legend. Every text is escaped."""
    places = [float(p) for across, _ in series.values() for p in across]
    low, high = min(places), max(places)
    top = max(max(float(v) for v in up) for _, up in series.values()) or 1.0
    step_x, step_y = _round_step(high - low or 1.0), _round_step(top)

    def across(value: float) -> float:
        return _LEFT + (value - low) / (high - low or 1.0) * (_WIDE - _LEFT - _RIGHT)

    def up(value: float) -> float:
        return _HIGH - _BELOW - value / top * (_HIGH - _TOP - _BELOW)

    parts = [f'<text x="8" y="18" font-size="15" font-weight="bold">{escape(title)}</text>']
    for value in _ticks(0.0, top, step_y):
        parts.append(
            f'<line x1="{_LEFT}" x2="{_WIDE - _RIGHT}" y1="{up(value):.1f}" y2="{up(value):.1f}" stroke="#e4e0d8"/>'
        )
        parts.append(f'<text x="{_LEFT - 6}" y="{up(value) + 4:.1f}" text-anchor="end">{value:.6g}</text>')
    for value in _ticks(low, high, step_x):
        parts.append(f'<text x="{across(value):.1f}" y="{_HIGH - _BELOW + 18}" text-anchor="middle">{value:.6g}</text>')
    parts.append(f'<text x="{(_LEFT + _WIDE) / 2:.0f}" y="{_HIGH - 8}" text-anchor="middle">{escape(x)}</text>')
    parts.append(f'<text x="8" y="{_TOP - 8}">{escape(y)}</text>')
    for k, (name, (at, values)) in enumerate(series.items()):
        colour, dashes = _LOOKS[k % len(_LOOKS)]
        points = " ".join(f"{across(float(p)):.1f},{up(float(v)):.1f}" for p, v in zip(at, values, strict=True))
        look = f'fill="none" stroke="{colour}" stroke-width="1.8" stroke-dasharray="{dashes or "none"}"'
        parts.append(f'<polyline points="{points}" {look}/>')
        start = _LEFT + 90 + 190 * k
        parts.append(f'<line x1="{start}" x2="{start + 26}" y1="{_TOP - 12}" y2="{_TOP - 12}" {look}/>')
        parts.append(f'<text x="{start + 32}" y="{_TOP - 8}">{escape(name)}</text>')
    return (
        f'<svg class="marks" role="img" aria-label="{escape(title)}" xmlns="http://www.w3.org/2000/svg" width="{_WIDE}" '
        f'height="{_HIGH}" viewBox="0 0 {_WIDE} {_HIGH}" font-family="Helvetica, Arial, sans-serif" font-size="12" '
        f'style="background:#fff">{"".join(parts)}</svg>'
    )


def _round_step(length: float) -> float:
    """A round number of which a length has four to nine."""
    unit = 10.0 ** math.floor(math.log10(length))
    return next(step for step in (unit / 10, unit / 5, unit / 2, unit, 2 * unit) if length / step < 10)


def _ticks(low: float, high: float, step: float) -> list[float]:
    first = math.ceil(low / step - 1e-9)
    return [k * step for k in range(first, math.floor(high / step + 1e-9) + 1)]


def town(seed: int = 2026) -> Any:
    """A made-up town as an Arrow table: people with a district, an age and perhaps a condition. No real data."""
    import numpy as np
    import pyarrow

    rng = np.random.default_rng(seed)
    weights = 1 / np.arange(1, DISTRICTS + 1) ** 1.6  # a few large districts and many hamlets
    district = rng.choice(DISTRICTS, PEOPLE, p=weights / weights.sum())
    band = rng.choice(len(BANDS), PEOPLE, p=[0.19, 0.15, 0.2, 0.27, 0.14, 0.05])
    chance = np.array([0.11, 0.08, 0.07, 0.08, 0.1, 0.12])[band] * rng.gamma(8, 1 / 8, DISTRICTS)[district]
    condition = np.where(rng.random(PEOPLE) < chance, "asthma", np.where(rng.random(PEOPLE) < 0.2, "other", "none"))
    return pyarrow.table(
        {
            "district": [f"D{d + 1:02}" for d in district],
            "age": [BANDS[b] for b in band],
            "condition": condition,
            "years": rng.integers(np.array(FIRST)[band], np.array([*FIRST[1:], 101])[band]),
        }
    )


@command()
def demo(
    *,
    out: Annotated[str, target("A folder for the results.")] = "demo-out",
    json: Json = False,
) -> int:
    """Take the tour: a made-up town, published and collected.

    Counts of a condition among 200,000 people by district and age, released under a budget; ages and districts collected
    under local privacy, and their distributions recovered. The folder's index.html tells it all; a folder that the demo did
    not make is refused.

    Example: discreet demo -o demo-out
    """
    import importlib.util

    from ..errors import MissingExtraError

    if any(importlib.util.find_spec(name) is None for name in ("duckdb", "pyarrow", "narwhals")):
        raise MissingExtraError.needing("The tour counts in tables, which needs DuckDB, PyArrow and Narwhals", "tables")
    folder = _own_folder(Path(out))
    compared = _compare(folder, quiet=json)
    told = _walk(folder, quiet=json)
    if json:
        print(dump({"comparison": compared, "town": told}))
    return 0


def _own_folder(folder: Path) -> Path:
    """A folder that the demo may write to: one that it makes now, or made before and marked. Elsewhere it would write over
    somebody's files."""
    from ..errors import FileError
    from ..files import write_whole

    try:
        folder.mkdir(parents=True)
    except FileExistsError:
        if not (folder / MARK).is_file():
            raise FileError(
                f"{folder} is there already, and the demo did not make it. Choose a name that is not taken, such as -o demo-out.",
                kind="missing",
            ) from None
        return folder
    except OSError as error:
        raise FileError(f"{folder} cannot be made ({error.strerror}). Choose another folder.", kind="missing") from None
    write_whole(
        folder / MARK, "discreet demo made this folder, and writes over its own files here when it is run again.\n"
    )
    return folder


def _compare(folder: Path, quiet: bool) -> list[dict[str, Any]]:
    """Four mechanisms for a group of eight, built, proved, saved and compared."""
    from ..files import write_whole
    from ..mechanisms.additive import geometric
    from ..mechanisms.fair import explicit_fair
    from ..mechanisms.guessing import randomized_response, uniform
    from ..planning.compare import compare
    from ..present.words import csv_text
    from . import terminal

    mechanisms = {
        "GM": geometric(8, alpha="9/10"),
        "EM": explicit_fair(8, alpha="9/10"),
        "UM": uniform(8),
        "kRR": randomized_response(8, alpha="9/10"),
    }
    compared = compare(mechanisms=mechanisms, neighbours=1)
    rows: list[dict[str, Any]] = compared.to_dict()["rows"]
    for name, m in mechanisms.items():
        m.save(folder / f"{name}.json")
    write_whole(folder / "comparison.csv", csv_text(rows))
    write_whole(folder / "comparison.json", dump(rows) + "\n")
    if not quiet:
        console = make_console()
        console.print(
            'Four ways to answer "how many of these eight?" at alpha = 9/10, every level proved:', style="bold"
        )
        terminal.show(console, compared.view())
        console.print(
            "GM is right most often, but likes to say 0 or 8; EM says the truth equally often whatever it is:"
        )
        console.print(terminal.heat_map(mechanisms["EM"]))
        console.print("")
    return rows


def _walk(folder: Path, quiet: bool) -> dict[str, Any]:
    from ..errors import BudgetError
    from ..files import write_whole
    from ..tables.ledger import Ledger
    from . import terminal

    console = make_console()

    def say(text: str, **style: Any) -> None:
        if not quiet:
            console.print(text, **style)

    table = town()
    say(
        f"A made-up town of {PEOPLE:,} people in {DISTRICTS} districts. How many have asthma, by district and age?",
        style="bold",
    )
    with TemporaryDirectory() as own, Ledger(Path(own) / "budget.db", secret=Path(own) / "secret") as ledger:
        account = ledger.create("town", "2", relation="change-one", public=["district", "age"])
        say("\nThe ledger: budget 2; who lives where and how old they are is public, who is ill is not.")
        ask: dict[str, Any] = {
            "count": SICK,
            "by": ["district", "age"],
            "domain": {"district": [f"D{d + 1:02}" for d in range(DISTRICTS)], "age": BANDS},
        }
        first = account.release(table, epsilon="1", **ask).with_totals("district", "age")
        first.save(folder / "asthma.csv", overwrite=True)
        rows = sorted(first.rows(), key=lambda r: int(r["n"]))
        some = [rows[0], rows[len(rows) // 4], rows[len(rows) // 2], rows[-1]]
        columns = ("district", "age", "n", "published", "low", "high", "mechanism")
        say(
            f"\nFour of {len(rows)} reports, from the smallest group to the largest (geometric noise, printed within 0..n):"
        )
        if not quiet:
            terminal.print_rows(console, [{k: r[k] for k in columns} for r in some])
            console.print("\nTotals by age that match their parts:")
            terminal.print_rows(
                console, [{k: r[k] for k in ("age", "total", "low", "high")} for r in first.margins["age"]]
            )
        say(f"\nThat cost epsilon 1; left: {account.balance().left}.")
        again = account.release(table, epsilon="1", **ask)
        same = again.columns["report"] == first.columns["report"] and again.record["repeated"]
        say(
            f"The same question again: the stored answer, at no charge ({'the same' if same else 'NOT the same'} reports); "
            f"left: {account.balance().left}."
        )
        refused = ""
        try:
            account.release(table, epsilon="3/2", **ask)
        except BudgetError as error:
            refused = str(error)
        say(f"A question at epsilon 3/2 is refused: {refused}")
        head, balance = account.head(), account.balance()
        account.verify(head=head)
        write_whole(folder / "ledger.json", dump(account.export()) + "\n")
    section, ages = _collected(table, folder, say)
    named, answers = _named(table, folder, say)
    page = _index(first, again, refused, str(balance.spent), str(balance.left), f"{section}\n{named}")
    write_whole(folder / "index.html", page)
    say(
        f"\nIn {folder}/: index.html to show a colleague; asthma.csv, its record (.json) and its page (.html); ages.csv; "
        "districts.csv; ledger.json; GM, EM, UM, kRR, wave and names.json, which verify.py can check.",
        markup=False,
    )
    return {
        "groups": first.size,
        "spent": str(balance.spent),
        "left": str(balance.left),
        "repeated": same,
        "refused": refused,
        "ages": ages,
        "answers": answers,
        "ledger_head": f"{head.count}:{head.hash}",
    }


def _collected(table: Any, folder: Path, say: Callable[..., None]) -> tuple[str, dict[str, Any]]:
    """The local part: everybody's age becomes a report before it is collected.

    Perturb the years, tally, recover; a section for the page, and what was found.
    """
    import numpy as np

    from ..collect.perturbing import perturb_summary
    from ..collect.request import PerturbRequest
    from ..collect.tallying import tally
    from ..mechanisms.wave import square_wave
    from ..present.plot import inline
    from ..recovery.recover import recover

    m = square_wave(100, epsilon=EPSILON)
    m.save(folder / "wave.json")
    request = PerturbRequest.of(column="years", mechanism=m)
    summary = perturb_summary(table, request, out=folder / "ages.csv", overwrite=True)
    estimate = recover(tally(folder / "ages.csv", "years", m), m)
    low, high = estimate.interval(0.95)
    truth = table.column("years").to_numpy()
    true_mean = float(truth.mean())
    say(
        f"\nNobody tells {AGES}: each age becomes a report on the person's own device (square wave, epsilon {EPSILON} between any "
        "two ages), and only the reports are counted.",
        style="bold",
    )
    say(
        f"From {summary.reports:,} reports: mean age {estimate.mean():.1f}, between {low:.1f} and {high:.1f} with 95 % confidence "
        f"(in truth {true_mean:.1f}); median {estimate.quantile(0.5)}."
    )
    law = np.bincount(truth, minlength=101) / len(truth)
    picture = "".join(inline(lambda kind=kind: estimate.plot(kind, truth=law)) for kind in ("distribution", "cdf"))  # type: ignore[misc]
    if not picture:  # without the extra plots
        ages = range(len(law))
        shares = {
            "recovered from the reports": (ages, estimate.distribution.tolist()),
            "the truth": (ages, law.tolist()),
        }
        picture = sketch(shares, "How old the town is, recovered from reports", "age", "share")
    section = [
        f"<h2>And {AGES}, without anybody telling</h2>",
        f"<p>Before it is collected, each age becomes a report: near the truth, or anywhere, so that no report tells any two ages "
        f"apart by more than epsilon {EPSILON}. The collector sees {summary.reports:,} reports, and recovers from their tally how "
        f"old the town is: mean age {estimate.mean():.1f}, between {low:.1f} and {high:.1f} with 95 % confidence. The true mean, "
        f"which nobody collected, is {true_mean:.1f}.</p>",
        picture,
        f"<p class='small'>{html.escape(summary.notes[0])} On a device the reporters do the same for one value. Files: "
        "<a href='ages.csv'>the tally</a>, <a href='wave.json'>the mechanism</a>.</p>",
    ]
    return "\n".join(section), {
        "reports": summary.reports,
        "mean": estimate.mean(),
        "low": low,
        "high": high,
        "true_mean": true_mean,
    }


def _named(table: Any, folder: Path, say: Callable[..., None]) -> tuple[str, dict[str, Any]]:
    """The same for answers that are names: in which district somebody lives, which nobody tells either."""
    from ..collect.perturbing import perturb_summary
    from ..collect.request import PerturbRequest
    from ..collect.tallying import tally
    from ..exact.names import Names
    from ..mechanisms.categories import projective_response
    from ..present.html import section
    from ..recovery.recover import recover

    m = projective_response(Names([f"D{d + 1:02}" for d in range(DISTRICTS)], other="elsewhere"), epsilon=EPSILON)
    m.save(folder / "names.json")
    request = PerturbRequest.of(column="district", mechanism=m)
    summary = perturb_summary(table, request, out=folder / "districts.csv", overwrite=True)
    top = recover(tally(folder / "districts.csv", "district", m), m).top(5)
    often = Counter(table.column("district").to_pylist()).most_common(5)
    say(
        f"\nNor where they live: each of {DISTRICTS} names becomes a report (projective response, epsilon {EPSILON}), and "
        f"from {summary.reports:,} of them the largest districts are found with their shares and ranks.",
        style="bold",
    )
    say(str(top), markup=False)
    say(f"In truth: {', '.join(f'{name} {count / table.num_rows:.4f}' for name, count in often)}.")
    told = [
        "<h2>And where they live, by name</h2>",
        f"<p>Answers need not be numbers. Each person's district becomes a report that says little; from {summary.reports:,} "
        "reports come the shares, with intervals and ranks that hold together for all answers with 95 % confidence.</p>",
        section(top.view()),
        "<p class='small'>Files: <a href='districts.csv'>the tally</a>, <a href='names.json'>the mechanism</a>.</p>",
    ]
    return "\n".join(told), {"top": top.to_dict(), "true": [[name, count] for name, count in often]}


def _index(first: Release, again: Release, refused: str, spent: str, left: str, ages: str) -> str:
    from ..present.html import page
    from ..tables.publish.page import STYLE, rows_table, statement

    small = sorted(first.rows(), key=lambda r: int(r["n"]))
    shown = [*small[:8], *small[-8:]]
    body = [
        "<h1>How many have asthma here?</h1>",
        f"<p class='lead'>A made-up town of {PEOPLE:,} people, {DISTRICTS} districts, {len(BANDS)} age bands. "
        "Every number below is noisy on purpose, and says how noisy.</p>",
        statement(first.record),
        "<h2>Totals by age (the groups add up to them)</h2>",
        rows_table(first.margins["age"], ["age"], "total", caption="people with asthma, by age"),
        f"<h2>The eight smallest and the eight largest of {len(small)} groups</h2>",
        "<p>Every count was drawn with geometric noise. The dot is the printed number, fitted so that the groups add up to the "
        "totals; the bar is an interval that covers the truth with a probability of at least 95 %, whatever it is.</p>",
        rows_table(shown, ["district", "age"], "published", caption="people with asthma, by district and age"),
        "<h2>Totals by district</h2>",
        rows_table(first.margins["district"], ["district"], "total", caption="people with asthma, by district"),
        "<h2>The budget</h2>",
        f"<p>The data set was opened with a budget of 2. This release cost 1. Asking the same question again gave the stored "
        f"answer at no charge ({'the same reports' if again.columns['report'] == first.columns['report'] else 'other reports'}). "
        f"A question at epsilon 3/2 was refused: <i>{html.escape(refused)}</i> Spent {spent}, left {left}.</p>",
        ages,
        "<p class='small'>Files: <a href='asthma.csv'>asthma.csv</a>, <a href='asthma.html'>all groups</a>, "
        "<a href='asthma.json'>the record</a>, <a href='ledger.json'>the ledger's lines</a>.</p>",
    ]
    return page("discreet: a made-up town", "\n".join(body), STYLE)
