import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { get } from "node:http";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Test } from "tap";
import { freePort } from "../free-port.ts";
import { until } from "../until.ts";
import { ApplicationRoot, HANDED_OVER } from "./application-root.ts";

export const SEALIFT = fileURLToPath(new URL("../../../bin/sealift.ts", import.meta.url));

/** Capabilities that Docker leaves root in a container. */
const DOCKERS = [
  ..."chown dac_override fowner fsetid kill setgid setuid setpcap".split(" "),
  ..."net_bind_service net_raw sys_chroot mknod audit_write setfcap".split(" "),
];

/** Place of an `app serve`: on this machine, or as root of a container, whose control groups are read-only. */
export type ServedPlace = "host" | "container";

/** The words before a program that put it into a place, or run it as an ordinary user. */
function placed(place: ServedPlace | number, words: readonly string[]): string[] {
  if (place === "host") return [...words];
  if (typeof place === "number")
    return ["setpriv", "--reuid", String(place), "--regid", String(place), "--clear-groups", ...words];
  const readOnly = `for at in $(awk '$3 == "cgroup2" { print $2 }' /proc/mounts); do mount -o remount,bind,ro "$at"; done`;
  return [
    ...["unshare", "--mount", "sh", "-c", `${readOnly}; exec "$@"`, "sh"],
    ...["setpriv", "--bounding-set", `-all,${DOCKERS.map((name) => `+${name}`).join(",")}`, "--inh-caps", "-all"],
    ...["env", "container=docker", ...words],
  ];
}

/** `sealift app serve` as a process of its own. */
export class ServedRoot {
  readonly events: { event: string; [fact: string]: unknown }[] = [];
  readonly process: ChildProcess;
  #ended: Promise<unknown>;

  private constructor(child: ChildProcess) {
    this.process = child;
    this.#ended = once(child, "exit");
    let text = "";
    child.stdout!.on("data", (chunk: Buffer) => {
      const lines = (text += String(chunk)).split("\n");
      text = lines.pop()!;
      for (const line of lines) this.events.push(JSON.parse(line) as { event: string });
    });
    child.stderr!.resume();
  }

  /**
   * Starts it, and waits until it is ready; the test ends it.
   *
   * @param place a number is that of an ordinary user
   * @param program words that start `sealift`
   */
  static async start(
    t: Test,
    root: ApplicationRoot,
    place: ServedPlace | number = "host",
    program: readonly string[] = [process.execPath, SEALIFT],
  ): Promise<ServedRoot> {
    const words = ["app", "serve", "--json", "--project-root", root.layout.root];
    const [file, ...args] = placed(place, [...program, ...words]);
    const served = new ServedRoot(spawn(file!, args, { stdio: ["ignore", "pipe", "pipe"] }));
    t.teardown(() => served.end("SIGTERM"));
    await until(() => served.has("ready") || served.process.exitCode !== null);
    return served;
  }

  has(event: string, facts: Record<string, unknown> = {}): boolean {
    return this.events.some(
      (one) => one.event === event && Object.entries(facts).every(([name, value]) => one[name] === value),
    );
  }

  async end(signal: NodeJS.Signals): Promise<void> {
    if (this.process.exitCode === null && this.process.signalCode === null) this.process.kill(signal);
    await this.#ended;
  }
}

/** Asks an application once. @returns its answer, or the code of the error */
export const ask = (port: number): Promise<string> =>
  new Promise((resolve) => {
    const request = get({ port, host: "127.0.0.1", agent: false, timeout: 5_000 }, (response) => {
      let text = "";
      response.on("data", (chunk: Buffer) => (text += String(chunk)));
      response.on("end", () => resolve(text));
      response.on("error", ({ message }) => resolve(message));
    });
    request.on("timeout", () => request.destroy(new Error("silence")));
    request.on("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
  });

/** Has an installed `sealift` run an application. @returns what that answers: the number of its process */
export async function answerUnder(t: Test, program: readonly string[]): Promise<string> {
  const root = await ApplicationRoot.make(t);
  await root.install("web", { app: { listen: ["http"] }, files: { "server.js": HANDED_OVER } });
  const port = await freePort();
  await root.grant({ web: { listen: { http: port } } });
  await ServedRoot.start(t, root, "host", program);
  return ask(port);
}

/** Returns why this machine cannot give an application a user of its own; false where it can. */
export const noOwnUsers = (): string | false =>
  process.getuid?.() === 0 && ["/usr/sbin/useradd", "/sbin/useradd"].some(existsSync) ? false : "only root makes users";

/** Makes a user for an application, who goes with the test. */
export function ownUser(t: Test): string {
  const name = `sealift-t${process.pid}-${Math.floor(Math.random() * 1e6)}`.slice(0, 31);
  execFileSync("useradd", ["--no-create-home", "--uid", String(20_000 + Math.floor(Math.random() * 30_000)), name]);
  t.teardown(() => execFileSync("userdel", [name], { stdio: "ignore" }));
  return name;
}

/** Path of the log of an application. */
export const logOf = (root: ApplicationRoot, id: string): string => join(root.layout.sealift, "logs/apps", id, "log");
