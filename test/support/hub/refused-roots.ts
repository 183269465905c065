/** Trust roots that nobody takes. */
import type { Test } from "tap";
import { parseRoot } from "../../../lib/artifact/trust/root.ts";
import { isErrorBody, type RunningHub } from "./harness.ts";
import { trustAt } from "./trust.ts";

/** Reads a document as hosts do, publishes it, and makes an invite of it: each refuses it, and the hub has no root. */
export async function isRefusedRoot(t: Test, hub: RunningHub, project: string, text: string, what: string) {
  t.throws(() => parseRoot(text, "root"), { code: "trust_root_invalid" }, what);
  const published = await trustAt(hub).publish(text, [project]);
  isErrorBody(t, published, 422, "trust_root_invalid");
  const json = { root: text, expires_at: "2999-01-01T00:00:00Z" };
  const invited = await hub.call("POST", `/devkeys/projects/${project}/host-invites`, { json });
  isErrorBody(t, invited, 422, "trust_root_invalid");
  t.strictSame((await trustAt(hub).list()).body.items, [], what);
  return published.body as { error: string };
}
