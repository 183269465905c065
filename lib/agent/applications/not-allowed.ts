import { deploymentError, type SealiftError } from "../../contract/errors.ts";
import { APPLICATIONS_FILE } from "../../contract/files/application-names.ts";

export const HOW_TO_ALLOW = `The operator says in ${APPLICATIONS_FILE} what may run, and on which addresses (docs/contract/application.md).`;

/** Returns the error of a version that waits for the operator. */
export const notAllowed = (message: string, faults: string[] = []): SealiftError =>
  deploymentError("app_not_allowed", message, { ...(faults.length > 0 && { faults }), hint: HOW_TO_ALLOW });
