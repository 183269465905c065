import * as routes from "../../contract/signing-key/routes.ts";
import { audited } from "../access/audit.ts";
import type { MountOptions } from "../access/authentication.ts";
import { serve, type Served } from "../access/serve.ts";
import { notFound } from "../base/errors.ts";
import { storeSecret } from "../keys/hub-secret.ts";
import type { Keyring } from "../keys/keyring.ts";
import type { Records } from "../records/port.ts";
import { removeSecret, secretSince, signingSecretName } from "../records/secrets.ts";

/**
 * Routes of a developer's signing secret, sealed under the KEK, for archives that the hub imports. It is never
 * returned.
 */
export function signingKey({ hub }: MountOptions<Records & { keyring: Keyring }>): readonly Served[] {
  return [
    serve(routes.registerSigningKey, async (request, principal) => {
      return audited(hub, request, { principal, projectIds: [] }, async (transaction, tell, { caller: { owner } }) => {
        const now = hub.now();
        await storeSecret(transaction, hub.keyring, {
          name: signingSecretName(owner),
          secret: Buffer.from(request.body.secret),
          now,
          replace: true,
        });
        await tell({ action: "signing-key.register", subject: owner });
        return { owner, created_at: now };
      });
    }),

    serve(routes.showSigningKey, async (_request, { owner }) => {
      const since = await secretSince(hub.database.kysely, signingSecretName(owner));
      if (since === undefined) throw notFound("No signing secret is registered.");
      return { owner, created_at: since };
    }),

    serve(routes.forgetSigningKey, async (request, principal) => {
      await audited(hub, request, { principal, projectIds: [] }, async (transaction, tell, { caller: { owner } }) => {
        const isForgotten = await removeSecret(transaction, signingSecretName(owner));
        if (!isForgotten) throw notFound("No signing secret is registered.");
        await tell({ action: "signing-key.forget", subject: owner });
      });
    }),
  ];
}
