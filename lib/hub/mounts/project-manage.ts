import type { FastifyRequest } from "fastify";
import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import * as z from "zod";
import {
  managedVersion,
  page,
  projectChanges,
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
import { forbidden, notFound, unprocessable } from "../ground/errors.ts";
import { isAdministrator } from "../ground/principal.ts";
import { errors, noContent, pageOf, pageQuery, security } from "../http/documentation.ts";
import { subjectOf } from "../records/latest/states.ts";
import { deleteVersion, listManagedVersions, releaseVersion, yankVersion } from "../records/managed-versions.ts";
import type { PageRange, Records } from "../records/port.ts";
import { projectRecord, renameProject } from "../records/projects.ts";
import { describeTarget } from "../records/targets.ts";
import { hasLiveKey, transferProject } from "../records/transfer.ts";
import type { Rollouts } from "../rollouts/rollouts.ts";

const projectParams = z.object({ id: z.string() });
const versionParams = projectParams.extend({ version: z.string() });

const noSuchVersion = () => notFound("The project has no such version.");

/** Routes of an owner for a project, plugin or service and its versions (docs/contract/keys.md). */
export const projectManage: FastifyPluginAsyncZod<
  MountOptions<Records & { blobs: Blobs; rollouts: Rollouts; logger: Logger | undefined }>
> = async (app, options) => {
  const { hub } = options;
  const controlled = controlledProject(options);
  const db = hub.database.kysely;
  const shared = { tags: ["key service"], security: security.key };

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
      // The trash keeps the bytes for a while, for a database that is restored; the sweep moves what is left here.
      for (const blob of blobs) {
        await hub.blobs.moveToTrash(blob).catch((error: unknown) => {
          hub.logger?.warn({ err: error, blob }, "a deleted version's bytes wait for the sweep");
        });
      }
      return reply.code(204).send(null);
    },
  });
};
