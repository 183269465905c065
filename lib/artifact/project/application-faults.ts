import { posix } from "node:path";
import { addressNames, addressVariables, unknownVariables } from "../../contract/files/address-variables.ts";
import type { Application } from "../../contract/files/application.ts";
import { HOST_FOLDER, SETTINGS_TEMPLATE } from "../../contract/files/application-names.ts";

/** Kind of a member of an application's folder; undefined where there is none. */
export type Found = "folder" | "file" | "program" | undefined;

/**
 * Compares an application's descriptor with its folder (docs/contract/application.md).
 *
 * @param at tells what stands at a path of the folder that it runs in; a program is a file that may be executed
 * @param own tells that of its own folder, where it runs in another one's; it has settings there, and no own
 * @returns every fault, as `key: message`
 */
export function applicationFaults(app: Application, at: (path: string) => Found, own = at): string[] {
  const faults: string[] = [];
  const names = addressNames(app);
  const { required, optional, values } = app.environment;
  const settings = [...required, ...optional, ...Object.keys(values)];
  for (const [key, command] of Object.entries({
    ...{ command: app.command, migrate: app.migrate, "health.command": app.health.command },
  })) {
    for (const name of unknownVariables(command?.slice(1) ?? [], addressVariables(names), settings))
      faults.push(
        `${key}: $${name} is the variable of no name in listen or ports${names.length === 0 ? "" : ` (${names.join(", ")})`}`,
      );
    const [program] = command ?? [];
    const fault = program?.includes("/") === true ? programFault(posix.normalize(program), app, at) : undefined;
    if (fault !== undefined) faults.push(`${key}: ${fault}`);
  }
  const { data } = app;
  for (let path = data ?? "."; path !== "."; path = posix.dirname(path)) {
    const found = at(path);
    if (found === undefined || found === "folder") continue;
    faults.push(`data: ${path} is a file, and a folder of the host belongs there`);
  }
  if (app.of !== undefined && own(SETTINGS_TEMPLATE) !== undefined)
    faults.push(`${SETTINGS_TEMPLATE} is not read: the settings are those of ${app.of}`);
  if (own(HOST_FOLDER) !== undefined) faults.push(`${HOST_FOLDER} is the host's own folder: rename it`);
  return faults;
}

/** Folders of virtual environments, which are never packed. */
const VIRTUAL_ENVIRONMENT = /^(?:\.\/)?\.?venv\//;

/** Returns why a program of a virtual environment cannot be one of an application; undefined for another program. */
export const virtualEnvironmentFault = (program: string): string | undefined =>
  VIRTUAL_ENVIRONMENT.test(program)
    ? "a virtual environment is not packed, since it holds paths of the machine that made it: start python3, with " +
      "packages by `pip install --target packages` and `environment: { values: { PYTHONPATH: packages } }`"
    : undefined;

function programFault(program: string, { data }: Application, at: (path: string) => Found): string | undefined {
  if (data !== undefined && `${program}/`.startsWith(`${data}/`))
    return `${program} lies in ${data}, which belongs to the host`;
  switch (at(program)) {
    case "program":
      return undefined;
    case "file":
      return `${program} is not executable: \`chmod +x\` it`;
    case "folder":
      return `${program} is a folder`;
    case undefined:
      return virtualEnvironmentFault(program) ?? `${program} is not in the folder`;
  }
}
