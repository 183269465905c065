import { createHash } from "node:crypto";
import { parseEnv } from "node:util";
import type { Application } from "../contract/files/application.ts";
import { hostAndPort } from "../contract/files/applications.ts";
import { ifThere, readKeyFile } from "../support/files.ts";
import type { Addresses } from "./kept-sockets.ts";
import { ServeFault } from "./serve-fault.ts";
import type { RunAs } from "./user.ts";

/** Path on which an application finds programs, the same as systemd's. */
const PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/** Variables of `app serve` itself that an application shares. */
const SHARED = ["LANG", "LC_ALL", "TZ"];

/** Variable by which the processes of an application are found, wherever they have gone. */
export const MARK_VARIABLE = "SEALIFT_APPLICATION";

/** Returns the value of {@link MARK_VARIABLE} for an application of a project root. @param root its real path */
export const markValue = (root: string, id: string): string =>
  `${createHash("sha256").update(root).digest("hex").slice(0, 16)}/${id}`;

/**
 * Returns the environment of an application: its settings over a few variables of the host, and its addresses over
 * both. Nothing of `app serve`'s own environment is in it.
 *
 * @param settings file of the operator, which need not exist
 * @param sockets names of handed-over sockets, in the order of their descriptors
 * @throws ServeFault `settings_invalid` when a required name has no value
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
  const given = parseEnv((await ifThere(readKeyFile(settings)))?.toString("utf8") ?? "") as Record<string, string>;
  const empty = app.environment.required.filter((name) => (given[name] ?? "") === "");
  if (empty.length > 0)
    throw new ServeFault("settings_invalid", `${id} needs values for ${empty.join(", ")} in ${settings}.`);
  return {
    ...{ PATH, HOME: user.home, USER: user.name, LOGNAME: user.name, SHELL: "/bin/sh", NODE_ENV: "production" },
    ...(Object.fromEntries(shared) as Record<string, string>),
    ...given,
    ...portVariables(addresses),
    ...(sockets.length > 0 && { LISTEN_FDS: String(sockets.length), LISTEN_FDNAMES: sockets.join(":") }),
    [MARK_VARIABLE]: mark,
  };
}

/** Returns `PORT` and `HOST` of the first address, and those of each by its name: `PORT_METRICS`, `HOST_METRICS`. */
export function portVariables(addresses: Addresses): Record<string, string> {
  const variables: Record<string, string> = {};
  for (const [name, at] of Object.entries(addresses)) {
    const { host, port } = hostAndPort(at);
    const suffix = `_${name.toUpperCase().replaceAll("-", "_")}`;
    for (const end of variables.PORT === undefined ? ["", suffix] : [suffix]) {
      variables[`PORT${end}`] = String(port);
      variables[`HOST${end}`] = host;
    }
  }
  return variables;
}
