// A channel as a picture: a square for each truth and report, and below it how often each report comes beside how often it is true.
// Drawn on a canvas, with the colours and the axes of the library's own charts: 15,606 squares of six mechanisms at n = 50 take a few
// milliseconds, where a chart of Vega takes forty for each. What it shows is also said, and stands in a table.
import { element } from "/static/studio.js";
import { digits } from "/static/privacy.js";

const SHADES = { light: ["#ffffff", "#9ecae1", "#3182bd", "#08306b"], dark: ["#12161d", "#16447c", "#3f8fc9", "#e3f1fb"] }; // from 0 to the largest
const WRITTEN = 12, OUTLINED = 20; // the largest n at which squares have numbers, and outlines on the diagonal
const LEFT = 34, GAP = 5, BARS = 42, FOOT = 30, TOP = 5, RIGHT = 8;
const dim = matchMedia("(prefers-color-scheme: dark)");
const scheme = () => (dim.matches ? "dark" : "light");

// Between two colours in CIELAB, as the library's charts do it.
const linear = (c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
const curve = (t) => (t > 216 / 24389 ? Math.cbrt(t) : t * 24389 / 3132 + 4 / 29);
const straight = (t) => (t > 6 / 29 ? t ** 3 : (t - 4 / 29) * 3132 / 24389);
const TO = [[0.4360747, 0.3850649, 0.1430804], [0.2225045, 0.7168786, 0.0606169], [0.0139322, 0.0971045, 0.7141733]], WHITE = [0.96422, 1, 0.82521];
const BACK = [[3.1338561, -1.6168667, -0.4906146], [-0.9787684, 1.9161415, 0.033454], [0.0719453, -0.2289914, 1.4052427]];
const times = (matrix, v) => matrix.map((row) => row.reduce((sum, x, k) => sum + x * v[k], 0));

function lab(hex) {
  const [x, y, z] = times(TO, [1, 3, 5].map((k) => linear(parseInt(hex.slice(k, k + 2), 16) / 255))).map((t, k) => curve(t / WHITE[k]));
  return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
}

function rgb([l, a, b]) {
  const y = (l + 16) / 116, seen = times(BACK, [y + a / 500, y, y - b / 200].map((t, k) => straight(t) * WHITE[k]));
  return seen.map((c) => Math.round(255 * Math.min(1, Math.max(0, c <= 0.0031308 ? 12.92 * c : 1.055 * c ** (1 / 2.4) - 0.055))));
}

// 256 shades of each scheme, with the ink that is read best on each: black or white, one of which has a contrast of 4.5 on any colour.
const STEPS = 255, ramps = {};
function ramp(of) {
  return ramps[of] ??= Array.from({ length: STEPS + 1 }, (_, k) => {
    const stops = SHADES[of].map(lab), at = (k / STEPS) * (stops.length - 1), low = Math.min(Math.floor(at), stops.length - 2);
    const colour = rgb(stops[low].map((x, c) => x + (at - low) * (stops[low + 1][c] - x)));
    const bright = times([[0.2126, 0.7152, 0.0722]], colour.map((c) => linear(c / 255)))[0];
    return { fill: `rgb(${colour})`, ink: (bright + 0.05) / 0.05 > 1.05 / (bright + 0.05) ? "#000000" : "#ffffff" };
  });
}

const named = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
export const percent = (x) => (x === 0 || x >= 0.001 ? `${Number((100 * x).toPrecision(2))} %` : "<0.1 %");

// Which of 0..n are named on an axis with room for so many: steps of 1, 2, 5, 10 ..., and the last one where it is not too near.
function ticks(n, most) {
  const step = [1, 2, 5, 10, 20, 50].find((s) => n / s + 1 <= most) ?? 50, kept = [];
  for (let k = 0; k <= n; k += step) kept.push(k);
  if (n - kept.at(-1) > 0.55 * step) kept.push(n);
  else kept[kept.length - 1] = n;
  return n === 0 ? [0] : [...new Set(kept)];
}

// The bar of colours from 0 to the largest probability of all pictures. `bent`: colours go by the root, so that small ones can be told apart.
export function colourBar(place) {
  const canvas = element("canvas", { width: STEPS + 1, height: 1, "aria-hidden": "true" }), half = element("span"), most = element("span");
  const paint = () => { const pen = canvas.getContext("2d"); ramp(scheme()).forEach(({ fill }, k) => { pen.fillStyle = fill; pen.fillRect(k, 0, 1, 1); }); };
  place.append(element("span", { text: "0" }), canvas, most, half);
  dim.addEventListener("change", paint);
  paint();
  return (top, bent) => { most.textContent = digits(top); half.textContent = bent ? `(half-way ${digits(top / 4)})` : ""; };
}

// `move(truth, report)` is called when somebody points at a square, with a pointer or with the keys, and `pick` when one is pressed.
export function heatMap(place, { move, pick }) {
  const canvas = element("canvas", { role: "img", "aria-label": "Not drawn yet" }), pen = canvas.getContext("2d");
  const box = element("div", { class: "heat", tabindex: "0", role: "application", "aria-roledescription": "heat map", "aria-label": "Not drawn yet" }, canvas);
  let shown = null, at = null, size = null;
  place.append(box);

  function draw() {
    if (!shown || !box.clientWidth) return;
    const { matrix, often, known, top, most, bent } = shown, n = matrix.length - 1, wide = box.clientWidth, tall = box.clientHeight, fine = devicePixelRatio || 1;
    if (canvas.width !== Math.round(wide * fine) || canvas.height !== Math.round(tall * fine)) {
      canvas.width = Math.round(wide * fine);
      canvas.height = Math.round(tall * fine);
    }
    const w = wide - LEFT - RIGHT, h = tall - TOP - GAP - BARS - FOOT, shades = ramp(scheme()), [quiet, ink, edge, bar, own] = ["--quiet", "--ink", "--edge", "--bar", "--truth"].map(named);
    // edges at whole pixels of the screen, so that squares touch without a seam
    const snap = (x) => Math.round(x * fine) / fine, xs = Array.from({ length: n + 2 }, (_, k) => snap(LEFT + (k * w) / (n + 1))), ys = Array.from({ length: n + 2 }, (_, k) => snap(TOP + (k * h) / (n + 1)));
    size = { n, xs, ys, base: ys[n + 1] + GAP + BARS };
    pen.setTransform(fine, 0, 0, fine, 0, 0);
    pen.clearRect(0, 0, wide, tall);
    const shade = (share) => shades[Math.min(STEPS, Math.max(0, Math.round(STEPS * (bent ? Math.sqrt(share / top) : share / top))))];
    for (let i = 0; i <= n; i++) for (let j = 0; j <= n; j++) {
      pen.fillStyle = shade(matrix[i][j]).fill;
      pen.fillRect(xs[j], ys[i], xs[j + 1] - xs[j], ys[i + 1] - ys[i]);
    }
    const font = (points) => `${points}px system-ui, sans-serif`;
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    if (n <= WRITTEN) {
      const cell = w / (n + 1), short = cell < 30;
      pen.font = font(Math.min(12, Math.max(9, cell / (short ? 2.1 : 2.6))));
      for (let i = 0; i <= n; i++) for (let j = 0; j <= n; j++) {
        const text = matrix[i][j].toFixed(2);
        pen.fillStyle = shade(matrix[i][j]).ink;
        pen.fillText(short ? text.replace(/^0/, "") : text, (xs[j] + xs[j + 1]) / 2, (ys[i] + ys[i + 1]) / 2 + 0.5);
      }
    }
    if (n <= OUTLINED) {
      pen.strokeStyle = own;
      pen.lineWidth = 1.5;
      for (let k = 0; k <= n; k++) pen.strokeRect(xs[k] + 0.75, ys[k] + 0.75, xs[k + 1] - xs[k] - 1.5, ys[k + 1] - ys[k] - 1.5);
    }
    pen.strokeStyle = edge;
    pen.lineWidth = 1;
    pen.strokeRect(LEFT - 0.5, TOP - 0.5, w + 1, h + 1);

    // how often a report comes, and how often it is true
    const height = (share) => (BARS * share) / most;
    for (let j = 0; j <= n; j++) {
      const room = xs[j + 1] - xs[j], thin = room > 4 ? 1 : 0;
      pen.fillStyle = bar;
      pen.fillRect(xs[j] + thin, size.base - height(often[j]), room - 2 * thin, height(often[j]));
      pen.fillStyle = own;
      pen.fillRect(xs[j], size.base - height(known[j]) - 1, room, 2);
    }
    pen.fillStyle = edge;
    pen.fillRect(LEFT, size.base, w, 1);

    // axes
    pen.font = font(11);
    pen.fillStyle = quiet;
    for (const k of ticks(n, w / 26)) pen.fillText(k, (xs[k] + xs[k + 1]) / 2, size.base + 9);
    pen.textAlign = "right";
    for (const k of ticks(n, h / 15)) pen.fillText(k, LEFT - 5, (ys[k] + ys[k + 1]) / 2 + 0.5);
    pen.fillText(percent(most).replace(" %", "%"), LEFT - 5, size.base - BARS + 6);
    pen.fillText("0", LEFT - 5, size.base - 3);
    pen.textAlign = "center";
    pen.fillText("report", LEFT + w / 2, size.base + 23);
    pen.save();
    pen.translate(6, TOP + h / 2);
    pen.rotate(-Math.PI / 2);
    pen.fillText("truth", 0, 0);
    pen.restore();

    if (at && at.truth <= n && at.report <= n) {
      const { truth: i, report: j } = at;
      pen.strokeStyle = ink;
      pen.lineWidth = 2;
      pen.strokeRect(xs[j] - 1, ys[i] - 1, xs[j + 1] - xs[j] + 2, ys[i + 1] - ys[i] + 2);
      pen.fillStyle = ink;
      pen.fillRect(xs[j], size.base + 1, xs[j + 1] - xs[j], 2);
      pen.fillRect(LEFT - 3, ys[i], 2, ys[i + 1] - ys[i]);
    }
  }

  function under({ clientX, clientY }) {
    if (!size) return null;
    const place = canvas.getBoundingClientRect(), x = clientX - place.left, y = clientY - place.top, { n, xs, ys } = size;
    if (x < xs[0] || x >= xs[n + 1] || y < ys[0] || y > size.base) return null;
    const report = xs.findIndex((edge) => edge > x) - 1, truth = y >= ys[n + 1] ? at?.truth ?? report : ys.findIndex((edge) => edge > y) - 1;
    return { truth: Math.min(truth, n), report };
  }
  box.addEventListener("pointermove", (event) => { const cell = under(event); if (cell) move(cell.truth, cell.report, false); });
  box.addEventListener("click", (event) => { const cell = under(event); if (cell) { move(cell.truth, cell.report, false); pick(cell.truth, cell.report); } });
  const steps = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1], PageUp: [-10, 0], PageDown: [10, 0], Home: [-1e9, -1e9], End: [1e9, 1e9] };
  box.addEventListener("keydown", (event) => {
    if (!shown) return;
    const n = shown.matrix.length - 1, here = at ?? { truth: 0, report: -1 }, within = (k) => Math.min(n, Math.max(0, k));
    if (event.key === "Enter" && at) pick(at.truth, at.report);
    else if (steps[event.key]) move(within(here.truth + steps[event.key][0]), within(here.report + steps[event.key][1]), true);
    else return;
    event.preventDefault();
  });
  new ResizeObserver(draw).observe(box);
  dim.addEventListener("change", draw);
  return {
    show(numbers, label) { shown = numbers; canvas.setAttribute("aria-label", label); box.setAttribute("aria-label", `${label} Arrow keys go from square to square, Enter explains one.`); draw(); },
    scale(given) { if (shown && Object.entries(given).some(([name, value]) => shown[name] !== value)) { Object.assign(shown, given); draw(); } },
    point(cell) { at = cell; draw(); },
  };
}
