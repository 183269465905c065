/** Statements of a release about each artifact: its components in two formats, and where it was built. */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { PROVENANCE_TYPE } from "../../lib/artifact/statements/provenance.ts";
import packageJson from "../../package.json" with { type: "json" };
import type { LibraryPackage } from "../build/libraries.ts";
import { PLATFORMS, type Processor } from "../build/platforms.ts";
import { BUNDLED_FILE, type BundledPackage } from "../build/third-party.ts";

/** Component of an artifact. */
export interface Part {
  name: string;
  version: string;
  /** Package URL. */
  purl: string;
  /** Expression of SPDX; undefined where nobody has said it. */
  licence?: string;
}

/** Artifact with the facts that are said of it. */
export interface Described {
  name: string;
  sha256: string;
  parts: readonly Part[];
  /** Time of the build, in seconds. */
  epoch: number;
}

/** Numbers of Node.js's interfaces, which are nobody's program. */
const NO_COMPONENTS = new Set(["node", "modules", "napi"]);

const HOME = packageJson.homepage.split("#")[0]!;
const created = (epoch: number): string => new Date(epoch * 1000).toISOString().replace(".000", "");

const npmUrl = (name: string, version: string): string => `pkg:npm/${name.replace("@", "%40")}@${version}`;

/** Packages that are bundled in each artifact. `npm run build` has listed them. */
export const bundledParts = (): Part[] =>
  (JSON.parse(readFileSync(BUNDLED_FILE, "utf8")) as Omit<BundledPackage, "texts">[]).map(
    ({ name, version, licence }) => ({ name, version, licence, purl: npmUrl(name, version) }),
  );

/** Node.js that runs this, which is inside the executables of every platform, with its own components. */
export function nodeParts(): Part[] {
  const own = Object.entries(process.versions).filter(([name]) => !NO_COMPONENTS.has(name));
  return [
    { name: "node", version: process.versions.node, purl: `pkg:generic/node@${process.versions.node}`, licence: "MIT" },
    ...own.map(([name, version = ""]) => ({ name, version, purl: `pkg:generic/${name}@${version}` })),
  ];
}

export const libraryParts = (packages: readonly LibraryPackage[], processor: Processor): Part[] =>
  packages.map(({ name, version }) => ({
    ...{ name, version },
    purl: `pkg:deb/debian/${encodeURIComponent(name)}@${version}?arch=${PLATFORMS[processor].debian}`,
  }));

/** Returns an identifier that is the same for the same artifact. */
function uuidOf(sha256: string): string {
  const hex = createHash("sha256").update(`sbom of ${sha256}`).digest("hex");
  return [hex.slice(0, 8), hex.slice(8, 12), `5${hex.slice(13, 16)}`, `a${hex.slice(17, 20)}`, hex.slice(20, 32)].join(
    "-",
  );
}

/** Returns the components of an artifact as CycloneDX 1.6. */
export const cyclonedxOf = ({ name, sha256, parts, epoch }: Described): object => ({
  $schema: "http://cyclonedx.org/schema/bom-1.6.schema.json",
  bomFormat: "CycloneDX",
  specVersion: "1.6",
  serialNumber: `urn:uuid:${uuidOf(sha256)}`,
  version: 1,
  metadata: {
    timestamp: created(epoch),
    component: {
      ...{ type: "application", "bom-ref": "sealift", name, version: packageJson.version },
      ...{ purl: npmUrl("sealift", packageJson.version), licenses: [{ license: { id: packageJson.license } }] },
      hashes: [{ alg: "SHA-256", content: sha256 }],
    },
  },
  components: parts.map(({ name, version, purl, licence }) => {
    const [, group, base = name] = /^(@[^/]+)\/(.+)$/.exec(name) ?? [];
    return {
      ...{ type: "library", "bom-ref": purl, ...(group !== undefined && { group }), name: base, version, purl },
      ...(licence !== undefined && { licenses: [{ license: { id: licence } }] }),
    };
  }),
});

/** Returns the components of an artifact as SPDX 2.3. */
export function spdxOf({ name, sha256, parts, epoch }: Described): object {
  const packaged = (id: string, { name, version, purl, licence = "NOASSERTION" }: Part, more: object = {}) => ({
    ...{ SPDXID: `SPDXRef-${id}`, name, versionInfo: version, downloadLocation: "NOASSERTION", filesAnalyzed: false },
    ...{ licenseConcluded: "NOASSERTION", licenseDeclared: licence, copyrightText: "NOASSERTION" },
    externalRefs: [{ referenceCategory: "PACKAGE-MANAGER", referenceType: "purl", referenceLocator: purl }],
    ...more,
  });
  const { version, license: licence } = packageJson;
  const own = { name, version, licence, purl: npmUrl("sealift", version) };
  const relation = (from: string, relationshipType: string, to: string) => ({
    ...{ spdxElementId: `SPDXRef-${from}`, relationshipType, relatedSpdxElement: `SPDXRef-${to}` },
  });
  return {
    spdxVersion: "SPDX-2.3",
    dataLicense: "CC0-1.0",
    SPDXID: "SPDXRef-DOCUMENT",
    name,
    documentNamespace: `${HOME}/spdx/${name}-${uuidOf(sha256)}`,
    creationInfo: { created: created(epoch), creators: [`Organization: ${packageJson.author}`] },
    packages: [
      packaged("Sealift", own, { checksums: [{ algorithm: "SHA256", checksumValue: sha256 }] }),
      ...parts.map((part, index) => packaged(`Package-${index}`, part)),
    ],
    relationships: [
      relation("DOCUMENT", "DESCRIBES", "Sealift"),
      ...parts.map((_, index) => relation("Sealift", "CONTAINS", `Package-${index}`)),
    ],
  };
}

/** Origin of a build: its sources and tools. */
export interface BuildFacts {
  /** Commit of the sources. */
  commit: string;
  /** SHA-256 of each Node.js that went in, by its platform. */
  nodes: Readonly<Record<string, string>>;
  /** SHA-256 of package-lock.json, which names every package with its digest. */
  lock: string;
}

/** Returns an in-toto statement of SLSA provenance. In GitHub it names the workflow and the run. */
export function provenanceOf({ name, sha256 }: Described, { commit, nodes, lock }: BuildFacts): object {
  const { GITHUB_WORKFLOW_REF: workflow, GITHUB_RUN_ID: run, GITHUB_REPOSITORY: repository } = process.env;
  return {
    _type: "https://in-toto.io/Statement/v1",
    subject: [{ name, digest: { sha256 } }],
    predicateType: PROVENANCE_TYPE,
    predicate: {
      buildDefinition: {
        buildType: `${HOME}/blob/v${packageJson.version}/CONTRIBUTING.md#release`,
        externalParameters: { version: packageJson.version, script: "scripts/release.ts" },
        resolvedDependencies: [
          { uri: `git+${HOME}@refs/tags/v${packageJson.version}`, digest: { gitCommit: commit } },
          { uri: "package-lock.json", digest: { sha256: lock } },
          ...Object.entries(nodes).map(([platform, sha256]) => ({
            ...{ uri: npmUrl(`node-${platform}`, process.versions.node), digest: { sha256 } },
          })),
        ],
      },
      runDetails: {
        builder: {
          id: workflow === undefined ? `${HOME}/blob/main/scripts/release.ts` : `https://github.com/${workflow}`,
        },
        ...(run !== undefined && {
          metadata: { invocationId: `https://github.com/${repository ?? ""}/actions/runs/${run}` },
        }),
      },
    },
  };
}
