import { join } from "node:path";
import type { Kysely } from "kysely";
import type { Database } from "../records/database.ts";
import { openDatabase } from "../records/database.ts";
import type { Schema } from "../records/schema.ts";
import { type Kek, newKek, readKekFile, withKekFileLock, writeKekFile } from "./kek-file.ts";
import { registerKeks } from "./keyring.ts";
import { dekContext, seal, secretContext, unseal } from "./sealing.ts";

/** Rows of one transaction: short enough that a publisher beside us does not notice. */
const BATCH = 200;

export interface RotateKekOptions {
  dataDir: string;
  databaseUrl?: string;
  /** Default `<dataDir>/kek.json`. */
  kekFile?: string;
  clock?: () => number;
}

export interface RotateKekResult {
  /** The KEK that seals from now on. */
  kekId: string;
  /** Rows that were sealed anew. */
  rewrapped: number;
  /** KEKs that no row named any more and that are gone from the file. */
  dropped: string[];
}

interface SealedRow {
  id: string;
  kekId: string;
  sealed: string;
  context: readonly string[];
}

/** A table of sealed secrets, as the rotation walks it: in key order, each row replaced only if it is still what was read. */
interface SealedTable {
  page(db: Kysely<Schema>, after: string): Promise<SealedRow[]>;
  replace(db: Kysely<Schema>, old: SealedRow, kekId: string, sealed: string): Promise<void>;
}

const artifacts: SealedTable = {
  async page(db, after) {
    const rows = await db
      .selectFrom("artifacts")
      .select(["id", "project_id", "kek_id", "sealed_dek"])
      .where("id", ">", after)
      .orderBy("id")
      .limit(BATCH)
      .execute();
    return rows.map(({ id, project_id, kek_id, sealed_dek }) => ({
      id,
      kekId: kek_id,
      sealed: sealed_dek,
      context: dekContext(project_id, id),
    }));
  },
  async replace(db, old, kekId, sealed) {
    await db
      .updateTable("artifacts")
      .set({ kek_id: kekId, sealed_dek: sealed })
      .where("id", "=", old.id)
      .where("sealed_dek", "=", old.sealed)
      .execute();
  },
};

const secrets: SealedTable = {
  async page(db, after) {
    const rows = await db
      .selectFrom("sealed_secrets")
      .select(["name", "kek_id", "sealed"])
      .where("name", ">", after)
      .orderBy("name")
      .limit(BATCH)
      .execute();
    return rows.map(({ name, kek_id, sealed }) => ({ id: name, kekId: kek_id, sealed, context: secretContext(name) }));
  },
  async replace(db, old, kekId, sealed) {
    await db
      .updateTable("sealed_secrets")
      .set({ kek_id: kekId, sealed })
      .where("name", "=", old.id)
      .where("sealed", "=", old.sealed)
      .execute();
  },
};

async function rewrap(database: Database, table: SealedTable, keks: Map<string, Kek>, target: Kek): Promise<number> {
  let rewrapped = 0;
  for (let after = ""; ;) {
    const page = await table.page(database.kysely, after);
    const last = page.at(-1);
    if (last === undefined) return rewrapped;
    const old = page.filter(({ kekId }) => kekId !== target.id);
    await database.kysely.transaction().execute(async (transaction) => {
      for (const row of old) {
        const kek = keks.get(row.kekId);
        if (kek === undefined) throw new Error(`a record names ${row.kekId}, which is not in the KEK file`);
        const { sealed } = seal(unseal(row, kek, row.context), target, row.context);
        await table.replace(transaction, row, target.id, sealed);
      }
    });
    rewrapped += old.length;
    after = last.id;
  }
}

async function named(db: Kysely<Schema>): Promise<Set<string>> {
  const rows = await db
    .selectFrom("artifacts")
    .select("kek_id")
    .union(db.selectFrom("sealed_secrets").select("kek_id"))
    .execute();
  return new Set(rows.map(({ kek_id }) => kek_id));
}

/**
 * Adds a KEK, seals every secret anew under it, and drops the KEKs that no row names any more. Safe beside a running hub: once
 * the old KEKs are retired in the database, no transaction of the hub can store a secret under one of them (`claimKek`), and a hub
 * that reads a row naming an unknown KEK reads the file, then the row, again. A rotation that was interrupted is completed by the
 * next one.
 */
export async function rotateKek(options: RotateKekOptions): Promise<RotateKekResult> {
  const clock = options.clock ?? Date.now;
  const path = options.kekFile ?? join(options.dataDir, "kek.json");
  // Before anything is opened: a wrong data dir must not become an empty hub.
  await readKekFile(path);
  const database = await openDatabase({
    dataDir: options.dataDir,
    ...(options.databaseUrl !== undefined && { url: options.databaseUrl }),
    onIdleError: () => {},
  });
  try {
    return await withKekFileLock(path, async () => {
      const before = await readKekFile(path);
      const added = newKek(clock());
      const all = [...before, added];
      await writeKekFile(path, all);

      const now = new Date(clock()).toISOString();
      await registerKeks(
        database.kysely,
        all.map(({ id }) => id),
        now,
      );
      await database.kysely
        .updateTable("keks")
        .set({ retired_at: now })
        .where("id", "!=", added.id)
        .where("retired_at", "is", null)
        .execute();

      const byId = new Map(all.map((kek) => [kek.id, kek]));
      let rewrapped = 0;
      for (const table of [artifacts, secrets]) rewrapped += await rewrap(database, table, byId, added);

      const inUse = await named(database.kysely);
      const kept = all.filter(({ id }) => id === added.id || inUse.has(id));
      await writeKekFile(path, kept);
      const dropped = all.filter((kek) => !kept.includes(kek)).map(({ id }) => id);
      return { kekId: added.id, rewrapped, dropped };
    });
  } finally {
    await database.close();
  }
}
