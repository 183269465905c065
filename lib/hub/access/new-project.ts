import { randomBytes } from "node:crypto";
import type * as z from "zod";
import type { ActionFacts } from "../../contract/audit-actions.ts";
import { type NameRule, skeletonOf } from "../../contract/look-alikes.ts";
import type { createProjectRequest } from "../../contract/surfaces/keys.ts";
import { conflict, HubError, unprocessable } from "../base/errors.ts";
import { recordId } from "../base/identity.ts";
import { ruleOfNew } from "../records/approval-rules.ts";
import { type LookAlike, lookAlikes, type NameViewer, type SeenLookAlikes, seenOf } from "../records/look-alikes.ts";
import { type Queries, type Records, takeTurn, type Transacted } from "../records/port.ts";
import { deletedAt } from "../records/project-deletion.ts";
import { insertProject, namesake, type Project } from "../records/projects.ts";
import { detailOf } from "../records/target-detail.ts";

/**
 * Builds a new project, plugin or service. The slug of a project is its generated id.
 *
 * @param now milliseconds since 1970
 * @throws HubError 422 for a project with a slug, and for a plugin or service without one
 */
export function newProject(
  { name, kind, slug }: z.output<typeof createProjectRequest>,
  owner: string,
  now: number,
): Project {
  if (kind === "project" && slug !== undefined) {
    throw unprocessable("slug: is generated for a project; leave it out.");
  }
  if (kind !== "project" && slug === undefined) throw unprocessable("slug is missing.");
  const generated = `prj_${randomBytes(16).toString("hex")}`;
  const project: Project = {
    id: kind === "project" ? generated : recordId(kind === "plugin" ? "plg" : "svc", now),
    kind,
    slug: slug ?? generated,
    name,
    owner,
    description: null,
    homepage: null,
    repository: null,
    visibility: kind === "project" ? "private" : "public",
    latest_version: null,
    created_at: new Date(now).toISOString(),
    detail: null,
    detail_etag: null,
    gate: null,
    requires_approval: 0,
    approval_by: null,
    root_id: null,
    root_version: null,
    settings_version: null,
  };
  return kind === "project" ? project : { ...project, ...detailOf(project, []) };
}

/**
 * Requires that no other project, plugin or service of the owner has the name, ignoring case: commands could not tell
 * them apart.
 *
 * @param project includes its id, since it may have the name itself
 * @throws HubError 409 `name_taken` with the id of the other one
 */
export async function requireFreeName(
  transaction: Transacted,
  { id, owner, kind, name }: Pick<Project, "id" | "owner" | "kind" | "name">,
): Promise<void> {
  await takeTurn(transaction, `owner/${owner}`);
  const other = await namesake(transaction, { id, owner, kind, name });
  if (other === undefined) return;
  const message = `Your ${kind} ${other.slug} has the name ${JSON.stringify(other.name)}.`;
  throw new HubError(409, "name_taken", message, { fields: { id: other.id } });
}

/** Parts of the hub that new names need. */
export interface NameParts extends Records {
  /** Rule for a slug that looks like another owner's. */
  names: NameRule;
}

/**
 * Finds the slugs of other owners that look like that of a new target. Under the rule `strict` an administrator alone
 * may create one that has any.
 *
 * @throws HubError 409 `name_lookalike`, which names only what the viewer sees
 */
export async function requireDistinct(
  db: Queries,
  { kind, slug, owner }: Pick<Project, "kind" | "slug" | "owner">,
  { names, viewer }: { names: NameRule; viewer: NameViewer },
): Promise<readonly LookAlike[]> {
  const found = await lookAlikes(db, { kind, slug, owner }, viewer);
  if (names === "warn" || found.length === 0 || viewer.isAdministrator) return found;
  const { looks_like: seen } = seenOf(found);
  const others = seen === undefined ? `another owner's ${kind}` : `${seen.join(", ")} of another owner`;
  throw new HubError(409, "name_lookalike", `The ${kind} slug ${slug} looks like ${others}; this hub refuses that.`);
}

/** New project, plugin or service as it is stored, with what its creator and the audit log are told. */
export interface AddedProject {
  project: Project;
  /** Look-alikes of its slug that the creator sees. */
  seen: SeenLookAlikes;
  /** Facts of the audit entry, for administrators: all look-alikes. */
  facts: ActionFacts["project.create"];
}

/**
 * Adds a project, plugin or service to the records, with the hub's rule about approvals.
 *
 * @throws HubError 409 for a slug that another one has, or had before it was deleted, or that may not look like another
 */
export async function addProject(
  transaction: Transacted,
  given: Project,
  rule: { names: NameRule; viewer: NameViewer },
): Promise<AddedProject> {
  const project = { ...given, ...(await ruleOfNew(transaction)) };
  const { kind, slug } = project;
  const gone = await deletedAt(transaction, project);
  if (gone !== undefined)
    throw conflict(`The ${kind} ${slug} was deleted at ${gone}. Take another slug: hosts may still follow that one.`);
  // Of two names that look alike, created at once, the second one finds the first.
  await takeTurn(transaction, `name/${skeletonOf(slug)}`);
  if (!(await insertProject(transaction, project))) throw conflict(`The ${kind} slug ${slug} is taken.`);
  const found = await requireDistinct(transaction, project, rule);
  const all = found.map((each) => each.slug).join(" ");
  return {
    project,
    seen: seenOf(found),
    facts: { kind, slug, ...(all !== "" && { looks_like: all }) },
  };
}
