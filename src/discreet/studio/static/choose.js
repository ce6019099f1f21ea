// The room Choose: six channels side by side, one question for every move of a slider.
import { address, ask, chart, element, latest, promised, save, say, table } from "/static/studio.js";

const PROPERTIES = {
  WH: "truths no rarer than guessed", F: "every truth told equally often", S: "alike from both ends",
  RH: "a report's likeliest truth is itself", RM: "… farther truths are less likely",
  CH: "a truth's likeliest report is itself", CM: "… farther reports are less likely",
};
const NAMES = { geometric: "GM", explicit_fair: "EM", weakly_honest: "WM", randomized_response: "kRR", uniform: "UM", optimum: "optimum" };
const form = document.querySelector("#sliders");
const faces = document.querySelector("#faces");
const square = document.querySelector("#square");
const hint = document.querySelector("#told-text").textContent;
const shown = new Map();
let weights = [];
let painted = null; // the question whose answers the pictures show
let explained = 0; // how often a square was asked for

for (const [letters, words] of Object.entries(PROPERTIES)) {
  document.querySelector("#properties").append(
    element("label", {}, element("input", { type: "checkbox", name: "require", value: letters }), element("b", { text: letters }), element("span", { text: words })));
}
for (const [name, short] of Object.entries(NAMES)) square.mechanism.append(element("option", { value: name, text: short }));

// The slider goes from 0.01 to 5, evenly in the logarithm; what it says is what is asked and what stands in the address.
const epsilon = (place) => Number((0.01 * 500 ** (place / 1000)).toPrecision(3));
const place = (value) => Math.round(1000 * Math.log(value / 0.01) / Math.log(500));

function state() {
  const given = new FormData(form), alpha = given.get("alpha").trim();
  return { n: given.get("n"), alpha, epsilon: alpha ? "" : String(epsilon(given.get("eps"))), loss: given.get("loss"), prior: given.get("prior"),
    require: given.getAll("require").join(","), drawn: given.get("prior") === "drawn" ? weights.join(",") : "" };
}

function question(s) {
  const level = s.alpha ? { alpha: s.alpha } : { epsilon: s.epsilon };
  const prior = s.prior === "drawn" ? weights : s.prior || null;
  return { n: Number(s.n), ...level, loss: s.loss, prior, require: s.require ? s.require.split(",") : [] };
}

function restore() {
  const s = address.read();
  for (const name of ["n", "alpha", "loss", "prior"]) if (s[name] !== undefined) form[name].value = s[name];
  if (s.epsilon > 0) form.eps.value = place(s.epsilon);
  for (const box of form.querySelectorAll("[name=require]")) box.checked = (s.require ?? "").split(",").includes(box.value);
  weights = (s.drawn ?? "").split(",").filter(Boolean).map(Number).filter((w) => w >= 0);
}

async function face(name) {
  if (!shown.has(name)) {
    const parts = { title: element("h2"), chart: element("div", { class: "chart", role: "img" }), words: element("p", { class: "quiet words" }), facts: element("dl"),
      buttons: element("p", { class: "row small" }), code: element("pre"), wait: element("p", { class: "row small", hidden: true }) };
    faces.append(element("article", { class: "sheet", id: `face-${name}` }, parts.title, parts.words, parts.wait, parts.chart, parts.facts, parts.buttons, parts.code));
    shown.set(name, parts);
    parts.ready = chart(parts.chart, "heat-map").then((view) => {
      view.addEventListener("click", (event, item) => item?.datum?.truth !== undefined && explain(name, item.datum.truth, item.datum.report));
      return view;
    });
  }
  return shown.get(name);
}

async function paint(found, known, scale, asked) {
  const parts = await face(found.name);
  parts.chart.hidden = false;
  const { often, ends } = piled(found.matrix, known);
  parts.title.textContent = found.title;
  parts.words.textContent = found.sentence;
  parts.wait.hidden = true;
  const facts = {
    Ends: `reported ${percent(ends.reported)}, true ${percent(ends.true)}`,
    Loss: `${found.mean_loss.toPrecision(4)} mean, ${found.worst_loss.toPrecision(4)} worst`,
    Level: `ε ≤ ${found.epsilon}, any two ${found.epsilon_any}`, Has: found.properties.join(" ") || "none of the seven",
  };
  parts.facts.replaceChildren(...Object.entries(facts).flatMap(([name, value]) => [element("dt", { text: name }), element("dd", { text: value })]));
  const copy = (what, text) => element("button", { type: "button", text: what, title: `Copy what makes it: ${what}`, onclick: async ({ target }) => {
    parts.code.textContent = text;
    const copied = await navigator.clipboard?.writeText(text).then(() => true, () => false);
    target.textContent = copied ? "Copied" : "See below";
    setTimeout(() => { target.textContent = what; }, 1500);
  } });
  parts.buttons.replaceChildren(
    element("button", { type: "button", text: "Download", onclick: () => download(found.name, asked) }), copy("Python", found.python), copy("Command", found.command));
  const cells = found.matrix.flatMap((row, truth) => row.map((share, report) => ({ truth, report, share, told: `${truth} → ${report}: ${share.toPrecision(4)}` })));
  const own = found.matrix.map((_, truth) => ({ truth, report: truth }));
  const reports = often.map((share, report) => ({ report, often: share, known: known[report], told: `${report}: reported ${percent(share)}, true ${percent(known[report])}` }));
  parts.chart.setAttribute("aria-label", `${found.title}: a square for each truth and report, and how often each report comes. The ends are ${facts.Ends} of the time.`);
  parts.code.textContent = "";
  const view = await parts.ready;
  await view.signal("top", scale.top).signal("most", scale.most).data("cells", cells).data("own", own).data("reports", reports).resize().runAsync();
  document.body.dataset.painted = String(Number(document.body.dataset.painted ?? 0) + 1);
}

const percent = (x) => (x === 0 || x >= 0.001 ? `${Number((100 * x).toPrecision(2))} %` : "under 0.1 %");

// How often each report comes when the truth is as known before, and the ends among reports and truths.
function piled(matrix, known) {
  const often = known.map((_, report) => matrix.reduce((sum, row, truth) => sum + known[truth] * row[report], 0));
  return { often, ends: { reported: often[0] + often.at(-1), true: known[0] + known.at(-1) } };
}

// One scale of colours and one of heights for all that are compared.
const scales = (list, known) => ({ top: Math.max(...list.flatMap((f) => f.matrix.flat())),
  most: 1.05 * Math.max(...known, ...list.flatMap((f) => piled(f.matrix, known).often)) });
const wider = (a, b) => ({ top: Math.max(a.top, b.top), most: Math.max(a.most, b.most) });

// The one whose picture is shown, whatever the sliders say by now.
async function download(name, asked) {
  try {
    const answer = await ask("/api/choose/file", { ...asked, mechanism: name }, { raw: true });
    save(`${name}.json`, await answer.blob());
  } catch (error) { say(error.message); }
}

async function explain(mechanism, truth, report) {
  Object.assign(square.mechanism, { value: mechanism });
  square.truth.value = truth;
  square.report.value = report;
  if ("stale" in faces.dataset) return; // a number beside settings that it is not of
  const mine = ++explained;
  forget();
  try {
    const of = painted ?? question(state());
    const found = await ask("/api/choose/cell", { ...of, mechanism, truth: Number(truth), report: Number(report) });
    if (mine !== explained || of !== (painted ?? of) || "stale" in faces.dataset) return; // another one was asked for, or the pictures have changed
    document.querySelector("#told-text").textContent = found.sentence;
    const columns = ["truth", "probability", "ratio", "at the bound"];
    document.querySelector("#told-table").replaceChildren(table("The same report at the neighbouring truths", columns, found.rows.map((r) => columns.map((c) => r[c]))));
    document.querySelector("#told").scrollIntoView({ block: "nearest" });
    say();
  } catch (error) { if (mine === explained) say(error.message); }
}

// Of other settings than the pictures show, nothing stays: neither the explained square nor the optimum.
function forget() {
  document.querySelector("#told-text").textContent = hint;
  document.querySelector("#told-table").replaceChildren();
}

function blank(parts, why) {
  parts.words.textContent = why;
  parts.chart.hidden = true;
  parts.code.textContent = "";
  parts.facts.replaceChildren();
  parts.buttons.replaceChildren();
}

// One scale for all that stand side by side, and said.
async function rescale(names, scale) {
  await Promise.all(names.map(async (name) => {
    const parts = await face(name), view = await parts.ready;
    await view.signal("top", scale.top).signal("most", scale.most).runAsync();
    parts.chart.dataset.top = view.signal("top");
  }));
  document.querySelector("#scale-told").textContent = `One scale of colours for all: white is 0, the darkest blue a probability of ${scale.top.toPrecision(3)}.`;
}

// Asked for beside the others.
async function optimum(asked, signal) {
  const parts = await face("optimum");
  parts.title.textContent = "the optimum";
  return promised("/api/choose/optimum", asked, signal, (told, off) => {
    parts.wait.hidden = false;
    parts.wait.replaceChildren(`Being designed: ${told} `, element("button", { type: "button", text: "Call it off", onclick: off }));
  }).finally(() => { if (!signal.aborted) parts.wait.hidden = true; });
}

const update = latest(async (signal) => {
  const s = state(), asked = question(s);
  address.write(s);
  document.querySelector("#n-told").textContent = s.n;
  document.querySelector("#level-told").textContent = s.alpha ? `alpha ${s.alpha}` : `epsilon ${s.epsilon}`; // the other one when it is known
  document.querySelector("#draw").hidden = s.prior !== "drawn";
  if (s.prior === "drawn") { bars(asked.n + 1); asked.prior = weights; }
  let done = false;
  const best = optimum(asked, signal);
  best.then(() => { done = true; }, () => {}); // it is awaited below, unless the others fail first
  const stale = document.querySelector("#stale");
  let found;
  try { found = await ask("/api/choose/faces", asked, { signal }); } catch (error) {
    if (error.name !== "AbortError" && painted) {
      stale.textContent = `The pictures are not of these settings: they still show n = ${painted.n} and ${painted.alpha ? `alpha ${painted.alpha}` : `epsilon ${painted.epsilon}`}.`;
      stale.hidden = false;
      faces.dataset.stale = "";
      forget();
    }
    throw error;
  }
  painted = asked;
  stale.hidden = true;
  delete faces.dataset.stale;
  forget();
  if (s.alpha) form.eps.value = place(found.epsilon);
  const exact = found.alpha.startsWith("~") ? `≈ ${Math.exp(-found.epsilon).toPrecision(4)}` : found.alpha;
  document.querySelector("#level-told").textContent = `epsilon ${s.epsilon || found.epsilon}, alpha ${exact}`;
  square.truth.max = square.report.max = s.n;
  const scale = scales(found.faces, found.prior);
  const parts = await face("optimum");
  if (!done) blank(parts, "It is not designed yet for these settings.");
  await Promise.all(found.faces.map((each) => paint(each, found.prior, scale, asked)));
  if (painted !== asked) return;
  const names = found.faces.map((each) => each.name);
  await rescale(names, scale);
  let least;
  try { least = await best; } catch (error) {
    if (error.name !== "AbortError" && painted === asked) blank(parts, `There is none to show for these settings. ${error.message}`);
    throw error;
  }
  if (painted !== asked) return;
  const all = wider(scale, scales([least], found.prior));
  await paint(least, found.prior, all, asked);
  if (painted !== asked) return;
  await rescale([...names, "optimum"], all);
}, faces);

function bars(size) {
  const box = document.querySelector("#bars");
  if (weights.length !== size) weights = Array.from({ length: size }, (_, k) => weights[k] ?? 50);
  if (box.children.length !== size) {
    box.replaceChildren(...weights.map((_, k) => element("input", { type: "range", min: 0, max: 100, step: 1, "aria-label": `weight of ${k}`, class: "bar",
      oninput: (event) => { weights[k] = Number(event.target.value); update(); } })));
  }
  weights.forEach((w, k) => { box.children[k].value = w; });
}
document.querySelector("#bars").addEventListener("pointermove", (event) => {
  if (!event.buttons) return;
  const bar = event.target.closest("#bars") && document.elementsFromPoint(event.clientX, event.clientY).find((e) => e.classList.contains("bar"));
  if (!bar) return;
  const place = bar.getBoundingClientRect(), k = [...bar.parentNode.children].indexOf(bar);
  weights[k] = Math.round(100 * Math.min(1, Math.max(0, (place.bottom - event.clientY) / place.height)));
  bar.value = weights[k];
  update();
});

form.addEventListener("input", (event) => { if (event.target.name === "eps") form.alpha.value = ""; update(); });
form.addEventListener("submit", (event) => event.preventDefault());
square.addEventListener("submit", (event) => { event.preventDefault(); explain(square.mechanism.value, square.truth.value, square.report.value); });
restore();
for (const name of Object.keys(NAMES)) face(name);
update();
