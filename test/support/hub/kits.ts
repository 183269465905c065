/** Kits of hosts without network, as their maker and their hosts handle them. */
import { randomUUID } from "node:crypto";
import { type HostKey, hostKeyOf, newHostSeed } from "../../../lib/artifact/sealed/host-key.ts";
import { openKitTerms, signKitReport } from "../../../lib/artifact/sealed/kit.ts";
import type { KitReportsTaken, MadeKit } from "../../../lib/contract/kits/records.ts";
import type { KitTerms } from "../../../lib/contract/kits/texts.ts";
import { type FeatureFill, HOSTILE_HOST } from "./filling.ts";
import type { Answer, ProjectAccess, RunningHub } from "./harness.ts";

type Calls = Pick<RunningHub, "call">;

/** Host that has never been online. */
export interface OfflineHost {
  name: string;
  key: HostKey;
  /** As a request for a kit names it. */
  named: { host_id: string; x25519: string; ed25519: string };
}

export function offlineHost(name: string): OfflineHost {
  return asOffline(name, hostKeyOf(newHostSeed()));
}

/** Names a host that has joined, as a request for a kit does. */
export const asOffline = (name: string, key: HostKey): OfflineHost => ({
  ...{ name, key },
  named: { host_id: name, x25519: key.x25519, ed25519: key.ed25519 },
});

/** Makes a kit of a project's version. @throws Error where the hub refuses it */
export async function projectKit(
  hub: Calls,
  { id, key, credential }: Pick<ProjectAccess, "id" | "key" | "credential">,
  version: string,
  ...hosts: readonly OfflineHost[]
): Promise<MadeKit> {
  const json = { version, hosts: hosts.map(({ named }) => named), deployment_credential: credential };
  const made = await hub.call("POST", `/devkeys/projects/${id}/kits`, { key, json });
  if (made.status !== 201) throw new Error(`No kit was made: ${made.bytes.toString()}`);
  return made.body as MadeKit;
}

/** Opens what a kit has for a host. */
export const termsFor = ({ hosts }: Pick<MadeKit, "hosts">, { key }: OfflineHost): KitTerms =>
  openKitTerms(hosts[key.fingerprint]!, key);

/** Signs a report of a project's deployment as a host does. @param more facts of the wire report */
export function reportOf(
  host: OfflineHost,
  kit: string,
  project: string,
  more: object = {},
  envelope: object = {},
): string {
  const at = new Date().toISOString();
  const report = {
    ...{ project_id: project, deployment_id: randomUUID(), status: "success", version: "1.0.0" },
    ...{ started_at: at, completed_at: at, plugins: [], host_id: host.name, running_version: "1.0.0", ...more },
  };
  const facts = { kit, target: `project:${project}`, host_id: host.name, report: JSON.stringify(report), root: null };
  return signKitReport({ ...facts, ...envelope }, host.key);
}

/** Signs a report of a plugin's deployment as a host does. @param more facts of the wire report */
export function pluginReportOf(host: OfflineHost, kit: string, slug: string, more: object = {}): string {
  const at = new Date().toISOString();
  const report = {
    ...{ kind: "plugin", slug, version: "1.0.0", status: "success", started_at: at, completed_at: at },
    ...{ host_id: host.name, running_version: "1.0.0", ...more },
  };
  const facts = { kit, target: `plugin:${slug}`, host_id: host.name, report: JSON.stringify(report), root: null };
  return signKitReport(facts, host.key);
}

/** Hands in reports. @returns what became of each */
export async function submitted(
  hub: Calls,
  reports: readonly string[],
  key?: string,
): Promise<KitReportsTaken["items"]> {
  const answer: Answer = await hub.call("POST", "/devkeys/kits/reports", { json: { reports }, ...(key && { key }) });
  if (answer.status !== 200) throw new Error(`The reports were not taken: ${answer.status}.`);
  return answer.body["items"] as KitReportsTaken["items"];
}

/** Fills kits: one that has ended, with the report of a host and a host that is removed. */
export const kitFill: FeatureFill = {
  async fill({ done, hub, project }) {
    const host = offlineHost(`offline${HOSTILE_HOST}`);
    const gone = offlineHost(`gone${HOSTILE_HOST}`);
    const at = `/devkeys/projects/${project.id}/kits`;
    const json = {
      ...{ version: "1.0.0", hosts: [host.named, gone.named], deployment_credential: project.credential },
      lasts_s: 3600,
    };
    const made = (await done("POST", at, { json })) as unknown as MadeKit;
    await submitted(hub, [reportOf(host, made.id, project.id)]);
    const archive = { digest: "ab".repeat(32), key: Buffer.alloc(32, 7).toString("base64") };
    const ofPlugin = { version: "1.1.0", hosts: [host.named], hosts_project_id: project.id, ...archive };
    await done("POST", "/app/marketplace/plugins/tide/kits", { json: ofPlugin });
    await done("DELETE", `${at}/${made.id}`);
    await done("DELETE", `/devkeys/projects/${project.id}/joined-hosts/${encodeURIComponent(gone.name)}`);
  },
  async show({ hub, project }) {
    const hosts = [offlineHost("ship-1").named, offlineHost("ship-2").named];
    const json = { version: "1.0.0", hosts, deployment_credential: project.credential };
    await hub.call("POST", `/devkeys/projects/${project.id}/kits`, { json });
  },
  pages: (projectId) => ({ kits: `/projects/${projectId}/kits` }),
  rights: ({ project, plugin, secret }) => ({
    [`/projects/${project}/kits`]: `/devkeys/projects/${project}/kits`,
    "/plugins/tide-table/kits": `/devkeys/projects/${plugin}/kits`,
    "/plugins/secret/kits": `/devkeys/projects/${secret}/kits`,
  }),
  lists: ({ project }) => ({ "kit list": [`kit list ${project}`, false] }),
};
