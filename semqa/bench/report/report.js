"use strict";
(() => {
  const box = document.getElementById("find");
  if (!box) return;
  const examples = [...document.querySelectorAll("details.example")];
  const shown = document.getElementById("shown");
  box.hidden = false;
  box.addEventListener("input", () => {
    const wanted = box.value.toLowerCase();
    let count = 0;
    for (const each of examples) {
      each.hidden = !each.textContent.toLowerCase().includes(wanted);
      if (!each.hidden) count += 1;
    }
    shown.textContent = wanted ? `${count} of ${examples.length}` : "";
  });
})();
