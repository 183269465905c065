// Holds: each action is written by what does it (lib/contract/audit-actions.ts, lib/hub/access/audit.ts)
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import t, { type Test } from "tap";
import { ACTIONS } from "../../../lib/contract/audit-actions.ts";
import { FEATURES } from "../../../lib/hub/features.ts";
import { dropQuota } from "../../../lib/hub/features/quotas/by-hand.ts";
import { renewAdminKeyOf } from "../../../lib/hub/keys/admin-key.ts";
import { rotateKek } from "../../../lib/hub/keys/rotate-kek.ts";
import { zipOf } from "../../support/hub/archives.ts";
import { HOSTILE_HOST } from "../../support/hub/filling.ts";
import { type FullHub, fullHub } from "../../support/hub/full-hub.ts";
import { publication, type RunningHub } from "../../support/hub/harness.ts";
import { fetchingFrom } from "../../support/hub/import.ts";
import { startWorkflow } from "../../support/hub/publishers.ts";
import { startReceiver } from "../../support/hub/receiver.ts";
import { until } from "../../support/until.ts";

/** Starts a source host on which every path is one archive. @returns its origin */
async function sourceHost(t: Test): Promise<string> {
  const server = createServer((_request, response) => response.end(zipOf({ "tide/plugin.yaml": "name: tide\n" })));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.teardown(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Goes through each command of rollouts. @returns once the last one is complete */
async function rollOut({ hub, rolled, report }: FullHub): Promise<void> {
  const base = `/devkeys/projects/${rolled.id}/rollouts`;
  const act = async (method: string, path: string, json: object = {}): Promise<string> => {
    const { status, body } = await hub.call(method, path, { json });
    if (status >= 300) throw new Error(`${path}: ${status} ${JSON.stringify(body)}`);
    return body.id as string;
  };
  const rules = { waves: ["50%", "100%"], soak_seconds: 0 };
  const first = await act("POST", base, { version: "3.0.0", ...rules });
  await act("POST", `${base}/${first}/pause`);
  await act("POST", `${base}/${first}/resume`);
  const second = await act("POST", base, { version: "3.1.0", ...rules, approve: true, replace: first });
  await rolled.publish(publication("3.1.0"));
  let isReported = false;
  await until(async () => {
    const { body } = await hub.call("GET", `${base}/${second}`);
    if (body.waiting_for === "hosts" && !isReported) {
      await report("3.1.0", "success");
      isReported = true;
    }
    if (body.waiting_for === "approval") await act("POST", `${base}/${second}/approve`);
    return body.state === "completed";
  });
}

/** Has a workflow run get a key, and removes its publisher. */
async function exchangeAndRemove(
  t: Test,
  hub: RunningHub,
  done: (method: string, path: string, json?: object) => Promise<{ id: string }>,
): Promise<void> {
  const { trust, run, exchange } = await startWorkflow(t, { hub });
  const { body } = await trust({ creates: { kind: "plugin", slug: "by-ci", name: "By CI" } });
  t.equal((await exchange("plugin:by-ci", await run())).status, 201);
  await done("DELETE", `/devkeys/publishers/${body.id}`);
}

/** Stages a version and approves it, stages another one and rejects it. */
async function stageAndApprove(
  { hub, rolled }: FullHub,
  done: (method: string, path: string, json?: object) => Promise<unknown>,
): Promise<void> {
  for (const version of ["7.0.0", "7.1.0"]) await rolled.publish(publication(version), { changes: { stage: "true" } });
  const { items } = (await hub.call("GET", "/devkeys/staging")).body;
  const { sha256 } = (items as { version: string; sha256: string }[]).find(({ version }) => version === "7.0.0")!;
  await done("POST", "/devkeys/staging/approve", { versions: [{ project_id: rolled.id, version: "7.0.0", sha256 }] });
  await done("POST", `/devkeys/staging/${rolled.id}/7.1.0/reject`, { reason: HOSTILE_HOST });
  for (const required of [true, false]) await done("PUT", `/devkeys/projects/${rolled.id}/approval`, { required });
}

t.test("each action of the audit log is written by what does it", async (t) => {
  const full = await fullHub(t, `${t.testdir({})}/hub`, fetchingFrom(await sourceHost(t)));
  const { hub, project, rolled } = full;
  const done = async (method: string, path: string, json?: object): Promise<{ id: string }> => {
    const { status, body } = await hub.call(method, path, json === undefined ? {} : { json });
    t.ok(status < 300, `${method} ${path}: ${status} ${JSON.stringify(body)}`);
    return body as { id: string };
  };
  await rollOut(full);
  const tidal = (await hub.call("GET", "/devkeys/projects?limit=100")).body.items as { id: string; slug: string }[];
  const { id: tideId } = tidal.find(({ slug }) => slug === "tide")!;
  await done("PUT", `/devkeys/projects/${tideId}/hosts/h/service`, { out_of_service: null });
  const tide = "/app/marketplace/plugins/tide";
  await done("POST", `${tide}/grants`, { owner: "bob" });
  await done("DELETE", `${tide}/grants/bob`);
  await done("POST", "/devkeys/signing-key", { secret: "sixteen characters" });
  await done("POST", `${tide}/import`, { version: "5.0.0", repo: "acme/tide@v5" });
  await done("DELETE", "/devkeys/signing-key");
  await done("DELETE", `/devkeys/projects/${project.id}/versions/1.0.0/yank`);
  await done("POST", `/devkeys/projects/${rolled.id}/versions/2.0.0/release`, {});
  await done("DELETE", `/devkeys/projects/${project.id}/versions/1.0.0/deprecation`);
  await done("DELETE", "/app/deployments/deployments/plugin/tide/hosts/h");
  await done("POST", `/devkeys/api-keys/${project.keyId}/rotate`, {});
  await stageAndApprove(full, done);
  const waiting = `/devkeys/projects/${project.id}/joined-hosts/${encodeURIComponent(`waits${HOSTILE_HOST}`)}`;
  await done("POST", `${waiting}/approve`);
  await done("PATCH", waiting, { host_id: "omega" });
  await done("DELETE", `/devkeys/projects/${project.id}/joined-hosts/omega`);
  await exchangeAndRemove(t, hub, done);
  const doomed = await done("POST", "/devkeys/projects", { name: "Doomed", kind: "project" });
  await done("DELETE", `/devkeys/projects/${doomed.id}`);
  await done("POST", "/devkeys/api-keys", { name: "bob", owner: "bob" });
  await done("POST", `/devkeys/projects/${project.id}/transfer`, { owner: "bob" });
  const receiver = await startReceiver(t);
  receiver.answer = (response) => response.writeHead(410).end();
  const webhook = await done("POST", "/devkeys/webhooks", { url: receiver.url });
  await done("POST", `/devkeys/webhooks/${webhook.id}/rotate`, {});
  await done("POST", `/devkeys/projects/${rolled.id}/versions/1.0.0/yank`, {});
  await receiver.until(1);
  const stateOf = async (): Promise<unknown> => {
    const { body } = await hub.call("GET", "/devkeys/webhooks");
    return (body.items as { id: string; state: string }[]).find(({ id }) => id === webhook.id)?.state;
  };
  await until(async () => (await stateOf()) === "disabled");
  await done("POST", `/devkeys/webhooks/${webhook.id}/enable`);
  await done("DELETE", `/devkeys/webhooks/${webhook.id}`);
  await dropQuota({ hooks: FEATURES, dataDir: hub.dataDir }, `project/${project.id}`);
  await rotateKek({ hooks: FEATURES, dataDir: hub.dataDir });

  // People who sign on by an identity provider have one in sign-on.test.ts.
  const seen = new Set<string>(["web.sign-in"]);
  for (let cursor: string | null = ""; cursor !== null;) {
    const page = await hub.call("GET", `/devkeys/audit?limit=200&cursor=${cursor}`);
    for (const { action } of page.body.items as { action: string }[]) seen.add(action);
    cursor = page.body.next as string | null;
  }
  // It ends the key with which the log is read.
  await renewAdminKeyOf({ hooks: FEATURES, dataDir: hub.dataDir });
  seen.add("admin-key.renew");
  t.strictSame(
    Object.keys(ACTIONS).filter((action) => !seen.has(action)),
    [],
    "every action of lib/contract/audit-actions.ts is done here, or goes",
  );
});
