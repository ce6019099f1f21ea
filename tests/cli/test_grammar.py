"""The grammar of the command line: all commands held to the same words, at once."""

from __future__ import annotations

import inspect
import io
import json
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import discreet as dt
from discreet.cli.app import COMMANDS, KINDS, app
from discreet.cli.options import (
    CASCADE,
    COLLUDE,
    DESIGN,
    LIFETIME,
    PLAN_EPSILON,
    PLAN_REPORTS,
    PRESENTED,
    PROFILE,
    QUESTION,
    READ,
    RELEASE,
    meaning,
    parameters,
)
from discreet.tables.publish.presentation import PresentationParts
from tests.cli.test_cli import assert_one_good_error, run, survey  # noqa: F401

# Options that mean one thing in one command and another in the next, and how many things in all
MEANINGS = {
    "--budget": 2,  # of a data set for good, of a plan
    "--column": 3,  # of what: required values, required reports, what a file with one column need not say
    "--confidence": 5,  # of all intervals, of each of a difference, of a bound, of an error of one report, and of tables
    "--counts": 2,
    "--delta": 5,  # of terms for good, of a plan, of what is checked, is composed, is asked again
    "--epsilon": 2,  # of the level; compose asks for its delta
    "--k": 2,  # users who collude, reports that compose
    "--low": 2,  # end of a grid, of a record
    "--max-rows": 2,  # of a person in a collection, of a unit in a release
    "--high": 2,
    "--mechanism": 4,  # one file, one that checks, one of several words, several
    "--ordered": 2,  # of values that are planned for, of values whose mechanism may say it
    "--epsilons": 2,  # levels of a cascade, of questions
    "--out": 8,
    "--part": 2,  # what is counted and charged, what is only charged
    "--relation": 2,  # of a data set that is protected, of the records of a query
    "--rho": 4,  # the whole budget, what a release costs, what a mechanism keeps, what is checked
    "--standard-error": 3,  # of every count, of a recovered mean, of noise
    "--step": 2,
    "--value": 2,
}
# Names for the same thing, on every command that has one of them
TOGETHER = [{"--epsilon", "--eps"}, {"-o", "--out"}, {"-m", "--mechanism"}, {"--overwrite", "--force"}]
NO_TABLE = {  # they print one verdict, one sentence or one text
    "make",
    "design",
    "check",
    "audit",
    "demo",
    "completion",
    "studio",
    "ledger create",
    "ledger charge",
    "ledger promise",
    "ledger verify",
    "ledger head",
    "ledger remove",
    "ledger export",
}
NO_JSON = {"completion", "studio", "ledger export"}  # one text for machines anyway, and a server
FOLDERS = {"demo"}
PICTURES = {
    "collude",
    "compare",
    "plan-tables",
    "show",
}  # they write them, and words to standard output
PRIVATE = "90817263"  # a value that nobody else may see


def commands(found: Any = app, path: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    if found.default_command is not None:
        yield " ".join(path), found
        return
    for name in found:
        if not name.startswith("-"):
            yield from commands(found[name], (*path, name))


ALL = dict(commands())


def options(command: Any) -> dict[str, tuple[set[str], str]]:
    """The last name of each option: all its names, and its help."""
    found = {}
    for argument in command.assemble_argument_collection():
        if argument.names == ("*",):  # options that several commands share
            continue
        names = [name for name in argument.names if name.startswith("-") and not name.startswith("--no-")]
        told = argument.parameter.help or ""
        assert told, f"{argument.names} has no help"
        if names:
            longest = next(name for name in names if name.startswith("--"))
            found[longest] = ({*names}, told)
    return found


@pytest.mark.parametrize("name", [name for name, _ in commands()])
def test_a_misspelt_option_is_told_as_such_in_every_command(run, name):  # noqa: F811
    """Wherever it stands, also where a file, a number or nothing may stand; what is meant so is written ./--file or after --."""
    words = name.split()
    required = {"make": ["geometric"], "completion": ["bash"]}.get(name, ["some.json"])
    for typed in (["--epsilom"], ["--epsilom=3"], [*required, "--epsilom"], [*required, "x", "--epsilom", "3"], ["-y"]):
        told = run(*words, *typed)
        assert_one_good_error(told)
        wrong = next(word for word in typed if word.startswith("-")).partition("=")[0]
        assert told.err.startswith(f"discreet: {wrong} is no option of discreet {name}"), (typed, told.err)


def test_an_option_is_no_value_of_the_one_before_it(run):  # noqa: F811
    """Nothing is written to a file called --csv; and negative numbers, files meant as such and - are values as before."""
    dt.geometric(dt.Grid(-3, 3), alpha="1/2").save("m.json")
    told = run("sample", "m.json", "1", "-o", "--csv")
    assert_one_good_error(told)
    assert told.err.startswith("discreet: -o needs a value after it; write for example discreet sample")
    assert not Path("--csv").exists()
    Path("m.json").rename("--epsilom")
    assert run("check", "./--epsilom").code == run("check", "--", "--epsilom").code == 0
    assert run("sample", "./--epsilom", "-3", "-2").code == 0
    assert "--epsilom is no option" in run("sample", "./--epsilom", "-3", "--epsilom").err


def test_the_list_of_commands_is_what_there_is():
    assert [name for name in app if not name.startswith("-")] == list(COMMANDS)
    assert (
        {name.partition(" ")[0] for name in ALL} == set(COMMANDS) == {name for kind in KINDS.values() for name in kind}
    )


def test_no_option_empties_a_list():
    """`--empty-sum` would be a second way of saying nothing."""
    names = {name for command in ALL.values() for each in command.assemble_argument_collection() for name in each.names}
    assert "--sum" in names
    assert not [name for name in names if name.startswith("--empty-")]


def test_one_name_means_one_thing():
    """After what says when it holds (`With --query:`), the same option has the same words in every command."""
    meant: dict[str, set[str]] = defaultdict(set)
    for command in ALL.values():
        for name, (names, told) in options(command).items():
            meant[name].add(re.sub(r"^(With --\w+|Instead of --n|[a-z, -]+): ", "", told))
            for group in TOGETHER:
                assert not names & group or names == group, names
            assert told.endswith((".", "?")), told
    assert {name: len(told) for name, told in meant.items() if len(told) > 1} == MEANINGS


@pytest.mark.parametrize("name", ALL)
def test_a_command_has_what_all_have(name):
    command = ALL[name]
    known = options(command)
    assert "--debug" in known
    assert ("--json" in known) == (name not in NO_JSON)
    assert ("--csv" in known) == (name not in NO_TABLE)
    assert ("- for" in known.get("--out", ({}, "- for"))[1]) == (name not in FOLDERS | PICTURES)
    assert ("--latex" in known) <= ("--csv" in known)
    assert ("--alpha" in known) <= ("--epsilon" in known), "a level is had both ways"
    assert ("--low" in known) == ("--high" in known)
    words = inspect.cleandoc(command.help).split("\n\n")
    assert re.fullmatch(r"[A-Z][^\n]{10,66}[.?]", words[0]), "one sentence that fits on the overview's line"
    assert any(part.startswith(f"Example: discreet {name}") for part in words)


def test_help_is_what_the_library_says():
    """The tables of its docstrings, read without importing it: the same parameters, the same words."""
    for place, thing in (
        (CASCADE, dt.sharing.cascade),
        (COLLUDE, dt.sharing.collude),
        (DESIGN, dt.design),
        (LIFETIME, dt.sharing.lifetime),
        (PLAN_EPSILON, dt.plan_epsilon),
        (PLAN_REPORTS, dt.plan_reports),
        (PROFILE, dt.profile),
        (QUESTION, dt.Question),
        (READ, dt.read),
        (PRESENTED, dt.results.Release.presented),
        (RELEASE, dt.DataSet.release),
    ):
        known = parameters(place)
        assert known, place
        words = " ".join((inspect.getdoc(thing) or "").split())
        taken = {*inspect.signature(thing).parameters}
        assert {*known} <= (taken | PresentationParts.__annotations__.keys() if "words" in taken else taken)
        assert all(re.search(rf"\b{name} {re.escape(told)}", words) for name, told in known.items()), place
    assert {*parameters(QUESTION)} == {*inspect.signature(dt.Question).parameters} - {"other"}  # which is refused
    known = options(ALL["release"])
    assert known["--pool-other"][1] == "Pool undeclared and missing keys in one more group."
    assert known["--weights"][1] == "Parts of epsilon by name where they are not equal: count=1,income=3."
    assert known["--share"][1] == (
        'A condition whose share is wanted, written like --count; after it "where CONDITION" says of whom, and "missing out" '
        "leaves out people without an answer."
    )
    assert options(ALL["design"])["--among"][1] == "With --risk worst: the truths that are possible, such as 0,1,2."
    assert options(ALL["plan-epsilon"])["--error"][1] == "The error to keep to, in the answer's units."
    assert (
        options(ALL["make"])["--width"][1]
        == "square-wave: how many steps from the truth is near; by default as in the paper."
    )
    for name in ("count", "sum", "by", "weights", "max_groups", "pool_other", "measure_totals"):
        sentence = parameters(QUESTION)[name].partition(". ")[0]
        assert known[f"--{name.replace('_', '-')}"][1].lower().startswith(sentence.lower())
    with pytest.raises(KeyError):
        meaning(QUESTION, "bound")


def test_the_overview_has_all_commands_by_kind_of_person(run):  # noqa: F811
    told = run("--help").out
    places = [told.index(kind) for kind in KINDS]
    assert places == sorted(places)
    for kind, place, end in zip(KINDS, places, [*places[1:], len(told)], strict=True):
        assert all(re.search(rf"^\W*{name}  +[A-Z]", told[place:end], re.MULTILINE) for name in KINDS[kind])
    assert "[default: ]" not in run("release", "--help").out


@pytest.mark.parametrize("words", [["--help"], ["release", "--help"], ["--version"], ["completion", "bash"], ["relea"]])
def test_asking_for_help_loads_nothing_heavy(words):
    """And the help of one command loads no other command's module."""
    code = (
        "import sys\nfrom discreet.cli import main\ntry:\n    main(sys.argv[1:])\nexcept SystemExit:\n    pass\n"
        "print(*sys.modules, file=sys.stderr)"
    )
    told = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, timeout=60, check=True)
    loaded = {*told.stderr.split()}
    assert "discreet.cli.app" in loaded, "the control"
    assert not loaded & {
        "numpy",
        "scipy",
        "duckdb",
        "pyarrow",
        "flint",
        "highspy",
        "cryptography",
        "markdown_it",
        "altair",
    }
    if words == ["release", "--help"]:
        assert "discreet.cli.releases" in loaded
        assert "discreet.cli.tour" not in loaded


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_a_shell_knows_every_command(run, shell, tmp_path):  # noqa: F811
    told = run("completion", shell)
    assert (told.code, told.err) == (0, "")
    assert not [*tmp_path.iterdir()], "it is printed, and no file is written"
    assert all(name in told.out for name in [*COMMANDS, "epsilon", "supersedes", "overwrite"])
    if shutil.which(shell):
        done = subprocess.run([shell, "-n"], input=told.out, capture_output=True, text=True, timeout=20, check=False)
        assert (done.returncode, done.stderr) == (0, "")
    if shell == "zsh":
        assert "may name its se…]:ledger:_files'" in told.out


def test_bash_completes_commands_options_and_choices(run, tmp_path):  # noqa: F811
    Path("people.csv").write_text("x\n")
    script = run("completion", "bash").out
    assert "complete -o default -F" in script, "where nothing is known: files"
    asked = {
        ("discreet", "che"): {"check", "check-release"},
        ("discreet", "ledger", "he"): {"head"},
        ("discreet", "release", "people.csv", "--sup"): {"--supersedes"},
        ("discreet", "completion", "z"): {"zsh"},
    }
    for words, wanted in asked.items():
        line = f"COMP_WORDS=({' '.join(words)}); COMP_CWORD={len(words) - 1}; _discreet; echo ${{COMPREPLY[@]}}"
        done = subprocess.run(
            ["bash", "-c", f"{script}\n{line}"], capture_output=True, text=True, timeout=20, check=True
        )
        assert {*done.stdout.split()} == wanted


# Errors


def test_a_traceback_tells_where_and_no_value(run, survey, monkeypatch):  # noqa: F811
    """Neither what was given, nor what a fault of ours says, nor what it arose from."""
    assert run("make", "geometric", "--n", 8, "--alpha", "1/2", "-o", "g.json").code == 0
    told = run("sample", "g.json", "--value", PRIVATE, "--debug")
    assert told.code == 2
    assert "Traceback" in told.err
    assert "OutOfRangeError" in told.err
    assert PRIVATE not in told.err
    Path("ages.csv").write_text(f"age\n{PRIVATE}\n")
    for words in (
        ["perturb", "ages.csv", "--column", "age", "-m", "g.json"],
        ["sample", "g.json", "ages.csv"],
        ["sensitivity", "ages.csv", "--query", "mean", "--low", "0", "--high", "9"],
    ):
        told = run(*words, "--debug")
        assert told.code == 2
        assert "Traceback" in told.err
        assert PRIVATE not in told.err

    def broken(*_: object, **__: object) -> None:
        try:
            int(f"{PRIVATE} people")
        except ValueError as error:
            raise KeyError(f"{PRIVATE} again") from error

    monkeypatch.setattr("discreet.files.load_procedure", broken)
    told = run("show", "g.json")
    assert_one_good_error(told)
    assert "KeyError" in told.err
    assert "--debug" in told.err
    debug = run("show", "g.json", "--debug")
    assert debug.code == 2
    assert debug.err.index("ValueError") < debug.err.index("KeyError")
    assert PRIVATE not in told.err + debug.err


MISTAKES = {
    "release: groups": (
        ["--count", "income > 1", "--by", "sex", "--epsilon", "1"],
        '--domain FILE, JSON such as {"sex"',
    ),
    "release: nothing to count": (
        ["--by", "sex", "--domain", "domain.json", "--epsilon", "1"],
        "--count \"income = '>50K'\"",
    ),
    "release: a mechanism": (
        ["--count", "income > 1", "--by", "sex", "--domain", "domain.json", "--epsilon", "1", "-m", "x"],
        "the file of a mechanism",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_told_in_words_of_the_command(run, survey, name):  # noqa: F811
    words, said = MISTAKES[name]
    told = run("release", "people.csv", "--dataset", "s", "--ledger", "b.db", *words)
    assert_one_good_error(told)
    assert said in told.err


def test_mistakes_with_ledgers_columns_and_spelling(run, survey):  # noqa: F811
    run("make", "geometric", "--n", 8, "--alpha", "1/2", "-o", "g.json")
    perturbing = ["perturb", "people.csv", "-m", "g.json", "--column"]
    for words, said in (
        (["ledger", "show", "nobody", "--ledger", "b.db"], "discreet ledger create"),
        (["ledger", "shw"], 'Did you mean "show"'),
        (["ledger", "history", "s"], "See discreet ledger history --help."),
        (["releas", "people.csv"], 'Did you mean "release"'),
        (["check", "g.json", "--epsilom", "1"], "Did you mean --epsilon?"),
        ([*perturbing, "incme"], "check its name in the first line"),
        ([*perturbing, "income", "--ledger", "b.db"], "Give both --dataset and --ledger"),
        (["tally", "people.csv", "--column", "incme"], "check its name in the first line"),
        (["tally", "--column", "income"], "name a file"),
        (["plan-epsilon", "--n", "9", "--error", "1", "--json", "--csv"], "give one of them"),
    ):
        told = run(*words)
        assert_one_good_error(told)
        assert said in told.err


# Streams


def test_what_is_written_can_go_on_to_the_next_command(run, survey, monkeypatch):  # noqa: F811
    """-o - and -: a mechanism, a tally and a learned domain through standard output and standard input."""

    def feed(text: str) -> None:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))

    made = run("make", "geometric", "--n", 9, "--alpha", "1/2", "-o", "-").out
    Path("ages.csv").write_text("age\n" + "3\n4\n" * 40)
    feed(made)
    reports = run("perturb", "ages.csv", "--column", "age", "-m", "-", "-o", "-").out
    Path("tally.csv").write_text(reports)
    feed(reports)
    counted = run("tally", "-", "--column", "age", "-o", "-")
    assert (counted.code, counted.err) == (0, "")
    assert counted.out == run("tally", "tally.csv", "--column", "age", "--csv").out
    assert sum(int(line.split(",")[1]) for line in counted.out.splitlines()[1:]) == 80
    dt.geometric(9, alpha="1/2").save("g.json")
    feed(reports)
    law = run("recover", "-", "--column", "age", "-m", "g.json", "--csv")
    assert law.out == run("recover", "tally.csv", "--column", "age", "-m", "g.json", "--csv").out
    assert len(law.out.splitlines()) == 11
    assert "learned" in json.loads(run("profile", "people.csv", "-o", "-").out)
    assert run("admit", "people.csv", "--dataset", "s", "--ledger", "b.db").code == 0
    asked = [
        "release",
        "people.csv",
        "--dataset",
        "s",
        "--ledger",
        "b.db",
        "--count",
        "income > 1",
        "--by",
        "sex",
        "--domain",
        "sex.json",
        "--epsilon",
        "1/2",
    ]
    Path("sex.json").write_text('{"sex": ["f", "m"]}')
    before = {path.name for path in Path().iterdir()}
    told = run(*asked, "-o", "-")
    assert (told.code, told.err) == (0, "")
    assert told.out == run(*asked, "--csv").out
    assert {path.name for path in Path().iterdir()} == before
    Path("account.json").write_text("")
    assert run("ledger", "export", "s", "--ledger", "b.db", "-o", "account.json").code == 0
    assert Path("account.json").read_text() == run("ledger", "export", "s", "--ledger", "b.db").out
    head = run("ledger", "head", "s", "--ledger", "b.db")
    assert json.loads(run("ledger", "verify", "s", "--ledger", "b.db", "--json").out)["head"] == head.out.strip()


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_ctrl_c_in_the_midst_is_130_and_leaves_nothing_half_written(tmp_path):
    """A process of its own, stopped while its design runs."""
    Path(tmp_path / "slow.py").write_text(
        "import sys, time\nimport discreet.designs.design as room\nfrom discreet.cli import main\n"
        "def slow(*a, **k):\n    print('running', flush=True)\n    time.sleep(60)\nroom.design = slow\nmain(sys.argv[1:])\n"
    )
    words = [sys.executable, "slow.py", "design", "--n", "8", "--alpha", "1/2", "-o", "best.json"]
    with subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "running\n"
        time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=20)
    assert (process.returncode, err) == (130, "discreet: stopped. best.json was not written.\n")
    assert {path.name for path in tmp_path.iterdir()} == {"slow.py"}
