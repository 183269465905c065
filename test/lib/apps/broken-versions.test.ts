// In a process of its own: it watches processes for seconds.
// Holds: which applications do not work (lib/agent/supervisors/applications.ts, lib/apps/listening-process.ts)
import t from "tap";
import { applicationSupervisor } from "../../../lib/agent/supervisors/applications.ts";
import { AppServe } from "../../../lib/apps/serve.ts";
import { readGrants } from "../../../lib/releases/applications.ts";
import { freePort } from "../../support/free-port.ts";
import { ApplicationRoot, HANDED_OVER, ORDINARY } from "../../support/host/application-root.ts";

const serverThat = (answer: string): string => `require("node:http").createServer(${answer}).listen({ fd: 3 });`;

const BROKEN: [title: string, server: string, fault: RegExp, command?: string[]][] = [
  [
    "dies after a while",
    `${serverThat("(q, r) => r.end()")} setTimeout(() => process.exit(1), 1500)`,
    /does not run: it ended with exit code 1|restarted|failed: (read ECONNRESET|no answer)/,
  ],
  ["answers 500", serverThat("(q, r) => r.writeHead(500).end()"), /answered 500, (?:for 3 seconds|\d+ times in a row)/],
  ["never listens", "setInterval(() => {}, 1000)", /no answer within|for 3 seconds/],
  ["exits at once", "process.exit(2)", /does not run: it ended with exit code 2|restarted/],
  [
    "eats memory",
    `${serverThat("(q, r) => r.end()")} const all = []; setInterval(() => all.push(Array(500_000).fill(0).map((_, n) => ({ n }))), 20)`,
    /does not run: it (ended|was ended)|restarted|failed: (read ECONNRESET|no answer)/,
    ["node", "--max-old-space-size=64", "server.js"],
  ],
];

t.test("versions that do not work are seen as unhealthy, and going back is healthy", async (t) => {
  const root = await ApplicationRoot.make(t);
  const ids = BROKEN.map((_, index) => `app-${index}`);
  const ports = await Promise.all(ids.map(() => freePort()));
  const app = { listen: ["http"], health: { http: "/", within: 3, stays_up: 3 }, stop: { within: 1 } };
  for (const id of ids) await root.install(id, { app, files: { "server.js": HANDED_OVER } });
  await root.grant(Object.fromEntries(ids.map((id, index) => [id, { listen: { http: ports[index] } }])));
  await using _served = await AppServe.start(root.layout, () => undefined);
  const supervisor = applicationSupervisor({ layout: root.layout, grants: (await readGrants(root.layout))! });
  t.equal(await supervisor.ready(), undefined);
  await Promise.all(
    BROKEN.map(async ([title, server, fault, command], index) => {
      const id = ids[index]!;
      // As long as a slow machine takes to fill a memory.
      const watched = { ...app, health: { ...app.health, stays_up: 60 } };
      await root.install(id, { app: watched, files: { "server.js": server }, ...(command && { command }) });
      await supervisor.restart(id);
      t.match(await supervisor.check(id, 5_000), fault, title);
      const quick = { ...app, health: { ...app.health, within: 30, stays_up: 1 } };
      await root.install(id, { app: quick, files: { "server.js": HANDED_OVER } });
      await supervisor.restart(id);
      t.equal(await supervisor.check(id, 5_000), undefined, `${title}, and back`);
    }),
  );
});

t.test("an application that listens elsewhere than it says is unhealthy", async (t) => {
  const root = await ApplicationRoot.make(t);
  const [port, other] = [await freePort(), await freePort()];
  const app = { ports: ["http"], health: { http: "/", within: 1, stays_up: 1 } };
  await root.install("web", { app, files: { "server.js": `process.env.PORT = ${other}; ${ORDINARY}` } });
  await root.grant({ web: { listen: { http: port } } });
  await using _served = await AppServe.start(root.layout, () => undefined);
  const supervisor = applicationSupervisor({ layout: root.layout, grants: (await readGrants(root.layout))! });
  t.match(await supervisor.check("web", 5_000), /nobody listens there \(ECONNREFUSED\), for 1 second/);
});
