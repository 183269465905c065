// Holds: which hosts a poll brings into a fleet (lib/hub/records/seen-hosts.ts)
import t, { type Test } from "tap";
import { hostCommands } from "../../../../../commands/joining/hosts.ts";
import { rootMarkText } from "../../../../../lib/contract/trust/marks.ts";
import { isErrorBody, publication, type RunningHub, startHub } from "../../../../support/hub/harness.ts";
import { follow } from "../../../../support/hub/hints.ts";
import { invited, ownSecrets } from "../../../../support/hub/joining.ts";
import { startPostgres } from "../../../../support/hub/postgres-server.ts";
import { Visitor } from "../../../../support/hub/web.ts";
import { runHere } from "../../../../support/programs/run-here.ts";

const DEPLOY = "/app/deploy/v1";

/** A project with a published version, and what its hosts and its fleet say. */
async function place(t: Test, more: { databaseUrl?: string } = {}) {
  let hub: RunningHub = await startHub(t, more);
  const { dataDir } = hub;
  const calls = { call: (...given: Parameters<RunningHub["call"]>) => hub.call(...given) };
  const of = await invited(calls);
  const { project, invite, join } = of;
  await project.publish(publication("1.0.0"));
  const sessionOf = async (xdevkey: string): Promise<string> => {
    const json = { xdevkey, project_id: project.id };
    return (await hub.call("POST", `${DEPLOY}/auth`, { key: null, json })).body.access_token as string;
  };
  return {
    ...{ ...of, ...calls, sessionOf },
    hub: () => hub,
    enters: async (host: string) => {
      const own = ownSecrets();
      await join((await invite()).token, host, own);
      return sessionOf(own.key);
    },
    poll: (bearer: string, host: string, running: string | undefined, headers: Record<string, string> = {}) =>
      hub.call("GET", `${DEPLOY}/projects/${project.id}/versions/latest`, {
        bearer,
        headers: {
          "x-sealift-host": host,
          ...(running !== undefined && { "x-sealift-running": running }),
          ...headers,
        },
      }),
    remove: (host: string) => hub.call("DELETE", `${of.at}/joined-hosts/${host}`),
    /** Reads the fleet of a hub that has written what it noted, and was started anew. */
    fleet: async () => {
      await hub.hub.close();
      hub = await startHub(t, { dataDir, ...more });
      return hub.call("GET", `${DEPLOY}/projects/${project.id}/hosts`);
    },
  };
}

async function comesBack(t: Test, more: { databaseUrl?: string } = {}): Promise<void> {
  const p = await place(t, more);
  const first = await p.enters("pier-7");
  await p.poll(first, "pier-7", "none");
  t.match((await p.fleet()).body, { "pier-7": { running_version: null, status: "success" } }, "while nothing runs");
  t.equal((await p.remove("pier-7")).status, 204);
  t.same((await p.fleet()).body, {});

  const bearer = await p.enters("pier-7");
  t.same((await p.fleet()).body, {}, "to join is not to poll");
  await p.poll(bearer, "pier-7", "1.0.0", { "x-sealift-labels": "env=prod" });
  const found = await p.fleet();
  t.match(found.body, { "pier-7": { running_version: "1.0.0", status: "success", labels: { env: "prod" } } });
  for (let polls = 0; polls < 5; polls++) await p.poll(bearer, "pier-7", "1.0.0");
  t.equal((await p.fleet()).headers.get("x-cursor"), found.headers.get("x-cursor"), "further polls change nothing");

  const { url, adminKey } = p.hub();
  const at = ["--hub-url", url, "--api-key", adminKey];
  const listed = await runHere(hostCommands, ["host", "list", `project:${p.project.id}`, ...at]);
  t.match(listed.stdout, /^pier-7 .*1\.0\.0/m);
  t.notMatch(listed.stdout, "never");
  const admin = await new Visitor(url).signIn(adminKey);
  t.match((await admin.request(`/projects/${p.project.id}/fleet`)).html, "pier-7");
}

t.test("a removed host that joins again is in the fleet by its polls, on SQLite", comesBack);

t.test("a removed host that joins again is in the fleet by its polls, on PostgreSQL", async (t) => {
  const databaseUrl = await startPostgres(t);
  if (databaseUrl === undefined) return void t.plan(0, "PostgreSQL is not installed");
  await comesBack(t, { databaseUrl });
});

t.test("a host that is renamed right after a poll leaves no ghost of its old name", async (t) => {
  const p = await place(t);
  const session = await p.enters("pier-7");
  t.ok((await p.poll(session, "pier-7", "none")).status < 300);
  t.equal((await p.call("PATCH", `${p.at}/joined-hosts/pier-7`, { json: { host_id: "pier-8" } })).status, 204);
  t.same((await p.fleet()).body, {});
});

t.test("only a live key that speaks for the host alone brings it in", async (t) => {
  const p = await place(t);
  await p.poll(await p.sessionOf(p.project.key), "made-up", "1.0.0");
  const bearer = await p.enters("pier-7");
  isErrorBody(t, await p.poll(bearer, "made-up", "1.0.0"), 403, "other_host");
  await p.poll(bearer, "pier-7", undefined);
  t.same((await p.fleet()).body, {}, "nor a poll that does not say what runs");

  await p.poll(await p.enters("pier-8"), "pier-8", "1.0.0");
  await p.remove("pier-8");
  t.same((await p.fleet()).body, {}, "nor one of a host that was removed before it was written");
});

async function streams(t: Test, more: { databaseUrl?: string } = {}): Promise<void> {
  const p = await place(t, more);
  const own = ownSecrets();
  await p.join((await p.invite()).token, "pier-7", own);
  const bearer = await p.sessionOf(own.key);
  const root = { version: 3, digest: "a".repeat(64) };
  const headers = { "x-sealift-root": rootMarkText(root), "user-agent": "sealift/0.3.0" };
  const listen = async (): Promise<void> => {
    const more = { "x-sealift-host": "pier-7", "user-agent": "sealift/0.3.0" };
    await (await follow(t, p.hub(), own.key, [`project:${p.project.id}`], undefined, more)).next(0);
  };
  await p.poll(bearer, "pier-7", "1.0.0", headers);
  await listen();
  const shown = { running_version: "1.0.0", root_version: 3, root_digest: root.digest };
  t.match((await p.fleet()).body, { "pier-7": shown }, "a poll and a stream within a writing");
  await listen();
  t.match((await p.fleet()).body, { "pier-7": shown }, "a stream alone");
  await p.poll(await p.sessionOf(own.key), "pier-7", "1.0.0");
  t.match((await p.fleet()).body, { "pier-7": { root_version: undefined } }, "a poll that follows none says so");
}

t.test("a stream of hints takes nothing back that a poll says, on SQLite", streams);

t.test("a stream of hints takes nothing back that a poll says, on PostgreSQL", async (t) => {
  const databaseUrl = await startPostgres(t);
  if (databaseUrl === undefined) return void t.plan(0, "PostgreSQL is not installed");
  await streams(t, { databaseUrl });
});
