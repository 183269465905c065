import type { Owned, Principal } from "./principal.ts";
import { isAdministrator, may } from "./principal.ts";

/**
 * Rules about which projects, plugins and services a key may act on and see: in TypeScript for one of them, in SQL for
 * lists and polls. There, `k` is a live key or a row of nulls, and `p` a project, plugin or service.
 */

/**
 * Tells whether a key may act on a project, plugin or service: its own if it is bound to one, else its owner's; all for
 * an administrator.
 */
export function controls(principal: Principal, thing: Owned): boolean {
  if (principal.projectId !== null) return principal.projectId === thing.id;
  return principal.owner === thing.owner || isAdministrator(principal);
}

/**
 * Tells whether a key that acts on a target sees a staged version of it: its stager and possible approvers do.
 *
 * @param stager id of the key that staged it; null if unknown
 */
export const seesStaged = (principal: Principal, stager: string | null): boolean =>
  principal.keyId === stager || may(principal, "publish");

/** Returns the filter for a list of projects that a key controls: one id, one owner, or none. */
export function controlled(principal: Principal): { owner: string | undefined; id: string | null } {
  if (principal.projectId !== null) return { owner: undefined, id: principal.projectId };
  return { owner: isAdministrator(principal) ? undefined : principal.owner, id: null };
}

/** {@link controls} as an SQL condition. */
export const CONTROLS = `CASE WHEN k.project_id IS NOT NULL THEN k.project_id = p.id
    ELSE k.owner = p.owner OR ' ' || k.scopes || ' ' LIKE '% admin %' END`;

/**
 * SQL condition of visibility: true for a public target; for a private one, true for keys that control it, and for keys
 * of its owner and of granted owners. A key bound to another plugin or service sees only that one; a key bound to a
 * project sees what its owner sees.
 */
export const VISIBLE = `(p.visibility = 'public' OR (k.id IS NOT NULL AND (${CONTROLS}
    OR ((k.project_id IS NULL OR k.project_id LIKE 'prj%') AND (k.owner = p.owner
      OR EXISTS (SELECT 1 FROM grants g WHERE g.target_id = p.id AND g.grantee = k.owner))))))`;
