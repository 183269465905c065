import type { FastifyRequest } from "fastify";
import { forbidden, notFound } from "../base/errors.ts";
import { hashOf } from "../base/identity.ts";
import type { Principal } from "../base/principal.ts";
import type { Keyring } from "../keys/keyring.ts";
import { dekContext } from "../keys/sealing.ts";
import { findAuthorization, readSealedDek } from "../records/artifacts.ts";
import type { Records } from "../records/port.ts";
import type { MountOptions } from "./authentication.ts";

/** Request for the DEK of the artifact with this signature, by a deployment credential. */
export interface DekQuestion {
  /** Project of the session. */
  projectId: string;
  deploymentCredential: string;
  /** Signature of the artifact, base64. */
  artifactSignature: string;
  /** Key behind the session. */
  principal: Principal;
}

/**
 * Releases the DEK of one artifact to a live session with a live deployment credential. Revocations take effect at
 * once.
 *
 * @throws HubError 403; 404 for a signature that no artifact of the project has
 */
export async function authorizeDek(
  { hub, authentication }: MountOptions<Records & { keyring: Keyring }>,
  request: FastifyRequest,
  { projectId, deploymentCredential, artifactSignature, principal }: DekQuestion,
): Promise<Buffer> {
  const { statements } = hub.database;
  const { blobId, credential } = await findAuthorization(
    statements,
    { projectId, credentialHash: hashOf(deploymentCredential), signature: artifactSignature },
    principal,
  );
  if (
    credential === undefined ||
    credential.revokedAt !== null ||
    (credential.expiresAt !== null && credential.expiresAt <= hub.now())
  ) {
    const error = forbidden("The deployment credential is unknown, revoked or has expired.");
    throw authentication.rejected(request, error, deploymentCredential);
  }
  const noSuchArtifact = () => notFound("No artifact of the project has this signature.");
  if (blobId === undefined) throw noSuchArtifact();
  const dek = await hub.keyring.open(() => readSealedDek(statements, blobId), dekContext(projectId, blobId));
  if (dek === undefined) throw noSuchArtifact();
  return dek;
}
