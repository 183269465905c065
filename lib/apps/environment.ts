import { createHash } from "node:crypto";
import { realpath, stat } from "node:fs/promises";
import { parseEnv } from "node:util";
import type { Application } from "../contract/files/application.ts";
import { type Addresses, LAUNCH, portVariables } from "../contract/files/launch.ts";
import { readSettingsFile } from "../releases/settings-file.ts";
import { ServeFault } from "./serve-fault.ts";
import type { RunAs } from "./user.ts";

/** Variables of `app serve` itself that an application shares. */
const SHARED = ["LANG", "LC_ALL", "TZ"];

/** Variable by which the processes of an application are found, unless they have taken it off. */
export const MARK_VARIABLE = "SEALIFT_APPLICATION";

/**
 * Returns what tells the applications of a project root from all others of the machine. The folder itself, and not its
 * path: a container may have another one there, and its processes and control groups are seen from outside.
 */
export async function rootKey(root: string): Promise<string> {
  const { dev, ino } = await stat(root, { bigint: true });
  return keyOf(`${dev}:${ino}`);
}

/** Name of the control groups of a root's applications. @param key of the root */
export const groupOwner = (key: string): string => `sealift-app-${key}`;

const keyOf = (text: string): string => createHash("sha256").update(text).digest("hex").slice(0, 16);

/** Value of {@link MARK_VARIABLE} of an application. */
export interface ApplicationMark {
  value: string;
  /** Value of before 0.3.0, which an application of another root at the same path has, too. */
  former: string;
  /** Key and real path of the root. */
  key: string;
  path: string;
}

/** Returns the mark of an application of a project root. */
export async function markOf(root: string, id: string): Promise<ApplicationMark> {
  const [key, path] = await Promise.all([rootKey(root), realpath(root)]);
  return { value: `${key}/${id}`, former: `${keyOf(path)}/${id}`, key, path };
}

/**
 * Returns the environment of an application: its settings over a few variables of the host, its addresses over both,
 * and defaults of its version below all of them. Nothing of `app serve`'s own environment is in it.
 *
 * @param settings file of the operator, which need not exist
 * @param sockets names of handed-over sockets, in the order of their descriptors
 * @throws ServeFault `settings_invalid` when a required name has no value; UsageError `config_invalid` for a file that
 *   cannot be read
 */
export async function applicationEnvironment(options: {
  id: string;
  app: Application;
  user: RunAs;
  settings: string;
  addresses: Addresses;
  sockets: readonly string[];
  mark: string;
}): Promise<Record<string, string>> {
  const { id, app, user, settings, addresses, sockets, mark } = options;
  const shared = SHARED.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]]));
  const given = parseEnv((await readSettingsFile(settings))?.toString("utf8") ?? "") as Record<string, string>;
  const empty = app.environment.required.filter((name) => (given[name] ?? "") === "");
  if (empty.length > 0)
    throw new ServeFault("settings_invalid", `${id} needs values for ${empty.join(", ")} in ${settings}.`);
  return {
    ...app.environment.values,
    ...{ PATH: LAUNCH.path, HOME: user.home, USER: user.name, LOGNAME: user.name, SHELL: "/bin/sh" },
    NODE_ENV: LAUNCH.nodeEnv,
    ...(Object.fromEntries(shared) as Record<string, string>),
    ...given,
    ...portVariables(addresses),
    ...(sockets.length > 0 && { LISTEN_FDS: String(sockets.length), LISTEN_FDNAMES: sockets.join(":") }),
    [MARK_VARIABLE]: mark,
  };
}
