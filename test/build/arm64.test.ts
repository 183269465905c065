// Only in test:all: every program runs under an emulator, two minutes of two processors.
import { execFileSync } from "node:child_process";
import { copyFileSync, cpSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import t from "tap";
import packageJson from "../../package.json" with { type: "json" };
import { fetchLibraries } from "../../scripts/build/libraries.ts";
import { IS_NIGHTLY } from "../support/effort.ts";
import { installedFiles, World } from "../support/host/world.ts";
import { Arm64Machine } from "../support/programs/arm64.ts";
import { fetchedNode } from "../support/programs/fetched-node.ts";
import { needs } from "../support/programs/optional.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const skip =
  needs("qemu-aarch64-static", "aarch64-linux-gnu-strip", "arm64-libstdc", "arm64-libatomic", "tar") ||
  (process.getuid?.() !== 0 && "needs root");
const SELF_CHECK = ["files", "sandbox", "hub", "publish", "deploy", "watch"].map((check) => `${check} ok`);

t.test("an arm64 machine with nothing but libc and its like", { skip, timeout: 1_500_000, jobs: 3 }, async (t) => {
  const folder = temporaryFolder(t);
  const node = fetchedNode(folder, "linux-arm64", process.versions.node);
  const build = (script: string, ...words: string[]): Buffer =>
    execFileSync(process.execPath, [`scripts/build/${script}.ts`, folder, ...words], { stdio: "pipe" });
  build("one-file", "--node", node, "--platform", "linux-arm64");
  build("pack");
  const machine = new Arm64Machine(join(folder, "machine"));
  copyFileSync(join(folder, `sealift-${packageJson.version}-linux-arm64`), join(machine.root, "usr/bin/sealift"));
  copyFileSync(node, join(machine.root, "usr/bin/node"));
  const installed = "/usr/lib/sealift";
  mkdirSync(join(machine.root, installed), { recursive: true });
  const unpack = ["--extract", "--strip-components=1", "--directory", join(machine.root, installed)];
  execFileSync("tar", [...unpack, "--file", join(folder, `sealift-${packageJson.version}.tgz`)]);

  const program = (name: string): string[] => ["/usr/bin/node", `${installed}/dist/bin/${name}.js`];
  const check = async (...words: string[]): Promise<string[]> => {
    const { stdout, stderr } = await machine.run({}, ...words, "self-check", "--json");
    const lines = stdout.trim().split("\n");
    return lines.map((line) => {
      const { check = "end", status, message } = JSON.parse(line) as Record<string, string>;
      return status === "ok" || check === "end" ? `${check} ${status}` : `${check} ${status}: ${message} ${stderr}`;
    });
  };

  t.test("Node.js there is that of arm64, and loads no code of another platform", async (t) => {
    const script = `const { sharedObjects, header } = process.report.getReport();
      console.log(header.arch, require("zlib").zstdDecompressSync(require("zlib").zstdCompressSync("sealed")).toString(),
        sharedObjects.filter((path) => path.endsWith(".node")).length)`;
    const { stdout } = await machine.run({}, "/usr/bin/node", "-e", script);
    t.equal(stdout, "arm64 sealed 0\n");
    const addons = execFileSync("find", [join(machine.root, installed), "-name", "*.node"], { encoding: "utf8" });
    t.equal(addons, "", "the package ships no native addon: compression and SQLite are those of Node.js");
  });

  t.test("the single executable passes its self-check", async (t) => {
    t.strictSame(await check("/usr/bin/sealift"), [...SELF_CHECK, "end success"]);
  });

  // Emulated, it takes a minute; the next test starts the package's programs each time.
  if (IS_NIGHTLY)
    t.test("the package passes its self-check", async (t) => {
      t.strictSame(await check(...program("sealift")), [...SELF_CHECK, "end success"]);
    });

  t.test("the package gets from a hub on x64 what was published there, file by file", async (t) => {
    await using world = await World.make();
    await world.publish("1.0.0");
    cpSync(world.path("keys"), join(machine.root, world.path("keys")), { recursive: true });
    const { code, stdout, stderr } = await machine.run(
      world.hostSecrets(),
      ...[...program("deploy-project"), ...world.deployArgs("/host")],
    );
    t.equal(code, 0, stderr + stdout);
    const here = world.path("host");
    await world.programs.run("deploy-project", world.deployArgs(here), world.hostSecrets());
    t.strictSame(await installedFiles(join(machine.root, "host")), await installedFiles(here));
  });

  t.test("its image has the libraries of Debian's own packages", { skip: needs("apt-get", "dpkg-deb") }, async (t) => {
    const [libraries, layout] = [join(folder, "libraries"), join(folder, "layout")];
    for (const place of [join(libraries, "arm64"), layout]) mkdirSync(place, { recursive: true });
    fetchLibraries(join(libraries, "arm64"), "arm64");
    build("oci", "--arch", "arm64", "--libraries", libraries, "--compression", "none");
    const tar = (...words: string[]): unknown => execFileSync("tar", ["--extract", ...words], { stdio: "pipe" });
    tar("--directory", layout, "--file", join(folder, `sealift-${packageJson.version}-oci-linux-arm64.tar`));
    const blob = <T>({ digest }: { digest: string }): T =>
      JSON.parse(readFileSync(join(layout, "blobs", digest.replace(":", "/")), "utf8")) as T;
    const { manifests } = JSON.parse(readFileSync(join(layout, "index.json"), "utf8")) as {
      manifests: [{ digest: string; platform: { architecture: string } }];
    };
    t.equal(manifests[0].platform.architecture, "arm64");
    const { layers } = blob<{ layers: [{ digest: string }] }>(manifests[0]);
    const image = new Arm64Machine(join(folder, "image"));
    // Those of the compiler, which the machine has, are not what is tried.
    rmSync(join(image.root, "lib"), { recursive: true });
    tar("--directory", image.root, "--file", join(layout, "blobs", layers[0].digest.replace(":", "/")));
    const { stdout, stderr } = await image.run({}, "/usr/bin/sealift", "--version");
    t.equal(stdout, `${packageJson.version}\n`, stderr);
  });

  t.test("its Debian package is one for arm64", { skip: needs("dpkg-deb") }, async (t) => {
    const deb = String(build("deb", "--arch", "arm64", "--compression", "none")).split(": ")[0]!;
    t.match(basename(deb), /_arm64\.deb$/);
    const field = execFileSync("dpkg-deb", ["--field", resolve(deb), "Architecture"], { encoding: "utf8" });
    t.equal(field, "arm64\n");
  });
});
