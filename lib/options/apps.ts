import { grantOf } from "../contract/files/applications.ts";
import { host, hostChange } from "./agent.ts";
import { connection, hubIfKnown } from "./connection.ts";
import { flag, list, path, text } from "./kinds.ts";
import { systemd } from "./operating.ts";
import { group, optional } from "./option.ts";
import { deployed } from "./sources.ts";

/** Options of `app init`. */
export const appInit = {
  ...group("Application", {
    projectId: deployed.projectId,
    folder: path({ help: "Folder of the program", default: "." }),
    id: text({ metavar: "ID", help: "Its name on hosts", defaultText: "that of its package or folder" }),
    out: path({ help: "Folder of the project to make", defaultText: "deploy in the application's folder" }),
  }),
  hubUrl: hubIfKnown,
  apiKey: optional(connection.apiKey),
  timeoutMs: connection.timeoutMs,
};

/** Options of `app serve`. */
export const appServe = { ...hostChange };

/** Options of `app prepare`. */
export const appPrepare = { ...host };

/** Reads `NAME=ADDRESS`. @throws Error whose message continues "--listen …" */
function addressFrom(written: string): readonly [name: string, address: string] {
  const [, name = "", given = ""] = /^([^=]*)=(.*)$/s.exec(written) ?? [];
  const parsed = grantOf({ listen: { [name]: /^\d+$/.test(given) ? Number(given) : given } });
  const address = parsed?.listen[name];
  if (address === undefined)
    throw new Error(
      `is a name and an address such as http=127.0.0.1:3000 or http=3000, not ${JSON.stringify(written)}`,
    );
  return [name, address];
}

const granting = group("Application", {
  listen: list(
    { metavar: "NAME=ADDRESS", help: "Address of a socket of the application; may be repeated" },
    addressFrom,
  ),
  user: text({ metavar: "NAME", help: "User who runs it" }),
});

/** Options of `app allow`. */
export const appAllow = {
  ...group("Application", {
    ...granting,
    sameUser: flag({ help: "Run it as the user of `app serve`, who can read the agent's keys" }),
  }),
  ...host,
};

/** Options of `systemd install app`. */
export const systemdApp = {
  ...group("Application", {
    ...granting,
    port: list(
      { metavar: "NAME=ADDRESS", help: "Address that the application binds itself; may be repeated" },
      addressFrom,
    ),
  }),
  ...systemd,
};
