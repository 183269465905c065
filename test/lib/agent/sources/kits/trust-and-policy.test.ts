// Holds: a trust root and a policy are followed from a kit alone (lib/agent/sources/kits/source.ts)
import { join } from "node:path";
import t, { type Test } from "tap";
import type { AgentEvent } from "../../../../../lib/agent/base/events.ts";
import { deploy } from "../../../../../lib/agent/deployment/deploy.ts";
import { DEPLOY_DEFAULTS, type DeployOptions } from "../../../../../lib/agent/deployment/run.ts";
import { projectKitSource } from "../../../../../lib/agent/sources/kits/source.ts";
import { makeKit } from "../../../../../lib/fleet/kits/make-kit.ts";
import { heldKey } from "../../../../support/forged/roots.ts";
import { rootedProject, rootFile } from "../../../../support/host/root-host.ts";
import { offlineHost } from "../../../../support/hub/kits.ts";
import { temporaryFolder } from "../../../../support/temporary-folder.ts";

/** A project whose root names one signer and then another one, and a host without network that has the first root. */
async function rooted(t: Test) {
  const [first, second] = [heldKey(), heldKey()];
  const world = await rootedProject(t, first);
  const { hub, project, chain } = world;
  const folder = temporaryFolder(t);
  const one = chain.version(1, [first]);
  await world.publishRoot(one);
  const file = await rootFile(folder, 1, one);
  const ship = offlineHost("ship-1");
  const events: AgentEvent[] = [];
  return {
    ...{ world, second, chain, events },
    make: (version: string) =>
      makeKit({
        hub: { hubUrl: hub.url, apiKey: project.key, timeoutMs: 10_000 },
        target: { kind: "project", slug: project.id },
        ...{ version, hosts: [ship.named], lastsS: 3600, folder: join(folder, `kit-${version}`) },
        ...{ deploymentCredential: project.credential, signal: new AbortController().signal },
      }),
    take: (version: string, more: Partial<DeployOptions> = {}) => {
      const trust = { follow: { file, pinned: [], sources: ["http://127.0.0.1:1/roots"] } };
      const choice = { folder: join(folder, `kit-${version}`), key: ship.key, allowsEnded: false };
      const source = projectKitSource({ projectId: project.id, version: "latest", trust }, choice);
      const options = { ...DEPLOY_DEFAULTS, projectRoot: join(folder, "root"), hostId: "ship-1", ...more };
      return deploy(source, { ...options, supervisor: { name: "none" } as never }, (event) => void events.push(event));
    },
  };
}

t.test("a host follows the versions of a root that came with a kit, and asks nobody else", async (t) => {
  const { world, second, chain, events, make, take } = await rooted(t);
  await make("1.0.0");
  t.match(await take("1.0.0"), { outcome: "deployed" });
  await world.publishRoot(chain.version(2, [second]));
  await world.release("2.0.0", second);
  const kit = await make("2.0.0");
  t.equal(kit.roots.length, 2);
  t.match(await take("2.0.0"), { outcome: "deployed", version: "2.0.0" });
  t.ok(events.some((event) => event.event === "trust.followed" && event.version === 2));
  t.notOk(
    events.some((event) => event.event === "trust.refused"),
    "no other place is asked",
  );
  t.match(await take("1.0.0", { allowDowngrade: true }), {
    outcome: "failed",
    error: { code: /kit_older|signer_untrusted/ },
  });
});

t.test("a policy decides by what came with the kit", async (t) => {
  const { make, take } = await rooted(t);
  const kit = await make("1.0.0");
  t.equal(kit.facts?.version, "1.0.0");
  const rests = { file: "policy.yaml", hub_keys: [kit.hub_signature.key] };
  const policy = { ...rests, approved: true, trustedRoot: undefined } as unknown as DeployOptions["policy"];
  t.match(await take("1.0.0", { policy }), {
    outcome: "failed",
    error: { code: "policy_refused", message: /nobody has approved it/ },
  });
  const young = { ...rests, min_age: 86_400_000 } as unknown as DeployOptions["policy"];
  t.match(await take("1.0.0", { policy: young }), { error: { code: "policy_refused", message: /old enough from/ } });
  const old = { ...rests, min_age: 1 } as unknown as DeployOptions["policy"];
  t.match(await take("1.0.0", { policy: old }), { outcome: "deployed" });
});
