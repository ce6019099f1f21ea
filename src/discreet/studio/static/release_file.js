// Step 1, the file: dropped anywhere or chosen, what may be misread in it with a button for each remedy, and its first rows.
import { ask, element, table } from "/static/studio.js";
import { bring, confirmed, right } from "/static/parts.js";
import { $, clean, doing, drop, fail, flush, load, render, room, save, show, whenShown } from "/static/release_state.js";

const KINDS = ["csv", "tsv", "txt", "parquet", "xlsx"], form = $("#way");
let under = null; // what is read now; another file, or another way of reading, calls it off

// While a file is taken or looked through it can be cancelled: then nothing of it is kept that was not there before.
async function reading(told, work) {
  under?.abort();
  const mine = (under = new AbortController()), line = $("#taking");
  line.replaceChildren(element("span", { text: told }), element("button", { type: "button", text: "Cancel", onclick: () => mine.abort() }));
  line.hidden = false;
  try { await work(mine.signal); } finally { if (under === mine) { under = null; line.hidden = true; } }
}

async function take(given) {
  if (!given) return;
  const kind = given.name.split(".").at(-1).toLowerCase();
  try {
    right($("#step-1"));
    if (!KINDS.includes(kind)) throw new Error("Give a file that ends in .csv, .tsv, .txt, .parquet or .xlsx.");
    await flush();
    await reading(`Taking ${given.name} …`, (signal) => ask(`/api/upload/table?${new URLSearchParams({ kind, name: given.name.slice(0, 200) })}`, given, { type: "application/octet-stream", signal }));
    if (under) return; // another one was dropped meanwhile
    await begin();
  } catch (error) { fail(error, 1); }
}

// What another file, or the example, begins with.
async function begin() {
  room.profile = room.price = null;
  await load();
  render();
  fill();
  await look();
  show(1, false);
  bring($("#findings"));
}

function fill() {
  const { way, codes } = room.draft;
  for (const name of ["encoding", "separator", "decimal", "null", "header_row", "sheet"]) put(form[name], way[name] ?? "");
  form.header_row.value = way.header_row === "1" ? "" : way.header_row;
  form.dates.value = way.dates.join(", ");
  form.codes.value = codes.join(", ");
}

function put(field, value) {
  if (field.tagName === "SELECT" && ![...field.options].some((option) => option.value === value)) field.append(element("option", { value, text: value }));
  field.value = value;
}

// a name may hold a comma: what a button put there stays whole while nobody changes it
const listed = (text, before) => (text === before.join(", ") ? before : clean(text));

function read() {
  const given = Object.fromEntries([...new FormData(form)].map(([name, value]) => [name, value.trim()]));
  room.draft.way = { encoding: given.encoding || "utf-8", separator: given.separator || null, decimal: given.decimal || null, quote: room.draft.way.quote, null: given.null, sheet: given.sheet || null, header_row: given.header_row || "1", dates: listed(given.dates, room.draft.way.dates) };
  room.draft.codes = listed(given.codes, room.draft.codes);
  room.draft.admitted = false;
  room.price = null;
}

export async function look() {
  const of = room.draft.table;
  if (!of) return;
  $("#findings").replaceChildren();
  let cancelled = false;
  try {
    await reading("Reading the file …", async (signal) => {
      const found = await ask("/api/release/look", { table: of, way: room.draft.way, codes: room.draft.codes }, { signal });
      if (of === room.draft.table && !signal.aborted) room.profile = found;
    });
    right($("#step-1"));
  } catch (error) {
    room.profile = null;
    cancelled = error.name === "AbortError" && !under;
    if (error.name !== "AbortError") throw error;
  } finally { if (!under) { tell(); render(); } }
  if (!cancelled) return;
  $("#findings").replaceChildren(element("p", { class: "late", text: "Reading was cancelled: how the file is read is not known." }), element("button", { type: "button", id: "read-again", text: "Read it again", onclick: () => look().catch((error) => fail(error, 1)) }));
  bring($("#read-again"));
}

async function mend({ option, value }) {
  const { way } = room.draft;
  if (option === "null") way.null = [...clean(way.null), value].join(",");
  else if (option === "dates") way.dates = [...way.dates, value];
  else if (option === "codes") room.draft.codes = [...room.draft.codes, value];
  else way[option] = value;
  room.draft.admitted = false;
  room.price = null;
  fill();
  save();
  try { await look(); bring($("#findings")); } catch (error) { fail(error, 1); }
}

const number = (n) => n.toLocaleString("en");

function tell() {
  const found = room.profile;
  $("#first-rows").replaceChildren();
  $("#file-size").textContent = found?.columns.length ? `${number(found.size)} rows, ${found.columns.length} columns` : "";
  $("#file-done").setAttribute("aria-disabled", String(!found || found.grave));
  if (!found) return;
  const grave = found.findings.filter((f) => f.grave).length;
  const told = element("p", { class: grave ? "problem" : "fine", text: grave ? `${grave === 1 ? "One finding keeps" : `${grave} findings keep`} the file from being used: press the button that says how it is meant.` : found.findings.length ? "The file can be used. Look through what may be misread." : "The file can be used; nothing looks misread." });
  $("#findings").replaceChildren(told, ...(found.findings.length ? [findings(found)] : []));
  if (found.rows.length) {
    const shown = table("The first rows as they are read, for you alone", found.columns.map((c) => c.name), found.rows);
    for (const cell of shown.querySelectorAll("td")) if (cell.textContent === "") { cell.textContent = "missing"; cell.className = "missing"; }
    $("#first-rows").append(element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "The first rows" }, shown));
  }
}

function findings(found) {
  const row = (f) => element("tr", { class: f.grave ? "grave" : null },
    element("td", { text: `${f.grave ? "Blocking: " : ""}${f.column ? `${f.column}: ` : ""}${f.what}` }),
    element("td", { class: "n", "data-name": "how many:", text: f.count === null ? "" : number(f.count) }),
    element("td", { "data-name": `${found.place}:`, text: f.places.join(", ") + (f.count > f.places.length && f.places.length ? ", …" : "") }),
    element("td", {}, f.advice, element("div", { class: "mend" }, ...f.remedies.map((r) => element("button", { type: "button", text: r.label, onclick: () => mend(r) })))));
  const heads = ["what", "how many", found.place, "what to do"].map((text, k) => element("th", { scope: "col", text, class: k === 1 ? "n" : null }));
  return element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Findings" }, element("table", { class: "findings" }, element("caption", { text: "What may be misread, for you alone, not for publication" }),
    element("thead", {}, element("tr", {}, ...heads)), element("tbody", {}, ...found.findings.map(row))));
}

whenShown(() => {
  $("#no-file").hidden = Boolean(room.draft.table);
  $("#has-file").hidden = !room.draft.table;
  $("#file-name").textContent = room.draft.file ?? "";
});

export function start() { fill(); }

form.addEventListener("submit", (event) => event.preventDefault());
form.addEventListener("change", async () => { read(); save(); try { await look(); } catch (error) { fail(error, 1); } });
$("#file").addEventListener("change", (event) => { take(event.target.files[0]); event.target.value = ""; });
doing($("#file-done"), async () => { if (room.profile && !room.profile.grave) show(2); });
$("#file-done").addEventListener("click", () => room.profile?.grave && bring($("#findings")));
for (const button of document.querySelectorAll("[data-example]")) doing(button, async () => { await ask("/api/release/example", undefined, { method: "POST" }); await begin(); });
doing($("#forget"), async () => {
  const told = element("p", { text: "The file is deleted from the studio's own folder, with everything that was written about it here. Your own file stays where it is, and what was paid stays paid." });
  if (!await confirmed("Forget this file?", [told], "Forget it", "Keep it")) return;
  drop(); // nothing of it is sent any more
  await ask("/api/release/forget", undefined, { method: "POST" });
  location.reload();
});

// Anywhere on the page.
let inside = 0;
addEventListener("dragenter", (event) => { if ([...event.dataTransfer.types].includes("Files")) { inside += 1; $("#over").hidden = false; } });
addEventListener("dragleave", () => { inside = Math.max(0, inside - 1); $("#over").hidden = inside === 0; });
addEventListener("dragover", (event) => event.preventDefault());
addEventListener("drop", (event) => { event.preventDefault(); inside = 0; $("#over").hidden = true; take(event.dataTransfer.files[0]); });
