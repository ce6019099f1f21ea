// The room Choose: six channels side by side, one question for every move of a slider.
import { address, ask, element, latest, promised, save, say, table } from "/static/studio.js";
import { card, right, wrong } from "/static/parts.js";
import { digits, privacy, spoken } from "/static/privacy.js";
import { colourBar, heatMap, percent } from "/static/heat.js";
import { copyButton, sharing } from "/static/share.js";
import { TERMS, term } from "/static/terms.js";

const PROPERTIES = {
  WH: "truths no rarer than guessed", F: "every truth told equally often", S: "alike from both ends",
  RH: "a report's likeliest truth is itself", RM: "… farther truths are less likely",
  CH: "a truth's likeliest report is itself", CM: "… farther reports are less likely",
};
const NAMES = { geometric: "GM", explicit_fair: "EM", weakly_honest: "WM", randomized_response: "kRR", uniform: "UM", optimum: "optimum" };
const KNOWN = Object.keys(NAMES).filter((name) => name !== "optimum");
const EXAMPLE = { n: "20", epsilon: "1", loss: "l1", prior: "binomial(0.2)", require: "WH,CM" };
const $ = (selector) => document.querySelector(selector);
const form = $("#sliders"), square = $("#square"), hint = $("#told-text").textContent;
const level = privacy($("#level"), { means: true });
const setScale = colourBar($("#scale"));
const cards = new Map(), faces = new Map(); // what is on the page, and what it shows: a face, what was asked, how often reports come
const compared = card($("#numbers"));
let weights = [], painted = null, known = [], script = "", at = null, explained = 0;

for (const [letters, words] of Object.entries(PROPERTIES)) {
  const id = `require-${letters}`;
  $("#properties").append(element("div", {}, element("input", { type: "checkbox", name: "require", value: letters, id }), term(letters), element("label", { for: id, text: words })));
}
for (const select of [square.mechanism, $("#matrix-of")]) for (const [name, short] of Object.entries(NAMES)) select.append(element("option", { value: name, text: short }));
for (const name of Object.keys(NAMES)) {
  const title = term(NAMES[name], ""), same = element("span", { class: "same" }), readout = element("p", { class: "readout", text: "Point at a square." }), box = element("div");
  const place = element("article", { class: "face", id: `face-${name}`, "aria-label": NAMES[name] }, element("h2", {}, title, same), box, readout);
  $("#faces").append(place);
  cards.set(name, { title, same, readout, place, state: card(place), map: heatMap(box, { move: (truth, report, keys) => point(truth, report, keys && name), pick: (truth, report) => explain(name, truth, report) }) });
}

// What is set, as texts: in the address, in a file of settings, and in the question.
function state() {
  const given = new FormData(form);
  return { n: given.get("n"), epsilon: "", alpha: "", ...level.level(), loss: given.get("loss"), prior: given.get("prior"), require: given.getAll("require").join(","), drawn: given.get("prior") === "drawn" ? weights.join(",") : "", colours: $("#bent").checked ? "root" : "" };
}

function question(s) {
  const prior = s.prior === "drawn" ? weights : s.prior || null;
  return { n: Number(s.n), ...(s.alpha ? { alpha: s.alpha } : { epsilon: s.epsilon }), loss: s.loss, prior, require: s.require ? s.require.split(",") : [] };
}

function restore(s) {
  for (const name of ["n", "loss", "prior"]) if (s[name] !== undefined) form[name].value = s[name];
  if (s.alpha || s.epsilon) level.set(s.alpha ? { alpha: s.alpha } : { epsilon: s.epsilon });
  for (const box of form.querySelectorAll("[name=require]")) box.checked = (s.require ?? "").split(",").includes(box.value);
  $("#bent").checked = s.colours === "root";
  weights = (s.drawn ?? "").split(",").filter(Boolean).map(Number).filter((w) => w >= 0 && w <= 100);
}

const of = (asked) => `n = ${asked.n}, ${spoken(asked)}`;

// How often each report comes when the truth is as known before.
const piled = (matrix) => known.map((_, report) => matrix.reduce((sum, row, truth) => sum + known[truth] * row[report], 0));
const ends = (list) => list[0] + list.at(-1);
const own = (matrix) => matrix.map((row, k) => row[k]);
const span = (list, to = " to ") => { const low = digits(Math.min(...list)), high = digits(Math.max(...list)); return low === high ? low : `${low}${to}${high}`; };

// What the picture shows, in a sentence.
function described({ title, matrix }, often) {
  const all = matrix.flat(), largest = all.indexOf(Math.max(...all)), size = matrix.length;
  return `${title}, ${size} truths by ${size} reports. The truth is reported with probability ${span(own(matrix))}; the largest probability is ${digits(all[largest])}, of report ${largest % size} when the truth is ${Math.floor(largest / size)}. 0 or ${size - 1} is reported ${percent(ends(often))} of the time, and true ${percent(ends(known))}.`;
}

function paint(found, asked) {
  const parts = cards.get(found.name), often = piled(found.matrix);
  faces.set(found.name, { found, asked, often });
  parts.title.tell(found.title, found.sentence);
  parts.place.setAttribute("aria-label", found.title);
  parts.map.show({ matrix: found.matrix, often, known, ...scale() }, described(found, often));
  parts.state.fresh();
  document.body.dataset.painted = String(Number(document.body.dataset.painted ?? 0) + 1);
}

// One scale of colours and one of heights for all that are compared.
function scale() {
  const now = [...faces.values()].filter(({ asked }) => asked === painted);
  return { top: Math.max(...now.flatMap(({ found }) => found.matrix.map((row) => Math.max(...row)))), most: 1.05 * Math.max(...known, ...now.flatMap(({ often }) => often)), bent: $("#bent").checked };
}

function rescale() {
  const given = scale();
  for (const [name, parts] of cards) if (faces.get(name)?.asked === painted) { parts.map.scale(given); parts.place.dataset.top = given.top; }
  setScale(given.top, given.bent);
  $("#own").hidden = painted.n > 20;
  for (const [name, parts] of cards) parts.same.textContent = twin(name);
}

// Of those before it, the one that has the same probabilities: at much epsilon the geometric one is honest, and often the optimum.
function twin(name) {
  const own = faces.get(name), flat = own?.found.matrix.flat();
  if (own?.asked !== painted) return "";
  const before = KNOWN.slice(0, name === "optimum" ? KNOWN.length : KNOWN.indexOf(name));
  const found = before.find((other) => faces.get(other).found.matrix.flat().every((p, k) => Math.abs(p - flat[k]) < 1e-5));
  return found ? `= ${NAMES[found]} here` : "";
}

// The square that is pointed at, in all six pictures at once.
function point(truth, report, heard = null) {
  at = truth <= (painted?.n ?? 0) && report <= (painted?.n ?? 0) ? { truth, report } : null;
  for (const [name, parts] of cards) {
    const shown = faces.get(name), there = at && shown && truth < shown.found.matrix.length && report < shown.found.matrix.length;
    parts.map.point(there ? at : null);
    parts.readout.textContent = there ? `${truth} → ${report}: ${digits(shown.found.matrix[truth][report])}; comes ${percent(shown.often[report])}, true ${percent(known[report])}` : "Point at a square.";
    parts.readout.title = there ? `When the truth is ${truth}, ${report} is reported with this probability; then how often ${report} comes, and is true.` : "";
    if (there && name === heard) $("#heard").textContent = `truth ${truth}, report ${report}: ${digits(shown.found.matrix[truth][report])}`;
  }
}

const COLUMNS = ["name", "mean loss", "worst loss", "epsilon", "any two", "told truly", "ends", "properties", ""];
let rows = null;

// All numbers in one table. Its rows stay, so that focus stays in them.
function numbers() {
  if (!rows) {
    const made = table("", COLUMNS, []), head = made.tHead.rows[0], body = made.tBodies[0];
    made.caption.remove();
    COLUMNS.forEach((name, k) => { if (TERMS[name]) head.cells[k].replaceChildren(term(name), ...(k === 3 || k === 4 ? [" ≤"] : [])); });
    head.lastChild.replaceWith(element("td")); // of buttons, which name themselves
    rows = new Map(Object.entries(NAMES).map(([name, short]) => {
      const row = element("tr", {}, element("th", { scope: "row", text: short }), ...COLUMNS.slice(2).map((_, k) => element("td", { "data-name": `${COLUMNS[k + 1]}:`, class: k < 4 ? "n" : k === 6 ? "wrap" : null })), element("td"));
      const say = (what) => ({ "aria-label": `${what} of ${short}` });
      row.lastChild.append(element("button", { type: "button", text: "File", ...say("Mechanism file"), onclick: () => download(name) }),
        copyButton("Python", () => shownOf(name)?.found.python, $("#code"), say("Python")), copyButton("Command", () => shownOf(name)?.found.command, $("#code"), say("Command")));
      body.append(row);
      return [name, row];
    }));
    $("#compared").append(made);
  }
  for (const [name, row] of rows) {
    const shown = faces.get(name), now = shown?.asked === painted, cells = [...row.cells].slice(1, -1);
    row.toggleAttribute("data-late", !now);
    for (const button of row.querySelectorAll("button")) button.setAttribute("aria-disabled", String(!now));
    const f = shown?.found;
    const texts = now ? [digits(f.mean_loss), digits(f.worst_loss), f.epsilon, f.epsilon_any, span(own(f.matrix), "–"), `${percent(ends(shown.often))} (${percent(ends(known))})`, f.properties.join(" ") || "none"]
      : [...Array(6).fill(""), "not designed"];
    cells.forEach((cell, k) => { cell.textContent = texts[k]; });
  }
  matrix();
}

// Every number of one mechanism; made when somebody looks at it.
function matrix() {
  if (!$("#matrix").open) return;
  const shown = faces.get($("#matrix-of").value), place = $("#matrix-table");
  if (shown?.asked !== painted) { place.replaceChildren(element("p", { text: "It is not designed for these settings." })); return; }
  const values = shown.found.matrix.map((_, k) => String(k)), line = (name, list) => [name, ...list.map((x) => digits(x))];
  const made = table(`${shown.found.title}, ${of(painted)}: a row for each truth, a column for each report`, ["truth", ...values], [
    ...shown.found.matrix.map((row, truth) => line(String(truth), row)), line("comes", shown.often), line("is true", known)]);
  for (const row of made.tBodies[0].rows) row.cells[0].replaceWith(element("th", { scope: "row", text: row.cells[0].textContent }));
  place.replaceChildren(made);
}

// What is shown, where it is of the settings that stand there.
const shownOf = (name) => (painted && faces.get(name)?.asked === painted ? faces.get(name) : null);

async function download(name) {
  if (!shownOf(name)) return;
  try {
    const answer = await ask("/api/choose/file", { ...faces.get(name).asked, mechanism: name }, { raw: true });
    save(`${name}.json`, await answer.blob());
  } catch (error) { say(error.message); }
}

async function explain(mechanism, truth, report) {
  square.mechanism.value = mechanism;
  square.truth.value = truth;
  square.report.value = report;
  const asked = faces.get(mechanism)?.asked, mine = ++explained;
  forget();
  if (!painted || asked !== painted || cards.get(mechanism).place.dataset.state === "late") return; // a number beside settings that it is not of
  try {
    const found = await ask("/api/choose/cell", { ...asked, mechanism, truth: Number(truth), report: Number(report) });
    if (mine !== explained || asked !== painted) return; // another one was asked for, or the pictures have changed
    $("#told-text").textContent = found.sentence;
    const columns = ["truth", "probability", "ratio", "at the bound"];
    $("#told-table").replaceChildren(table("The same report at the neighbouring truths", columns, found.rows.map((r) => columns.map((c) => r[c]))));
    $("#told").scrollIntoView({ block: "nearest" });
    say();
  } catch (error) { if (mine === explained) say(error.message); }
}

// Of other settings than the pictures show, nothing stays explained.
function forget() {
  $("#told-text").textContent = hint;
  $("#told-table").replaceChildren();
}

const pause = (time) => new Promise((done) => setTimeout(done, time));
const DRAG = 30; // milliseconds that a slider rests before the optimum is designed
const SEEN = 250; // and that work takes before its card says so: a card that flickers tells nothing

// Asked for beside the others, and called off by the next move. Only its own card shows it.
async function optimum(asked, signal) {
  const { state, place } = cards.get("optimum");
  let words = "Being designed …", cancel = null;
  const slow = setTimeout(() => state.computing(words, cancel), SEEN);
  signal.addEventListener("abort", () => clearTimeout(slow));
  try {
    await pause(DRAG);
    if (signal.aborted) return null;
    return await promised("/api/choose/optimum", asked, signal, (told, off) => {
      [words, cancel] = [`Being designed: ${told}`, off];
      if (place.dataset.state === "computing") state.computing(words, cancel);
    });
  } finally { clearTimeout(slow); }
}

function late(names, why) { // with what they still show
  for (const name of names) {
    const shown = faces.get(name);
    if (shown) cards.get(name).state.late(`${why}${of(shown.asked)}.`);
  }
}

const update = latest(async (signal) => {
  const s = state(), asked = question(s);
  address.write(s);
  $("#n-told").textContent = s.n;
  $("#draw").hidden = s.prior !== "drawn";
  if (s.prior === "drawn") { bars(asked.n + 1); asked.prior = weights; }
  const best = optimum(asked, signal);
  best.catch(() => {}); // it is awaited below, unless the others fail first
  const slow = setTimeout(() => KNOWN.forEach((name) => cards.get(name).state.computing()), SEEN);
  signal.addEventListener("abort", () => clearTimeout(slow));
  let found;
  try { found = await ask("/api/choose/faces", asked, { signal }); } catch (error) {
    if (error.name !== "AbortError") {
      late(Object.keys(NAMES), "Out of date: ");
      if (painted) compared.late(`Out of date: ${of(painted)}.`);
      forget();
      painted = null;
      right(form);
      if (error.field) { wrong(form, error.field, error.message, form, false); say(); return; }
    }
    throw error;
  } finally { clearTimeout(slow); }
  right(form);
  painted = asked;
  compared.fresh();
  known = found.prior;
  script = found.python;
  forget();
  square.truth.max = square.report.max = s.n;
  for (const each of found.faces) faces.set(each.name, { found: each, asked, often: piled(each.matrix) });
  for (const each of found.faces) paint(each, asked);
  rescale();
  point(at?.truth ?? Infinity, at?.report ?? Infinity);
  numbers();
  try {
    const least = await best;
    if (painted !== asked) return;
    paint(least, asked);
    rescale();
    point(at?.truth ?? Infinity, at?.report ?? Infinity);
    numbers();
  } catch (error) {
    if (error.name === "AbortError" || painted !== asked) throw error;
    const before = faces.get("optimum");
    cards.get("optimum").state.late(`${error.message}${before ? ` Shown: ${of(before.asked)}.` : ""}`, "Design it", update); // in its own card: the others are as they should be
  }
});

function bars(size) {
  const box = $("#bars");
  if (weights.length !== size) weights = Array.from({ length: size }, (_, k) => weights[k] ?? 50);
  if (box.children.length !== size) {
    box.replaceChildren(...weights.map((_, k) => element("input", { type: "range", min: 0, max: 100, step: 1, "aria-label": `weight of ${k}`, class: "bar",
      oninput: (event) => { weights[k] = Number(event.target.value); update(); } })));
  }
  weights.forEach((w, k) => { box.children[k].value = w; });
}
$("#bars").addEventListener("pointermove", (event) => {
  if (!event.buttons) return;
  const bar = event.target.closest("#bars") && document.elementsFromPoint(event.clientX, event.clientY).find((e) => e.classList.contains("bar"));
  if (!bar) return;
  const place = bar.getBoundingClientRect(), k = [...bar.parentNode.children].indexOf(bar);
  weights[k] = Math.round(100 * Math.min(1, Math.max(0, (place.bottom - event.clientY) / place.height)));
  bar.value = weights[k];
  update();
});

form.addEventListener("input", (event) => event.target.type !== "file" && update());
form.addEventListener("submit", (event) => event.preventDefault());
square.addEventListener("submit", (event) => { event.preventDefault(); explain(square.mechanism.value, square.truth.value, square.report.value); point(Number(square.truth.value), Number(square.report.value)); });
$("#bent").addEventListener("change", () => { address.write(state()); if (painted) rescale(); });
$("#matrix").addEventListener("toggle", matrix);
$("#matrix-of").addEventListener("change", matrix);
sharing($("#share"), { room: "choose", read: state, write: (s) => { restore(s); update(); }, python: () => script, example: { settings: EXAMPLE, told: "20 pupils, few of them absent on most days; the optimum must be weakly honest and column monotone" } });
restore({ ...address.read() });
update();
