// Tests put clocks of their own in the place of `Date`. A deadline is a time of that clock for this program; native code and
// other processes have the clock of the system.

import { systemTime } from "./host.js";

/** A time of this program's clock, for native code and other processes. */
export function toSystemTime(time: number): number {
  return time - ahead();
}

/** A time that came from native code or another process. */
export function fromSystemTime(time: number): number {
  return time + ahead();
}

function ahead(): number {
  return Date.now === systemTime ? 0 : Date.now() - systemTime();
}
