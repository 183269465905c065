import t from "tap";
import { isErrorBody, startHub } from "../../support/hub/harness.ts";
import { startSigstore } from "../../support/hub/sigstore.ts";
import { billOf, state, statedProject } from "../../support/hub/statements.ts";

const deep = (levels: number, open = "[", close = "]"): string => open.repeat(levels) + close.repeat(levels);

t.test("deep and endless JSON is refused before it costs anything", async (t) => {
  const hub = await startHub(t);
  const stated = await statedProject(hub);
  const sigstore = await startSigstore();
  const bundle = await sigstore.attest({ subjects: [stated.content_sha256!] });
  const inside = await sigstore.attest({
    subjects: [stated.content_sha256!],
    change: (statement) => ({ ...statement, predicate: JSON.parse(deep(1000)) as unknown }),
  });
  const statements: [kind: string, text: string][] = [
    ["provenance", deep(400_000)],
    ["provenance", `{"a":${deep(100)},${JSON.stringify(bundle).slice(1)}`],
    ["provenance", JSON.stringify(inside)],
    ["provenance", JSON.stringify({ ...bundle, a: Array(60_000).fill(1) })],
    ["urgent", `{"reason":${deep(1000)}}`],
    ["sbom", deep(4_000_000)],
    ["sbom", `{"bomFormat":"CycloneDX","specVersion":"1.6","components":${deep(70, '[{"components":', "}]")}}`],
    ["sbom", `{"a":${'{"a":'.repeat(1_000_000)}`],
    ["sbom", billOf(Array(100_001).fill({ name: "a" })).toString()],
    ["sbom", `{"bomFormat":"CycloneDX","specVersion":"1.6","components":[],"components":[{"type":"x","name":"y"}]}`],
    ["sbom", `{"bomFormat":"SPDX","specVersion":"1.6","components":[]}`],
    ["sbom", `{"bomFormat":"CycloneDX","specVersion":"1.5","components":[]}`],
    ["sbom", billOf([{ name: "a".repeat(1025) }]).toString()],
    ["sbom", `{"spdxVersion":"SPDX-2.3","packages":${deep(70, '[{"externalRefs":', "}]")}}`],
    ["sbom", `{"spdxVersion":"SPDX-2.3","packages":[${'{"name":"a"},'.repeat(100_000)}{"name":"a"}]}`],
    ["sbom", `{"spdxVersion":"SPDX-2.3","packages":[{"name":"x"}],"packages":[{"name":"y"}]}`],
    ["sbom", `{"@context":"https://spdx.org/rdf/3.0.1/spdx-context.jsonld","@graph":${deep(4_000_000)}}`],
    ["sbom", billOf([{ name: "a" }], { spdxVersion: "SPDX-2.3", packages: [{ name: "b" }] }).toString()],
  ];
  for (const [kind, text] of statements) {
    const begun = performance.now();
    const answer = await state(stated, kind, Buffer.from(text));
    isErrorBody(t, answer, 422, "statement_invalid");
    t.ok(performance.now() - begun < 10_000, `${kind} ${text.slice(0, 40)}`);
  }
  t.equal((await hub.call("GET", "/healthz")).status, 200);
});
