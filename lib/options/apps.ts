import { type AppLimits, CPU_FORM, MEMORY, MEMORY_FORM, TASKS_FORM } from "../contract/files/limit-forms.ts";
import { canonicalAddress } from "../contract/files/socket-address.ts";
import { host, hostChange, supervision } from "./agent.ts";
import { connection, hubIfKnown } from "./connection.ts";
import { logs } from "./inspection.ts";
import { flag, list, parsed, path, text } from "./kinds.ts";
import { systemd } from "./operating.ts";
import { group, optional } from "./option.ts";
import { packing } from "./packing.ts";
import { deployed } from "./sources.ts";

/** Options of `app init`. */
export const appInit = {
  ...group("Application", {
    projectId: optional(deployed.projectId),
    folder: path({ help: "Folder of the program", default: "." }),
    id: text({ metavar: "ID", help: "Its name on hosts", defaultText: "that of its package or folder" }),
    out: path({ help: "Folder of the project to make", defaultText: "deploy in the application's folder" }),
    of: text({ metavar: "ID", help: "Application of the project whose folder the command runs in" }),
    schedule: text({ metavar: "CRON", help: "Times at which it runs, such as '30 3 * * *', in UTC" }),
  }),
  hubUrl: hubIfKnown,
  apiKey: optional(connection.apiKey),
  timeoutMs: connection.timeoutMs,
};

/** Options of `app serve`. */
export const appServe = { ...hostChange };

/** Options of `app test`. */
export const appTest = {
  ...group("Application", {
    envFile: path({ metavar: "FILE", help: "Its settings", defaultText: ".env in its folder, else .env.template" }),
    user: text({ metavar: "NAME", help: "User who runs it, as root", defaultText: "nobody" }),
  }),
  ...packing,
};

/** Options of `app env`. */
export const appEnv = { ...hostChange };

/** Options of commands that ask the program which runs a root's applications. */
export const appRunner = { ...host, systemdScope: supervision.systemdScope };

/** Options of `app run`. */
export const appRun = { ...hostChange, systemdScope: supervision.systemdScope };

/** Options of `app logs`. */
export const appLogs = { ...appRunner, follow: logs.follow, lines: logs.lines };

/** Options of `app prepare`. */
export const appPrepare = {
  ...host,
  ...group("Application", {
    condition: flag({ help: "Be the condition of a unit, which migrates by itself" }),
  }),
};

/**
 * Reads `NAME=ADDRESS` as `applications.yaml` does; a port alone is one of 127.0.0.1.
 *
 * @throws Error whose message continues "--listen …"
 */
function addressFrom(written: string): readonly [name: string, address: string] {
  const [, name, given = ""] = /^([a-z][a-z0-9-]{0,31})=(.+)$/s.exec(written) ?? [];
  const address = canonicalAddress(given);
  if (name !== undefined && address !== undefined) return [name, address];
  throw new Error(`is a name and an address such as http=127.0.0.1:3000 or http=3000, not ${JSON.stringify(written)}`);
}

/** Reads a limit as `applications.yaml` does. @throws Error whose message continues "--memory-max …" */
function checked<T>(value: T, isGood: boolean, form: string, written: string): T {
  if (isGood) return value;
  throw new Error(`${form.replace(/^must be/, "is")}, not ${JSON.stringify(written)}`);
}

const memoryFrom = (text: string): string => checked(text, MEMORY.test(text), MEMORY_FORM, text);
const cpuFrom = (text: string): number => {
  const value = /^\d{1,4}(?:\.\d{1,2})?$/.test(text) ? Number(text) : 0;
  return checked(value, value >= 0.01 && value <= 1024, CPU_FORM, text);
};
const tasksFrom = (text: string): number => {
  const value = /^\d{1,7}$/.test(text) ? Number(text) : 0;
  return checked(value, value >= 1 && value <= 1_000_000, TASKS_FORM, text);
};

/** Limits of an operator for one application. */
const limiting = {
  memoryMax: parsed({ metavar: "SIZE", help: "Memory that it may have, such as 512M" }, memoryFrom),
  cpu: parsed({ metavar: "NUMBER", help: "Processors that it may have, such as 1.5" }, cpuFrom),
  tasks: parsed({ metavar: "NUMBER", help: "Processes and threads that it may have" }, tasksFrom),
};

/** Returns the limits that options state. */
export const limitsOf = (given: {
  memoryMax?: string | undefined;
  cpu?: number | undefined;
  tasks?: number | undefined;
}): AppLimits => ({
  ...(given.memoryMax !== undefined && { memory: given.memoryMax }),
  ...(given.cpu !== undefined && { cpu: given.cpu }),
  ...(given.tasks !== undefined && { tasks: given.tasks }),
});

/** Options that say where an application listens, and who runs it. */
export const granting = group("Application", {
  listen: list({ metavar: "NAME=ADDRESS", help: "Address of a name in `listen`; may be repeated" }, addressFrom),
  port: list({ metavar: "NAME=ADDRESS", help: "Address of a name in `ports`; may be repeated" }, addressFrom),
  user: text({ metavar: "NAME", help: "User who runs it" }),
  ...limiting,
  of: text({ metavar: "ID", help: "Application whose user, settings and data it shares" }),
});

/** Options that take what is allowed from what a release asks. */
const asking = {
  from: path({ metavar: "PATH", help: "Allow what app.yaml, an application or a project asks" }),
  yes: flag({ help: "Allow it without asking, for scripts" }),
};

/** Options of `app allow`. */
export const appAllow = {
  ...group("Application", {
    ...granting,
    sameUser: flag({ help: "Run it as the user of `app serve`, who reads its keys" }),
    alone: flag({ help: "The user runs nothing else: its processes are told by it" }),
    ...asking,
  }),
  ...host,
};

/** Options of `systemd install app`. */
export const systemdApp = {
  ...group("Application", { ...granting, ...asking, now: flag({ help: "Carry out the next steps, too" }) }),
  ...systemd,
};
