// Holds: which wall a plugin gets (lib/runtime/walls/find-wall.ts)
import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { pino } from "pino";
import t from "tap";
import { integration } from "../../../../lib/contract/files/integration.ts";
import { examineWall } from "../../../../lib/runtime/examine-wall.ts";
import { chooseWall } from "../../../../lib/runtime/lifecycle/choose-walls.ts";
import { createRuntime } from "../../../../lib/runtime/runtime.ts";
import { findWall } from "../../../../lib/runtime/walls/find-wall.ts";
import { seccompFilter } from "../../../../lib/runtime/walls/seccomp.ts";
import { needs, programFile } from "../../../support/programs/optional.ts";
import { actions, isAlive, sandboxed, startHost, trusted } from "../../../support/runtime/host.ts";
import { usePath } from "../../../support/runtime/path.ts";
import { until } from "../../../support/until.ts";

const BOX = actions(`
  echo: (payload) => payload,
  loop: (_payload, { dataDir }) => { process.getBuiltinModule("fs").writeFileSync(dataDir + "/loops", ""); for (;;); },
  facts: () => ({ pid: process.pid, memory: process.memoryUsage(), zone: Intl.DateTimeFormat().resolvedOptions().timeZone }),
  abort: () => process.abort(),
  loaded: () => process.moduleLoadList,
`);
const skip = needs("bwrap");
const nobody = process.getuid?.() === 0 ? { uid: 65534, gid: 65534 } : undefined;
const required = { plugins: { sandbox: { wall: "required" } } };

/** A `bwrap` that is a script; the folder that holds it. */
function falseBwrap(t: { teardown(back: () => void): void }, script: string): string {
  const folder = mkdtempSync(join(tmpdir(), "bwrap-"));
  t.teardown(() => rmSync(folder, { recursive: true }));
  chmodSync(folder, 0o755);
  writeFileSync(join(folder, "bwrap"), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  return folder;
}

t.test("the log's first line, status and health say what holds a plugin", { skip }, async (t) => {
  const host = await startHost(t, { plugins: { box: sandboxed("box", BOX) }, configuration: required });
  t.match(
    host.logs[0]?.msg,
    /^sandboxed plugins are held by Node's permission model.* and bubblewrap \d.*: namespaces/,
  );
  const { held_by, pid } = (await host.status("box")) as { held_by: string[]; pid: number };
  t.match(held_by.join(", "), nobody ? /^node, uid 65534, bubblewrap \d/ : /^node, bubblewrap \d/);
  t.ok(isAlive(pid), "the process is named as the host numbers it");
  const { body } = await host.system("GET", "/plugin/ipc/health");
  t.match(body, { checks: { sandbox: { status: "healthy", message: /^1 sandboxed plugins run; bubblewrap/ } } });
  const { pid: inside, memory, zone } = (await host.result("box", "facts")) as Record<string, never>;
  t.equal(inside, 1);
  t.ok((memory as unknown as { rss: number }).rss > 10_000_000);
  t.equal(zone, Intl.DateTimeFormat().resolvedOptions().timeZone);
  const loaded = (await host.result("box", "loaded")) as string[];
  t.notMatch(loaded.join(), /undici|internal.http/, "a sandbox starts without what only some plugins use");
});

t.test("a wall that is required and missing keeps sandboxed plugins out, and says which package", async (t) => {
  usePath(t, "/nowhere");
  const plugins = { box: sandboxed("box", BOX), other: trusted("other", BOX) };
  const app = { env: "production", secret_key: "0f1e2d3c4b5a69788796a5b4c3d2e1f0" };
  const host = await startHost(t, { plugins, configuration: { app } });
  const headers = { "x-plugin-key": app.secret_key };
  const { body } = await host.request("GET", "/plugin/ipc/status", { headers });
  const found = Object.fromEntries((body as { plugins: { name: string }[] }).plugins.map((item) => [item.name, item]));
  t.match(found["box"], { state: "error", error_code: "sandbox_unavailable", error: /install the package bubblewrap/ });
  t.match(found["other"], { state: "loaded" });
});

t.test("a program that only tries a plugin does not warn of a missing wall", async (t) => {
  const lines: { level: number }[] = [];
  const stream = { write: (line: string) => void lines.push(JSON.parse(line) as { level: number }) };
  const settings = integration.parse({ app: { secret_key: "a-plugin-key" }, plugins: { sandbox: { wall: "off" } } });
  for (const quiet of [true, false])
    await chooseWall(settings, undefined, pino({ level: "debug" }, stream), { waived: undefined, quiet });
  t.strictSame(
    lines.map(({ level }) => level),
    [20, 40],
  );
});

t.test("a wall that is preferred and missing is told of, and one that is off is not looked for", async (t) => {
  usePath(t, "/nowhere");
  const host = await startHost(t, { plugins: { box: sandboxed("box", BOX) } });
  t.match(host.logs[0]?.msg, /without a second wall: bwrap was not found/);
  t.notMatch(((await host.status("box")) as { held_by: string[] }).held_by.join(), /bubblewrap/);
  const off = { plugins: { sandbox: { wall: "off" } } };
  const without = await startHost(t, { plugins: { box: sandboxed("box", BOX) }, configuration: off });
  t.match(without.logs[0]?.msg, /plugins.sandbox.wall is off/);
  t.equal(await without.result("box", "echo", 1), 1);
});

t.test(
  "a kernel that refuses namespaces is quoted",
  { skip: process.platform !== "linux" && "bubblewrap is Linux's" },
  async (t) => {
    const folder = falseBwrap(
      t,
      `[ "$1" = --version ] && { echo "bubblewrap 9.9"; exit 0; }
       echo "bwrap: No permissions to create a new namespace" >&2; exit 1`,
    );
    writeFileSync(join(folder, "systemd-run"), "#!/bin/sh\necho systemd 999\n", { mode: 0o755 });
    const found = await findWall(undefined, folder);
    t.match(found, {
      wall: undefined,
      reason: /cannot build it: bwrap: No permissions to create a new namespace; .*RestrictNamespaces=/,
    });
    t.match(found, { reason: /setpriv was not found/ });
    t.notMatch(found, { reason: /systemd-run/ }, "a systemd at hand is not asked");
  },
);

t.test(
  "where the kernel refuses a fresh /proc, the sandbox has none and still tells its memory",
  { skip },
  async (t) => {
    const folder = falseBwrap(
      t,
      `case " $* " in *" --proc /proc "*) echo "bwrap: Can't mount proc" >&2; exit 1;; esac; exec ${programFile("bwrap")} "$@"`,
    );
    usePath(t, `${folder}:${process.env["PATH"] ?? ""}`);
    const host = await startHost(t, { plugins: { box: sandboxed("box", BOX) }, configuration: required });
    t.match(host.logs[0]?.msg, /no \/proc,/);
    const { memory } = (await host.result("box", "facts")) as { memory: { rss: number; heapUsed: number } };
    t.ok(memory.rss > 10_000_000 && memory.heapUsed > 1_000_000, JSON.stringify(memory));
  },
);

t.test("what the wall holds ends with the wall, and a signal inside is told as one", { skip }, async (t) => {
  const host = await startHost(t, { plugins: { box: sandboxed("box", BOX) }, configuration: required });
  const { pid } = (await host.status("box")) as { pid: number };
  const [, parent] = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]!.split(" ");
  const call = host.call("box", "loop");
  // Until then the next process would get the call.
  await until(() => existsSync(join(host.root, "plugins/box/data/loops")));
  process.kill(Number(parent), "SIGKILL");
  t.match(await call, { status: 500, body: { code: "plugin_crashed" } });
  await until(() => !isAlive(pid));
  t.equal(await host.result("box", "echo", 1), 1);
  t.match(await host.call("box", "abort"), { status: 500, body: { code: "memory_exceeded" } });
});

t.test("an ordinary user gets the same wall", { skip: skip || (nobody === undefined && "is one") }, async (t) => {
  const root = t.testdir({
    plugins: {
      box: { "plugin.yaml": "{name: box, version: 1.0.0, entry_point: main.mjs}", "main.mjs": BOX, data: {} },
    },
    "integration.yaml": "{app: {secret_key: a-plugin-key, server: {port: 0}}, plugins: {sandbox: {wall: required}}}\n",
    "serve.mjs": `
      import { createRuntime } from ${JSON.stringify(fileURLToPath(new URL("../../../../lib/runtime/runtime.ts", import.meta.url)))};
      const runtime = await createRuntime({ root: import.meta.dirname });
      await runtime.listen();
      console.log(JSON.stringify([process.getuid(), runtime.catalogue.find("box").status()]));
      await runtime.close();`,
  });
  for (const path of ["", ...readdirSync(root, { recursive: true, encoding: "utf8" })]) {
    if (lstatSync(join(root, path)).isDirectory()) chmodSync(join(root, path), 0o755);
    chownSync(join(root, path), 65534, 65534);
  }
  const options = { ...nobody, stdio: ["ignore", "pipe", "pipe"] as ["ignore", "pipe", "pipe"] };
  const runtime = spawn(
    "/bin/sh",
    // The runner's own hooks would write where this user may not.
    ["-c", 'unset NODE_OPTIONS; exec "$0" "$@"', process.execPath, join(root, "serve.mjs")],
    options,
  );
  let text = "";
  let log = "";
  runtime.stdout.on("data", (chunk: Buffer) => (text += chunk.toString()));
  runtime.stderr.on("data", (chunk: Buffer) => (log += chunk.toString()));
  await once(runtime, "close");
  const [uid, status] = JSON.parse(text.trim().split("\n").at(-1) ?? "") as [number, { held_by: string[] }];
  t.equal(uid, 65534, log);
  t.match(status, { state: "loaded", held_by: ["node", /^bubblewrap/] });
});

t.test("sealift doctor learns what would hold sandboxed plugins", { skip }, async (t) => {
  const root = t.testdir({
    "integration.yaml": "app: { secret_key: 0f1e2d3c4b5a69788796a5b4c3d2e1f0, env: production }\n",
  });
  t.match(await examineWall(root), { status: "ok", message: /^bubblewrap \d/ });
  t.equal(await examineWall(join(root, "nowhere")), undefined, "a host without a runtime has no such finding");
  usePath(t, "/nowhere");
  t.match(await examineWall(root), { status: "failed", message: /install the package bubblewrap/ });
  writeFileSync(join(root, "integration.yaml"), "app: { secret_key: k }\n");
  t.match(await examineWall(root), { status: "warning", message: /bwrap was not found/ });
  writeFileSync(join(root, "integration.yaml"), "app: { secret_key: k }\nplugins: { sandbox: { wall: off } }\n");
  t.match(await examineWall(root), { status: "warning", message: /wall is off/ });
  writeFileSync(join(root, "integration.yaml"), "app: { secret_key: '${NOT_SET_ANYWHERE}' }\n");
  t.match(await examineWall(root), { status: "warning", message: /NOT_SET_ANYWHERE is not set/ });
});

t.test("a plugin that is debugged gets no wall, which the debugger could not get through", async (t) => {
  const root = t.testdir({
    plugins: { box: { "plugin.yaml": "{name: box, version: 1.0.0, entry_point: main.mjs}", "main.mjs": BOX } },
  });
  const runtime = await createRuntime({
    root,
    configuration: { app: { secret_key: "k", server: { port: 0 } }, ...required },
    env: {},
    inspect: { host: "127.0.0.1", port: 0 },
    logger: pino({ level: "silent" }),
  });
  t.teardown(() => runtime.close());
  await runtime.listen();
  const status = runtime.catalogue.find("box")?.status();
  t.equal(status?.state, "loaded", status?.error ?? "");
  t.notMatch(status?.held_by?.join(), /bubblewrap/);
});

t.test("the filter has the kernel's form on both architectures, and there is none for others", (t) => {
  for (const architecture of ["x64", "arm64"]) {
    const filter = seccompFilter({ families: [2], sharesHost: true }, architecture);
    t.ok(filter && filter.length % 8 === 0 && filter.length / 8 < 4096, architecture);
    const outside: number[] = [];
    for (let at = 0; filter && at < filter.length; at += 8) {
      const furthest = Math.max(filter.readUInt8(at + 2), filter.readUInt8(at + 3));
      if (at / 8 + 1 + furthest > filter.length / 8) outside.push(at / 8);
    }
    t.same(outside, [], "each jump lands inside of the program");
    t.equal(filter?.readUInt16LE(filter.length - 8), 6, "which ends with an answer");
  }
  t.equal(seccompFilter({ families: [] }, "mips"), undefined);
  t.end();
});
