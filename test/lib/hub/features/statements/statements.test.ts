import { copyFile, rm } from "node:fs/promises";
import { join } from "node:path";
import t from "tap";
import { backupHub, restoreHub } from "../../../../../lib/hub/backup/backup.ts";
import { verifyHub } from "../../../../../lib/hub/backup/verify.ts";
import { FEATURES } from "../../../../../lib/hub/features.ts";
import { createHub } from "../../../../../lib/hub/hub.ts";
import { SLUG } from "../../../../support/host/marketplace-host.ts";
import { authorHub, pluginOf } from "../../../../support/hub/author-hub.ts";
import { isErrorBody, newSigner, sha256, startHub, storedFiles } from "../../../../support/hub/harness.ts";
import { publishFiles } from "../../../../support/hub/shown-hub.ts";
import { startSigstore, WORKFLOW } from "../../../../support/hub/sigstore.ts";
import { billOf, endorsed, state, statedProject, statementsPath } from "../../../../support/hub/statements.ts";

const bytesOf = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));

t.test("a project's statements are stored with their endorsement, listed, and read back", async (t) => {
  const hub = await startHub(t);
  const stated = await statedProject(hub);
  const sigstore = await startSigstore();
  const provenance = bytesOf(await sigstore.attest({ subjects: [stated.content_sha256!] }));
  const sbom = billOf([{ name: "lodash", version: "4.17.20", purl: "pkg:npm/lodash@4.17.20" }]);
  const urgent = bytesOf({ reason: "CVE-2026-1" });
  for (const [kind, bytes] of Object.entries({ provenance, sbom, urgent })) {
    const added = await state(stated, kind, bytes);
    t.equal(added.status, 201, added.bytes.toString());
    t.equal((await state(stated, kind, bytes)).status, 200, "the same again changes nothing");
  }
  const listed = await hub.call("GET", statementsPath(stated));
  t.equal(listed.body.artifact_sha256, stated.artifact_sha256);
  t.match(listed.body.statements, [
    { kind: "provenance", predicate_type: "https://slsa.dev/provenance/v1", claimed_by: WORKFLOW },
    { kind: "sbom", predicate_type: "https://cyclonedx.org/bom/1.6", sha256: sha256(sbom), size_bytes: sbom.length },
    { kind: "urgent", predicate_type: null, signer_public_key: stated.signer!.publicKey.toString("base64") },
  ]);
  const session = await hub.call("POST", "/app/deploy/v1/auth", {
    key: null,
    json: { xdevkey: stated.key, project_id: stated.id },
  });
  const read = await hub.call("GET", `${statementsPath(stated)}/sbom`, { bearer: session.body.access_token });
  t.same(read.bytes, sbom, "an agent reads the very bytes");
  isErrorBody(t, await state(stated, "sbom", billOf([])), 409, "conflict");
  isErrorBody(t, await hub.call("GET", `${statementsPath({ ...stated, version: "2.0.0" })}`), 404, "not_found");
  const log = await hub.call("GET", "/devkeys/audit?action=statement.publish");
  t.equal(log.body.items.length, 3, "each stands in the audit log once");
});

t.test("what is not the signer's is refused, and nothing of it stays", async (t) => {
  const hub = await startHub(t);
  const stated = await statedProject(hub);
  const sbom = billOf([]);
  const before = (await storedFiles(hub)).length;
  isErrorBody(t, await state(stated, "sbom", sbom, {}), 422, "unprocessable");
  isErrorBody(t, await state(stated, "sbom", sbom, endorsed(stated, "sbom", sbom, newSigner())), 403, "forbidden");
  isErrorBody(t, await state(stated, "sbom", sbom, endorsed(stated, "urgent", sbom)), 400, "signature_rejected");
  isErrorBody(t, await state(stated, "urgent", bytesOf({ why: "x" })), 422, "statement_invalid");
  isErrorBody(t, await state(stated, "other", sbom, endorsed(stated, "sbom", sbom)), 422, "unprocessable");
  const [other, stranger] = [await statedProject(hub), (await statedProject(hub)).key];
  isErrorBody(t, await state(stated, "sbom", sbom, endorsed(other, "sbom", sbom)), 403, "forbidden");
  isErrorBody(t, await state(stated, "sbom", sbom, undefined, stranger), 403, "forbidden");
  isErrorBody(t, await hub.call("GET", statementsPath(stated), { key: stranger }), 403, "forbidden");
  t.equal((await storedFiles(hub)).length - before, 2, "only the two other artifacts have come");
});

t.test("a plugin without an author's signature has statements that nobody has signed", async (t) => {
  const hub = await startHub(t);
  await hub.call("POST", "/devkeys/projects", { json: { name: "Tide", kind: "plugin", slug: "tide" } });
  const descriptor = "name: tide\nversion: 1.0.0\nentry_point: i.js\nexecution_mode: sandboxed\n";
  await publishFiles(hub, { slug: "tide", version: "1.0.0" }, { "plugin.yaml": descriptor, "i.js": "1" });
  const target = { kind: "plugin", slug: "tide" } as const;
  const stated = { hub, target, version: "1.0.0", artifact_sha256: "", content_sha256: null };
  const { body } = await hub.call("GET", statementsPath(stated));
  const sigstore = await startSigstore();
  const about = async (digest: string) => bytesOf(await sigstore.attest({ subjects: [digest] }));
  t.equal((await state(stated, "provenance", await about(body.artifact_sha256 as string))).status, 201);
  t.equal((await state(stated, "sbom", billOf([]))).body.signature, null);
  isErrorBody(t, await state(stated, "urgent", bytesOf({ reason: "now" })), 422, "unprocessable");
  isErrorBody(t, await hub.call("GET", statementsPath(stated), { key: null }), 401, "key_missing");
});

t.test("a statement that came before its author's signature is endorsed when it comes again", async (t) => {
  const { hub, publish, sign } = await authorHub(t);
  const signer = newSigner();
  await publish("1.0.0");
  const target = { kind: "plugin", slug: SLUG } as const;
  const bytes = pluginOf("1.0.0");
  const stated = { hub, target, version: "1.0.0", artifact_sha256: sha256(bytes), content_sha256: null };
  const sbom = billOf([]);
  t.equal((await state(stated, "sbom", sbom)).status, 201);
  const signed = { ...stated, signer };
  const { signer_public_key } = endorsed(signed, "sbom", sbom);
  const signature_ed25519 = signer.sign(bytes).toString("base64");
  t.equal((await sign("1.0.0", { signature_ed25519, signer_public_key })).status, 204);
  isErrorBody(t, await state(signed, "sbom", billOf([{ name: "other" }])), 409, "conflict");
  for (const turn of ["first", "second"])
    t.match(await state(signed, "sbom", sbom), { status: 200, body: { signer_public_key } }, turn);
  t.match((await hub.call("GET", statementsPath(stated))).body.statements, [
    { kind: "sbom", ...endorsed(signed, "sbom", sbom) },
  ]);
  const log = await hub.call("GET", "/devkeys/audit?action=statement.publish");
  t.equal(log.body.items.length, 2, "the audit log has the endorsement once");
});

t.test("the statements of a version stay when its lost bytes are published again", async (t) => {
  const dataDir = join(t.testdir(), "hub");
  const hub = await startHub(t, { dataDir });
  await hub.call("POST", "/devkeys/projects", { json: { name: "Tide", kind: "plugin", slug: "tide" } });
  const descriptor = "name: tide\nversion: 1.0.0\nentry_point: i.js\nexecution_mode: sandboxed\n";
  const publish = () =>
    publishFiles(hub, { slug: "tide", version: "1.0.0" }, { "plugin.yaml": descriptor, "i.js": "1" });
  await publish();
  const target = { kind: "plugin", slug: "tide" } as const;
  const stated = { hub, target, version: "1.0.0", artifact_sha256: "", content_sha256: null };
  const sbom = billOf([{ name: "lodash", version: "4.17.20" }]);
  await state(stated, "sbom", sbom);
  const [before] = (await hub.call("GET", statementsPath(stated))).body.statements as unknown[];
  const archive = (await storedFiles(hub)).find((id) => id.startsWith("rel_"))!;
  await rm(join(dataDir, "blobs", archive.slice(-2), archive));
  await publish();
  t.match(await storedFiles(hub), { length: 2 });
  t.same((await hub.call("GET", statementsPath(stated))).body.statements, [before]);
  t.same((await hub.call("GET", `${statementsPath(stated)}/sbom`)).bytes, sbom);
  const found = await hub.call("GET", "/app/deployments/deployments/components?q=lodash");
  t.match(found.body.versions, [{ target: "plugin:tide", version: "1.0.0" }]);
  t.match((await hub.call("GET", "/app/marketplace/plugins/tide")).body, { latest_version: "1.0.0" });
});

t.test("statements are in backups and in what a version's deletion takes", async (t) => {
  const root = t.testdir();
  const hub = await startHub(t, { dataDir: join(root, "hub") });
  const stated = await statedProject(hub);
  const sbom = billOf([{ name: "a" }]);
  await state(stated, "sbom", sbom);
  const storage = { hooks: FEATURES, dataDir: hub.dataDir };
  const folder = join(root, "backup");
  await backupHub(storage, folder);
  const restored = { hooks: FEATURES, dataDir: join(root, "restored") };
  await restoreHub(folder, restored, { trust: "unsigned" });
  const verified = await verifyHub(restored, { quick: false, onFinding: (finding) => t.fail(JSON.stringify(finding)) });
  t.equal(verified.checked, 2, "the artifact, and the statement");
  await copyFile(join(hub.dataDir, "kek.json"), join(restored.dataDir, "kek.json"));
  const again = await createHub({ ...restored, listen: { host: "127.0.0.1", port: 0 } });
  t.teardown(() => again.close());
  const url = await again.listen();
  const answer = await hub.call("GET", `${url}${statementsPath(stated)}/sbom`);
  t.same(answer.bytes, sbom);
  const base = `/devkeys/projects/${stated.id}/versions/${stated.version}`;
  t.equal((await hub.call("DELETE", `${base}?reason=x`)).status, 204);
  t.equal((await hub.call("GET", statementsPath(stated))).status, 404);
  t.match(await storedFiles(hub), [/^art_/, /^stm_/], "both lie in the trash");
});
