import type { FastifyRequest } from "fastify";
import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import { signingKeyRecord, signingKeyRequest } from "../../contract/surfaces/marketplace.ts";
import { audited } from "../access/audit.ts";
import type { MountOptions } from "../access/authentication.ts";
import { forbidden, notFound } from "../ground/errors.ts";
import { type Principal, requireScope } from "../ground/principal.ts";
import { errors, noContent, security } from "../http/documentation.ts";
import { storeSecret } from "../keys/hub-secret.ts";
import type { Keyring } from "../keys/keyring.ts";
import type { Records } from "../records/port.ts";
import { removeSecret, secretSince, signingSecretName } from "../records/secrets.ts";

/** A developer's signing secret, sealed under the KEK, for archives that the hub imports. It never comes out. */
export const signingKey: FastifyPluginAsyncZod<MountOptions<Records & { keyring: Keyring }>> = async (
  app,
  { hub, authentication },
) => {
  const db = hub.database.kysely;
  const shared = { tags: ["key service"], security: security.key };

  async function principalOf(request: FastifyRequest): Promise<Principal> {
    const principal = await authentication.key(request);
    requireScope(principal, "publish");
    if (principal.projectId !== null)
      throw forbidden("A key that is bound to a project may not change or see its owner's secret.");
    return principal;
  }

  app.post("/signing-key", {
    schema: {
      ...shared,
      summary: "Register the owner's signing secret, in place of an earlier one",
      body: signingKeyRequest,
      response: { 201: signingKeyRecord, ...errors(400, 401, 403, 415, 422) },
    },
    async handler(request, reply) {
      const principal = await principalOf(request);
      const { owner } = principal;
      const now = hub.now();
      await audited(hub, request, principal, async (transaction, tell) => {
        await storeSecret(transaction, hub.keyring, {
          name: signingSecretName(owner),
          secret: Buffer.from(request.body.secret),
          now,
          replace: true,
        });
        await tell({ action: "signing-key.register", subject: owner });
      });
      return reply.code(201).send({ owner, created_at: now });
    },
  });

  app.get("/signing-key", {
    schema: {
      ...shared,
      summary: "Whether a signing secret is registered, and since when",
      response: { 200: signingKeyRecord, ...errors(401, 403, 404) },
    },
    async handler(request) {
      const principal = await principalOf(request);
      const { owner } = principal;
      const since = await secretSince(db, signingSecretName(owner));
      if (since === undefined) throw notFound("No signing secret is registered.");
      return { owner, created_at: since };
    },
  });

  app.delete("/signing-key", {
    schema: { ...shared, summary: "Forget the signing secret", response: { 204: noContent, ...errors(401, 403, 404) } },
    async handler(request, reply) {
      const principal = await principalOf(request);
      const { owner } = principal;
      await audited(hub, request, principal, async (transaction, tell) => {
        const isForgotten = await removeSecret(transaction, signingSecretName(owner));
        if (!isForgotten) throw notFound("No signing secret is registered.");
        await tell({ action: "signing-key.forget", subject: owner });
      });
      return reply.code(204).send(null);
    },
  });
};
