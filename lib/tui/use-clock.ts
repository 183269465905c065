import { collectGarbage } from "../support/buffer-pacing.ts";
import { useEffect, useState } from "react";

/** One collection in so many seconds is a full one. */
const FULL_EVERY = 60;

/** Milliseconds since 1970, once a second. */
export function useClock(): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    let ticks = 0;
    const timer = setInterval(() => {
      setNow(Date.now());
      // Every picture is garbage after the next one.
      collectGarbage(++ticks % FULL_EVERY === 0 ? "major" : "minor");
    }, 1000);
    return () => clearInterval(timer);
  }, []);
  return now;
}
