// Holds: how packages of each language travel along (lib/publisher/roads.ts, lib/publisher/start-command.ts)
import { existsSync } from "node:fs";
import { chmod, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import t from "tap";
import { parse } from "yaml";
import { commandIn, init, initIn, plantIn, PROJECT, withPrograms } from "../support/app-init.ts";
import { commandLine } from "../support/programs/command-line.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const VARIABLES = "import os; os.environ['OF_A_PACKAGE']";

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
  t.equal((parse(text) as { needs?: unknown }).needs, undefined, "any Python will do");
  const compiled = { ...files, "packages/markupsafe/_speedups.cpython-311-x86_64-linux-gnu.so": "" };
  t.match(parse(await readFile(join((await init(t, compiled)).folder, "app.yaml"), "utf8")), {
    needs: { python3: "~3.11" },
  });
  const job = await init(t, files, "--schedule", "30 3 * * *", "--", "python3", "night.py");
  t.match(parse(await readFile(join(job.folder, "app.yaml"), "utf8")), {
    environment: { values: { PYTHONPATH: "packages" } },
  });
  const project = await init(t, { "pyproject.toml": "", "main.py": "" });
  t.match(project.stderr, /pip install --target packages \./);
  const locked = await init(t, { "pyproject.toml": "", "uv.lock": "", "main.py": "" });
  t.match(locked.stderr, /uv export .* -qo requirements\.txt && uv pip install --target packages -r requirements\.txt/);
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

t.test("a program that is built from its folder is found to listen, in whichever language", async (t) => {
  for (const [file, text] of Object.entries({
    "main.go": 'os.Getenv("PORT")',
    "src/Main.java": 'System.getenv("PORT")',
    "config.ru": "",
    "app.rb": "ENV.fetch('PORT', 80)",
    "index.php": "getenv('PORT')",
    "src/main.rs": 'env::var("PORT")',
    "server.ts": "Bun.env.PORT",
    "app.py": "os.getenv('PORT')",
  })) {
    const { folder, stderr } = await init(t, { [file]: text }, "--", "./server");
    const { ports } = parse(await readFile(join(folder, "app.yaml"), "utf8")) as { ports?: string[] };
    t.strictSame(ports, text === "" ? undefined : ["http"], `${file}: ${stderr}`);
  }
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
