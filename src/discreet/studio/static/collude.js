// The room Collude: what users learn who put their reports together, and the cascade that leaves nothing to learn.
import { address, ask, chart, element, latest, promised, table } from "/static/studio.js";
import { asTable, card, right, wrong } from "/static/parts.js";
import { digits, privacy } from "/static/privacy.js";
import { sharing } from "/static/share.js";
import { term } from "/static/terms.js";

const TITLES = { geometric: "geometric (GM)", explicit_fair: "explicit fair (EM)", randomized_response: "randomised response (kRR)" };
const TOLD = {
  geometric: ["GM", "The geometric mechanism: even noise to both sides, cut off at 0 and n."],
  explicit_fair: ["EM", "The explicit fair mechanism: every truth is told equally often."],
  randomized_response: ["kRR", "Randomised response: the truth, or any other value alike."],
};
const EXAMPLE = { n: "20", epsilon: "1/2", most: "21", mechanisms: "geometric,explicit_fair,randomized_response", levels: "2,1,1/2" };
const USUAL = "2,1,1/2", MOST = 8;
const $ = (selector) => document.querySelector(selector);
const form = $("#sliders"), level = privacy($("#level"), { means: true });
const shared = card($("#shared")), learnt = card($("#findings")), together = card($("#cascade"));
const views = { loss: chart($("#loss"), "shared-loss"), epsilon: chart($("#epsilon"), "shared-level") };
const WHAT = { loss: "Mean distance from the truth", epsilon: "Epsilon of all their reports" };
let audiences = [], scripts = {};

for (const [name, [short]] of Object.entries(TOLD)) {
  $("#mechanisms").append(element("label", { title: TITLES[name] }, element("input", { type: "checkbox", name: "mechanisms", value: name, checked: name !== "randomized_response" }), ` ${short}`));
}

// An audience is a level, written as epsilon or as alpha; in the address and in files "1/2" is an epsilon and "alpha 1/2" an alpha.
const written = (given) => (given.alpha ? `alpha ${given.alpha}` : given.epsilon);
const read = (text) => (text.startsWith("alpha ") ? { alpha: text.slice(6) } : { epsilon: text });

function audience(given) {
  const place = element("div"), row = element("div", { class: "audience" }, place), number = audiences.length + 1;
  const control = privacy(place, { slider: false, of: `audience ${number}` }), remove = element("button", { type: "button", text: "×", "aria-label": `Remove audience ${number}`, onclick: () => { rebuild(levels().filter((_, k) => k !== number - 1)); update(); $("#more").focus(); } });
  control.set(given);
  for (const input of place.querySelectorAll("input")) { input.dataset.field = `levels.${number - 1}.${input.name}`; input.removeAttribute("name"); }
  row.append(remove);
  $("#levels").append(row);
  audiences.push(control);
}
const levels = () => audiences.map((control) => control.level());

function rebuild(given) {
  audiences = [];
  $("#levels").replaceChildren();
  for (const each of given.slice(0, MOST)) audience(each);
  for (const button of $("#levels").querySelectorAll("button")) button.disabled = audiences.length === 1;
  $("#more").disabled = audiences.length >= MOST;
}

function state() {
  const given = new FormData(form);
  return { n: given.get("n"), epsilon: "", alpha: "", ...level.level(), most: given.get("most"), mechanisms: given.getAll("mechanisms").join(","), levels: levels().map(written).join(",") };
}

function restore(s) {
  for (const name of ["n", "most"]) if (s[name] !== undefined) form[name].value = s[name];
  if (s.alpha || s.epsilon) level.set(s.alpha ? { alpha: s.alpha } : { epsilon: s.epsilon });
  if (s.mechanisms !== undefined) for (const box of form.querySelectorAll("[name=mechanisms]")) box.checked = s.mechanisms.split(",").includes(box.value);
  rebuild((s.levels || USUAL).split(",").map((text) => read(text.trim())));
}

const users = (k) => (k === 1 ? "1 user" : `${k} users`);

// What a picture shows, in a sentence: of each mechanism its first and its last point.
function described(key, rows) {
  const names = [...new Set(rows.map((r) => r.mechanism))];
  return `${WHAT[key]} against the number of users who share. ${names.map((name) => { const own = rows.filter((r) => r.mechanism === name), [a, b] = [own[0], own.at(-1)]; return `${TITLES[name]}: ${digits(a[key])} for ${users(a.k)}${b === a ? "" : `, ${digits(b[key])} for ${users(b.k)}`}.`; }).join(" ")}`;
}

async function paint(found) {
  for (const [key, ready] of Object.entries(views)) {
    const points = found.rows.map((r) => ({ x: r.k, y: r[key], series: TOLD[r.mechanism][0], told: `${TITLES[r.mechanism]}, ${users(r.k)}: ${digits(r[key])}` }));
    await (await ready).data("points", points).resize().runAsync();
    $(`#${key}`).setAttribute("aria-label", described(key, found.rows)); // after Vega has put its own there
  }
  $("#sentences").replaceChildren(...found.findings.flatMap((f) => [element("dt", {}, term(TITLES[f.mechanism], TOLD[f.mechanism][1])), element("dd", { text: f.sentence })]));
  const open = $("#as-table details")?.open ?? false, columns = ["mechanism", "users", "mean distance from the truth", "exactly right", "epsilon of all reports"];
  const made = asTable(table("What users learn by the median of their reports", columns, found.rows.map((r) => [TITLES[r.mechanism], r.k, digits(r.loss), digits(r.exact), digits(r.epsilon)])));
  made.open = open;
  $("#as-table").replaceChildren(made);
  document.body.dataset.painted = String(Number(document.body.dataset.painted ?? 0) + 1);
}

function showCascade(found) {
  $("#cascade-told").textContent = found.sentence;
  const about = (alpha) => (Number(alpha.slice(1)) && alpha.startsWith("~") ? `≈\u00a0${digits(Number(alpha.slice(1)))}` : alpha);
  const rows = found.audiences.map((a, k) => [String(k + 1), about(a.alpha), a.epsilon, digits(a.loss)]);
  rows.push(["all, drawn apart", "", found.independent, ""], ["all, in the cascade", "", found.cascade, digits(found.cascade_loss)]);
  $("#cascade-table").replaceChildren(table("Audiences, from the least private", ["audience", "alpha", "epsilon ≤", "mean distance from the truth"], rows));
}

const SEEN = 250; // milliseconds before a card says that it is computed: one that flickers tells nothing
const first = { shared: true, cascade: true };

// One question of one card, or of two that show the same. An error stands at its field; what is shown is then out of date, and says so.
async function asking(which, cards, work, signal) {
  let words = "Being computed …", cancel = null;
  const computing = () => cards.forEach((each, k) => (k ? each.computing() : each.computing(words, cancel)));
  const slow = setTimeout(computing, SEEN), late = (told, ...more) => cards.forEach((each, k) => each.late(told, ...(k ? [] : more)));
  signal.addEventListener("abort", () => clearTimeout(slow));
  try {
    await work((told, off) => { [words, cancel] = [`Being computed: ${told}`, off]; if (cards[0].content.parentNode.dataset.state === "computing") computing(); });
    if (signal.aborted) return;
    cards.forEach((each) => each.fresh());
    first[which] = false;
  } catch (error) {
    if (error.name === "AbortError" || signal.aborted) return;
    if (error.field) { late(first[which] ? "Nothing to show yet." : "Out of date: these are other settings."); wrong(form, error.field, error.message, form, false); }
    else if (error.message === "This was called off.") late("Called off: these are other settings.", "Compute it", update);
    else { late("Out of date: these are other settings."); throw error; }
  } finally { clearTimeout(slow); }
}

const update = latest(async (signal) => {
  const s = state();
  address.write(s);
  $("#n-told").textContent = s.n;
  $("#most-told").textContent = s.most;
  right(form);
  const asked = { n: Number(s.n), ...(s.alpha ? { alpha: s.alpha } : { epsilon: s.epsilon }), most: Number(s.most), mechanisms: s.mechanisms.split(",").filter(Boolean) };
  const work = [asking("cascade", [together], async () => {
    const found = await ask("/api/collude/audiences", { n: asked.n, levels: levels() }, { signal });
    if (!signal.aborted) { scripts.cascade = found.python; showCascade(found); }
  }, signal)];
  if (!asked.mechanisms.length) {
    for (const each of [shared, learnt]) each.late("Choose at least one mechanism.");
    await Promise.all(work);
    return;
  }
  work.push(asking("shared", [shared, learnt], async (waiting) => {
    const found = await promised("/api/collude/shared", asked, signal, waiting);
    if (!signal.aborted) { scripts.shared = found.python; await paint(found); }
  }, signal));
  await Promise.all(work);
});

// Both scripts as one.
const python = () => [scripts.shared, scripts.cascade].filter(Boolean).map((text, k) => (k ? text.split("\n").slice(2).join("\n") : text)).join("");

form.addEventListener("input", (event) => event.target.type !== "file" && update());
form.addEventListener("submit", (event) => event.preventDefault());
$("#more").addEventListener("click", () => { rebuild([...levels(), { epsilon: "1/4" }]); update(); $("#levels .audience:last-child input").focus(); });
sharing($("#share"), { room: "collude", read: state, write: (s) => { restore(s); update(); }, python, example: { settings: EXAMPLE, told: "A count of 0 to 20 sold to 21 users at epsilon 1/2, and the same for three audiences" } });
restore(address.read());
update();
