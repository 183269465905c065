/** Verifies the files of a release as those who install them would, without a network. */
import { createHash } from "node:crypto";
import {
  chmodSync,
  copyFileSync,
  createReadStream,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { Spec, Validation } from "@cyclonedx/cyclonedx-library";
import { extract } from "tar-stream";
import { readBill } from "../../lib/artifact/statements/bill.ts";
import packageJson from "../../package.json" with { type: "json" };
import { isOfThisMachine, PLATFORMS } from "../build/platforms.ts";
import { step } from "../build/step.ts";
import { namesExecutables } from "./action.ts";
import { ABOUT, type Artifact, ARTIFACTS, DEBIAN_VERSION, PUBLIC_KEY, SUMS, SUMS_SIGNATURE } from "./files.ts";
import { verifySignature } from "./key.ts";
import { digestOf } from "./make.ts";
import { run } from "./run.ts";
import { verifyUpgrade } from "./verify-upgrade.ts";

const requireThat: (condition: boolean, otherwise: string) => asserts condition = (condition, otherwise) => {
  if (!condition) throw new Error(otherwise);
};

const json = (file: string): unknown => JSON.parse(readFileSync(file, "utf8"));

/** Verifies the signature of the digests, and each digest. Returns them by name. */
async function verifySums(files: string): Promise<ReadonlyMap<string, string>> {
  verifySignature(join(files, PUBLIC_KEY), join(files, SUMS_SIGNATURE), join(files, SUMS));
  const lines = readFileSync(join(files, SUMS), "utf8").trimEnd().split("\n");
  const sums = new Map(lines.map((line) => [line.slice(66), line.slice(0, 64)]));
  for (const name of globSync("*", { cwd: files }).filter((name) => !name.startsWith(SUMS)))
    requireThat(sums.get(name) === (await digestOf(join(files, name))), `${name} is not what ${SUMS} says.`);
  for (const { name } of ARTIFACTS)
    for (const wanted of [name, ...Object.values(ABOUT).map((ending) => name + ending)])
      requireThat(sums.has(wanted), `${SUMS} does not name ${wanted}.`);
  return sums;
}

/** Validator of those who made the format: ours in `readBill` is more lenient. */
const CYCLONEDX = new Validation.JsonStrictValidator(Spec.Version.v1dot6);

interface SpdxDocument {
  packages: { name: string; checksums?: { checksumValue: string }[] }[];
}
interface CyclonedxDocument {
  metadata: { component: { hashes: { content: string }[] } };
}
interface InTotoStatement {
  subject: { name: string; digest: { sha256: string } }[];
}

/** Verifies that what is said of an artifact is about its bytes, and that a hub and the validator take its SBOM. */
async function verifyStatements(files: string, { name }: Artifact, sha256: string): Promise<void> {
  const { metadata } = json(join(files, name + ABOUT.cyclonedx)) as CyclonedxDocument;
  const { packages } = json(join(files, name + ABOUT.spdx)) as SpdxDocument;
  const { subject } = json(join(files, name + ABOUT.provenance)) as InTotoStatement;
  const named = [
    metadata.component.hashes[0]?.content,
    packages[0]?.checksums?.[0]?.checksumValue,
    subject[0]?.digest.sha256,
  ];
  requireThat(
    named.every((digest) => digest === sha256),
    `What is said of ${name} is about other bytes.`,
  );
  const fault: unknown = await CYCLONEDX.validate(readFileSync(join(files, name + ABOUT.cyclonedx), "utf8"));
  requireThat(fault === null, `The SBOM of ${name} is no CycloneDX 1.6: ${JSON.stringify(fault)}`);
  const counts = await Promise.all(
    [ABOUT.cyclonedx, ABOUT.spdx].map((ending) => readBill(createReadStream(join(files, name + ending)))),
  );
  // SPDX has the artifact itself among the packages.
  requireThat(
    counts[0]!.components === counts[1]!.components - 1,
    `The two SBOMs of ${name} name different components.`,
  );
}

interface Descriptor {
  digest: string;
  size: number;
  platform?: { architecture: string };
}

/** Verifies that an image is whole, and for its processors. */
async function verifyImage(file: string, { name, processors }: Artifact): Promise<void> {
  const blobs = new Map<string, { size: number; bytes: Buffer | undefined }>();
  let top = "";
  for await (const entry of createReadStream(file).pipe(extract())) {
    const hash = createHash("sha256");
    const kept: Buffer[] = [];
    let size = 0;
    for await (const chunk of entry as AsyncIterable<Buffer>) {
      hash.update(chunk);
      size += chunk.length;
      if (size < 100_000) kept.push(Buffer.from(chunk));
    }
    if (entry.header.name === "index.json") top = Buffer.concat(kept).toString();
    if (!entry.header.name.startsWith("blobs/sha256/") || entry.header.type !== "file") continue;
    const digest = hash.digest("hex");
    requireThat(basename(entry.header.name) === digest, `${name} has a blob that is not ${entry.header.name}.`);
    blobs.set(`sha256:${digest}`, { size, bytes: size < 100_000 ? Buffer.concat(kept) : undefined });
  }
  const found: string[] = [];
  const follow = (descriptor: Descriptor): void => {
    const blob = blobs.get(descriptor.digest);
    requireThat(blob?.size === descriptor.size, `${name} lacks the blob ${descriptor.digest}.`);
    if (descriptor.platform !== undefined) found.push(descriptor.platform.architecture);
    if (blob.bytes === undefined) return;
    const {
      manifests = [],
      config,
      layers = [],
    } = JSON.parse(blob.bytes.toString()) as {
      manifests?: Descriptor[];
      config?: Descriptor;
      layers?: Descriptor[];
    };
    for (const next of [...manifests, ...layers, ...(config?.digest === undefined ? [] : [config])]) follow(next);
  };
  for (const manifest of (JSON.parse(top) as { manifests: Descriptor[] }).manifests) follow(manifest);
  const wanted = processors.map((processor) => PLATFORMS[processor].debian);
  requireThat(String(found) === String(wanted), `${name} is for ${String(found)}, not for ${String(wanted)}.`);
}

/** Has apt itself take the packages of each processor from the repository. */
function verifyRepository(repository: string, sums: ReadonlyMap<string, string>): Promise<void> {
  return inFolder(async (folder) => {
    for (const { name, kind, processors } of ARTIFACTS) {
      if (kind !== "debian") continue;
      const { debian } = PLATFORMS[processors[0]!];
      const place = join(folder, debian);
      mkdirSync(join(place, "lists/partial"), { recursive: true });
      const sources = readFileSync(join(repository, "sealift.sources"), "utf8")
        .replace("URIS", `file:${repository}`)
        .replace(/(?<=Signed-By: ).*/, join(repository, PUBLIC_KEY));
      writeFileSync(join(place, "sealift.sources"), sources);
      const settings = {
        ...{ "APT::Architecture": debian, "APT::Architectures": debian, "APT::Sandbox::User": "" },
        ...{ "Dir::State": place, "Dir::State::status": "/dev/null", "Dir::Cache": place },
        ...{ "Dir::Etc::sourcelist": join(place, "sealift.sources"), "Dir::Etc::sourceparts": "/dev/null" },
      };
      const options = Object.entries(settings).flatMap(([key, value]) => ["-o", `${key}=${value}`]);
      run(["apt-get", ...options, "update", "--error-on=any"], place);
      run(["apt-get", ...options, "download", `sealift=${DEBIAN_VERSION}`], place);
      requireThat((await digestOf(join(place, name))) === sums.get(name), `apt got another ${name}.`);
    }
  });
}

async function inFolder(work: (folder: string) => void | Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "sealift-verify-"));
  try {
    await work(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Installs the package as npm does without a registry, and has the programs of this machine check themselves. */
function verifyPrograms(files: string): Promise<void> {
  return inFolder((folder) => {
    // The user of sandboxes reads the programs, as in /usr/local/bin.
    chmodSync(folder, 0o755);
    run(["npm", "install", "--offline", "--global", "--prefix", folder, join(files, ARTIFACTS[0]!.name)], folder);
    const programs = [join(folder, "bin/sealift")];
    for (const { name, kind, processors } of ARTIFACTS)
      if (kind === "executable" && isOfThisMachine(processors[0]!)) {
        copyFileSync(join(files, name), join(folder, name));
        programs.push(join(folder, name));
      }
    for (const program of programs) {
      requireThat(
        run([program, "--version"], folder) === `${packageJson.version}\n`,
        `${program} is of another version.`,
      );
      run([program, "self-check"], folder);
    }
  });
}

function verifyDebian(file: string, { processors }: Artifact): void {
  const fields = run(["dpkg-deb", "--show", "--showformat=${Version} ${Architecture}", file], ".");
  const wanted = `${DEBIAN_VERSION} ${PLATFORMS[processors[0]!].debian}`;
  requireThat(fields === wanted, `${file} is ${fields}, not ${wanted}.`);
}

/** Verifies a release that `makeRelease` has made. @throws Error that says what is wrong with which file */
export async function verifyRelease(release: string): Promise<void> {
  const folder = resolve(release);
  const files = join(folder, "files");
  const sums = await step("verify the digests and their signature", () => verifySums(files));
  await step("verify what is said of each file", async () => {
    for (const artifact of ARTIFACTS) await verifyStatements(files, artifact, sums.get(artifact.name)!);
  });
  await step("verify the images and packages", async () => {
    for (const artifact of ARTIFACTS)
      if (artifact.kind === "image") await verifyImage(join(files, artifact.name), artifact);
      else if (artifact.kind === "debian") verifyDebian(join(files, artifact.name), artifact);
  });
  await step("verify the apt repository with apt", () => verifyRepository(join(folder, "apt"), sums));
  requireThat(
    namesExecutables(join(folder, "action"), readFileSync(join(files, SUMS), "utf8")),
    "The action installs other executables than those of the release.",
  );
  await step("run the programs", () => verifyPrograms(files));
  await step("upgrade from a hub, and go back", () => inFolder((work) => verifyUpgrade(files, work)));
}
