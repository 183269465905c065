/** Libraries of Debian that the single executable needs where there is nothing else, as in the OCI image. */
import { execFileSync } from "node:child_process";
import { globSync, mkdtempSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { binutil, isOfThisMachine, PLATFORMS, type Processor } from "./platforms.ts";

/** Debian's packages of the libraries. */
const PACKAGES = ["libc6", "libgcc-s1", "libstdc++6", "libatomic1"];

/** Package of Debian whose files are in the image. */
export interface LibraryPackage {
  name: string;
  version: string;
  copyright: Buffer;
}

/** Libraries that a program needs, by the path that it looks for them at (without its first slash). */
export interface Libraries {
  packages: readonly LibraryPackage[];
  files: ReadonlyMap<string, Buffer>;
}

/** Place of a processor's libraries on this machine. */
interface Source {
  /** Folders of libraries. */
  folders: readonly string[];
  version: (name: string) => string;
  /** File of a package's licences. */
  copyright: (name: string) => string;
}

const run = (program: string, ...words: string[]): string => execFileSync(program, words, { encoding: "utf8" });

const installed = (folders: readonly string[], ending: string): Source => ({
  folders,
  version: (name) => run("dpkg-query", "--show", "--showformat=${Version}", name + ending),
  copyright: (name) => `/usr/share/doc/${name}${ending}/copyright`,
});

/** Unpacks Debian packages of a folder below another one. */
function unpacked(debs: string, root: string, triplet: string): Source {
  const versions = new Map<string, string>();
  for (const deb of globSync(join(debs, "*.deb"))) {
    const [name = "", version = ""] = run("dpkg-deb", "--show", "--showformat=${Package} ${Version}", deb).split(" ");
    run("dpkg-deb", "--extract", deb, root);
    versions.set(name, version);
  }
  const missing = PACKAGES.filter((name) => !versions.has(name));
  if (missing.length > 0) throw new Error(`${debs} has no package ${missing.join(", ")}.`);
  return {
    folders: [join(root, "lib", triplet), join(root, "usr/lib", triplet)],
    version: (name) => versions.get(name)!,
    copyright: (name) => join(root, `usr/share/doc/${name}/copyright`),
  };
}

/** Returns the names of the libraries that a program or library names, and the path of its loader. */
function named(file: string, readelf: string): { libraries: string[]; loader: string | undefined } {
  const text = run(readelf, "--dynamic", "--program-headers", "--wide", file);
  return {
    libraries: [...text.matchAll(/\(NEEDED\).*\[(.+)\]/g)].map(([, name]) => name!),
    loader: /program interpreter: \/(.+)\]/.exec(text)?.[1],
  };
}

function collect(program: string, processor: Processor, { folders, version, copyright }: Source): Libraries {
  const { triplet } = PLATFORMS[processor];
  const readelf = binutil("readelf", processor);
  const { loader = "", libraries } = named(program, readelf);
  const files = new Map<string, Buffer>();
  const wanted = [basename(loader), ...libraries];
  for (const name of wanted) {
    const path = name === basename(loader) ? loader : `lib/${triplet}/${name}`;
    if (files.has(path)) continue;
    const [file] = globSync(folders.map((folder) => join(folder, name)));
    if (file === undefined) throw new Error(`The library ${name} of ${processor} is in none of ${folders.join(", ")}.`);
    files.set(path, readFileSync(realpathSync(file)));
    wanted.push(...named(file, readelf).libraries);
  }
  const packages = PACKAGES.map((name) => ({ name, version: version(name), copyright: readFileSync(copyright(name)) }));
  return { packages, files };
}

/**
 * Collects the libraries of a program, with the loader that the kernel starts for it: of a processor that is not this
 * machine's from Debian's packages for it, else from those for compilers, which get no security updates.
 *
 * @param debs folder of the packages for the processor, such as `npm run build:libraries` fetches
 */
export function librariesOf(program: string, processor: Processor, debs?: string): Libraries {
  const { triplet, cross } = PLATFORMS[processor];
  if (debs === undefined)
    return collect(
      program,
      processor,
      isOfThisMachine(processor)
        ? installed([`/lib/${triplet}`, `/usr/lib/${triplet}`], "")
        : installed([`/usr/${triplet}/lib`], cross),
    );
  const root = mkdtempSync(join(tmpdir(), "sealift-libraries-"));
  try {
    return collect(program, processor, unpacked(debs, root, triplet));
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

/**
 * Fetches packages from the Debian that this machine installs from, and changes nothing else. Needs apt and a network.
 *
 * @param names packages, or those that the answers of `apt-cache` with the same options name
 */
export function fetchPackages(
  folder: string,
  processor: Processor,
  names: readonly string[] | ((cache: (...words: string[]) => string) => readonly string[]),
): void {
  const { debian } = PLATFORMS[processor];
  const state = mkdtempSync(join(tmpdir(), "sealift-apt-"));
  const settings = {
    "APT::Architecture": debian,
    "APT::Architectures": debian,
    "Dir::State": state,
    "Dir::State::status": "/dev/null",
    "Dir::Cache": state,
    "APT::Sandbox::User": "",
  };
  const options = Object.entries(settings).flatMap(([name, value]) => ["-o", `${name}=${value}`]);
  const get = (...words: string[]): unknown =>
    execFileSync("apt-get", [...options, ...words], { cwd: folder, stdio: ["ignore", "ignore", "inherit"] });
  try {
    get("update");
    get(
      "download",
      ...(typeof names === "function" ? names((...words) => run("apt-cache", ...options, ...words)) : names),
    );
  } finally {
    rmSync(state, { recursive: true, force: true });
  }
}

/** Fetches the packages of the libraries, with the one that has the licences of their compiler. */
export const fetchLibraries = (folder: string, processor: Processor): void =>
  fetchPackages(folder, processor, (cache) => [
    ...PACKAGES,
    ...(/gcc-\d+-base/.exec(cache("depends", "libgcc-s1")) ?? []),
  ]);
