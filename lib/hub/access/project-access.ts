import type { FastifyRequest } from "fastify";
import type { Scope } from "../../contract/surfaces/keys.ts";
import { forbidden, keyRejected, notFound } from "../base/errors.ts";
import { hashOf } from "../base/identity.ts";
import { isAdministrator, type Principal, requireScope } from "../base/principal.ts";
import { controls } from "../base/rights.ts";
import type { HubMetrics } from "../observability/hub-metrics.ts";
import { findKey, type Session } from "../records/access.ts";
import type { Records } from "../records/port.ts";
import { findOwnership, findProject, type Project } from "../records/projects.ts";
import { openSession } from "../records/sessions.ts";
import type { MountOptions } from "./authentication.ts";
import { requireOneOf } from "./serve.ts";
import type { SessionTokens } from "./session-tokens.ts";

/** Request whose path names a project. */
export type ProjectRequest = FastifyRequest<{ Params: { project_id: string } }>;

/** Lookups of projects of surface B, with the caller's rights. */
export interface ProjectAccess {
  /**
   * Opens a session for the key's own project.
   *
   * @returns its token, and the project's name
   * @throws 401, 403; 404 for administrators only
   */
  openSession: (request: FastifyRequest, key: string, projectId: string) => Promise<{ token: string; name: string }>;
  /** Returns the live session of a project. @throws 401 without one, 403 for another project's or a missing scope */
  session: (request: FastifyRequest, projectId: string, scopes: readonly Scope[]) => Promise<Session>;
  /** Returns a key that may publish to the project. @throws 401, 403; 404 for administrators only */
  publishable: (request: ProjectRequest, scopes: readonly Scope[]) => Promise<Principal>;
  /** Returns a key that may change the project. @throws 401, 403; 404 for administrators only */
  manageable: (request: ProjectRequest, scopes: readonly Scope[]) => Promise<Principal>;
  /** Returns a session or key that may read the project's fleet. @throws 401, 403; 404 for administrators only */
  readable: (request: ProjectRequest, scopes: readonly Scope[]) => Promise<Principal>;
}

/** Parts of the hub that access to projects needs. */
export interface ProjectAccessParts extends Records {
  sessionTokens: SessionTokens;
  metrics: HubMetrics | undefined;
}

export function projectAccess({ hub, authentication }: MountOptions<ProjectAccessParts>): ProjectAccess {
  const { kysely: db, statements } = hub.database;

  /**
   * Requires that the key controls the project. Only administrators learn that a project does not exist: others get the
   * answer for somebody else's project.
   */
  async function requireControl(principal: Principal, projectId: string, refusal: string): Promise<{ name: string }> {
    const project = await findOwnership(statements, projectId);
    if (project?.kind === "project" && controls(principal, project)) return project;
    throw isAdministrator(principal) ? notFound("There is no such project.") : forbidden(refusal);
  }

  /** Finds a key that controls the project of a request. */
  const controlling =
    (refusal: string): ProjectAccess["publishable"] =>
    async (request, scopes) => {
      const principal = await authentication.key(request);
      requireOneOf(principal, scopes);
      await requireControl(principal, request.params.project_id, refusal);
      return principal;
    };

  /** Admits a key to its own project. @returns the key's id, and the project's name */
  async function admitted(
    request: FastifyRequest,
    key: string,
    projectId: string,
  ): Promise<{ keyId: string; name: string }> {
    const principal = await findKey(statements, hashOf(key), hub.now());
    if (principal === undefined) throw authentication.rejected(request, await authentication.refusal(hashOf(key)), key);
    authentication.accepted(request, principal);
    requireScope(principal, "deploy", "report", "read");
    const { name } = await requireControl(principal, projectId, "The key is not for this project.");
    return { keyId: principal.keyId, name };
  }

  return {
    async openSession(request, key, projectId) {
      const { keyId, name } = await admitted(request, key, projectId);
      const token = hub.sessionTokens.issue();
      if (!(await openSession(db, { keyId, projectId, token }, hub.clock()))) {
        await admitted(request, key, projectId);
        throw keyRejected();
      }
      hub.metrics?.sessionOpened();
      return { token, name };
    },
    async session(request, projectId, scopes) {
      const session = await authentication.session(request);
      if (session.projectId !== projectId) throw forbidden("The session belongs to another project.");
      requireOneOf(session.principal, scopes);
      return session;
    },
    publishable: controlling("The key may not publish to this project."),
    manageable: controlling("The key is not for this project."),
    async readable(request, scopes) {
      const { project_id: projectId } = request.params;
      const { principal, projectId: boundTo } = await authentication.sessionOrKey(request);
      requireOneOf(principal, scopes);
      if (boundTo === projectId) return principal;
      if (boundTo !== null) throw forbidden("The key or session is for another project.");
      await requireControl(principal, projectId, "The key is not for this project.");
      return principal;
    },
  };
}

/**
 * Returns a function that finds a project, plugin or service by id, for a key that may act on it.
 *
 * @throws HubError 404, also for another owner's project
 */
export function controlledBy({ database }: Records) {
  return async (principal: Principal, id: string): Promise<Project> => {
    const project = await findProject(database.kysely, id);
    if (project === undefined || !controls(principal, project)) throw notFound("There is no such project.");
    return project;
  };
}
