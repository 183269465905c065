// Holds: what of an SBOM is a component, in each format (lib/artifact/statements/bill.ts)
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import t from "tap";
import { readBill } from "../../../../lib/artifact/statements/bill.ts";
import type { Component } from "../../../../lib/artifact/statements/bill-formats.ts";

const CONTEXT = "https://spdx.org/rdf/3.0.1/spdx-context.jsonld";

async function read(document: object | string) {
  const components: Component[] = [];
  const text = typeof document === "string" ? document : JSON.stringify(document);
  // Small pieces: a text may end in the middle of one.
  const bytes = Buffer.from(text);
  const pieces = Array.from({ length: Math.ceil(bytes.length / 7) }, (_, index) =>
    bytes.subarray(index * 7, index * 7 + 7),
  );
  const facts = await readBill(ReadableStream.from(pieces), (component) => components.push(component));
  return { ...facts, components, count: facts.components };
}

const purl = (referenceLocator: string): object => ({
  ...{ referenceCategory: "PACKAGE-MANAGER", referenceType: "purl", referenceLocator },
});
const lodash: Component = { name: "lodash", version: "4.17.20", purl: "pkg:npm/lodash@4.17.20" };
const core: Component = { name: "@babel/core", version: "", purl: "pkg:npm/%40babel/core@7.0.0" };

t.test("packages of SPDX 2.3 are its components", async (t) => {
  const found = await read({
    // The version comes after the packages, as it may.
    packages: [
      {
        name: "lodash",
        versionInfo: "4.17.20",
        externalRefs: [{ ...purl("cpe:2.3:a:lodash"), referenceType: "cpe23Type" }, purl(lodash.purl), purl("pkg:b")],
        annotations: [{ name: "an inner one", packages: [{ name: "nobody's" }] }],
      },
      { name: "@babel/core", externalRefs: [purl(core.purl)] },
      { name: "plain" },
    ],
    files: [{ fileName: "./a", name: "no package" }],
    spdxVersion: "SPDX-2.3",
  });
  t.strictSame(found, {
    predicateType: "https://spdx.dev/Document/v2.3",
    components: [lodash, core, { name: "plain", version: "", purl: "" }],
    count: 3,
  });
});

t.test("packages of the graph of SPDX 3.0 are its components, and nothing else of it", async (t) => {
  const packaged = (name: string, more: object): object => ({ type: "software_Package", name, ...more });
  const found = await read({
    "@context": ["https://example.org/own.jsonld", CONTEXT],
    "@graph": [
      { type: "CreationInfo", "@id": "_:creation", specVersion: "3.0.1" },
      { type: "Organization", name: "x".repeat(2000) },
      packaged("lodash", { software_packageVersion: "4.17.20", software_packageUrl: lodash.purl }),
      {
        ...{ "@type": "ai_AIPackage", name: "@babel/core" },
        externalIdentifier: [
          { type: "ExternalIdentifier", externalIdentifierType: "cpe23", identifier: "cpe:2.3:a:babel" },
          { type: "ExternalIdentifier", externalIdentifierType: "packageUrl", identifier: core.purl },
        ],
      },
    ],
  });
  t.strictSame(found, { predicateType: "https://spdx.dev/Document/v3.0", components: [lodash, core], count: 2 });
});

t.test("npm's own SBOM of this package is read", async (t) => {
  const words = ["sbom", "--package-lock-only", "--sbom-format=spdx"];
  const maxBuffer = 64 * 1024 * 1024;
  const text = execFileSync("npm", words, { maxBuffer, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
  const { components, predicateType } = await read(text);
  t.equal(predicateType, "https://spdx.dev/Document/v2.3");
  const { packages } = JSON.parse(readFileSync("package-lock.json", "utf8")) as {
    packages: Record<string, { version: string }>;
  };
  const { version } = packages["node_modules/semver"]!;
  t.match(
    components.find(({ name, version: found }) => name === "semver" && found === version),
    { purl: `pkg:npm/semver@${version}` },
  );
  t.ok(components.length > 300, `${components.length} components`);
});

t.test("a document of another version, of two formats or of none is refused", async (t) => {
  const spdx = { spdxVersion: "SPDX-2.3", packages: [] };
  const graph = { "@context": CONTEXT, "@graph": [] };
  const cyclonedx = { bomFormat: "CycloneDX", specVersion: "1.6", components: [] };
  for (const document of [spdx, graph, cyclonedx]) t.equal((await read(document)).count, 0);
  const refused: [object, RegExp][] = [
    [{ ...spdx, spdxVersion: "SPDX-2.2" }, /its spdxVersion is "SPDX-2\.2", not SPDX-2\.3/],
    [{ ...graph, "@context": CONTEXT.replace("3.0.1", "4.0.0") }, /its @context is "https:.*4\.0\.0/],
    [{ ...spdx, ...cyclonedx }, /it has packages of SPDX beside components/],
    [{ ...cyclonedx, packages: [{ name: "a" }] }, /it has packages of SPDX beside components/],
    [{ ...spdx, "@graph": [{ type: "software_Package", name: "a" }] }, /it has @graph of SPDX beside packages/],
    [
      { "@context": "https://schema.org", "@graph": [] },
      /it is not CycloneDX 1\.6 or 1\.7, or SPDX 2\.3 or 3\.0, in JSON/,
    ],
    [{ ...spdx, packages: {} }, /its packages are not a list/],
    [{ ...spdx, packages: [[]] }, /one of its components is a list/],
    [{ ...spdx, packages: ["a"] }, /it is not CycloneDX/],
    [{ ...spdx, packages: [{ versionInfo: "1" }] }, /one of its components has no name/],
    [{ ...spdx, packages: [{ name: "a\0" }] }, /a component has an unusable name/],
    [
      { ...spdx, packages: [{ name: "a", externalRefs: [purl("p".repeat(1025))] }] },
      /a component has an unusable referenceLocator/,
    ],
    [{ ...graph, "@graph": [{ type: "software_Package" }] }, /one of its components has no name/],
    [{ ...cyclonedx, components: [{ version: "1" }] }, /one of its components has no type and no name/],
  ];
  for (const [document, message] of refused)
    await t.rejects(read(document), { code: "statement_invalid", message }, String(message));
  await t.rejects(read('{"spdxVersion":"SPDX-2.3","spdxVersion":"SPDX-2.3"}'), { message: /it has spdxVersion twice/ });
});
