// Holds: what a deployment asks before it takes applications (lib/agent/applications/admission.ts,
// lib/agent/applications/programs.ts, lib/agent/deployment/prepare-applications.ts)
import { chmod, cp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import t from "tap";
import { parse } from "yaml";
import { differenceLine } from "../../../../commands/shell/output/differences.ts";
import { preview } from "../../../../lib/agent/deployment/preview.ts";
import { differencesBetween } from "../../../../lib/agent/deployment/release-diff.ts";
import { removeTarget } from "../../../../lib/agent/deployment/remove.ts";
import { DEPLOY_DEFAULTS } from "../../../../lib/agent/deployment/run.ts";
import { application } from "../../../../lib/contract/files/application.ts";
import { readQuarantine } from "../../../../lib/releases/quarantine.ts";
import { currentRelease } from "../../../../lib/releases/release.ts";
import { APP, appFiles, applicationHost, appSource, installing } from "../../../support/host/application-host.ts";
import { GIVEN_TARGET, INSTALL, sourceOf } from "../../../support/host/given-source.ts";
import { plant } from "../../../support/host/project-root.ts";
import { temporaryFolder } from "../../../support/temporary-folder.ts";

t.test("an application is installed, started after the switch, and checked", async (t) => {
  const h = await applicationHost(t);
  const app = `${APP}migrate: [./m.sh, "it's"]\ndata: storage\n`;
  const source = appSource("1.0.0", ["web"], app, { "apps/web/m.sh": "" });
  const resolve = source.resolve.bind(source);
  // An artifact keeps modes; files that a test plants have none.
  source.resolve = async (context) => {
    const found = await resolve(context);
    const fetch: typeof found.fetch = async (given) => {
      const fetched = await found.fetch(given);
      await chmod(join(fetched.tree, "apps/web/m.sh"), 0o755);
      return fetched;
    };
    return { ...found, fetch };
  };
  t.match(await h.run(source), { status: "success", outcome: "deployed" });
  t.equal(await h.version(), "1.0.0");
  t.strictSame(h.pretended.calls, ["restart web", "check web"]);
  const start = join(h.root, "apps/web/.sealift/start");
  t.equal(await readFile(start, "utf8"), "#!/bin/sh\nexec '/usr/bin/sh' 'server.sh'\n");
  t.equal((await stat(start)).mode & 0o777, 0o755);
  t.equal(await readFile(join(h.root, "apps/web/.sealift/migrate"), "utf8"), "#!/bin/sh\nexec './m.sh' 'it'\\''s'\n");
  t.ok((await stat(join(h.root, "apps/web/storage"))).isDirectory());
  const steps = h.events.flatMap((event) => (event.event === "step.started" ? [event] : []));
  t.match(steps, [{ action: "install_app" }, { action: "restart", plugin: "apps/web" }, { action: "healthcheck" }]);
  const record = await currentRelease(h.layout, GIVEN_TARGET);
  t.match(record, { items: [{ section: "apps", id: "web", data: "storage" }], steps: { stop: [], after: [] } });
});

t.test("a version that is not healthy goes back: the old release, its start again", async (t) => {
  const h = await applicationHost(t);
  await h.run(appSource("1.0.0"));
  h.pretended.faults.set("1.1.0", "GET http://127.0.0.1:3000/healthz answered 500");
  t.match(await h.run(appSource("1.1.0")), {
    ...{ outcome: "rolled_back", version: "1.1.0" },
    error: { code: "rolled_back", message: /answered 500 \(healthcheck of apps\/web.*previous release is back/ },
  });
  t.equal(await h.version(), "1.0.0");
  t.strictSame(h.pretended.calls.slice(2), ["restart web", "check web", "restart web", "check web"]);
  t.equal(h.pretended.running.get("web"), "1.0.0");
  t.match(await readQuarantine(h.layout, GIVEN_TARGET), [{ version: "1.1.0", code: "unhealthy" }]);
});

t.test("a first deployment that fails stops what it started", async (t) => {
  const h = await applicationHost(t);
  h.pretended.faults.set("1.0.0", "it ended");
  t.match(await h.run(appSource("1.0.0")), { outcome: "failed", error: { code: "unhealthy" } });
  t.strictSame(h.pretended.calls, ["restart web", "check web", "stop web"]);
  t.equal(await h.version(), undefined);
});

t.test("a dropped application is stopped, and comes back when the version fails", async (t) => {
  const h = await applicationHost(t);
  await h.run(appSource("1.0.0", ["web", "api"]));
  h.pretended.calls.length = 0;
  h.pretended.faults.set("1.1.0", "it ended");
  await h.run(appSource("1.1.0", ["web"]));
  const back = ["restart api", "restart web"];
  const { calls } = h.pretended;
  t.strictSame(calls.slice(0, -2), ["stop api", "restart web", "check web", ...back]);
  t.strictSame(calls.slice(-2).toSorted(), ["check api", "check web"], "what is back is asked, all at once");
  t.strictSame(Object.fromEntries(h.pretended.running), { web: "1.0.0", api: "1.0.0" });
  await h.run(appSource("1.2.0", ["web"]));
  t.strictSame([...h.pretended.running], [["web", "1.2.0"]]);
  t.equal(await h.version("api"), undefined);
});

t.test("a host whose supervisor is away blames no version", async (t) => {
  const h = await applicationHost(t);
  h.pretended.away = "`sealift app serve` does not run";
  t.match(await h.run(appSource("1.0.0")), { outcome: "failed", error: { code: "supervisor_unavailable" } });
  t.strictSame([await readQuarantine(h.layout, GIVEN_TARGET), h.pretended.calls], [[], []]);
});

t.test("a version is held whose program is of another application than the operator says", async (t) => {
  const h = await applicationHost(t);
  const of = (yaml: string, version = "1.0.0") =>
    appSource(version, ["worker", "web"], APP, { "apps/worker/app.yaml": `${yaml}${APP}` });
  const held = (message: RegExp) => ({ outcome: "failed", error: { code: "app_not_allowed", message } });
  t.match(await h.run(of("of: web\n")), held(/The application worker is not allowed/));
  await h.allow("supervisor: serve\napplications: { web: {}, worker: {} }\n");
  t.match(await h.run(of("of: web\n")), held(/worker is of web in this version, and allowed to run as one of its own/));
  await h.allow("supervisor: serve\napplications: { worker: { of: web } }\n");
  t.match(await h.run(of("of: web\n")), held(/worker is of web, which is not allowed to run/));
  await h.allow("supervisor: serve\napplications: { web: {}, worker: { of: web } }\n");
  t.match(await h.run(of("")), held(/worker is of nobody in this version, and allowed to run as one that is of web/));
  t.match(await h.run(of("of: web\n")), { outcome: "deployed" });
  t.strictSame(h.pretended.calls, ["restart web", "check web", "restart worker", "check worker"], "in this order");
  t.equal(
    await readFile(join(h.root, "apps/worker/.sealift/start"), "utf8"),
    "#!/bin/sh\ncd -P '../web' || exit 126\nexec '/usr/bin/sh' 'server.sh'\n",
  );
  for (const [yaml, message] of [
    ["of: worker\n", /worker\/app\.yaml is not valid: of: it cannot be of itself/],
    ["of: other\n", /of: the plan installs no application other/],
  ] as const)
    t.match(await h.run(of(yaml, "1.1.0")), { outcome: "failed", error: { code: "app_invalid", message } }, yaml);
});

t.test("a job is no unit of a deployment", async (t) => {
  const h = await applicationHost(t);
  const job = `schedule: "30 3 * * *"\n${APP}`;
  await h.run(appSource("1.0.0"));
  t.match(await h.run(appSource("1.1.0", ["web"], job)), { outcome: "deployed" });
  t.strictSame(h.pretended.calls, ["restart web", "check web", "stop web"], "what ran all the time is stopped");
  t.match(await readdir(join(h.root, "apps/web/.sealift")), ["run"]);
  t.match(await h.run(appSource("1.2.0", ["web"], job)), { outcome: "deployed" });
  t.match(await h.run(appSource("1.3.0")), { outcome: "deployed" });
  t.strictSame(h.pretended.calls.slice(3), ["restart web", "check web"]);
});

t.test("a version without a grant is held, at first and later, and not quarantined", async (t) => {
  const h = await applicationHost(t, null);
  const held = {
    outcome: "failed",
    error: { code: "app_not_allowed", message: /The application web is not allowed to run \(there is/ },
  };
  t.match(await h.run(appSource("1.0.0")), held);
  t.strictSame([await h.version(), await readQuarantine(h.layout, GIVEN_TARGET)], [undefined, []]);
  await h.allow("supervisor: serve\napplications: { api: {} }\n");
  const later = {
    error: { code: "app_not_allowed", message: /The application web is not allowed to run \(by applications\.yaml/ },
  };
  t.match(await h.run(appSource("1.0.0")), later);
  await h.allow("supervisor: serve\napplications: { web: {} }\n");
  t.match(await h.run(appSource("1.0.0")), { outcome: "deployed" });
  const asks = `${APP}listen: [http]\n`;
  t.match(await h.run(appSource("1.1.0", ["web"], asks)), {
    error: { faults: ["the application web has no address for http"] },
  });
  t.equal(await h.version(), "1.0.0");
  await h.allow("supervisor: serve\napplications: { api: {} }\n");
  await h.run(sourceOf("1.2.0", INSTALL));
  t.match(
    await h.back("1.0.0"),
    { outcome: "failed", error: { code: "app_not_allowed" } },
    "and a rollback is refused",
  );
});

t.test("a host without the unit holds the version", async (t) => {
  const h = await applicationHost(t);
  h.pretended.missing.add("web");
  t.match(await h.run(appSource("1.0.0")), {
    error: { code: "app_not_allowed", message: /the unit of web is missing/ },
  });
  t.strictSame(await readQuarantine(h.layout, GIVEN_TARGET), []);
  h.pretended.missing.clear();
  t.match(await h.run(appSource("1.0.0")), { outcome: "deployed" });
});

t.test("what an application needs is looked at before the switch", async (t) => {
  const h = await applicationHost(t);
  const needs = (range: string) =>
    appSource("1.0.0", ["web"], `${APP}needs: { node: "${range}", "no-such-program": "1" }\n`);
  t.match(await h.run(needs(">=999")), {
    error: {
      code: "needs_unmet",
      faults: [/web needs node >=999: \/usr\/bin\/node is \d+/, /no-such-program 1: it is not/],
    },
  });
  t.match(await h.run(appSource("1.0.0", ["web"], "command: [no-such-program]\n")), { error: { code: "needs_unmet" } });
  t.match(await h.run(appSource("1.0.0", ["web"], `${APP}needs: { node: ">=1" }\n`)), { outcome: "deployed" });
  t.strictSame(await readQuarantine(h.layout, GIVEN_TARGET), []);
});

t.test("an address on which another program answers is refused before the first start only", async (t) => {
  const server = createServer().listen(0, "127.0.0.1");
  t.teardown(() => server.close());
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address() as { port: number };
  const h = await applicationHost(t, `supervisor: serve\napplications: { web: { listen: { http: ${port} } } }\n`);
  const source = (version: string) => appSource(version, ["web"], `${APP}ports: [http]\n`);
  t.match(await h.run(source("1.0.0")), {
    error: { code: "port_taken", message: `Another program answers on 127.0.0.1:${port}, the address http of web.` },
  });
  t.equal(await h.version(), undefined);
  await h.run(appSource("0.9.0"));
  t.match(await h.run(source("1.0.0")), { outcome: "deployed" }, "now it is the application's own");
});

t.test("an app.yaml that is not valid condemns the version", async (t) => {
  const h = await applicationHost(t);
  const bad = appSource("1.0.0", ["web"], "command: [./run]\n");
  t.match(await h.run(bad), {
    error: { kind: "ArtifactError", code: "app_invalid", exitCode: 4, message: /command: run is not in the folder/ },
  });
  t.match(await readQuarantine(h.layout, GIVEN_TARGET), [{ code: "app_invalid" }]);
  const word = appSource("1.0.1", ["web"], "command: [sh server.sh]\n");
  t.match(await h.run(word), { error: { code: "app_invalid", message: /one word: write a list/ } });
  for (const [version, line] of [
    ["1.0.2", `data: ${"a".repeat(256)}`],
    ["1.0.3", `data: "a\\nb"`],
    ["1.0.4", "data: node_modules"],
    ["1.0.5", `migrate: [./${"m".repeat(256)}]`],
    ["1.0.6", "__proto__: { a: 1 }"],
  ]) {
    const code = "app_invalid";
    t.match(await h.run(appSource(version!, ["web"], `${APP}${line}\n`)), { error: { code } }, line!.slice(0, 30));
    t.match((await readQuarantine(h.layout, GIVEN_TARGET)).at(-1), { version, code });
  }
});

t.test("every required name without a value is named, of all applications, and before any is written", async (t) => {
  const h = await applicationHost(t);
  const app = (name: string): string => `${APP}environment: { required: [${name}] }\n`;
  const files = { "apps/api/app.yaml": app("KEY"), "apps/api/.env.template": "KEY=\n" };
  t.match(await h.run(appSource("1.0.0", ["web", "api"], app("TOKEN, URL"), files)), {
    error: {
      ...{ code: "env_missing", faults: ["web needs values for TOKEN, URL", "api needs values for KEY"] },
      hint: /apps\/web\.env, .*apps\/api\.env or in the environment/,
    },
  });
});

t.test("templates of applications take the variables that the operator allows, and no others", async (t) => {
  const app = `${APP}environment: { required: [AWS_SECRET_ACCESS_KEY], optional: [LEVEL] }\n`;
  process.env.AWS_SECRET_ACCESS_KEY = "the agent's";
  process.env.LEVEL = "debug";
  t.teardown(() => {
    delete process.env.AWS_SECRET_ACCESS_KEY;
    delete process.env.LEVEL;
  });
  const refused = await applicationHost(t);
  t.match(await refused.run(appSource("1.0.0", ["web"], app), { templateEnv: ["LEVEL"] }), {
    error: { code: "env_missing", message: /web needs values for AWS_SECRET_ACCESS_KEY/ },
  });
  const allowed = await applicationHost(t);
  const template = { "apps/web/.env.template": "AWS_SECRET_ACCESS_KEY=own\nLEVEL=info\n" };
  t.match(await allowed.run(appSource("1.0.0", ["web"], app, template), { templateEnv: ["LEVEL"] }), {
    outcome: "deployed",
  });
  t.equal(await readFile(join(allowed.root, "apps/web.env"), "utf8"), "AWS_SECRET_ACCESS_KEY=own\nLEVEL=debug\n");
});

t.test("settings come from a template once, and a required name needs a value in the file", async (t) => {
  const h = await applicationHost(t);
  const app = `${APP}environment: { required: [TOKEN], optional: [LEVEL] }\n`;
  const missing = await h.run(appSource("1.0.0", ["web"], app));
  t.match(missing, { error: { code: "env_missing", message: /web needs values for TOKEN/ } });
  const template = { "apps/web/.env.template": "TOKEN=\nLEVEL=info\n" };
  process.env.TOKEN = "s3cret";
  t.teardown(() => delete process.env.TOKEN);
  t.match(await h.run(appSource("1.0.0", ["web"], app, template)), { outcome: "deployed" });
  const file = join(h.root, "apps/web.env");
  t.equal(await readFile(file, "utf8"), "TOKEN=s3cret\nLEVEL=info\n");
  t.equal((await stat(file)).mode & 0o777, 0o600);
  await writeFile(file, "LEVEL=debug\n");
  t.match(
    await h.run(appSource("1.1.0", ["web"], app, template)),
    { error: { code: "env_missing" } },
    "no other source",
  );
  t.equal(await readFile(file, "utf8"), "LEVEL=debug\n");
});

t.test("a rollback starts what it goes back to, and a removal stops it", async (t) => {
  const h = await applicationHost(t);
  await h.run(appSource("1.0.0"));
  await h.run(appSource("1.1.0"));
  t.match(await h.back(), { outcome: "deployed", version: "1.0.0" });
  t.equal(h.pretended.running.get("web"), "1.0.0");
  const { kind, slug } = appSource("1");
  await removeTarget({ kind, slug, purge: true }, h.options, () => {});
  t.strictSame([...h.pretended.running], []);
  t.strictSame(await readdir(join(h.root, "apps")), []);
});

t.test("a run that was killed after its switch is undone, and the old application started", async (t) => {
  const h = await applicationHost(t);
  await h.run(appSource("1.0.0"));
  // The journal of a run that is killed while it waits for the application's health.
  let journal = "";
  const dying = async () => ({
    ...h.pretended.supervisor(),
    check: async () => {
      journal = await readFile(h.layout.journal, "utf8");
      await cp(h.root, copy, { recursive: true, verbatimSymlinks: true });
      return undefined;
    },
  });
  const copy = join(temporaryFolder(t), "root");
  await h.run(appSource("1.1.0"), { supervisor: { ...h.options.supervisor, applications: dying } });
  t.match(JSON.parse(journal), { phase: "switching", touched: ["apps/web"] });
  await rm(h.root, { recursive: true });
  await cp(copy, h.root, { recursive: true, verbatimSymlinks: true, preserveTimestamps: true });
  h.pretended.calls.length = 0;
  h.pretended.running.clear();
  t.match(await h.run(appSource("1.0.0")), { status: "success", version: "1.0.0" });
  t.match(
    h.events.find(({ event }) => event === "recovery.done"),
    { version: "1.1.0", outcome: "undone" },
  );
  // A copied release looks damaged, and is installed anew after the old one was started.
  t.strictSame(h.pretended.calls, ["restart web", "restart web", "check web"]);
  t.equal(h.pretended.running.get("web"), "1.0.0");
});

t.test("an application that ran by hand is adopted, and going back leaves it to its owner", async (t) => {
  const h = await applicationHost(t);
  await plant(h.root, { "apps/web/version": "by hand", "apps/web/storage/db": "precious" });
  h.pretended.faults.set("1.0.0", "it ended");
  const app = `${APP}data: storage\n`;
  t.match(await h.run(appSource("1.0.0", ["web"], app)), { outcome: "rolled_back" });
  t.equal(await h.version(), "by hand");
  t.strictSame(h.pretended.calls, ["restart web", "check web", "stop web"], "it has no launcher");
  h.pretended.faults.clear();
  await h.run(appSource("1.1.0", ["web"], app));
  t.equal(await readFile(join(h.root, "apps/web/storage/db"), "utf8"), "precious");
  t.match(await h.back("adopted"), { outcome: "deployed", version: "adopted" });
  t.equal(h.pretended.calls.at(-1), "stop web");
});

t.test("a plugin and an application of one name live together", async (t) => {
  const h = await applicationHost(t);
  const files = { ...appFiles("a", "1.0.0"), "plugins/a/version": "plugin" };
  await h.allow("supervisor: serve\napplications: { a: {} }\n");
  t.match(await h.run(sourceOf("1.0.0", `${INSTALL}${installing("a")}`, { files })), { outcome: "deployed" });
  t.equal(await readFile(join(h.root, "plugins/a/version"), "utf8"), "plugin");
  t.equal(await h.version("a"), "1.0.0");
});

t.test("shipped data that differs from the host's own is named, and not taken", async (t) => {
  const h = await applicationHost(t);
  const app = `${APP}data: storage\n`;
  const shipped = { "apps/web/storage/db": "shipped", "apps/web/storage/deep/same": "same" };
  await plant(h.root, { ".sealift/data/apps/web/db": "own", ".sealift/data/apps/web/deep/same": "same" });
  t.match(await h.run(appSource("1.0.0", ["web"], app, shipped)), { outcome: "deployed" });
  const warnings = h.events.flatMap((event) => (event.event === "warning" ? [event.message] : []));
  t.match(warnings, [/^The host keeps its own apps\/web\/storage\/db: what this version ships there is seed\.$/]);
  t.equal(await readFile(join(h.root, "apps/web/storage/db"), "utf8"), "own");
});

t.test("a rollback prefers a release that was healthy", async (t) => {
  const h = await applicationHost(t);
  await h.run(appSource("1.0.0"));
  await h.run(sourceOf("1.1.0", INSTALL));
  await h.run(appSource("1.2.0"));
  t.match(await h.back(), { outcome: "deployed", version: "1.0.0" }, "nobody has looked at 1.1.0");
});

t.test("a preview names the commands that differ, and holds nothing for them", async (t) => {
  const h = await applicationHost(t);
  await h.run(appSource("1.0.0"));
  const next = appSource("1.1.0", ["web"], `${APP}migrate: [sh, migrate.sh]\n`);
  const { changes, outcome } = await preview(next, { ...DEPLOY_DEFAULTS, ...h.options }, () => {});
  t.equal(outcome, "would_deploy");
  t.match(changes, {
    installed: ["apps/web"],
    steps: [{}, { action: "restart", plugin: "apps/web", after_switch: true }, {}],
  });
  const commands = changes!.differences!.filter(({ what }) => what === "command");
  t.strictSame(
    commands.map((difference) => differenceLine(difference, String)),
    ['+ migrate of apps/web: ["sh","migrate.sh"]'],
  );
  t.equal(await h.version(), "1.0.0");
});

t.test("a comparison names what has changed in when, how and with what an application runs", async (t) => {
  const read = (yaml: string) => application.parse(parse(yaml));
  const side = (apps: Record<string, string>) => ({
    ...{ files: new Map(), descriptors: new Map(), plan: undefined },
    apps: new Map(Object.entries(apps).map(([id, yaml]) => [id, read(yaml)])),
  });
  const lines = (before: Record<string, string>, after: Record<string, string>) =>
    differencesBetween(side(before), side(after)).map((one) => differenceLine(one, String));
  const more = `${APP}ports: [http]\nlimits: { memory: 512M }\nhealth: { within: 5s, command: [sh, check.sh] }\ndata: storage\n`;
  const job = 'of: web\ncommand: [sh, x]\nschedule: "30 3 * * *"\ntimezone: Europe/Vienna\n';
  t.strictSame(lines({ web: APP }, { web: more, night: job }), [
    '+ command of apps/night: ["sh","x"]',
    ...["+ of of apps/night: web", "+ schedule of apps/night: 30 3 * * *", "+ timezone of apps/night: Europe/Vienna"],
    '+ health.command of apps/web: ["sh","check.sh"]',
    ...["+ data of apps/web: storage", "+ health.within of apps/web: 5"],
    ...["+ limits.memory of apps/web: 512M", "+ ports of apps/web: http"],
  ]);
  t.strictSame(lines({ night: job }, { night: job.replace("30 3", "0 4") }), [
    "~ schedule of apps/night: 30 3 * * * → 0 4 * * *",
  ]);
  t.strictSame(lines({ web: more }, { web: APP }).length, 5);
  t.strictSame(lines({ web: more }, { web: more }), []);
});
