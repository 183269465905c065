/** A hub, and a site that no network reaches: a host with its key, a project root, and sticks. */
import { cp, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Test } from "tap";
import { type HostKey, hostKeyOf, newHostSeed } from "../../../lib/artifact/sealed/host-key.ts";
import { hostLine } from "../../../lib/contract/settings/host-line.ts";
import { startHub } from "../hub/harness.ts";
import { publishedArchive, publishedProject, type PublishedTarget } from "../hub/published.ts";
import { commandLine, type Ended } from "../programs/command-line.ts";
import { temporaryFolder } from "../temporary-folder.ts";

export interface Result extends Ended {
  /** The last event of `--json`. */
  result: Record<string, unknown>;
  events: Record<string, unknown>[];
}

/** Runs `sealift … --json` as a shell without any variables of this project would. */
export async function sealift(
  folder: string,
  args: readonly string[],
  env: Record<string, string> = {},
): Promise<Result> {
  const { PATH = "", HOME = "" } = process.env;
  const ended = await commandLine([...args, "--json"], { cwd: folder, env: { PATH, HOME, ...env } });
  const events = ended.stdout
    .split("\n")
    .filter((line) => line.startsWith("{"))
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  return { ...ended, events, result: events.at(-1) ?? {} };
}

export interface OfflineSite {
  t: Test;
  hub: Awaited<ReturnType<typeof startHub>>;
  folder: string;
  target: PublishedTarget;
  /** Another project of the hub. */
  other: PublishedTarget;
  key: HostKey;
  root: string;
  /** Makes a kit, and returns its folder. */
  make: (name: string, more?: readonly string[], of?: PublishedTarget) => Promise<string>;
  made: (name: string, more?: readonly string[], of?: PublishedTarget) => Promise<Result>;
  /** Deploys from a kit. */
  deploy: (kit: string, more?: readonly string[], env?: Record<string, string>) => Promise<Result>;
  /** Copies a kit, to be changed. */
  copy: (kit: string, name: string) => Promise<string>;
  /** Returns the key with which the hub signs kits. */
  hubKey: () => Promise<string>;
  kitText: (kit: string) => Promise<Record<string, unknown>>;
  writeKit: (kit: string, text: object) => Promise<void>;
}

/** @param kind of the target @param own name of the host */
export async function offlineSite(
  t: Test,
  kind: "project" | "plugin" = "project",
  own = "pier-7",
): Promise<OfflineSite> {
  const folder = temporaryFolder(t);
  const hub = await startHub(t, { rateLimits: false });
  const published = (name: string): Promise<PublishedTarget> =>
    kind === "project" ? publishedProject(hub, name, folder) : publishedArchive(hub, "plugin", name, folder);
  const target = await published("tides");
  const other = await published("other");
  const seed = newHostSeed();
  const key = hostKeyOf(seed);
  await writeFile(join(folder, "host.key"), `${seed.toString("hex")}\n`, { mode: 0o600 });
  const root = join(folder, "root");
  await mkdir(root);
  const option = (name: string, of = target): string => of.options[name]!;
  const made: OfflineSite["made"] = (name, more = [], of = target) =>
    sealift(folder, [
      ...["kit", "make", of.name, "--out", name, "--hub-url", hub.url, "--api-key-file", option("api_key_file", of)],
      ...(kind === "project" ? ["--deployment-credential-file", option("deployment_credential_file", of)] : []),
      ...(more.includes("--host") ? [] : ["--host", `${own}=${hostLine(key)}`]),
      ...more,
    ]);
  return {
    ...{ t, hub, folder, target, other, key, root, made },
    async make(name, more, of) {
      const { code, stderr, stdout } = await made(name, more, of);
      if (code !== 0) throw new Error(`${name} was not made: ${stderr} ${stdout}`);
      return join(folder, name);
    },
    deploy: (kit, more = [], env = {}) =>
      sealift(
        folder,
        [
          ...(kind === "project"
            ? ["deploy-project", "--project-id", target.slug, "--signer-public-key", option("signer_public_key")]
            : ["deploy-marketplace", target.slug, "--install-plan", option("install_plan")]),
          ...(kind === "project" ? [] : ["--signing-secret-file", option("signing_secret_file")]),
          ...["--from", kit, "--host-key-file", "host.key", "--project-root", root, "--host-id", own, ...more],
        ],
        env,
      ),
    async copy(kit, name) {
      await cp(kit, join(folder, name), { recursive: true });
      return join(folder, name);
    },
    hubKey: async () => (await hub.call("GET", "/devkeys/kits/key")).body["hub_key"] as string,
    kitText: async (kit) => JSON.parse(await readFile(join(kit, "kit.json"), "utf8")) as Record<string, unknown>,
    writeKit: (kit, text) => writeFile(join(kit, "kit.json"), JSON.stringify(text)),
  };
}
