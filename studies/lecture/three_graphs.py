"""The three graphs of the last slide, and what the best single mechanism leaves some user to regret on each."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations, product
from typing import Any

from discreet.present import plot
from discreet.present.views import View
from discreet.theory import query_graph, regret
from discreet.theory.graphs import Graph
from discreet.theory.regrets import subset_users

from ..frame import Claim, Found, Picture, Setting, Study, verdict
from . import PAPER

PATH, RING, STAR = "path", "ring", "star"
QUESTIONS = {
    PATH: "a count of three people",
    RING: "a count of four people modulo 4",
    STAR: "two votes: for which of three, if they agree",
}
_TINY = 1e-9  # a regret below this is the solver's
EXPECTED = {  # at a = 1/2 and elsewhere: a (1-a)/(2 (1+a)) on the ring of 4; 0 up to 1/2, then (2a-1)(1-a)/(6a) on the star of 3
    "path, right guess, 1/2": (0, 1e-12),
    "ring, right guess, 1/10": (0.09 / 2.2, 1e-9),
    "ring, right guess, 1/2": (1 / 12, 1e-9),
    "ring, right guess, 9/10": (0.09 / 3.8, 1e-9),
    "star, right guess, 1/10": (0, 1e-12),
    "star, right guess, 1/2": (0, 1e-12),
    "star, right guess, 9/10": (0.08 / 5.4, 1e-9),
    "star, near guesses too, 1/2": (1 / 18, 1e-9),
    "sum of two values in 0..2, 1/2": (0.061, 5e-4),  # this and the next by a linear program of a trial
    "median of three values in 0..2, 1/2": (0.042, 5e-4),
}


def graphs() -> dict[str, Graph]:
    people = list(product((0, 1), repeat=4))
    return {
        PATH: query_graph({x[:3] for x in people}, sum),
        RING: query_graph(people, lambda x: sum(x) % 4),
        STAR: query_graph(product("ABC", repeat=2), lambda x: x[0] if x[0] == x[1] else "-"),
    }


def near_users(star: Graph, a: Fraction) -> list[tuple[dict[Any, Fraction], str]]:
    """Users who want to be near, and whom the geometric mechanism of a star with three leaves does not serve.

    Hold one leaf for likely and the two others for a^2 times as likely. With H the hub's column a^distance and L1, L2 those of
    the unlikely leaves, L1 + L2 = x + a H, where x is a on the hub, 1 on these leaves and a^2 on the likely one: so x and H may
    stand for L1 and L2 at the same level. This user answers L1 and L2 by the hub; x by the hub and H by the likely leaf
    loses a^2 (1 - 2 a^2)/(1 + 2 a^2) less.
    """
    leaves = [v for v, near in zip(star.vertices, star.near, strict=True) if len(near) == 1]
    weights = set(permutations((a * a, a * a, Fraction(1))))
    return [({v: x / sum(w) for v, x in zip(leaves, w, strict=True)}, "distance") for w in sorted(weights)]


def work(setting: Setting) -> Found:
    shapes = graphs()
    levels = [Fraction(k, 10) for k in range(1, 10)] + (
        [] if setting.quick else [Fraction(2 * k + 1, 40) for k in range(20)]
    )
    levels = sorted({*levels, Fraction(501, 1000)})
    rows: list[dict[str, Any]] = []
    for k, a in enumerate(levels):
        setting.tell("regret on three graphs", k / len(levels))
        for name, graph in shapes.items():
            users: list[Any] = subset_users(graph)
            near = near_users(graph, a) if name == STAR else [(prior, "distance") for prior, _ in users]
            for wish, chosen in (("right guess", users), ("near guesses too", [*users, *near])):
                found = regret(graph, alpha=a, users=chosen)
                rows.append({"graph": name, "alpha": a, "users": wish, "at least": found.lower, "at most": found.upper})
    least = {(r["graph"], r["users"], r["alpha"]): float(r["at least"]) for r in rows}
    most = {(r["graph"], r["users"], r["alpha"]): float(r["at most"]) for r in rows}
    others = _other_queries()
    half = Fraction(1, 2)
    served = [most[STAR, "right guess", a] < _TINY for a in levels if a <= half]
    above = [least[STAR, "right guess", a] > _TINY for a in levels if a > half]
    paths = [name for name, (graph, _, high) in others.items() if graph.is_path and high < _TINY]
    regretted = {name: low for name, (graph, low, _) in others.items() if not graph.is_path}

    def over(name: str, wish: str) -> list[float]:
        return [least[name, wish, a] for a in levels]

    claims = [
        Claim(
            "Brenner and Nissim, first graph (a path): ok",
            "one mechanism serves all users",
            f"no regret at {len(levels)} levels from {float(levels[0]):g} to {float(levels[-1]):g}: at most "
            f"{max(most[PATH, wish, a] for wish in ('right guess', 'near guesses too') for a in levels):.0e}",
            verdict([most[PATH, "near guesses too", a] < _TINY for a in levels]),
            quote="The precise characterization is given in terms of the graph (V, ~) induced by (X, ~) ... ok",
            refuted_if="the regret on the path were positive at a level",
        ),
        Claim(
            "Brenner and Nissim, a graph with a cycle: not ok",
            "no mechanism serves all users of the ring",
            f"proved at each level: a regret of {least[RING, 'right guess', levels[0]]:.4f} at a = {float(levels[0]):g}, "
            f"{least[RING, 'right guess', half]:.4f} at 1/2, {least[RING, 'right guess', Fraction(9, 10)]:.4f} at 9/10",
            verdict([x > _TINY for x in over(RING, "right guess")]),
            quote="The precise characterization is given in terms of the graph (V, ~) induced by (X, ~) ... not ok",
            refuted_if="the proved lower bound of the regret on the ring were 0 at a level",
        ),
        Claim(
            "Brenner and Nissim, a graph with a fork: not ok",
            "no mechanism serves all users of the star",
            f"proved at each level if some users want to be near: {least[STAR, 'near guesses too', Fraction(1, 10)]:.4f} at 1/10, "
            f"{least[STAR, 'near guesses too', half]:.4f} at 1/2, {least[STAR, 'near guesses too', Fraction(9, 10)]:.4f} at 9/10",
            verdict([x > _TINY for x in over(STAR, "near guesses too")]),
            quote="The precise characterization is given in terms of the graph (V, ~) induced by (X, ~) ... not ok",
            refuted_if="the proved lower bound of the regret on the star were 0 at a level",
        ),
        Claim(
            "the same, for users who want the right answer alone",
            "no mechanism serves all such users of the star",
            f"one does at all {len(served)} levels up to a = 1/2, none at the {len(above)} above: "
            f"{least[STAR, 'right guess', Fraction(501, 1000)]:.1e} at 0.501, "
            f"{least[STAR, 'right guess', Fraction(7, 10)]:.4f} at 7/10",
            "holds in part" if all(served) and all(above) else verdict([*above, *(not x for x in served)]),
            refuted_if="the regret on the star were positive, or 0, at all levels",
            ours=True,
        ),
        Claim(
            "Brenner and Nissim, in words",
            "counting queries are the only kind for which a universally optimal mechanism exists",
            f"those whose answers form a path, counts or not: {', '.join(paths)}. On others the regret at a = 1/2 is "
            + ", ".join(f"{x:.4f} ({name})" for name, x in regretted.items())
            + ". The slide goes on to say that graphs give the precise characterization",
            verdict([all(x > _TINY for x in regretted.values()), not paths]),
            quote=(
                "The counting queries are the only kind of queries for which a universally optimal mechanism exists ... The "
                "precise characterization is given in terms of the graph (V, ~) induced by (X, ~)"
            ),
            refuted_if=(
                "no query but a count had one mechanism for all users (then: holds), or one whose answers form no path had one, "
                "too (then: does not hold)"
            ),
        ),
    ]
    values = {
        f"{name}, {wish}, {text}": least[name, wish, Fraction(text)]
        for name in shapes
        for wish in ("right guess", "near guesses too")
        for text in ("1/10", "1/2", "9/10")
    } | {f"{name}, 1/2": x for name, x in regretted.items()}
    shown = [
        {**r, "alpha": str(r["alpha"]), "at least": float(r["at least"]), "at most": float(r["at most"])} for r in rows
    ]
    notes = [
        "The slide has pictures of the graphs, which are not in the text that we have. We take them to be a path, a graph with a "
        "cycle and one with a fork, by the theorem; here a path, a ring and a star of four answers: "
        + "; ".join(f"{name}: {question}" for name, question in QUESTIONS.items())
        + ".",
        "Users who want the right guess: one for each set of two or more answers, all alike; bounds are proved on both sides.",
    ]
    return Found(
        claims,
        [View.of("the least regret that one mechanism leaves the worst served user", shown)],
        [Picture("three-graphs", lambda: _draw(least, levels))],
        values,
        notes,
    )


def _other_queries() -> dict[str, tuple[Graph, float, float]]:
    """Other small queries, and bounds of the regret of users who want the right answer, at a = 1/2."""
    bits, trits = list(product((0, 1), repeat=4)), list(product((0, 1, 2), repeat=3))
    made = {
        "are three or more of four ill": query_graph(bits, lambda x: sum(x) >= 3),
        "a count cut off at 2": query_graph(bits, lambda x: min(sum(x), 2)),
        "the sum of three values 0 or 2": query_graph(product((0, 2), repeat=3), sum),
        "sum of two values in 0..2": query_graph({x[:2] for x in trits}, sum),
        "median of three values in 0..2": query_graph(trits, lambda x: sorted(x)[1]),
    }
    found = {name: regret(graph, alpha="1/2") for name, graph in made.items()}
    return {name: (graph, float(found[name].lower), float(found[name].upper)) for name, graph in made.items()}


def _draw(least: dict[tuple[str, str, Fraction], float], levels: list[Fraction]) -> object:
    alphas = [float(a) for a in levels]
    drawn = []
    panels = (
        ("right guess", "Users who want the right answer", "probability of a wrong guess"),
        ("near guesses too", "The same, and users who want to be near", "the same, or distance"),
    )
    for wish, title, unit in panels:
        series = {name: (alphas, [least[name, wish, a] for a in levels]) for name in (PATH, RING, STAR)}
        drawn.append(
            plot.curves(series, title, x="alpha", y=f"regret ({unit})", zero=True, width=330, points=len(levels) < 15)
        )
    return plot.beside(
        *drawn,
        title="One mechanism serves all users of a path, none all users of a ring; those of a star are served up to alpha = 1/2 "
        "if nobody minds how far off a wrong guess is",
        subtitle="Regret: what the best single mechanism makes the worst served user lose beyond that user's own best",
    )


STUDY = Study(
    "three-graphs",
    "Which queries have one best mechanism",
    PAPER,
    "privacy and utility, second result",
    work,
    EXPECTED,
    6,
)
