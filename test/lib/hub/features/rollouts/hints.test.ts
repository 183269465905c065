import { join } from "node:path";
import t, { type Test } from "tap";
import { createProject, newSigner, publication, type RunningHub, startHub } from "../../../../support/hub/harness.ts";
import { followBoth, startSecond } from "../../../../support/hub/hints.ts";
import { startPostgresServer } from "../../../../support/hub/postgres-server.ts";

/** A rollout is hinted when its version may reach a host, and when it ends, by each hub to its own streams. */
async function hintsOfRollout(t: Test, first: RunningHub, second: Pick<RunningHub, "url">): Promise<void> {
  const project = await createProject(first, ["publish", "projects", "deploy", "report", "read"]);
  const { key } = project;
  const signer = newSigner();
  const publish = async (version: string) =>
    t.equal((await project.publish(publication(version, { signer }))).status, 201);
  await publish("1.0.0");
  const name = `project:${project.id}`;
  const { hinted, leave } = await followBoth(t, [first, second], { key, targets: [name], name });
  // No wave opens within the test, which would be one more hint.
  const yesterday = new Date(Date.now() - 86_400_000).toLocaleDateString("en-US", {
    weekday: "short",
    timeZone: "UTC",
  });
  const at = `/devkeys/projects/${project.id}/rollouts`;
  const json = { version: "3.0.0", waves: ["100%"], window: `${yesterday} 00:00-00:01 UTC` };
  const started = await first.call("POST", at, { key, json });
  t.equal(started.status, 201);
  await publish("3.0.0");
  await hinted("a version that is rolled out");
  const { id } = started.body as { id: string };
  t.equal((await first.call("POST", `${at}/${id}/abort`, { key, json: {} })).status, 200);
  await hinted("and that ends");
  leave();
}

t.test("streams tell agents to look when a rollout begins and ends", async (t) => {
  const hub = await startHub(t);
  await hintsOfRollout(t, hub, await startSecond(t, hub, `sqlite:${join(hub.dataDir, "hub.sqlite")}`));
});

t.test("two hubs of one PostgreSQL hint of each other's rollouts", async (t) => {
  const postgres = await startPostgresServer(t);
  if (postgres === undefined) return void t.plan(0, "PostgreSQL is not installed");
  const { url: databaseUrl } = postgres;
  const hub = await startHub(t, { databaseUrl });
  await hintsOfRollout(t, hub, await startSecond(t, hub, databaseUrl));
});
