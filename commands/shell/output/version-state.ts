import { type VersionState, versionStateText } from "../../../lib/contract/version-states.ts";

/** Version that was just published or staged. */
interface StoredVersion {
  target: string;
  version: string;
  /** Digest of the stored bytes; undefined for a hub that does not state it. */
  sha256: string | undefined;
}

/**
 * Describes which hosts get a version that was just stored, for the last line of a publication; undefined for every
 * host.
 */
export function whoGetsIt(
  state: VersionState | undefined,
  { target, version, sha256 }: StoredVersion,
): string | undefined {
  if (state === undefined) return undefined;
  if (state.name === "staged") return `${versionStateText(state)}: sealift stage approve ${sha256 ?? ""}`.trimEnd();
  if (state.name === "rolling") return `${versionStateText(state)}: hosts get it wave by wave`;
  return `${versionStateText(state)}: no host gets it until \`sealift version release ${target} ${version}\``;
}

/** Returns the verb of the line about a publication. @param unchanged whether the very same archive already existed */
export const storedAs = (state: VersionState | undefined, unchanged = false): string =>
  unchanged ? "unchanged:" : state?.name === "staged" ? "staged" : "published";

/** Ends the line about a publication with its author's key, if it is signed. @param signer base64 */
export const signedBy = (signer: string | undefined): string =>
  signer === undefined ? "" : `, signed by ${Buffer.from(signer, "base64").toString("hex").slice(0, 16)}`;
