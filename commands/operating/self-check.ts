import { type ChildProcess, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Command } from "clipanion";
import { EXIT } from "../../lib/contract/codes.ts";
import { counted } from "../../lib/support/counted.ts";
import { makeFolder } from "../../lib/support/files.ts";
import { ownProcess } from "../../lib/support/one-file.ts";
import { packageFolder } from "../../lib/support/package-folder.ts";
import { within } from "../../lib/support/within.ts";
import { interruptible, SealiftCommand } from "../shell/base.ts";

/** List of the files inside the single executable, with digests (`scripts/build/one-file.ts`). */
const FILES = "files.json";
const STEP_LIMIT_MS = 300_000;
const END_LIMIT_MS = 10_000;
const READY = /http:\/\/[\d.:]+/;

/** Options of the host: its project root, its keys, and its trusted signer. */
const HOST = [
  ...["--project-root", "host", "--signer-public-key", "keys/signer.pub"],
  ...["--deployment-credential-file", "host-files/host.env", "--api-key-file", "host-files/host.env"],
];

type Step = readonly [name: string, run: () => Promise<string>];

export class SelfCheck extends SealiftCommand {
  static override paths = [["self-check"]];
  static override usage = Command.Usage({
    category: "Operating",
    description: "Prove that this installation works",
    details: `
      Compares the files of the single executable with their digests. Then starts each part in a temporary folder: a
      sandboxed plugin, a hub, a publication, its deployment and a watch. Asks no other machine and leaves nothing
      behind. Ends with 1 at the first part that does not work.
    `,
    examples: [["After an installation", "$0 self-check"]],
  });

  override async run(): Promise<number> {
    using interrupt = interruptible();
    const folder = await mkdtemp(join(tmpdir(), "sealift-self-check-"));
    const tour = new Tour(folder, interrupt.signal);
    try {
      for (const [check, run] of [["files", filesInside] as const, ...tour.steps]) {
        let message = "";
        let status = "ok";
        try {
          message = await run();
        } catch (error) {
          interrupt.signal.throwIfAborted();
          status = "failed";
          message = error instanceof Error ? error.message : String(error);
        }
        if (this.json) this.print.event({ event: "finding", check, status, message });
        else this.print.line(`${status === "ok" ? "ok    " : "FAILED"}  ${check}: ${message}`);
        if (status === "ok") continue;
        if (this.json) this.print.event({ event: "result", status, exit_code: EXIT.failed });
        return EXIT.failed;
      }
      return this.done({});
    } finally {
      await tour.end();
      await rm(folder, { recursive: true, force: true });
    }
  }
}

async function filesInside(): Promise<string> {
  const list = join(packageFolder(), FILES);
  if (!existsSync(list)) return "this is not a single executable, and has no list of its files";
  const digests = Object.entries(JSON.parse(await readFile(list, "utf8")) as Record<string, string>);
  for (const [path, digest] of digests) {
    const found = createHash("sha256").update(await readFile(join(packageFolder(), path)));
    if (found.digest("hex") !== digest) throw new Error(`${path} is not as it was built.`);
  }
  return `${counted(digests.length, "file")} ${digests.length === 1 ? "is as it was" : "are as they were"} built`;
}

/** Publishes a source tree and deploys it with the programs of this installation. */
class Tour {
  readonly #folder: string;
  readonly #signal: AbortSignal;
  readonly #env: NodeJS.ProcessEnv;
  #hub: ChildProcess | undefined;
  #project = "";

  constructor(folder: string, signal: AbortSignal) {
    this.#folder = folder;
    this.#signal = signal;
    const own = Object.entries(process.env).filter(([name]) => !name.startsWith("SEALIFT_"));
    this.#env = { ...Object.fromEntries(own), HOME: folder, XDG_CONFIG_HOME: join(folder, "config") };
  }

  readonly steps: readonly Step[] = [
    [
      "sandbox",
      async () => {
        await this.#run("plugin", "init", "greeter", "--directory", "source/plugins/greeter");
        const printed = await this.#run("plugin", "test", "source/plugins/greeter", "--json");
        const { outcomes } = resultOf(printed) as { outcomes: unknown[] };
        return `a sandboxed plugin answered ${outcomes.length} calls`;
      },
    ],
    [
      "hub",
      async () => {
        this.#env["SEALIFT_HUB_URL"] = await this.#startHub();
        this.#env["SEALIFT_API_KEY_FILE"] = join(this.#folder, "hub/admin.key");
        const { project } = resultOf(await this.#run("project", "create", "Self-check", "--json")) as {
          project: { id: string };
        };
        this.#project = project.id;
        return "it keeps a project";
      },
    ],
    [
      "publish",
      async () => {
        await this.#run("signer", "create", "--out", "keys");
        await this.#publish("1.0.0");
        return "a tree was sealed, signed and uploaded";
      },
    ],
    [
      "deploy",
      async () => {
        await this.#run("key", "create", "--name", "host", "--project", this.#project, "--out", "host-files");
        await this.#run("project", "deploy", "--project-id", this.#project, ...HOST);
        await this.#expectRunning("1.0.0");
        return "it was fetched, verified and installed";
      },
    ],
    [
      "watch",
      async () => {
        await this.#publish("1.1.0");
        await this.#run("watch", `project:${this.#project}`, "--once", ...HOST);
        await this.#expectRunning("1.1.0");
        return "it took the next version";
      },
    ],
  ];

  async #publish(version: string): Promise<void> {
    const plan = join(this.#folder, "source/deployment/install.yaml");
    await makeFolder(join(plan, ".."));
    const step = "{ id: greeter, action: install_plugin, plugin: greeter }";
    await writeFile(plan, `format_version: "1"\nproject_id: ${this.#project}\nversion: ${version}\nsteps: [${step}]\n`);
    const key = ["--signing-key-file", "keys/signer.key"];
    await this.#run("project", "publish", "source", "--project-id", this.#project, "--version", version, ...key);
  }

  async #expectRunning(version: string): Promise<void> {
    const printed = await this.#run("status", "--project-root", "host", "--fields", "running_version");
    const { running_version: running } = JSON.parse(printed) as { running_version: string | null };
    if (running !== version) throw new Error(`The host runs ${running} and not ${version}.`);
  }

  /** Ends the hub. */
  async end(): Promise<void> {
    const hub = this.#hub;
    if (hub?.exitCode !== null || hub.signalCode !== null) return;
    const limit = setTimeout(() => hub.kill("SIGKILL"), END_LIMIT_MS);
    const ended = once(hub, "exit");
    hub.kill("SIGTERM");
    await ended;
    clearTimeout(limit);
  }

  #command(words: readonly string[]): [string, ...string[]] {
    const { execArgv, script } = ownProcess(process.execArgv, process.argv[1]!);
    return [process.execPath, ...execArgv, script, ...words];
  }

  /** Runs a command. @returns what it prints @throws Error with its last words when it fails or takes five minutes */
  async #run(...words: string[]): Promise<string> {
    const { describeFailure, runProgram } = await import("../../lib/agent/base/child-program.ts");
    const program = { command: this.#command(words), cwd: this.#folder, env: this.#env, timeoutMs: STEP_LIMIT_MS };
    const result = await runProgram({ ...program, signal: this.#signal });
    if (result.code !== 0) throw new Error(`${words.slice(0, 2).join(" ")}: ${describeFailure(result, STEP_LIMIT_MS)}`);
    return result.stdout;
  }

  /** Starts a hub. @returns its URL @throws Error when it ends, or is not ready within five minutes */
  #startHub(): Promise<string> {
    const words = ["hub", "serve", "--data-dir", "hub", "--listen", "127.0.0.1:0", "--log-level", "error"];
    const [program, ...args] = this.#command(words);
    const options = { cwd: this.#folder, env: this.#env, signal: this.#signal };
    const hub = spawn(program, args, { ...options, stdio: ["ignore", "pipe", "pipe"] });
    this.#hub = hub;
    const ready = new Promise<string>((resolve, reject) => {
      let printed = "";
      const take = (text: string): void => {
        printed += text;
        const ready = READY.exec(printed);
        if (ready !== null) resolve(ready[0]);
      };
      for (const stream of [hub.stdout, hub.stderr]) stream.setEncoding("utf8").on("data", take);
      hub.on("error", reject).on("exit", (code) => reject(new Error(`The hub ended with ${String(code)}: ${printed}`)));
    });
    return within(ready, STEP_LIMIT_MS, () => new Error("The hub was not ready within five minutes."));
  }
}

/** Returns the last event of a command with `--json`. */
const resultOf = (printed: string): unknown => JSON.parse(printed.trim().split("\n").at(-1)!);
