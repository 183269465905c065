// Only in test:all: servers that refuse parts are asked as often as a person would wait for, half a minute.
// Holds: whether bytes of an interrupted download are used (lib/agent/sources/kept-download.ts)
/** Kept bytes keep no host from a version that it would get without them, and a network that is away costs none. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import t, { type Test } from "tap";
import type { AgentEvent } from "../../../../lib/agent/base/events.ts";
import { deploy } from "../../../../lib/agent/deployment/deploy.ts";
import { DEPLOY_DEFAULTS } from "../../../../lib/agent/deployment/run.ts";
import { marketplaceSource } from "../../../../lib/agent/sources/marketplace.ts";
import type { Source } from "../../../../lib/agent/sources/source.ts";
import { inspectTarget } from "../../../../lib/agent/target-status.ts";
import { DeployClient } from "../../../../lib/client/deploy-client.ts";
import { MarketplaceClient } from "../../../../lib/client/marketplace-client.ts";
import { layoutOf } from "../../../../lib/releases/layout.ts";
import { deltaFleet } from "../../../support/host/delta-fleet.ts";
import { startHub } from "../../../support/hub/harness.ts";
import { DEVELOPER_SECRET } from "../../../support/hub/marketplace-hub.ts";
import { publishedArchive } from "../../../support/hub/published.ts";
import { temporaryFolder } from "../../../support/temporary-folder.ts";

interface Answer {
  status: number;
  headers?: Record<string, string>;
  body?: Buffer;
}
/** Answers a request for bytes in the hub's place; "cut" for no answer at all, undefined for the hub's own. */
type Door = (range: string | undefined, size: number) => Answer | "cut" | undefined;

/** Starts a proxy of a hub whose answers to requests for bytes another one gives. */
async function startDoor(t: Test, hub: () => string, isBytes: (path: string) => boolean) {
  const door = { url: "", size: 0, answer: (() => undefined) as Door, ranges: [] as (string | undefined)[] };
  const server = createServer((incoming, response) => {
    const { range } = incoming.headers;
    if (isBytes(incoming.url!)) {
      door.ranges.push(range);
      const other = door.answer(range, door.size);
      if (other === "cut") return void incoming.socket.resetAndDestroy();
      if (other !== undefined) {
        const { status, headers = {}, body = Buffer.alloc(0) } = other;
        response.writeHead(status, { "content-length": body.length, ...headers }).end(body);
        return;
      }
    }
    const outgoing = request(hub() + incoming.url!, { method: incoming.method!, headers: incoming.headers }, (from) => {
      const { statusCode = 500, headers } = from;
      if (headers["content-type"]?.startsWith("application/json") !== true) {
        response.writeHead(statusCode, headers);
        from.pipe(response);
        return;
      }
      void buffer(from).then((bytes) => {
        const text = bytes.toString().replaceAll(hub(), door.url);
        response.writeHead(statusCode, { ...headers, "content-length": Buffer.byteLength(text) }).end(text);
      });
    });
    incoming.pipe(outgoing);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  door.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return door;
}

/** A host that has kept a part of a download, and a run of its deployment. */
function hostOf(t: Test, source: Source, header: object, bytes: Buffer) {
  const root = temporaryFolder(t);
  const layout = layoutOf(root);
  const partial = layout.partial(source.target);
  mkdirSync(join(layout.sealift, "partial"), { recursive: true });
  const at = new Date().toISOString();
  const text = JSON.stringify({ v: 1, version: "1.0.0", size: bytes.length, etag: null, from: 1000, at, ...header });
  const content = Buffer.concat([Buffer.from(text.padEnd(4096)), bytes.subarray(0, 300_000)]);
  writeFileSync(partial, content);
  const run = async () => {
    const events: AgentEvent[] = [];
    const options = { ...DEPLOY_DEFAULTS, projectRoot: root, hostId: "host", supervisor: { name: "none" as const } };
    const result = await deploy(source, options, (event) => events.push(event));
    const all = <E extends AgentEvent["event"]>(name: E) =>
      events.filter((event): event is Extract<AgentEvent, { event: E }> => event.event === name);
    return { result, all };
  };
  const isAsItWas = (): boolean => existsSync(partial) && readFileSync(partial).equals(content);
  return { run, partial, isAsItWas, size: bytes.length, inspect: () => inspectTarget(layout, source.target) };
}

async function projectHost(t: Test, answer: Door) {
  const fleet = await deltaFleet(t);
  await fleet.publish("1.0.0");
  const client = new DeployClient(fleet.project.id, fleet.connection);
  const location = await client.locate("1.0.0");
  const bytes = await buffer(client.download("1.0.0", location, { maxBytes: 1e9 }));
  const path = new URL(location.download_url).pathname;
  const door = await startDoor(
    t,
    () => fleet.hubUrl,
    (url) => url.startsWith(path),
  );
  Object.assign(door, { answer, size: bytes.length });
  const source = fleet.sourceOf("1.0.0", { hubUrl: door.url });
  return { door, ...hostOf(t, source, { signature: location.signature }, bytes) };
}

async function pluginHost(t: Test, answer: Door) {
  const hub = await startHub(t, { rateLimits: false });
  const folder = temporaryFolder(t);
  const plugin = await publishedArchive(hub, "plugin", "tides", folder);
  const content = Array.from({ length: 60_000 }, () => Math.random().toString(36)).join("");
  await plugin.publish("1.0.0", { "large.txt": content });
  const connection = { apiKey: hub.adminKey, timeoutMs: 10_000 };
  const client = new MarketplaceClient("plugin", "tides", { ...connection, hubUrl: hub.url });
  const { hmac, bytes } = await client.install("1.0.0", async ({ hmac }, body) => ({
    hmac,
    bytes: await buffer(body),
  }));
  const door = await startDoor(
    t,
    () => hub.url,
    (url) => url.includes("/install"),
  );
  Object.assign(door, { answer, size: bytes.length });
  const source = marketplaceSource({
    ...{ ...connection, hubUrl: door.url, kind: "plugin", slug: "tides", version: "1.0.0" },
    ...{ signingSecret: DEVELOPER_SECRET, installPlan: `${folder}/tides.yaml`, symlinks: "refuse" },
  });
  return { door, ...hostOf(t, source, { signature: hmac }, bytes) };
}

t.jobs = 12;
const beside = (name: string, body: (t: Test) => Promise<unknown>) => t.test(name, { buffered: true }, body);

const part = (range: string, body: Buffer): Answer => ({ status: 206, headers: { "content-range": range }, body });
const refusals: Record<string, (range: string, size: number) => Answer> = {
  "416 without a size": () => ({ status: 416 }),
  "206 of something else": () => part("bytes 5-99/500", Buffer.alloc(95)),
  "206 of another range, with the right size": (_range, size) => part(`bytes 5-1003/${size}`, Buffer.alloc(999)),
  "400": () => ({ status: 400 }),
  "403": () => ({ status: 403 }),
  "500": () => ({ status: 500 }),
  "501": () => ({ status: 501 }),
};
for (const [kind, hostFor] of [
  ["a project", projectHost],
  ["a plugin", pluginHost],
] as const)
  for (const [what, refusal] of Object.entries(refusals))
    beside(`${kind}: a server that answers ranges with ${what} gives the whole in the same run`, async (t) => {
      const host = await hostFor(t, (range, size) => (range === undefined ? undefined : refusal(range, size)));
      const { result, all } = await host.run();
      t.match(result, { outcome: "deployed" });
      t.match(all("partial.unusable"), [{ version: "1.0.0" }], "the kept bytes are told to be gone");
      t.match(all("fetch.done"), [{ bytes: host.size, kept_bytes: undefined }]);
      t.notOk(existsSync(host.partial));
      t.equal(host.door.ranges.filter((range) => range === undefined).length, 1, "the whole is asked for once");
    });

beside("a server that refuses the rest, after the beginning, gives the whole in the same run", async (t) => {
  const isRest = (range?: string): boolean => range?.startsWith("bytes=0-") === false;
  const host = await projectHost(t, (range) => (isRest(range) ? { status: 403 } : undefined));
  const { result, all } = await host.run();
  t.match(result, { outcome: "deployed" });
  t.match(all("partial.used"), [{ bytes: 299_000 }]);
  t.match(all("partial.unusable"), [{ code: "forbidden" }]);
  t.notOk(existsSync(host.partial));
  const { lastReport } = await host.inspect();
  t.ok(lastReport!.bytes >= host.size, "the report counts the whole, and what came before it in vain");
});

for (const [kind, hostFor] of [
  ["a project", projectHost],
  ["a plugin", pluginHost],
] as const) {
  for (const [what, answer] of Object.entries({
    "answers nothing": "cut" as const,
    "is overloaded": { status: 503 },
    "refuses everything": { status: 403 },
  }))
    beside(`${kind}: a server that ${what} costs none of the kept bytes`, async (t) => {
      const host = await hostFor(t, () => answer);
      t.match((await host.run()).result, { outcome: "failed" });
      t.ok(host.isAsItWas());
      host.door.answer = () => undefined;
      const { result, all } = await host.run();
      t.match(result, { outcome: "deployed" });
      t.match(all("fetch.done"), [{ kept_bytes: 299_000 }], "the next run goes on with them");
    });
}
