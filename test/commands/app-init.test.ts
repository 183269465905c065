// Holds: what app init writes (lib/publisher/start-command.ts, lib/publisher/starter-application.ts,
// lib/agent/starter-project.ts)
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import t from "tap";
import { parse } from "yaml";
import { commandIn, init, initIn, plantIn, PROJECT, withPrograms } from "../support/app-init.ts";
import { commandLine } from "../support/programs/command-line.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

t.test("the commands that follow can be typed by who made the application", async (t) => {
  const { code, stdout, stderr } = await init(t, { "server.js": "listen(process.env.PORT)", "package.json": "{}" });
  t.equal(code, 0, stderr);
  const user = process.getuid?.() === 0 ? "--user NAME" : "--same-user";
  t.match(stdout, `sealift app allow web --port http=3000 ${user} && sealift app serve`);
  t.match(stdout, "sealift systemd install app web --port http=3000\n");
});

t.test("an app.yaml that is there says which addresses they name, and needs no command of a package", async (t) => {
  const text = "command: [./serve]\nlisten: [http]\nports: [admin]\n";
  const { code, folder, stdout, stderr } = await init(t, { "app.yaml": text, "serve.js": "process.env.PORT" });
  t.equal(code, 0, stderr);
  t.match(stdout, "sealift systemd install app web --listen http=3000 --port admin=3001\n");
  t.match(stdout, "sealift app allow web --listen http=3000 --port admin=3001 ");
  t.equal(await readFile(join(folder, "app.yaml"), "utf8"), text);
  const worker = await init(t, { "app.yaml": "command: [./work]\n", "work.js": "process.env.PORT" });
  t.match(worker.stdout, "sealift systemd install app web\n");
  const wrong = await init(t, { "app.yaml": "command: serve\n" });
  t.match(wrong, { code: 2, stderr: /config_invalid.*app\.yaml is not valid: .*command/ });
});

t.test("variables of code that others wrote, and of tests, are no settings", async (t) => {
  const code = (name: string): string => `process.env.${name}; process.env["${name}_TOO"];`;
  const others = ["vendor", "lib/vendor", "node_modules", ".venv", "venv", "test", "src/__tests__"];
  const foreign = Object.fromEntries(others.map((at, index) => [`${at}/x/index.js`, code(`OTHERS_${index}`)]));
  const own = { "package.json": "{}", "server.js": code("OWN"), "vendor.js": code("ALSO") };
  const { folder, stderr } = await init(t, { ...own, ...foreign });
  const text = await readFile(join(folder, "app.yaml"), "utf8").catch(() => stderr);
  t.match(text, /^environment: \{ optional: \[ ALSO, ALSO_TOO, OWN, OWN_TOO \] \}$/m);
});

t.test("a start script without an ending is read, and a program without a port is said to have none", async (t) => {
  const generated = {
    "package.json": JSON.stringify({ scripts: { start: "node ./bin/www" } }),
    "app.js": "module.exports = () => {};",
    "bin/www":
      "#!/usr/bin/env node\nrequire('http').createServer(require('../app')).listen(process.env.PORT || '3000');",
  };
  const found = await init(t, generated);
  t.match(await readFile(join(found.folder, "app.yaml"), "utf8"), /^ports: \[ http \]$/m);
  t.notMatch(found.stderr, "No port");
  const worker = await init(t, { "package.json": "{}", "main.js": "setInterval(() => {}, 1000);" });
  t.match(worker.stderr, "No port was found.");
  t.match(await readFile(join(worker.folder, "app.yaml"), "utf8"), /^# ports: \[http\]/m);
});

t.test("a program of a package becomes the file behind it, also after cross-env", async (t) => {
  const programs: Parameters<typeof withPrograms>[1] = {
    next: ["next/dist/bin/next", "#!/usr/bin/env node\n"],
    "cross-env": ["cross-env/src/bin/cross-env.js", ""],
    caddy: ["caddy/caddy", "\u007fELF"],
  };
  const starts: Record<string, string> = {
    "next start": "[ node, node_modules/next/dist/bin/next, start ]",
    "next  start -p 3000": '[ node, node_modules/next/dist/bin/next, start, -p, "3000" ]',
    "cross-env NODE_ENV=production node server.js":
      "[ node, node_modules/cross-env/src/bin/cross-env.js, NODE_ENV=production, node, server.js ]",
    "cross-env A=1 B=2 next start":
      "[ node, node_modules/cross-env/src/bin/cross-env.js, A=1, B=2, node, node_modules/next/dist/bin/next, start ]",
    "caddy run": "[ node_modules/caddy/caddy, run ]",
  };
  for (const [start, command] of Object.entries(starts)) {
    const folder = temporaryFolder(t);
    await plantIn(folder, { "package.json": JSON.stringify({ scripts: { start } }), "server.js": "" });
    await withPrograms(folder, programs);
    const { code, stderr } = await initIn(folder, "--id", "web");
    t.equal(code, 0, stderr);
    t.equal(await commandIn(folder), `command: ${command}`);
  }
  for (const [start, message] of [
    ["vite preview", /runs vite, which its node_modules\/\.bin does not have.*\n.*npm ci/],
    ["cross-env A=1 vite", /runs vite/],
    ["node a.js && node b.js", /needs a shell/],
    ["A=1 node a.js", /needs a shell/],
    ["node $FILE", /needs a shell/],
  ] as const) {
    const folder = temporaryFolder(t);
    await plantIn(folder, { "package.json": JSON.stringify({ scripts: { start } }), "server.js": "" });
    await withPrograms(folder, programs);
    t.match(await initIn(folder, "--id", "web"), { code: 2, stderr: message }, start);
  }
});

t.test("a second application is added to the project and its plan, which keeps its comments", async (t) => {
  const root = temporaryFolder(t);
  await plantIn(root, { "web/package.json": "{}", "web/server.js": "", "api/package.json": "{}", "api/server.js": "" });
  t.equal((await initIn(join(root, "web"), "--out", "../deploy")).code, 0);
  const file = join(root, "deploy/deployment/install.yaml");
  await writeFile(file, `${await readFile(file, "utf8")}# ours\n`);
  const second = await initIn(join(root, "api"), "--out", "../deploy");
  t.match(second, { code: 0, stderr: /changed \.\.\/deploy\/deployment\/install\.yaml, which installs api, too/ });
  const text = await readFile(file, "utf8");
  const { steps } = parse(text) as { steps: object[] };
  t.match(steps, [
    { action: "prepare" },
    { id: "install", action: "install_app", app: "web" },
    { id: "install-app-api", action: "install_app", app: "api", depends_on: ["prepare"] },
  ]);
  t.match(text, "# ours");
  t.match(await initIn(join(root, "api"), "--out", "../deploy"), { code: 0, stderr: /kept/ });
  t.equal(await readFile(file, "utf8"), text, "once");

  await plantIn(root, { "deploy/apps/worker/main.py": "" });
  t.equal((await initIn(join(root, "deploy/apps/worker"))).code, 0);
  t.match(parse(await readFile(file, "utf8")), { steps: [{}, {}, {}, { app: "worker" }] });

  await writeFile(file, (await readFile(file, "utf8")).replace(PROJECT, "prj_another0000"));
  await plantIn(root, { "other/package.json": "{}", "other/server.js": "" });
  const foreign = await initIn(join(root, "other"), "--out", "../deploy");
  t.match(foreign, { code: 2, stderr: /belongs to the project prj_another0000/ });
  t.equal(await commandIn(join(root, "other")), "", "nothing is written");
});

t.test("another program of an application is added to its project and plan", async (t) => {
  const { folder } = await init(t, { "package.json": "{}", "server.js": "", "worker.js": "" });
  const words = ["app", "init", "--id", "worker", "--of", "web", "--", "node", "worker.js"];
  const added = await commandLine(words, { cwd: folder });
  t.match(added, { code: 0, stdout: /sealift systemd install app worker --of web/ }, added.stderr);
  t.match(added.stderr, /Try it here: sealift app test deploy\/apps\/worker/);
  const descriptor = await readFile(join(folder, "deploy/apps/worker/app.yaml"), "utf8");
  t.match(parse(descriptor), { of: "web", command: ["node", "worker.js"] });
  t.match(parse(await readFile(join(folder, "deploy/deployment/install.yaml"), "utf8")), {
    steps: [{}, { app: "web" }, { app: "worker" }],
  });
  const job = await initIn(
    folder,
    "--id",
    "night",
    "--of",
    "web",
    "--schedule",
    "30 3 * * *",
    "--",
    "node",
    "night.js",
  );
  t.equal(job.code, 0, job.stderr);
  t.match(parse(await readFile(join(folder, "deploy/apps/night/app.yaml"), "utf8")), {
    ...{ of: "web", schedule: "30 3 * * *" },
  });
  for (const [words, message] of [
    [["--of", "web", "--", "node", "x.js"], /has a name of its own/],
    [["--id", "x", "--of", "web"], /has a command of its own/],
    [["--id", "x", "--of", "nobody", "--", "node", "x.js"], /No project of .* has the application nobody/],
    [
      ["--id", "x", "--of", "web", "--schedule", "* * * * * *", "--", "node", "x.js"],
      /schedule: must have five fields/,
    ],
  ] as const)
    t.match(await initIn(folder, ...words), { code: 2, stderr: message }, words.join(" "));
});

t.test("a folder whose name makes no id needs one", async (t) => {
  const folder = join(temporaryFolder(t), "---");
  await plantIn(folder, { "server.js": "" });
  t.match(await initIn(folder), { code: 2, stderr: /No id can be made of the name of .*\n.*--id/ });
});
