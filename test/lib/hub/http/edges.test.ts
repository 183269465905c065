// Only in test:all: clients that leave, wait and repeat, by raw sockets.
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { connect } from "node:net";
import { Writable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { pino } from "pino";
import t from "tap";
import { createProject, isErrorBody, publication, publishForm, startHub } from "../../../support/hub/harness.ts";
import { publishedArchive } from "../../../support/hub/published.ts";
import { temporaryFolder } from "../../../support/temporary-folder.ts";
import { until } from "../../../support/until.ts";

t.test("HEAD is answered wherever GET is, without a body", async (t) => {
  const hub = await startHub(t);
  const { publish } = await publishedArchive(hub, "plugin", "tide", temporaryFolder(t));
  await publish("1.0.0");
  const project = await createProject(hub);
  await project.publish(publication("1.0.0"));
  const bearer = await project.session();
  const of = `/app/deploy/v1/projects/${project.id}`;
  for (const path of [
    ...["/healthz", "/openapi.json", "/app/marketplace/plugins", "/app/marketplace/plugins/tide/versions"],
    ...["/devkeys/audit", "/devkeys/api-keys", `${of}/indexes`],
  ]) {
    const [got, head] = [await hub.call("GET", path), await hub.call("HEAD", path)];
    t.equal(head.status, 200, path);
    t.equal(head.bytes.length, 0);
    t.equal(head.headers.get("content-type"), got.headers.get("content-type"));
  }
  for (const path of [`${of}/versions/latest`, `${of}/artifacts/1.0.0`])
    t.equal((await hub.call("HEAD", path, { bearer })).status, 200, path);
});

t.test("a range of the last bytes that is longer than the file is the whole file", async (t) => {
  const hub = await startHub(t);
  const { publish } = await publishedArchive(hub, "plugin", "tide", temporaryFolder(t));
  await publish("1.0.0");
  const install = (range: string) => hub.call("GET", "/app/marketplace/plugins/tide/install", { headers: { range } });
  const whole = await install("bytes=0-");
  const longer = await install(`bytes=-${whole.bytes.length + 1}`);
  t.equal(longer.status, 206);
  t.ok(longer.bytes.equals(whole.bytes));
  t.equal((await install("bytes=-3")).bytes.length, 3);
  t.equal((await install("bytes=-0")).status, 416);
});

t.test("two Authorization headers are refused", async (t) => {
  const hub = await startHub(t);
  const project = await createProject(hub);
  await project.publish(publication("1.0.0"));
  const session = await project.session();
  const { hostname, port } = new URL(hub.url);
  const socket = connect(Number(port), hostname);
  const lines = [
    `GET /app/deploy/v1/projects/${project.id}/versions/latest HTTP/1.1`,
    "Host: hub",
    "Connection: close",
  ];
  const headers = [`Authorization: Bearer ${session}`, "Authorization: Bearer sls_other"];
  socket.write([...lines, ...headers, "", ""].join("\r\n"));
  const [answer] = (await once(socket, "data")) as [Buffer];
  t.match(answer.toString(), /^HTTP\/1\.1 400 /);
});

t.test("a form is refused for what is wrong with it", async (t) => {
  const hub = await startHub(t);
  const project = await createProject(hub);
  const what = publication("1.0.0");
  // The last of the four bits that no byte needs is set.
  const signature = what.signature.toString("base64");
  const loose = signature.slice(0, -3) + String.fromCharCode(signature.charCodeAt(signature.length - 3) + 1) + "==";
  t.same(Buffer.from(loose, "base64"), what.signature);
  isErrorBody(t, await project.publish(what, { changes: { signature: loose } }), 400, "bad_request");

  const path = `/app/deploy/v1/projects/${project.id}/publish`;
  const { key } = project;
  const form = new Response(publishForm(what));
  const headers = { "content-type": form.headers.get("content-type")!, "content-encoding": "gzip" };
  const body = Buffer.from(await form.arrayBuffer());
  isErrorBody(t, await hub.call("POST", path, { key, body, headers }), 415, "unsupported_media_type");

  const text = body.toString("latin1").replace(/; filename="artifact.xdeploy"\r\nContent-Type: .*/, "");
  const unnamed = Buffer.from(text, "latin1");
  const plain = { "content-type": headers["content-type"] };
  isErrorBody(t, await hub.call("POST", path, { key, body: unnamed, headers: plain }), 422, "unprocessable");
  t.equal((await project.publish(what)).status, 201);
});

t.test("catalogue and versions ask for a key, the detail record of a public plugin does not", async (t) => {
  const hub = await startHub(t);
  await (await publishedArchive(hub, "plugin", "tide", temporaryFolder(t))).publish("1.0.0");
  const plugins = "/app/marketplace/plugins";
  for (const path of [plugins, `${plugins}/tide/versions`]) {
    isErrorBody(t, await hub.call("GET", path, { key: null }), 401, "key_missing");
    isErrorBody(t, await hub.call("GET", path, { key: "slk_wrong" }), 401, "key_rejected");
    t.equal((await hub.call("GET", path)).status, 200);
  }
  t.equal((await hub.call("GET", `${plugins}/tide`, { key: null })).status, 200);
});

t.test("a client that leaves in the middle of an upload is not an error of the hub", async (t) => {
  const lines: { level: number; msg: string; err?: unknown }[] = [];
  const stream = new Writable({
    write(line: Buffer, _encoding, done) {
      lines.push(JSON.parse(line.toString()) as (typeof lines)[number]);
      done();
    },
  });
  const hub = await startHub(t, { logger: pino({ level: "info" }, stream) });
  const project = await createProject(hub);
  const form = new Response(publishForm(publication("1.0.0", { size: 100_000 })));
  const body = Buffer.from(await form.arrayBuffer());
  const { hostname, port } = new URL(hub.url);
  const socket = connect(Number(port), hostname);
  const type = `Content-Type: ${form.headers.get("content-type")}`;
  const head = [
    `POST /app/deploy/v1/projects/${project.id}/publish HTTP/1.1`,
    "Host: hub",
    `X-API-Key: ${project.key}`,
  ];
  socket.write([...head, type, `Content-Length: ${body.length}`, "", ""].join("\r\n"));
  socket.write(body.subarray(0, 50_000));
  await delay(50);
  socket.destroy();
  await until(() => lines.some(({ msg }) => msg === "the client has left"));
  t.strictSame(
    lines.filter(({ level, err }) => level >= 40 || err !== undefined),
    [],
  );
});

t.test("keys that somebody makes up do not free one that is at its limit, or on its way there", async (t) => {
  const hub = await startHub(t, { rateLimits: { requestsPerMinute: 10, failuresPerMinute: 10 }, clock: () => 1_000 });
  const issued = await hub.call("POST", "/devkeys/api-keys", { json: { name: "other" } });
  const poll = async (key: string) => (await hub.call("GET", "/devkeys/projects", { key })).status;
  const other = issued.body.key as string;
  for (let used = 0; used < 4; used++) t.equal(await poll(other), 200);
  for (let used = 1; used < 10; used++) t.equal(await poll(hub.adminKey), 200);
  t.equal(await poll(hub.adminKey), 429);

  const { hostname, port } = new URL(hub.url);
  const socket = connect(Number(port), hostname);
  let answered = 0;
  socket.on("data", (chunk: Buffer) => (answered += chunk.toString("latin1").split("HTTP/1.1 ").length - 1));
  const madeUp = () => createHash("md5").update(randomBytes(8)).digest("hex");
  for (let sent = 0; sent < 21_000; sent += 100) {
    const batch = Array.from({ length: 100 }, () =>
      ["GET /devkeys/projects HTTP/1.1", "Host: hub", `X-API-Key: slk_${madeUp()}`, "", ""].join("\r\n"),
    );
    socket.write(batch.join(""));
    await until(() => answered >= sent);
  }
  await until(() => answered >= 21_000);
  socket.destroy();
  t.equal(await poll(hub.adminKey), 429, "at its limit");
  for (let used = 4; used < 10; used++) t.equal(await poll(other), 200);
  t.equal(await poll(other), 429, "on its way");
});
