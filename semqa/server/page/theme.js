// Light or dark theme: the choice of the reader, or that of the system. Runs before the first paint.

(() => {
  const PLACE = "semqa.theme";
  const system = matchMedia("(prefers-color-scheme: dark)");
  const draw = () => {
    document.documentElement.dataset.theme = localStorage.getItem(PLACE) ?? (system.matches ? "dark" : "light");
  };
  draw();
  system.addEventListener("change", draw);
  document.addEventListener("click", (event) => {
    if (!event.target.closest("#theme")) return;
    const next = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
    if (next === (system.matches ? "dark" : "light")) localStorage.removeItem(PLACE);
    else localStorage.setItem(PLACE, next);
    draw();
  });
})();
