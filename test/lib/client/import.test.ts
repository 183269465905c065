import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import t from "tap";
import { importVersion } from "../../../lib/client/import.ts";

t.test("a first import hears how its plugin or service is created", async (t) => {
  const server = createServer((request, response) => {
    request.resume().on("end", () => response.writeHead(404, { "content-type": "application/json" }).end("{}"));
  }).listen(0, "127.0.0.1");
  t.teardown(() => server.close());
  await once(server, "listening");
  const hub = { hubUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, apiKey: "key", timeoutMs: 5000 };
  await t.rejects(importVersion({ kind: "service", slug: "tide" }, { version: "1.0.0", repo: "a/b@c" }, hub), {
    code: "publish_refused",
    hint: /project create .*--kind service --slug tide/,
  });
});
