import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import t, { type Test } from "tap";
import { commandLine } from "../support/programs/command-line.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

async function init(t: Test, files: Record<string, string>) {
  const folder = temporaryFolder(t);
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), text);
  }
  const args = ["app", "init", "--project-id", "prj_0123456789abcdef", "--id", "web"];
  return { folder, ...(await commandLine(args, { cwd: folder })) };
}

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
