import { Fragment } from "react";
import type { VersionMarks } from "../../contract/surfaces/version-facts.ts";
import { saidOf, type StateCause } from "../../contract/version-states.ts";
import { Badge } from "./parts.tsx";

/** Badges of what people have said of a version, with their words. */
export const Marks = ({ of }: { of: VersionMarks }) =>
  saidOf(of).map(({ word, why }) => (
    <Fragment key={word}>
      <Badge tone="warn">{word}</Badge>
      {why !== null && <p className="why">{why}</p>}
    </Fragment>
  ));

/** A signer's key in short, in the form that hosts pin it. */
export const KeyName = ({ hex }: { hex: string }) => <code title={`Ed25519: ${hex}`}>{hex.slice(0, 12)}</code>;

/** The author's key. @param signer base64 */
export const SignedBy = ({ signer }: { signer: string }) => (
  <p className="slug">
    signed by <KeyName hex={Buffer.from(signer, "base64").toString("hex")} />
  </p>
);

/** Causes of a version's state, as a line below it goes on with the time. */
export const STATE_CAUSES: Record<StateCause, string> = {
  uploaded: "waits for approval since",
  started: "Its rollout began",
  halted: "Its rollout was halted",
  aborted: "Its rollout was aborted",
  replaced: "Its rollout was replaced",
  beside: "Published beside a rollout",
};
