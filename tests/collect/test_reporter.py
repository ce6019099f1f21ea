"""Reporters for single devices: the law of their draws is that of the file, choice by choice.

The reporter in JavaScript meets the same expectations in test_reporter_javascript.py.
"""

from __future__ import annotations

import json
import math
import random
import shutil
import subprocess
import sys
from collections import Counter
from fractions import Fraction
from itertools import product
from pathlib import Path

import pytest

import discreet as dt
from discreet import files, verify
from discreet.channels import Geometric, Mixture
from discreet.collect import reporter
from discreet.collect.reporter import Chances, RefusedError, Reporter

HERE = Path(__file__).parent
SCRIPT = Path(reporter.__file__)
MODULE = SCRIPT.with_suffix(".mjs")
LEAST = 10**7  # rarer paths are left out, and accounted for

G = dt.geometric(4, alpha="2/3")
KINDS = {
    "a table": dt.from_matrix([[0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.125, 0.125, 0.75]]),
    "geometric": G,
    "geometric in steps": dt.geometric(dt.Grid("-1/2", "3/2", "1/2"), alpha="1/2"),
    "wide geometric": dt.geometric(6, alpha="9/10"),
    "randomised response": dt.randomized_response(4, epsilon="ln 3"),
    "square wave": dt.square_wave(5, epsilon="ln 3"),
    "projective response": dt.projective_response(9, epsilon="ln 3"),
    "projective response, field of four": dt.projective_response(17, epsilon=1),
    "projective response to names": dt.projective_response(["red", "green", "blue", "white", "black"], epsilon="1/4"),
    "projective response, a line": dt.projective_response(4, epsilon=3),
    "explicit fair": dt.explicit_fair(4, alpha="9/10"),
    "uniform": dt.uniform(3),
    "names": dt.randomized_response(dt.Names(["a b", "__proto__", "\u00e9\U0001f697"], other="else"), epsilon="ln 3"),
    "names of a table": dt.from_matrix([["3/4", "1/4"], ["1/4", "3/4"]], inputs=["a", "b"], outputs=["b", "a"]),
    "names to numbers": dt.from_matrix([["1/2", "1/4", "1/4"], ["1/4", "1/2", "1/4"]], inputs=["a", "b"], outputs=2),
}
REFUSED = {  # without local privacy, or of a kind that devices have no use for
    "a staircase": dt.staircase(6, alpha="1/2", sensitivity=3),
    "a map afterwards": G.remap([0, 0, 2, 3, 4]),
    "a map before": dt.queries.rounded(dt.Grid(0, 6, 1), [0, 3, 6], alpha="3/10", sensitivity=1),
    "open ends": dt.geometric(dt.Grid(None, None), alpha="1/2"),
    "Gaussian": dt.gaussian(4, rho=1),
    "a step of a cascade": dt.Mechanism(
        G.inputs,
        G.outputs,
        Mixture(5, Fraction(1, 4), Geometric(4, Fraction(1, 2)), Fraction(1, 3)),
        dt.Level(Fraction(1, 40)),
        1,
        G.recipe,  # type: ignore[arg-type]
    ),
}


class Need(Exception):
    def __init__(self, weights: list[int]) -> None:
        self.weights = weights


class Told(Chances):
    """Choices that were made before; the first that was not is asked for."""

    def __init__(self, path: list[int]) -> None:
        self.path = iter(path)

    def choose(self, weights: list[int]) -> int:
        made = next(self.path, None)
        if made is None:
            raise Need(weights)
        return made

    def below(self, size: int) -> int:
        return self.choose([1] * size)

    def chance(self, part: int, whole: int) -> bool:
        return self.choose([part, whole - part]) == 0

    def pick(self, weights: list[int]) -> int:
        return self.choose(weights)


def every_choice(made: Reporter, value: str) -> list[tuple[str | None, Fraction]]:
    leaves: list[tuple[str | None, Fraction]] = []
    open_paths: list[tuple[list[int], Fraction]] = [([], Fraction(1))]
    while open_paths:
        path, chance = open_paths.pop()
        if chance * LEAST < 1:
            leaves.append((None, chance))
            continue
        try:
            leaves.append((made.report(value, Told(path)), chance))
        except Need as need:
            total = sum(need.weights)
            open_paths += [([*path, k], chance * Fraction(w, total)) for k, w in enumerate(need.weights) if w]
    return leaves


def assert_is_the_law(leaves: list[tuple[str | None, Fraction]], law: dict[str, Fraction]) -> None:
    """What was seen is at most the law, and no more is missing than was left out: two bounds, both exact."""
    seen: Counter[str | None] = Counter()
    for report, chance in leaves:
        seen[report] += chance  # type: ignore[assignment]
    rest = Fraction(seen.pop(None, 0))
    assert sum(seen.values()) + rest == 1
    assert rest < Fraction(1, 1000)
    assert set(seen) <= set(law)
    assert all(seen[report] <= chance <= seen[report] + rest for report, chance in law.items())


def law_of(m: dt.Mechanism, row: int) -> dict[str, Fraction]:
    """By verify.py, which shares no code with what draws."""
    weights = verify._channel(verify.parse(files.text(m).encode())["channel"]).weights
    assert weights is not None
    return {str(m.outputs.value(j)): Fraction(w, weights[1]) for j, w in enumerate(weights[0][row]) if w}


@pytest.fixture
def unspent(monkeypatch):
    """Choices that are thrown away cost no time."""
    monkeypatch.setattr(reporter.secrets, "randbits", lambda length: 1)


@pytest.mark.usefixtures("unspent")
@pytest.mark.parametrize("name", KINDS)
def test_every_choice_of_a_draw_adds_up_to_the_law(name):
    m = KINDS[name]
    rows = [0, 1, (m.inputs.size or 1) - 1]
    values = [str(m.inputs.value(row)) for row in rows]
    made = Reporter(files.text(m).encode())
    for row, value in zip(rows, values, strict=True):
        leaves = every_choice(made, value)
        assert_is_the_law(leaves, law_of(m, row))
        if row > 1 and name != "uniform":  # negative control: another row's law is another one
            with pytest.raises(AssertionError):
                assert_is_the_law(leaves, law_of(m, 0))


@pytest.mark.parametrize("name", REFUSED)
def test_a_kind_that_devices_have_no_use_for_is_refused(name):
    with pytest.raises(RefusedError):
        Reporter(files.text(REFUSED[name]).encode())


def test_noise_is_drawn_up_to_a_width():
    """Of b = 1 - x, 63 bits long, 12 digits fit: what is left has b^4096, about 1 - 4096 x, and 4096 x may be 1/1024."""
    wide, too_wide = (1 - Fraction(x, 2**62) for x in (2**40 + 2**31 + 1, 2**40 - 1))
    assert callable(reporter._geometric_number(wide.numerator, wide.denominator))  # which draws, in seconds
    with pytest.raises(RefusedError, match="wider than this program draws"):
        reporter._geometric_number(too_wide.numerator, too_wide.denominator)


def test_whole_numbers_come_from_fair_bits():
    """Every string of three bits: five of eight give a number, each its own; the others are drawn again."""

    class Again(Exception):
        pass

    def one(word: int) -> int:
        words = iter([word])

        def bits(length: int) -> int:
            assert length == 3
            try:
                return next(words)
            except StopIteration:
                raise Again from None

        return Chances(bits).below(5)

    made = []
    for word in range(8):
        try:
            made.append(one(word))
        except Again:
            made.append(-1)
    assert sorted(made) == [-1, -1, -1, 0, 1, 2, 3, 4]
    for part, whole in (
        (3, 8),
        (1, 3),
        (2, 3),
        (7, 7),
        (0, 5),
    ):  # 64 digits of a number below part/whole, and at its edge more
        digits = [part * 2 ** (64 * k) // whole % 2**64 for k in (1, 2)] if part < whole else [2**64, 0]
        for words, below in (
            ([digits[0] - 1], part > 0),
            ([digits[0] + 1], False),
            ([digits[0], digits[1] + 1], False),
        ):
            if 0 <= words[0] < 2**64:
                drawn = iter(words)
                assert Chances(lambda _, drawn=drawn: next(drawn)).chance(part, whole) is below
                assert next(drawn, None) is None
    assert [Chances(lambda _, w=w: w).pick([1, 0, 5, 2]) for w in range(8)] == [0, 2, 2, 2, 2, 2, 3, 3]


def script(*words: str, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-I", *words], capture_output=True, text=True, **more)  # type: ignore[call-overload]


def test_the_program_runs_alone_and_refuses_in_one_sentence(tmp_path):
    alone = shutil.copy(SCRIPT, tmp_path / "alone.py")
    G.save(tmp_path / "g.json")
    done = script(alone, str(tmp_path / "g.json"), "3")
    assert (done.returncode, done.stderr) == (0, "")
    assert int(done.stdout) in range(5)
    assert script(alone, str(tmp_path / "g.json"), "-", input="2\n").returncode == 0
    text = files.text(G)
    changed = {
        "digest": text.replace('"a": "2/3"', '"a": "1/3"'),
        "cut": text[:100],
        "other": "[1]",
        "doubled": text.replace('"version": 1', '"version": 1, "version": 1'),
    }
    for name, broken in changed.items():
        (tmp_path / "bad.json").write_text(broken)
        done = script(alone, str(tmp_path / "bad.json"), "3")
        assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1), name
        assert done.stderr.startswith("reporter: ")
    for value in ("77", "1.5", "x", "1/0", "", "9" * 50):
        done = script(alone, str(tmp_path / "g.json"), value)
        assert (done.returncode, done.stdout) == (2, "")
        assert value == "" or value not in done.stderr


def test_the_program_writes_every_name_and_quotes_no_byte(tmp_path):
    """Whatever the encoding of the terminal is: a name in UTF-8, and for what is no text a sentence that says nothing of it."""
    alone = shutil.copy(SCRIPT, tmp_path / "alone.py")
    dt.randomized_response(["Citro\u00ebn", "\U0001f697"], epsilon=60).save(tmp_path / "m.json")

    def said(value: bytes, encoding: str) -> subprocess.CompletedProcess[bytes]:
        words = [sys.executable, alone, str(tmp_path / "m.json"), "-"]
        return subprocess.run(words, input=value, capture_output=True, env={"PYTHONIOENCODING": encoding})

    name = "Citro\u00ebn"
    for encoding in ("utf-8:strict", "latin-1:strict"):
        done = said(name.encode(encoding.partition(":")[0]), encoding)
        assert (done.stdout.decode("utf-8").strip(), done.stderr) == (name, b"")
    done = said(name.encode("latin-1"), "utf-8:strict")
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.startswith(b"reporter: The value is none of the mechanism's names")
    content = json.loads(files.text(dt.randomized_response(["a", "b"], epsilon=1)))
    content["inputs"]["names"] = content["outputs"]["names"] = ["a", "\ud800"]
    del content["digest"]
    with pytest.raises(RefusedError, match="no texts"):
        Reporter(signed(content).encode())


def signed(content: dict) -> str:
    return json.dumps({**content, "digest": verify.digest(content)})


UNKNOWN = [
    {"kind": "unheard of"},
    {"extra": 1},
    {"n": 5},
    {"a": "3/2"},
    {"a": "99999999/100000000"},
]


@pytest.mark.parametrize("change", UNKNOWN)
def test_what_is_not_understood_is_refused_even_with_a_good_digest(change):
    content = json.loads(files.text(G))
    content["channel"] |= change
    with pytest.raises(RefusedError, match="cannot be used"):
        Reporter(signed(content).encode())


NO_HYPERPLANES = [
    {"p": 1},
    {"p": 2},
    {"t": 1},
    {"t": 10**6},
    {"m": 2},
    {"size": 14},
    {"size": 1},
    {"recurrence": "1 2"},
    {"recurrence": "1 0 0"},
    {"recurrence": "1 -2 0"},
    {"recurrence": ""},
    {"recurrence": 120},
    {"a": "1"},
]


@pytest.mark.parametrize("change", NO_HYPERPLANES)
def test_hyperplanes_that_are_none_are_refused_even_with_a_good_digest(change):
    content = json.loads(files.text(KINDS["projective response"]))
    content["channel"] |= change
    with pytest.raises(RefusedError, match="cannot be used"):
        Reporter(signed(content).encode())


NO_LEVELS = [None, {}, "1/2", {"alpha": None}, {"alpha": 1}, {"alpha": "0"}, {"alpha": "3/2"}, {"alpha": "-1/2"}]


@pytest.mark.parametrize("level", NO_LEVELS)
def test_a_file_that_promises_no_privacy_draws_no_report(level):
    content = {**json.loads(files.text(G)), "level": level}
    with pytest.raises(RefusedError, match="cannot be used"):
        Reporter(signed(content).encode())


NUMBERS = {  # JSON, on a grid of halves from 0 to 14: the position, or that it is refused
    "6": 12,
    "6.5": 13,
    "13.0": 26,
    "14": 28,
    "-0.0": 0,
    "6.7": None,
    "14.5": None,
    "-0.5": None,
    "6.500000000000001": None,
    "1e300": None,
    "null": None,
    "true": None,
    "[6]": None,
    '"6.5"': 13,
    '" 13/2"': 13,
    '"6.7"': None,
}
HALVES = dt.randomized_response(dt.Grid(0, 14, "1/2"), epsilon=1)


def test_numbers_on_the_grid_are_taken_and_others_refused():
    made = Reporter(files.text(HALVES).encode())
    for text, position in NUMBERS.items():
        if position is None:
            with pytest.raises(RefusedError):
                made.report(json.loads(text))
        else:
            assert made._inputs.position(json.loads(text)) == position
    for value in (Fraction(13, 2), 6):
        assert made._inputs.position(value) == 2 * value
    for value in (math.nan, math.inf, 10**5000, b"6", 6j):
        with pytest.raises(RefusedError):
            made.report(value)


STEPS = [("1/2", 14), ("1/10", 20), ("1/3", 9), ("15", 600), ("7/60", 7), ("1/1000", 2)]


def test_what_the_device_rounds_is_taken_whatever_the_value():
    """The formula of docs/howto/collection.md: floor(value q/p + 1/2) p / q, where the step is p/q."""
    for step, cap in STEPS:
        made, width = reporter._Grid({"low": "0", "high": str(cap), "step": step}), Fraction(step)
        p, q = width.numerator, width.denominator
        rng = random.Random(3)
        for value in [rng.uniform(-1, 1.1 * cap) for _ in range(500)]:
            rounded = min(cap, max(0, math.floor(value * q / p + 0.5) * p / q))
            position = made.position(rounded)
            assert abs(position * width - Fraction(min(max(value, 0), cap))) <= width / 2 + Fraction(1, 10**9)
    with pytest.raises(RefusedError):  # negative control: steps that were added up are not the floats of the grid
        reporter._Grid({"low": "0", "high": "1", "step": "1/10"}).position(0.1 + 0.2)


def test_a_memo_repeats_reports_and_freezes(tmp_path):
    """Scripted draws: three different values with most=2 get two draws; the third and all later ones repeat the last."""
    made, memo = Reporter(files.text(dt.uniform(9)).encode()), str(tmp_path / "memo.json")
    draws = iter([7, 3, 5, 1])

    class Script(Chances):
        def chance(self, part: int, whole: int) -> bool:
            return False

        def below(self, size: int) -> int:
            return next(draws)

    told = [made.remembered(value, memo, 2, Script()) for value in ("1", "4", "1", "4.0", "8", "1", "2")]
    assert told == ["7", "3", "7", "3", "3", "3", "3"]
    assert next(draws) == 5  # nothing more was drawn
    assert (tmp_path / "memo.json").stat().st_mode & 0o777 == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["memo.json"]
    with pytest.raises(RefusedError, match="belongs to another"):
        made.remembered("1", memo, 3)
    for most in ("5", 2.0, True, 0, None):
        with pytest.raises(RefusedError, match="whole number"):
            made.remembered("1", memo, most)
    with pytest.raises(RefusedError, match="belongs to another"):
        Reporter(files.text(G).encode()).remembered("1", memo, 2)
    for unread in ("{", "[" * 100_000, "\u00e9", ""):
        (tmp_path / "memo.json").write_text(unread)
        with pytest.raises(RefusedError, match="a lost one counts as new values"):
            made.remembered("1", memo, 2)
    (tmp_path / "memo.json.lock").touch()
    with pytest.raises(RefusedError, match="Another program"):
        made.remembered("1", memo, 2)


def test_a_memo_repeats_a_point_and_freezes(tmp_path):
    """Reports that are no answers: the memo holds the answer with the point that was reported."""
    made, memo = Reporter(files.text(KINDS["projective response to names"]).encode()), tmp_path / "memo.json"
    first, second = (made.remembered(name, str(memo), 2) for name in ("red", "blue"))
    assert {int(first), int(second)} <= set(range(7))
    assert [made.remembered(name, str(memo), 2) for name in ("red", "blue", "red")] == [first, second, first]
    assert [made.remembered(name, str(memo), 2) for name in ("green", "blue", "red")] == [first] * 3
    assert json.loads(memo.read_text())["reports"] == {"red": first, "blue": second}


def test_a_memo_that_cannot_be_written_shows_no_report(tmp_path, monkeypatch):
    made, memo = Reporter(files.text(G).encode()), tmp_path / "memo.json"
    first = made.remembered("1", str(memo), 2)
    before = memo.read_text()
    monkeypatch.setattr(
        reporter.os, "replace", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left on device"))
    )
    with pytest.raises(RefusedError, match="not shown"):
        made.remembered("2", str(memo), 2)
    monkeypatch.undo()
    assert memo.read_text() == before
    assert [path.name for path in tmp_path.iterdir()] == ["memo.json"]  # nothing with true values is left
    assert made.remembered("1", str(memo), 2) == first


def counted_words(m: dt.Mechanism, monkeypatch, draws: int = 40) -> list[int]:
    """How many words each of many reports took, of every value. Words are such that no whole number is drawn again."""
    rng, seen = random.Random(5), [0]

    def bits(length: int) -> int:
        seen[0] += 1
        return rng.getrandbits(length if length == 64 else length - 1)

    monkeypatch.setattr(reporter.secrets, "randbits", bits)
    made, found = Reporter(files.text(m).encode()), []
    for value in [str(m.inputs.value(k)) for k in range(m.inputs.size or 0)] * draws:
        seen[0] = 0
        made.report(value)
        found.append(seen[0])
    return found


def with_noise() -> list[str]:
    return [name for name, m in KINDS.items() if '"kind": "geometric"' in files.text(m)]


def assert_tells_nothing(counts: list[int], noise: bool) -> None:
    """All alike; with noise some drew -0 before, and all of it again, which tells nothing about what they drew then."""
    more = {count - min(counts) for count in counts} - {0}
    assert all(count % min(more) == 0 for count in more)
    assert all(count > 40 for count in more) if noise else not more


def test_a_report_takes_as_many_words_whatever_the_value_and_the_report_are(monkeypatch):
    noisy = with_noise()
    assert 3 <= len(noisy) < len(KINDS)
    for name, m in KINDS.items():
        assert_tells_nothing(counted_words(m, monkeypatch), name in noisy)
    with monkeypatch.context() as patched:  # negative control: noise without the choices that are thrown away
        patched.setattr(reporter, "range", lambda *_: (), raising=False)
        with pytest.raises(AssertionError):
            assert_tells_nothing(counted_words(G, monkeypatch), True)


def test_a_value_that_came_before_takes_as_many_words(tmp_path, monkeypatch):
    """New, remembered, and after the memo is frozen."""
    seen = [0]

    def bits(length: int) -> int:
        seen[0] += 1
        return 2 ** (length - 1) - 1

    monkeypatch.setattr(reporter.secrets, "randbits", bits)
    made, counts = Reporter(files.text(dt.randomized_response(4, epsilon=1)).encode()), []
    for value in ("1", "2", "1", "3", "1", "2"):
        seen[0] = 0
        made.remembered(value, str(tmp_path / "memo.json"), 2)
        counts.append(seen[0])
    assert counts == [2] * 6


def test_a_memo_takes_nothing_over_from_what_lies_there(tmp_path):
    """A file of its temporary name, with the mode of others, or a link to elsewhere."""
    made, memo = Reporter(files.text(G).encode()), tmp_path / "memo.json"
    left = tmp_path / "memo.json.new"
    left.write_text("old")
    left.chmod(0o666)
    with left.open() as held:
        made.remembered("1", str(memo), 2)
        assert held.read() == "old"  # whoever held it open reads nothing of ours
    assert memo.stat().st_mode & 0o777 == 0o600
    other = tmp_path / "elsewhere"
    other.write_text("mine")
    left.symlink_to(other)
    made.remembered("2", str(memo), 2)
    assert other.read_text() == "mine"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["elsewhere", "memo.json"]


class Assigned(Reporter):
    """Draws what a test says, and multiplies up how likely that is."""

    mechanism: dt.Mechanism
    draws: list[int]
    chance: Fraction

    def report(self, value: object, chances: Chances | None = None) -> str:
        place = self._inputs.position(value)
        drawn = self.draws.pop(0)
        self.chance *= self.mechanism.channel.entry(place, drawn)  # type: ignore[attr-defined]
        return self._outputs.value(drawn)


def test_what_a_memo_tells_between_two_histories_in_exact_numbers(tmp_path, monkeypatch):
    """At most epsilon for each different value where both change and come back at the same moments; elsewhere there is no bound."""
    monkeypatch.setattr(reporter.os, "fsync", lambda _: None)
    m, most = dt.randomized_response(2, alpha="1/3"), 2
    made = Assigned(files.text(m).encode())
    made.mechanism = m

    def law(history: tuple[int, ...]) -> dict[tuple[str, ...], Fraction]:
        found = Counter[tuple[str, ...]]()
        for draws in product(range(3), repeat=min(len(set(history)), most)):
            made.draws, made.chance = list(draws), Fraction(1)
            memo = tmp_path / "memo.json"
            memo.unlink(missing_ok=True)
            told = tuple(made.remembered(str(value), str(memo), most) for value in history)
            found[told] += made.chance  # type: ignore[assignment]
        assert sum(found.values()) == 1
        return found  # type: ignore[return-value]

    laws = {history: law(history) for history in product(range(3), repeat=3)}
    pattern = {history: tuple(history.index(value) for value in history) for history in laws}
    worst, unbounded = Fraction(0), 0
    for one, other in product(laws, repeat=2):
        if pattern[one] == pattern[other]:
            drawn = min(len(set(one)), most)
            assert laws[one].keys() == laws[other].keys()
            ratio = max(laws[one][told] / laws[other][told] for told in laws[one])
            assert ratio <= 3**drawn
            worst = max(worst, ratio / 3**drawn)
        else:
            unbounded += laws[one].keys() != laws[other].keys()
    assert worst == 1  # the bound is reached
    assert laws[0, 1, 0].keys() != laws[0, 1, 2].keys()  # they change at the same moments, but one comes back
    assert unbounded > 0


TAMPERED = [
    {"reports": None},
    {"reports": [1]},
    {"reports": {}},
    {"reports": {"1": "<script>"}, "last": "<script>"},
    {"last": None},
    {"last": {}},
    {"reports": {"1": "2", "2": "2", "3": "2"}, "last": "2"},
    {"frozen": 1},
    {"frozen": True},
    {"reports": {"77": "2"}, "last": "2"},
    {"reports": {"1": 2}, "last": 2},
    {"reports": {"01": "2"}, "last": "2"},
]


def test_a_memo_that_was_tampered_with_is_refused(tmp_path):
    made, memo = Reporter(files.text(G).encode()), tmp_path / "memo.json"
    made.remembered("1", str(memo), 2)
    good = json.loads(memo.read_text())
    texts = [json.dumps(good | change) for change in TAMPERED]
    for text in texts:
        memo.write_text(text)
        with pytest.raises(RefusedError, match="good copy"):
            made.remembered("1", str(memo), 2)
        assert memo.read_text() == text


def test_no_reporter_draws_for_a_place_without_a_row():
    """A list of Python counts from its end: every kind is asked directly."""
    for m in KINDS.values():
        made = Reporter(files.text(m).encode())
        draw, rows = made._draw, made._inputs.size
        for place in (-1, -rows, rows, 2**70):
            with pytest.raises(AssertionError, match=r"^[^0-9]*$"):
                draw(place, Told([]))
        assert isinstance(draw(rows - 1, Chances()), int)


def blanks() -> list[str]:
    """A value with blanks about it: four times with those of ASCII, then with what is none, or none here."""
    forms = ["{}", " {}\t", "\n{}\r", "\v{}\f"]
    forms += ["\ufeff{}", "{}\u00a0", "\x1c{}", "{}\x85", "{}\u2003", "{} 1", "{}\x00"]
    return [form.format(KINDS["a table"].inputs.value(0)) for form in forms]


def test_blanks_of_ascii_about_a_value_are_taken():
    """What each language counts as a blank differs: only those of ASCII are."""
    m, given = KINDS["a table"], blanks()
    made = reporter.Reporter(files.text(m).encode())

    def taken(value: str) -> bool:
        try:
            return bool(made.report(value))
        except reporter.RefusedError:
            return False

    assert [taken(value) for value in given] == [True] * 4 + [False] * 7
