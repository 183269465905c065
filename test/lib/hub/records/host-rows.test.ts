import { randomUUID } from "node:crypto";
import { join } from "node:path";
import t, { type Test } from "tap";
import { HELD_RIGHTS } from "../../../../lib/contract/blame.ts";
import { HOST_STATES, lastHeard, shownVersion, stateOfHost } from "../../../../lib/contract/surfaces/host-record.ts";
import type { RootMark } from "../../../../lib/contract/trust/marks.ts";
import { FEATURES } from "../../../../lib/hub/features.ts";
import { silentBefore } from "../../../../lib/hub/fleets/fleet-view.ts";
import { openDatabase } from "../../../../lib/hub/records/database.ts";
import { type FleetCursor, type FleetFilter, listHosts } from "../../../../lib/hub/records/fleet-pages.ts";
import { labelRows, labelsOf, type StoredRecord } from "../../../../lib/hub/records/host-columns.ts";
import { forgetHost, labelHost, nameHosts } from "../../../../lib/hub/records/host-rows.ts";
import { type Database, inTransaction } from "../../../../lib/hub/records/port.ts";
import { storeReports } from "../../../../lib/hub/records/reports.ts";
import { seeHosts, type SeenHost } from "../../../../lib/hub/records/seen-hosts.ts";
import { takeBackMigrations } from "../../../support/hub/older-schema.ts";
import { startPostgres } from "../../../support/hub/postgres-server.ts";

const DAY = 86_400_000;
const VIEW = { holder: "acme", target: "plugin/tide" };
const HOSTS = ["a", "b", "B", "10", "9", "tromsø", "z_%!"];

const MARKS: readonly (RootMark | null | undefined)[] = [
  null,
  undefined,
  { version: 1, digest: "a".repeat(64) },
  { version: 2, digest: "b".repeat(64) },
  { version: 2, digest: "c".repeat(64) },
];

/** Draws numbers that a seed repeats. */
function drawing(seed: number) {
  let state = seed;
  const below = (limit: number): number => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return Math.floor((state / 2 ** 31) * limit);
  };
  return { below, of: <T>(values: readonly T[]): T => values[below(values.length)]! };
}

/** Compares what is stored of each host, and each list, with what its record, its polls and labels say. */
async function check(t: Test, { kysely, statements }: Database, now: number, what: string): Promise<void> {
  const rows = await kysely.selectFrom("hosts").selectAll().execute();
  const labels = await kysely.selectFrom("host_labels").select(["host_id", "label"]).execute();
  const silence = silentBefore(now);
  const hosts = rows.map((row) => {
    const record = {
      ...(JSON.parse(row.record) as StoredRecord),
      ...(row.seen_at !== null && { seen_at: row.seen_at }),
    };
    const shown = labelsOf(record, row.labels);
    const heard = new Date(lastHeard(record)!).toISOString();
    return {
      id: row.host_id,
      heard,
      state: stateOfHost(record, now),
      version: shownVersion(record),
      labels: shown,
      row,
    };
  });
  for (const { id, heard, state, version, labels: shown, row } of hosts) {
    t.equal(row.heard_at, heard, `${what}: last sign of ${id}`);
    t.equal(row.heard_at < silence ? "silent" : row.state, state, `${what}: state of ${id}`);
    t.equal(row.shown_version, version, `${what}: version of ${id}`);
    const stored = labels.filter(({ host_id }) => host_id === id).map(({ label }) => label);
    t.strictSame(stored.sort(), labelRows(shown).sort(), `${what}: labels of ${id}`);
  }
  t.equal(new Set(labels.map(({ host_id }) => host_id)).difference(new Set(hosts.map(({ id }) => id))).size, 0);

  const ordered = hosts.toSorted(
    (a, b) =>
      HOST_STATES.indexOf(a.state) - HOST_STATES.indexOf(b.state) || Buffer.from(a.id).compare(Buffer.from(b.id)),
  );
  const none: FleetFilter = { state: undefined, version: undefined, label: undefined, text: undefined };
  const filters: [filter: Partial<FleetFilter>, fits: (host: (typeof hosts)[number]) => boolean][] = [
    [{}, () => true],
    [{ version: "1.0.0" }, ({ version }) => version === "1.0.0"],
    [{ label: "env=prod" }, ({ labels: of }) => of["env"] === "prod"],
    [{ label: "env" }, ({ labels: of }) => "env" in of],
    [{ text: "_%" }, ({ id }) => id.includes("_%")],
    [{ rootBelow: 2 }, ({ row }) => (row.root_version ?? 0) < 2],
    [{ text: "b" }, ({ id }) => id.toLowerCase().includes("b")],
  ];
  for (const wanted of HOST_STATES) filters.push([{ state: wanted }, ({ state }) => state === wanted]);
  for (const [filter, fits] of filters) {
    const found: string[] = [];
    for (let after: FleetCursor | undefined; ;) {
      const page = { filter: { ...none, ...filter }, after, limit: 2, silentBefore: silence };
      const { hosts: shown, hasMore } = await listHosts(statements, VIEW, page);
      found.push(...shown.map((host) => `${host.state} ${host.host_id}`));
      if (!hasMore) break;
      after = { state: shown.at(-1)!.state, id: shown.at(-1)!.host_id };
    }
    const wanted = ordered.filter((host) => fits(host)).map(({ state, id }) => `${state} ${id}`);
    t.strictSame(found, wanted, `${what}: ${JSON.stringify(filter)}`);
  }
}

/** Plays reports, polls, labels and removals in an order that the seed draws. */
async function play(t: Test, database: Database, seed: number): Promise<void> {
  const { below, of } = drawing(seed);
  const db = database.kysely;
  let now = Date.parse("2026-01-01T00:00:00Z");
  const at = () => new Date(now).toISOString();
  const record = (createdAt: string): StoredRecord => {
    const status = of(["success", "failed", "rolled_back"] as const);
    const error = of([null, "no space", `${HELD_RIGHTS}network: all`]);
    return {
      ...{ version: of(["1.0.0", "1.1.0"]), status, error_message: status === "failed" ? error : null },
      // A host's own clock may be wrong, and it may say nothing.
      ...{
        completed_at: of([createdAt, "", "2027-05-05T00:00:00+02:00", "1999-01-01T00:00:00Z"]),
        created_at: createdAt,
        started_at: "",
      },
      running_version: of([undefined, null, "1.0.0"]),
      labels: of([undefined, {}, { env: "prod" }, { env: "test", role: "canary" }]),
    };
  };
  /** Versions of the trust root that hosts follow, by their last polls. */
  const followed = new Map<string, RootMark | null>();
  const seen = (): SeenHost => ({ id: of(HOSTS), root: of(MARKS) });
  const poll = async (hosts: readonly SeenHost[], seenAt: string) => {
    const each = [...new Map(hosts.map((host) => [host.id, host])).values()];
    await seeHosts(db, VIEW, each, seenAt);
    const there = (await db.selectFrom("hosts").select("host_id").execute()).map(({ host_id: id }) => id);
    for (const { id, root } of each) if (root !== undefined && there.includes(id)) followed.set(id, root);
  };
  const deeds: Record<string, () => Promise<unknown>> = {
    report: () => {
      // Clocks of several hubs differ.
      const createdAt = of([at(), new Date(now - 3_600_000).toISOString()]);
      const reports = Array.from({ length: 1 + below(4) }, () => {
        const hostRecord = record(createdAt);
        return {
          ...{ ...VIEW, id: `dpl_${randomUUID()}`, hostId: of(HOSTS), version: hostRecord.version },
          ...{ status: hostRecord.status, deployment: null, record: "{}", hostRecord: hostRecord as never },
          ...{ isNamed: below(2) === 0, isBound: false, createdAt },
        };
      });
      return storeReports(db, reports);
    },
    poll: () => poll([seen(), seen()], at()),
    "earlier poll": () => poll([seen()], new Date(now - 3_600_000).toISOString()),
    name: () => inTransaction(db, (transaction) => nameHosts(transaction, VIEW, [of(HOSTS)], at())),
    label: () =>
      inTransaction(db, (transaction) =>
        labelHost(transaction, VIEW, of(HOSTS), of([null, "{}", '{"env":"prod"}', '{"zone":"a","role":"canary"}'])),
      ),
    forget: () => {
      const id = of(HOSTS);
      followed.delete(id);
      return inTransaction(db, (transaction) => forgetHost(transaction, VIEW, id));
    },
    wait: async () => (now += below(20) * DAY),
  };
  const names = Object.keys(deeds);
  for (let step = 0; step < 40; step++) {
    const name = of([...names, "report", "report"]);
    await deeds[name]!();
    now += 1000;
    const what = `seed ${seed}, step ${step}, ${name}`;
    await check(t, database, now, what);
    const stored = await db.selectFrom("hosts").select(["host_id", "root_version", "root_digest"]).execute();
    for (const { host_id: id, root_version: version, root_digest: digest } of stored) {
      const root = followed.get(id);
      t.strictSame([version, digest], [root?.version ?? null, root?.digest ?? null], `${what}: trust root of ${id}`);
    }
  }
}

t.test("what is stored of a host for lists is what its record, its polls and its labels say", async (t) => {
  for (const seed of [1, 2, 3, 4]) {
    await using database = await openDatabase({ hooks: FEATURES, dataDir: t.testdir() }).then((opened) =>
      Object.assign(opened, { [Symbol.asyncDispose]: () => opened.close() }),
    );
    await play(t, database, seed);
  }
});

t.test("a label that most hosts have finds them by their state", async (t) => {
  const database = await openDatabase({ hooks: FEATURES, dataDir: t.testdir() });
  t.teardown(() => database.close());
  const now = Date.parse("2026-01-01T00:00:00Z");
  const createdAt = new Date(now).toISOString();
  const reports = Array.from({ length: 700 }, (_, index) => {
    const hostId = `host-${String(index).padStart(4, "0")}`;
    const status = index % 10 === 3 ? ("failed" as const) : ("success" as const);
    const labels = { env: index % 100 === 0 ? "test" : "prod" };
    const hostRecord = {
      version: "1.0.0",
      status,
      error_message: null,
      completed_at: "",
      created_at: createdAt,
      labels,
    };
    return {
      ...{ ...VIEW, id: `dpl_${randomUUID()}`, hostId, version: "1.0.0", status, deployment: null, record: "{}" },
      ...{ hostRecord: hostRecord as never, isNamed: false, isBound: false, createdAt },
    };
  });
  await storeReports(database.kysely, reports);
  const filter = { state: undefined, version: undefined, label: "env=prod", text: undefined };
  const after = { state: "failed" as const, id: "host-0603" };
  const page = { filter, after, limit: 9, silentBefore: silentBefore(now) };
  const { hosts, hasMore } = await listHosts(database.statements, VIEW, page);
  const wanted = ["0613", "0623", "0633", "0643", "0653", "0663", "0673", "0683", "0693"];
  t.strictSame(
    hosts.map(({ host_id, state }) => `${state} ${host_id}`),
    wanted.map((id) => `failed host-${id}`),
  );
  t.ok(hasMore);
  const rest = await listHosts(database.statements, VIEW, { ...page, after: { state: "failed", id: "host-0693" } });
  t.match(rest.hosts, [{ state: "ok", host_id: "host-0001" }, { host_id: "host-0002" }, { host_id: "host-0004" }]);
});

t.test("PostgreSQL stores the same of hosts", async (t) => {
  const url = await startPostgres(t);
  if (url === undefined) {
    t.plan(0, "PostgreSQL is not installed");
    return;
  }
  const database = await openDatabase({ hooks: FEATURES, dataDir: t.testdir(), url });
  t.teardown(() => database.close());
  await play(t, database, 5);
});

t.test("a newer hub fills in the columns and labels of hosts that an older one has stored", async (t) => {
  const dataDir = t.testdir();
  const before = await openDatabase({ hooks: FEATURES, dataDir });
  await play(t, before, 6);
  const stored = async ({ kysely }: Database) => ({
    hosts: await kysely.selectFrom("hosts").selectAll().orderBy("host_id").execute(),
    labels: await kysely.selectFrom("host_labels").selectAll().orderBy("host_id").orderBy("label").execute(),
  });
  const { hosts, labels } = await stored(before);
  // An older hub keeps no trust roots of hosts.
  const wanted = { labels, hosts: hosts.map((host) => Object.assign(host, { root_version: null, root_digest: null })) };
  await before.close();
  takeBackMigrations(join(dataDir, "hub.sqlite"));
  const after = await openDatabase({ hooks: FEATURES, dataDir });
  t.teardown(() => after.close());
  t.ok(wanted.hosts.length > 0 && wanted.labels.length > 0);
  t.strictSame(await stored(after), wanted);
});
