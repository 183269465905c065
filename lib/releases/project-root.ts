import type { Stats } from "node:fs";
import { lstat, mkdir, readdir, readlink, realpath, stat } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { deploymentError } from "../contract/errors.ts";
import { ifThere, statsOf } from "../support/files.ts";
import { foldersOf, type Layout, layoutOf, SECTIONS } from "./layout.ts";
import { type OpenFolder, openFolder } from "./open-folder.ts";

/** Project root about to be written. Its paths are valid until it is disposed of. */
export interface ProjectRoot extends AsyncDisposable {
  layout: Layout;
}

export interface RootOptions {
  /** Whether root may write in a project root that another user owns, and can change meanwhile. */
  allowForeignRoot?: boolean | undefined;
}

/**
 * Opens a project root for a command that writes there. In another user's root, the superuser keeps to what it has made
 * itself: it opens folders one by one without following links, and holds them open, so that their owner cannot replace
 * them (docs/contract/host.md#whose-root-it-is).
 *
 * @throws DeploymentError `root_foreign`, `root_unusable`
 */
export async function openProjectRoot(layout: Layout, options: RootOptions): Promise<ProjectRoot> {
  if (await isForeignRoot(layout, options)) return hold(layout);
  return { layout, [Symbol.asyncDispose]: () => Promise.resolve() };
}

/**
 * Tells whether this is the superuser, and the project root belongs to another user or can be replaced by one.
 *
 * @throws DeploymentError `root_foreign` where that is not allowed
 */
export async function isForeignRoot(
  { root, sealift }: Layout,
  { allowForeignRoot = false }: RootOptions,
): Promise<boolean> {
  if (process.getuid?.() !== 0) return false;
  for (const folder of [root, sealift]) {
    const owner = await strangerAt(folder);
    if (owner === undefined) continue;
    if (allowForeignRoot) return true;
    throw deploymentError("root_foreign", `${folder} belongs to the user ${owner}, and this is root.`, {
      hint: "Run it as that user, or give --allow-foreign-root if you trust that user like root.",
    });
  }
  const replaceable = await replaceableAt(root);
  if (replaceable === undefined) return false;
  if (allowForeignRoot) return true;
  throw deploymentError("root_foreign", `${replaceable}, who could lead root elsewhere.`, {
    hint: "Use a project root whose folders, and those above it, only root may write, such as one in /srv; or give --allow-foreign-root if you trust that user like root.",
  });
}

/**
 * Requires that the superuser may write in a project root, before a command that does so or says what it would do.
 *
 * @throws DeploymentError `root_foreign`
 */
export async function requireOwnRoot(layout: Layout, options: RootOptions = {}): Promise<void> {
  await isForeignRoot(layout, options);
}

/** Returns the user who owns a path, or a link there, unless that is root. */
async function strangerAt(path: string): Promise<number | undefined> {
  const found = [await statsOf(path), await ifThere(stat(path))];
  return found.find((stats) => stats !== undefined && stats.uid !== 0)?.uid;
}

/** Most links on the way to a project root: as many as Linux follows. */
const MAX_LINKS = 40;
const STICKY = 0o1000;

/**
 * Checks each folder and link on the way to a folder, and the folder itself, for anybody but root who could replace the
 * next name: the owner of a folder or link, and every user who may write in a folder that is not sticky. The user who
 * became root by sudo counts as root (`SUDO_UID`, as for git).
 *
 * @returns the first fault, as a sentence without its end; undefined when only root can
 */
async function replaceableAt(path: string): Promise<string | undefined> {
  const names = namesOf(resolve(path));
  let at = "/";
  let links = 0;
  for (let name = names.shift(); name !== undefined; name = names.shift()) {
    const why = strangerIn(at, await lstat(at));
    if (why !== undefined) return why;
    if (name === "..") {
      at = dirname(at);
      continue;
    }
    const next = join(at, name);
    const stats = await statsOf(next);
    // Root makes the folders that do not exist yet.
    if (stats === undefined) return undefined;
    if (!stats.isSymbolicLink()) {
      at = next;
      continue;
    }
    if (!isTrusted(stats.uid)) return belongs(next, stats.uid);
    // A circle of links is left to the caller, who opens the path.
    if (++links > MAX_LINKS) return undefined;
    const text = await readlink(next);
    if (text.startsWith("/")) at = "/";
    names.unshift(...namesOf(text));
  }
  return strangerIn(at, await lstat(at));
}

const namesOf = (path: string): string[] => path.split("/").filter((name) => name !== "" && name !== ".");

const isTrusted = (uid: number): boolean => uid === 0 || String(uid) === process.env.SUDO_UID;

const belongs = (path: string, uid: number): string => `${path} belongs to the user ${uid}`;

function strangerIn(folder: string, { uid, gid, mode }: Stats): string | undefined {
  if (!isTrusted(uid)) return belongs(folder, uid);
  if ((mode & STICKY) !== 0) return undefined;
  if ((mode & 0o002) !== 0) return `${folder} can be written by any user`;
  if (gid !== 0 && (mode & 0o020) !== 0) return `${folder} can be written by the group ${gid}`;
  return undefined;
}

async function hold({ root, durability }: Layout): Promise<ProjectRoot> {
  await using opened = new AsyncDisposableStack();
  const base = opened.use(await openFolder(await realpath(root)));
  const names = foldersOf(root);
  const folders = { ...names };
  for (const name of [".sealift", ...SECTIONS] as const) {
    const folder = opened.use(await enter(base, name, names[name]));
    folders[name] = folder.path(".");
    if (name !== ".sealift") continue;
    checkOurs(await stat(folder.path(".")), names[name]);
    await checkInside(folder, names[name], INSIDE);
  }
  const held = opened.move();
  return { layout: layoutOf(root, durability, folders), [Symbol.asyncDispose]: () => held.disposeAsync() };
}

/** Opens a folder in an open one, and makes it if missing. @throws DeploymentError `root_unusable` */
async function enter(parent: OpenFolder, name: string, shown: string): Promise<OpenFolder> {
  await mkdir(parent.path(name)).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "EEXIST") throw error;
  });
  return openFolder(parent.path(name)).catch((error: NodeJS.ErrnoException) => {
    throw error.code === "ENOTDIR" || error.code === "ELOOP" ? misplaced(shown) : error;
  });
}

/** Names in a folder to check, each with its required type; folders are checked recursively. `*`: every name. */
interface Inside {
  [name: string]: Inside | "file" | "folder" | "link";
}

/** Names in `.sealift` that the agent follows. What is in `data/` belongs to the plugins: it is never followed. */
const INSIDE: Inside = {
  current: { "*": "link" },
  releases: { "*": { "*": "folder" } },
  state: { stopped: { "*": "file" }, "*": "file" },
  reports: { "*": { "*": "file" } },
  outbox: { "*": { "*": "file" } },
  trust: { "*": "file" },
  ahead: { "*": "folder" },
  partial: { "*": "file" },
  data: { plugins: "folder", extensions: "folder", apps: "folder" },
  "journal.json": "file",
  lock: "file",
};

/** Rejects files that another user planted before the folder was root's. Nobody else can change what root has made. */
async function checkInside(folder: OpenFolder, shown: string, inside: Inside): Promise<void> {
  for (const name of await readdir(folder.path("."))) {
    const within = inside[name] ?? inside["*"];
    // The note beside a lock is always recreated, and never followed.
    if (within === undefined || name.endsWith(".holder")) continue;
    const path = `${shown}/${name}`;
    const stats = await lstat(folder.path(name));
    checkOurs(stats, path);
    const is = stats.isSymbolicLink() ? "link" : stats.isDirectory() ? "folder" : "file";
    if (is !== (typeof within === "string" ? within : "folder")) throw misplaced(path);
    if (typeof within === "string") continue;
    await using below = await openFolder(folder.path(name));
    await checkInside(below, path, within);
  }
}

function checkOurs(stats: Stats, shown: string): void {
  if (stats.uid === 0 && (stats.isSymbolicLink() || !canBeWrittenByOthers(stats))) return;
  const whose = stats.uid === 0 ? "can be written by other users" : `belongs to the user ${stats.uid}`;
  throw deploymentError("root_foreign", `${shown} ${whose}, who could lead root elsewhere.`, {
    hint: "Run it as the owner of the project root, or make `.sealift` root's own again: look at what is in it, then `chown -hR root:root` and `chmod -R go-w`.",
  });
}

const canBeWrittenByOthers = ({ mode, gid }: Stats): boolean =>
  (mode & 0o002) !== 0 || (gid !== 0 && (mode & 0o020) !== 0);

const misplaced = (path: string) =>
  deploymentError(
    "root_unusable",
    `${path} is not what Sealift has made there, and root follows nothing that another user may have planted.`,
    {
      hint: "Look at what it leads to, and remove it.",
    },
  );
