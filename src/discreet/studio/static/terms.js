// Names and terms, explained where they stand: on hover, on focus and on a tap. Escape closes what is said.
import { element } from "/static/studio.js";

export const TERMS = {
  WH: "Weakly honest: each true value is reported with probability at least 1/(n + 1), that of guessing.",
  F: "Fair: every truth is reported truthfully equally often.",
  S: "Symmetric: 0 and n, 1 and n − 1 and so on are treated alike.",
  RH: "Row honest (a row of the paper is a report): of all truths, a report is likeliest under the one that it names.",
  RM: "Row monotone: the farther a truth is from a report, the less likely it makes that report.",
  CH: "Column honest (a column of the paper is a truth): a truth's likeliest report is itself.",
  CM: "Column monotone: the farther a report is from the truth, the less likely it is.",
  "mean loss": "What a report costs on average, by the loss that is set, when truths are as often as is known before.",
  "worst loss": "The mean loss at the truth at which it is largest.",
  epsilon: "How much one person can change the probability of any report: by a factor of at most e^epsilon, between counts that differ by 1. Rounded up.",
  "any two": "The same between any two counts, however far apart: what holds if all people act together, or if the whole answer is one person's.",
  ends: "How often 0 or n is reported, and in brackets how often one of them is true, when truths are as often as is known before.",
  "told truly": "The probability that the report is the truth: the smallest and the largest over all truths.",
  properties: "Which of the seven properties of Cormode et al. (2018) the mechanism has. Each is explained where it can be switched on.",
};

const tip = element("div", { id: "tip", "aria-hidden": "true", hidden: true });
document.body.append(tip);
let open = null, numbered = 0;

function show(word) {
  open = word;
  tip.textContent = word.dataset.told;
  tip.hidden = false;
  const place = word.getBoundingClientRect(), wide = tip.offsetWidth, tall = tip.offsetHeight, below = place.bottom + 6;
  tip.style.left = `${Math.max(8, Math.min(place.left, innerWidth - wide - 8))}px`;
  tip.style.top = `${below + tall < innerHeight ? below : Math.max(8, place.top - tall - 6)}px`;
}

function hide(word) {
  if (word !== undefined && word !== open) return;
  open = null;
  tip.hidden = true;
}
addEventListener("keydown", (event) => event.key === "Escape" && hide());
addEventListener("scroll", () => { if (open) show(open); }, { capture: true, passive: true }); // it goes with its word

// The word as a button; what it says is also its description, for whoever cannot see it. `tell` changes both.
export function term(word, told = TERMS[word]) {
  const id = `term-${numbered++}`;
  const made = element("button", { type: "button", class: "term", "data-told": told, "aria-describedby": id, text: word });
  made.addEventListener("focus", () => show(made));
  made.addEventListener("blur", () => hide(made));
  made.addEventListener("pointerenter", () => show(made));
  made.addEventListener("pointerleave", (event) => { if (event.relatedTarget !== tip && document.activeElement !== made) hide(made); });
  made.addEventListener("click", () => show(made)); // a tap
  const unseen = element("span", { class: "unseen", id, text: told }), whole = element("span", { class: "termed" }, made, unseen);
  return Object.assign(whole, { tell(name, text) { made.textContent = name; made.dataset.told = unseen.textContent = text; if (open === made) show(made); } });
}
tip.addEventListener("pointerleave", () => { if (document.activeElement !== open) hide(); });
