// What stands in the room Release: kept by the server, so that going back, reloading and a second tab find it. Steps open one after another.
import { ask, element, say } from "/static/studio.js";
import { bring, right, wrong } from "/static/parts.js";

export const $ = (selector) => document.querySelector(selector);
export const room = { draft: null, profile: null, accounts: [], account: null, price: null };
const steps = [...document.querySelectorAll(".step")];
const listeners = [];

for (const [k, step] of steps.entries()) {
  const brief = element("span", { class: "brief" }), head = element("button", { type: "button", class: "head", "aria-controls": `body-${k + 1}` },
    element("span", { class: "count", text: String(k + 1) }), element("span", { text: step.dataset.name }), brief);
  step.querySelector(".body").id = `body-${k + 1}`;
  step.prepend(element("h2", {}, head));
  head.addEventListener("click", () => show(k + 1));
}

// How far one can go: the file must be readable, the budget open and the file admitted, the question previewed.
export function reach() {
  const { draft, profile, price, previewing } = room;
  if (!draft?.table || !profile || profile.grave) return 1;
  if (!draft.admitted) return 2;
  return price || draft.made ? 5 : previewing ? 4 : 3;
}

const words = [
  () => (room.draft.table ? room.draft.file : ""),
  () => (room.draft.admitted && room.account ? `${room.account.dataset}: ${room.account.measure} ${room.account.left} of ${room.account.budget} left` : ""),
  () => (room.draft.admitted ? room.asked?.() ?? "" : ""),
  () => (room.price ? room.said ?? "" : ""),
  () => (room.draft.made ? "published" : ""),
];

export function render() {
  const most = reach(), at = Math.min(room.draft.step, most);
  for (const [k, step] of steps.entries()) {
    const head = step.querySelector(".head"), open = k + 1 === at;
    step.dataset.state = open ? "open" : k + 1 < Math.max(most, at) && k + 1 !== at ? "done" : "closed";
    head.disabled = k + 1 > most;
    head.setAttribute("aria-expanded", String(open));
    head.querySelector(".brief").textContent = open ? "" : words[k]();
  }
  for (const listen of listeners) listen(at);
}

// `listen` hears which step is open, after each change.
export const whenShown = (listen) => listeners.push(listen);

export function show(step, focus = true) {
  room.draft.step = Math.min(step, reach());
  render();
  save();
  if (focus) bring(steps[room.draft.step - 1].querySelector(".head"));
  steps[room.draft.step - 1].scrollIntoView({ block: "start" });
}

// What is written is kept at once; only the last of quick changes is sent.
let waiting = null;
const KEPT = ["way", "codes", "ledger", "dataset", "version", "opening", "public", "question", "step", "revision"];
const body = () => Object.fromEntries(KEPT.map((name) => [name, room.draft[name]]));

export function save(soon = 0) {
  clearTimeout(waiting);
  waiting = setTimeout(flush, soon);
}

export function drop() {
  clearTimeout(waiting);
  waiting = null;
}

// One after another: each says which state it has changed.
let sending = Promise.resolve();
export const flush = (more = {}) => (sending = sending.then(() => send(more)));

async function send(more) {
  if (waiting === null || !$("#newer").hidden) return;
  clearTimeout(waiting);
  waiting = null;
  try {
    const kept = await ask("/api/release/keep", body(), more);
    room.draft.revision = kept.revision;
    if (room.draft.admitted !== kept.admitted) { room.draft.admitted = kept.admitted; render(); }
  } catch (error) {
    if (error.field !== "revision") return fail(error);
    $("#newer").hidden = false;
    bring($("#reload"));
  }
}
$("#reload").addEventListener("click", () => location.reload());
addEventListener("pagehide", () => flush({ keepalive: true }));

// An error stands at its field, in the step that has it; else below the button that was pressed.
export function fail(error, step = room.draft?.step ?? 1) {
  if (error.name === "AbortError") return;
  if (error instanceof TypeError) throw error; // a fault of ours, and no sentence for people
  const field = error.field && [...document.querySelectorAll(`[data-field="${CSS.escape(error.field)}"], [name="${CSS.escape(error.field)}"]`)][0];
  const home = field?.closest(".step") ?? steps[step - 1];
  room.draft.step = Math.min(steps.indexOf(home) + 1, reach());
  render();
  wrong(home, error.field, error.message, home.querySelector(".body"));
}

// Work of a button: once at a time, its errors at their fields.
export function doing(button, work) {
  button.addEventListener("click", async () => {
    if (button.getAttribute("aria-disabled") === "true") return;
    button.setAttribute("aria-disabled", "true");
    say();
    right(button.closest(".step") ?? document.body);
    try { await flush(); if ($("#newer").hidden) await work(); else bring($("#reload")); } catch (error) { fail(error); } finally { button.removeAttribute("aria-disabled"); }
  });
}

// Pages never hold what stands here; a tab that is looked at again shows what was done in another one.
export async function load() {
  room.draft = await ask("/api/release/draft");
}

export const clean = (list) => list.split(",").map((x) => x.trim()).filter(Boolean);
export const lines = (text) => text.split("\n").map((x) => x.trim()).filter(Boolean);
export const select = (texts, none) => [...(none === undefined ? [] : [element("option", { value: "", text: none })]), ...texts.map((text) => element("option", { value: text, text }))];
