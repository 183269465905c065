// Holds: addresses and defaults in commands (lib/contract/files/address-variables.ts,
// lib/agent/applications/launchers.ts, lib/contract/files/setting-names.ts)
// In a process of its own: it starts programs.
import { execFileSync } from "node:child_process";
import { chmod, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import t from "tap";
import { launcherOf } from "../../../../lib/agent/applications/launchers.ts";
import { AppServe } from "../../../../lib/apps/serve.ts";
import { applicationFaults } from "../../../../lib/artifact/project/application-faults.ts";
import { wordParts } from "../../../../lib/contract/files/address-variables.ts";
import { application } from "../../../../lib/contract/files/application.ts";
import { startCommand } from "../../../../lib/publisher/start-command.ts";
import { freePort } from "../../../support/free-port.ts";
import { applicationHost, appSource } from "../../../support/host/application-host.ts";
import { GRANT_USER } from "../../../support/host/application-root.ts";
import { ask } from "../../../support/host/served-root.ts";
import { temporaryFolder } from "../../../support/temporary-folder.ts";

const SERVER = `
const [port, ...words] = process.argv.slice(2);
const { GREETING, LEVEL, QUOTED, EMPTY } = process.env;
require("node:http").createServer((q, r) => r.end(JSON.stringify({ words, GREETING, LEVEL, QUOTED, EMPTY })))
  .listen(Number(port), process.env.HOST);
`;

t.test("a command has the addresses of the host in its words, and the version's defaults", async (t) => {
  const [port, metrics] = [await freePort(), await freePort()];
  const grant = { ...GRANT_USER, listen: { http: port, "my-metrics": `[::1]:${metrics}` } };
  const h = await applicationHost(t, JSON.stringify({ supervisor: "serve", applications: { web: grant } }));
  await chmod(h.root, 0o755);
  await using _served = await AppServe.start(h.layout, () => undefined);
  await mkdir(join(h.root, "apps"));
  await writeFile(join(h.root, "apps/web.env"), "LEVEL=debug\nEMPTY=\n", { mode: 0o600 });
  const words = [
    ...["$PORT", "--at=$HOST:$PORT/x", "$HOST_MY_METRICS", "[$PORT_MY_METRICS]"],
    ...["$PORTAL", "$HOME", "${PORT}", 'it\'s $(id) `id` "$PORT"', "a;b$"],
  ];
  const app = {
    ...{ command: ["node", "server.js", ...words], ports: ["http", "my-metrics"] },
    environment: {
      optional: ["LEVEL"],
      values: { GREETING: "hello", LEVEL: "info", QUOTED: `it's "$(id)" \${PORT}`, EMPTY: "not this" },
    },
    health: { http: "/", port: "http", within: 5, stays_up: 1 },
  };
  const source = appSource("1.0.0", ["web"], JSON.stringify(app), { "apps/web/server.js": SERVER });
  const deployed = await h.run(source, { supervisor: { name: "none" } });
  t.match(deployed, { outcome: "deployed" }, String(deployed.error?.message));
  t.strictSame(JSON.parse(await ask(port)), {
    words: [
      ...[`--at=127.0.0.1:${port}/x`, "::1", `[${metrics}]`, "$PORTAL", "$HOME", "${PORT}"],
      ...[`it's $(id) \`id\` "${port}"`, "a;b$"],
    ],
    ...{ GREETING: "hello", LEVEL: "debug", QUOTED: `it's "$(id)" \${PORT}`, EMPTY: "" },
  });
});

t.test("a value that a shell would read stays one word", async (t) => {
  const app = application.parse({ command: ["sh", "-c", "x"], listen: ["http"] });
  const text = await launcherOf(["sh", "-c", 'printf "%s" "$0"', "$HOST b"], app, { folders: "/bin" });
  const said = execFileSync("sh", ["-c", text], { env: { HOST: "$(echo no) *;'" }, encoding: "utf8" });
  t.equal(said, "$(echo no) *;' b");
  t.strictSame(wordParts("", new Set(["PORT"])), [{ text: "" }]);
});

t.test(
  "a variable of no address is refused by its name, where a version is published and where it arrives",
  async (t) => {
    const faults = (more: object): string[] => applicationFaults(application.parse(more), () => undefined);
    t.strictSame(faults({ command: ["node", "$PORT_X", "$HOST"], ports: ["http"], migrate: ["node", "$PORT_Y"] }), [
      "command: $PORT_X is the variable of no name in listen or ports (http)",
      "migrate: $PORT_Y is the variable of no name in listen or ports (http)",
    ]);
    t.strictSame(faults({ command: ["node", "$PORT"] }), [
      "command: $PORT is the variable of no name in listen or ports",
    ]);
    t.strictSame(faults({ command: ["sh", "-c", "$PORT_X"], environment: { optional: ["PORT_X"] } }), [], "a setting");
    const h = await applicationHost(t);
    const refused = await h.run(appSource("1.0.0", ["web"], "command: [sh, x, $PORT_X]\n"));
    t.match(refused, {
      outcome: "failed",
      error: { code: "app_invalid", message: /\$PORT_X is the variable of no name/ },
    });
  },
);

t.test("a default is refused where the host gives the variable", (t) => {
  const fault = (environment: object): string | undefined =>
    application.safeParse({ command: ["node"], environment }).error?.issues[0]?.message;
  for (const name of ["PORT", "HOST_X", "LISTEN_FDS", "SEALIFT_X", "HOME", "PATH", "NODE_ENV", "IFS", "UID"])
    t.match(fault({ values: { [name]: "x" } }), /the host gives/, name);
  t.match(fault({ required: ["A"], values: { A: "x" } }), /is required/);
  t.match(fault({ values: { A: "x\ny" } }), /one line/);
  t.match(fault({ values: { A: "x".repeat(4097) } }), /4096/);
  t.match(fault({ values: { "A-B": "x" } }), /./);
  t.match(fault({ values: Object.fromEntries(Array.from({ length: 257 }, (_, at) => [`N${at}`, ""])) }), /at most 256/);
  t.equal(fault({ optional: ["A"], values: { A: "", HOSTNAME: "x", PORTAL: "x" } }), undefined);
  t.end();
});

t.test("app init finds the file behind a name of npm, and takes variables of addresses", async (t) => {
  const folder = temporaryFolder(t);
  await mkdir(join(folder, "node_modules/.bin"), { recursive: true });
  await mkdir(join(folder, "node_modules/next/dist/bin"), { recursive: true });
  await writeFile(join(folder, "node_modules/next/dist/bin/next"), "#!/usr/bin/env node\n");
  const { symlinkSync } = await import("node:fs");
  symlinkSync("../next/dist/bin/next", join(folder, "node_modules/.bin/next"));
  const file = "node_modules/next/dist/bin/next";
  for (const name of ["next", "node_modules/.bin/next", "./node_modules/.bin/next"])
    t.strictSame(startCommand(folder, [name, "start"], undefined), ["node", file, "start"]);
  t.strictSame(startCommand(folder, ["caddy", "run"], undefined), ["caddy", "run"]);
  const scripts = { start: "next start -p $PORT" };
  t.strictSame(startCommand(folder, [], { scripts }), ["node", file, "start", "-p", "$PORT"]);
  t.throws(() => startCommand(folder, [], { scripts: { start: "next start -p $OTHER" } }), /needs a shell/);
});
