import { useEffect, useRef } from "react";
import { followLog, type LogSource } from "./log-feed.ts";
import { LogModel } from "./log-model.ts";

/** The log of `source`, followed for as long as it is looked at; its programs end with it. */
export function useLog(
  name: string | undefined,
  source: LogSource | undefined,
  looking: boolean,
  onChange: () => void,
): LogModel | undefined {
  const kept = useRef<{ name: string; model: LogModel } | undefined>(undefined);
  if (!looking || name === undefined) kept.current = undefined;
  else if (kept.current?.name !== name) kept.current = { name, model: new LogModel() };
  const model = kept.current?.model;
  useEffect(() => {
    if (model === undefined || source === undefined) return;
    const stop = new AbortController();
    void followLog(source, model, onChange, stop.signal);
    return () => stop.abort();
  }, [model, source, onChange]);
  return model;
}
