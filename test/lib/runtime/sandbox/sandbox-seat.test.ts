import t from "tap";
import type { LateProcess } from "../../../../lib/runtime/sandbox/process-options.ts";
import { RestartPolicy } from "../../../../lib/runtime/sandbox/restart-policy.ts";
import type { SandboxProcess } from "../../../../lib/runtime/sandbox/sandbox-process.ts";
import { SandboxSeat, whenServing } from "../../../../lib/runtime/sandbox/sandbox-seat.ts";
import { createLogger } from "../../../../lib/support/logging.ts";

const LIMITS = { max_restarts: 5, restart_window_seconds: 60, backoff_ms: 100 };
const NEVER = new Promise<never>(() => undefined);

/** A process that never ends; `suspicion` says whether its loop is in doubt. */
const processOf = (suspicion?: Promise<void>): SandboxProcess =>
  ({
    alive: true,
    exited: NEVER,
    calls: { size: 0, suspicion, handBack: () => undefined, drained: () => NEVER },
    kill: () => undefined,
  }) as unknown as SandboxProcess;

t.test(
  "a call that comes before a loop is known to be blocked goes to the successor, once that is there",
  async (t) => {
    const blocked = processOf(NEVER);
    const successor = processOf();
    let late: LateProcess | undefined;
    const started = [blocked, successor];
    const seat = new SandboxSeat({
      start: (hears) => {
        late ??= hears;
        return Promise.resolve(started.shift()!);
      },
      policy: new RestartPolicy(LIMITS),
      limits: LIMITS,
      graceMs: 60_000,
      finishMs: 60_000,
      logger: createLogger({ name: "seat", level: "silent" }),
      onRestarted: () => undefined,
      onFailed: ({ message }) => t.fail(message),
    });
    t.teardown(() => seat.giveUp());
    await seat.load();
    const waiting = whenServing([seat], 5000);
    late!.silent(blocked);
    t.equal(await waiting, successor);
  },
);
