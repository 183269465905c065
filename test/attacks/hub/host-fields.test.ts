import { connect } from "node:net";
import { text } from "node:stream/consumers";
import t from "tap";
import { startHub } from "../../support/hub/harness.ts";
import { startMirror } from "../../support/hub/mirrored.ts";
import { startHost } from "../../support/runtime/host.ts";

/** Sends a request with these Host fields. @returns its status */
async function statusOf(server: string, hosts: readonly string[]): Promise<number> {
  const { port } = new URL(server);
  const socket = connect(Number(port), "127.0.0.1");
  const fields = hosts.map((host) => `Host:${host}\r\n`).join("");
  socket.write(`GET /healthz HTTP/1.1\r\n${fields}Connection: close\r\n\r\n`);
  return Number((await text(socket)).slice(9, 12));
}

const BAD: Record<string, readonly string[]> = {
  "two hosts": [" one.example", " two.example"],
  "one host twice": [" one.example", " one.example"],
  "a path": [" one.example/two"],
  "a user": [" somebody@one.example"],
  "two words": [" one two"],
  "a port that is none": [" one.example:http"],
  "two ports": [" one.example:80:90"],
  "a port beyond the last one": [" one.example:65536"],
  "a list": [" one.example, http://two.example"],
  "an open bracket": [" [::1"],
  "an address that is none": [" [one]:80"],
  "half an escape": [" one%2"],
  "none at all": [],
};
const GOOD = [
  " one.example",
  " one.example:8080",
  " 127.0.0.1:",
  " [::1]:8080",
  " xn--bcher-kva.example",
  "",
  " a_b%20c",
];

t.test("a request whose Host a proxy could read in another way gets 400 from every server", async (t) => {
  const hub = await startHub(t);
  const mirror = await startMirror(t, hub.url);
  const runtime = await startHost(t);
  for (const [name, url] of Object.entries({ hub: hub.url, mirror: mirror.url, runtime: runtime.url })) {
    for (const [what, hosts] of Object.entries(BAD)) t.equal(await statusOf(url, hosts), 400, `${name}: ${what}`);
    for (const host of GOOD) t.equal(await statusOf(url, [host]), 200, `${name}:${host}`);
  }
});
