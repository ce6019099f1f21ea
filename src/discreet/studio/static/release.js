// The room Release: five steps. Nothing that names the data or the question stands in the address, and nothing of them stays in the browser.
import { say } from "/static/studio.js";
import { load, render, room, fail } from "/static/release_state.js";
import { look, start } from "/static/release_file.js";
import { accounts } from "/static/release_budget.js";
import { draw } from "/static/release_question.js";
import "/static/release_preview.js";

async function begin() {
  await load();
  start();
  if (room.draft.table) {
    await look().catch((error) => fail(error, 1));
    await accounts();
  }
  if (room.draft.admitted) draw();
  if (room.draft.step === 4) room.draft.step = 3; // it is computed anew
  render();
  document.body.dataset.ready = "yes";
}

// A tab that is looked at again shows what was done in another one.
let left = null;
const kept = () => JSON.stringify({ ...room.draft, step: 0 });
document.addEventListener("visibilitychange", async () => {
  if (document.visibilityState === "hidden") { left = room.draft && kept(); return; }
  const step = room.draft?.step;
  try {
    await load();
    if (left !== kept()) await begin(); else { room.draft.step = step; }
  } catch (error) { say(error.message); }
});
begin().catch((error) => say(error.message));
