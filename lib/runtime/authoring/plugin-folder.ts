import { existsSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import type * as z from "zod";
import { usageError } from "../../contract/errors.ts";
import { type Descriptor, descriptor } from "../../contract/files/descriptor.ts";
import { DESCRIPTOR_FILE, PLAN_FILE } from "../../contract/files/manifest.ts";
import { ifThere } from "../../support/files.ts";
import { readYamlFile } from "../../support/yaml-file.ts";

const INIT = "`sealift plugin init NAME` writes a plugin that works; `sealift docs sdk` explains its descriptor.";

/** Reads the descriptor of a plugin under development. @throws UsageError `usage` with every fault */
export async function readAuthored<T extends z.ZodType>(folder: string, schema: T): Promise<z.output<T>> {
  const file = join(folder, DESCRIPTOR_FILE);
  const hint = existsSync(file) ? INIT : await adviceFor(folder);
  return readYamlFile(file, schema, (message, faults) => usageError("usage", message, { faults, hint }));
}

/** Reads and checks the whole descriptor of a plugin's folder. @throws UsageError `usage` with every fault */
export const descriptorOf = (folder: string): Promise<Descriptor> => readAuthored(folder, descriptor);

/** Returns advice for a folder without a descriptor, by what else is in it. */
async function adviceFor(folder: string): Promise<string> {
  const plugins = (await ifThere(readdir(join(folder, "plugins")).catch(() => []))) ?? [];
  const plugin = plugins.find((name) => existsSync(join(folder, "plugins", name, DESCRIPTOR_FILE)));
  if (plugin !== undefined)
    return `The folder holds a project: name one of its plugins, such as ${join(folder, "plugins", plugin)}.`;
  if (existsSync(join(folder, PLAN_FILE)))
    return "The folder holds a project: `sealift project publish` publishes it as a whole.";
  if (existsSync(join(folder, "package.json")))
    return (
      `The folder holds an npm package. A ${DESCRIPTOR_FILE} with name, version and entry_point makes it a plugin: ` +
      "`sealift docs sdk` explains it."
    );
  return INIT;
}
