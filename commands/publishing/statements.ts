import type { HubConnection } from "../../lib/client/hub-connection.ts";
import { usageError } from "../../lib/contract/errors.ts";
import type { StatementRecord } from "../../lib/contract/statements/statements.ts";
import type { Target } from "../../lib/contract/target.ts";
import type { Values } from "../../lib/options/option.ts";
import type { statements } from "../../lib/options/statements.ts";
import type { StatedVersion } from "../../lib/publisher/statements.ts";

/** The statements of a publication, read and found sound. */
export interface GivenStatements {
  /** Adds them to the published version. @param seed of its signer, where it has one */
  add: (target: Target, version: StatedVersion, seed: Uint8Array | undefined) => Promise<StatementRecord[]>;
}

/**
 * Reads the statements that a publishing command was given; undefined without any.
 *
 * @throws UsageError `usage`, also without a hub; ArtifactError `statement_invalid`
 */
export async function statementsOf(
  { provenance, sbom, urgent }: Values<typeof statements>,
  hub: HubConnection | undefined,
): Promise<GivenStatements | undefined> {
  if (provenance === undefined && sbom === undefined && urgent === undefined) return undefined;
  if (hub === undefined) throw usageError("usage", "--provenance, --sbom and --urgent go to a hub: give --hub-url.");
  const { addStatements, readStatements } = await import("../../lib/publisher/statements.ts");
  const found = await readStatements({ provenance, sbom, urgent });
  return { add: (target, version, seed) => addStatements(hub, target, version, found, seed) };
}
