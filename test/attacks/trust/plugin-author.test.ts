// Holds: which signer of a trust root counts (lib/agent/sources/marketplace.ts, lib/agent/sources/trust.ts)
/** A thief of an author's key, on a hub of plugins: hosts that follow the author's root install nothing of it. */
import { join } from "node:path";
import t, { type Test } from "tap";
import { heldKey, rootChain } from "../../support/forged/roots.ts";
import { newAuthor } from "../../support/host/author.ts";
import { pluginHost } from "../../support/host/plugin-host.ts";
import { rootFile } from "../../support/host/root-host.ts";
import { authorHub } from "../../support/hub/author-hub.ts";
import { trustAt } from "../../support/hub/trust.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

/** A key of the forger of roots as an author, who signs archives. */
function authorOf(held: ReturnType<typeof heldKey>) {
  return newAuthor(held.privateKey.export({ format: "der", type: "pkcs8" }).subarray(-32));
}

async function followedPlugin(t: Test) {
  const [stolen, next] = [heldKey(), heldKey()];
  const chain = rootChain();
  const { hub, publish } = await authorHub(t);
  const { items } = (await hub.call("GET", "/devkeys/projects")).body as { items: { id: string }[] };
  const publishRoot = (text: string) => trustAt(hub).publish(text, [items[0]!.id]);
  t.equal((await publishRoot(chain.version(1, [stolen]))).status, 201);
  const file = await rootFile(join(temporaryFolder(t), "operator"), 1, chain.version(1, [stolen]));
  const follow = { file, pinned: [], sources: [] };
  const host = await pluginHost(t, { hubUrl: hub.url, apiKey: hub.adminKey, trust: { follow } });
  t.equal((await publish("1.0.0", authorOf(stolen))).status, 201);
  t.match(await host.deploy("1.0.0"), { outcome: "deployed" });
  return { stolen, next, chain, publish, publishRoot, follow, host };
}

t.test("archives by an author whom the root no longer names are refused", async (t) => {
  const { stolen, next, chain, publish, follow, host } = await followedPlugin(t);
  follow.file = await rootFile(join(temporaryFolder(t), "operator"), 2, chain.version(2, [next]));
  t.equal((await publish("1.1.0", authorOf(stolen))).status, 201, "the hub has version 1 still");
  t.match(await host.deploy("1.1.0"), { outcome: "failed", error: { code: "signer_untrusted", exitCode: 4 } });
  t.equal((await publish("1.2.0")).status >= 200, true);
});

t.test("the new author's are installed once the hub has the next version", async (t) => {
  const { next, chain, publish, publishRoot, host } = await followedPlugin(t);
  t.equal((await publish("1.1.0", authorOf(next))).status >= 400, true, "the register follows the root");
  t.equal((await publishRoot(chain.version(2, [next]))).status, 201);
  t.equal((await publish("1.1.0", authorOf(next))).status, 201);
  t.match(await host.deploy("1.1.0"), { outcome: "deployed" });
});
