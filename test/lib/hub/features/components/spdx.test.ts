import t from "tap";
import { findComponent, indexed } from "../../../../support/hub/components.ts";
import { startHub } from "../../../../support/hub/harness.ts";
import { billOf, state, statedProject } from "../../../../support/hub/statements.ts";

t.test("components of SPDX are found beside those of CycloneDX", async (t) => {
  const hub = await startHub(t);
  const url = (version: string): string => `pkg:npm/lodash@${version}`;
  const referenceType = "purl";
  const bills = {
    "https://cyclonedx.org/bom/1.6": billOf([{ name: "lodash", version: "4.17.20", purl: url("4.17.20") }]),
    "https://spdx.dev/Document/v2.3": {
      spdxVersion: "SPDX-2.3",
      packages: [
        {
          ...{ name: "lodash", versionInfo: "4.17.19" },
          externalRefs: [{ referenceType, referenceLocator: url("4.17.19") }],
        },
      ],
    },
    "https://spdx.dev/Document/v3.0": {
      "@context": "https://spdx.org/rdf/3.0.1/spdx-context.jsonld",
      "@graph": [
        {
          ...{ type: "software_Package", name: "lodash", software_packageVersion: "4.17.18" },
          software_packageUrl: url("4.17.18"),
        },
      ],
    },
  };
  const ids = new Set<string>();
  for (const [predicate_type, bill] of Object.entries(bills)) {
    const stated = await statedProject(hub);
    ids.add(`project:${stated.id}`);
    const bytes = Buffer.isBuffer(bill) ? bill : Buffer.from(JSON.stringify(bill));
    t.match(await state(stated, "sbom", bytes), { status: 201, body: { predicate_type } });
  }
  await indexed(hub);
  for (const question of ["lodash@<4.17.21", "pkg:npm/lodash"]) {
    const { versions } = await findComponent(hub, question);
    t.strictSame(new Set(versions.map(({ target }) => target)), ids, question);
  }
});
