"""The tour's local part: everybody's age becomes a report before it is collected, and the town's ages come back from those."""

from __future__ import annotations

import html
from collections.abc import Callable
from pathlib import Path
from typing import Any

AGES = "how old they are"
EPSILON = "2"


def collected(table: Any, folder: Path, say: Callable[..., None]) -> tuple[str, dict[str, Any]]:
    """Perturb the years, tally, recover; a section for the page, and what was found."""
    import numpy as np

    from ..collect.perturbing import perturb_summary
    from ..collect.request import PerturbRequest
    from ..collect.tallying import tally
    from ..mechanisms.wave import square_wave
    from ..present.plot import inline
    from ..present.sketch import sketch
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
    picture = "".join(inline(lambda kind=kind: estimate.plot(kind, truth=law)) for kind in ("law", "cdf"))  # type: ignore[misc]
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
