import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { APPLICATIONS_FILE } from "../../lib/contract/files/application-names.ts";
import { writeGrant } from "../../lib/releases/write-grant.ts";
import { plant } from "../../test/support/host/project-root.ts";
import type { Scenario } from "./scenario.ts";
import { traced } from "./traced.ts";

const OLD =
  "# the operator's own words\nsupervisor: serve\napplications:\n  web:\n    listen:\n      http: 127.0.0.1:3000\n";

const allow = (root: string): Promise<void> =>
  writeGrant(join(root, APPLICATIONS_FILE), "serve", "api", { listen: { http: "127.0.0.1:3001" }, same_user: true });
const grantsOf = (root: string): Promise<string> => readFile(join(root, APPLICATIONS_FILE), "utf8");

/** `app allow` beside a grant that the operator wrote. */
export function grantScenario(): Scenario {
  let changed = "";
  return {
    name: "grant",
    async trace(folder) {
      const root = join(folder, "root");
      await mkdir(root);
      await plant(root, { [APPLICATIONS_FILE]: OLD });
      const disk = await traced(root, async (hook) => {
        await allow(root);
        hook.disk.mark("done");
      });
      changed = await grantsOf(root);
      return disk;
    },
    async check(root, told) {
      const found = await grantsOf(root);
      const faults = found === changed || (found === OLD && !told.has("done")) ? [] : ["a grant is lost or cut short"];
      await allow(root);
      return (await grantsOf(root)) === changed ? faults : [...faults, "the next grant is not written"];
    },
  };
}
