// The room Recover: a mechanism and reports in, the distribution behind them out. What was recovered is drawn by recover_result.js.
import { ask, dropping, element } from "/static/studio.js";
import { bring, right, wrong } from "/static/parts.js";
import { privacy } from "/static/privacy.js";
import { late, recover, settle } from "/static/recover_result.js";

const $ = (selector) => document.querySelector(selector);
const form = $("#making"), columns = $("#columns"), level = privacy($("#level"));
// `file` and `name` of each: as it was dropped, and as the studio knows it once it was read
const given = { mechanism: { file: null, name: null, label: "mechanism.json" }, reports: { file: null, name: null, chosen: {} } };
const under = {};

const FAMILIES = {
  numbers: [["geometric", "geometric noise"], ["randomized_response", "randomised response"], ["square_wave", "square wave"]],
  categories: [["randomized_response", "randomised response"], ["projective_response", "projective response, for many categories"]],
};

// Reading takes as long as it takes, says so at its place, and can be cancelled.
async function reading(what, told, work) {
  under[what]?.abort();
  const mine = (under[what] = new AbortController()), line = $(`#${what}-told`);
  given[what].name = null;
  ready();
  late(what === "mechanism" ? "Out of date: another mechanism is chosen." : "Out of date: other reports are chosen.");
  right($(`#${what}`));
  line.replaceChildren(element("span", { text: `${told} ` }), element("button", { type: "button", text: "Cancel", onclick: () => mine.abort() }));
  try {
    const found = await work(mine.signal);
    if (under[what] !== mine) return null;
    line.textContent = found.told;
    return found;
  } catch (error) {
    if (under[what] !== mine) return null;
    line.textContent = error.name === "AbortError" ? "Cancelled; nothing was read." : "";
    if (error.name === "AbortError") return null;
    if (error instanceof TypeError) throw error; // a fault of ours, and no sentence for people
    wrong($(`#${what}`), error.field ?? what, error.message, $(`#${what}`));
    return null;
  } finally {
    if (under[what] === mine) delete under[what];
    ready();
  }
}

const ready = () => $("#go").setAttribute("aria-disabled", String(!(given.mechanism.name && given.reports.name)));

// The mechanism

async function takeMechanism(work, label) {
  const found = await reading("mechanism", "Reading and verifying it …", work);
  if (!found) return false;
  Object.assign(given.mechanism, { name: found.name, label });
  $("#mechanism-told").textContent = `${label ? `${label}: ` : ""}${found.told}`;
  $("#order").hidden = found.names;
  if (found.names) $("#ordered").value = "";
  if (given.reports.file) await takeReports(given.reports.chosen); // as its reports
  ready();
  return true;
}

const fromFile = (file) => file && takeMechanism((signal) => ask("/api/upload/mechanism", file, { type: "text/plain", signal }), file.name);

function described() {
  const numbers = form.answers.value === "numbers";
  const answers = numbers ? { low: form.low.value, high: form.high.value } : { names: form.names.value.split("\n").map((x) => x.trim()).filter(Boolean) };
  return { family: form.family.value, ...answers, ...level.level() };
}

function arrange() {
  const made = $("[name=source]:checked").value === "made", numbers = form.answers.value === "numbers", before = form.family.value;
  form.hidden = !made;
  $("#from-file").hidden = made;
  $("#ends").hidden = !numbers;
  $("#listed").hidden = numbers;
  form.family.replaceChildren(...FAMILIES[form.answers.value].map(([value, text]) => element("option", { value, text })));
  if (FAMILIES[form.answers.value].some(([value]) => value === before)) form.family.value = before;
}

const make = () => takeMechanism((signal) => ask("/api/recover/make", described(), { signal }), "");

// The reports

async function takeReports(chosen = {}) {
  const { file } = given.reports;
  given.reports.chosen = chosen;
  if (!given.mechanism.name) {
    $("#reports-told").textContent = `${file.name} is read as soon as the mechanism is known.`;
    late("Out of date: other reports are chosen.");
    return;
  }
  const asked = new URLSearchParams({ ...chosen, mechanism: given.mechanism.name });
  const found = await reading("reports", `Reading ${file.name} …`, (signal) => ask(`/api/upload/reports?${asked}`, file, { type: "text/plain", signal }));
  if (!found) return;
  given.reports.name = found.name || null;
  $("#reports-told").textContent = `${file.name}: ${found.told}`;
  offer(found);
  if (!found.name) bring(columns.column);
  ready();
}

// Where a file has several columns, it is shown which ones were read, and asked about where that is not clear.
function offer({ columns: names, column, counts }) {
  columns.hidden = !names.length;
  const option = (text) => element("option", { value: text, text: text || "(no name)" });
  const fill = (select, none, value) => { select.replaceChildren(element("option", { value: "\0", text: none }), ...names.map(option)); select.value = value ?? "\0"; };
  fill(columns.column, "which?", column);
  fill(columns.counts, "once in each line", counts);
  fill(columns.by, "none", given.reports.chosen.by);
}

async function readColumns() {
  right($("#reports"));
  const value = (select) => (select.value === "\0" ? null : select.value);
  const [column, counts, by] = [columns.column, columns.counts, columns.by].map(value);
  if (column === null) return wrong($("#reports"), "column", "Say which column has the reports.", columns);
  for (const [name, other] of [["counts", counts], ["by", by]]) if (other !== null && other === column) return wrong($("#reports"), name, "This column has the reports; choose another one, or none.", columns);
  if (counts !== null && counts === by) return wrong($("#reports"), "by", "This column says how often; choose another one, or none.", columns);
  await takeReports({ column, ...(counts === null ? { once: "true" } : { counts }), ...(by !== null && { by }) });
}

function takeFile(file) {
  if (!file) return;
  given.reports.file = file;
  columns.hidden = true;
  takeReports();
}

// The example

async function example(kind) {
  right($("#recover"));
  const made = await ask("/api/recover/example", { kind });
  $("[name=source][value=made]").checked = true;
  form.answers.value = made.mechanism.names ? "categories" : "numbers";
  arrange();
  form.family.value = made.mechanism.family;
  if (made.mechanism.names) form.names.value = made.mechanism.names.join("\n");
  else { form.low.value = made.mechanism.low; form.high.value = made.mechanism.high; }
  level.set({ epsilon: made.mechanism.epsilon });
  given.reports.file = null;
  if (!await make()) return;
  given.reports.file = new File([made.content], made.file, { type: "text/csv" });
  await takeReports({ column: "report", ...(made.by && { by: made.by }) });
  bring($("#go"));
}

const start = () => {
  right($("#recover"));
  if (!given.mechanism.name) return wrong($("#mechanism"), $("[name=source]:checked").value === "made" ? "high" : "mechanism", "Say which mechanism made the reports first.", $("#mechanism"));
  if (!given.reports.name) return wrong($("#reports"), given.reports.file ? "column" : "reports", given.reports.file ? "Say first how the file of reports is read." : "Give the reports first.", $("#reports"));
  const asked = { mechanism: given.mechanism.name, reports: given.reports.name, ordered: $("#ordered").value ? $("#ordered").value === "true" : null };
  return recover(asked, { mechanism_file: given.mechanism.label || "mechanism.json", file: given.reports.file.name }, (error) => wrong($("#reports"), error.field ?? "reports", error.message, $("#reports")));
};

dropping($("#from-file"), fromFile);
dropping($("#reports .drop"), takeFile);
for (const source of document.querySelectorAll("[name=source]")) source.addEventListener("change", arrange);
form.addEventListener("submit", (event) => event.preventDefault());
form.addEventListener("change", (event) => event.target.name === "answers" && arrange());
columns.addEventListener("submit", (event) => event.preventDefault());
$("#make").addEventListener("click", make);
$("#choose").addEventListener("click", readColumns);
$("#go").addEventListener("click", start);
$("#ordered").addEventListener("change", () => late("Out of date: the values are taken otherwise now."));
for (const button of document.querySelectorAll("[data-example]")) button.addEventListener("click", () => example(button.dataset.example).catch((error) => wrong($("#recover"), null, error.message, $("#examples"))));
arrange();
settle();
document.body.dataset.ready = "yes";
