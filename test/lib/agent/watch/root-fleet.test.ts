// Holds: how hosts follow a trust root (lib/agent/watch/followed-trust.ts, lib/agent/sources/trust-root.ts)
// Only in test:all: 60 hosts deploy two versions each, 500 at night.
import t from "tap";
import { rounds } from "../../../support/effort.ts";
import { heldKey } from "../../../support/forged/roots.ts";
import { followingHost, rootedProject, type RootHost } from "../../../support/host/root-host.ts";

const HOSTS = rounds(60, 500);
/** Hosts that check at a time. */
const AT_ONCE = 10;

/** Runs a check of each host. @returns outcomes with their counts */
async function checkAll(hosts: readonly RootHost[]): Promise<Record<string, number>> {
  const outcomes: Record<string, number> = {};
  const queue = hosts.values();
  const work = async (): Promise<void> => {
    for (const host of queue) {
      const { outcome, version, error } = await host.check();
      const what = `${outcome} ${version} ${error?.code ?? ""}`.trim();
      outcomes[what] = (outcomes[what] ?? 0) + 1;
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return outcomes;
}

t.test(`${HOSTS} hosts change their signer: no visit, and no good version refused`, async (t) => {
  const [first, second] = [heldKey(), heldKey()];
  const { chain, host, publishRoot, release, wire } = await rootedProject(t, first);
  const hosts: RootHost[] = [];
  for (let index = 0; index < HOSTS; index++) {
    const one = await host({ pinned: [Buffer.from(first.hex, "hex")] });
    one.target.options = { ...one.target.options, durability: "none" };
    hosts.push(one);
  }
  t.strictSame(await checkAll(hosts), { "deployed 1.0.0": HOSTS }, "by the pin of today");
  wire.paths.length = 0;
  t.strictSame(await checkAll(hosts), { "current 1.0.0": HOSTS });
  const quiet = wire.paths.length;
  t.equal(quiet, HOSTS, "one request of each without a root");

  await publishRoot(chain.version(1, [first], { by: [...chain.holders.slice(1), first] }));
  wire.paths.length = 0;
  t.strictSame(await checkAll(hosts), { "current 1.0.0": HOSTS });
  t.equal(wire.paths.length, 2 * HOSTS, "a new root costs one request more");
  wire.paths.length = 0;
  t.strictSame(await checkAll(hosts), { "current 1.0.0": HOSTS });
  t.equal(wire.paths.length, quiet, "and none afterwards");

  await publishRoot(chain.version(2, [second]));
  // Some hear of the new signer before there is a version by it, the others at once with it.
  t.strictSame(await checkAll(hosts.slice(0, HOSTS / 2)), { "current 1.0.0": HOSTS / 2 });
  await release("1.1.0", second);
  t.strictSame(await checkAll(hosts), { "deployed 1.1.0": HOSTS });
  wire.paths.length = 0;
  t.strictSame(await checkAll(hosts), { "current 1.1.0": HOSTS });
  t.equal(wire.paths.length, quiet);
  for (const one of hosts) {
    const followed = one.events.flatMap((event) => (event.event === "trust.followed" ? [event.version] : []));
    const found = `${followed.join()} ${one.refusals().join()}`.trim();
    if (found !== "1,2") t.fail(found);
  }
});

t.test("a host that knows version 1 follows to 30 within one check", async (t) => {
  const signers = Array.from({ length: 30 }, heldKey);
  const project = await rootedProject(t, signers[0]!);
  const { chain, publishRoot, release, wire } = project;
  const one = await followingHost(project, signers[0]!);
  for (const [index, signer] of signers.entries()) await publishRoot(chain.version(index + 1, [signer]));
  await release("1.1.0", signers.at(-1)!);
  wire.paths.length = 0;
  t.match(await one.check(), { outcome: "deployed", version: "1.1.0" });
  t.equal(await one.version(), 30);
  t.equal(wire.asked().length, 29);
});
