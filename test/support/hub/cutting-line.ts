/** A line to a hub that is cut while an upload is under way. */
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import type { Test } from "tap";

export interface CuttingLine {
  url: string;
  /** Bytes that reached the hub, by connection. */
  readonly sent: number[];
  /** Bytes after which the next connections are cut, one after the other; all pass when none is left. */
  cuts: number[];
  /** Called for each cut, before the next connection can come. */
  onCut?: () => void;
}

/** Opens a line to `hub()`, which may change. Connections that carry few bytes are no uploads, and pass. */
export async function openCuttingLine(t: Test, hub: () => string, cuts: number[]): Promise<CuttingLine> {
  const sockets = new Set<Socket>();
  const line: CuttingLine = { url: "", sent: [], cuts };
  const server = createServer((client) => {
    const { hostname, port } = new URL(hub());
    const upstream = connect(Number(port), hostname);
    const end = (): void => void (client.destroy(), upstream.destroy());
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on("error", end).on("close", end);
    }
    const own = line.sent.push(0) - 1;
    client.on("data", (chunk: Buffer) => {
      const limit = line.cuts[0] ?? Infinity;
      const room = limit - line.sent[own]!;
      const passed = chunk.subarray(0, Math.max(0, room));
      line.sent[own]! += passed.length;
      if (passed.length === chunk.length) {
        if (!upstream.write(chunk)) {
          client.pause();
          upstream.once("drain", () => client.resume());
        }
        return;
      }
      line.cuts.shift();
      client.pause();
      // What was sent arrives before the connection is lost.
      upstream.write(passed, () => {
        line.onCut?.();
        end();
      });
    });
    upstream.pipe(client);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.teardown(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  line.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return line;
}
