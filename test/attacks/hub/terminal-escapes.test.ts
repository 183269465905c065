import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import t from "tap";
import { Fleet } from "../../../commands/fleets/fleet.ts";
import type { Ended } from "../../support/programs/command-line.ts";
import { runHere } from "../../support/programs/run-here.ts";

const EVIL = "\u001b]0;owned\u0007\u001b[2J\u001b[31mred\r\nsecond\u009b31m\u202e\u2028";

t.test("a host's report, or a hub that lies, cannot steer the terminal of a person who reads it", async (t) => {
  const server = createServer((_request, response) => {
    const host = { version: EVIL, status: "failed", error_message: EVIL, completed_at: EVIL };
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ [`host${EVIL}`]: host }));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.teardown(() => server.close());
  const hub = ["--hub-url", `http://127.0.0.1:${(server.address() as AddressInfo).port}`, "--api-key", "key"];

  async function print(isTTY: boolean, ...words: string[]): Promise<Ended> {
    const ended = await runHere([Fleet], ["fleet", "plugin:a", "--no-tui", ...words, ...hub], { isTTY });
    t.equal(ended.code, 0);
    return ended;
  }

  const formats = {
    lines: [],
    json: ["--json"],
    fields: ["--fields", "host_id,error_message"],
    csv: ["--csv"],
  };
  for (const [format, words] of Object.entries(formats)) {
    const { stdout, stderr } = await print(true, ...words);
    for (const text of [stdout, stderr]) t.notMatch(text.replaceAll("\n", ""), /[\p{Cc}\p{Cf}\u2028]/u, format);
    t.match(stdout, /red/, format);
  }

  const event = JSON.parse((await print(false, "--json")).stdout.split("\n")[0]!) as Record<string, unknown>;
  t.equal(event["error_message"], EVIL, "the value of JSON is the hub's");
  t.match((await print(false, "--csv")).stdout, EVIL, "a program gets the bytes of CSV");
});
