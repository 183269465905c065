import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { publicKeyOf } from "../../lib/artifact/signatures/ed25519.ts";
import { hubAt, publication } from "../../test/support/hub/harness.ts";
import { withSettings } from "../../test/support/hub/settings.ts";
import { bin, peakMbOf } from "../bench/measure.ts";
import { serveHub } from "../bench/stage.ts";
import { WatchingHost } from "./settings-host.ts";

export interface SettingsLoadOptions {
  hosts: number;
  /** Number of applies, each with another value for every host. */
  applies: number;
  /** Empty folder for the hub's data, the hosts' roots and the operator's files. */
  folder: string;
  /** PostgreSQL for the hub; SQLite without it. */
  databaseUrl?: string | undefined;
  onProgress?: (text: string) => void;
}

/** Measurements of one `settings apply --all-at-once`. */
export interface AppliedLoad {
  /** Exit code of the command, and what it wrote to stderr. */
  code: number;
  stderr: string;
  /** Hosts whose outcome it has told. */
  applied: number;
  /** Time from the start of the command to its end, in seconds. */
  seconds: number;
  /** Requests of a host since the command began: of all on average, and the most of one. */
  requests: { mean: number; most: number };
}

export interface SettingsLoad {
  applies: AppliedLoad[];
  /** Errors of hosts, by code. */
  errors: Record<string, number>;
  /** Peak resident memory of the hub in MB. */
  hubMb: number;
}

/** Hosts that join at a time. */
const JOINING = 20;
/** Longest wait for all streams, and for all hosts after the command has ended, in milliseconds. */
const PATIENCE_MS = 120_000;
const CHECK_MS = 50;

/**
 * Gives many hosts their settings at once with the real command, through the built hub over HTTP. The hosts run the
 * code of the watch in this process; their keys, cards and documents are real, and they start no application.
 */
export async function runSettingsLoad(options: SettingsLoadOptions): Promise<SettingsLoad> {
  const { hosts: count, applies, folder, databaseUrl, onProgress = () => {} } = options;
  const database = databaseUrl === undefined ? [] : ["--database-url", databaseUrl];
  await using hub = await serveHub(join(folder, "hub"), ["--rate-limit", "0", ...database]);
  const made = await withSettings(hubAt(hub.url, hub.admin.SEALIFT_API_KEY));
  await made.project.publish(publication("1.0.0"));
  const errors: Record<string, number> = {};
  let connected = 0;
  const appliedNumbers = new Map<number, number>();
  const orders = {
    ...{ hubUrl: hub.url, projectId: made.id },
    operator: Buffer.from(publicKeyOf(made.operatorSeed)).toString("hex"),
    onConnected: () => void connected++,
    onApplied: (number: number) => void appliedNumbers.set(number, (appliedNumbers.get(number) ?? 0) + 1),
    onError: (code: string) => void (errors[code] = (errors[code] ?? 0) + 1),
  };
  const until = async (isSo: () => boolean): Promise<void> => {
    for (const end = performance.now() + PATIENCE_MS; !isSo() && performance.now() < end;) await sleep(CHECK_MS);
  };
  await using opened = new AsyncDisposableStack();
  const watching: WatchingHost[] = [];
  for (let first = 0; first < count; first += JOINING) {
    const names = Array.from({ length: Math.min(JOINING, count - first) }, (_, index) => `pier-${first + index}`);
    const joined = await Promise.all(names.map((name) => made.host(name)));
    for (const host of joined) {
      const watched = await WatchingHost.start(host, orders, join(folder, "hosts", host.name));
      watching.push(opened.use(watched));
    }
    await Promise.all(watching.slice(-names.length).map((host) => host.look()));
  }
  await until(() => connected === count);
  onProgress(`${count} hosts have joined, and ${connected} hear hints`);

  const [keyFile, fleetFile] = [join(folder, "operator.key"), join(folder, "fleet.yaml")];
  await writeFile(keyFile, made.operatorSeed.toString("hex"), { mode: 0o600 });
  const apply = async (number: number): Promise<AppliedLoad> => {
    const value = `value-${number}`;
    await writeFile(
      fleetFile,
      `project: ${made.id}\nsettings:\n  - match: { env: prod }\n    apps: { web: { A: ${value} } }\n`,
    );
    const before = watching.map(({ requests }) => requests);
    const began = performance.now();
    const words = [
      "settings",
      "apply",
      fleetFile,
      "--operator-key",
      keyFile,
      "--all-at-once",
      "--accept-new",
      "--json",
    ];
    const env = { PATH: process.env["PATH"], HOME: folder, XDG_CONFIG_HOME: folder, ...hub.admin };
    const child = spawn(process.execPath, [bin("sealift"), ...words], { env, stdio: ["ignore", "pipe", "pipe"] });
    const ended = once(child, "exit") as Promise<[number | null]>;
    const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
    const seconds = (performance.now() - began) / 1000;
    await until(() => (appliedNumbers.get(number) ?? 0) >= count);
    const asked = watching.map(({ requests }, index) => requests - before[index]!);
    const outcomes = stdout
      .split("\n")
      .filter((line) => line.includes('"event":"outcome"') && line.includes('"state":"applied"'));
    onProgress(`apply ${number}: ${seconds.toFixed(1)} s`);
    return {
      ...{ code: code as number, stderr, applied: outcomes.length, seconds },
      requests: { mean: asked.reduce((sum, one) => sum + one, 0) / count, most: Math.max(...asked) },
    };
  };
  const measured: AppliedLoad[] = [];
  for (let number = 1; number <= applies; number++) measured.push(await apply(number));
  return { applies: measured, errors, hubMb: peakMbOf(hub.process.pid!) };
}
