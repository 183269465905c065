import t from "tap";
import { isErrorBody, type RunningHub, startHub } from "../../support/hub/harness.ts";
import { fleetOf, operatedFleet, until } from "../../support/hub/project-fleet.ts";
import { QUICK } from "../../support/hub/rollouts.ts";

/** A thief of one host's key reports as the hosts of a canary, so that a rollout goes on, or fails. */

const CANARY = { labels: { env: "canary" } };

t.test("a stolen key that speaks for one host carries no rollout past another host", async (t) => {
  const hub = await startHub(t);
  const owner = await operatedFleet(hub);
  await owner.publish("1.0.0");
  await owner.report("canary", "1.0.0", CANARY);
  await owner.report("b", "1.0.0");
  const stolen = await hub.call("POST", "/devkeys/api-keys", {
    json: { name: "b", host: "b", project_id: owner.project.id },
  });
  const json = { xdevkey: stolen.body.key as string, project_id: owner.project.id };
  const session = async () =>
    (await hub.call("POST", "/app/deploy/v1/auth", { key: null, json })).body.access_token as string;
  const thief = await fleetOf(hub, { ...owner.project, key: json.xdevkey, session });
  const started = await owner.start({ version: "2.0.0", waves: ["env=canary", "100%"], ...QUICK });
  const { id } = started.body as { id: string };
  await owner.publish("2.0.0");
  isErrorBody(t, await thief.report("canary", "2.0.0", CANARY), 403, "other_host");
  const failed = { status: "failed", error_message: "no", running_version: "1.0.0" };
  isErrorBody(t, await thief.report("canary", "2.0.0", failed), 403, "other_host");
  isErrorBody(t, await thief.latest("canary"), 403, "other_host");
  t.match((await thief.latest("b")).body, { version: "1.0.0" }, "its own wave is not open");
  t.match(await owner.show(id), { state: "running", open: 1, waves: [{ done: 0, failing: 0 }, {}] });
  await owner.report("canary", "2.0.0", CANARY);
  const passed = await until(
    () => owner.show(id),
    ({ open }) => open === 2,
  );
  t.equal(passed.open, 2, "the canary itself is heard");
});

/** A canary with a key of its own, and one more host, in a project whose own key is stolen. */
async function withOwnKeys(hub: RunningHub) {
  const owner = await operatedFleet(hub);
  const own = async (name: string) => {
    const made = await hub.call("POST", "/devkeys/api-keys", {
      json: { name, host: name, project_id: owner.project.id },
    });
    const json = { xdevkey: made.body.key as string, project_id: owner.project.id };
    const session = async () =>
      (await hub.call("POST", "/app/deploy/v1/auth", { key: null, json })).body.access_token as string;
    return fleetOf(hub, { ...owner.project, key: json.xdevkey, session });
  };
  await owner.publish("1.0.0");
  return { owner, thief: owner, own };
}

t.test("a stolen key of a whole fleet speaks for no host with a key of its own", async (t) => {
  const hub = await startHub(t);
  const { owner, thief, own } = await withOwnKeys(hub);
  await owner.report("b", "1.0.0");
  const { id } = (
    await owner.start({ version: "2.0.0", waves: ["env=canary", "100%"], allow_empty_wave: true, ...QUICK })
  ).body as { id: string };
  await owner.publish("2.0.0");
  const canary = await own("canary");
  await canary.report("canary", "1.0.0", CANARY);
  t.match((await canary.latest("canary")).body, { version: "2.0.0" }, "it joined after the start, and is known");
  isErrorBody(t, await thief.report("canary", "2.0.0", CANARY), 403, "other_host");
  for (let host = 0; host < 20; host++) await thief.report(`fake-${host}`, "2.0.0", CANARY);
  const failed = { status: "failed", error_message: "no", running_version: "1.0.0" };
  isErrorBody(t, await thief.report("canary", "2.0.0", { ...CANARY, ...failed }), 403, "other_host");
  const counted = await until(
    () => owner.show(id),
    ({ new_hosts: fresh }) => fresh === 20,
  );
  t.match(counted, { state: "running", open: 1, new_hosts: 20, waves: [{ hosts: 1, done: 0, failing: 0 }, {}] });
  await canary.report("canary", "2.0.0", CANARY);
  const passed = await until(
    () => owner.show(id),
    ({ open }) => open === 2,
  );
  t.match(passed, { open: 2, waves: [{ done: 1 }, {}] });
});

t.test(
  "with --bound-hosts, a stolen key of a whole fleet carries nothing on, and halts and hides nothing",
  async (t) => {
    const hub = await startHub(t);
    const { owner, thief, own } = await withOwnKeys(hub);
    const canary = await own("canary");
    // The thief was there first, and long before the start.
    await thief.report("canary", "1.0.0", CANARY);
    for (let host = 0; host < 20; host++) await thief.report(`fake-${host}`, "1.0.0", CANARY);
    const rules = { version: "2.0.0", waves: ["env=canary", "100%"], bound_hosts: true, ...QUICK };
    isErrorBody(t, await owner.start(rules), 409, "wave_empty");
    await canary.report("canary", "1.0.0", CANARY);
    const { id } = (await owner.start(rules)).body as { id: string };
    await owner.publish("2.0.0");
    const failed = { status: "failed", error_message: "no", running_version: "1.0.0" };
    for (let host = 0; host < 20; host++)
      await thief.report(`fake-${host}`, "2.0.0", { ...CANARY, ...(host % 2 === 0 && failed) });
    t.equal(await thief.told("fake-1", "1.0.0"), "1.0.0", "they are in the last wave");
    t.match((await canary.latest("canary")).body, { version: "2.0.0" });
    const held = await until(
      () => owner.show(id),
      ({ new_hosts: fresh, open }) => fresh === 20 && open === 1,
    );
    t.match(held, { state: "running", open: 1, failing: [], waves: [{ hosts: 1, done: 0 }, { hosts: 0 }] });
    await canary.report("canary", "2.0.0", { ...CANARY, ...failed });
    isErrorBody(t, await thief.report("canary", "2.0.0", CANARY), 403, "other_host");
    const halted = await until(
      () => owner.show(id),
      ({ state }) => state === "halted",
    );
    t.match(halted, { state: "halted", failing: [{ host_id: "canary" }] });
  },
);
