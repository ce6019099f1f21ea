// What was recovered: the distribution with whiskers, the reports beside what is expected, groups side by side, and what is taken away.
import { ask, chart, element, promised, save, table } from "/static/studio.js";
import { bring, card } from "/static/parts.js";

const $ = (selector) => document.querySelector(selector);
const place = card($("#found")), MOST = 30; // categories of a picture
const views = new Map();
let made = null, asked = null, labels = null, under = null;

const digits = (x, n = 4) => (x == null ? "" : Number(x.toPrecision(n)).toLocaleString("en", { maximumSignificantDigits: n }));
const percent = (x) => (x == null ? "" : `${(100 * x).toFixed(1)} %`);
const between = (low, high, show) => (low == null ? "no interval holds" : `${show(low)} to ${show(high)}`);
const ranks = (a) => (a.first_rank == null ? "" : a.first_rank === a.last_rank ? `${a.first_rank}` : `${a.first_rank} to ${a.last_rank}`);
const titled = (group) => group || "(missing)";
const method = () => $("[name=method]:checked").value;
const shown = () => made.groups[Number($("#group").value || 0)];

export const settle = () => place.fresh();

// What is shown is of what was given before: it stays, dimmed, and says so.
export function late(told) {
  under?.abort();
  under = null; // and focus stays where it is
  if (!made) place.fresh();
  else if ($("#found").dataset.state !== "late") place.late(told); // the first reason stays
}

export async function recover(question, files, refused) {
  under?.abort();
  const mine = (under = new AbortController());
  place.computing("At work …", () => mine.abort());
  bring($("#found"));
  try {
    const found = await promised("/api/recover", question, mine.signal, (told) => place.computing(told, () => mine.abort()));
    if (under !== mine) return;
    [made, asked, labels] = [found, question, files];
    place.fresh();
    await tell();
    bring($("#headline"));
  } catch (error) {
    if (under !== mine) return;
    under = null;
    late("Out of date: this is of what was recovered before.");
    if (error.name === "AbortError") return bring($("#go"));
    if (error instanceof TypeError) throw error;
    refused(error);
  }
}

// A picture whose kind may change: the same one is filled anew.
async function draw(selector, name, data, { signals = {}, told }) {
  const box = $(selector);
  if (views.get(selector)?.name !== name) {
    views.get(selector)?.view.finalize();
    box.replaceChildren();
    views.set(selector, { name, view: await chart(box, name) });
  }
  const { view } = views.get(selector);
  for (const [signal, value] of Object.entries(signals)) view.signal(signal, value);
  for (const [set, rows] of Object.entries(data)) view.data(set, rows);
  box.setAttribute("role", "img");
  box.setAttribute("aria-label", told);
  await view.resize().runAsync();
}

// The numbers behind a picture; they are written when they are asked for, since there may be thousands.
function numbers(selector, title, build) {
  const inside = element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": title });
  const part = element("details", { class: "small" }, element("summary", { text: title }), inside);
  part.addEventListener("toggle", () => { if (part.open && !inside.childElementCount) inside.append(build()); });
  $(selector).replaceChildren(part);
}

async function tell() {
  $("#nothing").hidden = true;
  $("#shown").hidden = false;
  const several = made.by !== null;
  $("#by-group").hidden = !several;
  $("#group").replaceChildren(...made.groups.map((g, k) => element("option", { value: String(k), text: titled(g.group) })));
  $("#answer").replaceChildren(...(made.names ? made.groups[0].answers.map((a) => element("option", { value: a.name, text: a.name })) : []));
  $("#answer-row").hidden = !made.names;
  $("#methods").hidden = made.names;
  if (several) await compare();
  await paint();
  code().catch(() => {});
}

async function compare() {
  const answer = $("#answer").value, of = (g) => (made.names ? g.answers.find((a) => a.name === answer) : null);
  const row = (g) => {
    const a = of(g), [value, low, high] = made.names ? [a.share, a.low, a.high] : g.mean ?? [null, null, null];
    return { name: titled(g.group), value, low, high, reports: g.reports, fits: g.fits, told: `${titled(g.group)}: ${made.names ? percent(value) : digits(value)} (${between(low, high, made.names ? percent : digits)})` };
  };
  const rows = made.groups.map(row), drawn = rows.filter((r) => r.low !== null && r.value !== null), show = made.names ? percent : digits;
  const what = made.names ? `Share of ${answer} by ${made.by}` : `Mean of the true values by ${made.by}`;
  $("#compared").hidden = !drawn.length;
  if (drawn.length) await draw("#compared", made.names ? "shares" : "means", { rows: drawn, plain: [] }, { told: `${what}. ${drawn.map((r) => r.told).join("; ")}` });
  const listed = table(what, [made.by, "reports", made.names ? "share" : "mean", "95 % interval", "fits"], rows.map((r) => [r.name, r.reports.toLocaleString("en"), show(r.value), r.value === null ? "" : between(r.low, r.high, show), r.fits ? "yes" : "no"]));
  $("#compared-table").replaceChildren(element("div", { class: "scroll small", tabindex: "0", role: "region", "aria-label": what }, listed), ...made.notes.filter((text) => text.startsWith("Each group")).map((text) => element("p", { class: "quiet small", text })));
}

async function paint() {
  const g = shown();
  $("#of-what").textContent = `${made.by === null ? "" : `${titled(g.group)}: `}${g.reports.toLocaleString("en")} reports`;
  $("#headline").textContent = g.headline;
  $("#misfit").textContent = g.fit_told;
  $("#misfit").hidden = g.fits;
  $("#fit-told").textContent = g.fits ? g.fit_told : "Whatever the true values were, this mechanism hardly makes such reports.";
  $("#words").textContent = g.words;
  if (made.names) await categories(g); else await distribution(g);
  await reports(g);
  $("#steps").open = false;
  document.body.dataset.painted = String(Number(document.body.dataset.painted ?? 0) + 1);
}

async function distribution(g) {
  const kind = method(), half = made.step / 2;
  const bars = g.values.map((b) => ({ value: b.value - half, end: b.value + half, share: b[kind], zero: 0, told: `${digits(b.value, 6)}: ${percent(b[kind])}` }));
  const top = 1.12 * Math.max(...g.values.map((b) => b[kind]), ...g.spans.map((s) => s.low));
  const whiskers = g.spans.map((s) => ({ middle: (s.start + s.end) / 2, low: s.low, high: Math.min(s.high, top), told: spanned(s) }));
  const cut = whiskers.filter((_, k) => g.spans[k].high > top), wide = g.spans.some((s) => s.end - s.start > made.step * 1.5);
  $("#law-told").textContent = !g.fits ? "No intervals are drawn: whatever is recovered from reports that do not fit means nothing." : !g.spans.length ? "The reports leave no intervals of single values." : `Bars: the recovered share of each value. Whiskers: 95 % intervals ${wide ? `of ${Math.round((g.spans[0].end - g.spans[0].start) / made.step)} neighbouring values each, for the mean share of one of them` : "of each value"}, from the reports alone.${cut.length ? ` An arrow: the interval goes on beyond the top (${cut.length} of ${whiskers.length}).` : ""}`;
  await draw("#law", "distribution", { bars, whiskers, cut }, { signals: { top }, told: `The recovered distribution over ${bars.length} values. ${g.headline}` });
  numbers("#law-table", "The true values as a table", () => {
    const at = (b) => g.spans.find((s) => s.start < b.value && b.value < s.end);
    return table("Recovered shares", ["value", "share", "95 % interval, of the mean share of", "from", "to"], g.values.map((b) => { const s = at(b); return [digits(b.value, 6), percent(b[kind]), s ? named(s) : "", s ? percent(s.low) : "", s ? percent(s.high) : ""]; }));
  });
}

const named = (s) => { const from = s.start + made.step / 2, to = s.end - made.step / 2; return from === to ? digits(from, 6) : `${digits(from, 6)} to ${digits(to, 6)}`; };
const spanned = (s) => `${named(s)}: ${percent(s.low)} to ${percent(s.high)}`;

async function categories(g) {
  const top = g.answers.slice(0, MOST), told = (a) => `${a.name}: ${percent(a.share)} (${between(a.low, a.high, percent)})`;
  const rows = top.filter((a) => a.low !== null).map((a) => ({ name: a.name, value: a.share, low: a.low, high: a.high, told: told(a) }));
  const plain = top.filter((a) => a.reported !== null).map((a) => ({ name: a.name, value: a.reported, told: `${a.name}: ${percent(a.reported)} of the reports` }));
  $("#law").hidden = !rows.length && !plain.length;
  $("#law-told").textContent = `${rows.length ? "Points: recovered shares, with intervals that hold for all answers together with 95 % confidence." : "No shares lie within all intervals, so none are drawn."}${plain.length ? " Rings: shares of the reports as they came." : ""}${g.answers.length > MOST ? ` The ${MOST} most frequent of ${g.answers.length}; the table has all.` : ""}`;
  if (!$("#law").hidden) await draw("#law", "shares", { rows, plain }, { told: `Shares of ${top.length} answers. ${g.headline}` });
  numbers("#law-table", "The answers as a table", () => table("Answers, the most frequent first", ["answer", "share", "at least", "at most", "rank", ...(made.named_reports ? ["share of the reports"] : [])],
    g.answers.map((a) => [a.name, percent(a.share), percent(a.low), percent(a.high), ranks(a), ...(made.named_reports ? [percent(a.reported)] : [])])));
}

async function reports(g) {
  const kind = made.names ? "auto" : method(), half = made.report_step / 2, few = made.named_reports && g.seen.length <= MOST;
  const told = (r) => `${r.label}: ${r.count} reported, ${digits(r[kind], 3)} expected`;
  const seen = g.seen.map((r) => ({ ...(few ? { value: r.label } : { value: r.value - half, end: r.value + half, zero: 0 }), count: r.count, told: told(r) }));
  const expected = g.seen.map((r) => ({ value: few ? r.label : r.value, count: r[kind], told: told(r) }));
  await draw("#seen", few ? "named-reports" : "reports", { seen, expected }, { told: `How often each of ${g.seen.length} possible reports came, beside how often it is expected. ${g.fit_told}` });
  numbers("#seen-table", "The reports as a table", () => table("Reports, and how often each is expected if what was recovered is the truth", ["report", "reported", "expected"], g.seen.map((r) => [r.label, r.count, digits(r[kind], 3)])));
}

// The fit step by step is computed when it is looked at.
let stepping = null;
async function steps() {
  stepping?.abort();
  if (!$("#steps").open) return;
  const mine = (stepping = new AbortController()), line = $("#steps-told");
  const waiting = (told) => line.replaceChildren(element("span", { text: `${told} ` }), element("button", { type: "button", text: "Cancel", onclick: () => { $("#steps").open = false; } }));
  waiting("At work …");
  try {
    const found = await promised("/api/recover/steps", { ...asked, group: made.by === null ? null : shown().group }, mine.signal, waiting);
    const last = found.steps.at(-1)[0], flat = (y, series) => [1, last].map((x) => ({ x, y, series, told: `${series}: ${y.toPrecision(6)}` }));
    const points = [...found.steps.map(([x, y]) => ({ x, y, series: "steps", told: `${x} steps: ${y.toPrecision(6)}` })), ...flat(found.mle, "the likeliest"), ...flat(found.auto, "as smooth as the reports allow")];
    line.replaceChildren();
    await draw("#steps-chart", "fit", { points }, { told: `The mean log-likelihood of a report rises from ${found.steps[0][1].toPrecision(6)} after 1 step to ${found.steps.at(-1)[1].toPrecision(6)} after ${last}` });
    numbers("#steps-table", "The steps as a table", () => table("Mean log-likelihood of a report", ["steps", "log-likelihood"], [...found.steps.map(([x, y]) => [x, y.toPrecision(6)]), ["the likeliest", found.mle.toPrecision(6)], ["as smooth as the reports allow", found.auto.toPrecision(6)]]));
  } catch (error) {
    if (error.name !== "AbortError" && stepping === mine) line.textContent = error.message;
  }
}

async function code() {
  $("#copied").textContent = "";
  $("#python").textContent = (await ask("/api/recover/code", { ...asked, ...labels })).python;
}

async function copy() {
  try { await navigator.clipboard.writeText($("#python").textContent); $("#copied").textContent = "Copied."; } catch {
    getSelection().selectAllChildren($("#python"));
    $("#copied").textContent = "The browser does not let a page copy: it is selected, press Ctrl+C.";
  }
}

$("#group").addEventListener("change", paint);
$("#answer").addEventListener("change", compare);
for (const choice of document.querySelectorAll("[name=method]")) choice.addEventListener("change", () => made && paint());
$("#steps").addEventListener("toggle", steps);
$("#copy").addEventListener("click", copy);
for (const button of document.querySelectorAll("[data-kind]")) button.addEventListener("click", async () => {
  try { save(`recovered.${button.dataset.kind}`, await (await ask(`/api/recover/made/${made.name}/${made.names ? "auto" : method()}.${button.dataset.kind}`, undefined, { raw: true })).blob()); } catch (error) { place.late(error.message); }
});
