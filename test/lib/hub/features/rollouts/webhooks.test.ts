import { Webhook } from "standardwebhooks";
import t, { type Test } from "tap";
import { createProject, type RunningHub, startHub } from "../../../../support/hub/harness.ts";
import { startPostgres } from "../../../../support/hub/postgres-server.ts";
import { startReceiver } from "../../../../support/hub/receiver.ts";
import { allowing, senderOf } from "../../../../support/hub/webhooks.ts";
import { until } from "../../../../support/until.ts";

/** A rollout starts and is aborted: its owner hears of both, once and signed. */
async function tells(t: Test, hub: RunningHub): Promise<void> {
  const receiver = await startReceiver(t);
  const { id, key } = await createProject(hub, ["publish", "projects", "deploy", "report", "read"]);
  const { secret } = (await hub.call("POST", "/devkeys/webhooks", { json: { url: receiver.url } })).body as {
    secret: string;
  };
  const rollouts = `/devkeys/projects/${id}/rollouts`;
  const { body } = await hub.call("POST", rollouts, { key, json: { version: "2.0.0", waves: ["100%"] } });
  const rollout = body.id as string;
  const abort = () => hub.call("POST", `${rollouts}/${rollout}/abort`, { key, json: { reason: "not today" } });
  // The hub may decide at the same moment.
  await until(async () => (await abort()).status !== 409);
  await receiver.until(2);
  await senderOf(hub.hub).idle();

  const told = new Map(receiver.received.map(({ body }) => [body.type as string, body.data as unknown]));
  t.strictSame([...told.keys()].toSorted(), ["rollout.finished", "rollout.started"], "once each");
  t.match(told.get("rollout.started"), { target: `project:${id}`, rollout, version: "2.0.0" });
  t.match(told.get("rollout.finished"), { rollout, state: "aborted", reason: "not today" });
  for (const { text, headers } of receiver.received)
    t.doesNotThrow(() => new Webhook(secret).verify(text, headers as Record<string, string>));
  t.equal(new Set(receiver.received.map(({ headers }) => headers["webhook-id"])).size, 2);
}

const OPTIONS = { ...allowing("127.0.0.0/8"), rateLimits: false } as const;

t.test("owners hear of rollouts, on SQLite", async (t) => tells(t, await startHub(t, OPTIONS)));

t.test("owners hear of rollouts, on PostgreSQL", async (t) => {
  const databaseUrl = await startPostgres(t);
  if (databaseUrl === undefined) return void t.plan(0, "PostgreSQL is not installed");
  await tells(t, await startHub(t, { ...OPTIONS, databaseUrl }));
});
