/** A carrier writes into `kit.json` what a policy wants to read: approved, old, of a good workflow. */
import { createHash } from "node:crypto";
import t from "tap";
import { type OfflineSite, offlineSite } from "../../support/host/offline-site.ts";

type Facts = Record<string, unknown>;

/** Deploys copies of a kit, each with one field changed, and wants each refused. */
async function refusesEach(site: OfflineSite, good: string, changes: Record<string, Facts>): Promise<void> {
  const { t, copy, deploy, kitText, writeKit } = site;
  const text = await kitText(good);
  for (const [name, change] of Object.entries(changes)) {
    const kit = await copy(good, `forged ${name}`);
    await writeKit(kit, { ...text, ...change });
    const { result, stdout } = await deploy(kit);
    t.match(result, { status: "failed", error: { code: "kit_changed" } }, `${name}: ${stdout.slice(-400)}`);
  }
}

t.test("nobody but the hub says when a version was made, who approved it, and what else is said of it", async (t) => {
  const site = await offlineSite(t);
  await site.target.publish("1.0.0");
  const good = await site.make("good");
  const text = await site.kitText(good);
  const [project, facts] = [text["project"] as Facts, text["facts"] as Facts];
  const provenance = Buffer.from("{}");
  const record = {
    ...{ kind: "provenance", predicate_type: null, sha256: createHash("sha256").update(provenance).digest("hex") },
    ...{ size_bytes: 2, signature: null, signer_public_key: null, claimed_by: null, claimed_issuer: null },
    created_at: "2020-01-01T00:00:00.000Z",
  };
  await refusesEach(site, good, {
    approved: { facts: { ...facts, approved_at: "2020-01-01T00:00:00.000Z" } },
    old: { facts: { ...facts, created_at: "2020-01-01T00:00:00.000Z" } },
    "another signer": { facts: { ...facts, signer_public_key: null } },
    "another artifact": { facts: { ...facts, artifact_sha256: "ab".repeat(32) } },
    "other content": { facts: { ...facts, content_sha256: "ab".repeat(32) } },
    "another version": { facts: { ...facts, version: "9.9.9" } },
    "a statement more": { facts: { ...facts, statements: [record] }, provenance: provenance.toString("base64") },
    "a field more": { facts: { ...facts, more: true } },
    "no facts": { facts: null },
    "provenance of no record": { provenance: provenance.toString("base64") },
    "approved by somebody": { project: { ...project, approved_by: "the boss" } },
    "approved, it says": { project: { ...project, approved_at: "2020-01-01T00:00:00.000Z" } },
    "published by somebody": { project: { ...project, published_by: "the boss" } },
    yanked: { project: { ...project, is_yanked: true, yanked_reason: "nobody may have it" } },
    deprecated: { project: { ...project, deprecated: { message: "take mine", replaced_by: null } } },
    "a root": { project: { ...project, root_version: 7 } },
  });
  t.match((await site.deploy(good)).result, { outcome: "deployed" });
});

t.test("nor of an archive whose version it is, where its sources are, and which root it follows", async (t) => {
  const site = await offlineSite(t, "plugin");
  await site.target.publish("1.0.0");
  const good = await site.make("good");
  const archive = (await site.kitText(good))["archive"] as Facts;
  await refusesEach(site, good, {
    named: { archive: { ...archive, named: null } },
    repo: { archive: { ...archive, repo: "https://elsewhere.example/mine" } },
    root: { archive: { ...archive, root_version: 7 } },
    signer: { archive: { ...archive, signature: "ab", signer: "cd" } },
    hmac: { archive: { ...archive, hmac: "ab".repeat(32) } },
    sha256: { archive: { ...archive, sha256: "ab".repeat(32) } },
  });
  t.match((await site.deploy(good)).result, { outcome: "deployed" });
});
