import { rm } from "node:fs/promises";
import t, { type Test } from "tap";
import { DEPLOY_DEFAULTS } from "../../../../lib/agent/deployment/run.ts";
import { marketplaceSource } from "../../../../lib/agent/sources/marketplace.ts";
import { projectSource } from "../../../../lib/agent/sources/project.ts";
import type { Source } from "../../../../lib/agent/sources/source.ts";
import type { SignerTrust } from "../../../../lib/agent/sources/trust.ts";
import { marketplacePoll, projectPoll, type WatchTarget } from "../../../../lib/agent/watch/target.ts";
import { layoutOf } from "../../../../lib/releases/layout.ts";
import { readQuarantine } from "../../../../lib/releases/quarantine.ts";
import { currentRelease } from "../../../../lib/releases/release.ts";
import { forgedArtifact, forgedFrame, forgedSigner, projectTar } from "../../../support/forged/artifact.ts";
import { attackedHost } from "../../../support/host/attacked-host.ts";
import { newAuthor } from "../../../support/host/author.ts";
import { SLUG } from "../../../support/host/marketplace-host.ts";
import { pluginHost } from "../../../support/host/plugin-host.ts";
import { type Watching, watching } from "../../../support/host/watching.ts";
import { authorHub } from "../../../support/hub/author-hub.ts";
import { DEVELOPER_SECRET } from "../../../support/hub/marketplace-hub.ts";

const AN_HOUR_MS = 3_600_000;

interface Signer {
  publicKey: Uint8Array;
}

/** A target whose versions two signers may sign. */
interface Signed<S extends Signer> {
  root: string;
  ours: S;
  theirs: S;
  publish: (version: string, signer: S) => Promise<unknown>;
  source: (version: string, trust: SignerTrust) => Source;
  target: Pick<WatchTarget, "name" | "hub" | "poll">;
}

const pins = (...signers: readonly Signer[]): SignerTrust => ({ pinned: signers.map(({ publicKey }) => publicKey) });

/** Plays a watch whose pins change, with a target of any kind. */
async function followsPins<S extends Signer>(t: Test, signed: Signed<S>): Promise<void> {
  const { root, ours, theirs, publish, source } = signed;
  const { target: name } = source("latest", pins(ours));
  const layout = layoutOf(root);
  const trusting = (trust: SignerTrust, intervalMs: number): WatchTarget => ({
    ...{ ...signed.target, intervalMs },
    source: (version) => source(version, trust),
    options: { ...DEPLOY_DEFAULTS, projectRoot: root, hostId: "host", supervisor: { name: "none" } },
  });
  const running = async () => (await currentRelease(layout, name))?.version;
  const held = async () => (await readQuarantine(layout, name)).map(({ version, code }) => [version, code]);
  const isRefused = async (w: Watching, version: string, code: "signer_untrusted" | "trust_changed") => {
    await w.until("deploy.done", { outcome: "failed", code });
    await w.until("check.scheduled");
    await w.watch.act(signed.target.name, "check");
    await w.until("target.held", { version, reason: "quarantined" });
    t.strictSame((await held()).at(-1), [version, code]);
  };

  await publish("2.0.0", ours);
  const w = watching(t, [trusting(pins(ours), 20)]);
  await w.until("deploy.done", { outcome: "deployed", version: "2.0.0" });

  await publish("2.1.0", theirs);
  await isRefused(w, "2.1.0", "signer_untrusted");
  const deployments = w.all("deploy.done").length;
  for (let checks = 0; checks < 3; checks++) t.match(await w.until("check.scheduled"), { failures: 0 });
  t.equal(w.all("deploy.done").length, deployments, "it is neither asked for nor fetched again");
  await w.watch.replace([trusting(pins(ours), AN_HOUR_MS)]);
  await w.until("check.scheduled");
  t.equal(w.all("deploy.done").length, deployments, "nor when the same pins are read anew");

  await w.watch.replace([trusting(pins(theirs, ours), AN_HOUR_MS)]);
  t.match(
    await w.until("deploy.done", { version: "2.1.0" }),
    { outcome: "deployed" },
    "a pin that is added counts at once",
  );
  t.strictSame(await held(), []);

  await w.watch.replace([trusting(pins(ours), AN_HOUR_MS)]);
  await publish("2.2.0", theirs);
  await w.watch.act(signed.target.name, "check");
  await isRefused(w, "2.2.0", "signer_untrusted");
  t.equal(await running(), "2.1.0", "what runs stays, also of a signer that is pinned no more");
  await publish("2.3.0", ours);
  await w.watch.act(signed.target.name, "check");
  t.match(
    await w.until("deploy.done", { version: "2.3.0" }),
    { outcome: "deployed" },
    "a newer one of an accepted signer is taken",
  );

  await w.watch.replace([trusting({ onFirstUse: true }, AN_HOUR_MS)]);
  await publish("2.4.0", ours);
  await w.watch.act(signed.target.name, "check");
  await w.until("deploy.done", { outcome: "deployed", version: "2.4.0" });
  await publish("2.5.0", theirs);
  await w.watch.act(signed.target.name, "check");
  await isRefused(w, "2.5.0", "trust_changed");
  t.equal(await running(), "2.4.0");
  await rm(layout.trust(name));
  await w.watch.act(signed.target.name, "check");
  t.match(
    await w.until("deploy.done", { version: "2.5.0" }),
    { outcome: "deployed" },
    "a person has forgotten the first signer",
  );
  await w.stop();
}

t.test("a watch holds a plugin's version by another signer back until its pins are others", async (t) => {
  const { hub, publish } = await authorHub(t);
  const connection = { hubUrl: hub.url, apiKey: hub.adminKey, timeoutMs: 10_000 };
  const { root, installPlan } = await pluginHost(t, connection);
  const plugin = { ...connection, kind: "plugin", slug: SLUG, signingSecret: DEVELOPER_SECRET, installPlan } as const;
  await followsPins(t, {
    ...{ root, ours: newAuthor(), theirs: newAuthor(), publish },
    source: (version, trust) => marketplaceSource({ ...plugin, version, trust, symlinks: "refuse" }),
    target: { name: `plugin:${SLUG}`, hub: hub.url, poll: marketplacePoll("plugin", SLUG, connection) },
  });
});

t.test("and so it does with a project's version", async (t) => {
  const host = await attackedHost(t);
  const { hub, project, root, signer: ours } = host;
  const connection = { hubUrl: hub.url, apiKey: project.key, timeoutMs: 10_000 };
  const from = { ...connection, projectId: project.id, deploymentCredential: project.credential };
  await followsPins(t, {
    ...{ root, ours, theirs: forgedSigner() },
    publish: (version, signer) =>
      host.publish(version, forgedArtifact(forgedFrame(projectTar(host.describe(version))), signer)),
    source: (version, trust) => projectSource({ ...from, version, trust }),
    target: { name: "project:Demo", hub: hub.url, poll: projectPoll(project.id, connection) },
  });
});

t.test("a version that nobody signed is held back while a signer is demanded", async (t) => {
  const { hub, publish } = await authorHub(t);
  const connection = { hubUrl: hub.url, apiKey: hub.adminKey, timeoutMs: 10_000 };
  const { root, installPlan } = await pluginHost(t, connection);
  const plugin = { ...connection, kind: "plugin", slug: SLUG, signingSecret: DEVELOPER_SECRET, installPlan } as const;
  const target = (trust: SignerTrust | undefined): WatchTarget => ({
    ...{ name: `plugin:${SLUG}`, hub: hub.url, intervalMs: 20, poll: marketplacePoll("plugin", SLUG, connection) },
    source: (version) => marketplaceSource({ ...plugin, version, trust, symlinks: "refuse" }),
    options: { ...DEPLOY_DEFAULTS, projectRoot: root, hostId: "host", supervisor: { name: "none" } },
  });
  await publish("1.0.0");
  const w = watching(t, [target(pins(newAuthor()))]);
  await w.until("deploy.done", { outcome: "failed", code: "signature_missing" });
  await w.until("target.held", { version: "1.0.0", reason: "quarantined" });
  for (let checks = 0; checks < 3; checks++) await w.until("check.scheduled");
  t.equal(w.all("deploy.done").length, 1);
  await w.watch.replace([target(undefined)]);
  t.match(await w.until("deploy.done", { version: "1.0.0" }), { outcome: "deployed" }, "at once when none is");
  await w.stop();
});
