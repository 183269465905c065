import t from "tap";
import { installed, policyHost } from "../../support/host/policy-host.ts";
import { isErrorBody, newSigner, startHub } from "../../support/hub/harness.ts";
import { ISSUER, REPOSITORY, startSigstore } from "../../support/hub/sigstore.ts";
import { billOf, endorsed, state, statedProject } from "../../support/hub/statements.ts";

t.test("a statement that another key than the version's signer stands for is refused", async (t) => {
  const hub = await startHub(t);
  const stated = await statedProject(hub);
  const other = await statedProject(hub);
  const sbom = billOf([{ name: "a" }]);
  const signer = stated.signer!;
  isErrorBody(t, await state(stated, "sbom", sbom, endorsed(stated, "sbom", sbom, newSigner())), 403, "forbidden");
  const named = {
    ...endorsed(stated, "sbom", sbom, newSigner()),
    signer_public_key: signer.publicKey.toString("base64"),
  };
  isErrorBody(t, await state(stated, "sbom", sbom, named), 400, "signature_rejected");
  const elsewhere = endorsed({ ...other, signer }, "sbom", sbom);
  isErrorBody(t, await state(stated, "sbom", sbom, elsewhere), 400, "signature_rejected");
  const earlier = endorsed({ ...stated, version: "0.9.0" }, "sbom", sbom);
  isErrorBody(t, await state(stated, "sbom", sbom, earlier), 400, "signature_rejected");
  const ofOtherBytes = endorsed(stated, "sbom", billOf([{ name: "b" }]));
  isErrorBody(t, await state(stated, "sbom", sbom, ofOtherBytes), 400, "signature_rejected");
  t.equal((await state(stated, "sbom", sbom)).status, 201, "and the signer's own is taken");
});

t.test("a host takes no version that another workflow, or another authority, has signed for", async (t) => {
  const h = await policyHost(t);
  const policy = `issuer: ${ISSUER}\nrepository: ${REPOSITORY}\ntrusted_root: trusted_root.json\n`;
  const foreign = await startSigstore();
  const attempts: Record<string, (tree: string) => Promise<object>> = {
    "1.0.0": (tree) => h.sigstore.attest({ subjects: [tree], repository: "https://github.com/evil/tide" }),
    "1.1.0": (tree) => h.sigstore.attest({ subjects: [tree], issuer: "https://issuer.evil.example" }),
    "1.2.0": (tree) => foreign.attest({ subjects: [tree] }),
    "1.3.0": (tree) => h.sigstore.attest({ subjects: [tree], repository: `${REPOSITORY}/` }),
  };
  for (const [version, attest] of Object.entries(attempts)) {
    await h.state(version, { provenance: await attest(await h.publish(version)) });
    t.match((await h.deploy(version, policy)).error, { code: "policy_refused" }, version);
  }
  t.equal(await installed(h.folder), undefined);
});
