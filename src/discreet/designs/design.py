"""`design`: the best mechanism there is, for a loss, a prior and a set of properties, with a proof."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

import numpy as np

from ..channels import MAX_ENTRIES, Finite, Geometric, Map, Then
from ..channels.properties import LETTERS, letters_of, shape_faults
from ..errors import DesignError, DiscreetError, GridError, MetricError, SizeError
from ..exact.aliases import Rational
from ..exact.arithmetic import ball, float_above, show, show_above, show_below
from ..exact.grid import Grid, GridLike
from ..exact.level import Level, LevelLike
from ..exact.neighbours import Neighbours, NeighboursLike
from ..measure.description import property_letters
from ..measure.loss import Loss, LossLike, loss_name, loss_of
from ..measure.pictures import draw
from ..measure.prior import Prior, PriorLike, prior_of
from ..measure.remaps import bayes_risk, best_remap
from ..measure.utility import loss_per_value
from ..mechanism import Mechanism, Recipe
from ..mechanisms.additive import geometric
from ..present import plot
from ..present.views import Result, View, plain
from ..progress import Progress
from ..seal import seal
from . import many_steps
from .cells import Cells
from .certificate import Certificate, Dual, certify
from .families import Priors, family_of
from .interior import solve
from .problem import Floats, Problem
from .simplex import solve_whole
from .theorems import Solution, by_theorem
from .values import Values

GAP = 1e-6  # a design whose proven gap is larger is refused
_CLOSE = 1e-8  # a gap that needs no second solver
_FEW = 17  # values up to which the whole linear program is quicker in any case: see _few
_LONG = 2**12  # bits of a distribution's denominator beyond which it is sealed: its risk would be too long to write
_SETS = 401  # values up to which there are designs for sets of priors: a row of every entry for each value
_GRAPH = 128  # values up to which any graph of neighbours, or a sensitivity of several steps with properties, is solved
_STEPS = 401  # values up to which a sensitivity of several steps is solved


@dataclass(frozen=True, eq=False, repr=False)
class Design(Result):
    """A mechanism, its exact risk, and a bound that no mechanism of the same kind goes below.

    For a list of values or cells the mechanism's rows and reports are numbered from 0: `place` and `reports` say what they are.
    """

    mechanism: Mechanism
    problem: Problem
    method: str
    certificate: Certificate | None
    by_theorem: bool  # a theorem gives it, rather than a solver

    _instead = "its mechanism has one (.mechanism.to_latex(), to_csv(), to_pandas()), and to_dict() has its numbers"

    @cached_property
    def objective(self) -> float:
        """The risk of the mechanism, computed from its integers (rounded up); without a certificate a plain float."""
        if self.certificate is None:  # too large for a table: the risk of the best remap
            grid, problem = self.problem.grid, self.problem
            plain = geometric(grid, alpha=problem.level.alpha, sensitivity=grid.step)
            return float(bayes_risk(plain, problem.loss.name, problem.prior))
        return _above(self.certificate.objective)

    @cached_property
    def bound(self) -> float:
        """What no mechanism of this level with these properties goes below (rounded down; best by theorem without one)."""
        return self.objective if self.certificate is None else -_above(-self.certificate.bound)

    @property
    def gap(self) -> float:
        """How much better a mechanism could be at most, relative as Certificate.gap says; 0 where only a theorem says so."""
        return 0.0 if self.certificate is None else self.certificate.gap

    @property
    def worst_prior(self) -> Prior:
        """The prior that proves the bound: the given one, or the least favourable of the set or of the worst case."""
        return self.problem.prior if self.certificate is None else self.certificate.prior

    @property
    def reports(self) -> tuple[Fraction, ...]:
        """The reports as numbers, in the order of the mechanism's columns."""
        grid, support = self.problem.grid, self.problem.support
        return support.reports if support is not None else tuple(Fraction(grid.value(k)) for k in range(grid.size or 0))

    def sample(self, value: object, *, source: Any = None) -> Fraction:
        """One report about a true value: of a cell or a list, as a number of the same range."""
        place = value if self.problem.support is None else self.problem.support.place(value)
        drawn = self.mechanism.sample(place, source=source)
        return Fraction(drawn) if self.problem.support is None else self.reports[int(drawn)]

    def view(self) -> View:
        required = " ".join(letter for letter in LETTERS if letter in self.problem.require) or "no property required"
        kind = ("of this level", "of this level with this property", "of this level with these properties")
        others = f"no mechanism {kind[min(len(self.problem.require), 2)]}"
        return View(
            f"{self.problem.risk_name} {self.problem.loss.told} {self.objective:.9g} at {self.problem.level}, {required}; "
            + (
                "best by theorem, without a certificate; "
                if self.certificate is None
                else f"{others} is better by more than a relative gap of {show_above(self.gap, 2)}; "
            )
            + self.method
        )

    def plot(self) -> Any:
        """Two pictures: the channel (if it is not too large), and the loss at each truth beside that of the geometric
        mechanism at the level."""
        problem, m = self.problem, self.mechanism
        name, size = problem.loss.name, m.finite().rows
        losses = {"designed": loss_per_value(m, self._loss)}
        if problem.support is None and problem.neighbours.span(problem.grid) is not None:
            plain = geometric(
                problem.grid, alpha=problem.level.alpha, sensitivity=problem.grid.step * (m.sensitivity or 1)
            )
            losses["geometric"] = loss_per_value(plain, self._loss)
        values = (
            m.inputs.floats(size) if problem.support is None else np.array(problem.support.reports, dtype=np.float64)
        )
        least = f"no mechanism of this kind has less than {show_below(Fraction(self.bound), 4)}"
        finding = f"{problem.risk_name.capitalize()} {problem.loss.told} {self.objective:.4g}: {least}"
        title = f"Mean {name} at each true value"
        series = {key: (values, loss) for key, loss in losses.items()}
        curve = plot.curves(series, title, x="true value", y=f"mean {name}", points=size <= 60, zero=True, width=340)
        try:
            return plot.beside(draw(m, title="The best channel"), curve, title=finding)
        except SizeError:  # the channel has no picture, the losses have
            return plot.beside(curve, title=finding)

    @property
    def _loss(self) -> Any:
        """The loss of the problem, as measuring takes it: where it is too large to be written out, by its name."""
        return self.problem.loss if self.problem.loss.numerators.size else self.problem.loss.name

    def to_dict(self) -> dict[str, Any]:
        """What was asked, what was found and how near it is to the best; the mechanism by its level and digest."""
        m, problem = self.mechanism, self.problem
        return {
            "objective": plain(self.objective),
            "bound": plain(self.bound),
            "gap": plain(self.gap),
            "method": self.method,
            "by_theorem": self.by_theorem,
            "loss": problem.loss.name,
            "risk": problem.risk,
            "priors": None if problem.family is None else str(problem.family),
            "worst_prior": plain(self.worst_prior.floats),
            "require": sorted(problem.require),
            "alpha": str(m.alpha),
            "epsilon": plain(m.epsilon),
            "properties": property_letters(m),
            "digest": m.digest,
            **({} if problem.support is None else {"reports": [str(report) for report in self.reports]}),
        }


def design(
    n: GridLike | Sequence[Rational] | Cells,
    *,
    alpha: LevelLike | None = None,
    epsilon: LevelLike | None = None,
    loss: LossLike = "l1",
    prior: PriorLike | None = None,
    priors: Priors | Sequence[PriorLike] | None = None,
    risk: Literal["average", "worst"] = "average",
    require: Iterable[str] | str = (),
    sensitivity: Rational = 1,
    neighbours: NeighboursLike | None = None,
    among: Iterable[Any] | None = None,
    progress: Progress | None = None,
) -> Design:
    """The mechanism on 0..n (or a grid) with the least risk at a level, and a certificate that none is better.

        n            the largest count: true values and reports are 0..n. Or a Grid, a list of numbers, or Cells
        alpha        the level alpha = e^-epsilon, exactly as written. "9/10" or "0.9"
        epsilon      the level as epsilon. "0.5", "1/3" or "ln(2)/10"
        loss         what a wrong report costs. "l0", "l1", "l2" and others (docs/design.md)
        prior        what is publicly known about the truth. By default all true values are equally likely
        priors       instead of one prior a set. A list stands for all mixtures of its priors, and Priors has limits of moments;
                     the risk is then the largest mean loss under any prior of the set
        risk         mean loss under the prior, or of the worst truth. "average" or "worst", the largest mean loss of a true value
        among        with `risk` worst: the truths that are possible
        require      properties that must hold. {"WH", "CM"} (see `properties`)
        sensitivity  how much one person can change the answer, in its units; by default 1
        neighbours   between which values the level holds. A number of steps, "any" two, a graph or a list of pairs; by default
                     all at most the sensitivity apart

    A list of numbers need not be equally spaced. Cells (see discreet.designs) cut an interval of real answers: two of them are
    neighbours when some number of one lies within the sensitivity of some number of the other, and the risk is what real
    answers cost at most. The result is sealed: level and properties hold on its integers, its risk is theirs.

    >>> import discreet as dt
    >>> d = dt.design(4, alpha="9/10", loss="l0", require={"F"})
    >>> round(d.objective * 5 / 4, 6), d.gap < 1e-9        # rescaled as in the paper: EM
    (0.967195, True)
    """
    problem = _problem(n, alpha, epsilon, loss, prior, priors, risk, require, sensitivity, neighbours, among)
    if problem is None:
        return _huge(Grid.of(n), Level.of(alpha=alpha, epsilon=epsilon), loss, prior)
    known = by_theorem(problem)
    made = None if known is None else _sealed(problem, known)
    if made is None or made.gap > _CLOSE:
        made = _solved(problem, problem.loss.floats, progress)
    if made.gap > GAP:
        raise DesignError(
            f"The solver came no closer to the best than a relative gap of {made.gap:.2g}, so nothing is returned; "
            "try a coarser grid or a level further from 0 and 1.",
            gap=made.gap,
        )
    return made


def _problem(
    n: Any,
    alpha: Any,
    epsilon: Any,
    loss: Any,
    prior: Any,
    priors: Any,
    risk: Any,
    require: Any,
    sensitivity: Any,
    neighbours: Any,
    among: Any,
) -> Problem | None:
    """The problem in exact numbers; None when it is too large for a table but a theorem may answer it."""
    values_or_cells = _values_or_cells(n)
    level = Level.of(alpha=alpha, epsilon=epsilon)
    grid = Grid.of(n) if values_or_cells is None else Grid.of(values_or_cells.size - 1)
    if grid.size is None:
        raise GridError(f"A design needs a finite grid, not {grid}; give both ends.")
    letters = letters_of(require)
    if risk not in ("average", "worst"):
        raise DesignError(f'risk = {show(risk)} is not known; use "average" or "worst".')
    if risk == "worst" and prior is not None:
        raise DesignError("The worst case has no prior; leave it out, or use among=[...] for what is known.")
    if priors is not None and (prior is not None or risk == "worst"):
        other = "prior" if prior is not None else 'risk="worst"'
        raise DesignError(f"A set of priors has its own worst case; leave out {other}, or priors.")
    if risk == "average" and among is not None:
        raise DesignError('among goes with risk="worst"; for the average give the prior {value: probability}.')
    support = None
    if values_or_cells is None:
        between = _given_neighbours(grid, sensitivity, neighbours)
    else:
        if priors is not None:
            raise DesignError("Sets of priors are designed for on grids alone; give one prior, or a grid.")
        if grid.size > _STEPS:
            raise SizeError(f"Designs for {values_or_cells} are too large; give at most {_GRAPH} of them.")
        support = values_or_cells.stated(loss, prior, risk, sensitivity, neighbours)
        between = support.neighbours
    plain = between.span(grid) == 1
    if grid.size**2 > MAX_ENTRIES:
        if letters or risk == "worst" or priors is not None or not plain:
            raise SizeError(
                "Beyond n = 1023 only the average risk under one prior is designed, without properties and for neighbours "
                "one step apart; "
                "use a coarser grid."
            )
        return None
    if not plain and between.span(grid) is None and grid.size > _GRAPH:
        raise SizeError(
            f"Designs for a graph of neighbours go up to {_GRAPH} values, not {grid.size}; use a coarser grid."
        )
    if not plain and grid.size > _STEPS:
        raise SizeError(
            f"Designs for a sensitivity of several steps go up to {_STEPS} values, not {grid.size}; use a coarser grid."
        )
    if priors is not None and grid.size > _SETS:
        raise SizeError(f"Designs for sets of priors go up to {_SETS} values, not {grid.size}; use a coarser grid.")
    values = tuple(range(grid.size)) if among is None else _values(values_or_cells or grid, among)
    if support is None:
        asked = Problem(grid, level, loss_of(loss, grid, grid), prior_of(prior, grid), risk, values, letters, between)
    else:
        asked = Problem(grid, level, support.loss, support.prior, risk, values, letters, between, support=support)
    if priors is not None:
        family = family_of(priors, grid)
        asked = replace(asked, risk="family", among=family.support, family=family)
    if not 1e-15 < float(level.alpha) < 1 - 1e-12:
        raise DesignError(
            f"alpha = {show(float(level.alpha))} is too near 0 or 1 for a design; use geometric, or another level."
        )
    if asked.loss.numerators.max() > 10**100 * asked.loss.denominator:
        raise DesignError("The largest loss is beyond 1e100; measure it in larger units.")
    if not plain and grid.size > _GRAPH and not many_steps.suits(asked):
        raise SizeError(
            f"Designs with properties for a sensitivity of several steps go up to {_GRAPH} values, not {grid.size}; "
            "leave the properties out, or use a coarser grid."
        )
    if "S" in letters and not asked.has_mirrored_neighbours:
        raise DesignError("S needs neighbours that turning the grid around leaves as they are; change the graph.")
    return asked


def _values_or_cells(n: Any) -> Values | Cells | None:
    """True values that are no grid: a list, or cells."""
    if isinstance(n, Cells):
        return n
    is_list = isinstance(n, (list, tuple, range)) or getattr(n, "ndim", 0) == 1
    return Values(n) if is_list else None


def _values(among_what: Grid | Values | Cells, among: Iterable[Any]) -> tuple[int, ...]:
    try:
        places = {among_what.place_of(value, "among: the value", DesignError) for value in among}
    except TypeError:
        raise DesignError(f"among = {show(among)} is no list of values; name values of the grid.") from None
    if not places:
        raise DesignError("among is empty: the worst case needs at least one value; name some, or leave it out.")
    return tuple(sorted(places))


def _given_neighbours(grid: Grid, sensitivity: Any, neighbours: Any) -> Neighbours:
    """The neighbours that were given, in their shortest form: none of them has a distance of its own."""
    if neighbours is None:
        return Neighbours.steps(grid.steps(sensitivity))
    if sensitivity != 1 and grid.steps(sensitivity) != 1:
        raise DesignError("Neighbours say themselves how far apart they are; leave out the sensitivity.")
    try:
        between = Neighbours.of(neighbours, grid).reduced(grid)
        if not between.is_plain:
            between.places(grid)
        return between
    except MetricError as error:
        raise DesignError(f"neighbours: {error}") from None


def _sealed(problem: Problem, solution: Solution) -> Design:
    """The design as integers, with the certificate that its multipliers give."""
    channel, distance = solution.channel, 0.0
    matrix, require = solution.matrix, problem.require
    if problem.is_mirrored:  # symmetry is free: let it not be lost in rounding
        matrix, require = (matrix + matrix[::-1, ::-1]) / 2, require | {"S"}
    exact = None if channel is None else channel.integers()
    if (
        channel is None
        or exact is None
        or exact[1].bit_length() > _LONG
        or (problem.require and shape_faults(*exact, problem.require))
    ):
        sealed = seal(matrix, problem.level, require, problem.neighbours, Fraction(1, 10**6), problem.grid)
        channel, distance, exact = sealed.table, sealed.distance, sealed.table.integers()
    certificate = certify(problem, solution.dual, *exact)
    made = _mechanism(problem, channel, distance, certificate)
    return Design(made, problem, solution.method, certificate, solution.by_theorem)


def _mechanism(problem: Problem, channel: Finite, distance: float, certificate: Certificate | None) -> Mechanism:
    recipe = Recipe.made("design", "", problem.level, distance, grid=problem.grid, **problem.describe())
    proof = None if certificate is None else certificate.document()
    return Mechanism(problem.grid, problem.grid, channel, problem.level, problem.neighbours, recipe, proof)


def _solved(problem: Problem, loss: Floats, progress: Progress | None, proof: Dual | None = None) -> Design:
    """The design by the solver that suits the size; by the other one too, where the first comes out poor."""
    ways: list[Callable[[], Solution]] = [lambda: solve(problem, loss, progress), lambda: solve_whole(problem, loss)]
    best, failed = None, None
    whole_first = problem.size <= _few(problem)
    ways = ways[::-1] if whole_first else ways[: 2 if problem.size <= _GRAPH else 1]
    if not whole_first and many_steps.suits(problem):
        ways = [lambda: many_steps.solve(problem, loss, progress), *(ways if problem.size <= _GRAPH else [])]
    for way in ways:
        try:
            solution = way()
            found = _sealed(problem, solution if proof is None else replace(solution, dual=proof))
        except DiscreetError as error:  # let the other solver try
            failed = error
            continue
        if best is None or found.gap < best.gap:
            best = found
        if best.gap <= _CLOSE:
            break
    if best is None:
        assert failed is not None  # at least one solver was tried
        raise failed
    return best


def _few(problem: Problem) -> float:
    """Up to how many values the simplex method is quicker, as benchmarks/design.py finds: more where neighbours are one step apart,
    where entries fall steeply, and with CM, of which the interior point has dense blocks."""
    if not problem.is_path:
        return _FEW
    alpha = float(problem.level.alpha)
    if problem.risk != "average":
        return 2 * _FEW if alpha <= (0.9 if "F" in problem.require else 0.7) else 1.5 * _FEW
    if "CM" in problem.require and alpha <= 0.9:
        return min(8 * _FEW, _GRAPH) if alpha <= 0.6 else 6 * _FEW
    return 4 * _FEW if alpha <= 0.9 else 2 * _FEW


def ties_broken(best: Design, loss: str) -> Design:
    """Among the best mechanisms of a problem that requires symmetry, one that is best for a second, symmetric loss.

    A little of the second loss is added to the first. When it is little enough the solution is still best for the
    first, which the certificate of the first proves. Solvers fold the program of a problem that is its own mirror image;
    with symmetry required of the mechanism, and a loss that is its own mirror image too, that leaves out nothing.
    """
    assert best.certificate is not None
    problem = replace(best.problem, then=loss)
    first, second = problem.loss.floats, loss_of(loss, problem.grid, problem.grid)
    assert "S" in problem.require
    assert second.is_symmetric
    scale = (float(first.max()) or 1.0) / float(second.floats.max())
    for share in (1e-3, 1e-4, 1e-5, 1e-6):
        found = _solved(problem, first + share * scale * second.floats, None, best.certificate.dual())
        if found.gap <= max(_CLOSE, 10 * best.gap):
            return found
    return best


def _huge(grid: Grid, level: Level, loss: Any, prior: Any) -> Design:
    """Beyond the size of tables: the geometric mechanism and the best remap, by the theorem of Ghosh et al. 2009."""
    if loss_name(loss) not in ("l0", "l1", "l2"):
        raise SizeError(
            f'Designs beyond n = 1023 are made for the losses "l0", "l1" and "l2" alone, not for {show(loss)}; '
            "use one of them, or a coarser grid."
        )
    loss = loss_name(loss)
    law, places = prior_of(prior, grid), Grid.of(grid.n or 0)
    channel: Finite = Geometric(grid.n or 0, level.alpha)
    remap = np.array(best_remap(geometric(places, alpha=level.alpha), loss, law), dtype=np.int64)
    stays = np.array_equal(remap, np.arange(grid.size or 0))
    channel = channel if stays else Then(channel, Map(remap, grid.size or 0))
    recipe = Recipe.made("design", "", level, grid=grid, loss=loss, risk="average", require="none", prior=str(law))
    made = Mechanism(grid, grid, channel, level, Neighbours.steps(1), recipe)
    tiny = Loss(loss, np.zeros((0, 0), dtype=np.int64), 1)  # named only: written out it would not fit
    problem = Problem(grid, level, tiny, law)
    name = "the geometric mechanism" if stays else "geometric and the best remap"
    return Design(made, problem, f"{name} (Ghosh et al. 2009)", None, by_theorem=True)


def _above(x: Fraction) -> float:
    return 0.0 if x == 0 else float_above(lambda: ball(x))
