import { artifactError, type SealiftError } from "../../contract/errors.ts";
import { quoted } from "../tree/safe-path.ts";

/** An archive that is no proper ZIP. */
export const malformed = (message: string): SealiftError =>
  artifactError("zip_invalid", message, { hint: "Nothing was unpacked. Ask the publisher for a proper archive." });

/** The same, for the fault of one entry. */
export const badEntry = (name: string, why: string): SealiftError =>
  malformed(`The archive's entry ${quoted(name)} ${why}.`);
