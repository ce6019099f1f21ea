"""The field and its atoms: derivatives against differences, evidence against integration, heaps and gains by hand."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad

import discreet as dt
from discreet.recovery.field import SCALES, Fitted, Search, _Data, _fit, _Model, heaps_of

CHANNELS = [
    dt.geometric(12, alpha="2/3").finite(),
    dt.randomized_response(7, epsilon=1).finite(),
    dt.explicit_fair(9, alpha="1/2").finite(),
]


def counts_of(channel, number=5000, seed=1):
    law = np.random.default_rng(seed).dirichlet(np.ones(channel.rows))
    return np.random.default_rng(seed).multinomial(number, channel.push(law))


@pytest.mark.parametrize("channel", CHANNELS, ids=repr)
@pytest.mark.parametrize("atoms", [(), (2,), (0, 5)])
def test_slopes_are_derivatives(channel, atoms):
    data = _Data(channel, counts_of(channel))
    model = _Model(data, 1.0, 1.0, atoms)
    theta = np.random.default_rng(3).normal(size=model.size) / 2
    _, shares, chances = model.value(theta)
    slopes, step = model.slopes(shares, chances), 1e-6
    for k in range(model.size):
        up, down = (model.value(theta + sign * step * np.eye(model.size)[k])[2] for sign in (1, -1))
        np.testing.assert_allclose(slopes[k], (up - down) / (2 * step), atol=1e-8)
    law = model.law(shares)
    assert law.sum() == pytest.approx(1)
    np.testing.assert_allclose(channel.push(law), chances, rtol=1e-12)


@pytest.mark.parametrize("channel", CHANNELS, ids=repr)
@pytest.mark.parametrize("atoms", [(), (0, 5)])
def test_the_matrix_of_a_channel_and_its_own_ways_give_the_same(channel, atoms, monkeypatch):
    theta, found = None, []
    for most in (2**14, 0):
        monkeypatch.setattr("discreet.recovery.field._PRODUCTS", most)
        model = _Model(_Data(channel, counts_of(channel)), 1.0, 1.0, atoms)
        theta = np.random.default_rng(3).normal(size=model.size) if theta is None else theta
        value, shares, chances = model.value(theta)
        found.append((value, chances, model.slopes(shares, chances)))
        assert (model._matrix is None) == (most == 0)
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-15)


@pytest.mark.parametrize("atoms", [(), (2,), (0, 5)])
def test_a_fit_starts_from_the_field_and_the_atoms_of_another(atoms):
    """Field, level and heights of any parameters lead back to these; what no field reaches is cut at 4 deviations."""
    data = _Data(CHANNELS[0], counts_of(CHANNELS[0]))
    model = _Model(data, 1.0, 2.0, atoms)
    theta = np.random.default_rng(4).normal(size=model.size)
    values = theta[: len(model.waves)] @ model.waves
    before = Fitted(1.0, 2.0, atoms, theta, data.flat, 0.0, np.zeros(len(atoms)), values)
    np.testing.assert_allclose(model.start(values, before.level, before.heights.values()), theta, atol=1e-12)
    far = model.start(1000 * values, before.level, before.heights.values())
    np.testing.assert_allclose(far[: len(model.waves)], 4 * np.sign(theta[: len(model.waves)]))


def test_a_fit_is_a_maximum():
    channel = CHANNELS[0]
    data = _Data(channel, counts_of(channel))
    model = _Model(data, 2.0, 4.0, (3,))
    fitted, _, _ = _fit(data, model, model.start(heights=[-2.0]))
    top = model.value(fitted.parameters)[0]
    rng = np.random.default_rng(5)
    around = [model.value(fitted.parameters + 0.05 * rng.normal(size=model.size))[0] for _ in range(50)]
    assert max(around) < top + 0.02
    assert min(around) < top - 0.01  # and it does fall


def test_the_evidence_is_the_integral_of_the_likelihood():
    """Two values have one wave: the integral over its coefficient can be done by quadrature."""
    channel = dt.geometric(1, alpha="1/2").finite()
    counts = np.array([550, 450])
    data = _Data(channel, counts)
    model = _Model(data, 1.0, 1.0, ())
    assert model.size == 1
    fitted, _, _ = _fit(data, model, model.start())
    top = model.value(fitted.parameters)[0]
    whole, _ = quad(
        lambda z: math.exp(model.value(np.array([z]))[0] - top), -8, 8, points=[float(fitted.parameters[0])]
    )
    assert fitted.evidence == pytest.approx(top + math.log(whole / math.sqrt(2 * math.pi)), abs=0.02)


def test_the_gain_of_an_atom_is_about_what_it_brings():
    """Where the reports speak for one, the promise and the evidence agree in sign; where they do not, both refuse."""
    channel = dt.geometric(40, epsilon="1/2").finite()
    place = np.arange(41)
    bell = np.exp(-0.5 * ((place - 20) / 5) ** 2)
    bell /= bell.sum()
    for mass, wanted in ((0.2, True), (0.0, False)):
        law = (1 - mass) * bell
        law[32] += mass
        search = Search(channel, np.round(20_000 * channel.push(law)).astype(np.int64))
        now = search.fit(2.0, 8)
        gains, sizes = search._gains(now, (2.0, 8, ()))
        best = int(gains.argmax())
        assert (gains[best] > 0) == wanted
        if wanted:
            assert best == 32
            then = search.fit(2.0, 8, (32,), now, {32: math.log(sizes[32]) + now.log_whole})
            assert then.evidence > now.evidence
            assert then.masses[0] == pytest.approx(0.2, abs=0.02)


def test_the_gain_of_an_atom_is_its_formula():
    """D^2/2V - log(1+V)/2 - log(n+1), with D from the definition and V = D over the mass."""
    channel = dt.geometric(12, alpha="2/3").finite()
    counts = np.round(3000 * channel.matrix[9] + 2000 * channel.matrix.mean(axis=0))
    search = Search(channel, counts.astype(np.int64))
    now = search.fit(2.0, 4)
    gains, masses = search._gains(now, (2.0, 4, ()))
    slope = channel.matrix @ (counts / (now.law @ channel.matrix)) - counts.sum()
    assert (np.isneginf(gains) == (slope <= 0)).all()
    inner = (slope > 0) & (masses < 1)
    assert inner.sum() >= 2
    information = slope[inner] / masses[inner]
    expected = slope[inner] ** 2 / (2 * information) - np.log1p(information) / 2 - math.log(13)
    np.testing.assert_allclose(gains[inner], expected)


def test_the_best_model_with_atoms_counts_unless_it_is_far_behind():
    channel = dt.geometric(12, alpha="2/3").finite()
    search = Search(channel, np.round(5000 * (channel.matrix[9] + channel.matrix.mean(axis=0)) / 2).astype(np.int64))
    plain = search.fit(2.0, 7)
    assert search._best_with_atoms() is None
    right, wrong = search.fit(2.0, 7, (9,), plain), search.fit(2.0, 7, (2,), plain)
    assert right.evidence > max(plain.evidence, wrong.evidence)
    assert search._best_with_atoms() is right
    search.best = replace(plain, evidence=right.evidence + 1000)
    assert search._best_with_atoms() is None


def test_heaps_are_cut_at_valleys():
    law = np.zeros(30)
    law[[3, 4, 5]] = 0.1, 0.2, 0.1
    law[20], law[28] = 0.5, 0.1
    assert heaps_of(law) == ([4, 20, 28], pytest.approx([0.4, 0.5, 0.1]))
    assert heaps_of(law, most=2)[0] == [4, 20]


def test_the_average_weighs_models_by_their_evidence():
    channel = CHANNELS[0]
    search = Search(channel, counts_of(channel))
    search.run(None)
    law, weights, models = search.law()
    assert weights.sum() == pytest.approx(1)
    assert law.sum() == pytest.approx(1)
    assert all(a.evidence >= b.evidence for a, b in pairwise(models))
    assert weights[1] / weights[0] == pytest.approx(math.exp(models[1].evidence - models[0].evidence))
    assert {m.scale for m in models} <= set(SCALES)


@pytest.mark.parametrize(
    ("m", "histogram"),
    [
        (dt.geometric(20, alpha="1/10"), [0] * 20 + [10**15]),
        (dt.geometric(20, alpha="9/10"), [10**14 * (k % 2 == 0) for k in range(21)]),
        (dt.geometric(100, alpha="999999/1000000"), [10**12] * 101),
        (dt.from_matrix(np.eye(21), neighbours=1), [0] * 20 + [10**15]),
    ],
    ids=["end", "comb", "flat", "truth"],
)
@pytest.mark.filterwarnings("error")
def test_very_many_reports_give_a_law(m, histogram):
    """Rounding in so many reports, divided by an information of almost nothing, once made an atom of infinite mass."""
    law = dt.recover(histogram, m, kind="histogram").distribution
    assert np.isfinite(law).all()
    assert law.min() >= 0
    assert law.sum() == pytest.approx(1)
