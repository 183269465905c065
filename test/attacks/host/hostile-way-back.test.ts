// Holds: which processes are an application's (lib/apps/membership.ts)
// In a process of its own: it runs programs that end and begin again and again.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import t, { type Test } from "tap";
import { deploy } from "../../../lib/agent/deployment/deploy.ts";
import { DEPLOY_DEFAULTS } from "../../../lib/agent/deployment/run.ts";
import { processesOf } from "../../../lib/apps/processes.ts";
import { findUser } from "../../../lib/support/users.ts";
import { rounds } from "../../support/effort.ts";
import { freePort } from "../../support/free-port.ts";
import { appSource } from "../../support/host/application-host.ts";
import { ApplicationRoot } from "../../support/host/application-root.ts";
import { answers, HOPPERS, hops } from "../../support/host/hostile-programs.ts";
import { ask, noOwnUsers, ownUser, type ServedPlace, ServedRoot } from "../../support/host/served-root.ts";
import { commandLine } from "../../support/programs/command-line.ts";

/** A version whose processes hop does not start or does not work, and the one before comes back: alone. */

const APP = `command: [node, server.js]
listen: [http]
health: { http: /, within: 2s, stays_up: 1s }
stop: { within: 1s }
`;
const MIGRATES = `${APP}migrate: [node, migrate.js]\n`;

async function hosted(t: Test, place: ServedPlace) {
  const root = await ApplicationRoot.make(t);
  const port = await freePort();
  const user = ownUser(t);
  await root.grant({ web: { user, listen: { http: port } } });
  await ServedRoot.start(t, root, place);
  const { uid } = (await findUser(user))!;
  const options = { ...DEPLOY_DEFAULTS, projectRoot: root.layout.root, hostId: "host" };
  const run = (version: string, server: string, app = APP, migrate = "") =>
    deploy(
      appSource(version, ["web"], app, { "apps/web/server.js": server, "apps/web/migrate.js": migrate }),
      { ...options, supervisor: { name: "none" } },
      () => undefined,
    );
  const answersOf = async (times: number): Promise<string[]> => {
    const all = new Set<string>();
    for (let count = 0; count < times; count++) all.add(await ask(port));
    return [...all];
  };
  return { run, answersOf, processes: () => processesOf(uid) };
}

for (const place of ["host", "container"] as const) {
  t.test(
    `a version that hops is gone when the one before is back, on a ${place}`,
    { skip: noOwnUsers() },
    async (t) => {
      const h = await hosted(t, place);
      t.match(await h.run("1.0.0", answers("clean")), { outcome: "deployed" });
      for (let round = 0; round < rounds(1, 10); round++) {
        const result = await h.run(`2.0.${round}`, hops(500));
        t.match(result, { outcome: "rolled_back", error: { code: "rolled_back" } });
        t.same(await h.answersOf(30), ["clean"]);
        t.equal((await h.processes()).length, 1, "and nobody else is there");
      }
    },
  );

  t.test(`what a migration leaves is no part of the program, on a ${place}`, { skip: noOwnUsers() }, async (t) => {
    const h = await hosted(t, place);
    t.match(await h.run("1.0.0", answers("clean"), MIGRATES, `${HOPPERS} setTimeout(() => {}, 300)`), {
      outcome: "deployed",
    });
    t.same(await h.answersOf(10), ["clean"]);
    const left = await h.processes();
    // A group tells its members whatever they do, from the first program on.
    if (place === "host")
      for (const pid of left) t.match(readFileSync(`/proc/${pid}/cgroup`, "latin1"), /\/sealift-app-[0-9a-f]+-web$/m);
    t.match(await h.run("2.0.0", answers("next")), { outcome: "deployed" });
    t.same(await h.answersOf(10), ["next"]);
    t.equal((await h.processes()).length, 1, "all of it ends with the version");
  });
}

t.test("an application with the user of app serve is said to be told by nothing", { skip: noOwnUsers() }, async (t) => {
  const root = await ApplicationRoot.make(t);
  const user = ownUser(t);
  const { uid } = (await findUser(user))!;
  const port = await freePort();
  // It may enter any group that its user may.
  const moves = `for (const at of ["/sys/fs/cgroup/cgroup.procs", "/sys/fs/cgroup/unified/cgroup.procs"])
    try { require("node:fs").writeFileSync(at, "0"); } catch {}`;
  await root.install("web", { app: { listen: ["http"] }, files: { "server.js": `${moves} ${answers("same")}` } });
  const grant = { same_user: true, listen: { http: port } };
  await writeFile(
    join(root.layout.root, "applications.yaml"),
    JSON.stringify({ supervisor: "serve", applications: { web: grant } }),
  );
  execFileSync("chown", ["--recursive", "--no-dereference", `${uid}:${uid}`, root.layout.root]);
  const served = await ServedRoot.start(t, root, uid);
  if (served.process.exitCode !== null) return t.comment("another user cannot read the program here");
  t.ok(served.has("application.started", { membership: "none", same_user: true }), JSON.stringify(served.events));
  t.equal(await ask(port), "same");
  const status = await commandLine(["app", "status", "web", "--project-root", root.layout.root, "--json"]);
  t.match(status.stdout, '"membership":"none"');
});
