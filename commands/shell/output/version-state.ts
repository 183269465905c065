import { type VersionState, versionStateText } from "../../../lib/contract/version-states.ts";

/** Tells who gets a version that was just published, for the last line of a publication; undefined for every host. */
export function whoGetsIt(state: VersionState | undefined, target: string, version: string): string | undefined {
  if (state === undefined) return undefined;
  if (state.name === "rolling") return `${versionStateText(state)}: hosts get it wave by wave`;
  return `${versionStateText(state)}: no host gets it until \`sealift version release ${target} ${version}\``;
}

/** Ends the line about a publication with its author's key, where it is signed. @param signer base64 */
export const signedBy = (signer: string | undefined): string =>
  signer === undefined ? "" : `, signed by ${Buffer.from(signer, "base64").toString("hex").slice(0, 16)}`;
