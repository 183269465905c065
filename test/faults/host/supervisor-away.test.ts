// Only in test:all: it waits for a supervisor that is away.
/** Trouble of the host condemns no version: a supervisor that is not there, or stops; a key that was typed wrong. */
import { once } from "node:events";
import { existsSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import t, { type Test } from "tap";
import { deploy } from "../../../lib/agent/deployment/deploy.ts";
import { DEPLOY_DEFAULTS } from "../../../lib/agent/deployment/run.ts";
import { examine } from "../../../lib/agent/doctor.ts";
import { dockerSupervisor } from "../../../lib/agent/supervisors/docker.ts";
import { runtimeSupervisor } from "../../../lib/agent/supervisors/runtime.ts";
import type { SupervisorChoice } from "../../../lib/agent/supervisors/supervisor.ts";
import { systemdSupervisor } from "../../../lib/agent/supervisors/systemd.ts";
import { artifactError } from "../../../lib/contract/errors.ts";
import { readQuarantine } from "../../../lib/releases/quarantine.ts";
import { type Given, GIVEN_TARGET as TARGET, INSTALL, sourceOf } from "../../support/host/given-source.ts";
import { layoutOf } from "../../support/host/project-root.ts";
import { recordingProgram } from "../../support/programs/recording-program.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const systemd: SupervisorChoice = {
  name: "systemd",
  make: () => systemdSupervisor({ scope: "system", staysUpMs: 100 }),
};
const docker: SupervisorChoice = { name: "docker", make: () => dockerSupervisor({ staysUpMs: 100 }) };
const runtime: SupervisorChoice = {
  name: "runtime",
  make: (installed) =>
    runtimeSupervisor({ runtimeUrl: "http://127.0.0.1:9", pluginKey: "key", timeoutMs: 2_000 }, installed),
};
const RESTART = `${INSTALL}\n  - {id: up, action: restart, plugin: a}`;

function host(t: Test, supervisor: SupervisorChoice) {
  const root = temporaryFolder(t);
  let resolved = 0;
  const resolve = async () => {
    resolved++;
    return { version: "1.0.0", identity: "one" };
  };
  return {
    root,
    asked: () => resolved,
    held: () => readQuarantine(layoutOf(root), TARGET),
    run: (steps: string, given: Given = {}) =>
      deploy(
        sourceOf("1.0.0", steps, { resolve, ...given }),
        { ...DEPLOY_DEFAULTS, projectRoot: root, hostId: "host", supervisor },
        () => {},
      ),
    doctor: async () => {
      for await (const finding of examine({ projectRoot: root, supervisor }))
        if (finding.check === supervisor.name) return finding;
      return undefined;
    },
  };
}

const broken: [name: string, SupervisorChoice, program: string | undefined][] = [
  ["no systemd", systemd, "systemctl"],
  ["a stopped docker daemon", docker, "docker"],
  ["a runtime that does not listen", runtime, undefined],
];
for (const [name, supervisor, program] of broken) {
  t.test(`${name} is told before the hub is asked, and by doctor`, async (t) => {
    if (program !== undefined) await recordingProgram(t, program, "echo 'cannot connect' >&2; exit 1");
    const h = host(t, supervisor);
    t.match(await h.run(RESTART), { status: "failed", error: { code: "supervisor_unavailable", exitCode: 75 } });
    t.equal(h.asked(), 0);
    t.same(await h.held(), []);
    t.match(await h.doctor(), { status: "failed", message: /cannot work: .*[^.]$/ });
  });
}

t.test("a supervisor that stops in the middle condemns nothing; one that works does", async (t) => {
  const h = host(t, docker);
  // The daemon answers once, and is gone when the container is to be restarted.
  await recordingProgram(
    t,
    "docker",
    'test -e "$STATE/gone" && exit 1; case "$1" in restart) touch "$STATE/gone"; exit 1;; esac',
  );
  t.match(await h.run(RESTART), { error: { code: "supervisor_unavailable" } });
  t.same(await h.held(), []);
  t.notOk(existsSync(join(h.root, "plugins/a")), "what was switched is undone");
  await t.test("the daemon works, the container does not", async (t) => {
    await recordingProgram(t, "docker", 'case "$1" in restart) exit 1;; esac');
    t.match(await h.run(RESTART), { error: { code: "supervisor_failed" } });
    t.match(await h.held(), [{ version: "1.0.0", code: "supervisor_failed" }]);
  });
});

t.test("a restart that failed is not to be tried by hand once the previous release is back", async (t) => {
  const h = host(t, docker);
  await recordingProgram(t, "docker", "exit 0");
  t.match(await h.run(RESTART), { outcome: "deployed" });
  await recordingProgram(t, "docker", 'case "$1" in restart) exit 1;; esac');
  const { error } = await h.run(RESTART, { resolve: async () => ({ version: "2.0.0", identity: "two" }) });
  t.match(error, { code: "rolled_back", cause: { code: "supervisor_failed" }, hint: /logs/ });
  t.notMatch(error?.hint, /by hand/);
});

t.test("a runtime that cannot load the new version condemns it, one that has no sandbox for it does not", async (t) => {
  for (const [code, isHeld] of [
    ["load_failed", true],
    ["sandbox_unavailable", false],
  ] as const) {
    const said = { error: `the reason of ${code}`, detail: `the reason of ${code}`, code };
    await using server = createServer((request, response) => {
      const [status, body] = request.url === "/plugin/ipc/status" ? [200, { plugins: [] }] : [500, said];
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    const runtimeUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const options = { runtimeUrl, pluginKey: "key", timeoutMs: 5000 };
    const h = host(t, { name: "runtime", make: (installed) => runtimeSupervisor(options, installed) });
    const { error } = await h.run(RESTART);
    t.match(error?.message, `the reason of ${code}`);
    t.equal((await h.held()).length, isHeld ? 1 : 0, code);
    server.closeAllConnections();
  }
});

t.test("a version by another signer than the pinned one is held back", async (t) => {
  const h = host(t, { name: "none" });
  for (const code of ["signer_untrusted", "trust_changed"] as const) {
    const given: Given = { fetch: () => Promise.reject(artifactError(code, "another signer.")) };
    t.match(await h.run(INSTALL, given), { error: { code, exitCode: 4 } });
    t.match((await h.held()).at(-1), { version: "1.0.0", code });
  }
});
