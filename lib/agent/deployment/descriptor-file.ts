import { join } from "node:path";
import { artifactError } from "../../contract/errors.ts";
import { type Descriptor, descriptor } from "../../contract/files/descriptor.ts";
import { DESCRIPTOR_FILE } from "../../contract/files/manifest.ts";
import { statsOf } from "../../support/files.ts";
import { readYamlFile } from "../../support/yaml-file.ts";

/** @throws ArtifactError `descriptor_invalid` */
export async function readDescriptor(folder: string): Promise<Descriptor> {
  const invalid = (message: string, faults: string[]) => artifactError("descriptor_invalid", message, { faults });
  const file = join(folder, DESCRIPTOR_FILE);
  const stats = await statsOf(file);
  if (stats?.isFile() !== true) throw invalid(`The plugin has no ${DESCRIPTOR_FILE}.`, []);
  return readYamlFile(file, descriptor, invalid);
}
