// Only in test:all: two hubs, and servers around them.
/**
 * A rollout over watched hosts with two hubs of one database, one of which is killed in the middle: the other one
 * halts it, and those who took the version go back.
 */
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { connect, createServer } from "node:net";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import t, { type Test } from "tap";
import { RolloutStart } from "../../commands/rollouts/rollouts.ts";
import { RolloutWait } from "../../commands/rollouts/wait.ts";
import { freePort } from "../support/free-port.ts";
import { rolloutHost } from "../support/host/rollout-host.ts";
import { watching } from "../support/host/watching.ts";
import { createProject, hubAt, publication } from "../support/hub/harness.ts";
import { runHere } from "../support/programs/run-here.ts";
import { start } from "../support/programs/watch-program.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

/** It passes with 200, too: nearly all of its time is the first deployment of each. */
const HOSTS = 60;
const CANARIES = 12;
/** The last canaries are bad: others have the version when they fail. */
const isBad = (index: number): boolean => index >= CANARIES - 3 && index < CANARIES;

/** One address before several ports: a connection goes to the first that takes it. */
async function startFailover(t: Test, ports: readonly number[]): Promise<string> {
  const server = createServer((client) => {
    client.on("error", () => {});
    void (async () => {
      for (const port of ports) {
        const hub = connect(port, "127.0.0.1");
        const isOpen = await once(hub, "connect").then(
          () => true,
          () => false,
        );
        if (!isOpen) continue;
        await Promise.allSettled([pipeline(client, hub), pipeline(hub, client)]);
        return;
      }
      client.destroy();
    })();
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  t.teardown(() => server.close());
  return `http://127.0.0.1:${(server.address() as { port: number }).port}`;
}

async function startHubProgram(t: Test, dataDir: string, more: readonly string[] = []) {
  const port = await freePort();
  const args = ["--data-dir", dataDir, "--listen", `127.0.0.1:${port}`, "--rate-limit", "0", "--json", ...more];
  const running = start(t, "hub-serve", args);
  await running.untilEvent("ready");
  return { port, running };
}

t.test("a rollout halts and goes back although the hub that began it was killed", async (t) => {
  const folder = temporaryFolder(t);
  const [a, b] = [join(folder, "a"), join(folder, "b")];
  const first = await startHubProgram(t, a);
  const shared = [
    "--database-url",
    `sqlite:${a}/hub.sqlite`,
    "--blob-url",
    `${a}/blobs`,
    "--kek-file",
    `${a}/kek.json`,
  ];
  const second = await startHubProgram(t, b, shared);
  const url = await startFailover(t, [first.port, second.port]);
  const admin = hubAt(url, (await readFile(join(a, "admin.key"), "utf8")).trim());
  const project = await createProject(admin, ["publish", "projects", "deploy", "report", "read"]);
  await project.publish(publication("1.0.0"));

  const rootOf = (name: string): string => join(folder, "hosts", name);
  const names = Array.from({ length: HOSTS }, (_, index) => `host-${index}`);
  const targets = names.map((name, index) =>
    rolloutHost(
      { url, projectId: project.id, apiKey: project.key },
      {
        ...{ name, projectRoot: rootOf(name), labels: { env: index < CANARIES ? "canary" : "prod" } },
        ...{ bad: isBad(index) ? "2.0.0" : undefined, intervalMs: 4000, hints: index < CANARIES },
      },
    ),
  );
  const w = watching(t, targets, Math.random, { spreadMs: 500, firstPauseMs: 500 });
  const done = new Set<string>();
  while (done.size < HOSTS) done.add((await w.until("deploy.done")).target);

  const sealift = (words: readonly string[]) =>
    runHere([RolloutStart, RolloutWait], [...words, "--hub-url", url, "--api-key", project.key]);
  const rules = ["--waves", "env=canary,50%,100%", "--soak", "1s", "--on-halt", "rollback", "--max-failing", "2"];
  t.equal((await sealift(["rollout", "start", project.id, "2.0.0", ...rules])).code, 0);
  await project.publish(publication("2.0.0"));
  await w.until("deploy.done", { version: "2.0.0", outcome: "deployed" });
  first.running.child.kill("SIGKILL");
  await first.running.ended;

  const waited = await sealift(["rollout", "wait", project.id, "--interval", "100ms"]);
  t.match(waited, { code: 1, stderr: /halted: 2\.0\.0 failed on 3 hosts/ });
  const runs = (name: string): Promise<string> => readFile(join(rootOf(name), "plugins/a/version"), "utf8");
  for (const name of names) while ((await runs(name)) !== "1.0.0") await w.until("deploy.done", { version: "1.0.0" });
  const took = new Set(w.all("deploy.done").flatMap(({ target, version }) => (version === "2.0.0" ? [target] : [])));
  t.strictSame(
    [...took].filter((name) => !names.slice(0, CANARIES).includes(name)),
    [],
    "no host beyond the first wave got it",
  );
});
