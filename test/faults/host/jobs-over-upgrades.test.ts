// Only in test:all: a job of each minute runs over upgrades, kills and clocks that are set, for a minute or more.
// Holds: over upgrades no run is lost and none is double (lib/releases/job-scheduler.ts, lib/apps/served-jobs.ts)
// In a process of its own: it starts programs.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { chmod, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import t, { type Test } from "tap";
import { rounds } from "../../support/effort.ts";
import { applicationHost, installing } from "../../support/host/application-host.ts";
import { GRANT_USER } from "../../support/host/application-root.ts";
import { sourceOf } from "../../support/host/given-source.ts";
import { SEALIFT } from "../../support/host/served-root.ts";
import { until } from "../../support/until.ts";

const MINUTE = 60_000;
/** Minutes of the clock of `app serve` in one real minute: its job of each minute runs every four seconds. */
const SPEED = 15;
const CLOCK = fileURLToPath(new URL("../../support/host/fast-clock.ts", import.meta.url));

/** Says which time it was begun for, as the record on the disk has it before it starts. */
const NIGHT = (said: string, record: string): string => `
const fs = require("node:fs");
const { due } = JSON.parse(fs.readFileSync(${JSON.stringify(record)}, "utf8")).run;
fs.appendFileSync(${JSON.stringify(said)}, due + " " + fs.readFileSync("version", "utf8") + "\\n");
setTimeout(() => {}, 200);
`;

/** Host with an `app serve` in a process of its own, whose clock is ours. */
class Host {
  readonly h;
  readonly said: string;
  readonly #file: string;
  readonly #from = Date.now();
  #offset = 0;
  #child: ReturnType<typeof spawn> | undefined;
  /** Spans of the clock without an `app serve`, and those that were jumped over. */
  readonly away: [from: number, to: number][] = [];
  readonly jumped: [from: number, to: number][] = [];
  /** Times that were told to be left out, or whose run was told to have failed. */
  readonly told = new Set<string>();
  readonly faults = new Set<string>();

  constructor(h: Awaited<ReturnType<typeof applicationHost>>) {
    this.h = h;
    this.said = join(h.root, "said", "nights");
    this.#file = join(h.root, "clock");
    writeFileSync(this.#file, "0");
  }

  get now(): number {
    return this.#from + Math.round((Date.now() - this.#from) * SPEED) + this.#offset;
  }

  async begin(): Promise<void> {
    const words = ["--import", CLOCK, SEALIFT, "app", "serve", "--json", "--project-root", this.h.root];
    const env = {
      ...process.env,
      FAST_CLOCK_FROM: String(this.#from),
      FAST_CLOCK_SPEED: String(SPEED),
      FAST_CLOCK_FILE: this.#file,
    };
    const child = spawn(process.execPath, words, { env, stdio: ["ignore", "pipe", "inherit"] });
    this.#child = child;
    let text = "";
    let isReady = false;
    child.stdout.on("data", (chunk: Buffer) => {
      const lines = (text += String(chunk)).split("\n");
      text = lines.pop()!;
      for (const line of lines) {
        const event = JSON.parse(line) as { event: string; due?: string; message?: string | null };
        isReady ||= event.event === "ready";
        if (event.event === "job.skipped") this.told.add(event.due!);
        if (event.event === "job.ended" && event.message !== null) this.#tells();
      }
    });
    await until(() => isReady || child.exitCode !== null);
  }

  async end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#child!;
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, "exit");
    child.kill(signal);
    await ended;
  }

  /** Ends it, and starts it again, as a service manager does. */
  async again(signal: NodeJS.Signals): Promise<void> {
    const from = this.now;
    await this.end(signal);
    this.#tells();
    await this.begin();
    this.away.push([from, this.now]);
  }

  /** Notes a run that was started and has not ended well: that is told, and it is not begun twice. */
  #tells(): void {
    const { run } = this.record() ?? {};
    if (run?.started !== true || (run.ended !== null && run.fault === null)) return;
    this.told.add(run.due);
    if (run.fault !== null) this.faults.add(run.fault);
  }

  /** Sets the clock. @param ms forward, or back where it is negative */
  set(ms: number): void {
    const from = this.now;
    this.#offset += ms;
    writeFileSync(this.#file, String(this.#offset));
    if (ms > 0) this.jumped.push([from, this.now]);
  }

  record(): { run: { due: string; started: boolean; ended: string | null; fault: string | null } | null } | undefined {
    try {
      return JSON.parse(readFileSync(join(this.h.layout.sealift, "state/jobs/night.json"), "utf8")) as ReturnType<
        Host["record"]
      >;
    } catch {
      return undefined;
    }
  }

  runs = (): string[] => (existsSync(this.said) ? readFileSync(this.said, "utf8").trim().split("\n") : []);
  dues = (): number[] => this.runs().map((line) => Date.parse(line.split(" ")[0]!));

  version(name: string) {
    return sourceOf(name, installing("web", "night"), {
      files: {
        "apps/web/app.yaml": "command: [node, web.js]\nhealth: { stays_up: 1s }\nstop: { within: 1s }\n",
        "apps/web/web.js": "setInterval(() => {}, 1000);",
        "apps/web/version": name,
        "apps/web/night.js": NIGHT(this.said, join(this.h.layout.sealift, "state/jobs/night.json")),
        "apps/night/app.yaml": 'of: web\ncommand: [node, night.js]\nschedule: "* * * * *"\nstop: { within: 2s }\n',
      },
    });
  }

  deploy(name: string, signal?: AbortSignal) {
    return this.h.run(this.version(name), { supervisor: { name: "none" }, keepReleases: 2, ...(signal && { signal }) });
  }
}

async function host(t: Test): Promise<Host> {
  const grants = { supervisor: "serve", applications: { web: GRANT_USER, night: { of: "web" } } };
  const h = await applicationHost(t, JSON.stringify(grants));
  await chmod(h.root, 0o755);
  await mkdir(join(h.root, "said"));
  await chmod(join(h.root, "said"), 0o777);
  const made = new Host(h);
  await made.begin();
  t.teardown(() => made.end("SIGTERM"));
  return made;
}

t.test(
  "over upgrades, kills and clocks that are set no run is lost and none is double",
  { timeout: 900_000 },
  async (t) => {
    const one = await host(t);
    t.match(await one.deploy("1.0.0"), { outcome: "deployed" });
    await until(() => one.runs().length > 0, 30_000);
    const upgrades = rounds(8, 50);
    let deployed = 0;
    // Those in which nobody interferes; the others go back where the machine is slow enough.
    let calm = 0;
    for (let n = 1; n <= upgrades; n++) {
      const isAborted = n % 9 === 4;
      const going = one.deploy(`1.${n}.0`, isAborted ? AbortSignal.timeout(200 + 100 * (n % 5)) : undefined);
      if (n % 2 === 0 && !isAborted) calm++;
      // While it is under way or right after it, and in the moment in which a job begins.
      if (n % 2 === 1) {
        await sleep(n % 4 === 1 ? (MINUTE - (one.now % MINUTE)) / SPEED + 40 * (n % 10) : 200 * (n % 8));
        await one.again(n % 3 === 0 ? "SIGTERM" : "SIGKILL");
      }
      const { outcome, error } = await going;
      if (outcome === "deployed") deployed++;
      else
        t.match(error?.code, /^(?:interrupted|rolled_back|not_back|supervisor_unavailable|unhealthy)$/, `upgrade ${n}`);
      if (n % 4 === 2) {
        const before = one.runs().length;
        one.set(n % 8 === 2 ? 47 * MINUTE : -2 * MINUTE);
        // Whoever jumps over times runs once for them; whoever is set back waits until they are past.
        await until(() => one.runs().length > before, 60_000);
      }
    }
    // The last time that has passed is run, too.
    const last = one.runs().length;
    await until(() => one.runs().length > last, 60_000);
    await one.end("SIGTERM");
    const dues = one.dues();
    t.ok(deployed >= calm, `${deployed} of ${upgrades} upgrades, ${calm} of them calm`);
    t.ok(new Set(one.runs().map((line) => line.split(" ")[1])).size >= upgrades / 4, "from many releases");
    const double = dues.filter((due, at) => dues.indexOf(due) !== at);
    t.strictSame(double.map(iso), [], "0 double");
    const within = (spans: readonly [number, number][], from: number, to: number): boolean =>
      spans.some(([begin, end]) => begin <= to && end >= from);
    const lost: string[] = [];
    for (let time = dues[0]!; time <= Math.max(...dues); time += MINUTE) {
      if (dues.includes(time) || one.told.has(iso(time))) continue;
      // What was missed together is one run, for the last of these times: while nobody was there or a switch was waited
      // for, and what the clock was set over.
      const next = dues.filter((due) => due > time).toSorted((a, b) => a - b)[0]!;
      const over = one.jumped.filter(([from, to]) => from <= next && to >= time);
      const skipped = over.reduce((sum, [from, to]) => sum + to - Math.max(from, time), 0);
      const isTogether =
        next - time - skipped <= 3 * MINUTE && (over.length > 0 || within(one.away, time - MINUTE, next));
      if (!isTogether) lost.push(iso(time));
    }
    t.strictSame(lost, [], "0 lost");
    const strange = [...one.faults].filter(
      (fault) => !/app serve` was killed|ended by SIG|exit code 1(?:37|43)/.test(fault),
    );
    t.strictSame(strange, [], "nothing but an end of app serve ends a run");
    if (lost.length > 0)
      t.comment(
        JSON.stringify({
          dues: dues.map(iso),
          away: one.away.map((s) => s.map(iso)),
          jumped: one.jumped.map((s) => s.map(iso)),
          told: [...one.told],
        }),
      );
    t.comment(`${dues.length} runs over ${upgrades} upgrades, ${one.away.length} ends and ${one.jumped.length} jumps`);
  },
);

const iso = (ms: number): string => new Date(ms).toISOString();
