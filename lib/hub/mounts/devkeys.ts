import * as keys from "../../contract/keys/routes.ts";
import * as projects from "../../contract/projects/routes.ts";
import { type ApiKeyRecord, DEFAULT_SCOPES } from "../../contract/surfaces/keys.ts";
import { audited } from "../access/audit.ts";
import type { MountOptions } from "../access/authentication.ts";
import { endsToGive, grantableKey, mayEnd, renewedExpiry, viewOf } from "../access/key-rights.ts";
import { addProject, type NameParts, newProject, requireFreeName } from "../access/new-project.ts";
import { serve, type Served } from "../access/serve.ts";
import { conflict, forbidden, keyRejected, notFound } from "../base/errors.ts";
import { isAdministrator, type Principal, requireScope } from "../base/principal.ts";
import { controlled, controls } from "../base/rights.ts";
import { pageOf } from "../http/documentation.ts";
import { ADMIN_KEY } from "../records/administrator.ts";
import { endsOfKey, isRunEnd } from "../records/ends.ts";
import { listKeys } from "../records/key-lists.ts";
import {
  findVisibleKey,
  type IssuedKey,
  issueKey,
  type Key,
  principalOfKey,
  replaceKey,
  revokeKey,
} from "../records/keys.ts";
import type { Locked } from "../records/locked.ts";
import { findProject, listProjects, projectRecord } from "../records/projects.ts";

/** Seconds for which a rotated key still works. */
const GRACE_SECONDS = 86_400;

/** Returns the record of a new key with its secrets, which are never shown again. */
const shownOnce = ({ record, key, credential }: IssuedKey) => ({
  ...{ ...record, key },
  ...(credential !== undefined && { deployment_credential: credential }),
});

/** Requires a key that is not revoked and has not expired. @param now ISO 8601 @throws HubError 409 */
function requireLive({ revoked_at, expires_at }: Pick<ApiKeyRecord, "revoked_at" | "expires_at">, now: string): void {
  if (revoked_at !== null || (expires_at !== null && expires_at <= now))
    throw conflict("The key has ended; create another one.");
}

/**
 * Requires that a key may take the place of another one. Whoever asks sees the new key, and could approve as somebody
 * else what they have staged themselves.
 *
 * @throws HubError 403, 409
 */
function requireReplaceable<In>(caller: Locked<Key, In>, old: Locked<Key, In>): void {
  const ends = endsOfKey(old);
  if (ends.some(isRunEnd)) throw conflict("The key of a workflow run is not replaced: the next run gets its own.");
  const publishes = principalOfKey(old).scopes.difference(new Set(["keys", ...DEFAULT_SCOPES])).size > 0;
  if (publishes && !isAdministrator(principalOfKey(caller)) && !endsOfKey(caller).every((end) => ends.includes(end)))
    throw forbidden("The key is somebody else's: it replaces itself, or an administrator does. You may revoke it.");
}

/** Routes of API keys and projects (docs/contract/keys.md). */
export function devkeys({ hub }: MountOptions<NameParts>): readonly Served[] {
  const db = hub.database.kysely;

  /** Returns a key that the caller may revoke: its own, or one that it could have created. */
  async function changeable(principal: Principal, id: string) {
    if (id !== principal.keyId) requireScope(principal, "keys");
    const key = await findVisibleKey(db, viewOf(principal), id);
    if (key === undefined) throw notFound("There is no such key.");
    if (!mayEnd(principal, key)) throw forbidden("The key has scopes that yours lacks.");
    return key;
  }

  return [
    serve(keys.createKey, async (request, principal) => {
      const wanted = grantableKey(principal, request.body, hub.now());
      const project = wanted.projectId === null ? undefined : await findProject(db, wanted.projectId);
      if (wanted.projectId !== null && (project === undefined || !controls(principal, project))) {
        throw notFound("There is no such project.");
      }
      const issued = await audited(
        hub,
        request,
        { principal, projectIds: [wanted.projectId] },
        async (transaction, tell, { caller, targets: [target] }) => {
          const { projectId: _, ...rights } = grantableKey(principalOfKey(caller), request.body, hub.now());
          const made = { ...rights, ownedAs: caller, project: target, ends: endsToGive(caller, request.body) };
          const key = await issueKey(transaction, made, hub.clock());
          const { id: subject, owner, scopes, project_id, host, expires_at } = key.record;
          const { acts_for } = request.body;
          const more = { ...(host && { host }), ...(acts_for !== undefined && { acts_for }) };
          const facts = { owner, scopes: scopes.join(" "), project_id, ...more, expires_at };
          await tell({ action: "key.create", subject, facts });
          return key;
        },
      );
      return shownOnce(issued);
    }),

    serve(keys.showOwnKey, async (_request, { keyId, owner }) => {
      const found = await findVisibleKey(db, { owner, projectId: null }, keyId);
      if (found === undefined) throw keyRejected();
      return found;
    }),

    serve(keys.listKeys, async (request, principal) => {
      const asked = { state: request.query.state, now: hub.clock() };
      return pageOf(request.query, { by: "id" }, (range) => listKeys(db, viewOf(principal), asked, range));
    }),

    serve(keys.revokeKey, async (request, principal) => {
      const { id } = request.params;
      const key = await changeable(principal, id);
      await audited(hub, request, { principal, projectIds: [key.project_id] }, async (transaction, tell) => {
        const hasChanged = await revokeKey(transaction, id, hub.now());
        if (hasChanged) await tell({ action: "key.revoke", subject: id, facts: { owner: key.owner } });
      });
    }),

    serve(keys.rotateKey, async (request, principal) => {
      const { id } = request.params;
      const seen = await changeable(principal, id);
      requireLive(seen, hub.now());
      if (id === ADMIN_KEY) throw conflict("The administrator's first key is renewed by `sealift hub admin-key`.");
      const authority = { principal, projectIds: [seen.project_id], keyIds: [id] } as const;
      const issued = await audited(hub, request, authority, async (transaction, tell, { caller, targets, keys }) => {
        const [old] = keys;
        const now = hub.now();
        if (old === undefined) throw notFound("There is no such key.");
        requireLive(old, now);
        requireReplaceable(caller, old);
        const ends = new Date(hub.clock() + (request.body?.grace_seconds ?? GRACE_SECONDS) * 1000).toISOString();
        const expiresAt = renewedExpiry(principalOfKey(caller), old, now);
        const key = await replaceKey(transaction, old, { project: targets[0], expiresAt, endsAt: ends }, hub.clock());
        await tell({ action: "key.rotate", subject: id, facts: { owner: old.owner, new_key: key.record.id, ends } });
        return key;
      });
      return shownOnce(issued);
    }),

    serve(projects.createProject, async (request, principal) => {
      const project = newProject(request.body, principal.owner, hub.clock());
      const { id: subject, owner } = project;
      const rule = { names: hub.names, viewer: { owner, isAdministrator: isAdministrator(principal) } };
      return audited(hub, request, { principal, projectIds: [] }, async (transaction, tell) => {
        if (request.body.same_name !== true) await requireFreeName(transaction, project);
        const { project: added, seen, facts } = await addProject(transaction, project, rule);
        await tell({ action: "project.create", subject, facts });
        return { ...projectRecord(added), ...seen };
      });
    }),

    serve(projects.listProjects, async (request, principal) => {
      return pageOf(request.query, { by: "id" }, (range) => listProjects(db, controlled(principal), range));
    }),
  ];
}
