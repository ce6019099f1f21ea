// What can be handed on: the same as Python, and a file of settings that another studio opens. The address of this page leads to this
// machine alone, so it is not offered as a link.
import { element, save, say } from "/static/studio.js";

const KIND = "discreet studio settings", VERSION = 1, LARGEST = 20_000;

// A button that copies a text; where the browser does not let it, the text stands in `below`, to be taken by hand.
export function copyButton(label, text, below, more = {}) {
  return element("button", { type: "button", text: label, ...more, onclick: async ({ currentTarget: button }) => {
    const found = await text();
    if (found == null) return;
    below.textContent = found;
    const copied = await navigator.clipboard?.writeText(found).then(() => true, () => false);
    button.textContent = copied ? "Copied" : "See below";
    setTimeout(() => { button.textContent = label; }, 1500);
  } });
}

// `read` gives the settings of a room as texts by name, `write` takes them; `example` are settings worth a look, with their words.
export function sharing(place, { room, read, write, python, example }) {
  const code = element("pre", { class: "scroll", tabindex: "0", "aria-label": "The same in Python" });
  const chosen = element("input", { type: "file", accept: ".json,application/json", hidden: true, "aria-label": "A file of settings" });
  chosen.addEventListener("change", async () => { const file = chosen.files[0]; chosen.value = ""; if (file) take(file); });
  const refused = element("p", { class: "problem", role: "alert", hidden: true }); // its own place: a room that finishes computing clears the room's
  const refuse = (text = "") => { refused.textContent = text; refused.hidden = !text; };
  async function take(file) {
    try {
      write(opened(file.size > LARGEST ? "" : await file.text(), room, Object.keys(read())));
      say();
      refuse();
    } catch (error) {
      if (!(error instanceof Unfit)) throw error;
      refuse(error.message);
    }
  }
  place.append(
    element("button", { type: "button", text: "Use the example", title: example.told, onclick: () => { say(); refuse(); write(example.settings); } }),
    copyButton("Copy as Python", python, code),
    element("button", { type: "button", text: "Save the settings", onclick: () => save(`${room}-settings.json`, `${JSON.stringify({ kind: KIND, version: VERSION, room, settings: read() }, null, 1)}\n`) }),
    element("button", { type: "button", text: "Open settings", onclick: () => chosen.click() }), chosen, refused, code);
}

class Unfit extends Error {}

// Settings of this room, each a text: what is not known is refused, so that nothing is silently left out.
function opened(text, room, known) {
  let found = null;
  try { found = JSON.parse(text); } catch { /* told below */ }
  if (found?.kind !== KIND || typeof found.settings !== "object" || found.settings === null) throw new Unfit("This is no file of settings; take one that a studio saved with “Save the settings”.");
  if (found.version !== VERSION) throw new Unfit("These settings were saved by a newer studio; open them there.");
  if (found.room !== room) throw new Unfit(`These settings are of another room${typeof found.room === "string" && /^[a-z]{1,20}$/.test(found.room) ? ` (${found.room})` : ""}; open them there.`);
  for (const [name, value] of Object.entries(found.settings)) {
    if (!known.includes(name) || typeof value !== "string" || value.length > 2000) throw new Unfit(`The settings hold something that this room does not know (${name.slice(0, 40)}); they may come from a newer studio.`);
  }
  return found.settings;
}
