// Doing something soon after it is asked for, and once for all who asked meanwhile: what is costly to
// read is not read for every event of hundreds of agents.
import { useEffect, useRef } from "preact/hooks";

/** Gives a function that has `run` called so many milliseconds later, once until then. */
export function useSoon(run, ms) {
  const latest = useRef(run);
  latest.current = run;
  const timer = useRef(null);
  useEffect(() => () => clearTimeout(timer.current), []);
  return () => {
    timer.current ??= setTimeout(() => {
      timer.current = null;
      latest.current();
    }, ms);
  };
}
