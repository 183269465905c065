/** A host whose hub, watch and application run by the units that the package writes, under a real systemd. */
import { copyFileSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Test } from "tap";
import { layoutOf } from "../../../lib/releases/layout.ts";
import { readQuarantine } from "../../../lib/releases/quarantine.ts";
import type { Ended } from "../programs/command-line.ts";
import type { Moment } from "../programs/kill-at.ts";
import { SystemdMachine } from "../programs/systemd-machine.ts";

const HUB = "http://127.0.0.1:8787";
const ROOT = "/srv/sealift";
const WATCH = "sealift-watch@blue";
/** Folder of the watch's own user. */
const STATE = "/var/lib/sealift-watch";
const KILL_AT = `${STATE}/kill-at`;
const PRELOAD = "/usr/lib/kill-at.ts";
/** Output of the watch. */
const PRINTED = "/var/log/watch.json";
const PORT = 3000;

const APP = `command: [node, server.js]
listen: [http]
health: { http: /, within: 3s, stays_up: 1s }
stop: { within: 1s }
`;

/** Event as the watch prints it. */
interface Printed {
  event: string;
  // oxlint-disable-next-line typescript/no-explicit-any
  [field: string]: any;
}

/** Programs that run the application: a unit of its own, or `sealift app serve`. */
export type ApplicationsBy = "systemd" | "serve";

/** Version that a hub has heard to run on its host, and how it does. */
export interface Heard {
  running: string | null;
  status: string;
  isUnhealthy: boolean;
}

/** Answers of a host itself, and of its hub. */
export interface Said {
  status: { running: string | null; unhealthy: unknown; faults: (string | null)[] };
  fleet: Heard;
}

export class SystemdHost {
  readonly machine: SystemdMachine;
  readonly #admin = ["--hub-url", HUB, "--api-key-file", "/var/lib/sealift-hub/admin.key"];
  #project = "";
  #adminKey = "";

  private constructor(machine: SystemdMachine) {
    this.machine = machine;
  }

  /** Boots it, with a watch that waits for the first version. */
  static async boot(t: Test, by: ApplicationsBy = "systemd"): Promise<SystemdHost> {
    const host = new SystemdHost(await SystemdMachine.withPackage(t));
    await host.#install(by);
    return host;
  }

  async #install(by: ApplicationsBy): Promise<void> {
    const { machine } = this;
    symlinkSync("/usr/lib/sealift-node", machine.path("/usr/local/bin/sealift-node"));
    copyFileSync(join(import.meta.dirname, "../programs/kill-at.ts"), machine.path(PRELOAD));
    await machine.sealift("systemd", "install", "--project-root", ROOT);
    for (const step of ["systemd-sysusers", "systemd-tmpfiles --create"]) await machine.run(...step.split(" "));
    await this.#allow(by);
    await this.systemctl("start", "sealift-hub");
    this.#adminKey = readFileSync(machine.path("/var/lib/sealift-hub/admin.key"), "utf8").trim();
    this.#project = await machine.sealift("project", "create", "Units", ...this.#admin);
    await machine.sealift("signer", "create", "--out", "/root/keys");
    await machine.run("install", "-D", "/root/keys/signer.pub", "/etc/sealift/watch/signer.pub");
    await machine.run("install", "-d", "-o", "sealift-watch", "-g", "sealift-watch", STATE);
    await this.#credentials();
    const [killing, printing] = [`NODE_OPTIONS=--import=${PRELOAD}`, `SEALIFT_TEST_KILL_AT=${KILL_AT}`];
    const shown = await machine.run("systemctl", "cat", WATCH);
    const [, start = ""] = /^ExecStart=(.*)$/m.exec(shown.stdout) ?? [];
    machine.write(
      `/etc/systemd/system/${WATCH}.service.d/test.conf`,
      `[Unit]\nStartLimitIntervalSec=0\n[Service]\nRestart=always\nEnvironment=${killing} ${printing} SEALIFT_HOST_ID=edge\nRestartSec=200ms\nExecStart=\nExecStart=${start} --json\nStandardOutput=append:${PRINTED}\n`,
    );
    await this.systemctl("daemon-reload");
    this.#writeMoments([]);
    await machine.run("chown", "sealift-watch:", KILL_AT);
    await this.systemctl("start", WATCH);
  }

  async #allow(by: ApplicationsBy): Promise<void> {
    const { machine } = this;
    if (by === "systemd") {
      const grant = ["systemd", "install", "app", "web", "--listen", `http=127.0.0.1:${PORT}`, "--project-root", ROOT];
      const said = await machine.sealift(...grant, "--json");
      const { next } = JSON.parse(said.split("\n").at(-1)!) as { next: string[] };
      for (const step of next) await machine.run("sh", "-c", step);
    } else {
      await machine.run("useradd", "--system", "app-web");
      // Only the user of `app serve` may ask it: here the watch is root, too.
      await machine.run("chown", "-hR", "root:root", ROOT);
      machine.write(`/etc/systemd/system/${WATCH}.service.d/user.conf`, "[Service]\nUser=root\nGroup=root\n");
      machine.write(
        `${ROOT}/applications.yaml`,
        `supervisor: serve\napplications: { web: { user: app-web, listen: { http: ${PORT} } } }\n`,
      );
      await machine.sealift("systemd", "install", "apps", "--project-root", ROOT);
      await this.systemctl("daemon-reload");
      await this.systemctl("start", "sealift-apps");
    }
  }

  async #credentials(): Promise<void> {
    const { machine } = this;
    const words = ["key", "create", "--name", "blue", "--project", this.#project, "--out", "/root/blue"];
    await machine.sealift(...words, ...this.#admin);
    const { stdout } = await machine.run("cat", "/root/blue/host.env");
    for (const [name, variable] of [
      ["api-key", "SEALIFT_API_KEY"],
      ["deployment-credential", "SEALIFT_DEPLOYMENT_CREDENTIAL"],
    ] as const) {
      const [, secret = ""] = new RegExp(`${variable}=["']?([^"'\n]+)`).exec(stdout) ?? [];
      machine.write(`/etc/credstore/sealift-watch.blue.${name}`, secret, 0o600);
      await machine.run(
        "install",
        "-o",
        "sealift-watch",
        "-m",
        "600",
        `/etc/credstore/sealift-watch.blue.${name}`,
        `${STATE}/${name}`,
      );
    }
    const target = { target: this.#target, project_root: ROOT, signer_public_key: "signer.pub" };
    const content = { hub_url: HUB, host_id: "edge", interval: 1, targets: [target] };
    machine.write("/etc/sealift/watch/blue.yaml", JSON.stringify(content));
  }

  get #target(): string {
    return `project:${this.#project}`;
  }

  async systemctl(...words: string[]): Promise<void> {
    const { code, stderr } = await this.machine.run("systemctl", ...words);
    if (code !== 0) throw new Error(`systemctl ${words.join(" ")}: ${stderr}${await this.machine.log(words.at(-1)!)}`);
  }

  /** Publishes a version. @param body work of its server at each request @param more lines of its app.yaml */
  async publish(version: string, body: string, more = "", files: Record<string, string> = {}): Promise<void> {
    const { machine } = this;
    const plan = `format_version: "1"\nproject_id: ${this.#project}\nversion: ${version}\nsteps: [{ id: web, action: install_app, app: web }]\n`;
    const server = `require("node:http").createServer((q, r) => { ${body} }).listen({ fd: 3 });`;
    const all = { "app.yaml": APP.replace("node", "sealift-node") + more, "server.js": server, ...files };
    for (const [path, text] of Object.entries(all)) machine.write(`/root/source/apps/web/${path}`, text);
    machine.write("/root/source/deployment/install.yaml", plan);
    const words = ["project", "publish", "/root/source", "--project-id", this.#project, "--version", version];
    await machine.sealift(...words, "--signing-key-file", "/root/keys/signer.key", ...this.#admin);
  }

  /** Begins a rollout that a single failing host halts. */
  async roll(version: string): Promise<void> {
    const rules = ["--waves", "100%", "--soak", "0", "--max-failing", "0", "--min-done", "100%"];
    await this.machine.sealift("rollout", "start", this.#target, version, ...rules, ...this.#admin);
  }

  /** Says how the current rollout stands. */
  async rollout(): Promise<{ state: string; halt: unknown }> {
    const { items } = await this.#ask<{ items: { id: string }[] }>(`/devkeys/projects/${this.#project}/rollouts`);
    return this.#ask(`/devkeys/projects/${this.#project}/rollouts/${items[0]!.id}`);
  }

  /** Asks the hub what it has heard of this host. */
  async heard(): Promise<Heard> {
    const hosts = await this.#ask<Record<string, Record<string, unknown>>>(
      `/app/deploy/v1/projects/${this.#project}/hosts`,
    );
    const { running_version: running = null, status = "", health } = hosts["edge"] ?? {};
    return {
      ...{ running: running as string | null, status: status as string },
      isUnhealthy: (health as { state: string } | undefined)?.state === "unhealthy",
    };
  }

  /** Asks the hub, without a program of ours: that is asked often. */
  async #ask<T>(path: string): Promise<T> {
    const words = ["--silent", "--fail", "--header", `X-Api-Key: ${this.#adminKey}`];
    const { stdout } = await this.machine.run("curl", ...words, `${HUB}${path}`);
    return JSON.parse(stdout) as T;
  }

  /** Moments at which the watch, or an agent that is run here, is ended. */
  endAt(...moments: readonly Moment[]): void {
    this.#writeMoments(moments);
  }

  #writeMoments(moments: readonly Moment[]): void {
    writeFileSync(this.machine.path(KILL_AT), JSON.stringify(moments));
  }

  /** Moments that have not come. */
  get moments(): Moment[] {
    return JSON.parse(readFileSync(this.machine.path(KILL_AT), "utf8")) as Moment[];
  }

  /** Returns the events that the watch has printed so far. */
  printed(): Printed[] {
    const lines = readFileSync(this.machine.path(PRINTED), "utf8").split("\n");
    return lines.filter((line) => line.startsWith("{")).map((line) => JSON.parse(line) as Printed);
  }

  /** Returns the last events of the watch's work, one line each. */
  work(): string[] {
    const told = this.printed().filter(({ event }) => !event.startsWith("check."));
    return told.slice(-80).map(({ v: _v, target: _target, ...line }) => JSON.stringify(line).slice(0, 300));
  }

  /** Deploys a version as the watch's user, without the watch; {@link endAt} may end it. */
  async deploy(version: string): Promise<Ended> {
    const words = ["--hub-url", HUB, "--host-id", "edge", "--project-id", this.#project, "--version", version];
    const keys = [
      "--api-key-file",
      `${STATE}/api-key`,
      "--deployment-credential-file",
      `${STATE}/deployment-credential`,
    ];
    return this.#agent("deploy-project", ...words, ...keys, "--signer-public-key", "/etc/sealift/watch/signer.pub");
  }

  /** Goes back as the watch's user; {@link endAt} may end it. */
  rollback(): Promise<Ended> {
    return this.#agent("rollback", this.#target, "--host-id", "edge");
  }

  async #agent(...words: readonly string[]): Promise<Ended> {
    const user = ["setpriv", "--reuid", "sealift-watch", "--regid", "sealift-watch", "--init-groups"];
    const env = ["env", `NODE_OPTIONS=--import=${PRELOAD}`, `SEALIFT_TEST_KILL_AT=${KILL_AT}`, `HOME=${STATE}`];
    const program = ["/usr/lib/sealift-node", "/usr/lib/sealift/dist/bin/sealift.js"];
    return this.machine.run(...user, ...env, ...program, ...words, "--project-root", ROOT, "--json");
  }

  /** Number of processes of the application's user. */
  async processes(): Promise<number> {
    return Number((await this.machine.run("pgrep", "--count", "--uid", "app-web")).stdout);
  }

  /** Asks the application from outside. @returns its answer; nothing where there is none */
  async asked(): Promise<string> {
    return (await this.machine.run("curl", "-s", "--max-time", "5", `http://127.0.0.1:${PORT}/`)).stdout;
  }

  /** Asks the host and its hub which version runs. */
  async said(): Promise<Said> {
    const [own] = await this.#told("status", "--project-root", ROOT);
    const applications = own!["applications"] as { fault: string | null }[];
    return {
      status: {
        running: own!["running_version"] as string | null,
        unhealthy: own!["unhealthy"],
        faults: applications.map(({ fault }) => fault),
      },
      fleet: await this.heard(),
    };
  }

  async #told(...words: string[]): Promise<Record<string, unknown>[]> {
    const said = await this.machine.sealift(...words, "--json");
    return said.split("\n").map((line) => JSON.parse(line) as Record<string, unknown>);
  }

  /** Lists the versions that the host does not take. */
  async quarantine(): Promise<{ version: string; code: string }[]> {
    const layout = layoutOf(this.machine.path(ROOT));
    return readQuarantine(layout, `project-${this.#project}`);
  }
}
