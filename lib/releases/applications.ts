import { realpath } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { deploymentError } from "../contract/errors.ts";
import { type Application, application } from "../contract/files/application.ts";
import { APPLICATION_FILE, APPLICATIONS_FOLDER } from "../contract/files/application-names.ts";
import { APPLICATIONS_FILE, type ApplicationsFile, applicationsFile } from "../contract/files/applications.ts";
import type { TargetName } from "../contract/target.ts";
import { ifThere, statsOf } from "../support/files.ts";
import { readYamlFile } from "../support/yaml-file.ts";
import type { Item, Layout } from "./layout.ts";

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

/** Folder of `sealift app serve` in a project root, 0700, with its socket, lock and marks. */
export const serveFolder = ({ sealift }: Layout): string => join(sealift, APPLICATIONS_FOLDER);
/** Name of its control socket there. */
export const SERVE_SOCKET = "serve.sock";

/** Reads the operator's grants; undefined without the file. @throws UsageError `config_invalid` */
export async function readGrants({ root }: Layout): Promise<ApplicationsFile | undefined> {
  const file = join(root, APPLICATIONS_FILE);
  return (await statsOf(file)) === undefined ? undefined : readYamlFile(file, applicationsFile);
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
  const app = await readYamlFile(join(folder, APPLICATION_FILE), application, (message, faults) =>
    deploymentError("release_damaged", message, { faults, hint: "Deploy it again." }),
  );
  const release = dirname(dirname(folder));
  return { app, folder, target: basename(dirname(release)) as TargetName, release: basename(release) };
}
