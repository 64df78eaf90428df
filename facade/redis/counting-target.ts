// The listeners of an event target, counted exactly.

// Taken from the platform's own declaration, which differs between Node and the web.
type Arguments = Parameters<EventTarget["addEventListener"]>;
type Listener = NonNullable<Arguments[1]>;

/**
 * An `EventTarget` that knows which types have listeners. The platform's own does not expose that, and takes listeners
 * away by itself (`once`, `signal`).
 */
export abstract class CountingTarget extends EventTarget {
  /** For each type, the listeners and how each is registered. */
  readonly #listeners = new Map<string, Map<Listener, { run: Listener; release?: () => void }>>();

  /** The first listener of a type has come. */
  protected abstract listened(type: string): void;
  /** The last listener of a type has gone. */
  protected abstract unlistened(type: string): void;

  protected get hasListeners(): boolean {
    return this.#listeners.size > 0;
  }

  protected isListenedTo(type: string): boolean {
    return this.#listeners.has(type);
  }

  override addEventListener(type: string, listener: Listener | null, options?: Arguments[2]): void {
    const { once = false, signal } = typeof options === "object" ? options : {};
    if (listener === null || signal?.aborted === true) return;
    let registered = this.#listeners.get(type);
    if (registered?.has(listener) === true) return;
    if (registered === undefined) {
      registered = new Map();
      this.#listeners.set(type, registered);
    }
    const remove = () => this.removeEventListener(type, listener);
    const run = once ? this.#once(listener, remove) : listener;
    signal?.addEventListener("abort", remove, { once: true });
    registered.set(
      listener,
      signal === undefined ? { run } : { run, release: () => signal.removeEventListener("abort", remove) },
    );
    super.addEventListener(type, run);
    if (registered.size === 1) this.listened(type);
  }

  override removeEventListener(type: string, listener: Listener | null): void {
    const registered = this.#listeners.get(type);
    const entry = listener === null ? undefined : registered?.get(listener);
    if (registered === undefined || listener === null || entry === undefined) return;
    registered.delete(listener);
    entry.release?.();
    super.removeEventListener(type, entry.run);
    if (registered.size > 0) return;
    this.#listeners.delete(type);
    this.unlistened(type);
  }

  #once(listener: Listener, remove: () => void): Listener {
    return (event: Event) => {
      remove();
      if (typeof listener === "function") listener.call(this, event);
      else listener.handleEvent(event);
    };
  }
}
