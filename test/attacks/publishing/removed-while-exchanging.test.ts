// Only in test:all: many requests for one rule, 3 s of a processor.
import t from "tap";
import { createProject } from "../../support/hub/harness.ts";
import { startPostgresServer } from "../../support/hub/postgres-server.ts";
import { startWorkflow } from "../../support/hub/publishers.ts";

t.test("no run keeps a key of a publisher that is removed while the run exchanges its token", async (t) => {
  const server = await startPostgresServer(t);
  if (server === undefined) return t.plan(0, "PostgreSQL is not installed");
  const { hub, trust, run, exchange } = await startWorkflow(t, { databaseUrl: server.url, rateLimits: false });
  const { id } = await createProject(hub);
  for (let round = 0; round < 4; round++) {
    const { body } = await trust({ target: `project:${id}` });
    const tokens = await Promise.all(Array.from({ length: 12 }, () => run()));
    const exchanged = tokens.map((token) => exchange(`project:${id}`, token));
    await Promise.race(exchanged);
    t.equal((await hub.call("DELETE", `/devkeys/publishers/${body.id}`)).status, 204);
    for (const { status, body: got } of await Promise.all(exchanged))
      if (status === 201) t.equal((await hub.call("GET", "/devkeys/key", { key: got.key as string })).status, 401);
  }
});
