import t from "tap";
import { isErrorBody, startHub } from "../../support/hub/harness.ts";
import { fleetOf, operatedFleet, QUICK, until } from "../../support/hub/project-fleet.ts";

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
