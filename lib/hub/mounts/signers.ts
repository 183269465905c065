import { isUsablePublicKey } from "../../artifact/signatures/ed25519.ts";
import * as routes from "../../contract/signers/routes.ts";
import { audited, lateAuditWriter } from "../access/audit.ts";
import type { MountOptions } from "../access/authentication.ts";
import { controlledBy } from "../access/project-access.ts";
import { serve, type Served } from "../access/serve.ts";
import { conflict, notFound, unprocessable } from "../base/errors.ts";
import type { Blobs } from "../blobs/port.ts";
import { pageOf } from "../http/documentation.ts";
import { addSignature } from "../publications/add-signature.ts";
import type { Records } from "../records/port.ts";
import { addSigner, endSigner, findSigner, listSigners } from "../records/signers.ts";
import { subjectOf } from "../records/subjects.ts";

const followsRoot = (root: string) =>
  conflict(
    `The trust root ${root} names the signers: add one to it by \`sealift trust change\`, and publish its next version.`,
  );

/**
 * Routes of the register of signers of a project, plugin or service (docs/contract/keys.md#signers), and of signatures
 * for archives published without one. A key that may only publish cannot add itself.
 */
export function signers({ hub }: MountOptions<Records & { blobs: Blobs }>): readonly Served[] {
  const db = hub.database.kysely;
  const projectOf = controlledBy(hub);

  const end = (
    route: typeof routes.retireSigner | typeof routes.revokeSigner,
    how: "retired" | "revoked",
    action: "signer.retire" | "signer.revoke",
  ) =>
    serve(route, async (request, principal) => {
      const project = await projectOf(principal, request.params.id);
      const { key } = request.params;
      const reason = request.body?.reason ?? null;
      return audited(hub, request, { principal, projectIds: [project.id] }, async (transaction, tell) => {
        const { owner: by } = principal;
        const ending = { key, how, by, reason, now: hub.now() };
        // A stolen key may never have been registered.
        if (how === "revoked" && (await findSigner(transaction, project.id, key)) === undefined)
          await addSigner(transaction, project.id, { key, name: "", by, now: hub.now() });
        const hasChanged = await endSigner(transaction, project.id, ending);
        const record = await findSigner(transaction, project.id, key);
        if (record === undefined) throw notFound("The project has no such signer.");
        if (hasChanged) await tell({ action, subject: project.id, facts: { signer: key, reason } });
        return record;
      });
    });

  return [
    serve(routes.listSigners, async (request, principal) => {
      const { id } = await projectOf(principal, request.params.id);
      return pageOf(request.query, { by: "public_key" }, (range) => listSigners(db, id, range));
    }),

    serve(routes.addSigner, async (request, principal) => {
      const project = await projectOf(principal, request.params.id);
      const { public_key: key, name = "" } = request.body;
      if (!isUsablePublicKey(Buffer.from(key, "hex"))) throw unprocessable("public_key: no verifier accepts this key.");
      const authority = { principal, projectIds: [project.id] } as const;
      return audited(hub, request, authority, async (transaction, tell, { targets: [target] }) => {
        if (target.root_id !== null) throw followsRoot(target.root_id);
        const facts = { key, name, by: principal.owner, now: hub.now() };
        const added = await addSigner(transaction, project.id, facts);
        if (added.state === "revoked") throw conflict("The signer was revoked, and stays so; make a new key.");
        await tell({ action: "signer.add", subject: project.id, facts: { signer: key, name } });
        return added;
      });
    }),

    serve(routes.signVersion, async (request, principal) => {
      const project = await projectOf(principal, request.params.id);
      const { version } = request.params;
      // Nothing moves on the connection while the stored bytes are read.
      request.raw.socket.setTimeout(0);
      const writeAudit = lateAuditWriter(hub, request, { principal, projectIds: [project.id] });
      await addSignature(hub, project, version, request.body, (transaction, { sha256, signer_public_key: signer }) => {
        const facts = { version, sha256, signer };
        return writeAudit(transaction, { action: "version.sign", subject: subjectOf(project), facts });
      });
    }),

    end(routes.retireSigner, "retired", "signer.retire"),
    end(routes.revokeSigner, "revoked", "signer.revoke"),
  ];
}
