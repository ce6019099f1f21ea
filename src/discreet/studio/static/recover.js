// The room Recover: a mechanism file and reports in, the law behind them out.
import { ask, chart, dropping, element, latest, promised, save, say, table } from "/static/studio.js";

const dropped = {}, turns = {};
const $ = (selector) => document.querySelector(selector);
const views = {};
let law = null, off = null, reports = null, read = {};

// What is shown is of the files that are named; with another file it goes.
async function take(what, file, chosen = {}) {
  if (!file) return;
  delete dropped[what];
  const mine = (turns[what] = (turns[what] ?? 0) + 1);
  $("#go").disabled = $("#found").hidden = true;
  law = null;
  if (what === "reports") { reports = file; read = chosen; $("#columns").hidden = true; }
  try {
    const names = what === "reports" && dropped.mechanism ? { mechanism: dropped.mechanism } : {}; // whose reports they are
    const asked = new URLSearchParams({ ...chosen, ...names }).toString();
    const found = await ask(`/api/upload/${what}${asked && `?${asked}`}`, file, { type: "text/plain" });
    if (mine !== turns[what]) return; // another one was dropped meanwhile, or other columns were chosen
    if (found.name) dropped[what] = found.name;
    else offer(found.columns);
    $(`#${what}-told`).textContent = found.told;
    say();
    if (what === "mechanism" && reports) return take("reports", reports, read); // as its reports
  } catch (error) {
    if (mine !== turns[what]) return;
    $(`#${what}-told`).textContent = "";
    say(error.message);
  }
  $("#go").disabled = !(dropped.mechanism && dropped.reports);
}

function offer(columns) {
  const option = (text) => element("option", { value: text, text: text || "(no name)" });
  $("#column").replaceChildren(element("option", { value: "", text: "which?" }), ...columns.map(option));
  $("#counts").replaceChildren(element("option", { value: "", text: "once in each line" }), ...columns.map(option));
  $("#columns").hidden = false;
}
$("#choose").addEventListener("click", () => !$("#column").value ? say("Say which column has the reports.") : take("reports", reports, { column: $("#column").value, ...($("#counts").value && { counts: $("#counts").value }) }));

for (const box of document.querySelectorAll(".drop")) dropping(box, (file) => take(box.dataset.what, file));

const percent = (share) => `${(100 * share).toFixed(2)} %`;
const ranks = (a) => a.first_rank === a.last_rank ? `${a.first_rank}` : `${a.first_rank} to ${a.last_rank}`;

async function paint() {
  $("#answers").hidden = !($("#drawn").hidden = law.answers.length > 0);
  if (law.answers.length > 0) {
    const rows = law.answers.map((a) => [a.name, percent(a.share), percent(a.low), percent(a.high), ranks(a)]);
    $("#answers").replaceChildren(table("Answers, the most frequent first", ["answer", "share", "at least", "at most", "rank"], rows));
    document.body.dataset.painted = String(Number(document.body.dataset.painted ?? 0) + 1);
    return;
  }
  const kind = $("input[name=law]:checked").value, half = law.step / 2;
  views.law ??= await chart($("#law"), "law");
  const bars = law[kind].map((b) => ({ value: b.value - half, end: b.value + half, share: b.share, zero: 0, told: `${b.value}: ${b.share.toPrecision(4)}` }));
  const top = 1.12 * Math.max(...law[kind].map((b) => b.share), ...law.noisy.map((b) => b.share));
  const spans = law.intervals.map((i) => ({ from: i.start, to: i.end, middle: (i.start + i.end) / 2, low: Math.min(i.low, top), high: Math.min(i.high, top), told: `${i.low.toPrecision(3)} to ${i.high.toPrecision(3)}` }));
  const cut = spans.filter((_, k) => law.intervals[k].high > top);
  $("#cut").textContent = cut.length ? ` An arrow: the interval goes on beyond the top of the picture (${cut.length} of ${spans.length}).` : "";
  // a step for every report that there can be, down to 0 where nobody gave it; the last one has its width too
  const own = law.report_step / 2, last = law.noisy.at(-1);
  const noisy = [...law.noisy.map((b) => ({ value: b.value - own, share: b.share })), { value: last.value + own, share: last.share }];
  await views.law.signal("top", top).data("law", bars).data("noisy", noisy).data("intervals", spans).data("cut", cut).resize().runAsync();
  document.body.dataset.painted = String(Number(document.body.dataset.painted ?? 0) + 1);
}

const recover = latest(async (signal) => {
  const used = { ...dropped, ordered: $("#ordered").value ? $("#ordered").value === "true" : null };
  $("#found").hidden = true;
  $("#wait").textContent = "At work …";
  const found = await promised("/api/recover", used, signal, (told, how) => {
    $("#wait").textContent = told;
    $("#off").hidden = false;
    off = how;
  }).finally(() => { $("#wait").textContent = ""; $("#off").hidden = true; });
  if (used.mechanism !== dropped.mechanism || used.reports !== dropped.reports) return; // it is of other files by now
  law = found;
  $("#found").hidden = false;
  $("#misfit").textContent = law.misfit;
  $("#misfit").hidden = law.fits;
  $("#mean").textContent = law.mean;
  $("#told").textContent = law.told;
  await paint();
  const last = law.fit.at(-1)[0], steps = law.fit.map(([x]) => x);
  const flat = (y, series) => steps.filter((x) => x === 1 || x === last).map((x) => ({ x, y, series, told: `${series}: ${y.toPrecision(7)}` }));
  const points = [...law.fit.map(([x, y]) => ({ x, y, series: "steps", told: `${x} steps: ${y.toPrecision(7)}` })), ...flat(law.fit_mle, "MLE"), ...flat(law.fit_auto, "auto")];
  $("#fit-told").textContent = "Every step of the Bayesian update fits the reports better, up to the likeliest law; whether that is nearer to the truth depends on how smooth the truth is. Auto decides it from the reports.";
  views.fit ??= await chart($("#fit"), "fit");
  await views.fit.data("points", points).resize().runAsync();
});

$("#go").addEventListener("click", recover);
$("#off").addEventListener("click", () => off?.());
for (const choice of document.querySelectorAll("input[name=law]")) choice.addEventListener("change", () => law && paint());
const cell = (text) => /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
$("#save").addEventListener("click", () => law.answers.length > 0 ? save("recovered.csv", `answer,share,low,high,first rank,last rank\n${law.answers.map((a) => [cell(a.name), a.share, a.low, a.high, a.first_rank, a.last_rank].join(",")).join("\n")}\n`, "text/csv") : save("recovered.csv", `value,auto,mle\n${law.auto.map((b, k) => `${b.value},${b.share},${law.mle[k].share}`).join("\n")}\n`, "text/csv"));
