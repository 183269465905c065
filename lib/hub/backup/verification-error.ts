import { artifactError, type SealiftError } from "../../contract/errors.ts";

/** Stored bytes that are not what their record says. */
export const verificationError = (message: string): SealiftError =>
  artifactError("digest_mismatch", message, {
    hint: "Publish what is wrong again, or restore a backup; sealift hub verify names every such version.",
  });
