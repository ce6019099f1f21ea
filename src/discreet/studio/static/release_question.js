// Step 3, the question: statistics one by one, groups with their declared keys or bands, and what it may cost.
import { ask, element } from "/static/studio.js";
import { wrong } from "/static/parts.js";
import { privacy } from "/static/privacy.js";
import { bands, dateBands, isDay, numberLine } from "/static/release_bands.js";
import { $, fail, lines, render, room, save, select, whenShown } from "/static/release_state.js";

const form = $("#question"), level = privacy($("#price-control"), { epsilon: "1/2" });
const NAMES = { count: "A count", sum: "A sum", mean: "A mean", share: "A share" };
const SIGNS = ["=", "<>", "<", "<=", ">", ">=", "is missing", "is not missing"];
const columns = () => room.profile?.columns ?? [];
const holds = (name) => columns().find((c) => c.name === name)?.holds ?? "texts";
const isNumber = (name) => /number|int|float|double|decimal/.test(holds(name));
const isDate = (name) => /date/.test(holds(name));
const question = () => room.draft.question;

function changed(soon = 0) {
  room.price = null;
  save(soon);
  render();
}

// Statistics

const quoted = (name) => (/^[a-z_]\w*$/i.test(name) ? name : `"${name.replaceAll('"', '""')}"`);
function compared(column, sign, value) {
  if (sign.startsWith("is")) return `${quoted(column)} ${sign === "is missing" ? "IS NULL" : "IS NOT NULL"}`;
  const plain = isNumber(column) && /^-?\d+(\.\d+)?$/.test(value.trim());
  return `${quoted(column)} ${sign} ${plain ? value.trim() : `'${value.replaceAll("'", "''")}'`}`;
}

function conditions(of, name, told, field) {
  const column = element("select", { "aria-label": `${told}: column` }, ...select(columns().map((c) => c.name), "column …"));
  const sign = element("select", { "aria-label": `${told}: comparison` }, ...select(SIGNS)), value = element("input", { "aria-label": `${told}: value`, placeholder: "value", size: "10" });
  const text = element("input", { class: "expression", value: of[name], "data-field": field, spellcheck: "false", placeholder: name === "where" && of.kind !== "share" ? "everybody" : "" });
  const add = () => {
    if (!column.value) return column.focus();
    const one = compared(column.value, sign.value, value.value);
    text.value = of[name] = of[name].trim() ? `${of[name].trim()} AND ${one}` : one;
    value.value = "";
    changed();
  };
  value.addEventListener("keydown", (event) => { if (event.key === "Enter") add(); });
  text.addEventListener("input", () => { of[name] = text.value; changed(300); });
  return [element("div", { class: "row" }, column, sign, value, element("button", { type: "button", text: "Add the condition", onclick: add })), element("label", { class: "small" }, told, text)];
}

function statistic(of, k) {
  const nth = question().statistics.slice(0, k).filter((s) => s.kind === of.kind).length, field = `${of.kind}.${nth}`;
  const parts = [];
  const bound = (name, told, more = {}) => {
    const input = element("input", { value: of[name], inputmode: "decimal", size: "8", ...more });
    input.addEventListener("input", () => { of[name] = input.value; changed(300); });
    return element("label", {}, told, input);
  };
  if (of.kind === "sum" || of.kind === "mean") {
    const column = element("select", {}, ...select(columns().map((c) => c.name), "choose …"));
    column.value = of.column;
    column.addEventListener("change", () => { of.column = column.value; changed(); });
    parts.push(element("div", { class: "controls" }, element("label", {}, "of the column", column), bound("low", "lowest value", { "data-field": field }), bound("high", "highest value"), bound("step", "in steps of", { placeholder: "1" })),
      element("p", { class: "quiet small", text: "Bounds come from what is publicly known, not from the file. What one person adds is cut to them; a larger step adds less noise." }));
    parts.push(element("details", { open: Boolean(of.where) }, element("summary", { text: "Only of some people" }), ...conditions(of, "where", "of whom", `${field}.where`)));
  } else parts.push(...conditions(of, "where", of.kind === "share" ? "the share of those with" : "counted are those with", field));
  if (of.kind === "share") parts.push(element("details", { open: Boolean(of.among) }, element("summary", { text: "Only among some people" }), ...conditions(of, "among", "among those with", `${field}.among`)));
  if (of.kind === "mean" || of.kind === "share") {
    const out = element("input", { type: "checkbox", checked: of.out });
    out.addEventListener("change", () => { of.out = out.checked; changed(); });
    parts.push(element("label", { class: "small" }, out, " leave out who has no value"));
  }
  const remove = element("button", { type: "button", class: "plain", text: "Remove it", onclick: () => { question().statistics.splice(k, 1); draw(); changed(); } });
  return element("fieldset", { class: "part" }, element("legend", { text: NAMES[of.kind] }), ...parts, ...(question().statistics.length > 1 ? [remove] : []));
}

// Groups

function keys(group, redraw) {
  const called = (key) => (group.labels?.[group.column]?.[key] ? `${key} ${group.labels[group.column][key]}` : key), coarser = Object.keys(group.containing ?? {});
  const chips = element("ul", { class: "chips", "aria-label": `Keys of ${group.column}` });
  const chip = (key, k) => element("li", {}, element("span", { text: called(key) }), element("button", { type: "button", text: "×", "aria-label": `Remove ${key}`, onclick: () => { group.keys.splice(k, 1); again(); } }));
  chips.append(...group.keys.slice(0, 200).map(chip));
  const box = element("textarea", { rows: "2", spellcheck: "false", "data-field": `domain.${group.column}`, placeholder: "north\nsouth" });
  const again = () => { redraw().querySelector("textarea").focus(); changed(); };
  const add = (some) => { group.keys = [...new Set([...group.keys, ...some])]; again(); };
  const take = async (file) => {
    try {
      const { keys: codes, ...told } = await ask(`/api/upload/codes?${new URLSearchParams({ column: group.column })}`, file, { type: "application/octet-stream" });
      Object.assign(group, told);
      add(codes);
      totals();
    } catch (error) { wrong(form, `domain.${group.column}`, error.message, form); }
  };
  const file = element("input", { type: "file", class: "unseen", accept: ".csv,.txt" }), missing = element("input", { type: "checkbox", checked: group.missing });
  file.addEventListener("change", () => file.files[0] && take(file.files[0]));
  missing.addEventListener("change", () => { group.missing = missing.checked; changed(); });
  return [element("p", { class: "quiet small", text: group.keys.length ? `${group.keys.length} keys, from a public list${coarser.length ? `, with totals by ${coarser.join(", ")}` : ""}:` : "Which keys are there? From a public list: what is learned from the file would give people away, so none is offered." }), chips,
    ...(group.keys.length > 200 ? [element("p", { class: "quiet small", text: `and ${group.keys.length - 200} more` })] : []),
    element("label", {}, "Keys, one a line, typed or pasted", box), element("div", { class: "row" }, element("button", { type: "button", text: "Add these keys", onclick: () => add(lines(box.value.replaceAll("\t", "\n"))) }), element("label", { class: "pick" }, "or a code list …", file)),
    element("label", { class: "small" }, missing, " also a group of missing values")];
}

function ofBands(group) {
  const bound = (name, told) => {
    const input = element("input", { value: group[name], inputmode: "numeric", size: "6" });
    input.addEventListener("input", () => { group[name] = input.value.trim(); refresh(); changed(300); });
    return element("label", {}, told, input);
  };
  const cuts = element("input", { value: group.cuts.join(", "), "data-field": `domain.${group.column}`, placeholder: "18, 65" });
  cuts.addEventListener("input", () => { group.cuts = cuts.value.split(/[,;\s]+/).filter((x) => /^-?\d+$/.test(x)).sort((a, b) => a - b); refresh(); changed(300); });
  const named = element("p", { class: "small", "aria-live": "polite" }), line = element("div");
  const name = () => { named.textContent = `Bands: ${Object.keys(bands(group)).join(", ")}`; };
  const moved = (now) => {
    const kept = now.length === group.cuts.length;
    group.cuts = now;
    cuts.value = now.join(", ");
    if (!kept) { refresh(); cuts.focus(); }
    name();
    changed();
  };
  const refresh = () => { line.replaceChildren(numberLine(group, moved)); name(); };
  refresh();
  return [element("div", { class: "controls" }, bound("low", "from"), bound("high", "to (empty: open)"), element("label", {}, "bands begin at", cuts)), line, named];
}

function ofDates(group) {
  const named = element("p", { class: "small", "aria-live": "polite" });
  const name = () => { named.textContent = `Bands: ${Object.keys(dateBands(group)).join(", ")}`; };
  const put = (input, set, several = false) => input.addEventListener("input", () => {
    const days = input.value.split(/[,;\s]+/).filter(Boolean);
    if (days.every(isDay) && (several || days.length <= 1)) { set(days); name(); changed(300); }
  });
  const bound = (which, told) => { const input = element("input", { type: "date", value: group[which] }); put(input, ([day]) => { group[which] = day ?? ""; }); return element("label", {}, told, input); };
  const cuts = element("input", { value: group.cuts.join(", "), "data-field": `domain.${group.column}`, placeholder: "2000-01-01, 2010-01-01" });
  put(cuts, (days) => { group.cuts = days.sort(); }, true);
  name();
  return [element("div", { class: "controls" }, bound("low", "from (empty: open)"), bound("high", "to (empty: open)"), element("label", {}, "bands begin on", cuts)), named];
}

function group(of, k) {
  const place = element("fieldset", { class: "part" });
  const redraw = () => {
    const legend = element("legend", { text: of.column }), kind = (value, told) => {
      const input = element("input", { type: "radio", name: `kind-${k}`, value, checked: of.kind === value });
      input.addEventListener("change", () => { Object.assign(of, { kind: value, low: "", high: "", cuts: [] }); redraw(); changed(); });
      return element("label", {}, input, ` ${told}`);
    };
    const banded = isNumber(of.column) ? ["bands", "bands of numbers"] : isDate(of.column) ? ["dates", "bands of dates"] : null;
    const kinds = banded ? [element("p", { class: "switches" }, kind("keys", "single keys"), kind(...banded))] : [];
    place.replaceChildren(legend, ...kinds, ...(of.kind === "bands" ? ofBands(of) : of.kind === "dates" ? ofDates(of) : keys(of, redraw)),
      element("button", { type: "button", class: "plain", text: `Do not group by ${of.column}`, onclick: () => { question().groups.splice(k, 1); question().totals = []; draw(); changed(); } }));
    return place;
  };
  return redraw();
}

function totals() {
  const names = question().groups.map((g) => g.column), coarser = question().groups.flatMap((g) => (g.kind === "keys" ? Object.keys(g.containing ?? {}) : []));
  const margins = names.length ? [...(names.length > 1 ? names : []), ...coarser, "total"] : [];
  $("#totals").hidden = !margins.length;
  question().totals = question().totals.filter((name) => margins.includes(name));
  $("#totals .switches").replaceChildren(...margins.map((name) => {
    const box = element("input", { type: "checkbox", checked: question().totals.includes(name) });
    box.addEventListener("change", () => { question().totals = margins.filter((m) => (m === name ? box.checked : question().totals.includes(m))); changed(); });
    return element("label", {}, box, name === "total" ? " of all" : ` by ${name}`);
  }));
}

// All of it

export function draw() {
  if (!question().statistics.length) question().statistics.push(blank("count"));
  $("#statistics").replaceChildren(...question().statistics.map(statistic));
  $("#groups").replaceChildren(...question().groups.map(group));
  const used = question().groups.map((g) => g.column);
  $("#group-by").replaceChildren(...select(columns().map((c) => c.name).filter((name) => !used.includes(name)), "add a column …"));
  totals();
  const { fields } = question(), concentrated = room.account?.measure === "rho";
  for (const input of form.querySelectorAll("[name]")) {
    if (["epsilon", "alpha"].includes(input.name) || input.name.startsWith("kind-")) continue;
    if (input.type === "checkbox") input.checked = Boolean(fields[input.name]);
    else input.value = fields[input.name] ?? (input.name === "out_decimal" ? "." : "");
  }
  level.set(fields.alpha ? { alpha: fields.alpha } : { epsilon: fields.epsilon ?? "1/2" });
  $("#price-control").hidden = concentrated;
  $("#rho").hidden = !concentrated;
  $("#price-told").textContent = room.account ? `${room.account.dataset} has ${room.account.measure} ${room.account.left} of ${room.account.budget} left. All statistics and groups of this question share what it costs.` : "";
}

const blank = (kind) => ({ kind, where: "", among: "", column: "", low: "", high: "", step: "", out: false });

function readFields() {
  const { fields } = question();
  for (const input of form.querySelectorAll("[name]")) {
    if (input.name.startsWith("kind-")) continue;
    const value = input.type === "checkbox" ? (input.checked ? "yes" : "") : input.value;
    if (value) fields[input.name] = value; else delete fields[input.name];
  }
}

// The question as it is sent. What is not whole is said at its field.
export class Unfinished extends Error {
  constructor(field, told) { super(told); this.field = field; }
}

const whole = (fields, name) => {
  const text = (fields[name] ?? "").trim();
  if (!text) return null;
  if (!/^\d+$/.test(text)) throw new Unfinished(name, "Write a whole number here, or leave it empty.");
  return Number(text);
};

// The epsilon of an alpha, exactly: ln(10/9) of 9/10, and of 0.9.
function ofAlpha(text) {
  const [, above, below = "1"] = /^(\d+)\/(\d+)$/.exec(text) ?? [];
  if (above) return `ln(${below}/${above})`;
  const [, digits] = /^0?\.(\d+)$/.exec(text) ?? [];
  return digits ? `ln(1${"0".repeat(digits.length)}/${BigInt(digits)})` : text && "alpha";
}

// With what code lists say beside the keys: how codes are called, and the coarser ones in which they lie.
function declared(groups, columns) {
  const listed = groups.filter((g) => g.kind === "keys" && g.source), own = (g, pairs) => Object.fromEntries(Object.entries(pairs).filter(([code]) => g.keys.includes(code)));
  if (!listed.length) return columns;
  const labels = Object.assign({}, ...listed.map((g) => ({ ...g.labels, ...(g.labels[g.column] && { [g.column]: own(g, g.labels[g.column]) }) })));
  const kept = (g, { of, map }) => ({ of, map: of !== g.column ? map : Object.fromEntries(Object.entries(map).map(([code, finer]) => [code, finer.filter((key) => g.keys.includes(key))]).filter(([, finer]) => finer.length)) });
  const coarser = Object.assign({}, ...listed.map((g) => Object.fromEntries(Object.entries(g.containing).map(([name, map]) => [name, kept(g, map)]))));
  return { format: "discreet-domain", version: 1, source: listed.map((g) => g.source).join("; "), columns: { ...columns, ...coarser }, ...(Object.keys(labels).length && { labels }) };
}

export function asked() {
  const { statistics, groups, fields, totals: margins } = question(), { draft } = room, by = { count: [], sum: [], mean: [], share: [] };
  for (const s of statistics) {
    const field = `${s.kind}.${by[s.kind].length}`, where = s.where.trim();
    if (s.kind === "count") by.count.push(where || "*");
    else if (s.kind === "share") {
      if (!where) throw new Unfinished(field, "Say of whom the share is: add a condition.");
      by.share.push(`${where}${s.among.trim() ? ` where ${s.among.trim()}` : ""}${s.out ? " missing out" : ""}`);
    } else {
      if (!s.column) throw new Unfinished(field, `Choose the column of the ${s.kind}.`);
      if (!s.low.trim() || !s.high.trim()) throw new Unfinished(field, "Say which values one person can have, at least and at most.");
      by[s.kind].push(`${quoted(s.column)}:${s.low.trim()}..${s.high.trim()}${s.step.trim() ? `/${s.step.trim()}` : ""}${where ? ` where ${where}` : ""}${s.out ? " missing out" : ""}`);
    }
  }
  const domain = {};
  for (const g of groups) {
    const whole = isNumber(g.column) && g.keys.every((key) => /^-?(0|[1-9]\d{0,14})$/.test(key));
    if (g.kind === "keys" && !g.keys.length && !g.missing) throw new Unfinished(`domain.${g.column}`, `Say which keys ${g.column} can have: type or paste them, or choose a code list.`);
    if (g.kind === "dates" && !g.cuts.length) throw new Unfinished(`domain.${g.column}`, "Say on which days bands begin, such as 2000-01-01, 2010-01-01.");
    domain[g.column] = g.kind === "bands" ? bands(g) : g.kind === "dates" ? dateBands(g) : [...g.keys.map((key) => (whole ? Number(key) : key)), ...(g.missing ? [null] : [])];
  }
  const pairs = lines(fields.labels ?? "").map((text) => [text.split("=")[0].trim(), text.split("=").slice(1).join("=").trim()]);
  if (pairs.some((pair) => !pair[0] || !pair[1]) || new Set(pairs.map(([name]) => name)).size < pairs.length)
    throw new Unfinished("presentation.labels", "A label is a name and what to call it, such as sex=Sex at birth; each name has one.");
  const concentrated = room.account?.measure === "rho", { count, ...others } = by;
  if (concentrated && !fields.rho) throw new Unfinished("rho", `Say how much rho this may cost; ${room.account.left} is left.`);
  const epsilon = fields.epsilon?.trim() || ofAlpha(fields.alpha?.trim() ?? "");
  if (!concentrated && !epsilon) throw new Unfinished("epsilon", "Say how much epsilon this may cost.");
  return { ledger: draft.ledger, table: draft.table, dataset: draft.dataset, version: draft.version, count: count.length ? count : null, ...others, by: groups.map((g) => g.column), domain: groups.length ? declared(groups, domain) : null,
    ...(concentrated ? { rho: fields.rho.trim() } : { epsilon }), max_groups: whole(fields, "max_groups"), max_rows: whole(fields, "max_rows"),
    margins, part: fields.part?.trim() || null, counted: fields.counted?.trim() || "units", confidence: fields.confidence?.trim() || "0.95", simultaneous: Boolean(fields.simultaneous),
    presentation: { title: fields.title?.trim() || null, source: fields.source?.trim() || null, notes: lines(fields.notes ?? ""), labels: Object.fromEntries(pairs), separator: fields.out_separator || null, decimal: fields.out_decimal || "." } };
}

room.asked = () => {
  const { statistics, groups, fields } = question();
  const told = statistics.map((s) => (s.kind === "count" ? `count of ${s.where || "everybody"}` : `${s.kind} of ${s.column || s.where}`)).join(", ");
  return `${told}${groups.length ? ` by ${groups.map((g) => g.column).join(", ")}` : ""}, ${room.account?.measure === "rho" ? `rho ${fields.rho ?? ""}` : `epsilon ${fields.epsilon ?? ""}`}`;
};

form.addEventListener("submit", (event) => event.preventDefault());
form.addEventListener("input", () => { readFields(); changed(300); });
for (const button of document.querySelectorAll("[data-add]")) button.addEventListener("click", () => {
  question().statistics.push(blank(button.dataset.add));
  draw();
  changed();
  $("#statistics").lastElementChild.querySelector("input, select").focus();
});
$("#group-by").addEventListener("change", (event) => {
  const column = event.target.value;
  if (!column) return;
  question().groups.push({ column, kind: "keys", keys: [], missing: false, low: "", high: "", cuts: [], source: "", labels: {}, containing: {} });
  draw();
  changed();
  $("#groups").lastElementChild.querySelector("textarea, input").focus();
});

let drawn = null;
whenShown((at) => {
  if (at !== 3) { drawn = null; return; }
  if (drawn === room.account) return;
  drawn = room.account;
  draw();
  readFields();
});
