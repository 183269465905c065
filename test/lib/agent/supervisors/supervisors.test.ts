import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import t from "tap";
import { dockerSupervisor } from "../../../../lib/agent/supervisors/docker.ts";
import { unitName } from "../../../../lib/agent/supervisors/supervisor.ts";
import { systemdSupervisor } from "../../../../lib/agent/supervisors/systemd.ts";
import { recordingProgram } from "../../../support/programs/recording-program.ts";

t.test("unit names come from the template", async (t) => {
  t.equal(unitName(undefined, "tides"), "sealift-plugin-tides");
  t.equal(unitName(undefined, null), "sealift-project");
  t.equal(unitName("harbour-<id>.service", "tides"), "harbour-tides.service");
  t.equal(unitName("harbour-<id>.service", null), "sealift-project");
  t.equal(unitName("harbour.service", null), "harbour.service");
});

t.test("systemd", async (t) => {
  await t.test("starts, stops and restarts units in its scope", async (t) => {
    const calls = await recordingProgram(t, "systemctl", "exit 0");
    const supervisor = systemdSupervisor({ scope: "user", staysUpMs: 100 });
    await supervisor.start("tides");
    await supervisor.stop("tides");
    await supervisor.restart(null);
    t.same(await calls(), [
      "--user --no-ask-password start sealift-plugin-tides",
      "--user --no-ask-password stop sealift-plugin-tides",
      "--user --no-ask-password restart sealift-project",
    ]);
  });
  const failing: [title: string, state: string][] = [
    ["is not there", "echo LoadState=not-found; echo ActiveState=inactive"],
    ["has failed", "echo LoadState=loaded; echo ActiveState=failed; echo Result=exit-code"],
    ["systemd starts again", "echo LoadState=loaded; echo ActiveState=activating; echo Result=exit-code"],
    ["systemd has started again", "echo LoadState=loaded; echo ActiveState=active; echo NRestarts=1"],
    [
      "its condition held",
      "echo ActiveState=failed; echo Result=signal; echo 'ExecCondition={ code=exited ; status=0 }'",
    ],
  ];
  for (const [title, state] of failing)
    await t.test(`a failing systemctl fails the step with what it said, where the unit ${title}`, async (t) => {
      await recordingProgram(t, "systemctl", `case "$*" in *show*) ${state};; *) echo 'It failed.' >&2; exit 1;; esac`);
      await t.rejects(systemdSupervisor({ scope: "system", staysUpMs: 100 }).start("tides"), {
        code: "supervisor_failed",
        message: /It failed/,
      });
    });
  const away: [title: string, show: string][] = [
    ["it does not answer", "exit 1"],
    ["the unit has not failed", "echo LoadState=loaded; echo ActiveState=active; echo Result=success"],
    ["a condition was killed", "echo ActiveState=failed; echo 'ExecCondition={ code=killed ; status=9/KILL }'"],
    ["a condition could not be run", "echo Result=exit-code; echo 'ExecCondition={ code=exited ; status=255 }'"],
  ];
  for (const [title, show] of away)
    await t.test(`systemd is asked again for a while where ${title}`, async (t) => {
      // The first three calls meet it so, as while it executes itself anew.
      const script = `echo x >> $STATE/n; [ $(wc -l < $STATE/n) -gt 3 ] || case "$*" in *show*) ${show};; *) exit 1;; esac`;
      await recordingProgram(t, "systemctl", script);
      await systemdSupervisor({ scope: "system", staysUpMs: 100 }).restart("tides");
    });
  await t.test("a systemd that lets nobody do it is no fault of a version", async (t) => {
    const script = `case "$*" in *show*) echo LoadState=loaded; echo ActiveState=active;; *) echo 'Access denied' >&2; exit 4;; esac`;
    await recordingProgram(t, "systemctl", script);
    await t.rejects(systemdSupervisor({ scope: "system", staysUpMs: 100 }).restart("tides"), {
      code: "supervisor_unavailable",
      message: /Access denied/,
    });
  });
  const states: [string, string, RegExp | undefined][] = [
    [
      "active in both samples is healthy",
      "echo LoadState=loaded; echo ActiveState=active; echo NRestarts=4",
      undefined,
    ],
    [
      "a failed unit is not",
      "echo LoadState=loaded; echo ActiveState=failed; echo SubState=failed; echo Result=exit-code; echo NRestarts=0",
      /failed/,
    ],
    ["an unknown unit is not", "echo LoadState=not-found; echo ActiveState=inactive; echo NRestarts=0", /not-found/],
    [
      "a crash loop is not, however active it looks",
      "echo x >> $STATE/n; echo LoadState=loaded; echo ActiveState=active; echo NRestarts=$(wc -l < $STATE/n)",
      /restarted 1 times/,
    ],
  ];
  for (const [title, script, fault] of states) {
    await t.test(title, async (t) => {
      await recordingProgram(t, "systemctl", script);
      const found = await systemdSupervisor({ scope: "system", staysUpMs: 100 }).check("tides", 5_000);
      if (fault === undefined) t.equal(found, undefined);
      else t.match(found, fault);
    });
  }
  await t.test("a systemd that cannot be asked says nothing of a unit", async (t) => {
    await recordingProgram(t, "systemctl", "exit 1");
    const check = systemdSupervisor({ scope: "system", staysUpMs: 100 }).check("tides", 500);
    await t.rejects(check, { code: "supervisor_unavailable", message: /exit code 1/ });
  });
  await t.test("a unit that ends after a while is not healthy", async (t) => {
    const script =
      "echo x >> $STATE/n; echo LoadState=loaded; echo NRestarts=0; [ $(wc -l < $STATE/n) -lt 4 ] && echo ActiveState=active || echo ActiveState=inactive";
    await recordingProgram(t, "systemctl", script);
    t.match(await systemdSupervisor({ scope: "system", staysUpMs: 60_000 }).check("tides", 5_000), /is inactive/);
  });
  await t.test("a unit with a health URL is healthy when that answers", async (t) => {
    await recordingProgram(t, "systemctl", "echo LoadState=loaded; echo ActiveState=active; echo NRestarts=0");
    const server = createServer((request, response) => {
      response.writeHead(request.url === "/ok" ? 204 : 500).end();
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    t.teardown(() => (server.closeAllConnections(), server.close()));
    const { port } = server.address() as AddressInfo;
    const urls = new Map(["ok", "no"].map((path) => [path, new URL(`http://127.0.0.1:${port}/${path}`)]));
    const supervisor = systemdSupervisor({ scope: "system", staysUpMs: 100, urls });
    t.equal(await supervisor.check("ok", 300), undefined);
    t.match(await supervisor.check("no", 300), /answered 500/);
    t.equal(await supervisor.check("other", 300), undefined, "others have none");
  });
  await t.test("a check that hangs ends with its time-out", async (t) => {
    await recordingProgram(t, "systemctl", "sleep 30");
    const started = Date.now();
    await t.rejects(systemdSupervisor({ scope: "system", staysUpMs: 100 }).check("tides", 300), {
      ...{ code: "supervisor_unavailable", message: /longer than 0.3 s/ },
    });
    t.ok(Date.now() - started < 7_000);
  });
});

t.test("docker", async (t) => {
  const inspect = (state: object, restarts = "0"): string =>
    `echo '{"State":${JSON.stringify(state)},"RestartCount":'${restarts}'}'`;
  const running = { Status: "running", Running: true, Restarting: false };
  const states: [string, string, RegExp | undefined][] = [
    ["healthy by its own health check", inspect({ ...running, Health: { Status: "healthy" } }), undefined],
    ["running without a health check", inspect(running), undefined],
    ["unhealthy by its own health check", inspect({ ...running, Health: { Status: "unhealthy" } }), /unhealthy/],
    ["still starting", inspect({ ...running, Health: { Status: "starting" } }), /starting/],
    ["exited", inspect({ Status: "exited", Running: false }), /exited/],
    ["in a crash loop", `echo x >> $STATE/n; ${inspect(running, '$(wc -l < $STATE/n | tr -d " ")')}`, /restarted/],
    ["no container", "echo 'No such container' >&2; exit 1", /No such container/],
    ["nonsense", "echo nonsense", /unknown answer/],
  ];
  for (const [title, script, fault] of states) {
    await t.test(title, async (t) => {
      const calls = await recordingProgram(t, "docker", script);
      const found = await dockerSupervisor({ staysUpMs: 100 }).check("tides", 5_000);
      if (fault === undefined) t.equal(found, undefined);
      else t.match(found, fault);
      t.equal((await calls())[0], "inspect --type container --format {{json .}} sealift-plugin-tides");
    });
  }
  await t.test("starts, stops and restarts containers", async (t) => {
    const calls = await recordingProgram(t, "docker", "exit 0");
    const supervisor = dockerSupervisor({ template: "c-<id>", staysUpMs: 100 });
    await supervisor.start("a");
    await supervisor.stop("a");
    await supervisor.restart("a");
    t.same(await calls(), ["start c-a", "stop c-a", "restart c-a"]);
  });
});
