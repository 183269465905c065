import { Fragment } from "react";
import type { VersionMarks } from "../../contract/facts/version.ts";
import { saidOf, type StateCause } from "../../contract/version-states.ts";
import { Badge } from "./parts.tsx";

/** Badges of a version's marks, with their reasons. */
export const Marks = ({ of }: { of: VersionMarks }) =>
  saidOf(of).map(({ word, why }) => (
    <Fragment key={word}>
      <Badge tone="warn">{word}</Badge>
      {why !== null && <p className="why">{why}</p>}
    </Fragment>
  ));

/** Shortened key of a signer, in the form that hosts pin. */
export const KeyName = ({ hex }: { hex: string }) => <code title={`Ed25519: ${hex}`}>{shortHex(hex)}</code>;

/** Key of a version's signer. @param of base64 */
export const Signer = ({ of }: { of: string }) => <KeyName hex={Buffer.from(of, "base64").toString("hex")} />;

/** Shortened digest of a version's bytes. */
export const Digest = ({ sha256 }: { sha256: string }) => <code title={`SHA-256: ${sha256}`}>{shortHex(sha256)}</code>;

/** Shortens a key or digest to as many characters as on the terminal. */
export const shortHex = (hex: string): string => hex.slice(0, 16);

/** Causes of a version's state, worded so that the time can follow. */
export const STATE_CAUSES: Record<StateCause, string> = {
  uploaded: "waits for approval since",
  started: "Its rollout began",
  halted: "Its rollout was halted",
  aborted: "Its rollout was aborted",
  replaced: "Its rollout was replaced",
  beside: "Published beside a rollout",
};
