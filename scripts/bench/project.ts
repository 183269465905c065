import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { freshFolder } from "./fresh-folder.ts";
import { largeFile, projectTree, smallFiles } from "./material.ts";
import { byTurns, type Measured, peakMbOf, program, shell } from "./measure.ts";
import { judged, type Row } from "./row.ts";
import { openHub } from "./stage.ts";

const LEVEL = "3";

/** A hub process, a project on it, and what publisher and host need. */
export interface Stage extends AsyncDisposable {
  folder: string;
  projectId: string;
  hub: ChildProcess;
  publisher: Record<string, string>;
  host: Record<string, string>;
}

export async function openStage(
  folder: string,
  hubOptions: readonly string[] = [],
  hubEnvironment: Record<string, string> = {},
): Promise<Stage> {
  const hub = await openHub(folder, hubOptions, hubEnvironment);
  const created = await program("sealift", ["projects", "create", "Bench", "--json"], hub.admin);
  const projectId = (JSON.parse(created.stdout) as { project: { slug: string } }).project.slug;
  const made = await program(
    "sealift",
    ["keys", "create", "--name", "host", "--project", projectId, "--json"],
    hub.admin,
  );
  const { key } = JSON.parse(made.stdout) as { key: { key: string; deployment_credential: string } };
  await program("sealift", ["keygen", "--out", join(folder, "keys")]);
  return {
    folder,
    projectId,
    hub: hub.process,
    publisher: hub.admin,
    host: {
      SEALIFT_HUB_URL: hub.url,
      SEALIFT_API_KEY: key.key,
      SEALIFT_DEPLOYMENT_CREDENTIAL: key.deployment_credential,
    },
    [Symbol.asyncDispose]: () => hub[Symbol.asyncDispose](),
  };
}

export function publish(
  { folder, projectId, publisher }: Stage,
  source: string,
  version: string,
  level = LEVEL,
  more: readonly string[] = [],
): Promise<Measured> {
  return program(
    "deploy-publish",
    [
      source,
      "--project-id",
      projectId,
      "--version",
      version,
      "--signing-key-file",
      join(folder, "keys", "signer.key"),
      "--level",
      level,
      ...more,
    ],
    { ...publisher, TMPDIR: folder },
  );
}

function deploy(stage: Stage, version: string, many: boolean): Promise<Measured> {
  return deployTo(stage, version, freshFolder(stage.folder, "host", many));
}

/** Deploys into a project root, which may have a version already. */
export function deployTo({ folder, projectId, host }: Stage, version: string, root: string): Promise<Measured> {
  return program(
    "deploy-project",
    [
      "--project-id",
      projectId,
      "--version",
      version,
      "--signer-public-key",
      join(folder, "keys", "signer.pub"),
      "--project-root",
      root,
      "--json",
    ],
    host,
  );
}

/** The commands that an operator would type instead, on the same tree and through a plain server. */
class Rivals implements Disposable {
  readonly #folder: string;
  readonly #place: string;
  readonly #server: ChildProcess;
  #port = 0;

  private constructor(folder: string, place: string) {
    this.#folder = folder;
    this.#place = place;
    mkdirSync(join(folder, "served"), { recursive: true });
    const file = fileURLToPath(new URL("./plain-server.ts", import.meta.url));
    this.#server = spawn(process.execPath, [file, join(folder, "served")], {
      stdio: ["ignore", "pipe", "inherit"],
      env: {},
    });
  }

  static async open(folder: string, place: string): Promise<Rivals> {
    const rivals = new Rivals(folder, place);
    const [line] = (await once(rivals.#server.stdout!, "data")) as [Buffer];
    rivals.#port = Number(line.toString());
    await shell(
      `cd ${folder}; rm -f age.key; age-keygen -o age.key 2>/dev/null; openssl genpkey -algorithm ed25519 -out sign.pem 2>/dev/null`,
    );
    return rivals;
  }

  /** tar | zstd | age, a signature, an upload. */
  publish(source: string): Promise<Measured> {
    return shell(
      `cd ${this.#folder}; tar -C ${source} -cf - . | zstd -q -${LEVEL} -T1 | age -r "$(age-keygen -y age.key)" > rival.age
       openssl pkeyutl -sign -inkey sign.pem -rawin -in rival.age -out rival.sig
       curl -sSf -o /dev/null -H 'expect:' -X POST http://127.0.0.1:${this.#port}/rival.age -T rival.age`,
    );
  }

  /** No signature, no digest. */
  bare(many: boolean): Promise<Measured> {
    const out = freshFolder(this.#folder, "out", many);
    return shell(
      `cd ${this.#folder}; mkdir ${out}; curl -sSf http://127.0.0.1:${this.#port}/rival.age | age -d -i age.key | zstd -q -d | tar -x -C ${out}
       ${this.#barrier(out)}`,
    );
  }

  /** As many checks as ours: the signature's hash over a file, then a SHA-256 of every file. */
  equalChecks(many: boolean): Promise<Measured> {
    const out = freshFolder(this.#folder, "out", many);
    return shell(
      `cd ${this.#folder}; mkdir ${out}; curl -sSf -o got.age http://127.0.0.1:${this.#port}/rival.age
       openssl pkeyutl -verify -inkey sign.pem -rawin -in got.age -sigfile rival.sig >/dev/null
       age -d -i age.key got.age | zstd -q -d | tar -x -C ${out}
       find ${out} -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum | sha256sum >/dev/null
       ${this.#barrier(out)}`,
    );
  }

  /** The end of every unpacking: on disk, what was written is durable, as ours is. */
  #barrier(out: string): string {
    return this.#place === "disk" ? `sync -f ${out}` : "true";
  }

  [Symbol.dispose](): void {
    this.#server.kill("SIGKILL");
  }
}

const seconds = (ours: Measured, theirs: Measured): string =>
  `${ours.wall.toFixed(2)} s against ${theirs.wall.toFixed(2)} s`;

/** On disk both sides end with the barrier of durability, and ours may take this much more. */
const DISK_ALLOWANCE = 1.2;

interface Shape {
  what: string;
  /** Whether it is many files. */
  many: boolean;
  fill: (plugin: string) => void;
  budgets: "file" | "many";
}

const SHAPES: readonly Shape[] = [
  {
    what: "512 MiB in one file",
    many: false,
    fill: (plugin) => largeFile(join(plugin, "cargo.bin"), 512),
    budgets: "file",
  },
  {
    what: "1 GiB in one file",
    many: false,
    fill: (plugin) => largeFile(join(plugin, "cargo.bin"), 1024),
    budgets: "file",
  },
  {
    what: "10,000 small files",
    many: true,
    fill: (plugin) => smallFiles(plugin, 10_000),
    budgets: "many",
  },
];

/** deploy-project and deploy-publish against what an operator would type (docs/performance.md). */
export async function projectRows(folder: string, place: string, runs: number): Promise<Row[]> {
  const rows: Row[] = [];
  for (const { what, many, fill, budgets } of SHAPES) {
    const allowance = place === "disk" ? DISK_ALLOWANCE : 1;
    await using stage = await openStage(join(folder, "stage"));
    using rivals = await Rivals.open(stage.folder, place);
    const source = join(stage.folder, "source");
    fill(await projectTree(source, stage.projectId));
    let version = 0;
    // The rivals make no deltas.
    const publishing = await byTurns(runs, {
      ours: () => publish(stage, source, `1.0.${version++}`, LEVEL, ["--deltas", "0"]),
      theirs: () => rivals.publish(source),
    });
    const deploying = await byTurns(runs, {
      ours: () => deploy(stage, "1.0.0", many),
      bare: () => rivals.bare(many),
      equalChecks: () => rivals.equalChecks(many),
    });
    const { ours, bare, equalChecks } = deploying;
    const about = `${what}, ${place}`;
    const publication = publishing.ours.wall / publishing.theirs.wall;
    rows.push(
      judged(`deploy_${budgets}_equal`, ours.wall / equalChecks.wall, seconds(ours, equalChecks), about, allowance),
      judged(`deploy_${budgets}_bare`, ours.wall / bare.wall, seconds(ours, bare), about, allowance),
      judged(`publish_${budgets}`, publication, seconds(publishing.ours, publishing.theirs), about, allowance),
    );
  }
  return rows;
}

/** Peak memory of hub, publisher and agent with one artifact of some GiB (docs/performance.md). */
export async function memoryRows(folder: string, gib: number, level: string): Promise<Row[]> {
  await using stage = await openStage(join(folder, "stage"));
  const source = join(stage.folder, "source");
  const plugin = await projectTree(source, stage.projectId);
  largeFile(join(plugin, "cargo.bin"), gib * 1024);
  const published = await publish(stage, source, "1.0.0", level);
  const deployed = await deploy(stage, "1.0.0", false);
  const hubMb = peakMbOf(stage.hub.pid!);
  const what = `${gib} GiB at level ${level}`;
  return [
    judged("agent_memory", published.peakMb, `${published.wall.toFixed(0)} s`, `deploy-publish, ${what}`),
    judged("agent_memory", deployed.peakMb, `${deployed.wall.toFixed(0)} s`, `deploy-project, ${what}`),
    judged("hub_memory", hubMb, "upload and download", what),
  ];
}
