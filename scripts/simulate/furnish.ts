/** Database of a simulation, and its content before a plan is played. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sql } from "kysely";
import { newProject } from "../../lib/hub/access/new-project.ts";
import { FEATURES } from "../../lib/hub/features.ts";
import { openDatabase } from "../../lib/hub/records/database.ts";
import type { Database } from "../../lib/hub/records/port.ts";
import { insertProject, type Project } from "../../lib/hub/records/projects.ts";
import type { Plan } from "./plan.ts";

/** Slug of the plugin, and name of the project. */
export const SLUG = "simulated";
/** Hash of the session shared by all hosts of surface B. That of a key is its owner's name. */
export const SESSION = "session";
const FAR = "2100-01-01T00:00:00.000Z";

/** Opens a database in memory where the system has such a folder: two connections cannot share SQLite's own. */
export async function openSimulated(): Promise<{ database: Database; close: () => Promise<void> }> {
  const folder = await mkdtemp(join("/dev/shm", "sealift-simulate-")).catch(() =>
    mkdtemp(join(tmpdir(), "sealift-simulate-")),
  );
  const database = await openDatabase({ hooks: FEATURES, dataDir: folder });
  const close = async (): Promise<void> => {
    await database.close();
    await rm(folder, { recursive: true, force: true });
  };
  return { database, close };
}

/** Makes the target and the keys of its owners, in an empty database. @returns the target */
export async function furnish(database: Database, plan: Plan, owners: readonly string[]): Promise<Project> {
  const { kysely } = database;
  for (const table of TABLES) await sql`delete from ${sql.table(table)}`.execute(kysely);
  const { kind, start } = plan;
  const at = new Date(start).toISOString();
  const target = newProject({ name: SLUG, kind, ...(kind === "plugin" && { slug: SLUG }) }, owners[0]!, start);
  await insertProject(kysely, target);
  for (const owner of owners) {
    const facts = {
      id: `key_${owner}`,
      name: owner,
      owner,
      scopes: "admin",
      project_id: null,
      host: null,
      prefix: "",
      hash: owner,
      acts_for: null,
    };
    const times = { expires_at: null, revoked_at: null, created_at: at, last_used_at: null };
    await kysely
      .insertInto("api_keys")
      .values({ ...facts, ...times })
      .execute();
  }
  const session = { hash: SESSION, key_id: `key_${owners[0]!}`, project_id: target.id, expires_at: FAR };
  await kysely.insertInto("sessions").values(session).execute();
  return target;
}

/** Tables in which a plan leaves rows, each before those that it refers to. */
const TABLES = [
  ...["audit", "reports", "hosts", "views", "rollouts", "deleted_versions", "versions"],
  ...["sessions", "api_keys", "projects"],
];
