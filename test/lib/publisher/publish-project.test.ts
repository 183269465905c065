import { randomBytes } from "node:crypto";
import { chmodSync, existsSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import t from "tap";
import { DEFAULT_LIMITS } from "../../../lib/artifact/limits.ts";
import { keyService } from "../../../lib/client/key-service.ts";
import { publishArtifact } from "../../../lib/client/publish-client.ts";
import { asSealiftError, type SealiftError } from "../../../lib/contract/errors.ts";
import { buildProject, type PublishEvent, publishProject } from "../../../lib/publisher/publish-project.ts";
import { forgedSigner, planText, signedFile } from "../../support/forged/artifact.ts";
import { mountMemory } from "../../support/host/loop-file-system.ts";
import { startDoor, type Trouble } from "../../support/hub/door.ts";
import { startLyingHub } from "../../support/hub/lying-hub.ts";
import { createProject, startHub } from "../../support/hub/real-hub.ts";
import { json, redirect, stall } from "../../support/hub/scripted-server.ts";
import { API_KEY, callers, errorOf } from "../../support/hub/surface-b.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const START = "x-sealift-signature-start";
const large = signedFile(randomBytes(12 * 1024 * 1024), forgedSigner());

t.test("a hub that refuses a large upload before it has read it is heard", async (t) => {
  for (const [status, kind] of [
    [413, "PublishError"],
    [401, "AuthenticationError"],
    [403, "AuthenticationError"],
  ] as const) {
    const server = createServer((request, response) => {
      response.writeHead(status, { "content-type": "application/json" });
      response.end(JSON.stringify({ error: "no need to go on" }));
      // As servers that linger: the rest arrives and is thrown away.
      request.resume();
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    t.teardown(() => server.close());
    const hubUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const error = await errorOf(callers(t, { hubUrl, artifact: large }).publish());
    t.match(error, { kind, status, message: /no need to go on/ }, `${status}`);
  }
});

t.test("a hub that cuts the connection in the middle of an upload is a connection error", async (t) => {
  const server = createServer((request) => {
    request.once("data", () => setTimeout(() => request.socket.destroy(), 20));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.teardown(() => server.close());
  const hubUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const error = await errorOf(callers(t, { hubUrl, artifact: large }).publish());
  t.match(error, { kind: "PublishError", code: "connection_failed", exitCode: 75 });
});

t.test("a hub that is silent after an upload, or stops reading it, ends at the time-out", async (t) => {
  const hub = await startLyingHub(t, { artifact: large });
  hub.answer("publish", stall);
  const options = { artifact: large, timeoutMs: 700 };
  t.match(await errorOf(callers(t, { hubUrl: hub.url, ...options }).publish()), {
    kind: "PublishError",
    code: "timed_out",
    exitCode: 75,
  });
  const deaf = createServer((request) => request.pause());
  await new Promise<void>((resolve) => deaf.listen(0, "127.0.0.1", resolve));
  t.teardown(() => {
    deaf.closeAllConnections();
    deaf.close();
  });
  const hubUrl = `http://127.0.0.1:${(deaf.address() as AddressInfo).port}`;
  t.match(await errorOf(callers(t, { hubUrl, ...options }).publish()), { code: "timed_out" });
});

t.test("a redirected publication sends the whole file again", async (t) => {
  const hub = await startLyingHub(t, { artifact: large });
  hub.answer("publish", redirect(307, "/elsewhere/publish"));
  const publish = callers(t, { hubUrl: hub.url, artifact: large }).publish;
  hub.answer(
    "publish",
    redirect(307, ({ path }) => `/elsewhere${path}`),
    json(201, { artifact_id: "a", project_id: "p", version: "v", content_sha256: "c", size_bytes: 1, created_at: "n" }),
  );
  await publish();
  const requests = hub.to("publish");
  t.equal(requests.length, 2);
  for (const { body, headers } of requests) {
    t.ok(body.includes(large.file), `${body.length} bytes`);
    t.equal(headers[START], Buffer.alloc(64, 1).toString("base64"), "and how its signature begins");
  }
});

t.test("a file that is gone ends the publication with an error, not with silence", async (t) => {
  const hub = await startLyingHub(t, { artifact: large });
  const base64 = (bytes: Uint8Array) => Buffer.from(bytes).toString("base64");
  const publishing = publishArtifact(
    { hubUrl: hub.url, apiKey: API_KEY, timeoutMs: 3000, projectId: "prj_0123456789abcdef" },
    {
      version: "1.0.0",
      project_name: "Demo",
      content_sha256: "0".repeat(64),
      dek: base64(large.dek),
      signature: base64(large.signature),
      signer_public_key: base64(large.publicKey),
    },
    join(t.testdir({}), "nowhere.xdeploy"),
  );
  await t.rejects(publishing);
});

function source(folder: string, projectId: string, files: Record<string, string | Uint8Array> = {}): string {
  const root = join(folder, "source");
  const all: Record<string, string | Uint8Array> = {
    "deployment/install.yaml": planText(projectId, "  - { id: install, action: install_plugin, plugin: demo }\n"),
    "plugins/demo/plugin.yaml": "name: demo\nversion: 1.0.0\n",
    "plugins/demo/.env": "SECRET=1\n",
    ...files,
  };
  for (const [path, content] of Object.entries(all)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), content);
  }
  return root;
}

t.test("an upload is repeated after a hub that is away or an answer that is lost, and is published once", async (t) => {
  const folder = t.testdir({});
  const hub = await startHub(t, { dataDir: join(folder, "hub") });
  const door = await startDoor(t);
  door.hub = hub.url;
  const troubles: Trouble[] = [
    { kind: "answer", status: 503, retryAfter: 1 },
    { kind: "lost", heard: false },
    { kind: "lost", heard: true },
  ];
  door.trouble = () => troubles.shift() ?? { kind: "none" };
  const project = await createProject(hub);
  const events: PublishEvent[] = [];
  const options = {
    sourceRoot: source(folder, project.id),
    projectId: project.id,
    projectName: "Demo",
    version: "1.0.0",
    include: [],
    limits: DEFAULT_LIMITS,
    signal: new AbortController().signal,
    emit: (event: PublishEvent) => events.push(event),
    seed: randomBytes(32),
    level: 3,
    hub: { hubUrl: door.url, apiKey: project.key, timeoutMs: 10_000 },
  };
  t.match(await publishProject(options), { outcome: "published", record: { version: "1.0.0" } });
  t.match(
    events.filter(({ event }) => event === "upload.retrying"),
    [
      { attempt: 2, attempts: 4, wait_ms: 1000, code: "hub_unavailable" },
      { attempt: 3, attempts: 4, wait_ms: 0, code: "connection_failed" },
      { attempt: 4, attempts: 4, code: "connection_failed" },
    ],
  );
  t.strictSame(
    door.passages.map(({ status }) => status),
    [503, undefined, 201, 200],
  );

  door.trouble = () => ({ kind: "answer", status: 403 });
  await t.rejects(publishProject({ ...options, version: "1.1.0" }), { code: "forbidden" });
  t.equal(door.passages.length, 5, "a refusal is final");
});

t.test(
  "the artifact is sent while it is packed, its signature last; a server that wants a length gets one",
  async (t) => {
    const folder = t.testdir({});
    const record = { artifact_id: "a", project_id: "p", version: "v", content_sha256: "c", size_bytes: 1 };
    const answers: [number, unknown][] = [
      [411, { error: "say how long it is" }],
      [201, { ...record, created_at: "n" }],
      [401, { error: "slk_no_such_key" }],
    ];
    const bodies: { headers: IncomingHttpHeaders; body: string }[] = [];
    const server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on("data", (chunk: Buffer) => chunks.push(chunk));
      request.on("error", () => {});
      const answer = (): void => {
        bodies.push({ headers: request.headers, body: Buffer.concat(chunks).toString("latin1") });
        const [status, body] = answers.shift()!;
        response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
      };
      // The key is refused at once, everything else when it is whole.
      if (answers[0]?.[0] === 401) answer();
      else request.on("end", answer);
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    t.teardown(() => server.close());
    const projectId = "prj_0123456789abcdef";
    const options = {
      sourceRoot: source(folder, projectId, { "plugins/demo/data.bin": large.file }),
      ...{ projectId, projectName: "Demo", version: "1.0.0", include: [], limits: DEFAULT_LIMITS, level: 3 },
      ...{ signal: new AbortController().signal, emit: () => {}, seed: randomBytes(32) },
      hub: { hubUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, apiKey: API_KEY, timeoutMs: 10_000 },
    };
    t.match(await publishProject(options), { outcome: "published" });
    const [first, second] = bodies;
    t.match(first!.headers, { "transfer-encoding": "chunked" });
    t.ok(first!.body.indexOf('"version"') < first!.body.indexOf('"artifact"'));
    t.ok(first!.body.indexOf('"artifact"') < first!.body.indexOf('"signature"'), "behind the file");
    t.equal(Number(second!.headers["content-length"]), second!.body.length);
    t.ok(second!.body.indexOf('"signature"') < second!.body.indexOf('"artifact"'), "before the file");
    const start = Buffer.from(String(first!.headers[START]), "base64");
    const valueOf = (field: string): Buffer =>
      Buffer.from(new RegExp(`name="${field}"\r\n\r\n([^\r]+)`).exec(second!.body)![1]!, "base64");
    t.same(start, Buffer.concat([valueOf("signature").subarray(0, 32), valueOf("signer_public_key")]));
    t.equal(second!.headers[START], first!.headers[START], "a retry sends the same R");

    const output = join(folder, "kept.xdeploy");
    await t.rejects(publishProject({ ...options, output }), { code: "key_rejected" });
    t.ok(existsSync(`${output}.json`), "what was to be kept is whole, although the upload was refused");
    await t.rejects(publishProject({ ...options, output }), { code: "usage" }, "a file that exists ends the upload");
  },
);

t.test("a full temporary folder ends the publication at once, and is not a failure of the connection", async (t) => {
  const mounted = mountMemory(t, 4 * 1024 * 1024);
  if ("reason" in mounted) return void t.comment(`not mounted here: ${mounted.reason}`);
  const folder = t.testdir({});
  const hub = await startHub(t, { dataDir: join(folder, "hub") });
  const project = await createProject(hub);
  const before = process.env.TMPDIR;
  process.env.TMPDIR = mounted.folder;
  t.teardown(() => (before === undefined ? delete process.env.TMPDIR : (process.env.TMPDIR = before)));
  const events: PublishEvent[] = [];
  const publishing = publishProject({
    sourceRoot: source(folder, project.id, { "plugins/demo/data.bin": large.file }),
    ...{ projectId: project.id, projectName: "Demo", version: "1.0.0", include: [], limits: DEFAULT_LIMITS, level: 3 },
    ...{ signal: new AbortController().signal, seed: randomBytes(32), emit: (event) => events.push(event) },
    hub: { hubUrl: hub.url, apiKey: project.key, timeoutMs: 10_000 },
  });
  const error = await publishing.catch((thrown: unknown) => thrown);
  t.match(asSealiftError(error), { code: "disk_full" });
  t.notOk(
    events.some(({ event }) => event === "upload.retrying"),
    "nothing was repeated",
  );
});

t.test("a project is published, is unchanged the second time, and is refused with other content", async (t) => {
  const folder = t.testdir({});
  const hub = await startHub(t, { dataDir: join(folder, "hub") });
  const project = await createProject(hub);
  const root = source(folder, project.id, { "plugins/demo/data.bin": randomBytes(2_000_000) });
  const events: PublishEvent[] = [];
  // Other publications of this machine must not be seen.
  const { TMPDIR } = process.env;
  process.env.TMPDIR = temporaryFolder(t);
  t.teardown(() => {
    delete process.env.TMPDIR;
    if (TMPDIR !== undefined) process.env.TMPDIR = TMPDIR;
  });
  const { signal } = new AbortController();
  const options = {
    sourceRoot: root,
    projectId: project.id,
    projectName: "Demo",
    version: "1.0.0",
    include: [],
    limits: DEFAULT_LIMITS,
    signal,
    emit: (event: PublishEvent) => events.push(event),
    seed: randomBytes(32),
    level: 3,
    hub: { hubUrl: hub.url, apiKey: project.key, timeoutMs: 10_000 },
  };
  const first = await publishProject(options);
  t.match(first, { outcome: "published", record: { version: "1.0.0", project_id: project.id } });
  t.equal(first.record?.content_sha256, first.project.manifest.content_sha256);
  for (const name of ["scan.done", "pack.done", "sign.done", "upload.progress", "upload.done"])
    t.ok(
      events.some(({ event }) => event === name),
      name,
    );
  const progress = events.filter((event) => event.event === "upload.progress");
  t.ok(
    progress.every(({ bytes, total_bytes }) => total_bytes === null || bytes <= total_bytes),
    "never more than all",
  );
  t.strictSame(first.project.tree.leftOut, [{ path: "plugins/demo/.env", pattern: ".env" }]);

  t.match(await publishProject(options), { outcome: "unchanged" });
  writeFileSync(join(root, "plugins/demo/more.txt"), "changed");
  const refused = await publishProject(options).then(
    () => undefined,
    (error: SealiftError) => error,
  );
  t.match(refused, { kind: "PublishError", code: "version_exists", status: 409, exitCode: 5 });
  const stranger = await publishProject({ ...options, hub: { ...options.hub, apiKey: "slk_wrong" } }).then(
    () => undefined,
    (error: SealiftError) => error,
  );
  t.match(stranger, { kind: "AuthenticationError", code: "key_rejected", status: 401, exitCode: 3 });
  t.strictSame(readdirSync(tmpdir()), [], "nothing is left in the temporary folder");
});

t.test("--output keeps the artifact and its keys, --dry-run writes nothing", async (t) => {
  const root = source(t.testdir({}), "prj_0123456789abcdef");
  const output = join(dirname(root), "kept.xdeploy");
  const options = {
    sourceRoot: root,
    projectId: "prj_0123456789abcdef",
    projectName: "Demo",
    version: "1.0.0",
    include: [".env"],
    limits: DEFAULT_LIMITS,
    signal: new AbortController().signal,
    emit: () => {},
  };
  const dry = await buildProject(options);
  t.strictSame(dry.tree.broughtBack, [{ path: "plugins/demo/.env", pattern: ".env" }]);
  t.strictSame(readdirSync(dirname(root)), ["source"]);
  t.match(await publishProject({ ...options, seed: randomBytes(32), level: 3, output }), { outcome: "built" });
  t.ok(existsSync(output));
  t.equal(statSync(`${output}.json`).mode & 0o777, 0o600);
  chmodSync(output, 0o600);
  rmSync(output);
});

t.test("keys and projects are made, listed page by page and revoked through the key service", async (t) => {
  const folder = t.testdir({});
  const hub = await startHub(t, { dataDir: join(folder, "hub") });
  const client = keyService({ hubUrl: `${hub.url}/`, apiKey: hub.adminKey, timeoutMs: 5000 });
  const project = await client.createProject({ body: { name: "Demo", kind: "project" } });
  t.match(project, { kind: "project", slug: /^prj_/ });
  const key = await client.createKey({ body: { name: "hosts", project_id: project.slug, scopes: ["deploy"] } });
  t.type(key.deployment_credential, "string");
  const names: string[] = [];
  for await (const listed of client.listKeys()) {
    names.push(listed.name);
    t.notOk(JSON.stringify(listed).includes(key.key), "no secret is listed");
  }
  t.ok(names.includes("hosts"));
  const projects: string[] = [];
  for await (const listed of client.listProjects()) projects.push(listed.slug);
  t.ok(projects.includes(project.slug));
  await client.revokeKey({ params: { id: key.id } });
  const own = keyService({ hubUrl: hub.url, apiKey: key.key, timeoutMs: 5000 });
  t.match(await errorOf(own.listKeys().next()), { kind: "AuthenticationError", code: "key_rejected" });
  t.match(await errorOf(client.revokeKey({ params: { id: "key_unknown" } })), {
    kind: "DeploymentError",
    code: "not_found",
  });
});
