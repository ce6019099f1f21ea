// Every choice that a draw can make, with its exact probability: reads {"file", "values", "least"} from standard input and
// prints, for each value, lines [report, numerator, denominator]; then what was left out, for being rarer than 1/least.
import { readFileSync } from "node:fs";

const { load, Chances } = await import(process.argv[2]);
const asked = JSON.parse(readFileSync(0, "utf8"));

Chances.prototype.bits = () => 1n; // of choices that are thrown away, and tell nothing

class Need extends Error {
  constructor(weights) {
    super("a choice");
    this.weights = weights;
  }
}

class Told extends Chances {
  constructor(path) {
    super();
    this.path = path;
    this.at = 0;
  }
  choose(weights) {
    if (this.at === this.path.length) throw new Need(weights);
    return this.path[this.at++];
  }
  below(size) {
    return BigInt(this.choose(Array(Number(size)).fill(1n)));
  }
  chance(part, whole) {
    return this.choose([part, whole - part]) === 0;
  }
  pick(weights) {
    return BigInt(this.choose(weights));
  }
}

const reporter = await load(asked.file);
const found = asked.values.map((value) => {
  const leaves = [];
  const open = [[[], 1n, 1n]];
  while (open.length > 0) {
    const [path, top, bottom] = open.pop();
    if (top * BigInt(asked.least) < bottom) {
      leaves.push([null, `${top}`, `${bottom}`]);
      continue;
    }
    try {
      leaves.push([reporter.report(value, new Told(path)), `${top}`, `${bottom}`]);
    } catch (error) {
      if (!(error instanceof Need)) throw error;
      const total = error.weights.reduce((sum, weight) => sum + weight, 0n);
      error.weights.forEach((weight, k) => {
        if (weight > 0n) open.push([[...path, k], top * weight, bottom * total]);
      });
    }
  }
  return leaves;
});
console.log(JSON.stringify(found));
