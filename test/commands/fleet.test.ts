import t from "tap";
import { Fleet } from "../../commands/fleets/fleet.ts";
import { FleetForget } from "../../commands/fleets/fleet-forget.ts";
import { FleetWait } from "../../commands/fleets/fleet-wait.ts";
import { startHub } from "../support/hub/harness.ts";
import { startStaging } from "../support/hub/staging.ts";
import type { Ended } from "../support/programs/command-line.ts";
import { runHere } from "../support/programs/run-here.ts";

const DAY = 24 * 60 * 60 * 1000;
/** Long ago: the hosts of then are silent by this machine's clock. */
const THEN = Date.now() - 100 * DAY;

const run = (words: readonly string[], hub: readonly string[]): Promise<Ended> =>
  runHere([Fleet, FleetForget, FleetWait], ["fleet", ...words, ...hub]);

t.test("a fleet shows silent hosts apart, waits for the living, and forgets", async (t) => {
  let now = THEN;
  const hub = await startHub(t, { clock: () => now });
  const options = ["--hub-url", hub.url, "--api-key", hub.adminKey];
  const report = (host: string, version = "1.0.0", more: Record<string, unknown> = {}) =>
    hub.call("POST", "/app/deployments/deployments/report", {
      json: {
        ...{ kind: "plugin", slug: "tide", version, status: "success", host_id: host },
        started_at: new Date(now).toISOString(),
        completed_at: new Date(now).toISOString(),
        ...more,
      },
    });
  const fleet = (...words: string[]) => run(words, options);
  const json = async (...words: string[]) =>
    (await fleet(...words, "--json")).stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  await hub.call("POST", "/devkeys/projects", { json: { name: "T", kind: "plugin", slug: "tide" } });

  t.match(await fleet(), { code: 0, stdout: "", stderr: /^No fleet yet/ });
  for (const host of ["gone-1", "gone-2", "polls"]) await report(host);
  now = Date.now();
  const signer = "f".repeat(64);
  await report("a", "2.0.0", { running_version: "2.0.0", running_signer: signer });
  await report("b", "2.0.0", { running_version: "2.0.0", running_signer: null });
  await hub.call("GET", "/app/marketplace/plugins/tide", { headers: { "x-sealift-host": "polls" } });
  // Sightings are written in batches: a hub that ends writes the last one.
  await hub.hub.close();
  const again = await startHub(t, { dataDir: hub.dataDir });
  options[1] = again.url;

  const lines = (await fleet("plugin:tide")).stdout.split("\n");
  t.match(lines, [
    /^a +2\.0\.0 +f{16} +success/,
    /^b +2\.0\.0 +– +success/,
    /^polls .* success/,
    /^gone-1 +1\.0\.0 +stale .*last heard of/,
    /^gone-2 .* stale /,
  ]);
  t.match(await fleet("plugin:tide", "--state", "silent"), { stdout: /^gone-1 .*\ngone-2 .*\n$/ });
  t.match(await fleet("plugin:tide", "--label", "env=prod"), { stdout: "", stderr: "0 hosts, 0 failing" });
  t.match((await json("plugin:tide", "--state", "ok"))[2], { event: "host", host_id: "polls", state: "ok" });
  t.match((await json("plugin:tide"))[0], { host_id: "a", running_signer: signer });
  t.match(await fleet("plugin:tide", "--state", "ok", "--since", "1"), { code: 2, stderr: /--since/ });
  t.match((await fleet("plugin:tide")).stderr, "3 hosts, 0 failing, 2 stale, 2.0.0 on 2, 1.0.0 on 1");
  t.match((await fleet("plugin:tide", "--stale", "1000d")).stderr, "5 hosts, 0 failing, 1.0.0 on 3, 2.0.0 on 2");
  const every = await json();
  t.strictSame(
    every.slice(0, -1).map(({ target, host_id, stale }) => [target, host_id, stale]),
    ["a", "b", "gone-1", "gone-2", "polls"].map((host) => ["plugin:tide", host, host.startsWith("gone")]),
    "without a target every fleet that the key may see",
  );
  t.match(every.at(-1), { fleets: [{ target: "plugin:tide", hosts: 3, stale: 2, versions: { "2.0.0": 2 } }] });

  const wait = ["wait", "plugin:tide", "--version", "2.0.0", "--interval", "200ms"];
  t.match(await fleet(...wait, "--timeout", "1ms"), { code: 75, stderr: /2 of 3 hosts run 2\.0\.0, 2 stale left out/ });
  const waited = await fleet(...wait, "--min", "60%");
  t.match(waited, { code: 0, stderr: /left out as stale: gone-1, gone-2/ });

  t.match(await fleet("forget", "plugin:tide"), { code: 2 });
  t.match(await fleet("forget", "plugin:tide", "nobody"), { code: 1, stderr: /not_found/ });
  t.match(await fleet("forget", "plugin:tide", "--stale", "30d", "--dry-run"), {
    code: 0,
    stdout: "would forget gone-1\nwould forget gone-2\n",
  });
  t.match(await fleet("forget", "plugin:tide", "polls", "--dry-run"), { code: 0, stdout: "would forget polls\n" });
  t.equal((await json("plugin:tide")).length, 6, "nothing was forgotten yet");
  t.match(await fleet("forget", "plugin:tide", "polls"), { code: 0, stdout: "forgot polls\n" });
  t.match((await json("forget", "plugin:tide", "--stale", "30d")).at(-1), { hosts: 2, dry_run: false });
  t.match(await fleet(...wait, "--timeout", "5s"), { code: 0 });
  t.match((await fleet("plugin:tide")).stderr, "2 hosts, 0 failing, 2.0.0 on 2");
});

t.test("a fleet says who published and who approved what runs, to a key that may know it", async (t) => {
  const { hub, project, stager, approver, host, upload, approve, session } = await startStaging(t);
  await upload(stager.key, "1.0.0", "true");
  t.equal((await approve(approver.key, "1.0.0")).status, 200);
  await upload(approver.key, "1.1.0");
  const bearer = await session(host.key);
  const at = new Date().toISOString();
  const report = (host_id: string, version: string, status = "success") =>
    hub.call("POST", "/app/deploy/v1/deployments/report", {
      bearer,
      json: {
        ...{ project_id: project, deployment_id: "", status, version, host_id, plugins: [] },
        ...{ started_at: at, completed_at: at, ...(status === "failed" && { running_version: "1.0.0" }) },
      },
    });
  await report("a", "1.0.0");
  await report("b", "1.1.0");
  await report("c", "1.1.0", "failed");
  const fleet = (key: string, ...words: string[]) =>
    run([`project:${project}`, ...words], ["--hub-url", hub.url, "--api-key", key]);
  const { stdout, stderr } = await fleet(approver.key);
  t.match(stderr, /1\.0\.0 was published by stage, approved by publish projects deploy report read\n/);
  t.match(stderr, "1.1.0 was published by publish projects deploy report read\n");
  t.notMatch(stdout, "published");
  const [a, b, c] = (await fleet(approver.key, "--json")).stdout
    .split("\n")
    .map((line) => JSON.parse(line || "{}") as object);
  t.match(a, { host_id: "a", published_by: "stage", approved_by: /^publish/ });
  t.match(b, { host_id: "b", published_by: /^publish/, approved_by: null });
  t.match(c, { host_id: "c", version: "1.1.0", published_by: "stage" }, "of what runs, not of what was tried");
  const csv = await fleet(approver.key, "--csv", "--fields", "host_id,published_by");
  t.equal(csv.stdout, "host_id,published_by\na,stage\nb,publish projects deploy report read\nc,stage\n");
  const json = { name: "else", owner: "else", scopes: ["read", "report"] };
  const { key } = (await hub.call("POST", "/devkeys/api-keys", { json })).body as { key: string };
  const what = { kind: "plugin", slug: "tide", version: "1.0.0", status: "success", host_id: "own" };
  await hub.call("POST", "/app/deployments/deployments/report", {
    key,
    json: { ...what, started_at: at, completed_at: at },
  });
  const others = await run(["plugin:tide"], ["--hub-url", hub.url, "--api-key", key]);
  t.match(others, { code: 0, stdout: /^own /, stderr: "1 host, 0 failing, 1.0.0 on 1\n" }, "of another owner's plugin");
  t.notMatch(others.stderr, "published");
});

t.test("the sum of a fleet with thousands of versions is one short line", async (t) => {
  const hub = await startHub(t);
  const record = (version: number) => ({ version: `1.0.${version}`, status: "success", completed_at: null });
  const { createServer } = await import("node:http");
  const server = createServer((_request, response) => {
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify(Object.fromEntries(Array.from({ length: 2000 }, (_, at) => [`h${at}`, record(at)]))));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.teardown(() => server.close());
  const { port } = server.address() as { port: number };
  const { stderr } = await run(["plugin:tide"], ["--hub-url", `http://127.0.0.1:${port}`, "--api-key", hub.adminKey]);
  t.match(stderr, /^2000 hosts, 0 failing, .* 1995 other versions on 1995\n$/);
  t.ok(stderr.length < 200, stderr);
});
