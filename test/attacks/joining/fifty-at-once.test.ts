// Only in test:all: many requests for one rule, 5 s of a processor.
import { copyFile, mkdir } from "node:fs/promises";
import { join as pathOf } from "node:path";
import t, { type Test } from "tap";
import { type RunningHub, startHub } from "../../support/hub/harness.ts";
import { invited, ownSecrets } from "../../support/hub/joining.ts";
import { startPostgres } from "../../support/hub/postgres-server.ts";
import { until } from "../../support/until.ts";

/** More hosts than a token lets in ask two hubs at the same moment, in the hope that both count too little. */

async function race(t: Test, hubs: RunningHub[]): Promise<void> {
  const { invite, join: joinOnce, list, enter } = await invited(hubs[0]!);
  /** Joins as a host does: a hub that is too busy to answer is asked again. */
  const join: typeof joinOnce = async (...given) => {
    let answer = await joinOnce(...given);
    await until(async () => answer.status !== 503 || (answer = await joinOnce(...given)).status !== 503);
    return answer;
  };
  const { token } = await invite({ uses: 50 });
  const secrets = Array.from({ length: 51 }, ownSecrets);
  const answers = await Promise.all(secrets.map((own, at) => join(token, `host-${at}`, own, hubs[at % hubs.length])));
  const refused = answers.filter(({ status }) => status !== 200);
  t.match(refused, [{ status: 403, body: { code: "invite_ended", error: /^The invite is used up: 50 hosts/ } }]);
  t.equal(refused.length, 1);
  const keys: string[] = [];
  for (let cursor: string | null = ""; cursor !== null;) {
    const page = (await hubs[0]!.call("GET", `/devkeys/api-keys?limit=200&cursor=${cursor}`)).body as {
      items: { host: string | null }[];
      next: string | null;
    };
    keys.push(...page.items.flatMap(({ host }) => host ?? []));
    cursor = page.next;
  }
  t.equal(keys.length, 50, "exactly as many keys");
  t.equal(new Set(keys).size, 50, "each for a host of its own");
  t.equal((await list()).length, 50);
  const entered = await Promise.all(secrets.map(({ key }) => enter(key)));
  t.equal(entered.filter((status) => status === 200).length, 50);

  // The same host, at both hubs at once: an answer was lost, and it asks again.
  const again = ownSecrets();
  const more = await invite({ uses: 5 });
  const twice = await Promise.all(
    hubs.flatMap((hub) => [hub, hub]).map((hub) => join(more.token, "twice", again, hub)),
  );
  t.ok(twice.every(({ status }) => status === 200));
  const { items } = (await hubs[0]!.call("GET", `/devkeys/projects/${twice[0]!.body.project_id}/host-invites`)).body;
  t.match(items, [{ id: more.id, used: 1 }, { used: 50 }]);

  // Two hosts that both want one name.
  const rivals = await Promise.all(hubs.flatMap((hub) => [hub, hub]).map((hub) => join(more.token, "wanted", {}, hub)));
  t.strictSame(rivals.map(({ status }) => status).sort(), [200, ...rivals.slice(1).map(() => 409)]);
}

t.test("exactly fifty of 51 hosts join at once, on SQLite", async (t) => {
  await race(t, [await startHub(t, { rateLimits: false })]);
});

t.test("exactly fifty of 51 hosts join at once through two hubs, on PostgreSQL", async (t) => {
  const databaseUrl = await startPostgres(t);
  if (databaseUrl === undefined) return void t.plan(0, "PostgreSQL is not installed");
  const folder = t.testdir();
  const keks = { file: pathOf(folder, "kek.json") };
  const shared = { databaseUrl, keks, blobUrl: pathOf(folder, "blobs"), rateLimits: false } as const;
  const [a, b] = [pathOf(folder, "a"), pathOf(folder, "b")];
  const first = await startHub(t, { ...shared, dataDir: a });
  await mkdir(b, { mode: 0o700 });
  await copyFile(pathOf(a, "admin.key"), pathOf(b, "admin.key"));
  await race(t, [first, await startHub(t, { ...shared, dataDir: b })]);
});
