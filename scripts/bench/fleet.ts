import { join } from "node:path";
import { MarketplaceClient } from "../../lib/client/marketplace-client.ts";
import { openDatabase } from "../../lib/hub/records/database.ts";
import { loggedTarget } from "../../lib/hub/records/reports.ts";
import { best, peakMbOf, program } from "./measure.ts";
import { atMost, type Row } from "./row.ts";
import { type BenchHub, openHub } from "./stage.ts";

export const SLUG = "cargo";
const BATCH = 500;
const BUDGET_MB = 160;

/** Peak memory of hub and client while `sealift fleet` reads the view of many hosts, as a table and as NDJSON. */
export async function fleetRows(folder: string, runs: number, hosts = 100_000): Promise<Row[]> {
  const count = hosts.toLocaleString("en");
  await using hub = await openHub(folder);
  await program("sealift", ["projects", "create", "Cargo", "--kind", "plugin", "--slug", SLUG], hub.admin);
  await fillFleet(hub, folder, hosts);
  const rows: Row[] = [];
  for (const [form, args] of [
    ["table", []],
    ["--json", ["--json"]],
  ] as const) {
    const read = await best(runs, async () => {
      const measured = await program("sealift", ["fleet", `plugin:${SLUG}`, ...args], hub.admin);
      const lines = measured.stdout.split("\n").length;
      if (lines < hosts) throw new Error(`the fleet has ${hosts} hosts, but ${lines} lines came`);
      return measured;
    });
    const detail = `${read.wall.toFixed(1)} s`;
    rows.push(
      atMost(`peak memory of sealift fleet, ${count} hosts, ${form}`, "160 MB", read.peakMb, BUDGET_MB, detail),
    );
  }
  const name = `peak memory of hub-serve, fleet of ${count} hosts`;
  return [...rows, atMost(name, "160 MB", peakMbOf(hub.process.pid!), BUDGET_MB, `${2 * runs} views`)];
}

/** One host reports through the hub, and the hub's database gets its record for all the others. */
export async function fillFleet(hub: BenchHub, folder: string, hosts: number): Promise<void> {
  const now = new Date().toISOString();
  const connection = { hubUrl: hub.url, apiKey: hub.admin.SEALIFT_API_KEY, timeoutMs: 30_000 };
  await new MarketplaceClient("plugin", SLUG, connection).report({
    kind: "plugin",
    slug: SLUG,
    version: "1.4.0",
    status: "success",
    started_at: now,
    completed_at: now,
    host_id: "host-0000000",
    repo: `acme/${SLUG}@v1.4.0`,
    error_message: null,
  });
  const database = await openDatabase({ dataDir: join(folder, "hub") });
  try {
    const target = loggedTarget("plugin", SLUG);
    await database.kysely.transaction().execute(async (transaction) => {
      const first = await transaction
        .selectFrom("hosts")
        .selectAll()
        .where("target", "=", target)
        .executeTakeFirstOrThrow();
      for (let from = 1; from < hosts; from += BATCH) {
        const batch = Array.from({ length: Math.min(BATCH, hosts - from) }, (_, index) => {
          const id = `host-${String(from + index).padStart(7, "0")}`;
          const record = first.record.replaceAll(first.host_id, id);
          return { ...first, host_id: id, change: from + index + 1, report_id: `${first.report_id}-${id}`, record };
        });
        await transaction.insertInto("hosts").values(batch).execute();
      }
      await transaction.updateTable("views").set({ changes: hosts }).where("target", "=", target).execute();
    });
  } finally {
    await database.close();
  }
}
