// Holds: which version of a trust root a host takes (lib/agent/sources/trust-root.ts, lib/artifact/trust/root.ts)
/** A hub withholds a new version of the root: the host goes on, and says since when; another place brings it. */
import { join } from "node:path";
import t from "tap";
import { heldKey } from "../../support/forged/roots.ts";
import { followingHost, rootedProject, rootFile } from "../../support/host/root-host.ts";
import { serves, startLyingWire } from "../../support/hub/lying-wire.ts";
import { startMirror } from "../../support/hub/mirrored.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

t.test("a host whose hub names a version and does not give it goes on with the old one", async (t) => {
  const [old, next] = [heldKey(), heldKey()];
  const project = await rootedProject(t, old);
  const { chain, wire, release } = project;
  const one = await followingHost(project, old);
  wire.named = 2;
  wire.root = serves({ 1: chain.version(1, [old]) });
  t.match(await one.check(), { outcome: "current" });
  await release("1.1.0", old);
  t.match(await one.check(), { outcome: "deployed", version: "1.1.0" }, "the old signer counts still");
  t.ok(
    (await one.findings()).some(({ message }) => message === "The hub names version 2, which could not be followed"),
  );
  wire.root = (response) => response.destroy();
  await release("1.2.0", old);
  t.match(await one.check(), { outcome: "deployed", version: "1.2.0" }, "nor does a broken connection stop it");
  t.equal(await one.version(), 1);
  wire.root = serves({ 2: chain.version(2, [next]) });
  t.match(await one.check(), { outcome: "current" });
  t.equal(await one.version(), 2, "once it is given, it is followed");
});

t.test("of a hub that names no newer version, doctor says since when the host has its own", async (t) => {
  const old = heldKey();
  const project = await rootedProject(t, old);
  const { chain, publishRoot } = project;
  await publishRoot(chain.version(1, [old]));
  const one = await followingHost(project, old);
  t.match(await one.check(), { outcome: "current" });
  const [first] = await one.findings();
  t.match(first, {
    status: "ok",
    message: /^Follows version 1 of rt_\w{32} since 20\S+Z; no answer has named a newer/,
  });
});

t.test("a second source brings what the hub withholds, and the thief installs nothing more", async (t) => {
  const [stolen, next] = [heldKey(), heldKey()];
  const project = await rootedProject(t, stolen);
  const { chain, publishRoot, release } = project;
  await publishRoot(chain.version(1, [stolen]));
  const one = await followingHost(project, stolen);
  const web = await startLyingWire(t);
  web.root = serves({ 2: chain.version(2, [heldKey(), stolen]), 3: chain.version(3, [next]) });
  one.choice.sources = [`${web.url}/tides/`];
  t.match(await one.check(), { outcome: "current" });
  t.equal(await one.version(), 3);
  t.strictSame(web.paths, ["/tides/2.root.json", "/tides/3.root.json", "/tides/4.root.json"]);
  await release("1.1.0", stolen);
  t.match(await one.check(), { outcome: "failed", error: { code: "signer_untrusted" } });
  t.equal(await one.running(), "1.0.0");
  t.strictSame(await one.quarantined(), ["1.1.0"]);
});

t.test("a source that lies or fails costs nothing, and the next one is asked", async (t) => {
  const [old, next] = [heldKey(), heldKey()];
  const project = await rootedProject(t, old);
  const { chain } = project;
  const one = await followingHost(project, old);
  const [liar, silent, honest] = [await startLyingWire(t), await startLyingWire(t), await startLyingWire(t)];
  liar.root = serves({ 2: chain.version(2, [heldKey()], { by: [] }) });
  silent.root = (response) => response.destroy();
  honest.root = serves({ 2: chain.version(2, [next]) });
  one.choice.sources = [liar.url, silent.url, honest.url];
  t.match(await one.check(), { outcome: "current" });
  t.equal(await one.version(), 2);
  t.equal(one.refusals().length, 2);
  t.equal(one.refusals()[0], "trust_root_undersigned");
});

t.test(
  "the mirror of the site brings what the hub withholds, without a word in the host's configuration",
  async (t) => {
    const [stolen, next] = [heldKey(), heldKey()];
    const project = await rootedProject(t, stolen);
    const { chain, publishRoot, release, wire } = project;
    await publishRoot(chain.version(1, [stolen]));
    const one = await followingHost(project, stolen);
    const roots = temporaryFolder(t);
    const [away, mirror] = [await startMirror(t, wire.url), await startMirror(t, wire.url, { rootsDir: roots })];
    await away.close();
    one.mirrors.push(away.url, mirror.url);
    t.match(await one.check(), { outcome: "current" });
    t.equal(await one.version(), 1, "it has nothing yet");
    await rootFile(join(roots, chain.id), 2, chain.version(2, [next]));
    await release("1.1.0", stolen);
    t.match(await one.check(), { outcome: "failed", error: { code: "signer_untrusted" } });
    t.equal(await one.version(), 2);
    t.equal(await one.running(), "1.0.0");
  },
);

t.test("a mirror that lies about roots changes nothing", async (t) => {
  const old = heldKey();
  const project = await rootedProject(t, old);
  const { chain, wire } = project;
  const one = await followingHost(project, old);
  const roots = temporaryFolder(t);
  await rootFile(join(roots, chain.id), 2, chain.version(2, [heldKey()], { by: [] }));
  const mirror = await startMirror(t, wire.url, { rootsDir: roots });
  one.mirrors.push(mirror.url);
  t.match(await one.check(), { outcome: "current" });
  t.strictSame([await one.version(), one.refusals()], [1, ["trust_root_undersigned"]]);
});
