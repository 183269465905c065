import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

/** Proxy that limits what a server sends to a given rate, all connections together. */
export interface Throttle extends AsyncDisposable {
  url: string;
}

/** Bytes per step: few compared with a second's. */
const STEP_BYTES = 64 * 1024;

/** @param mbits megabits per second */
export async function openThrottle(target: () => string, mbits: number): Promise<Throttle> {
  const bytesPerMs = (mbits * 1e6) / 8 / 1000;
  let free = performance.now();
  const slowly = async (from: Socket, to: Socket): Promise<void> => {
    for await (const chunk of from as AsyncIterable<Buffer>) {
      for (let at = 0; at < chunk.length; at += STEP_BYTES) {
        const step = chunk.subarray(at, at + STEP_BYTES);
        free = Math.max(free, performance.now()) + step.length / bytesPerMs;
        const wait = free - performance.now();
        if (wait > 1) await sleep(wait);
        if (!to.write(step)) await once(to, "drain");
      }
    }
    to.end();
  };
  const server = createServer((client) => {
    const { hostname, port } = new URL(target());
    const upstream = connect(Number(port), hostname);
    client.pipe(upstream);
    const end = (): void => void (client.destroy(), upstream.destroy());
    client.on("error", end);
    upstream.on("error", end);
    slowly(upstream, client).catch(end);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  return {
    url: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      server.close();
      await Promise.resolve();
    },
  };
}
