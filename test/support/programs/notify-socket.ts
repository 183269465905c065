import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import type { Test } from "tap";

/** systemd's side of the notification protocol: a unix datagram socket, which Node does not have. */
const RECEIVER = `
import json, socket, sys, time
receiver = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
receiver.bind(sys.argv[1])
print("{}", flush=True)
while True:
    text = receiver.recv(65536).decode()
    print(json.dumps({"at": time.time() * 1000, "text": text}), flush=True)
`;

export interface NotifyMessage {
  /** Milliseconds since 1970. */
  at: number;
  /** Variables, one a line. */
  text: string;
}

/** The messages of a service to its systemd. */
export class NotifySocket {
  /** For `NOTIFY_SOCKET`. */
  readonly path: string;
  /** Without the marks with which `systemd-notify` sees that its message was read. */
  readonly messages: NotifyMessage[] = [];

  private constructor(path: string, receiver: ChildProcess) {
    this.path = path;
    createInterface({ input: receiver.stdout! }).on("line", (line) => {
      const message = JSON.parse(line) as Partial<NotifyMessage>;
      if (message.text !== undefined && message.text !== "BARRIER=1") this.messages.push(message as NotifyMessage);
    });
  }

  /** It ends with the test. */
  static async open(t: Test): Promise<NotifySocket> {
    // The path of a socket has at most 107 bytes, so that the test's own folder would not do.
    const folder = await mkdtemp(join(tmpdir(), "sealift-notify-"));
    const path = join(folder, "socket");
    const receiver = spawn("python3", ["-c", RECEIVER, path], { stdio: ["ignore", "pipe", "inherit"] });
    t.teardown(async () => {
      receiver.kill("SIGKILL");
      await rm(folder, { recursive: true, force: true });
    });
    const socket = new NotifySocket(path, receiver);
    await once(receiver.stdout, "data");
    return socket;
  }

  /** The texts so far, without pings. */
  get said(): string[] {
    return this.messages.map(({ text }) => text).filter((text) => text !== "WATCHDOG=1");
  }

  get pings(): NotifyMessage[] {
    return this.messages.filter(({ text }) => text === "WATCHDOG=1");
  }

  /** Waits until it holds. @throws when that takes longer than twenty seconds */
  async until(holds: (socket: this) => boolean): Promise<void> {
    const deadline = Date.now() + 20_000;
    while (!holds(this)) {
      if (Date.now() > deadline) throw new Error(`not within 20 s; said: ${JSON.stringify(this.messages)}`);
      await sleep(20);
    }
  }
}
