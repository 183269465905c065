import { randomBytes } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { dirname, join } from "node:path";
import t, { type Test } from "tap";
import { DEFAULT_LIMITS } from "../../../lib/artifact/limits.ts";
import { MarketplaceClient } from "../../../lib/client/marketplace-client.ts";
import { publishArchive } from "../../../lib/publisher/publish-archive.ts";
import {
  type PublishEvent,
  publishProject,
  type PublishProjectOptions,
} from "../../../lib/publisher/publish-project.ts";
import type { RetryEvent } from "../../../lib/publisher/upload.ts";
import { planText } from "../../support/forged/artifact.ts";
import { SLUG } from "../../support/host/marketplace-host.ts";
import { zipOf } from "../../support/hub/archives.ts";
import { type CuttingLine, openCuttingLine } from "../../support/hub/cutting-line.ts";
import { startDoor } from "../../support/hub/door.ts";
import { createProject, startHub } from "../../support/hub/real-hub.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const MIB = 1024 * 1024;
const BYTES = 12 * MIB;

/** Options that publish a tree which compresses to nothing less. */
function publicationOf(t: Test, project: { id: string; key: string }, hubUrl: string) {
  const root = join(temporaryFolder(t), "source");
  const files: Record<string, string | Uint8Array> = {
    "deployment/install.yaml": planText(project.id, "  - { id: install, action: install_plugin, plugin: demo }\n"),
    "plugins/demo/plugin.yaml": "name: demo\nversion: 1.0.0\n",
    "plugins/demo/data.bin": randomBytes(BYTES),
  };
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), content);
  }
  const events: PublishEvent[] = [];
  const options: PublishProjectOptions = {
    ...{ sourceRoot: root, projectId: project.id, projectName: "Demo", version: "1.0.0", include: [] },
    ...{ limits: DEFAULT_LIMITS, signal: new AbortController().signal, seed: randomBytes(32), level: 3 },
    emit: (event) => void events.push(event),
    hub: { hubUrl, apiKey: project.key, timeoutMs: 10_000 },
  };
  return { options, events };
}

const resumed = (events: readonly { event: string }[]): number[] =>
  events
    .filter((event): event is Extract<RetryEvent, { event: "upload.resumed" }> => event.event === "upload.resumed")
    .map(({ from_byte: byte }) => byte);

const sum = ({ sent }: CuttingLine): number => sent.reduce((total, bytes) => total + bytes, 0);

t.test("an upload that is cut three times goes on each time, and each byte is sent about once", async (t) => {
  const hub = await startHub(t, { dataDir: join(t.testdir({}), "hub") });
  const line = await openCuttingLine(t, () => hub.url, [3 * MIB, 3 * MIB, 3 * MIB]);
  const project = await createProject(hub);
  const { options, events } = publicationOf(t, project, line.url);
  const { artifact } = await publishProject(options);
  t.ok(sum(line) < artifact.size + MIB, `${sum(line)} bytes were sent for ${artifact.size}`);
  const from = resumed(events);
  t.equal(from.length, 3);
  t.ok(
    from.every((byte, index) => byte > (from[index - 1] ?? 2 * MIB)),
    from.join(" "),
  );
  t.match(events.filter(({ event }) => event === "upload.retrying").length, 3);
  let last = 0;
  for (const event of events) {
    if (event.event === "upload.resumed") last = event.from_byte;
    if (event.event !== "upload.progress") continue;
    t.ok(event.bytes >= last, "progress never goes back behind what is kept");
    last = event.bytes;
  }
  t.equal(last, artifact.size);
});

t.test("an upload that is not cut is one request", async (t) => {
  const hub = await startHub(t, { dataDir: join(t.testdir({}), "hub") });
  const door = await startDoor(t);
  door.hub = hub.url;
  const { options } = publicationOf(t, await createProject(hub), door.url);
  await publishProject(options);
  t.match(door.passages, [{ method: "POST", status: 201 }]);
  t.equal(door.passages.length, 1);
});

t.test("an upload that gets further with each attempt has more than four", async (t) => {
  const hub = await startHub(t, { dataDir: join(t.testdir({}), "hub") });
  const line = await openCuttingLine(
    t,
    () => hub.url,
    Array.from({ length: 5 }, () => 2 * MIB),
  );
  const project = await createProject(hub);
  const { options, events } = publicationOf(t, project, line.url);
  const { artifact, outcome } = await publishProject(options);
  t.equal(outcome, "published");
  t.equal(resumed(events).length, 5);
  t.ok(sum(line) < artifact.size + MIB, `${sum(line)} of ${artifact.size}`);
});

t.test("an upload that gets no further ends after four attempts", async (t) => {
  const hub = await startHub(t, { dataDir: join(t.testdir({}), "hub") });
  const line = await openCuttingLine(t, () => hub.url, [MIB / 2, 5000, 5000, 5000, 5000]);
  const project = await createProject(hub);
  const { options } = publicationOf(t, project, line.url);
  await t.rejects(publishProject(options), { code: "connection_failed" });
  t.equal(line.cuts.length, 1, "of five cuts four were made");
});

t.test("a hub that keeps nothing gets the whole again", async (t) => {
  const hub = await startHub(t, { dataDir: join(t.testdir({}), "hub") });
  const asked: string[] = [];
  // As hubs before 0.3.0: no such route, and fields that are not known are ignored.
  for (const status of [404, 405]) {
    const older = createServer((request, response) => {
      asked.push(`${request.method!} ${status}`);
      if (request.method === "GET") {
        response.writeHead(status, { "content-type": "text/html" }).end("<h1>no</h1>");
        return;
      }
      const isFirst = asked.filter((each) => each === `POST ${status}`).length === 1;
      if (isFirst) return void request.once("data", () => setTimeout(() => request.socket.destroy(), 50));
      request.resume();
      request.once("end", () => {
        response.writeHead(201, { "content-type": "application/json" });
        const facts = { artifact_id: "a", project_id: "p", version: "v", content_sha256: "c", size_bytes: 1 };
        response.end(JSON.stringify({ ...facts, created_at: "n" }));
      });
    });
    await new Promise<void>((resolve) => older.listen(0, "127.0.0.1", resolve));
    t.teardown(() => older.close());
    const url = `http://127.0.0.1:${(older.address() as AddressInfo).port}`;
    const { options, events } = publicationOf(t, await createProject(hub), url);
    t.match(await publishProject(options), { outcome: "published" });
    t.strictSame(resumed(events), []);
  }
  t.strictSame(asked, ["POST 404", "GET 404", "POST 404", "POST 405", "GET 405", "POST 405"]);
});

t.test("a hub that says it has bytes, and refuses the rest, gets the whole once", async (t) => {
  const hub = await startHub(t, { dataDir: join(t.testdir({}), "hub") });
  for (const [status, code, told] of [
    [409, "upload_differs", "upload_differs"],
    [422, "unprocessable", "publish_refused"],
  ] as const) {
    const asked: string[] = [];
    const liar = createServer((request, response) => {
      const json = (answered: number, body: object): void =>
        void response.writeHead(answered, { "content-type": "application/json" }).end(JSON.stringify(body));
      if (request.method === "GET") {
        asked.push("GET");
        return json(200, { upload_id: request.url!.split("/").at(-1), upload_offset: 1000 });
      }
      const chunks: Buffer[] = [];
      request.on("error", () => {});
      if (asked.length === 0) {
        asked.push("POST");
        return void request.once("data", () => setTimeout(() => request.socket.destroy(), 50));
      }
      request.on("data", (chunk: Buffer) => chunks.push(chunk));
      request.once("end", () => {
        const isRest = Buffer.concat(chunks).includes('name="rest"');
        asked.push(isRest ? "rest" : "whole");
        json(status, { error: "no", detail: "no", code });
      });
    });
    await new Promise<void>((resolve) => liar.listen(0, "127.0.0.1", resolve));
    t.teardown(() => liar.close());
    const url = `http://127.0.0.1:${(liar.address() as AddressInfo).port}`;
    const { options } = publicationOf(t, await createProject(hub), url);
    await t.rejects(publishProject(options), { code: told });
    t.strictSame(asked, ["POST", "GET", "rest", "whole"], code);
  }
});

t.test("an archive goes on as an artifact does", async (t) => {
  const hub = await startHub(t, { dataDir: join(t.testdir({}), "hub") });
  await hub.call("POST", "/devkeys/projects", { json: { name: "The Tide Table", kind: "plugin", slug: SLUG } });
  const file = join(temporaryFolder(t), "archive.zip");
  const archive = zipOf({
    "plugin.yaml": `name: ${SLUG}\nversion: 1.0.0\nentry_point: main.js\n`,
    "main.js": `// ${randomBytes(3 * MIB).toString("hex")}\n`,
  });
  writeFileSync(file, archive);
  const { signal } = new AbortController();
  for (const [version, seed] of [
    ["1.0.0", undefined],
    ["1.1.0", randomBytes(32)],
  ] as const) {
    const line = await openCuttingLine(t, () => hub.url, [2 * MIB, 2 * MIB]);
    const client = new MarketplaceClient("plugin", SLUG, { hubUrl: line.url, apiKey: hub.adminKey, timeoutMs: 10_000 });
    const events: RetryEvent[] = [];
    const secrets = { signingSecret: "a-secret-of-sixteen", seed };
    const tell = { signal, emit: (event: RetryEvent) => void events.push(event) };
    const { release } = await publishArchive(client, { version }, file, secrets, tell);
    t.equal(release.size_bytes, archive.length);
    t.equal(resumed(events).length, 2);
    t.ok(sum(line) < archive.length + MIB, `${sum(line)} of ${archive.length}`);
  }
});
