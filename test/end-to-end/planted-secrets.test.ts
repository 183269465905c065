// In a process of its own: it starts two hosts with all their programs, and reads the processes of this machine.
// Only in test:all: what all programs leave is searched for fifty secrets.
/** Fifty planted secrets are nowhere but where they belong, after kills and restarts. */
import { randomBytes } from "node:crypto";
import { existsSync, openSync, readdirSync, readFileSync, readSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import t from "tap";
import { parsePrivateKey } from "../../lib/artifact/signatures/key-files.ts";
import { settingsShop } from "../support/host/settings-shop.ts";
import { startReceiver } from "../support/hub/receiver.ts";
import type { Running } from "../support/programs/watch-program.ts";
import { until } from "../support/until.ts";

const COUNT = 44;
const NAMES = Array.from({ length: COUNT }, (_, index) => `PLANTED_${String(index).padStart(2, "0")}`);
const secretOf = (): string => `planted-${randomBytes(12).toString("hex")}`;

/** Forms in which a secret may have been written. */
function formsOf(secret: string | Buffer): Buffer[] {
  const bytes = Buffer.from(secret);
  const forms = [bytes, ...(["hex", "base64", "base64url"] as const).map((form) => Buffer.from(bytes.toString(form)))];
  return forms.map((form) => Buffer.from(form.toString("latin1").replace(/=+$/, ""), "latin1"));
}

const longestLine = (text: string): string => text.split("\n").toSorted((a, b) => b.length - a.length)[0]!;

interface Planted {
  name: string;
  forms: Buffer[];
}

/** Names the secrets that some bytes hold. */
const foundIn = (bytes: Buffer, secrets: readonly Planted[]): string[] =>
  secrets.flatMap(({ name, forms }) => (forms.some((form) => bytes.includes(form)) ? [name] : []));

/** Lists files of a folder with the secrets that they hold. */
function filesWith(folder: string, secrets: readonly Planted[]): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    const names = foundIn(readFileSync(path), secrets);
    if (names.length > 0) found.set(path.slice(folder.length + 1), names);
  }
  return found;
}

/** Reads the memory of a process, as a core file has it. @returns undefined where this user may not */
function memoryOf(pid: number, hears: (bytes: Buffer) => void): boolean {
  let memory: number;
  try {
    memory = openSync(`/proc/${pid}/mem`, "r");
  } catch {
    return false;
  }
  const chunk = Buffer.alloc(8 * 1024 * 1024);
  for (const line of readFileSync(`/proc/${pid}/maps`, "latin1").split("\n")) {
    const [, from, to] = /^([0-9a-f]+)-([0-9a-f]+) rw/.exec(line) ?? [];
    if (from === undefined) continue;
    for (let at = BigInt(`0x${from}`); at < BigInt(`0x${to}`); at += BigInt(chunk.length - 256)) {
      const length = Math.min(chunk.length, Number(BigInt(`0x${to}`) - at));
      try {
        hears(chunk.subarray(0, readSync(memory, chunk, 0, length, at as unknown as number)));
      } catch {
        // Not all of it can be read.
      }
    }
  }
  return true;
}

/** Names processes whose arguments or environment hold secrets. */
function processesWith(file: "cmdline" | "environ", secrets: readonly Planted[]): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        return foundIn(readFileSync(`/proc/${name}/${file}`), secrets).length > 0 ? [Number(name)] : [];
      } catch {
        return [];
      }
    });
}

const skip = !existsSync("/proc/self/cmdline") && "needs /proc";
t.test("fifty planted secrets stay where they belong, through kills and restarts", { skip }, async (t) => {
  const receiver = await startReceiver(t);
  const hubArgs = ["--webhook-allow", "127.0.0.1", "--log-level", "trace"];
  const shop = await settingsShop(t, { optional: NAMES, secret: secretOf(), hubArgs });
  const { world, sealift, host, key, secret, env } = shop;
  const said: string[] = [];
  const run = async (...words: string[]) => {
    const ended = await sealift(...words);
    said.push(ended.stdout, ended.stderr);
    return ended;
  };
  await writeFile(world.path("hook"), `${receiver.url}/hook`);
  const hooked = await run("webhook", "add", "--name", "ci", "--webhook-url-file", "hook");
  t.match(hooked, { code: 0 }, hooked.stderr);
  const hosts = [await host("pier-7"), await host("pier-8")];
  for (const { watch } of hosts) await watch.untilEvent("target.held", { reason: "settings" });

  const values = NAMES.map(() => secretOf());
  await mkdir(world.path("secrets"));
  const sources: Record<string, unknown> = { SECRET: { file: "secret" } };
  for (const [index, name] of NAMES.entries()) {
    const value = values[index]!;
    await writeFile(world.path("secrets", name), value);
    if (index % 4 === 0) env[name] = value;
    sources[name] = [{ env: name }, value, { file: `secrets/${name}` }, { command: ["cat", `secrets/${name}`] }][
      index % 4
    ];
  }
  const operatorText = await readFile(world.path("operator/signer.key"), "utf8");
  const operatorSeed = Buffer.from(parsePrivateKey(Buffer.from(operatorText), "operator"));
  const hostSeeds = hosts.map(({ folder }) =>
    Buffer.from(readFileSync(join(folder, "host.key"), "utf8").trim(), "hex"),
  );
  const inviteSeed = (await readFile(world.path("line"), "utf8")).trim().split("-").slice(1).join("-");
  const secrets: Planted[] = [
    ...NAMES.map((name, index) => ({ name, forms: formsOf(values[index]!) })),
    { name: "SECRET", forms: formsOf(secret) },
    { name: "operator", forms: [...formsOf(operatorSeed), Buffer.from(longestLine(operatorText))] },
    ...hostSeeds.map((seed, index) => ({ name: `host ${index}`, forms: formsOf(seed) })),
    { name: "invite", forms: [Buffer.from(inviteSeed), ...formsOf(Buffer.from(inviteSeed, "base64url"))] },
    { name: "line", forms: [Buffer.from((await readFile(world.path("line"), "utf8")).trim())] },
  ];
  t.ok(secrets.length >= 50, `${secrets.length} secrets`);
  t.ok(secrets.every(({ forms }) => forms.every((form) => form.length >= 16)));

  // Arguments are looked at all the time.
  const [seen, looking] = [new Set<number>(), new AbortController()];
  const watching = (async () => {
    for (; !looking.signal.aborted; await sleep(50)) for (const pid of processesWith("cmdline", secrets)) seen.add(pid);
  })();
  const apply = async (level: string, ...more: string[]) => {
    const settings = [{ match: { env: "prod" }, apps: { web: { ...sources, LOG_LEVEL: level } } }];
    await writeFile(world.path("fleet.yaml"), JSON.stringify({ project: "Harbour", settings }));
    return run("settings", "apply", "fleet.yaml", ...key, "--accept-new", "--wait", "120s", "--json", ...more);
  };
  const first = await apply("info", "--all-at-once");
  t.match(first, { code: 0 }, first.stdout);
  for (const { watch } of hosts) await watch.untilEvent("deploy.done", { outcome: "deployed" });
  t.match(await apply("bad"), { code: 1 }, "a host goes back");

  // The watches are killed in the middle of a run, and started again.
  const watches: Running[] = hosts.map(({ watch }) => watch);
  for (const [index, event] of ["settings.taken", "step.started"].entries()) {
    const { watchAgain } = hosts[index]!;
    const watch = watches.at(index)!;
    const before = watch.said.events.length;
    const applying = apply(`level-${index}`, "--only", hosts[index]!.name);
    await watch.until(event, ({ events }) => events.slice(before).some((one) => one.event === event));
    watch.child.kill("SIGKILL");
    await watch.ended;
    watches.push(watchAgain());
    t.match(await applying, { code: 0 }, `after a kill at ${event}`);
  }
  for (const words of [
    ["settings", "show", "--json"],
    ["settings", "apply", "fleet.yaml", ...key, "--dry-run", "--json"],
    ["fleet", `project:${world.projectId}`, "--json"],
    ...hosts.flatMap(({ root }) => [
      ["status", "--project-root", root, "--json"],
      ["doctor", "--project-root", root, "--json"],
      ["app", "env", "web", "list", "--project-root", root, "--json"],
      ["app", "status", "web", "--project-root", root, "--json"],
    ]),
  ])
    await run(...words);
  const backup = await run("hub", "backup", "--data-dir", "hub", "--to", "backup", "--unsigned");
  t.match(backup, { code: 0 }, backup.stderr);
  await shop.publish("1.1.0");
  for (const watch of watches.slice(-2))
    await watch.untilEvent("deploy.done", { outcome: "deployed", version: "1.1.0" });
  // A version that tells its log all that it was given, as many do.
  const server = world.path("shop/apps/web/server.js");
  await writeFile(server, `console.error(process.env); console.error(JSON.stringify(process.env)); process.exit(3);`);
  await shop.publish("1.2.0");
  const failed = { outcome: "rolled_back", version: "1.2.0" };
  for (const watch of watches.slice(-2)) await watch.untilEvent("deploy.done", failed);
  await until(() => receiver.received.some(({ body }) => body.type === "host.failed"));
  const told = await run("fleet", `project:${world.projectId}`, "--json");
  t.match(told.stdout, "1.2.0");
  await until(() => receiver.received.length > 0);
  looking.abort();
  await watching;

  t.strictSame([...seen], [], "no argument of any program had one");
  const applications = new Set(await Promise.all(hosts.map(({ pid }) => pid())));
  const holders = processesWith("environ", secrets).filter((pid) => pid !== process.pid);
  t.strictSame(new Set(holders), applications, "the environment of the applications has them, and no other");
  // As a core file has it; that of the watch shows that memory is read.
  const inMemory = (running: Running): Set<string> | undefined => {
    const found = new Set<string>();
    const isRead = memoryOf(running.child.pid!, (bytes) => foundIn(bytes, secrets).forEach((name) => found.add(name)));
    return isRead ? found : undefined;
  };
  const ofWatch = inMemory(watches.at(-1)!);
  if (ofWatch === undefined) t.comment("the memory of processes cannot be read here");
  else {
    t.ok(ofWatch.size > 0);
    t.strictSame(inMemory(shop.hub), new Set(), "nothing is in the hub's memory");
  }
  const outputs = [...watches, ...hosts.map(({ serve }) => serve), shop.hub].map(
    (one) => one.said.stdout + one.said.stderr,
  );
  for (const text of [
    ...said.filter((one) => !one.startsWith("sjt_")),
    ...outputs,
    ...receiver.received.map((one) => one.text),
  ])
    t.strictSame(foundIn(Buffer.from(text), secrets), [], text.slice(0, 60));

  const state = `.sealift/state/settings-project-${world.projectId}.json`;
  const belongs = [
    ...["fleet.yaml", "line", "operator/signer.key", "secret", ...NAMES.map((name) => `secrets/${name}`)],
    ...hosts.flatMap(({ name }) => [`${name}/host.key`, `${name}-root/apps/web.env`, `${name}-root/${state}`]),
  ];
  const found = filesWith(world.folder, secrets);
  const isLog = (path: string): boolean => /^pier-[78]-root\/\.sealift\/logs\//.test(path);
  t.strictSame(
    [...found.keys()].filter((path) => !belongs.includes(path) && !isLog(path)),
    [],
  );
  t.ok([...found.keys()].some(isLog), "the application has told its own log");
  t.strictSame(
    belongs.filter((path) => !found.has(path)),
    [],
    "they are where they belong",
  );
  for (const { name } of hosts)
    t.notMatch(found.get(`${name}-root/${state}`), ["operator"], "no host has the operator's key");
});
