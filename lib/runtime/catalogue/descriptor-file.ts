import { realpath, stat } from "node:fs/promises";
import { join, posix } from "node:path";
import { artifactError } from "../../contract/errors.ts";
import { type Descriptor, descriptor } from "../../contract/files/descriptor.ts";
import { DESCRIPTOR_FILE } from "../../contract/files/manifest.ts";
import { IPC_SEGMENT } from "../../contract/surfaces/runtime.ts";
import { isInside } from "../../support/files.ts";
import { readYamlFile } from "../../support/yaml-file.ts";
import type { PluginLocation } from "../base/instance.ts";
import { messageOf, RuntimeFault } from "../guest/fault.ts";

/** Reads `plugin.yaml` and checks what its schema cannot. */

const clean = (path: string): string => posix.normalize(path).replace(/\/+$/, "");

/**
 * Requires that allowed and denied paths do not overlap: Node has no list of denied paths (docs/contract/runtime.md).
 */
function checkFilesystem({ filesystem }: Descriptor): void {
  for (const allowed of filesystem.allowed_paths.map(clean)) {
    if (allowed === "." || allowed === DESCRIPTOR_FILE) {
      throw new RuntimeFault(
        "descriptor_invalid",
        `filesystem: the allowed path ${allowed} would let the plugin write its own ${DESCRIPTOR_FILE}, and so its rights.`,
      );
    }
    for (const denied of filesystem.denied_paths.map(clean)) {
      const contains = denied === allowed || denied.startsWith(`${allowed}/`);
      if (contains || allowed.startsWith(`${denied}/`) || denied === ".") {
        throw new RuntimeFault(
          "descriptor_invalid",
          `filesystem: the allowed path ${allowed} and the denied path ${denied} contradict each other.`,
        );
      }
    }
  }
}

/** Reads a descriptor. @throws RuntimeFault `descriptor_invalid` or `name_reserved` */
export async function readDescriptor(location: PluginLocation): Promise<Descriptor> {
  let read: Descriptor;
  try {
    read = await readYamlFile(join(location.folder, DESCRIPTOR_FILE), descriptor, (message, faults) =>
      artifactError("descriptor_invalid", message, { faults }),
    );
  } catch (error) {
    throw new RuntimeFault("descriptor_invalid", messageOf(error), { cause: error });
  }
  if (read.name === IPC_SEGMENT) {
    throw new RuntimeFault(
      "name_reserved",
      `No plugin can be called ${IPC_SEGMENT}: the runtime's own routes are there.`,
    );
  }
  checkFilesystem(read);
  return read;
}

/** Returns the real path of the entry point. @throws RuntimeFault `entry_missing` */
export async function entryOf({ folder }: PluginLocation, { entry_point }: Descriptor): Promise<string> {
  const path = join(folder, entry_point);
  const real = await realpath(path).catch(() => undefined);
  if (real === undefined || !(await stat(real)).isFile()) {
    throw new RuntimeFault("entry_missing", `The entry point ${entry_point} does not exist.`);
  }
  if (!isInside(real, folder)) {
    throw new RuntimeFault("entry_missing", `The entry point ${entry_point} leads out of the plugin's folder.`);
  }
  return real;
}
