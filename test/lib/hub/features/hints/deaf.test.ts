// Holds: what a hub that cannot hear of changes does with its streams (lib/hub/features/hints/streams.ts)
import pg from "pg";
import t from "tap";
import { createProject, isErrorBody, startHub } from "../../../../support/hub/harness.ts";
import { CHANGES, follow, SHORT } from "../../../../support/hub/hints.ts";
import { startPostgresServer } from "../../../../support/hub/postgres-server.ts";
import { until } from "../../../../support/until.ts";

t.test(
  "a hub that hears of no changes for long holds no streams, and those of a short time miss nothing",
  async (t) => {
    const postgres = await startPostgresServer(t);
    if (postgres === undefined) return void t.plan(0, "PostgreSQL is not installed");
    const hub = await startHub(t, { databaseUrl: postgres.url, hintTimes: { ...SHORT, deafMs: 500 } });
    const project = await createProject(hub);
    const name = `project:${project.id}`;
    const stream = await follow(t, hub, project.key, [name]);
    await stream.next(0);
    // Its other connections stay: polls are answered.
    const client = new pg.Client({ connectionString: postgres.url.replace(/postgres$/, "template1") });
    await client.connect();
    t.teardown(() => client.end());
    const admits = (answer: boolean) => client.query(`ALTER DATABASE postgres ALLOW_CONNECTIONS ${answer}`);
    await admits(false);
    const listening = "FROM pg_stat_activity WHERE application_name = 'sealift-hub-changes'";
    await client.query(`SELECT pg_terminate_backend(pid) ${listening}`);
    await stream.ended;
    const path = `${CHANGES}?targets=${name}`;
    isErrorBody(t, await hub.call("GET", path, { key: project.key }), 503, "hub_unavailable");
    t.match(
      await hub.call("POST", "/app/deployments/v1/poll", {
        key: project.key,
        json: { targets: [{ target: name, etag: null }] },
      }),
      {
        status: 200,
      },
    );
    await admits(true);
    await until(async () => {
      const again = await follow(t, hub, project.key, [name]);
      return again.status === 200 && (await again.next(0)).targets[0] === name;
    });
  },
);
