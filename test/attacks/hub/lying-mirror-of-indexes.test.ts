// Only in test:all: a mirror for each lie, 4 s of a processor.
import { randomBytes } from "node:crypto";
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { DEFAULT_LIMITS } from "../../../lib/artifact/limits.ts";
import { publishProject } from "../../../lib/publisher/publish-project.ts";
import { planText } from "../../support/forged/artifact.ts";
import { startDoor } from "../../support/hub/door.ts";
import { createProject, sha256, startHub } from "../../support/hub/harness.ts";
import { get, startMirror } from "../../support/hub/mirrored.ts";
import { type Answer, hangUp, json, redirect, startScripted } from "../../support/hub/scripted-server.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

/** A mirror that lies about the index of an earlier version costs a publisher a warning, and no delta. */

/** Publishers of one project, on a hub behind a door. */
async function site(t: Test) {
  const hub = await startHub(t);
  const door = await startDoor(t);
  door.hub = hub.url;
  const project = await createProject(hub);
  const seed = randomBytes(32);
  const noise = randomBytes(200_000);
  const indexPath = (version: string): string => `/app/deploy/v1/projects/${project.id}/artifacts/${version}/index`;
  return {
    ...{ hub, door, project },
    publish: async (version: string, mirrors: string[], base?: string) => {
      const sourceRoot = temporaryFolder(t);
      for (const folder of ["plugins/demo", "deployment"]) mkdirSync(join(sourceRoot, folder), { recursive: true });
      const plan = planText(project.id, "  - { id: install, action: install_plugin, plugin: demo }\n");
      writeFileSync(join(sourceRoot, "deployment/install.yaml"), plan);
      writeFileSync(join(sourceRoot, "plugins/demo/plugin.yaml"), "name: demo\nversion: 1.0.0\n");
      writeFileSync(join(sourceRoot, "plugins/demo/data.bin"), Buffer.concat([noise, Buffer.from(version)]));
      const warnings: string[] = [];
      const { deltas } = await publishProject({
        ...{ sourceRoot, projectId: project.id, projectName: "Demo", version, include: [], limits: DEFAULT_LIMITS },
        ...{ seed, level: 3, deltas: base === undefined ? { count: 4 } : { versions: [base] } },
        hub: {
          ...{ hubUrl: door.url, apiKey: project.key, timeoutMs: 10_000, mirrors },
          leastRate: { bytesPerSecond: 10_000, overMs: 300 },
        },
        signal: new AbortController().signal,
        emit: (event) => void (event.event === "warning" && warnings.push(event.message)),
      });
      return { bases: deltas.map(({ base_version }) => base_version), warnings };
    },
    /** The sealed index, and a URL that gives it without a key. */
    shown: async (version: string): Promise<{ bytes: Buffer; path: string }> => {
      const { bytes, headers } = await hub.call("GET", indexPath(version), { key: project.key });
      return { bytes, path: headers.get("x-sealift-download")! };
    },
    /** Whole indexes that the hub has sent. */
    sent: () =>
      door.passages.filter(
        ({ method, path, headers }) =>
          method === "GET" && /\/index$|\/downloads\//.test(path) && headers.range !== "bytes=0-0",
      ).length,
  };
}

t.test("publishers behind a mirror fetch an index once, and show their key to the hub alone", async (t) => {
  const { door, publish, shown, sent } = await site(t);
  const mirror = await startMirror(t, door.url);
  await publish("1.0.0", [mirror.url]);
  for (const version of ["1.1.0", "1.2.0", "1.3.0"])
    t.strictSame(await publish(version, [mirror.url], "1.0.0"), { bases: ["1.0.0"], warnings: [] });
  t.equal(sent(), 1);
  t.strictSame(readdirSync(join(mirror.cacheDir, "artifacts")), [sha256((await shown("1.0.0")).bytes)]);
  const downloads = door.passages.filter(({ path }) => path.includes("/downloads/"));
  t.equal(downloads.length, 4, "three questions and one download");
  t.notOk(downloads.some(({ headers }) => "x-api-key" in headers || "authorization" in headers));
});

t.test("whatever a mirror sends for an index, the delta is made from the hub's", async (t) => {
  const { hub, project, publish, shown } = await site(t);
  const mirror = await startScripted(t, { routes: [[/^/, "any"]], truth: () => json(404, { error: "nothing" }) });
  const bystander = await startScripted(t, { routes: [[/^/, "any"]], truth: () => json(200, {}) });
  await publish("1.0.0", []);
  await publish("1.0.1", []);
  const { bytes } = await shown("1.0.0");
  const gives =
    (body: Buffer, length: number | undefined = body.length): Answer =>
    (response) => {
      response.writeHead(200, length === undefined ? {} : { "content-length": length });
      response.end(body);
    };
  const lies: Record<string, Answer> = {
    "other bytes of the same length": gives(randomBytes(bytes.length)),
    "the index of another version": gives((await shown("1.0.1")).bytes),
    "fewer bytes": gives(bytes.subarray(1)),
    "more bytes": gives(Buffer.concat([bytes, Buffer.alloc(1_000_000)]), undefined),
    "a part": (response) => {
      response.writeHead(206, { "content-range": `bytes 0-0/${bytes.length}` });
      response.end(bytes);
    },
    drips: (response) => {
      response.writeHead(200, { "content-length": bytes.length });
      const timer = setInterval(() => response.write("x"), 20);
      response.once("close", () => clearInterval(timer));
    },
    "a refusal": json(403, {}),
    "no answer": hangUp,
    "a redirect to the hub": redirect(302, `${hub.url}/readyz`),
    "a redirect to a metadata service": redirect(302, `${bystander.url}/latest/meta-data/`),
  };
  for (const [index, [lie, answer]] of Object.entries(lies).entries()) {
    mirror.repent();
    mirror.answer("any", answer);
    const { bases, warnings } = await publish(`2.${index}.0`, [mirror.url], "1.0.0");
    t.strictSame(bases, ["1.0.0"], lie);
    t.equal(warnings.length, 1, lie);
    t.match(warnings[0], mirror.url, lie);
    t.equal(mirror.requests.length, 1, `${lie}: it is asked once`);
    const asked = JSON.stringify(mirror.requests.map(({ path, headers }) => [path, headers]));
    t.notOk(asked.includes(project.key), `${lie}: no key reaches a mirror`);
  }
  t.strictSame(bystander.requests, [], "nobody is asked in a mirror's name");
});

t.test("one mirror that fails is left for the rest of the publication, and the next one is asked", async (t) => {
  const { door, publish, sent } = await site(t);
  const dead = await startScripted(t, { routes: [[/^/, "any"]], truth: () => json(503, {}) });
  const mirror = await startMirror(t, door.url);
  for (const version of ["1.0.0", "1.1.0"]) await publish(version, []);
  const before = sent();
  const { bases, warnings } = await publish("1.2.0", [dead.url, mirror.url]);
  t.equal(bases.length, 2);
  t.equal(warnings.length, 1);
  t.equal(dead.requests.length, 1);
  t.equal(sent() - before, 2, "through the mirror");
});

t.test("an index is refused to keys that may not publish, and to a revoked one, cached or not", async (t) => {
  const { hub, door, project, publish, shown } = await site(t);
  const mirror = await startMirror(t, door.url);
  await publish("1.0.0", []);
  const { bytes, path } = await shown("1.0.0");
  t.ok((await get(mirror.url + path)).bytes.equals(bytes));
  const index = `/app/deploy/v1/projects/${project.id}/artifacts/1.0.0/index`;
  const reader = await hub.call("POST", "/devkeys/api-keys", {
    json: { name: "reader", project_id: project.id, scopes: ["deploy", "read"] },
  });
  const refused = await hub.call("GET", index, { key: reader.body.key as string });
  t.equal(refused.status, 403);
  t.equal(refused.headers.get("x-sealift-download"), null);
  for (const url of [
    path.replace(/key=[^&]+/, `key=${reader.body.id as string}`),
    path.replace(/&key=[^&]+/, ""),
    path.replace(/signature=.{8}/, "signature=00000000"),
  ])
    t.equal((await get(mirror.url + url)).status, 403);
  const keyId = /key=([^&]+)/.exec(path)![1]!;
  await hub.call("DELETE", `/devkeys/api-keys/${keyId}`);
  t.equal((await get(mirror.url + path)).status, 403);
  door.trouble = () => ({ kind: "lost", heard: false });
  t.equal((await get(mirror.url + path)).status, 502, "also when the hub cannot be asked after that");
});
