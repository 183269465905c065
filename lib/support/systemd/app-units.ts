import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { usageError } from "../../contract/errors.ts";
import { CHECK, HOST_FOLDER, RUN, START, STOPPED_FOLDER } from "../../contract/files/application-names.ts";
import type { AppLimits } from "../../contract/files/limit-forms.ts";
import { hostAndPort } from "../../contract/files/socket-address.ts";
import { ifThere, namesIn, statsOf } from "../files.ts";
import { instancesOf, isOneRoot, rootOfUnit, workingDirectory } from "./app-instance.ts";
import { planFile, sealiftProgram, templateText, type UnitFile, type UnitOptions, unitPath, UNITS } from "./units.ts";

/** Application that systemd is to run. */
export interface AppUnitOptions extends Pick<UnitOptions, "node" | "packageFolder" | "projectRoot" | "root"> {
  id: string;
  /** Name of its units: that of {@link instanceFor}. */
  instance: string;
  /** User who runs it, whom `systemd-sysusers` makes. */
  user: string;
  /** Address that systemd keeps open and hands over, with its name; undefined for none. */
  socket: readonly [name: string, address: string] | undefined;
  /** Variables that tell the application its addresses. */
  environment: Readonly<Record<string, string>>;
  /** Limits that the operator sets. */
  limits?: AppLimits | undefined;
  /** Application that it is of, whose settings and data it shares; undefined for none. */
  base?: { id: string; instance: string } | undefined;
  /** Signal and time of an installed `app.yaml` to end; undefined before the first deployment. */
  stop?: { signal: string; within: number } | undefined;
}

/** Returns the name of the user of an application; undefined where its instance makes none. */
export function defaultUser(instance: string): string | undefined {
  const name = `app-${instance.replaceAll(".", "-")}`;
  return name.length <= 31 ? name : undefined;
}

/** Returns the drop-in of an instance. */
const dropInOf = (instance: string): string => `${UNITS}/sealift-app@${instance}.service.d/sealift.conf`;

/**
 * Returns the name of an application's units on a host: its id, and where another project root has the units of that
 * id, one that names the root, too.
 *
 * @param force takes the units of the id over
 */
export async function instanceFor(
  { id, projectRoot, root }: Pick<AppUnitOptions, "id" | "projectRoot" | "root">,
  { force }: { force: boolean },
): Promise<string> {
  const [first, further] = instancesOf(id, projectRoot);
  const text = await dropInText({ instance: first, root });
  const owner = rootOfUnit(id, /^WorkingDirectory=(.*)$/m.exec(text)?.[1]);
  return force || owner === undefined || isOneRoot(join(root, owner), join(root, projectRoot)) ? first : further;
}

/** Finds another application whose units run as a user. @returns its instance */
export async function otherOfUser(
  user: string,
  { instance, root }: Pick<AppUnitOptions, "instance" | "root">,
): Promise<string | undefined> {
  for (const name of await namesIn(join(root, UNITS))) {
    const [, other] = /^sealift-app@(.+)\.service\.d$/.exec(name) ?? [];
    if (other === undefined || other === instance) continue;
    const text = await dropInText({ instance: other, root });
    // Those that are of it share its user.
    if (userIn(text) === user && !text.includes(`\nPartOf=sealift-app@${instance}.service\n`)) return other;
  }
  return undefined;
}

/** Returns the user of an application's units; undefined where it has none. */
export const userOfUnit = async (of: Pick<AppUnitOptions, "instance" | "root">): Promise<string | undefined> =>
  userIn(await dropInText(of));

const userIn = (text: string): string | undefined => /^User=(.*)$/m.exec(text)?.[1];

/** Reads the drop-in of an application; empty where it has none. */
const dropInText = async ({ instance, root }: Pick<AppUnitOptions, "instance" | "root">): Promise<string> =>
  (await ifThere(readFile(join(root, dropInOf(instance)), "utf8"))) ?? "";

/** Plans the units of an application, its user, and the rule by which the watch may restart it. Writes nothing. */
export async function planAppUnits(options: AppUnitOptions): Promise<UnitFile[]> {
  const { instance, root, socket } = options;
  const unit = `${UNITS}/sealift-app@${instance}`;
  const texts: [path: string, text: string][] = [
    [`${UNITS}/sealift-app@.service`, await templateText("sealift-app@.service")],
    [dropInOf(instance), dropIn(options)],
    ...(await onceTexts(options)),
    ...(socket === undefined ? [] : [[`${unit}.socket`, socketUnit(options, socket)] as [string, string]]),
    [addressesPath(instance), addressesText(options)],
    [`/etc/sysusers.d/sealift-app-${instance}.conf`, users(options)],
    [`/etc/tmpfiles.d/sealift-app-${instance}.conf`, folders(options)],
    ["/etc/polkit-1/rules.d/50-sealift-watch.rules", await templateText("50-sealift-watch.rules")],
  ];
  return Promise.all(texts.map(([path, text]) => planFile(path, text, { root, projectRoot: options.projectRoot })));
}

/** Returns the units with which it runs as a job, and its health command, should a version make or have one. */
async function onceTexts(options: AppUnitOptions): Promise<[path: string, text: string][]> {
  const path = workingDirectory(options.id, unitPath(options.projectRoot));
  const texts: [path: string, text: string][] = [];
  const units: string[] = [];
  for (const [kind, program] of Object.entries({ job: RUN, check: CHECK })) {
    const unit = `sealift-${kind}@${options.instance}.service`;
    const lines = ["[Unit]", `ConditionPathExists=${path}/${HOST_FOLDER}/${program}`, "[Service]"];
    units.push(unit);
    texts.push(
      [`${UNITS}/sealift-${kind}@.service`, await templateText(`sealift-${kind}@.service`)],
      [`${UNITS}/${unit}.d/sealift.conf`, [...lines, ...placeLines(options), ""].join("\n")],
    );
  }
  return [
    ...texts,
    [`${UNITS}/sealift-jobs.target`, await templateText("sealift-jobs.target")],
    // A unit that another one names stays in memory, and so does how it ended.
    [`${UNITS}/sealift-jobs.target.d/${options.instance}.conf`, `[Unit]\nAfter=${units.join(" ")}\n`],
  ];
}

/** Describes a socket unit of an earlier call, which would take the address that the application binds itself now. */
export async function staleSocket({ instance, root, socket }: Pick<AppUnitOptions, "instance" | "root" | "socket">) {
  const path = join(root, `${UNITS}/sealift-app@${instance}.socket`);
  if (socket !== undefined || (await statsOf(path)) === undefined) return [];
  return [
    `${path} is there from an earlier call: \`systemctl disable --now sealift-app@${instance}.socket\`, and remove it.`,
  ];
}

/** Commands that activate the files, in order. */
export function appSteps({ instance, socket, root }: Pick<AppUnitOptions, "instance" | "socket" | "root">): string[] {
  const units = [
    ...(socket === undefined ? [] : [`sealift-app@${instance}.socket`]),
    `sealift-app@${instance}.service`,
    "sealift-jobs.target",
  ];
  if (root !== "/") return [`systemctl --root=${root} enable ${units.join(" ")}`];
  return [
    "systemd-sysusers",
    `systemd-tmpfiles --create sealift-app-${instance}.conf`,
    "systemctl daemon-reload",
    `systemctl enable ${units.join(" ")}`,
    "systemctl start sealift-jobs.target",
    ...(socket === undefined ? [] : [`systemctl start ${units[0]}`]),
  ];
}

/** Returns the commands that activate several applications: what all have in common once, before what is started. */
export function stepsTogether(commands: readonly string[]): string[] {
  const isStart = (command: string): boolean => /^systemctl (?:--root=\S+ )?(?:start|enable) /.test(command);
  const isReload = (command: string): boolean => command === "systemctl daemon-reload";
  const first = commands.filter((command) => !isStart(command) && !isReload(command));
  return [...new Set([...first, ...commands.filter(isReload), ...commands.filter(isStart)])];
}

function dropIn(options: AppUnitOptions): string {
  const { instance, socket, stop, base } = options;
  return [
    "[Unit]",
    installed(options),
    mayRun(options),
    ...(socket === undefined
      ? []
      : [`Requires=sealift-app@${instance}.socket`, `After=sealift-app@${instance}.socket`]),
    ...(base === undefined ? [] : afterBase(`sealift-app@${base.instance}.service`)),
    "[Service]",
    ...placeLines(options),
    ...(stop === undefined ? [] : [`KillSignal=${stop.signal}`, `TimeoutStopSec=${stop.within}`]),
    "",
  ].join("\n");
}

/** Lines by which an application ends before the one that it is of, and starts after it. */
const afterBase = (unit: string): string[] => [`Wants=${unit}`, `After=${unit}`, `PartOf=${unit}`];

/** Lines that say who runs an application, where, and with what: those of a job are the same. */
export function placeLines(options: AppUnitOptions): string[] {
  const { id, instance, user, base } = options;
  const projectRoot = unitPath(options.projectRoot);
  const shared = base ?? { id, instance };
  return [
    `User=${user}`,
    `WorkingDirectory=${workingDirectory(id, projectRoot)}`,
    "# Asked at each start, whoever begins it; it gets nothing of the application's settings.",
    `ExecCondition=${ONLY_NO} /usr/bin/env -i ${sealiftProgram(options)} app prepare ${id} --condition --project-root ${projectRoot}`,
    `EnvironmentFile=-${projectRoot}/apps/${shared.id}.env`,
    "# The last one wins: addresses are the operator's, whatever the settings say.",
    `EnvironmentFile=${addressesPath(instance)}`,
    ...limitLines(options.limits ?? {}),
    ...(base === undefined
      ? []
      : [
          "StateDirectory=",
          `StateDirectory=sealift-app/${base.instance}`,
          `Environment=HOME=%S/sealift-app/${base.instance}`,
        ]),
    "# The host's data: outside the application sees an empty folder there, which the agent fills with what a release ships.",
    `BindPaths=/var/lib/sealift-app/${shared.instance}:${projectRoot}/.sealift/data/apps/${shared.id}`,
    `InaccessiblePaths=-${projectRoot}/.sealift/state -${projectRoot}/.sealift/trust`,
  ];
}

/** Lines of the operator's limits. */
const limitLines = ({ memory, cpu, tasks }: AppLimits): string[] => [
  ...(memory === undefined ? [] : [`MemoryMax=${memory}`, "MemorySwapMax=0"]),
  ...(cpu === undefined ? [] : [`CPUQuota=${Math.round(cpu * 100)}%`]),
  ...(tasks === undefined ? [] : [`TasksMax=${tasks}`]),
];

/**
 * Words before a condition that answers 77 for "not to start". systemd takes 1 to 254 for that. Everything else, such
 * as a package that is just being replaced, is a failed start here, which is tried again.
 */
const ONLY_NO = `/bin/sh -c '"$$@"; case $$? in 0) exit 0;; 77) exit 1;; *) exit 255;; esac' sh`;

/** Path of the file with the addresses of an application, which root owns. */
const addressesPath = (instance: string): string => `/etc/sealift/apps/${instance}.env`;

const addressesText = ({ environment }: AppUnitOptions): string =>
  Object.entries(environment)
    .map(([name, value]) => `${name}=${value}\n`)
    .join("");

/** Line by which nothing is started at boot of an application that the running version does not have. */
const installed = ({ id, projectRoot }: AppUnitOptions): string =>
  `ConditionPathExists=${workingDirectory(id, unitPath(projectRoot))}/${HOST_FOLDER}/${START}`;

/** Line by which nothing is started of an application that an operator has stopped. */
const mayRun = ({ id, projectRoot }: AppUnitOptions): string =>
  `ConditionPathExists=!${unitPath(projectRoot)}/${STOPPED_FOLDER}/${id}`;

const socketUnit = (options: AppUnitOptions, [name, address]: readonly [string, string]): string =>
  [
    "[Unit]",
    `Description=Socket of the Sealift application ${options.id}`,
    installed(options),
    mayRun(options),
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

const folders = ({ projectRoot, id: own, base: { id } = { id: own, instance: own } }: AppUnitOptions): string =>
  [
    "# Where the data of the application is seen. The agent's, which fills it with what a release ships.",
    ...["apps", ".sealift", ".sealift/data", ".sealift/data/apps", `.sealift/data/apps/${id}`].map(
      (folder) => `d ${unitPath(projectRoot)}/${folder} 0755 sealift-watch sealift-watch`,
    ),
    "",
  ].join("\n");
