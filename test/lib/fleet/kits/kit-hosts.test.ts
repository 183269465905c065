// Holds: whose key a named host of a kit has (lib/fleet/kits/kit-hosts.ts)
import t from "tap";
import { makeCard } from "../../../../lib/artifact/sealed/card.ts";
import { hostKeyOf, newHostSeed } from "../../../../lib/artifact/sealed/host-key.ts";
import { hostLine } from "../../../../lib/contract/settings/host-line.ts";
import { kitHosts } from "../../../../lib/fleet/kits/kit-hosts.ts";
import type { Enrolled } from "../../../../lib/fleet/roll.ts";
import { judgedFleet } from "../../../support/hub/judged-fleet.ts";
import { DOUBLE_KEY, DOUBLE_PROJECT, startSettingsDouble } from "../../../support/hub/settings-double.ts";

const key = hostKeyOf(newHostSeed());
const nowhere = {
  hub: { hubUrl: "http://127.0.0.1:9", apiKey: "", timeoutMs: 1 },
  projectId: undefined,
  roll: undefined,
};

t.test("a host is given by its name and the line of its key", async (t) => {
  const [found] = await kitHosts([`pier-7=${hostLine(key)}`], nowhere);
  t.match(found, { host_id: "pier-7", x25519: key.x25519, ed25519: key.ed25519 });
  for (const [given, message] of [
    [`pier\n7=${hostLine(key)}`, /"pier\\n7" is not a name of a host/],
    [`=${hostLine(key)}`, /"" is not a name of a host/],
    ["pier-7=shk1.00.00", /is not the line of a host/],
    [`pier-7=${hostLine({ ...key, x25519: "00".repeat(32) })}`, /is not the line of a host/],
  ] as const)
    await t.rejects(kitHosts([given], nowhere), { code: "usage", message });
});

t.test("a key of the roll counts, and no other one of its host", async (t) => {
  const { roll } = await judgedFleet(t, { "pier-7": {} });
  const [{ x25519 }] = roll.hosts() as [Enrolled];
  t.match(await kitHosts(["pier-7"], { ...nowhere, roll }), [{ host_id: "pier-7", x25519 }]);
  for (const given of [`pier-7=${hostLine(key)}`, `pier-8=${hostLine(key)}`])
    await t.rejects(kitHosts([given], { ...nowhere, roll }), { code: "host_key_changed" }, given);
  const [found] = await kitHosts([`pier-7=${hostLine(roll.hosts()[0]!)}`], { ...nowhere, roll });
  t.match(found, { x25519 });
});

t.test("a card of the hub counts that is of the very host", async (t) => {
  const double = await startSettingsDouble(t);
  const hub = { hubUrl: double.url, apiKey: DOUBLE_KEY, timeoutMs: 10_000 };
  const places = { hub, projectId: DOUBLE_PROJECT, roll: undefined };
  double.put("pier-7", makeCard({ project: DOUBLE_PROJECT, name: "pier-7" }, key, undefined));
  t.match(await kitHosts(["pier-7"], places), [{ x25519: key.x25519 }]);
  double.listsAll = true;
  await t.rejects(kitHosts(["pier-8"], places), { code: "usage", message: /has no key of the host pier-8/ });
});
