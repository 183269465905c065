/** A host in two containers of one image: `app serve`, and the watch that sees its processes and its network. */
import { type ChildProcess, execFileSync } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { text as textOf } from "node:stream/consumers";
import type { Test } from "tap";
import { freePort } from "../free-port.ts";
import { ContainerImage, type Machine } from "../programs/container.ts";
import { until } from "../until.ts";

const ROOT = ["--project-root", "/var/lib/sealift/root"];
const APP = "command: [node, server.js]\nlisten: [http]\nhealth: { http: /, within: 20s, stays_up: 1s }\n";
const serverOf = (version: string): string =>
  `require("node:http").createServer((request, answer) =>
  answer.end("${version} " + process.getuid())).listen({ fd: 3 });\n`;

/** Builds images of a folder's Containerfiles, without asking a registry. Needs root and buildah. */
export class ImageBuilder implements Disposable {
  readonly #folder = mkdtempSync(join(tmpdir(), "sealift-buildah-"));
  readonly #policy = join(this.#folder, "policy.json");

  constructor() {
    writeFileSync(this.#policy, '{"default":[{"type":"insecureAcceptAnything"}]}');
  }

  #run(command: string, ...words: string[]): void {
    const store = ["--root", join(this.#folder, "root"), "--runroot", join(this.#folder, "run")];
    const policy = ["--storage-driver", "vfs", command, "--signature-policy", this.#policy];
    execFileSync("buildah", [...store, ...policy, ...words], { stdio: "pipe" });
  }

  /** Builds an image. @param images by the argument that names each in the file */
  build(tag: string, file: string, folder: string, images: Readonly<Record<string, string>>): void {
    const given = Object.entries(images).flatMap(([name, image]) => ["--build-arg", `${name}=${image}`]);
    this.#run("build", "--isolation", "chroot", ...given, "--tag", `localhost/${tag}`, "--file", file, folder);
  }

  /** Unpacks an image that was built. */
  unpack(tag: string): ContainerImage {
    const archive = join(this.#folder, `${tag}.tar`);
    this.#run("push", `localhost/${tag}`, `oci-archive:${archive}:${tag}`);
    const folder = join(this.#folder, tag);
    mkdirSync(folder);
    return new ContainerImage(archive, tag, folder);
  }

  /** Builds what stands for an image of Node.js: the libraries of a release's image, this Node.js, `sh` and `cat`. */
  buildNode(tag: string, release: string): void {
    const folder = join(this.#folder, "node");
    mkdirSync(join(folder, "files/bin"), { recursive: true });
    mkdirSync(join(folder, "files/etc"));
    copyFileSync(process.execPath, join(folder, "files/bin/node"));
    copyFileSync("/bin/dash", join(folder, "files/bin/sh"));
    copyFileSync("/bin/cat", join(folder, "files/bin/cat"));
    writeFileSync(join(folder, "files/etc/passwd"), "root:x:0:0::/:/bin/sh\nnode:x:1000:1000::/:/bin/sh\n");
    writeFileSync(join(folder, "files/etc/group"), "root:x:0:\nnode:x:1000:\n");
    const file = join(folder, "Containerfile");
    writeFileSync(file, "ARG RELEASE\nFROM ${RELEASE}\nENV PATH=/bin:/usr/bin:/usr/local/bin\nCOPY files/ /\n");
    this.build(tag, file, folder, { RELEASE: release });
  }

  [Symbol.dispose](): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

/**
 * Has a host in containers join a hub, run an application's first version and its second, and end both programs.
 *
 * @param release image with the hub and the operator's program
 */
export async function runApplication(t: Test, release: ContainerImage, image: ContainerImage): Promise<void> {
  const started: ChildProcess[] = [];
  t.teardown(() => started.forEach((child) => child.kill("SIGTERM")));
  const start = (of: ContainerImage, machine: Machine, ...words: string[]): ChildProcess => {
    const child = of.startOn(machine, ...words);
    started.push(child);
    return child;
  };
  const run = async (of: ContainerImage, machine: Machine, ...words: string[]): Promise<string> => {
    const child = start(of, machine, ...words);
    const ended = once(child, "close") as Promise<[number]>;
    const [stdout, stderr, [code]] = await Promise.all([textOf(child.stdout!), textOf(child.stderr!), ended]);
    if (code !== 0) throw new Error(`${words.join(" ")}: ${code}\n${stderr}`);
    return stdout.trim();
  };

  const hub = release.machine("hub-of-host");
  let url = "";
  const serving = start(release, hub, "hub", "serve", "--listen", "127.0.0.1:0");
  for await (const line of createInterface({ input: serving.stdout! }))
    if ((url = /ready (\S+)/.exec(line)?.[1] ?? "") !== "") break;
  const operator = release.machine("operator-of-host");
  const key = readFileSync(join(hub.data, "sealift-hub/admin.key"), "utf8").trim();
  operator.env = { SEALIFT_HUB_URL: url, SEALIFT_API_KEY: key };
  const id = await run(release, operator, "project", "create", "Shop");
  await run(release, operator, "signer", "create", "--out", "keys");
  const publish = async (version: string): Promise<void> => {
    const source = join(operator.data, version);
    for (const each of ["deployment", "apps/web"]) mkdirSync(join(source, each), { recursive: true });
    const steps = "steps: [{ id: web, action: install_app, app: web }]";
    const plan = `format_version: "1"\nproject_id: ${id}\nversion: ${version}\n${steps}\n`;
    writeFileSync(join(source, "deployment/install.yaml"), plan);
    writeFileSync(join(source, "apps/web/app.yaml"), APP);
    writeFileSync(join(source, "apps/web/server.js"), serverOf(version));
    const words = ["--project-id", id, "--version", version, "--signing-key-file", "keys/signer.key"];
    await run(release, operator, "project", "publish", version, ...words);
  };
  await publish("1.0.0");

  // What an engine tells its containers.
  const host: Machine = { ...image.machine("host"), env: { container: "podman" } };
  writeFileSync(join(host.data, "token"), await run(release, operator, "host", "invite", "--project", "Shop"));
  const joining = ["--token-file", "token", "--host-id", "pier", "--out", "watch", "--yes"];
  await run(image, host, "join", url, ...joining, ...ROOT);
  const port = await freePort();
  await run(image, host, "app", "allow", "web", "--listen", `http=127.0.0.1:${port}`, "--user", "node", ...ROOT);
  const apps = start(image, host);
  const [ready] = (await once(
    createInterface({ input: apps.stdout! }).on("line", () => {}),
    "line",
  )) as [string];
  t.match(ready, /^web: web is not installed here|^ready /);
  const beside = { ...host, beside: apps };
  const watch = start(image, beside, "watch", "--config", "watch/watch.yaml", "--interval", "1s");
  const answers = (text: string): Promise<void> =>
    until(async () => (await fetch(`http://127.0.0.1:${port}`).then((a) => a.text(), String)) === text, 30_000);
  await answers("1.0.0 1000");
  await publish("1.1.0");
  await answers("1.1.0 1000");
  const status = await run(image, beside, "app", "status", ...ROOT);
  t.match(status, /health +works\n +members +every process of the user node/);
  // Its report comes after its first answer.
  await until(async () => /pier +.*1\.1\.0/.test(await run(release, operator, "fleet", "project:Shop")), 30_000);
  for (const child of [watch, apps]) {
    child.kill("SIGTERM");
    t.strictSame(await once(child, "exit"), [0, null]);
  }
}
