"""The one abstraction: a channel with its grids, level, neighbours and recipe."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .channels import Channel, Finite, Map, Ratio, Then
from .channels.contract import MATRIX_ENTRIES
from .errors import DiscreetError, FileError, GridError, PrivacyError, RemapError, SizeError
from .exact import concentrated
from .exact.arithmetic import show, show_above, show_decimal, show_rational
from .exact.grid import Grid
from .exact.level import Epsilon, Level
from .exact.names import AnswersLike, answers_of
from .exact.neighbours import Neighbours
from .present.exports import Exports
from .present.views import View
from .sampling import sample
from .seal import stochastic_table


@dataclass(frozen=True)
class Recipe:
    """How a mechanism was made: its family, what it was given, and whose idea it is. The channel itself is the truth.

    `distance` bounds the total variation, in any row, between the integers and the distribution the citation describes (or the
    remap that was given); 0 means that they are the same. `of` is the recipe of the mechanism this one post-processes.
    """

    family: str
    parameters: tuple[tuple[str, str], ...] = ()
    citation: str = ""
    distance: float = 0.0
    of: Recipe | None = None

    def __post_init__(self) -> None:
        """Plain texts, each name once: a recipe stands in files and on screens as it is."""
        parameters = tuple((plain(name), plain(text)) for name, text in self.parameters)
        if len({name for name, _ in parameters}) != len(parameters):
            raise GridError("A recipe names each of its parameters once; rename the second.")
        for name, value in (
            ("family", plain(self.family)),
            ("parameters", parameters),
            ("citation", plain(self.citation)),
            ("distance", float(self.distance)),
        ):
            object.__setattr__(self, name, value)

    @property
    def is_map(self) -> bool:
        """Does it describe a map of reports, each to one other?"""
        return self.family in ("remap", "truncate") and dict(self.parameters).get("kind") == "deterministic"

    @classmethod
    def made(
        cls, family: str, citation: str, level: Level | None = None, distance: float = 0.0, **given: object
    ) -> Recipe:
        """The recipe of a family: what was given, as texts; the level as it was asked for."""
        asked = {} if level is None else {"alpha": level.alpha} if level.asked is None else {"epsilon": level.asked}
        return cls(family, tuple((name, str(value)) for name, value in {**given, **asked}.items()), citation, distance)


class Procedure(Exports):
    """Whatever turns true values into reports: two grids, a channel between them, and the recipe it was made by.

    Mechanisms are private at a proven level; the methods of discreet.traditional claim nothing. Drawing, properties, losses,
    posteriors, recovery, pictures and files need no level, and so take both. `to_pandas()`, `to_csv()` and `to_latex()` give the
    matrix: a line for each true value, a column for each report.
    """

    inputs: Grid
    outputs: Grid
    channel: Channel
    recipe: Recipe
    neighbours: Neighbours  # between which true values privacy is looked at

    @property
    def claim(self) -> Level:
        """The level that is claimed; alpha = 0 claims nothing."""
        raise NotImplementedError

    @property
    def is_concentrated(self) -> bool:
        """Is a rho claimed and no level, as of Gaussian noise? Then only a ledger that counts in rho pays for it."""
        return False

    @property
    def privacy(self) -> str:
        """What is claimed, in words: the level, or rho where that is claimed instead."""
        return str(self.claim)

    def _check_grids(self) -> None:
        if (self.inputs.size, self.outputs.size) != (self.channel.rows, self.channel.reports):
            raise GridError(
                f"The channel has {self.channel.rows} true values and {self.channel.reports} reports, "
                f"its grids {self.inputs.size} and {self.outputs.size}."
            )
        if self.inputs.size is None and (self.inputs != self.outputs or self.channel.ends != open_ends(self.inputs)):
            raise GridError("Noise is added on one grid, and saturates where that grid ends.")

    @cached_property
    def worst(self) -> Ratio | None:
        """The largest ratio between neighbours; None where they have distances, so that ratios cannot be compared."""
        span = self.neighbours.span(self.inputs)
        if span is not None:
            return self.channel.worst(span)
        if not self.neighbours.is_plain:
            return None
        found: Ratio | None = None
        for i, k, _ in self.neighbours.demands(self.inputs):
            ratio = self.channel.ratio(i, k)
            found = ratio if found is None or _is_larger(ratio, found) else found
        return found

    def ratios(self, neighbours: Neighbours | None = None) -> Iterator[tuple[Ratio, Fraction]]:
        """The ratios that a level bounds between neighbours (its own, or others), each with the distance d at which
        alpha^-d is allowed; of neighbours without distances the largest alone."""
        told = self.neighbours if neighbours is None else neighbours
        if told == self.neighbours and self.worst is not None:
            yield self.worst, Fraction(1)
            return
        span = told.span(self.inputs)
        if span is not None:
            yield self.channel.worst(span), Fraction(1)
            return
        for i, k, distance in told.demands(self.inputs):
            yield self.channel.ratio(i, k), distance

    @property
    def sensitivity(self) -> int | None:
        """How many steps apart neighbours are at most; None where a graph or distances say who is one."""
        return self.neighbours.span(self.inputs)

    @property
    def matrix(self) -> NDArray[np.float64]:
        """The distribution as floats, read-only: rows are true values, columns reports. Refused when unbounded or too large."""
        return self.finite().matrix

    @cached_property
    def digest(self) -> str:
        """SHA-256 over what makes two mechanisms equal: distribution, grids, alpha and neighbours. A file has its own besides."""
        from .files import digest

        return digest(self)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, type(self)):
            return NotImplemented
        if self is other:
            return True
        if (self.inputs, self.outputs, self.claim.alpha) != (other.inputs, other.outputs, other.claim.alpha):
            return False
        try:
            return self.digest == other.digest
        except FileError:  # too long a sequence to be written down: equal to itself alone
            return False

    def __hash__(self) -> int:
        return hash((self.inputs, self.outputs, self.claim.alpha))

    def finite(self) -> Finite:
        """The channel, when it lies between two finite grids; an error that says what to do when it does not."""
        channel = self.channel.finite()
        if channel is None:
            raise SizeError(
                f"The reports of this mechanism are unbounded ({self.outputs}), so there is no matrix; "
                "truncate it first, for example m.truncate(0, 100)."
            )
        return channel

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the mechanism to one JSON file that verify.py can check with the standard library alone."""
        from .files import save

        save(self, path)

    def plot(self, kind: str = "channel", *, at: Any = None, loss: Any = "l1") -> Any:
        """A picture, as a chart of Altair: the "channel" as a heat map with the diagonal marked, the "distribution" of the reports
        when the truth is `at` (the middle unless you say otherwise), or the mean "loss" at each truth.

        Save it with `.save("picture.svg")`, or as .png or .pdf, or with discreet.present.plot.save as a page that needs no network.
        """
        from .measure.pictures import draw

        return draw(self, kind, at, loss)

    def _exported(self) -> View:
        reports = tuple(str(self.outputs.value(j)) for j in range(self.finite().reports))
        rows = ((self.inputs.value(i), *row) for i, row in enumerate(self.matrix.tolist()))
        return View(repr(self).strip("<>"), ("true value", *reports), tuple(rows))

    def _repr_html_(self) -> str:
        from .present.html import section
        from .present.plot import inline

        return section(View(repr(self).strip("<>"))) + inline(self.plot)

    def sample(self, values: Any, *, size: Any = None, clamp: bool = False, source: Any = None) -> Any:
        """A report for each true value: a number, list, NumPy or Arrow array or Series, and the same kind back.

        A value outside the inputs is refused and nothing is drawn, unless clamp=True moves it to the nearest end first.
        Values off the grid are rounded to it. `source` is the secure one unless you say otherwise.

        With `size`, so many independent reports of one true value, as a NumPy array. That is for studying the noise: k
        reports about one person cost k times the epsilon, or the rho.
        """
        return sample(self.channel, self.inputs, self.outputs, values, clamp, source, size)


@dataclass(frozen=True, eq=False)
class Mechanism(Procedure):
    """A channel from a grid of true values to a grid of reports, private at a proven level.

    The level holds between all true values that are `neighbours` (see discreet.exact.neighbours; a bare number is that
    many steps). It is checked here, in integers, once; the parts cannot change afterwards. Mechanisms of the same distribution,
    grids, alpha and neighbours are equal; how they were made, and as which epsilon alpha was asked for, does not count.

    >>> import discreet as dt
    >>> m = dt.geometric(2, alpha="1/2")
    >>> m.matrix.round(3).tolist()
    [[0.667, 0.167, 0.167], [0.333, 0.333, 0.333], [0.167, 0.167, 0.667]]
    >>> m.alpha, m.sample(2) in (0, 1, 2)
    (Fraction(1, 2), True)
    """

    inputs: Grid
    outputs: Grid
    channel: Channel
    level: Level
    neighbours: Neighbours
    recipe: Recipe
    certificate: Mapping[str, Any] | None = None  # of a design: see discreet.designs.certificate

    def __post_init__(self) -> None:
        self._check_grids()
        object.__setattr__(self, "neighbours", Neighbours.of(self.neighbours, self.inputs))
        claimed = Level(self.level.alpha)
        for ratio, distance in self.ratios():
            if not allows(claimed, ratio, distance):
                raise PrivacyError(
                    f"The level alpha = {self.level.alpha} does not hold between the true values "
                    f"{self.inputs.value(ratio.first)} and {self.inputs.value(ratio.second)}; claim less.",
                    witness=ratio,
                )

    @classmethod
    def tightest(
        cls, inputs: Grid, outputs: Grid, channel: Channel, neighbours: Neighbours, recipe: Recipe, level: Level
    ) -> Mechanism:
        """The mechanism at a level that it keeps anyway, or at the tight one where that is better and known exactly."""
        made = cls(inputs, outputs, channel, level, neighbours, recipe)
        worst = made.worst
        if worst is not None and worst.exact and worst.power == 1 and worst.alpha > level.alpha:
            object.__setattr__(made, "level", Level(worst.alpha))  # proved by the very ratio; nobody has seen the other
        return made

    @property
    def alpha(self) -> Fraction:
        """The claimed level, exact."""
        return self.level.alpha

    @property
    def epsilon(self) -> float:
        """The claimed level as epsilon, a float never below the truth."""
        return self.level.epsilon

    @cached_property
    def rho(self) -> Fraction:
        """The rho of zero-concentrated differential privacy that is proved between neighbours: a short rational, rounded up.

        Of Gaussian noise by its theorem, also after post-processing; else epsilon tanh(epsilon/2), the most that a level allows.
        That follows from the level alone: `check_privacy(m, rho=...)` may prove a smaller one.
        """
        told = self.concentration
        found = [] if told is None else [concentrated.of_power(*told)]
        if self.level.alpha > 0 or not found:
            found.append(concentrated.of_level(self.level))
        return min(found)

    @property
    def concentration(self) -> tuple[Fraction, int] | None:
        """(q, p) where a theorem says that neighbours keep rho = p ln(1/q), as Gaussian noise does; else None."""
        farthest = self.neighbours.farthest(self.inputs)
        return None if farthest is None else self.channel.concentration(farthest)

    @property
    def claim(self) -> Level:
        """The level: it is proved."""
        return self.level

    def to_opendp(self) -> Any:
        """The same as a measurement of OpenDP; see discreet.adapters."""
        from .adapters import to_opendp

        return to_opendp(self)

    def remap(self, targets: Any, *, outputs: AnswersLike | None = None) -> Mechanism:
        """Post-process the reports: by a function or mapping of values, a list of one value for each report, or a
        matrix of probabilities with one row for each report.

        The level is inherited, and made tight where the channel is small enough to look at every entry.
        """
        channel = self.finite()
        if isinstance(targets, Mapping):
            targets = targets.__getitem__
        if callable(targets):
            if channel.reports > MATRIX_ENTRIES:
                raise SizeError(f"A function cannot be applied to each of {channel.reports} reports; use truncate.")
            targets = [_apply(targets, self.outputs.value(j)) for j in range(channel.reports)]
        if isinstance(targets, (str, bytes)) or not hasattr(targets, "__len__"):
            raise RemapError(f"A remap is a function, a mapping, a list or a matrix, not {show(targets)}.")
        if len(targets) != channel.reports:
            raise RemapError(f"A remap needs one entry for each of the {channel.reports} reports, not {len(targets)}.")
        if np.ndim(targets[0]) == 0:
            grid = self.outputs if outputs is None else answers_of(outputs)
            places = np.array([_place(grid, t) for t in targets], dtype=np.int64)
            try:
                return self._mapped(channel.mapped(places, _size(grid)), grid)
            except (
                PrivacyError
            ):  # two maps merged into one: what was proved of the first is lost in too large a product
                return self._mapped(Then(channel, Map(places, _size(grid))), grid)
        table, distance = stochastic_table(targets)
        same = table.reports == channel.reports
        grid = answers_of(outputs) if outputs is not None else self.outputs if same else Grid(0, table.reports - 1)
        if grid.size != table.reports:
            raise RemapError(f"The remap has {table.reports} columns but the new grid {grid} has {grid.size} values.")
        return self._post(Then(channel, table), grid, Recipe("remap", (("kind", "random"),), "", distance, self.recipe))

    def then(self, other: Procedure) -> Mechanism:
        """Post-process the reports by another mechanism, or a traditional method, whose true values are these reports."""
        if procedure_of(other, RemapError).inputs != self.outputs:
            raise RemapError(f"The second mechanism takes {other.inputs} but the reports live on {self.outputs}.")
        given = {"second": other.recipe.family}
        for name, value in other.recipe.parameters:
            while name in given:  # a parameter of a parameter: then(a.then(b))
                name = f"second {name}"
            given[name] = value
        recipe = Recipe("then", tuple(given.items()), of=self.recipe)
        return self._post(Then(self.finite(), other.finite()), other.outputs, recipe)

    def truncate(self, low: object, high: object) -> Mechanism:
        """Move reports beyond low or high to that end. An unbounded mechanism becomes one on low..high."""
        if not self.outputs.is_ordered:
            raise RemapError("Names have no order, so that none lies beyond another; use remap to merge some.")
        grid = Grid(low, high, self.outputs.step)
        if ((grid.anchor - self.outputs.anchor) / grid.step).denominator != 1:
            raise RemapError(f"{low} is not on the reports' grid {self.outputs}; choose an end that is.")
        if not self.outputs.contains(grid):
            raise RemapError(f"{grid} is not inside the reports' grid {self.outputs}; truncation only narrows.")
        start, size = int((grid.anchor - self.outputs.anchor) / grid.step), _size(grid)
        if self.inputs.size is None:  # the truth keeps to the new grid as well
            recipe = Recipe("truncate", (("kind", "deterministic"), ("outputs", str(grid))), of=self.recipe)
            channel = self.channel.truncated(start, size)
            return Mechanism(grid, grid, channel, self.level, self.neighbours.within(grid), recipe)
        return self._mapped(self.channel.truncated(start, size), grid, "truncate")

    def _mapped(self, channel: Finite, grid: Grid, family: str = "remap") -> Mechanism:
        """The reports mapped, each to one other; two maps in a row are one."""
        before, family = self._before(family)
        return self._post(channel, grid, Recipe(family, (("kind", "deterministic"), ("outputs", str(grid))), of=before))

    def _before(self, family: str) -> tuple[Recipe, str]:
        """What a map of reports is made from: of two maps in a row, what the first was made from, and a name for both."""
        own = self.recipe
        if own.of is None or not own.is_map or self.channel.noise is not None:  # truncated noise is no map of reports
            return own, family
        return own.of, family if family == own.family else "remap"

    def _post(self, channel: Finite, outputs: Grid, recipe: Recipe) -> Mechanism:
        """The post-processed mechanism: the level is inherited, or the tight one where it is known exactly."""
        return Mechanism.tightest(self.inputs, outputs, channel, self.neighbours, recipe, self.level)

    @property
    def privacy(self) -> str:
        return f"rho <= {show_decimal(self.rho)}" if self.is_concentrated else super().privacy

    @property
    def is_concentrated(self) -> bool:
        return self.level.alpha == 0 and self.concentration is not None

    def __repr__(self) -> str:
        return (
            f"<{self.recipe.family} {self.inputs}"
            + (f" -> {self.outputs}" if self.outputs != self.inputs else "")
            + (
                f", {self.privacy}>"
                if self.is_concentrated
                else f", alpha {show_rational(self.alpha)}, epsilon <= {show_above(self.epsilon)}>"
            )
        )


def allows(level: Level, ratio: Ratio, distance: Fraction) -> bool:
    """Is ratio <= alpha^-distance? At distance 0 the distributions must be the same."""
    return _allows(level, ratio.alpha, ratio.power, distance)


@lru_cache(maxsize=1024)  # a matrix of distances has few different ones
def _allows(level: Level, alpha: Fraction, power: int, distance: Fraction) -> bool:
    if distance == 1:
        return level.admits(alpha, power)
    if distance == 0 or level.alpha == 1:
        return alpha == 1
    if level.alpha == 0:
        return True
    asked = level.asked or Epsilon(Fraction(1), 1 / level.alpha)
    return Epsilon(asked.factor * distance, asked.base).admits(alpha, power)


def _is_larger(ratio: Ratio, other: Ratio) -> bool:
    """Compared exactly, though both may be powers."""
    if ratio.power == other.power or {0, 1} & {ratio.alpha, other.alpha}:  # 0 and 1 are powers of themselves
        return ratio.alpha < other.alpha
    return not Epsilon(Fraction(other.power), 1 / other.alpha).admits(ratio.alpha, ratio.power)


def plain(text: object) -> str:
    """One line of printable text."""
    line = str(text)
    if not line.isprintable():
        line = "".join(c if c.isprintable() else " " for c in line)
    return " ".join(line.split())


def open_ends(grid: Grid) -> tuple[int | None, int | None]:
    """The ends of an open grid as positions: a closed one is position 0 (see Grid.anchor)."""
    return (None if grid.low is None else 0), (None if grid.high is None else 0)


def _size(grid: Grid) -> int:
    if grid.size is None:
        raise RemapError(f"New reports need a finite grid, and {grid} is open; give both ends.")
    return grid.size


def _apply(function: Callable[[Any], Any], value: Any) -> Any:
    try:
        return function(value)
    except KeyError:
        raise RemapError(f"The mapping has no entry for the report {value}; give one for each report.") from None


def _place(grid: Grid, target: object) -> int:
    """The position of a remap's target, which must be on the grid: reports are never rounded silently."""
    place = grid.place(target)
    if place is None:
        raise RemapError(
            f"The remap sends a report to {show(target)}, which is not {grid.among}; "
            "give outputs= with the grid, or the names, of the new reports."
        )
    return place


def mechanism_of(given: Any, error: type[DiscreetError] = DiscreetError) -> Mechanism:
    """A mechanism as it is; of anything else, a sentence that says how to make one."""
    read = procedure_of(given, error)
    if not isinstance(read, Mechanism):
        raise error(
            f"{read.recipe.family} is a traditional method, which is not private and has no level; take a mechanism, for "
            "example discreet.geometric."
        )
    return read


def procedure_of(given: Any, error: type[DiscreetError] = DiscreetError) -> Procedure:
    """A mechanism or a traditional method as it is; of anything else, a sentence that says how to make one."""
    if isinstance(given, Procedure):
        return given
    if isinstance(getattr(given, "mechanism", None), Mechanism):
        raise error(f"A {type(given).__name__} is no mechanism, but it has one: give its .mechanism.")
    if isinstance(given, (str, os.PathLike)):
        raise error("A text is no mechanism; of a mechanism's file give discreet.load(path).")
    rows = given[0] if isinstance(given, (list, tuple)) and given else None
    if getattr(given, "ndim", 0) == 2 or isinstance(rows, (list, tuple, np.ndarray)):
        raise error("A matrix is no mechanism yet; make one with discreet.from_matrix(matrix), and give that.")
    raise error(
        f"{show(given)} is no mechanism; make one, for example with discreet.geometric or discreet.from_matrix."
    )
