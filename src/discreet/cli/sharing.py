"""Commands about sharing: what several reports give away together."""

from __future__ import annotations

from typing import Annotated, Literal

from cyclopts import Parameter

from .app import Csv, Debug, File, Json, app, dump, make_console, one_of
from .mechanisms import load_mechanism


@app.command
def compose(
    mechanism: File,
    /,
    *,
    k: Annotated[str, Parameter(allow_leading_hyphen=True, help="The number of reports.")],
    delta: Annotated[
        str | None,
        Parameter(allow_leading_hyphen=True, help="How likely the reports may tell more than epsilon; a few of them."),
    ] = None,
    epsilon: Annotated[
        str | None,
        Parameter(
            name=["--epsilon", "--eps"], allow_leading_hyphen=True, help="Or: the epsilon whose delta is asked for."
        ),
    ] = None,
    of: Annotated[
        Literal["one-count", "different-counts"],
        Parameter(help="All reports about one count, or about counts that may each sit elsewhere."),
    ] = "one-count",
    json: Json = False,
    csv: Csv = False,
    debug: Debug = False,
) -> int:
    """What k reports of a mechanism give away together: (epsilon, delta), bounds on both sides.

    delta is analysis: no release, level or charge rests on it.

    Example: discreet compose g.json --k 20 --delta 1e-6
    """
    from ..errors import DiscreetError
    from ..sharing.composition import DELTAS
    from ..sharing.composition import compose as make
    from . import terminal

    one_of(json, csv)
    if delta is not None and epsilon is not None:
        raise DiscreetError("--delta asks for an epsilon and --epsilon for a delta; give one of them.")
    found = make(load_mechanism(mechanism), k, of=of.replace("-", " "))
    deltas, epsilons = DELTAS if delta is None else (delta,), () if epsilon is None else (epsilon,)
    if json:
        print(dump(found.to_dict(deltas, epsilons)))
        return 0
    shown = found.shown(deltas, epsilons)
    if csv:
        terminal.print_csv([dict(zip(shown.columns, row, strict=True)) for row in shown.rows])
    else:
        terminal.show(make_console(), shown)
    return 0
