// Holds: what a folder without a plan is told (lib/artifact/project/packed-tree.ts)
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import t from "tap";
import { DEFAULT_LIMITS } from "../../../../lib/artifact/limits.ts";
import { listPacked } from "../../../../lib/artifact/project/packed-tree.ts";
import { temporaryFolder } from "../../../support/temporary-folder.ts";

t.test("a wrong folder is told which one near it has a plan, or how one is made", async (t) => {
  const folder = temporaryFolder(t);
  const source = join(folder, "source");
  await mkdir(join(source, "deployment"), { recursive: true });
  await mkdir(join(source, "plugins/tide"), { recursive: true });
  await writeFile(join(source, "deployment/install.yaml"), "");
  const packages = { ofApplications: false, ofAll: false };
  const hintOf = (root: string): string | undefined => {
    try {
      listPacked(root, { projectId: "prj_0123456789", limits: DEFAULT_LIMITS, packages });
    } catch (error) {
      return (error as { hint?: string }).hint;
    }
    return undefined;
  };
  const near = `Give the project's own folder: ${source} has one.`;
  for (const root of [join(source, "deployment"), join(source, "plugins/tide"), folder]) t.equal(hintOf(root), near);
  await mkdir(join(folder, "empty/x"), { recursive: true });
  t.match(hintOf(join(folder, "empty/x")), /sealift app init.*sealift plan init/);
  t.end();
});
