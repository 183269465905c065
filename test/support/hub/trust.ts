/** Trust roots at a hub. */
import type { RunningHub } from "./harness.ts";

type Calls = Pick<RunningHub, "call">;
type Key = string | null | undefined;

/** Calls of the routes of trust roots; by the administrator's key unless another one is given. */
export const trustAt = (hub: Calls) => ({
  publish: (root: string, targets?: readonly string[], key?: Key) =>
    hub.call("POST", "/devkeys/roots", {
      json: { root, ...(targets && { targets }) },
      ...(key !== undefined && { key }),
    }),
  list: (key?: Key) => hub.call("GET", "/devkeys/roots", { ...(key !== undefined && { key }) }),
  show: (id: string, key?: Key) => hub.call("GET", `/devkeys/roots/${id}`, { ...(key !== undefined && { key }) }),
  read: (id: string, version: number | string, key?: Key) =>
    hub.call("GET", `/devkeys/roots/${id}/versions/${version}`, { ...(key !== undefined && { key }) }),
  leave: (target: string, key?: Key) =>
    hub.call("DELETE", `/devkeys/projects/${target}/root`, { ...(key !== undefined && { key }) }),
  signers: async (target: string) =>
    (await hub.call("GET", `/devkeys/projects/${target}/signers`)).body.items as {
      public_key: string;
      state: string;
      name: string;
      reason: string | null;
    }[],
});
