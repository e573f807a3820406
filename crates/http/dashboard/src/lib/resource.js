// Something read from the daemon that is read again when it may have changed.
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { effect } from "@preact/signals";
import { listen, resync } from "./events.js";
import { oneByOne } from "./one.js";

/** How soon after one event the next reading may come, so that a flood of them is one. */
const PAUSE_MS = 250;

/**
 * Reads by `read({signal})` when `deps` change, after a reconnect, and after events for which
 * `on(told)` is true. Gives `{data, error, loading, reload}`; old data stays until new comes.
 */
export function useResource(read, deps = [], on = null) {
  const [state, setState] = useState({ data: undefined, error: null, loading: true });
  const latest = useRef(read);
  latest.current = read;
  const reading = useRef(null);
  // How long the last reading took: what is slow is read again no sooner than after as long a rest.
  const took = useRef(0);
  const reload = useCallback(() => reading.current?.() ?? Promise.resolve(), []);
  useEffect(() => {
    const mine = new AbortController();
    const once = async () => {
      if (mine.signal.aborted) return;
      const begun = performance.now();
      setState((was) => ({ ...was, loading: true }));
      const next = await latest.current({ signal: mine.signal }).then(
        (data) => () => ({ data, error: null, loading: false }),
        (error) => (was) => ({ ...was, error, loading: false }),
      );
      if (mine.signal.aborted) return;
      took.current = performance.now() - begun;
      setState(next);
    };
    setState({ data: undefined, error: null, loading: true });
    reading.current = oneByOne(once);
    reload();
    return () => mine.abort();
  }, deps);
  useEffect(() => {
    let first = true;
    return effect(() => {
      resync.value;
      if (!first) reload();
      first = false;
    });
  }, []);
  const wanted = useRef(on);
  wanted.current = on;
  useEffect(() => {
    if (!on) return undefined;
    let timer = null;
    const end = listen((told) => {
      if (timer === null && wanted.current(told)) {
        timer = setTimeout(() => ((timer = null), reload()), Math.max(PAUSE_MS, took.current));
      }
    });
    return () => (clearTimeout(timer), end());
  }, [Boolean(on)]);
  return { ...state, reload };
}
