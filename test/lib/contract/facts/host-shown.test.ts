// Holds: where each fact of a host is shown (lib/contract/facts/host-shown.ts, lib/contract/facts/host.ts)
import { stripVTControlCharacters } from "node:util";
import { Box, renderToString } from "ink";
import { createElement } from "react";
import t, { type Test } from "tap";
import { Fleet } from "../../../../commands/fleets/fleet.ts";
import { type FleetHost, readFleet } from "../../../../lib/client/fleet.ts";
import { detailFacts, fleetFacts, type HostDetail, hostFacts } from "../../../../lib/contract/facts/host.ts";
import { HOST_FACTS, HOST_PLACES, type HostFact, type HostPlace } from "../../../../lib/contract/facts/host-shown.ts";
import { FEATURES } from "../../../../lib/hub/features.ts";
import { openDatabase } from "../../../../lib/hub/records/database.ts";
import { columnsOf } from "../../../../lib/hub/records/host-columns.ts";
import { type DetailSubject, detailText } from "../../../../lib/tui/detail-view.tsx";
import { FleetModel } from "../../../../lib/tui/fleet-model.ts";
import { FleetView } from "../../../../lib/tui/fleet-view.tsx";
import { createProject, type ProjectAccess, type RunningHub, startHub } from "../../../support/hub/harness.ts";
import { Visitor } from "../../../support/hub/web.ts";
import { runHere } from "../../../support/programs/run-here.ts";

type Fact = keyof typeof HOST_FACTS;
type Stored = Exclude<Fact, "host_id" | "stale" | "state">;
/** Every fact that a hub stores of a host. */
type Facts = Omit<HostDetail, "state"> & Record<Stored, unknown>;
type Host = Facts & { host_id: string };

const NOW = Date.now();
const ago = (days: number): string => new Date(NOW - days * 86_400_000).toISOString();
const step = { id: "a", action: "run", status: "done", duration_ms: 5, error_message: null } as const;

const OK: Facts = {
  ...{ version: "1.0.0", status: "success", running_version: "1.0.0", running_signer: "a".repeat(64) },
  ...{ code: undefined, log: ["a line"] },
  ...{ error_message: null, completed_at: ago(4), created_at: ago(4), started_at: ago(5), seen_at: ago(4) },
  ...{ health: undefined, labels: { env: "prod" }, superseded: undefined, steps: [step], plugins: [{ id: "a" }] },
  ...{ root_version: 1, root_digest: "a".repeat(64), by_kit: undefined },
  ...{ settings_number: 3, settings_state: "applied", settings_of: 3, settings_code: undefined },
  ...{ out_of_service: undefined, agent: "0.3.0", applications: { web: { state: "running", since: ago(4) } } },
  ...{ id: "dpl_a", deployer_id: "a", kind: "plugin", slug: "a", repo: "a", deployment_id: "a" },
};
const FAILED = { ...OK, version: "2.0.0", status: "failed", error_message: "no space" } as const;
const OLD = { completed_at: ago(99), created_at: ago(99), seen_at: ago(99) };

/** Hosts of each kind: what is shown of a fact depends on the others. */
const BASES: Facts[] = [
  OK,
  FAILED,
  { ...FAILED, running_version: undefined },
  { ...FAILED, error_message: "unhealthy: it is slow" },
  { ...OK, ...OLD },
];

/** Another value of each fact that a hub stores. An older deployment leaves when the host was heard of as it is. */
const OTHER: Facts = {
  ...{ version: "9.9.9", status: "rolled_back", running_version: "8.8.8", running_signer: "b".repeat(64) },
  ...{ code: "interrupted", log: ["other lines"] },
  ...{ error_message: "other words", completed_at: ago(120), created_at: ago(1), started_at: ago(2), seen_at: ago(1) },
  ...{ health: { state: "unhealthy", since: ago(3) }, labels: { env: "test" }, superseded: true },
  ...{ steps: [{ ...step, action: "other" }], plugins: [{ id: "b" }] },
  ...{ root_version: 2, root_digest: "b".repeat(64), by_kit: { kit: "kit_b", back_at: ago(1) } },
  ...{ settings_number: 7, settings_state: "failed", settings_of: 2, settings_code: "unhealthy" },
  ...{
    out_of_service: "a new disk",
    agent: "before 0.3.0",
    applications: { web: { state: "stopped", since: ago(1) } },
  },
  ...{ id: "dpl_b", deployer_id: "b", kind: "service", slug: "b", repo: "b", deployment_id: "b" },
};

/** Stores hosts in the fleet of a project, as reports and polls would have left them. */
async function storeHosts({ dataDir }: RunningHub, target: string, hosts: readonly Host[]): Promise<void> {
  const database = await openDatabase({ hooks: FEATURES, dataDir });
  const of = { holder: "", target };
  await database.kysely
    .insertInto("views")
    .values({ ...of, changes: hosts.length, forgotten: 0, bytes: 0 })
    .execute();
  for (const [
    index,
    { seen_at = null, root_version = null, root_digest = null, steps, plugins, log, ...facts },
  ] of hosts.entries()) {
    const { settings_number, settings_state, settings_of, settings_code, agent, out_of_service, ...record } = facts;
    const { host_id, version, status, created_at } = record;
    const report = { id: `dpl_${index}`, host_id, version, status, created_at, deployment_id: null };
    await database.kysely
      .insertInto("reports")
      .values({ ...of, ...report, record: JSON.stringify({ plugins, log }) })
      .execute();
    const row = { host_id, record: JSON.stringify(record), seen_at, steps: JSON.stringify(steps), labels: null };
    const root = {
      root_version,
      root_digest,
      settings_number,
      settings_state,
      settings_of,
      settings_code,
      agent,
      out_of_service,
    };
    const rest = { change: index + 1, first_change: index + 1, is_bound: 0, report_id: report.id };
    await database.kysely
      .insertInto("hosts")
      .values({ ...of, ...row, ...root, ...rest, ...columnsOf(record, seen_at) })
      .execute();
  }
  await database.close();
}

/** Texts of one host, by the place that shows them. */
type Shown = (host: string) => Promise<Record<HostPlace, string>>;

/** Looks at the fleet of a project in every place. */
async function lookAt(t: Test, hub: RunningHub, { id }: ProjectAccess): Promise<Shown> {
  const fleet = async (...words: string[]): Promise<string> => {
    const given = [`project:${id}`, "--hub-url", hub.url, "--api-key", hub.adminKey, ...words];
    const { code, stdout, stderr } = await runHere([Fleet], ["fleet", ...given]);
    t.equal(code, 0, stderr);
    return stdout;
  };
  const [csv, lines] = [await fleet("--csv"), await fleet()];
  const model = new FleetModel();
  const hosts: FleetHost[] = [];
  const hubAt = { hubUrl: hub.url, apiKey: hub.adminKey, timeoutMs: 10_000 };
  for await (const host of (await readFleet({ kind: "project", slug: id }, hubAt)).hosts) hosts.push(host);
  model.apply(hosts, NOW);
  model.complete = true;
  const query = { search: "", filter: "all", latest: null } as const;
  const size = { width: 160, height: hosts.length + 20 };
  const view = createElement(FleetView, { fleet: model, query, searching: false, ...size, scroll: 0, now: NOW });
  const rows = renderToString(createElement(Box, { flexDirection: "column", ...size }, view), { columns: size.width });
  const subject = { target: undefined, tab: "fleet", model: { history: [], events: [] }, now: NOW } satisfies Omit<
    DetailSubject,
    "hosts"
  >;
  const details = detailText({ ...subject, hosts: model.rows(query) });
  const visitor = await new Visitor(hub.url).signIn(hub.adminKey);
  return async (host) => {
    const lineIn = (text: string): string => text.split("\n").find((line) => line.includes(host)) ?? "";
    const page = async (path: string, part: RegExp): Promise<string> =>
      part.exec((await visitor.request(`/projects/${id}/fleet${path}`)).html)?.[0] ?? "";
    const shown = {
      ...{
        csv: lineIn(csv),
        line: lineIn(lines),
        row: lineIn(stripVTControlCharacters(rows)),
        details: lineIn(details),
      },
      "fleet page": await page(`?q=${host}`, /<tbody>.*<\/tbody>/s),
      "host page": await page(`/${host}`, /<h1>.*(?=<section aria-labelledby="forget")/s),
    };
    for (const [place, text] of Object.entries(shown)) t.match(text, host, place);
    const nameless = Object.entries(shown).map(([place, text]) => [place, text.replaceAll(host, "HOST")]);
    return Object.fromEntries(nameless) as typeof shown;
  };
}

t.test("every fact of a host is shown where it says so, and nowhere else", async (t) => {
  const hub = await startHub(t, { rateLimits: false });
  const project = await createProject(hub);
  const facts = Object.keys(OTHER) as Stored[];
  t.strictSame([...facts, "host_id", "stale", "state"].toSorted(), Object.keys(HOST_FACTS).toSorted());
  // Names of one length, so that columns stay where they are.
  const idOf = (base: number, fact?: Stored): string =>
    `host-${100 * (base + 1) + (fact === undefined ? 0 : 1 + facts.indexOf(fact))}`;
  const hosts = BASES.flatMap((base, index): Host[] => [
    { ...base, host_id: idOf(index) },
    ...facts.map((fact) => ({ ...base, [fact]: OTHER[fact], host_id: idOf(index, fact) })),
  ]);
  await storeHosts(hub, project.id, hosts);
  const shown = await lookAt(t, hub, project);

  /** Places in which a host differs that has another value of this fact alone. */
  const found = new Map<string, Set<HostPlace>>([["host_id", new Set(HOST_PLACES)]]);
  for (const [index] of BASES.entries()) {
    const before = await shown(idOf(index));
    for (const fact of facts) {
      const after = await shown(idOf(index, fact));
      const places = HOST_PLACES.filter((place) => before[place] !== after[place]);
      found.set(fact, (found.get(fact) ?? new Set()).union(new Set(places)));
    }
  }
  // Both depend on the time, and are told by a word of their own.
  const silent = await shown(idOf(BASES.length - 1));
  const telling = (word: RegExp) => new Set(HOST_PLACES.filter((place) => word.test(silent[place])));
  found.set("state", telling(/silent/)).set("stale", telling(/\bstale\b|,true,/));

  for (const [fact, { own = [], within = [] }] of Object.entries<HostFact>(HOST_FACTS))
    t.strictSame([...(found.get(fact) ?? [])].toSorted(), [...own, ...within].toSorted(), `${fact} is shown there`);
});

t.test("--json has the facts of a fleet's answer, and none of those of one host's", async (t) => {
  const hub = await startHub(t);
  const project = await createProject(hub);
  await storeHosts(hub, project.id, [{ ...OK, ...OTHER, host_id: "host-1" }]);
  const options = ["--hub-url", hub.url, "--api-key", hub.adminKey, "--json"];
  const { stdout } = await runHere([Fleet], ["fleet", `project:${project.id}`, ...options]);
  const shown = new Set(Object.keys(JSON.parse(stdout.split("\n")[0]!) as object));
  const { state: _, ...ofFleet } = { ...hostFacts, ...fleetFacts };
  t.strictSame(new Set(Object.keys({ ...ofFleet, stale: true, host_id: "" })).difference(shown), new Set());
  const others = new Set(Object.keys({ ...detailFacts, plugins: [] })).difference(new Set(Object.keys(ofFleet)));
  t.strictSame(shown.intersection(others), new Set());
});
