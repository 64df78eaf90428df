// A stream whose bytes come from the user's `fetch`. It reads only while a consumer waits.

import { type Batch, contentIn } from "../interop/inbox.js";
import { type Fetch, FetchDriver } from "./fetch-driver.js";
import type { HttpService, OutgoingCall } from "./service.js";
import { type StreamSource, TAKEN } from "./stream.js";

export class FetchSource implements StreamSource {
  readonly #open: () => Promise<FetchDriver>;
  #driver: FetchDriver | undefined;
  #failure: unknown;
  #closed = false;

  constructor(
    fetch: Fetch,
    service: HttpService,
    index: number,
    outgoing: OutgoingCall | Promise<OutgoingCall>,
  ) {
    this.#open = async () => {
      const { input, body, blobs, headers } = await outgoing;
      const machine = service.native.drive(index, input, body, blobs, headers, true);
      return new FetchDriver(service, fetch, machine);
    };
  }

  take(): string | number {
    if (this.#failure !== undefined) return TAKEN.FAILED;
    return this.#driver?.machine.take() ?? TAKEN.WAIT;
  }

  head(): string {
    return this.#driver?.machine.takenHead() ?? "";
  }

  failure(): unknown {
    return this.#failure ?? contentIn(this.#driver?.machine.takenFailure() as Batch);
  }

  wait(ready: () => void): void {
    this.#advance().then(ready, (error) => {
      this.#failure = error;
      ready();
    });
  }

  close(): void {
    this.#closed = true;
    this.#driver?.cancel();
  }

  async #advance(): Promise<void> {
    this.#driver ??= await this.#open();
    if (this.#closed) this.#driver.cancel();
    else await this.#driver.advance();
  }
}
