// Parts that several rooms are made of: the states of a card, errors at their fields, what is asked once. privacy.js has the control of privacy.
import { element } from "/static/studio.js";

// A card has one state: fresh, being computed (and how to cancel it), or out of date (and how to compute it again). Its button stays the
// same one while the words change, so that focus stays on it.
export function card(place) {
  const words = element("span"), button = element("button", { type: "button", hidden: true }), content = element("div", { class: "content" });
  let press = null;
  button.addEventListener("click", () => press?.());
  content.append(...place.childNodes);
  place.classList.add("card");
  place.append(element("p", { class: "state row", role: "status" }, words, button), content);
  const become = (state, told = "", label = "", action = null) => {
    place.dataset.state = state;
    if (words.textContent !== told) words.textContent = words.title = told;
    if (!action && document.activeElement === button) { place.tabIndex = -1; place.focus({ preventScroll: true }); }
    press = action;
    button.hidden = !action;
    if (button.textContent !== label) button.textContent = label;
  };
  return {
    content,
    fresh: () => become("fresh"),
    computing: (told = "being computed …", off = null) => become("computing", told, "Cancel", off),
    late: (told = "Out of date: the settings have changed.", label = "", again = null) => become("late", told, label, again),
  };
}

// An error stands at the field that it belongs to; without one, at `other`. It is brought into view, and focus goes there, unless it
// comes while somebody is still at it.
export function wrong(scope, field, text, other, focus = true) {
  right(scope);
  const found = field && [...scope.querySelectorAll(`[data-field="${CSS.escape(field)}"], [name="${CSS.escape(field)}"]`)].find((e) => !e.closest("[hidden]"));
  const id = `wrong-${field || "all"}`.replace(/[^\w-]/g, "_"), line = element("p", { class: "wrong", id, role: "alert", text });
  if (!found) {
    other.append(line);
    if (focus) bring(line);
    return;
  }
  for (let part = found.closest("details"); part; part = part.parentElement.closest("details")) part.open = true;
  (found.closest("label") ?? found).after(line);
  const input = found.matches("input, select, textarea") ? found : found.querySelector("input, select, textarea") ?? found;
  input.setAttribute("aria-invalid", "true");
  input.setAttribute("aria-describedby", id);
  if (focus) bring(input);
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
