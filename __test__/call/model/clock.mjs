// Time that passes only when told to: the timers and the date of the global object, while a run lasts.

export class Clock {
  now = 1_000_000;
  #timers = new Map();
  #made = 0;
  #real = { setTimeout, clearTimeout, dateNow: Date.now };

  install() {
    globalThis.setTimeout = (callback, delay) => {
      const timer = { unref: () => timer, ref: () => timer };
      this.#made += 1;
      this.#timers.set(timer, { at: this.now + Math.max(0, delay), order: this.#made, callback });
      return timer;
    };
    globalThis.clearTimeout = (timer) => this.#timers.delete(timer);
    Date.now = () => this.now;
  }

  uninstall() {
    globalThis.setTimeout = this.#real.setTimeout;
    globalThis.clearTimeout = this.#real.clearTimeout;
    Date.now = this.#real.dateNow;
  }

  get timers() {
    return this.#timers.size;
  }

  advance(duration) {
    const end = this.now + duration;
    for (;;) {
      const due = [...this.#timers].filter(([, { at }]) => at <= end);
      if (due.length === 0) break;
      due.sort(([, a], [, b]) => a.at - b.at || a.order - b.order);
      const [timer, { at, callback }] = due[0];
      this.#timers.delete(timer);
      this.now = at;
      callback();
    }
    this.now = end;
  }
}
