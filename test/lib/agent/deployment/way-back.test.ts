// Holds: an undo is asked (lib/agent/deployment/ask-back.ts)
// Holds: nothing waits for answers before the version is condemned (lib/agent/deployment/undo.ts)
// Holds: a failed start is tried again once nobody deploys (lib/apps/managed-application.ts)
// In a process of its own: it watches processes for seconds.
import { chmod, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import t, { type Test } from "tap";
import type { DeployResult } from "../../../../lib/agent/deployment/run.ts";
import { readReports as reportsOf } from "../../../../lib/agent/reports/report.ts";
import { AppServe } from "../../../../lib/apps/serve.ts";
import { localReport } from "../../../../lib/contract/surfaces/reports.ts";
import { readStanding } from "../../../../lib/releases/health.ts";
import { readJournal } from "../../../../lib/releases/journal.ts";
import type { Layout } from "../../../../lib/releases/layout.ts";
import { holderOf } from "../../../../lib/releases/lock.ts";
import { readQuarantine } from "../../../../lib/releases/quarantine.ts";
import { rounds } from "../../../support/effort.ts";
import { freePort } from "../../../support/free-port.ts";
import { applicationHost, appSource } from "../../../support/host/application-host.ts";
import { GRANT_USER } from "../../../support/host/application-root.ts";
import { GIVEN_TARGET } from "../../../support/host/given-source.ts";
import { ask } from "../../../support/host/served-root.ts";
import { until } from "../../../support/until.ts";

/** A host whose application listens, or is handed a socket, and needs a database: a file that others can read. */
async function hosted(t: Test, kind: "listen" | "ports" = "listen") {
  const port = await freePort();
  const grant = `{ ${Object.entries(GRANT_USER)
    .map(([key, value]) => `${key}: ${value}`)
    .join()}, listen: { http: ${port} } }`;
  const h = await applicationHost(t, `supervisor: serve\napplications: { web: ${grant} }\n`);
  await chmod(h.root, 0o755);
  const database = join(h.root, "database");
  await writeFile(database, "up");
  const served = await AppServe.start(h.layout, () => undefined);
  t.teardown(() => served[Symbol.asyncDispose]());
  const yaml = (more = ""): string =>
    `command: [node, server.js]\n${kind}: [http]\nhealth: { http: /, within: 4s, stays_up: 1s }\nstop: { within: 1s }\n${more}`;
  const at = kind === "listen" ? "{ fd: 3 }" : "Number(process.env.PORT), process.env.HOST";
  const server = (body: string): string =>
    `const fs = require("node:fs"); const database = ${JSON.stringify(database)};
     require("node:http").createServer((q, r) => { ${body} }).listen(${at});`;
  const version = (name: string, body: string, more?: string, files: Record<string, string> = {}) =>
    appSource(name, ["web"], yaml(more), { "apps/web/server.js": server(body), ...files });
  const supervisor = { name: "none" as const };
  const deploy = (source: ReturnType<typeof version>, signal?: AbortSignal): Promise<DeployResult> =>
    h.run(source, { supervisor, ...(signal && { signal }) });
  const reportIn = async ({ report }: DeployResult) => localReport.parse(JSON.parse(await readFile(report!, "utf8")));
  return { ...h, port, served, database, version, deploy, reportIn };
}

const readReports = (layout: Layout) => reportsOf(layout, GIVEN_TARGET, 10);

/** Exits at once unless the database is there, before it listens. */
const NEEDS = `migrate: [node, migrate.js]\n`;
const migration = (database: string, also = ""): Record<string, string> => ({
  "apps/web/migrate.js": `${also} process.exit(require("node:fs").existsSync(${JSON.stringify(database)}) ? 0 : 3);`,
});

// They mostly wait, each on a host of its own.
t.jobs = 3;
const concurrently = (name: string, body: (t: Test) => Promise<void>) => t.test(name, { buffered: true }, body);

concurrently("what does not come back is said, and comes back by itself once it can", async (t) => {
  const h = await hosted(t);
  const good = h.version("1.0.0", `r.end("one")`, NEEDS, migration(h.database));
  const first = await h.deploy(good);
  t.match(first, { outcome: "deployed" });
  t.match(await h.reportIn(first), { membership: { web: "same_user" in GRANT_USER ? "none" : /group|none/ } });
  await rm(h.database);
  const result = await h.deploy(h.version("2.0.0", `r.end("two")`, NEEDS, migration(h.database)));
  t.match(result, { outcome: "rolled_back", version: "2.0.0", error: { code: "not_back", exitCode: 1 } });
  t.match(
    result.error?.message,
    /installed again, and does not work either: apps\/web: (?:.*exit code 3|the application web is starting)/,
  );
  t.match(await h.reportIn(result), {
    ...{ status: "rolled_back", code: "not_back", running_version: "1.0.0" },
    health: { state: "unhealthy" },
  });
  t.match(await readStanding(h.layout, GIVEN_TARGET), {
    state: "unhealthy",
    units: { "apps/web": /exit code 3|is starting/ },
  });
  t.match(await ask(h.port), /ECONNREFUSED|silence|ECONNRESET/);
  await writeFile(h.database, "up");
  await until(async () => (await ask(h.port)) === "one", 60_000);
});

concurrently("a database that is back in a moment keeps nothing from coming back", async (t) => {
  const h = await hosted(t);
  t.match(await h.deploy(h.version("1.0.0", `r.end("one")`, NEEDS, migration(h.database))), { outcome: "deployed" });
  await rm(h.database);
  const going = h.deploy(h.version("2.0.0", `r.end("two")`, NEEDS, migration(h.database)));
  await until(() => h.events.some(({ event }) => event === "rollback.done"));
  await writeFile(h.database, "up");
  t.match(await going, { outcome: "rolled_back", error: { code: "rolled_back", exitCode: 6, message: /is back\.$/ } });
  t.equal(await ask(h.port), "one", "as somebody else finds, too");
});

concurrently("a port that somebody holds is asked for until it is free", async (t) => {
  const h = await hosted(t, "ports");
  t.match(await h.deploy(h.version("1.0.0", `r.end("one")`)), { outcome: "deployed" });
  const squatter = createServer((socket) => socket.destroy());
  const holds = h.version("2.0.0", `r.writeHead(500).end()`);
  const going = h.deploy(holds);
  await until(() => h.events.some((event) => event.event === "rollback.started"));
  // As soon as the bad version has let go of it.
  await until(
    () =>
      new Promise<boolean>((resolve) => {
        squatter.once("error", () => resolve(false));
        squatter.listen(h.port, "127.0.0.1", () => resolve(true));
      }),
  ).catch(() => undefined);
  const result = await going;
  const isBack = (await ask(h.port)) === "one";
  t.equal(result.error?.code === "rolled_back", isBack, `it says what is true: ${result.error?.message}`);
  await new Promise((resolve) => squatter.close(resolve));
  await until(async () => (await ask(h.port)) === "one", 60_000);
});

concurrently("what a run says of its way back, somebody else finds, too", async (t) => {
  const h = await hosted(t);
  const body = `const state = fs.readFileSync(database, "utf8"); if (state === "down") process.exit(4);
    state === "up" ? r.end("one") : state === "slow" ? setTimeout(() => r.end("one"), 1500) : r.writeHead(500).end()`;
  t.match(await h.deploy(h.version("1.0.0", body)), { outcome: "deployed" });
  const states = ["up", "sick", "down", "slow", "up"];
  for (let round = 0; round < rounds(2, 100); round++) {
    const [before, after] = [states[round % 5]!, states[Math.floor(Math.random() * 5)]!];
    await writeFile(h.database, before);
    const bad = ["process.exit(1)", "r.writeHead(500).end()", ""][round % 3]!;
    const going = h.deploy(h.version(`2.0.${round}`, bad));
    await until(() => h.events.some(({ event }) => event === "rollback.done"));
    h.events.length = 0;
    await writeFile(h.database, after);
    const { error } = await going;
    const answer = await ask(h.port);
    t.equal(error?.code === "rolled_back", answer === "one", `${before} → ${after}: ${error?.code}, and ${answer}`);
  }
});

concurrently("a former release that answers 500 is not back", async (t) => {
  const h = await hosted(t);
  const body = `fs.existsSync(database) ? r.end("one") : r.writeHead(500).end()`;
  t.match(await h.deploy(h.version("1.0.0", body)), { outcome: "deployed" });
  await rm(h.database);
  const result = await h.deploy(h.version("2.0.0", `r.writeHead(503).end()`));
  t.match(result, { outcome: "rolled_back", error: { code: "not_back", faults: [/answered 500/] } });
  t.ok(h.events.some(({ event }) => event === "rollback.asked"));
  t.match(await readQuarantine(h.layout, GIVEN_TARGET), [{ version: "2.0.0", code: "unhealthy" }]);
});

for (const [how, signalled] of [
  ["a signal ends the asking, and not the way back", true],
  ["a kill while it is asked loses neither quarantine nor report", false],
] as const)
  concurrently(how, async (t) => {
    const h = await hosted(t);
    t.match(await h.deploy(h.version("1.0.0", `fs.existsSync(database) ? r.end("one") : undefined`)), {
      outcome: "deployed",
    });
    await rm(h.database);
    const controller = new AbortController();
    const going = h.deploy(h.version("2.0.0", `r.writeHead(503).end()`), controller.signal);
    await until(() => h.events.some(({ event }) => event === "rollback.done"));
    let isOver = false;
    void going.then(() => (isOver = true));
    t.match(await readQuarantine(h.layout, GIVEN_TARGET), [{ version: "2.0.0" }]);
    t.equal((await readReports(h.layout)).length, 2);
    t.equal(await readJournal(h.layout), undefined);
    await until(async () => (await holderOf(h.layout.lock)) === undefined);
    t.notOk(isOver, "the root is free meanwhile");
    t.match((await readReports(h.layout))[0], { status: "rolled_back", code: "unhealthy", resolved_version: "2.0.0" });
    if (!signalled) await writeFile(h.database, "up");
    else controller.abort();
    const result = await going;
    t.match(result, { outcome: "rolled_back", error: { code: "rolled_back" } });
    if (signalled) t.match(result.error?.message, /not asked/);
    t.equal((await readReports(h.layout)).length, 2, "one report a run");
    await writeFile(h.database, "up");
    await until(async () => (await ask(h.port)) === "one", 60_000);
  });
