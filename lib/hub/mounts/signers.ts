import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import * as z from "zod";
import { isUsablePublicKey } from "../../artifact/signatures/ed25519.ts";
import { page } from "../../contract/surfaces/keys.ts";
import { addSignerRequest, endSignerRequest, signerKey, signerRecord } from "../../contract/surfaces/signers.ts";
import { audited } from "../access/audit.ts";
import type { MountOptions } from "../access/authentication.ts";
import { controlledProject } from "../access/project-access.ts";
import { conflict, notFound, unprocessable } from "../ground/errors.ts";
import { errors, pageOf, pageQuery, security } from "../http/documentation.ts";
import type { Records } from "../records/port.ts";
import { addSigner, endSigner, findSigner, listSigners } from "../records/signers.ts";

const projectParams = z.object({ id: z.string() });
const signerParams = projectParams.extend({ key: signerKey });

/** The register of a project's signers (docs/contract/keys.md#signers). A key that only publishes cannot add itself. */
export const signers: FastifyPluginAsyncZod<MountOptions<Records>> = async (app, options) => {
  const { hub } = options;
  const db = hub.database.kysely;
  const controlled = controlledProject(options);
  const shared = { tags: ["key service"], security: security.key };

  app.get("/projects/:id/signers", {
    schema: {
      ...shared,
      summary: "The signers of a project, by their keys",
      params: projectParams,
      querystring: pageQuery,
      response: { 200: page(signerRecord), ...errors(401, 403, 404, 422) },
    },
    async handler(request) {
      const { project } = await controlled(request, request.params.id, "read", "projects", "publish");
      return pageOf(request.query, { by: "public_key" }, (range) => listSigners(db, project.id, range));
    },
  });

  app.post("/projects/:id/signers", {
    schema: {
      ...shared,
      summary: "Add a signer, or take a retired one back; from the first one on, others may not publish",
      params: projectParams,
      body: addSignerRequest,
      response: { 201: signerRecord, ...errors(400, 401, 403, 404, 409, 415, 422) },
    },
    async handler(request, reply) {
      const { project, principal } = await controlled(request, request.params.id, "projects");
      if (project.kind !== "project") throw unprocessable("Only projects have signers.");
      const { public_key: key, name = "" } = request.body;
      if (!isUsablePublicKey(Buffer.from(key, "hex"))) throw unprocessable("public_key: no verifier accepts this key.");
      const record = await audited(hub, request, principal, async (transaction, tell) => {
        const facts = { key, name, by: principal.owner, now: hub.now() };
        const added = await addSigner(transaction, project.id, facts);
        if (added.state === "revoked") throw conflict("The signer was revoked, and stays so; make a new key.");
        await tell({ action: "signer.add", subject: project.id, facts: { signer: key, name } });
        return added;
      });
      return reply.code(201).send(record);
    },
  });

  for (const [word, how, action] of [
    ["retire", "retired", "signer.retire"],
    ["revoke", "revoked", "signer.revoke"],
  ] as const) {
    app.post(`/projects/:id/signers/:key/${word}`, {
      schema: {
        ...shared,
        summary:
          word === "retire"
            ? "Retire a signer: it publishes nothing more, and may be added again"
            : "Revoke a signer for good, such as one that was stolen",
        params: signerParams,
        body: endSignerRequest.nullish(),
        response: { 200: signerRecord, ...errors(400, 401, 403, 404, 415, 422) },
      },
      async handler(request) {
        const { project, principal } = await controlled(request, request.params.id, "projects");
        const { key } = request.params;
        const reason = request.body?.reason ?? null;
        return audited(hub, request, principal, async (transaction, tell) => {
          await endSigner(transaction, project.id, { key, how, by: principal.owner, reason, now: hub.now() });
          const record = await findSigner(transaction, project.id, key);
          if (record === undefined) throw notFound("The project has no such signer.");
          await tell({ action, subject: project.id, facts: { signer: key, reason } });
          return record;
        });
      },
    });
  }
};
