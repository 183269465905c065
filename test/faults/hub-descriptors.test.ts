// Only in test:all: a hub that opens all the files that it may, 9 s of a processor.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { Agent, request as httpRequest } from "node:http";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";
import t, { type Test } from "tap";
import { followChanges } from "../../lib/contract/changes/routes.ts";
import { pathOf } from "../../lib/contract/surfaces/paths.ts";
import { createProject, hubAt, publication, publishForm, type RunningHub } from "../support/hub/harness.ts";
import { until } from "../support/until.ts";

const PROGRAM = join(import.meta.dirname, "../../dist/bin/hub-serve.js");

type Hub = Pick<RunningHub, "url" | "call" | "adminKey"> & { child: ChildProcess };

/** Starts a hub of its own that may have `limit` descriptors. */
async function startLimited(t: Test, limit: number): Promise<Hub> {
  const dataDir = join(t.testdir(), "hub");
  const words = [process.execPath, PROGRAM, "--data-dir", dataDir, "--listen", "127.0.0.1:0", "--json"];
  const script = `ulimit -n ${limit} && exec "$@"`;
  const child = spawn("sh", ["-c", script, "sh", ...words], { stdio: ["ignore", "pipe", "inherit"] });
  t.teardown(() => child.kill("SIGKILL"));
  const [line] = (await once(createInterface({ input: child.stdout }), "line")) as [string];
  const { url } = JSON.parse(line) as { url: string };
  return { child, ...hubAt(url, (await readFile(join(dataDir, "admin.key"), "utf8")).trim()) };
}

async function memoryOf({ child }: Hub): Promise<number> {
  const status = await readFile(`/proc/${child.pid}/status`, "utf8");
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)![1]) / 1024;
}

/**
 * Waits until the hub, which looks every ten seconds, has given its memory back, but for a third: code that it has
 * compiled meanwhile, and what its allocator keeps.
 */
async function memoryComesBack(t: Test, hub: Hub, before: number): Promise<void> {
  const until = performance.now() + 60_000;
  let now = Infinity;
  while (now > before * 1.35 && performance.now() < until) {
    await delay(100);
    now = await memoryOf(hub);
  }
  t.ok(now <= before * 1.35, `${before.toFixed()} MB before, ${now.toFixed()} MB in the end`);
}

/** Opens connections that say nothing, and notes when they are closed. */
async function openIdle(t: Test, { url }: Hub, count: number): Promise<Set<Socket>> {
  const { hostname, port } = new URL(url);
  const open = new Set<Socket>();
  const settled: Promise<unknown>[] = [];
  for (let index = 0; index < count; index++) {
    const socket = connect(Number(port), hostname);
    open.add(socket);
    socket.on("error", () => {}).on("close", () => open.delete(socket));
    settled.push(Promise.race([once(socket, "connect"), once(socket, "close")]));
    if (index % 200 === 199) await Promise.all(settled.splice(0));
  }
  await Promise.all(settled);
  t.teardown(() => open.forEach((socket) => socket.destroy()));
  return open;
}

/** Polls on a connection that stays open. @returns the status, and whether the connection was there before */
const pollOn = (agent: Agent, { url, adminKey }: Hub): Promise<{ status: number; reused: boolean }> =>
  new Promise((resolve, reject) => {
    const path = `${url}/devkeys/projects`;
    const request = httpRequest(path, { agent, headers: { "x-api-key": adminKey } }, (response) => {
      response.resume().on("end", () => resolve({ status: response.statusCode!, reused: request.reusedSocket }));
    });
    request.on("error", reject).end();
  });

const room = async (hub: Hub) =>
  (await hub.call("GET", "/readyz?verbose", { key: null })).body as {
    status: string;
    connections: { open: number; most: number; shed: number; vouched: number };
    descriptors: { open: number; limit: number };
  };

for (const limit of [256, 1024]) {
  t.test(`a hub with ${limit} descriptors serves while strangers hold more connections than that`, async (t) => {
    const hub = await startLimited(t, limit);
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    t.teardown(() => agent.destroy());
    t.strictSame(await pollOn(agent, hub), { status: 200, reused: false });
    const idle = await openIdle(t, hub, limit + 100);

    t.strictSame(await pollOn(agent, hub), { status: 200, reused: true }, "a connection with a valid key stays open");
    const project = await createProject(hub);
    t.equal((await project.publish(publication("1.0.0"))).status, 201);
    const { connections, descriptors } = await room(hub);
    t.equal(descriptors.limit, limit);
    t.ok(connections.open <= connections.most && connections.most < limit / 2);
    t.ok(connections.shed > limit / 2, "strangers that were idle for longest are closed");
    t.ok(descriptors.open < limit - connections.most, "and as many descriptors are left for files");
    await delay(0);
    t.ok(idle.size < limit / 2);
    t.equal(hub.child.exitCode, null);
  });
}

t.test("streams of hints take one descriptor each: a hub of few descriptors still serves", async (t) => {
  const hub = await startLimited(t, 256);
  const { most } = (await room(hub)).connections;
  const project = await createProject(hub);
  const { hostname, port } = new URL(hub.url);
  const open = async (key: string): Promise<string> => {
    const socket = connect(Number(port), hostname).on("error", () => {});
    t.teardown(() => socket.destroy());
    socket.write(
      `GET ${pathOf(followChanges)}?targets=project:${project.id} HTTP/1.1\r\nHost: hub\r\nX-API-Key: ${key}\r\n\r\n`,
    );
    const [head] = (await once(socket, "data")) as [Buffer];
    return head.toString().slice(9, 12);
  };
  const streams = Math.floor(most * 1.5);
  const ofOneOwner = Math.ceil(streams * 0.75);
  for (let count = 0; count < ofOneOwner; count++) t.equal(await open(project.key), "200");
  t.equal(await open(project.key), "429");
  const { connections } = await room(hub);
  t.ok(connections.most >= most + ofOneOwner / 2 - 1, "a stream gives half of its room back");
  t.equal(connections.shed, 0);

  await openIdle(t, hub, 300);
  t.equal((await project.publish(publication("1.0.0"))).status, 201);
  const { connections: full, descriptors } = await room(hub);
  t.ok(full.open <= full.most);
  t.ok(descriptors.open < descriptors.limit - (full.most - ofOneOwner), "and files have a descriptor each");
});

t.test("streams that one client pipelines on one connection give no more of its room back than one", async (t) => {
  const hub = await startLimited(t, 256);
  const { most } = (await room(hub)).connections;
  const project = await createProject(hub);
  const { hostname, port } = new URL(hub.url);
  const socket = connect(Number(port), hostname).on("error", () => {});
  const path = `${pathOf(followChanges)}?targets=project:${project.id}`;
  socket.write(`GET ${path} HTTP/1.1\r\nHost: hub\r\nX-API-Key: ${project.key}\r\n\r\n`.repeat(40));
  await once(socket, "data");
  t.equal((await room(hub)).connections.most, most);
  socket.destroy();
});

t.test("8,000 idle connections leave a hub that serves, and its memory comes back", async (t) => {
  const hub = await startLimited(t, 4096);
  for (let warm = 0; warm < 300; warm++) await hub.call("GET", "/devkeys/projects");
  const before = await memoryOf(hub);
  const idle = await openIdle(t, hub, 8000);
  t.equal((await hub.call("GET", "/devkeys/projects")).status, 200);
  for (const socket of idle) socket.destroy();
  await memoryComesBack(t, hub, before);
});

t.test("300 uploads that stop are bounded for their owner, and the hub's memory comes back", async (t) => {
  const hub = await startLimited(t, 4096);
  const project = await createProject(hub);
  for (let warm = 0; warm < 5; warm++) await project.publish(publication(`1.0.${warm}`, { size: 4 * 1024 * 1024 }));
  const before = await memoryOf(hub);
  const { hostname, port } = new URL(hub.url);
  const form = new Response(publishForm(publication("2.0.0", { size: 4 * 1024 * 1024 })));
  const body = Buffer.from(await form.arrayBuffer());
  const head =
    `POST /app/deploy/v1/projects/${project.id}/publish HTTP/1.1\r\nHost: hub\r\nX-API-Key: ${project.key}\r\n` +
    `Content-Type: ${form.headers.get("content-type")}\r\nContent-Length: ${body.length}\r\n\r\n`;
  const statuses: number[] = [];
  const uploads = await Promise.all(
    Array.from({ length: 300 }, async () => {
      const socket = connect(Number(port), hostname);
      socket.on("error", () => {}).on("data", (data: Buffer) => statuses.push(Number(data.toString().slice(9, 12))));
      await once(socket, "connect");
      socket.write(head);
      socket.write(body.subarray(0, 1024 * 1024));
      return socket;
    }),
  );
  await until(() => statuses.length >= 300 - 32);
  // 408 is for one that had stalled for so long that it made room.
  t.ok(
    statuses.every((status) => status === 429 || status === 408),
    [...new Set(statuses)].join(),
  );
  const during = await memoryOf(hub);
  for (const socket of uploads) socket.destroy();
  t.ok(during < before * 1.5, `${before.toFixed()} MB before, ${during.toFixed()} MB with the uploads`);
  await until(async () => (await room(hub)).connections.open <= 10);
  t.equal((await project.publish(publication("3.0.0"))).status, 201);
  await memoryComesBack(t, hub, before);
});
