// The room Collude: what users learn who put their reports together, and the cascade that leaves nothing to learn.
import { address, ask, chart, latest, promised, table } from "/static/studio.js";

const TITLES = { geometric: "geometric (GM)", explicit_fair: "explicit fair (EM)", randomized_response: "randomised response" };
const form = document.querySelector("#sliders");
const views = { loss: chart(document.querySelector("#loss"), "shared-loss"), level: chart(document.querySelector("#level"), "shared-level") };

function state() {
  const given = new FormData(form);
  return { n: given.get("n"), alpha: given.get("alpha").trim(), most: given.get("most"), mechanisms: given.getAll("mechanisms").join(","), alphas: given.get("alphas") };
}

// What stands there is of the settings that are set, or goes.
async function marked(questions, signal) {
  const found = document.querySelector("#found");
  try {
    const answers = await Promise.all(questions);
    found.classList.remove("gone");
    return answers;
  } catch (error) {
    if (!signal.aborted) found.classList.add("gone");
    throw error;
  }
}

const update = latest(async (signal) => {
  const s = state();
  address.write(s);
  document.querySelector("#n-told").textContent = s.n;
  document.querySelector("#most-told").textContent = s.most;
  const asked = { n: Number(s.n), alpha: s.alpha, most: Number(s.most), mechanisms: s.mechanisms.split(",").filter(Boolean) };
  const levels = { n: Number(s.n), alphas: s.alphas.split(",").map((x) => x.trim()).filter(Boolean) };
  const [found, together] = await marked([
    promised("/api/collude/shared", asked, signal, (told) => { document.querySelector("#shared-told").textContent = `At work: ${told}`; }),
    ask("/api/collude/audiences", levels, { signal }),
  ], signal);
  document.querySelector("#shared-told").textContent = found.sentence;
  const points = (key) => found.rows.map((r) => ({ x: r.k, y: r[key], series: TITLES[r.mechanism], told: `${TITLES[r.mechanism]}, ${r.k} ${r.k === 1 ? "user" : "users"}: ${r[key].toPrecision(4)}` }));
  for (const [name, key] of [["loss", "loss"], ["level", "epsilon"]]) await (await views[name]).data("points", points(key)).resize().runAsync();
  document.querySelector("#cascade-told").textContent = together.sentence;
  const rows = together.audiences.map((a, k) => [String(k + 1), a.alpha, a.epsilon, a.loss.toPrecision(4)]);
  rows.push(["all, drawn apart", "", together.independent, ""], ["all, in the cascade", "", together.cascade, together.cascade_loss.toPrecision(4)]);
  document.querySelector("#cascade").replaceChildren(table("Audiences, from the least private", ["audience", "alpha", "epsilon ≤", "mean distance from the truth"], rows));
  document.body.dataset.painted = String(Number(document.body.dataset.painted ?? 0) + 1);
}, document.querySelector("#room"));

const s = address.read();
for (const name of ["n", "alpha", "most", "alphas"]) if (s[name] !== undefined) form[name].value = s[name];
if (s.mechanisms !== undefined) for (const box of form.querySelectorAll("[name=mechanisms]")) box.checked = s.mechanisms.split(",").includes(box.value);
form.addEventListener("input", update);
form.addEventListener("submit", (event) => event.preventDefault());
update();
