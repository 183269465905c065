import type { Test } from "tap";
import type { HubOptions } from "../../../lib/hub/hub.ts";
import { hmacOf, zipOf } from "./archives.ts";
import { localFeatures } from "./features.ts";
import {
  createProject,
  type ProjectAccess,
  type Publication,
  publication,
  type RunningHub,
  startHub,
} from "./harness.ts";

export interface Filled {
  hub: RunningHub;
  project: ProjectAccess;
  published: Publication[];
  archive: Buffer;
}

/** Characters at which a reader of lines may end one by mistake. */
const SEPARATORS = "a\u2028b\u2029c\u0085d\re";

/** A hub with versions of a project, a private plugin, a deployment report, and a webhook that nobody answers. */
export async function filledHub(t: Test, dataDir: string, options: Partial<HubOptions> = {}): Promise<Filled> {
  const hub = await startHub(t, { dataDir, ...localFeatures(), ...options });
  const webhook = { url: "https://127.0.0.1:1/", events: ["host.failed"] };
  t.equal((await hub.call("POST", "/devkeys/webhooks", { json: webhook })).status, 201);
  const project = await createProject(hub);
  const published = ["1.0.0", "1.1.0", "1.2.0"].map((version) => publication(version, { size: 200_000 }));
  for (const what of published) t.equal((await project.publish(what)).status, 201);
  await hub.call("POST", "/devkeys/projects", { json: { name: `Tide ${SEPARATORS}`, kind: "plugin", slug: "tide" } });
  const archive = zipOf({ "tide-1.0.0/plugin.yaml": "name: tide\n" });
  const form = new FormData();
  for (const [name, value] of Object.entries({
    version: "1.0.0",
    signature: hmacOf(archive, "s"),
    visibility: "private",
  }))
    form.set(name, value);
  form.set("archive", new Blob([new Uint8Array(archive)]), "archive.zip");
  t.equal((await hub.call("POST", "/app/marketplace/plugins/tide/versions", { form })).status, 201);
  const report = {
    kind: "plugin",
    slug: "tide",
    version: "1.0.0",
    status: "success",
    started_at: "2026-01-01T00:00:00Z",
    completed_at: "2026-01-01T00:00:00Z",
    host_id: "alpha",
    error_message: SEPARATORS,
  };
  for (const json of [{ ...report, status: "failed" }, report])
    t.equal((await hub.call("POST", "/app/deployments/deployments/report", { json })).status, 201);
  return { hub, project, published, archive };
}
