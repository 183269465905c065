import type { HubContext } from "../../context.ts";
import { HubError } from "../../http/errors.ts";
import { openSecret } from "../../keys/hub-secret.ts";
import { signingSecretName } from "../../records/secrets.ts";

/** @throws 409 when the owner has registered none */
export async function signingSecretOf(hub: HubContext, owner: string): Promise<Buffer> {
  const secret = await openSecret(hub.database.kysely, hub.keyring, signingSecretName(owner));
  if (secret !== undefined) return secret;
  throw new HubError(409, "conflict", "The owner has registered no signing secret; see POST /devkeys/signing-key.");
}
