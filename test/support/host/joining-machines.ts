/** Hosts of a fleet in containers: what is to be seen of joining on machines that have one file of Sealift. */
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { text as textOf } from "node:stream/consumers";
import type { Test } from "tap";
import { Visitor } from "../hub/web.ts";
import type { ContainerImage, Machine } from "../programs/container.ts";
import { until } from "../until.ts";

/** The user's folder in a container. */
const HOME = "/var/lib/sealift";
const HOSTS = ["pier-1", "pier-2", "pier-3"] as const;

/** Writes a project with one plugin, which says its version. */
function writeProject({ data }: Machine, id: string, version: string): void {
  const source = join(data, version);
  for (const folder of ["deployment", "plugins/tides"]) mkdirSync(join(source, folder), { recursive: true });
  const steps = "steps: [{id: tides, action: install_plugin, plugin: tides}]";
  const files = {
    "deployment/install.yaml": `format_version: "1"\nproject_id: ${id}\nversion: ${version}\n${steps}\n`,
    "plugins/tides/plugin.yaml": `name: tides\nversion: ${version}\nexecution_mode: trusted\n`,
  };
  for (const [path, text] of Object.entries(files)) writeFileSync(join(source, path), text);
}

interface Watching {
  /** Waits for an event with these fields, which may have come already. */
  until: (fields: Record<string, string>) => Promise<void>;
  /** Waits for this many further checks. */
  checks: (more: number) => Promise<void>;
  count: (event: string) => number;
}

/** Collects the events of a watch. */
function eventsOf(child: ChildProcess): Watching {
  const events: Record<string, unknown>[] = [];
  const lines = createInterface({ input: child.stdout! });
  lines.on("line", (line) => events.push(JSON.parse(line) as Record<string, unknown>));
  const has = (fields: Record<string, string>): boolean =>
    events.some((event) => Object.entries(fields).every(([name, value]) => event[name] === value));
  const count = (name: string): number => events.filter(({ event }) => event === name).length;
  const untilTrue = async (isTrue: () => boolean): Promise<void> => {
    while (!isTrue()) await once(lines, "line", { signal: AbortSignal.timeout(30_000) });
  };
  return {
    until: (fields) => untilTrue(() => has(fields)),
    checks(more) {
      const wanted = count("check.started") + more;
      return untilTrue(() => count("check.started") >= wanted);
    },
    count,
  };
}

/**
 * Has three machines with nothing but an image join a hub that is another one: one is let in on the page, all deploy,
 * and one is removed.
 */
export async function joinMachines(t: Test, image: ContainerImage): Promise<void> {
  const started: ChildProcess[] = [];
  t.teardown(() => started.forEach((child) => child.kill("SIGTERM")));
  const start = (machine: Machine, ...words: string[]): ChildProcess => {
    const child = image.startOn(machine, ...words);
    started.push(child);
    return child;
  };
  const run = async (machine: Machine, ...words: string[]): Promise<string> => {
    const child = start(machine, ...words);
    const [stdout, stderr, [code]] = await Promise.all([
      textOf(child.stdout!),
      textOf(child.stderr!),
      once(child, "close") as Promise<[number]>,
    ]);
    if (code !== 0) throw new Error(`${words.join(" ")}: ${code}\n${stderr}`);
    return stdout;
  };

  const hub = image.machine("hub");
  let url = "";
  const serving = start(hub, "hub", "serve", "--listen", "127.0.0.1:0");
  for await (const line of createInterface({ input: serving.stdout! }))
    if ((url = /ready (\S+)/.exec(line)?.[1] ?? "") !== "") break;
  const operator = image.machine("operator");
  const key = readFileSync(join(hub.data, "sealift-hub/admin.key"), "utf8").trim();
  operator.env = { SEALIFT_HUB_URL: url, SEALIFT_API_KEY: key };
  const id = (await run(operator, "project", "create", "Harbour")).trim();
  await run(operator, "signer", "create", "--out", "keys");
  const publish = async (version: string): Promise<void> => {
    writeProject(operator, id, version);
    const words = ["--project-id", id, "--version", version, "--signing-key-file", "keys/signer.key"];
    await run(operator, "project", "publish", version, ...words);
  };
  await publish("1.0.0");
  const invite = (...more: string[]) => run(operator, "host", "invite", "--project", "Harbour", ...more);
  const [open, approved] = [await invite("--uses", "2"), await invite("--approve")];

  const machines = HOSTS.map((host) => ({ host, machine: image.machine(host) }));
  const joinOf = ({ host, machine }: (typeof machines)[number], token: string) => {
    writeFileSync(join(machine.data, "join.token"), token);
    const words = ["--token-file", "join.token", "--host-id", host, "--out", `${HOME}/watch`, "--yes"];
    return run(machine, "join", url, ...words, "--project-root", `${HOME}/root`);
  };
  const waiting = joinOf(machines[2]!, approved);
  await Promise.all(machines.slice(0, 2).map((each) => joinOf(each, open)));
  const page = `/projects/${id}/hosts`;
  const visitor = await new Visitor(url).signIn(key);
  const shown = async (): Promise<string> => (await visitor.request(page)).html;
  await until(async () => /pier-3[^]*waits for approval/.test(await shown()));
  t.equal((await visitor.submit(page, `${page}/pier-3/approve`)).status, 303);
  await waiting;

  const watches = machines.map(({ machine }) =>
    eventsOf(start(machine, "watch", "--config", "watch/watch.yaml", "--interval", "1s", "--json")),
  );
  const runs = (version: string) => ({ event: "deploy.done", outcome: "deployed", version });
  await Promise.all(watches.map(({ until }) => until(runs("1.0.0"))));
  const fleet = async () =>
    (await run(operator, "fleet", "project:Harbour", "--json"))
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Record<string, string>)
      .filter(({ event }) => event === "host")
      .map(({ host_id: host, running_version: version }) => `${host} ${version}`);
  t.strictSame(
    await fleet(),
    HOSTS.map((host) => `${host} 1.0.0`),
  );

  const [first, removed, third] = watches as [Watching, Watching, Watching];
  await run(operator, "host", "remove", "Harbour", "pier-2");
  await removed.until({ event: "check.failed", code: "host_removed" });
  await publish("1.1.0");
  await Promise.all([first, third].map(({ until }) => until(runs("1.1.0"))));
  const checks = removed.count("check.started");
  await first.checks(3);
  t.equal(removed.count("check.started"), checks, "it asks no more");
  t.strictSame(await fleet(), ["pier-1 1.1.0", "pier-3 1.1.0"]);
  const installed = ({ machine }: (typeof machines)[number]): string =>
    readFileSync(join(machine.data, "root/plugins/tides/plugin.yaml"), "utf8");
  t.strictSame(
    machines.map((each) => /version: (.*)/.exec(installed(each))![1]),
    ["1.1.0", "1.0.0", "1.1.0"],
  );
}
