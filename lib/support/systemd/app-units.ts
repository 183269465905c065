import { join } from "node:path";
import { usageError } from "../../contract/errors.ts";
import { hostAndPort } from "../../contract/files/applications.ts";
import { statsOf } from "../files.ts";
import { planFile, sealiftProgram, templateText, type UnitFile, type UnitOptions, unitPath, UNITS } from "./units.ts";

/** Application that systemd is to run. */
export interface AppUnitOptions extends Pick<UnitOptions, "node" | "packageFolder" | "projectRoot" | "root"> {
  id: string;
  /** User who runs it, whom `systemd-sysusers` makes. */
  user: string;
  /** Address that systemd keeps open and hands over, with its name; undefined for none. */
  socket: readonly [name: string, address: string] | undefined;
  /** Variables that tell the application its addresses. */
  environment: Readonly<Record<string, string>>;
  /** Signal and time of an installed `app.yaml` to end; undefined before the first deployment. */
  stop?: { signal: string; within: number } | undefined;
}

/** Returns the name of the user of an application; undefined where its id makes none. */
export function defaultUser(id: string): string | undefined {
  const name = `app-${id.replaceAll(".", "-")}`;
  return name.length <= 31 ? name : undefined;
}

/** Plans the units of an application, its user, and the rule by which the watch may restart it. Writes nothing. */
export async function planAppUnits(options: AppUnitOptions): Promise<UnitFile[]> {
  const { id, root, socket } = options;
  const unit = `${UNITS}/sealift-app@${id}`;
  const texts: [path: string, text: string][] = [
    [`${UNITS}/sealift-app@.service`, await templateText("sealift-app@.service")],
    [`${unit}.service.d/sealift.conf`, dropIn(options)],
    ...(socket === undefined ? [] : [[`${unit}.socket`, socketUnit(id, socket)] as [string, string]]),
    [addressesPath(id), addressesText(options)],
    [`/etc/sysusers.d/sealift-app-${id}.conf`, users(options)],
    [`/etc/tmpfiles.d/sealift-app-${id}.conf`, folders(options)],
    ["/etc/polkit-1/rules.d/50-sealift-watch.rules", await templateText("50-sealift-watch.rules")],
  ];
  return Promise.all(texts.map(([path, text]) => planFile(path, text, root)));
}

/** Describes a socket unit of an earlier call, which would take the address that the application binds itself now. */
export async function staleSocket({ id, root, socket }: Pick<AppUnitOptions, "id" | "root" | "socket">) {
  const path = join(root, `${UNITS}/sealift-app@${id}.socket`);
  if (socket !== undefined || (await statsOf(path)) === undefined) return [];
  return [
    `${path} is there from an earlier call: \`systemctl disable --now sealift-app@${id}.socket\`, and remove it.`,
  ];
}

/** Commands that activate the files, in order. */
export function appSteps({ id, socket, root }: Pick<AppUnitOptions, "id" | "socket" | "root">): string[] {
  const units = [...(socket === undefined ? [] : [`sealift-app@${id}.socket`]), `sealift-app@${id}.service`];
  if (root !== "/") return [`systemctl --root=${root} enable ${units.join(" ")}`];
  return [
    "systemd-sysusers",
    `systemd-tmpfiles --create sealift-app-${id}.conf`,
    "systemctl daemon-reload",
    `systemctl enable ${units.join(" ")}`,
    ...(socket === undefined ? [] : [`systemctl start ${units[0]}`]),
  ];
}

function dropIn(options: AppUnitOptions): string {
  const { id, user, socket, stop } = options;
  const projectRoot = unitPath(options.projectRoot);
  return [
    "[Unit]",
    ...(socket === undefined ? [] : [`Requires=sealift-app@${id}.socket`, `After=sealift-app@${id}.socket`]),
    "[Service]",
    `User=${user}`,
    `WorkingDirectory=${projectRoot}/apps/${id}`,
    "# Asked at each start, whoever begins it; it gets nothing of the application's settings.",
    `ExecCondition=/usr/bin/env -i ${sealiftProgram(options)} app prepare ${id} --condition --project-root ${projectRoot}`,
    `EnvironmentFile=-${projectRoot}/apps/${id}.env`,
    "# The last one wins: addresses are the operator's, whatever the settings say.",
    `EnvironmentFile=${addressesPath(id)}`,
    ...(stop === undefined ? [] : [`KillSignal=${stop.signal}`, `TimeoutStopSec=${stop.within}`]),
    "# The host's data: outside the application sees an empty folder there, which the agent fills with what a release ships.",
    `BindPaths=/var/lib/sealift-app/${id}:${projectRoot}/.sealift/data/apps/${id}`,
    `InaccessiblePaths=-${projectRoot}/.sealift/state -${projectRoot}/.sealift/trust`,
    "",
  ].join("\n");
}

/** Path of the file with the addresses of an application, which root owns. */
const addressesPath = (id: string): string => `/etc/sealift/apps/${id}.env`;

const addressesText = ({ environment }: AppUnitOptions): string =>
  Object.entries(environment)
    .map(([name, value]) => `${name}=${value}\n`)
    .join("");

const socketUnit = (id: string, [name, address]: readonly [string, string]): string =>
  [
    "[Unit]",
    `Description=Socket of the Sealift application ${id}`,
    "",
    "[Socket]",
    `ListenStream=${listenStream(address)}`,
    `FileDescriptorName=${name}`,
    "",
    "[Install]",
    "WantedBy=sockets.target",
    "",
  ].join("\n");

/** Checks an address before it stands in a unit. @throws UsageError `usage` */
function listenStream(address: string): string {
  const { host, port } = hostAndPort(address);
  if (/^[0-9a-f.:]+$/i.test(host) && port > 0) return address;
  throw usageError("usage", `${JSON.stringify(address)} is not an address of a socket.`, {
    hint: "Such as 127.0.0.1:3000.",
  });
}

/** Its folders belong to the watch's user, who is there before the watch is. */
const users = ({ user, id }: AppUnitOptions): string =>
  `u ${user} - "Sealift application ${id}"\nu sealift-watch - "Sealift watch" /var/lib/sealift-watch\n`;

const folders = ({ projectRoot, id }: AppUnitOptions): string =>
  [
    "# Where the data of the application is seen. The agent's, which fills it with what a release ships.",
    ...["apps", ".sealift", ".sealift/data", ".sealift/data/apps", `.sealift/data/apps/${id}`].map(
      (folder) => `d ${unitPath(projectRoot)}/${folder} 0755 sealift-watch sealift-watch`,
    ),
    "",
  ].join("\n");
