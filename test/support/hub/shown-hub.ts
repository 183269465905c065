/** A hub with something to look at on each of its pages. */
import { hmacOf, zipOf } from "./archives.ts";
import { featurePages, FILLS } from "./features.ts";
import { createProject, type ProjectAccess, publication, type RunningHub } from "./harness.ts";

const README = `# Tide table

High and low water for **every harbour** between Hull and Hamburg, from the harmonic constants of each.

## Actions

| Action | Takes | Gives |
| --- | --- | --- |
| \`next\` | a time | the next high water |
| \`day\` | a date | all of that day |

\`\`\`yaml
plugins:
  tide-table:
    harbour: hamburg
\`\`\`

- no network
- one file of 40 kB for each harbour

See the [handbook](https://harbour.example/tides).
`;

const descriptorOf = (version: string, network: string) => `name: tide-table
version: ${version}
entry_point: index.js
execution_mode: sandboxed
permissions:
  - resource: cache
    actions: [get, set]
    effect: allow
network: ${network}
`;

type Hub = Pick<RunningHub, "call">;

async function created(hub: Hub, kind: string, slug: string, name: string, description: string): Promise<string> {
  const { body } = await hub.call("POST", "/devkeys/projects", { json: { name, kind, slug, same_name: true } });
  const path = kind === "plugin" ? `/app/marketplace/plugins/${slug}` : `/app/services/services/${slug}`;
  await hub.call("PATCH", path, {
    json: { description, homepage: `https://harbour.example/${slug}`, repository: `https://git.example/acme/${slug}` },
  });
  return body.id as string;
}

interface Published {
  kind?: "plugin" | "service";
  slug: string;
  version: string;
  /** Whether it waits for approval. */
  stage?: boolean;
  key?: string;
}

/** Publishes a version with these files. */
export async function publishFiles(
  hub: Hub,
  { kind = "plugin", slug, version, ...as }: Published,
  files: Record<string, string>,
): Promise<void> {
  const archive = zipOf(files);
  const form = new FormData();
  form.set("version", version);
  form.set("signature", hmacOf(archive, "the developer's own secret"));
  form.set("repo", `acme/${slug}@v${version}`);
  if (as.stage === true) form.set("stage", "true");
  form.set("archive", new Blob([new Uint8Array(archive)]), "archive.zip");
  const path = kind === "plugin" ? `/app/marketplace/plugins/${slug}` : `/app/services/services/${slug}`;
  const { status, bytes } = await hub.call("POST", `${path}/versions`, {
    form,
    ...(as.key !== undefined && { key: as.key }),
  });
  if (status !== 201) throw new Error(`${slug} ${version}: ${status} ${bytes.toString()}`);
}

interface Reported {
  kind?: "plugin" | "service";
  slug: string;
  host: string;
  version: string;
  status?: "success" | "failed" | "rolled_back";
  error?: string;
  running?: string;
  labels?: Record<string, string>;
  key?: string;
  steps?: unknown;
  health?: { state: "healthy" | "unhealthy"; since: string };
}

export async function report(hub: Hub, { kind = "plugin", slug, host, version, ...rest }: Reported): Promise<void> {
  const { status = "success", error = null, running, labels, key, steps, health } = rest;
  const at = new Date().toISOString();
  const answer = await hub.call("POST", "/app/deployments/deployments/report", {
    ...(key !== undefined && { key }),
    headers: { "x-sealift-host": encodeURIComponent(host) },
    json: {
      ...{ kind, slug, version, status, started_at: at, completed_at: at, host_id: host, error_message: error },
      ...(running !== undefined && { running_version: running }),
      ...(labels !== undefined && { labels }),
      ...(steps !== undefined && { steps }),
      ...(health !== undefined && { health }),
    },
  });
  if (answer.status !== 201) throw new Error(`${host}: ${answer.status}`);
}

const OTHERS = [
  ["berth-board", "Berth board", "Who lies where: a board of all berths, by quay and by ship."],
  ["fog-signal", "Fog signal", "Sounds the signals of the harbour by the visibility that its sensors report."],
  ["crane-log", "Crane log", "Lifts, loads and hours of each crane, with the alarms of its maker."],
  ["pilot-roster", "Pilot roster", "Which pilot boards which ship, and when the launch leaves."],
] as const;

export interface ShownHub {
  pluginId: string;
  project: ProjectAccess;
  /** A key that may read and nothing else. */
  reader: string;
}

/** Applications of the hosts of the project, as each reports them. */
const APPLICATIONS = {
  "pier-1": (now: string) => ({
    web: { state: "running", since: now, restarts: 3 },
    worker: { state: "unhealthy", since: now },
    nightly: { state: "waiting", last: now, fault: "it did not end within 3600 s" },
  }),
  "pier-2-of-the-outer-harbour": () => undefined,
};

/** Fills a hub with plugins, a service, a project that hosts join, two fleets and a rollout that waits for approval. */
export async function fillShownHub(hub: Hub, { hosts = 24 } = {}): Promise<ShownHub> {
  const about = "High and low water for every harbour between Hull and Hamburg.";
  const pluginId = await created(hub, "plugin", "tide-table", "Tide table", about);
  for (const [slug, name, text] of OTHERS) await created(hub, "plugin", slug, name, text);
  await created(hub, "service", "chart-store", "Chart store", "Sea charts, in tiles and as vectors.");
  const plugin = { slug: "tide-table" };
  const filesOf = (version: string, network = "false") => ({
    [`tide-table-${version}/README.md`]: README,
    [`tide-table-${version}/plugin.yaml`]: descriptorOf(version, network),
    [`tide-table-${version}/index.js`]: `export const version = "${version}";\n`,
  });
  await publishFiles(hub, { ...plugin, version: "1.0.0" }, filesOf("1.0.0"));
  await publishFiles(hub, { ...plugin, version: "1.1.0" }, filesOf("1.1.0"));
  const yank = { json: { reason: "Low water of Cuxhaven is an hour late." } };
  await hub.call("POST", "/app/marketplace/plugins/tide-table/versions/1.1.0/yank", yank);
  const names = Array.from({ length: hosts }, (_, index) => `quay-${String(index + 1).padStart(2, "0")}`);
  const isCanary = (index: number): boolean => index % 8 === 0;
  const labelsOf = (index: number) => ({
    ...{ stage: isCanary(index) ? "canary" : "prod", site: index % 2 === 1 ? "hull" : "hamburg" },
  });
  for (const [index, host] of names.entries())
    await report(hub, { ...plugin, host, labels: labelsOf(index), version: "1.0.0" });
  const rules = { version: "1.2.0", waves: ["stage=canary", "50%", "100%"], approve: true, soak_seconds: 0 };
  await hub.call("POST", `/devkeys/projects/${pluginId}/rollouts`, { json: { ...rules, min_done: "1" } });
  await publishFiles(hub, { ...plugin, version: "1.2.0" }, filesOf("1.2.0", "[api.tides.example:443]"));
  await publishFiles(hub, { kind: "service", slug: "chart-store", version: "0.4.0" }, { "README.md": "# Charts\n" });
  await publishFiles(hub, { ...plugin, version: "1.3.0", stage: true }, filesOf("1.3.0", "[api.tides.example:443]"));
  for (const [index, host] of names.entries()) {
    const of = { ...plugin, host, labels: labelsOf(index) };
    if (index === 4) {
      const error = "healthcheck: GET /healthz answered 503 five times in 30 s";
      const steps = [
        { id: "tables", action: "run", status: "done", duration_ms: 840, error_message: null },
        { id: "alive", action: "healthcheck", status: "failed", duration_ms: 30_120, error_message: error },
      ];
      await report(hub, { ...of, version: "1.1.1", status: "rolled_back", running: "1.0.0", error, steps });
    } else if (isCanary(index)) await report(hub, { ...of, version: "1.2.0" });
  }
  const project = await createProject(hub);
  for (const version of ["1.0.0", "1.1.0"]) await project.publish(publication(version, { size: 180_000 }));
  const token = await project.session();
  const now = new Date().toISOString();
  for (const [host, applications] of Object.entries(APPLICATIONS))
    await hub.call("POST", "/app/deploy/v1/deployments/report", {
      bearer: token,
      headers: { "user-agent": host === "pier-1" ? "sealift/0.3.0" : "sealift" },
      json: {
        ...{ project_id: project.id, deployment_id: host, status: "success", version: "1.1.0", host_id: host },
        ...{ started_at: now, completed_at: now, running_version: "1.1.0", applications: applications(now) },
        plugins: [{ id: "tide-table", version: "1.1.0" }],
      },
    });
  for (const { show } of FILLS) await show?.({ hub, project });
  const { body } = await hub.call("POST", "/devkeys/api-keys", { json: { name: "reader", scopes: ["read"] } });
  return { pluginId, project, reader: body.key as string };
}

/** Every page that {@link fillShownHub} has something on, by name. */
export const pagesOf = (projectId: string): Record<string, string> => ({
  catalogue: "/",
  plugin: "/plugins/tide-table",
  changes: "/plugins/tide-table/compare?from=1.1.0&to=1.2.0",
  fleet: "/plugins/tide-table/fleet",
  host: "/plugins/tide-table/fleet/quay-05",
  service: "/services/chart-store",
  project: `/projects/${projectId}`,
  "project-fleet": `/projects/${projectId}/fleet`,
  "project-applications": `/projects/${projectId}/applications`,
  fleets: "/fleets",
  projects: "/projects",
  keys: "/keys",
  audit: "/audit",
  hub: "/hub",
  missing: "/plugins/nothing-here",
  ...featurePages(projectId),
});
