import type { FastifyReply, FastifyRequest } from "fastify";
import type { MarketplaceKind } from "../../../contract/surfaces/paths.ts";
import * as routes from "../../../contract/trust/routes.ts";
import { audited } from "../../access/audit.ts";
import type { MountOptions } from "../../access/authentication.ts";
import { viewOf } from "../../access/key-rights.ts";
import { controlledBy, projectAccess } from "../../access/project-access.ts";
import { serve, type Served, serveRaw } from "../../access/serve.ts";
import { targetAccess } from "../../access/target-access.ts";
import { notFound } from "../../base/errors.ts";
import { hashOf } from "../../base/identity.ts";
import type { Principal } from "../../base/principal.ts";
import { pageOf } from "../../http/documentation.ts";
import { sendBytes, textBytes } from "../../http/ranges.ts";
import { changeTarget } from "../../records/latest/change-target.ts";
import { subjectOf } from "../../records/subjects.ts";
import type { Core } from "../feature.ts";
import { publishRoot, severalOwners } from "./publish.ts";
import { clearRoot, findFollowed, findRoot, findRoots, type ListedRoot, listRoots } from "./records.ts";

const noneFollowed = () => notFound("It follows no trust root.");
const noSuchVersion = () => notFound("The trust root has no such version.");

/** Routes of trust roots: owners publish them, and hosts read the versions of the one that their target follows. */
export function trustRoutes(options: MountOptions<Core>): readonly Served[] {
  const { hub } = options;
  const db = hub.database.kysely;
  const projectOf = controlledBy(hub);
  const projects = projectAccess(options);

  /** Returns a root. @throws HubError 404, or 409 to an administrator who sees several owners' ones */
  async function seen(principal: Principal, id: string) {
    const found = await findRoots(db, viewOf(principal), id);
    const root = found.length === 1 ? found[0] : found.find(({ owner }) => owner === principal.owner);
    if (root !== undefined) return root;
    throw found.length === 0 ? notFound("There is no such trust root.") : severalOwners();
  }

  async function sendFollowed(request: FastifyRequest, reply: FastifyReply, projectId: string, version: number) {
    const found = await findFollowed(db, projectId, version);
    if (found === undefined) throw notFound("No trust root of this version names the signers.");
    return sendDocument(request, reply, found.document);
  }

  const ofKind = (kind: MarketplaceKind): Served =>
    serveRaw(routes.readTargetRoot[kind], targetAccess(kind, options).seen, (request, reply, { id }) =>
      sendFollowed(request, reply, id, request.params.version),
    );

  return [
    serveRaw(routes.publishRoot, async (request, reply, principal) => {
      const { record, isNew } = await publishRoot(hub, request, principal, request.body);
      return reply.code(isNew ? 201 : 200).send(record);
    }),

    serve(routes.listRoots, (request, principal) =>
      pageOf(request.query, { by: "place", show: ({ record }: ListedRoot) => record }, (range) =>
        listRoots(db, viewOf(principal), range),
      ),
    ),

    serve(routes.showRoot, (request, principal) => seen(principal, request.params.root)),

    serveRaw(routes.readRoot, async (request, reply, principal) => {
      const { root, version } = request.params;
      const { owner } = await seen(principal, root);
      const found = await findRoot(db, { owner, root_id: root, version });
      if (found === undefined) throw noSuchVersion();
      return sendDocument(request, reply, found.document);
    }),

    serve(routes.followedRoot, async (request, principal) => {
      const { owner, root_id: rootId } = await projectOf(principal, request.params.id);
      const found = rootId === null ? [] : await findRoots(db, viewOf(principal), rootId);
      const root = found.find((each) => each.owner === owner);
      if (root === undefined) throw noneFollowed();
      return root;
    }),

    serve(routes.leaveRoot, async (request, principal) => {
      const { id } = await projectOf(principal, request.params.id);
      const authority = { principal, projectIds: [id] } as const;
      await audited(hub, request, authority, async (transaction, tell, { targets: [target] }) => {
        const { root_id, root_version } = target;
        if (root_id === null || root_version === null) throw noneFollowed();
        await changeTarget(transaction, id, hub.clock(), () => clearRoot(transaction, id));
        await tell({ action: "trust.leave", subject: subjectOf(target), facts: { root_id, root_version } });
      });
    }),

    serveRaw(routes.readProjectRoot, projects.readable, (request, reply) => {
      const { project_id: projectId, version } = request.params;
      return sendFollowed(request, reply, projectId, version);
    }),

    ofKind("plugin"),
    ofKind("service"),
  ];
}

/** Sends a document as it was published. */
const sendDocument = (request: FastifyRequest, reply: FastifyReply, document: string): Promise<FastifyReply> =>
  sendBytes(request, reply, textBytes(document, hashOf(document)), { "content-type": "application/json" });
