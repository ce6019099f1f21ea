"""The reporter in JavaScript, under Node: it meets what test_reporter.py asks of the one in Python."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections import Counter
from fractions import Fraction
from pathlib import Path

import pytest

import discreet as dt
from discreet import files
from discreet.collect.reporter import Reporter

from .test_reporter import (
    HERE,
    KINDS,
    LEAST,
    METHODS,
    NO_HYPERPLANES,
    OPEN,
    OPEN_LAW,
    SCRIPT,
    TAMPERED,
    UNKNOWN,
    G,
    assert_is_the_law,
    assert_tells_nothing,
    blanks,
    law_of,
    signed,
    with_noise,
)

pytestmark = pytest.mark.outside("node")
MODULE = SCRIPT.with_suffix(".mjs")


def run_node(code: str, *words: str, given: str = "") -> str:
    """What a module of JavaScript prints."""
    return _run("--input-type=module", "-e", code, *words, given=given)


def _run(*words: str, given: str, folder: Path | None = None) -> str:
    node = shutil.which("node")
    if node is None:
        pytest.skip("needs Node")
    return subprocess.run([node, *words], input=given, capture_output=True, text=True, check=True, cwd=folder).stdout


def laws(m: dt.Mechanism, values: list[str]) -> list[list[tuple[str | None, Fraction]]]:
    asked = json.dumps({"file": files.text(m), "values": values, "least": LEAST})
    printed = _run(str(HERE / "laws.mjs"), str(MODULE), given=asked)
    return [[(report, Fraction(int(a), int(b))) for report, a, b in leaves] for leaves in json.loads(printed)]


@pytest.mark.parametrize("name", KINDS)
def test_every_choice_of_a_draw_adds_up_to_the_law(name):
    m = KINDS[name]
    rows = [0, 1, (m.inputs.size or 1) - 1]
    for row, leaves in zip(rows, laws(m, [str(m.inputs.value(row)) for row in rows]), strict=True):
        assert_is_the_law(leaves, law_of(m, row))
        if row > 1 and name != "uniform":  # negative control: another row's law is another one
            with pytest.raises(AssertionError):
                assert_is_the_law(leaves, law_of(m, 0))


def test_noise_on_an_open_grid():
    assert_is_the_law(laws(OPEN, ["7"])[0], OPEN_LAW)


def test_whole_numbers_come_from_fair_bits():
    code = f"""
    const {{ Chances }} = await import({json.dumps(str(MODULE))});
    class Fixed extends Chances {{
      constructor(list) {{ super(); this.list = list; }}
      bytes(n) {{ return Uint8Array.from(this.list.splice(0, n)); }}
    }}
    const found = [];
    for (let byte = 0; byte < 256; byte++) {{
      try {{ found.push(Number(new Fixed([byte]).below(5n))); }} catch {{ found.push(-1); }}
    }}
    const wide = new Fixed([1, 2, 3]).bits(17);
    const picked = [..."01234567"].map((w) => Number(new Fixed([Number(w)]).pick([1n, 0n, 5n, 2n])));
    console.log(JSON.stringify([found, String(wide), picked]));
    """
    printed = run_node(code)
    found, wide, picked = json.loads(printed)
    assert Counter(found) == {-1: 96, **dict.fromkeys(range(5), 32)}
    assert int(wide) == 0x010203 & (2**17 - 1)
    assert picked == [0, 2, 2, 2, 2, 2, 3, 3]


@pytest.mark.parametrize("change", UNKNOWN)
def test_what_is_not_understood_is_refused_even_with_a_good_digest(change):
    content = json.loads(files.text(G))
    content["channel"] |= change
    code = f"""
    const {{ load, RefusedError }} = await import({json.dumps(str(MODULE))});
    try {{ await load({json.dumps(signed(content))}); console.log("taken"); }}
    catch (error) {{ console.log(error instanceof RefusedError ? error.message : String(error)); }}
    """
    printed = run_node(code)
    assert "cannot be used" in printed


def test_hyperplanes_that_are_none_are_refused_even_with_a_good_digest():
    contents = [json.loads(files.text(KINDS["projective response"])) for _ in NO_HYPERPLANES]
    for content, change in zip(contents, NO_HYPERPLANES, strict=True):
        content["channel"] |= change
    code = f"""
    const {{ load, RefusedError }} = await import({json.dumps(str(MODULE))});
    for (const text of {json.dumps([signed(content) for content in contents])}) {{
      try {{ await load(text); console.log("taken"); }}
      catch (error) {{ console.log(error instanceof RefusedError ? error.message : String(error)); }}
    }}
    """
    printed = run_node(code).splitlines()
    assert len(printed) == len(NO_HYPERPLANES)
    assert all("cannot be used" in line for line in printed)


@pytest.mark.parametrize("name", METHODS)
def test_a_traditional_method_draws_no_report(name):
    code = f"""
    const {{ load, RefusedError }} = await import({json.dumps(str(MODULE))});
    try {{ await load({json.dumps(files.text(METHODS[name]()))}); console.log("taken"); }}
    catch (error) {{ console.log(error instanceof RefusedError ? error.message : String(error)); }}
    """
    assert "promises no privacy" in run_node(code)


@pytest.mark.parametrize("start", ["null", "undefined"])
def test_a_memo_repeats_reports_and_freezes(start):
    """Scripted draws, as for the reporter in Python; storage that has no memo yet gives one or the other."""
    code = f"""
    const {{ load, Chances }} = await import({json.dumps(str(MODULE))});
    const draws = [7n, 3n, 5n];
    class Script extends Chances {{ chance() {{ return false; }} below() {{ return draws.shift(); }} }}
    const reporter = await load({json.dumps(files.text(dt.uniform(9)))});
    let memo = {start}; const told = [];
    for (const value of ["1", "4", "1", "4.0", "8", "1", "2"]) {{
      const made = reporter.remembered(value, memo, 2, new Script()); memo = made.memo; told.push(made.report);
    }}
    console.log(JSON.stringify([told, draws.length]));
    """
    printed = run_node(code)
    assert json.loads(printed) == [["7", "3", "7", "3", "3", "3", "3"], 1]


def test_a_memo_holds_any_name():
    """Also one that JavaScript gives another meaning; all that is not declared is one answer."""
    code = f"""
    const {{ load, Chances, RefusedError }} = await import({json.dumps(str(MODULE))});
    const draws = [2n, 1n, 0n];
    class Script extends Chances {{ chance() {{ return false; }} below() {{ return draws.shift(); }} }}
    const reporter = await load({json.dumps(files.text(KINDS["names"]))});
    let memo = null; const told = [];
    for (const value of ["__proto__", "x", "y", "__proto__", "else", "a b"]) {{
      const made = reporter.remembered(value, memo, 2, new Script()); memo = made.memo; told.push(made.report);
    }}
    for (const bad of ["", null, 3, undefined]) {{
      try {{ reporter.report(bad); told.push("taken"); }}
      catch (error) {{ told.push(error instanceof RefusedError ? "refused" : String(error)); }}
    }}
    console.log(JSON.stringify([told, draws.length]));
    """
    last, other = "\u00e9\U0001f697", "__proto__"
    assert json.loads(run_node(code)) == [[last, other, other, last, other, other, *["refused"] * 4], 1]


COUNT_WORDS = """
const { load, Chances } = await import(process.argv[1]);
const asked = JSON.parse((await import("node:fs")).readFileSync(0, "utf8"));
const plain = Chances.prototype.bits;
let seen = 0;
Chances.prototype.bits = function (length) { seen += 1; return plain.call(this, length === 64 ? 64 : Math.max(length - 1, 1)); };
const found = [];
for (const [file, values] of asked) {
  const reporter = await load(file);
  found.push(values.map((value) => { seen = 0; reporter.report(value); return seen; }));
}
console.log(JSON.stringify(found));
"""


def test_a_report_takes_as_many_words_whatever_the_value_and_the_report_are():
    noisy = with_noise()
    asked = [[files.text(m), [str(m.inputs.value(k)) for k in range(m.inputs.size or 0)] * 40] for m in KINDS.values()]
    printed = run_node(COUNT_WORDS, str(MODULE), given=json.dumps(asked))
    for name, counts in zip(KINDS, json.loads(printed), strict=True):
        assert_tells_nothing(counts, name in noisy)


def test_a_value_that_came_before_takes_as_many_words():
    """New, remembered, and after the memo is frozen."""
    code = f"""
    const {{ load, Chances }} = await import({json.dumps(str(MODULE))});
    let seen = 0;
    Chances.prototype.bits = (length) => {{ seen += 1; return (1n << BigInt(length - 1)) - 1n; }};
    const reporter = await load({json.dumps(files.text(dt.randomized_response(4, epsilon=1)))});
    let memo = null; const counts = [];
    for (const value of ["1", "2", "1", "3", "1", "2"]) {{
      seen = 0; memo = reporter.remembered(value, memo, 2).memo; counts.push(seen);
    }}
    console.log(JSON.stringify(counts));
    """
    printed = run_node(code)
    assert json.loads(printed) == [2] * 6


def test_a_memo_that_was_tampered_with_is_refused(tmp_path):
    memo = tmp_path / "memo.json"
    Reporter(files.text(G).encode()).remembered("1", str(memo), 2)
    good = json.loads(memo.read_text())
    texts = [json.dumps(good | change) for change in TAMPERED]
    code = f"""
    const {{ load, RefusedError }} = await import({json.dumps(str(MODULE))});
    const reporter = await load({json.dumps(files.text(G))});
    const refused = {json.dumps(texts)}.map((text) => {{
      try {{ reporter.remembered("1", text, 2); return "taken"; }}
      catch (error) {{ return error instanceof RefusedError && error.message.includes("good copy"); }}
    }});
    console.log(JSON.stringify([refused, reporter.remembered("1", {json.dumps(json.dumps(good))}, 2).report]));
    """
    printed = run_node(code)
    assert json.loads(printed) == [[True] * len(TAMPERED), good["last"]]


def test_no_reporter_draws_for_a_place_without_a_row():
    """A list of JavaScript has nothing there: every kind is asked directly."""
    asked = f"""const {{ load, Chances }} = await import({json.dumps(str(MODULE))});
        const said = [];
        for (const text of {json.dumps([files.text(m) for m in KINDS.values()])}) {{
          const {{ draw, rows }} = (await load(text)).channel;
          said.push([-1n, -rows, rows, 2n ** 70n, 0n, rows - 1n].map((place) => {{
            try {{ return String(draw(place, new Chances())); }} catch (error) {{ return error.message; }}
          }}));
        }}
        console.log(JSON.stringify(said));"""
    printed = run_node(asked)
    for *outside, first, last in json.loads(printed):
        assert set(outside) == {"a position without a row was to be drawn for"}
        assert first.isdigit()
        assert last.isdigit()


def test_blanks_of_ascii_about_a_value_are_taken():
    m, given = KINDS["a table"], blanks()
    asked = f"""const {{ load, RefusedError }} = await import({json.dumps(str(MODULE))});
        const reporter = await load({json.dumps(files.text(m))});
        console.log(JSON.stringify({json.dumps(given)}.map((value) => {{
          try {{ return reporter.report(value) !== ""; }} catch (error) {{ return !(error instanceof RefusedError); }}
        }})));"""
    printed = run_node(asked)
    assert json.loads(printed) == [True] * 4 + [False] * 7


def test_the_lines_for_browsers_on_the_page_run_and_send_the_digest(tmp_path):
    """Each block of docs/collect.md, in its order, in one module; storage and network are stood in for."""
    page = (HERE.parent.parent / "docs" / "collect.md").read_text(encoding="utf-8")
    browser, node, weekly = re.findall(r"```js\n(.*?)```", page, re.DOTALL)
    m = dt.square_wave(100, epsilon=2)
    m.save(tmp_path / "mechanism.json")
    shutil.copy(MODULE, tmp_path)
    (tmp_path / "ask.mjs").write_text(node)
    prelude = """
    const kept = new Map(), sent = [];
    globalThis.localStorage = { getItem: (k) => kept.get(k) ?? null, setItem: (k, v) => kept.set(k, v) };
    globalThis.fetch = async (where, asked) => asked ? sent.push(asked.body) : { text: async () => FILE };
    """.replace("FILE", json.dumps(files.text(m)))
    (tmp_path / "page.mjs").write_text(f"{prelude}{browser}{weekly}console.log(JSON.stringify([sent, kept.size]));")
    assert m.outputs.place(_run(str(tmp_path / "ask.mjs"), given="", folder=tmp_path).strip()) is not None
    sent, kept = json.loads(_run(str(tmp_path / "page.mjs"), given="", folder=tmp_path))
    assert kept == 1
    assert len(sent) == 2
    for body in map(json.loads, sent):
        assert body["digest"] == Reporter.load(str(tmp_path / "mechanism.json")).digest
        assert m.outputs.place(body["report"]) is not None
