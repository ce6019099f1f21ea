// What the rooms share: asking the server, saying what was wrong, charts whose data change, state that lives in the address.

const problem = document.querySelector("#problem"), closed = document.querySelector("#closed");

// `field` is where it belongs, where that is known.
export class Refused extends Error {
  constructor(sentence, field = null) {
    super(sentence);
    this.field = field;
  }
}
const CLOSED = closed.textContent;

export function say(text) {
  problem.textContent = text ?? "";
  problem.hidden = !text;
}

// The key is handed over behind the # of the first address and kept for this port alone; it goes with every question, and nowhere else.
const HEADER = "x-discreet-key", JOB = "x-discreet-job", KEPT = "discreet-key";
const kept = { read: () => { try { return localStorage.getItem(KEPT); } catch { return null; } }, write(key) { try { localStorage.setItem(KEPT, key); } catch { /* for this page alone */ } } };
const handed = () => new URLSearchParams(location.hash.slice(1)).get("key");
const key = enter();
addEventListener("hashchange", () => handed() && location.reload());

async function enter() {
  const given = handed();
  if (given !== null) history.replaceState(null, "", location.pathname + location.search);
  for (const one of [given, kept.read()].filter((text) => /^[\w-]+$/.test(text ?? ""))) {
    const answer = await fetch("/api/enter", { headers: { [HEADER]: one } }).catch(() => null);
    if (answer?.ok) { kept.write(one); return one; }
  }
  return stay();
}

// Without the key nothing can be asked: the page says how to get it, and waits.
function stay() {
  const room = document.querySelector("#room");
  if (!document.querySelector("#outside")) {
    room.removeAttribute("aria-busy");
    for (const part of room.children) part.hidden = true;
    room.append(element("section", { id: "outside", class: "sheet", role: "alert" }, element("h1", { text: "This page has no key yet" }),
      element("p", {}, "Open the address that ", element("code", { text: "discreet studio" }), " printed in the terminal, with everything behind the #."),
      element("p", { text: "The studio has a new key each time it starts, so a bookmark, or a page left open from an earlier start, does not have it. If the studio is no longer running, start it again." })));
  }
  return new Promise(() => {});
}

// A studio that was closed is said at once, and not when the next button is pressed.
key.then((known) => setInterval(async () => {
  if (document.visibilityState === "hidden") return;
  const answer = await fetch("/api/enter", { headers: { [HEADER]: known } }).catch(() => null);
  closed.hidden = answer !== null;
}, 2000));

export async function ask(path, body, { method = body === undefined ? "GET" : "POST", signal, raw = false, type = "application/json", job, keepalive = false } = {}) {
  const headers = { [HEADER]: await key, ...(job && { [JOB]: job }), ...(body === undefined ? {} : { "content-type": type }) };
  let answer;
  try {
    const sent = body === undefined || body instanceof Blob ? body : JSON.stringify(body);
    answer = await fetch(path, { method, body: sent, signal, headers, keepalive, credentials: "omit" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refused(CLOSED);
  }
  if (answer.status === 401) return stay();
  if (!answer.ok) {
    const told = await answer.json().catch(() => ({ detail: `The studio answered ${answer.status}.` }));
    throw new Refused(told.detail, told.field);
  }
  return raw ? answer : answer.json();
}

// Work that may take longer: asked for again until it is done. `waiting` hears how far it is, and how to call it off.
export async function promised(path, body, signal, waiting = () => {}) {
  const job = crypto.randomUUID(), off = () => ask(`/api/jobs/${job}/off`, undefined, { method: "POST" }).catch(() => {});
  signal.addEventListener("abort", off);
  try {
    let promise = await ask(path, body, { signal, job });
    while (!promise.done) {
      waiting(promise.told, off);
      promise = await ask(`/api/jobs/${job}`, undefined, { signal });
    }
    return promise.answer;
  } finally { signal.removeEventListener("abort", off); }
}

// Only the last of many questions counts: an earlier one that is still under way is called off. `place` is marked as busy.
export function latest(work, place) {
  let under = null;
  return async (...given) => {
    under?.abort();
    const mine = (under = new AbortController());
    place?.setAttribute("aria-busy", "true");
    try {
      await work(mine.signal, ...given);
      if (under === mine) say();
    } catch (error) {
      if (error.name === "AbortError" || under !== mine) return;
      if (!(error instanceof Refused)) throw error;
      say(error.message);
    } finally {
      if (under === mine) place?.removeAttribute("aria-busy");
    }
  };
}

const specifications = new Map();

export async function chart(element, name, { signals = {} } = {}) {
  if (!specifications.has(name)) specifications.set(name, ask(`/api/charts/${name}`));
  const quiet = getComputedStyle(document.documentElement).getPropertyValue("--quiet").trim();
  await import("/vega.js"); // where a room has charts of its own; it exports nothing, what it brings stands in window
  const spec = structuredClone(await specifications.get(name));
  if (spec.width) spec.width = Math.min(spec.width, (element.clientWidth || element.closest(".sheet").clientWidth) - 75); // a phone shows all of it
  for (const part of ["axis", "title", "legend", "header"]) {
    spec.config[part] = { ...spec.config[part], labelColor: quiet, titleColor: quiet, color: quiet, subtitleColor: quiet };
  }
  const ink = getComputedStyle(document.documentElement).getPropertyValue("--ink").trim();
  for (const mark of ["rule", "tick", "text", "point"]) spec.config[mark] = { color: ink, ...spec.config[mark] }; // whiskers stand out in the dark, too
  const line = getComputedStyle(document.documentElement).getPropertyValue("--line").trim();
  spec.config.axis.gridColor = line;
  spec.config.view = { ...spec.config.view, stroke: line };
  const { view } = await window.vegaEmbed(element, spec, {
    ast: true, defaultStyle: false, actions: false, renderer: "canvas", tooltip: { disableDefaultStyle: true }, logLevel: 1, // errors alone: a chart without data yet is none
  });
  for (const [signal, value] of Object.entries(signals)) view.signal(signal, value);
  element.tabIndex = 0; // where it is wider than its place, the keyboard scrolls it
  return view;
}

export const address = {
  read: () => Object.fromEntries(new URLSearchParams(location.search)),
  write(state) {
    const told = new URLSearchParams(Object.entries(state).filter(([, value]) => value !== "" && value != null));
    history.replaceState(null, "", `${location.pathname}?${told}`);
  },
};

// A place where a file is dropped, or chosen with the field inside it.
export function dropping(box, take) {
  box.querySelector("input").addEventListener("change", (event) => { take(event.target.files[0]); event.target.value = ""; }); // the same one can be chosen again
  box.addEventListener("dragover", (event) => { event.preventDefault(); box.classList.add("over"); });
  box.addEventListener("dragleave", () => box.classList.remove("over"));
  box.addEventListener("drop", (event) => { event.preventDefault(); box.classList.remove("over"); take(event.dataTransfer.files[0]); });
}

export function save(name, text, type = "application/json") {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(text instanceof Blob ? text : new Blob([text], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

export function element(tag, { text, ...given } = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(given)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false && value != null) made.setAttribute(name, value);
  }
  if (text !== undefined) made.textContent = text;
  made.append(...children);
  return made;
}

const told = (x) => (typeof x === "number" && !Number.isInteger(x) ? Number(x.toPrecision(6)) : x) ?? "";

export function table(caption, columns, rows) {
  const right = columns.map((_, k) => rows.some((row) => typeof row[k] === "number"));
  const line = (tag, more) => (texts) => element("tr", {}, ...texts.map((x, k) => element(tag, { ...more, text: told(x), class: right[k] ? "n" : null })));
  const body = element("tbody", {}, ...rows.map(line("td", {})));
  return element("table", {}, element("caption", { text: caption }), element("thead", {}, line("th", { scope: "col" })(columns)), body);
}
