import type { FastifyRequest } from "fastify";
import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import * as z from "zod";
import {
  managedVersion,
  page,
  projectChanges,
  projectDeletion,
  projectDeletionQuery,
  projectRecord as projectSchema,
  transferAnswer,
  transferRequest,
  versionDeletion,
  versionReleased,
  versionReleaseRequest,
  versionYankRequest,
} from "../../contract/surfaces/keys.ts";
import type { Logger } from "../../support/logging.ts";
import { audited } from "../access/audit.ts";
import type { MountOptions } from "../access/authentication.ts";
import { controlledProject } from "../access/project-access.ts";
import type { Blobs } from "../blobs/port.ts";
import { silentBefore } from "../fleets/fleet-view.ts";
import { forbidden, HubError, notFound, unprocessable } from "../ground/errors.ts";
import { isAdministrator } from "../ground/principal.ts";
import { errors, noContent, pageOf, pageQuery, security } from "../http/documentation.ts";
import { subjectOf } from "../records/latest/states.ts";
import { deleteVersion, listManagedVersions, releaseVersion, yankVersion } from "../records/managed-versions.ts";
import type { PageRange, Records } from "../records/port.ts";
import { clearFleets, contentsOf, deleteProject } from "../records/project-deletion.ts";
import { lockProject, type Project, projectRecord, renameProject } from "../records/projects.ts";
import { describeTarget } from "../records/targets.ts";
import { hasLiveKey, transferProject } from "../records/transfer.ts";
import type { Rollouts } from "../rollouts/rollouts.ts";

const projectParams = z.object({ id: z.string() });
const versionParams = projectParams.extend({ version: z.string() });

/** Blobs that a request moves to the trash at most. */
const MOST_BLOBS = 500;

const inUse = ({ kind, name }: Project, hosts: number) =>
  new HubError(
    409,
    "project_in_use",
    `${hosts} ${hosts === 1 ? "host has" : "hosts have"} reported to the ${kind} ${name} in the last 30 days. ` +
      "Move them to another target first, or delete it with force.",
  );

const noSuchVersion = () => notFound("The project has no such version.");

/** Routes of an owner for a project, plugin or service and its versions (docs/contract/keys.md). */
export const projectManage: FastifyPluginAsyncZod<
  MountOptions<Records & { blobs: Blobs; rollouts: Rollouts; logger: Logger | undefined }>
> = async (app, options) => {
  const { hub } = options;
  const controlled = controlledProject(options);
  const db = hub.database.kysely;
  const shared = { tags: ["key service"], security: security.key };

  /** Moves bytes to the trash, which keeps them for a database that is restored. The sweep moves what is left here. */
  async function trash(blobs: readonly string[]): Promise<void> {
    for (const blob of blobs.slice(0, MOST_BLOBS)) {
      await hub.blobs.moveToTrash(blob).catch((error: unknown) => {
        hub.logger?.warn({ err: error, blob }, "a deleted version's bytes wait for the sweep");
      });
    }
  }

  /** Yanks a version. @param why undefined takes that back */
  async function yank(
    request: FastifyRequest,
    { id, version }: z.output<typeof versionParams>,
    why: { reason: string | null } | undefined,
  ): Promise<void> {
    const { project, principal } = await controlled(request, id, "publish");
    await audited(hub, request, principal, async (transaction, tell) => {
      const change = { version, yanked: why !== undefined, reason: why?.reason ?? null };
      if (!(await yankVersion(transaction, project, change, hub.clock()))) throw noSuchVersion();
      const action = why === undefined ? "version.unyank" : "version.yank";
      await tell({ action, subject: subjectOf(project), facts: { version, ...why } });
    });
    await hub.rollouts.versionsChanged(id);
  }

  app.get("/projects/:id", {
    schema: {
      ...shared,
      summary: "One project, plugin or service",
      params: projectParams,
      response: { 200: projectSchema, ...errors(401, 403, 404) },
    },
    async handler(request) {
      const { project } = await controlled(request, request.params.id, "read", "projects", "publish");
      return projectRecord(project);
    },
  });

  app.patch("/projects/:id", {
    schema: {
      ...shared,
      summary: "Rename a project, plugin or service; its id and slug stay",
      params: projectParams,
      body: projectChanges,
      response: { 200: projectSchema, ...errors(400, 401, 403, 404, 415, 422) },
    },
    async handler(request) {
      const { project, principal } = await controlled(request, request.params.id, "projects");
      const { name } = request.body;
      await audited(hub, request, principal, async (transaction, tell) => {
        if (project.kind === "project") await renameProject(transaction, project.id, name);
        else await describeTarget(transaction, project.id, { name }, hub.clock());
        const facts = { from: project.name, to: name };
        await tell({ action: "project.rename", subject: subjectOf(project), facts });
      });
      return projectRecord({ ...project, name });
    },
  });

  app.post("/projects/:id/transfer", {
    schema: {
      ...shared,
      summary: "Give a project, plugin or service to another owner",
      description:
        "For administrators. Keys that are bound to it are revoked, unless keep_keys makes them the new owner's.",
      params: projectParams,
      body: transferRequest,
      response: { 200: transferAnswer, ...errors(400, 401, 403, 404, 415, 422) },
    },
    async handler(request) {
      const { project, principal } = await controlled(request, request.params.id, "admin");
      if (!isAdministrator(principal)) throw forbidden("Only an administrator gives a project to another owner.");
      const { owner, keep_keys: keepKeys = false } = request.body;
      const now = hub.now();
      if (!(await hasLiveKey(db, owner, now))) {
        throw unprocessable(`owner: no live key belongs to ${owner}; create one first.`);
      }
      const revoked = await audited(hub, request, principal, async (transaction, tell) => {
        const keys = await transferProject(transaction, project, { owner, keepKeys, now });
        const facts = { from: project.owner, to: owner, keep_keys: keepKeys, revoked_keys: keys };
        await tell({ action: "project.transfer", subject: subjectOf(project), facts });
        return keys;
      });
      return { ...projectRecord({ ...project, owner }), revoked_keys: revoked };
    },
  });

  /** A project for a key that may delete it: the rights of a transfer. */
  async function deletable(request: FastifyRequest, id: string) {
    const found = await controlled(request, id, "admin");
    if (!isAdministrator(found.principal)) throw forbidden("Only an administrator deletes a project.");
    return found;
  }

  app.get("/projects/:id/deletion", {
    schema: {
      ...shared,
      summary: "What the deletion of a project, plugin or service would take",
      params: projectParams,
      response: { 200: projectDeletion, ...errors(401, 403, 404) },
    },
    async handler(request) {
      const { project } = await deletable(request, request.params.id);
      return { ...projectRecord(project), contents: await contentsOf(db, project, silentBefore(hub.clock())) };
    },
  });

  app.delete("/projects/:id", {
    schema: {
      ...shared,
      summary: "Delete a project, plugin or service with its versions, keys, rollouts and fleet",
      description:
        "For administrators. 409 with the code project_in_use while hosts report to it, unless force is true. The slug " +
        "of a plugin or service is never used again.",
      params: projectParams,
      querystring: projectDeletionQuery,
      response: { 200: projectDeletion, ...errors(401, 403, 404, 409, 422) },
    },
    async handler(request) {
      const { project, principal } = await deletable(request, request.params.id);
      const { force, reason } = request.query;
      const { contents, blobs } = await audited(hub, request, principal, async (transaction, tell) => {
        const { kind, name, owner } = await lockProject(transaction, project.id);
        const contents = await contentsOf(transaction, project, silentBefore(hub.clock()));
        const { versions, hosts, keys, reporting_hosts: reporting } = contents;
        if (reporting > 0 && force !== "true") throw inUse(project, reporting);
        const blobs = await deleteProject(transaction, project, hub.now());
        const facts = { kind, name, owner, versions, hosts, keys, forced: reporting > 0, reason: reason ?? null };
        await tell({ action: "project.delete", subject: subjectOf(project), facts });
        return { contents, blobs };
      });
      await hub.rollouts.versionsChanged(project.id);
      await trash(blobs);
      // A fleet may be large, and upkeep goes on with it: nobody waits for that.
      void clearFleets(db, hub.now).catch((error: unknown) => {
        hub.logger?.warn({ err: error, project: project.id }, "a deleted project's fleet waits for upkeep");
      });
      return { ...projectRecord(project), contents };
    },
  });

  app.get("/projects/:id/versions", {
    schema: {
      ...shared,
      summary: "The versions of a project, plugin or service, newest first",
      params: projectParams,
      querystring: pageQuery,
      response: { 200: page(managedVersion), ...errors(401, 403, 404, 422) },
    },
    async handler(request) {
      const { project } = await controlled(request, request.params.id, "read", "projects", "publish");
      const read = (range: PageRange) => listManagedVersions(db, project, range);
      return pageOf(request.query, { by: "id", show: ({ record }) => record }, read);
    },
  });

  app.post("/projects/:id/versions/:version/yank", {
    schema: {
      ...shared,
      summary: "Yank a version: it stays deployable by its label, and is no longer the latest",
      params: versionParams,
      body: versionYankRequest.nullish(),
      response: { 204: noContent, ...errors(400, 401, 403, 404, 415, 422) },
    },
    async handler(request, reply) {
      await yank(request, request.params, { reason: request.body?.reason ?? null });
      return reply.code(204).send(null);
    },
  });

  app.delete("/projects/:id/versions/:version/yank", {
    schema: {
      ...shared,
      summary: "Take a yank back",
      params: versionParams,
      response: { 204: noContent, ...errors(401, 403, 404) },
    },
    async handler(request, reply) {
      await yank(request, request.params, undefined);
      return reply.code(204).send(null);
    },
  });

  app.post("/projects/:id/versions/:version/release", {
    schema: {
      ...shared,
      summary: "Open a held version to every host",
      description: "One that every host may have already stays as it is. 409 while its own rollout is live.",
      params: versionParams,
      body: versionReleaseRequest.nullish(),
      response: { 200: versionReleased, ...errors(400, 401, 403, 404, 409, 415, 422) },
    },
    async handler(request) {
      const { id, version } = request.params;
      // A publisher's key does not end a hold of its own version.
      const { project, principal } = await controlled(request, id, "projects");
      const reason = request.body?.reason ?? null;
      const released = await audited(hub, request, principal, async (transaction, tell) => {
        const done = await releaseVersion(transaction, project, version, hub.clock());
        if (done === undefined) throw noSuchVersion();
        const facts = { version, reason };
        if (done) await tell({ action: "version.release", subject: subjectOf(project), facts });
        return done;
      });
      await hub.rollouts.versionsChanged(id);
      return { version, released };
    },
  });

  app.delete("/projects/:id/versions/:version", {
    schema: {
      ...shared,
      summary: "Delete a version and its bytes; its label is never used again",
      params: versionParams,
      querystring: versionDeletion,
      response: { 204: noContent, ...errors(401, 403, 404, 422) },
    },
    async handler(request, reply) {
      const { version } = request.params;
      const { project, principal } = await controlled(request, request.params.id, "projects");
      const { reason } = request.query;
      const blobs = await audited(hub, request, principal, async (transaction, tell) => {
        const unneeded = await deleteVersion(transaction, project, { version, reason, now: hub.now() });
        if (unneeded === undefined) throw noSuchVersion();
        await tell({ action: "version.delete", subject: subjectOf(project), facts: { version, reason } });
        return unneeded;
      });
      await trash(blobs);
      return reply.code(204).send(null);
    },
  });
};
