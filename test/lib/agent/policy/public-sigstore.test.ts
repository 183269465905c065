import { readFileSync } from "node:fs";
import t from "tap";
import { verifyProvenance } from "../../../../lib/agent/policy/verify-provenance.ts";

const REAL = readFileSync(new URL("../../../vectors/sigstore/sigstore-js-2.0.0.json", import.meta.url), "utf8");

interface Bundle {
  dsseEnvelope: { payload: string };
  verificationMaterial: {
    tlogEntries: { integratedTime: string; inclusionPromise: { signedEntryTimestamp: string } }[];
  };
}

/** The real bundle with one change. */
function changed(change: (bundle: Bundle) => void): Buffer {
  const bundle = JSON.parse(REAL) as Bundle;
  change(bundle);
  return Buffer.from(JSON.stringify(bundle));
}

t.test("what a workflow of GitHub has signed verifies by the root that comes with the program", async (t) => {
  const { signer } = await verifyProvenance(Buffer.from(REAL), undefined);
  t.strictSame(signer, {
    subject: "https://github.com/sigstore/sigstore-js/.github/workflows/release.yml@refs/heads/main",
    issuer: "https://token.actions.githubusercontent.com",
    repository: "https://github.com/sigstore/sigstore-js",
  });
});

t.test("and does not with another payload or without a log's word for its time", async (t) => {
  const payload = changed(({ dsseEnvelope: envelope }) => {
    const text = Buffer.from(envelope.payload, "base64").toString("utf8");
    envelope.payload = Buffer.from(text.replace("pkg:npm/sigstore@2.0.0", "pkg:npm/sigstore@2.0.1")).toString("base64");
  });
  await t.rejects(verifyProvenance(payload, undefined), /payload hash mismatch/);
  const later = changed(({ verificationMaterial: { tlogEntries } }) => {
    const [entry] = tlogEntries;
    entry!.integratedTime = String(Number(entry!.integratedTime) + 86_400);
  });
  await t.rejects(verifyProvenance(later, undefined));
  const unlogged = changed(({ verificationMaterial }) => (verificationMaterial.tlogEntries = []));
  await t.rejects(verifyProvenance(unlogged, undefined));
});
