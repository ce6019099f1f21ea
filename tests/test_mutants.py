"""The tool that changes one token at a time: what it changes, what it leaves alone, and what it finds in a tiny package."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import mutants as tool
from tests.mutants import Checkout, Mutant, drawn, known_changes, mutants, survivors


def changes(text: str) -> list[str]:
    return [m.lines(text)[1] for m in mutants("room.py", text)]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("a < b", ["a <= b"]),
        ("a <= b", ["a < b"]),
        ("a > b", ["a >= b"]),
        ("a >= b", ["a > b"]),
        ("a == b", ["a != b"]),
        ("a != b", ["a == b"]),
        ("a < b < c", ["a <= b < c", "a < b <= c"]),
        ("(a) + (b)", ["(a) - (b)"]),
        ("a - b", ["a + b"]),
        ("a * b", ["a // b"]),
        ("a // b", ["a * b"]),
        ("a / b", ["a * b"]),
        ("a += b", ["a -= b"]),
        ("a and b and c", ["a or b and c", "a and b or c"]),
        ("a or b", ["a and b"]),
        ("not a", ["a"]),
        ("-a", ["a"]),
        ("-1", ["1", "-2"]),
        ("f(0, 41)", ["f(1, 41)", "f(0, 42)"]),
        ("True", ["False"]),
        ("f(x=False)", ["f(x=True)"]),
        ("min(a, b)", ["max(a, b)"]),
        ("np.maximum(a, b)", ["np.minimum(a, b)"]),
        ("math.ceil(a)", ["math.floor(a)"]),
        ("any(a)", ["all(a)"]),
        ("(a**2)**b", ["(a**3)**b"]),
        ("'ε' + a", ["'ε' - a"]),  # the tree counts bytes and tokens count characters
    ],
)
def test_every_rule(line, expected):
    assert changes(line) == [after.strip() for after in expected]


@pytest.mark.parametrize(
    "text",
    [
        '"""1 < 2 and True"""',
        "# 1 < 2",
        "f(*a, **b)",
        "x: Literal[1, 2]",
        "def f(a: Literal[1]) -> Literal[2]: ...",
        "@dataclass(frozen=True)\nclass A: ...",
        "raise ValueError('about', a + 1)",
        "print(f'{a + 1}')",
        "def __repr__(self):\n    return 'a' + 'b' * 2",
        "if TYPE_CHECKING:\n    from a import b\n    c = 1",
        "a in b",
        "a is not b",
        "x = 1.5",
    ],
)
def test_what_says_nothing_about_behaviour_is_left_alone(text):
    assert changes(text) == []


def test_a_refused_value_is_compared_even_though_its_message_is_not_read():
    assert changes("if a < 1: raise ValueError(a + 1)") == [
        "if a <= 1: raise ValueError(a + 1)",
        "if a < 2: raise ValueError(a + 1)",
    ]


def test_a_change_is_one_token_of_one_line():
    text = "a = (b +\n     c)\nd = 1\n"
    first, second = mutants("room.py", text)
    assert (str(first), first.changed(text)) == ("room.py:1: + -> -", "a = (b -\n     c)\nd = 1\n")
    assert (str(second), second.changed(text)) == ("room.py:3: 1 -> 2", "a = (b +\n     c)\nd = 2\n")
    assert str(mutants("room.py", "-x")[0]) == "room.py:1: - -> nothing"


def test_a_seed_draws_the_same_again_and_another_seed_others():
    found = [Mutant("room.py", (k, 0), (k, 1), "1", "2") for k in range(1, 100)]
    assert drawn(found, 9, 1) == drawn(found, 9, 1) != drawn(found, 9, 2)
    assert drawn(found, 1000, 1) == found


def test_the_tests_of_every_room_are_there():
    tests, package = Path(tool.__file__).parent, Path(tool.__file__).parent.parent / "src" / "discreet"
    for room, names in tool.TESTED_IN.items():
        assert (
            package.joinpath(*room.split(".")).is_dir()
            or package.joinpath(*room.split(".")).with_suffix(".py").is_file()
        )
        assert names
        assert all((tests / name).exists() for name in tool.tests_of(tests, room)), room
    for path in package.rglob("*.py"):
        room = ".".join(path.relative_to(package).with_suffix("").parts)
        assert path.name == "__init__.py" or tool.tests_of(tests, room), room
    assert tool.tests_of(tests, "exact.level") == ["exact/test_level.py"]
    assert tool.tests_of(tests, "noise.continuous") == ["noise"]  # the folder's
    known = known_changes(tests / "mutants.txt")
    assert known
    for room, before, _ in known:  # an entry whose line has changed no longer speaks of anything
        lines = package.joinpath(*room.split(".")).with_suffix(".py").read_text(encoding="utf-8").splitlines()
        assert before in map(str.strip, lines), (room, before)


ROOM = """\
def older(age):
    \"\"\"More than 17.\"\"\"
    return age > 17


def unseen(a):
    return a * 3
"""
TESTS = """\
from tiny.room import older


def test_older():
    assert older(18) and not older(17)
"""
OTHER = """\
from tiny.room import unseen


def test_unseen():
    assert unseen(2) == 6
"""
ENDLESS = """\
import time


def up(k):
    while k < 3:
        time.sleep(0.01)
        k += 1
    return k
"""


@pytest.fixture
def tiny(tmp_path, monkeypatch):
    # the only plugin that a run names; loading all others takes longer than the tests
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTEST_ADDOPTS", "-p _hypothesis_pytestplugin")
    for name, text in {"src/tiny/__init__.py": "", "src/tiny/room.py": ROOM, "tests/test_room.py": TESTS}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = campaign\n")
    return Checkout(tmp_path, "tiny")


@pytest.mark.long
def test_the_killed_and_the_surviving_are_told_apart(tiny):
    said: list[str] = []
    left = survivors(tiny, "room", 100, 1, say=said.append)
    assert [str(m) for m in left] == ["src/tiny/room.py:7: * -> //", "src/tiny/room.py:7: 3 -> 4"]
    assert said == [
        "room: 4 of 4 changes, seed 1",
        "[1/4] src/tiny/room.py:3: > -> >=  killed",
        "[2/4] src/tiny/room.py:3: 17 -> 18  killed",
        "[3/4] src/tiny/room.py:7: * -> //  SURVIVES",
        "[4/4] src/tiny/room.py:7: 3 -> 4  SURVIVES",
        "room: 2 of 4 changes of meaning were noticed",
        "\nsrc/tiny/room.py:7: * -> //\n- return a * 3\n+ return a // 3",
        "\nsrc/tiny/room.py:7: 3 -> 4\n- return a * 3\n+ return a * 4",
    ]
    assert (tiny.source / "room.py").read_text() == ROOM  # put back


def test_what_is_listed_as_no_change_is_not_run(tiny):
    listed = "# why\n\nroom\n- return a * 3\n+ return a * 4\nNobody calls it.\n\n"
    (tiny.root / "tests" / "mutants.txt").write_text(listed + "room\n- return a * 3\n+ *\nNor so.\n")
    (tiny.source / "room.py").write_text("def unseen(a):\n    return a * 3\n")
    said: list[str] = []
    assert survivors(tiny, "room", 100, 1, say=said.append) == []
    assert said[1:] == [
        "[1/2] src/tiny/room.py:2: * -> //  no change (Nor so.)",
        "[2/2] src/tiny/room.py:2: 3 -> 4  no change (Nobody calls it.)",
        "room: 0 of 0 changes of meaning were noticed",
    ]
    (tiny.root / "tests" / "mutants.txt").write_text("room\nreturn a * 3\n")
    with pytest.raises(SystemExit, match=r"mutants.txt"):
        survivors(tiny, "room", 1, 1, say=said.append)


@pytest.mark.long
@pytest.mark.parametrize(("whole", "left"), [(False, 2), (True, 0)])
def test_the_whole_suite_may_notice_what_the_rooms_own_tests_do_not(tiny, whole, left):
    (tiny.source / "room.py").write_text("def unseen(a):\n    return a * 3\n")
    (tiny.root / "tests" / "test_room.py").write_text("def test_nothing():\n    pass\n")
    (tiny.root / "tests" / "test_other.py").write_text(OTHER)
    assert len(survivors(tiny, "room", 100, 1, whole, say=lambda line: None)) == left


def test_a_run_without_end_is_a_kill(tiny):
    (tiny.source / "room.py").write_text(ENDLESS)
    (tiny.root / "tests" / "test_room.py").write_text(
        "from tiny.room import up\n\n\ndef test_up():\n    assert up(0) == 3\n"
    )
    assert tiny.passes(["test_room.py"])
    endless = next(m for m in mutants("src/tiny/room.py", ENDLESS) if m.before == "+=")
    assert not tiny.survives(endless, ["test_room.py"], seconds=3)


def test_tests_that_fail_without_a_change_teach_nothing(tiny):
    (tiny.root / "tests" / "test_room.py").write_text("def test_it():\n    assert False\n")
    with pytest.raises(SystemExit, match="does not pass without any change"):
        survivors(tiny, "room", 1, 1, say=lambda line: None)


def test_an_unknown_room_is_refused_by_name(tiny):
    with pytest.raises(SystemExit, match="'attic'"):
        survivors(tiny, "attic", 1, 1, say=lambda line: None)
