import t from "tap";
import { FEATURES } from "../../../../../lib/hub/features.ts";
import { openDatabase } from "../../../../../lib/hub/records/database.ts";
import { startHub } from "../../../../support/hub/harness.ts";
import { signatureOf, startReceiver } from "../../../../support/hub/receiver.ts";

t.test("a webhook that is removed meanwhile is neither rotated nor enabled, and leaves no secret", async (t) => {
  const hub = await startHub(t, { webhookAllow: ["127.0.0.1"] });
  for (let round = 0; round < 10; round++) {
    const { body } = await hub.call("POST", "/devkeys/webhooks", { json: { url: "http://127.0.0.1:9/" } });
    const path = `/devkeys/webhooks/${body.id as string}`;
    const [removed, ...others] = await Promise.all([
      hub.call("DELETE", path),
      ...["rotate", "enable", "rotate"].map((action) => hub.call("POST", `${path}/${action}`)),
    ]);
    t.equal(removed?.status, 204);
    for (const { status } of others) t.ok(status === 404 || status === 200 || status === 201, `${status}`);
    const { items } = (await hub.call("GET", "/devkeys/audit?limit=5")).body as { items: { action: string }[] };
    t.equal(items[0]?.action, "webhook.remove", "nothing is written of it afterwards");
  }
  const database = await openDatabase({ hooks: FEATURES, dataDir: hub.dataDir });
  const names = await database.kysely.selectFrom("sealed_secrets").select("name").execute();
  await database.close();
  t.notOk(names.some(({ name }) => name.startsWith("webhook/")));
});

t.test("of two secrets that are made at once both sign, until the time of the first one is up", async (t) => {
  const hub = await startHub(t, { webhookAllow: ["127.0.0.1"] });
  const receiver = await startReceiver(t);
  const { body } = await hub.call("POST", "/devkeys/webhooks", { json: { url: receiver.url } });
  const path = `/devkeys/webhooks/${body.id as string}`;
  const made = await Promise.all([1, 2].map(() => hub.call("POST", `${path}/rotate`)));
  t.match((await hub.call("POST", `${path}/test`)).body, { delivered: true });
  const message = receiver.received[0]!;
  const signatures = String(message.headers["webhook-signature"]).split(" ");
  for (const { body: rotated } of made) t.ok(signatures.includes(signatureOf(message, rotated.secret as string)));
});
