// How much slower than usual the machine is: an emulator is (scripts/foreign-nodes.mjs). What a test waits for at most, and what it
// asserts as a bound, is multiplied by it.

export const SLOWNESS = Number(process.env.OPERATIONS_SLOWNESS ?? 1);
