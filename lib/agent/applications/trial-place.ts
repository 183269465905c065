import { chmod, mkdtemp, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, isAbsolute, join } from "node:path";
import type { LeftOut } from "../../artifact/tree/source-tree.ts";
import { usageError } from "../../contract/errors.ts";
import { addressNames } from "../../contract/files/address-variables.ts";
import type { Application } from "../../contract/files/application.ts";
import { APPLICATIONS_FILE, APPLICATIONS_FOLDER } from "../../contract/files/application-names.ts";
import { type ApplicationsFile, applicationsFile } from "../../contract/files/applications.ts";
import { applicationPaths, serveFolder } from "../../releases/applications.ts";
import { giveData, reserveData } from "../../releases/data-folders.ts";
import { writeJsonFile } from "../../releases/json-file.ts";
import { type Item, type Layout, layoutOf } from "../../releases/layout.ts";
import { removeTree } from "../../releases/open-folder.ts";
import { makeFolder, othersReach } from "../../support/files.ts";
import { writeLaunchers } from "./launchers.ts";
import { PROGRAM_PATH, programAt, requirePrograms } from "./programs.ts";
import { copyPacked, familyOf, makePassable, trialSettings, type TrialSource } from "./trial-source.ts";

const TARGET = "project-trial";
const RELEASE = "trial";

export interface TrialOptions {
  /** File of settings; default that of the application's folder. */
  envFile?: string | undefined;
  /** User who runs it; undefined for this process's own. */
  user: string | undefined;
  signal: AbortSignal;
}

/** Project root that holds one application, as a deployment leaves it. Disposing of it removes it. */
export interface TrialPlace extends AsyncDisposable {
  layout: Layout;
  grants: ApplicationsFile;
  /** Files and bytes of the application. */
  files: number;
  bytes: number;
  /** Paths of the application that are not packed. */
  leftOut: LeftOut[];
  /** Facts that its author may not expect. */
  notes: string[];
}

/**
 * Copies what is packed of an application into a project root of its own, with launchers, settings, data, and a grant
 * for free ports of 127.0.0.1.
 *
 * @throws DeploymentError `env_missing`, `needs_unmet`; UsageError `usage`
 */
export async function trialPlace(source: TrialSource, { envFile, user, signal }: TrialOptions): Promise<TrialPlace> {
  const { id, app, packed } = source;
  const apps = new Map([[id, app]]);
  const family = new Map(familyOf(source).map((one) => [one, packed.apps.get(one) ?? app]));
  const settings = await trialSettings(source, envFile);
  await requirePrograms(apps, signal, PROGRAM_FOLDERS);
  const notes = [...packed.notes, ...(await programNotes(app))];
  if (user !== undefined && !othersReach(join(tmpdir(), "trial")))
    throw usageError("usage", `The user ${user} cannot enter ${tmpdir()}, where the trial is to run.`, {
      hint: "Set TMPDIR to a folder that every user may enter, such as /tmp.",
    });
  await using made = new AsyncDisposableStack();
  const root = await mkdtemp(join(tmpdir(), "sealift-trial-"));
  made.defer(() => removeTree(root));
  // As root the application runs as another user, who has to reach the copy.
  await chmod(root, 0o711);
  const layout = layoutOf(root, "none");
  const items = [...family].map(([one, { data }]): Item => ({ section: APPLICATIONS_FOLDER, id: one, data }));
  const release = layout.release(TARGET, RELEASE);
  const folders = [
    layout.sealift,
    layout.releases(),
    layout.releases(TARGET),
    release,
    dirname(layout.current(TARGET)),
  ];
  for (const folder of [...folders, layout.section(APPLICATIONS_FOLDER)]) await makePassable(folder);
  await makeFolder(serveFolder(layout), 0o700);

  const copied = await copyPacked(source, release, signal);
  for (const item of items) await reserveData(layout, TARGET, RELEASE, item);
  await writeLaunchers(release, apps, PROGRAM_FOLDERS);
  await symlink(layout.currentText(TARGET, RELEASE), layout.current(TARGET));
  for (const item of items) {
    await symlink(layout.linkText(TARGET, item), layout.link(item));
    await giveData(layout, TARGET, RELEASE, item);
  }
  await writeFile(applicationPaths(layout, app.of ?? id).settings, settings, { mode: 0o600 });
  const grants = await trialGrants(id, app, user);
  // YAML holds JSON.
  await writeJsonFile(join(root, APPLICATIONS_FILE), grants, { durable: false });
  const leftOut = packed.tree.leftOut.filter(({ path }) => path.startsWith(`${APPLICATIONS_FOLDER}/${id}/`));
  const held = made.move();
  return { layout, grants, ...copied, leftOut, notes, [Symbol.asyncDispose]: () => held.disposeAsync() };
}

/** Folders in which a trial looks for programs: those of hosts, then the author's own. */
const PROGRAM_FOLDERS = [PROGRAM_PATH, ...(process.env.PATH ?? "").split(":").filter(isAbsolute)].join(":");

/** Describes programs that this machine has in a place where no host looks. */
async function programNotes({ command, migrate, needs }: Application): Promise<string[]> {
  const names = new Set([command[0], ...(migrate ?? []).slice(0, 1), ...Object.keys(needs)]);
  const notes: string[] = [];
  for (const name of names) {
    if (name.includes("/") || (await programAt(name)) !== undefined) continue;
    notes.push(`${name} is ${await programAt(name, PROGRAM_FOLDERS)} here; a host looks in ${PROGRAM_PATH} only.`);
  }
  return notes;
}

async function trialGrants(id: string, app: Application, user: string | undefined): Promise<ApplicationsFile> {
  const names = addressNames(app);
  const ports = await freePorts(names.length);
  const listen = Object.fromEntries(names.map((name, index) => [name, ports[index]!]));
  const own = user === undefined ? { same_user: true } : { user };
  const applications =
    app.of === undefined ? { [id]: { ...own, listen } } : { [app.of]: own, [id]: { of: app.of, listen } };
  return applicationsFile.parse({ supervisor: "serve", applications });
}

/** Returns ports of 127.0.0.1 that nobody listens on now. */
async function freePorts(count: number): Promise<number[]> {
  await using servers = new AsyncDisposableStack();
  const ports: number[] = [];
  for (let at = 0; at < count; at++) {
    const server = servers.use(createServer());
    await new Promise<void>((resolve, reject) => server.once("error", reject).listen(0, "127.0.0.1", resolve));
    ports.push((server.address() as { port: number }).port);
  }
  return ports;
}
