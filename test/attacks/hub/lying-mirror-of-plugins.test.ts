// Only in test:all: a mirror for each lie, 4 s of a processor.
import { randomBytes } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import type { AgentEvent } from "../../../lib/agent/base/events.ts";
import { deploy } from "../../../lib/agent/deployment/deploy.ts";
import { DEPLOY_DEFAULTS } from "../../../lib/agent/deployment/run.ts";
import { marketplaceSource } from "../../../lib/agent/sources/marketplace.ts";
import { startDoor } from "../../support/hub/door.ts";
import { sha256, startHub } from "../../support/hub/harness.ts";
import { DEVELOPER_SECRET } from "../../support/hub/marketplace-hub.ts";
import { get, startMirror } from "../../support/hub/mirrored.ts";
import { publishedArchive } from "../../support/hub/published.ts";
import { type Answer, hangUp, json, redirect, stallInBody, startScripted } from "../../support/hub/scripted-server.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

/** A mirror gets neither the key nor any right of its own, and what it lies about a plugin costs a warning. */

const SLUG = "tides";
const INSTALL = `/app/marketplace/plugins/${SLUG}/install?version=1.0.0`;

/** A plugin on a hub behind a door, with the key of another owner that may see it, and hosts that have this key. */
async function site(t: Test) {
  const folder = temporaryFolder(t);
  const hub = await startHub(t);
  const door = await startDoor(t);
  door.hub = hub.url;
  const plugin = await publishedArchive(hub, "plugin", SLUG, folder);
  await plugin.publish("1.0.0", { "data.bin": "x".repeat(100_000) });
  const issued = await hub.call("POST", "/devkeys/api-keys", {
    json: { name: "host", owner: "a site", scopes: ["deploy", "read", "report"] },
  });
  const { key, id: keyId } = issued.body as { key: string; id: string };
  const { bytes } = await hub.call("GET", INSTALL, { key });
  return {
    ...{ hub, door, key, keyId, bytes },
    /** Shows a URL of the bytes, as the hub gives one to a key. */
    shown: async (): Promise<string> => {
      const answer = await hub.call("GET", INSTALL, { key, headers: { range: "bytes=0-0" } });
      return answer.headers.get("x-sealift-download")!;
    },
    deploy: async (mirrors: string[]) => {
      const events: AgentEvent[] = [];
      const projectRoot = temporaryFolder(t);
      const source = marketplaceSource({
        ...{ hubUrl: door.url, apiKey: key, timeoutMs: 10_000, mirrors, kind: "plugin", slug: SLUG, version: "1.0.0" },
        ...{ signingSecret: DEVELOPER_SECRET, installPlan: join(folder, `${SLUG}.yaml`), symlinks: "refuse" },
        leastRate: { bytesPerSecond: 10_000, overMs: 300 },
      });
      const options = {
        ...DEPLOY_DEFAULTS,
        projectRoot,
        hostId: "host",
        supervisor: { name: "none" as const },
        durability: "none" as const,
      };
      const result = await deploy(source, options, (event) => events.push(event));
      const warnings = events.flatMap((event) => (event.event === "warning" ? [event.message] : []));
      return { result, warnings, version: () => readFileSync(join(projectRoot, "plugins", SLUG, "version"), "utf8") };
    },
  };
}

t.test("a site behind a mirror fetches a plugin once, and shows its key to the hub alone", async (t) => {
  const { door, deploy, bytes } = await site(t);
  const mirror = await startMirror(t, door.url);
  for (let host = 0; host < 3; host++) {
    const { result, warnings, version } = await deploy([mirror.url]);
    t.equal(result.outcome, "deployed", result.error?.message ?? "deployed");
    t.strictSame(warnings, []);
    t.equal(version(), "1.0.0");
  }
  const whole = door.passages.filter(
    ({ path, headers }) => /download|install/.test(path) && headers.range !== "bytes=0-0",
  );
  t.equal(whole.length, 1);
  t.strictSame(readdirSync(join(mirror.cacheDir, "artifacts")), [sha256(bytes)]);
  const downloads = door.passages.filter(({ path }) => path.includes("/downloads/"));
  t.notOk(downloads.some(({ headers }) => "x-api-key" in headers || "authorization" in headers));
});

t.test("whatever a mirror sends for a plugin, the host runs what its developer signed", async (t) => {
  const { deploy, hub, key, bytes } = await site(t);
  const mirror = await startScripted(t, { routes: [[/^/, "any"]], truth: () => json(404, { error: "nothing" }) });
  const bystander = await startScripted(t, { routes: [[/^/, "any"]], truth: () => json(200, {}) });
  const gives =
    (body: Buffer): Answer =>
    (response) => {
      response.writeHead(200, { "content-length": body.length });
      response.end(body);
    };
  const lies: Record<string, Answer> = {
    "other bytes of the same length": gives(randomBytes(bytes.length)),
    "fewer bytes": gives(bytes.subarray(1)),
    "half of the bytes, and silence": stallInBody(bytes.subarray(0, 1000), bytes.length),
    "a refusal": json(403, {}),
    "no answer": hangUp,
    "a redirect to the hub": redirect(302, hub.url + INSTALL),
    "a redirect to a metadata service": redirect(302, `${bystander.url}/latest/meta-data/`),
  };
  for (const [lie, answer] of Object.entries(lies)) {
    mirror.repent();
    mirror.answer("any", answer);
    const { result, warnings, version } = await deploy([mirror.url]);
    t.equal(result.outcome, "deployed", `${lie}: ${result.error?.message}`);
    t.equal(version(), "1.0.0");
    t.equal(warnings.length, 1, lie);
    t.match(warnings[0], mirror.url, lie);
    // A kept connection that ends without an answer may have been closed before: the request is sent once more.
    t.ok(mirror.requests.length <= (lie === "no answer" ? 2 : 1), `${lie}: it is asked no more often`);
    const asked = JSON.stringify(mirror.requests.map(({ path, headers }) => [path, headers]));
    t.notOk(asked.includes(key), `${lie}: no key reaches a mirror`);
  }
  t.strictSame(bystander.requests, [], "nobody is asked in a mirror's name");
});

t.test("what a mirror has cached is refused to a key that the hub has revoked", async (t) => {
  const { hub, door, shown, keyId, bytes } = await site(t);
  const mirror = await startMirror(t, door.url);
  const path = await shown();
  t.ok((await get(mirror.url + path)).bytes.equals(bytes));
  await hub.call("DELETE", `/devkeys/api-keys/${keyId}`);
  const refused = await get(mirror.url + path);
  t.equal(refused.status, 403);
  t.equal((JSON.parse(refused.bytes.toString()) as { code: string }).code, "forbidden");
  door.trouble = () => ({ kind: "lost", heard: false });
  t.equal((await get(mirror.url + path)).status, 502, "also when the hub cannot be asked after that");
});

t.test(
  "a plugin that a key may no longer see is refused to it, cached or not, and nobody else's key helps",
  async (t) => {
    const { hub, shown, bytes } = await site(t);
    const mirror = await startMirror(t, hub.url);
    const path = await shown();
    t.ok((await get(mirror.url + path)).bytes.equals(bytes));
    const other = await hub.call("POST", "/devkeys/api-keys", { json: { name: "other", scopes: ["deploy"] } });
    t.equal((await get(mirror.url + path.replace(/key=[^&]+/, `key=${other.body.id as string}`))).status, 403);
    t.equal((await get(mirror.url + path.replace(/&key=[^&]+/, ""))).status, 403);
    await hub.call("PATCH", `/app/marketplace/plugins/${SLUG}`, { json: { visibility: "private" } });
    t.equal((await get(mirror.url + path)).status, 404);
  },
);
