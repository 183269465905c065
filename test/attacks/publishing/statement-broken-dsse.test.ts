import t from "tap";
import { installed, policyHost } from "../../support/host/policy-host.ts";
import { isErrorBody, startHub } from "../../support/hub/harness.ts";
import { ISSUER, startSigstore, statementOf } from "../../support/hub/sigstore.ts";
import { state, statedProject } from "../../support/hub/statements.ts";

type Envelope = { payload: string; payloadType: string; signatures: { sig: string; keyid: string }[] };

t.test("an envelope that is not one of DSSE is refused", async (t) => {
  const hub = await startHub(t);
  const stated = await statedProject(hub);
  const sigstore = await startSigstore();
  const subjects = [stated.content_sha256!];
  const bundle = await sigstore.attest({ subjects });
  const envelope = bundle["dsseEnvelope"] as Envelope;
  const [signature] = envelope.signatures;
  const changed = (changes: Partial<Record<keyof Envelope, unknown>>) => ({
    ...bundle,
    dsseEnvelope: { ...envelope, ...changes },
  });
  const { dsseEnvelope: _, ...without } = bundle;
  const { verificationMaterial: __, ...unproven } = bundle;
  const broken: unknown[] = [
    without,
    unproven,
    { ...without, messageSignature: { signature: "AA==", messageDigest: { algorithm: "SHA2_256", digest: "AA==" } } },
    changed({ signatures: [] }),
    changed({ signatures: [signature, signature] }),
    changed({ signatures: [{ sig: "", keyid: "" }] }),
    changed({ payload: "" }),
    changed({ payload: Buffer.from("not JSON").toString("base64") }),
    changed({ payload: Buffer.from([0xff, 0xfe]).toString("base64") }),
    changed({ payloadType: "text/plain" }),
    { ...bundle, mediaType: "application/json" },
    { ...bundle, verificationMaterial: { certificate: { rawBytes: "AAAA" }, tlogEntries: [] } },
    await sigstore.attest({ subjects, payloadType: "application/json" }),
    [bundle],
    null,
  ];
  for (const one of broken) {
    const answer = await state(stated, "provenance", Buffer.from(JSON.stringify(one)));
    isErrorBody(t, answer, 422, "statement_invalid");
  }
  const whole = Buffer.from(JSON.stringify(bundle));
  for (const bytes of [whole.subarray(0, -1), Buffer.concat([whole, whole]), Buffer.from("")])
    isErrorBody(t, await state(stated, "provenance", bytes), 422, "statement_invalid");
});

t.test("a host takes no version whose envelope was changed after it was signed", async (t) => {
  const h = await policyHost(t);
  const policy = `issuer: ${ISSUER}\ntrusted_root: trusted_root.json\n`;
  const forgeries: Record<string, (bundle: Record<string, unknown>, tree: string) => void> = {
    // The hub sees a well-formed statement about the right bytes: only its signature says that it was made up.
    "1.0.0": (bundle, tree) => {
      const envelope = bundle["dsseEnvelope"] as Envelope;
      envelope.payload = Buffer.from(JSON.stringify(statementOf({ subjects: [tree] }))).toString("base64");
    },
    "1.1.0": (bundle) => {
      const [signature] = (bundle["dsseEnvelope"] as Envelope).signatures;
      const sig = Buffer.from(signature!.sig, "base64");
      sig[sig.length - 1]! ^= 1;
      signature!.sig = sig.toString("base64");
    },
    "1.2.0": (bundle) => {
      const { tlogEntries } = bundle["verificationMaterial"] as { tlogEntries: { integratedTime: string }[] };
      tlogEntries[0]!.integratedTime = "1";
    },
    "1.3.0": (bundle) => void ((bundle["verificationMaterial"] as { tlogEntries: unknown[] }).tlogEntries = []),
  };
  for (const [version, forge] of Object.entries(forgeries)) {
    const tree = await h.publish(version);
    const bundle = await h.sigstore.attest({ subjects: version === "1.0.0" ? ["b".repeat(64)] : [tree] });
    forge(bundle, tree);
    await h.state(version, { provenance: bundle });
    const { error } = await h.deploy(version, policy);
    t.match(error, { code: "policy_refused", message: /its provenance does not verify/ }, version);
  }
  t.equal(await installed(h.folder), undefined);
});
