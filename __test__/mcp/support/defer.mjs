// What a test has to put away at its end, the newest first: clients before the servers that they talk to.
// (`t.after` itself goes from the oldest to the newest.)

const stacks = new WeakMap();

export function defer(test, action) {
  if (!stacks.has(test)) {
    const stack = [];
    stacks.set(test, stack);
    test.after(async () => {
      for (const each of stack.reverse()) await each();
    });
  }
  stacks.get(test).push(action);
}
