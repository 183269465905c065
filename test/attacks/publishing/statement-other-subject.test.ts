import t from "tap";
import { policyHost } from "../../support/host/policy-host.ts";
import { isErrorBody, startHub, storedFiles } from "../../support/hub/harness.ts";
import { ISSUER, startSigstore } from "../../support/hub/sigstore.ts";
import { state, statedProject } from "../../support/hub/statements.ts";

t.test("provenance of other bytes is added to no version", async (t) => {
  const hub = await startHub(t);
  const stated = await statedProject(hub);
  const sigstore = await startSigstore();
  const files = (await storedFiles(hub)).length;
  const others = [["b".repeat(64)], ["b".repeat(64), "c".repeat(64)], [stated.content_sha256!.toUpperCase()]];
  for (const subjects of others) {
    const bundle = await sigstore.attest({ subjects });
    isErrorBody(t, await state(stated, "provenance", Buffer.from(JSON.stringify(bundle))), 422, "statement_invalid");
  }
  const sha512 = await sigstore.attest({
    subjects: [],
    change: (statement) => ({ ...statement, subject: [{ name: "x", digest: { sha512: stated.content_sha256 } }] }),
  });
  isErrorBody(t, await state(stated, "provenance", Buffer.from(JSON.stringify(sha512))), 422, "statement_invalid");
  t.equal((await storedFiles(hub)).length, files, "nothing of it stays");
});

t.test("a host takes no version whose hub shows provenance of another one", async (t) => {
  const h = await policyHost(t);
  const tree = await h.publish("1.0.0");
  await h.state("1.0.0", { provenance: { subjects: [tree] } });
  await h.publish("1.1.0");
  await t.rejects(h.state("1.1.0", { provenance: { subjects: [tree] } }), /about other bytes/);
  const { error } = await h.deploy("1.1.0", `issuer: ${ISSUER}\ntrusted_root: trusted_root.json\n`);
  t.match(error, { code: "policy_refused" });
});
