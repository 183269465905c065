import { useEffect, useState } from "react";
import { collectGarbage } from "../support/buffer-pacing.ts";

/** Seconds between two garbage collections, which remove what redraws and polls leave. */
const COLLECT_EVERY = 120;

/** Milliseconds since 1970, once a second. */
export function useClock(): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    let ticks = 0;
    const timer = setInterval(() => {
      setNow(Date.now());
      ticks++;
      if (ticks % COLLECT_EVERY === 0) collectGarbage("major");
    }, 1000);
    return () => clearInterval(timer);
  }, []);
  return now;
}
