import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { zipFolder } from "../quickstart/zip-folder.ts";
import { fillFleet, SLUG } from "./fleet.ts";
import { largeFile, projectTree } from "./material.ts";
import { bin, peakMbOf, program } from "./measure.ts";
import { openStage, publish, type Stage } from "./project.ts";
import { atMost, type Row } from "./row.ts";
import { openHub } from "./stage.ts";

const TARGETS = 200;
const IDLE_SECONDS = 30;
const LIMIT_MS = 120_000;

/** deploy-watch in a pseudo-terminal, which `script` of util-linux makes. */
class Dashboard implements AsyncDisposable {
  readonly #child: ChildProcess;
  #screen = "";

  constructor(args: readonly string[], env: Record<string, string>) {
    const words = [process.execPath, bin("watch"), ...args].map((word) => `'${word}'`).join(" ");
    this.#child = spawn("script", ["-qefc", `stty cols 120 rows 40; exec ${words}`, "/dev/null"], {
      env: { PATH: process.env.PATH, TERM: "xterm-256color", ...env },
      stdio: ["pipe", "pipe", "inherit"],
    });
    this.#child.stdout!.on(
      "data",
      (chunk: Buffer) => (this.#screen = (this.#screen + chunk.toString()).slice(-200_000)),
    );
  }

  press(keys: string): void {
    this.#child.stdin!.write(keys);
  }

  /** Waits until something is drawn that was not there before. @returns milliseconds */
  async draws(text: string): Promise<number> {
    const started = performance.now();
    while (!this.#screen.includes(text)) {
      if (performance.now() - started > LIMIT_MS) throw new Error(`the dashboard never drew ${text}`);
      await sleep(1);
    }
    return performance.now() - started;
  }

  forget(): void {
    this.#screen = "";
  }

  /** The program's own process, below that of `script`. */
  pid(): number {
    const children = readFileSync(`/proc/${this.#child.pid}/task/${this.#child.pid}/children`, "utf8");
    return Number(children.trim().split(" ")[0]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const exited = once(this.#child, "exit");
    this.press("\u0003");
    await exited;
  }
}

/** Measures the dashboard: its cost for a deployment, the speed of keys meanwhile, and its cost at rest. */
export async function dashboardRows(folder: string, runs: number): Promise<Row[]> {
  return [...(await deploymentRows(join(folder, "deploying"), runs)), ...(await idleRows(join(folder, "idle")))];
}

async function deploymentRows(folder: string, runs: number): Promise<Row[]> {
  await using stage = await openStage(folder);
  const source = join(folder, "source");
  largeFile(join(await projectTree(source, stage.projectId), "cargo.bin"), 1024);
  await publish(stage, source, "1.0.0");
  const plain: number[] = [];
  const shown: number[] = [];
  const keys: number[] = [];
  for (let run = 0; run < runs; run++) {
    plain.push(await watched(stage, false, async () => {}));
    shown.push(await watched(stage, true, async () => {}));
    await watched(stage, true, async (dashboard) => {
      await dashboard.draws("unpack");
      for (let press = 0; press < 5; press++) {
        await sleep(150);
        dashboard.forget();
        dashboard.press(press % 2 === 0 ? "?" : "x");
        keys.push(await dashboard.draws(press % 2 === 0 ? "Any key" : "Targets"));
      }
    });
  }
  const [without, with_] = [Math.min(...plain), Math.min(...shown)];
  const slowest = Math.max(...keys);
  return [
    atMost(
      "a deployment of 1 GiB that is looked at",
      "the same without dashboard",
      with_ / without,
      1.05,
      `${with_.toFixed(2)} s against ${without.toFixed(2)} s`,
    ),
    atMost("a key press during a deployment of 1 GiB, ms", "100 ms", slowest, 100, `slowest of ${keys.length}`),
  ];
}

/** One deployment by deploy-watch into a fresh project root. @returns its seconds, as its own report tells them */
async function watched(
  stage: Stage,
  shown: boolean,
  meanwhile: (dashboard: Dashboard) => Promise<void>,
): Promise<number> {
  const root = join(stage.folder, "host");
  rmSync(root, { recursive: true, force: true });
  const args = [
    `project:${stage.projectId}`,
    ...["--signer-public-key", join(stage.folder, "keys", "signer.pub"), "--project-root", root, "--interval", "1h"],
    ...(shown ? [] : ["--no-tui"]),
  ];
  await using dashboard = new Dashboard(args, stage.host);
  await meanwhile(dashboard);
  const reports = join(root, ".sealift", "reports", `project-${stage.projectId}`);
  for (let waited = 0; waited < LIMIT_MS; waited += 20) {
    const [name] = listed(reports);
    if (name !== undefined) {
      const report = JSON.parse(readFileSync(join(reports, name), "utf8")) as Record<string, string>;
      if (report["status"] !== "success") throw new Error(`the deployment failed: ${report["error_message"]}`);
      return (Date.parse(report["completed_at"]!) - Date.parse(report["started_at"]!)) / 1000;
    }
    await sleep(20);
  }
  throw new Error("the deployment never ended");
}

function listed(folder: string): string[] {
  try {
    return readdirSync(folder).filter((name) => name.endsWith(".json") && !name.startsWith("."));
  } catch {
    return [];
  }
}

/** Many targets and a large fleet on the screen, and nothing that changes. */
async function idleRows(folder: string): Promise<Row[]> {
  await using hub = await openHub(folder);
  const developer = { ...hub.admin, SEALIFT_SIGNING_SECRET: "a signing secret for measuring" };
  await program("sealift", ["projects", "create", "Cargo", "--kind", "plugin", "--slug", SLUG], hub.admin);
  await fillFleet(hub, folder, 100_000);
  const plugin = join(folder, "plugin");
  mkdirSync(plugin);
  writeFileSync(join(plugin, "plugin.yaml"), "name: cargo\nversion: 1.4.0\n");
  await zipFolder(plugin, "cargo-1.4.0", join(folder, "cargo.zip"));
  const release = ["--version", "1.4.0", "--archive", join(folder, "cargo.zip")];
  await program("sealift", ["marketplace", "publish", SLUG, ...release], developer);
  await program("sealift", ["plan", "init", SLUG, "--out", join(folder, "install.yaml")]);
  writeFileSync(join(folder, "secret"), developer.SEALIFT_SIGNING_SECRET);
  writeFileSync(join(folder, "key"), developer.SEALIFT_API_KEY);
  const entries = Array.from(
    { length: TARGETS },
    (_, index) => `  - {target: "plugin:${SLUG}", project_root: roots/${index}}`,
  );
  const config = join(folder, "watch.yaml");
  writeFileSync(
    config,
    `hub_url: ${hub.url}\napi_key_file: key\nsigning_secret_file: secret\ninstall_plan: install.yaml\nhost_id: host-0000000\ntargets:\n${entries.join("\n")}\n`,
  );
  await program("sealift", ["watch", "--config", config, "--once"]);
  await using dashboard = new Dashboard(["--config", config], {});
  await dashboard.draws("current");
  dashboard.press("2");
  await dashboard.draws("100,000 host");
  await sleep(10_000);
  const pid = dashboard.pid();
  const before = ticksOf(pid);
  await sleep(IDLE_SECONDS * 1000);
  const percent = ((ticksOf(pid) - before) / 100 / IDLE_SECONDS) * 100;
  const what = `the dashboard at rest, ${TARGETS} targets, 100,000 hosts`;
  return [
    atMost(`${what}: % of a core`, "5 %", percent, 5, `over ${IDLE_SECONDS} s`),
    atMost(`${what}: peak memory`, "200 MB", peakMbOf(pid), 200, "MB, from its start"),
  ];
}

/** Hundredths of a second of processor time that a process has used. */
function ticksOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]!.split(" ");
  return Number(fields[11]) + Number(fields[12]);
}
