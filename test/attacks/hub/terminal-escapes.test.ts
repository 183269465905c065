import { execFile } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import t from "tap";

const PROGRAM = fileURLToPath(new URL("../../../dist/bin/sealift.js", import.meta.url));

t.test("a host's report, or a hub that lies, cannot drive the terminal of whoever looks at the fleet", async (t) => {
  const evil = "\u001b]0;owned\u0007\u001b[2J\u001b[31mred\r\nsecond\u009b31m\u202e";
  const server = createServer((_request, response) => {
    const host = { version: evil, status: "failed", error_message: evil, completed_at: evil };
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ [`host${evil}`]: host }));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.teardown(() => server.close());
  const hubUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const { stdout, stderr } = await promisify(execFile)(
    process.execPath,
    [PROGRAM, "fleet", "plugin:a", "--hub-url", hubUrl, "--no-tui"],
    { env: { PATH: process.env.PATH, SEALIFT_API_KEY: "key" } },
  );
  for (const text of [stdout, stderr]) t.notMatch(text.replaceAll("\n", ""), /[\p{Cc}\u202e]/u);
  t.equal(stdout.trimEnd().split("\n").length, 1, "one host is one line");
  t.match(stdout, /red/);
});
