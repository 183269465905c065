import { spawn } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { freePort } from "../../../test/support/free-port.ts";
import { type Measured, openServer, shell } from "../measure.ts";

/** Program that people would use instead, on the same bytes, with a server of its own on loopback. */
export interface Peer {
  name: string;
  /** Programs that it needs. */
  programs: readonly string[];
  /** Checks that it makes of what arrives. */
  checks: string;
  open: (folder: string) => Promise<PeerStage>;
}

export interface PeerStage extends AsyncDisposable {
  publish: (source: string, version: number) => Promise<Measured>;
  /** Deploys a version to a host without any. */
  deploy: (version: number, out: string) => Promise<Measured>;
  /** Deploys version 2 to a host that has version 1 in `before`. */
  upgrade: (before: string, out: string) => Promise<Measured>;
  /** Returns the bytes that an upgrade needs, if the programs report them. */
  upgradeBytes?: () => Promise<number>;
}

const START_LIMIT_MS = 30_000;

/** Starts a server and waits until it answers. @throws Error when it does not within 30 s */
async function serve(
  url: string,
  command: readonly [string, ...string[]],
  env: Record<string, string> = {},
): Promise<() => Promise<void>> {
  const [file, ...args] = command;
  const server = spawn(file, args, { env: { PATH: process.env.PATH, ...env }, stdio: "ignore" });
  const exited = new Promise<void>((resolve) => server.once("close", () => resolve()));
  const stop = (): Promise<void> => {
    server.kill("SIGKILL");
    return exited;
  };
  const end = performance.now() + START_LIMIT_MS;
  while (performance.now() < end) {
    const answer = await fetch(url).catch(() => undefined);
    await answer?.body?.cancel();
    if (answer !== undefined) return stop;
    await delay(50);
  }
  await stop();
  throw new Error(`${file} did not answer at ${url}`);
}

const bytesBelow = async (path: string): Promise<number> => Number((await shell(`du -sb ${path} | cut -f1`)).stdout);

async function openOci(folder: string): Promise<PeerStage> {
  const port = await freePort();
  const config = join(folder, "registry.yml");
  const storage = { filesystem: { rootdirectory: join(folder, "registry") } };
  writeFileSync(config, JSON.stringify({ version: 0.1, storage, http: { addr: `127.0.0.1:${port}` } }));
  const stop = await serve(`http://127.0.0.1:${port}/v2/`, ["docker-registry", "serve", config]);
  const image = (version: number): string => `docker://127.0.0.1:${port}/bench:v${version}`;
  const copy = "skopeo --insecure-policy copy -q";
  const pull = (version: number, layout: string): string =>
    `${copy} --src-tls-verify=false ${image(version)} oci:${layout}:v${version}`;
  return {
    publish: (source, version) =>
      shell(
        `L=${folder}/layout-${version}; rm -rf $L; umoci init --layout $L; umoci new --image $L:v${version}
         umoci insert --image $L:v${version} ${source} /app
         ${copy} --dest-tls-verify=false oci:$L:v${version} ${image(version)}`,
      ),
    deploy: (version, out) =>
      shell(
        `rm -rf ${folder}/host-layout; ${pull(version, `${folder}/host-layout`)}
         umoci unpack --rootless --image ${folder}/host-layout:v${version} ${out}`,
      ),
    // Its layout has version 1: identical layers are not fetched again.
    upgrade: (_before, out) =>
      shell(
        `rm -rf ${folder}/kept; cp -al ${folder}/host-layout ${folder}/kept; ${pull(2, `${folder}/kept`)}
         umoci unpack --rootless --image ${folder}/kept:v2 ${out}`,
      ),
    upgradeBytes: async () => (await bytesBelow(`${folder}/kept`)) - (await bytesBelow(`${folder}/host-layout`)),
    [Symbol.asyncDispose]: stop,
  };
}

async function openCasync(folder: string): Promise<PeerStage> {
  const served = join(folder, "served");
  mkdirSync(served);
  const { url, ...server } = await openServer("plain-server", [served]);
  const extract = (version: number, out: string, more = ""): string =>
    `casync extract -l err --with=unix --store=${url}/store ${more} ${url}/v${version}.caidx ${out}`;
  return {
    publish: (source, version) =>
      shell(`casync make -l err --with=unix --store=${served}/store ${served}/v${version}.caidx ${source} >/dev/null`),
    deploy: (version, out) => shell(extract(version, out)),
    upgrade: (before, out) => shell(extract(2, out, `--seed=${before}`)),
    [Symbol.asyncDispose]: async () => server[Symbol.dispose](),
  };
}

async function openOstree(folder: string): Promise<PeerStage> {
  const repo = join(folder, "repo");
  await shell(`ostree init --mode=archive --repo=${repo}`);
  const { url, ...server } = await openServer("plain-server", [repo]);
  const pull = (version: number, repository: string, out: string): string =>
    `ostree pull --repo=${repository} bench:v${version} >/dev/null
     ostree checkout -U --repo=${repository} bench:v${version} ${out}`;
  let host = 0;
  const fresh = (): string => `${folder}/host-${host++}`;
  const init = (repository: string): string =>
    `ostree init --mode=bare-user-only --repo=${repository}
     ostree remote add --repo=${repository} --no-gpg-verify bench ${url}`;
  let kept = "";
  return {
    publish: (source, version) =>
      shell(
        `ostree commit --repo=${repo} --branch=v${version} --canonical-permissions ${source} >/dev/null
         ostree static-delta generate --repo=${repo} ${version === 1 ? "--empty --to=v1" : "--from=v1 --to=v2"} >/dev/null
         ostree summary -u --repo=${repo}`,
      ),
    deploy: (version, out) => {
      kept = fresh();
      return shell(`${init(kept)}; ${pull(version, kept, out)}`);
    },
    upgrade: (_before, out) => shell(pull(2, kept, out)),
    upgradeBytes: async () => {
      const listed = await shell(`ostree static-delta list --repo=${repo} | grep -- - | head -n 1`);
      const shown = await shell(`ostree static-delta show --repo=${repo} ${listed.stdout.trim()}`);
      return Number(/Total Size: (\d+)/.exec(shown.stdout)?.[1] ?? Number.NaN);
    },
    [Symbol.asyncDispose]: async () => server[Symbol.dispose](),
  };
}

async function openNpm(folder: string): Promise<PeerStage> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}/`;
  const config = join(folder, "verdaccio.yaml");
  const anyone = { access: "$all", publish: "$all", unpublish: "$all" };
  const options = { storage: join(folder, "verdaccio"), max_body_size: "4gb", packages: { "**": anyone }, uplinks: {} };
  writeFileSync(config, JSON.stringify({ ...options, auth: { htpasswd: { file: join(folder, "htpasswd") } } }));
  const stop = await serve(url, ["verdaccio", "--config", config, "--listen", `127.0.0.1:${port}`], { HOME: folder });
  writeFileSync(join(folder, "npmrc"), `registry=${url}\n//127.0.0.1:${port}/:_authToken=anybody\n`);
  const npm = `npm --userconfig ${folder}/npmrc --cache $(mktemp -d -p ${folder}) --no-audit --no-fund --loglevel error`;
  const install = (version: number, out: string): Promise<Measured> =>
    shell(`mkdir ${out}; cd ${out}; echo '{}' > package.json; ${npm} install bench@${version}.0.0 >/dev/null`);
  return {
    publish: (source, version) =>
      shell(
        `cd ${source}; echo '{"name":"bench","version":"${version}.0.0"}' > package.json
         ${npm} publish >/dev/null 2>&1; rm package.json`,
      ),
    deploy: install,
    upgrade: (_before, out) => install(2, out),
    [Symbol.asyncDispose]: stop,
  };
}

export const PEERS: readonly Peer[] = [
  {
    name: "OCI",
    programs: ["umoci", "skopeo", "docker-registry"],
    checks: "the whole, not each file",
    open: openOci,
  },
  { name: "casync", programs: ["casync"], checks: "every file; uploads nothing", open: openCasync },
  { name: "ostree", programs: ["ostree"], checks: "every file", open: openOstree },
  { name: "npm", programs: ["npm", "verdaccio"], checks: "the whole, not each file", open: openNpm },
];
