import { connect, createServer, type Socket } from "node:net";
import type { Test } from "tap";

/** A TCP connection to a server that a test can make trouble on. */
export interface Wire {
  port: number;
  /** `silent` keeps every byte to itself in both directions; `cut` ends each connection at once. */
  mode: "open" | "silent" | "cut";
  /** Ends all connections that are open. */
  cut(): void;
  /**
   * Hears what each client sends. The bytes that it returns true for are passed on, and their connection is lost before
   * the answer comes back.
   */
  losesAnswer: (bytes: Buffer, client: Socket) => boolean;
}

export async function startWire(t: Test, target: number): Promise<Wire> {
  const sockets = new Set<Socket>();
  const wire: Wire = {
    port: 0,
    mode: "open",
    cut: () => sockets.forEach((socket) => socket.destroy()),
    losesAnswer: () => false,
  };
  const server = createServer((client) => {
    if (wire.mode === "cut") return void client.destroy();
    const upstream = connect(target, "127.0.0.1");
    let lost = false;
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => {
        sockets.delete(socket);
        (socket === client ? upstream : client).destroy();
      });
    }
    client.on("data", (bytes: Buffer) => {
      if (wire.mode === "silent") return;
      lost ||= wire.losesAnswer(bytes, client);
      upstream.write(bytes);
    });
    upstream.on("data", (bytes: Buffer) => {
      if (wire.mode === "silent") return;
      if (lost) client.destroy();
      else client.write(bytes);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  wire.port = (server.address() as { port: number }).port;
  t.teardown(() => {
    wire.cut();
    server.close();
  });
  return wire;
}
