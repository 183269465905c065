import { chmod, mkdir, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import t, { type Test } from "tap";
import { applicationRunner, applicationSupervisor } from "../../../../lib/agent/supervisors/applications.ts";
import { applicationsFile } from "../../../../lib/contract/files/applications.ts";
import { SERVE_SOCKET, serveFolder } from "../../../../lib/releases/applications.ts";
import { layoutOf } from "../../../../lib/releases/layout.ts";
import { openFolder } from "../../../../lib/releases/open-folder.ts";
import { instancesOf } from "../../../../lib/support/systemd/app-instance.ts";
import { recordingProgram } from "../../../support/programs/recording-program.ts";
import { temporaryFolder } from "../../../support/temporary-folder.ts";

const ADDRESS = "127.0.0.1:1";
const GRANTS = applicationsFile.parse({ supervisor: "systemd", applications: { web: { listen: { http: ADDRESS } } } });

async function rootWith(t: Test, appYaml: string, supervisor: "systemd" | "serve", address = ADDRESS, deep = "") {
  const layout = layoutOf(join(temporaryFolder(t), deep));
  const release = join(layout.releases("project-p"), "r1", "apps", "web");
  await mkdir(release, { recursive: true });
  await writeFile(join(release, "app.yaml"), appYaml);
  await mkdir(join(layout.root, "apps"), { recursive: true });
  await symlink(release, join(layout.root, "apps", "web"));
  const grants = applicationsFile.parse({ supervisor, applications: { web: { listen: { http: address } } } });
  return { layout, supervisor: applicationSupervisor({ layout, grants }) };
}

const APP = "command: [node, server.js]\nlisten: [http]\nhealth: { stays_up: 1s }\n";
/** systemctl that knows both units in the given states. */
const shows = (service: string, socket: string) =>
  `case "$*" in *show*.socket*) printf 'LoadState=loaded\\nActiveState=${service}\\nNRestarts=0\\n\\nLoadState=${socket === "" ? "not-found" : "loaded"}\\nActiveState=${socket || "inactive"}\\n';; *show*) printf 'LoadState=loaded\\nActiveState=active\\nNRestarts=0\\n';; esac`;

t.test("systemd", async (t) => {
  const restarts: [title: string, service: string, socket: string, calls: string[]][] = [
    ["an upgrade is one restart", "active", "active", ["restart sealift-app@web.service"]],
    ["so it is where the application has no socket", "active", "", ["restart sealift-app@web.service"]],
    [
      "a failed unit is reset, and the socket started, first",
      "failed",
      "failed",
      [
        "reset-failed sealift-app@web.service sealift-app@web.socket",
        "stop sealift-app@web.service",
        "start sealift-app@web.socket",
        "restart sealift-app@web.service",
      ],
    ],
  ];
  for (const [title, service, socket, expected] of restarts) {
    await t.test(title, async (t) => {
      const calls = await recordingProgram(t, "systemctl", shows(service, socket));
      await (await rootWith(t, APP, "systemd")).supervisor.restart("web");
      const said = (await calls()).filter((line) => !line.includes(" show "));
      t.same(
        said,
        expected.map((line) => `--system --no-ask-password ${line}`),
      );
    });
  }
  await t.test("a stop ends socket and service in one job", async (t) => {
    const calls = await recordingProgram(t, "systemctl", shows("active", "active"));
    await (await rootWith(t, APP, "systemd")).supervisor.stop("web");
    const stop = "--system --no-ask-password stop";
    t.same(
      (await calls()).filter((call) => call.includes(" stop ")),
      [`${stop} sealift-app@web.socket sealift-app@web.service`, `${stop} sealift-job@web.service`],
    );
  });
  await t.test("a check asks the address of the grant", async (t) => {
    await recordingProgram(t, "systemctl", shows("active", "active"));
    const server = createServer((request, response) => {
      response.writeHead(request.url === "/ok" ? 200 : 500).end();
    }).listen(0, "127.0.0.1");
    await new Promise((resolve) => server.once("listening", resolve));
    t.teardown(() => (server.closeAllConnections(), server.close()));
    const address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
    const health = (path: string) => `${APP.replace("{ ", `{ http: ${path}, within: 1s, `)}`;
    t.equal(await (await rootWith(t, health("/ok"), "systemd", address)).supervisor.check("web", 5_000), undefined);
    t.match(
      await (await rootWith(t, health("/no"), "systemd", address)).supervisor.check("web", 5_000),
      /answered 500/,
    );
    t.match(await (await rootWith(t, health("/no"), "systemd")).supervisor.check("web", 5_000), /nobody listens there/);
  });
  const broken: [title: string, health: string, states: string, fault: RegExp][] = [
    ["exits at once", "", "failed 0", /sealift-app@web\.service is failed/],
    ["dies after a while", "", "active 0\nactive 0\nfailed 0", /sealift-app@web\.service is failed/],
    ["is started again and again, as one that eats memory", "", "active 0\nactive 0\nactive 2", /restarted 2 times/],
    ["never listens", "http: /, within: 1s, ", "active 0", /nobody listens there/],
  ];
  for (const [title, health, states, fault] of broken)
    await t.test(`a version that ${title} is unhealthy`, async (t) => {
      const file = join(temporaryFolder(t), "states");
      await writeFile(file, `${states}\n`);
      // The first state, and the next one at each further look; the last one stays.
      await recordingProgram(
        t,
        "systemctl",
        `read active restarts < ${file}; [ "$(wc -l < ${file})" = 1 ] || sed -i 1d ${file}
printf 'LoadState=loaded\\nActiveState=%s\\nNRestarts=%s\\n' "$active" "$restarts"`,
      );
      const { supervisor } = await rootWith(t, APP.replace("stays_up: 1s", `${health}stays_up: 4s`), "systemd");
      t.match(await supervisor.check("web", 5_000), fault);
    });
});

/** systemctl that knows the folder in which the unit of the id runs, and that of the id and the root. */
const runsIn = (first: string, further: string) =>
  `case "$*" in *WorkingDirectory*) printf 'LoadState=loaded\\nWorkingDirectory=${first}\\n\\nLoadState=loaded\\nWorkingDirectory=${further}\\n';; *show*) printf 'LoadState=loaded\\nActiveState=active\\nNRestarts=0\\n\\nLoadState=not-found\\n';; esac`;

t.test("the unit of another root is not that of this one", async (t) => {
  const { layout, supervisor } = await rootWith(t, APP, "systemd");
  const asked = await recordingProgram(t, "systemctl", runsIn("/srv/two/apps/web", ""));
  const refused = { code: "supervisor_unavailable", message: /sealift-app@web\.service runs web of \/srv\/two/ };
  for (const act of ["start", "stop", "restart"] as const) await t.rejects(supervisor[act]("web"), refused, act);
  await t.rejects(supervisor.check("web", 5_000), refused);
  t.match(await supervisor.prospect?.("web"), { lacks: /runs web of \/srv\/two/, isOpen: false });
  await t.rejects(applicationRunner({ layout, grants: GRANTS }).look("web"), refused);
  t.notOk((await asked()).some((line) => /\b(?:start|stop|restart|reset-failed)\b/.test(line)));
});

t.test("the unit that names the root is taken where another root has that of the id", async (t) => {
  const { layout, supervisor } = await rootWith(t, APP, "systemd");
  const [, further] = instancesOf("web", layout.root);
  const own = `${layout.root}/apps/web`;
  const asked = await recordingProgram(t, "systemctl", runsIn("/srv/two/apps/web", own));
  await supervisor.restart("web");
  t.match((await asked()).at(-1), `restart sealift-app@${further}.service`);
  t.match(await supervisor.prospect?.("web"), { isOpen: false });

  const linked = join(temporaryFolder(t), "linked");
  await symlink(layout.root, linked);
  const again = await recordingProgram(t, "systemctl", runsIn(`${linked}/apps/web`, ""));
  await applicationSupervisor({ layout, grants: GRANTS }).restart("web");
  t.match((await again()).at(-1), "restart sealift-app@web.service", "a root by another path is the same");
  await recordingProgram(t, "systemctl", runsIn("/opt/own", ""));
  await applicationSupervisor({ layout, grants: GRANTS }).restart("web");
});

t.test("app serve", async (t) => {
  const serve = async (t: Test, answer: (path: string) => [number, object], deep = "") => {
    const { layout, supervisor } = await rootWith(t, APP, "serve", ADDRESS, deep);
    const folder = serveFolder(layout);
    await mkdir(folder, { recursive: true });
    const calls: string[] = [];
    const server = createServer((request, response) => {
      calls.push(`${request.method} ${request.url}`);
      const [status, body] = answer(request.url!);
      response.writeHead(status).end(JSON.stringify(body));
    });
    const opened = await openFolder(folder);
    server.listen(opened.path(SERVE_SOCKET));
    await new Promise((resolve) => server.once("listening", resolve));
    t.teardown(async () => {
      server.closeAllConnections();
      server.close();
      await opened[Symbol.asyncDispose]();
    });
    return { layout, supervisor, calls };
  };
  const web = { id: "web", since: "", pid: 1, restarts: 0, release: "r1", user: "u", same_user: true, addresses: {} };
  const status = (state: string, error: string | null = null) => ({ applications: [{ ...web, state, error }] });

  await t.test("acts and asks over the socket of the root, however deep it lies", async (t) => {
    const deep = `${"d".repeat(60)}/${"e".repeat(60)}`;
    const { supervisor, calls } = await serve(
      t,
      (path) => [200, path.endsWith("restart") ? { ...web, state: "running", error: null } : status("running")],
      deep,
    );
    t.equal(await supervisor.ready(), undefined);
    await supervisor.restart("web");
    t.equal(await supervisor.check("web", 5_000), undefined);
    t.same(calls.slice(0, 2), ["GET /v1/applications", "POST /v1/applications/web/restart"]);
  });
  await t.test("a start that the version spoils is unhealthy, one that the host spoils is not", async (t) => {
    const refuse = (code: string): [number, object] => [500, { error: { code, message: "It failed." } }];
    const one = await serve(t, () => refuse("migration_failed"));
    await t.rejects(one.supervisor.restart("web"), { code: "unhealthy", message: "It failed." });
    const two = await serve(t, () => refuse("port_taken"));
    await t.rejects(two.supervisor.restart("web"), { code: "supervisor_unavailable" });
  });
  await t.test("an app serve of before 0.3.0, which cannot go on trying, restarts it", async (t) => {
    const unknown: [number, object] = [404, { error: { code: "not_found", message: "There is no such route." } }];
    const { supervisor, calls } = await serve(t, (path) =>
      path.endsWith("recover") ? unknown : [200, { ...web, state: "running", error: null }],
    );
    await supervisor.recover!("web");
    t.same(calls, ["POST /v1/applications/web/recover", "POST /v1/applications/web/restart"]);
    const refused = await serve(t, () => [500, { error: { code: "start_failed", message: "It failed." } }]);
    await t.rejects(refused.supervisor.recover!("web"), { message: "It failed." });
    t.equal(refused.calls.length, 1, "only that is a reason to ask for less");
  });
  await t.test("an application that does not run is unhealthy", async (t) => {
    const { supervisor } = await serve(t, () => [200, status("waiting", "it ended with exit code 3")]);
    t.match(
      await supervisor.check("web", 5_000),
      /web does not run: it ended with exit code 3; its output is in .*\/\.sealift\/logs\/apps\/web$/,
    );
  });
  await t.test("nonsense and silence are not answers", async (t) => {
    const { supervisor } = await serve(t, () => [200, { applications: 3 }]);
    t.match(await supervisor.ready(), /not what this version/);
    const { layout, supervisor: absent } = await rootWith(t, APP, "serve");
    t.match(await absent.ready(), /No `sealift app serve` has run/);
    await mkdir(serveFolder(layout), { recursive: true });
    t.match(await absent.ready(), /it does not run/);
    await chmod(serveFolder(layout), 0o700);
  });
});
