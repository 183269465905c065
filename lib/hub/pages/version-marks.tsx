import { Fragment } from "react";
import type { VersionMarks } from "../../contract/surfaces/version-facts.ts";
import { saidOf } from "../../contract/version-states.ts";
import { Badge } from "./parts.tsx";

/** Badges of what people have said of a version, with their words. */
export const Marks = ({ of }: { of: VersionMarks }) =>
  saidOf(of).map(({ word, why }) => (
    <Fragment key={word}>
      <Badge tone="warn">{word}</Badge>
      {why !== null && <p className="why">{why}</p>}
    </Fragment>
  ));

/** The author's key, as hosts pin it. @param signer base64 */
export function SignedBy({ signer }: { signer: string }) {
  const key = Buffer.from(signer, "base64").toString("hex");
  return (
    <p className="slug">
      signed by <code title={`Ed25519: ${key}`}>{key.slice(0, 12)}</code>
    </p>
  );
}
