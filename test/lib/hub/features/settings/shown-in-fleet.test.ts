// Holds: what fleets show of the settings of hosts (lib/hub/features/settings/shown.ts)
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import t from "tap";
import { Fleet } from "../../../../../commands/fleets/fleet.ts";
import { makeCard } from "../../../../../lib/artifact/sealed/card.ts";
import { hostKeyOf, newHostSeed } from "../../../../../lib/artifact/sealed/host-key.ts";
import { type RunningHub, startHub } from "../../../../support/hub/harness.ts";
import { type SettingsHost, withSettings } from "../../../../support/hub/settings.ts";
import { RACED, startRacedHubs } from "../../../../support/hub/two-hubs.ts";
import { Visitor } from "../../../../support/hub/web.ts";
import { needs } from "../../../../support/programs/optional.ts";
import { runHere } from "../../../../support/programs/run-here.ts";

const DEPLOY = "/app/deploy/v1";
const FACTS = ["settings_number", "settings_state", "settings_of", "settings_code"];

type Shown = Record<string, unknown>;

/** A project with settings, whose hosts report, and what its fleet shows of them. */
async function withFleet(hub: RunningHub) {
  const made = await withSettings(hub);
  const { id } = made;
  const sessionOf = async (xdevkey: string): Promise<string> => {
    const json = { xdevkey, project_id: id };
    return (await hub.call("POST", `${DEPLOY}/auth`, { key: null, json })).body["access_token"] as string;
  };
  const view = async (query = "") =>
    hub.call("GET", `${DEPLOY}/projects/${id}/hosts${query}`, { bearer: await sessionOf(hub.adminKey) });
  return {
    ...made,
    view,
    report: async ({ name, api }: Pick<SettingsHost, "name" | "api">): Promise<void> => {
      const { status } = await hub.call("POST", `${DEPLOY}/deployments/report`, {
        bearer: await sessionOf(api),
        headers: { "x-sealift-host": name },
        json: {
          ...{ project_id: id, deployment_id: randomUUID(), status: "success", version: "1.0.0", plugins: [] },
          ...{ started_at: "", completed_at: "", host_id: name, running_version: "1.0.0" },
        },
      });
      if (status >= 300) throw new Error(`${name}: ${status}`);
    },
    /** Returns what the fleet shows, by host: number, state, number that is spoken of, code. */
    fleet: async (query = ""): Promise<Record<string, unknown[]>> => {
      const hosts = (await view(query)).body as unknown as Record<string, Shown>;
      return Object.fromEntries(Object.entries(hosts).map(([name, host]) => [name, FACTS.map((fact) => host[fact])]));
    },
  };
}

const NOTHING = [undefined, undefined, undefined, undefined];
const NONE = [undefined, "none", undefined, undefined];

for (const database of RACED)
  t.test(
    `a fleet shows number and state of each host's settings, and hosts that have none (${database})`,
    { skip: database === "PostgreSQL" && needs("initdb") },
    async (t) => {
      const [hub] = (await startRacedHubs(t, database))!;
      const { at, id, host, report, fleet, view, upload, sendCard, say } = await withFleet(hub);
      const [seven, eight, late] = [await host("pier-7"), await host("pier-8"), await host("quay-1")];
      for (const each of [seven, eight, late]) await sendCard(each);
      for (const each of [seven, eight]) await report(each);
      t.strictSame(await fleet(), { "pier-7": NOTHING, "pier-8": NOTHING }, "a project without settings shows none");

      const cursor = (await view()).headers.get("x-cursor") ?? "";
      await upload([seven.document(1, null), late.document(1, null)]);
      const waits = [1, "waits", undefined, undefined];
      t.strictSame(await fleet(), { "pier-7": waits, "pier-8": NONE });
      t.strictSame(await fleet(`?since=${cursor}`), { "pier-7": waits, "pier-8": NONE }, "readers of changes, too");
      await report(late);
      const newcomer = await host("quay-2");
      await report(newcomer);
      t.match(await fleet(), { "quay-1": waits, "quay-2": NONE }, "hosts that enter later");

      await say(seven.api, seven.outcome(1));
      t.match(await fleet(), { "pier-7": [1, "applied", 1, undefined] });
      await upload([seven.document(2, 1)]);
      t.match(await fleet(), { "pier-7": [2, "waits", 1, undefined] });
      await say(seven.api, seven.outcome(2, { state: "failed", code: "unhealthy" }));
      t.match(await fleet(), { "pier-7": [2, "failed", 2, "unhealthy"] });
      await say(seven.api, seven.outcome(2, { state: "not_back", code: "unhealthy" }));
      await report(seven);
      t.match(await fleet(), { "pier-7": [2, "not_back", 2, "unhealthy"] }, "a report leaves it as it is");
      await say(seven.api, seven.outcome(5));
      t.match(await fleet(), { "pier-7": [2, "applied", 5, undefined] }, "the host is ahead of a restored hub");

      const key = hostKeyOf(newHostSeed());
      const card = makeCard({ project: id, name: "pier-7" }, key, undefined);
      await sendCard({ ...seven, card, terms: undefined as unknown as string });
      t.match(await fleet(), { "pier-7": NONE }, "what is sealed to its former key is nothing that it has");

      t.equal((await hub.call("PATCH", `${at}/joined-hosts/quay-1`, { json: { host_id: "quay-3" } })).status, 204);
      t.strictSame((await fleet())["quay-3"], waits, "under its new name");
      t.equal((await hub.call("DELETE", `${at}/settings/quay-3`)).status, 204);
      t.match(await fleet(), { "quay-3": NONE });
      t.equal((await hub.call("DELETE", `${at}/joined-hosts/pier-7`)).status, 204);
      t.notOk("pier-7" in (await fleet()));

      await upload([eight.document(1, null)]);
      await hub.call("POST", "/devkeys/api-keys", { json: { name: "k", owner: "bob" } });
      const give = (keep_keys: boolean, owner: string) =>
        hub.call("POST", `/devkeys/projects/${id}/transfer`, { json: { owner, keep_keys } });
      t.equal((await give(true, "bob")).status, 200);
      t.match(await fleet(), { "pier-8": waits }, "given away with its keys");
      t.equal((await give(false, "admin")).status, 200);
      t.match(await fleet(), { "pier-8": NONE }, "given away without its keys");
    },
  );

t.test("command and pages show settings of hosts where a project has any", async (t) => {
  const hub = await startHub(t, { dataDir: join(t.testdir(), "hub") });
  const { id, host, report, upload, say } = await withFleet(hub);
  const [seven, eight] = [await host("pier-7"), await host("pier-8")];
  for (const each of [seven, eight]) await report(each);
  const fleet = async (...words: string[]): Promise<string> => {
    const given = [`project:${id}`, "--hub-url", hub.url, "--api-key", hub.adminKey, ...words];
    const { code, stdout, stderr } = await runHere([Fleet], ["fleet", ...given]);
    t.equal(code, 0, stderr);
    return stdout + stderr;
  };
  const visitor = await new Visitor(hub.url).signIn(hub.adminKey);
  const page = async (path = ""): Promise<string> => (await visitor.request(`/projects/${id}/fleet${path}`)).html;
  for (const text of [await fleet(), await page(), await page("/pier-7")]) t.notMatch(text, /settings/i);

  await upload([seven.document(1, null)]);
  await say(seven.api, seven.outcome(1, { state: "failed", code: "unhealthy" }));
  const lines = await fleet();
  t.match(lines, /^pier-7 .*settings 1 failed \(unhealthy\)$/m);
  t.match(lines, /^pier-8 .*no settings$/m);
  t.match(lines, /^settings: failed on 1, none on 1$/m);
  const { settings } = JSON.parse((await fleet("--json")).trim().split("\n").at(-1)!).fleets[0];
  t.strictSame(settings, { none: 1, waits: 0, applied: 0, failed: 1, not_back: 0 });
  t.match(await fleet("--settings", "none"), /^pier-8 /);
  t.notMatch(await fleet("--settings", "none"), /pier-7/);
  t.match(await page("?settings=none"), />pier-8</);
  t.notMatch(await page("?settings=none"), />pier-7</);
  t.match(await page(), /<select[^>]* name="settings"/);
  t.match(await page(), /<th[^>]*>Settings<\/th>/);
  t.match(await page(), />1 failed \(unhealthy\)</);
  t.match(await page("/pier-7"), /Settings.*1 failed \(unhealthy\)/s);
  t.match(await page("/pier-8"), /Settings.*none/s);
});

for (const database of RACED)
  t.test(
    `the operator hears which hosts of his settings are out of service (${database})`,
    { skip: database === "PostgreSQL" && needs("initdb") },
    async (t) => {
      const [hub] = (await startRacedHubs(t, database))!;
      const { id, host, report, shown } = await withFleet(hub);
      const [seven] = [await host("pier-7"), await host("pier-8")];
      await report(seven);
      const serve = (out_of_service: string | null) =>
        hub.call("PUT", `/devkeys/projects/${id}/hosts/pier-7/service`, { json: { out_of_service } });
      const said = async () => (await shown()).map(({ host_id: name, out_of_service: reason }) => [name, reason]);
      t.equal((await serve("a new disk")).status, 204);
      t.strictSame(await said(), [
        ["pier-7", "a new disk"],
        ["pier-8", undefined],
      ]);
      t.equal((await serve(null)).status, 204);
      t.strictSame(await said(), [
        ["pier-7", undefined],
        ["pier-8", undefined],
      ]);
    },
  );
