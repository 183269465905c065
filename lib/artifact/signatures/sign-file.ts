import type { FileHandle } from "node:fs/promises";
import { publishError } from "../../contract/errors.ts";
import { readChunks } from "../../support/read-chunks.ts";
import { nonceHash, OnePassSigner } from "./ed25519.ts";

/**
 * Signs an open file deterministically, as RFC 8032 says: the nonce comes from the message, so the file is read twice.
 *
 * Two signatures with one nonce over different bytes would reveal the key. A file that changes between the passes is
 * therefore an error, and no signature is returned.
 *
 * @param seed the signer's 32 bytes
 * @throws PublishError `source_changed`
 */
export async function signFile(file: FileHandle, seed: Uint8Array, signal?: AbortSignal): Promise<Uint8Array> {
  const before = await file.stat({ bigint: true });
  const nonce = nonceHash(seed);
  for await (const chunk of readChunks(file, signal)) nonce.update(chunk);
  using signer = new OnePassSigner(seed, nonce.digest());
  for await (const chunk of readChunks(file, signal)) signer.update(chunk);
  const after = await file.stat({ bigint: true });
  if (before.size !== after.size || before.mtimeNs !== after.mtimeNs) {
    throw publishError("source_changed", "The artifact changed while it was being signed.", {
      hint: "Make sure that nothing else writes to it and publish again.",
    });
  }
  return signer.sign();
}
