// Something read from the daemon that is read again when it may have changed.
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { effect } from "@preact/signals";
import { listen, resync } from "./events.js";

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
  const current = useRef(null);
  const reload = useCallback(() => {
    current.current?.abort();
    const mine = new AbortController();
    current.current = mine;
    setState((was) => ({ ...was, loading: true }));
    return latest.current({ signal: mine.signal }).then(
      (data) => !mine.signal.aborted && setState({ data, error: null, loading: false }),
      (error) => !mine.signal.aborted && setState((was) => ({ ...was, error, loading: false })),
    );
  }, []);
  useEffect(() => {
    setState({ data: undefined, error: null, loading: true });
    reload();
    return () => current.current?.abort();
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
        timer = setTimeout(() => ((timer = null), reload()), PAUSE_MS);
      }
    });
    return () => (clearTimeout(timer), end());
  }, [Boolean(on)]);
  return { ...state, reload };
}
