/** Component of a bill of materials. Missing texts are empty. */
export interface Component {
  /** Name with its group, as far as the document has it there: `@babel/core`, `org.apache.logging/log4j-core`. */
  name: string;
  version: string;
  /** Package URL. */
  purl: string;
}

export type Texts = Readonly<Record<string, string | undefined>>;

/** Format of bills of materials in JSON: where its components are, and what makes one. */
export interface BillFormat {
  name: string;
  /** Key of the document with the list of components. */
  list: string;
  /** Texts of an entry of the list that are read. */
  texts: ReadonlySet<string>;
  /** Key of an entry with a list of entries of its own. */
  nested?: string;
  /** Key of an entry with a list of its identifiers, and the texts of one that are read. */
  identifiers?: { list: string; texts: ReadonlySet<string> };
  /** Returns the package URL that an identifier is; undefined for one of another kind. */
  purlOf?: (identifier: Texts) => string | undefined;
  /** Whether an entry is a component; the list of some formats has others, too. */
  isComponent: (entry: Texts) => boolean;
  /** Texts without which a component is refused. */
  required: readonly string[];
  /** Returns a component. @param purl that of its identifiers, empty where none is one */
  componentOf: (entry: Texts, purl: string) => Component;
  /** Whether a document says that it is of this format. */
  isDocument: (root: Texts) => boolean;
  /** Versions that are read, by what the document says, with their predicate types. */
  versions: Readonly<Record<string, string>>;
  /** Text of the document that names its version. */
  version: string;
}

const cyclonedx: BillFormat = {
  name: "CycloneDX",
  list: "components",
  texts: new Set(["type", "group", "name", "version", "purl"]),
  nested: "components",
  isComponent: () => true,
  required: ["type", "name"],
  componentOf: ({ group = "", name = "", version = "", purl = "" }) => ({
    name: group === "" ? name : `${group}/${name}`,
    version,
    purl,
  }),
  isDocument: ({ bomFormat }) => bomFormat === "CycloneDX",
  version: "specVersion",
  versions: { "1.6": "https://cyclonedx.org/bom/1.6", "1.7": "https://cyclonedx.org/bom/1.7" },
};

const spdx2: BillFormat = {
  name: "SPDX",
  list: "packages",
  texts: new Set(["name", "versionInfo"]),
  identifiers: { list: "externalRefs", texts: new Set(["referenceType", "referenceLocator"]) },
  purlOf: ({ referenceType, referenceLocator }) => (referenceType === "purl" ? referenceLocator : undefined),
  isComponent: () => true,
  required: ["name"],
  componentOf: ({ name = "", versionInfo = "" }, purl) => ({ name, version: versionInfo, purl }),
  isDocument: ({ spdxVersion }) => spdxVersion !== undefined,
  version: "spdxVersion",
  versions: { "SPDX-2.3": "https://spdx.dev/Document/v2.3" },
};

/** Classes of SPDX 3.0 that are packages. */
const PACKAGES: ReadonlySet<string | undefined> = new Set([
  "software_Package",
  "ai_AIPackage",
  "dataset_DatasetPackage",
]);

const spdx3: BillFormat = {
  name: "SPDX",
  list: "@graph",
  texts: new Set(["type", "@type", "name", "software_packageVersion", "software_packageUrl"]),
  identifiers: { list: "externalIdentifier", texts: new Set(["externalIdentifierType", "identifier"]) },
  purlOf: ({ externalIdentifierType, identifier }) =>
    externalIdentifierType === "packageUrl" ? identifier : undefined,
  isComponent: ({ type, "@type": aliased }) => PACKAGES.has(type ?? aliased),
  required: ["name"],
  componentOf: ({ name = "", software_packageVersion: version = "", software_packageUrl: url = "" }, purl) => ({
    ...{ name, version },
    purl: url === "" ? purl : url,
  }),
  isDocument: ({ "@context": context }) => context?.startsWith("https://spdx.org/rdf/") === true,
  version: "@context",
  versions: {
    "https://spdx.org/rdf/3.0.0/spdx-context.jsonld": "https://spdx.dev/Document/v3.0",
    "https://spdx.org/rdf/3.0.1/spdx-context.jsonld": "https://spdx.dev/Document/v3.0",
  },
};

/** Formats that are read; a document is of one of them. */
export const BILL_FORMATS: readonly BillFormat[] = [cyclonedx, spdx2, spdx3];

/** Names of the formats, for people. */
export const BILL_FORMATS_TEXT = "CycloneDX 1.6 or 1.7, or SPDX 2.3 or 3.0, in JSON";
