// The room Release: look, admit, ask. Nothing that names the data or the question stands in the address.
import { ask, dropping, element, save, say, table } from "/static/studio.js";

const $ = (selector) => document.querySelector(selector);
const lines = (text) => text.split("\n").map((x) => x.trim()).filter(Boolean);
const number = (text) => (text ? Number(text) : null);
const words = (text) => text.split(",").map((x) => x.trim()).filter(Boolean);
let dropped = null, file = null, made = null, admitted = false;

const way = () => {
  const given = Object.fromEntries(new FormData($("#way")));
  const dates = given.dates.split(",").map((text) => text.trim()).filter((text) => text);
  return { encoding: given.encoding || "utf-8", separator: given.separator || null, decimal: given.decimal || null, null: given.null, header_row: given.header_row || "1", dates };
};
const book = () => Object.fromEntries([...new FormData($("#book"))].map(([name, value]) => [name, value.trim()]));

function presentation(given) {
  const pairs = lines(given.labels).map((text) => [text.split("=")[0].trim(), text.split("=").slice(1).join("=").trim()]);
  if (pairs.some((pair) => !pair[0] || !pair[1])) throw new Error("A label is a name and what to call it, such as sex=Sex at birth.");
  return { title: given.title.trim() || null, source: given.source.trim() || null, notes: lines(given.notes), labels: Object.fromEntries(pairs), separator: given.out_separator || null, decimal: given.out_decimal };
}

function question() {
  const given = Object.fromEntries(new FormData($("#question")));
  let domain = null;
  if (given.domain.trim()) {
    try { domain = JSON.parse(given.domain); } catch { throw new Error('The declared keys are no JSON; write for example {"district": ["north", "south"]}.'); }
  }
  return { ...book(), table: file, count: given.count.trim() || null, by: words(given.by), domain, sum: lines(given.sum), mean: lines(given.mean), share: lines(given.share), epsilon: given.epsilon.trim(), part: given.part.trim() || null,
    max_count: number(given.max_count), margins: words(given.margins), purpose: given.purpose || null, round_to: number(given.round_to), hide_below: number(given.hide_below), confidence: given.confidence.trim() || "0.95", simultaneous: Boolean(given.simultaneous), presentation: presentation(given), counted: given.counted.trim() || "units", max_rows: number(given.max_rows) };
}

function buttons() {
  $("#look").disabled = !file;
  $("#admit").disabled = !file || !book().dataset;
  $("#expect").disabled = $("#ask").disabled = !admitted;
}

const doing = (button, work) => $(button).addEventListener("click", async (event) => {
  event.preventDefault();
  $(button).disabled = true;
  $("#room").setAttribute("aria-busy", "true");
  try { await work(); say(); } catch (error) { say(error.message); } finally { $(button).disabled = false; buttons(); $("#room").removeAttribute("aria-busy"); }
});

async function take(given) {
  if (!given) return;
  const kind = given.name.split(".").at(-1).toLowerCase();
  if (!["csv", "tsv", "txt", "parquet", "xlsx"].includes(kind)) return say("Give a file that ends in .csv, .tsv, .txt, .parquet or .xlsx.");
  file = null;
  admitted = false;
  withdraw();
  dropped = given;
  try {
    const { name } = await ask(`/api/upload/table?kind=${kind}`, given, { type: "application/octet-stream" });
    if (dropped !== given) return; // another one was dropped meanwhile
    file = name;
    say();
    await look();
  } catch (error) { say(error.message); }
  buttons();
}

function tell(found) {
  $("#operator").hidden = false;
  $("#operator-told").textContent = found.told;
  $("#hint").hidden = true;
}
const look = async () => {
  const of = file, found = await ask("/api/release/look", { table: of, way: way() });
  if (of === file) tell(found);
};

async function terms() {
  if (!book().ledger) return;
  try {
    const { ledger } = book(), found = (await ask("/api/release/accounts", { ledger })).accounts;
    if (ledger !== book().ledger) return; // another one was named meanwhile
    $("#datasets").replaceChildren(...found.map((a) => element("option", { value: a.dataset })));
    const mine = found.find((a) => a.dataset === book().dataset);
    $("#terms").textContent = mine ? `relation ${mine.relation}; ${mine.left} of ${mine.budget} left${mine.public.length ? `; public: ${mine.public.join(", ")}` : ""}.`
      : book().dataset ? "There is no such data set yet: fix its terms below." : "";
    $("#opening").open = !mine && Boolean(book().dataset);
    say();
  } catch (error) { say(error.message); }
  buttons();
}

function rows(sheet) { return table(sheet.title, sheet.columns, sheet.rows); }

doing("#look", look);
doing("#admit", async () => {
  const into = JSON.stringify(book()), of = file, found = await ask("/api/release/admit", { ...book(), table: of, way: way() });
  if (of !== file || into !== JSON.stringify(book())) throw new Error("The file or its data set was changed meanwhile; press again to admit what stands there.");
  tell(found);
  admitted = !found.grave;
  if (found.grave) throw new Error("The file was not admitted: mend what is told on the right, or read it in another way.");
  $("#terms").textContent += ` Version ${book().version} is admitted.`;
});
doing("#expect", async () => {
  withdraw();
  const mine = turn, found = await ask("/api/release/expect", question());
  if (mine !== turn) return; // it is of another question by now
  $("#expected").hidden = false;
  $("#expected-rows").replaceChildren(rows(found));
});
// Before anything is paid it is asked once, with what may be a typing error. What is paid for is the question as it was shown.
// Of another question than stands above, nothing stays: neither what is asked, nor the error to expect.
let shown = null, turn = 0;
function withdraw() {
  shown = null;
  turn += 1;
  $("#confirm").hidden = $("#expected").hidden = true;
}
doing("#ask", async () => {
  shown = null;
  $("#confirm").hidden = true;
  const mine = turn, asked = question(), found = await ask("/api/release/before", asked);
  if (mine !== turn) throw new Error("The question was changed meanwhile, and nothing was paid; press again for the one that stands there.");
  shown = asked;
  $("#price").textContent = `This takes ${found.measure} ${found.charge} of the ${found.left} that ${asked.dataset} has left${found.paid_by ? ` in ${found.paid_by}` : ""}, for good; what was asked before costs nothing.`
    + (found.spellings.length ? " First look at what may be a mistake in the question (for you alone, not for publication):" : "");
  $("#spellings").replaceChildren(...found.spellings.map((text) => element("li", { text })));
  $("#advice").textContent = found.advice ?? "";
  $("#confirm").hidden = false;
  $("#back").focus();
});
$("#back").addEventListener("click", withdraw);
for (const form of ["#question", "#book", "#way"]) $(form).addEventListener("input", withdraw);
doing("#pay", async () => {
  const asked = shown;
  shown = null;
  $("#confirm").hidden = true;
  if (asked === null) return;
  made = await ask("/api/release/ask", asked);
  $("#made").hidden = false;
  $("#made-title").textContent = made.sheet.title;
  $("#made-rows").replaceChildren(...made.totals.map(rows), rows({ ...made.sheet, title: "Reports that may be published" }));
  $("#made-notes").replaceChildren(...made.sheet.notes.map((note) => element("p", { class: "quiet small", text: note })));
  await terms();
});
for (const button of document.querySelectorAll("[data-kind]")) {
  button.addEventListener("click", async () => {
    try {
      const answer = await ask(`/api/release/made/${made.name}/${button.dataset.kind}`, undefined, { raw: true });
      save(`released.${button.dataset.kind}`, await answer.blob());
    } catch (error) { say(error.message); }
  });
}
// By its button alone: Enter in a field fixes nothing.
$("#fix").addEventListener("click", async () => {
  const given = Object.fromEntries(new FormData($("#open")));
  try {
    await ask("/api/release/open", { ledger: book().ledger, dataset: book().dataset, budget: given.budget.trim(), relation: given.relation, public: words(given.public), unit: given.unit.trim() || null, parts: given.parts.trim() || null });
    say();
    await terms();
  } catch (error) { say(error.message); }
});
dropping($("#drop"), take);
$("#book").addEventListener("change", () => { admitted = false; terms(); });
for (const form of document.querySelectorAll("form")) form.addEventListener("submit", (event) => event.preventDefault());
buttons();
