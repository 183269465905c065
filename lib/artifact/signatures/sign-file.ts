import type { FileHandle } from "node:fs/promises";
import { publishError } from "../../contract/errors.ts";
import { readChunks } from "../../support/read-chunks.ts";
import type { TwoPassSigner } from "./ed25519.ts";

/**
 * Ends a signature over an open file whose first pass has been made already (or makes both).
 *
 * Two signatures with one nonce over different bytes would give the key away, so a file that changes between the passes
 * is an error and no signature leaves this function.
 *
 * @throws PublishError `source_changed`
 */
export async function signFile(
  file: FileHandle,
  signer: TwoPassSigner,
  options: { firstPassDone?: boolean; signal?: AbortSignal } = {},
): Promise<Uint8Array> {
  const before = await file.stat({ bigint: true });
  if (!options.firstPassDone) for await (const chunk of readChunks(file, options.signal)) signer.first(chunk);
  for await (const chunk of readChunks(file, options.signal)) signer.second(chunk);
  const after = await file.stat({ bigint: true });
  if (before.size !== after.size || before.mtimeNs !== after.mtimeNs) {
    throw publishError("source_changed", "The artifact changed while it was being signed.", {
      hint: "Make sure that nothing else writes to it and publish again.",
    });
  }
  return signer.sign();
}
