// Only in test:all: every program against each oddity of a server.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import t from "tap";
import { World } from "../support/host/world.ts";
import { makeCertificate } from "../support/hub/certificate.ts";
import { startHub } from "../support/hub/harness.ts";
import { get } from "../support/hub/mirrored.ts";
import { startReceiver } from "../support/hub/receiver.ts";
import { allowing } from "../support/hub/webhooks.ts";
import { type OddName, startOdd } from "../support/odd-servers.ts";
import { builtFile, builtProgram } from "../support/programs/command-line.ts";

/** Programs that run at a time. */
const AT_ONCE = 10;
const tls = makeCertificate();

/** Some of the oddities of test/lib/client/odd-servers.test.ts, which has all of them for every client. */
const ENDS: [name: OddName, code: number, says: RegExp][] = [
  // Every program meets the first three, which wait for the longest.
  ["half a head and silence", 75, /timed_out.*was silent for 1 s/],
  ["an end before the head", 75, /connection_failed.*The connection to \S+ was lost/],
  ["101", 1, /bad_answer.*answered 101 Switching Protocols to a plain request/],
  ["a flood of 1xx", 1, /bad_answer.*sent more than 16 informational answers/],
  ["a redirect to itself", 1, /redirect_loop.*redirects in a loop/],
];

/** Seconds. Only a silence is to end a request by its time limit. */
const timeoutFor = (name: OddName): number => (/silence/.test(name) ? 1 : 120);

/** Runs jobs, a few at a time. */
async function atOnce<T>(jobs: readonly T[], run: (job: T) => Promise<void>): Promise<void> {
  const next = jobs.values();
  const worker = async (): Promise<void> => {
    for (const job of next) await run(job);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}

t.test("whatever servers do, programs end with a code and a message", { timeout: 300_000 }, async (t) => {
  await using world = await World.make();
  await world.publish("1.0.0");
  const { admin, projectId } = world;
  const base = { PATH: process.env.PATH, XDG_CONFIG_HOME: "/nowhere" };
  const cwd = world.folder;
  const host = { ...world.hostSecrets(), ...base };
  let roots = 0;
  const newRoot = (): string => world.path(`root-${roots++}`);

  const watchOnce = (timeout: number, more: object = {}): string[] => {
    const root = newRoot();
    const target = { target: `project:${projectId}` };
    const shared = { project_root: root, timeout, signer_public_key: world.path("keys", "signer.pub") };
    writeFileSync(`${root}.yaml`, JSON.stringify({ ...shared, ...more, targets: [target] }));
    return ["--once", "--config", `${root}.yaml`];
  };
  const programs: [program: string, args: (timeout: number) => string[]][] = [
    ["sealift", () => ["project", "list"]],
    ["sealift", () => ["version", "yank", projectId, "1.0.0", "--reason", "it leaks"]],
    ["sealift", () => ["key", "revoke", "key_0123456789"]],
    ["deploy-publish", () => world.publishArgs("1.0.0")],
    ["deploy-project", () => world.deployArgs(newRoot())],
    ["watch", (timeout) => watchOnce(timeout)],
  ];

  await t.test("a hub that misbehaves", async (t) => {
    const jobs = programs.flatMap(([program, args], nth) =>
      ENDS.slice(0, nth === 0 ? ENDS.length : 3).map((end) => ({ program, args, end })),
    );
    await atOnce(jobs, async ({ program, args, end: [name, code, says] }) => {
      const odd = await startOdd(t, name, tls);
      const words = args(timeoutFor(name));
      const env = { ...host, ...admin, SEALIFT_HUB_URL: odd.url, SEALIFT_TIMEOUT: String(timeoutFor(name)) };
      const ended = await builtProgram(words, { cwd, env }, program);
      const what = `${program} ${words.slice(0, 2).join(" ")}: ${name}`;
      t.equal(ended.code, code, `${what}: ${ended.stderr}`);
      t.match((ended.stdout + ended.stderr).replaceAll("\n", " "), says, what);
      t.ok(odd.requests > 0, what);
      await t.resolves(odd.closed(), what);
    });
  });

  await t.test("a watch whose hub answers 101 goes on, and ends when it is told to", async (t) => {
    const odd = await startOdd(t, "101", tls);
    const env = { ...host, SEALIFT_HUB_URL: odd.url };
    const [, ...words] = watchOnce(timeoutFor("101"), { interval: "1s" });
    const watch = spawn(process.execPath, [builtFile("watch"), ...words], { env, cwd });
    t.teardown(() => watch.kill("SIGKILL"));
    const ended = once(watch, "exit");
    await Promise.race([odd.until(3), ended]);
    watch.kill("SIGTERM");
    t.strictSame(await ended, [0, null]);
    await t.resolves(odd.closed());
  });

  await t.test("a mirror that misbehaves costs a warning", async (t) => {
    await atOnce(["101", "half a head and silence", "a body that stops"] as OddName[], async (name) => {
      const odd = await startOdd(t, name, tls);
      const words = [...world.deployArgs(newRoot()), "--mirror", odd.url];
      // The hub of the test has to answer within it, too.
      const env = { ...host, SEALIFT_TIMEOUT: "5" };
      const ended = await builtProgram(words, { cwd, env }, "deploy-project");
      t.match(ended, { code: 0, stdout: "deployed 1.0.0\n" }, `${name}: ${ended.stderr}`);
      t.match(ended.stderr, odd.url, name);
      await t.resolves(odd.closed(), name);
    });
  });

  await t.test("a collector of traces that misbehaves changes no result", async (t) => {
    await atOnce(["101", "half a head and silence"] as OddName[], async (name) => {
      const odd = await startOdd(t, name, tls);
      const otel = { OTEL_EXPORTER_OTLP_ENDPOINT: odd.url, OTEL_EXPORTER_OTLP_TIMEOUT: "500" };
      const ended = await builtProgram(["project", "list"], { cwd, env: { ...base, ...admin, ...otel } });
      t.match(ended, { code: 0, stdout: /Harbour/, stderr: /collector of traces at \S+ takes none: it / }, name);
      await t.resolves(odd.closed(), name);
    });
  });

  await t.test("a mirror whose hub misbehaves answers that it cannot ask, and goes on", async (t) => {
    const odd = await startOdd(t, "101", tls);
    const args = [
      "mirror",
      "serve",
      "--hub-url",
      odd.url,
      "--cache-dir",
      world.path("cache"),
      "--listen",
      "127.0.0.1:0",
    ];
    const mirror = spawn(process.execPath, [builtFile("sealift"), ...args], { env: base, cwd });
    t.teardown(() => mirror.kill("SIGKILL"));
    const [ready] = (await once(mirror.stdout, "data")) as [Buffer];
    const url = /http:\S+/.exec(String(ready))![0];
    for (let call = 0; call < 2; call++)
      t.equal((await get(`${url}/app/deploy/v1/downloads/art_1?expires=9999999999&signature=ab`)).status, 502);
    await t.resolves(odd.closed());
    mirror.kill("SIGTERM");
    t.strictSame(await once(mirror, "exit"), [0, null]);
  });
});

t.test("receivers of webhooks that answer 101 hold no turn, and a test of one is answered", async (t) => {
  const hub = await startHub(t, { ...allowing(), rateLimits: false });
  const odd = await startOdd(t, "101", tls);
  const receiver = await startReceiver(t);
  const add = async (url: string) =>
    (await hub.call("POST", "/devkeys/webhooks", { json: { url } })).body as { id: string };
  const hooks = await Promise.all(Array.from({ length: 8 }, (_, number) => add(`${odd.url}/${number}`)));
  const tested = async (id: string): Promise<unknown> => {
    const answer = await hub.call("POST", `/devkeys/webhooks/${id}/test`);
    return [answer.status, (answer.body as { error?: string }).error];
  };
  const refused = "the receiver answered 101 Switching Protocols to a plain request";
  // More than all turns of the hub.
  for (let round = 0; round < 3; round++)
    for (const { id } of hooks) {
      const answer = await Promise.race([tested(id), sleep(60_000, "no answer", { ref: false })]);
      t.match(answer, [Number, new RegExp(refused)]);
    }
  await t.resolves(odd.closed());
  await add(receiver.url);
  await hub.call("POST", "/devkeys/projects", { json: { name: "Tide", kind: "plugin", slug: "tide" } });
  const at = "2026-01-01T00:00:00Z";
  for (const host of ["a", "b", "c"]) {
    const report = { kind: "plugin", slug: "tide", version: "1.0.0", status: "failed", host_id: host };
    const json = { ...report, error_message: "no port", started_at: at, completed_at: at };
    await hub.call("POST", "/app/deployments/deployments/report", { json });
  }
  // Those that answer 101 are asked before it.
  await receiver.until(3);
  t.match(receiver.received[0]!.body, { type: "host.failed" });
});
