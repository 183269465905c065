import { type Principal, scopesOf } from "../base/principal.ts";
import { CONTROLS } from "../base/rights.ts";
import { joinPollingHost, POLLING_HOST, type PollingHost, pollingHostOf } from "./polling-host.ts";
import type { PreparedStatements } from "./port.ts";

/** Columns of a key that decide whether it is live, and its rights. */
export const KEY_COLUMNS =
  "k.id AS key_id, k.owner, k.scopes, k.project_id AS bound_to, k.host AS own_host, k.expires_at, k.revoked_at";

const KEY = `SELECT ${KEY_COLUMNS} FROM api_keys k WHERE k.hash = ?`;

const REMOVED = "SELECT k.host FROM api_keys k WHERE k.hash = ? AND k.host IS NOT NULL AND k.revoked_at IS NOT NULL";

const SESSION = `SELECT ${KEY_COLUMNS}, s.project_id, s.expires_at AS session_expires_at, p.latest_version, p.gate,
    p.root_version, p.settings_version, ${POLLING_HOST}
  FROM sessions s JOIN api_keys k ON k.id = s.key_id JOIN projects p ON p.id = s.project_id AND ${CONTROLS}
  ${joinPollingHost("''", "p.id")} WHERE s.hash = ?`;

export interface KeyRow {
  key_id: string;
  owner: string;
  scopes: string;
  bound_to: string | null;
  own_host: string | null;
  expires_at: string | null;
  revoked_at: string | null;
}

interface SessionRow extends KeyRow {
  project_id: string;
  session_expires_at: string;
  latest_version: string | null;
  gate: string | null;
  root_version: number | null;
  settings_version: number | null;
}

/** Live session, with the answer to the request that most sessions make. */
export interface Session {
  principal: Principal;
  projectId: string;
  latestVersion: string | null;
  /** The gate, as JSON. */
  gate: string | null;
  /** Newest version of the trust root that the project follows; null for none. */
  rootVersion: number | null;
  /** Number that grows with each upload of settings; null before the first. */
  settingsVersion: number | null;
  /** Polling host, where there is a gate and the host is in the project's view. */
  host: PollingHost | undefined;
}

/** Returns the key in a row, or undefined when it is revoked or has expired at `now` (ISO 8601). */
export function principalOf(row: KeyRow, now: string): Principal | undefined {
  if (row.revoked_at !== null || (row.expires_at !== null && row.expires_at <= now)) return undefined;
  return {
    keyId: row.key_id,
    owner: row.owner,
    scopes: scopesOf(row.scopes),
    projectId: row.bound_to,
    host: row.own_host,
    expiresAt: row.expires_at,
  };
}

/** Finds the live key with this hash: one indexed read. */
export async function findKey(
  statements: PreparedStatements,
  hash: string,
  now: string,
): Promise<Principal | undefined> {
  const row = (await statements.first(KEY, [hash])) as KeyRow | undefined;
  return row === undefined ? undefined : principalOf(row, now);
}

/** Returns the only host that a revoked key spoke for; undefined for any other key. */
export async function findRemovedHost(statements: PreparedStatements, hash: string): Promise<string | undefined> {
  return ((await statements.first(REMOVED, [hash])) as { host: string } | undefined)?.host;
}

/**
 * Finds the live session with this hash, its live key, and its project's latest version: one indexed statement. None
 * for a project that has gone to another owner.
 *
 * @param now ISO 8601 @param hostId of the polling host, if it names itself
 */
export async function findSession(
  statements: PreparedStatements,
  hash: string,
  now: string,
  hostId: string | undefined,
): Promise<Session | undefined> {
  const found = await statements.first(SESSION, [hostId ?? null, hash]);
  const row = found as SessionRow | undefined;
  if (row === undefined || row.session_expires_at <= now) return undefined;
  const principal = principalOf(row, now);
  if (principal === undefined) return undefined;
  const { project_id: projectId, latest_version: latestVersion, gate } = row;
  const { root_version: rootVersion, settings_version: settingsVersion } = row;
  const host = pollingHostOf(found!);
  return { principal, projectId, latestVersion, gate, rootVersion, settingsVersion, host };
}
