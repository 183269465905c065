/** A plugin on our own hub, to which anybody may try to publish any bytes. */
import type { Test } from "tap";
import { SLUG } from "../host/marketplace-host.ts";
import { type Answer, type RunningHub, startHub } from "./harness.ts";
import { signatureOf } from "./marketplace-hub.ts";

export interface PublishTarget {
  hub: RunningHub;
  /** The next version that nobody has published. */
  next: number;
}

export async function createTarget(t: Test): Promise<PublishTarget> {
  const hub = await startHub(t, { rateLimits: false });
  await hub.call("POST", "/devkeys/projects", { json: { name: "The Tide Table", kind: "plugin", slug: SLUG } });
  return { hub, next: 0 };
}

export function publishZip(target: PublishTarget, archive: Buffer): Promise<Answer> {
  const form = new FormData();
  form.set("version", `1.0.${target.next++}`);
  form.set("signature", signatureOf(archive));
  form.set("archive", new Blob([new Uint8Array(archive)], { type: "application/zip" }), "archive.zip");
  return target.hub.call("POST", `/app/marketplace/plugins/${SLUG}/versions`, { form });
}
