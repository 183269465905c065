import { createHash, generateKeyPairSync, randomBytes, sign } from "node:crypto";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { HubConnection } from "../../lib/client/hub-connection.ts";
import { publishArtifact } from "../../lib/client/publish-client.ts";
import { repeated } from "../../lib/client/retry.ts";

export interface RandomPublisherOptions {
  projectId: string;
  /** Folder for each artifact until it is published. */
  folder: string;
  /** Size of an artifact, in bytes. */
  bytes: number;
  /** Called for failed attempts that are repeated, by their code. */
  onError: (code: string) => void;
}

/** Returns a signer who publishes versions of random bytes. */
export function randomPublisher(
  connection: HubConnection,
  { projectId, folder, bytes: size, onError }: RandomPublisherOptions,
): (version: string) => Promise<void> {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  const signer = publicKey.export({ format: "der", type: "spki" }).subarray(-32).toString("base64");
  return async (version) => {
    const bytes = randomBytes(size);
    const file = join(folder, `${version}.xdeploy`);
    await writeFile(file, bytes);
    const fields = {
      version,
      project_name: "Load",
      content_sha256: createHash("sha256").update(bytes).digest("hex"),
      dek: randomBytes(32).toString("base64"),
      signature: sign(null, bytes, privateKey).toString("base64"),
      signer_public_key: signer,
    };
    const attempt = () => publishArtifact({ ...connection, projectId }, fields, file);
    // A hub under a fleet may answer 503, also to the real publisher, which retries.
    await repeated(attempt, { onRetry: ({ error: { code } }) => onError(code) });
    await rm(file);
  };
}
