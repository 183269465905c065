import { chmodSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { DEFAULT_LIMITS } from "../../../../lib/artifact/limits.ts";
import { listProject, readProject } from "../../../../lib/artifact/project/project-tree.ts";
import type { SealiftError } from "../../../../lib/contract/errors.ts";

const PROJECT = "prj_0123456789";
const OPTIONS = { projectId: PROJECT, projectName: "P", version: "1.0.0", limits: DEFAULT_LIMITS };
const plan = (...apps: string[]): string =>
  JSON.stringify({
    format_version: "1",
    project_id: PROJECT,
    steps: [{ id: "begin", action: "prepare" }, ...apps.map((app) => ({ id: app, action: "install_app", app }))],
  });
const GOOD = "command: [node, server.js]\n";
interface Folder {
  [name: string]: string | Folder;
}

const project = (t: Test, apps: Folder, installed = Object.keys(apps ?? {}), more: Folder = {}): string =>
  t.testdir({ deployment: { "install.yaml": plan(...installed) }, apps, ...more });

/** Returns the faults of the one application `web`. */
function faultsOf(t: Test, yaml: string, files: Folder = {}, prepare: (folder: string) => void = () => {}): string[] {
  const root = project(t, { web: { "app.yaml": yaml, "server.js": "", ...files } });
  prepare(join(root, "apps/web"));
  try {
    listProject(root, { ...OPTIONS, include: [".sealift"] });
    return [];
  } catch (error) {
    t.match(error, { kind: "UsageError", code: "source_invalid" });
    return (error as SealiftError).faults!;
  }
}

t.test("a project of applications alone needs no plugin, and its digest covers them", async (t) => {
  const files = { web: { "app.yaml": GOOD, "server.js": "1" } };
  const first = await readProject(project(t, files), OPTIONS);
  t.strictSame([first.manifest.plugins, first.manifest.extensions], [[], []]);
  t.ok(first.entries.files.find("apps/web/server.js"));
  files.web["server.js"] = "2";
  const second = await readProject(project(t, files), OPTIONS);
  t.not(first.manifest.content_sha256, second.manifest.content_sha256);
});

t.test("a plugin and an application may have one name", async (t) => {
  const plugins = { web: { "plugin.yaml": "name: web\nversion: 1.0.0\n" } };
  const { manifest } = await readProject(project(t, { web: { "app.yaml": GOOD } }, ["web"], { plugins }), OPTIONS);
  t.match(manifest.plugins, [{ id: "web" }]);
});

t.test("files of an application in its data folder are named as seed", async (t) => {
  const web = { "app.yaml": `${GOOD}\ndata: var/storage\n`, var: { storage: { "a.txt": "1", "b.txt": "2" } } };
  const note = /^apps\/web\/var\/storage has 2 files, which are seed: .* no later version replaces it\.$/;
  t.match(listProject(project(t, { web }), OPTIONS).notes, [note]);
  web["app.yaml"] = GOOD;
  t.strictSame(listProject(project(t, { web }), OPTIONS).notes, []);
});

t.test("a project that installs nothing is refused, and an application that no step installs is named", async (t) => {
  t.throws(() => listProject(project(t, {}), OPTIONS), { code: "source_invalid", message: /plugins: must have/ });
  const forgotten = project(t, { web: { "app.yaml": GOOD } }, []);
  t.throws(() => listProject(forgotten, OPTIONS), {
    message: /no step that installs apps\/web: .*install_app, app: web/,
  });
});

t.test("an app.yaml that no step installs is a file like any other", async (t) => {
  const plugins = { a: { "plugin.yaml": "name: a\nversion: 1.0.0\n" } };
  const engine = { web: { "app.yaml": "runtime: python311\n" } };
  const { manifest } = await readProject(project(t, engine, [], { plugins }), OPTIONS);
  t.equal(manifest.plugins.length, 1);
});

t.test("every fault of every application is named at once, with its place", async (t) => {
  const root = project(
    t,
    {
      web: { "app.yaml": "command: [/usr/bin/node]\nneed: {}\n" },
      api: { "app.yaml": "command: [./bin/api]\nneeds: { node: latest }\n", bin: { api: "" } },
    },
    ["web", "api", "gone"],
  );
  try {
    listProject(root, OPTIONS);
    t.fail("it was accepted");
  } catch (error) {
    const { faults } = error as SealiftError;
    t.match(faults, [
      /^apps\/web\/app\.yaml: command\.0: must be a program's name.* \(line 1\)/,
      /^apps\/web\/app\.yaml: .*need.* \(line 2\)/,
      /^apps\/api\/app\.yaml: needs\.node: must be a range of versions.* \(line 2\)/,
      /^apps\/gone\/app\.yaml: is missing/,
    ]);
  }
});

t.test("each bad value of app.yaml gets an error that says what to write", async (t) => {
  const cases: [yaml: string, fault: RegExp][] = [
    ["command: [/usr/bin/node, server.js]", /command\.0: must be a program's name, or a path inside/],
    ["command: [../node]", /command\.0: must be a program's name, or a path inside/],
    ["command: [node server.js]", /command\.0: must be one word: write a list/],
    ["command: node server.js", /command: must be a list/],
    ["command: []", /command/],
    [`${GOOD}migrate: [/bin/sh, -c, "x"]`, /migrate\.0: must be a program's name/],
    [
      `${GOOD}listen: [http]\nhealth: { http: "http://127.0.0.1:3000/healthz" }`,
      /health\.http: must be a path.*not a URL/,
    ],
    [`${GOOD}listen: [http]\nhealth: { http: /, port: web }`, /health\.port: is web, which/],
    [`${GOOD}listen: [http, http]`, /listen: names http/],
    [
      "command: [.venv/bin/python, app.py]",
      /command: a virtual environment is not packed.*pip install --target packages/,
    ],
    [`${GOOD}data: ../storage`, /data: must be a path inside/],
    [`${GOOD}data: ./`, /data: must be a plain path/],
    [`${GOOD}data: .sealift`, /data: must not contain \.sealift, node_modules/],
    [`${GOOD}stop: { signal: SIGKILL }`, /stop\.signal/],
    [`${GOOD}environment: { required: [A-B] }`, /environment\.required\.0: must be a variable name/],
  ];
  for (const [yaml, fault] of cases) t.match(faultsOf(t, `${yaml}\n`), [fault], yaml);
});

t.test("a program that is of another application has a command in that one's folder, and nothing of its own", (t) => {
  const faultsIn = (worker: string, more: Record<string, string> = {}, files: Folder = {}): string[] => {
    const others = Object.fromEntries(Object.entries(more).map(([id, yaml]) => [id, { "app.yaml": yaml }]));
    const web = { "app.yaml": `${GOOD}data: storage\n`, "server.js": "", "w.sh": "", ...(files.web as Folder) };
    const root = project(t, { web, worker: { "app.yaml": worker, ...(files.worker as Folder) }, ...others });
    chmodSync(join(root, "apps/web/w.sh"), 0o755);
    try {
      listProject(root, { ...OPTIONS, include: [".env.template"] });
      return [];
    } catch (error) {
      return (error as SealiftError).faults!;
    }
  };
  const OF = "of: web\ncommand: [./w.sh]\n";
  t.strictSame(faultsIn(OF), []);
  t.strictSame(faultsIn(`${OF}schedule: "30 3 * * *"\n`), []);
  const at = "apps/worker/app.yaml: ";
  for (const [yaml, fault] of [
    ["of: web\ncommand: [./x.sh]\n", /command: x\.sh is not in the folder/],
    ["of: web\ncommand: [./storage/x.sh]\n", /command: storage\/x\.sh lies in storage, which belongs to the host/],
    [`${OF}data: own\n`, /data: is that of web/],
    [`${OF}migrate: [./w.sh]\n`, /migrate: is that of web/],
    [`${OF}environment: { optional: [A] }\n`, /environment: is that of web/],
    ["of: worker\ncommand: [./w.sh]\n", /of: it cannot be of itself/],
    ["of: nobody\ncommand: [./w.sh]\n", /of: the plan installs no application nobody/],
  ] as const)
    t.match(faultsIn(yaml), [new RegExp(`^${at}${fault.source}`)], yaml);
  t.match(faultsIn("of: second\ncommand: [./w.sh]\n", { second: OF }), [/of: second is of web itself/], "a chain");
  t.match(
    faultsIn("of: second\ncommand: [./w.sh]\n", { second: "of: worker\ncommand: [./w.sh]\n" }),
    [/worker.*of: second is of worker itself/, /second.*of: worker is of second itself/],
    "a circle",
  );
  t.match(faultsIn(OF, {}, { worker: { ".env.template": "A=1" } }), [/\.env\.template is not read/]);
  t.end();
});

t.test("a schedule comes at times that there are, and not each second", (t) => {
  const job = (lines: string): string[] => faultsOf(t, `${GOOD}schedule: ${lines}\n`);
  for (const good of ['"30 3 * * *"', '"*/5 * * * 1-5"', '"0 0 29 2 *"', '"30 2 * * *"\ntimezone: Europe/Vienna'])
    t.strictSame(job(good), [], good);
  for (const [lines, fault] of [
    ['"0 0 31 2 *"', /schedule: names a day that never comes/],
    ['"* * * * * *"', /schedule: must have five fields/],
    ['"@daily"', /schedule: must have five fields/],
    ['"2030-01-01T00:00:00 1 1 1 1"', /schedule: is not valid/],
    ['"61 * * * *"', /schedule: is not valid/],
    ['"0 3 * * *"\ntimezone: Europe/Wien', /timezone: is no time zone/],
    ['"0 3 * * *"\ntimezone: "+01:00"', /timezone: is no time zone/],
    ['"0 3 * * *"\nwithin: 25h', /within/],
    ['"0 3 * * *"\nports: [http]', /ports: is for a program that runs all the time/],
    ['"0 3 * * *"\nmigrate: [node, m.js]', /migrate: is for a program that runs all the time/],
  ] as const)
    t.match(job(lines), [fault], lines);
  t.match(faultsOf(t, `${GOOD}catch_up: true\n`), [/catch_up: belongs to a job/]);
  t.end();
});

t.test("a command of the folder must be there, and executable", async (t) => {
  t.match(faultsOf(t, "command: [./bin/run]\n"), [/command: bin\/run is not in the folder/]);
  t.match(faultsOf(t, "command: [./bin/run]\n", { bin: { run: "" } }), [/command: bin\/run is not executable: `chmod/]);
  t.match(faultsOf(t, "command: [./bin/]\n", { bin: { run: "" } }), [/bin\/ is not in the folder|bin is a folder/]);
  const executable = (folder: string) => chmodSync(join(folder, "bin/run"), 0o755);
  t.strictSame(faultsOf(t, "command: [./bin/run]\n", { bin: { run: "" } }, executable), []);
  t.match(faultsOf(t, `${GOOD}migrate: [./m]\n`), [/migrate: m is not in the folder/]);
  t.match(faultsOf(t, "command: [./bin/run]\ndata: bin\n", { bin: { run: "" } }, executable), [/lies in bin, which/]);
});

t.test("a file in the place of data, and a folder .sealift, are refused", async (t) => {
  t.match(faultsOf(t, `${GOOD}data: server.js\n`), [/data: server\.js is a file/]);
  t.match(faultsOf(t, `${GOOD}data: server.js/db\n`), [/data: server\.js is a file/]);
  t.match(faultsOf(t, GOOD, { ".sealift": { start: "" } }), [/\.sealift is the host's own folder/]);
});

t.test("applications and plugins do not share a folder", async (t) => {
  const more = { "integration.yaml": "plugins: { directory: apps }\n" };
  const root = project(t, { web: { "app.yaml": GOOD, "plugin.yaml": "name: web\nversion: 1.0.0\n" } }, ["web"], more);
  t.throws(() => listProject(root, OPTIONS), { code: "source_invalid", message: /apps\/ holds plugins/ });
});
