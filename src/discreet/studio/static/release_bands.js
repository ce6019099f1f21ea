// Bands on a number line: cuts that one drags, or moves with the arrow keys; bands are of whole numbers, both ends included.
import { element } from "/static/studio.js";

// What a group's bands are, as keys are declared: {"0-17": [0, 17], "18+": [18, null]}.
export function bands({ low, high, cuts }) {
  const at = [...new Set(cuts.map(Number))].filter(Number.isInteger).sort((a, b) => a - b);
  const starts = [low === "" ? null : Number(low), ...at], ends = [...at.map((c) => c - 1), high === "" ? null : Number(high)];
  const name = (a, b) => (a === null && b === null ? "all" : a === null ? `up to ${b}` : b === null ? `${a}+` : a === b ? String(a) : `${a}-${b}`);
  return Object.fromEntries(starts.map((a, k) => [name(a, ends[k]), [a, ends[k]]]));
}

// The same for dates, written as 2026-01-31: {"before 2000-01-01": {"dates": [null, "1999-12-31"]}, ...}.
export function dateBands({ low, high, cuts }) {
  const before = (day) => { const date = new Date(`${day}T00:00:00Z`); date.setUTCDate(date.getUTCDate() - 1); return date.toISOString().slice(0, 10); };
  const at = [...new Set(cuts)].sort(), starts = [low || null, ...at], ends = [...at.map(before), high || null];
  const name = (a, b) => (a === null && b === null ? "all" : a === null ? `until ${b}` : b === null ? `from ${a}` : `${a} to ${b}`);
  return Object.fromEntries(starts.map((a, k) => [name(a, ends[k]), { dates: [a, ends[k]] }]));
}

export const isDay = (text) => /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(text));

// The line itself; `changed` hears of new cuts when a handle is let go.
export function numberLine(group, changed) {
  const cuts = group.cuts.map(Number).sort((a, b) => a - b);
  const low = group.low === "" ? Math.min(0, ...cuts) : Number(group.low), high = group.high === "" ? Math.max(100, ...cuts.map((c) => c + 10)) : Number(group.high);
  const place = element("div", { class: "line" }, element("div", { class: "rail" })), at = (value) => `${100 * (value - low) / (high - low || 1)}%`;
  const clamp = (value, k) => Math.min((cuts[k + 1] ?? high + 1) - 1, Math.max((cuts[k - 1] ?? low) + 1, Math.round(value)));
  const handles = cuts.map((value, k) => {
    const handle = element("button", { type: "button", class: "cut", role: "slider", "aria-label": `A band of ${group.column} begins at`, "aria-valuemin": low, "aria-valuemax": high });
    const put = (to) => { cuts[k] = to; handle.style.left = at(to); handle.dataset.value = to; handle.setAttribute("aria-valuenow", to); };
    const done = () => changed(cuts.map(String));
    put(value);
    handle.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageUp: 10, PageDown: -10 }[event.key];
      if (step) { event.preventDefault(); put(clamp(cuts[k] + step, k)); done(); }
      if (event.key === "Delete" || event.key === "Backspace") { event.preventDefault(); cuts.splice(k, 1); done(); }
    });
    handle.addEventListener("pointerdown", (event) => {
      handle.setPointerCapture(event.pointerId);
      const box = place.getBoundingClientRect(), move = (e) => put(clamp(low + (high - low) * (e.clientX - box.left) / box.width, k));
      handle.addEventListener("pointermove", move);
      handle.addEventListener("pointerup", () => { handle.removeEventListener("pointermove", move); done(); }, { once: true });
    });
    return handle;
  });
  place.append(...handles);
  return place;
}
