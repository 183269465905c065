import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { constants } from "node:os";
import { dirname, join } from "node:path";
import { deploymentError } from "../../contract/errors.ts";
import { grantOf } from "../../contract/files/granted.ts";
import { readGrants, readInstalled } from "../../releases/applications.ts";
import type { Layout } from "../../releases/layout.ts";
import { runUnit, serviceLines } from "../../support/systemd/run-unit.ts";
import { childEnvironment, describeFailure } from "../base/child-program.ts";
import { instanceOf } from "../supervisors/application-units.ts";
import { inquire, READY_TIMEOUT_MS } from "../supervisors/supervisor.ts";
import { systemctl, type SystemdScope } from "../supervisors/systemd-units.ts";
import { notAllowed } from "./not-allowed.ts";

/** Signals that are passed on to a run. A terminal's own keys reach it by the terminal. */
const PASSED = ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2"] as const;

export interface RunInUnit {
  id: string;
  words: readonly string[];
  scope: SystemdScope;
  /** Whether standard input and output are a terminal. */
  terminal: boolean;
}

/**
 * Runs words as systemd runs an application: with every line of its unit that says who it is and what it may, in a unit
 * of their own. Signals are passed on.
 *
 * @returns the exit code; 128 and its number for a signal
 * @throws DeploymentError `app_not_allowed`, `app_not_installed`, `supervisor_failed`
 */
export async function runInUnit(layout: Layout, { id, words, scope, terminal }: RunInUnit): Promise<number> {
  const [grants, installed] = await Promise.all([readGrants(layout), readInstalled(layout, id)]);
  const grant = grantOf(grants?.applications, id);
  if (grant === undefined) throw notAllowed(`The application ${id} is not allowed to run.`);
  if (installed === undefined) throw deploymentError("app_not_installed", `The application ${id} is not installed.`);
  if (installed.app.of !== grant.of)
    throw notAllowed(`The application ${id} is of ${installed.app.of ?? "nobody"}, and allowed to run otherwise.`);
  const { instance } = await instanceOf(scope, layout.root, id);
  if (instance === undefined) throw deploymentError("supervisor_unavailable", `This root has no units of ${id}.`);
  const service = `sealift-app@${instance}.service`;
  const shown = await inquire(systemctl(scope, "cat", service), READY_TIMEOUT_MS);
  if (shown.code !== 0)
    throw deploymentError(
      "supervisor_failed",
      `The unit ${service} cannot be read: ${describeFailure(shown, READY_TIMEOUT_MS)}.`,
    );
  const unit = `sealift-run-${instance}-${randomBytes(4).toString("hex")}`;
  const [file, ...args] = runUnit({
    ...{ unit, description: `Run in the place of ${id}`, words, scope, terminal },
    lines: serviceLines(shown.stdout, instance),
    defaults: installed.app.environment.values,
    folder: join(dirname(installed.folder), installed.app.of ?? id),
  });
  const tell = (text: string): void => logLine(service, text);
  tell(`sealift: a run begins as ${unit}`);
  const code = await carriedOut(
    [file!, ...args],
    (name) => void inquire(systemctl(scope, "kill", `--signal=${name}`, unit), READY_TIMEOUT_MS),
    terminal,
  );
  tell(`sealift: the run ${unit} ended with exit code ${code}`);
  return code;
}

/** Runs a program with this process's terminal or pipes, which ends when this process does. @returns its exit code */
async function carriedOut(
  [file, ...args]: [string, ...string[]],
  pass: (name: NodeJS.Signals) => void,
  terminal: boolean,
): Promise<number> {
  const signals = PASSED.map((name) => [name, () => pass(name)] as const);
  for (const [name, listener] of signals) process.on(name, listener);
  try {
    const words = ["setpriv", "--pdeathsig", "KILL", file, ...args];
    const child = spawn(words[0]!, words.slice(1), {
      // A terminal's keys go to its own group; elsewhere they go to this process alone, which passes them on.
      ...{ stdio: "inherit", env: childEnvironment({ TERM: process.env.TERM ?? "dumb" }), detached: !terminal },
    });
    return await new Promise<number>((resolve, reject) => {
      child.once("error", reject);
      child.once("exit", (code, signal) => resolve(code ?? 128 + constants.signals[signal!]));
    });
  } finally {
    for (const [name, listener] of signals) process.off(name, listener);
  }
}

/** Writes a line into the journal of a unit; best effort. */
function logLine(service: string, text: string): void {
  const child = spawn("logger", ["--journald"], { stdio: ["pipe", "ignore", "ignore"], env: childEnvironment() });
  child.on("error", () => undefined);
  child.stdin.on("error", () => undefined);
  child.stdin.end(`MESSAGE=${text}\nSYSLOG_IDENTIFIER=sealift\nPRIORITY=6\nOBJECT_SYSTEMD_UNIT=${service}\n`);
}
