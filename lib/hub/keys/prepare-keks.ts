import { link, readdir, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { usageError } from "../../contract/errors.ts";
import { statsOf, syncFolder } from "../../support/files.ts";
import { findKeks, registerFirstKek } from "../records/keks.ts";
import type { Database } from "../records/port.ts";
import { newKek, writeKekFile } from "./kek-file.ts";
import { foreignKeks, type KekSource } from "./kek-source.ts";

/** The hub that made the KEK puts its file in place right after it has registered it. */
const OTHER_HUB_WAIT_MS = 5000;
const POLL_MS = 50;

const pendingOf = (path: string, kekId: string) => `${path}.${kekId}.pending`;

/** Puts a registered KEK's file in its place, durably, unless another hub has done so. */
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

/** Finishes what a crash, or another hub, has left between the registration of a KEK and the appearance of its file. */
async function adoptPending(path: string, registered: ReadonlySet<string>): Promise<void> {
  const prefix = `${basename(path)}.`;
  for (const name of await readdir(dirname(path))) {
    const kekId =
      name.startsWith(prefix) && name.endsWith(".pending") ? name.slice(prefix.length, -".pending".length) : "";
    if (registered.has(kekId)) return putInPlace(join(dirname(path), name), path);
  }
}

/**
 * Makes sure that the keys and the database belong together, and gives a new hub a KEK file: registered in the database
 * before it is put in place, so that of several hubs that start at once one makes the KEK.
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

/** @throws UsageError `credential_unreadable` when the database has been used with other keys only */
async function requireKnown(source: KekSource, database: Database, now: number): Promise<void> {
  const keks = await source.read();
  const newest = keks.at(-1)!;
  if (await registerFirstKek(database, newest.id, new Date(now).toISOString())) return;
  const registered = await findKeks(database.kysely);
  if (keks.some(({ id }) => registered.has(id))) return;
  throw foreignKeks(source);
}
