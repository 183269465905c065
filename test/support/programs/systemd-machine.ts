/** A machine whose first process is systemd: this one's files, seen through a layer of its own. Needs root. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { Test } from "tap";
import { within } from "../../../lib/support/within.ts";
import packageJson from "../../../package.json" with { type: "json" };
import { temporaryFolder } from "../temporary-folder.ts";
import type { Ended } from "./command-line.ts";

/** Shows control groups in the one hierarchy that systemd takes for its own, whatever this machine has. */
const GROUPS = `set -e
umount -R /sys/fs/cgroup
mount -t cgroup2 none /sys/fs/cgroup`;
/** Mounts the layer in memory, and waits for a line before systemd starts on it. */
const BOOT = `${GROUPS}
mount -t tmpfs -o mode=755 tmpfs "$0"
mkdir "$0/upper" "$0/work" "$0/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$0/upper,workdir=$0/work" "$0/root"
rm -f "$0/root/etc/machine-id"
ln -sf /dev/null "$0/root/etc/systemd/system/systemd-networkd-wait-online.service"
mkdir "$1"
echo $$ > "$1/cgroup.procs"
echo mounted
read -r _
exec systemd-nspawn --quiet --register=no --keep-unit --private-network --link-journal=no --console=pipe \\
  --directory "$0/root" --machine "$2" --boot -- systemd.unit=basic.target`;
const FORGET = `${GROUPS}
find "$0" -depth -type d -exec rmdir {} +`;

export class SystemdMachine {
  readonly #nspawn: ChildProcess;
  readonly #root: string;
  #init = 0;

  private constructor(nspawn: ChildProcess, root: string) {
    this.#nspawn = nspawn;
    this.#root = root;
  }

  /** Boots one, which ends with the test. @param prepare gets the folder of its files before anything of it runs */
  static async boot(t: Test, prepare: (root: string) => void): Promise<SystemdMachine> {
    const folder = temporaryFolder(t);
    const name = `sealift-test-${process.pid}`;
    const group = `/sys/fs/cgroup/${name}`;
    const nspawn = spawn("unshare", ["--mount", "--propagation", "private", "sh", "-c", BOOT, folder, group, name], {
      stdio: ["pipe", "pipe", "inherit"],
    });
    const machine = new SystemdMachine(nspawn, `/proc/${nspawn.pid}/root${folder}/root`);
    t.teardown(() => machine.#end(group));
    await once(nspawn.stdout, "data");
    nspawn.stdout.resume();
    prepare(machine.#root);
    nspawn.stdin.end("\n");
    await machine.#untilBooted();
    return machine;
  }

  /** Boots one with this package in `/usr/lib/sealift`, and this Node.js as `/usr/lib/sealift-node`. */
  static async withPackage(t: Test): Promise<SystemdMachine> {
    const folder = temporaryFolder(t);
    execFileSync(process.execPath, ["scripts/build/pack.ts", folder], { stdio: "ignore" });
    return SystemdMachine.boot(t, (root) => {
      const installed = join(root, "usr/lib/sealift");
      mkdirSync(installed);
      const tarball = join(folder, `sealift-${packageJson.version}.tgz`);
      execFileSync("tar", ["--extract", "--strip-components=1", "--directory", installed, "--file", tarball]);
      copyFileSync(process.execPath, join(root, "usr/lib/sealift-node"));
    });
  }

  /** Runs `sealift` of {@link withPackage} in it. @throws Error for an exit code other than 0 */
  async sealift(...words: readonly string[]): Promise<string> {
    const program = ["/usr/lib/sealift-node", "/usr/lib/sealift/dist/bin/sealift.js"];
    const { code, stdout, stderr } = await this.run(...program, ...words);
    if (code !== 0) throw new Error(`${words.join(" ")}: ${stderr}${stdout}`);
    return stdout.trim();
  }

  /** Writes one of its files, and missing folders above it. */
  write(file: string, text: string, mode = 0o644): void {
    mkdirSync(dirname(this.path(file)), { recursive: true });
    writeFileSync(this.path(file), text, { mode });
  }

  /** Path on this machine of one of its files. */
  path(file: string): string {
    return join(this.#root, file);
  }

  /** Runs a program in it as root. */
  async run(...words: readonly string[]): Promise<Ended> {
    const namespaces = ["--target", String(this.#init), "--mount", "--pid", "--ipc", "--uts", "--net", "--cgroup"];
    const child = spawn("nsenter", [...namespaces, "--wdns=/", ...words], {
      env: { PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin", HOME: "/root", LANG: "C.UTF-8" },
      stdio: ["ignore", "pipe", "pipe"],
    });
    const printed = { stdout: "", stderr: "" };
    for (const name of ["stdout", "stderr"] as const)
      child[name].setEncoding("utf8").on("data", (text: string) => (printed[name] += text));
    const [code] = (await once(child, "close")) as [number | null];
    return { code: code ?? 1, ...printed };
  }

  /** Returns properties of a unit. */
  async show(unit: string, ...names: readonly string[]): Promise<Record<string, string>> {
    const { stdout } = await this.run("systemctl", "show", unit, `--property=${names.join(",")}`);
    const lines = stdout.trim().split("\n");
    return Object.fromEntries(
      lines.map((line): [string, string] => {
        const at = line.indexOf("=");
        return [line.slice(0, at), line.slice(at + 1)];
      }),
    );
  }

  /** Waits until a unit's property has a value, a minute at most. */
  until(unit: string, name: string, isWanted: (value: string) => boolean): Promise<void> {
    return this.#until(unit, async () => isWanted((await this.show(unit, name))[name] ?? ""));
  }

  /** Waits until a unit has logged a text, a minute at most. */
  untilLogged(unit: string, text: string): Promise<void> {
    return this.#until(unit, async () => (await this.log(unit)).includes(text));
  }

  async #until(unit: string, holds: () => Promise<boolean>): Promise<void> {
    for (const end = Date.now() + 60_000; !(await holds()); await pause(100))
      if (Date.now() > end) throw new Error(`${unit} does not get there: ${await this.log(unit)}`);
  }

  /** Last lines of a unit's log. */
  async log(unit: string): Promise<string> {
    const { stdout } = await this.run("journalctl", "--no-pager", "--lines=40", "--output=cat", `--unit=${unit}`);
    return stdout;
  }

  async #untilBooted(): Promise<void> {
    const { pid } = this.#nspawn;
    const end = Date.now() + 60_000;
    for (let state = ""; !/running|degraded/.test(state); await pause(100)) {
      if (Date.now() > end || this.#nspawn.exitCode !== null) throw new Error(`systemd does not boot: ${state}`);
      this.#init = Number(readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ").at(-1));
      if (this.#init > 0) state = (await this.run("systemctl", "is-system-running")).stdout;
    }
  }

  async #end(group: string): Promise<void> {
    if (this.#nspawn.exitCode === null) {
      const ended = once(this.#nspawn, "close");
      // systemd stops its units first.
      this.#nspawn.kill("SIGTERM");
      await within(ended, 30_000, () => new Error("systemd did not end")).finally(() => this.#nspawn.kill("SIGKILL"));
    }
    execFileSync("unshare", ["--mount", "--propagation", "private", "sh", "-c", FORGET, group]);
  }
}
