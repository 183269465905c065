import { dirname, join } from "node:path";
import { parseEnv } from "node:util";
import type { Descriptor } from "../../contract/files/descriptor.ts";
import { steersNode } from "../../contract/settings/reserved-names.ts";
import { ifThere, readKeyFile } from "../../support/files.ts";
import type { PluginLocation } from "../base/instance.ts";
import { RuntimeFault } from "../guest/fault.ts";

type Environment = Readonly<Record<string, string | undefined>>;

const VARIABLE = /\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g;

async function readEnvFile(path: string): Promise<Environment> {
  return parseEnv((await ifThere(readKeyFile(path)))?.toString() ?? "");
}

/**
 * Reads the env files: the host's `plugins/<id>.env`, which upgrades keep, takes precedence over the file that the
 * plugin names.
 */
async function readEnvFiles(location: PluginLocation, { envconfiguration }: Descriptor): Promise<Environment> {
  if (!envconfiguration.inject) return {};
  const { env_file } = envconfiguration;
  const own = env_file === undefined ? {} : await readEnvFile(join(location.folder, env_file));
  return { ...own, ...(await readEnvFile(join(dirname(location.path), `${location.id}.env`))) };
}

/**
 * Returns the variables that a plugin sees: those that its descriptor declares, and no others. A value comes from the
 * process environment, else from the plugin's env files.
 *
 * @param reserved names of the runtime's own secrets, which no plugin gets
 * @throws RuntimeFault `environment_missing` with every variable that is not set
 */
export async function pluginEnvironment(
  location: PluginLocation,
  descriptor: Descriptor,
  { env, reserved }: { env: Environment; reserved: ReadonlySet<string> },
): Promise<Record<string, string>> {
  const files = await readEnvFiles(location, descriptor);
  const faults: string[] = [];
  const lookUp = (name: string): string | undefined => {
    if (reserved.has(name) || name.startsWith("SEALIFT_")) {
      faults.push(`${name} belongs to the runtime`);
      return undefined;
    }
    return env[name] ?? files[name];
  };
  const values: Record<string, string> = {};
  for (const name of descriptor.environment.optional) {
    const value = lookUp(name);
    if (value !== undefined) values[name] = value;
  }
  for (const name of descriptor.environment.required) {
    const value = lookUp(name);
    if (value === undefined || value === "") faults.push(`${name} is required and not set`);
    else values[name] = value;
  }
  for (const [name, template] of Object.entries(descriptor.env)) {
    values[name] = template.replace(VARIABLE, (_match, variable: string) => {
      const value = lookUp(variable);
      if (value === undefined) faults.push(`${variable}, which ${name} refers to, is not set`);
      return value ?? "";
    });
  }
  // Node reads these before any code of the runtime: they would disable the sandbox.
  for (const name of Object.keys(values)) {
    if (steersNode(name)) faults.push(`${name} steers Node itself`);
  }
  if (faults.length === 0) return values;
  throw new RuntimeFault("environment_missing", `The plugin's environment is not complete: ${faults.join("; ")}.`);
}
