// A button at every block of code that copies what one would type: of sessions the lines behind >>>, ... and $, without their answers.
"use strict";

function typed(text) {
  const lines = text.replace(/\n$/, "").split("\n");
  if (!lines.some((line) => /^(>>>|\$) /.test(line))) return lines.join("\n");
  return lines.filter((line) => /^(>>>|\.\.\.|\$)( |$)/.test(line)).map((line) => line.replace(/^(>>>|\.\.\.|\$) ?/, "")).join("\n");
}

async function copy(text) {
  if (navigator.clipboard && window.isSecureContext) return navigator.clipboard.writeText(text);
  const area = document.body.appendChild(document.createElement("textarea")); // a page that was opened as a file
  area.value = text;
  area.select();
  document.execCommand("copy");
  area.remove();
}

document.addEventListener("DOMContentLoaded", () => {
  for (const block of document.querySelectorAll("div.highlight")) {
    const button = document.createElement("button");
    button.className = "copy";
    button.type = "button";
    button.textContent = "Copy";
    button.addEventListener("click", async () => {
      await copy(typed(block.querySelector("pre").textContent));
      button.textContent = "Copied";
      setTimeout(() => { button.textContent = "Copy"; }, 1500);
    });
    block.append(button);
  }
});
