"""Laws that are mixtures of a few bumps, drawn from their posterior by annealed sequential Monte Carlo.

A law is sum_k w_k K_h(c_k, .): bumps with places c_k, weights w_k and widths h_k. A bump is a heat kernel exp(-h^2/2 L) on
the line of true values, with L the Laplacian of a path: a bell that the ends reflect, positive, with columns that sum to
1 as well as rows. Width 0 is a single value, width infinity the uniform law. So spiky, smooth and flat laws are all
simple here, and which of them explains the reports is a matter of evidence.

Prior: the number of bumps is geometric; places are uniform, except that the two ends count for less, since steps
reflect there; weights are those of independent Exp(1) masses (a flat Dirichlet law); widths come from a Pólya urn, so
that the bumps of one law tend to be alike.

Chains run side by side in strata, in which every width is at least a given one: smooth laws are then seen as well as
spiky ones, and each stratum's evidence weighs it. The likelihood is raised to a power that grows from 0 to 1 as fast as the
chains can follow (annealing), and at each stage chains are copied or dropped by their weight (sequential Monte Carlo;
Del Moral, Doucet and Jasra 2006). Births and deaths of bumps change their number (Green 1995). This is analysis: the
draws come from a NumPy generator and protect no one.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..progress import Progress, tell
from .likelihood import Floats

Indices = NDArray[np.int64]
Truths = NDArray[np.bool_]

USUAL = 101  # true values of the grid on which the widths below are meant; they grow with larger grids
WIDTHS = (0.0, 0.7, *(2 ** (i / 4) for i in range(21)), math.inf)
STRATA = (0.0, 2.0, 4.7)  # the least width of a stratum's bumps: anything, smooth, very smooth
CHAINS = 24  # in each stratum
BURNED = 3000  # steps in which the power of the likelihood reaches 1
KEPT = 1500  # steps after them, from which draws are taken
STEPS = BURNED + KEPT

_MOST_BUMPS = 12
_MORE_BUMPS = 0.8  # chance of one bump more, a priori
_SPIKE, _FLAT = 0.75, 0.15  # chances of the widths 0 and infinity; all others share the rest
_FRESH = 1.0  # weight of a fresh width against those already in the urn
_STAGE = 25  # steps between two rises of the power
_EFFECTIVE = 0.6  # a rise keeps at least this part of every stratum's chains effective
_RESTART = 400  # steps between two looks for stuck chains, once the power is 1
_STUCK = 12.0  # nats below its stratum's median at which a chain counts as stuck
_REFRESH = 200  # steps after which sums are made anew, against rounding
_EVERY = 25  # steps between two draws
_TINY = 1e-300  # in place of a chance of 0, whose logarithm is no number


class Draws(NamedTuple):
    """What the chains saw: arrays over draws and chains, the chains sorted by stratum."""

    weights: Floats  # draws x chains x bumps; 0 where there is no bump
    codes: Indices  # the same shape: width * (number of places) + place
    likelihoods: Floats  # draws x chains: the log-likelihood of all reports
    bumps: Indices  # draws x chains: their number
    evidence: Floats  # of each stratum: the log of the likelihood's mean under the prior


def shapes(size: int, widths: Floats) -> Floats:
    """Bumps of every width at every place: widths x places x true values. Each is a law."""
    index = np.arange(size)
    waves = np.cos(np.pi * (index[:, None] + 0.5) * index / size) * np.sqrt(2 / size)
    waves[:, 0] /= np.sqrt(2)
    decay = 2 - 2 * np.cos(np.pi * index / size)  # the eigenvalues of the Laplacian
    bumps = np.empty((len(widths), size, size))
    for k, width in enumerate(widths):
        if width == 0:
            bumps[k] = np.eye(size)
        elif math.isinf(width):
            bumps[k] = 1 / size
        else:
            bumps[k] = np.maximum((waves * np.exp(-width * width / 2 * decay)) @ waves.T, 0)
        bumps[k] /= bumps[k].sum(axis=1, keepdims=True)
    return bumps


def width_chances(widths: Floats, limits: tuple[float, ...]) -> Floats:
    """The prior chance of each width in each stratum: strata x widths."""
    chances = np.zeros((len(limits), len(widths)))
    for row, least in zip(chances, limits, strict=True):
        allowed = widths >= least
        row[allowed] = 1
        row[0] = row[-1] = 0
        row /= row.sum()
        row *= 1 - _FLAT - (_SPIKE if allowed[0] else 0)
        row[-1] = _FLAT
        if allowed[0]:
            row[0] = _SPIKE
        row /= row.sum()
    return chances


class _Proposal(NamedTuple):
    """For each chain a bump to put in a slot, what the law would be then, and the log of its prior chance over today's."""

    slot: Indices
    width: Indices
    place: Indices
    mass: Floats
    implied: Floats
    total: Floats
    prior: Floats
    possible: Truths
    more: Indices  # bumps more than before


class Sampler:
    """All chains at once. A state is a set of bumps with masses that need not sum to 1; an empty slot has mass 0.

    `pushed` has the chances of the reports seen for every bump (widths x places x reports), `counts` how often each was
    seen.
    """

    def __init__(
        self, pushed: Floats, widths: Floats, limits: tuple[float, ...], counts: Floats, rng: np.random.Generator
    ) -> None:
        self.kinds, self.places = pushed.shape[:2]
        self.strata, self.counts, self.reports, self.rng = len(limits), counts, counts.sum(), rng
        self.table = np.ascontiguousarray(pushed.reshape(self.kinds * self.places, -1))
        chains = self.strata * CHAINS
        stratum = np.repeat(np.arange(self.strata), CHAINS)
        chances = width_chances(widths, limits)
        self.chains = np.arange(chains)
        self.below = np.cumsum(chances, axis=1)[stratum]
        self.urn = _FRESH * chances[stratum]
        self.least = np.array([np.argmax(widths >= limit) for limit in limits])[stratum]
        # Every chain starts with one flat bump, which calls no report impossible.
        self.width = np.full((chains, _MOST_BUMPS), self.kinds - 1)
        self.place = rng.integers(self.places, size=(chains, _MOST_BUMPS))
        self.mass = np.zeros((chains, _MOST_BUMPS))
        self.mass[:, 0] = 1
        self.number = np.ones(chains, dtype=np.int64)
        self.power, self.evidence = 0.0, np.zeros(self.strata)
        self._refresh()

    def run(self, progress: Progress | None = None) -> Draws:
        """Burn in, then draw."""
        seen: list[tuple[Floats, Indices, Floats, Indices]] = []
        for step in range(STEPS):
            if step and step % _STAGE == 0 and self.power < 1:
                self._keep(self._anneal(step))
            elif step and step % _RESTART == 0 and step <= BURNED:
                self._keep(self._restart())
            if step % _REFRESH == 0:
                self._refresh()
            if step % 500 == 0:
                tell(progress, f"step {step} of {STEPS}, likelihood to the power {self.power:.2g}")
            self._accept(self._birth_or_death() if step % 4 == 3 else self._move(step % 4))
            if step >= BURNED and step % _EVERY == 0:
                weights = self.mass / self.mass.sum(axis=1, keepdims=True)
                codes = self.width * self.places + self.place
                seen.append((weights, codes, self.likelihood.copy(), self.number.copy()))
        weights, codes, likelihoods, bumps = (np.array(part) for part in zip(*seen, strict=True))
        return Draws(weights, codes, likelihoods, bumps, self.evidence)

    def _refresh(self) -> None:
        """The sums over bumps, from scratch."""
        codes = self.width * self.places + self.place
        self.implied = np.maximum(np.einsum("bk,bkj->bj", self.mass, self.table[codes]), _TINY)
        self.total = self.mass.sum(axis=1)
        self.likelihood = self._value(self.implied, self.total)

    def _value(self, implied: Floats, total: Floats) -> Floats:
        return np.asarray(np.log(implied) @ self.counts - self.reports * np.log(total))

    # Annealing

    def _anneal(self, step: int) -> Indices:
        """Raise the power as far as the chains can follow, and choose by their weights the chains to go on with."""
        value = self.likelihood.reshape(self.strata, CHAINS)
        below = value - value.max(axis=1, keepdims=True)
        power = self._next_power(below, step)
        weights = np.exp((power - self.power) * below)
        self.evidence += np.log(weights.mean(axis=1)) + (power - self.power) * value.max(axis=1)
        self.power = power
        chosen = self.chains.copy()
        for k in range(self.strata):  # systematic resampling
            reach = np.cumsum(weights[k])
            at = (self.rng.random() + np.arange(CHAINS)) / CHAINS * reach[-1]
            chosen[k * CHAINS : (k + 1) * CHAINS] = k * CHAINS + np.minimum(np.searchsorted(reach, at), CHAINS - 1)
        return chosen

    def _next_power(self, below: Floats, step: int) -> float:
        def effective(power: float) -> float:
            weights = np.exp((power - self.power) * below)
            return float((weights.sum(axis=1) ** 2 / (weights * weights).sum(axis=1)).min()) / CHAINS

        if step >= BURNED - _STAGE or effective(1.0) >= _EFFECTIVE:
            return 1.0
        low, high = self.power, 1.0
        for _ in range(30):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if effective(middle) >= _EFFECTIVE else (low, middle)
        if self.power == 0:
            return low
        # never behind a geometric schedule that ends in time
        due = self.power * float((1 / max(self.power, 1e-12)) ** (_STAGE / (BURNED - step)))
        return max(low, min(1.0, due))

    def _restart(self) -> Indices:
        """Chains that are stuck far below their stratum go on from others of it."""
        value = self.likelihood.reshape(self.strata, CHAINS)
        chosen = self.chains.copy()
        for k in range(self.strata):
            stuck = value[k] - value[k].max() < np.median(value[k] - value[k].max()) - _STUCK
            if stuck.any():
                chosen[k * CHAINS : (k + 1) * CHAINS][stuck] = k * CHAINS + self.rng.choice(
                    np.flatnonzero(~stuck), int(stuck.sum())
                )
        return chosen

    def _keep(self, chosen: Indices) -> None:
        self.width, self.place, self.mass = self.width[chosen], self.place[chosen], self.mass[chosen]
        self.implied, self.total = self.implied[chosen], self.total[chosen]
        self.likelihood, self.number = self.likelihood[chosen], self.number[chosen]

    # Steps

    def _move(self, turn: int) -> _Proposal:
        """Another place and width (turn 0), another mass (1), or both (2), for one bump of each chain."""
        rng, count, active = self.rng, len(self.chains), self.mass > 0
        slot = np.asarray((rng.random(active.shape) * active).argmax(axis=1))
        mass, width, place = (part[self.chains, slot] for part in (self.mass, self.width, self.place))
        new_mass, new_width, new_place, prior = mass, width, place, np.zeros(count)
        which = rng.random(count)
        if turn != 1:
            # steps of every size, from one place to half of all; the ends reflect
            far = np.rint(rng.standard_normal(count) * np.exp(rng.random(count) * np.log(self.places / 2))).astype(int)
            new_place = np.abs(place + np.where(which < 0.85, far, 0))
            new_place = np.where(new_place > self.places - 1, 2 * (self.places - 1) - new_place, new_place)
            new_place = new_place.clip(0, self.places - 1)
            new_width = width + rng.integers(-4, 5, size=count) * (which > 0.4)
            new_width = np.where((new_width < self.least) | (new_width >= self.kinds), width, new_width)
            prior = self._urn_ratio(width, new_width, active)
        if turn != 0:
            new_mass = mass * np.exp(rng.standard_normal(count) * np.exp(rng.random(count) * 4.5 - 4))
            if turn == 2:
                new_mass = np.where(which > 0.7, new_mass, mass)
            prior = prior + np.log(new_mass / mass) - (new_mass - mass)  # Exp(1), and a step on the log's scale
        implied = self.implied + new_mass[:, None] * self.table[new_width * self.places + new_place]
        implied = implied - mass[:, None] * self.table[width * self.places + place]
        total = self.total + new_mass - mass
        always, none = np.ones(count, dtype=bool), np.zeros(count, dtype=np.int64)
        return _Proposal(slot, new_width, new_place, new_mass, implied, total, prior, always, none)

    def _urn_ratio(self, width: Indices, new_width: Indices, active: Truths) -> Floats:
        """The log of the urn's chance of the new width over that of the old one, given all other bumps."""
        same_new = ((self.width == new_width[:, None]) & active).sum(axis=1)
        same_old = ((self.width == width[:, None]) & active).sum(axis=1)
        ratio = (same_new + self.urn[self.chains, new_width]) / np.maximum(
            same_old - 1 + self.urn[self.chains, width], _TINY
        )
        return np.where(new_width != width, np.log(ratio), 0.0)

    def _birth_or_death(self) -> _Proposal:
        """A new bump drawn from the prior, or one bump less; of what the prior says, only the number's chance is left."""
        rng, count, active = self.rng, len(self.chains), self.mass > 0
        birth = rng.random(count) < 0.5
        key = rng.random(active.shape)
        key[active == birth[:, None]] = -1
        slot = np.asarray(key.argmax(axis=1))
        possible = np.where(birth, self.number < _MOST_BUMPS, self.number > 1)
        mass, fresh = self.mass[self.chains, slot], rng.exponential(size=count)
        like = (rng.random(active.shape) * active).argmax(axis=1)
        width = np.minimum((self.below < rng.random(count)[:, None]).sum(axis=1), self.kinds - 1)
        width = np.where(rng.random(count) < _FRESH / (self.number + _FRESH), width, self.width[self.chains, like])
        width = np.where(birth, width, self.width[self.chains, slot])
        place = np.where(birth, rng.integers(self.places, size=count), self.place[self.chains, slot])
        change = np.where(birth, fresh, -mass)
        implied = self.implied + change[:, None] * self.table[width * self.places + place]
        prior = np.where(birth, np.log(_MORE_BUMPS), -np.log(_MORE_BUMPS))
        new_mass, more = np.where(birth, fresh, 0.0), np.where(birth, 1, -1)
        return _Proposal(slot, width, place, new_mass, implied, self.total + change, prior, possible, more)

    def _accept(self, new: _Proposal) -> None:
        """Metropolis-Hastings."""
        implied = np.maximum(new.implied, _TINY)
        likelihood = self._value(implied, np.maximum(new.total, _TINY))
        gain = self.power * (likelihood - self.likelihood) + new.prior
        taken = np.flatnonzero(new.possible & (np.log(self.rng.random(len(self.chains))) < gain))
        slot = new.slot[taken]
        self.width[taken, slot], self.place[taken, slot] = new.width[taken], new.place[taken]
        self.mass[taken, slot] = new.mass[taken]
        self.implied[taken], self.total[taken] = implied[taken], new.total[taken]
        self.likelihood[taken] = likelihood[taken]
        self.number[taken] += new.more[taken]
