"""Commands about several reports of one count."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from ..registry import FAMILIES
from .app import command, dump, make_console, one_of
from .designs import prior_of
from .mechanisms import load_procedure
from .options import (
    SEED,
    SENSITIVITY,
    Alpha,
    Csv,
    Debug,
    EpsilonText,
    File,
    Json,
    Losses,
    N,
    Priors,
    mechanism_option,
)

if TYPE_CHECKING:
    from ..mechanism import Procedure

_OPEN = ("geometric", "laplace", "staircase")  # families that need no ends


@command
def collude(
    *,
    k: Annotated[
        str, Parameter(allow_leading_hyphen=True, help="How many users share their reports, such as 1,3,5,11.")
    ],
    mechanism: Annotated[str, mechanism_option("Families, or files of mechanisms, separated by commas.")] = "geometric",
    n: N = None,
    alpha: Alpha = None,
    epsilon: EpsilonText = None,
    sensitivity: Annotated[str | None, SENSITIVITY] = None,
    strategy: Annotated[
        Literal["median", "mle", "bayes"],
        Parameter(
            help="What they make of the reports: the median, the likeliest value, or the best one for loss and prior."
        ),
    ] = "median",
    loss: Losses = "l1",
    prior: Priors = None,
    runs: Annotated[int | None, Parameter(help="How often to simulate where that is needed.")] = None,
    seed: Annotated[int, SEED] = 0,
    json: Json = False,
    csv: Csv = False,
    debug: Debug = False,
) -> int:
    """Tell what k users learn who share their reports of one answer.

    Their error, their chance of the exact answer, and the level that is left.

    Without --n the answer may be any number, and so may the reports.

    Example: discreet collude --alpha 0.5 --k 1,3,5,11 --mechanism geometric,laplace,staircase

    Example: discreet collude --n 8 --alpha 1/2 --k 5 --mechanism explicit-fair --strategy mle
    """
    from ..errors import DiscreetError
    from ..sharing.collusion import collude as make
    from . import terminal

    one_of(json, csv)
    words = _words(mechanism)
    stray = [
        name
        for name, x in (("n", n), ("alpha", alpha), ("epsilon", epsilon), ("sensitivity", sensitivity))
        if x is not None
    ]
    if stray and all(word.endswith(".json") for word in words):
        raise DiscreetError(f"A mechanism from a file has its grid and its level already; leave out --{stray[0]}.")
    named = {word: _named(word, n, alpha, epsilon, sensitivity) for word in words}
    with terminal.progress("colluding") as progress:
        found = make(
            named, k.replace(",", " ").split(), strategy, loss, prior_of(prior), runs=runs, seed=seed, progress=progress
        )
    if json:
        print(dump(found.to_dict()["rows"]))
    elif csv:
        terminal.print_csv(found.rows())
    else:
        terminal.show(make_console(), found.view())
    return 0


@command
def compose(
    mechanism: File,
    /,
    *,
    k: Annotated[str, Parameter(allow_leading_hyphen=True, help="The number of reports.")],
    delta: Annotated[
        str | None,
        Parameter(
            allow_leading_hyphen=True,
            help="How likely the reports may tell more than epsilon; by default a few of them.",
        ),
    ] = None,
    epsilon: Annotated[
        str | None,
        Parameter(
            name=["--epsilon", "--eps"],
            allow_leading_hyphen=True,
            help="Instead of --delta: the epsilon whose delta is asked for.",
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
    """Tell what k reports of a mechanism give away together.

    As (epsilon, delta), with bounds on both sides: with a chance of delta the reports may tell more than epsilon.

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
    deltas, epsilons = DELTAS if delta is None else (delta,), () if epsilon is None else (epsilon,)
    with terminal.progress("composing") as progress:
        found = make(load_procedure(mechanism), k, of=of.replace("-", " "), progress=progress)
        told, shown = (found.to_dict(deltas, epsilons), None) if json else (None, found.view(deltas, epsilons))
    if shown is None:
        print(dump(told))
    elif csv:
        terminal.print_csv([dict(zip(shown.columns, row, strict=True)) for row in shown.rows])
    else:
        terminal.show(make_console(), shown)
    return 0


def _words(text: str) -> list[str]:
    return text.replace(",", " ").split()


def _named(word: str, n: str | None, alpha: str | None, epsilon: str | None, sensitivity: str | None) -> Procedure:
    """A family at the level that was asked for, on 0..n or on an open grid; or the mechanism of a file."""
    from ..errors import DiscreetError
    from ..exact.grid import Grid

    if word.endswith(".json"):
        return load_procedure(word)
    known = [f for f in FAMILIES if "alpha" in f.takes and f.word != "from-matrix"]
    maker = next((f for f in known if word in (f.word, f.name)), None)
    if maker is None:
        raise DiscreetError(
            f"--mechanism {word} is not known; use {', '.join(f.word for f in known)}, or the file of a mechanism, which ends with "
            ".json."
        )
    asked: dict[str, Any] = {"alpha": alpha, "epsilon": epsilon, "sensitivity": sensitivity}
    given = {name: value for name, value in asked.items() if value is not None and name in maker.takes}
    if n is None and maker.name not in _OPEN:
        raise DiscreetError(f"Say how large the counts of {word} can be: give --n, for example --n 8.")
    return maker.make(n if n is not None else None if "step" in maker.takes else Grid(None, None), **given)
