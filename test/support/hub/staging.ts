import type { Test } from "tap";
import type { HubOptions } from "../../../lib/hub/hub.ts";
import { hmacOf, zipOf } from "./archives.ts";
import type { FeatureFill } from "./filling.ts";
import { type Answer, newSigner, publication, publishForm, type RunningHub, sha256, startHub } from "./harness.ts";

/** The secret that marketplace archives of these hubs are signed with. */
const SECRET = "a secret of its developer";

/** A project and a plugin of one owner, whose versions one key stages and another one approves. */
export interface StagingHub {
  hub: RunningHub;
  project: string;
  plugin: string;
  /** Issues a key as the administrator. @returns the key itself, its id, and the credential of a project's */
  newKey: (scopes: string[], more?: object) => Promise<IssuedKey>;
  /** May only stage. */
  stager: IssuedKey;
  /** May publish, and fetch. */
  approver: IssuedKey;
  /** Of a host of the project. */
  host: IssuedKey;
  /** Publishes a version of the project, and stages it unless `stage` is undefined. */
  upload: (key: string, version: string, stage?: string) => Promise<Answer>;
  /** Publishes a version of the plugin. */
  uploadPlugin: (key: string, version: string, fields?: Record<string, string>) => Promise<Answer>;
  /** Lists what waits for approval, as a key sees it. */
  staged: (key: string) => Promise<Record<string, unknown>[]>;
  /** Approves a staged version of the project by its digest, or by another one. */
  approve: (key: string, version: string, digest?: string) => Promise<Answer>;
  session: (key: string) => Promise<string>;
}

export interface IssuedKey {
  key: string;
  id: string;
  credential: string;
}

export async function startStaging(t: Test, options: Partial<HubOptions> = {}): Promise<StagingHub> {
  const hub = await startHub(t, options);
  const create = async (json: object) => (await hub.call("POST", "/devkeys/projects", { json })).body.id as string;
  const project = await create({ name: "Harbour", kind: "project" });
  const plugin = await create({ name: "Tide", kind: "plugin", slug: "tide" });
  const newKey: StagingHub["newKey"] = async (scopes, more = {}) => {
    const json = { name: scopes.join(" "), scopes, ...more };
    const { body } = await hub.call("POST", "/devkeys/api-keys", { json });
    return { key: body.key, id: body.id, credential: body.deployment_credential };
  };
  const signer = newSigner();
  const staged: StagingHub["staged"] = async (key) =>
    (await hub.call("GET", "/devkeys/staging", { key })).body.items as Record<string, unknown>[];
  const approver = await newKey(["publish", "projects", "deploy", "report", "read"]);
  return {
    ...{ hub, project, plugin, newKey, staged, approver },
    stager: await newKey(["stage"]),
    host: await newKey(["deploy", "report", "read"], { project_id: project }),
    upload: (key, version, stage) =>
      hub.call("POST", `/app/deploy/v1/projects/${project}/publish`, {
        key,
        form: publishForm(publication(version, { signer }), { changes: { stage } }),
      }),
    uploadPlugin(key, version, fields = {}) {
      const bytes = zipOf({
        "plugin.yaml": `name: tide\nversion: ${version}\nentry_point: i.js\nexecution_mode: sandboxed\n`,
        "i.js": "",
      });
      const form = new FormData();
      const all = { version, signature: hmacOf(bytes, SECRET), ...fields };
      for (const [name, value] of Object.entries(all)) form.set(name, value);
      form.set("archive", new Blob([new Uint8Array(bytes)]), "archive.zip");
      return hub.call("POST", "/app/marketplace/plugins/tide/versions", { key, form });
    },
    async approve(key, version, digest) {
      const waiting = (await staged(hub.adminKey)).find((one) => one["version"] === version);
      const json = {
        versions: [{ project_id: project, version, sha256: digest ?? waiting?.["sha256"] ?? sha256("") }],
      };
      return hub.call("POST", "/devkeys/staging/approve", { key, json });
    },
    async session(key) {
      const json = { xdevkey: key, project_id: project };
      return (await hub.call("POST", "/app/deploy/v1/auth", { key: null, json })).body.access_token as string;
    },
  };
}

export const stagingFill: FeatureFill = {
  pages: () => ({ approvals: "/staging", approval: "/plugins/tide-table/approval" }),
  rights: ({ project, plugin, secret }) => ({
    "/plugins/tide-table/approval": `/devkeys/projects/${plugin}`,
    "/plugins/secret/approval": `/devkeys/projects/${secret}`,
    [`/projects/${project}/approval`]: `/devkeys/projects/${project}`,
    "/staging": "/devkeys/staging",
    [`/staging/${plugin}/1.3.0`]: `/devkeys/staging/${plugin}/1.3.0`,
  }),
  lists: () => ({ "stage diff": ["stage diff plugin:tides 1.0.0", false], "stage list": ["stage list", false] }),
};
