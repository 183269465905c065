import type { FastifyRequest } from "fastify";
import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import * as z from "zod";
import {
  apiKeyRecord,
  createdKey,
  createKeyRequest,
  createProjectRequest,
  page,
  projectRecord as projectSchema,
  rotateKeyRequest,
} from "../../contract/surfaces/keys.ts";
import { audited } from "../access/audit.ts";
import type { MountOptions } from "../access/authentication.ts";
import { grantableKey } from "../access/key-rights.ts";
import { newProject } from "../access/new-project.ts";
import { conflict, forbidden, keyRejected, notFound } from "../ground/errors.ts";
import { isAdministrator, may, type Principal, requireScope } from "../ground/principal.ts";
import { controlled, controls } from "../ground/rights.ts";
import { errors, noContent, pageOf, pageQuery, security } from "../http/documentation.ts";
import {
  ADMIN_KEY,
  endKey,
  findVisibleKey,
  type IssuedKey,
  issueKey,
  type KeyView,
  listKeys,
  revokeKey,
} from "../records/keys.ts";
import type { Records } from "../records/port.ts";
import { deletedAt } from "../records/project-deletion.ts";
import { findProject, insertProject, listProjects, projectRecord } from "../records/projects.ts";

const tags = ["key service"];
/** The time for which a rotated key still works: its users have to be told. */
const GRACE_SECONDS = 86_400;

/** The records that a key sees: its owner's, its project's when it is bound, everyone's for an administrator. */
const viewOf = (principal: Principal): KeyView => ({
  owner: isAdministrator(principal) ? undefined : principal.owner,
  projectId: principal.projectId,
});

/** The record of a new key with its secrets, which are never shown again. */
const shownOnce = ({ record, key, credential }: IssuedKey) => ({
  ...{ ...record, key },
  ...(credential !== undefined && { deployment_credential: credential }),
});

/** The key service (docs/contract/keys.md): API keys and projects. */
export const devkeys: FastifyPluginAsyncZod<MountOptions<Records>> = async (app, { hub, authentication }) => {
  const db = hub.database.kysely;

  /** A key that the caller may end: its own, or one that it could have made. */
  async function changeable(request: FastifyRequest, id: string) {
    const principal = await authentication.key(request);
    if (id !== principal.keyId) requireScope(principal, "keys");
    const key = await findVisibleKey(db, viewOf(principal), id);
    if (key === undefined) throw notFound("There is no such key.");
    if (id !== principal.keyId && !key.scopes.every((scope) => may(principal, scope)))
      throw forbidden("The key has scopes that yours lacks.");
    return { principal, key };
  }

  app.post("/api-keys", {
    schema: {
      tags,
      summary: "Issue an API key; its secrets are shown once",
      security: security.key,
      body: createKeyRequest,
      response: { 201: createdKey, ...errors(400, 401, 403, 404, 415, 422) },
    },
    async handler(request, reply) {
      const principal = await authentication.key(request);
      requireScope(principal, "keys");
      const wanted = grantableKey(principal, request.body, hub.now());
      const project = wanted.projectId === null ? undefined : await findProject(db, wanted.projectId);
      if (wanted.projectId !== null && (project === undefined || !controls(principal, project))) {
        throw notFound("There is no such project.");
      }
      const withCredential = project?.kind === "project";
      const issued = await audited(hub, request, principal, async (transaction, tell) => {
        const key = await issueKey(transaction, { ...wanted, withCredential }, hub.clock());
        const { id: subject, owner, scopes, project_id, expires_at } = key.record;
        const facts = { owner, scopes: scopes.join(" "), project_id, expires_at };
        await tell({ action: "key.create", subject, facts });
        return key;
      });
      return reply.code(201).send(shownOnce(issued));
    },
  });

  app.get("/key", {
    schema: {
      tags,
      summary: "The key that asks, without its secrets",
      security: security.key,
      response: { 200: apiKeyRecord, ...errors(401) },
    },
    async handler(request) {
      const { keyId, owner } = await authentication.key(request);
      const found = await findVisibleKey(db, { owner, projectId: null }, keyId);
      if (found === undefined) throw keyRejected();
      return found;
    },
  });

  app.get("/api-keys", {
    schema: {
      tags,
      summary: "List the own keys, without their secrets",
      security: security.key,
      querystring: pageQuery,
      response: { 200: page(apiKeyRecord), ...errors(401, 403, 422) },
    },
    async handler(request) {
      const principal = await authentication.key(request);
      requireScope(principal, "keys");
      return pageOf(request.query, { by: "id" }, (range) => listKeys(db, viewOf(principal), range));
    },
  });

  app.delete("/api-keys/:id", {
    schema: {
      tags,
      summary: "Revoke a key, its sessions and its deployment credential at once",
      security: security.key,
      params: z.object({ id: z.string() }),
      response: { 204: noContent, ...errors(401, 403, 404) },
    },
    async handler(request, reply) {
      const { id } = request.params;
      const { principal, key } = await changeable(request, id);
      await audited(hub, request, principal, async (transaction, tell) => {
        await revokeKey(transaction, id, hub.now());
        await tell({ action: "key.revoke", subject: id, facts: { owner: key.owner } });
      });
      return reply.code(204).send(null);
    },
  });

  app.post("/api-keys/:id/rotate", {
    schema: {
      tags,
      summary: "Issue a key with the same rights, and let the old one end after a grace",
      security: security.key,
      params: z.object({ id: z.string() }),
      body: rotateKeyRequest.nullish(),
      response: { 201: createdKey, ...errors(400, 401, 403, 404, 409, 415, 422) },
    },
    async handler(request, reply) {
      const { id } = request.params;
      const { principal, key: old } = await changeable(request, id);
      const now = hub.now();
      if (old.revoked_at !== null || (old.expires_at !== null && old.expires_at <= now))
        throw conflict("The key has ended; create another one.");
      if (id === ADMIN_KEY) throw conflict("The administrator's first key is renewed by `sealift hub admin-key`.");
      const ends = new Date(hub.clock() + (request.body?.grace_seconds ?? GRACE_SECONDS) * 1000).toISOString();
      const { name, owner, scopes, project_id: projectId, expires_at: expiresAt } = old;
      const kind = projectId === null ? undefined : (await findProject(db, projectId))?.kind;
      const wanted = { name, owner, scopes, projectId, expiresAt, withCredential: kind === "project" };
      const issued = await audited(hub, request, principal, async (transaction, tell) => {
        const key = await issueKey(transaction, wanted, hub.clock());
        await endKey(transaction, id, ends);
        await tell({ action: "key.rotate", subject: id, facts: { owner, new_key: key.record.id, ends } });
        return key;
      });
      return reply.code(201).send(shownOnce(issued));
    },
  });

  app.post("/projects", {
    schema: {
      tags,
      summary: "Create a project, plugin or service",
      security: security.key,
      body: createProjectRequest,
      response: { 201: projectSchema, ...errors(400, 401, 403, 409, 415, 422) },
    },
    async handler(request, reply) {
      const principal = await authentication.key(request);
      requireScope(principal, "projects");
      if (principal.projectId !== null) throw forbidden("A key that is bound to a project creates no others.");
      const project = newProject(request.body, principal.owner, hub.clock());
      const { id: subject, kind, slug } = project;
      await audited(hub, request, principal, async (transaction, tell) => {
        const gone = await deletedAt(transaction, project);
        if (gone !== undefined)
          throw conflict(
            `The ${kind} ${slug} was deleted at ${gone}. Take another slug: hosts may still follow that one.`,
          );
        if (!(await insertProject(transaction, project))) throw conflict(`The ${kind} slug ${slug} is taken.`);
        await tell({ action: "project.create", subject, facts: { kind, slug } });
      });
      return reply.code(201).send(projectRecord(project));
    },
  });

  app.get("/projects", {
    schema: {
      tags,
      summary: "List the own projects, plugins and services",
      security: security.key,
      querystring: pageQuery,
      response: { 200: page(projectSchema), ...errors(401, 403, 422) },
    },
    async handler(request) {
      const principal = await authentication.key(request);
      requireScope(principal, "projects", "read");
      return pageOf(request.query, { by: "id" }, (range) => listProjects(db, controlled(principal), range));
    },
  });
};
