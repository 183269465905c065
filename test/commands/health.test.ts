import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import t from "tap";
import { startHub } from "../support/hub/harness.ts";
import { commandLine } from "../support/programs/command-line.ts";

async function health(...args: string[]) {
  const { code, stdout } = await commandLine(["health", ...args, "--json"], { env: { PATH: process.env.PATH } });
  return { code, result: JSON.parse(stdout.trim().split("\n").at(-1)!) as Record<string, unknown> };
}

t.test("a service that can serve ends it with 0, and any other answer or silence with 75", async (t) => {
  const hub = await startHub(t);
  t.equal((await health(`${hub.url}/readyz`)).code, 0);

  let status = 503;
  const server = createServer((_request, response) => void response.writeHead(status).end()).listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/healthz`;
  for (status of [503, 404, 204]) {
    const { code, result } = await health(url);
    t.equal(code, 75, String(status));
    t.match(result, { error: { code: "hub_unavailable", message: `${url} answered ${status}, not 200.` } });
  }
  server.close();
  await once(server, "close");
  t.match(await health(url), { code: 75, result: { error: { code: "connection_failed" } } });
});

t.test("what is not an address is a mistake of usage", async (t) => {
  for (const url of ["readyz", "ftp://127.0.0.1/"]) t.equal((await health(url)).code, 2, url);
});
