import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { largeFile, manyFiles, oneFile, projectTree } from "./material.ts";
import { byTurns, freshFolder, type Measured, openServer, peakMbOf, type Server, shell } from "./measure.ts";
import { judged, type Row, rowOf } from "./row.ts";
import { deployTo, LEVEL, openStage, publish, type Stage } from "./stage.ts";

const deploy = (stage: Stage, version: string, many: boolean): Promise<Measured> =>
  deployTo(stage, version, freshFolder(stage.folder, "host", many));

/** Commands that an operator would type instead, on the same tree and through a plain server. */
class Rivals implements Disposable {
  readonly #folder: string;
  readonly #place: string;
  readonly #server: Server;

  private constructor(folder: string, place: string, server: Server) {
    this.#folder = folder;
    this.#place = place;
    this.#server = server;
  }

  static async open(folder: string, place: string): Promise<Rivals> {
    mkdirSync(join(folder, "served"), { recursive: true });
    const server = await openServer("plain-server", [join(folder, "served")]);
    await shell(
      `cd ${folder}; rm -f age.key; age-keygen -o age.key 2>/dev/null; openssl genpkey -algorithm ed25519 -out sign.pem 2>/dev/null`,
    );
    return new Rivals(folder, place, server);
  }

  /** Publishes by tar | zstd | age, a signature, and an upload. */
  publish(source: string): Promise<Measured> {
    return shell(
      `cd ${this.#folder}; tar -C ${source} -cf - . | zstd -q -${LEVEL} -T1 | age -r "$(age-keygen -y age.key)" > rival.age
       openssl pkeyutl -sign -inkey sign.pem -rawin -in rival.age -out rival.sig
       curl -sSf -o /dev/null -H 'expect:' -X POST ${this.#server.url}/rival.age -T rival.age`,
    );
  }

  /** Deploys without checking a signature or digest. */
  bare(many: boolean): Promise<Measured> {
    const out = freshFolder(this.#folder, "out", many);
    return shell(
      `cd ${this.#folder}; mkdir ${out}; curl -sSf ${this.#server.url}/rival.age | age -d -i age.key | zstd -q -d | tar -x -C ${out}
       ${this.#barrier(out)}`,
    );
  }

  /** Performs Sealift's checks: the signature's hash over a file, then a SHA-256 of every file. */
  equalChecks(many: boolean): Promise<Measured> {
    const out = freshFolder(this.#folder, "out", many);
    return shell(
      `cd ${this.#folder}; mkdir ${out}; curl -sSf -o got.age ${this.#server.url}/rival.age
       openssl pkeyutl -verify -inkey sign.pem -rawin -in got.age -sigfile rival.sig >/dev/null
       age -d -i age.key got.age | zstd -q -d | tar -x -C ${out}
       find ${out} -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum | sha256sum >/dev/null
       ${this.#barrier(out)}`,
    );
  }

  /** Returns the end of every unpacking: on disk, what was written is made durable, as by Sealift. */
  #barrier(out: string): string {
    return this.#place === "disk" ? `sync -f ${out}` : "true";
  }

  [Symbol.dispose](): void {
    this.#server[Symbol.dispose]();
  }
}

/** Factor by which Sealift may exceed the peer on disk, where both end with the barrier of durability. */
const DISK_ALLOWANCE = 1.2;

/** Compares deploy-project and deploy-publish with what an operator would type (docs/performance.md). */
export async function projectRows(folder: string, place: string, runs: number): Promise<Row[]> {
  const rows: Row[] = [];
  for (const { what, many, fill } of [oneFile(512), oneFile(1024), manyFiles(10_000)]) {
    const budgets = many ? "many" : "file";
    const allowance = place === "disk" ? DISK_ALLOWANCE : 1;
    await using stage = await openStage(join(folder, "stage"));
    using rivals = await Rivals.open(stage.folder, place);
    const source = join(stage.folder, "source");
    fill(await projectTree(source, stage.projectId));
    let version = 0;
    // The rivals make no deltas.
    const published = await byTurns(runs, {
      ours: () => publish(stage, source, `1.0.${version++}`, LEVEL, ["--deltas", "0"]),
      theirs: () => rivals.publish(source),
    });
    const { ours, bare, equalChecks } = await byTurns(runs, {
      ours: () => deploy(stage, "1.0.0", many),
      bare: () => rivals.bare(many),
      equalChecks: () => rivals.equalChecks(many),
    });
    const about = `${what}, ${place}`;
    rows.push(
      rowOf(`deploy_${budgets}_equal`, ours, equalChecks, about, allowance),
      rowOf(`deploy_${budgets}_bare`, ours, bare, about, allowance),
      rowOf(`publish_${budgets}`, published.ours, published.theirs, about, allowance),
    );
  }
  return rows;
}

/** Measures the peak memory of hub, publisher and agent with one artifact of some GiB (docs/performance.md). */
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
