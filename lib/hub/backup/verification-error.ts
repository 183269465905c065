import { artifactError, type SealiftError } from "../../contract/errors.ts";

/** Stored bytes that are not what their record says. */
export const verificationError = (message: string): SealiftError =>
  artifactError("digest_mismatch", message, {
    hint: "Run sealift hub verify to see everything that is wrong; publish these versions again, or restore a backup.",
  });
