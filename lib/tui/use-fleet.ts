import { useEffect, useRef } from "react";
import type { HubConnection } from "../client/hub-connection.ts";
import type { Target } from "../contract/target.ts";
import { followFleet } from "./fleet-feed.ts";
import { FleetModel } from "./fleet-model.ts";

/** The fleet to read, and the way to its hub. */
export interface FollowedFleet {
  target: Target;
  connection: HubConnection;
}

/** Milliseconds that a selection must last before its fleet is read: arrows pass over many. */
const SETTLE_MS = 200;

/** The fleet of `source`, followed for as long as it is looked at. One is kept in memory at a time. */
export function useFleet(
  name: string | undefined,
  source: FollowedFleet | undefined,
  looking: boolean,
  onChange: () => void,
  staleMs?: number,
): FleetModel | undefined {
  const kept = useRef<{ name: string; model: FleetModel } | undefined>(undefined);
  if (name !== undefined && kept.current?.name !== name) kept.current = { name, model: new FleetModel(staleMs) };
  const model = name === undefined || source === undefined ? undefined : kept.current?.model;
  useEffect(() => {
    if (model === undefined || source === undefined || !looking) return;
    const stop = new AbortController();
    const timer = setTimeout(() => {
      void followFleet(source.target, source.connection, model, onChange, stop.signal);
    }, SETTLE_MS);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [model, source, looking, onChange]);
  return model;
}
