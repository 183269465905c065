// Only in test:all: backups of each release are restored on both databases.
// Holds: what released versions wrote is read: backups and the folder of a mirror (lib/hub/backup/backup.ts)
import { cp, readdir } from "node:fs/promises";
import t from "tap";
import { startPostgres } from "../support/hub/postgres-server.ts";
import { PAST_RELEASES, unpackPast } from "../support/past/fixture.ts";
import { type Rows, rowsOf } from "../support/past/rows.ts";
import { needs } from "../support/programs/optional.ts";

/** Tables whose rows are in no backup; components are read from their SBOMs again. */
const LEFT_BEHIND = ["sessions", "rate_counts", "changes", "components", "component_lists", "component_uses"];

/** Returns every row of a backup's tables, with all columns, in an order of its own. */
const keptIn = (rows: Rows): Record<string, string[]> =>
  Object.fromEntries(
    Object.entries(rows)
      .filter(([table]) => !LEFT_BEHIND.includes(table))
      .map(([table, found]) => [
        table,
        found.map((row) => JSON.stringify(Object.entries(row).toSorted(([a], [b]) => (a < b ? -1 : 1)))).toSorted(),
      ]),
  );

for (const release of PAST_RELEASES)
  t.test(
    `a backup of ${release} is restored: every row is what the hub's own database becomes`,
    { skip: needs("tar") },
    async (t) => {
      const past = await unpackPast(t, release);
      const { programs, path, clock, hub_url: hubUrl, harbour } = past;
      const trust = ["--public-key", path("keys/backup/signer.pub")];
      const hub = (...words: string[]): Promise<{ findings?: number }> =>
        programs.run("sealift", ["hub", ...words], clock);
      t.match(await hub("verify", "--backup", path("backup"), ...trust), { findings: 0 });
      await hub("verify", "--data-dir", path("hub"));
      const migrated = keptIn(await rowsOf(path("hub/hub.sqlite")));

      await hub("restore", "--backup", path("backup"), ...trust, "--data-dir", path("restored"));
      t.same(keptIn(await rowsOf(path("restored/hub.sqlite"))), migrated);
      const databaseUrl = await startPostgres(t);
      if (databaseUrl !== undefined) {
        const there = ["--data-dir", path("restored-there"), "--database-url", databaseUrl];
        await hub("restore", "--backup", path("backup"), ...trust, ...there);
        t.same(Object.keys(keptIn(await rowsOf(databaseUrl))).toSorted(), Object.keys(migrated).toSorted());
        t.same((await rowsOf(databaseUrl))["versions"]?.length, migrated["versions"]?.length);
      }

      await cp(path("hub/kek.json"), path("restored/kek.json"));
      await past.serve(path("restored"));
      const args = [
        "--project-id",
        harbour.id,
        "--signer-public-key",
        path("keys/signer.pub"),
        "--host-id",
        "restored",
      ];
      const root = ["--project-root", path("roots/restored"), "--supervisor", "systemd", "--stays-up", "0s"];
      const secrets = { ...harbour.host, ...past.systemctl("restored") };
      const deployed = await programs.run("deploy-project", [...args, ...root], secrets);
      t.match(deployed, { version: "2.2.0" }, `its keys work at ${hubUrl}`);
    },
  );

for (const release of PAST_RELEASES)
  t.test(
    `a mirror serves what the cache of ${release} holds, and fetches nothing`,
    { skip: needs("tar") },
    async (t) => {
      const past = await unpackPast(t, release);
      const { programs, path, clock, hub_url: hubUrl, harbour } = past;
      await past.serve();
      const caching = ["--cache-dir", path("mirror"), "--listen", "127.0.0.1:0"];
      const mirror = await programs.serve("sealift", ["mirror", "serve", "--hub-url", hubUrl, ...caching], clock);
      const held = (await readdir(path("mirror/artifacts"))).filter((name) => /^[0-9a-f]{64}$/.test(name));
      t.ok(held.length > 0);
      const args = ["--project-id", harbour.id, "--version", "1.2.0", "--signer-public-key", path("keys/signer.pub")];
      const root = [
        "--project-root",
        path("roots/near"),
        "--host-id",
        "near",
        "--supervisor",
        "systemd",
        "--stays-up",
        "0s",
      ];
      const secrets = { ...harbour.host, ...past.systemctl("near") };
      const deployed = programs.run("deploy-project", [...args, ...root, "--mirror", mirror], secrets);
      t.match(await deployed, { version: "1.2.0" });
      t.same(
        (await readdir(path("mirror/artifacts"))).filter((name) => /^[0-9a-f]{64}$/.test(name)),
        held,
      );
    },
  );
