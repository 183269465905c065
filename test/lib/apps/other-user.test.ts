// Holds: what an application of another user may enter (lib/apps/prepare.ts)
import { chmod, mkdir, readFile, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import t from "tap";
import { AppServe } from "../../../lib/apps/serve.ts";
import { ApplicationRoot, GRANT_USER } from "../../support/host/application-root.ts";
import { until } from "../../support/until.ts";

const WRITES = `require("node:fs").writeFileSync("storage/who", String(process.getuid())); setInterval(() => {}, 1000);`;
const logOf = (root: ApplicationRoot): Promise<string> =>
  readFile(join(root.layout.sealift, "logs/apps/web/log"), "utf8").catch(() => "");

t.test("an application can enter its release though app serve ran before the first deployment", async (t) => {
  const root = await ApplicationRoot.make(t);
  await root.grant({ web: {} });
  await using served = await AppServe.start(root.layout, () => undefined);
  t.equal((await stat(root.layout.sealift)).mode & 0o055, 0o055);
  await root.install("web", { files: { "server.js": "console.log('it runs'); setInterval(() => {}, 1000)" } });
  await served.act("web", "start");
  await until(async () => /it runs|ended/.test(await logOf(root)));
  t.match(await logOf(root), /it runs/);
});

t.test("a user who may not enter the release is told so", { skip: "same_user" in GRANT_USER }, async (t) => {
  const root = await ApplicationRoot.make(t);
  await root.grant({ web: {} });
  await root.install("web", { files: { "server.js": "" } });
  await chmod(root.layout.sealift, 0o700);
  await using served = await AppServe.start(root.layout, () => undefined);
  await until(async () => served.statuses()[0]?.state === "waiting" && /sealift: the user/.test(await logOf(root)));
  t.match(await logOf(root), /sealift: the user nobody may not enter .*\/apps\/web: open the folders above it/);
});

t.test("what a release ships as data is put there before the migration, for its user", async (t) => {
  const root = await ApplicationRoot.make(t);
  await root.grant({ web: {} });
  const release = await root.install("web", {
    ...{ app: { data: "storage" }, migrate: ["node", "migrate.js"] },
    files: { "migrate.js": `require("node:fs").appendFileSync("storage/seed", " migrated")`, "server.js": WRITES },
  });
  const folder = join(root.layout.releases("project-p"), release);
  const data = join(root.layout.sealift, "data/apps/web");
  await mkdir(join(folder, "shipped-data/apps/web/deep"), { recursive: true });
  for (const name of ["seed", "deep/own"]) await writeFile(join(folder, "shipped-data/apps/web", name), "shipped");
  await mkdir(join(data, "deep"), { recursive: true });
  await writeFile(join(data, "deep/own"), "the host's");
  await symlink(data, join(folder, "apps/web/storage"));
  await using served = await AppServe.start(root.layout, () => undefined);
  t.match(served.statuses(), [{ state: "running", error: null }]);
  t.equal(await readFile(join(data, "seed"), "utf8"), "shipped migrated");
  t.equal(await readFile(join(data, "deep/own"), "utf8"), "the host's", "no file of the host is replaced");
  const whoRuns = (): Promise<string> => readFile(join(data, "who"), "utf8").catch(() => "");
  await until(async () => (await whoRuns()) !== "");
  for (const name of ["seed", "deep", "deep/own"])
    t.equal(String((await stat(join(data, name))).uid), await whoRuns(), `${name} belongs to who runs it`);
});
