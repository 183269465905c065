/**
 * `node scripts/past/main.ts --release 0.2.0`: makes test/fixtures/sealift-0.2.0.tar.zst anew, with the programs of
 * that release. The README beside it says what is in it. Needs PostgreSQL and tar.
 */
import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { constants, zstdCompressSync } from "node:zlib";
import pg from "pg";
import { startPostgresServer } from "../../test/support/hub/postgres-server.ts";
import { programFiles } from "../../test/support/programs/optional.ts";
import { scriptArguments } from "../arguments.ts";
import { buildOf, type ReleaseName, RELEASES } from "../older-build.ts";
import { answersOf, askerOf } from "./answers.ts";
import { fleetOfHosts } from "./fleet.ts";
import { cutShort, type Harbour, harbourOf, hostOf, rolledBackOffline } from "./harbour.ts";
import { marketOf } from "./market.ts";
import { OldHub } from "./old-hub.ts";
import { personOf } from "./person.ts";
import { shopOf } from "./shop.ts";

const FIXTURES = fileURLToPath(new URL("../../test/fixtures/", import.meta.url));
const FILL = fileURLToPath(new URL("fill-hub.ts", import.meta.url));
/** Most bytes of a dump, and of the archive before its compression. */
const MOST_BYTES = 64 * 1024 * 1024;
/** Parts of the folder that go into the fixture. */
const PARTS = [
  "facts.json",
  "answers.json",
  "hub",
  "postgres",
  "backup",
  "mirror",
  "roots",
  "hosts",
  "config",
  "keys",
  "source",
];

/** Compresses with a window over everything: hub, backup and mirror hold the same artifacts. */
const packed = (bytes: Buffer): Buffer =>
  zstdCompressSync(bytes, {
    params: {
      [constants.ZSTD_c_compressionLevel]: 19,
      [constants.ZSTD_c_windowLog]: 24,
      [constants.ZSTD_c_enableLongDistanceMatching]: 1,
    },
  });

const options = { release: { type: "string", default: "0.2.0" } } as const;
const { release } = scriptArguments(import.meta.filename, { options }).values as { release: ReleaseName };
const folder = mkdtempSync(join(tmpdir(), "sealift-past-"));
chmodSync(folder, 0o755);
const { root } = buildOf(RELEASES[release]);
const endings: (() => unknown)[] = [];
let hub: OldHub | undefined;
try {
  const data = join(folder, "hub");
  const filling = [`--import=${join(root, "test/support/tsx.ts")}`, FILL, root, data];
  execFileSync(process.execPath, filling, { cwd: root, stdio: ["ignore", "ignore", "inherit"] });

  hub = await OldHub.start(root, folder, data);
  const { programs } = hub;
  const harbour = await harbourOf(hub);
  const market = await marketOf(hub);
  const fleet = await fleetOfHosts(hub);
  // 0.1.0 knows neither applications nor trust roots.
  const shop = release === "0.1.0" ? undefined : await shopOf(hub);
  await cutShort(hub, harbour);
  await hostOf(hub, harbour);
  const person = await personOf(hub);
  // Before the hub is asked for good: sessions and reports are rows, too.
  const answers = await answersOf(askerOf(hub.url, hub.adminKey));
  await programs.stop();
  await rolledBackOffline(hub, harbour);

  const backupKeys = join(folder, "keys/backup");
  await programs.run("sealift", ["signer", "create", "--out", backupKeys], {});
  const backup = ["hub", "backup", "--data-dir", data, "--to", join(folder, "backup")];
  await programs.run("sealift", [...backup, "--key", join(backupKeys, "signer.key")], {});
  await dumpOf(hub, harbour);

  const facts = { made_at: new Date().toISOString(), folder, hub_url: hub.url, harbour, market, fleet, shop, person };
  for (const [name, value] of Object.entries({ facts, answers }))
    writeFileSync(join(folder, `${name}.json`), `${JSON.stringify(value, null, 1)}\n`);
  mkdirSync(FIXTURES, { recursive: true });
  // Of posix: times of modification to the millisecond, by which releases are told from damaged ones.
  const format = ["--format=posix", "--pax-option=delete=atime,delete=ctime", "--sort=name"];
  const args = [...format, "--owner=0", "--group=0", "--numeric-owner", "-cf", "-", "-C", folder, ...PARTS];
  const archive = join(FIXTURES, `sealift-${release}.tar.zst`);
  writeFileSync(archive, packed(execFileSync("tar", args, { maxBuffer: MOST_BYTES })));
  console.log(`made ${archive}`);
} finally {
  await hub?.stop();
  for (const end of endings.toReversed()) await end();
  rmSync(folder, { recursive: true, force: true });
}

/** Waits until a table has a row. */
async function filled(databaseUrl: string, table: string): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    for (let rows = 0; rows === 0; await delay(200)) rows = (await client.query(`select from ${table}`)).rowCount ?? 0;
  } finally {
    await client.end();
  }
}

/** Moves the hub to PostgreSQL, has it serve there for a moment, and dumps its database. */
async function dumpOf(hub: OldHub, harbour: Harbour): Promise<void> {
  const { programs } = hub;
  const server = await startPostgresServer({ teardown: (ending: () => unknown) => endings.push(ending) } as never);
  if (server === undefined) throw new Error("PostgreSQL is needed");
  const there = join(folder, "postgres");
  const move = ["hub", "move", "--data-dir", hub.dataDir, "--to-data-dir", there, "--to-database-url", server.url];
  await programs.run("sealift", move, {});
  await hub.serveAt(there, server.url);
  // Sessions and components are no part of a move.
  await hub.openSession(harbour);
  await filled(server.url, "component_uses");
  await programs.stop();
  const dump = execFileSync(
    programFiles("pg_dump")[0]!,
    ["--inserts", "--no-owner", "--no-privileges", "--dbname", server.url],
    { encoding: "utf8", maxBuffer: MOST_BYTES },
  );
  // Of psql alone.
  writeFileSync(join(there, "dump.sql"), dump.replaceAll(/^\\.*$/gm, ""));
}
