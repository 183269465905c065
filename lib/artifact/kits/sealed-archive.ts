import { asSealiftError } from "../../contract/errors.ts";
import { OpeningCipher, type PassingCheck } from "../project/cipher.ts";
import { changedKit } from "./kit-folder.ts";

/** Stands for a signature where the digest of the bytes was compared. */
const COMPARED: PassingCheck = { update: () => undefined, verify: () => true };

/**
 * Opens the archive of a plugin or service, sealed as artifacts are, while its bytes arrive. The plaintext counts once
 * this ends without an error.
 *
 * @throws ArtifactError `kit_changed`, and whatever the source throws
 */
export async function* openedArchive(sealed: AsyncIterable<Buffer>, key: Uint8Array): AsyncGenerator<Buffer> {
  const cipher = new OpeningCipher(key, COMPARED);
  for await (const chunk of sealed) yield* cipher.update(chunk);
  try {
    cipher.finish();
  } catch (error) {
    throw changedKit(asSealiftError(error).message.replace(/\.$/, ""), error);
  }
}
