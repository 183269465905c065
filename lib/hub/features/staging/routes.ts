import * as routes from "../../../contract/staging/routes.ts";
import { audited } from "../../access/audit.ts";
import type { MountOptions } from "../../access/authentication.ts";
import { controlledBy } from "../../access/project-access.ts";
import { serve, type Served } from "../../access/serve.ts";
import { notFound, unprocessable } from "../../base/errors.ts";
import { isAdministrator, may, type Principal } from "../../base/principal.ts";
import { seesStaged } from "../../base/rights.ts";
import { pageOf } from "../../http/documentation.ts";
import { trashBlobs } from "../../publications/trash-blobs.ts";
import { changeRule } from "../../records/approval-rules.ts";
import { type Ends, endsOfMade } from "../../records/ends.ts";
import { principalOfKey } from "../../records/keys.ts";
import { stateRecord } from "../../records/latest/states.ts";
import { subjectOf } from "../../records/subjects.ts";
import { findVersion, type Version } from "../../records/versions.ts";
import type { Core } from "../feature.ts";
import { approveVersion, rejectVersion } from "./approve.ts";
import { findStaged, listStaged, stagedRecord } from "./records.ts";

/** Routes of versions that wait for approval (docs/contract/staging.md). */
export function staging({ hub }: MountOptions<Core>): readonly Served[] {
  const db = hub.database.kysely;
  const projectOf = controlledBy(hub);

  const approverOf = async (principal: Principal): Promise<Ends | undefined> =>
    may(principal, "publish") ? endsOfMade(db, null, principal.keyId) : undefined;

  return [
    serve(routes.listStaged, async (request, principal) => {
      const approver = await approverOf(principal);
      const show = (row: Awaited<ReturnType<typeof listStaged>>[number]) => stagedRecord(row, approver);
      return pageOf(request.query, { by: "id", show }, (range) => listStaged(db, principal, range));
    }),

    serve(routes.showStaged, async (request, principal) => {
      const { id: projectId, version } = request.params;
      const found = await findStaged(db, principal, { projectId, version });
      if (found === undefined) throw notFound("There is no such staged version.");
      return stagedRecord(found, await approverOf(principal));
    }),

    serve(routes.showOutcome, async (request, principal) => {
      const { id, version } = request.params;
      const project = await projectOf(principal, id);
      const found = await findVersion(db, project.id, version);
      if (found === undefined || !seesStaged(principal, found.published_by))
        throw notFound("There is no such version, staged or published.");
      const { sha256, approved_at } = found;
      const state = found.state === "staged" ? ("staged" as const) : ("published" as const);
      return { version, sha256, state, approved_at };
    }),

    serve(routes.approveStaged, async (request, principal) => {
      const { versions } = request.body;
      const names = new Set(versions.map(({ project_id, version }) => JSON.stringify([project_id, version])));
      if (names.size < versions.length) throw unprocessable("versions: name each version once.");
      const projectIds = versions.map(({ project_id }) => project_id);
      for (const id of projectIds) await projectOf(principal, id);
      const done = await audited(hub, request, { principal, projectIds }, async (transaction, tell, { caller }) => {
        const approved: Version[] = [];
        for (const wanted of versions) {
          const { staged, published: version } = await approveVersion(transaction, caller, wanted, hub.clock());
          const [subject, facts] = [subjectOf({ ...staged, id: staged.project_id }), bytesOf(version)];
          await tell({ action: "version.approve", subject, facts: { ...facts, staged_by: staged.published_by } });
          await tell({ action: "version.publish", subject, facts });
          approved.push(version);
        }
        return approved;
      });
      return {
        versions: done.map((row) => {
          const state = stateRecord(row);
          const { project_id, version, sha256 } = row;
          return { project_id, version, sha256, ...(state !== undefined && { state }) };
        }),
      };
    }),

    serve(routes.rejectStaged, async (request, principal) => {
      const { id: projectId, version } = request.params;
      const { reason } = request.body;
      await projectOf(principal, projectId);
      const unneeded = await audited(
        hub,
        request,
        { principal, projectIds: [projectId] },
        async (transaction, tell) => {
          const { staged, blobs } = await rejectVersion(transaction, principal, { projectId, version }, hub.clock());
          const facts = { ...bytesOf(staged), reason, staged_by: staged.published_by };
          await tell({ action: "version.reject", subject: subjectOf({ ...staged, id: projectId }), facts });
          return blobs;
        },
      );
      await trashBlobs(hub, unneeded);
    }),

    serve(routes.requireApproval, async (request, principal) => {
      const project = await projectOf(principal, request.params.id);
      const { required } = request.body;
      const authority = { principal, projectIds: [project.id] } as const;
      await audited(hub, request, authority, async (transaction, tell, { caller, targets: [target] }) => {
        const isAdministrators = isAdministrator(principalOfKey(caller));
        if (!(await changeRule(transaction, target, { isRequired: required, isAdministrators }))) return;
        await tell({ action: "project.approval", subject: subjectOf(target), facts: { required } });
      });
      return { required };
    }),
  ];
}

const bytesOf = ({
  version,
  sha256,
  signer_public_key: signer,
}: {
  version: string;
  sha256: string;
  signer_public_key: string | null;
}) => ({ version, sha256, ...(signer !== null && { signer }) });
