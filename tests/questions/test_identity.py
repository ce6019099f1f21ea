"""One question however it is spelled: in another order of words, columns, keys and statistics, by other names, in other letters."""

from __future__ import annotations

import itertools
import operator
import random

import pytest

import discreet as dt
from discreet.errors import PredicateError
from discreet.ledger.book import Terms
from discreet.ledger.chain import canonical
from discreet.questions.predicate import in_one_order
from discreet.tables.ask.asked import spelling_of
from tests.tables.asking import ask

TERMS = Terms("d", dt.Level.of(epsilon=9).charge, "add-remove", (), "id", "then")
COMPARED = {
    "<": operator.lt,
    ">": operator.gt,
    "<=": operator.le,
    ">=": operator.ge,
    "=": operator.eq,
    "<>": operator.ne,
}
SIGNS = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "=": "=", "<>": "<>"}


def condition(rng, depth):
    """A tree: (joined by, parts), or a comparison (column, sign, number), or a list of constants (column, "IN", numbers)."""
    if depth == 0:
        if rng.random() < 0.4:
            return rng.choice("abc"), "IN", tuple(rng.sample(range(9), rng.randint(1, 4)))
        return rng.choice("abc"), rng.choice(list(SIGNS)), rng.randrange(9)
    return rng.choice(["AND", "OR"]), tuple(condition(rng, rng.randrange(depth)) for _ in range(rng.randint(2, 3)))


def spelled(rng, tree):
    """One of the texts that say the same."""
    if len(tree) == 2:
        parts = [f"({spelled(rng, part)})" for part in rng.sample(tree[1], len(tree[1]))]
        return rng.choice([f" {tree[0]} ", f"  {tree[0].lower()}\n"]).join(parts)
    column, sign, number = tree
    name = rng.choice([column, column.upper(), f'"{column}"'])
    if sign == "IN":
        return f"{name} in ({', '.join(rng.sample([*map(str, number)], len(number)))})"
    written = rng.choice([str(number), f"{number}.0"])
    return f"{name} {sign} {written}" if rng.random() < 0.6 else f"{written}{SIGNS[sign]}{name}"


def holds(tree, row):
    if len(tree) == 2:
        return (all if tree[0] == "AND" else any)(holds(part, row) for part in tree[1])
    x, sign, number = row[tree[0]], tree[1], tree[2]
    return x in number if sign == "IN" else COMPARED[sign](x, number)


def test_a_condition_has_one_order_and_two_that_differ_on_a_row_have_two():
    rng = random.Random(27)
    rows = [dict(zip("abc", values, strict=True)) for values in itertools.product(range(9), repeat=3)]
    known = {}
    for _ in range(400):
        tree = condition(rng, 2)
        texts = {in_one_order(spelled(rng, tree)).canonical for _ in range(6)}
        assert len(texts) == 1, texts
        true_of = tuple(holds(tree, row) for row in rows)
        assert known.setdefault(texts.pop(), true_of) == true_of  # never one text for two meanings
    assert len(known) > 300


def asked(rng, change=None):
    """One question in one of its spellings; and what a change makes another of."""
    wheres = {"x": "(a > 1 AND b = 2) OR c IN (1, 2)", "y": "a > 2 AND b = 2"}
    again = {"x": "C in (2, 1) or (B = 2 AND 1 < a)", "y": '"b" = 2.0 and A > 2'}
    counts = {rng.choice([name, f"{name}{name}"]): rng.choice([wheres, again])[name] for name in rng.sample("xy", 2)}
    domain = {"s": rng.sample(["f", "m"], 2), "Age": {"old": [18, None], "young": [[0, 9], [10, 17]]}, "e": [7]}
    if rng.random() < 0.5:
        domain = {"age": {"young": [[10, 17], [0, 9]], "old": [18, None]}, "S": rng.sample(["m", "f"], 2), "e": [7]}
    by = rng.sample([name for name in domain if name != "e"], 2)
    parts = {"count": counts, "by": by, "domain": domain, "sum": "pay:0..9/1/2 missing out", "max_groups": 2}
    if rng.random() < 0.5:
        parts["sum"] = {"wages": "Pay: 0..9/0.5"}
    if change is not None:
        change(parts)
    return ask(epsilon=1, **parts)


CHANGES = {
    "a constant": lambda parts: parts.update(count={"x": "a > 2 AND b = 2", "y": "a > 2 AND b = 3"}),
    "a key": lambda parts: parts["domain"].update({next(k for k in parts["domain"] if k in "sS"): ["f", "d"]}),
    "a band": lambda parts: parts["domain"].update(
        {next(k for k in parts["domain"] if k in ("Age", "age")): {"old": [18, None], "young": [0, 17]}}
    ),
    "a bound": lambda parts: parts.update(sum="pay:0..8/1/2"),
    "a missing value": lambda parts: parts.update(sum="pay:0..9/1/2 missing 0"),
    "a weight": lambda parts: parts.update(weights={min(parts["count"]): 2}),
    "groups of a person": lambda parts: parts.update(max_groups=1),
    "a pool": lambda parts: parts.update(pool_other=True),
    "a total": lambda parts: parts.update(measure_totals="total"),
    "a mechanism": lambda parts: parts.update(mechanism="geometric"),
}


def identity(question):
    return canonical(dict(spelling_of(question, ["a", "b", "c", "pay"], TERMS).question))


def test_a_question_is_one_however_it_is_spelled():
    rng = random.Random(28)
    assert len({identity(asked(rng)) for _ in range(300)}) == 1


@pytest.mark.parametrize("what", CHANGES)
def test_another_question_is_another(what):
    rng = random.Random(29)
    assert len({identity(asked(rng)), *(identity(asked(rng, CHANGES[what])) for _ in range(20))}) == 2


def test_a_condition_is_read_when_the_question_is_made():
    with pytest.raises(PredicateError, match="cannot be read near"):
        dt.Question(count="a >")
    with pytest.raises(PredicateError, match="the function lower"):
        dt.Question(share="lower(a) = 'x'")
