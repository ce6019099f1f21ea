"""Commands that choose: design the best mechanism, compare several, plan an epsilon, an error or a number of reports."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from .app import Output, apart, check_picture, command, dump, make_console, saved
from .options import (
    DESIGN,
    PLAN_EPSILON,
    PLAN_REPORTS,
    PLAN_TABLES,
    Alpha,
    EpsilonText,
    Json,
    Losses,
    N,
    Neighbours,
    Number,
    OneSensitivity,
    Out,
    Picture,
    Priors,
    Required,
    described,
    file_or_text,
)

Ordered = Annotated[
    bool | None,
    Parameter(
        negative="--names",
        help="Values are numbers in their order, as by default, or only names. Here --names is a switch, and "
        "--n one less than the number of answers: --n 499 --names for 500.",
    ),
]
Sets = Annotated[
    str | None,
    described(
        DESIGN,
        "priors",
        ', parts separated by semicolons: priors, for all their mixtures ("uniform; binomial(0.3)"), or limits of moments, for '
        'all priors that keep to them ("x in 2..6; x^2 in ..20")',
    ),
]


@command()
def design(
    *,
    n: N = None,
    values: Annotated[
        str | None,
        Parameter(
            allow_leading_hyphen=True,
            help="Instead of --n: true values that are not equally spaced, such as 0,1,2,5,10.",
        ),
    ] = None,
    edges: Annotated[
        str | None,
        Parameter(
            allow_leading_hyphen=True,
            help="Instead of --n: the truth is any number of an interval, cut into cells at these edges, such as 0,10,20,50. "
            "Cells with numbers within the sensitivity of each other are neighbours.",
        ),
    ] = None,
    alpha: Alpha = None,
    epsilon: EpsilonText = None,
    loss: Losses = "l1",
    prior: Priors = None,
    priors: Sets = None,
    risk: Annotated[Literal["average", "worst"], described(DESIGN, "risk")] = "average",
    among: Annotated[str | None, described(DESIGN, "among", ", such as 0,1,2")] = None,
    require: Required = "",
    sensitivity: OneSensitivity = None,
    neighbours: Neighbours = None,
    out: Out = None,
    json: Json = False,
) -> int:
    """Find the best mechanism, and prove that none is better.

    Best for a loss (what a wrong report costs), a prior (what is publicly known) and properties that must hold.

    Example: discreet design --n 8 --alpha 9/10 --loss l1 --require WH,CM -o best.json

    Example: discreet design --n 8 --alpha 9/10 --loss l1 --priors "x in 2..6; x^2 in ..20"

    Example: discreet design --edges 0,20,30,35,40,45,50,60,100 --alpha 1/4 --prior "normal(40, 10)" --sensitivity 20
    """
    from .. import files
    from ..designs.design import design as make
    from ..measure.description import describe
    from . import terminal

    apart(out, *filter(None, [prior, loss, neighbours]))
    with terminal.progress("designing") as progress:
        made = make(
            _truths(n, values, edges),
            alpha=alpha,
            epsilon=epsilon,
            loss=file_or_text(loss),
            prior=prior_of(prior),
            priors=_priors(priors),
            risk=risk,
            require=require,
            sensitivity=1 if sensitivity is None else sensitivity,
            neighbours=file_or_text(neighbours),
            among=None if among is None else among.replace(",", " ").split(),
            progress=progress,
        )
    m = made.mechanism
    if out == "-":
        print(files.text(m), end="")
        return 0
    told = "not saved: give -o FILE to keep it" if out is None else saved(out)
    if out is not None:
        m.save(out)
    if json:
        print(dump(made.to_dict()))
        return 0
    console = make_console()
    console.print(describe(m).headline, markup=False)
    console.print(str(made), markup=False)
    if values is not None or edges is not None:
        shown = ", ".join(str(report) for report in made.reports)
        console.print(f"true values and reports are numbered from 0; the reports: {shown}", markup=False)
    console.print(told, style="dim", markup=False)
    return 0


@command("json", "csv")
def compare(
    *,
    n: N = None,
    alpha: Alpha = None,
    epsilon: EpsilonText = None,
    loss: Losses = "l1",
    prior: Priors = None,
    require: Required = "",
    sensitivity: OneSensitivity = None,
    neighbours: Neighbours = None,
    ordered: Ordered = None,
    out: Picture = None,
) -> Output:
    """Put known mechanisms and the best one side by side.

    Levels, properties, losses, and what a rational user makes of the reports; all for the neighbours in the title.

    The last column is the loss after the best remap for the prior: for a count the geometric mechanism reaches the
    optimum there, whatever the prior and the monotone loss (Ghosh et al. 2009).

    Example: discreet compare --n 8 --alpha 9/10

    Example: discreet compare --n 8 --alpha 9/10 --latex

    Example: discreet compare --n 20 --epsilon 2 --sensitivity 3

    Example: discreet compare --n 20 --neighbours any --epsilon 1 --prior binomial(0.3)

    Example: discreet compare --n 299 --names --epsilon 1
    """
    from ..planning.compare import compare as make
    from . import terminal

    check_picture(out)
    with terminal.progress("designing") as progress:
        found = make(
            _count(n),
            alpha=alpha,
            epsilon=epsilon,
            loss=file_or_text(loss),
            prior=prior_of(prior),
            require=require,
            sensitivity=sensitivity,
            neighbours=file_or_text(neighbours),
            ordered=ordered,
            progress=progress,
        )
    return Output(found, part="rows").drawn(out)


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class PlanOptions:
    """What every plan is for: the counts, what is known of them, and between which of them the level holds."""

    n: N = None
    prior: Priors = None
    sensitivity: OneSensitivity = None
    neighbours: Neighbours = None

    def keywords(self) -> dict[str, Any]:
        """What the library's functions take besides the largest count."""
        return {
            "prior": prior_of(self.prior),
            "sensitivity": self.sensitivity,
            "neighbours": file_or_text(self.neighbours),
        }


FOR_COUNTS = PlanOptions()
Confidence = Annotated[Number, described(PLAN_EPSILON, "confidence")]


@command("json", "csv")
def plan_epsilon(
    *,
    counts: PlanOptions = FOR_COUNTS,
    error: Annotated[Number, described(PLAN_EPSILON, "error")],
    confidence: Confidence = "0.95",
) -> Output:
    """Find the smallest epsilon that keeps the error within a limit.

    For each family that can be planned with, whatever the truth is, or on average under a prior.

    Example: discreet plan-epsilon --n 100 --error 5
    """
    from ..planning.one_report import plan_epsilon as make

    plan = make(_count(counts.n), error=error, confidence=confidence, **counts.keywords())
    return Output(plan, text=str(plan))


@command("json", "csv")
def plan_error(
    *,
    counts: PlanOptions = FOR_COUNTS,
    alpha: Alpha = None,
    epsilon: EpsilonText = None,
    confidence: Confidence = "0.95",
) -> Output:
    """Find the smallest error that an epsilon gives.

    For each family that can be planned with, whatever the truth is, or on average under a prior.

    Example: discreet plan-error --n 100 --epsilon 1/2
    """
    from ..planning.one_report import plan_error as make

    plan = make(_count(counts.n), alpha=alpha, epsilon=epsilon, confidence=confidence, **counts.keywords())
    return Output(plan, text=str(plan))


@command("json", "csv")
def plan_reports(
    *,
    counts: PlanOptions = FOR_COUNTS,
    standard_error: Annotated[Number | None, described(PLAN_REPORTS, "standard_error")] = None,
    kantorovich: Annotated[Number | None, described(PLAN_REPORTS, "kantorovich")] = None,
    reports: Annotated[Number | None, described(PLAN_REPORTS, "reports")] = None,
    alpha: Alpha = None,
    epsilon: EpsilonText = None,
    total_variation: Annotated[Number | None, described(PLAN_REPORTS, "total_variation")] = None,
    ordered: Ordered = None,
) -> Output:
    """Find how many reports a recovery needs, or how near it comes.

    For each family, at one level. Distances are predicted; answers without an order (--names) are planned by formula, beside
    the optimum.

    Example: discreet plan-reports --n 100 --standard-error 0.1 --epsilon ln(2)/10 --prior binomial(0.3)

    Example: discreet plan-reports --n 100 --reports 100000 --epsilon 1 --neighbours any --prior binomial(0.3)

    Example: discreet plan-reports --n 299 --names --reports 100000 --epsilon 1
    """
    from ..planning.reports import plan_reports as make
    from . import terminal

    with terminal.progress("planning") as progress:
        plan = make(
            _count(counts.n),
            standard_error=standard_error,
            kantorovich=kantorovich,
            reports=reports,
            total_variation=total_variation,
            ordered=ordered,
            alpha=alpha,
            epsilon=epsilon,
            progress=progress,
            **counts.keywords(),
        )
    return Output(plan, text=str(plan))


@command("json", "csv")
def plan_tables(
    *,
    tables: Annotated[Number | None, described(PLAN_TABLES, "tables")] = None,
    standard_error: Annotated[Number | None, described(PLAN_TABLES, "standard_error")] = None,
    error: Annotated[Number | None, described(PLAN_EPSILON, "error")] = None,
    confidence: Annotated[Number | None, described(PLAN_TABLES, "confidence")] = None,
    budget: Annotated[Number, described(PLAN_TABLES, "budget")],
    delta: Annotated[Number, described(PLAN_TABLES, "delta")] = "1e-9",
    out: Picture = None,
) -> Output:
    """Find how many tables a budget pays for.

    Pure epsilon with geometric noise, beside concentrated terms (rho and delta) with Gaussian noise: how many tables an error
    allows (--error 10 --confidence 0.95, or a standard error), the error that a number of tables has, and from how many on
    concentrated terms are better. Two statistics in one release are two tables.

    Example: discreet plan-tables --tables 100 --standard-error 20 --budget 4 --delta 1e-9
    """
    from ..planning.many_tables import plan_tables as make

    check_picture(out)
    wanted = {"standard_error": standard_error, "error": error, "confidence": confidence}
    return Output(make(tables, **wanted, budget=budget, delta=delta)).drawn(out)


def _truths(n: str | None, values: str | None, edges: str | None) -> Any:
    """The true values of a design: 0..n, a list, or the cells of an interval."""
    from ..designs.cells import Cells
    from ..errors import GridError

    if sum(x is not None for x in (n, values, edges)) > 1:
        raise GridError("--n, --values and --edges each say what the true values are; give one of them.")
    if edges is not None:
        return Cells(edges.replace(",", " ").split())
    return _count(n) if values is None else values.replace(",", " ").split()


def _count(n: str | None) -> Any:
    from ..errors import GridError

    if n is None:
        raise GridError("Say how large the counts can be: give --n, for example --n 8.")
    return n


def prior_of(text: str | None) -> Any:
    """A prior as the library takes it: a name as it is, numbers as a list of texts, anything else as a file."""
    from ..errors import PriorError

    if text is None or "(" in text or text.strip().lower() == "uniform":
        return text
    if "," in text or text.replace(".", "").replace("/", "").isdecimal():
        return text.strip().strip("[]").replace(",", " ").split()
    if not Path(text).is_file():
        raise PriorError(
            f'prior {text!r} is neither known nor a file that can be read; use for example "binomial(0.3)".'
        )
    return Path(text)


def _priors(text: str | None) -> Any:
    """A set of priors: a list of them, or limits such as "x in 2..6"."""
    from ..designs.families import Priors as Set
    from ..errors import PriorError

    if text is None:
        return None
    parts = [part.strip() for part in text.split(";") if part.strip()]
    limits = [part.partition(" in ") for part in parts if " in " in part]
    if parts and not limits:
        return [prior_of(part) for part in parts]
    if not parts or len(limits) < len(parts) or any(end.count("..") != 1 for *_, end in limits):
        raise PriorError('A set is of priors alone, or of limits alone; write for example "x in 2..6; x^2 in ..20".')
    ends = [[side.strip() or None for side in end.split("..")] for *_, end in limits]
    return Set.limits([(what, *sides) for (what, *_), sides in zip(limits, ends, strict=True)])
