import type { Selectable } from "kysely";
import { usageError } from "../../contract/errors.ts";
import type { ProjectRecord } from "../../contract/surfaces/keys.ts";
import { notFound } from "../base/errors.ts";
import type { ProjectsTable } from "./core-tables.ts";
import { hooksOf } from "./hooks.ts";
import { type Locked, locked } from "./locked.ts";
import { joinPollingHost, POLLING_HOST, pollingHostOf } from "./polling-host.ts";
import type { Database, PageRange, PreparedStatements, Queries, TransactedIn } from "./port.ts";
import { given, lowered, selectWhere, updateWhere } from "./rows.ts";

export type Project = Selectable<ProjectsTable>;

export const projectRecord = (project: Project): ProjectRecord => {
  const { id, name, kind, slug, created_at, owner, latest_version, approval_by } = project;
  const requires_approval = Number(project.requires_approval) !== 0;
  return { id, name, kind, slug, created_at, owner, latest_version, requires_approval, approval_by };
};

/** Inserts a project. @returns false when another project of this kind has the slug */
export async function insertProject(db: Queries, project: Project): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await db
    .insertInto("projects")
    .values(project)
    .onConflict((conflict) => conflict.columns(["kind", "slug"]).doNothing())
    .executeTakeFirst();
  return numInsertedOrUpdatedRows === 1n;
}

/** Finds another project of the owner and kind with the same name, ignoring case. */
export async function namesake(
  db: Queries,
  { id, owner, kind, name }: Pick<Project, "id" | "owner" | "kind" | "name">,
): Promise<Pick<Project, "id" | "slug" | "name"> | undefined> {
  return selectWhere(db, "projects", { owner, kind })
    .select(["id", "slug", "name"])
    .where("id", "!=", id)
    .where((of) => of(of.fn<string>("lower", ["name"]), "=", lowered(name)))
    .orderBy("id")
    .limit(1)
    .executeTakeFirst();
}

export function findProject(db: Queries, id: string): Promise<Project | undefined> {
  return selectWhere(db, "projects", { id }).selectAll().executeTakeFirst();
}

/**
 * Returns the id of the project, plugin or service with this id, or else with this slug or name.
 *
 * @throws UsageError `usage` for none, or for several
 */
export async function projectIdCalled(db: Queries, text: string): Promise<string> {
  const found = await db
    .selectFrom("projects")
    .select("id")
    .where((eb) =>
      eb.or([eb("id", "=", text), eb("slug", "=", text), eb(eb.fn("lower", ["name"]), "=", lowered(text))]),
    )
    .execute();
  const [only, ...others] = found.some(({ id }) => id === text) ? [{ id: text }] : found;
  const hint = "`sealift project list` shows names and ids.";
  if (only === undefined) throw usageError("usage", `There is no project ${text}.`, { hint });
  if (others.length === 0) return only.id;
  const ids = found.map(({ id }) => id).join(", ");
  throw usageError("usage", `Several are named ${JSON.stringify(text)}: ${ids}.`, { hint: "Give the id." });
}

const OWNERSHIP = "SELECT id, kind, owner, name FROM projects WHERE id = ?";

/** Reads the owner, kind and name of a project: one indexed read. */
export async function findOwnership(
  statements: PreparedStatements,
  id: string,
): Promise<Pick<Project, "id" | "kind" | "owner" | "name"> | undefined> {
  return (await statements.first(OWNERSHIP, [id])) as Project | undefined;
}

const ANSWER = `SELECT p.id, p.owner, p.latest_version, p.gate, p.root_version, p.settings_version,
    ${POLLING_HOST} FROM projects p
  ${joinPollingHost("''", "p.id")} WHERE p.id = ? AND p.kind = 'project'`;

/** Reads a project's answer to "latest", and its owner: one indexed read. @param hostId of the polling host */
export async function findAnswer(statements: PreparedStatements, id: string, hostId?: string) {
  const row = await statements.first(ANSWER, [hostId ?? null, id]);
  if (row === undefined) return undefined;
  const { owner, latest_version: latestVersion, gate, ...versions } = row as unknown as Project;
  const { root_version: rootVersion, settings_version: settingsVersion } = versions;
  return { id, owner, latestVersion, gate, rootVersion, settingsVersion, host: pollingHostOf(row) };
}

/** Returns a text that differs after every change of a project, its versions and what features keep for it. */
export async function readPulse({ kysely, statements }: Database, id: string): Promise<string> {
  const kept = hooksOf(kysely).flatMap(({ name, pulse }) => (pulse === undefined ? [] : `, ${pulse} AS "${name}"`));
  const text = `SELECT p.latest_version, p.detail_etag, p.gate, p.root_id, p.root_version, p.settings_version${kept.join("")} FROM projects p WHERE p.id = ?`;
  return JSON.stringify(await statements.first(text, [id]), (_key, value: unknown) =>
    typeof value === "bigint" ? Number(value) : value,
  );
}

/** Reads a project, and locks its row until the transaction ends. @returns undefined for one that was deleted */
export async function lockIfThere<In>(
  transaction: TransactedIn<In>,
  id: string,
): Promise<Locked<Project, In> | undefined> {
  const row = await updateWhere(transaction, "projects", { id })
    .set((eb) => ({ latest_version: eb.ref("latest_version") }))
    .returningAll()
    .executeTakeFirst();
  return row && locked(transaction, row);
}

/** Reads a project, and locks its row until the transaction ends. @throws HubError 404 for one that was deleted */
export async function lockProject<In>(transaction: TransactedIn<In>, id: string): Promise<Locked<Project, In>> {
  const project = await lockIfThere(transaction, id);
  if (project === undefined) throw notFound("There is no such project.");
  return project;
}

/** Lists projects. @param owner undefined for all @param id not null for one project only */
export async function listProjects(
  db: Queries,
  { owner, id }: { owner: string | undefined; id: string | null },
  { after, limit }: PageRange,
): Promise<ProjectRecord[]> {
  const rows = await selectWhere(db, "projects", given({ owner, id: id ?? undefined }))
    .selectAll()
    .where("id", ">", after)
    .orderBy("id")
    .limit(limit)
    .execute();
  return rows.map(projectRecord);
}

/** Yields all projects, plugins and services, or the one with an id, page by page. */
export async function* allProjects(db: Queries, only: string | undefined): AsyncGenerator<Project> {
  for (let after = ""; ;) {
    const page = await selectWhere(db, "projects", given({ id: only }))
      .selectAll()
      .where("id", ">", after)
      .orderBy("id")
      .limit(200)
      .execute();
    yield* page;
    const last = page.at(-1);
    if (last === undefined) return;
    after = last.id;
  }
}

/** Returns the id of a project, plugin or service that the audit log names. */
export async function projectOfSubject(db: Queries, subject: string): Promise<string> {
  const [kind, slug] = subject.split("/") as [Project["kind"], string | undefined];
  if (slug === undefined) return subject;
  return (await selectWhere(db, "projects", { kind, slug }).select("id").executeTakeFirstOrThrow()).id;
}

/** Renames a project. Use {@link describeTarget} for plugins and services, whose detail record holds the name, too. */
export async function renameProject<In>(
  transaction: TransactedIn<In>,
  { id }: Locked<Project, In>,
  name: string,
): Promise<void> {
  await updateWhere(transaction, "projects", { id }).set({ name }).execute();
}
