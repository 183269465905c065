// Holds: which version of a trust root a host takes (lib/agent/sources/trust-root.ts, lib/artifact/trust/root.ts)
/** Versions of a root without end, made by the holders of its keys, and a hub that names the greatest one. */
import t from "tap";
import { heldKey } from "../../support/forged/roots.ts";
import { followingHost, rootedProject } from "../../support/host/root-host.ts";
import { sends } from "../../support/hub/lying-wire.ts";

/** Most steps of one check (docs/contract/trust.md). */
const STEPS = 64;

t.test("a check takes 64 versions, keeps them, and the next one goes on from there", async (t) => {
  const signer = heldKey();
  const project = await rootedProject(t, signer);
  const { chain, wire } = project;
  const one = await followingHost(project, signer);
  wire.named = 2 ** 31 - 1;
  wire.root = (response, version) => sends(chain.version(version, [signer]))(response, version);
  wire.paths.length = 0;
  t.match(await one.check(), { outcome: "current" });
  t.equal(await one.version(), 1 + STEPS);
  t.strictSame(
    wire.asked(),
    Array.from({ length: STEPS }, (_, step) => step + 2),
  );
  t.strictSame(one.refusals(), []);
  t.match(await one.check(), { outcome: "current" });
  t.equal(await one.version(), 1 + 2 * STEPS);
  t.equal(wire.asked().length, 2 * STEPS);
  t.equal(wire.asked().at(-1), 1 + 2 * STEPS);
});

t.test("a host that is far behind is told to go on, and not to change the root", async (t) => {
  const [signer, next] = [heldKey(), heldKey()];
  const project = await rootedProject(t, signer);
  const { chain, wire, release } = project;
  const one = await followingHost(project, signer);
  const newest = 2 + STEPS;
  wire.named = newest;
  wire.root = (response, version) =>
    sends(chain.version(version, [version === newest ? next : signer]))(response, version);
  await release("1.1.0", next);
  const behind = await one.deploy();
  t.match(behind, { outcome: "failed", error: { code: "signer_untrusted" } });
  t.match(behind.error?.hint, /The hub names version 66 of the root, and this host has version 65: run it again/);
  t.match(await one.deploy(), { outcome: "deployed", version: "1.1.0" });
});

t.test("the steps of the hub and of all other places count together", async (t) => {
  const signer = heldKey();
  const project = await rootedProject(t, signer);
  const { chain, wire } = project;
  const one = await followingHost(project, signer);
  wire.named = 40;
  wire.root = (response, version) => sends(chain.version(version, [signer]))(response, version);
  one.choice.sources = [`${wire.url}/roots`, `${wire.url}/again`];
  wire.paths.length = 0;
  t.match(await one.check(), { outcome: "current" });
  t.equal(await one.version(), 1 + STEPS);
  t.equal(wire.asked().length, STEPS);
});

t.test("64 of the largest versions take no more memory than a few of them", async (t) => {
  const signer = heldKey();
  const project = await rootedProject(t, signer);
  const { chain, wire } = project;
  const one = await followingHost(project, signer);
  wire.named = 2 ** 31 - 1;
  wire.root = (response, version) => sends(chain.version(version, [signer]).padEnd(64 * 1024))(response, version);
  t.match(await one.check(), { outcome: "current" });
  const { gc } = globalThis;
  gc?.();
  const before = process.memoryUsage().rss;
  for (let check = 0; check < 4; check++) t.match(await one.check(), { outcome: "current" });
  t.equal(await one.version(), 1 + 5 * STEPS);
  gc?.();
  const grown = process.memoryUsage().rss - before;
  t.ok(grown < 64 * 1024 * 1024, `${Math.round(grown / 2 ** 20)} MiB more`);
});
