import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { freePort } from "../../test/support/free-port.ts";
import { best, type Measured, shell, warmMemory } from "./measure.ts";

/** Bytes that a rival needs for an upgrade, and the best of its times. */
export interface Upgraded {
  /** Bytes transferred. */
  bytes: number;
  /** Seconds on the host. */
  wall: number;
}

/**
 * Upgrades by other means, as lower bounds: `rsync` knows both trees and checks no signature; a zstd patch needs the
 * exact bytes of the old tar at both ends.
 */
export class DeltaRivals {
  readonly #folder: string;

  /** @param folder of its own, which the caller removes */
  constructor(folder: string) {
    this.#folder = folder;
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, { recursive: true });
  }

  /** Keeps a copy of a tree before its edit. */
  async keepBefore(tree: string): Promise<void> {
    await shell(`cd ${this.#folder}; cp -a ${tree} before`);
  }

  /** Measures `rsync -a` from a daemon on loopback into a copy of the old tree. */
  async rsync(tree: string, runs: number): Promise<Upgraded> {
    await using daemon = await RsyncDaemon.open(this.#folder, tree);
    const measured = await best(runs, async () => {
      await shell(`cd ${this.#folder}; rm -rf host; cp -a before host; sync -f .`);
      warmMemory();
      return shell(`cd ${this.#folder}; rsync -a --delete --stats ${daemon.url} host; sync -f .`);
    });
    return { bytes: travelled(measured), wall: measured.wall };
  }

  /** Measures `zstd --patch-from` at Sealift's level. The time is that of applying the patch and unpacking the tar. */
  async zstdPatch(tree: string, runs: number, level: string): Promise<Upgraded> {
    const tar = (from: string, to: string): string => `tar --sort=name -C ${from} -cf ${to} .`;
    await shell(
      `cd ${this.#folder}; ${tar("before", "old.tar")}; ${tar(tree, "new.tar")}
       zstd -q -f -${level} --long=31 --patch-from=old.tar new.tar -o patch.zst; rm new.tar`,
    );
    const measured = await best(runs, async () => {
      await shell(`cd ${this.#folder}; rm -rf host; mkdir host; sync -f .`);
      warmMemory();
      return shell(
        `cd ${this.#folder}; zstd -q -d --long=31 --patch-from=old.tar -c patch.zst | tar -x -C host; sync -f .`,
      );
    });
    return { bytes: statSync(join(this.#folder, "patch.zst")).size, wall: measured.wall };
  }
}

/** Returns the bytes in both directions, from `rsync --stats`. */
function travelled({ stdout }: Measured): number {
  const bytes = (which: string): number =>
    Number(new RegExp(`^Total bytes ${which}: ([\\d,]+)`, "m").exec(stdout)![1]!.replaceAll(",", ""));
  return bytes("sent") + bytes("received");
}

/** Daemon that serves one folder on loopback. */
class RsyncDaemon implements AsyncDisposable {
  readonly url: string;
  readonly #process: ChildProcess;

  private constructor(process: ChildProcess, port: number) {
    this.#process = process;
    this.url = `rsync://127.0.0.1:${port}/new/`;
  }

  static async open(folder: string, tree: string): Promise<RsyncDaemon> {
    const port = await freePort();
    const config = join(folder, "rsyncd.conf");
    writeFileSync(config, `use chroot = no\nuid = 0\ngid = 0\n[new]\npath = ${tree}\nread only = yes\n`);
    const args = ["--daemon", "--no-detach", "--address=127.0.0.1", `--port=${port}`, `--config=${config}`];
    const daemon = new RsyncDaemon(spawn("rsync", args, { stdio: "inherit" }), port);
    // It does not report when it listens.
    await shell(`for i in $(seq 100); do rsync -q ${daemon.url} >/dev/null 2>&1 && exit 0; sleep 0.1; done; exit 1`);
    return daemon;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ended = once(this.#process, "exit");
    this.#process.kill();
    await ended;
  }
}
