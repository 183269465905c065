import type { FastifyRequest } from "fastify";
import type { Scope } from "../../contract/surfaces/keys.ts";
import { notFound } from "../ground/errors.ts";
import { controls, type Principal, requireScope } from "../ground/principal.ts";
import type { Records } from "../records/port.ts";
import { findProject, type Project } from "../records/projects.ts";
import type { MountOptions } from "./authentication.ts";

/**
 * Returns a function that looks a project, plugin or service up by its id, for a key that may act on it.
 *
 * @throws HubError 401, 403; 404 also for another owner's project
 */
export function controlledProject({ hub, authentication }: MountOptions<Records>) {
  return async (
    request: FastifyRequest,
    id: string,
    ...scopes: Scope[]
  ): Promise<{ project: Project; principal: Principal }> => {
    const principal = await authentication.key(request);
    requireScope(principal, ...scopes);
    const project = await findProject(hub.database.kysely, id);
    if (project === undefined || !controls(principal, project)) throw notFound("There is no such project.");
    return { project, principal };
  };
}
