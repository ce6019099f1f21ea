// A report from a single device: in a browser or in node, nothing else needed. The same distribution as reporter.py,
// drawn exactly: whole numbers (BigInt) from crypto.getRandomValues, no floating point.
//
//   import { load } from "./reporter.mjs";
//   const reporter = await load(await (await fetch("mechanism.json")).text());
//   const report = reporter.report("37");
//
// A file whose content does not fit its digest is refused, and so is one with a distribution that is not known here. The digest
// notices damage; against a forged file compare it with one that your app has. What privacy the distribution gives is proved by
// verify.py, once, by whoever hands the file out. reporter.py takes and refuses the same files.
//
// For repeated collection: const { report, memo } = reporter.remembered("37", oldMemo, 5); store `memo` (a text; null at
// first) before the report is sent. A value that comes again gets the report that it got before; after 5 different values
// the last report is repeated for good. Between histories that change, and come back to earlier values, at the same moments
// all reports together tell at most 5 times the epsilon between any two values; between others there is no bound, and a lost
// memo counts as new values. The memo holds true values: it stays on the device.

// Why there is no report: one sentence, without the value.
export class RefusedError extends Error {}

const MAX_DEPTH = 200; // of lists and objects within each other
const MAX_POWER_BITS = 2 ** 18; // of the powers of b from which geometric noise is drawn
const MAX_TURNS = 2n ** 10n; // of a loop, on average
const MAX_POINTS = 2n ** 21n; // of a projective space

function need(condition, why) {
  if (!condition) throw new RefusedError(`The mechanism file cannot be used: ${why}. Check it with verify.py.`);
}

function bitLength(number) {
  return number === 0n ? 0 : number.toString(2).length;
}

// Exact random choices from fair bytes. Tests replace them to enumerate every choice there is.
export class Chances {
  bytes(count) {
    const drawn = new Uint8Array(count);
    for (let start = 0; start < count; start += 65536) globalThis.crypto.getRandomValues(drawn.subarray(start, start + 65536));
    return drawn;
  }

  bits(length) {
    const hex = Array.from(this.bytes(Math.ceil(length / 8)), (byte) => byte.toString(16).padStart(2, "0")).join("");
    return BigInt("0x" + hex) & ((1n << BigInt(length)) - 1n);
  }

  // A uniform whole number from 0 to size - 1.
  below(size) {
    if (size === 1n) return 0n;
    const length = bitLength(size - 1n);
    for (;;) {
      const drawn = this.bits(length);
      if (drawn < size) return drawn;
    }
  }

  // Whether a uniform number, drawn 64 binary digits at a time, is below part/whole. One word decides, except one time in 2^64.
  chance(part, whole) {
    for (;;) {
      part <<= 64n;
      const digits = part / whole;
      part -= digits * whole;
      const drawn = this.bits(64);
      if (drawn !== digits) return drawn < digits;
    }
  }

  // A position, with probability proportional to its weight.
  pick(weights) {
    let left = this.below(weights.reduce((sum, weight) => sum + weight, 0n));
    for (let k = 0; k < weights.length; k++) {
      left -= weights[k];
      if (left < 0n) return BigInt(k);
    }
    throw new Error("the weights sum to less than their sum");
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
  const token = /[ \t\n\r]*(?:([{}[\],:])|("(?:[^"\\\u0000-\u001f]|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*")|(-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)|(true|false|null))/y;
  function next() {
    token.lastIndex = at;
    const found = token.exec(text);
    if (found === null) throw new SyntaxError("no token");
    at = token.lastIndex;
    return found;
  }
  function value(found, depth) {
    if (depth > MAX_DEPTH) throw new SyntaxError("too deep");
    const [, mark, string, number, word] = found;
    if (string !== undefined) return JSON.parse(string);
    if (number !== undefined) return new Written(number);
    if (word !== undefined) return JSON.parse(word);
    if (mark === "[") return list(depth);
    if (mark === "{") return object(depth);
    throw new SyntaxError("no value");
  }
  function list(depth) {
    const parts = [];
    let found = next();
    if (found[1] === "]") return parts;
    for (;;) {
      parts.push(value(found, depth + 1));
      const mark = next()[1];
      if (mark === "]") return parts;
      if (mark !== ",") throw new SyntaxError("no list");
      found = next();
    }
  }
  function object(depth) {
    const parts = new Map();
    let found = next();
    if (found[1] === "}") return parts;
    for (;;) {
      if (found[2] === undefined) throw new SyntaxError("no key");
      const key = JSON.parse(found[2]);
      if (parts.has(key) || next()[1] !== ":") throw new SyntaxError("no entry");
      parts.set(key, value(next(), depth + 1));
      const mark = next()[1];
      if (mark === "}") return parts;
      if (mark !== ",") throw new SyntaxError("no object");
      found = next();
    }
  }
  const document = value(next(), 0);
  if (/[^ \t\n\r]/.test(text.slice(at))) throw new SyntaxError("more text");
  return document;
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
  const hashed = new Uint8Array(await globalThis.crypto.subtle.digest("SHA-256", data));
  return "sha256:" + Array.from(hashed, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

// Numbers of the file: rationals are pairs [top, bottom] of BigInt, in lowest terms.

function gcd(a, b) {
  a = a < 0n ? -a : a;
  while (b) [a, b] = [b, a % b];
  return a;
}

function reduced(top, bottom) {
  const divisor = gcd(top, bottom);
  return [top / divisor, bottom / divisor];
}

function rational(text) {
  need(typeof text === "string" && /^-?[0-9]{1,4200}(\/[0-9]{1,4200})?$/.test(text), "a number in it cannot be read");
  const [top, bottom = "1"] = text.split("/");
  need(BigInt(bottom) > 0n, "a number in it cannot be read");
  return reduced(BigInt(top), BigInt(bottom));
}

function probability(text) {
  const [top, bottom] = rational(text);
  need(top > 0n && top < bottom, "a number in it is not between 0 and 1");
  return [top, bottom];
}

function whole(value, least) {
  const text = value instanceof Written ? value.text : value;
  need(typeof text === "string" && /^-?[0-9]{1,4200}$/.test(text), "a number in it cannot be read");
  need(BigInt(text) >= least, "a number in it is too small");
  return BigInt(text);
}

// Whole numbers of 0 or more, between single spaces.
function wholes(text) {
  need(typeof text === "string", "a list of numbers in it is no text");
  return text.split(" ").map((word) => whole(word, 0n));
}

// The distribution: each kind of channel gives { draw(position, chances), rows, reports }.

const KINDS = {
  // each row has the integer weights of all reports
  table: [["total", "rows"], (part) => {
    need(Array.isArray(part.get("rows")) && part.get("rows").length >= 2, "its table has no rows");
    const rows = part.get("rows").map(wholes);
    const total = whole(part.get("total"), 1n);
    const fits = (row) => row.length === rows[0].length && row.reduce((sum, weight) => sum + weight, 0n) === total;
    need(rows.every(fits), "the rows of its table do not sum to the total");
    return { draw: (i, chances) => chances.pick(rows[Number(i)]), rows: BigInt(rows.length), reports: BigInt(rows[0].length) };
  }],
  // randomised response: the truth with probability `keep`, else any value
  mixture: [["size", "keep"], (part) => {
    const size = whole(part.get("size"), 2n);
    const [top, bottom] = rational(part.get("keep"));
    need(top >= 0n && top < bottom, "a number in it is not between 0 and 1");
    const draw = (i, chances) => {
      const [stays, other] = [chances.chance(top, bottom), chances.below(size)]; // both: time tells neither
      return stays ? i : other;
    };
    return { draw, rows: size, reports: size };
  }],
  // the square wave: the 2 width + 1 reports about the truth are likelier than the n others
  window: [["n", "width", "a"], (part) => {
    const n = whole(part.get("n"), 1n);
    const length = 2n * whole(part.get("width"), 1n) + 1n;
    const [p, q] = probability(part.get("a"));
    const draw = (i, chances) => {
      const [near, j, k] = [chances.chance(length * q, length * q + n * p), chances.below(length), chances.below(n)];
      return near ? i + j : k < i ? k : k + length;
    };
    return { draw, rows: n + 1n, reports: n + length };
  }],
  // points of a projective space over the field of p^m elements: a hyperplane is where a recurrence modulo p is 0
  projective: [["size", "p", "m", "t", "recurrence", "a"], (part) => {
    const [size, p, m, t] = ["size", "p", "m", "t"].map((name) => whole(part.get(name), 1n));
    const [low, high] = probability(part.get("a"));
    const small = p > 1n && t > 1n && m * t < 64n && m * p ** (m * (t - 1n)) < 2n * MAX_POINTS;
    need(small, "its space is larger than this program draws");
    const points = Number((p ** (m * t) - 1n) / (p ** m - 1n));
    const factors = wholes(part.get("recurrence")).map((factor) => Number(factor % p));
    need(BigInt(factors.length) === m * t && size >= 2n && size <= BigInt(points), "its parts do not fit");
    const [modulus, turns] = [Number(p), Number(m) * points]; // below 2^22: sums of at most 63 products are below 2^50
    const terms = [...factors.slice(1).fill(0), 1];
    const isZero = Array(points).fill(true);
    const used = factors.flatMap((factor, k) => (factor === 0 ? [] : [[k, modulus - factor]]));
    for (let i = 0; i < turns; i++) {
      if (terms[i] !== 0) isZero[i % points] = false;
      terms.push(used.reduce((sum, [k, factor]) => sum + factor * terms[i + k], 0) % modulus);
    }
    const first = isZero.indexOf(true);
    const hyperplane = isZero.flatMap((zero, i) => (zero ? [BigInt(i - first)] : []));
    need(BigInt(hyperplane.length) === (BigInt(points) - 1n) / p ** m, "its parts do not fit");
    // a report is from the truth's hyperplane with what it has beyond the weight of any point, or any point at all
    const [many, all] = [BigInt(hyperplane.length), BigInt(points)];
    const [more, even] = [many * (high - low), all * low];
    const draw = (i, chances) => {
      const [inside, j, k] = [chances.chance(more, more + even), chances.below(many), chances.below(all)];
      return inside ? (i + hyperplane[Number(j)]) % all : k;
    };
    return { draw, rows: size, reports: all };
  }],
  // truth plus noise with Pr[k] in proportion to a^|k|, clamped to 0..n
  geometric: [["n", "a"], (part) => {
    const n = whole(part.get("n"), 1n);
    const sizeOfNoise = geometricNumber(...probability(part.get("a")));
    const draw = (i, chances) => {
      for (;;) {
        const [size, negative] = [sizeOfNoise(chances), chances.chance(1n, 2n)];
        if (size === 0n && negative) continue; // -0 is drawn again, which tells nothing about what is drawn then
        const report = negative ? i - size : i + size;
        return report < 0n ? 0n : report > n ? n : report;
      }
    };
    return { draw, rows: n + 1n, reports: n + 1n };
  }],
};

// A number k with probability (1 - b) b^k: digit j is 1 with probability b^(2^j) / (1 + b^(2^j)), independently of the rest. The
// choices that a small one does not need are made as well and thrown away: all but one number in 2^64 take as many.
function geometricNumber(p, q) {
  const powers = [[p, q]];
  for (;;) {
    const [top, bottom] = powers[powers.length - 1];
    if (2n * top <= bottom || 2 * bitLength(bottom) > MAX_POWER_BITS) break;
    powers.push([top * top, bottom * bottom]);
  }
  const [top, bottom] = powers.pop();
  need((bottom - top) * MAX_TURNS >= bottom, "its noise is wider than this program draws");
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

function channel(part) {
  const kind = part instanceof Map ? part.get("kind") : undefined;
  need(typeof kind === "string" && Object.hasOwn(KINDS, kind), "its distribution is of a kind that this program does not know");
  const [keys, read] = KINDS[kind];
  const fits = part.size === keys.length + 1 && keys.every((key) => part.has(key));
  need(fits, "its distribution has other parts than this program knows");
  const { draw, rows, reports } = read(part);
  const checked = (i, chances) => {
    if (i < 0n || i >= rows) throw new Error("a position without a row was to be drawn for");
    return draw(i, chances);
  };
  return { draw: checked, rows, reports };
}

// The exact fraction that a number of JavaScript is.
function exact(number) {
  let bottom = 1n;
  for (; !Number.isInteger(number); number *= 2) bottom *= 2n; // which is exact
  return [BigInt(number), bottom];
}

// The number of JavaScript that is nearest to a fraction, whose digits beyond the 64th only say that there are some.
function nearest([top, bottom]) {
  const shift = Math.max(0, 64 + bitLength(bottom) - bitLength(top < 0n ? -top : top));
  const scaled = top << BigInt(shift);
  const rest = scaled % bottom === 0n ? 0n : top < 0n ? -1n : 1n;
  return Number(2n * (scaled / bottom) + rest) / 2 / 2 ** shift;
}

// The numbers low, low + step, ..., high.
class Grid {
  constructor(part) {
    need(part instanceof Map && ["low", "high", "step"].every((key) => part.has(key)), "a part of it is missing or misshapen");
    this.low = rational(part.get("low"));
    this.step = rational(part.get("step"));
    need(this.step[0] > 0n, "its step is not a positive number");
    const [top, bottom] = this.steps(rational(part.get("high")));
    this.size = top / bottom + 1n;
  }

  // How many steps a number is above the lowest one.
  steps([top, bottom]) {
    const [a, b] = this.low;
    return reduced((top * b - a * bottom) * this.step[1], bottom * b * this.step[0]);
  }

  at(position) {
    const [a, b] = this.low;
    return reduced(a * this.step[1] + position * this.step[0] * b, b * this.step[1]);
  }

  // Where a number stands: one that lies on the grid, or the float that is nearest to one that does.
  position(value) {
    let steps = [0n, 0n];
    if (typeof value === "string") {
      const found = /^[ \t\n\v\f\r]*([+-]?)([0-9]{1,40})(?:\.([0-9]{1,40}))?(?:\/([0-9]{1,40}))?[ \t\n\v\f\r]*$/.exec(value);
      const bottom = found === null ? 0n : 10n ** BigInt((found[3] ?? "").length) * BigInt(found[4] ?? "1");
      if (bottom > 0n) steps = this.steps([(found[1] === "-" ? -1n : 1n) * BigInt(found[2] + (found[3] ?? "")), bottom]);
    } else if (typeof value === "bigint") {
      steps = this.steps([value, 1n]);
    } else if (typeof value === "number") {
      if (Number.isFinite(value)) {
        const [top, bottom] = this.steps(exact(value));
        const position = (2n * top + bottom) / (2n * bottom);
        if (2n * top + bottom >= 0n && nearest(this.at(position)) === value) steps = [position, 1n];
      }
    } else {
      throw new RefusedError("A value of this type is not read; nothing was drawn. Give a text, a number or a BigInt.");
    }
    if (steps[1] !== 1n || steps[0] < 0n || steps[0] >= this.size) {
      throw new RefusedError("The value is not on the mechanism's grid; nothing was drawn. Give one that is.");
    }
    return steps[0];
  }

  value(position) {
    const [top, bottom] = this.at(position);
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
    this.positions = new Map(names.map((name, k) => [name, BigInt(k)]));
    this.size = BigInt(names.length);
    need(BigInt(this.positions.size) === this.size && (other === null || this.positions.has(other)), "its names do not fit");
    this.other = other === null ? undefined : this.positions.get(other);
  }

  position(value) {
    const position = typeof value === "string" && value !== "" ? this.positions.get(value) ?? this.other : undefined;
    if (position === undefined) throw new RefusedError("The value is none of the mechanism's names; nothing was drawn. Give one of them.");
    return position;
  }

  value(position) {
    return this.names[Number(position)];
  }
}

function answers(part) {
  return part instanceof Map && part.has("names") ? new Names(part) : new Grid(part);
}

// Whether a text is one of these answers, written as they are written.
function has(grid, text) {
  try {
    return typeof text === "string" && grid.value(grid.position(text)) === text;
  } catch {
    return false;
  }
}

export class Reporter {
  constructor(document, digest) {
    this.digest = digest;
    this.channel = channel(document.get("channel"));
    this.inputs = answers(document.get("inputs"));
    this.outputs = answers(document.get("outputs"));
    const level = document.get("level");
    const [top, bottom] = rational(level instanceof Map ? level.get("alpha") : undefined);
    need(top > 0n && top <= bottom, "it promises no privacy");
    const fits = this.inputs.size === this.channel.rows && this.outputs.size === this.channel.reports;
    need(fits, "its grids do not fit its distribution");
  }

  // A report for a true value (a text, a number or a BigInt), as a text: a whole number, a fraction such as 1/2, or a name.
  report(value, chances = new Chances()) {
    return this.outputs.value(this.channel.draw(this.inputs.position(value), chances));
  }

  // The report and the new memo, which must be stored before the report is sent. The first memo is null.
  remembered(value, memo, most, chances = new Chances()) {
    if (!Number.isSafeInteger(most) || most < 1) {
      throw new RefusedError("How many different values get a report of their own must be a whole number, at least 1.");
    }
    const position = this.inputs.position(value);
    const key = this.inputs.value(position);
    const known = this.read(memo, most);
    const came = Object.hasOwn(known.reports, key);
    if (!known.frozen && !came && Object.keys(known.reports).length < most) {
      known.last = known.reports[key] = this.report(value, chances);
    } else {
      this.outputs.value(this.channel.draw(position, new Chances())); // in vain: the time does not tell that a value came before
      known.frozen = known.frozen || !came;
      known.last = known.frozen ? known.last : known.reports[key];
    }
    return { report: known.last, memo: JSON.stringify(known) };
  }

  read(memo, most) {
    const head = { format: "discreet-memo", version: 1, mechanism: this.digest, most };
    const fresh = { ...head, reports: Object.create(null), last: null, frozen: false }; // a name may be "__proto__"
    if (memo === null) return fresh;
    if (typeof memo !== "string") {
      throw new RefusedError("A memo is the text that this program gave before, or null for the first report; give one of these.");
    }
    let known;
    try {
      known = JSON.parse(memo);
    } catch {
      throw new RefusedError("The memo cannot be read; a lost one counts as new values, so bring back a good copy.");
    }
    const keys = Object.keys(fresh);
    const isMemo = known !== null && typeof known === "object" && Object.keys(known).length === keys.length;
    if (!isMemo || !keys.every((key) => Object.hasOwn(known, key)) || known.format !== head.format || known.version !== 1) {
      throw new RefusedError("The memo is another kind of text; give another one.");
    }
    if (known.mechanism !== this.digest || known.most !== most) {
      throw new RefusedError("The memo belongs to another mechanism or another number of values; give another one.");
    }
    if (!this.isPossible(known)) {
      throw new RefusedError("The memo was changed by somebody else; a lost one counts as new values, so bring back a good copy.");
    }
    return { ...known, reports: Object.assign(fresh.reports, known.reports) };
  }

  // Whether this program can have written the memo.
  isPossible({ reports, last, frozen, most }) {
    if (reports === null || typeof reports !== "object" || Array.isArray(reports)) return false;
    const pairs = Object.entries(reports);
    if (pairs.length < 1 || pairs.length > most || !pairs.some(([, report]) => report === last)) return false;
    if (typeof frozen !== "boolean" || (frozen && pairs.length < most)) return false;
    return pairs.every(([value, report]) => has(this.inputs, value) && has(this.outputs, report));
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
  return new Reporter(document, digest);
}
