import { realpath } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { deploymentError } from "../contract/errors.ts";
import type { Application } from "../contract/files/application.ts";
import { APPLICATION_FILE, APPLICATIONS_FILE, APPLICATIONS_FOLDER } from "../contract/files/application-names.ts";
import type { ApplicationsFile } from "../contract/files/applications.ts";
import type { TargetName } from "../contract/target.ts";
import { ifThere, namesIn, statsOf } from "../support/files.ts";
import type { RotatedLog } from "../support/rotated-log.ts";
import type { Item, Layout } from "./layout.ts";
import { recalledYaml } from "./recalled-yaml.ts";

/** Paths of one application of a project root. */
export interface ApplicationPaths {
  /** Link to its folder in the running release. */
  link: string;
  settings: string;
  data: string;
  logs: string;
}

export function applicationPaths(layout: Layout, id: string): ApplicationPaths {
  const item: Item = { section: APPLICATIONS_FOLDER, id };
  return {
    link: layout.link(item),
    settings: layout.envFile(item),
    data: layout.data(item),
    logs: join(layout.sealift, "logs", APPLICATIONS_FOLDER, id),
  };
}

/** Name of the present file of a log; earlier ones are `log.1` to `log.3`, the latest first. */
export const LOG_FILE = "log";
/** Files that are kept of a log, the present one included. */
export const KEPT_LOG_FILES = 4;

/** Returns the log that `sealift app serve` keeps of an application. */
export const applicationLog = (layout: Layout, id: string): RotatedLog => ({
  path: join(applicationPaths(layout, id).logs, LOG_FILE),
  files: KEPT_LOG_FILES,
});

/** Folder of `sealift app serve` in a project root, 0700, with its socket, lock and marks. */
export const serveFolder = ({ sealift }: Layout): string => join(sealift, APPLICATIONS_FOLDER);
/** Name of its control socket there. */
export const SERVE_SOCKET = "serve.sock";

/** Reads the operator's grants; undefined without the file. @throws UsageError `config_invalid` */
export async function readGrants(layout: Layout): Promise<ApplicationsFile | undefined> {
  const file = join(layout.root, APPLICATIONS_FILE);
  if ((await statsOf(file)) === undefined) return undefined;
  return recalledYaml(layout, file, "grants", async (text) => {
    const [{ parseForeignYaml, readYamlFile }, { applicationsFile }] = await Promise.all([
      import("../support/yaml-file.ts"),
      import("../contract/files/applications.ts"),
    ]);
    return text === undefined ? readYamlFile(file, applicationsFile) : parseForeignYaml(text, applicationsFile, file);
  });
}

/** Lists the applications that a project root has installed or grants, sorted. @throws UsageError `config_invalid` */
export async function knownApplications(layout: Layout): Promise<string[]> {
  const known = new Set(Object.keys((await readGrants(layout))?.applications ?? {}));
  for (const id of await namesIn(layout.section(APPLICATIONS_FOLDER)))
    if ((await statsOf(join(applicationPaths(layout, id).link, APPLICATION_FILE))) !== undefined) known.add(id);
  return [...known].toSorted();
}

/** Application that a project root has installed. */
export interface InstalledApplication {
  app: Application;
  /** Real path of its folder. */
  folder: string;
  /** Names of its target and release. */
  target: TargetName;
  release: string;
}

/** Reads the descriptor of an installed application; undefined where none is installed. @throws DeploymentError */
export async function readInstalled(layout: Layout, id: string): Promise<InstalledApplication | undefined> {
  const folder = await ifThere(realpath(applicationPaths(layout, id).link));
  if (folder === undefined) return undefined;
  const file = join(folder, APPLICATION_FILE);
  const app = await recalledYaml(layout, file, `app-${id}`, async (text) => {
    const [{ parseForeignYaml, readYamlFile }, { application }] = await Promise.all([
      import("../support/yaml-file.ts"),
      import("../contract/files/application.ts"),
    ]);
    const fail = (message: string, faults: string[]) =>
      deploymentError("release_damaged", message, { faults, hint: "Deploy it again." });
    return text === undefined ? readYamlFile(file, application, fail) : parseForeignYaml(text, application, file, fail);
  });
  const release = dirname(dirname(folder));
  return { app, folder, target: basename(dirname(release)) as TargetName, release: basename(release) };
}

/** Lists the programs that a project root has installed of an application, but for its jobs. @throws DeploymentError */
export async function programsOf(layout: Layout, base: string): Promise<string[]> {
  const found: string[] = [];
  for (const id of await knownApplications(layout)) {
    const app = (await readInstalled(layout, id))?.app;
    if (app?.of === base && app.schedule === undefined) found.push(id);
  }
  return found;
}
