import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Bundled } from "./bundle.ts";

/** Package of the registry that is part of the bundles. */
export interface BundledPackage {
  name: string;
  version: string;
  licence: string;
  /** Texts that its licence requires to be passed on. */
  texts: string[];
}

/** List of the bundled packages without their texts, which an SBOM is made of. Nothing that is published has it. */
export const BUNDLED_FILE = "dist/.bundled.json";

/** Licences that allow passing on a copy together with the licence's text. */
const ALLOWED = new Set([
  "0BSD",
  "Apache-2.0",
  "BSD-2-Clause",
  "BSD-3-Clause",
  "BlueOak-1.0.0",
  "ISC",
  "MIT",
  "Unlicense",
]);

const FOLDER = /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/;

const nameOf = (specifier: string): string => specifier.split("/", specifier.startsWith("@") ? 2 : 1).join("/");

/**
 * Lists the packages that files of a bundle come from, by name and version.
 *
 * @throws Error for a licence that is not known to allow it
 */
export function bundledPackages(inputs: Bundled["inputs"]): BundledPackage[] {
  const folders = new Set(Object.keys(inputs).flatMap((path) => FOLDER.exec(path)?.[0] ?? []));
  const packages = new Map<string, BundledPackage>();
  for (const folder of folders) {
    const { name, version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as {
      name: string;
      version: string;
      license?: string;
    };
    if (license === undefined || !ALLOWED.has(license))
      throw new Error(`The licence of ${name} is ${license ?? "not named"}: may it be part of the package?`);
    const texts = readdirSync(folder)
      .filter((file) => /^(?:licen[cs]e|notice|copying)/i.test(file))
      .map((file) => readFileSync(join(folder, file), "utf8").trim());
    packages.set(`${name}@${version}`, { name, version, licence: license, texts });
  }
  return [...packages.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

/** Renders the file of third-party licences. */
export function licencesText(packages: readonly BundledPackage[]): string {
  const sections = packages.map(({ name, version, licence, texts }) =>
    [`${name} ${version} (${licence})`, ...texts].join("\n\n"),
  );
  return `Sealift contains these packages.\n\n${sections.join(`\n\n${"-".repeat(80)}\n\n`)}\n`;
}

/** Compares what package.json names with what is bundled. Returns a sentence for each fault. */
export function dependencyFaults(
  inputs: Bundled["inputs"],
  { dependencies }: { dependencies: Readonly<Record<string, string>> },
): string[] {
  const own = Object.entries(inputs).filter(([path]) => !path.includes("node_modules/"));
  const imported = new Set(
    own.flatMap(([, { imports }]) =>
      imports.flatMap(({ original = "" }) => (/^[.#]|^node:/.test(original) ? [] : nameOf(original))),
    ),
  );
  imported.delete("");
  return [
    ...Object.keys(dependencies)
      .filter((name) => !imported.has(name))
      .map((name) => `package.json: nothing in the programs imports the dependency ${name}.`),
    ...[...imported]
      .filter((name) => !(name in dependencies))
      .map((name) => `package.json: the programs import ${name}, which is not among the dependencies.`),
  ];
}
