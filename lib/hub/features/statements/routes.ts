import type { FastifyReply, FastifyRequest } from "fastify";
import * as routes from "../../../contract/statements/routes.ts";
import type { StatementKind } from "../../../contract/statements/statements.ts";
import type { MarketplaceKind } from "../../../contract/surfaces/paths.ts";
import type { Target } from "../../../contract/target.ts";
import type { MountOptions } from "../../access/authentication.ts";
import { projectAccess } from "../../access/project-access.ts";
import { serve, type Served, serveRaw } from "../../access/serve.ts";
import { type SeenTarget, targetAccess } from "../../access/target-access.ts";
import { admitUpload } from "../../access/uploads.ts";
import { notFound } from "../../base/errors.ts";
import type { Principal } from "../../base/principal.ts";
import { controls, seesStaged } from "../../base/rights.ts";
import { blobBytes, sendBytes } from "../../http/ranges.ts";
import { requireCompletable } from "../../publications/approval.ts";
import { statementsAbout } from "../../records/hooks.ts";
import { subjectOf } from "../../records/subjects.ts";
import { findVersion, findVersionById, type Version } from "../../records/versions.ts";
import type { Core } from "../feature.ts";
import { receiveStatement } from "./receive.ts";
import { findStatement, statementRecord } from "./records.ts";

const actorOn = (target: SeenTarget): Principal | undefined =>
  controls(target.principal, target) ? target.principal : undefined;

/** Routes of statements: publishers add them; hosts and approvers read them. */
export function statementRoutes(options: MountOptions<Core>): readonly Served[] {
  const { hub } = options;
  const db = hub.database.kysely;
  const projects = projectAccess(options);

  /**
   * Returns the version of a request. @param actor calling key, if it acts on the target: only such keys see staged
   * versions
   */
  async function versionOf(projectId: string, label: string, actor: Principal | undefined): Promise<Version> {
    const version = await findVersion(db, projectId, label);
    const isHidden = version?.state === "staged" && !(actor && seesStaged(actor, version.published_by));
    if (version === undefined || isHidden) throw notFound("There is no such version.");
    return version;
  }

  async function add(
    request: FastifyRequest,
    reply: FastifyReply,
    { principal, projectId, target, label }: { principal: Principal; projectId: string; target: Target; label: string },
  ) {
    const writeAudit = admitUpload(hub, request, reply, { principal, projectId });
    const subject = subjectOf({ ...target, id: projectId });
    const version = await versionOf(projectId, label, principal);
    requireCompletable(principal, version);
    const { record, created } = await receiveStatement(
      hub,
      { target, version },
      request,
      async (transaction, { kind, sha256 }) => {
        // The version may have been approved meanwhile, without this statement.
        const current = await findVersionById(transaction, version.id);
        requireCompletable(principal, current ?? version);
        const facts = { version: label, kind, sha256 };
        await writeAudit(transaction, { action: "statement.publish", subject, facts });
      },
    );
    return reply.code(created ? 201 : 200).send(statementRecord(record));
  }

  const list = async (projectId: string, label: string, actor: Principal | undefined) =>
    statementsAbout(db, await versionOf(projectId, label, actor));

  async function send(
    request: FastifyRequest,
    reply: FastifyReply,
    found: { projectId: string; label: string; kind: StatementKind; actor: Principal | undefined },
  ) {
    const { id: versionId } = await versionOf(found.projectId, found.label, found.actor);
    const statement = await findStatement(db, versionId, found.kind);
    if (statement === undefined) throw notFound(`The version has no statement of the kind ${found.kind}.`);
    const { id, size_bytes, sha256 } = statement;
    return sendBytes(request, reply, blobBytes(hub.blobs, { id, size: Number(size_bytes), sha256 }), {
      "content-type": "application/octet-stream",
    });
  }

  const ofKind = (kind: MarketplaceKind): Served[] => {
    const access = targetAccess(kind, options);
    return [
      serveRaw(routes.addTargetStatement[kind], access.controlled, (request, reply, { id: projectId, principal }) => {
        const { slug, version: label } = request.params;
        return add(request, reply, { principal, projectId, target: { kind, slug }, label });
      }),
      serve(routes.listTargetStatements[kind], access.seen, ({ params }, target) =>
        list(target.id, params.version, actorOn(target)),
      ),
      serveRaw(routes.readTargetStatement[kind], access.seen, (request, reply, target) => {
        const { version: label, kind: wanted } = request.params;
        return send(request, reply, { projectId: target.id, label, kind: wanted, actor: actorOn(target) });
      }),
    ];
  };

  return [
    serveRaw(routes.addProjectStatement, projects.publishable, (request, reply, principal) => {
      const { project_id: projectId, version: label } = request.params;
      return add(request, reply, { principal, projectId, target: { kind: "project", slug: projectId }, label });
    }),
    serve(routes.listProjectStatements, projects.readable, ({ params }, actor) =>
      list(params.project_id, params.version, actor),
    ),
    serveRaw(routes.readProjectStatement, projects.readable, (request, reply, actor) => {
      const { project_id: projectId, version: label, kind } = request.params;
      return send(request, reply, { projectId, label, kind, actor });
    }),
    ...ofKind("plugin"),
    ...ofKind("service"),
  ];
}
