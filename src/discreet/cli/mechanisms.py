"""Commands about mechanisms: make, check, show, audit."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from .app import (
    Alpha,
    Csv,
    Debug,
    EpsilonText,
    File,
    Json,
    N,
    Out,
    app,
    dump,
    finite_or_none,
    make_console,
    one_of,
    plain,
)

if TYPE_CHECKING:
    from ..mechanism import Mechanism

Family = Literal[
    "geometric", "explicit-fair", "weakly-honest", "randomized-response", "uniform", "laplace", "staircase", "from-matrix",
    "random-rounding", "suppression", "cell-key",
]  # fmt: skip


def _option(help: str) -> Parameter:
    return Parameter(allow_leading_hyphen=True, help=help)


@app.command
def make(
    family: Family,
    /,
    *,
    n: N = None,
    alpha: Alpha = None,
    epsilon: EpsilonText = None,
    low: Annotated[str | None, _option("The smallest value, instead of --n (with --high).")] = None,
    high: Annotated[str | None, _option("The largest value, instead of --n (with --low).")] = None,
    step: Annotated[str | None, _option("The step of the grid: 1, or a fine one for laplace and staircase.")] = None,
    sensitivity: Annotated[str | None, _option("How much one person can change the answer, in its units; 1.")] = None,
    r: Annotated[
        str | None, _option("staircase: steps of a stair's upper part, or the loss to be best for; l1.")
    ] = None,
    matrix: Annotated[
        str | None, _option("from-matrix: a CSV or JSON file of probabilities, a row for each true value; - for input.")
    ] = None,
    require: Annotated[str | None, _option("from-matrix, weakly-honest: properties to keep, for example CM.")] = None,
    base: Annotated[str | None, _option("random-rounding: what is rounded to multiples of; 3.")] = None,
    below: Annotated[str | None, _option("suppression: the smallest count that is shown; 5.")] = None,
    show_zero: Annotated[bool | None, Parameter(help="suppression: is a count of 0 shown?")] = None,
    deviation: Annotated[str | None, _option("cell-key: the largest noise; 5.")] = None,
    variance: Annotated[str | None, _option("cell-key: the variance of the noise; 2.")] = None,
    never_report: Annotated[str | None, _option("cell-key: no report lies in 1..this; 0.")] = None,
    out: Out = None,
    json: Json = False,
    debug: Debug = False,
) -> int:
    """Make a mechanism, prove its level and save it.

    Example: discreet make geometric --n 8 --alpha 9/10 -o gm.json

    Example: discreet make laplace --epsilon 1 --sensitivity 0.5 -o laplace.json

    Example: discreet make staircase --n 20 --step 1 --epsilon 2 --sensitivity 3 -o stairs.json

    Example: discreet make random-rounding --n 20 --base 3 -o rounding.json
    """
    from .. import files

    given: dict[str, Any] = {
        "alpha": alpha, "epsilon": epsilon, "sensitivity": sensitivity, "step": step, "r": r, "require": require,
        "base": base, "below": below, "show_zero": show_zero, "deviation": deviation, "variance": variance,
        "never_report": never_report,
    }  # fmt: skip
    m = _made(family, n, low, high, matrix, {name: value for name, value in given.items() if value is not None})
    if out == "-":
        print(files.text(m), end="")
        return 0
    if out is not None:
        m.save(out)
    if json:
        print(dump(_summary(m)))
        return 0
    console = make_console()
    console.print(_headline(m))
    if out is not None:
        console.print(f"saved to {out}, digest {m.digest[:19]}...", markup=False)
    else:
        console.print("not saved: give -o FILE to keep it", style="dim")
    return 0


def _made(
    family: str, n: str | None, low: str | None, high: str | None, matrix: str | None, given: dict[str, Any]
) -> Mechanism:
    """The mechanism that the words on the command line describe."""
    from ..errors import DiscreetError
    from ..registry import FAMILIES

    maker = next(f for f in FAMILIES if f.name == family.replace("-", "_"))
    stray = next((name for name in given if name != "step" and name not in maker.takes), None)
    if stray is not None:
        reason = {
            "randomized-response": ": it treats any two values as neighbours" if stray == "sensitivity" else "",
            "uniform": ": its report ignores the truth" if stray in ("alpha", "epsilon") else "",
        }.get(family, "")
        raise DiscreetError(f"--{stray.replace('_', '-')} does not go with {family}{reason}. Leave it out.")
    if (matrix is not None) != (family == "from-matrix"):
        raise DiscreetError("A matrix and from-matrix go together; write discreet make from-matrix --matrix FILE.")
    if "r" in given and str(given["r"]).isdecimal():
        given["r"] = int(given["r"])
    step = given.pop("step", None)
    if matrix is not None:
        anywhere = n is None and low is None and high is None and step is None
        return maker.make(_read_matrix(matrix), inputs=None if anywhere else _grid(n, low, high, step), **given)
    if "step" in maker.takes and low is None and high is None:
        return maker.make(n, step=step, **given)  # it finds its own grid
    if "step" in maker.takes and step is None and n is None:
        raise DiscreetError(
            f"Say how fine the grid of {family} between --low and --high is: give --step, such as 1/1024."
        )
    return maker.make(_grid(n, low, high, step), **given)


def _read_matrix(name: str) -> list[list[Any]]:
    """A matrix of numbers as texts, so that decimals and fractions are read exactly: JSON, or CSV without a heading."""
    import csv
    from json import loads
    from pathlib import Path

    from ..errors import SealError

    try:
        text = sys.stdin.read() if name == "-" else Path(name).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not a text"
        raise SealError(f"{name} cannot be read ({why}). Check the path of the matrix.") from None
    if text.lstrip().startswith("["):
        try:
            rows = loads(text, parse_float=str)
        except (ValueError, RecursionError):
            raise SealError(
                f"{name} is not JSON; write a list of rows, for example [[0.6, 0.4], [0.4, 0.6]]."
            ) from None
        if not all(isinstance(row, list) for row in rows):
            raise SealError(f"{name} is no list of rows; write for example [[0.6, 0.4], [0.4, 0.6]].")
        return list(rows)
    try:
        return [[cell.strip() for cell in row] for row in csv.reader(text.splitlines()) if row]
    except csv.Error:
        raise SealError(f"{name} is no table of numbers; write a row for each true value, such as 0.6,0.4.") from None


@app.command
def check(
    file: File,
    /,
    *,
    alpha: Alpha = None,
    epsilon: EpsilonText = None,
    metric: Annotated[
        Literal["adjacent", "discrete", "line"],
        Parameter(help="adjacent: neighbours (DP); discrete: any two values (local DP); line: by distance."),
    ] = "adjacent",
    group: Annotated[int, Parameter(help="The number of people protected together, with --metric adjacent.")] = 1,
    json: Json = False,
    debug: Debug = False,
) -> int:
    """Verify a mechanism file, then check the level it claims or the one you give. Exit code 1 when it does not hold.

    Example: discreet check gm.json --epsilon 0.05
    """
    from ..measure.privacy import check_privacy

    m = load_mechanism(file)
    verdict = check_privacy(m, alpha=alpha, epsilon=epsilon, metric=metric, group=group)
    if json:
        told: dict[str, Any] = {
            "holds": verdict.holds,
            "asked": str(verdict.asked.asked or verdict.asked.alpha),
            "metric": verdict.metric,
            "tight_alpha": str(verdict.tight),
            "tight_epsilon": finite_or_none(verdict.epsilon),
            "exact": verdict.exact,
            "witness": str(verdict.witness) if verdict.witness else None,
        }
        print(dump(told))
    else:
        make_console().print(("[green]" if verdict else "[red]") + plain(str(verdict)))
    return 0 if verdict else 1


@app.command
def show(
    file: File,
    /,
    *,
    json: Json = False,
    csv: Csv = False,
    debug: Debug = False,
) -> int:
    """Show a mechanism: a heat map, its level, its properties, and bias and loss for each true value.

    Example: discreet show gm.json
    """
    from . import terminal

    m = load_mechanism(file)
    one_of(json, csv)
    if json:
        print(dump({**_summary(m), "matrix": _matrix_or_none(m)}))
        return 0
    if csv:
        terminal.print_csv(terminal.per_value_rows(m))
        return 0
    console = make_console()
    console.print(_headline(m))
    terminal.show_mechanism(console, m)
    return 0


@app.command
def audit(
    sampler: File,
    /,
    *,
    alpha: Alpha = None,
    epsilon: EpsilonText = None,
    pairs: Annotated[str | None, Parameter(help='Neighbouring true values, for example "0,1 50,51".')] = None,
    draws: Annotated[int, Parameter(help="Draws at each true value.")] = 1_000_000,
    confidence: Annotated[float, Parameter(help="How sure the bound must be.")] = 0.9999999,
    scalar: Annotated[bool, Parameter(negative=(), help="The function takes one value at a time.")] = False,
    seed: Annotated[int | None, Parameter(help="Repeatable draws, for tests only: INSECURE.")] = None,
    json: Json = False,
    debug: Debug = False,
) -> int:
    """Draw from a mechanism file, or from any function module:name, and see whether the draws contradict its level.

    Exit code 1 when they do.

    Example: discreet audit gm.json --draws 100000
    """
    from ..errors import AuditError
    from ..measure.auditing import audit as run
    from ..randomness.source import insecure_source

    if ":" in sampler:
        target: Any = _function(sampler)
    else:
        target = load_mechanism(sampler)
    try:
        listed = (
            None
            if pairs is None
            else [tuple(float(x) if "." in x else int(x) for x in p.split(",")) for p in pairs.split()]
        )
    except ValueError:
        raise AuditError(f'--pairs {pairs!r} cannot be read; write for example --pairs "0,1 50,51".') from None
    found = run(
        target,
        alpha=alpha,
        epsilon=epsilon,
        pairs=listed,
        draws=draws,
        confidence=confidence,
        scalar=scalar,
        source=None if seed is None else insecure_source(seed),
    )
    if json:
        print(
            dump(
                {
                    "flagged": found.flagged,
                    "epsilon_lower": found.epsilon_lower,
                    "claimed": found.claimed,
                    "pair": [str(x) for x in found.pair],
                    "event": found.event,
                    "counts": list(found.counts),
                    "draws": found.draws,
                    "confidence": found.confidence,
                    "source": found.source,
                }
            )
        )
    else:
        make_console().print(("[red]" if found.flagged else "[green]") + plain(str(found)))
    return 1 if found.flagged else 0


def _function(name: str) -> Any:
    import importlib

    from ..errors import AuditError

    module, _, attribute = name.partition(":")
    sys.path.insert(0, "")
    try:
        return getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise AuditError(
            f"{name} cannot be loaded ({error}); write module:function, for example mynoise:sample."
        ) from None
    finally:
        sys.path.remove("")


def _grid(n: str | None, low: str | None, high: str | None, step: str | None) -> Any:
    from ..errors import GridError
    from ..numbers.grid import Grid

    if n is not None:
        if low is not None or high is not None:
            raise GridError("Give either --n or --low and --high, not both; for example --n 100.")
        plain = Grid.of(n)
        return plain if step is None else Grid(plain.low, plain.high, step)
    if low is None and high is None:
        raise GridError(
            "Say where the counts live: --n 100 for 0..100, or --low and --high (an open end: --high none)."
        )
    ends = [None if end is None or end == "none" else end for end in (low, high)]
    return Grid(ends[0], ends[1], 1 if step is None else step)


def load_mechanism(file: str) -> Mechanism:
    from ..files import load, loads
    from ..verify import MAX_BYTES

    return loads(sys.stdin.buffer.read(MAX_BYTES + 1), "standard input") if file == "-" else load(file)


def _summary(m: Mechanism) -> dict[str, Any]:
    from ..measure.privacy import check_privacy
    from . import terminal

    tight = check_privacy(m)
    local = check_privacy(m, metric="discrete") if m.inputs.n is not None else None
    return {
        "family": m.recipe.family,
        "inputs": str(m.inputs),
        "outputs": str(m.outputs),
        "sensitivity_steps": m.sensitivity,
        "neighbours": m.neighbours.words(m.inputs),
        "alpha": str(m.alpha),
        "epsilon": finite_or_none(m.epsilon),
        "asked_epsilon": None if m.level.asked is None else str(m.level.asked),
        "tight_alpha": str(tight.tight),
        "tight_epsilon": finite_or_none(tight.epsilon),
        "local_epsilon": None if local is None else finite_or_none(local.epsilon),
        "properties": terminal.property_letters(m),
        "distance_from_law": m.recipe.distance,
        "citation": m.recipe.citation,
        "digest": m.digest,
    }


def _headline(m: Mechanism) -> str:
    from . import terminal

    return plain(terminal.headline(m))


def _matrix_or_none(m: Mechanism) -> list[list[float]] | None:
    channel = m.channel.finite()
    return m.matrix.tolist() if channel is not None and channel.rows * channel.reports <= 2**16 else None
