import type { Policy } from "./policy-file.ts";

/** Facts of a version that came by a kit, on which it depends whose word a policy rests on. */
interface Brought {
  version: string;
  /** Key that has signed what the kit says, 64 hexadecimal digits. */
  hubKey: string;
  /** Whether this host accepts signers that it knows only: what they endorse is not the hub's word. */
  hasPinnedSigner: boolean;
}

/** Tells whether a rule of a policy holds by the word of a hub, and not by signatures that the host verifies. */
const restsOnHub = ({ approved, min_age: minAge, sbom }: Policy, hasPinnedSigner: boolean): boolean =>
  approved === true || minAge !== undefined || (sbom === true && !hasPinnedSigner);

/**
 * Checks whether what a kit says counts for a policy. Whoever can open a version can write another kit of it, so the
 * word of a hub counts by its key alone.
 *
 * @returns the reason why it does not; undefined where it does
 */
export function unknownHub(policy: Policy, { version, hubKey, hasPinnedSigner }: Brought): string | undefined {
  const { hub_keys: known, file } = policy;
  if (known?.includes(hubKey) ?? !restsOnHub(policy, hasPinnedSigner)) return undefined;
  return `${file} takes the word of a hub about ${version} by its key, and hub_keys does not have the one that has signed this kit: ${hubKey}. Compare it with the hub's, which \`sealift kit key\` prints where there is network. Write it into hub_keys if it is the same; if not, somebody else has made the kit.`;
}
