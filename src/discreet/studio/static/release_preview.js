// Steps 4 and 5: how wrong the numbers will be, what may be a mistake, the price; then one confirmation, and what may be published.
import { ask, chart, element, save as download, table } from "/static/studio.js";
import { asTable, bring, card, confirmed } from "/static/parts.js";
import { $, doing, fail, flush, render, room, save, show, whenShown } from "/static/release_state.js";
import { Unfinished, asked } from "/static/release_question.js";

const place = card($("#preview"));
let under = null;

const digits = (x) => Number(x.toPrecision(3)).toLocaleString("en");

async function preview() {
  under?.abort();
  under = new AbortController();
  const { signal } = under, question = asked();
  room.price = null;
  place.content.replaceChildren();
  place.computing("The file is counted and compared with the question …", () => { under.abort(); show(3); });
  room.draft.step = 4;
  room.previewing = true;
  render();
  try {
    const price = await ask("/api/release/before", question, { signal });
    const expected = await ask("/api/release/expect", question, { signal });
    Object.assign(room, { price, question, said: expected.sentences[0] });
    tell(price, expected);
    place.fresh();
    room.draft.step = 4;
    save();
    render();
    bring(place.content.querySelector(".said") ?? place.content);
    draw(question, signal).catch((error) => !signal.aborted && fail(error, 4));
  } catch (error) {
    place.late("There is no preview: see what is said.");
    throw error;
  } finally { room.previewing = false; }
}

function tell(price, expected) {
  const wrongs = price.findings.filter((f) => f.to_correct), kept = price.findings.filter((f) => !f.to_correct);
  const list = (found) => element("ul", {}, ...found.map((f) => element("li", { text: `${f.where}: ${f.found}; ${f.proposal}.` })));
  const check = [
    ...(wrongs.length ? [element("div", { class: "problem", id: "mistakes" }, element("b", { text: "Is this meant? For you alone, not for publication:" }), list(wrongs), element("button", { type: "button", text: "Correct the question", onclick: () => show(3) }))] : [element("p", { class: "fine", text: "Compared with what it counts, for you alone: nothing looks like a mistake." })]),
    ...(kept.length ? [element("div", { class: "late" }, element("b", { text: "May be as it is meant; for you alone, not for publication:" }), list(kept))] : []),
  ];
  const facts = [["Price", `${price.measure} ${price.charge}${price.paid_by ? ` of ${price.paid_by}` : ""}`], ["Left now", price.left], ["Left after it", price.after], ...(expected.smallest.length ? [["Smallest groups", expected.smallest.join("; ")]] : [])];
  const numbers = table(expected.title, expected.columns, expected.rows);
  place.content.replaceChildren(
    ...expected.sentences.map((text, k) => element("p", { class: k ? "quiet" : "said", text })),
    ...check, ...[price.advice, price.cut].filter(Boolean).map((text) => element("p", { class: "late", text })),
    element("dl", { id: "price" }, ...facts.flatMap(([name, value]) => [element("dt", { text: name }), element("dd", { text: value })])),
    ...(price.enough ? [] : [element("p", { class: "problem", text: "Too little is left for this: it would be refused." })]),
    element("h3", { text: "How wrong, if more or less were spent" }), element("div", { class: "chart", id: "curve", role: "img", "aria-label": "The error against what is spent" }), element("div", { id: "curve-table" }),
    asTable(numbers, "The error of every group"));
}

async function draw(question, signal) {
  const curve = $("#curve"), numbers = $("#curve-table");
  const found = await ask("/api/release/curve", question, { signal });
  const points = found.points.map((p) => ({ x: p.at, y: p.value, series: p.series, told: `${found.measure} ${digits(p.at)}${p.chosen ? " (chosen)" : ""}, ${p.series}: within ${digits(p.value)}` }));
  const here = points.filter((_, k) => found.points[k].chosen).map((p) => ({ ...p }));
  if (signal.aborted) return; // another preview stands there by now
  const view = await chart(curve, found.measure === "rho" ? "error-rho" : "error-epsilon");
  await view.data("points", points).data("chosen", here).resize().runAsync();
  curve.setAttribute("aria-label", here.map((p) => p.told).join("; "));
  const series = [...new Set(points.map((p) => p.series))], at = [...new Set(points.map((p) => p.x))];
  numbers.replaceChildren(asTable(table("Off by at most", [found.measure, ...series], at.map((x) => [digits(x), ...series.map((s) => digits(points.find((p) => p.x === x && p.series === s)?.y ?? NaN))])), "The curve as a table"));
  document.body.dataset.painted = String(Number(document.body.dataset.painted ?? 0) + 1);
}

let offered = null; // the price that stands there: its button stays the same one, so that no click on it is lost
function paying() {
  const { price, question } = room;
  if (price && offered === price && $("#pay")) return;
  offered = price;
  if (!price) return $("#paying").replaceChildren(...(room.draft.made ? [] : [element("p", { text: "Preview the question first." })]));
  const go = element("button", { type: "button", class: "main", id: "pay", text: price.charge === "0" ? "Publish it again, free of charge" : `Pay ${price.measure} ${price.charge} and publish` });
  doing(go, async () => {
    if (room.price !== price) throw new Error("The question was changed meanwhile, and nothing was paid; preview it again.");
    const wrongs = price.findings.filter((f) => f.to_correct).length;
    const body = [element("p", { text: `This takes ${price.measure} ${price.charge} of the ${price.left} that ${question.dataset} has left${price.paid_by ? ` in ${price.paid_by}` : ""}; ${price.after} is left after it. What is paid stays paid.` }),
      ...(wrongs ? [element("p", { class: "problem", text: `The preview names ${wrongs === 1 ? "something" : `${wrongs} things`} that may be a mistake.` })] : [])];
    if (!await confirmed("Pay and publish?", body, `Pay ${price.measure} ${price.charge}`)) return bring(go);
    room.price = null;
    const made = await ask("/api/release/ask", question);
    Object.assign(room.draft, { made: made.name, python: made.python, command: made.command });
    const { accounts } = await import("/static/release_budget.js");
    await accounts();
    room.draft.step = 5;
    render();
    await result();
    bring($("#made h3"));
  });
  $("#paying").replaceChildren(element("p", { class: "said", text: `${room.asked()}: costs ${price.measure} ${price.charge}, and ${price.after} is left of ${room.account.budget}.` }), element("p", { class: "row" }, go));
}

const FILES = { csv: ["released.csv", "CSV"], spreadsheet: ["released-spreadsheet.csv", "For a spreadsheet"], html: ["released.html", "Page"], json: ["released.json", "Record"], zip: ["released.zip", "All in one (zip)"] };

async function result() {
  const { made: name } = room.draft;
  if (!name) { $("#made").hidden = true; return; }
  const get = async (kind) => (await ask(`/api/release/made/${name}/${kind}`, undefined, { raw: true })).blob();
  const button = (kind) => {
    const one = element("button", { type: "button", "data-kind": kind, text: FILES[kind][1] });
    doing(one, async () => download(FILES[kind][0], await get(kind)));
    return one;
  };
  const page = element("div", { class: "result", tabindex: "0", role: "region", "aria-label": "The page of the release" });
  const code = (title, text) => element("details", {}, element("summary", { text: title }), element("pre", { class: "scroll", tabindex: "0", text }));
  $("#made").replaceChildren(element("h3", { text: "This may be published" }), element("p", { class: "row" }, "Download: ", ...Object.keys(FILES).map(button)),
    ...(room.draft.python ? [code("The same in Python", room.draft.python), code("The same on the command line", room.draft.command)] : []),
    element("p", { class: "row" }, element("button", { type: "button", text: "Ask another question of the same file", onclick: () => show(3) })), page);
  $("#made").hidden = false;
  embed(page, await (await get("html")).text());
}

// The page of the release as it is, apart from the look of the studio: its own style holds inside, and nothing else of it does.
function embed(place, html) {
  const root = place.attachShadow({ mode: "open" }), sheet = new CSSStyleSheet(), styles = [];
  const bare = html.replace(/<style[^>]*>([^]*?)<\/style>/g, (_, text) => { styles.push(text); return ""; }).replace(/\sstyle=(["'])/g, " data-style=$1");
  const found = new DOMParser().parseFromString(bare, "text/html"); // which the policy of this page holds for, too
  const style = styles.join("\n").replace(/:root\b/g, ":host").replace(/(^|[\s},])body\b/g, "$1.page");
  sheet.replaceSync(`${style}\n:host { display: block } .page { margin: 0 !important; padding: 1rem !important; max-width: none !important } svg { max-width: 100%; height: auto }
    @media (max-width: 40rem) { .page { padding: .5rem !important } table { display: block; overflow-x: auto; overflow-wrap: normal } }`);
  root.adoptedStyleSheets = [sheet];
  const body = document.createElement("div");
  body.className = "page";
  for (const part of found.querySelectorAll("script, link, iframe, meta")) part.remove();
  body.append(...found.body.childNodes);
  root.append(body);
  for (const part of body.querySelectorAll("[data-style]")) { part.style.cssText = part.dataset.style; delete part.dataset.style; } // by script, which the policy allows
}

doing($("#question-done"), async () => {
  try { await preview(); } catch (error) {
    if (error instanceof Unfinished || error.name !== "AbortError") { room.draft.step = 3; fail(error, 3); }
  }
});
doing($("#preview-done"), async () => show(5));

let shown = null;
whenShown((at) => {
  if (at === 4 && !room.price && !room.previewing) place.late("This is no preview of the question that stands there now: preview it again in step 3.");
  const unsure = room.price?.findings.some((f) => f.to_correct);
  $("#preview-done").classList.toggle("main", !unsure);
  $("#preview-done").textContent = unsure ? "Go on all the same: it is meant so" : "Go on to pay and publish";
  $("#preview-done").hidden = !room.price || !room.price.enough;
  if (at === 5) {
    paying();
    if (shown !== room.draft.made) { shown = room.draft.made; result().catch((error) => fail(error, 5)); }
  }
});
