import { usageError } from "../../lib/contract/errors.ts";
import type { Values } from "../../lib/options/option.ts";
import type { statements as options } from "../../lib/options/statements.ts";
import type { PublishingFeature } from "../publishing/feature.ts";

/** Statements that a publishing command was given. */
export const statements: PublishingFeature = {
  async prepare({ provenance, sbom, urgent }: Values<typeof options>, hub) {
    if (provenance === undefined && sbom === undefined && urgent === undefined) return undefined;
    if (hub === undefined) throw usageError("usage", "--provenance, --sbom and --urgent go to a hub: give --hub-url.");
    const { addStatements, readStatements } = await import("../../lib/publisher/statements.ts");
    const found = await readStatements({ provenance, sbom, urgent });
    return {
      async add(target, version, seed) {
        const added = await addStatements(hub, target, version, found, seed);
        return { result: { statements: added }, lines: added.map(({ kind, size_bytes: bytes }) => [kind, bytes]) };
      },
    };
  },
};
