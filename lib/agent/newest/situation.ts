import type { HubConnection } from "../../client/hub-connection.ts";
import { type TargetName, targetOfName } from "../../contract/target.ts";
import type { Layout } from "../../releases/layout.ts";
import { clockSkewMs, MAX_CLOCK_SKEW_MS } from "../hub-findings.ts";
import { runningVersion } from "../watch/target-on-disk.ts";
import { askHub } from "./ask-hub.ts";
import { situationOnDisk } from "./on-disk.ts";
import type { Situation } from "./why.ts";

/**
 * Collects what this host and its hub record about the newest version of a target.
 *
 * @param hub with the name of this host; undefined where none is known
 */
export async function situationOf(layout: Layout, target: TargetName, hub?: HubConnection): Promise<Situation> {
  if (hub === undefined) {
    const unreachable = { message: "no hub was named", hint: "Give --hub-url, or log in with `sealift login URL`." };
    return { ...(await situationOnDisk(layout, target)), unreachable };
  }
  const { answer, ...asked } = await askHub(targetOfName(target), hub, await runningVersion(layout, target));
  const skew = await clockSkewMs(hub).catch(() => 0);
  return {
    ...(await situationOnDisk(layout, target, answer)),
    ...asked,
    clockSeconds: skew > MAX_CLOCK_SKEW_MS ? Math.round(skew / 1000) : undefined,
  };
}
