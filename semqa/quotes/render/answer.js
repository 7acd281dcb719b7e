"use strict";
(() => {
  const byQuote = new Map();
  for (const element of document.querySelectorAll("[data-quotes]")) {
    for (const index of element.dataset.quotes.split(" ")) {
      if (!byQuote.has(index)) byQuote.set(index, []);
      byQuote.get(index).push(element);
    }
  }
  const light = (element, on) => {
    for (const index of element.dataset.quotes.split(" ")) {
      for (const other of byQuote.get(index)) other.classList.toggle("on", on);
    }
  };
  for (const element of document.querySelectorAll("[data-quotes]")) {
    element.addEventListener("mouseenter", () => light(element, true));
    element.addEventListener("mouseleave", () => light(element, false));
    element.addEventListener("focusin", () => light(element, true));
    element.addEventListener("focusout", () => light(element, false));
  }
})();
