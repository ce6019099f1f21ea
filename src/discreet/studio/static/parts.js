// Parts that several rooms are made of: the control of privacy, the states of a card, errors at their fields, what is asked once.
import { element } from "/static/studio.js";

// Privacy: epsilon as a number that one can type, alpha beside it, and a slider. What was typed last is exact; the other one is
// shown beside it, rounded. `level()` has what to send; a change is an `input` event of `place`, as of any field.
export function privacy(place, { least = 0.01, most = 10, epsilon = "1" } = {}) {
  const exact = element("input", { name: "epsilon", inputmode: "decimal", autocomplete: "off", spellcheck: "false" });
  const alpha = element("input", { name: "alpha", inputmode: "decimal", autocomplete: "off", spellcheck: "false" });
  const slider = element("input", { type: "range", min: "0", max: "1000", step: "1", "aria-label": "epsilon, by a slider" });
  const spot = (value) => Math.round(1000 * Math.log(value / least) / Math.log(most / least));
  const at = (where) => String(Number((least * (most / least) ** (where / 1000)).toPrecision(3)));
  place.classList.add("privacy");
  place.append(element("div", { class: "both" }, element("label", {}, "epsilon", exact), element("label", {}, "or alpha", alpha)), slider);
  const show = () => {
    const value = alpha.value.trim() ? -Math.log(number(alpha.value)) : number(exact.value);
    exact.placeholder = alpha.value.trim() && value > 0 ? `≈ ${Number(value.toPrecision(4))}` : "";
    alpha.placeholder = !alpha.value.trim() && value > 0 ? `≈ ${Number(Math.exp(-value).toPrecision(4))}` : "";
    if (value > 0 && Number.isFinite(value)) {
      slider.value = spot(Math.min(most, Math.max(least, value)));
      slider.setAttribute("aria-valuetext", `epsilon ${Number(value.toPrecision(4))}`);
    }
  };
  exact.addEventListener("input", () => { alpha.value = ""; show(); });
  alpha.addEventListener("input", () => { exact.value = ""; show(); });
  slider.addEventListener("input", () => { exact.value = at(slider.value); alpha.value = ""; show(); });
  const set = (given) => { exact.value = given.epsilon ?? ""; alpha.value = given.alpha ?? ""; show(); };
  set({ epsilon });
  return { set, level: () => (alpha.value.trim() ? { alpha: alpha.value.trim() } : { epsilon: exact.value.trim() }) };
}

// A number as people write it, for a picture alone: 1/2, 0.5, ln(2)/10. What is sent is the text itself.
export function number(text) {
  const [above, below = "1"] = text.trim().split("/"), log = /^ln\((.+)\)$/.exec(above.trim());
  return (log ? Math.log(Number(log[1])) : Number(above.trim() || NaN)) / Number(below);
}

// A card has one state: fresh, being computed (and how to cancel it), or out of date.
export function card(place) {
  const line = element("p", { class: "state row", role: "status" }), content = element("div", { class: "content" });
  content.append(...place.childNodes);
  place.classList.add("card");
  place.append(line, content);
  const become = (state, ...told) => { place.dataset.state = state; line.replaceChildren(...told); };
  return {
    content,
    fresh: () => become("fresh"),
    computing: (told = "being computed …", off) => become("computing", element("span", { text: told }), ...(off ? [element("button", { type: "button", text: "Cancel", onclick: off })] : [])),
    late: (told = "Out of date: the settings have changed.") => become("late", element("span", { text: told })),
  };
}

// An error stands at the field that it belongs to; without one, at `other`. It is brought into view, and focus goes there.
export function wrong(scope, field, text, other) {
  right(scope);
  const found = field && [...scope.querySelectorAll(`[data-field="${CSS.escape(field)}"], [name="${CSS.escape(field)}"]`)].find((e) => !e.closest("[hidden]"));
  const id = `wrong-${field || "all"}`.replace(/[^\w-]/g, "_"), line = element("p", { class: "wrong", id, role: "alert", text });
  if (!found) {
    other.append(line);
    bring(line);
    return;
  }
  for (let part = found.closest("details"); part; part = part.parentElement.closest("details")) part.open = true;
  (found.closest("label") ?? found).after(line);
  const input = found.matches("input, select, textarea") ? found : found.querySelector("input, select, textarea") ?? found;
  input.setAttribute("aria-invalid", "true");
  input.setAttribute("aria-describedby", id);
  bring(input);
}

export function right(scope) {
  for (const line of scope.querySelectorAll(".wrong")) line.remove();
  for (const input of scope.querySelectorAll("[aria-invalid]")) { input.removeAttribute("aria-invalid"); input.removeAttribute("aria-describedby"); }
}

// What happened is brought into view, and focus moves there.
export function bring(place) {
  if (!place.matches("input, select, textarea, button, a, [tabindex]")) place.tabIndex = -1;
  place.focus({ preventScroll: true });
  place.scrollIntoView({ block: "nearest" });
}

// What is for good is asked once. Focus is on the way back, so that Enter, pressed once too often, fixes nothing.
export function confirmed(title, body, yes, no = "Not yet") {
  const name = element("h2", { id: "confirm-title", text: title }), back = element("button", { type: "button", text: no, autofocus: true });
  const go = element("button", { type: "button", class: "main", text: yes });
  const box = element("dialog", { id: "confirm", "aria-labelledby": "confirm-title" }, name, ...body, element("p", { class: "row" }, back, go));
  document.body.append(box);
  return new Promise((settled) => {
    const end = (answer) => { box.close(); box.remove(); settled(answer); };
    back.addEventListener("click", () => end(false));
    go.addEventListener("click", () => end(true), { once: true });
    box.addEventListener("cancel", (event) => { event.preventDefault(); end(false); });
    box.showModal();
    back.focus();
  });
}

// The numbers behind a picture, for whoever cannot see it or wants to read them.
export const asTable = (made, title = "As a table") => element("details", { class: "small" }, element("summary", { text: title }), element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": title }, made));
