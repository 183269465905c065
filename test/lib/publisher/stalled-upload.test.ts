/** A small upload whose connection dies without the hub knowing: the publisher tries again at once. */
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { dirname, join } from "node:path";
import t, { type Test } from "tap";
import { DEFAULT_LIMITS } from "../../../lib/artifact/limits.ts";
import { type PublishEvent, publishProject } from "../../../lib/publisher/publish-project.ts";
import { planText } from "../../support/forged/artifact.ts";
import { createProject, startHub } from "../../support/hub/real-hub.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

/** The first connection passes some bytes, then the client's side is lost while the hub's stays open. */
async function halfDead(t: Test, hub: () => string, bytes: number): Promise<string> {
  const sockets = new Set<Socket>();
  let isFirst = true;
  const server = createServer((client) => {
    const { hostname, port } = new URL(hub());
    const upstream = connect(Number(port), hostname);
    sockets.add(client).add(upstream);
    client.on("error", () => {});
    upstream.on("error", () => {});
    if (!isFirst) {
      client.pipe(upstream);
      upstream.pipe(client);
      return;
    }
    isFirst = false;
    let passed = 0;
    client.on("data", (chunk: Buffer) => {
      const part = chunk.subarray(0, Math.max(0, bytes - passed));
      passed += chunk.length;
      upstream.write(part);
      if (passed >= bytes) setTimeout(() => client.destroy(), 200);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.teardown(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

for (const [what, size, at] of [
  ["of 40 KiB", 40 * 1024, 20_000],
  ["of 400 KiB", 400 * 1024, 200_000],
] as const)
  t.test(`an artifact ${what} is published although the hub still waits for its first connection`, async (t) => {
    const hub = await startHub(t, { dataDir: join(t.testdir({}), "hub") });
    const url = await halfDead(t, () => hub.url, at);
    const project = await createProject(hub);
    const root = join(temporaryFolder(t), "source");
    const files: Record<string, string | Uint8Array> = {
      "deployment/install.yaml": planText(project.id, "  - { id: install, action: install_plugin, plugin: demo }\n"),
      "plugins/demo/plugin.yaml": "name: demo\nversion: 1.0.0\n",
      "plugins/demo/data.bin": randomBytes(size),
    };
    for (const [path, content] of Object.entries(files)) {
      mkdirSync(dirname(join(root, path)), { recursive: true });
      writeFileSync(join(root, path), content);
    }
    const events: PublishEvent[] = [];
    await publishProject({
      ...{ sourceRoot: root, projectId: project.id, projectName: "Demo", version: "1.0.0", include: [] },
      ...{ limits: DEFAULT_LIMITS, signal: new AbortController().signal, seed: randomBytes(32), level: 3 },
      emit: (event) => void events.push(event),
      hub: { hubUrl: url, apiKey: project.key, timeoutMs: 10_000 },
    });
    t.ok(events.some(({ event }) => event === "upload.done"));
  });
