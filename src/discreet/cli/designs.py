"""Commands that choose: design the best mechanism, compare several, plan an epsilon."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from .app import (
    Alpha,
    Csv,
    Debug,
    EpsilonText,
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

Losses = Annotated[
    str,
    Parameter(help='What a wrong report costs: l0, l1, l2, "lp(3)", "tail(2)", "threshold(5)", "asymmetric(1, 3)".'),
]
Priors = Annotated[
    str | None,
    Parameter(
        help='What is publicly known about the truth: "binomial(0.3)", "normal(40, 10)", "beta(2, 5)", probabilities '
        "separated by commas, or a file of them; uniform."
    ),
]
Required = Annotated[str, Parameter(help="Properties that must hold, for example WH,CM.")]


@app.command
def design(
    *,
    n: N = None,
    alpha: Alpha = None,
    epsilon: EpsilonText = None,
    loss: Losses = "l1",
    prior: Priors = None,
    risk: Annotated[
        Literal["average", "worst"], Parameter(help="Mean loss under the prior, or of the worst truth.")
    ] = "average",
    among: Annotated[
        str | None, Parameter(help="With --risk worst: the truths that are possible, such as 0,1,2.")
    ] = None,
    require: Required = "",
    sensitivity: Annotated[
        str, Parameter(allow_leading_hyphen=True, help="How much one person can change the answer.")
    ] = "1",
    then: Annotated[str | None, Parameter(help="A second loss, to choose among several best mechanisms.")] = None,
    out: Out = None,
    json: Json = False,
    debug: Debug = False,
) -> int:
    """The best mechanism for a loss, a prior and a set of properties, with a certificate that none is better.

    Example: discreet design --n 8 --alpha 9/10 --loss l1 --require WH,CM -o best.json
    """
    from .. import files
    from ..designs.design import design as make
    from . import terminal

    with terminal.progress("designing") as progress:
        made = make(
            _count(n), alpha=alpha, epsilon=epsilon, loss=loss, prior=_prior(prior), risk=risk, require=require,
            sensitivity=sensitivity, then=then, among=None if among is None else among.replace(",", " ").split(),
            progress=progress,
        )  # fmt: skip
    m = made.mechanism
    if out == "-":
        print(files.text(m), end="")
        return 0
    if out is not None:
        m.save(out)
    if json:
        told = {
            "objective": made.objective, "bound": made.bound, "gap": made.gap, "method": made.method,
            "loss": made.problem.loss.name, "risk": risk, "require": sorted(made.problem.require),
            "alpha": str(m.alpha), "epsilon": finite_or_none(m.epsilon),
            "properties": terminal.property_letters(m), "digest": m.digest,
        }  # fmt: skip
        print(dump(told))
        return 0
    console = make_console()
    console.print(plain(terminal.headline(m)))
    console.print(plain(str(made)))
    console.print(
        f"saved to {out}" if out is not None else "not saved: give -o FILE to keep it", style="dim", markup=False
    )
    return 0


@app.command
def compare(
    *,
    n: N = None,
    alpha: Alpha = None,
    epsilon: EpsilonText = None,
    loss: Losses = "l1",
    prior: Priors = None,
    require: Required = "",
    json: Json = False,
    csv: Csv = False,
    debug: Debug = False,
) -> int:
    """Known mechanisms and the best one side by side: level, properties, losses, and what a rational user gets.

    The last column is the loss after the best remap for the prior: for a count the geometric mechanism reaches the
    optimum there, whatever the prior and the monotone loss (Ghosh et al. 2009).

    Example: discreet compare --n 8 --alpha 9/10
    """
    from . import terminal

    one_of(json, csv)
    law = _prior(prior)
    rows = [
        terminal.comparison_row(name, m, law, loss)
        for name, m in _candidates(_count(n), alpha, epsilon, loss, law, require).items()
    ]
    if json:
        print(dump([{key: finite_or_none(x) if isinstance(x, float) else x for key, x in row.items()} for row in rows]))
    elif csv:
        terminal.print_csv(rows)
    else:
        console = make_console()
        terminal.print_table(console, rows)
        console.print(
            f"GM geometric, EM explicit fair, WM weakly honest, UM uniform, kRR randomised response; losses under the prior "
            f"{prior or 'uniform'}; worst: the largest mean {loss} of a truth; best use: the mean {loss} after the best remap",
            style="dim", markup=False,
        )  # fmt: skip
    return 0


@app.command
def plan(
    *,
    n: N = None,
    error: Annotated[str | None, Parameter(help="The error to keep to, in the answer's units.")] = None,
    alpha: Alpha = None,
    epsilon: EpsilonText = None,
    confidence: Annotated[str, Parameter(help="How often the error must be kept to.")] = "0.95",
    prior: Priors = None,
    standard_error: Annotated[str | None, Parameter(help="Of a recovered mean: how many reports does it need?")] = None,
    kantorovich: Annotated[
        str | None,
        Parameter(help="Of a recovered distribution, with --prior as a guess: how many reports (simulated)?"),
    ] = None,
    method: Annotated[str | None, Parameter(help="With --kantorovich: auto, mle or ibu.")] = None,
    json: Json = False,
    debug: Debug = False,
) -> int:
    """What epsilon keeps to an error, what error an epsilon gives, or how many reports a recovery needs; for each family.

    Example: discreet plan --n 100 --error 5

    Example: discreet plan --n 100 --epsilon ln(2)/10 --standard-error 0.1 --prior binomial(0.3)
    """
    from ..planning.plan import plan as make

    found = make(
        _count(n), error=error, alpha=alpha, epsilon=epsilon, confidence=confidence, prior=_prior(prior),
        standard_error=standard_error, kantorovich=kantorovich, method=method,
    )  # fmt: skip
    if json:
        rows = [
            {
                "family": c.family, "alpha": None if c.alpha is None else str(c.alpha),
                "epsilon": finite_or_none(c.epsilon), "error": None if c.error is None else str(c.error),
                "chance": finite_or_none(c.chance), "rmse": finite_or_none(c.rmse),
                "mean_error": finite_or_none(c.mean_error), "reports": c.reports,
                "refused": c.refused or None,
            }
            for c in found
        ]  # fmt: skip
        print(dump({"question": found.question, "choices": rows}))
    else:
        make_console().print(plain(str(found)))
    return 0


def _candidates(n: Any, alpha: Any, epsilon: Any, loss: str, prior: Any, require: str) -> dict[str, Mechanism]:
    from ..designs.design import design as make
    from ..designs.weakly_honest import weakly_honest
    from ..errors import SizeError
    from ..mechanisms.fair import explicit_fair
    from ..mechanisms.geometric import geometric
    from ..mechanisms.response import randomized_response
    from ..mechanisms.uniform import uniform
    from . import terminal

    level = {"alpha": alpha, "epsilon": epsilon}
    makers: dict[str, Callable[[], Mechanism]] = {
        "GM": lambda: geometric(n, **level),
        "EM": lambda: explicit_fair(n, **level),
        "WM": lambda: weakly_honest(n, **level),
        "WM, CM": lambda: weakly_honest(n, require={"CM"}, **level),
        "UM": lambda: uniform(n),
        "kRR": lambda: randomized_response(n, **level),
    }
    found: dict[str, Mechanism] = {}
    for name, maker in makers.items():
        with suppress(SizeError):  # those that are tables end at n = 1023
            found[name] = maker()
    name = f"best {loss}" + (f", {require}" if require else "")
    with terminal.progress("designing") as progress:
        found[name] = make(n, loss=loss, prior=prior, require=require, progress=progress, **level).mechanism
    return found


def _count(n: str | None) -> Any:
    from ..errors import GridError

    if n is None:
        raise GridError("Say how large the counts can be: give --n, for example --n 8.")
    return n


def _prior(text: str | None) -> Any:
    """A prior's name as it is; numbers from the command line or from a file as a list of texts, read exactly."""
    from ..errors import PriorError

    if text is None or "(" in text or text.strip() == "uniform":
        return text
    if not any(sign in text for sign in ",") and not text.replace(".", "").replace("/", "").isdecimal():
        try:
            text = Path(text).read_text(encoding="utf-8-sig")
        except (OSError, UnicodeError):
            raise PriorError(
                f'prior {text!r} is neither known nor a file that can be read; use for example "binomial(0.3)".'
            ) from None
    return text.strip().strip("[]").replace(",", " ").split()
