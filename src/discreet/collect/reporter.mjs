// A report from a single device: in a browser or in node, nothing else needed. The same distribution as reporter.py,
// drawn exactly: whole numbers (BigInt) from crypto.getRandomValues, no floating point.
//
//   import { load } from "./reporter.mjs";
//   const reporter = await load(await (await fetch("mechanism.json")).text());
//   const report = reporter.report("37");
//
// A file whose content does not fit its digest is refused, and so is one with a distribution that is not known here. The digest
// notices damage; against a forged file compare it with one that your app has. What privacy the distribution gives is proved by
// verify.py, once, by whoever hands the file out.
//
// For repeated collection: const { report, memo } = reporter.remembered("37", oldMemo, 5); store `memo` (a text; null at
// first) before the report is sent. A value that comes again gets the report that it got before; after 5 different values
// the last report is repeated for good. Between histories that change, and come back to earlier values, at the same moments
// all reports together tell at most 5 times the epsilon between any two values; between others there is no bound, and a lost
// memo counts as new values. The memo holds true values: it stays on the device.

export class RefusedError extends Error {}

const FAR = 2n ** 61n - 1n; // where every grid ends
const BITS = 2n ** 18n; // of the powers that noise is drawn with
const LONGEST = 2n ** 10n; // turns of a loop to be expected
const POINTS = 2n ** 21n; // of a projective space

function need(condition, why) {
  if (!condition) throw new RefusedError(`The mechanism file cannot be used: ${why}. Check it with verify.py.`);
}

// Exact choices, from fair bytes. Tests put others in their place to see every choice there is.
export class Chances {
  bytes(count) {
    const made = new Uint8Array(count);
    for (let start = 0; start < count; start += 65536) globalThis.crypto.getRandomValues(made.subarray(start, start + 65536));
    return made;
  }

  bits(length) {
    const made = this.bytes(Math.ceil(length / 8));
    const hex = Array.from(made, (byte) => byte.toString(16).padStart(2, "0")).join("");
    return BigInt("0x" + hex) & ((1n << BigInt(length)) - 1n);
  }

  below(size) {
    if (size === 1n) return 0n;
    const length = (size - 1n).toString(2).length;
    for (;;) {
      const drawn = this.bits(length);
      if (drawn < size) return drawn;
    }
  }

  // Is a uniform number, drawn 64 binary digits at a time, below part/whole? One word decides, but for one time in 2^64.
  chance(part, whole) {
    for (;;) {
      part <<= 64n;
      const digits = part / whole;
      part -= digits * whole;
      const drawn = this.bits(64);
      if (drawn !== digits) return drawn < digits;
    }
  }

  pick(weights) {
    let left = this.below(weights.reduce((sum, weight) => sum + weight, 0n));
    for (let k = 0; k < weights.length; k++) {
      left -= weights[k];
      if (left < 0n) return BigInt(k);
    }
    throw new Error("the weights are no weights");
  }
}

// JSON whose numbers keep the text that they were written as: the digest is over that text.

class Written {
  constructor(text) {
    this.text = text;
  }
}

function parsed(text) {
  let at = 0;
  const token = /\s*(?:([{}[\],:])|("(?:[^"\\\u0000-\u001f]|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*")|(-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)|(true|false|null))/y;
  function next() {
    token.lastIndex = at;
    const found = token.exec(text);
    if (found === null) throw new SyntaxError("no token");
    at = token.lastIndex;
    return found;
  }
  function value(found, depth) {
    if (depth > 200) throw new SyntaxError("too deep");
    const [, mark, string, number, word] = found;
    if (string !== undefined) return JSON.parse(string);
    if (number !== undefined) return new Written(number);
    if (word !== undefined) return JSON.parse(word);
    if (mark === "[") return list(depth);
    if (mark === "{") return object(depth);
    throw new SyntaxError("no value");
  }
  function list(depth) {
    const made = [];
    let found = next();
    if (found[1] === "]") return made;
    for (;;) {
      made.push(value(found, depth + 1));
      const mark = next()[1];
      if (mark === "]") return made;
      if (mark !== ",") throw new SyntaxError("no list");
      found = next();
    }
  }
  function object(depth) {
    const made = new Map();
    let found = next();
    if (found[1] === "}") return made;
    for (;;) {
      if (found[2] === undefined) throw new SyntaxError("no key");
      const key = JSON.parse(found[2]);
      if (made.has(key) || next()[1] !== ":") throw new SyntaxError("no entry");
      made.set(key, value(next(), depth + 1));
      const mark = next()[1];
      if (mark === "}") return made;
      if (mark !== ",") throw new SyntaxError("no object");
      found = next();
    }
  }
  const whole = value(next(), 0);
  if (text.slice(at).trim() !== "") throw new SyntaxError("more text");
  return whole;
}

function ascii(text) {
  const short = { '"': '\\"', "\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t" };
  const escaped = (c) => short[c] ?? (c >= " " && c <= "~" ? c : "\\u" + c.charCodeAt(0).toString(16).padStart(4, "0"));
  return '"' + Array.from({ length: text.length }, (_, k) => escaped(text[k])).join("") + '"';
}

function compareByCodePoint(a, b) {
  const [x, y] = [Array.from(a), Array.from(b)];
  for (let k = 0; k < Math.min(x.length, y.length); k++) {
    if (x[k] !== y[k]) return x[k].codePointAt(0) - y[k].codePointAt(0);
  }
  return x.length - y.length;
}

function canonical(value) {
  if (value instanceof Written) return value.text;
  if (typeof value === "string") return ascii(value);
  if (Array.isArray(value)) return "[" + value.map(canonical).join(",") + "]";
  if (value instanceof Map) {
    const keys = [...value.keys()].sort(compareByCodePoint);
    return "{" + keys.map((key) => ascii(key) + ":" + canonical(value.get(key))).join(",") + "}";
  }
  return String(value);
}

async function digestOf(document) {
  const body = new Map([...document].filter(([key]) => key !== "digest"));
  const data = new TextEncoder().encode(canonical(body));
  const made = new Uint8Array(await globalThis.crypto.subtle.digest("SHA-256", data));
  return "sha256:" + Array.from(made, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

// Numbers of the file: rationals are pairs [top, bottom] of BigInt, in lowest terms.

function gcd(a, b) {
  a = a < 0n ? -a : a;
  while (b) [a, b] = [b, a % b];
  return a;
}

function reduced(top, bottom) {
  const both = gcd(top, bottom);
  return [top / both, bottom / both];
}

function rational(text) {
  need(typeof text === "string" && /^-?[0-9]{1,4200}(\/[0-9]{1,4200})?$/.test(text), "a number in it cannot be read");
  const [top, bottom = "1"] = text.split("/");
  need(BigInt(bottom) > 0n, "a number in it cannot be read");
  return reduced(BigInt(top), BigInt(bottom));
}

function inside(text) {
  const [top, bottom] = rational(text);
  need(top > 0n && top < bottom, "a number in it is not a probability");
  return [top, bottom];
}

function whole(value, least) {
  const text = value instanceof Written ? value.text : value;
  need(typeof text === "string" && /^-?[0-9]{1,4200}$/.test(text), "a number in it cannot be read");
  need(BigInt(text) >= least, "a number in it is too small");
  return BigInt(text);
}

function words(text) {
  need(typeof text === "string", "a part of it is missing or misshapen");
  return text.split(/\s+/).filter((word) => word !== "");
}

// The distribution: each kind gives { draw(position, chances), rows, reports }; null: without end.

const KINDS = {
  table: [["total", "rows"], (part) => {
    need(Array.isArray(part.get("rows")) && part.get("rows").length >= 2, "its table has no rows");
    const rows = part.get("rows").map((row) => words(row).map((w) => whole(w, 0n)));
    const total = whole(part.get("total"), 1n);
    const fits = (row) => row.length === rows[0].length && row.reduce((sum, w) => sum + w, 0n) === total;
    need(rows.every(fits), "the rows of its table do not sum to the total");
    return { draw: (i, chances) => chances.pick(rows[Number(i)]), rows: BigInt(rows.length), reports: BigInt(rows[0].length) };
  }],
  mixture: [["size", "keep", "ends", "other"], (part) => {
    const size = whole(part.get("size"), 2n);
    const keep = rational(part.get("keep"));
    const ends = part.get("ends") == null ? keep : rational(part.get("ends"));
    for (const [top, bottom] of [keep, ends]) need(top >= 0n && top < bottom, "a number in it is not a probability");
    const all = (keep[1] / gcd(keep[1], ends[1])) * ends[1];
    const other = part.get("other") == null ? null : channel(part.get("other"));
    need(other === null || (other.rows === size && other.reports === size), "its parts do not fit");
    const draw = (i, chances) => {
      const [top, bottom] = i === 0n || i === size - 1n ? ends : keep;
      const stays = chances.chance(top * (all / bottom), all); // both are drawn: the time tells of neither
      const drawn = other === null ? chances.below(size) : other.draw(i, chances);
      return stays ? i : drawn;
    };
    return { draw, rows: size, reports: size };
  }],
  window: [["n", "width", "a"], (part) => {
    const n = whole(part.get("n"), 1n);
    const length = 2n * whole(part.get("width"), 1n) + 1n;
    const [p, q] = inside(part.get("a"));
    const draw = (i, chances) => {
      const [near, j, k] = [chances.chance(length * q, length * q + n * p), chances.below(length), chances.below(n)];
      return near ? i + j : k < i ? k : k + length;
    };
    return { draw, rows: n + 1n, reports: n + length };
  }],
  // points of a projective space over the field of p^m elements: a hyperplane is where a recurrence modulo p is 0
  projective: [["size", "p", "m", "t", "recurrence", "a"], (part) => {
    const [size, p, m, t] = ["size", "p", "m", "t"].map((name) => whole(part.get(name), 1n));
    const [low, high] = inside(part.get("a"));
    const small = p > 1n && t > 1n && p < POINTS && m * t < 64n && m * p ** (m * (t - 1n)) < 2n * POINTS;
    need(small, "its space is larger than this program draws");
    const points = Number((p ** (m * t) - 1n) / (p ** m - 1n));
    const factors = words(part.get("recurrence")).map((r) => Number(whole(r, 0n) % p));
    need(BigInt(factors.length) === m * t && size >= 2n && size <= BigInt(points), "its parts do not fit");
    const [field, turns] = [Number(p), Number(m) * points]; // whole numbers below 2^48: sums of at most 63 products
    const terms = [...factors.slice(1).fill(0), 1];
    const zero = Array(points).fill(true);
    const used = factors.flatMap((r, k) => (r === 0 ? [] : [[k, field - r]]));
    for (let i = 0; i < turns; i++) {
      if (terms[i] !== 0) zero[i % points] = false;
      terms.push(used.reduce((sum, [k, r]) => sum + r * terms[i + k], 0) % field);
    }
    const first = zero.indexOf(true);
    const near = zero.flatMap((here, i) => (here ? [BigInt(i - first)] : []));
    need(BigInt(near.length) === (BigInt(points) - 1n) / p ** m, "its parts do not fit");
    const [many, all] = [BigInt(near.length), BigInt(points)];
    const [more, even] = [many * (high - low), all * low]; // beyond any point's own, and of all points
    const draw = (i, chances) => {
      const [chosen, j, k] = [chances.chance(more, more + even), chances.below(many), chances.below(all)];
      return chosen ? (i + near[Number(j)]) % all : k;
    };
    return { draw, rows: size, reports: all };
  }],
  geometric: [["n", "a"], (part) => closed(part.get("n"), new Map([["family", "geometric"], ["a", part.get("a")]]))],
  clamped: [["n", "noise"], (part) => closed(part.get("n"), part.get("noise"))],
  additive: [["noise", "low", "high"], (part) => {
    const noise = noiseOf(part.get("noise"));
    const [low, high] = ["low", "high"].map((end) => {
      const value = part.get(end);
      need(value === null || (value instanceof Written && value.text === "0"), "its ends are unknown");
      return value;
    });
    const [least, most] = [low === null ? -FAR : 0n, high === null ? FAR : 0n];
    return { draw: (i, chances) => between(i + noise(chances), least, most), rows: null, reports: null };
  }],
  map: [["size", "targets"], (part) => {
    const size = whole(part.get("size"), 1n);
    const targets = words(part.get("targets")).map((t) => whole(t, 0n));
    need(targets.length > 0 && targets.every((t) => t < size), "its map leads outside");
    return { draw: (i) => targets[Number(i)], rows: BigInt(targets.length), reports: size };
  }],
  then: [["first", "second"], (part) => {
    const [first, second] = [channel(part.get("first")), channel(part.get("second"))];
    need(first.reports !== null && first.reports === second.rows, "its parts do not fit");
    return { draw: (i, chances) => second.draw(first.draw(i, chances), chances), rows: first.rows, reports: second.reports };
  }],
};

function channel(part) {
  const kind = part instanceof Map ? part.get("kind") : undefined;
  need(typeof kind === "string" && Object.hasOwn(KINDS, kind), "its distribution is of a kind that this program does not know");
  const [keys, read] = KINDS[kind];
  need([...part.keys()].every((key) => key === "kind" || keys.includes(key)), "its distribution has parts that this program does not know");
  const { draw, rows, reports } = read(part);
  const checked = (i, chances) => {
    if (rows !== null && (i < 0n || i >= rows)) throw new Error("a position without a row was to be drawn for");
    return draw(i, chances);
  };
  return { draw: checked, rows, reports };
}

function between(value, least, most) {
  return value < least ? least : value > most ? most : value;
}

function closed(size, part) {
  const n = whole(size, 1n);
  const noise = noiseOf(part);
  return { draw: (i, chances) => between(i + noise(chances), 0n, n), rows: n + 1n, reports: n + 1n };
}

// Pr[i] in proportion to b^j, where |i| = kD + u, and j = k for u < r, else k + 1; geometric noise is D = r = 1.
function noiseOf(part) {
  const family = part instanceof Map ? part.get("family") : undefined;
  need(family === "geometric" || family === "staircase", "its noise is of a kind that this program does not know");
  const [p, q] = inside(part.get(family === "geometric" ? "a" : "b"));
  const [wide, top] = family === "geometric" ? [1n, 1n] : [whole(part.get("D"), 1n), whole(part.get("r"), 1n)];
  need(top <= wide, "its stairs are wider than the sensitivity");
  const steps = geometricNumber(p, q);
  return (chances) => {
    for (;;) {
      let size = wide * steps(chances);
      const [high, j] = [chances.chance(top * q, top * q + (wide - top) * p), chances.below(top)];
      const k = chances.below(wide > top ? wide - top : 1n);
      size += high ? j : top + k;
      const negative = chances.chance(1n, 2n);
      if (size !== 0n || !negative) return negative ? -size : size;
    }
  };
}

// A number k with probability (1 - b) b^k: digit j is 1 with probability b^(2^j) / (1 + b^(2^j)), independently of the rest. The
// choices that a small one does not need are made as well and thrown away: all but one number in 2^64 take as many.
function geometricNumber(p, q) {
  const powers = [[p, q]];
  for (;;) {
    const [top, bottom] = powers[powers.length - 1];
    if (2n * top <= bottom || 2n * BigInt(bottom.toString(16).length) * 4n > BITS) break;
    powers.push([top * top, bottom * bottom]);
  }
  const [top, bottom] = powers.pop();
  need((bottom - top) * LONGEST >= bottom, "its noise is wider than this program draws");
  powers.reverse();
  const turns = (46n * bottom) / (bottom - top); // b^turns < e^-45 < 2^-64
  return (chances) => {
    let number = 0n;
    while (chances.chance(top, bottom)) number += 1n;
    const spare = new Chances();
    for (let turn = number; turn < turns; turn++) spare.chance(top, bottom);
    for (const [a, b] of powers) number = 2n * number + (chances.chance(a, a + b) ? 1n : 0n);
    return number;
  };
}

// Values low, low + step, ..., high; positions count from low, from high where low is open, from 0 where both are.
class Grid {
  constructor(part) {
    need(part instanceof Map && ["low", "high", "step"].every((key) => part.has(key)), "a part of it is missing or misshapen");
    this.low = part.get("low") === null ? null : rational(part.get("low"));
    this.high = part.get("high") === null ? null : rational(part.get("high"));
    this.step = rational(part.get("step"));
    need(this.step[0] > 0n, "its step is not a positive number");
    this.anchor = this.low ?? this.high ?? [0n, 1n];
    const steps = this.low === null || this.high === null ? null : this.steps(this.high);
    this.size = steps === null ? null : steps[0] / steps[1] + 1n;
  }

  steps([top, bottom]) {
    const [a, b] = this.anchor;
    return reduced((top * b - a * bottom) * this.step[1], bottom * b * this.step[0]);
  }

  position(value) {
    const text = typeof value === "string" ? value.replace(/^[ \t\n\v\f\r]+|[ \t\n\v\f\r]+$/g, "") : typeof value === "bigint" || Number.isSafeInteger(value) ? String(value) : "";
    const found = /^([+-]?)([0-9]{1,40})(?:\.([0-9]{1,40}))?(?:\/([0-9]{1,40}))?$/.exec(text);
    const bottom = found === null ? 0n : 10n ** BigInt((found[3] ?? "").length) * BigInt(found[4] ?? "1");
    if (bottom !== 0n) {
      const sign = found[1] === "-" ? -1n : 1n;
      const [place, rest] = this.steps([sign * BigInt(found[2] + (found[3] ?? "")), bottom]);
      const [least, most] = [this.low === null ? -FAR : 0n, this.high === null ? FAR : 0n];
      if (rest === 1n && (this.size === null ? least <= place && place <= most : 0n <= place && place < this.size)) return place;
    }
    throw new RefusedError("The value is not on the mechanism's grid; nothing was drawn. Give one that is.");
  }

  value(place) {
    const [a, b] = this.anchor;
    const [top, bottom] = reduced(a * this.step[1] + place * this.step[0] * b, b * this.step[1]);
    return bottom === 1n ? `${top}` : `${top}/${bottom}`;
  }
}

// Answers that are names; one of them may be for all that are not declared.
class Names {
  constructor(part) {
    const [names, other] = [part.get("names"), part.get("other")];
    const texts = Array.isArray(names) && names.every((name) => typeof name === "string" && name !== "" && !/\p{Surrogate}/u.test(name));
    need(texts && part.size === 2 && part.has("other"), "its names are no texts");
    this.names = names;
    this.places = new Map(names.map((name, k) => [name, BigInt(k)]));
    this.size = BigInt(names.length);
    need(BigInt(this.places.size) === this.size && (other === null || this.places.has(other)), "its names do not fit");
    this.other = other === null ? undefined : this.places.get(other);
  }

  position(value) {
    const place = typeof value === "string" && value !== "" ? this.places.get(value) ?? this.other : undefined;
    if (place === undefined) throw new RefusedError("The value is none of the mechanism's names; nothing was drawn. Give one of them.");
    return place;
  }

  value(place) {
    return this.names[Number(place)];
  }
}

function answers(part) {
  return part instanceof Map && part.has("names") ? new Names(part) : new Grid(part);
}

export class Reporter {
  constructor(document, digest) {
    this.digest = digest;
    this.channel = channel(document.get("channel"));
    this.inputs = answers(document.get("inputs"));
    this.outputs = answers(document.get("outputs"));
    const fits = this.inputs.size === this.channel.rows && this.outputs.size === this.channel.reports;
    need(fits, "its grids do not fit its distribution");
  }

  // A report for a true value (a text, a BigInt or a whole number), as a text: a whole number, a fraction such as 1/2, or a name.
  report(value, chances = new Chances()) {
    return this.outputs.value(this.channel.draw(this.inputs.position(value), chances));
  }

  // The report and the new memo, which must be stored before the report is sent.
  remembered(value, memo, most, chances = new Chances()) {
    if (!Number.isSafeInteger(most) || most < 1) {
      throw new RefusedError("The number of different values that get a report of their own must be at least 1.");
    }
    const place = this.inputs.position(value);
    const key = this.inputs.value(place);
    const fresh = { format: "discreet-memo", version: 1, mechanism: this.digest, most, reports: {}, last: null, frozen: false };
    let known = fresh;
    if (memo !== null && memo !== undefined) {
      try {
        known = JSON.parse(memo);
      } catch {
        throw new RefusedError("The memo cannot be read; a lost one counts as new values, so bring back a good copy.");
      }
      if (known === null || known.format !== fresh.format || known.version !== 1) {
        throw new RefusedError("The memo is another kind of text; give another one.");
      }
      if (known.mechanism !== this.digest || known.most !== most) {
        throw new RefusedError("The memo belongs to another mechanism or another number of values; give another one.");
      }
      if (!this.isPossible(known)) {
        throw new RefusedError("The memo was changed by somebody else; a lost one counts as new values, so bring back a good copy.");
      }
    }
    known.reports = Object.assign(Object.create(null), known.reports); // a name may be "__proto__"
    const came = Object.hasOwn(known.reports, key);
    if (!known.frozen && !came && Object.keys(known.reports).length < most) {
      known.last = known.reports[key] = this.report(value, chances);
    } else {
      this.outputs.value(this.channel.draw(place, new Chances())); // for nothing: the time does not tell that a value came before
      known.frozen = known.frozen || !came;
      known.last = known.frozen ? known.last : known.reports[key];
    }
    return { report: known.last, memo: JSON.stringify(known) };
  }

  // Could this program have written the memo?
  isPossible({ reports, last, frozen, most }) {
    if (reports === null || typeof reports !== "object" || Array.isArray(reports)) return false;
    const pairs = Object.entries(reports);
    if (pairs.length < 1 || pairs.length > most || !pairs.some(([, report]) => report === last)) return false;
    if (typeof frozen !== "boolean" || (frozen && pairs.length !== most)) return false;
    const written = (grid, text) => typeof text === "string" && grid.value(grid.position(text)) === text;
    try {
      return pairs.every(([value, report]) => written(this.inputs, value) && written(this.outputs, report));
    } catch {
      return false;
    }
  }
}

// A reporter from the text of a mechanism file.
export async function load(text) {
  let document;
  try {
    document = parsed(text);
  } catch {
    throw new RefusedError("This is no mechanism file: it is not JSON, or was cut short. Get it anew.");
  }
  need(document instanceof Map && document.get("format") === "discreet-mechanism", "it is another kind of file");
  const version = document.get("version");
  need(version instanceof Written && version.text === "1", "this program reads version 1 of such files alone");
  const digest = await digestOf(document);
  need(document.get("digest") === digest, "it was changed after it was saved");
  // a traditional method is saved with the level that it has, none
  need(document.get("level") instanceof Map && document.get("level").get("alpha") !== "0", "it promises no privacy");
  return new Reporter(document, digest);
}
