import type { Owned, Principal } from "./principal.ts";
import { isAdministrator, may } from "./principal.ts";

/**
 * The rules of whose things a key may act on, and of which targets it may see: for one thing in TypeScript, for lists
 * and for polls in SQL. There, `k` is a live key or a row of nulls, and `p` a project, plugin or service.
 */

/** Tells whether a key may act on a thing: on its own project's only, or on its owner's, an administrator on all. */
export function controls(principal: Principal, thing: Owned): boolean {
  if (principal.projectId !== null) return principal.projectId === thing.id;
  return principal.owner === thing.owner || isAdministrator(principal);
}

/**
 * Tells whether a key that acts on a thing sees a staged version of it: its stager, and those who may approve.
 *
 * @param stager id of the key that staged it; null where that is not known any more
 */
export const seesStaged = (principal: Principal, stager: string | null): boolean =>
  principal.keyId === stager || may(principal, "publish");

/** Limits a list of projects to those that a key controls: to one id, to one owner, or not at all. */
export function controlled(principal: Principal): { owner: string | undefined; id: string | null } {
  if (principal.projectId !== null) return { owner: undefined, id: principal.projectId };
  return { owner: isAdministrator(principal) ? undefined : principal.owner, id: null };
}

/** {@link controls} in SQL. */
export const CONTROLS = `CASE WHEN k.project_id IS NOT NULL THEN k.project_id = p.id
    ELSE k.owner = p.owner OR ' ' || k.scopes || ' ' LIKE '% admin %' END`;

/**
 * Visibility in SQL: a public target; a private one for keys that control it, and for those of its owner and of granted
 * owners. A key that is bound to another plugin or service sees only that one; one bound to a project sees what its
 * owner sees.
 */
export const VISIBLE = `(p.visibility = 'public' OR (k.id IS NOT NULL AND (${CONTROLS}
    OR ((k.project_id IS NULL OR k.project_id LIKE 'prj%') AND (k.owner = p.owner
      OR EXISTS (SELECT 1 FROM grants g WHERE g.target_id = p.id AND g.grantee = k.owner))))))`;
