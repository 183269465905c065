// Holds: whose key a named host of a kit has (lib/fleet/kits/kit-hosts.ts)
import t from "tap";
import { hostKeyOf, newHostSeed } from "../../../../lib/artifact/sealed/host-key.ts";
import { hostLine } from "../../../../lib/contract/settings/host-line.ts";
import { kitHosts } from "../../../../lib/fleet/kits/kit-hosts.ts";

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
  ] as const)
    await t.rejects(kitHosts([given], nowhere), { code: "usage", message });
});
