import { execFile } from "node:child_process";

/** Shortest interval between two STATUS lines, in milliseconds. */
const STATUS_INTERVAL_MS = 1000;
/** Time limit of `systemd-notify`, in milliseconds, which itself waits up to five seconds for systemd. */
const PROGRAM_TIMEOUT_MS = 10_000;
/** Pings per watchdog interval: one may be late or fail without ending the service. */
const PINGS_PER_INTERVAL = 3;
/**
 * Longest status, in characters: systemd ignores messages of more than 4096 bytes, and a character takes up to three.
 */
const MAX_STATUS = 1000;
/** Longest delay of a timer, in milliseconds. */
const MAX_TIMER_MS = 2 ** 31 - 1;

export interface NotifierOptions {
  /** Environment. The protocol's variables are removed from it, so that no child speaks for the service. */
  environment?: NodeJS.ProcessEnv;
  /** Called once when systemd could not be notified; the service continues. */
  warn: (message: string) => void;
}

/**
 * Reports the state of a service of `Type=notify` to systemd; does nothing without `NOTIFY_SOCKET`. Never waits, throws
 * or keeps the process alive. Node has no unix datagram sockets, so messages go through `systemd-notify`, and the unit
 * needs `NotifyAccess=all` (docs/decisions/0010-systemd-notify.md).
 */
export interface Notifier extends Disposable {
  /** Reports that the service is ready. @param status line that `systemctl status` shows, which is public */
  ready(status?: string): void;
  /** Reports in one line what the service does now: the latest text, at most once a second; see {@link ready}. */
  status(text: string): void;
  /**
   * Reports a reload while `work` runs, and then, however that ended, that the service is ready again; does nothing
   * before {@link ready}.
   *
   * @throws the error of `work`
   */
  reload<T>(work: () => Promise<T>): Promise<T>;
  /** Reports that the service is stopping, and ends pings and status lines. @param status see {@link ready} */
  stopping(status?: string): void;
}

/**
 * Sends the pings of the unit's `WatchdogSec=` from a timer, so that they stop when the event loop is blocked. They
 * begin with readiness: the first one arms systemd's watchdog, and a migration may block the loop for longer.
 */
export function systemdNotifier({ environment = process.env, warn }: NotifierOptions): Notifier {
  const { NOTIFY_SOCKET: socket, PATH: path } = environment;
  const intervalMs = watchdogInterval(environment);
  for (const name of ["NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"]) delete environment[name];
  return socket ? new SystemdNotifier({ socket, path, intervalMs, warn }) : new NoNotifier();
}

/** Milliseconds between two pings; undefined when systemd expects none, or from another process. */
function watchdogInterval({ WATCHDOG_USEC, WATCHDOG_PID }: NodeJS.ProcessEnv): number | undefined {
  const microseconds = Number(WATCHDOG_USEC);
  if (!Number.isFinite(microseconds) || microseconds <= 0) return undefined;
  // The parent is the unit's process when an old Node has started this one (bin/launch.ts).
  if (WATCHDOG_PID && ![process.pid, process.ppid].includes(Number(WATCHDOG_PID))) return undefined;
  return Math.min(microseconds / 1000 / PINGS_PER_INTERVAL, MAX_TIMER_MS);
}

class NoNotifier implements Notifier {
  ready(): void {}
  status(): void {}
  reload<T>(work: () => Promise<T>): Promise<T> {
    return work();
  }
  stopping(): void {}
  [Symbol.dispose](): void {}
}

interface Connection {
  socket: string;
  path: string | undefined;
  /** Interval of the watchdog, in milliseconds; undefined without one. */
  intervalMs: number | undefined;
  warn: (message: string) => void;
}

class SystemdNotifier implements Notifier {
  readonly #connection: Connection;
  #pings: NodeJS.Timeout | undefined;
  /** Ends a ping that is under way. */
  readonly #ended = new AbortController();
  /** Last message: messages are sent in turn, since RELOADING and READY must not overtake each other. */
  #sent: Promise<unknown> = Promise.resolve();
  #isReady = false;
  #pinging = false;
  #waitingStatus: string | undefined;
  #statusTimer: NodeJS.Timeout | undefined;
  #sendingStatus = false;
  #warned = false;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  ready(status?: string): void {
    this.#isReady = true;
    this.#say("READY=1", status);
    const { intervalMs } = this.#connection;
    if (intervalMs !== undefined && !this.#ended.signal.aborted)
      this.#pings ??= setInterval(() => void this.#ping(), intervalMs).unref();
  }

  status(text: string): void {
    if (this.#ended.signal.aborted) return;
    this.#waitingStatus = text;
    if (this.#statusTimer === undefined && !this.#sendingStatus) void this.#sendStatus();
  }

  async reload<T>(work: () => Promise<T>): Promise<T> {
    if (!this.#isReady) return work();
    // The time supports `Type=notify-reload`: it distinguishes this reload's READY from an earlier one.
    this.#say("RELOADING=1", undefined, `MONOTONIC_USEC=${process.hrtime.bigint() / 1000n}`);
    try {
      return await work();
    } finally {
      this.#say("READY=1");
    }
  }

  stopping(status?: string): void {
    this.#say("STOPPING=1", status);
    this[Symbol.dispose]();
  }

  [Symbol.dispose](): void {
    clearInterval(this.#pings);
    clearTimeout(this.#statusTimer);
    this.#ended.abort();
  }

  #say(state: string, status?: string, ...more: string[]): void {
    if (this.#ended.signal.aborted) return;
    // The older status must not be sent after this one.
    if (status !== undefined) this.#waitingStatus = undefined;
    void this.#send([state, ...(status === undefined ? [] : [statusLine(status)]), ...more]);
  }

  #send(variables: string[]): Promise<unknown> {
    return (this.#sent = this.#sent.then(() => this.#notify(variables)));
  }

  async #sendStatus(): Promise<void> {
    this.#statusTimer = undefined;
    const text = this.#waitingStatus;
    if (text === undefined) return;
    this.#waitingStatus = undefined;
    this.#sendingStatus = true;
    await this.#send([statusLine(text)]);
    this.#sendingStatus = false;
    if (this.#ended.signal.aborted) return;
    this.#statusTimer = setTimeout(() => void this.#sendStatus(), STATUS_INTERVAL_MS).unref();
  }

  async #ping(): Promise<void> {
    if (this.#pinging) return;
    this.#pinging = true;
    await this.#notify(["WATCHDOG=1"], this.#ended.signal);
    this.#pinging = false;
  }

  /** Sends variables to the service manager. Never rejects. */
  #notify(variables: readonly string[], signal?: AbortSignal): Promise<void> {
    const { socket, path, warn } = this.#connection;
    const options = {
      env: { NOTIFY_SOCKET: socket, ...(path !== undefined && { PATH: path }) },
      timeout: PROGRAM_TIMEOUT_MS,
      killSignal: "SIGKILL",
      ...(signal && { signal }),
    } as const;
    return new Promise((resolve) => {
      execFile("systemd-notify", [...variables], options, (error, _stdout, stderr) => {
        if (error !== null && !this.#warned && signal?.aborted !== true) {
          this.#warned = true;
          const reason = stderr.trim() || (error.killed === true ? "it did not end" : error.message);
          warn(`systemd was not told about this service: systemd-notify failed: ${reason}`);
        }
        resolve();
      });
    });
  }
}

/** Makes a status one line: a line break would begin another variable of the protocol. */
function statusLine(text: string): string {
  return `STATUS=${text.replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, " ").slice(0, MAX_STATUS)}`;
}
