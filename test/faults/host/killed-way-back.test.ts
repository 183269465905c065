// Holds: a deployment of an application that is killed at any moment ends whole (lib/agent/deployment/interrupted.ts)
// In a process of its own: it kills programs.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import t, { type Test } from "tap";
import { deploy } from "../../../lib/agent/deployment/deploy.ts";
import { DEPLOY_DEFAULTS } from "../../../lib/agent/deployment/run.ts";
import { readReports } from "../../../lib/agent/reports/report.ts";
import { AppServe } from "../../../lib/apps/serve.ts";
import { readJournal } from "../../../lib/releases/journal.ts";
import { layoutOf } from "../../../lib/releases/layout.ts";
import { readQuarantine } from "../../../lib/releases/quarantine.ts";
import { rounds } from "../../support/effort.ts";
import { freePort } from "../../support/free-port.ts";
import { GRANT_USER } from "../../support/host/application-root.ts";
import { versionOf } from "../../support/host/deploy-program.ts";
import { GIVEN_TARGET } from "../../support/host/given-source.ts";
import { ask } from "../../support/host/served-root.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";
import { until } from "../../support/until.ts";

const PROGRAM = join(import.meta.dirname, "../../support/host/deploy-program.ts");
/** Longest time of a deployment that goes back, in milliseconds. */
const WHOLE_MS = 8_000;

/** A root with `app serve`, whose application is granted. */
async function hosted(t: Test) {
  const root = temporaryFolder(t);
  await chmod(root, 0o755);
  const layout = layoutOf(root);
  const port = await freePort();
  const grants = { supervisor: "serve", applications: { web: { ...GRANT_USER, listen: { http: port } } } };
  await writeFile(join(root, "applications.yaml"), JSON.stringify(grants));
  let starts = 0;
  const served = await AppServe.start(layout, ({ event }) => (starts += event === "application.started" ? 1 : 0));
  t.teardown(() => served[Symbol.asyncDispose]());
  const options = { ...DEPLOY_DEFAULTS, projectRoot: root, hostId: "host", supervisor: { name: "none" as const } };
  const run = (version: string) => deploy(versionOf(version, `r.end("${version}")`), options, () => undefined);
  return { root, layout, port, run, starts: () => starts };
}

t.test("killed at any moment, the next run ends it, and blames no good version", async (t) => {
  const { root, layout, port, run } = await hosted(t);
  t.match(await run("1.0.0"), { outcome: "deployed" });
  const turns = rounds(3, 40);
  for (let turn = 0; turn < turns; turn++) {
    const isGood = turn % 2 === 1;
    const version = `${turn + 2}.0.0`;
    const body = isGood ? `r.end("${version}")` : "r.writeHead(500).end()";
    const child = spawn(process.execPath, [PROGRAM, root, version, body], { stdio: "ignore" });
    const ended = once(child, "exit");
    await Promise.race([ended, sleep((WHOLE_MS * (turn + 0.5)) / turns)]);
    child.kill(turn % 4 < 2 ? "SIGKILL" : "SIGTERM");
    await ended;
    const next = `${turn + 2}.1.0`;
    const result = await run(next);
    t.match(
      result,
      { outcome: "deployed" },
      `${version} (${isGood ? "good" : "bad"}), and ${result.error?.message ?? next}`,
    );
    await until(async () => (await ask(port)) === next);
    const held = (await readQuarantine(layout, GIVEN_TARGET)).filter((one) => isGood && one.version === version);
    t.same(held, [], "a good version is not held");
  }
});

for (const signal of ["SIGTERM", "SIGKILL"] as const)
  t.test(`${signal} while what is back is asked: it stays condemned, and nothing starts twice`, async (t) => {
    const { root, layout, port, run, starts } = await hosted(t);
    t.match(await run("1.0.0"), { outcome: "deployed" });
    const child = spawn(process.execPath, [PROGRAM, root, "2.0.0", "r.writeHead(500).end()"], { stdio: "ignore" });
    const ended = once(child, "exit");
    const held = async () => (await readQuarantine(layout, GIVEN_TARGET)).map(({ version, code }) => [version, code]);
    await until(async () => (await held()).length > 0 && (await readJournal(layout)) === undefined);
    child.kill(signal);
    await ended;
    t.equal(starts(), 3, "1.0.0, 2.0.0, and what is back");
    await until(async () => (await ask(port)) === "1.0.0");
    const result = await run("1.0.0");
    t.match(result, { outcome: "unchanged" });
    t.equal(starts(), 3);
    t.same(await held(), [["2.0.0", "unhealthy"]]);
    t.match(await readReports(layout, GIVEN_TARGET, 10), [
      { status: "success" },
      { status: "rolled_back", resolved_version: "2.0.0" },
      { status: "success" },
    ]);
  });
