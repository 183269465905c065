// Holds: what app init writes (lib/publisher/start-command.ts, lib/publisher/starter-application.ts,
// lib/agent/starter-project.ts)
import { existsSync } from "node:fs";
import { chmod, mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import t, { type Test } from "tap";
import { parse } from "yaml";
import { commandLine } from "../support/programs/command-line.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

async function init(t: Test, files: Record<string, string>, ...more: string[]) {
  const folder = temporaryFolder(t);
  await plantIn(folder, files);
  return { folder, ...(await initIn(folder, "--id", "web", ...more)) };
}

const initIn = (cwd: string, ...more: string[]) =>
  commandLine(["app", "init", "--project-id", PROJECT, ...more], { cwd });

async function plantIn(folder: string, files: Record<string, string>): Promise<void> {
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), text);
  }
}

const VARIABLES = "import os; os.environ['OF_A_PACKAGE']";
const PROJECT = "prj_0123456789abcdef";
const commandIn = async (folder: string): Promise<string> =>
  /^command: .*$/m.exec(await readFile(join(folder, "app.yaml"), "utf8").catch(() => ""))?.[0] ?? "";

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

t.test("variables of code that others wrote are no settings", async (t) => {
  const code = (name: string): string => `process.env.${name}; process.env["${name}_TOO"];`;
  const others = ["vendor", "lib/vendor", "node_modules", ".venv", "venv"];
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

/** Packages with programs, linked into `.bin` as npm does. */
async function withPrograms(folder: string, programs: Record<string, [file: string, text: string]>): Promise<void> {
  await mkdir(join(folder, "node_modules/.bin"), { recursive: true });
  for (const [name, [file, text]] of Object.entries(programs)) {
    await plantIn(folder, { [`node_modules/${file}`]: text });
    await chmod(join(folder, "node_modules", file), 0o755);
    await symlink(`../${file}`, join(folder, "node_modules/.bin", name));
  }
}

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
  const added = await initIn(folder, "--id", "worker", "--of", "web", "--", "node", "worker.js");
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

t.test("a start script that runs another one is followed, and a circle of them refused", async (t) => {
  const scriptOf = async (scripts: Record<string, string>) => {
    const { folder, ...ended } = await init(t, { "package.json": JSON.stringify({ scripts }), "server.js": "" });
    return { ...ended, command: await commandIn(folder) };
  };
  for (const start of ["npm run serve", "npm run -s serve", "pnpm run serve", "yarn serve"]) {
    const { command, stderr } = await scriptOf({ start, serve: "npm run inner", inner: "node server.js --quiet" });
    t.equal(command, "command: [ node, server.js, --quiet ]", `${start}: ${stderr}`);
  }
  for (const [scripts, message] of [
    [{ start: "npm run serve" }, /runs npm run serve, and its package\.json has no script serve/],
    [{ start: "npm run a", a: "npm run b", b: "npm run a" }, /runs npm run a, which runs itself/],
    [{ start: "npm run build && npm run serve", serve: "node server.js" }, /needs a shell/],
  ] as const)
    t.match(await scriptOf(scripts), { code: 2, stderr: message });
});

t.test("a program of devDependencies is refused, which no host has, and start:prod goes before start", async (t) => {
  const folder = temporaryFolder(t);
  const manifest = { scripts: { start: "nest start" }, devDependencies: { "@nestjs/cli": "^11" } };
  await plantIn(folder, { "package.json": JSON.stringify(manifest), "dist/main.js": "process.env.PORT" });
  await withPrograms(folder, { nest: ["@nestjs/cli/bin/nest.js", "#!/usr/bin/env node\n"] });
  t.match(await initIn(folder, "--id", "web"), {
    code: 2,
    stderr:
      /runs a program of @nestjs\/cli, one of devDependencies: nest start\.\n.*Build first, .* node dist\/main\.js/,
  });
  const { scripts } = manifest;
  await plantIn(folder, {
    "package.json": JSON.stringify({ ...manifest, scripts: { ...scripts, "start:prod": "node dist/main" } }),
  });
  t.match(await initIn(folder, "--id", "web"), { code: 0 });
  t.equal(await commandIn(folder), "command: [ node, dist/main ]");
});

t.test(
  "folders of packages that no lock file of npm names are published by sealift.yaml, without a flag",
  async (t) => {
    const settingsOf = async (folder: string): Promise<unknown> =>
      parse(await readFile(join(folder, "deploy/sealift.yaml"), "utf8"));
    const manifest = JSON.stringify({ scripts: { start: "node server.js" }, dependencies: { moon: "1.0.0" } });
    for (const mark of ["pnpm-lock.yaml", "node_modules/.modules.yaml", "yarn.lock"]) {
      const files = { "package.json": manifest, [mark]: "", "node_modules/moon/package.json": "{}", "server.js": "" };
      t.same(await settingsOf((await init(t, files)).folder), { project_id: PROJECT, with_dependencies: true }, mark);
    }
    const files = { "package.json": manifest, "package-lock.json": "{}", "server.js": "" };
    t.same(await settingsOf((await init(t, files)).folder), { project_id: PROJECT }, "npm's is packed anyhow");
  },
);

t.test(
  "a standalone server of Next.js starts by its server.js, with its packages, on the address it gets",
  async (t) => {
    const folder = temporaryFolder(t);
    await plantIn(join(folder, ".next/standalone"), {
      "package.json": JSON.stringify({ name: "shop", scripts: { start: "next start" }, dependencies: { next: "14" } }),
      "server.js":
        "require('next'); require('http').createServer((q, r) => r.end('one'))" +
        ".listen(process.env.PORT, process.env.HOSTNAME || '0.0.0.0')",
      ".next/BUILD_ID": "x",
      "node_modules/next/package.json": "{}",
      "node_modules/next/index.js": "",
    });
    const { code, stderr } = await initIn(folder, "--folder", ".next/standalone", "--out", "deploy");
    t.match({ code, stderr }, { code: 0, stderr: /standalone server of Next.*\n.*app test deploy\/apps\/shop/ });
    const file = join(folder, ".next/standalone/app.yaml");
    const text = await readFile(file, "utf8");
    t.match(parse(text), { command: ["env", "HOSTNAME=$HOST", "node", "server.js"], ports: ["http"] });
    t.notMatch(text, "optional", "what the command sets is no setting");
    await writeFile(file, text.replace(/^health:.*/m, "health: { http: /, within: 30s, stays_up: 1s }"));
    await chmod(folder, 0o755);
    const tried = await commandLine(["app", "test", "deploy/apps/shop"], { cwd: folder });
    t.match(tried, { code: 0, stdout: /^answered/m }, tried.stdout + tried.stderr);
    t.notMatch(tried.stdout, "of every address");
    t.notMatch(tried.stderr, "none is packed");
  },
);

t.test("addresses that a command names get their names in app.yaml", async (t) => {
  const words = [
    "--",
    "mailer",
    "--web",
    "$PORT",
    "--smtp",
    "$HOST_SMTP:$PORT_SMTP",
    "--pop",
    "$PORT_MY_POP",
    "$PORT_1",
  ];
  const { code, folder, stdout, stderr } = await init(t, { "server.js": "get('/healthz')" }, ...words);
  t.equal(code, 0, stderr);
  t.match(stdout, "--port http=3000 --port smtp=3001 --port my-pop=3002");
  t.match(parse(await readFile(join(folder, "app.yaml"), "utf8")), {
    ports: ["http", "smtp", "my-pop"],
    health: { http: "/healthz", port: "http" },
  });
  const one = await init(t, { "server.js": "" }, "--", "mailer", "--web", "$PORT_WEB");
  t.match(parse(await readFile(join(one.folder, "app.yaml"), "utf8")), { ports: ["web"] });
});

t.test("a program of Python finds the packages that travel along, and is told how", async (t) => {
  const files = {
    "requirements.txt": "flask\n",
    "app.py": "import os; os.environ['PORT']",
    "packages/x.py": VARIABLES,
    "packages/bin/gunicorn": "#!/srv/build/bin/python3.11\n",
  };
  const { code, folder, stderr } = await init(t, files);
  t.match({ code, stderr }, { code: 0, stderr: /pip install --target packages -r requirements\.txt`/ });
  t.equal(await commandIn(folder), "command: [ python3, app.py ]");
  const text = await readFile(join(folder, "app.yaml"), "utf8");
  t.match(parse(text), { ports: ["http"], environment: { values: { PYTHONPATH: "packages" } } });
  t.notMatch(text, "OF_A_PACKAGE");
  t.equal(existsSync(join(folder, ".env.template")), false, "no setting of a host hides what a version says");
  const served = await init(t, files, "--", "gunicorn", "--bind", "$HOST:$PORT", "app:app");
  t.equal(
    await commandIn(served.folder),
    "command: [ python3, packages/bin/gunicorn, --bind, $HOST:$PORT, app:app ]",
    "not by its first line, which names the Python of the machine that installed it",
  );
  const job = await init(t, files, "--schedule", "30 3 * * *", "--", "python3", "night.py");
  t.match(parse(await readFile(join(job.folder, "app.yaml"), "utf8")), {
    environment: { values: { PYTHONPATH: "packages" } },
  });
  const project = await init(t, { "pyproject.toml": "", "main.py": "" });
  t.match(project.stderr, /pip install --target packages \./);
  const virtual = await init(t, { "requirements.txt": "", "app.py": "" }, "--", ".venv/bin/python", "app.py");
  t.match(virtual, { code: 2, stderr: /\.venv\/bin\/python: a virtual environment is not packed/ });
  const early = await init(t, { "requirements.txt": "", "packages/x.py": "" }, "--", "gunicorn-of-nobody", "app:app");
  t.match(early, {
    code: 2,
    stderr: /Name it among the packages, install them, .*: pip install --target packages -r requirements/,
  });
  const nothing = await init(t, { "requirements.txt": "", "manage.py": "" });
  t.match(nothing, { code: 2, stderr: /says how its program is started\.\n.*-- gunicorn --bind '\$HOST:\$PORT'/ });
});
