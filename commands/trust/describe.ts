import { countersigners, keysOfRoot } from "../../lib/artifact/trust/edit.ts";
import { keyIdOf } from "../../lib/artifact/trust/keys.ts";
import { signaturesOn, type TrustRoot } from "../../lib/artifact/trust/root.ts";
import { counted } from "../../lib/support/counted.ts";

/** Signatures that a root has and lacks, by its own root keys or those of the version before. */
export interface SignedState {
  by: "itself" | "the version before";
  signatures: number;
  threshold: number;
  missing: string[];
}

/** Returns who has signed a root. @param base version before it; undefined if it is not at hand */
export function signedStates(root: TrustRoot, base: TrustRoot | undefined): SignedState[] {
  const stateOf = (by: SignedState["by"], whose: TrustRoot): SignedState => {
    const { threshold, by: ids, missing } = signaturesOn(root, whose);
    return { by, threshold, signatures: ids.length, missing };
  };
  return [stateOf("itself", root), ...(base === undefined ? [] : [stateOf("the version before", base)])];
}

export const isComplete = (states: readonly SignedState[]): boolean =>
  states.every(({ signatures, threshold }) => signatures >= threshold);

/** Returns the root as a record of `--json`. */
export function rootFacts(root: TrustRoot, base: TrustRoot | undefined) {
  const { id, version, digest, expires } = root;
  const { threshold, ...roles } = keysOfRoot(root);
  const shown = (keys: typeof roles.root) =>
    keys.map(({ key, name }) => ({
      id: keyIdOf(key),
      type: key.keytype,
      public: key.keyval.public,
      name: name ?? null,
    }));
  return {
    ...{ id, version, digest, expires, threshold, root_keys: shown(roles.root), signers: shown(roles.signers) },
    countersigned_by: shown(countersigners(root)).map(({ public: key }) => key),
    signed: signedStates(root, base),
  };
}

/** Describes a root in lines for people. */
export function rootLines(root: TrustRoot, base: TrustRoot | undefined): string[] {
  const { id, version, digest, expires, threshold, root_keys, signers, countersigned_by, signed } = rootFacts(
    root,
    base,
  );
  const own = signed[0]!;
  const label = ({ name, ...key }: (typeof signers)[number]): string =>
    `${name ?? "(no name)"}  ${key.type === "ed25519" ? key.public : `P-256, id ${key.id}`}`;
  return [
    `trust root   ${id}`,
    `version      ${version}, until ${expires.slice(0, 10)} (nothing stops then)`,
    `digest       ${digest}`,
    `root keys    ${threshold} of ${counted(root_keys.length, "key")} sign the next version`,
    ...root_keys.map((key) => `             ${own.missing.includes(key.id) ? " " : "✓"} ${label(key)}`),
    `signers      any one signs versions`,
    ...signers.map((key) => `               ${label(key)}`),
    ...signed.map(
      ({ by, signatures, threshold: needed }) =>
        `signed       by ${signatures} of the ${needed} that ${by === "itself" ? "it demands itself" : "the version before demands"}`,
    ),
    ...countersigned_by.map((key) => `countersigned by the signer ${key}`),
  ];
}
