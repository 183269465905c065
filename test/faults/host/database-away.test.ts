// Holds: an application comes back by itself once its database is there again (lib/apps/pauses.ts)
// In a process of its own: it watches processes for seconds, at night for minutes.
// Begins early: it waits for a minute.
/** An application whose start needs a database, under `app serve`, with a watch: the database goes away for a while. */
import { chmod, writeFile } from "node:fs/promises";
import { createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import t, { type Test } from "tap";
import { DEPLOY_DEFAULTS } from "../../../lib/agent/deployment/run.ts";
import type { WatchTarget } from "../../../lib/agent/watch/target.ts";
import { AppServe } from "../../../lib/apps/serve.ts";
import { readStanding } from "../../../lib/releases/health.ts";
import { layoutOf } from "../../../lib/releases/layout.ts";
import { IS_NIGHTLY } from "../../support/effort.ts";
import { freePort } from "../../support/free-port.ts";
import { appSource } from "../../support/host/application-host.ts";
import { GRANT_USER } from "../../support/host/application-root.ts";
import { GIVEN_TARGET } from "../../support/host/given-source.ts";
import { ask } from "../../support/host/served-root.ts";
import { givenTarget, watching } from "../../support/host/watching.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";
import { until } from "../../support/until.ts";

/** Most time from the return of a database to an answer, in milliseconds. */
const BACK_MS = 60_000;
const OUTAGES_MS = IS_NIGHTLY ? [20_000, 300_000] : [2_000];

/** A database that speaks to nobody, and can be away. */
class Database {
  readonly port: number;
  #server: Server | undefined;
  readonly #connected = new Set<Socket>();

  constructor(port: number) {
    this.port = port;
  }

  async begin(): Promise<void> {
    this.#server = createServer((socket) => {
      this.#connected.add(socket.on("error", () => undefined).on("close", () => this.#connected.delete(socket)));
    });
    await new Promise<void>((resolve) => this.#server!.listen(this.port, "127.0.0.1", resolve));
  }

  async end(): Promise<void> {
    const closed = new Promise((resolve) => this.#server?.close(resolve));
    for (const socket of this.#connected) socket.destroy();
    await closed;
  }
}

/** Migrates only with the database, ends when it loses it, and answers with its version. */
const files = (database: number, version: string, isGood: boolean): Record<string, string> => ({
  "apps/web/migrate.js": `require("node:net").connect(${database}, "127.0.0.1")
    .on("error", () => process.exit(3)).on("connect", () => process.exit(0));`,
  "apps/web/server.js": `const lost = () => process.exit(4);
    require("node:net").connect(${database}, "127.0.0.1").on("error", lost).on("close", lost).on("connect", () =>
      require("node:http").createServer((q, r) => { ${isGood ? `r.end("${version}")` : "r.writeHead(500).end()"} })
        .listen({ fd: 3 }));`,
});

const APP = `command: [node, server.js]
listen: [http]
migrate: [node, migrate.js]
health: { http: /, within: 2s, stays_up: 1s }
stop: { within: 1s }
`;

async function hosted(t: Test) {
  const root = temporaryFolder(t);
  await chmod(root, 0o755);
  const layout = layoutOf(root);
  const [port, database] = [await freePort(), new Database(await freePort())];
  await database.begin();
  t.teardown(() => database.end());
  const grants = { supervisor: "serve", applications: { web: { ...GRANT_USER, listen: { http: port } } } };
  await writeFile(join(root, "applications.yaml"), JSON.stringify(grants));
  let failures = 0;
  const serve = () => AppServe.start(layout, ({ event }) => (failures += event === "application.failed" ? 1 : 0));
  let served = await serve();
  t.teardown(() => served[Symbol.asyncDispose]());
  const given = givenTarget(root);
  const target: WatchTarget = {
    ...given,
    intervalMs: 200,
    source: (version) =>
      appSource(version, ["web"], APP, files(database.port, version, version === "1.0.0" || version === "2.0.0")),
    options: { ...DEPLOY_DEFAULTS, projectRoot: root, hostId: "host", supervisor: { name: "none" } },
  };
  const w = watching(t, [target], undefined, undefined, { everyMs: 300, quietMs: 1_500 });
  given.publish("1.0.0");
  await w.until("deploy.done", { version: "1.0.0", outcome: "deployed" });
  const standing = async () => (await readStanding(layout, GIVEN_TARGET))?.state ?? "healthy";
  return {
    ...{ root, database, w, publish: (version: string) => given.publish(version) },
    ask: () => ask(port),
    /** Ends what runs applications, and starts it as a boot does. */
    reboot: async (meanwhile: () => Promise<void>): Promise<void> => {
      await served[Symbol.asyncDispose]();
      await meanwhile();
      served = await serve();
    },
    /** Holds that the host says what somebody outside finds, while the database is away and once it is back. */
    comesBack: async (awayMs: number): Promise<void> => {
      const end = performance.now() + awayMs;
      await until(async () => (await standing()) === "unhealthy");
      await until(() => performance.now() >= end, awayMs + 10_000);
      t.not(await ask(port), "1.0.0");
      t.equal(await standing(), "unhealthy", "as long as it is away");
      // At the worst moment: the next start is as far away as it can be.
      const before = failures;
      await until(() => failures > before, 2 * BACK_MS);
      const gone = performance.now();
      await database.begin();
      await until(async () => (await ask(port)) === "1.0.0", BACK_MS + 30_000);
      const took = performance.now() - gone;
      t.ok(took <= BACK_MS, `it answers ${Math.round(took)} ms after the database is back`);
      await until(async () => (await standing()) === "healthy");
    },
  };
}

// They mostly wait, each on a host of its own.
t.jobs = 4;
const concurrently = (name: string, body: (t: Test) => Promise<void>) => t.test(name, { buffered: true }, body);

for (const awayMs of OUTAGES_MS) {
  const away = `away for ${awayMs / 1000} s`;

  concurrently(`a database that is ${away} during an upgrade`, async (t) => {
    const h = await hosted(t);
    await h.database.end();
    h.publish("2.0.0");
    const { code, message } = await h.w.until("deploy.done", { version: "2.0.0" });
    t.equal(code, "not_back", message ?? "");
    t.not(await h.ask(), "1.0.0");
    await h.comesBack(awayMs);
  });

  concurrently(`a database that is ${away} during the way back`, async (t) => {
    const h = await hosted(t);
    h.publish("3.0.0");
    await h.w.until("rollback.started");
    await h.database.end();
    const { code, message } = await h.w.until("deploy.done", { version: "3.0.0" });
    t.equal(code, "not_back", message ?? "");
    t.not(await h.ask(), "1.0.0");
    await h.comesBack(awayMs);
  });

  concurrently(`a database that is ${away} at the boot`, async (t) => {
    const h = await hosted(t);
    await h.reboot(() => h.database.end());
    await h.comesBack(awayMs);
  });
}

concurrently(
  "a database that is back while the former release is asked: that it is back is said, and is so",
  async (t) => {
    const h = await hosted(t);
    h.publish("3.0.0");
    await h.w.until("rollback.started");
    await h.database.end();
    await h.w.until("rollback.done");
    await h.database.begin();
    const { code, message } = await h.w.until("deploy.done", { version: "3.0.0" });
    t.equal(code, "rolled_back", message ?? "");
    t.equal(await h.ask(), "1.0.0");
    t.match(h.w.all("rollback.asked"), [{ units: {} }]);
  },
);
