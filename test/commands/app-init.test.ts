import { mkdirSync, readFileSync, readlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import t, { type Test } from "tap";
import { parse } from "yaml";
import { AppInit } from "../../commands/apps/app-init.ts";
import { DeployPublish } from "../../commands/publishing/deploy-publish.ts";
import { application } from "../../lib/contract/files/application.ts";
import { runHere } from "../support/programs/run-here.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const PROJECT = "prj_0123456789abcdef";
const COMMANDS = [AppInit, DeployPublish];

function folderOf(t: Test, files: Record<string, string>): string {
  const folder = temporaryFolder(t);
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  return folder;
}

const SERVER = `
const app = require("express")();
app.get("/healthz", (request, response) => response.send(process.env.GREETING));
app.listen(process.env.PORT, process.env["HOST"]);
`;

const EXPRESS = {
  "package.json": JSON.stringify({
    name: "@acme/Shop_Front",
    scripts: { start: "node  src/server.js --quiet" },
    engines: { node: ">=20" },
    dependencies: { express: "5.0.0" },
  }),
  "package-lock.json": JSON.stringify({
    lockfileVersion: 3,
    packages: { "": {}, "node_modules/express": { version: "5.0.0" } },
  }),
  "node_modules/express/package.json": JSON.stringify({ name: "express", version: "5.0.0" }),
  "node_modules/express/index.js": "module.exports = () => {};",
  "src/server.js": SERVER,
};

const init = (folder: string, ...more: string[]) =>
  runHere(COMMANDS, ["app", "init", "--project-id", PROJECT, "--folder", folder, ...more]);
const descriptorIn = (folder: string) => parse(readFileSync(join(folder, "app.yaml"), "utf8")) as object;

t.test("a program of Node.js becomes an application that can be published, packages and all", async (t) => {
  const folder = folderOf(t, EXPRESS);
  const made = await init(folder);
  t.equal(made.code, 0, made.stderr);
  t.match(made.stdout, /sealift project publish \. --version 1\.0\.0/);
  t.match(made.stdout, /systemd install app shop_front --port http=3000/);
  const descriptor = descriptorIn(folder);
  t.strictSame(descriptor, {
    command: ["node", "src/server.js", "--quiet"],
    needs: { node: ">=20" },
    ports: ["http"],
    health: { http: "/healthz", within: "30s", stays_up: "10s" },
    environment: { optional: ["GREETING"] },
  });
  t.ok(application.safeParse(descriptor).success);
  const project = join(folder, "deploy");
  t.equal(readlinkSync(join(project, "apps/shop_front")), "../..");
  t.match(parse(readFileSync(join(project, "deployment/install.yaml"), "utf8")), {
    project_id: PROJECT,
    steps: [{ action: "prepare" }, { action: "install_app", app: "shop_front" }],
  });
  const dry = ["project", "publish", project, "--project-id", PROJECT, "--version", "1.0.0", "--dry-run", "--json"];
  const packed = await runHere(COMMANDS, dry);
  t.equal(packed.code, 0, packed.stdout + packed.stderr);
  t.match(packed.stdout, "apps/shop_front/node_modules/express/index.js");
  t.notMatch(packed.stdout, "apps/shop_front/deploy/", "the project does not hold itself");
  t.match(packed.stdout + packed.stderr, `apps/shop_front is a link: ${folder} is packed.`);

  writeFileSync(join(folder, "app.yaml"), "command: [node, mine.js]\n");
  const again = await init(folder, "--json");
  const { written, kept } = JSON.parse(again.stdout) as { written: string[]; kept: string[] };
  t.strictSame([written.length, kept.length], [0, 4]);
  t.strictSame(descriptorIn(folder), { command: ["node", "mine.js"] }, "a file that exists stays as it is");
});

t.test("the folder of an application in a project joins that project", async (t) => {
  const root = folderOf(t, { "apps/web/server.js": 'console.log(process.env.LISTEN_FDS); app.get("/")' });
  const folder = join(root, "apps/web");
  writeFileSync(join(folder, "package.json"), "{}");
  t.equal((await init(folder)).code, 0);
  t.match(descriptorIn(folder), { command: ["node", "server.js"], listen: ["http"], health: { http: "/" } });
  t.match(readFileSync(join(root, "deployment/install.yaml"), "utf8"), "app: web");
  t.match(await init(folder, "--id", "other"), { code: 2, stderr: /is the application web of its project/ });

  mkdirSync(join(root, "apps/worker"));
  const second = await init(join(root, "apps/worker"), "--", "./bin/worker", "--all");
  t.match(second, { code: 2, stderr: /install\.yaml exists and does not install worker/ });
  t.strictSame(descriptorIn(join(root, "apps/worker")), {
    command: ["./bin/worker", "--all"],
    health: { within: "30s", stays_up: "10s" },
  });
});

t.test("other programs are started by what is there, or by what a person says", async (t) => {
  const flask = folderOf(t, { "app.py": 'import os\nname = os.environ.get("SHOP_NAME")\nport = os.environ["PORT"]' });
  t.equal((await init(flask, "--id", "flask")).code, 0);
  t.match(descriptorIn(flask), { command: ["python3", "app.py"], environment: { optional: ["SHOP_NAME"] } });

  const shell = folderOf(t, { "package.json": '{ "name": "x", "scripts": { "start": "npm run build && node x" } }' });
  t.match(await init(shell), { code: 2, stderr: /needs a shell: npm run build && node x.*-- node server\.js/s });
  t.match(await init(folderOf(t, { "a.txt": "" }), "--id", "a"), { code: 2, stderr: /Nothing in .* says how/ });
  t.match(await init(folderOf(t, { "package.json": "{" })), { code: 2, stderr: /package\.json cannot be read/ });
  t.match(await init("/nowhere", "--", "true"), { code: 2 });
});
