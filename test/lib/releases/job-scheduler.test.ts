// Holds: each time of a job is run once, whatever is killed and however clocks are set (lib/releases/job-scheduler.ts,
// lib/releases/due.ts)
import t, { type Test } from "tap";
import { dueAt } from "../../../lib/releases/due.ts";
import {
  type Job,
  type JobEvent,
  type JobLauncher,
  JobScheduler,
  type Outcome,
} from "../../../lib/releases/job-scheduler.ts";
import { readJob, releasesOfJobs } from "../../../lib/releases/jobs.ts";
import { layoutOf } from "../../../lib/releases/layout.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const at = (text: string): number => Date.parse(`2026-${text}Z`);

/** A host with one job: its clock, its scheduler, and what it has run. */
class Host implements JobLauncher {
  now = at("06-01T00:00:30");
  /** Due times of the runs whose program began, as the record had them. */
  readonly ran: string[] = [];
  /** Times at which they began. */
  readonly begun: number[] = [];
  readonly events: JobEvent[] = [];
  /** Name of the latest run, as a launcher that outlives its scheduler tells it. */
  name = 0;
  living: { name: number; due: string } | undefined;
  /** Names of runs that went wrong. */
  fault: string | null = null;
  killAt: "before" | "started" | "after" | undefined;
  switching = false;
  readonly layout;
  jobs: Job[];
  #scheduler: JobScheduler | undefined;
  #killed = Promise.withResolvers<void>();

  constructor(t: Test, app: object) {
    this.layout = layoutOf(temporaryFolder(t));
    const stop = { signal: "SIGTERM", within: 20 };
    const made = { stop, ...app } as unknown as Job["app"];
    this.jobs = [{ id: "night", app: made, since: 0, target: "project-p", release: "r1" }];
  }

  last = async (): Promise<string> => String(this.name);
  afterBoot = (): Outcome => ({ fault: "the machine restarted meanwhile" });

  async start(job: Job, started: () => Promise<void>): Promise<void> {
    if (this.killAt === "before") return this.#die();
    const record = await readJob(this.layout, job.id);
    this.name++;
    this.living = { name: this.name, due: record!.run!.due };
    this.ran.push(this.living.due);
    this.begun.push(this.now);
    if (this.killAt === "started") return this.#die();
    await started();
    if (this.killAt === "after") return this.#die();
  }

  async look(_id: string, run: { before: string }): Promise<Outcome> {
    if (String(this.name) === run.before) return "never";
    return this.living === undefined ? { fault: this.fault } : "runs";
  }

  /** Lets the clock go on, and the scheduler look. */
  async to(now: number): Promise<void> {
    this.now = now;
    await this.turn();
  }

  async turn(): Promise<void> {
    this.#scheduler ??= new JobScheduler({
      ...{ layout: this.layout, launcher: this, owns: () => true, now: () => this.now },
      jobs: async () => (this.switching ? undefined : this.jobs),
      emit: (event) => void this.events.push(event),
    });
    await Promise.race([this.#scheduler.turn(), this.#killed.promise]);
    this.#killed = Promise.withResolvers();
  }

  /** Ends the scheduler within a start: whatever it would do after that, it does not. */
  #die(): Promise<void> {
    this.kill();
    this.#killed.resolve();
    return new Promise(() => {});
  }

  end(): void {
    this.living = undefined;
  }

  /** Kills the scheduler: the next turn is that of a new one. */
  kill(): void {
    this.#scheduler = undefined;
    this.killAt = undefined;
  }

  told = (event: JobEvent["event"]): number => this.events.filter((one) => one.event === event).length;
}

const EVERY_5 = { schedule: "*/5 * * * *" };

t.test("each time comes once, in every zone and over every change of clocks", async (t) => {
  for (const [timezone, from, expected] of [
    ["Europe/Vienna", "03-28T00:00:00", ["2026-03-28T01:30", "2026-03-29T01:00", "2026-03-30T00:30"]],
    ["Europe/Vienna", "10-24T00:00:00", ["2026-10-24T00:30", "2026-10-25T00:30", "2026-10-26T01:30"]],
    ["Asia/Kolkata", "03-28T00:00:00", ["2026-03-28T21:00", "2026-03-29T21:00", "2026-03-30T21:00"]],
    [undefined, "03-28T00:00:00", ["2026-03-28T02:30", "2026-03-29T02:30", "2026-03-30T02:30"]],
  ] as const) {
    const host = new Host(t, { schedule: "30 2 * * *", timezone });
    for (let now = at(from); now < at(from) + 72 * HOUR; now += 10 * MINUTE) {
      await host.to(now);
      host.end();
    }
    t.strictSame(
      host.ran,
      expected.map((time) => `${time}:00.000Z`),
      timezone ?? "UTC",
    );
  }
});

t.test("a clock that is set repeats nothing, and loses nothing", async (t) => {
  const night = new Host(t, { schedule: "30 3 * * *" });
  for (const time of [
    "01T03:00",
    "01T04:05",
    "01T03:05",
    "01T03:31",
    "01T04:06",
    "02T02:30",
    "02T03:30",
    "02T02:31",
    "02T03:31",
  ])
    await night.to(at(`06-${time}:00`)).then(() => night.end());
  t.strictSame(night.ran, ["2026-06-01T03:30:00.000Z", "2026-06-02T03:30:00.000Z"], "one hour forward, and back");

  const often = new Host(t, EVERY_5);
  await often.to(at("06-01T12:00:00"));
  await often.to(at("06-01T12:05:01")).then(() => often.end());
  await often.to(at("06-01T11:10:00")).then(() => often.end());
  t.equal(often.ran.length, 1, "not again after a step of an hour");
  await often.to(at("06-01T04:00:00")).then(() => often.end());
  await often.to(at("06-01T04:05:00")).then(() => often.end());
  t.strictSame(often.ran.slice(1), ["2026-06-01T04:05:00.000Z"], "a clock that was wrong by hours is set right");
});

t.test("what was due while nobody was there is run once, late by minutes, or whenever it asks for that", async (t) => {
  for (const [app, awayMs, ran] of [
    [EVERY_5, 16 * MINUTE, 1],
    [{ schedule: "0 * * * *" }, 3 * HOUR + 30 * MINUTE, 0],
    [{ schedule: "0 * * * *", catch_up: true }, 3 * HOUR + 30 * MINUTE, 1],
    [{ schedule: "30 3 * * *", catch_up: true }, 60 * 24 * HOUR, 1],
  ] as const) {
    const host = new Host(t, app);
    await host.turn();
    host.kill();
    await host.to(host.now + awayMs).then(() => host.end());
    t.equal(host.ran.length, ran, JSON.stringify(app));
    await host.turn();
    t.equal(host.ran.length, ran, "once");
  }
});

t.test("two runs are never there at once: a time that meets one is left out, and told once", async (t) => {
  const host = new Host(t, EVERY_5);
  await host.turn();
  await host.to(at("06-01T00:05:00"));
  for (const minute of ["10", "15", "20"]) await host.to(at(`06-01T00:${minute}:00`));
  t.equal(host.ran.length, 1);
  t.equal(host.told("job.skipped"), 1);
  t.strictSame([...(await releasesOfJobs(host.layout, "project-p"))], ["r1"], "its release is not collected");
  host.jobs = host.jobs.map((job) => ({ ...job, release: "r2" }));
  host.end();
  host.fault = "it ended with exit code 3";
  await host.to(at("06-01T00:21:00"));
  t.match(host.events.at(-1), { event: "job.ended", message: /exit code 3/ });
  t.strictSame([...(await releasesOfJobs(host.layout, "project-p"))], []);
  await host.to(at("06-01T00:25:00"));
  t.match(await readJob(host.layout, "night"), { run: { release: "r2", ended: null } });
  host.kill();
  await host.to(at("06-01T00:30:00"));
  t.equal(host.ran.length, 2, "neither after its scheduler was killed");
});

t.test(
  "a switch is waited for, times that are new were never missed, and a job that vanished is forgotten",
  async (t) => {
    const host = new Host(t, EVERY_5);
    await host.turn();
    host.switching = true;
    await host.to(at("06-01T00:05:00"));
    t.equal(host.ran.length, 0);
    host.switching = false;
    await host.to(at("06-01T00:08:00")).then(() => host.end());
    t.equal(host.ran.length, 1, "late, and not lost");
    host.jobs = host.jobs.map((job) => ({ ...job, app: { ...job.app, schedule: "0 0 * * *", catch_up: true } }));
    host.kill();
    await host.to(at("06-01T00:09:00"));
    t.equal(host.ran.length, 1);
    const jobs = host.jobs;
    await host.to(at("06-02T00:00:00"));
    host.jobs = [];
    await host.turn();
    t.ok(await readJob(host.layout, "night"), "not while it runs");
    host.end();
    await host.turn();
    t.equal(await readJob(host.layout, "night"), undefined);
    host.jobs = jobs;
  },
);

t.test("whatever is killed, 0 runs are lost and 0 are double", async (t) => {
  const seed = Number(process.env.SEALIFT_SEED ?? 1);
  let state = seed;
  const random = (below: number): number => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return (state >>> 8) % below;
  };
  const host = new Host(t, EVERY_5);
  await host.turn();
  const end = at("06-02T00:01:00");
  for (let now = host.now; now < end; now += 20_000 + random(40_000)) {
    if (random(3) === 0) host.killAt = (["before", "started", "after"] as const)[random(3)];
    if (random(20) === 0) host.kill();
    host.switching = random(4) === 0;
    if (random(30) === 0) host.jobs = host.jobs.map((job) => ({ ...job, release: `r${random(50)}` }));
    await host.to(now);
    // No run meets the next time.
    if (random(2) === 0 || new Date(now).getMinutes() % 5 >= 3) host.end();
  }
  host.switching = false;
  host.end();
  for (let n = 0; n < 4; n++) {
    host.kill();
    await host.to(end + n * 1_000).then(() => host.end());
  }
  const times = Array.from({ length: 288 }, (_, n) => at("06-01T00:05:00") + n * 5 * MINUTE);
  // Two times of which the first was killed before its start are one run.
  const lost = times.filter((time) => !host.begun.some((begun) => begun >= time && begun < time + 10 * MINUTE));
  t.strictSame([...new Set(host.ran)].length, host.ran.length, `0 double (seed ${seed})`);
  t.strictSame(
    lost.map((time) => new Date(time).toISOString()),
    [],
    `0 lost (seed ${seed})`,
  );
});

t.test("a job that is new has missed nothing", (t) => {
  const { due, next } = dueAt(
    { schedule: "0 * * * *", catch_up: true },
    undefined,
    at("06-01T00:30:00"),
    at("06-01T00:30:00"),
  );
  t.equal(due, undefined);
  t.equal(next, at("06-01T01:00:00"));
  t.end();
});

t.test("a job that is installed between two looks loses no time after that, and repeats none", async (t) => {
  const host = new Host(t, EVERY_5);
  const [night] = host.jobs;
  host.jobs = [];
  await host.to(at("06-01T00:04:20"));
  host.jobs = [{ ...night!, since: at("06-01T00:04:40") }];
  await host.to(at("06-01T00:05:20"));
  host.end();
  t.strictSame(host.ran, ["2026-06-01T00:05:00.000Z"], "it was there at that time");
  await host.to(at("06-01T00:05:40"));
  // An operator stops it, and starts it again.
  const there = host.jobs;
  host.jobs = [];
  await host.to(at("06-01T00:06:00"));
  host.jobs = there;
  await host.to(at("06-01T00:06:20"));
  t.equal(host.ran.length, 1, "once");
  host.jobs = [{ ...night!, app: { ...night!.app, schedule: "*/7 * * * *" }, since: at("06-01T00:06:40") }];
  await host.to(at("06-01T00:07:30"));
  host.end();
  t.equal(host.ran.at(-1), "2026-06-01T00:07:00.000Z", "another schedule");
  host.kill();
  host.jobs = [{ ...night!, app: { ...night!.app, schedule: "*/8 * * * *" }, since: at("06-01T00:07:40") }];
  await host.to(at("06-01T00:08:30"));
  t.equal(host.ran.length, 2, "a scheduler that was away does not know since when it may run");
});

t.test("a clock that is set while a new scheduler waits for a switch loses nothing", async (t) => {
  const host = new Host(t, EVERY_5);
  await host.to(at("06-01T00:04:20"));
  host.kill();
  host.switching = true;
  await host.to(at("06-01T00:05:20"));
  host.switching = false;
  await host.to(at("06-01T01:02:20"));
  host.end();
  t.strictSame(host.ran, ["2026-06-01T01:00:00.000Z"], "one run for all that the clock went over");
  host.kill();
  await host.to(at("06-01T02:02:20"));
  t.equal(host.ran.length, 2, "what a scheduler has missed by more than five minutes before it began is left out");
  t.equal(host.ran.at(-1), "2026-06-01T02:00:00.000Z");
});
