import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import t, { type Test } from "tap";
import { type Door, startDoor } from "../support/hub/door.ts";
import { type RunningHub, startHub } from "../support/hub/harness.ts";
import { publishedArchive, publishedProject, watchYaml } from "../support/hub/published.ts";
import { run } from "../support/programs/watch-program.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

/** Bad input gets one message with every fault, exit code 2, and no request at all. */

interface Place {
  door: Door;
  hub: RunningHub;
  folder: string;
}

async function place(t: Test): Promise<Place> {
  const folder = temporaryFolder(t);
  const door = await startDoor(t);
  const hub = await startHub(t, { dataDir: join(folder, "hub"), rateLimits: false, publicUrl: door.url });
  door.hub = hub.url;
  return { folder, door, hub };
}

type Entry = { target: string } & Record<string, unknown>;

/** Runs a watch with this watch.yaml, which must be refused before any request. @returns the faults that are told */
async function refused(
  t: Test,
  { folder, door }: Place,
  shared: Record<string, unknown>,
  targets: readonly Entry[],
  code = "config_invalid",
): Promise<string[]> {
  const file = join(folder, "watch.yaml");
  await writeFile(file, watchYaml({ hub_url: door.url, ...shared }, targets));
  door.passages.length = 0;
  const ended = await run(["watch", "--config", file, "--once", "--json"], { cwd: folder });
  const last = ended.events.at(-1)!;
  t.equal(ended.code, 2, ended.stdout);
  t.equal(ended.events.length, 1, "there is one message, and nothing before it");
  t.match(last, { event: "result", status: "failed", exit_code: 2, error: { kind: "UsageError", code } });
  t.equal(door.passages.length, 0, "nothing was requested");
  const { faults = [], message } = last.error as { faults?: string[]; message: string };
  return faults.length === 0 ? [message] : faults;
}

t.test("every fault of every kind is told at once", async (t) => {
  const p = await place(t);
  const { options } = await publishedArchive(p.hub, "plugin", "tides", p.folder);
  const project = await publishedProject(p.hub, "tides", p.folder);
  await project.publish("1.0.0");
  const good: Entry = { target: project.name, project_root: "root", ...project.options };
  await writeFile(join(p.folder, "first.yaml"), watchYaml({ hub_url: p.door.url }, [good]));
  t.equal((await run(["watch", "--config", "first.yaml", "--once"], { cwd: p.folder })).code, 0);

  const faults = await refused(t, p, { project_root: "root", intervall: 5 }, [
    good,
    { target: "plugin:tides", ...options, api_key: "slk_secret" },
    { target: "plugin:other", ...options },
    { target: "plugin:other", ...options },
    {
      target: "service:clock",
      install_plan: "nowhere.yaml",
      api_key_file: "nowhere.key",
      signing_secret_file: "nowhere.secret",
    },
  ]);
  const told = (...patterns: RegExp[]): number =>
    faults.filter((fault) => patterns.every((pattern) => pattern.test(fault))).length;
  t.equal(told(/intervall/), 1, "an unknown key");
  t.equal(told(/api_key/, /targets\.1/), 1, "a secret written into the file is an unknown key");
  t.notMatch(faults.join("\n"), /slk_secret/);
  t.equal(told(/plugin:tides/, new RegExp(project.name), /plugins\/tides/), 1, "two that install the same id");
  t.equal(told(/plugin:other/, /twice/), 1, "one target twice");
  t.equal(told(/service:clock/, /api_key_file/), 1, "unreadable credentials, each of them");
  t.equal(told(/service:clock/, /signing_secret_file/), 1);
  t.equal(told(/plugin:other/, /install plan/), 1, "a plan of another target, told once for both");
  t.equal(faults.length, 7, faults.join("\n"));
});

t.test("for people it is one text on stderr", async (t) => {
  const p = await place(t);
  const file = join(p.folder, "watch.yaml");
  await writeFile(file, watchYaml({ hub_url: p.door.url }, [{ target: "plugin:a" }, { target: "project:b" }]));
  const ended = await run(["watch", "--config", file], { cwd: p.folder });
  t.match(ended, { code: 2, stdout: "", stderr: /^error \(\w+\): .*plugin:a.*project:b/s });
  t.equal(p.door.passages.length, 0);
});

t.test("what many targets have in common is said once", async (t) => {
  const p = await place(t);
  const { options } = await publishedArchive(p.hub, "plugin", "tides", p.folder);
  const entries = Array.from({ length: 50 }, (_, number) => ({
    target: "plugin:tides",
    ...options,
    project_root: `root-${number}`,
    api_key_file: "nowhere.key",
  }));
  const faults = await refused(t, p, {}, entries, "credential_unreadable");
  t.equal(faults.length, 1);
});

t.test("a root is the same by whatever name: two targets of one id in it are refused", async (t) => {
  const p = await place(t);
  const { options } = await publishedArchive(p.hub, "plugin", "tides", p.folder);
  await mkdir(join(p.folder, "real"));
  await symlink("real", join(p.folder, "alias"));
  for (const [one, other] of [
    ["real", "alias"],
    ["real/not/yet", "alias/not/yet"],
    ["real", join(p.folder, "real/../real")],
  ]) {
    const faults = await refused(t, p, {}, [
      { target: "plugin:tides", ...options, project_root: one },
      { target: "plugin:tides", ...options, project_root: other },
    ]);
    t.match(faults, [/twice/], `${one} and ${other}`);
  }
});

t.test("a project and a plugin of one id are told of through a link, too", async (t) => {
  const p = await place(t);
  const plugin = await publishedArchive(p.hub, "plugin", "tides", p.folder);
  const project = await publishedProject(p.hub, "tides", p.folder);
  await project.publish("1.0.0");
  await mkdir(join(p.folder, "real"));
  await symlink("real", join(p.folder, "alias"));
  const own: Entry = { target: project.name, ...project.options, project_root: "real" };
  await writeFile(join(p.folder, "first.yaml"), watchYaml({ hub_url: p.door.url }, [own]));
  t.equal((await run(["watch", "--config", "first.yaml", "--once"], { cwd: p.folder })).code, 0);
  const both = [own, { target: plugin.name, ...plugin.options, project_root: "alias" }];
  t.match(await refused(t, p, {}, both), [/plugins\/tides/]);
});

t.test("different ids may share a root, and one id stand in many roots", async (t) => {
  const p = await place(t);
  const [tides, clock] = [
    await publishedArchive(p.hub, "plugin", "tides", p.folder),
    await publishedArchive(p.hub, "service", "tides", join(p.folder, "clock")),
  ];
  const file = join(p.folder, "watch.yaml");
  const inClock = Object.fromEntries(Object.entries(clock.options).map(([key, value]) => [key, `clock/${value}`]));
  await writeFile(
    file,
    watchYaml({ hub_url: p.door.url }, [
      { target: tides.name, ...tides.options, project_root: "one" },
      { target: clock.name, ...inClock, project_root: "one" },
      { target: tides.name, ...tides.options, project_root: "two" },
    ]),
  );
  const ended = await run(["watch", "--config", file, "--once", "--json"], { cwd: p.folder });
  t.equal(ended.code, 0, ended.stdout);
  const names = (ended.events.at(-1)!.targets as { target: string }[]).map(({ target }) => target);
  const named = (root: string): string => `plugin:tides@${join(p.folder, root)}`;
  t.same(names, [named("one"), "service:tides", named("two")], "names stay unique");
});

t.test("values that cannot be are refused, with their place", async (t) => {
  const p = await place(t);
  const { options } = await publishedArchive(p.hub, "plugin", "tides", p.folder);
  const tides: Entry = { target: "plugin:tides", ...options };
  const cases: [Record<string, unknown>, Entry[], RegExp][] = [
    [{}, [{ ...tides, target: "tides" }], /targets\.0\.target/],
    [{}, [{ ...tides, api_key_file: "-" }], /targets\.0\.api_key_file/],
    [{ signing_secret_file: "-" }, [tides], /signing_secret_file/],
    [{ supervisor: "upstart" }, [tides], /supervisor/],
    [{ interval: "soon" }, [tides], /interval/],
    [{ interval: 0.5 }, [tides], /interval/],
    [{}, [], /targets/],
  ];
  for (const [shared, targets, pattern] of cases) {
    const faults = await refused(t, p, shared, targets);
    t.match(faults, [pattern], JSON.stringify(shared));
  }
});

t.test("a file that is none, and a watch of nothing, are refused", async (t) => {
  const folder = temporaryFolder(t);
  await writeFile(join(folder, "torn.yaml"), "targets: [");
  for (const args of [["--config", "nowhere.yaml"], ["--config", "torn.yaml"], [], ["tides"], ["plugin:tides"]]) {
    const ended = await run(["watch", ...args], { cwd: folder });
    t.match(ended, { code: 2, stdout: "" }, args.join(" "));
  }
});
