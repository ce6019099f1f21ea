"""Commands about several reports: of one count (collude, compose, cascade), of one person (lifetime)."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from ..registry import FAMILIES
from .app import Output, check_picture, command
from .designs import prior_of
from .mechanisms import grid_of, load_procedure
from .options import (
    CASCADE,
    COLLUDE,
    HIGH,
    LIFETIME,
    LOW,
    SEED,
    STEP,
    Alpha,
    Clamp,
    EpsilonText,
    File,
    Losses,
    N,
    Number,
    OneSensitivity,
    Picture,
    Priors,
    Runs,
    described,
    entry,
    file_or_text,
    mechanism_option,
    switch,
)

if TYPE_CHECKING:
    from ..mechanism import Procedure

_OPEN = ("geometric", "laplace", "staircase")  # families that need no ends


@command("json", "csv")
def collude(
    *,
    k: Annotated[Number, described(COLLUDE, "k", ", such as 1,3,5,11")],
    mechanism: Annotated[str, mechanism_option("Families, or files of mechanisms, separated by commas.")] = "geometric",
    n: N = None,
    alpha: Alpha = None,
    epsilon: EpsilonText = None,
    sensitivity: OneSensitivity = None,
    strategy: Annotated[Literal["median", "mle", "bayes"], described(COLLUDE, "strategy")] = "median",
    loss: Losses = "l1",
    prior: Priors = None,
    no_clamp: Annotated[
        bool,
        switch("Leave a median that lies beyond the true values there; by default it is moved to their end."),
    ] = False,
    runs: Runs = None,
    seed: Annotated[Number, SEED] = "0",
    out: Picture = None,
) -> Output:
    """Tell what k users who share their reports of one answer learn.

    Their error, their chance of the exact answer, and the level that is left.

    Without --n the answer may be any number, and so may the reports.

    Example: discreet collude --alpha 0.5 --k 1,3,5,11 --mechanism geometric,laplace,staircase

    Example: discreet collude --n 8 --alpha 1/2 --k 5 --mechanism explicit-fair --strategy mle
    """
    from ..errors import DiscreetError
    from ..sharing.collusion import collude as make
    from . import terminal

    check_picture(out)
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
            named,
            k.replace(",", " ").split(),
            strategy,
            file_or_text(loss),
            prior_of(prior),
            clamp=not no_clamp,
            runs=runs,
            seed=seed,
            progress=progress,
        )
    return Output(found, part="rows").drawn(out)


@command("json", "csv")
def compose(
    mechanism: File,
    /,
    *,
    k: Annotated[Number, Parameter(allow_leading_hyphen=True, help="The number of reports.")],
    delta: Annotated[
        Number | None,
        Parameter(
            allow_leading_hyphen=True,
            help="The delta beside epsilon, added to every probability; by default a few of them.",
        ),
    ] = None,
    epsilon: Annotated[
        Number | None,
        Parameter(
            name=["--epsilon", "--eps"],
            allow_leading_hyphen=True,
            help="Instead of --delta: the epsilon whose delta is asked for.",
        ),
    ] = None,
) -> Output:
    """Tell what k reports of a mechanism give away together.

    As (epsilon, delta), never below the truth: with a chance of delta the reports may tell more than epsilon.

    delta is analysis: no release, level or charge rests on it.

    Example: discreet compose g.json --k 20 --delta 1e-6
    """
    from ..errors import DiscreetError
    from ..sharing.composition import DELTAS
    from ..sharing.composition import compose as make

    if delta is not None and epsilon is not None:
        raise DiscreetError("--delta asks for an epsilon and --epsilon for a delta; give one of them.")
    deltas, epsilons = DELTAS if delta is None else (delta,), () if epsilon is None else (epsilon,)
    found = make(load_procedure(mechanism), k)
    return Output(document=found.to_dict(deltas, epsilons), view=found.view(deltas, epsilons))


@command("json", "csv")
def lifetime(
    *mechanisms: Annotated[str, entry("Files of mechanisms, one for each question.")],
    epsilons: Annotated[
        str | None, entry("Instead of files: questions by name, each with its epsilon, such as brand=1,hours=1/2.")
    ] = None,
    times: Annotated[Number, described(LIFETIME, "times")] = "1",
    most: Annotated[Number | None, described(LIFETIME, "most")] = None,
    permanent: Annotated[
        Number | None, entry("With permanent answers, from which each report is drawn: the epsilon of these.")
    ] = None,
    delta: Annotated[Number | None, described(LIFETIME, "delta")] = None,
) -> Output:
    """Tell what the reports of one person reveal in all.

    For several questions, each asked a number of times, before anything is collected: fresh noise adds up, a memo costs --most
    times epsilon, a permanent answer bounds all that is drawn from it.

    Example: discreet lifetime g.json --times 52 --most 5

    Example: discreet lifetime --epsilons brand=1,hours=1/2 --times 52 --most 5 --delta 1e-6
    """
    from ..errors import DiscreetError
    from ..sharing.lifetimes import lifetime as make
    from .options import by_name

    if bool(mechanisms) == (epsilons is not None):
        raise DiscreetError("Say what is asked: files of mechanisms, or --epsilons brand=1,hours=1/2.")
    asked = by_name("--epsilons", epsilons, "brand=1,hours=1/2") if epsilons is not None else {}
    for file in mechanisms:
        if file in asked:
            raise DiscreetError(f"{file} is given twice; give each file once, and --times for how often it is used.")
        asked[file] = load_procedure(file)
    named = {"--times": times, "--most": most}
    times, most = (
        by_name(option, given, "brand=52,hours=2") if "=" in str(given) else given for option, given in named.items()
    )
    return Output(make(asked, times=times, most=most, permanent=permanent, delta=delta))


@command("json", "csv")
def cascade(
    *,
    alphas: Annotated[str | None, described(CASCADE, "levels", ': "3/10,1/2,4/5"')] = None,
    epsilons: Annotated[str | None, described(CASCADE, "epsilons", ': "1,1/2,ln(2)/10"')] = None,
    n: N = None,
    low: Annotated[Number | None, entry(LOW)] = None,
    high: Annotated[Number | None, entry(HIGH)] = None,
    step: Annotated[Number | None, entry(STEP)] = None,
    sensitivity: OneSensitivity = None,
    value: Annotated[
        Number | None,
        entry(
            "The true value: PRIVATE. Others on this machine can see a command's words; - reads it from standard input."
        ),
    ] = None,
    clamp: Clamp = False,
) -> Output:
    """Report one count to several audiences, who may collude.

    No coalition of them learns more than its least private member alone.

    What is printed is for you: it is as sensitive as the least private level. Each audience gets
    the report of its own level. Nothing is charged to any ledger: the price is printed.

    Example: discreet cascade --alphas 3/10,1/2,4/5 --n 100 --value 42
    """
    from ..errors import DiscreetError
    from ..sharing.cascades import cascade as make

    if alphas is None and epsilons is None:
        raise DiscreetError("Say which levels the audiences have, for example --alphas 3/10,1/2,4/5.")
    made = make(
        alphas,
        grid_of(n, low, high, step),
        epsilons=None if epsilons is None else epsilons.split(","),
        sensitivity=1 if sensitivity is None else sensitivity,
    )
    if value is None:
        raise DiscreetError("Say which true value to report, for example --value 42, or --value - to read it.")
    return Output(made.release(_true_value(value), clamp=clamp))


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


def _true_value(text: str) -> Any:
    """The true value, from the command line or standard input; never quoted."""
    from ..errors import OutOfRangeError
    from ..exact.arithmetic import parse_exact

    number = parse_exact((sys.stdin.readline() if text == "-" else text).strip())
    if number is None:
        raise OutOfRangeError("The true value is no number; give one, for example --value 42. Nothing was drawn.")
    return number.numerator if number.denominator == 1 else number
