// Doing something one at a time, for what is read again whenever something happens. A reading is not
// given up for a newer one: where much happens none would ever come to its end.

/**
 * Gives a function that has `run` called. Who asks while it runs has it run once more when it has
 * ended, once for all who asked meanwhile.
 */
export function oneByOne(run) {
  let now = null;
  let next = null;
  const begin = () => {
    now = run().finally(() => (now = null));
    return now;
  };
  return () => {
    if (now === null) return begin();
    const then = () => ((next = null), now ?? begin());
    next ??= now.then(then, then);
    return next;
  };
}
