// Step 2, the budget: a data set that has one, or a new one, with what its number means. What is for good is asked once.
import { ask, chart, element, latest, table } from "/static/studio.js";
import { asTable, bring, confirmed, wrong } from "/static/parts.js";
import { $, doing, render, room, save, select, show, whenShown } from "/static/release_state.js";
import { look } from "/static/release_file.js";

const form = $("#budget"), NEW = "";
let curves = null;

const given = () => Object.fromEntries([...new FormData(form)].map(([name, value]) => [name, value.trim()]));
const chosen = () => form.querySelector("[name=account]:checked")?.value ?? NEW;

function terms() {
  const { budget, delta, terms: kind } = given();
  return { budget: budget || null, ...(kind === "concentrated" && { delta: delta || "1e-9" }) };
}

export async function accounts() {
  const { ledger, dataset } = room.draft;
  room.accounts = (await ask("/api/release/accounts", { ledger })).accounts;
  room.account = room.accounts.find((a) => a.dataset === dataset) ?? null;
  const radio = (value, ...told) => element("label", { class: "account" }, element("input", { type: "radio", name: "account", value }), element("span", {}, ...told));
  $("#account-list").replaceChildren(
    ...room.accounts.map((a) => radio(a.dataset, element("b", { text: a.dataset }), ` ${a.relation}; ${a.measure} ${a.left} of ${a.budget} left${a.public.length ? `; public: ${a.public.join(", ")}` : ""}`)),
    radio(NEW, element("b", { text: "a new one" })));
  $("#accounts").hidden = !room.accounts.length;
  form.querySelector(`[name=account][value="${CSS.escape(room.account?.dataset ?? NEW)}"]`).checked = true;
}

function fill() {
  const { draft } = room, opening = { relation: "add-remove", terms: "pure", budget: "1", delta: "1e-9", ...draft.opening };
  const columns = room.profile?.columns.map((c) => c.name) ?? [];
  form.unit.replaceChildren(...select(columns, "none: a row is a person"));
  form.parts.replaceChildren(...select(columns, "none"));
  for (const name of ["relation", "terms", "budget", "delta", "unit", "parts"]) form[name].value = opening[name] ?? "";
  for (const name of ["ledger", "version", "dataset"]) form[name].value = draft[name];
  $("#public .switches").replaceChildren(...columns.map((name) => element("label", {}, element("input", { type: "checkbox", name: "public", value: name, checked: draft.public.includes(name) }), ` ${name}`)));
  arrange();
}

function arrange() {
  const fresh = chosen() === NEW, now = given();
  $("#opening").hidden = !fresh;
  $("#public").hidden = now.relation !== "change-one";
  $("#delta").hidden = now.terms !== "concentrated";
  $("#budget-done").textContent = fresh ? "Open this budget and admit the file" : room.draft.admitted ? "Go on to the question" : "Admit the file to this budget";
}

function read() {
  const now = given(), account = room.accounts.find((a) => a.dataset === chosen());
  const { draft } = room;
  const before = JSON.stringify([draft.ledger, draft.dataset, draft.version]);
  Object.assign(draft, { ledger: now.ledger || "budget.db", version: now.version || "1", dataset: account ? account.dataset : now.dataset,
    opening: { relation: now.relation, terms: now.terms, budget: now.budget, delta: now.delta, unit: now.unit, parts: now.parts },
    public: [...form.querySelectorAll("[name=public]:checked")].map((box) => box.value) });
  if (before !== JSON.stringify([draft.ledger, draft.dataset, draft.version])) draft.admitted = false;
  room.account = account ?? null;
  room.price = null;
  arrange();
}

const explain = latest(async (signal) => {
  if ($("#opening").hidden) return;
  const { relation } = given();
  try {
    const found = await ask("/api/release/meaning", { ...terms(), relation }, { signal });
    $("#meaning").replaceChildren(element("p", { class: "said", text: found.sentence }), asTable(table("What a reader can be sure of at most", found.columns, found.rows), "Other suspicions, as a table"));
  } catch (error) {
    if (error.name === "AbortError") throw error;
    $("#meaning").replaceChildren(element("p", { class: "wrong", text: error.message }));
  }
});

const plan = latest(async (signal) => {
  const { budget, delta, tables } = given();
  if (!$("#many").open || !budget) return;
  let found;
  try { found = await ask("/api/release/tables", { budget, delta: delta || "1e-9", tables: tables || "10" }, { signal }); } catch (error) {
    if (error.name === "AbortError") throw error;
    $("#tables-told").replaceChildren(element("p", { class: "wrong", text: error.message }));
    return;
  }
  $("#tables-told").replaceChildren(...found.sentences.map((text) => element("p", { text })));
  const points = found.rows.flatMap((r) => [["an epsilon alone", r.pure], ["with a delta", r.concentrated]].map(([series, y]) => ({ x: r.tables, y, series, told: `${r.tables} tables, ${series}: ${y.toPrecision(3)}` })));
  curves ??= chart($("#tables-chart"), "many-tables");
  await (await curves).data("points", points).resize().runAsync();
  $("#tables-chart").setAttribute("aria-label", `The standard error of a count against the number of tables. ${found.sentences.at(-1)}`);
  $("#tables-table").replaceChildren(asTable(table("Standard error of a count", ["tables", "an epsilon alone", "with a delta"], found.rows.map((r) => [r.tables, Number(r.pure.toPrecision(3)), Number(r.concentrated.toPrecision(3))]))));
});

async function admit() {
  const { draft } = room, found = await ask("/api/release/admit", { ledger: draft.ledger, dataset: draft.dataset, version: draft.version, table: draft.table, way: draft.way, codes: draft.codes });
  if (found.grave) {
    room.profile = found;
    show(1);
    await look();
    return;
  }
  draft.admitted = true;
  await accounts();
  render();
  show(3);
}

const MUST = "Give the data set a name, such as survey-2026: it stays with these people.";
doing($("#budget-done"), async () => {
  read();
  const { draft } = room;
  if (chosen() !== NEW) return draft.admitted ? show(3) : admit();
  if (!draft.dataset) return wrong(form, "dataset", MUST, form);
  const opening = { ledger: draft.ledger, dataset: draft.dataset, ...terms(), relation: draft.opening.relation, public: draft.opening.relation === "change-one" ? draft.public : [], unit: draft.opening.unit || null, parts: draft.opening.parts || null };
  const told = await ask("/api/release/meaning", { ...terms(), relation: opening.relation });
  const protect = opening.relation === "add-remove" ? "that somebody is there at all, and everything about them (add-remove)" : `what is true of somebody (change-one); public: ${opening.public.join(", ") || "no column"}`;
  const facts = [["Data set", draft.dataset], ["Protected", protect], ["Budget", `epsilon ${opening.budget}${opening.delta ? ` with delta ${opening.delta}` : ""}`],
    ...(opening.unit ? [["One person", `all rows with one ${opening.unit}`]] : []), ...(opening.parts ? [["Parts", opening.parts]] : [])];
  const body = [element("dl", {}, ...facts.flatMap(([name, value]) => [element("dt", { text: name }), element("dd", { text: value })])), element("p", { class: "small", text: told.sentence }), element("p", { text: "These terms stay for good: another budget for the same people would undo the promise." })];
  if (!await confirmed("Open this budget?", body, "Open it, for good")) return bring($("#budget-done"));
  room.accounts = (await ask("/api/release/open", opening)).accounts;
  await accounts();
  await admit();
});

form.addEventListener("submit", (event) => event.preventDefault());
form.addEventListener("input", (event) => { read(); save(300); if (["budget", "delta", "relation", "terms", "account", "tables"].includes(event.target.name)) { explain(); plan(); } });
form.addEventListener("change", async (event) => { read(); save(); render(); if (event.target.name === "ledger") { await accounts().catch((error) => wrong(form, "ledger", error.message, form)); fill(); } });
$("#many").addEventListener("toggle", () => plan());

let filled = null;
whenShown((at) => {
  if (at !== 2 || filled === room.profile) return;
  filled = room.profile;
  accounts().then(() => { fill(); explain(); }).catch((error) => wrong(form, "ledger", error.message, form));
});
