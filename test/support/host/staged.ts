/** Opens artifacts into folders of a test, as the agent does, without a hub. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { DEFAULT_LIMITS, type Limits } from "../../../lib/artifact/limits.ts";
import { openArtifact, type OpenedArtifact } from "../../../lib/artifact/project/open.ts";
import { SealiftError } from "../../../lib/contract/errors.ts";
import { type ForgedArtifact, forgedArtifact, forgedFrame, forgedSigner } from "../forged/artifact.ts";

const signer = forgedSigner();
let count = 0;

/** A signed artifact of a tar as it is. */
export const sealedTar = (tar: Uint8Array): ForgedArtifact => forgedArtifact(forgedFrame(tar), signer);

/** Opens an artifact in a fresh folder below `parent`. */
export async function openInto(
  parent: string,
  artifact: ForgedArtifact,
  limits: Limits = DEFAULT_LIMITS,
): Promise<OpenedArtifact & { staging: string }> {
  const staging = join(parent, `staging-${count++}`);
  mkdirSync(staging, { mode: 0o700 });
  const pieces: Buffer[] = [];
  for (let at = 0; at < artifact.file.length; at += 65_536) pieces.push(artifact.file.subarray(at, at + 65_536));
  const opened = await openArtifact(Readable.from(pieces), {
    dek: artifact.dek,
    signature: artifact.signature,
    signerPublicKey: artifact.publicKey,
    staging,
    limits,
  });
  return { ...opened, staging };
}

/** The code with which opening fails, or "fine". Errors that are not a `SealiftError` are thrown. */
export async function openingCode(parent: string, artifact: ForgedArtifact, limits?: Limits): Promise<string> {
  try {
    await openInto(parent, artifact, limits);
    return "fine";
  } catch (error) {
    if (error instanceof SealiftError) return error.code;
    throw error;
  }
}
