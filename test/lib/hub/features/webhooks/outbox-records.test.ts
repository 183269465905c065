// Only in test:all: thousands of deliveries, 6 s of a processor.
// Holds: which messages wait, and what they carry (lib/hub/features/webhooks/outbox-records.ts)
import { randomBytes } from "node:crypto";
import t, { type Test } from "tap";
import { Destinations } from "../../../../../lib/hub/base/destinations.ts";
import { FEATURES } from "../../../../../lib/hub/features.ts";
import { newSecret, sealedText } from "../../../../../lib/hub/features/webhooks/messages.ts";
import { deliveryOf, tellOfHosts } from "../../../../../lib/hub/features/webhooks/outbox-records.ts";
import {
  claimDelivery,
  disableWebhook,
  dueDeliveries,
  failDelivery,
  findWebhook,
  insertWebhook,
  webhookSecretName,
} from "../../../../../lib/hub/features/webhooks/records.ts";
import { Webhooks } from "../../../../../lib/hub/features/webhooks/sender.ts";
import { own } from "../../../../../lib/hub/features/webhooks/tables.ts";
import { Keyring, sealInTransaction } from "../../../../../lib/hub/keys/keyring.ts";
import { secretContext } from "../../../../../lib/hub/keys/sealing.ts";
import { openDatabase } from "../../../../../lib/hub/records/database.ts";
import { registerKeks } from "../../../../../lib/hub/records/keks.ts";
import { locked } from "../../../../../lib/hub/records/locked.ts";
import { inTransaction } from "../../../../../lib/hub/records/port.ts";
import { storeReports } from "../../../../../lib/hub/records/reports.ts";
import { writeSecret } from "../../../../../lib/hub/records/secrets.ts";
import { startPostgres } from "../../../../support/hub/postgres-server.ts";
import { startReceiver } from "../../../../support/hub/receiver.ts";

const NOW = Date.parse("2026-11-24T12:00:00.000Z");
const NOBODY = { webhooks: [], owners: [] };
const iso = (time: number) => new Date(time).toISOString();

const BOB = { owner: "bob" };
const webhookOf = (id: string, url: string) => ({
  ...{ id, name: "", origin: url, format: "json" as const, events: "", target: null, dropped: 0 },
  ...{ created_at: iso(NOW), last_delivered_at: null, failing_since: null, last_error: null, disabled_at: null },
});

/** A database with a webhook of bob. */
async function withWebhook(t: Test, url: string) {
  const database = await openDatabase({ hooks: FEATURES, dataDir: t.testdir() });
  t.teardown(() => database.close());
  const db = database.kysely;
  const kek = { id: "kek_1", createdAt: iso(NOW), key: randomBytes(32) };
  const keyring = new Keyring({ read: async () => [kek], version: async () => "1" } as never, () => NOW);
  await keyring.refresh();
  await registerKeks(db, ["kek_1"], iso(NOW));
  const id = "whk_1";
  await inTransaction(db, (transaction) => insertWebhook(transaction, locked(transaction, BOB), webhookOf(id, url)));
  const secret = sealedText({ url, secret: newSecret() });
  const name = webhookSecretName(id);
  await sealInTransaction({ db, keyring, now: iso(NOW) }, secret, secretContext(name), (transaction, sealed) =>
    writeSecret(transaction, { name, secret: sealed, now: iso(NOW), replace: false }),
  );
  return { database, db, keyring, id };
}

t.test("messages beyond a thousand that wait are counted, not kept, and a long cause is cut", async (t) => {
  const { db, id } = await withWebhook(t, "https://example.org");
  const hostRecord = { error_message: "x".repeat(9000) } as never;
  for (let batch = 0; batch < 17; batch++)
    await storeReports(
      db,
      Array.from({ length: 60 }, (_, index) => ({
        ...{ id: `dpl_${batch}_${index}`, holder: "bob", target: "plugin/tide", hostId: `h${batch}-${index}` },
        ...{ version: "1.0.0", status: index === 0 ? ("success" as const) : ("failed" as const), deployment: null },
        ...{ record: "{}", hostRecord, createdAt: iso(NOW), isNamed: false, isBound: false },
      })),
    );
  t.match(await findWebhook(db, id), { pending: 1000, dead: 0, dropped: 17 * 59 - 1000 });
  const [first] = await dueDeliveries(db, iso(NOW), NOBODY, 1);
  t.ok(first!.body.length < 2000);
});

t.test("a message that a killed hub held is sent by another one a minute later, once", async (t) => {
  const receiver = await startReceiver(t);
  const { database, db, keyring, id } = await withWebhook(t, receiver.url);
  const data = { target: "plugin:tide", name: "Tide", version: "1.0.0" };
  await own(db)
    .insertInto("webhook_deliveries")
    .values(deliveryOf(id, { type: "version.published", timestamp: iso(NOW), data }, NOW))
    .execute();
  // The hub that dies has taken it.
  const [due] = await dueDeliveries(db, iso(NOW), NOBODY, 1);
  t.ok(await claimDelivery(db, due!, iso(NOW + 60_000)));
  t.equal(await claimDelivery(db, due!, iso(NOW + 60_000)), undefined, "no other hub takes it meanwhile");

  let now = NOW;
  const parts = { database, keyring, clock: () => now, logger: undefined, onFailure: () => t.fail("nothing fails") };
  const destinations = new Destinations(["127.0.0.1"]);
  const hubs = [new Webhooks({ ...parts, destinations }), new Webhooks({ ...parts, destinations })];
  t.teardown(() => Promise.all(hubs.map((hub) => hub[Symbol.asyncDispose]())));
  await Promise.all(hubs.map((hub) => hub.idle()));
  t.equal(receiver.received.length, 0);
  now += 61_000;
  await Promise.all(hubs.map((hub) => hub.idle()));
  t.equal(receiver.received.length, 1);
  t.equal(receiver.received[0]!.headers["webhook-id"], due!.id);
});

t.test(
  "reports that come at once to many full webhooks, and attempts that end at once, meet in no deadlock",
  async (t) => {
    const url = await startPostgres(t);
    if (url === undefined) return void t.plan(0, "PostgreSQL is not installed");
    // They wait for each other's rows, and not, for three seconds, for a connection.
    const database = await openDatabase({ hooks: FEATURES, dataDir: t.testdir(), url, poolSize: 60 });
    t.teardown(() => database.close());
    const { kysely: db } = database;
    const data = { target: "plugin:tide", name: "Tide", version: "1.0.0" };
    for (let index = 0; index < 20; index++) {
      const id = `whk_${index}`;
      await inTransaction(db, (transaction) =>
        insertWebhook(transaction, locked(transaction, BOB), webhookOf(id, "https://example.org")),
      );
      const full = Array.from({ length: 1000 }, () =>
        deliveryOf(id, { type: "version.published", timestamp: iso(NOW), data }, NOW),
      );
      await own(db).insertInto("webhook_deliveries").values(full).execute();
    }
    const report = { ...{ holder: "bob", target: "plugin/tide", version: "1.0.0", status: "failed" as const } };
    const failed = { ...report, hostId: "a", hostRecord: { error_message: null }, createdAt: iso(NOW) };
    const tellAgain = async (): Promise<void> => {
      for (let times = 0; times < 25; times++)
        await inTransaction(db, (transaction) => tellOfHosts(transaction, [failed as never]));
    };
    await Promise.all(Array.from({ length: 8 }, tellAgain));
    t.equal(Number((await findWebhook(db, "whk_7"))!.dropped), 200);

    // Every receiver is gone at the same moment.
    const due = await dueDeliveries(db, iso(NOW), NOBODY, 100);
    const one = due.filter(({ webhook_id }) => webhook_id === due[0]!.webhook_id);
    const gone = { error: "the receiver answered 410", now: iso(NOW), next: undefined };
    await Promise.all(
      one.map((delivery) =>
        inTransaction(db, async (transaction) => {
          await failDelivery(transaction, { ...delivery, due_at: delivery.next_at }, gone);
          await disableWebhook(transaction, delivery.webhook_id, iso(NOW));
        }),
      ),
    );
    t.match(await findWebhook(db, one[0]!.webhook_id), { pending: 0, disabled_at: iso(NOW) });
  },
);
