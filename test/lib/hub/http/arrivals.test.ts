import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import t from "tap";
import {
  createProject,
  publication,
  publishForm,
  type RunningHub,
  startHub,
  storedFiles,
} from "../../../support/hub/harness.ts";
import { until } from "../../../support/until.ts";

/** Sends the beginning of a request whose body is longer. */
async function begin(hub: RunningHub, path: string, headers: string[], body: Uint8Array | string): Promise<Socket> {
  const { hostname, port } = new URL(hub.url);
  const socket = connect(Number(port), hostname);
  await once(socket, "connect");
  socket.on("error", () => {});
  const lines = [`POST ${path} HTTP/1.1`, "Host: hub", "Content-Length: 1000000", ...headers, "", ""];
  socket.write(lines.join("\r\n"));
  socket.write(body);
  return socket;
}

async function answerOf(socket: Socket): Promise<string> {
  let text = "";
  socket.on("data", (chunk: Buffer) => (text += chunk.toString()));
  await once(socket, "close");
  return text;
}

async function uploadOf(version: string): Promise<{ type: string; body: Buffer }> {
  const form = new Response(publishForm(publication(version, { size: 1_000_000 })));
  return { type: form.headers.get("content-type")!, body: Buffer.from(await form.arrayBuffer()) };
}

t.test("a body that stops is answered with 408 before its connection is closed", async (t) => {
  const hub = await startHub(t, { arrivalLimits: { lookMs: 20, patienceMs: 60 } });
  const project = await createProject(hub);
  const path = `/app/deploy/v1/projects/${project.id}/publish`;
  const { type, body } = await uploadOf("1.0.0");
  const key = `X-API-Key: ${project.key}`;
  for (const [to, headers, text] of [
    [path, [key, `Content-Type: ${type}`], body.subarray(0, 500_000)],
    ["/devkeys/projects", [`X-API-Key: ${hub.adminKey}`, "Content-Type: application/json"], '{"name":'],
  ] as const) {
    const answer = await answerOf(await begin(hub, to, [...headers], text));
    t.match(answer, /^HTTP\/1\.1 408 /);
    t.match(answer, /"code":"hub_unavailable"/);
  }
  await until(async () => (await storedFiles(hub)).length <= 0);
  t.equal((await project.publish(publication("1.0.0"))).status, 201);
});

t.test("a stalled upload makes room for another one of its owner, and moving ones do not", async (t) => {
  const hub = await startHub(t, { arrivalLimits: { lookMs: 50, patienceMs: 60_000, uploadsOfOwner: 2 } });
  const project = await createProject(hub);
  const path = `/app/deploy/v1/projects/${project.id}/publish`;
  const { type, body } = await uploadOf("1.0.0");
  const headers = [`X-API-Key: ${project.key}`, `Content-Type: ${type}`];
  const uploads = [await begin(hub, path, headers, body.subarray(0, 1000)), await begin(hub, path, headers, "")];
  const answers = uploads.map(answerOf);
  await until(async () => (await storedFiles(hub)).length >= 1);
  let isMoving = true;
  const moving = (async () => {
    for (let at = 1000; isMoving; at += 500, await delay(5))
      for (const socket of uploads) socket.write(body.subarray(at, at + 500));
  })();
  await delay(120);
  const refused = await project.publish(publication("2.0.0"));
  t.match(refused, { status: 429, body: { code: "rate_limited" } });
  t.ok(Number(refused.headers.get("retry-after")) > 0);

  isMoving = false;
  await moving;
  let published = refused;
  await until(async () => (published = await project.publish(publication("2.0.0"))).status !== 429);
  t.equal(published.status, 201);
  t.match(await Promise.race(answers), /^HTTP\/1\.1 408 /);
  for (const socket of uploads) socket.destroy();
});
