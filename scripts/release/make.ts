/** Makes everything that a release consists of, in a folder: `files`, `apt` and `action`. Needs no network. */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { cpSync, createReadStream, globSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { librariesOf } from "../build/libraries.ts";
import { type Image, layoutOf, makeImage, tar } from "../build/oci-image.ts";
import { buildTime, type Processor } from "../build/platforms.ts";
import { step } from "../build/step.ts";
import { writeAction } from "./action.ts";
import { addToRepository } from "./apt.ts";
import { ABOUT, type Artifact, ARTIFACTS, PROCESSORS, PUBLIC_KEY, SUMS, SUMS_SIGNATURE } from "./files.ts";
import type { ReleaseKey } from "./key.ts";
import { bundledParts, cyclonedxOf, libraryParts, nodeParts, type Part, provenanceOf, spdxOf } from "./statements.ts";

/** Inputs of a release beside the checkout. */
export interface Ingredients {
  /** Node.js of each processor: its program. */
  nodes: Readonly<Record<Processor, string>>;
  /** Folder with a folder of Debian packages for each processor; undefined for libraries of this machine. */
  libraries: Readonly<Partial<Record<Processor, string>>>;
  key: ReleaseKey;
  /** Repository of earlier releases, which the new packages are added to; undefined for a new one. */
  apt: string | undefined;
  /** Whether packages and images are compressed, which takes most of the time. */
  isCompressed: boolean;
}

/** SHA-256 of a file, in hexadecimal digits. */
export async function digestOf(file: string): Promise<string> {
  const hash = createHash("sha256");
  await pipeline(createReadStream(file), hash);
  return hash.digest("hex");
}

const script = (name: string, ...words: string[]): unknown =>
  execFileSync(process.execPath, [`scripts/build/${name}.ts`, ...words], { stdio: ["ignore", "ignore", "inherit"] });

const write = (file: string, content: object): void =>
  writeFileSync(file, `${JSON.stringify(content, undefined, 2)}\n`);

const artifactsOf = (kind: Artifact["kind"], processor: Processor): string =>
  ARTIFACTS.find((artifact) => artifact.kind === kind && artifact.processors[0] === processor)!.name;

/** Makes the OCI images of both processors and their index. */
async function writeImages(files: string, { libraries, isCompressed }: Ingredients, epoch: number): Promise<void> {
  const images = new Map<Processor, Image>();
  for (const processor of PROCESSORS) {
    const program = join(files, artifactsOf("executable", processor));
    images.set(processor, await makeImage({ program, processor, epoch, debs: libraries[processor], isCompressed }));
  }
  for (const { kind, name, processors } of ARTIFACTS)
    if (kind === "image")
      writeFileSync(join(files, name), await tar(layoutOf(processors.map((one) => images.get(one)!)), epoch));
}

/** Returns the components of an artifact. */
function partsOf(files: string, { kind, processors }: Artifact, libraries: Ingredients["libraries"]): Part[] {
  const parts = [...bundledParts(), ...(kind === "package" ? [] : nodeParts())];
  if (kind !== "image") return parts;
  return [
    ...parts,
    ...processors.flatMap((processor) =>
      libraryParts(
        librariesOf(join(files, artifactsOf("executable", processor)), processor, libraries[processor]).packages,
        processor,
      ),
    ),
  ];
}

/** Writes what is said of each artifact, beside it. */
async function writeStatements(files: string, { nodes, libraries }: Ingredients, epoch: number): Promise<void> {
  const build = {
    commit: execFileSync("git", ["rev-parse", "HEAD"], { encoding: "utf8" }).trim(),
    lock: await digestOf("package-lock.json"),
    nodes: Object.fromEntries(
      await Promise.all(PROCESSORS.map(async (processor) => [`linux-${processor}`, await digestOf(nodes[processor])])),
    ) as Record<string, string>,
  };
  for (const artifact of ARTIFACTS) {
    const { name } = artifact;
    const described = {
      ...{ name, epoch, sha256: await digestOf(join(files, name)), parts: partsOf(files, artifact, libraries) },
    };
    write(join(files, name + ABOUT.cyclonedx), cyclonedxOf(described));
    write(join(files, name + ABOUT.spdx), spdxOf(described));
    write(join(files, name + ABOUT.provenance), provenanceOf(described, build));
  }
}

/** Writes the digest of each file, and signs the list. */
async function writeSums(files: string, key: ReleaseKey): Promise<void> {
  key.write(join(files, PUBLIC_KEY));
  const names = globSync("*", { cwd: files }).filter((name) => !name.startsWith(SUMS));
  const lines = await Promise.all(
    names.toSorted().map(async (name) => `${await digestOf(join(files, name))}  ${name}\n`),
  );
  writeFileSync(join(files, SUMS), lines.join(""));
  key.sign(join(files, SUMS), join(files, SUMS_SIGNATURE));
}

/** Makes the release of this checkout, whose `dist/` is built. @param folder an empty one */
export async function makeRelease(folder: string, ingredients: Ingredients): Promise<void> {
  const { nodes, key, isCompressed } = ingredients;
  const [files, apt] = [join(folder, "files"), join(folder, "apt")];
  const epoch = buildTime();
  for (const place of [files, apt]) mkdirSync(place, { recursive: true });
  if (ingredients.apt !== undefined) cpSync(ingredients.apt, apt, { recursive: true });
  await step("pack the package", () => script("pack", files));
  for (const processor of PROCESSORS) {
    script("one-file", files, "--node", nodes[processor], "--platform", `linux-${processor}`);
    script("deb", files, "--arch", processor, ...(isCompressed ? [] : ["--compression", "none"]));
  }
  await step("make the images", () => writeImages(files, ingredients, epoch));
  await step("say what each file consists of, and where it was built", () =>
    writeStatements(files, ingredients, epoch),
  );
  const debs = ARTIFACTS.filter(({ kind }) => kind === "debian").map(({ name }) => join(files, name));
  await step("make the apt repository", () => addToRepository(apt, debs, key, epoch));
  await step("sign the digests", () => writeSums(files, key));
  await step("make the action's repository", () =>
    writeAction(join(folder, "action"), readFileSync(join(files, SUMS), "utf8")),
  );
}
