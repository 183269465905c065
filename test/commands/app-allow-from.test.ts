// Holds: what a release asks is allowed at once, after somebody agrees (lib/agent/applications/asked-grants.ts,
// commands/apps/agreed-to.ts, commands/apps/grant-text.ts, commands/apps/app-allow.ts)
import { once } from "node:events";
import { chmodSync, existsSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { Readable, Writable } from "node:stream";
import type { BaseContext } from "clipanion";
import t from "tap";
import { parse } from "yaml";
import { agreedTo } from "../../commands/apps/agreed-to.ts";
import { AppAllow } from "../../commands/apps/app-allow.ts";
import { applicationsFile } from "../../lib/contract/files/applications.ts";
import { runHere } from "../support/programs/run-here.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const isRoot = process.getuid?.() === 0;
const USER = isRoot ? ["--user", "nobody"] : [];

const APP = `command: [node, server.js]
listen: [http]
ports: [metrics]
limits: { memory: 512M, tasks: 100 }
environment: { required: [DATABASE_URL] }
`;

async function released(t: Parameters<typeof temporaryFolder>[0]) {
  const [root, project] = [temporaryFolder(t), temporaryFolder(t)];
  chmodSync(root, 0o755);
  for (const [id, text] of Object.entries({ web: APP, worker: "command: [node, worker.js]\n" })) {
    await mkdir(join(project, "apps", id), { recursive: true });
    await writeFile(join(project, "apps", id, "app.yaml"), text);
  }
  const file = join(root, "applications.yaml");
  const grants = async () => applicationsFile.parse(parse(await readFile(file, "utf8"))).applications;
  const allow = (words: string[], given: { isTTY?: boolean; stdin?: string } = {}) =>
    runHere([AppAllow], ["app", "allow", ...words, "--project-root", root], given);
  return { root, project, file, grants, allow };
}

t.test("what an app.yaml asks is shown, and allowed with --yes alone where nobody can answer", async (t) => {
  const { project, file, grants, allow } = await released(t);
  const from = ["--from", join(project, "apps/web/app.yaml"), ...USER];
  const refused = await allow(from);
  t.match(refused, { code: 2, stderr: /Nothing was allowed.*\n.*--yes/ });
  t.match(refused.stderr, /^web {2}node server\.js\n {2}addresses http 127\.0\.0\.1:\d+, metrics 127\.0\.0\.1:\d+\n/m);
  t.match(refused.stderr, /limits +512M memory, 100 processes and threads\n/);
  t.match(refused.stderr, /needs +the settings DATABASE_URL\n/);
  if (!isRoot) t.match(refused.stderr, /can read the agent's keys/);
  t.notOk(existsSync(file));

  const busy = createServer().listen(3000, "127.0.0.1");
  // Another program may have it as well.
  await once(busy, "listening").catch(() => undefined);
  t.match(await allow([...from, "--yes"]), { code: 0 });
  busy.close();
  const { web } = await grants();
  t.match(web, { limits: { memory: "512M", tasks: 100 }, same_user: !isRoot });
  const ports = Object.values(web!.listen).map((at) => Number(at.split(":")[1]));
  t.equal(new Set(ports).size, 2);
  t.ok(
    ports.every((port) => port > 3000 && port < 4000),
    "a port that somebody has is not proposed",
  );

  t.comment("again, nothing of it changes; what the operator has set stays");
  t.match(
    await allow([
      "--from",
      join(project, "apps/web"),
      "--port",
      "metrics=4999",
      "--memory-max",
      "2G",
      "--yes",
      ...USER,
    ]),
    { code: 0 },
  );
  const again = (await grants())["web"];
  t.strictSame(again!.listen, { ...web!.listen, metrics: "127.0.0.1:4999" });
  t.strictSame(again!.limits, { memory: "2G", tasks: 100 });
  await writeFile(join(project, "apps/web/app.yaml"), APP.replace("tasks: 100", "tasks: 200"));
  t.match(await allow([...from, "--yes"]), { code: 0 });
  t.strictSame(
    (await grants())["web"]!.limits,
    { memory: "2G", tasks: 200 },
    "raised to what it asks, and not lowered",
  );
});

t.test("a project's applications are allowed at once, and one alone by its id", async (t) => {
  const { project, grants, allow } = await released(t);
  const one = await allow(["worker", "--from", project, "--yes", "--json", ...USER]);
  t.match(one, { code: 0 });
  t.notMatch(one.stderr, /^ {2}limits/m, "it asks for none");
  t.match(JSON.parse(one.stdout), { id: "worker", grants: { worker: {} } });
  t.strictSame(Object.keys(await grants()), ["worker"]);
  const all = await allow(["--from", project, "--yes", "--json", ...USER]);
  t.match(all, { code: 0 });
  t.notOk("id" in (JSON.parse(all.stdout) as object), "several have no one id");
  t.strictSame(Object.keys(await grants()).toSorted(), ["web", "worker"]);
  t.match(await allow(["other", "--from", project, "--yes", ...USER]), { code: 2, stderr: /no application other in/ });
});

t.test("programs of another application are allowed as that, which is shown and has no user of its own", async (t) => {
  const { project, grants, allow } = await released(t);
  for (const [id, kind] of Object.entries({ a: "", night: 'schedule: "30 3 * * *"\n' })) {
    await mkdir(join(project, "apps", id), { recursive: true });
    await writeFile(join(project, "apps", id, "app.yaml"), `of: web\ncommand: [node, ${id}.js]\n${kind}`);
  }
  const allowed = await allow(["--from", project, "--yes", ...USER]);
  t.match(allowed, { code: 0, stderr: /^night {2}node night\.js\n {2}of +web: its user, settings and data\n/m });
  const { a: other, night, web } = await grants();
  t.match([other, night], [{ of: "web" }, { of: "web" }]);
  for (const grant of [other, night]) t.notOk(grant!.user ?? grant!.same_user);
  t.match(web, isRoot ? { user: "nobody" } : { same_user: true });
  await writeFile(join(project, "apps/night/app.yaml"), "command: [node, night.js]\n");
  t.match(await allow(["night", "--from", project, "--yes", ...USER]), { code: 0 });
  t.notOk((await grants())["night"]!.of, "one that is of nobody by now");
});

t.test("what cannot be read or has no id is named, and nothing is written", async (t) => {
  const { root, project, file, grants, allow } = await released(t);
  await writeFile(join(root, "app.yaml"), APP);
  t.match(await allow(["--from", join(root, "app.yaml"), "--yes", ...USER]), {
    code: 2,
    stderr: /does not say the id.*\n.*app allow ID/,
  });
  await mkdir(join(root, "apps/Not An Id"), { recursive: true });
  await writeFile(join(root, "apps/Not An Id/app.yaml"), APP);
  const unnamed = await allow(["--from", join(root, "apps/Not An Id"), "--yes", ...USER]);
  t.match(unnamed, { code: 2, stderr: /does not say the id/ });
  t.match(await allow(["--from", join(root, "nothing"), "--yes", ...USER]), { code: 2 });
  await mkdir(join(root, "apps/Not an id"), { recursive: true });
  await writeFile(join(root, "apps/Not an id/app.yaml"), APP);
  t.match(await allow(["--from", join(root, "apps/Not an id"), "--yes", ...USER]), {
    ...{ code: 2, stderr: /does not say the id of its application/ },
  });
  await writeFile(join(project, "apps/web/app.yaml"), "command: []\n");
  t.match(await allow(["--from", join(project, "apps/web"), "--yes", ...USER]), { code: 2, stderr: /command/ });
  t.match(await allow([]), { code: 2, stderr: /id of an application.*--from/ });
  if (isRoot)
    t.match(await allow(["--from", join(project, "apps/worker"), "--yes"]), {
      code: 2,
      stderr: /needs a user of its own/,
    });
  t.notOk(existsSync(file));
  t.match(await allow(["web", "--from", join(root, "app.yaml"), ...USER, "--yes"]), { code: 0 });
  t.strictSame(Object.keys(await grants()), ["web"]);
});

t.test("only a yes at a terminal agrees", async (t) => {
  const { CI } = process.env;
  delete process.env.CI;
  t.teardown(() => (CI === undefined ? undefined : (process.env.CI = CI)));
  const answered = (text: string) => {
    const stdin = Object.assign(Readable.from([text]), { isTTY: true });
    const stderr = new Writable({ write: (_chunk, _encoding, done) => done() });
    return agreedTo({ context: { stdin, stderr } as unknown as BaseContext, yes: false });
  };
  await answered("y\n");
  for (const text of ["n\n", "\n", ""])
    await t.rejects(answered(text), { code: "usage", message: "Nothing was allowed." });
});
