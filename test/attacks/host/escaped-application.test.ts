// Holds: which processes are an application's (lib/apps/membership.ts)
// Holds: control groups that tell members (lib/support/control-groups/member-groups.ts)
import { execFileSync, spawn } from "node:child_process";
import { chown, writeFile } from "node:fs/promises";
import { join } from "node:path";
import t, { type Test } from "tap";
import { actOnApplication } from "../../../lib/client/app-serve-client.ts";
import { SERVE_SOCKET, serveFolder } from "../../../lib/releases/applications.ts";
import { rounds } from "../../support/effort.ts";
import { freePort } from "../../support/free-port.ts";
import { ApplicationRoot } from "../../support/host/application-root.ts";
import { answers, ERASES, hops, leaves } from "../../support/host/hostile-programs.ts";
import { ask, noOwnUsers, ownUser, type ServedPlace, ServedRoot } from "../../support/host/served-root.ts";
import { until } from "../../support/until.ts";

/**
 * A version leaves its group, takes off the variable that marks it, keeps the socket that it was handed, and answers on
 * beside its successor.
 */

const HTTP = { listen: ["http"], stop: { within: 1 } };
async function hosted(t: Test, place: ServedPlace, program: string) {
  const root = await ApplicationRoot.make(t);
  const user = ownUser(t);
  const port = await freePort();
  const grant = { user, listen: { http: port } };
  await root.install("web", { app: HTTP, files: { "server.js": program } });
  await root.grant({ web: grant });
  const served = await ServedRoot.start(t, root, place);
  await until(async () => (await ask(port)) === "escaped" || (await ask(port)) === "hostile");
  await until(async () => (await answersOf(port, 40)).has("escaped"));
  return { root, port, grant, served };
}

/** Asks again and again, and returns the different answers. */
async function answersOf(port: number, times: number): Promise<Set<string>> {
  const all = new Set<string>();
  for (let count = 0; count < times; count++) all.add(await ask(port));
  return all;
}

async function restart({ layout }: ApplicationRoot): Promise<void> {
  await actOnApplication("web", "restart", { socket: join(serveFolder(layout), SERVE_SOCKET), timeoutMs: 60_000 });
}

const PLACES = { host: "group", container: "user" } as const;
const CASES: readonly [place: ServedPlace, how: string, program: string][] = [
  ["host", "leaves its group", leaves()],
  ["host", "erases its title", ERASES],
  ["host", "hops from process to process", hops()],
  ["container", "hops from process to process", hops()],
];

for (const [place, how, program] of CASES)
  t.test(`a version that ${how} does not outlive its upgrade on a ${place}`, { skip: noOwnUsers() }, async (t) => {
    const { root, port, served } = await hosted(t, place, program);
    t.ok(served.has("application.started", { membership: PLACES[place] }), JSON.stringify(served.events));
    for (let round = 0; round < rounds(1, 50); round++) {
      await root.install("web", { app: HTTP, files: { "server.js": answers(`clean ${round}`) } });
      await restart(root);
      await until(async () => (await ask(port)) === `clean ${round}`);
      t.same([...(await answersOf(port, 30))], [`clean ${round}`]);
      await root.install("web", { app: HTTP, files: { "server.js": program } });
      await restart(root);
      await until(async () => (await answersOf(port, 20)).has("escaped"));
    }
  });

for (const [place, membership] of Object.entries(PLACES) as [ServedPlace, string][]) {
  t.test(`it ends with its grant, by ${membership}`, { skip: noOwnUsers() }, async (t) => {
    const { root, port, served } = await hosted(t, place, leaves());
    await root.grant({});
    served.process.kill("SIGHUP");
    await until(() => served.has("application.stopped"));
    t.same([...(await answersOf(port, 5))], ["ECONNREFUSED"]);
  });

  t.test(
    `what a killed app serve left is ended by the next one, by ${membership}`,
    { skip: noOwnUsers() },
    async (t) => {
      const { root, port, served } = await hosted(t, place, hops());
      await served.end("SIGKILL");
      await root.install("web", { app: HTTP, files: { "server.js": answers("clean") } });
      const next = await ServedRoot.start(t, root, place);
      await until(async () => (await ask(port)) === "clean");
      t.same([...(await answersOf(port, 30))], ["clean"]);
      await root.install("web", { app: HTTP, files: { "server.js": leaves() } });
      await restart(root);
      await until(async () => (await answersOf(port, 20)).has("escaped"));
      await next.end("SIGTERM");
      t.same([...(await answersOf(port, 5))], ["ECONNREFUSED"], "and it ends with app serve");
    },
  );
}

t.test(
  "a user who is not the application's alone is refused where the grant says so",
  { skip: noOwnUsers() },
  async (t) => {
    const root = await ApplicationRoot.make(t);
    const user = ownUser(t);
    await root.install("web", { files: { "server.js": "setInterval(() => {}, 1000)" } });
    await root.grant({ web: { user, alone: true }, other: { user } });
    const served = await ServedRoot.start(t, root, "container");
    t.match(
      served.events.find(({ id }) => id === "web"),
      {
        ...{ event: "application.failed", code: "not_granted", restart_ms: null },
        message: new RegExp(`${user} for itself, but the user of other is the same user`),
      },
    );
    await writeFile(
      `${root.layout.root}/applications.yaml`,
      `supervisor: serve\napplications: { web: { user: nobody, alone: true } }\n`,
    );
    served.process.kill("SIGHUP");
    await until(() => served.events.some(({ message }) => /user of the system/.test(String(message))));
    const busy = ownUser(t);
    const uid = Number(execFileSync("id", ["-u", busy], { encoding: "utf8" }));
    const foreign = spawn("/bin/sleep", ["60"], { uid, gid: uid, stdio: "ignore" });
    t.teardown(() => foreign.kill("SIGKILL"));
    await root.grant({ web: { user: busy, alone: true } });
    served.process.kill("SIGHUP");
    const refused = new RegExp(`it runs the process ${foreign.pid} already`);
    await until(() => served.events.some(({ message }) => refused.test(String(message))));
    t.equal(foreign.exitCode, null, "and nobody ends what is not the application's");
    // Whoever deploys owns the root.
    const owner = ownUser(t);
    await chown(root.layout.root, Number(execFileSync("id", ["-u", owner], { encoding: "utf8" })), 0);
    await root.grant({ web: { user: owner, alone: true } });
    served.process.kill("SIGHUP");
    await until(() =>
      served.events.some(({ message }) => /but the owner of .* is the same user/.test(String(message))),
    );
  },
);
