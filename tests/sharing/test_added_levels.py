"""Levels that are added later: the exact law of a cascade made at once, what they cost, and what is refused."""

from __future__ import annotations

import copy
import json
import math
import os
import pickle
import stat
from fractions import Fraction
from itertools import product

import flint
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dt
from discreet.errors import FileError, LevelError, OutOfRangeError, ReleaseError, SourceError
from discreet.exact.arithmetic import ball, precision
from discreet.randomness.source import simulation
from discreet.sharing.cascades import AT_FIRST, AT_SECOND, BEFORE, BETWEEN, BEYOND, Bridge
from tests import reference
from tests.profiles import examples
from tests.sharing.test_cascade import closed_form, is_far, levels, tallied, tight_by_hand

A, B, C = Fraction(3, 10), Fraction(1, 2), Fraction(4, 5)


def remap(n: int, a: Fraction, b: Fraction) -> reference.Matrix:
    return reference.geometric(n, b) if a == 0 else closed_form(n, a, b)


def law_of_pieces(bridge: Bridge, u: int, v: int) -> list[Fraction]:
    """The law that the five pieces make, from what each of them means: a geometric tail moved to the ends, a geometric
    number below |u-v| + 1."""
    n, apart, way = bridge.n, abs(v - u), 1 if v >= u else -1
    power = bridge.ratio**apart
    weights = bridge.weights(apart, u in (0, n), power, Fraction(1))
    pieces = [w / sum(weights) for w in weights]
    law = [Fraction(0)] * (n + 1)
    law[u] += pieces[AT_FIRST]
    law[v] += pieces[AT_SECOND]
    inner = [bridge.ratio**x for x in range(apart + 1)]
    for x, weight in enumerate(inner):
        law[u + way * x] += pieces[BETWEEN] * weight / sum(inner)
    q = bridge.b * bridge.c
    for piece, start, sign in ((BEFORE, u, -way), (BEYOND, v, way)):
        room = start if sign < 0 else n - start
        for k in range(1, room + 1):  # k steps with (1-q) q^(k-1); at the end all that lies beyond
            law[start + sign * k] += pieces[piece] * (q ** (k - 1) if k == room else (1 - q) * q ** (k - 1))
        if room == 0:
            law[start] += pieces[piece]
    return law


@settings(max_examples=examples(40))
@given(
    st.integers(1, 6),
    st.lists(st.one_of(levels, st.just(Fraction(0))), min_size=3, max_size=3, unique=True).map(sorted),
)
def test_the_pieces_make_the_law_given_both_neighbours(n, three):
    """For every pair of neighbours, and for the truth (level 0) with the first report; a > 0 or not."""
    a, b, c = three
    bridge, first, second, whole = Bridge(n, a, b, c), remap(n, a, b), remap(n, b, c), remap(n, a, c)
    for u, v in product(range(n + 1), repeat=2):
        wanted = [first[u][r] * second[r][v] / whole[u][v] for r in range(n + 1)]
        assert sum(wanted) == 1
        assert law_of_pieces(bridge, u, v) == wanted


@pytest.mark.parametrize(("apart", "end"), [(0, True), (0, False), (3, False), (40, True)])
def test_the_piece_is_drawn_with_its_exact_chance(apart, end):
    bridge = Bridge(60, A, B, C)
    weights = bridge.weights(apart, end, bridge.ratio**apart, Fraction(1))
    chances, table = [w / sum(weights) for w in weights], bridge._piece(apart, end)
    rest = [p * 2**64 - m for p, m in zip(chances, table.floors, strict=True)]
    assert all(0 <= r < 2 for r in rest)
    assert sum(rest) == table.gap
    with precision(200):
        assert all(
            p.contains(flint.fmpq(q.numerator, q.denominator)) for p, q in zip(table.balls(), chances, strict=True)
        )
        assert ball(bridge.ratio) ** apart > 0


def test_far_apart_on_a_grid_without_a_matrix():
    """A million steps between two neighbours: the report lies near the second, where b/c < 1 leads, or is kept."""
    bridge, size = Bridge(10**6, A, B, C), 20_000
    drawn = bridge.draw(np.zeros(size, dtype=np.int64), np.full(size, 10**6), simulation(1))
    weights = bridge.weights(10**6, True, Fraction(0), Fraction(1))  # ratio^(10^6) is below 2^-600000
    near = weights[BETWEEN] * (1 - bridge.ratio) / sum(weights)
    at_zero = (weights[AT_FIRST] + weights[BEFORE]) / sum(weights) + near
    counts = np.bincount(np.minimum(drawn, 1), minlength=2)
    assert not is_far(counts, np.array([at_zero, 1 - at_zero], dtype=object))


def test_beyond_64_bits_the_geometric_law_begins_anew(monkeypatch):
    close, most = Bridge(2**40, A, 1 - Fraction(3, 2**63), 1 - Fraction(1, 2**63)), 2 * (2**61 - 1)
    sizes = np.full(300, 5)
    found = close._modulo(sizes, simulation(2))
    assert not is_far(np.bincount(found, minlength=5), np.full(5, Fraction(1, 5), dtype=object))
    drawn = close._inner.draw(simulation(2), np.empty(300, dtype=np.int64))
    assert 60 < (drawn == most).sum() < 170  # a share of 1/e: as they are, they would all have one remainder
    parts = iter([most, 7] + [11] * 300)  # the first item that saturates does so once more
    monkeypatch.setattr("discreet.sharing.cascades.slow_geometric", lambda ratio, word: next(parts))
    totals = np.where(drawn == most, (most + 11) % 10**6, drawn % 10**6)
    totals[np.flatnonzero(drawn == most)[0]] = (2 * most + 7) % 10**6
    assert close._modulo(np.full(300, 10**6), simulation(2)).tolist() == totals.tolist()


@pytest.mark.parametrize("n", [1, 4])
@pytest.mark.parametrize("truth", [0, 1])
def test_drawn_later_they_follow_the_law_of_all_at_once(n, truth):
    """Between two, above all and below all, one after the other, against the joint law of the cascade of five levels."""
    size, values = 120_000, np.full(120_000, truth)
    stored = dt.sharing.cascade([A, C], n).release(values, fingerprint="f", source=simulation(10 + n))
    grown = stored.add(B, source=simulation(20)).add("9/10", source=simulation(30))
    grown = grown.refine("1/10", values, fingerprint="f", source=simulation(40))
    whole = dt.sharing.cascade(["1/10", A, B, C, "9/10"], n)
    assert grown.cascade == whole
    for members in (["1/10", A, B], [A, B, C], [B, C, "9/10"], ["1/10", C, "9/10"]):
        counts = tallied(n + 1, *(grown.at(x) for x in members))
        assert counts.sum() == size
        assert not is_far(counts, whole.joint(members)[truth])
    # the control: a report drawn from the stored ones alone does not have the law of the refined level
    wrong = stored.add("9/10").places[2]
    assert is_far(tallied(n + 1, wrong, grown.at(A)), whole.joint(["1/10", A])[truth])
    assert np.array_equal(grown.at(A), stored[0])  # nothing is drawn again
    assert np.array_equal(grown.at(C), stored[1])


def test_the_joint_loss_on_changed_data_is_not_what_would_be_charged():
    """At levels 3/10 and 1/2: epsilon 2.59 on data that changed in between, 1.20 on the same data."""
    n = 6
    stored, refined, whole = reference.geometric(n, B), reference.geometric(n, A), closed_form(n, A, B)

    def later(x: int, v: int, r: int) -> Fraction:
        return refined[x][r] * whole[r][v] / stored[x][v]

    pairs = list(product(range(n + 1), repeat=2))
    near = [(x, y) for x, y in pairs if abs(x - y) <= 1]
    changed = max(
        max(stored[x][v] / stored[y][v] for x, y in near) * max(later(x, v, r) / later(y, v, r) for x, y in near)
        for v, r in pairs
    )
    same = min(stored[y][v] * later(y, v, r) / (stored[x][v] * later(x, v, r)) for x, y in near for v, r in pairs)
    assert changed == 1 / (A * B**2)
    assert round(math.log(changed), 2) == 2.59
    assert same == A == tight_by_hand(dict(np.ndenumerate(dt.sharing.cascade([A, B], n).joint())))
    assert round(-math.log(A), 2) == 1.20


def test_two_levels_from_one_state_are_no_cascade():
    """Each follows its law; together they tell more, so one goes on with what was returned: docs/theory/cascade.md."""
    n, a, b, c = 3, Fraction(1, 10), Fraction(1, 5), B
    rows = range(n + 1)
    first, second, stored = (reference.geometric(n, x) for x in (a, b, c))
    towards, also = closed_form(n, a, c), closed_form(n, b, c)
    refined = {
        (x, r, s, v): first[x][r] * towards[r][v] * second[x][s] * also[s][v] / stored[x][v]
        for x, r, s, v in product(rows, repeat=4)
    }
    assert all(sum(p for key, p in refined.items() if key[0] == x) == 1 for x in rows)
    assert tight_by_hand(refined) == a * b * c < a * b / c  # what was charged: c, a/c and b/c
    assert dt.sharing.cascade([a, b, c], n).coalition().tight == a  # one after the other
    base, up, down, both = reference.geometric(n, A), closed_form(n, A, B), closed_form(n, B, C), closed_form(n, A, C)
    added: dict[tuple[int, ...], Fraction] = {}
    for x, r, v, s, t in product(rows, repeat=5):
        chance = base[x][r] * up[r][s] * down[s][v] * up[r][t] * down[t][v] / both[r][v]
        added[x, s, t] = added.get((x, s, t), Fraction(0)) + chance
    assert A < tight_by_hand(added) < Fraction(35, 100)  # two reports at level 1/2


def test_a_child_forked_in_the_middle_draws_anew(monkeypatch):
    """Words from before the fork belong to the parent too: what was drawn from them is thrown away."""
    marks = iter([1, 2, 2, 2])
    monkeypatch.setattr("discreet.sharing.cascade_reports.fork_mark", lambda: next(marks))
    reports = dt.sharing.cascade([A, C], 100).release(np.full(50, 50))
    drawn = reports.add(B, source=simulation(1)).at(B)
    monkeypatch.undo()
    source = simulation(1)
    first, again = (reports.add(B, source=source).at(B) for _ in range(2))
    assert np.array_equal(drawn, again)
    assert not np.array_equal(drawn, first)


def test_prices_are_exact_differences():
    reports = dt.sharing.cascade([B, C], 9).release(3)
    assert reports.price_of("3/5").alpha == reports.price_of("9/10").alpha == reports.price_of(B).alpha == 1
    assert reports.price_of(A).alpha == A / B
    assert reports.price_of(A).alpha * reports.cascade.price.alpha == A
    assert reports.price_of("9/10").epsilon == 0
    assert reports["1/2"] == reports[B] == reports[reports.cascade.levels[0]] == reports[0]


@pytest.mark.parametrize("grid", [dt.Grid(None, None), dt.Grid(0, None), dt.Grid(None, 40), dt.Grid(0, 40, "1/2")])
def test_other_grids_take_further_levels_too(grid):
    values = np.full(2000, 20)
    reports = dt.sharing.cascade([B, "9/10"], grid, sensitivity=2).release(
        values, fingerprint="f", source=simulation(1)
    )
    grown = reports.add("7/10").add("95/100").refine("1/100", values, fingerprint="f")
    assert len(grown) == 5
    errors = [float(np.abs(np.asarray(r, dtype=float) - 20).mean()) for r in grown]
    assert errors == sorted(errors)  # far enough apart for 2000 reports each
    assert all(grid.reach[0] <= Fraction(float(end)) <= grid.reach[1] for r in grown for end in (min(r), max(r)))


# Refusals and files


@pytest.mark.parametrize(
    ("call", "error", "told"),
    [
        (lambda r: r.add("1/10"), LevelError, "refine draws it"),
        (lambda r: r.add("1/2"), LevelError, "stored already"),
        (lambda r: r.add("9/8"), LevelError, "outside"),
        (lambda r: r.add("3/5", source=3), SourceError, "no source"),
        (lambda r: r.refine("3/5", 3, fingerprint="f"), LevelError, "at no cost"),
        (lambda r: r.refine("1/10", 3, fingerprint="g"), ReleaseError, "not the stored one.*charge it whole"),
        (lambda r: r.refine("1/10", 3, fingerprint=None), ReleaseError, "not the stored one"),
        (lambda r: r.refine("1/10", 3, fingerprint=b"f"), ReleaseError, "is a text"),
        (lambda r: r.refine("1/10", [3, 4], fingerprint="f"), ReleaseError, "as many true values"),
        (lambda r: r.refine("1/10", 7, fingerprint="f"), OutOfRangeError, "position 0"),
        (lambda r: r.at("1/3"), LevelError, "it has 1/2, 4/5"),
        (lambda r: r[2], LevelError, "no level number 2"),
        (lambda r: r[None], LevelError, "Give exactly one"),
        (lambda r: r[0:1], LevelError, "read exactly"),
        (lambda r: r.cascade.release(3).refine("1/10", 3, fingerprint="f"), ReleaseError, "without a fingerprint"),
        (lambda r: r.cascade.release(3, fingerprint=""), ReleaseError, "is a text"),
    ],
)
def test_what_is_refused(call, error, told):
    reports = dt.sharing.cascade([B, C], 6).release(3, fingerprint="f")
    with pytest.raises(error, match=told) as refused:
        call(reports)
    assert "7" not in str(refused.value).replace("0..6", "")


@pytest.mark.parametrize("values", [3, [1, 2, 6], np.arange(6).reshape(2, 3), []])
def test_stored_and_read_again(values, tmp_path):
    c = dt.sharing.cascade(n=dt.Grid(-1, 9, "1/2"), epsilons=["ln 3", "0.5", "1/3"], sensitivity="3/2")
    reports = c.release(values, fingerprint="abc123")
    reports.save(tmp_path / "r.json")
    again = dt.results.CascadeReports.load(tmp_path / "r.json")
    assert again.cascade == c
    assert (again.shape, again.fingerprint) == (reports.shape, "abc123")
    assert all(np.array_equal(x, y) for x, y in zip(again, reports, strict=True))
    assert again.text() == reports.text()
    assert again.refine("1/9", values, fingerprint="abc123").cascade.levels[1:] == c.levels
    assert "sensitive" in str(reports)
    assert "sensitive" in reports.text()
    assert json.dumps(reports.to_dict())
    open_ended = dt.sharing.cascade(["1/2"], dt.Grid(None, None)).release(-5)
    assert dt.results.CascadeReports.loads(open_ended.text())[0] == open_ended[0]


VERSION_1 = (
    '{"format":"discreet-cascade","version":1,"note":"together as sensitive as the least private level: give each audience '
    'its own level\'s reports, never this","grid":{"low":"0","high":"6","step":"1"},"sensitivity":"1",'
    '"levels":[{"alpha":"1/2","epsilon":null},{"alpha":"4/5","epsilon":null}],"fingerprint":"5f1c","shape":[2],'
    '"places":[[5,6],[0,0]],"digest":"sha256:945ab72a1a170bf81825cc7d3ed29f33fe298d81810a5ee6db1bc70639b0dc0c"}'
)


def test_what_version_1_wrote_is_read():
    stored = dt.results.CascadeReports.loads(VERSION_1)
    assert stored.cascade == dt.sharing.cascade([B, C], 6)
    assert ([r.tolist() for r in stored], stored.fingerprint) == ([[5, 6], [0, 0]], "5f1c")
    assert [(row["audience"], row["alpha"], row["reports"]) for row in stored.rows()] == [(1, "1/2", 2), (2, "4/5", 2)]
    copied = pickle.loads(pickle.dumps(stored))
    assert copied.text() == stored.text() == VERSION_1 + "\n"


def rewritten(change) -> str:
    """A file with a change, and a digest that fits it."""
    from discreet.verify import digest

    content = json.loads(dt.sharing.cascade([B, C], 6).release([1, 2], fingerprint="f").text())
    content.pop("digest")
    change(content)
    return json.dumps({**content, "digest": digest(content)})


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("", "shape"),
        ("[]", "shape"),
        ('{"format": "discreet-mechanism"}', "shape"),
        (dt.sharing.cascade([B, C], 6).release(3).text().replace("4/5", "3/5"), "digest"),
        (rewritten(lambda d: d.update(version=2)), "version"),
        (rewritten(lambda d: d["levels"].reverse()), "shape"),
        (rewritten(lambda d: d["levels"].pop()), "shape"),
        (rewritten(lambda d: d["levels"][0].update(alpha="3/2")), "shape"),
        (rewritten(lambda d: d["places"][0].append(1)), "shape"),
        (rewritten(lambda d: d["places"].__setitem__(0, [1, 7])), "shape"),
        (rewritten(lambda d: d["places"].__setitem__(0, [-1, 3])), "shape"),
        (rewritten(lambda d: d["places"].__setitem__(0, [1, 2.5])), "shape"),
        (rewritten(lambda d: d["places"].__setitem__(0, [1, 2**70])), "shape"),
        (rewritten(lambda d: d.update(fingerprint=5)), "shape"),
        (rewritten(lambda d: d.pop("grid")), "shape"),
        (rewritten(lambda d: d.update(shape="x")), "shape"),
        (rewritten(lambda d: d.update(levels=[], places=[])), "shape"),
        (rewritten(lambda d: d.update(sensitivity="0")), "shape"),
        (rewritten(lambda d: d.update(sensitivity="1/0")), "shape"),
        (rewritten(lambda d: d.update(sensitivity="1e999999999")), "shape"),
        (rewritten(lambda d: d.update(shape=[-1, -2])), "shape"),
        (rewritten(lambda d: d.update(shape=[2**32, 2**32], places=[[], []])), "shape"),
        (rewritten(lambda d: d["levels"][0].update(epsilon={"factor": "1", "base": "0"})), "shape"),
        ('{"format":"discreet-cascade","a":' + 9**5 * "[" + 9**5 * "]" + "}", "shape"),
    ],
)
def test_other_files_are_refused(text, kind, tmp_path):
    (tmp_path / "r.json").write_text(text, encoding="utf-8")
    with pytest.raises(FileError) as refused:
        dt.results.CascadeReports.load(tmp_path / "r.json")
    assert refused.value.kind == kind
    for name in (tmp_path / "none.json", "a\0b"):
        with pytest.raises(FileError, match="cannot be read"):
            dt.results.CascadeReports.load(name)


@pytest.mark.skipif(os.name != "posix", reason="permission bits")
def test_a_stored_file_is_for_its_owner_alone(tmp_path):
    """It is as sensitive as its least private level; also where a file for everyone stood before."""
    path = tmp_path / "r.json"
    path.write_text("for everyone")
    path.chmod(0o644)
    reports = dt.sharing.cascade([B, C], 6).release([1, 2])
    for place in (path, tmp_path / "new.json"):
        reports.save(place)
        assert stat.S_IMODE(place.stat().st_mode) == 0o600
    old = os.umask(0o022)
    try:
        reports.cascade.mechanisms[0].save(tmp_path / "m.json")
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "m.json").stat().st_mode) == 0o644  # the control: a mechanism is no secret


def test_copies_keep_the_kind_of_the_true_values():
    reports = dt.sharing.cascade([B, C], 6).release([1, 2])
    assert [type(copied[0]) for copied in (copy.copy(reports), copy.deepcopy(reports))] == [list, list]


def test_an_unchanged_copy_of_a_file_is_read():
    """The control for the changed ones."""
    assert len(dt.results.CascadeReports.loads(rewritten(lambda d: None))) == 2
