import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import t from "tap";
import { send } from "../../../lib/client/http.ts";
import type { SealiftError } from "../../../lib/contract/errors.ts";

/** Listens with a short queue, and never takes a connection from it. */
const DEAF = `const server = require("net").createServer();
  server.listen({ port: 0, host: "127.0.0.1", backlog: 1 }, () => {
    require("fs").writeSync(1, server.address().port + "\\n");
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
  });`;

const TIMEOUT_MS = 6500;
const AGENT_MS = 5000;

t.test("a server that takes no connections is waited for as long as --timeout says", async (t) => {
  const server = spawn(process.execPath, ["-e", DEAF], { stdio: ["ignore", "pipe", "inherit"] });
  t.teardown(() => server.kill("SIGKILL"));
  const [line] = (await once(server.stdout, "data")) as [Buffer];
  const port = Number(line.toString());
  // Until its queue is full, and the next one hears nothing.
  for (let isFull = false; !isFull;) {
    const socket = connect(port, "127.0.0.1").on("error", () => undefined);
    t.teardown(() => socket.destroy());
    isFull = await Promise.race([once(socket, "connect").then(() => false), sleep(1000, true)]);
  }
  const started = performance.now();
  const asking = send(
    { operation: "health", method: "GET", url: `http://127.0.0.1:${port}/` },
    { timeoutMs: TIMEOUT_MS },
  );
  await t.rejects(asking, { code: "timed_out", message: "silent for 6.5 s" });
  t.ok(performance.now() - started > AGENT_MS + (TIMEOUT_MS - AGENT_MS) / 2);
});

t.test("a server that speaks something else, or is not there, is named with its cause first", async (t) => {
  const plain = createServer((_request, response) => response.end()).listen(0, "127.0.0.1");
  t.teardown(() => plain.close());
  await once(plain, "listening");
  const { port } = plain.address() as AddressInfo;
  const fault = async (url: string) => {
    const thrown = await send({ operation: "fleet", method: "GET", url }, { timeoutMs: TIMEOUT_MS }).catch(
      (error: unknown) => error,
    );
    return thrown as SealiftError;
  };
  const tls = await fault(`https://127.0.0.1:${port}/`);
  t.match(tls, { code: "connection_failed", hint: /http:/ });
  t.match(tls.message, new RegExp(`^https://127.0.0.1:${port} `));
  plain.close();
  await once(plain, "close");
  t.match(await fault(`http://127.0.0.1:${port}/`), { code: "connection_failed", message: /^Nothing listens.*fleet/ });
});
