import { hash } from "node:crypto";

/** An answer of a hub, as it was recorded. */
export interface RecordedAnswer {
  status: number;
  /** Parsed JSON, or the SHA-256 of other bytes. */
  body: unknown;
}

export type Ask = (path: string) => Promise<RecordedAnswer>;

type Row = Record<string, unknown>;

/** Returns a function that asks a hub with a key. */
export const askerOf =
  (hubUrl: string, key: string): Ask =>
  async (path) => {
    const response = await fetch(hubUrl + path, { headers: { "x-api-key": key } });
    const bytes = Buffer.from(await response.arrayBuffer());
    const isJson = response.headers.get("content-type")?.startsWith("application/json") === true;
    const body: unknown = isJson ? JSON.parse(bytes.toString()) : hash("sha256", bytes, "hex");
    return { status: response.status, body };
  };

const LISTS = "limit=200";
/** Questions about the hub and about the owner of the key. */
const ONCE = [
  "/devkeys/key",
  `/devkeys/api-keys?${LISTS}`,
  "/devkeys/signing-key",
  `/devkeys/webhooks?${LISTS}`,
  "/devkeys/quotas",
  `/devkeys/publishers?${LISTS}`,
  `/devkeys/staging?${LISTS}`,
  `/devkeys/audit?${LISTS}`,
  `/app/marketplace/plugins?${LISTS}`,
  `/app/services/services?${LISTS}`,
  "/app/deployments/deployments/fleets",
];

/** Asks an administrator's questions about everything on a hub. @returns the answers by their paths */
export async function answersOf(ask: Ask): Promise<Record<string, RecordedAnswer>> {
  const answers: Record<string, RecordedAnswer> = {};
  const record = async (path: string): Promise<Row[]> => {
    const answer = await ask(path);
    if (answer.status >= 500) throw new Error(`${path} was answered ${answer.status}`);
    answers[path] = answer;
    const { items = [] } = (answer.body ?? {}) as { items?: Row[] };
    return items;
  };
  for (const path of ONCE) await record(path);
  for (const { id } of await record(`/devkeys/webhooks?${LISTS}`))
    await record(`/devkeys/webhooks/${String(id)}/deliveries?${LISTS}`);
  for (const { project_id: id, version } of await record(`/devkeys/staging?${LISTS}`))
    await record(`/devkeys/staging/${String(id)}/${encodeURIComponent(String(version))}`);
  for (const project of await record(`/devkeys/projects?${LISTS}`)) await recordProject(record, project);
  return answers;
}

async function recordProject(record: (path: string) => Promise<Row[]>, project: Row): Promise<void> {
  const [id, kind, slug] = [String(project["id"]), String(project["kind"]), String(project["slug"])];
  const managed = `/devkeys/projects/${id}`;
  for (const part of ["", "/deletion", "/signers", "/host-invites", "/joined-hosts"]) await record(managed + part);
  for (const { id: rollout } of await record(`${managed}/rollouts`))
    await record(`${managed}/rollouts/${String(rollout)}`);
  const isProject = kind === "project";
  const shown = isProject
    ? `/app/deploy/v1/projects/${id}`
    : `/app/${kind === "plugin" ? "marketplace" : "services"}/${kind}s/${slug}`;
  const fleet = isProject ? shown : `/app/deployments/deployments/${kind}/${slug}`;
  for (const { version } of await record(`${managed}/versions?${LISTS}`)) {
    const label = encodeURIComponent(String(version));
    await record(`${shown}/${isProject ? "artifacts" : "versions"}/${label}/statements`);
    if (isProject) await record(`${shown}/artifacts/${label}/index`);
    else await record(`${shown}/install?version=${label}`);
  }
  if (isProject) await record(`${shown}/indexes`);
  else for (const part of ["", "/versions", "/grants"]) await record(shown + part);
  if (!isProject) await record(`${fleet}/reports`);
  for (const part of ["/hosts", "/fleet", "/adoption"]) await record(fleet + part);
}
