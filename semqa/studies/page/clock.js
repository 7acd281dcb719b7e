// Working time on an item: counts while the page is visible, has the focus, and was used within the
// last minute. Time during which the computer slept is not counted.

const IDLE = 60_000;
const TICK = 250;
const SLEPT = 5_000;

export class Clock {
  #worked = 0;
  #at = performance.now();
  #touched = performance.now();

  constructor() {
    for (const kind of ["keydown", "pointermove", "pointerdown", "wheel", "touchmove", "scroll", "focus"]) {
      window.addEventListener(kind, () => this.#touch(), { passive: true, capture: true });
    }
    for (const kind of ["blur", "visibilitychange"]) window.addEventListener(kind, () => this.#count(), true);
    setInterval(() => this.#count(), TICK);
  }

  // Start from the time already spent on the item.
  start(seconds) {
    this.#count();
    this.#worked = seconds * 1000;
    this.#touched = performance.now();
  }

  get seconds() {
    this.#count();
    return this.#worked / 1000;
  }

  #touch() {
    this.#count();
    this.#touched = performance.now();
  }

  #count() {
    const now = performance.now();
    const passed = now - this.#at;
    this.#at = now;
    const here = document.visibilityState === "visible" && document.hasFocus();
    if (here && passed < SLEPT && now - this.#touched < IDLE) this.#worked += passed;
  }
}
