// The one control of privacy in all rooms: epsilon as a number that one can type, alpha beside it, and a slider.
// What was typed last is exact and is sent as it stands; the other one is shown beside it, rounded.
import { element } from "/static/studio.js";

// `place` is a <div> or <fieldset>; a change is an `input` event there, as of any field. `level()` is what to send, {epsilon} or
// {alpha}; `set` takes the same. `slider` and `means` (what the number does to a suspicion) can be left out; `of` says whose level it is.
export function privacy(place, { least = 0.01, most = 10, epsilon = "1", slider: wanted = true, means: told = false, of = "" } = {}) {
  const field = (name) => element("input", { name, inputmode: "text", autocomplete: "off", spellcheck: "false", maxlength: "200", "aria-label": of ? `${name} of ${of}` : null });
  const exact = field("epsilon"), alpha = field("alpha"), means = element("p", { class: "means" });
  const slider = element("input", { type: "range", min: "0", max: "1000", step: "1", "aria-label": `epsilon${of && ` of ${of}`}, by a slider` });
  const spot = (value) => Math.round(1000 * Math.log(value / least) / Math.log(most / least));
  const at = (where) => String(Number((least * (most / least) ** (where / 1000)).toPrecision(3)));
  place.classList.add("privacy");
  place.append(element("div", { class: "both" }, element("label", {}, "epsilon", exact), element("label", {}, "or alpha", alpha)), ...(wanted ? [slider] : []), ...(told ? [means] : []));
  const show = () => {
    const value = alpha.value.trim() ? -Math.log(number(alpha.value)) : number(exact.value), known = value > 0 && Number.isFinite(value);
    exact.placeholder = alpha.value.trim() && known ? `≈ ${digits(value)}` : "";
    alpha.placeholder = !alpha.value.trim() && known ? `≈ ${digits(Math.exp(-value))}` : "";
    means.textContent = known ? `alpha = e^−epsilon. A suspicion of 10 % becomes at most ${suspicion(value)} %.` : "";
    if (!known) return;
    slider.value = spot(Math.min(most, Math.max(least, value)));
    slider.setAttribute("aria-valuetext", `epsilon ${digits(value)}`);
  };
  exact.addEventListener("input", () => { alpha.value = ""; show(); });
  alpha.addEventListener("input", () => { exact.value = ""; show(); });
  slider.addEventListener("input", () => { exact.value = at(slider.value); alpha.value = ""; show(); });
  const level = () => (alpha.value.trim() ? { alpha: alpha.value.trim() } : { epsilon: exact.value.trim() });
  const set = (given) => { exact.value = given.epsilon ?? ""; alpha.value = given.alpha ?? ""; show(); };
  set({ epsilon });
  return { set, level };
}

// As one says it: epsilon 1, alpha 9/10.
export const spoken = ({ epsilon, alpha }) => (alpha ? `alpha ${alpha}` : `epsilon ${epsilon}`);

// Four digits, for pictures and for what stands beside an exact number.
export const digits = (value) => { const short = Number(value.toPrecision(4)); return short !== 0 && Math.abs(short) < 1e-4 ? short.toExponential() : String(short); };

// By Bayes' rule, from 1 in 10; rounded up, as every claim is.
const suspicion = (value) => digits(Math.ceil(1000 / (1 + 9 * Math.exp(-value)) - 1e-9) / 10);

// A number as people write it, for a picture alone: 1/2, 0.5, ln(2)/10. What is sent is the text itself.
export function number(text) {
  const [above, below = "1"] = text.trim().split("/"), log = /^ln\s*\(?([\d.]+)\)?$/.exec(above.trim());
  return (log ? Math.log(Number(log[1])) : Number(above.trim() || NaN)) / Number(below);
}
