import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { DeployClient } from "../../lib/client/deploy-client.ts";
import { createHub } from "../../lib/hub/hub.ts";
import {
  call,
  createProject,
  hubAt,
  type ProjectAccess,
  type Publication,
  publication,
  publishForm,
  sha256,
} from "../../test/support/hub/harness.ts";
import { differences, Disk } from "./disk.ts";
import type { Scenario } from "./scenario.ts";
import { readStrace, straceOptions } from "./strace.ts";

const PROGRAM = (name: string): string => fileURLToPath(new URL(`../../bin/${name}.ts`, import.meta.url));
/** Size of an artifact in bytes: more than one write. */
const SIZE = 150_000;

/** Data folder of a hub in which one version is published. */
interface Prepared {
  access: ProjectAccess;
  published: Map<string, Publication>;
}

async function publish(url: string, { id, key }: ProjectAccess, what: Publication): Promise<void> {
  const form = publishForm(what);
  const answer = await call(`${url}/app/deploy/v1/projects/${id}/publish`, "POST", { key, form });
  if (answer.status !== 201) throw new Error(`publish: ${answer.status} ${answer.bytes.toString()}`);
}

async function prepare(dataDir: string): Promise<Prepared> {
  const hub = await createHub({ listen: { host: "127.0.0.1", port: 0 }, dataDir });
  try {
    const url = await hub.listen();
    const admin = (await readFile(join(dataDir, "admin.key"), "utf8")).trim();
    const access = await createProject(hubAt(url, admin));
    const first = publication("1.0.0", { size: SIZE });
    await publish(url, access, first);
    return { access, published: new Map([["1.0.0", first]]) };
  } finally {
    await hub.close();
  }
}

/**
 * Runs a program under strace while working with it, and returns the log. The program is killed at the end, unless it
 * ends by itself.
 */
async function straced(
  folder: string,
  program: string,
  args: readonly string[],
  use?: (url: string) => Promise<void>,
): Promise<string> {
  const file = join(folder, "strace.log");
  const child = spawn("strace", [...straceOptions(file), process.execPath, PROGRAM(program), ...args], {
    stdio: ["ignore", "pipe", "ignore"],
    env: { ...process.env, UV_USE_IO_URING: "0" },
  });
  const exited = once(child, "exit");
  if (use !== undefined) {
    for await (const line of createInterface({ input: child.stdout })) {
      const url = /^ready (\S+)/.exec(line)?.[1];
      if (url === undefined) continue;
      await use(url);
      break;
    }
    // strace keeps signals to itself: the first number of its log is the program's own id.
    process.kill(Number.parseInt(await readFile(file, "utf8"), 10), "SIGTERM");
  } else child.stdout.resume();
  const [code] = (await exited) as [number | null];
  if (code !== 0) throw new Error(`${program} ended with ${code}`);
  return await readFile(file, "utf8");
}

/** Returns the scenario of publishing two versions, by one real hub. */
export function publishScenario(): Scenario {
  let prepared: Prepared;
  return {
    name: "hub: publish",
    async trace(folder, durability) {
      const root = join(folder, "hub");
      prepared = await prepare(root);
      const disk = new Disk(root);
      const text = await straced(folder, "hub-serve", ["--data-dir", root, "--listen", "127.0.0.1:0"], async (url) => {
        for (const version of ["1.1.0", "1.2.0"]) {
          const next = publication(version, { size: SIZE });
          prepared.published.set(version, next);
          await publish(url, prepared.access, next);
        }
      });
      const versions = ["1.1.0", "1.2.0"].values();
      readStrace(disk, text, {
        root,
        syncs: durability !== "none",
        markOf: (bytes) => (bytes.subarray(0, 12).toString() === "HTTP/1.1 201" ? versions.next().value : undefined),
      });
      expectSame(disk, root);
      return disk;
    },
    check: (folder, told) => checkHub(folder, prepared, new Set(["1.0.0", ...told])),
  };
}

/** Returns the scenario of a new KEK, under which everything is sealed again. */
export function rotateScenario(): Scenario {
  let prepared: Prepared;
  return {
    name: "hub: rotate",
    async trace(folder, durability) {
      const root = join(folder, "hub");
      prepared = await prepare(root);
      const disk = new Disk(root);
      const text = await straced(folder, "sealift", ["hub", "rotate-kek", "--data-dir", root]);
      readStrace(disk, text, { root, syncs: durability !== "none" });
      expectSame(disk, root);
      return disk;
    },
    check: (folder) => checkHub(folder, prepared, new Set(["1.0.0"])),
  };
}

/**
 * Expects that trace and folder agree, except for SQLite's shared memory: it is mapped, which no system call shows, and
 * recreated after a power cut.
 */
function expectSame(disk: Disk, root: string): void {
  const untraced = differences(disk, root).filter((path) => !path.endsWith("-shm"));
  if (untraced.length > 0) throw new Error(`not traced: ${untraced.join(", ")}`);
}

/**
 * Starts a hub on a data folder: what was acknowledged must be there, complete, and so must everything else that it
 * lists.
 */
async function checkHub(
  dataDir: string,
  { access, published }: Prepared,
  told: ReadonlySet<string>,
): Promise<string[]> {
  const faults: string[] = [];
  const hub = await createHub({ listen: { host: "127.0.0.1", port: 0 }, dataDir });
  try {
    const hubUrl = await hub.listen();
    const signal = AbortSignal.timeout(30_000);
    const client = new DeployClient(access.id, { hubUrl, apiKey: access.key, timeoutMs: 30_000, signal });
    await client.authenticate();
    for (const [version, { bytes, dek }] of published) {
      const location = await client.locate(version).catch(() => undefined);
      if (location === undefined) {
        if (told.has(version)) faults.push("a published version is lost");
        continue;
      }
      const answer = await fetch(location.download_url, { headers: { "x-api-key": access.key } });
      const stored = Buffer.from(await answer.arrayBuffer());
      if (!answer.ok || sha256(stored) !== sha256(bytes)) faults.push("a listed version cannot be read");
      const released = await client.authorize(access.credential, location.signature).catch(() => undefined);
      if (released === undefined || !released.equals(dek)) faults.push("the key of a version is lost");
    }
  } finally {
    await hub.close();
  }
  const incoming = await readdir(join(dataDir, "blobs", "incoming")).catch(() => []);
  if (incoming.some((name) => name.endsWith(".part"))) faults.push("an upload is left behind");
  return faults;
}
