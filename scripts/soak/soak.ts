import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { readReports } from "../../lib/agent/reports/report.ts";
import { requestAction } from "../../lib/agent/watch/operator-requests.ts";
import { DeployClient } from "../../lib/client/deploy-client.ts";
import { targetName } from "../../lib/contract/target.ts";
import { layoutOf } from "../../lib/releases/layout.ts";
import { Random } from "../fuzz/random.ts";
import type { Service } from "./service.ts";
import { FILES, makeWorld, type SoakWorld, writeVersion } from "./world.ts";

export interface SoakOptions {
  folder: string;
  durationMs: number;
  seed: number;
}

export interface SoakReport {
  lines: string[];
  /** Sentence → how often. */
  faults: Map<string, number>;
}

/** Factor by which a soak may exceed its duration until a version is published. */
const MAX_STRETCH = 10;
/** Time limit for the last version to run everywhere when nothing is killed any more, in milliseconds. */
const LAST_LIMIT_MS = 300_000;
/** Time limit for a process to end at the end, when what started it was killed, in milliseconds. */
const LEFT_LIMIT_MS = 20_000;
/** Seconds after which a person retries a watch that does not run the last version. */
const RETRY_SECONDS = 15;
/** Most resident memory, in MB, by which a service may grow from the first half to the second. */
const GROWTH_MB = 40;
const GROWTH_DESCRIPTORS = 20;
/** Shortest soak that says something about growth, in milliseconds: before, its programs are still warming up. */
const LEAST_FOR_GROWTH_MS = 120_000;

class Soak {
  readonly faults = new Map<string, number>();
  readonly #world: SoakWorld;
  readonly #random: Random;
  readonly #began = Date.now();
  readonly #durationMs: number;
  readonly #services: Service[];
  readonly #publisher: Service;
  readonly #agent: Service;
  /** Version that was tried last: the hub may have it although its publisher was killed. */
  #tried = "";
  /** Versions that a publisher has reported as published. */
  readonly #published: string[] = [];
  #looks = 0;
  /** Times that the watch was told, at the end, to retry the last version. */
  #retries = 0;

  constructor(world: SoakWorld, { durationMs, seed }: SoakOptions) {
    this.#world = world;
    this.#random = new Random(seed);
    this.#durationMs = durationMs;
    this.#services = [world.hub, world.watch, world.runtime];
    this.#publisher = world.publisher;
    this.#agent = world.agent;
  }

  /** Whether time is over. A slow machine gets more, until a version was published: a soak without one says nothing. */
  get #over(): boolean {
    const tookMs = Date.now() - this.#began;
    return tookMs > this.#durationMs && (this.#published.length > 0 || tookMs > MAX_STRETCH * this.#durationMs);
  }

  fault(what: string): void {
    this.faults.set(what, (this.faults.get(what) ?? 0) + 1);
  }

  async run(): Promise<string[]> {
    for (const service of this.#services) if (!service.running) service.start();
    await Promise.all([this.#publish(), this.#deploy(), this.#kill(), this.#watchOver()]);
    await this.#end();
    return this.#report();
  }

  /** Publishes versions in sequence; an interrupted one is published again under its own name, or exists already. */
  async #publish(): Promise<void> {
    for (let count = 1; !this.#over; count++) {
      const version = `1.${count}.0`;
      await writeVersion(this.#world.source, this.#world.projectId, version);
      this.#world.setVersion(version);
      this.#tried = version;
      for (let code: number | null = null; code !== 0 && !this.#over;) {
        code = await this.#publisher.run();
        if (code === 0) this.#published.push(version);
        else await sleep(200);
      }
      await sleep(this.#random.below(1_500));
    }
  }

  async #deploy(): Promise<void> {
    while (!this.#over) {
      await this.#agent.run();
      await this.#look(this.#world.agentRoot);
      await sleep(this.#random.below(1_000));
    }
  }

  async #kill(): Promise<void> {
    const all = [...this.#services, this.#agent, this.#publisher];
    while (Date.now() - this.#began < this.#durationMs) {
      await sleep(500 + this.#random.below(3_000));
      const victim = this.#random.pick(all);
      await victim.kill();
      if (this.#services.includes(victim)) victim.start();
    }
  }

  async #watchOver(): Promise<void> {
    while (!this.#over) {
      const part = Date.now() - this.#began > this.#durationMs / 2 ? 1 : 0;
      for (const service of [...this.#services, this.#agent, this.#publisher]) service.measure(part);
      for (const service of this.#services)
        if (!service.running) {
          await sleep(300);
          if (service.running || this.#over) continue;
          this.fault(`${service.name} has ended by itself`);
          service.start();
        }
      await this.#look(this.#world.watchRoot);
      await sleep(250);
    }
  }

  /** Checks the files of the plugin: they are all of one version, whatever was killed. */
  async #look(root: string): Promise<void> {
    const release = await readdir(join(root, "plugins", "shop")).catch(() => undefined);
    if (release === undefined) return;
    this.#looks++;
    for (let attempt = 0; ; attempt++) {
      const texts = await Promise.all(
        FILES.map((file) => readFile(join(root, "plugins", "shop", file), "utf8").catch(() => "missing")),
      );
      const versions = new Set(texts.map((text) => /1\.\d+\.0/.exec(text)?.[0] ?? "missing"));
      if (versions.size === 1 && !versions.has("missing")) return;
      // A switch between two reads shows both versions, once.
      if (attempt === 2)
        return this.fault(`the release of ${root === this.#world.watchRoot ? "the watch" : "the agent"} is mixed`);
    }
  }

  async #end(): Promise<void> {
    const { hub, watch, runtime, agentRoot, watchRoot } = this.#world;
    if (!hub.running) hub.start();
    // A publisher that was killed may have completed: the hub finally tells what the latest version is.
    for (let tries = 0; (await this.#agent.run()) !== 0 || !(await this.#runsLatest(agentRoot)); tries++) {
      if (tries === 20) return this.fault("the agent does not deploy when nothing is killed any more");
      await sleep(500);
    }
    if (!(await this.#watchCatchesUp()))
      this.fault(
        `the last version does not run at the end, where the watch deploys: ${await this.#reasonOf(watchRoot)}`,
      );
    await this.#expectPublished();
    for (const service of [watch, runtime, hub])
      if ((await service.stop()) !== 0) this.fault(`${service.name} did not end well`);
    for (const root of [agentRoot, watchRoot]) await this.#expectNothingLeft(root);
  }

  /**
   * Makes the watch run the last version, like a person who retries. A watch that was killed while fetching has
   * quarantined that version, and one whose attempts fail, on a busy machine even this one, pauses for minutes.
   */
  async #watchCatchesUp(): Promise<boolean> {
    const { watchRoot, projectId } = this.#world;
    const end = performance.now() + LAST_LIMIT_MS;
    for (let seconds = 0; !(await this.#runsLatest(watchRoot)); seconds++) {
      if (performance.now() > end) return false;
      if (seconds % RETRY_SECONDS === 0) {
        this.#retries++;
        await requestAction(layoutOf(watchRoot), targetName({ kind: "project", slug: projectId }), "retry");
      }
      await sleep(1_000);
    }
    return true;
  }

  /** Returns the status of the last report of a project root, and its code. */
  async #reasonOf(root: string): Promise<string> {
    const [last] = await readReports(layoutOf(root), targetName({ kind: "project", slug: this.#world.projectId }), 1);
    return last === undefined ? "no report" : `${last.status} ${last.code ?? ""}`;
  }

  get #client(): DeployClient {
    return new DeployClient(this.#world.projectId, { ...this.#world.connection, timeoutMs: 30_000 });
  }

  async #runsLatest(root: string): Promise<boolean> {
    const latest = await this.#latest();
    return (await readFile(join(root, "plugins", "shop", "version"), "utf8").catch(() => "")) === latest;
  }

  async #latest(): Promise<string> {
    const latest = await this.#client.latestVersion();
    if (latest !== this.#tried && latest !== this.#published.at(-1))
      this.fault("the hub's latest version is not the one that was published last");
    return latest;
  }

  async #expectPublished(): Promise<void> {
    const client = this.#client;
    for (const version of this.#published) {
      const location = await client.locate(version).catch(() => undefined);
      if (location === undefined) this.fault("an acknowledged publication is lost");
      else {
        const answer = await fetch(location.download_url);
        const { byteLength } = await answer.arrayBuffer();
        if (!answer.ok || byteLength !== location.size_bytes) this.fault("an acknowledged artifact cannot be read");
      }
    }
  }

  async #expectNothingLeft(root: string): Promise<void> {
    const names = await readdir(join(root, ".sealift"), { recursive: true });
    for (const name of names)
      if (/\.staging-|\.link-|\.seed-|\.tmp$|journal\.json$|lock\.holder$/.test(name))
        this.fault(`${name.replace(/[0-9a-f]{8,}/g, "*")} is left behind`);
    const kept = names.filter((name) => /^releases\/[^/]+\/[^/]+$/.test(name)).length;
    if (kept > 3) this.fault(`${kept} releases are kept instead of 3`);
  }

  #report(): string[] {
    const lines = [
      `${this.#published.length} versions published, releases looked at ${this.#looks} times, the watch asked ${this.#retries} times to try again`,
    ];
    for (const service of [...this.#services, this.#agent, this.#publisher]) {
      const [early, late] = service.peaks;
      const peak = ({ residentMb, descriptors }: { residentMb: number; descriptors: number }): string =>
        `${residentMb} MB, ${descriptors} descriptors`;
      lines.push(
        `${service.name}: ${service.starts} starts, ${service.kills} kills` +
          (early && late ? `; at most ${peak(early)} in the first half, ${peak(late)} in the second` : ""),
      );
      if (early === undefined || late === undefined || this.#durationMs < LEAST_FOR_GROWTH_MS) continue;
      if (late.residentMb > early.residentMb + GROWTH_MB) this.fault(`the memory of ${service.name} grows`);
      if (late.descriptors > early.descriptors + GROWTH_DESCRIPTORS) this.fault(`${service.name} leaks descriptors`);
    }
    return lines;
  }
}

/** Returns the processes that still run after some milliseconds, which those killed last may need to end. */
async function leftAfter(limitMs: number, world: SoakWorld): Promise<string[]> {
  const end = performance.now() + limitMs;
  for (;;) {
    const left = await world.processes();
    if (left.length === 0 || performance.now() > end) return left;
    await sleep(100);
  }
}

/** Lets everything work and die for a while, and checks what is left. */
export async function soak(options: SoakOptions): Promise<SoakReport> {
  const world = await makeWorld(options.folder);
  const run = new Soak(world, options);
  try {
    const lines = await run.run();
    const left = await leftAfter(LEFT_LIMIT_MS, world);
    if (left.length > 0) run.fault(`processes are left: ${left.join(", ")}`);
    return { lines, faults: run.faults };
  } finally {
    for (const service of [world.hub, world.watch, world.runtime, world.agent, world.publisher]) await service.kill();
  }
}
