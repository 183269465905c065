// Only in test:all: what users install is built and installed.
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import {
  appendFileSync,
  chmodSync,
  copyFileSync,
  globSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text as textOf } from "node:stream/consumers";
import t from "tap";
import { SMALL_HEAP } from "../../bin/launch.ts";
import { DEFAULT_LIMITS } from "../../lib/artifact/limits.ts";
import { publicKeyOf } from "../../lib/artifact/signatures/ed25519.ts";
import { publishProject } from "../../lib/publisher/publish-project.ts";
import { ImageBuilder, runApplication } from "../support/host/container-host.ts";
import { joinMachines } from "../support/host/joining-machines.ts";
import { answerUnder } from "../support/host/served-root.ts";
import { createProject, startHub } from "../support/hub/harness.ts";
import { ContainerImage } from "../support/programs/container.ts";
import { needs } from "../support/programs/optional.ts";

const MIB = 1024 * 1024;
/** A file inside the executable. */
const HUB = "dist/bin/hub-serve.js";

t.test("the single executable is the whole product", { skip: needs("strip"), timeout: 900_000 }, (t) => {
  // Not below the checkout: nothing of it may be within reach.
  const folder = mkdtempSync(join(tmpdir(), "sealift-one-file-test-"));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  execFileSync(process.execPath, ["scripts/build/one-file.ts", folder], { stdio: "pipe" });
  const { version } = JSON.parse(readFileSync("package.json", "utf8")) as { version: string };
  const file = join(folder, `sealift-${version}-${process.platform}-${process.arch}`);
  const env = { PATH: folder, HOME: folder };
  const run = (program: string, ...words: string[]): string =>
    execFileSync(program, words, { encoding: "utf8", env, cwd: folder, stdio: ["ignore", "pipe", "pipe"] });

  t.test("it has its size and version", async (t) => {
    t.ok(statSync(file).size <= 140 * MIB, `${statSync(file).size} bytes`);
    t.equal(run(file, "--version"), `${version}\n`);
  });

  t.test("the name that it is called by says which program it is", async (t) => {
    for (const [name, usage] of [
      ["deploy-project", "Usage: deploy-project"],
      ["hub-serve", "Usage: hub-serve"],
      ["sealift", "sealift COMMAND --help"],
      ["constructor", "sealift COMMAND --help"],
    ] as const) {
      symlinkSync(file, join(folder, name));
      t.match(run(join(folder, name), "--help"), usage, name);
    }
  });

  t.test("a file inside is started by its name, and none outside", async (t) => {
    const inside = spawnSync(file, ["--sealift-run", HUB, "--help"], { encoding: "utf8", env });
    t.match(inside.stdout, "Usage: hub-serve");
    const outside = spawnSync(file, ["--sealift-run", "../../../../etc/passwd"], { encoding: "utf8", env });
    t.not(outside.status, 0);
  });

  t.test("a hub has its small heap, by whichever name it is started", async (t) => {
    const words = ["--data-dir", join(folder, "hub"), "--listen", "127.0.0.1:0"];
    for (const start of [[join(folder, "hub-serve")], [file, "hub", "serve"], [file, "--sealift-run", HUB]]) {
      const hub = spawn(start[0]!, [...start.slice(1), ...words], { env, stdio: ["ignore", "pipe", "inherit"] });
      const [line] = (await once(hub.stdout.setEncoding("utf8"), "data")) as [string];
      t.match(line, /^ready /);
      const flags = readFileSync(`/proc/${hub.pid}/cmdline`, "utf8");
      for (const flag of SMALL_HEAP.nodeFlags) t.match(flags, flag);
      hub.kill("SIGTERM");
      t.strictSame(await once(hub, "exit"), [0, null]);
    }
  });

  t.test("it writes a file while more of it waits", async (t) => {
    run(file, "plugin", "init", "greeter", "--directory", "many");
    for (let index = 0; index < 100; index += 1) writeFileSync(join(folder, `many/${index}.bin`), randomBytes(3000));
    run(file, "plugin", "pack", "many", "--out", "many.zip");
    t.ok(statSync(join(folder, "many.zip")).size > 300_000);
  });

  t.test("it runs an application", async (t) => {
    t.match(await answerUnder(t, [file]), /^\d+$/);
  });

  t.test("its units start it", async (t) => {
    const units = run(file, "systemd", "install", "--dry-run");
    for (const command of ["hub serve", "mirror serve", "runtime serve --config", "watch --config"])
      t.match(units, `ExecStart=${realpathSync(file)} ${command}`);
  });

  const isRoot = process.getuid?.() === 0;
  const builtTwice = (script: string): { path: string; digests: string[] } => {
    const digests: string[] = [];
    let path = "";
    while (digests.length < 2) {
      const printed = execFileSync(process.execPath, [script, folder, "--compression", "none"], {
        encoding: "utf8",
        stdio: "pipe",
        env: { ...process.env, SOURCE_DATE_EPOCH: "1790000000" },
      });
      path = printed.split(": ")[0]!;
      digests.push(createHash("sha256").update(readFileSync(path)).digest("hex"));
    }
    return { path, digests };
  };

  t.test("it takes the place of itself from a hub, and goes back", async (t) => {
    const hub = await startHub(t);
    const project = await createProject(hub);
    const seed = randomBytes(32);
    // The user of sandboxes reads the program, as in /usr/local/bin.
    chmodSync(folder, 0o755);
    const [site, source] = [join(folder, "site"), join(folder, "fleet")];
    for (const made of [site, join(source, "deployment"), join(source, "plugins/sealift")])
      mkdirSync(made, { recursive: true });
    const program = join(site, "sealift");
    copyFileSync(file, program);
    // The same program of other bytes: nothing reads what stands behind it.
    const next = join(source, `plugins/sealift/sealift-2.0.0-${process.platform}-${process.arch}`);
    copyFileSync(file, next);
    appendFileSync(next, "2.0.0");
    const steps = "steps: [{id: sealift, action: install_plugin, plugin: sealift}]";
    const files = {
      "deployment/install.yaml": `format_version: "1"\nproject_id: ${project.id}\nversion: 2.0.0\n${steps}\n`,
      "plugins/sealift/plugin.yaml": "name: sealift\nversion: 2.0.0\nexecution_mode: trusted\n",
    };
    for (const [path, text] of Object.entries(files)) writeFileSync(join(source, path), text);
    await publishProject({
      ...{ sourceRoot: source, projectId: project.id, projectName: "Sealift", version: "2.0.0", include: [], seed },
      ...{ limits: DEFAULT_LIMITS, signal: new AbortController().signal, emit: () => {}, level: 1 },
      hub: { hubUrl: hub.url, apiKey: project.key, timeoutMs: 60_000 },
    });
    const secrets = { SEALIFT_API_KEY: project.key, SEALIFT_DEPLOYMENT_CREDENTIAL: project.credential };
    const signer = Buffer.from(publicKeyOf(seed)).toString("hex");
    const words = ["upgrade", "--hub-url", hub.url, "--project-id", project.id, "--signer-public-key", signer];
    const begin = () =>
      spawn(program, [...words, "--project-root", "state", "--json"], {
        ...{ cwd: site, env: { ...env, ...secrets } },
        stdio: ["ignore", "pipe", "pipe"],
      });
    const killed = begin();
    for await (const text of killed.stdout.setEncoding("utf8")) if ((text as string).includes("authorize.ok")) break;
    killed.kill("SIGKILL");
    await once(killed, "close");
    t.equal(run(program, "--version"), `${version}\n`, "a killed upgrade leaves the program");

    const upgraded = begin();
    const [printed, told] = await Promise.all([textOf(upgraded.stdout), textOf(upgraded.stderr)]);
    t.match(
      JSON.parse(printed.trim().split("\n").at(-1)!),
      { outcome: "deployed", version: "2.0.0" },
      printed.slice(-900) + told,
    );
    const sizes = (): number[] =>
      [program, `${program}.former`].map((path) => statSync(path).size - statSync(file).size);
    t.strictSame(sizes(), [5, 0]);
    t.equal(run(program, "--version"), `${version}\n`);
    run(program, "upgrade", "back");
    t.strictSame(sizes(), [0, 5]);
  });

  t.test("without the executable, no Debian package is begun", async (t) => {
    const place = join(folder, "nothing");
    mkdirSync(place);
    const { status, stderr } = spawnSync(process.execPath, ["scripts/build/deb.ts", place], { encoding: "utf8" });
    t.equal(status, 1);
    t.match(stderr, /^\S+linux-\w+ is missing: `npm run build:sea` makes it/);
  });

  t.test("its Debian package is the same bytes each time", { skip: needs("dpkg-deb") }, async (t) => {
    const [first, second] = builtTwice("scripts/build/deb.ts").digests;
    t.strictSame(first, second);
  });

  const skip = needs("dpkg-deb", "systemd-analyze") || (!isRoot && "needs root");
  t.test("Debian installs, upgrades, removes and purges it", { skip }, async (t) => {
    const place = join(folder, "debian");
    mkdirSync(place);
    const deb = join(folder, globSync("*.deb", { cwd: folder })[0]!);
    const script = ["sh", "test/support/programs/debian-package.sh", place, deb];
    const printed = execFileSync("unshare", ["--mount", "--propagation", "private", ...script], {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    });
    t.strictSame(printed.trim().split("\n"), [
      version,
      "Deploy a project from a hub to this host",
      "sealift-watch",
      "sealift-watch /srv/sealift/plugins",
      "the units are well-formed",
      "# mine",
      "Disabled sealift-app@web.service: its program is gone",
      "no application starts without it",
      "removed",
      "its configuration is kept",
      "/etc/sealift/watch, with the keys of hosts; /etc/credstore/sealift-*",
      "purged",
      "data is left",
    ]);
  });

  const asRoot = needs("umoci", "crun", "git", "tar") || (!isRoot && "needs root");
  t.test("its OCI image is the same bytes each time", { skip: asRoot }, async (t) => {
    const { path, digests } = builtTwice("scripts/build/oci.ts");
    t.equal(digests[0], digests[1]);
    const place = join(folder, "image");
    mkdirSync(place);
    const image = new ContainerImage(path, version, place);
    const release = `oci-archive:${path}:${version}`;

    t.test("beside it are libc and its like, and two users", async (t) => {
      const files = globSync("**/*", { cwd: image.root }).filter((name) => lstatSync(join(image.root, name)).isFile());
      const others = files.filter((name) => !/^lib(?:64)?\/(?:.*\/)?[\w.+-]+\.so\.\d+$|^usr\/share\/doc\//.test(name));
      t.strictSame(others.toSorted(), ["etc/group", "etc/passwd", "usr/bin/sealift"]);
    });

    t.test("an ordinary user runs every part of it on a read-only root", async (t) => {
      const checked = image.start("self-check", "--json");
      const findings = (await textOf(checked.stdout!))
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line) as Record<string, string>);
      t.strictSame(
        findings.map(({ check, status }) => `${check} ${status}`),
        ["files ok", "sandbox ok", "hub ok", "publish ok", "deploy ok", "watch ok", "undefined success"],
      );
    });

    t.test("three machines with nothing else join a hub, one is approved on the page, and one is removed", (t) =>
      joinMachines(t, image),
    );

    t.test(
      "the Containerfile of ops makes an image of a hub with its options",
      { skip: needs("buildah") },
      async (t) => {
        using builder = new ImageBuilder();
        builder.build("hub", "ops/container/Containerfile", "ops/container", { RELEASE: release });
        const built = builder.unpack("hub");
        t.match(readFileSync(join(built.root, "etc/sealift/sealift.yaml"), "utf8"), "listen: 0.0.0.0:8787");
        // Its own address may be taken on this machine.
        writeFileSync(join(built.root, "etc/sealift/sealift.yaml"), "listen: 127.0.0.1:0\n");
        const hub = built.start();
        t.teardown(() => hub.kill("SIGTERM"));
        const [ready] = (await once(hub.stdout!.setEncoding("utf8"), "data")) as [string];
        t.match(ready, /^ready http:\/\/127\.0\.0\.1:/);
        hub.kill("SIGTERM");
        t.strictSame(await once(hub, "exit"), [0, null]);
      },
    );

    t.test("that of a host runs an application beside its watch", { skip: needs("buildah") }, async (t) => {
      using builder = new ImageBuilder();
      builder.buildNode("node", release);
      const images = { RELEASE: release, NODE: "localhost/node" };
      builder.build("host", "ops/container/host.Containerfile", "ops/container", images);
      await runApplication(t, image, builder.unpack("host"));
    });

    t.test("it serves a hub, whose health it tells", async (t) => {
      // Its own command would listen on a port of this machine that may be taken.
      const hub = image.start("hub", "serve", "--listen", "127.0.0.1:0");
      t.teardown(() => hub.kill("SIGTERM"));
      let url = "";
      for await (const line of hub.stdout!.setEncoding("utf8"))
        if ((url = /ready (\S+)/.exec(line as string)?.[1] ?? "") !== "") break;
      t.equal((await fetch(`${url}/readyz`)).status, 200);
      t.equal(statSync(join(image.data, "sealift-hub")).uid, image.user.uid);
      const [health] = (await once(image.start("health", `${url}/readyz`), "exit")) as [number];
      t.equal(health, 0);
      const [unhealthy] = (await once(image.start("health", `${url}/nothing`), "exit")) as [number];
      t.equal(unhealthy, 75);
      hub.kill("SIGTERM");
      t.strictSame(await once(hub, "exit"), [0, null]);
    });
  });
  t.end();
});
