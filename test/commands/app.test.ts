import { existsSync } from "node:fs";
import { chmod, mkdir, readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import t from "tap";
import { freePort } from "../support/free-port.ts";
import { ApplicationRoot, HANDED_OVER } from "../support/host/application-root.ts";
import { commandLine } from "../support/programs/command-line.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const isRoot = process.getuid?.() === 0;

t.test("app allow grants an application to app serve", async (t) => {
  const root = temporaryFolder(t);
  await chmod(root, 0o755);
  const allow = (...args: string[]) => commandLine(["app", "allow", ...args, "--project-root", root]);
  t.equal((await allow("web", "--listen", "http=3000", ...(isRoot ? [] : ["--same-user"]))).code, 0);
  if (isRoot) t.match(await allow("web", "--same-user"), { code: 2, stderr: /would run it as root.*\n.*--user NAME/ });
  t.equal((await allow("worker", "--user", "nobody")).code, 0);
  const file = join(root, "applications.yaml");
  const text = await readFile(file, "utf8");
  t.match(
    text,
    /supervisor: serve\napplications:\n {2}web:\n(?: {4}same_user: true\n)? {4}listen:\n {6}http: 127.0.0.1:3000\n/,
  );
  t.match(text, /worker:\n {4}user: nobody\n/);
  t.equal((await allow("other", "--listen", "http=3000")).code, 2, "an address stands once");
  t.equal((await allow("../web")).code, 2);
  t.equal(await readFile(file, "utf8"), text);
  t.equal((await allow("worker", "--user", "nobody", "--same-user")).code, 0);
  const both = await readFile(file, "utf8");
  t.match(both, /worker:\n {4}user: nobody\n {4}same_user: true\n/);
  t.match(await allow("worker", "--user", "noboddy"), { code: 2, stderr: /no user noboddy/ });
  t.match(await allow("worker", "--user", "root"), {
    code: 2,
    stderr: /root is root, and no application runs as root/,
  });
  t.equal(await readFile(file, "utf8"), both);
  await writeFile(file, "applications: 3\n");
  t.match((await allow("web")).stderr, "config_invalid");
});

t.test(
  "app allow compares addresses with the installed version, and leaves the grant as it is on a slip",
  async (t) => {
    const root = await ApplicationRoot.make(t);
    await root.install("web", { app: { listen: ["http"], ports: ["metrics"] }, files: { "server.js": HANDED_OVER } });
    await root.grant({ web: { listen: { http: 3000, metrics: 3001 } } });
    const file = join(root.layout.root, "applications.yaml");
    const before = await readFile(file, "utf8");
    const user = process.getuid?.() === 0 ? ["--user", "nobody"] : ["--same-user"];
    const allow = (...args: string[]) =>
      commandLine(["app", "allow", "web", ...args, ...user, "--project-root", root.layout.root]);
    t.match(await allow("--listen", "htp=3000", "--port", "metrics=3001"), {
      ...{ code: 2, stderr: /app\.yaml of web has http, and no address.*\n.*Did you mean http by htp/ },
    });
    t.match(await allow("--listen", "http=3000"), { code: 2, stderr: /has metrics.*\n.*http=ADDRESS metrics=ADDRESS/ });
    t.equal(await readFile(file, "utf8"), before, "nothing is written");
    t.equal((await allow()).code, 0, "addresses stay");
    const more = await allow("--listen", "http=3000", "--port", "metrics=3001", "--port", "admin=3002");
    t.match(more, { code: 0, stderr: /the version of web that is installed has no admin/ });
    t.match(await readFile(file, "utf8"), "admin: 127.0.0.1:3002");
  },
);

t.test(
  "app allow refuses a user who cannot enter the project root",
  { skip: isRoot ? false : "needs root" },
  async (t) => {
    const closed = temporaryFolder(t);
    await chmod(closed, 0o700);
    const root = join(closed, "root");
    await mkdir(root);
    const allow = () => commandLine(["app", "allow", "web", "--user", "nobody", "--project-root", root]);
    const refused = await allow();
    t.match(refused, { code: 2, stderr: /The user nobody cannot enter \S+, in which the project root/ });
    t.match(refused.stderr, `chmod o+x ${closed}`);
    t.equal(existsSync(join(root, "applications.yaml")), false, "nothing was written");
    await chmod(closed, 0o711);
    t.match(await allow(), { code: 0 });
  },
);

t.test("app prepare waits for the application that another one is of, and no longer than it may take", async (t) => {
  const root = await ApplicationRoot.make(t);
  const port = await freePort();
  await root.grantAsIs({ web: { ...root.user, listen: { http: port } }, worker: { of: "web" } }, "systemd");
  const web = { health: { http: "/", within: "1s" }, ports: ["http"] };
  await root.installTogether({ web: { app: web, files: {} }, worker: { app: { of: "web" }, files: {} } });
  const prepare = () => commandLine(["app", "prepare", "worker", "--project-root", root.layout.root]);
  t.match(await prepare(), { code: 1, stderr: /unhealthy.*web does not work/ });
  const server = createServer((_request, response) => response.end());
  t.teardown(() => void server.close());
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  t.match(await prepare(), { code: 0 });
});

t.test("app prepare seeds the data and migrates, and a failed migration fails it", async (t) => {
  const root = await ApplicationRoot.make(t);
  const prepare = (...more: string[]) =>
    commandLine(["app", "prepare", "web", ...more, "--project-root", root.layout.root]);
  for (const more of [[], ["--condition"]]) {
    const refused = await prepare(...more);
    t.match([refused.code, refused.stderr], [more.length > 0 ? 77 : 1, /app_not_allowed/]);
  }
  await root.grant({ web: {} });
  const served = await prepare("--condition");
  t.match([served.code, served.stderr], [77, /app_not_allowed.*app serve/], "no unit starts what app serve runs");
  await root.grant({ web: {} }, "systemd");
  const absent = await prepare("--condition");
  t.match([absent.code, absent.stderr], [77, /app_not_installed/]);
  const files = {
    "server.js": HANDED_OVER,
    "migrate.js": `const fs = require("fs"); fs.writeFileSync("migrated", String(process.env.LISTEN_FDS)); process.exit(fs.existsSync("bad") ? 5 : 0)`,
  };
  const release = await root.install("web", { app: { data: "storage" }, migrate: ["node", "migrate.js"], files });
  const shipped = join(root.layout.releases("project-p"), release, "shipped-data/apps/web");
  await mkdir(shipped, { recursive: true });
  await writeFile(join(shipped, "seed.txt"), "s");
  t.equal((await prepare()).code, 0);
  const data = join(root.layout.sealift, "data/apps/web");
  t.equal(await readFile(join(data, "seed.txt"), "utf8"), "s");
  t.equal(await readFile(join(root.layout.root, "apps/web/migrated"), "utf8"), "undefined");
  await writeFile(join(data, "seed.txt"), "own");
  await writeFile(join(root.layout.root, "apps/web/bad"), "");
  const failed = await prepare();
  t.equal(failed.code, 1);
  t.match(failed.stderr, /migration_failed.*exit code 5/);
  t.equal(await readFile(join(data, "seed.txt"), "utf8"), "own", "no file of the host is replaced");
  t.equal((await prepare("--condition")).code, 0, "the unit migrates by itself");
  await root.install("web", { files });
  t.match(await prepare(), { code: 0, stderr: "" }, "a version without a migration has nothing to run");
  await writeFile(join(root.layout.root, "applications.yaml"), "applications: 3\n");
  t.equal((await prepare("--condition")).code, 2, "what cannot be asked is a failure, and no answer");
  await root.grant({});
  t.equal((await prepare("--condition")).code, 77, "a grant that was withdrawn starts nothing");
});
