import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { lstat, readFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { usageError } from "../../contract/errors.ts";
import { makeFolder, missing, writeFileAtomic } from "../files.ts";
import { IS_ONE_FILE } from "../one-file.ts";
import { packageFolder } from "../package-folder.ts";

export const SYSTEMD_SERVICES = ["apps", "hub", "mirror", "runtime", "watch"] as const;
export type SystemdService = (typeof SYSTEMD_SERVICES)[number];

/** Services that are installed where none is named. `apps` stands in for units of single applications. */
export const USUAL_SERVICES: readonly SystemdService[] = SYSTEMD_SERVICES.filter((name) => name !== "apps");

export interface UnitOptions {
  services: readonly SystemdService[];
  /** Node that the units run, or the single executable; an absolute path, like the next two. */
  node: string;
  /** Package whose `dist/` Node runs; none for the single executable. */
  packageFolder: string | undefined;
  /** Project root that the watch deploys into and the runtime runs. */
  projectRoot: string;
  /** Folder below which all files are written: `/`, or an image under construction. */
  root: string;
}

/**
 * Unit file to write, and the state of the existing one: `edited` if Sealift did not write it, or it was changed since;
 * `foreign` if it is of another project root.
 */
export interface UnitFile {
  /** Path on the host. */
  path: string;
  /** Path to write: the same, below the root. */
  target: string;
  content: string;
  state: "new" | "unchanged" | "outdated" | "foreign" | "edited" | "unreadable";
}

export const UNITS = "/etc/systemd/system";
/** Folders of the root, in `tmpfiles.d`. Without its name, `systemd-tmpfiles` ends by a bad line of any package. */
const TMPFILES = "sealift.conf";
/** AppArmor profile of the runtime's unit. */
const PROFILE = "/etc/apparmor.d/sealift-runtime";
/** Rules of AppArmor 4, the first with one for user namespaces; the profile asks for them. */
const PROFILE_ABI = "/etc/apparmor.d/abi/4.0";
/** Setting of kernels whose AppArmor may keep ordinary users from making user namespaces. */
const RESTRICTION = "/proc/sys/kernel/apparmor_restrict_unprivileged_userns";

interface Template {
  template: string;
  path: string;
  services: readonly SystemdService[];
  /** Tells whether a host has use for the file; left out, each has. @param root `/`, or that of an image */
  where?: (root: string) => boolean;
}

const TEMPLATES: readonly Template[] = [
  { template: "sealift-apps.service", path: `${UNITS}/sealift-apps.service`, services: ["apps"] },
  { template: "sealift-hub.service", path: `${UNITS}/sealift-hub.service`, services: ["hub"] },
  { template: "sealift-mirror.service", path: `${UNITS}/sealift-mirror.service`, services: ["mirror"] },
  { template: "sealift-runtime.service", path: `${UNITS}/sealift-runtime.service`, services: ["runtime"] },
  { template: "sealift-watch@.service", path: `${UNITS}/sealift-watch@.service`, services: ["watch"] },
  { template: "sealift.sysusers.conf", path: "/etc/sysusers.d/sealift.conf", services: ["runtime", "watch"] },
  { template: "sealift.tmpfiles.conf", path: `/etc/tmpfiles.d/${TMPFILES}`, services: ["runtime", "watch"] },
  {
    template: "50-sealift-watch.rules",
    path: "/etc/polkit-1/rules.d/50-sealift-watch.rules",
    services: ["watch"],
  },
  {
    template: "../../ops/apparmor/sealift-runtime",
    path: PROFILE,
    services: ["runtime"],
    // Which kernel an image will meet is not known.
    where: (root) => existsSync(join(root, PROFILE_ABI)) && (root !== "/" || existsSync(RESTRICTION)),
  },
];

const PROGRAMS: Record<SystemdService, string> = {
  apps: "dist/bin/sealift.js",
  hub: "dist/bin/hub-serve.js",
  mirror: "dist/bin/sealift.js",
  runtime: "dist/bin/runtime-serve.js",
  watch: "dist/bin/watch.js",
};

/** Services as commands of `sealift`. */
const COMMANDS: Record<SystemdService, string> = {
  apps: "app serve",
  hub: "hub serve",
  mirror: "mirror serve",
  runtime: "runtime serve",
  watch: "watch",
};

const UNIT_NAMES: Record<SystemdService, string> = {
  apps: "sealift-apps",
  hub: "sealift-hub",
  mirror: "sealift-mirror",
  runtime: "sealift-runtime",
  watch: "sealift-watch@NAME",
};

/** Returns the options of units that run this Node and this installation. */
export const ofThisProgram = (of: Pick<UnitOptions, "services" | "projectRoot" | "root">): UnitOptions => ({
  services: of.services,
  node: process.execPath,
  packageFolder: IS_ONE_FILE ? undefined : packageFolder(),
  projectRoot: resolve(of.projectRoot),
  root: resolve(of.root),
});

/**
 * Renders the templates of these services, and compares them with what is installed. Writes nothing.
 *
 * @throws UsageError `usage` for a path that no unit can have, or when this package is not built
 */
export async function planUnits(options: UnitOptions): Promise<UnitFile[]> {
  const { services, root } = options;
  const values = {
    ...Object.fromEntries(services.map((service) => [`${service}_program`, programOf(service, options)])),
    project_root: unitPath(options.projectRoot),
  };
  const folder = options.packageFolder;
  const unbuilt = services.find((service) => folder !== undefined && !existsSync(join(folder, PROGRAMS[service])));
  if (unbuilt !== undefined) {
    throw usageError("usage", `${join(folder!, PROGRAMS[unbuilt])} is missing.`, {
      hint: "Build the checkout first: npm run build.",
    });
  }
  const wanted = TEMPLATES.filter(
    ({ services: of, where }) => of.some((service) => services.includes(service)) && where?.(root) !== false,
  );
  return Promise.all(
    wanted.map(async ({ template, path }) =>
      planFile(path, render(await templateText(template), values), { root, projectRoot: options.projectRoot }),
    ),
  );
}

/** Reads a template of the package. @param name its file, from `scripts/systemd` on */
export const templateText = (name: string): Promise<string> =>
  readFile(join(packageFolder(), "scripts/systemd", name), "utf8");

/** Compares a file with the one that is installed. @param path on the host */
export async function planFile(
  path: string,
  text: string,
  { root, projectRoot }: Pick<UnitOptions, "root" | "projectRoot">,
): Promise<UnitFile> {
  const content = sealed(text, path.endsWith(".rules") ? "//" : "#");
  const target = join(root, path);
  return { path, target, content, state: await stateOf(target, content, projectRoot) };
}

/** Tells whether a text names a project root, or a path in it, outside of comments. */
const names = (text: string, projectRoot: string): boolean =>
  text
    .split("\n")
    .filter((line) => !/^(?:#|\/\/)/.test(line))
    .some((line) => line.split(/[\s=:]+/).some((word) => `${word}/`.startsWith(`${projectRoot}/`)));

/**
 * Writes the files planned by {@link planUnits}, each atomically.
 *
 * @throws UsageError `usage`, before anything is written, when files were edited and `force` is not set
 */
export async function writeUnits(files: readonly UnitFile[], { force }: { force: boolean }): Promise<void> {
  const unreadable = files.filter(({ state }) => state === "unreadable").map(({ target }) => target);
  if (unreadable.length > 0)
    throw usageError("usage", `This user may not look at ${unreadable.join(", ")}.`, {
      faults: unreadable,
      hint: "Run the command as root; `--dry-run` prints the files for everyone.",
    });
  const edited = files.filter(({ state }) => state === "edited").map(({ target }) => target);
  if (edited.length > 0 && !force) {
    throw usageError("usage", `Not written by this command, or edited since: ${edited.join(", ")}.`, {
      faults: edited,
      hint: "Move the changes to a drop-in (systemctl edit), which upgrades keep; --force replaces the files.",
    });
  }
  const foreign = files.filter(({ state }) => state === "foreign").map(({ target }) => target);
  if (foreign.length > 0 && !force)
    throw usageError("usage", `Of another project root: ${foreign.join(", ")}.`, {
      faults: foreign,
      hint: "One host has one such file. --force replaces it, and the other root is served no longer.",
    });
  for (const { target, content, state } of files) {
    if (state === "unchanged") continue;
    await makeFolder(dirname(target));
    await writeFileAtomic(target, content);
  }
}

/** Describes paths that a unit cannot see because of its hardening. */
export function hiddenPaths({ node, packageFolder, projectRoot }: UnitOptions): string[] {
  const hidden = /^\/(?:home|root|run\/user|tmp|var\/tmp)(?:\/|$)/;
  return [
    { what: packageFolder === undefined ? "Sealift" : "Node.js", path: node },
    ...(packageFolder === undefined ? [] : [{ what: "Sealift", path: packageFolder }]),
    { what: "the project root", path: projectRoot },
  ]
    .filter(({ path }) => hidden.test(path))
    .map(({ what, path }) => `The units cannot see ${what} at ${path}: they run with ProtectHome= and PrivateTmp=.`);
}

/** Lists the commands that activate the files, in order. @param instance of the watch */
export function nextSteps(
  files: readonly UnitFile[],
  { services, root }: Pick<UnitOptions, "services" | "root">,
  instance = "NAME",
): string[] {
  const names = services.map((service) => UNIT_NAMES[service].replace("NAME", instance));
  if (resolve(root) !== "/") return names.map((name) => `systemctl --root=${root} enable ${name}`);
  const isReplaced = (service: SystemdService): boolean =>
    files.some(({ path, state }) => path.includes(`/sealift-${service}`) && state !== "new" && state !== "unchanged");
  const hasUser = services.some((service) => service === "runtime" || service === "watch");
  return [
    ...(hasUser ? ["systemd-sysusers", `systemd-tmpfiles --create ${TMPFILES}`] : []),
    ...(files.some(({ path, state }) => path === PROFILE && state !== "unchanged")
      ? [`apparmor_parser --replace ${PROFILE}`]
      : []),
    "systemctl daemon-reload",
    ...services
      .filter(isReplaced)
      .map((service) => `systemctl try-restart '${UNIT_NAMES[service].replace("NAME", "*")}'`),
    ...names.map((name) => `systemctl enable --now ${name}`),
  ];
}

/** Returns the words that start a service: a program of this package, or the single executable with a command. */
function programOf(service: SystemdService, { node, packageFolder }: UnitOptions): string {
  if (packageFolder === undefined) return `${unitPath(node)} ${COMMANDS[service]}`;
  const program = PROGRAMS[service];
  const words = program === "dist/bin/sealift.js" ? ` ${COMMANDS[service]}` : "";
  return `${unitPath(node)} ${unitPath(join(packageFolder, program))}${words}`;
}

/** Returns the words that start `sealift`. */
export function sealiftProgram({ node, packageFolder }: Pick<UnitOptions, "node" | "packageFolder">): string {
  if (packageFolder === undefined) return unitPath(node);
  return `${unitPath(node)} ${unitPath(join(packageFolder, "dist/bin/sealift.js"))}`;
}

/** Requires a path that a unit file reads as such. @throws UsageError `usage` */
export function unitPath(path: string): string {
  // Spaces end words, % begins specifiers, $ variables, and quotes and backslashes quote.
  if (/^(?:\/[\p{L}\p{N}._+@,=~-]+)+$/u.test(path)) return path;
  throw usageError("usage", `The path ${JSON.stringify(path)} cannot stand in a unit file.`, {
    hint: "Use an absolute path of letters, digits and ._+@,=~- in it.",
  });
}

function render(template: string, values: Readonly<Record<string, string>>): string {
  return template.replace(/\{\{(\w+)\}\}/g, (_match, name: string) => {
    const value = values[name];
    if (value === undefined) throw new Error(`the template names ${name}, which has no value`);
    return value;
  });
}

const SEAL = /^(?:#|\/\/) Written by `sealift systemd install`; .* \(sha256 ([0-9a-f]{64})\)\n/;

const digest = (text: string): string => createHash("sha256").update(text).digest("hex");

/** Appends a line with the text's digest, so that edits are noticed. */
const sealed = (text: string, comment: "#" | "//"): string =>
  `${comment} Written by \`sealift systemd install\`; changes belong in a drop-in (sha256 ${digest(text)})\n${text}`;

async function stateOf(path: string, content: string, projectRoot: string): Promise<UnitFile["state"]> {
  try {
    if (!(await lstat(path)).isFile()) return "edited";
    const found = await readFile(path, "utf8");
    if (found === content) return "unchanged";
    const seal = SEAL.exec(found);
    if (seal === null || digest(found.slice(seal[0].length)) !== seal[1]) return "edited";
    return names(content, projectRoot) && !names(found, projectRoot) ? "foreign" : "outdated";
  } catch (error) {
    if (missing(error)) return "new";
    if ((error as NodeJS.ErrnoException).code === "EACCES") return "unreadable";
    throw error;
  }
}
