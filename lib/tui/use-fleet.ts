import { useEffect, useRef } from "react";
import type { FleetTarget } from "../client/fleet.ts";
import type { HubConnection } from "../client/hub-connection.ts";
import { FleetModel } from "../models/fleet.ts";
import { followFleet } from "./fleet-feed.ts";

/** Whose fleet to read, and how. */
export interface FleetSource {
  target: FleetTarget;
  connection: HubConnection;
}

/** Milliseconds that a selection must last before its fleet is read: arrows pass over many. */
const SETTLE_MS = 200;

/** The fleet of `source`, followed for as long as it is looked at. One is kept in memory at a time. */
export function useFleet(
  name: string | undefined,
  source: FleetSource | undefined,
  looking: boolean,
  onChange: () => void,
): FleetModel | undefined {
  const kept = useRef<{ name: string; model: FleetModel } | undefined>(undefined);
  if (name !== undefined && kept.current?.name !== name) kept.current = { name, model: new FleetModel() };
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
