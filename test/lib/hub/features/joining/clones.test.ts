// Only in test:all: fleets of many hosts.
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import t from "tap";
import { projectPoll } from "../../../../../lib/agent/watch/target.ts";
import { clonesOf, heardOf, type Machine } from "../../../../../lib/hub/features/joining/machines.ts";
import { createHub } from "../../../../../lib/hub/hub.ts";
import { hubAt, publication, startHub } from "../../../../support/hub/harness.ts";
import { follow, SHORT } from "../../../../support/hub/hints.ts";
import { invited, ownSecrets } from "../../../../support/hub/joining.ts";
import { startPostgres } from "../../../../support/hub/postgres-server.ts";
import { needs } from "../../../../support/programs/optional.ts";
import { until } from "../../../../support/until.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const BEGAN = Date.parse("2026-11-20T08:00:00Z");

const minute = (after: number): string => new Date(BEGAN + after * MINUTE_MS).toISOString();

/** Returns what is known of a host after watches have spoken for it, one each minute. */
const after = (instances: string): Machine[] =>
  [...instances].reduce<Machine[]>(
    (known, instance, index) => heardOf(known, { instance, address: `10.0.0.${instance}`, at: minute(index) }),
    [],
  );
const namesOf = (instances: string, now = instances.length): string =>
  clonesOf(after(instances), BEGAN + now * MINUTE_MS)
    .map(({ address }) => address.slice(7))
    .join("");

t.test("machines that take turns are clones, one that starts anew or is looked at once is none", (t) => {
  for (const instances of ["", "1", "111", "12", "1122", "123456789", "121", "11211"]) t.equal(namesOf(instances), "");
  t.equal(namesOf("1212"), "21");
  t.equal(namesOf("112233123"), "321", "three of them");
  t.equal(namesOf("12123333"), "21", "one of which starts anew");
  t.equal(namesOf("1212333312"), "21");
  t.equal(namesOf("1212222222", 6 * 60), "21");
  t.equal(namesOf("1212222222", 6 * 60 + 3), "", "until all but one have been silent for six hours");
  t.ok(after("123456789".repeat(9)).length <= 8);
  const restarted = after("12");
  const late = { instance: "1", address: "10.0.0.1", at: minute(0.5) };
  t.strictSame(heardOf(restarted, late), restarted, "what another hub writes late, of a watch that was restarted");
  t.end();
});

t.test("the hub tells which machines speak for one host, by address and time, and the audit log once", async (t) => {
  let now = BEGAN;
  const hub = await startHub(t, { clock: () => now, trustedProxies: ["127.0.0.1"] });
  const { project, invite, join, list } = await invited(hub);
  const own = ownSecrets();
  await join((await invite()).token, "pier-7", own);
  await project.publish(publication("1.0.0"));
  const open = { key: null, json: { xdevkey: own.key, project_id: project.id } };
  const poll = async (instance: string, address: string): Promise<void> => {
    now += MINUTE_MS;
    const session = (await hub.call("POST", "/app/deploy/v1/auth", open)).body.access_token as string;
    const answer = await hub.call("GET", `/app/deploy/v1/projects/${project.id}/versions/latest`, {
      bearer: session,
      headers: { "x-sealift-host": "pier-7", "x-sealift-instance": instance, "x-forwarded-for": address },
    });
    t.equal(answer.status, 200);
  };
  const deeds = async () => {
    const { items } = (await hub.call("GET", "/devkeys/audit?action=host.clone")).body as {
      items: { subject: string; facts: object }[];
    };
    return items.map(({ subject, facts }) => ({ subject, facts }));
  };
  const told = async () => {
    await hub.hub.upkeep.run();
    return (await list())[0]!.clones;
  };
  await poll("machine-one", "10.0.0.7");
  await poll("restarted-1", "10.0.0.7");
  await poll("restarted-1", "10.0.0.8");
  t.strictSame(await told(), [], "a watch that starts anew, and a machine that gets another address");
  await poll("machine-two", "10.0.0.9");
  t.strictSame(await told(), []);
  await poll("restarted-1", "10.0.0.7");
  await poll("machine-two", "10.0.0.9");
  t.strictSame(await told(), [
    { address: "10.0.0.9", heard_at: minute(6) },
    { address: "10.0.0.7", heard_at: minute(5) },
  ]);
  const deed = { subject: project.id, facts: { host_id: "pier-7", addresses: "10.0.0.9 10.0.0.7" } };
  t.strictSame(await deeds(), [deed]);
  for (let turn = 0; turn < 3; turn++) {
    await poll("restarted-1", "10.0.0.7");
    await poll("machine-two", "10.0.0.9");
    await told();
  }
  t.strictSame(await deeds(), [deed], "not at each turn");
  now += 7 * HOUR_MS;
  await poll("machine-two", "10.0.0.9");
  t.strictSame(await told(), [], "one of them is off");
  await poll("<script>", "10.0.0.1");
  await poll("restarted-1", "10.0.0.7");
  t.strictSame(await told(), [], "what is not a name is not noted");
});

t.test("two watches with one key are told apart, whatever they ask", async (t) => {
  const hub = await startHub(t);
  const { project, invite, join, list } = await invited(hub);
  const own = ownSecrets();
  await join((await invite()).token, "pier-7", own);
  const { signal } = new AbortController();
  const watchOf = (instance: string) =>
    projectPoll(project.id, { hubUrl: hub.url, apiKey: own.key, timeoutMs: 5000, hostId: "pier-7", instance });
  const watches = [watchOf("the-machine"), watchOf("its-clone")];
  for (let round = 0; round < 2; round++) for (const ask of watches) await ask(undefined, signal, null);
  await hub.hub.upkeep.run();
  t.match((await list())[0]!.clones, [{ address: "127.0.0.1" }, { address: "127.0.0.1" }]);
});

t.test("two watches with one key are told apart while they only listen", async (t) => {
  const hub = await startHub(t, { hintTimes: SHORT });
  const { project, invite, join, list } = await invited(hub);
  const own = ownSecrets();
  await join((await invite()).token, "pier-7", own);
  for (const instance of ["the-machine", "its-clone"]) {
    const headers = { "x-sealift-host": "pier-7", "x-sealift-instance": instance };
    await follow(t, hub, own.key, [`project:${project.id}`], undefined, headers);
  }
  await until(async () => {
    await hub.hub.upkeep.run();
    return (await list())[0]!.clones.length === 2;
  }, 20_000);
});

t.test("a clone is noticed that polls another hub than its twin", { skip: needs("initdb") }, async (t) => {
  const databaseUrl = (await startPostgres(t))!;
  const hub = await startHub(t, { databaseUrl });
  const second = await createHub({
    ...{ dataDir: join(hub.dataDir, "second"), databaseUrl, listen: { host: "127.0.0.1", port: 0 } },
    ...{ keks: { file: join(hub.dataDir, "kek.json") }, blobUrl: join(hub.dataDir, "blobs") },
  });
  t.teardown(() => second.close());
  const twin = hubAt(await second.listen(), hub.adminKey);
  const { invite, join: joinAs } = await invited(hub);
  const own = ownSecrets();
  await joinAs((await invite()).token, "pier-7", own);
  const ask = (at: Pick<typeof hub, "call">, instance: string) =>
    at.call("GET", "/devkeys/key", {
      key: own.key,
      headers: { "x-sealift-host": "pier-7", "x-sealift-instance": instance },
    });
  const began = performance.now();
  for (;;) {
    t.equal((await ask(hub, "the-machine")).status, 200);
    t.equal((await ask(twin, "its-clone")).status, 200);
    const { items } = (await hub.call("GET", "/devkeys/audit?action=host.clone")).body as { items: unknown[] };
    if (items.length > 0) break;
    if (performance.now() - began > MINUTE_MS) t.bailout("no clone was noticed within a minute");
    await sleep(1000);
  }
  t.ok(performance.now() - began < MINUTE_MS);
});
