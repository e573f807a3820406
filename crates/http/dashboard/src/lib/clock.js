// What time it is, for what goes on by itself: durations and what runs out.
import { useEffect, useState } from "preact/hooks";

/** The time, told every `ms`. */
export function useClock(ms = 1000) {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), ms);
    return () => clearInterval(timer);
  }, [ms]);
  return now;
}
