import t from "tap";
import { isErrorBody, startHub } from "../../support/hub/harness.ts";
import { startSigstore } from "../../support/hub/sigstore.ts";
import { state, statedProject } from "../../support/hub/statements.ts";

t.test("a statement whose meaning nobody here knows is not a provenance", async (t) => {
  const hub = await startHub(t);
  const stated = await statedProject(hub);
  const sigstore = await startSigstore();
  const subjects = [stated.content_sha256!];
  const bundles = [
    await sigstore.attest({ subjects, predicateType: "https://slsa.dev/provenance/v0.2" }),
    await sigstore.attest({ subjects, predicateType: "https://cyclonedx.org/bom" }),
    await sigstore.attest({ subjects, predicateType: "https://slsa.dev/provenance/v1?" }),
    await sigstore.attest({ subjects, change: ({ predicateType: _, ...rest }) => rest }),
    await sigstore.attest({
      subjects,
      change: (statement) => ({ ...statement, _type: "https://in-toto.io/Statement/v0.1" }),
    }),
    await sigstore.attest({ subjects, change: (statement) => ({ ...statement, predicate: null }) }),
    await sigstore.attest({ subjects, change: (statement) => [statement] }),
  ];
  for (const bundle of bundles)
    isErrorBody(t, await state(stated, "provenance", Buffer.from(JSON.stringify(bundle))), 422, "statement_invalid");
});
