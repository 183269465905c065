import { join } from "node:path";
import { DEPLOYMENT_DEFAULTS, type Durability } from "../contract/deployment-defaults.ts";
import { APPLICATIONS_FOLDER } from "../contract/files/application-names.ts";
import type { TargetName } from "../contract/target.ts";

/** Kinds of what a release holds, by the names of their folders. */
export const SECTIONS = ["plugins", "extensions", APPLICATIONS_FOLDER] as const;
export type Section = (typeof SECTIONS)[number];

/** Installed plugin, extension or application. */
export interface Item {
  section: Section;
  id: string;
  /** Application's folder for data of the host, relative to its own; others have `data`. */
  data?: string | undefined;
}

export const sameItem = (a: Item, b: Item): boolean => a.section === b.section && a.id === b.id;

export const isApplication = ({ section }: Pick<Item, "section">): boolean => section === APPLICATIONS_FOLDER;

/** Returns the folder inside an item that belongs to the host; undefined for an application without one. */
export const dataFolderOf = (item: Item): string | undefined => (isApplication(item) ? item.data : "data");

/**
 * All paths below a project root (docs/contract/host.md). Ids, targets and release names are checked at their origin.
 */
export interface Layout {
  root: string;
  /** Part of a switch that must be on the disk before it counts. */
  durability: Durability;
  sealift: string;
  /** Returns the folder of the links to the items of a section. */
  section(section: Section): string;
  /** Lock of a switch, its undo or a recovery: one deployment of the project root at a time. */
  lock: string;
  /** Returns the lock of the target's watch while it runs. */
  watchLock(target: TargetName): string;
  /** Returns the lock of a deployment of the target, from its first request to the end. */
  targetLock(target: TargetName): string;
  journal: string;
  /** Returns `<section>/<id>`, the link that everything else uses. */
  link(item: Item): string;
  /** Returns the text of that link, relative to its folder. */
  linkText(target: TargetName, item: Item): string;
  /** Returns the link whose renaming is the switch. */
  current(target: TargetName): string;
  currentText(target: TargetName, release: string): string;
  releases(target?: TargetName): string;
  release(target: TargetName, release: string): string;
  /** Returns the folder for unverified bytes: 0700, beside the releases so that a rename is enough. */
  staging(target: TargetName, release: string): string;
  /** Returns the folder of the host's own data of an item. */
  data(item: Item): string;
  /** Returns the folder of data that a release ships for an item, which never replaces the host's own files. */
  shippedData(target: TargetName, release: string, item: Item): string;
  /** Returns the text of the link to that folder, from the item in its release ({@link dataFolderOf}). */
  dataText(item: Item): string;
  /** Returns the file of the host's own settings of a plugin or an application. */
  envFile(item: Item): string;
  state(target: TargetName): string;
  /** Returns the folder of the artifact fetched before it may be deployed: 0700. */
  ahead(target: TargetName): string;
  /** Returns the file of the bytes that an interrupted download has left; its folder is 0700. */
  partial(target: TargetName): string;
  reports(target: TargetName): string;
  /** Returns the folder of the marks of unsent reports. */
  outbox(target: TargetName): string;
  /** Returns the record of the newest kit that the target has accepted. */
  kit(target: TargetName): string;
  /** Returns the folder of signed reports that travel back by a kit. */
  kitReports(target: TargetName): string;
  trust(target: TargetName): string;
  /** Returns the folder of the versions of the trust root that the target follows. */
  roots(target: TargetName): string;
  /** Returns a text for people, with names of folders instead of paths through file descriptors. */
  shown(text: string): string;
}

/** Folders of a project root that others than the agent may reach, each with a path that leads to it. */
export type RootFolders = Readonly<Record<".sealift" | Section, string>>;

export const foldersOf = (root: string): RootFolders => ({
  ".sealift": join(root, ".sealift"),
  plugins: join(root, "plugins"),
  extensions: join(root, "extensions"),
  [APPLICATIONS_FOLDER]: join(root, APPLICATIONS_FOLDER),
});

export const STAGING_PREFIX = ".staging-";
/** File in a staging folder that names its deployment. */
export const ATTEMPT_FILE = "attempt.json";

/**
 * Returns the paths of a project root, which need not exist.
 *
 * @param folders paths to use instead of the folders' names
 */
export function layoutOf(
  root: string,
  durability: Durability = DEPLOYMENT_DEFAULTS.durability,
  folders: RootFolders = foldersOf(root),
): Layout {
  const { ".sealift": sealift } = folders;
  return {
    root,
    durability,
    sealift,
    section: (section) => folders[section],
    lock: join(sealift, "lock"),
    watchLock: (target) => join(sealift, "state", `${target}.watch.lock`),
    targetLock: (target) => join(sealift, "state", `${target}.lock`),
    journal: join(sealift, "journal.json"),
    link: ({ section, id }) => join(folders[section], id),
    linkText: (target, { section, id }) => `../.sealift/current/${target}/${section}/${id}`,
    current: (target) => join(sealift, "current", target),
    currentText: (target, release) => `../releases/${target}/${release}`,
    releases: (target) => (target === undefined ? join(sealift, "releases") : join(sealift, "releases", target)),
    release: (target, release) => join(sealift, "releases", target, release),
    staging: (target, release) => join(sealift, "releases", target, `${STAGING_PREFIX}${release}`),
    data: ({ section, id }) => join(sealift, "data", section, id),
    shippedData: (target, release, { section, id }) =>
      join(sealift, "releases", target, release, "shipped-data", section, id),
    dataText: (item) =>
      `${"../".repeat(4 + (dataFolderOf(item) ?? "data").split("/").length)}data/${item.section}/${item.id}`,
    envFile: ({ section, id }) => join(folders[section], `${id}.env`),
    state: (target) => join(sealift, "state", `${target}.json`),
    ahead: (target) => join(sealift, "ahead", target),
    partial: (target) => join(sealift, "partial", target),
    reports: (target) => join(sealift, "reports", target),
    outbox: (target) => join(sealift, "outbox", target),
    kit: (target) => join(sealift, "state", `${target}.kit.json`),
    kitReports: (target) => join(sealift, "kits", target),
    trust: (target) => join(sealift, "trust", `${target}.pub`),
    roots: (target) => join(sealift, "trust", `${target}.roots`),
    shown: (text) =>
      Object.entries(folders).reduce(
        (shown, [name, path]) => shown.replaceAll(new RegExp(`${RegExp.escape(path)}(?!\\d)`, "g"), join(root, name)),
        text,
      ),
  };
}
