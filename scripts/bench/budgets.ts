/** A limit that `npm run bench` judges a measurement by, and that `docs/performance.md` shows. */
export interface Budget {
  what: string;
  /** Rival or value that the measurement is divided by, or compared with. */
  against: string;
  limit: number;
  /** Unit of the limit. */
  unit: string;
  /** Whether more is better. */
  isLeast?: true;
}

/** Every budget, once: `npm run docs` generates the page's table from it. */
export const BUDGETS = {
  role_help: { what: "`--help` of a role's program", against: "`node -e 0`", limit: 2.1, unit: "× wall" },
  sealift_help: { what: "`sealift --help`", against: "`node -e 0`", limit: 3, unit: "× wall" },
  first_request: { what: "first request of `deploy-project`", against: "`node -e 0`", limit: 6, unit: "× wall" },
  hub_ready: { what: "`hub-serve` ready", against: "`node -e 0`", limit: 12, unit: "× wall" },
  deploy_file_equal: { what: "`deploy-project`, one large file", against: "equal checks", limit: 0.5, unit: "× wall" },
  deploy_file_bare: { what: "`deploy-project`, one large file", against: "bare", limit: 2, unit: "× wall" },
  deploy_many_equal: { what: "`deploy-project`, 10,000 files", against: "equal checks", limit: 1.1, unit: "× wall" },
  deploy_many_bare: { what: "`deploy-project`, 10,000 files", against: "bare", limit: 2.9, unit: "× wall" },
  publish_file: { what: "`deploy-publish`, one large file", against: "the shell", limit: 1.15, unit: "× wall" },
  publish_many: { what: "`deploy-publish`, 10,000 files", against: "the shell", limit: 2.1, unit: "× wall" },
  deploy_file_peer: { what: "`deploy-project`, one large file", against: "casync", limit: 0.45, unit: "× wall" },
  deploy_many_peer: { what: "`deploy-project`, 10,000 files", against: "casync", limit: 0.6, unit: "× wall" },
  publish_file_peer: { what: "`deploy-publish`, one large file", against: "OCI", limit: 0.9, unit: "× wall" },
  publish_many_peer: { what: "`deploy-publish`, 10,000 files", against: "OCI", limit: 1.2, unit: "× wall" },
  marketplace: {
    what: "`deploy-marketplace`, a ZIP of 10,000 files",
    against: "the shell",
    limit: 1.4,
    unit: "× wall",
  },
  hub_polls: {
    what: "hub: detail and latest",
    against: "bare `node:http`",
    limit: 0.5,
    unit: "× requests/s",
    isLeast: true,
  },
  hub_rollout_polls: {
    what: "hub: latest while a version is rolled out",
    against: "latest without a rollout",
    limit: 0.6,
    unit: "× requests/s",
    isLeast: true,
  },
  kit: { what: "`deploy-project` from a kit, 1 GiB", against: "a download over loopback", limit: 1.1, unit: "× wall" },
  idle_changes: { what: "idle watch: writes, and syncs of the disk", against: "none", limit: 0, unit: "calls" },
  idle_bytes: { what: "idle watch: TLS in a month", against: "", limit: 5, unit: "MB" },
  idle_anonymous: { what: "idle watch: anonymous memory", against: "", limit: 30, unit: "MB" },
  idle_resident: { what: "idle watch: resident memory", against: "bare `node`", limit: 1.8, unit: "×" },
  mirror: { what: "mirror: a cached artifact", against: "nginx", limit: 0.8, unit: "× bytes/s", isLeast: true },
  agent_memory: { what: "peak memory of agent and publisher", against: "artifacts of 4 GiB", limit: 140, unit: "MB" },
  hub_memory: { what: "peak memory of a hub", against: "artifacts of 4 GiB", limit: 130, unit: "MB" },
  many_memory: { what: "peak memory of agent and publisher", against: "100,000 files", limit: 250, unit: "MB" },
  zip_memory: {
    what: "peak memory of `deploy-marketplace`",
    against: "a ZIP of 200,000 files",
    limit: 250,
    unit: "MB",
  },
  trusted: {
    what: "runtime: a trusted action",
    against: "a bare Fastify handler",
    limit: 0.75,
    unit: "× requests/s",
    isLeast: true,
  },
  sandboxed: {
    what: "runtime: a sandboxed action",
    against: "a bare exchange of messages",
    limit: 40,
    unit: "µs more at p50",
  },
  sandboxed_route: {
    what: "runtime: a route of a sandboxed plugin",
    against: "a trusted one's",
    limit: 0.45,
    unit: "× requests/s",
    isLeast: true,
  },
  heavy_bodies: { what: "runtime: a call beside heavy bodies", against: "a clock", limit: 100, unit: "ms at p99" },
  wall_start: { what: "runtime: a start behind the wall", against: "without it", limit: 20, unit: "ms more at p50" },
  wall_call: { what: "runtime: a call behind the wall", against: "without it", limit: 5, unit: "µs more at p50" },
  wall_proxy: {
    what: "runtime: a request through the proxy",
    against: "the host's network",
    limit: 0.3,
    unit: "ms more at p50",
  },
  wall_fleet: { what: "runtime: start of 50 sandboxed plugins", against: "a clock", limit: 6, unit: "s" },
  wall_idle: { what: "runtime: 50 sandboxed plugins that idle", against: "one core", limit: 1, unit: "%" },
  peer_start: { what: "runtime: start to the first answer", against: "`fork`", limit: 2.2, unit: "× wall" },
  peer_start_cpu: { what: "runtime: start to the first answer", against: "`fork`", limit: 2.2, unit: "× CPU" },
  peer_more: { what: "runtime: one more plugin", against: "`fork`", limit: 1.5, unit: "× wall" },
  peer_memory: { what: "runtime: one more plugin", against: "`fork`", limit: 1.1, unit: "× PSS" },
  peer_loop: { what: "runtime: works again after a loop", against: "a clock", limit: 150, unit: "ms" },
  peer_call: { what: "runtime: a call, 16 connections", against: "`fork`", limit: 1.1, unit: "× CPU" },
  peer_large: { what: "runtime: 1 MB in and out, 16 connections", against: "`fork`", limit: 1, unit: "× CPU" },
  peer_reload: { what: "runtime: a reload", against: "a clock", limit: 150, unit: "ms" },
  peer_failed: { what: "runtime: calls under load that fail", against: "none", limit: 0, unit: "calls" },
  delta_many_bytes: {
    what: "delta of 10,000 files, 1 % edited",
    against: "the full artifact",
    limit: 0.03,
    unit: "× bytes",
  },
  delta_file_bytes: { what: "delta of 1 GiB, three edits", against: "", limit: 1, unit: "MB" },
  delta_many_slow: { what: "upgrade of 10,000 files, 100 Mbit/s", against: "in full", limit: 0.3, unit: "× wall" },
  delta_file_slow: { what: "upgrade of 1 GiB, 100 Mbit/s", against: "in full", limit: 0.1, unit: "× wall" },
  delta_loopback: { what: "upgrade by a delta on loopback", against: "in full", limit: 1.2, unit: "× wall" },
  delta_publish: { what: "publishing with two deltas", against: "without", limit: 1.5, unit: "× wall" },
  delta_disk: {
    what: "disk of three releases, 1 % edited, reflinks",
    against: "one release",
    limit: 1.1,
    unit: "× bytes",
  },
} as const satisfies Record<string, Budget>;

export type BudgetName = keyof typeof BUDGETS;

/** Returns the table of `docs/performance.md`. */
export function budgetTable(): string {
  const rows = Object.values<Budget>(BUDGETS).map(
    ({ what, against, limit, unit, isLeast }) => `| ${what} | ${against} | ${isLeast ? "≥" : "≤"} ${limit} ${unit} |`,
  );
  return ["| what | against | budget |", "| --- | --- | --- |", ...rows].join("\n");
}
