import { setTimeout as sleep } from "node:timers/promises";
import { sql } from "kysely";
import type pg from "pg";
import { CHANGES_CHANNEL } from "./migrations.ts";
import type { Database, Dialect, Transacted } from "./port.ts";
import { socketOf } from "./silence.ts";

/** Interval of a hub on SQLite, which announces no changes, in milliseconds. */
const TICK_MS = 250;
const PAGE = 500;
/** Interval of checks that the listening connection to PostgreSQL is alive, in milliseconds. */
const PULSE_MS = 15_000;
const ANSWER_MS = 5000;
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 30_000;

const NEWEST = "SELECT COALESCE(MAX(number), 0) AS number FROM changes";
const SINCE = `SELECT number, project_id FROM changes WHERE number > ? ORDER BY number LIMIT ${PAGE}`;

/** Listener of a change feed. */
export interface ChangeListener {
  /** Called when a project, plugin or service may answer "latest" differently. @param projectId id of its row */
  changed(projectId: string): void;
  /** Called when changes may have been missed: any project may answer differently. */
  missed(): void;
  /** Called when the database cannot be listened to; the feed retries. */
  failed(error: unknown): void;
  /** Called when it can be, at first and after a failure. */
  works(): void;
}

/**
 * Reports every committed change of the answers to "latest", by any hub of the database: on PostgreSQL through
 * notifications, on SQLite by polling a counter.
 *
 * @returns a function that closes the feed
 */
export function openChangeFeed(database: Database, listener: ChangeListener): () => Promise<void> {
  const ending = new AbortController();
  const work = database.dialect === "postgres" ? listen : look;
  const done = work(database, listener, ending.signal);
  return async () => {
    ending.abort();
    await done;
  };
}

/** Announces that a target may answer some host differently, although no column of its row has changed. */
export async function announceChange(transaction: Transacted, dialect: Dialect, projectId: string): Promise<void> {
  if (dialect === "postgres") {
    await sql`select pg_notify(${CHANGES_CHANNEL}, ${projectId})`.execute(transaction);
    return;
  }
  // As the trigger of that table does it (migrations.ts).
  await sql`delete from changes where project_id = ${projectId}`.execute(transaction);
  await sql`insert into changes (project_id) values (${projectId})`.execute(transaction);
}

const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  sleep(ms, undefined, { signal, ref: false }).catch(() => {});

async function look({ statements }: Database, listener: ChangeListener, signal: AbortSignal): Promise<void> {
  let seen: number | undefined;
  let hasFailed: boolean | undefined;
  while (!signal.aborted) {
    try {
      seen ??= Number((await statements.first(NEWEST, []))?.["number"]);
      const rows = await statements.all(SINCE, [seen]);
      for (const { number, project_id: id } of rows) {
        listener.changed(id as string);
        seen = Number(number);
      }
      if (hasFailed !== false) listener.works();
      hasFailed = false;
      if (rows.length === PAGE) continue;
    } catch (error) {
      if (hasFailed !== true) listener.failed(error);
      hasFailed = true;
    }
    await pause(TICK_MS, signal);
  }
}

async function listen({ location }: Database, listener: ChangeListener, signal: AbortSignal): Promise<void> {
  const { Client } = (await import("pg")).default;
  for (let failures = 0; !signal.aborted; failures++) {
    const client = new Client({
      connectionString: location,
      connectionTimeoutMillis: ANSWER_MS,
      query_timeout: ANSWER_MS,
      keepAlive: true,
      application_name: "sealift-hub-changes",
    });
    // A server that hangs would not answer a proper goodbye.
    const cut = (): void => void socketOf(client).destroy();
    signal.addEventListener("abort", cut, { once: true });
    try {
      await hearUntilLost(client, listener, signal, () => (failures = 0));
    } catch (error) {
      if (!signal.aborted && failures === 0) listener.failed(error);
    } finally {
      signal.removeEventListener("abort", cut);
      cut();
    }
    const longest = Math.min(FIRST_PAUSE_MS * 2 ** Math.min(failures, 10), LONGEST_PAUSE_MS);
    await pause(longest * (0.5 + Math.random() / 2), signal);
  }
}

/** Passes notifications on until the connection is lost, or the signal is aborted. */
async function hearUntilLost(
  client: pg.Client,
  listener: ChangeListener,
  signal: AbortSignal,
  onHearing: () => void,
): Promise<void> {
  const lost = Promise.withResolvers<never>();
  lost.promise.catch(() => {});
  client.on("error", lost.reject);
  client.on("end", () => lost.reject(new Error("the connection that listens for changes has ended")));
  client.on("notification", ({ payload }) => {
    if (payload) listener.changed(payload);
  });
  await Promise.race([client.connect(), lost.promise]);
  await client.query(`LISTEN ${CHANGES_CHANNEL}`);
  onHearing();
  listener.works();
  listener.missed();
  while (!signal.aborted) {
    await Promise.race([pause(PULSE_MS, signal), lost.promise]);
    if (!signal.aborted) await client.query("SELECT 1");
  }
}
