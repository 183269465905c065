import t, { type Test } from "tap";
import type { LateProcess } from "../../../../lib/runtime/sandbox/process-options.ts";
import { RestartPolicy } from "../../../../lib/runtime/sandbox/restart-policy.ts";
import type { SandboxProcess } from "../../../../lib/runtime/sandbox/sandbox-process.ts";
import { SandboxSeat, whenServing } from "../../../../lib/runtime/sandbox/sandbox-seat.ts";
import { createLogger } from "../../../../lib/support/logging.ts";

const LIMITS = { max_restarts: 5, restart_window_seconds: 60, backoff_ms: 100 };
const NEVER = new Promise<never>(() => undefined);

/** Doubt about the loop of a process. */
interface Loop {
  suspicion?: Promise<void>;
  question?: Promise<void> | undefined;
}

const stopped = new Set<SandboxProcess>();
const isStopped = (process: SandboxProcess): boolean => stopped.has(process);

/** A process that never ends. */
function processOf(loop: Loop = {}): SandboxProcess {
  const process = {
    alive: true,
    exited: NEVER,
    calls: { size: 0, loop, handBack: () => undefined, drained: () => NEVER },
    kill: () => undefined,
    stop: () => Promise.resolve(stopped.add(process)),
  } as unknown as SandboxProcess;
  return process;
}

/** A seat that starts these processes in turn, and the one that hears of late calls. */
function seatOf(t: Test, started: SandboxProcess[]): { seat: SandboxSeat; late: () => LateProcess } {
  let late: LateProcess | undefined;
  const seat = new SandboxSeat({
    start: (hears) => {
      late ??= hears;
      return Promise.resolve(started.shift()!);
    },
    policy: new RestartPolicy(LIMITS),
    limits: LIMITS,
    graceMs: 60_000,
    finishMs: 1,
    logger: createLogger({ name: "seat", level: "silent" }),
    onRestarted: () => undefined,
    onFailed: ({ message }) => t.fail(message),
  });
  t.teardown(() => seat.giveUp());
  return { seat, late: () => late! };
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

t.test(
  "a call that comes before a loop is known to be blocked goes to the successor, once that is there",
  async (t) => {
    const blocked = processOf({ suspicion: NEVER });
    const successor = processOf();
    const { seat, late } = seatOf(t, [blocked, successor]);
    await seat.load();
    const waiting = whenServing([seat], 5000);
    late().silent(blocked, false);
    t.equal(await waiting, successor);
  },
);

t.test("a successor that was started ahead waits for the end of the call's time", async (t) => {
  const question = Promise.withResolvers<void>();
  const loop: Loop = { question: question.promise };
  const [blocked, successor] = [processOf(loop), processOf()];
  const started = [blocked, successor];
  const { seat, late } = seatOf(t, started);
  await seat.load();
  late().silent(blocked, true);
  await turn();
  t.equal(started.length, 0, "it is started");
  t.equal(seat.serving, blocked);
  Object.assign(loop, { suspicion: NEVER, question: undefined });
  question.resolve();
  await turn();
  t.equal(seat.serving, successor);
  t.equal(seat.restarts, 1);
});

t.test("a loop that goes on in time keeps its process, and the next one is not started ahead", async (t) => {
  const question = Promise.withResolvers<void>();
  const loop: Loop = { question: question.promise };
  const [busy, needless, successor] = [processOf(loop), processOf(), processOf()];
  const started = [busy, needless, successor];
  const { seat, late } = seatOf(t, started);
  await seat.load();
  late().silent(busy, true);
  await turn();
  loop.question = undefined;
  question.resolve();
  await turn();
  t.equal(seat.serving, busy);
  t.equal(seat.restarts, 0);
  t.ok(isStopped(needless));
  loop.question = NEVER;
  late().silent(busy, true);
  await turn();
  t.equal(started.length, 1, "none is started ahead");
  Object.assign(loop, { suspicion: NEVER, question: undefined });
  late().silent(busy, false);
  await turn();
  t.equal(seat.serving, successor, "and one is when the time is over, without a pause");
});
