import { execFileSync, spawnSync } from "node:child_process";
import { closeSync, existsSync, openSync } from "node:fs";
import { chmod, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import t, { type Test } from "tap";
import { applicationSupervisor } from "../../../lib/agent/supervisors/applications.ts";
import { processesOf as pidsOf } from "../../../lib/apps/processes.ts";
import { readGrants } from "../../../lib/releases/applications.ts";
import { readJob, writeJob } from "../../../lib/releases/jobs.ts";
import { freePort } from "../../support/free-port.ts";
import { ApplicationRoot } from "../../support/host/application-root.ts";
import { answers, HOPPERS } from "../../support/host/hostile-programs.ts";
import { plant } from "../../support/host/project-root.ts";
import { ask, noOwnUsers, ownUser, SEALIFT, ServedRoot } from "../../support/host/served-root.ts";
import { until } from "../../support/until.ts";

/**
 * A job and a health command leave their groups, take off every mark and outlive their time; what somebody types in the
 * place of an application wants what whoever types it has.
 */

/** Hops, notes that it does, and never ends by itself. */
const STAYS = (mark: string): string =>
  `require("node:fs").writeFileSync(${JSON.stringify(mark)}, ""); process.on("SIGTERM", () => {}); ${HOPPERS} setInterval(() => {}, 1000);`;

/** Returns the command lines of the living processes of a user. One that is ending has let go of its own already. */
async function processesOf(user: string): Promise<string[]> {
  const uid = Number(execFileSync("id", ["-u", user], { encoding: "utf8" }));
  const found: string[] = [];
  for (const pid of await pidsOf(uid)) found.push(await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => ""));
  return found.filter((line) => line !== "");
}

async function hosted(t: Test) {
  const root = await ApplicationRoot.make(t);
  const [bad, good] = [ownUser(t), ownUser(t)];
  const port = await freePort();
  const said = join(root.layout.root, "said");
  await mkdir(said);
  await chmod(said, 0o777);
  return { root, bad, good, port, said };
}

/** An application of somebody else, beside. */
const NEIGHBOUR = { app: { listen: ["http"] }, files: { "server.js": answers("neighbour") } };

t.test(
  "a job that hops and stays ends in its time, wholly, and costs its neighbour nothing",
  { skip: noOwnUsers() },
  async (t) => {
    const { root, bad, good, port, said } = await hosted(t);
    const mark = join(said, "job");
    const night = { schedule: "* * * * *", within: 3, stop: { within: 1 } };
    await root.installTogether({
      night: { app: night, command: ["node", "night.js"], files: { "night.js": STAYS(mark) } },
      web: NEIGHBOUR,
    });
    await root.grantAsIs({ night: { user: bad }, web: { user: good, listen: { http: port } } });
    const due = new Date(Date.now() - 61_000).toISOString();
    await writeJob(root.layout, "night", { v: 1, times: "* * * * * UTC", until: due, run: null });
    const served = await ServedRoot.start(t, root);
    await until(() => existsSync(mark));
    t.equal(await ask(port), "neighbour");
    t.ok((await processesOf(bad)).length > 1, "it hops");
    await until(async () => (await readJob(root.layout, "night"))?.run?.ended);
    t.strictSame(await processesOf(bad), []);
    t.match((await readJob(root.layout, "night"))!.run, { fault: "it did not end within 3 s" });
    t.equal(await ask(port), "neighbour");
    await served.end("SIGTERM");
  },
);

t.test("so does a health command, and nobody waits for it", { skip: noOwnUsers() }, async (t) => {
  const { root, bad, good, port, said } = await hosted(t);
  const mark = join(said, "check");
  const health = { command: ["node", "check.js"], within: 2 };
  await root.installTogether({
    worker: { app: { health }, files: { "server.js": "setInterval(() => {}, 1000);", "check.js": STAYS(mark) } },
    web: NEIGHBOUR,
  });
  await writeFile(
    join(root.layout.root, "apps/worker/.sealift/check"),
    `#!/bin/sh\nexec timeout -s TERM -k 1 2 '${process.execPath}' check.js\n`,
  );
  await root.grantAsIs({ worker: { user: bad }, web: { user: good, listen: { http: port } } });
  await ServedRoot.start(t, root);
  await until(async () => (await processesOf(bad)).length === 1);
  const supervisor = applicationSupervisor({ layout: root.layout, grants: (await readGrants(root.layout))! });
  const began = performance.now();
  await supervisor.look!("worker", 1000);
  t.ok(performance.now() - began < 4_000, "a look waits for no run");
  await until(() => existsSync(mark));
  t.equal(await ask(port), "neighbour");
  await until(async () => (await supervisor.look!("worker", 1000)).fault !== undefined);
  t.match(await supervisor.look!("worker", 1000), { fault: /`health\.command` failed: it did not end within 2 s/ });
  // Nobody looks now, so none begins anew.
  await until(async () => (await processesOf(bad)).length === 1);
  t.match(await processesOf(bad), [/server\.js/], "none of its hoppers is left");
  t.equal((await supervisor.look!("web", 1000)).fault, undefined);
});

t.test(
  "a typed command has no descriptor, no variable and no file of whoever types it",
  { skip: noOwnUsers() },
  async (t) => {
    const { root, bad } = await hosted(t);
    await root.install("web", { files: { "server.js": "" } });
    await root.grantAsIs({ web: { user: bad }, api: { user: bad } });
    const secrets = ["host.key", "watch.secrets", "apps/api.env", "apps/web.env"];
    await plant(root.layout.root, Object.fromEntries(secrets.map((path) => [path, "SECRET=1\n"])));
    for (const path of secrets) await chmod(join(root.layout.root, path), 0o600);
    const script = `
    ls -l /proc/self/fd | sed -n 's/.* -> /fd /p'
    env | grep -E 'TYPED_SECRET|SEALIFT_API_KEY|SUDO_' && echo could read a variable
    tr '\\0' '\\n' < /proc/$PPID/environ 2>/dev/null | grep TYPED_SECRET && echo could read its parent
    root=$PWD/../../../../../..
    for path in ${secrets.join(" ")}; do cat "$root/$path" 2>/dev/null && echo could read $path; done
    for path in .sealift .sealift/runs .sealift/state apps .; do { echo x > $root/$path/planted; } 2>/dev/null && echo could add to $path; done
    ls $root/.sealift/apps $root/.sealift/logs/apps/web 2>/dev/null && echo could look at app serve
    grep -E 'NoNewPrivs|CapEff' /proc/self/status; id -u; echo tried all`;
    const words = ["app", "run", "web", "--project-root", root.layout.root, "--", "sh", "-c", script];
    // As a shell or a program leaves one open.
    const open = openSync(join(root.layout.root, "host.key"), "r");
    t.teardown(() => closeSync(open));
    const left = (count: number) => Array.from({ length: count }, () => open);
    const typed = spawnSync(process.execPath, [SEALIFT, ...words], {
      ...{ encoding: "utf8", stdio: ["ignore", "pipe", "pipe", ...left(20)] },
      env: { PATH: process.env.PATH, TYPED_SECRET: "typed", SEALIFT_API_KEY: "key" },
    });
    t.match(typed.stdout, /tried all\n$/, typed.stderr);
    t.notMatch(typed.stdout, /could |SECRET=1|typed/);
    t.match(typed.stdout, /^NoNewPrivs:\t1$/m);
    t.match(typed.stdout, /^CapEff:\t0+$/m);
    const descriptors = typed.stdout.split("\n").filter((line) => line.startsWith("fd "));
    // Its own three, and the folder that `ls` reads.
    t.ok(descriptors.length <= 4, descriptors.join(", "));
    t.ok(
      descriptors.every((line) => /\/dev\/null|pipe:|socket:|\/proc\/\d+\/fd|\/dev\/pts/.test(line)),
      descriptors.join(", "),
    );
    t.strictSame(await readdir(join(root.layout.sealift, "runs")), []);
    t.match(await readFile(join(root.layout.sealift, "logs/apps/web/log"), "utf8"), /ended with exit code 0/);
  },
);
