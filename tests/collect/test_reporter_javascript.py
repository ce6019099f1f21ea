"""The reporter in JavaScript, under Node: it meets what test_reporter.py asks of the one in Python."""

from __future__ import annotations

import copy
import hashlib
import json
import math
import random
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import discreet as dt
from discreet import files
from discreet.collect.reporter import RefusedError, Reporter, _Grid

from .test_reporter import (
    HALVES,
    HERE,
    KINDS,
    LEAST,
    NO_HYPERPLANES,
    NO_LEVELS,
    NUMBERS,
    REFUSED,
    SCRIPT,
    STEPS,
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


LOAD_EACH = """
const { load, RefusedError } = await import(process.argv[1]);
const texts = JSON.parse((await import("node:fs")).readFileSync(0, "utf8"));
const answers = [];
for (const text of texts) {
  try { await load(text); answers.push(null); }
  catch (error) { answers.push(error instanceof RefusedError ? error.message : `TRACEBACK ${error}`); }
}
console.log(JSON.stringify(answers));
"""


def refusals(texts: list[str]) -> list[str | None]:
    """Why each of these files is refused; None where it is taken."""
    return list(json.loads(run_node(LOAD_EACH, str(MODULE), given=json.dumps(texts))))


def changed_channels(m: dt.Mechanism, changes: list[dict]) -> list[str]:
    contents = [json.loads(files.text(m)) for _ in changes]
    for content, change in zip(contents, changes, strict=True):
        content["channel"] |= change
    return [signed(content) for content in contents]


def test_what_is_not_understood_is_refused_even_with_a_good_digest():
    texts = changed_channels(G, UNKNOWN) + changed_channels(KINDS["projective response"], NO_HYPERPLANES)
    texts += [signed({**json.loads(files.text(G)), "level": level}) for level in NO_LEVELS]
    texts += [files.text(m) for m in REFUSED.values()]
    assert all("cannot be used" in str(why) for why in refusals(texts))
    assert refusals([files.text(m) for m in KINDS.values()]) == [None] * len(KINDS)


def mutated(rng: random.Random, content: Any) -> Any:
    """A document with one part changed, removed, doubled or put in another's place."""
    content = copy.deepcopy(content)
    spots = list(inner_parts(content))
    holder, key = rng.choice(spots)
    old = holder[key]
    match rng.randrange(5):
        case 0 if isinstance(holder, dict):
            del holder[key]
        case 1 if isinstance(holder, dict):
            holder[rng.choice(STRANGE_TEXTS)] = old
        case 2:
            other_holder, other_key = rng.choice(spots)
            holder[key] = copy.deepcopy(other_holder[other_key])
        case 3 if isinstance(old, str) and old:
            at = rng.randrange(len(old))
            holder[key] = old[:at] + rng.choice("0123456789/ -.e\u00a0x") + old[at + rng.randrange(2) :]
        case _:
            holder[key] = rng.choice(
                [None, True, False, {}, [], 0, -1, 1, 1.0, 1.5, 1e300, 10**30, 2**22 + 15, *STRANGE_TEXTS]
            )
    return content


STRANGE_TEXTS = [
    "",
    "0",
    "1",
    "1/2",
    "-1/2",
    "2/1",
    "01/02",
    " 1",
    "1 ",
    "1  1",
    "1\t1",
    "1\u00a01",
    "1e3",
    "a",
    "\ud800",
    "__proto__",
]


def inner_parts(content: Any) -> Iterator[tuple[Any, Any]]:
    """Where each part of a document stands, but its digest."""
    keys = content.keys() if isinstance(content, dict) else range(len(content)) if isinstance(content, list) else ()
    for key in keys:
        if key != "digest":
            yield content, key
            yield from inner_parts(content[key])


def damaged(rng: random.Random, text: str) -> str:
    """A text with a stretch of it removed, doubled or replaced; some have blanks or numbers that read alike."""
    start = rng.randrange(len(text))
    stop = start + rng.choice([0, 1, 1, 2, 10])
    stretch = text[start:stop]
    more = rng.choice(
        ["", stretch * 2, *' \t\u00a0\ufeff\x0b,:"{}[]019-.\\', "1.0", "1e0", "-0", "NaN", "null", '"version": 1,']
    )
    return text[:start] + more + text[stop:]


def signed_as_it_stands(content: Any) -> str:
    """With the digest over its canonical text, whatever the content is."""
    body = {key: value for key, value in content.items() if key != "digest"}
    text = json.dumps(body, sort_keys=True, separators=(",", ":"))
    return json.dumps({**content, "digest": f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"})


def mutations(number: int, seed: int) -> list[str]:
    rng = random.Random(seed)
    models = [files.text(m) for m in [*KINDS.values(), *REFUSED.values()] if len(files.text(m)) < 5000]
    texts = [signed_as_it_stands(mutated(rng, json.loads(rng.choice(models)))) for _ in range(number)]
    texts += [damaged(rng, rng.choice(models)) for _ in range(number // 4)]
    for number_text in (
        "1.50",
        "15e-1",
        "-0",
        "0.0",
        "1E5",
        "1e400",
        "NaN",
        "01",
        "1" * 5000,
    ):  # as written, and signed so
        body = json.dumps(
            {key: value for key, value in json.loads(files.text(G)).items() if key != "digest"}, sort_keys=True
        )
        body = body.replace('"recipe": {"citation"', f'"more": {number_text}, "recipe": {{"citation"')
        assert number_text in body
        canonical = body.replace(", ", ",").replace(": ", ":")
        texts.append(f'{body[:-1]}, "digest": "sha256:{hashlib.sha256(canonical.encode()).hexdigest()}"}}')
    return [*texts, "[" * 100_000, files.text(G).replace("{", '{"deep": ' + "[" * 300 + "]" * 300 + ",", 1)]


def why_refused(text: str) -> str | None:
    try:
        Reporter(text.encode("utf-8", "surrogatepass"))
    except RefusedError as error:
        return str(error)
    return None


def test_both_reporters_take_and_refuse_the_same_mutated_files():
    texts = mutations(3000, 28)
    ours, theirs = [why_refused(text) for text in texts], refusals(texts)
    assert not [why for why in theirs if why and why.startswith("TRACEBACK")]
    assert [text for text, a, b in zip(texts, ours, theirs, strict=True) if (a is None) != (b is None)] == []
    taken = sum(why is None for why in ours)
    assert 100 < taken < len(texts) - 1000  # the mutations are of both sorts


def test_numbers_on_the_grid_are_taken_and_others_refused():
    """As in Python: JSON's numbers, and those that a device rounds to the grid by the formula of docs/howto/collection.md."""
    code = f"""
    const {{ load, RefusedError }} = await import({json.dumps(str(MODULE))});
    const reporter = await load({json.dumps(files.text(HALVES))});
    const Grid = reporter.inputs.constructor;
    const position = (grid, value) => {{
      try {{ return Number(grid.position(value)); }}
      catch (error) {{ return error instanceof RefusedError ? null : String(error); }}
    }};
    const read = {json.dumps(list(NUMBERS))}.map((text) => position(reporter.inputs, JSON.parse(text)));
    const others = [NaN, Infinity, undefined, {{}}, Symbol("6"), 13n].map((value) => position(reporter.inputs, value));
    const rounded = {json.dumps([[step, cap, Fraction(step).numerator, Fraction(step).denominator] for step, cap in STEPS])}
      .map(([step, cap, p, q]) => {{
        const grid = new Grid(new Map([["low", "0"], ["high", String(cap)], ["step", step]]));
        return Array.from({{ length: 500 }}, (_, k) => {{
          const value = Math.min(cap, Math.max(0, Math.floor((k * cap / 450 - 0.3) * q / p + 0.5) * p / q));
          return position(grid, value) === Math.round(value * q / p);
        }}).every((taken) => taken);
      }});
    const tenths = new Grid(new Map([["low", "0"], ["high", "1"], ["step", "1/10"]]));
    console.log(JSON.stringify([read, others, rounded, position(tenths, 0.1 + 0.2), position(tenths, 0.3)]));
    """
    read, others, rounded, *sums = json.loads(run_node(code))
    assert dict(zip(NUMBERS, read, strict=True)) == NUMBERS
    assert others == [None] * 5 + [26]
    assert rounded == [True] * len(STEPS)
    assert sums == [None, 3]


def test_both_reporters_read_a_float_in_the_same_way():
    rng, asked = random.Random(28), []
    for _ in range(400):
        step = Fraction(rng.randrange(1, 50), rng.choice([1, 2, 3, 7, 10, 60, 10**12, 2**40]))
        low = Fraction(rng.randrange(-100, 100), rng.choice([1, 3, 10]))
        grid = {"low": str(low), "high": str(low + 1000 * step), "step": str(step)}
        exact = low + rng.randrange(-3, 1003) * step
        near = rng.choice([float(exact), math.nextafter(float(exact), math.inf), float(exact) + float(step) / 3])
        asked.append((grid, near))
    code = f"""
    const {{ load, RefusedError }} = await import({json.dumps(str(MODULE))});
    const Grid = (await load({json.dumps(files.text(HALVES))})).inputs.constructor;
    console.log(JSON.stringify({json.dumps(asked)}.map(([grid, value]) => {{
      try {{ return Number(new Grid(new Map(Object.entries(grid))).position(value)); }}
      catch (error) {{ return error instanceof RefusedError ? null : String(error); }}
    }})));
    """

    def position(grid: dict[str, str], value: float) -> int | None:
        try:
            return _Grid(grid).position(value)
        except RefusedError:
            return None

    ours = [position(grid, value) for grid, value in asked]
    assert json.loads(run_node(code)) == ours
    assert 100 < sum(found is not None for found in ours) < 300


def test_a_memo_repeats_reports_and_freezes():
    """Scripted draws, as for the reporter in Python."""
    code = f"""
    const {{ load, Chances }} = await import({json.dumps(str(MODULE))});
    const draws = [7n, 3n, 5n];
    class Script extends Chances {{ chance() {{ return false; }} below() {{ return draws.shift(); }} }}
    const reporter = await load({json.dumps(files.text(dt.uniform(9)))});
    let memo = null; const told = [];
    for (const value of ["1", "4", "1", "4.0", "8", "1", "2"]) {{
      const made = reporter.remembered(value, memo, 2, new Script()); memo = made.memo; told.push(made.report);
    }}
    console.log(JSON.stringify([told, draws.length]));
    """
    printed = run_node(code)
    assert json.loads(printed) == [["7", "3", "7", "3", "3", "3", "3"], 1]


def test_only_null_begins_a_memo_anew():
    """A name that was misspelt gives undefined, and would draw a fresh report every week."""
    code = f"""
    const {{ load, RefusedError }} = await import({json.dumps(str(MODULE))});
    const reporter = await load({json.dumps(files.text(G))});
    const refused = [[undefined, 2], ["", 2], [{{}}, 2], [0, 2], ["[".repeat(100000), 2], [null, "5"], [null, 1.5], [null, 0]].map(
      ([memo, most]) => {{
        try {{ reporter.remembered("1", memo, most); return "taken"; }}
        catch (error) {{ return error instanceof RefusedError; }}
      }});
    console.log(JSON.stringify(refused));
    """
    assert json.loads(run_node(code)) == [True] * 8


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
