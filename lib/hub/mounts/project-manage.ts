import type { Deprecation } from "../../contract/facts/version.ts";
import * as projects from "../../contract/projects/routes.ts";
import * as versions from "../../contract/versions/routes.ts";
import type { Logger } from "../../support/logging.ts";
import { audited } from "../access/audit.ts";
import type { MountOptions } from "../access/authentication.ts";
import { requireFreeName } from "../access/new-project.ts";
import { controlledBy } from "../access/project-access.ts";
import { type Asked, serve, type Served } from "../access/serve.ts";
import { conflict, forbidden, HubError, notFound, unprocessable } from "../base/errors.ts";
import { isAdministrator, type Principal } from "../base/principal.ts";
import type { Blobs } from "../blobs/port.ts";
import { silentBefore } from "../fleets/fleet-view.ts";
import { pageOf } from "../http/documentation.ts";
import { trashBlobs } from "../publications/trash-blobs.ts";
import { lookAlikes, seenOf } from "../records/look-alikes.ts";
import {
  deleteVersion,
  deprecateVersion,
  listManagedVersions,
  releaseVersion,
  yankVersion,
} from "../records/managed-versions.ts";
import type { PageRange, Records } from "../records/port.ts";
import { clearFleets, contentsOf, deleteProject } from "../records/project-deletion.ts";
import { type Project, projectRecord, renameProject } from "../records/projects.ts";
import { subjectOf } from "../records/subjects.ts";
import { describeTarget } from "../records/targets.ts";
import { hasLiveKey, transferProject } from "../records/transfer.ts";

const inUse = ({ kind, name }: Project, hosts: number) =>
  new HubError(
    409,
    "project_in_use",
    `${hosts} ${hosts === 1 ? "host has" : "hosts have"} reported to the ${kind} ${name} in the last 30 days. ` +
      "Move them to another target first, or delete it with force.",
  );

const noSuchVersion = () => notFound("The project has no such version.");

/** Routes with which an owner manages a project, plugin or service and its versions (docs/contract/keys.md). */
export function projectManage({
  hub,
}: MountOptions<Records & { blobs: Blobs; logger: Logger | undefined }>): readonly Served[] {
  const projectOf = controlledBy(hub);
  const db = hub.database.kysely;

  /** Yanks a version. @param why undefined restores it */
  async function yank(
    request: Asked<typeof versions.yankVersion | typeof versions.unyankVersion>,
    principal: Principal,
    why: { reason: string | null } | undefined,
  ): Promise<void> {
    const { id, version } = request.params;
    const project = await projectOf(principal, id);
    await audited(hub, request, { principal, projectIds: [project.id] }, async (transaction, tell) => {
      const change = { version, yanked: why !== undefined, reason: why?.reason ?? null };
      const hasChanged = await yankVersion(transaction, project, change, hub.clock());
      if (hasChanged === undefined) throw noSuchVersion();
      const action = why === undefined ? "version.unyank" : "version.yank";
      if (hasChanged) await tell({ action, subject: subjectOf(project), facts: { version, ...why } });
    });
  }

  /** Deprecates a version. @param advice null takes the advice back */
  async function deprecate(
    request: Asked<typeof versions.deprecateVersion | typeof versions.undeprecateVersion>,
    principal: Principal,
    advice: Deprecation | null,
  ): Promise<void> {
    const { id, version } = request.params;
    const project = await projectOf(principal, id);
    await audited(hub, request, { principal, projectIds: [project.id] }, async (transaction, tell) => {
      const hasChanged = await deprecateVersion(transaction, project, { version, advice }, hub.clock());
      if (hasChanged === undefined) throw noSuchVersion();
      const action = advice === null ? "version.undeprecate" : "version.deprecate";
      const facts = advice && { reason: advice.message, replaced_by: advice.replaced_by };
      if (hasChanged) await tell({ action, subject: subjectOf(project), facts: { version, ...facts } });
    });
  }

  /** Returns a project to a key that may delete it: an administrator's. */
  async function deletable(principal: Principal, id: string): Promise<Project> {
    const project = await projectOf(principal, id);
    if (!isAdministrator(principal)) throw forbidden("Only an administrator deletes a project.");
    return project;
  }

  return [
    serve(projects.showProject, async (request, principal) => {
      const project = await projectOf(principal, request.params.id);
      const viewer = { owner: principal.owner, isAdministrator: isAdministrator(principal) };
      const seen = principal.projectId === null ? seenOf(await lookAlikes(db, project, viewer)) : {};
      return { ...projectRecord(project), ...seen };
    }),

    serve(projects.renameProject, async (request, principal) => {
      const project = await projectOf(principal, request.params.id);
      const { name } = request.body;
      const authority = { principal, projectIds: [project.id] } as const;
      return audited(hub, request, authority, async (transaction, tell, { targets: [target] }) => {
        if (request.body.same_name !== true) await requireFreeName(transaction, { ...target, name });
        if (target.kind === "project") await renameProject(transaction, target, name);
        else await describeTarget(transaction, target.id, { name }, hub.clock());
        const facts = { from: target.name, to: name };
        await tell({ action: "project.rename", subject: subjectOf(target), facts });
        return projectRecord({ ...target, name });
      });
    }),

    serve(projects.transferProject, async (request, principal) => {
      const project = await projectOf(principal, request.params.id);
      if (!isAdministrator(principal)) throw forbidden("Only an administrator gives a project to another owner.");
      const { owner, keep_keys: keepKeys = false } = request.body;
      const authority = { principal, projectIds: [project.id] } as const;
      return audited(hub, request, authority, async (transaction, tell, { targets: [target] }) => {
        if (owner === target.owner) throw conflict(`The ${target.kind} is ${owner}'s already.`);
        const now = hub.now();
        if (!(await hasLiveKey(transaction, owner, now)))
          throw unprocessable(`owner: no live key belongs to ${owner}; create one first.`);
        const keys = await transferProject(transaction, target, { owner, keepKeys, now });
        const facts = { from: target.owner, to: owner, keep_keys: keepKeys, revoked_keys: keys };
        await tell({ action: "project.transfer", subject: subjectOf(target), facts });
        return { ...projectRecord({ ...target, owner }), revoked_keys: keys };
      });
    }),

    serve(projects.showDeletion, async (request, principal) => {
      const project = await deletable(principal, request.params.id);
      return { ...projectRecord(project), contents: await contentsOf(db, project, silentBefore(hub.clock())) };
    }),

    serve(projects.deleteProject, async (request, principal) => {
      const project = await deletable(principal, request.params.id);
      const { force, reason } = request.query;
      const authority = { principal, projectIds: [project.id] } as const;
      const { record, contents, blobs } = await audited(
        hub,
        request,
        authority,
        async (transaction, tell, { targets: [target] }) => {
          const { kind, name, owner } = target;
          const contents = await contentsOf(transaction, target, silentBefore(hub.clock()));
          const { versions, hosts, keys, reporting_hosts: reporting } = contents;
          if (reporting > 0 && force !== "true") throw inUse(target, reporting);
          const blobs = await deleteProject(transaction, target, hub.now());
          const facts = { kind, name, owner, versions, hosts, keys, forced: reporting > 0, reason: reason ?? null };
          await tell({ action: "project.delete", subject: subjectOf(target), facts });
          return { record: projectRecord(target), contents, blobs };
        },
      );
      await trashBlobs(hub, blobs);
      // A fleet may be large: upkeep continues the work, and the caller does not wait for it.
      void clearFleets(db, hub.now).catch((error: unknown) => {
        hub.logger?.warn({ err: error, project: project.id }, "a deleted project's fleet waits for upkeep");
      });
      return { ...record, contents };
    }),

    serve(versions.listVersions, async (request, principal) => {
      const project = await projectOf(principal, request.params.id);
      const read = (range: PageRange) => listManagedVersions(db, project, principal, range);
      return pageOf(request.query, { by: "id", show: ({ record }) => record }, read);
    }),

    serve(versions.yankVersion, async (request, principal) => {
      await yank(request, principal, { reason: request.body?.reason ?? null });
    }),

    serve(versions.unyankVersion, async (request, principal) => {
      await yank(request, principal, undefined);
    }),

    serve(versions.deprecateVersion, async (request, principal) => {
      const { message, replaced_by = null } = request.body;
      await deprecate(request, principal, { message, replaced_by });
    }),

    serve(versions.undeprecateVersion, async (request, principal) => {
      await deprecate(request, principal, null);
    }),

    serve(versions.releaseVersion, async (request, principal) => {
      const { id, version } = request.params;
      const project = await projectOf(principal, id);
      const reason = request.body?.reason ?? null;
      const released = await audited(
        hub,
        request,
        { principal, projectIds: [project.id] },
        async (transaction, tell) => {
          const done = await releaseVersion(transaction, project, version, hub.clock());
          if (done === undefined) throw noSuchVersion();
          const facts = { version, reason };
          if (done) await tell({ action: "version.release", subject: subjectOf(project), facts });
          return done;
        },
      );
      return { version, released };
    }),

    serve(versions.deleteVersion, async (request, principal) => {
      const { version } = request.params;
      const project = await projectOf(principal, request.params.id);
      const { reason } = request.query;
      const blobs = await audited(hub, request, { principal, projectIds: [project.id] }, async (transaction, tell) => {
        const unneeded = await deleteVersion(transaction, project, { version, reason, now: hub.now() });
        if (unneeded === undefined) throw noSuchVersion();
        await tell({ action: "version.delete", subject: subjectOf(project), facts: { version, reason } });
        return unneeded;
      });
      await trashBlobs(hub, blobs);
    }),
  ];
}
