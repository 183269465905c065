import { join } from "node:path";
import { artifactError } from "../../contract/errors.ts";
import { type Descriptor, descriptor } from "../../contract/files/descriptor.ts";
import { type InstallPlan, installPlan } from "../../contract/files/install-plan.ts";
import { DESCRIPTOR_FILE } from "../../contract/files/manifest.ts";
import { statsOf } from "../../support/files.ts";
import { parseForeignYaml, parseYaml, readYamlFile } from "../../support/yaml-file.ts";
import { planError, type PlanOrigin } from "./plan.ts";

/**
 * Parses `install.yaml` (docs/contract/install-plan.md); unknown keys are errors. @throws `plan_invalid`, or
 * `config_invalid` for a local file
 */
export function parsePlan(text: string, name: string, origin: PlanOrigin): InstallPlan {
  return parseYaml(text, installPlan, name, planError(origin));
}

/** Parses the `install.yaml` of an artifact in a separate thread: nothing in it can block or end this process. */
export function parseForeignPlan(text: string, name: string): Promise<InstallPlan> {
  return parseForeignYaml(text, installPlan, name, planError("artifact"));
}

/** Reads a plugin's descriptor. @throws ArtifactError `descriptor_invalid` */
export async function readDescriptor(folder: string): Promise<Descriptor> {
  const invalid = (message: string, faults: string[]) => artifactError("descriptor_invalid", message, { faults });
  const file = join(folder, DESCRIPTOR_FILE);
  const stats = await statsOf(file);
  if (stats?.isFile() !== true) throw invalid(`The plugin has no ${DESCRIPTOR_FILE}.`, []);
  return readYamlFile(file, descriptor, invalid);
}
