// The room Choose: six channels side by side, one question for every move of a slider.
import { address, ask, chart, element, latest, save, say, table } from "/static/studio.js";

const PROPERTIES = {
  WH: "every truth at least as often as by guessing", F: "every truth equally often", S: "the same from both ends",
  RH: "each report most likely from its own truth", RM: "each report less likely the farther the truth",
  CH: "each truth most likely reported as itself", CM: "each truth's reports less likely the farther off",
};
const NAMES = { geometric: "GM", explicit_fair: "EM", weakly_honest: "WM", randomized_response: "kRR", uniform: "UM", optimum: "optimum" };
const form = document.querySelector("#sliders");
const faces = document.querySelector("#faces");
const square = document.querySelector("#square");
const shown = new Map();
let weights = [];

for (const [letters, words] of Object.entries(PROPERTIES)) {
  document.querySelector("#properties").append(
    element("label", { title: words }, element("input", { type: "checkbox", name: "require", value: letters }), ` ${letters}`));
}
for (const [name, short] of Object.entries(NAMES)) square.mechanism.append(element("option", { value: name, text: short }));

function state() {
  const given = new FormData(form);
  return { n: given.get("n"), alpha: given.get("alpha").trim(), eps: given.get("eps"), loss: given.get("loss"), prior: given.get("prior"),
    require: given.getAll("require").join(","), drawn: given.get("prior") === "drawn" ? weights.join(",") : "" };
}

function question(s) {
  const level = s.alpha ? { alpha: s.alpha } : { epsilon: String(s.eps / 1000) };
  const prior = s.prior === "drawn" ? weights : s.prior || null;
  return { n: Number(s.n), ...level, loss: s.loss, prior, require: s.require ? s.require.split(",") : [] };
}

function restore() {
  const s = address.read();
  for (const name of ["n", "eps", "alpha", "loss", "prior"]) if (s[name] !== undefined) form[name].value = s[name];
  for (const box of form.querySelectorAll("[name=require]")) box.checked = (s.require ?? "").split(",").includes(box.value);
  weights = (s.drawn ?? "").split(",").filter(Boolean).map(Number).filter((w) => w >= 0);
}

async function face(name) {
  if (!shown.has(name)) {
    const parts = { title: element("h2"), chart: element("div", { class: "chart" }), words: element("p", { class: "small quiet" }), facts: element("dl"),
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

async function paint(found, top) {
  const parts = await face(found.name);
  parts.title.textContent = found.title;
  parts.words.textContent = found.sentence;
  parts.wait.hidden = true;
  const facts = {
    Level: `epsilon ≤ ${found.epsilon}${found.alpha.length < 9 ? `, alpha ${found.alpha}` : ""}; any two values ≤ ${found.epsilon_any}`,
    Properties: found.properties.join(" ") || "none of the seven", Loss: `${found.mean_loss.toPrecision(4)} on average, ${found.worst_loss.toPrecision(4)} at worst`,
  };
  parts.facts.replaceChildren(...Object.entries(facts).flatMap(([name, value]) => [element("dt", { text: name }), element("dd", { text: value })]));
  const copy = (what, text) => element("button", { type: "button", text: what, title: `Copy what makes it: ${what}`, onclick: () => { navigator.clipboard?.writeText(text); parts.code.textContent = text; } });
  parts.buttons.replaceChildren(
    element("button", { type: "button", text: "Download", onclick: () => download(found.name) }), copy("Python", found.python), copy("Command", found.command));
  const cells = found.matrix.flatMap((row, truth) => row.map((share, report) => ({ truth, report, share, told: `${truth} → ${report}: ${share.toPrecision(4)}` })));
  const own = found.matrix.map((_, truth) => ({ truth, report: truth }));
  const view = await parts.ready;
  await view.signal("top", top).data("cells", cells).data("own", own).resize().runAsync();
  document.body.dataset.painted = String(Number(document.body.dataset.painted ?? 0) + 1);
}

const largest = (list) => Math.max(...list.flatMap((f) => f.matrix.flat()));

async function download(name) {
  try {
    const answer = await ask("/api/choose/file", { ...question(state()), mechanism: name }, { raw: true });
    save(`${name}.json`, await answer.blob());
  } catch (error) { say(error.message); }
}

async function explain(mechanism, truth, report) {
  Object.assign(square.mechanism, { value: mechanism });
  square.truth.value = truth;
  square.report.value = report;
  try {
    const found = await ask("/api/choose/cell", { ...question(state()), mechanism, truth: Number(truth), report: Number(report) });
    document.querySelector("#told-text").textContent = found.sentence;
    const columns = ["truth", "probability", "ratio", "at the bound"];
    document.querySelector("#told-table").replaceChildren(table("The same report at the neighbouring truths", columns, found.rows.map((r) => columns.map((c) => r[c]))));
    say();
  } catch (error) { say(error.message); }
}

// Asked for beside the others; gives what paints it when their scale of colours is known.
async function optimum(asked, signal) {
  const parts = await face("optimum");
  let promise = await ask("/api/choose/optimum", asked, { signal });
  const off = () => ask(`/api/choose/jobs/${promise.job}/off`, undefined, { method: "POST" }).catch(() => {});
  signal.addEventListener("abort", off);
  try {
    while (!promise.done) {
      parts.title.textContent = "the optimum";
      parts.wait.hidden = false;
      parts.wait.replaceChildren(`Being designed: ${promise.told} `, element("button", { type: "button", text: "Call it off", onclick: off }));
      promise = await ask(`/api/choose/jobs/${promise.job}`, undefined, { signal });
    }
  } finally {
    signal.removeEventListener("abort", off);
    parts.wait.hidden = true;
  }
  return (top) => paint(promise.face, Math.max(top, largest([promise.face])));
}

const update = latest(async (signal) => {
  const s = state(), asked = question(s);
  address.write(s);
  document.querySelector("#n-told").textContent = s.n;
  document.querySelector("#draw").hidden = s.prior !== "drawn";
  if (s.prior === "drawn") { bars(asked.n + 1); asked.prior = weights; }
  const best = optimum(asked, signal);
  const found = await ask("/api/choose/faces", asked, { signal });
  document.querySelector("#epsilon-told").textContent = `${found.epsilon} (alpha ${found.alpha.length > 12 ? Number(Math.exp(-found.epsilon)).toPrecision(4) : found.alpha})`;
  square.truth.max = square.report.max = s.n;
  const top = largest(found.faces);
  await Promise.all(found.faces.map((each) => paint(each, top)));
  await (await best)(top);
});

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
