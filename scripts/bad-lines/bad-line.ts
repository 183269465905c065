import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

/** Faults of a line between a host and its hub; without any, it forwards what comes. */
export interface LineFaults {
  /** Most bytes a second, in each direction of each connection. */
  bytesPerSecond?: number;
  /** Delay of everything in each direction, in milliseconds. */
  delayMs?: number;
  /** Time after which each connection is cut, in milliseconds. */
  cutAfterMs?: number;
  /** Whether streams of events are buffered: nothing of them arrives, not even their headers. */
  buffersStreams?: boolean;
  /** Whether streams of events fall silent after their first bytes, as those of a hub that never beats. */
  silencesStreams?: boolean;
}

/** Line to a hub, which ends with the scope. */
export interface BadLine extends AsyncDisposable {
  url: string;
  /** Connections so far. */
  connections: () => number;
}

/** Head of a stream of events, and one with the first bytes of its body. */
const [STREAM, OPENED_STREAM] = [/content-type: text\/event-stream/i, /\r\n\r\n./s];
/** Bytes of a slow line that are sent at once. */
const STEP_BYTES = 256;

/** Opens a line to a hub with these faults. */
export async function openBadLine(hubUrl: string, faults: LineFaults): Promise<BadLine> {
  const { hostname, port } = new URL(hubUrl);
  const sockets = new Set<Socket>();
  let connections = 0;
  const server = createServer((client) => {
    connections++;
    const hub = connect(Number(port), hostname);
    const end = (): void => void (client.destroy(), hub.destroy());
    const cut = faults.cutAfterMs === undefined ? undefined : setTimeout(end, faults.cutAfterMs);
    for (const socket of [client, hub]) {
      sockets.add(socket);
      socket.on("error", end).on("close", () => {
        clearTimeout(cut);
        sockets.delete(socket);
        end();
      });
    }
    carry(client, hub, faults).catch(end);
    carry(hub, client, faults).catch(end);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as { port: number }).port}`,
    connections: () => connections,
    async [Symbol.asyncDispose]() {
      server.close();
      for (const socket of sockets) socket.destroy();
      await once(server, "close");
    },
  };
}

/** Carries bytes in one direction until they end. */
async function carry(from: Socket, to: Socket, faults: LineFaults): Promise<void> {
  const { bytesPerSecond = Infinity, delayMs = 0 } = faults;
  let free = performance.now();
  let [isStream, isHeld] = [false, false];
  for await (const chunk of from as AsyncIterable<Buffer>) {
    const text = chunk.toString("latin1");
    const isOpened = isStream || OPENED_STREAM.test(text);
    isStream ||= STREAM.test(text);
    isHeld ||= isStream && faults.buffersStreams === true;
    if (isHeld) continue;
    isHeld = isStream && isOpened && faults.silencesStreams === true;
    const arrived = performance.now() + delayMs;
    for (let at = 0; at < chunk.length; at += STEP_BYTES) {
      const step = chunk.subarray(at, at + STEP_BYTES);
      free = Math.max(free, arrived) + (step.length / bytesPerSecond) * 1000;
      const wait = free - performance.now();
      if (wait > 1) await sleep(wait);
      if (!to.write(step)) await once(to, "drain");
    }
  }
  to.end();
}
