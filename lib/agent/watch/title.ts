import { join } from "node:path";
import * as z from "zod";
import { MANIFEST_FILE } from "../../contract/files/manifest.ts";
import type { TargetName } from "../../contract/target.ts";
import { readJsonFile } from "../../releases/json-file.ts";
import type { Layout } from "../../releases/layout.ts";
import { currentName } from "../../releases/release.ts";

const named = z.looseObject({ project_name: z.string().min(1).max(255) });

/**
 * Reads the name of a project, `project:Harbour`, from the manifest of the running release. `undefined` for plugins and
 * services, whose slug is their name, and as long as no release with a name runs.
 */
export async function titleOf(layout: Layout, target: TargetName): Promise<string | undefined> {
  if (!target.startsWith("project-")) return undefined;
  const release = await currentName(layout, target);
  if (release === undefined) return undefined;
  const manifest = await readJsonFile(join(layout.release(target, release), MANIFEST_FILE), named).catch(
    () => undefined,
  );
  return manifest && `project:${manifest.project_name}`;
}
