// Only in test:all: a backup is damaged in each of its parts.
import { createHash, randomBytes } from "node:crypto";
import { cp, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { crc32, gunzipSync, gzipSync } from "node:zlib";
import t, { type Test } from "tap";
import { publicKeyOf } from "../../../../lib/artifact/signatures/ed25519.ts";
import type { SealiftError } from "../../../../lib/contract/errors.ts";
import { backupHub, type CopyOptions, restoreHub } from "../../../../lib/hub/backup/backup.ts";
import type { BackupTrust } from "../../../../lib/hub/backup/manifest.ts";
import type { Omission } from "../../../../lib/hub/backup/omissions.ts";
import { verifyBackup } from "../../../../lib/hub/backup/verify.ts";
import { FEATURES } from "../../../../lib/hub/features.ts";
import { CopiedTables } from "../../../../lib/hub/records/copy.ts";
import { tablesOf } from "../../../../lib/hub/records/schema.ts";
import { IS_NIGHTLY } from "../../../support/effort.ts";
import { filledHub } from "../../../support/hub/filled-hub.ts";

type Line = [table: string, row: Record<string, unknown>, check: number];

const tables = new CopiedTables(tablesOf(FEATURES));
const seed = randomBytes(32);
const publicKey = publicKeyOf(seed);
/** Every field of every kind of record takes minutes: at each change it is a few of each. */
const IS_WHOLE = IS_NIGHTLY;

interface Backup {
  folder: string;
  /** A fresh copy of the backup, to be damaged. */
  copy(): Promise<string>;
}

/** A signed backup of a hub that holds something of everything. */
async function backedUp(t: Test): Promise<Backup> {
  const folder = t.testdir();
  const { hub, project } = await filledHub(t, join(folder, "hub"));
  await hub.call("POST", `/app/marketplace/plugins/tide/grants`, { json: { owner: "bob" } });
  const target = join(folder, "backup");
  await backupHub({ hooks: FEATURES, dataDir: hub.dataDir }, target, { seed });
  t.ok(project.id);
  let count = 0;
  return {
    folder: target,
    async copy() {
      const copy = join(folder, `copy-${count++}`);
      await cp(target, copy, { recursive: true });
      return copy;
    },
  };
}

const recordsOf = (folder: string) => join(folder, "records.ndjson.gz");

async function linesOf(folder: string): Promise<Line[]> {
  const text = gunzipSync(await readFile(recordsOf(folder))).toString();
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Line);
}

/** Writes other records into a backup, as somebody would who knows the format, and has no key. */
async function forge(folder: string, lines: Line[]): Promise<void> {
  const text = lines
    .map(([table, row]) => JSON.stringify([table, row, crc32(JSON.stringify([table, row]))]))
    .join("\n");
  const bytes = gzipSync(`${text}\n`);
  await writeFile(recordsOf(folder), bytes);
  const manifest = JSON.parse(await readFile(join(folder, "backup.json"), "utf8")) as { records: { sha256: string } };
  manifest.records.sha256 = createHash("sha256").update(bytes).digest("hex");
  await writeFile(join(folder, "backup.json"), JSON.stringify(manifest));
}

/** Restores a copy. @returns its error, or what it left out */
async function outcomeOf(
  folder: string,
  trust: BackupTrust,
  options: CopyOptions = {},
): Promise<{ error?: SealiftError; omissions: Omission[] }> {
  const omissions: Omission[] = [];
  const dataDir = `${folder}-restored`;
  try {
    await restoreHub(
      folder,
      { hooks: FEATURES, dataDir },
      { ...options, trust, onOmission: (each) => omissions.push(each) },
    );
    return { omissions };
  } catch (error) {
    return { error: error as SealiftError, omissions };
  } finally {
    await rm(dataDir, { recursive: true, force: true });
  }
}

t.test("a signed backup that was changed is refused, whatever was changed", async (t) => {
  const backup = await backedUp(t);
  t.match(await outcomeOf(backup.folder, publicKey), { error: undefined, omissions: [] });
  const stranger = publicKeyOf(randomBytes(32));
  t.match(await outcomeOf(backup.folder, stranger), { error: { code: "signer_untrusted" } });

  const manifest = JSON.parse(await readFile(join(backup.folder, "backup.json"), "utf8")) as Record<string, unknown>;
  const changed = async (facts: object, code: string) => {
    const copy = await backup.copy();
    await writeFile(join(copy, "backup.json"), JSON.stringify({ ...manifest, ...facts }));
    t.match(await outcomeOf(copy, publicKey), { error: { code } }, JSON.stringify(facts));
  };
  await changed({ signed: undefined }, "signature_missing");
  await changed(
    { signed: { public_key: Buffer.from(publicKey).toString("hex"), signature: "AAAA" } },
    "signature_invalid",
  );
  for (const facts of [
    { created_at: "2026-01-01T00:00:00.000Z" },
    { schema: [] },
    { records: {} },
    { artifacts: { count: 0, bytes: 0 } },
    { left_out: [{ table: "artifacts", id: "x", reason: "deleted", fault: "" }] },
    { more: 1 },
  ])
    await changed(facts, "signature_invalid");

  const forged = await backup.copy();
  const lines = await linesOf(forged);
  await forge(
    forged,
    lines.filter(([table]) => table !== "grants"),
  );
  t.match(await outcomeOf(forged, publicKey), { error: { code: "signature_invalid" } });
  await cp(join(backup.folder, "backup.json"), join(forged, "backup.json"));
  t.match(await outcomeOf(forged, publicKey), { error: { code: "digest_mismatch" } }, "a record is missing");
});

t.test("a damaged record or artifact is named, and left out where a person says so", async (t) => {
  const backup = await backedUp(t);
  const lines = await linesOf(backup.folder);
  const artifact = lines.find(([table]) => table === "blobs")!;
  const id = artifact[1]["id"] as string;

  const flipped = await backup.copy();
  const broken = lines.map((line): Line =>
    line === artifact ? [line[0], { ...line[1], size_bytes: 1 }, line[2]] : line,
  );
  await writeFile(recordsOf(flipped), gzipSync(broken.map((line) => `${JSON.stringify(line)}\n`).join("")));
  const whole = await outcomeOf(flipped, "unsigned");
  t.match(whole.error, { code: "record_damaged" });
  t.match(whole.error?.message, id);
  const rest = await outcomeOf(flipped, "unsigned", { skipDamaged: true });
  t.equal(rest.error, undefined);
  t.match(rest.omissions, [
    { table: "blobs", id, reason: "damaged" },
    { table: "sealed", id, reason: "orphaned" },
    { table: "records" },
    { table: "versions", id, reason: "orphaned" },
  ]);

  const blob = (folder: string) => join(folder, "blobs", id.slice(-2), id);
  for (const damage of [
    (path: string) => rm(path),
    (path: string) => writeFile(path, "short"),
    async (path: string) => {
      const bytes = await readFile(path);
      bytes[7]! ^= 1;
      await writeFile(path, bytes);
    },
  ]) {
    const copy = await backup.copy();
    await damage(blob(copy));
    const found = await outcomeOf(copy, publicKey);
    t.match(found.error, { code: "record_damaged" });
    t.match(found.error?.message, id);
    const { error, omissions } = await outcomeOf(copy, publicKey, { skipDamaged: true });
    t.equal(error, undefined);
    // Blobs are copied several at a time: rows behind a damaged one may have passed already, and go when read again.
    const left = omissions.map(({ table, id: of, reason }) => `${reason} ${table} ${of}`).toSorted();
    t.strictSame(left, [`damaged blobs ${id}`, `orphaned sealed ${id}`, `orphaned versions ${id}`]);
    const findings: unknown[] = [];
    const onFinding = (finding: unknown) => findings.push(finding);
    await verifyBackup(copy, { trust: publicKey, hooks: FEATURES }, { quick: false, onFinding });
    t.match(findings, [{ table: "blobs", id }]);
  }

  for (const part of [0.3, 0.9]) {
    const copy = await backup.copy();
    const bytes = await readFile(recordsOf(copy));
    await writeFile(recordsOf(copy), bytes.subarray(0, Math.floor(bytes.length * part)));
    t.match(await outcomeOf(copy, "unsigned"), { error: { code: "record_damaged" } });
    t.equal((await outcomeOf(copy, "unsigned", { skipDamaged: true })).error, undefined, "what is left is taken");
  }
});

/** Values that few fields have. */
const WRONG: readonly unknown[] = ["../../../PWNED", "a\0b", -1, 2 ** 60, "", null, true, { a: 1 }, "\u2028"];

t.test("a forged field of any kind of record is refused, or stored as a mere text", async (t) => {
  const backup = await backedUp(t);
  const lines = await linesOf(backup.folder);
  const neighbours = async () => (await readdir(join(backup.folder, ".."))).filter((name) => !name.startsWith("copy"));
  const before = await neighbours();
  let tried = 0;
  for (const table of tables.names) {
    const index = lines.findIndex(([name]) => name === table);
    if (index === -1) continue;
    const fields = Object.keys(tables.table(table).rows.shape);
    for (const field of IS_WHOLE ? fields : [fields[tried % fields.length]!]) {
      for (const value of IS_WHOLE ? WRONG : [WRONG[tried++ % WRONG.length]]) {
        const copy = await backup.copy();
        const [name, row] = lines[index]!;
        await forge(copy, lines.with(index, [name, { ...row, [field]: value }, 0]));
        const { error } = await outcomeOf(copy, "unsigned");
        // A line separator in a title would end the test's line.
        const what = `${table}.${field} = ${encodeURIComponent(JSON.stringify(value))}`;
        // A nullable or free text takes many of them, a counter a large number.
        if (error === undefined) t.ok(value === null || typeof value !== "object", what);
        else t.equal(error.code, "record_damaged", what);
        const skipped = await outcomeOf(copy, "unsigned", { skipDamaged: true });
        t.equal(skipped.error, undefined, what);
        await rm(copy, { recursive: true });
      }
    }
  }
  t.strictSame(await neighbours(), before, "nothing was written elsewhere");
});

t.test("each field is held against its rule", (t) => {
  for (const table of tables.names) {
    // A row with one field alone has its fault there, and lacks the others else.
    const { rows } = tables.table(table);
    const some = rows.partial();
    for (const field of Object.keys(rows.shape)) {
      const refuses = (value: unknown): boolean =>
        some.safeParse({ [field]: value }).error?.issues[0]?.path[0] === field;
      t.ok(refuses(WRONG[1]), `${table}.${field} takes no NUL`);
      t.ok(refuses(WRONG[7]), `${table}.${field} takes no object`);
    }
    t.ok(tables.faultOf({ table, row: {} }, tables.version), `${table} needs its fields`);
    t.notOk(some.safeParse({ more: 1 }).success, `${table} has no others`);
  }
  for (const table of ["versions", "blobs", "sealed"] as const)
    t.notOk(tables.table(table).rows.partial().safeParse({ id: "../../../PWNED" }).success, table);
  t.end();
});

t.test("a backup that was killed leaves nothing behind for long, and two do not run at once", async (t) => {
  const folder = t.testdir();
  const { hub } = await filledHub(t, join(folder, "hub"));
  const incoming = join(folder, "backup", "blobs", "incoming");
  await mkdir(incoming, { recursive: true });
  await writeFile(join(incoming, "0123.part"), "half");
  const storage = { hooks: FEATURES, dataDir: hub.dataDir };
  const both = await Promise.allSettled([1, 2].map(() => backupHub(storage, join(folder, "backup"), { seed })));
  t.strictSame(both.map(({ status }) => status).sort(), ["fulfilled", "rejected"]);
  t.strictSame(await readdir(incoming), []);
  const interrupted = backupHub(storage, join(folder, "other"), { seed, signal: AbortSignal.abort() });
  await t.rejects(interrupted, { name: "AbortError" });
});
