import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import t, { type Test } from "tap";
import { systemdSupervisor } from "../../../../lib/agent/supervisors/systemd.ts";
import { marketplacePoll, projectPoll } from "../../../../lib/agent/watch/target.ts";
import { artifactError } from "../../../../lib/contract/errors.ts";
import { layoutOf } from "../../../../lib/releases/layout.ts";
import { readQuarantine } from "../../../../lib/releases/quarantine.ts";
import { GIVEN_TARGET, INSTALL } from "../../../support/host/given-source.ts";
import { type GivenOptions, givenTarget, watching } from "../../../support/host/watching.ts";
import { createProject, publication, startHub } from "../../../support/hub/harness.ts";
import { MARKETPLACE_KEY, startMarketplaceHub } from "../../../support/hub/marketplace-hub.ts";
import { type Answer, json } from "../../../support/hub/scripted-server.ts";
import { recordingProgram } from "../../../support/programs/recording-program.ts";
import { temporaryFolder } from "../../../support/temporary-folder.ts";

const gone = () => artifactError("connection_failed", "the connection failed");
const running = (root: string): Promise<string> => readFile(join(root, "plugins/a/version"), "utf8");

function host(t: Test, options: GivenOptions = {}) {
  const root = temporaryFolder(t);
  return { root, layout: layoutOf(root), target: givenTarget(root, options) };
}

t.test("every change of the latest version is deployed, and nothing is while it stays", async (t) => {
  const { root, target } = host(t);
  const w = watching(t, [target]);
  await w.until("check.done", { latest_version: null });
  for (const version of ["1.0.0", "1.1.0"]) {
    target.publish(version);
    t.match(await w.until("deploy.done"), { outcome: "deployed", version, code: null });
    t.equal(await running(root), version);
  }
  for (let checks = 0; checks < 3; checks++) await w.until("check.done", { changed: false, running_version: "1.1.0" });
  t.equal(w.all("deploy.done").length, 2);
  t.match(w.all("deploy.done")[1], { previous_version: "1.0.0" });
});

t.test("polls that fail back off, recover with the first success, and never end the loop", async (t) => {
  const { root, target } = host(t);
  target.publish("1.0.0");
  target.failing.push(gone(), gone(), new TypeError("a defect"), gone());
  const w = watching(t, [target]);
  await w.until("deploy.done", { outcome: "deployed" });
  await w.until("check.scheduled");
  t.same(
    w.all("check.failed").map(({ code, failures }) => `${code} ${failures}`),
    ["connection_failed 1", "connection_failed 2", "internal 3", "connection_failed 4"],
  );
  t.same(
    w.all("check.scheduled").map(({ failures }) => failures),
    [1, 2, 3, 4, 0],
  );
  const pauses = target.polls.slice(1).map(({ at }, index) => at - target.polls[index]!.at);
  // Three quarters of 40, 80, 160 and 320 ms; a timer may be a little early.
  for (const [index, least] of [30, 60, 120, 240].entries())
    t.ok(pauses[index]! >= least - 2, `pause ${index} took ${pauses[index]} ms`);
  t.equal(await running(root), "1.0.0");
});

t.test("the pause that a hub asks for with Retry-After is kept", async (t) => {
  const { target } = host(t);
  const hub = await startMarketplaceHub(t, { version: "1.0.0", bytes: Buffer.alloc(0) });
  hub.answer("detail", json(429, { error: "slow down" }, { "retry-after": "1" }), json(200, { latest_version: null }));
  const poll = marketplacePoll("plugin", "a", { hubUrl: hub.url, apiKey: MARKETPLACE_KEY, timeoutMs: 5000 });
  const times: number[] = [];
  const w = watching(t, [
    {
      ...target,
      poll: (etag, signal) => {
        times.push(performance.now());
        return poll(etag, signal);
      },
    },
  ]);
  await w.until("check.failed", { code: "rate_limited" });
  await w.until("check.done");
  t.ok(times[1]! - times[0]! >= 998, `${times[1]! - times[0]!} ms`);
  t.equal(hub.to("detail").length, 2, "and not even once more meanwhile");
});

t.test("a poll names the ETag of its own hub only", async (t) => {
  const seen: string[] = [];
  const detail: Answer = (response, { headers }, count) => {
    seen.push(headers["if-none-match"] ?? "none");
    return json(200, { latest_version: "1.0.0" }, { etag: '"1"' })(response, { headers } as never, count);
  };
  const hubs = [1, 2].map(() => startMarketplaceHub(t, { version: "1.0.0", bytes: Buffer.alloc(0) }));
  const { signal } = new AbortController();
  let etag: string | null | undefined;
  for (const hub of [...(await Promise.all(hubs)), await hubs[1]!]) {
    hub.answer("detail", detail);
    const polled = await marketplacePoll("plugin", "a", { hubUrl: hub.url, apiKey: "k", timeoutMs: 5000 })(
      etag ?? undefined,
      signal,
    );
    etag = polled.changed ? polled.etag : etag;
  }
  t.same(seen, ["none", "none", '"1"']);
});

t.test("network errors during a deployment quarantine nothing, and it is tried again", async (t) => {
  let failures = 2;
  const { root, layout, target } = host(t, {
    given: (version) => (version === "1.0.0" && failures-- > 0 ? { fetch: () => Promise.reject(gone()) } : {}),
  });
  target.publish("1.0.0");
  const w = watching(t, [target]);
  await w.until("deploy.done", { outcome: "failed", code: "connection_failed" });
  t.same(await readQuarantine(layout, GIVEN_TARGET), []);
  t.match(await w.until("check.scheduled"), { failures: 1 }, "a failed deployment lengthens the pause, too");
  t.match(await w.until("check.done"), { changed: false }, "the version itself is not news");
  await w.until("deploy.done", { outcome: "failed" });
  t.match(await w.until("check.scheduled"), { failures: 2 });
  await w.until("deploy.done", { outcome: "deployed" });
  t.match(await w.until("check.scheduled"), { failures: 0 });
  t.equal(await running(root), "1.0.0");
});

t.test("bytes that fail a check are held in quarantine until others come", async (t) => {
  const bad = new Set(["1.1.0"]);
  const { root, layout, target } = host(t, {
    given: (version) =>
      bad.has(version)
        ? { fetch: () => Promise.reject(artifactError("signature_invalid", "changed bytes")) }
        : { resolve: async () => ({ version, identity: `sha256:${version}` }) },
  });
  target.publish("1.0.0");
  const w = watching(t, [target]);
  await w.until("deploy.done", { outcome: "deployed" });
  target.publish("1.1.0");
  await w.until("deploy.done", { outcome: "failed", code: "signature_invalid" });
  t.match(await w.until("target.held"), { version: "1.1.0", reason: "quarantined", message: "changed bytes" });
  t.match(await readQuarantine(layout, GIVEN_TARGET), [{ version: "1.1.0", code: "signature_invalid" }]);
  for (let checks = 0; checks < 3; checks++) t.match(await w.until("check.scheduled"), { failures: 0 });
  t.equal(w.all("target.held").length, 1, "it is said once");
  t.equal(w.all("deploy.done").length, 2);
  target.publish("1.2.0");
  await w.until("deploy.done", { outcome: "deployed", version: "1.2.0" });
  t.equal(await running(root), "1.2.0");
});

t.test("a version that is rolled back is held, a retry gives it another chance, a newer one is taken", async (t) => {
  const states = join(temporaryFolder(t), "state");
  const becomes = (state: string): Promise<void> => writeFile(states, state);
  await becomes("active");
  await recordingProgram(
    t,
    "systemctl",
    `case "$*" in *show*) echo LoadState=loaded; echo ActiveState=$(cat ${states}); echo NRestarts=0;; esac`,
  );
  const { root, layout, target } = host(t, {
    steps: `${INSTALL}
  - {id: up, action: restart, plugin: a}
  - {id: ok, action: healthcheck, plugin: a, timeout: 5, retries: 0}`,
    deploy: { supervisor: { name: "systemd", make: () => systemdSupervisor({ scope: "system", staysUpMs: 100 }) } },
  });
  target.publish("1.0.0");
  const w = watching(t, [target]);
  await w.until("deploy.done", { outcome: "deployed" });
  await becomes("failed");
  target.publish("2.0.0");
  await w.until("deploy.done", { outcome: "rolled_back", version: "2.0.0", code: "rolled_back" });
  t.equal(await running(root), "1.0.0");
  await w.until("target.held", { reason: "quarantined", version: "2.0.0" });
  t.match(await readQuarantine(layout, GIVEN_TARGET), [{ version: "2.0.0", code: "unhealthy" }]);

  await w.watch.act(target.name, "retry");
  await w.until("deploy.done", { outcome: "rolled_back", version: "2.0.0" });
  await w.until("target.held", { reason: "quarantined" });
  await becomes("active");
  await w.watch.act(target.name, "retry");
  await w.until("deploy.done", { outcome: "deployed", version: "2.0.0" });
  t.same(await readQuarantine(layout, GIVEN_TARGET), []);
  target.publish("2.0.1");
  await w.until("deploy.done", { outcome: "deployed", version: "2.0.1" });
  t.equal(await running(root), "2.0.1");
  t.equal(w.all("deploy.done").length, 5);
});

t.test("a lower latest is held unless it ran here and the running version is yanked", async (t) => {
  const { root, target } = host(t);
  target.publish("1.0.0");
  const w = watching(t, [target]);
  await w.until("deploy.done", { outcome: "deployed", version: "1.0.0" });
  target.publish("2.0.0");
  await w.until("deploy.done", { outcome: "deployed", version: "2.0.0" });
  target.publish("0.9.0", { yanked: ["2.0.0", "1.0.0"] });
  await w.until("target.held", { version: "0.9.0", reason: "downgrade" });
  t.equal(await running(root), "2.0.0", "a yank brings no host to a version that it never ran");
  target.publish("1.0.0");
  await w.until("target.held", { version: "1.0.0", reason: "downgrade" });
  await w.until("check.scheduled");
  t.equal(await running(root), "2.0.0");
  target.publish("1.0.0", { yanked: ["2.0.0"] });
  await w.until("deploy.done", { outcome: "deployed", version: "1.0.0", previous_version: "2.0.0" });
  t.equal(await running(root), "1.0.0");
});

t.test("with allowDowngrade a lower latest is followed", async (t) => {
  const { root, target } = host(t, { deploy: { allowDowngrade: true } });
  target.publish("2.0.0");
  const w = watching(t, [target]);
  await w.until("deploy.done", { outcome: "deployed" });
  target.publish("1.0.0");
  await w.until("deploy.done", { outcome: "deployed", version: "1.0.0" });
  t.equal(await running(root), "1.0.0");
});

t.test(
  "a project's poll tells that the running version was yanked or deleted, when the latest one is lower",
  async (t) => {
    const hub = await startHub(t, { rateLimits: false });
    const project = await createProject(hub, ["publish", "projects", "deploy", "read"]);
    for (const version of ["1.0.0", "1.1.0", "1.2.0"]) await project.publish(publication(version));
    const poll = projectPoll(project.id, { hubUrl: hub.url, apiKey: project.key, timeoutMs: 5000 });
    const { signal } = new AbortController();
    const versions = `/devkeys/projects/${project.id}/versions`;
    t.match(await poll(undefined, signal, "1.2.0"), {
      projectName: "Demo",
      latest: { version: "1.2.0", yanked: [] },
    });
    await hub.call("POST", `${versions}/1.2.0/yank`);
    t.match(await poll(undefined, signal, "1.2.0"), { latest: { version: "1.1.0", yanked: ["1.2.0"] } });
    await hub.call("DELETE", `${versions}/1.1.0?reason=broken`);
    t.match(await poll(undefined, signal, "1.1.0"), { latest: { version: "1.0.0", yanked: ["1.1.0"] } });
    await hub.call("DELETE", `${versions}/1.2.0/yank`);
    t.match(await poll(undefined, signal, "2.0.0-built-by-hand"), { latest: { version: "1.2.0" } });
  },
);

t.test(
  "a version that a rollout takes back is left for the kept release, and followed when it is offered again",
  async (t) => {
    const { root, target, layout } = host(t);
    const w = watching(t, [target]);
    for (const version of ["1.0.0", "2.0.0"]) {
      target.publish(version);
      await w.until("deploy.done", { version });
    }
    target.publish("1.0.0", { withdrawn: "2.0.0" });
    t.match(await w.until("deploy.done", { version: "1.0.0" }), { outcome: "deployed", previous_version: "2.0.0" });
    t.equal(w.all("report.sent").length, 3, "the hub hears of it with the switch, and not from the next check");
    t.equal(await running(root), "1.0.0");
    t.same(await readQuarantine(layout, "project-prj_0123456789"), []);
    target.publish("2.0.0");
    t.match(await w.until("deploy.done", { version: "2.0.0" }), { outcome: "deployed" });
    target.publish("1.0.0", { withdrawn: "1.9.0" });
    t.match(await w.until("target.held"), { reason: "downgrade" }, "what it does not run cannot be taken back");
  },
);

t.test("a watch asks when the window of a rollout opens, not an interval later", async (t) => {
  const { target } = host(t, { intervalMs: 3_600_000 });
  target.publish("1.0.0");
  const w = watching(t, [target]);
  await w.until("check.scheduled");
  target.publish("1.0.0", { nextAt: new Date(Date.now() + 2000).toISOString() });
  await w.watch.act(target.name, "check");
  await w.until("check.done", { latest_version: "1.0.0", changed: false });
  target.publish("2.0.0");
  t.match(await w.until("check.done", { latest_version: "2.0.0" }), { changed: true });
});

t.test("a host whose clock is ahead of the hub's does not ask again and again until a window opens", async (t) => {
  const { target } = host(t, { intervalMs: 3_600_000 });
  target.publish("1.0.0", { nextAt: new Date(Date.now() - 30_000).toISOString() });
  const w = watching(t, [target]);
  await w.until("check.done", { latest_version: "1.0.0" });
  const { at } = (await w.until("check.scheduled")) as unknown as { at: string };
  t.ok(Date.parse(at) - Date.now() > 3_000_000, at);
});
