import { link, readdir, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { usageError } from "../../contract/errors.ts";
import { statsOf, syncFolder } from "../../support/files.ts";
import { findKeks, registerFirstKek } from "../records/keks.ts";
import type { Database } from "../records/port.ts";
import { newKek, writeKekFile } from "./kek-file.ts";
import { foreignKeks, type KekSource } from "./kek-source.ts";

/** Time to wait for the hub that made the KEK to put its file in place, in milliseconds. */
const OTHER_HUB_WAIT_MS = 5000;
const POLL_MS = 50;

const pendingOf = (path: string, kekId: string) => `${path}.${kekId}.pending`;

/** Moves a registered KEK's file into place, durably, unless another hub has done so. */
async function putInPlace(pending: string, path: string): Promise<void> {
  try {
    await link(pending, path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== "EEXIST" && !(code === "ENOENT" && (await statsOf(path)) !== undefined)) throw error;
  }
  await rm(pending, { force: true });
  await syncFolder(dirname(path));
}

/** Completes what a crash or another hub left unfinished between registering a KEK and moving its file into place. */
async function adoptPending(path: string, registered: ReadonlySet<string>): Promise<void> {
  const prefix = `${basename(path)}.`;
  for (const name of await readdir(dirname(path))) {
    const kekId =
      name.startsWith(prefix) && name.endsWith(".pending") ? name.slice(prefix.length, -".pending".length) : "";
    if (registered.has(kekId)) return putInPlace(join(dirname(path), name), path);
  }
}

/**
 * Requires that keys and database belong together, and makes the KEK of a new hub. The KEK is registered in the
 * database before its file appears, so that of several hubs starting at once only one makes it.
 *
 * @throws UsageError `credential_unreadable` for keys that are missing, or that the database has never seen
 */
export async function prepareKeks(source: KekSource, database: Database, now: number): Promise<void> {
  const { path } = source;
  const db = database.kysely;
  if (path === undefined || (await statsOf(path)) !== undefined) return requireKnown(source, database, now);
  const registered = await findKeks(db);
  if (registered.size === 0) {
    const kek = newKek(now);
    const pending = pendingOf(path, kek.id);
    await writeKekFile(pending, [kek]);
    if (await registerFirstKek(database, kek.id, new Date(now).toISOString())) return putInPlace(pending, path);
    await rm(pending, { force: true });
  }
  // Another hub has made the KEK, now or long ago.
  await adoptPending(path, await findKeks(db));
  const waitMs = registered.size === 0 ? OTHER_HUB_WAIT_MS : 0;
  for (const until = performance.now() + waitMs; ; await sleep(POLL_MS)) {
    if ((await statsOf(path)) !== undefined) return requireKnown(source, database, now);
    if (performance.now() >= until) throw missing(path);
  }
}

const missing = (path: string) =>
  usageError("credential_unreadable", `The KEK file ${path} is missing, and the database needs its keys.`, {
    hint: "Restore the file from its backup, copy it from the hub that has it, or name it with --kek-file.",
  });

/** Requires that the database knows one of the keys. @throws UsageError `credential_unreadable` */
async function requireKnown(source: KekSource, database: Database, now: number): Promise<void> {
  const keks = await source.read();
  const newest = keks.at(-1)!;
  if (await registerFirstKek(database, newest.id, new Date(now).toISOString())) return;
  const registered = await findKeks(database.kysely);
  if (keks.some(({ id }) => registered.has(id))) return;
  throw foreignKeks(source);
}
