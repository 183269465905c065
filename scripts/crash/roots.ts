import { mkdir, readdir } from "node:fs/promises";
import { join } from "node:path";
import { followRoot } from "../../lib/agent/sources/trust-root.ts";
import { layoutOf } from "../../lib/releases/layout.ts";
import { removeTargetLeftovers } from "../../lib/releases/leftovers.ts";
import { readFollowedRoot } from "../../lib/releases/trust-roots.ts";
import { heldKey, rootChain } from "../../test/support/forged/roots.ts";
import { rootFile } from "../../test/support/host/root-host.ts";
import type { Scenario } from "./scenario.ts";
import { traced } from "./traced.ts";

const TARGET = "project-prj_0123456789abcdef";
/** Versions of the root: the operator's file has the first one, the hub the others. */
const VERSIONS = 3;

/** Returns a scenario in which a host takes its trust root from a file, and follows it from there. */
export function rootScenario(): Scenario {
  const chain = rootChain();
  const signers = Array.from({ length: VERSIONS }, heldKey);
  const documents = signers.map((signer, index) => chain.version(index + 1, [signer]));
  let file = "";

  const follow = async (root: string, told: (version: number) => void): Promise<void> => {
    await followRoot(
      { file, pinned: [], sources: [] },
      {
        ...{ layout: layoutOf(root), target: TARGET, named: VERSIONS, others: [], keeps: true },
        hub: { name: "the hub", read: (version) => Promise.resolve(documents[version - 1]) },
        emit: (event) => {
          if (event.event === "trust.followed") told(event.version);
        },
      },
    );
  };

  return {
    name: "trust root",
    async trace(folder) {
      file = await rootFile(join(folder, "operator"), 1, documents[0]!);
      const root = join(folder, "root");
      await mkdir(root);
      return await traced(root, (hook) => follow(root, (version) => hook.disk.mark(String(version))));
    },
    async check(root, told) {
      const layout = layoutOf(root);
      const least = Math.max(0, ...[...told].map(Number));
      const found = (await readFollowedRoot(layout, TARGET))?.version ?? 0;
      const faults = found >= least ? [] : [`version ${least} counted, and ${found} is there`];
      await removeTargetLeftovers(layout, TARGET);
      await follow(root, () => {});
      const last = await readFollowedRoot(layout, TARGET);
      if (last?.version !== VERSIONS || last.signers[0] !== signers.at(-1)!.hex)
        faults.push(`the next check ends at version ${last?.version}`);
      const strange = (await readdir(layout.roots(TARGET))).filter((name) => !/^\d\.root\.json$/.test(name));
      if (strange.length > 0) faults.push("a temporary file is left");
      return faults;
    },
  };
}
