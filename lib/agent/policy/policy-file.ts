import { dirname, resolve } from "node:path";
import { usageError } from "../../contract/errors.ts";
import { type PolicyFile, policyFile } from "../../contract/files/policy.ts";
import { readTextFile } from "../../support/files.ts";
import { readYamlFile } from "../../support/yaml-file.ts";

/** Rules that a version must meet on this host. */
export interface Policy extends Omit<PolicyFile, "trusted_root"> {
  /** File that it was read from, as messages name it. */
  file: string;
  /** JSON of the trusted root that the operator has pinned; undefined for the built-in one. */
  trustedRoot: string | undefined;
}

/** Largest trusted root, in bytes. */
const MAX_ROOT_BYTES = 1024 * 1024;

/** Reads a policy and the root that it names, whose path starts at its folder. @throws UsageError `config_invalid` */
export async function readPolicy(file: string): Promise<Policy> {
  const { trusted_root: root, ...rules } = await readYamlFile(file, policyFile);
  return { ...rules, file, trustedRoot: root === undefined ? undefined : await readRoot(resolve(dirname(file), root)) };
}

async function readRoot(path: string): Promise<string> {
  try {
    return await readTextFile(path, MAX_ROOT_BYTES);
  } catch (error) {
    throw usageError("config_invalid", `The trusted root ${path} cannot be read: ${(error as Error).message}.`, {
      cause: error,
    });
  }
}
