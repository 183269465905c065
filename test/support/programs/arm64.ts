/** A folder that is the whole of an arm64 machine, whose programs qemu runs on the kernel of this one. */
import { spawn } from "node:child_process";
import { copyFileSync, globSync, mkdirSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { text } from "node:stream/consumers";
import type { Ended } from "./command-line.ts";
import { ARM64_LIBRARIES, programFile } from "./optional.ts";

/** Header of every arm64 program and library, and the bits of it that count (Debian's qemu-user-binfmt). */
const MAGIC = [
  String.raw`\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00`,
  String.raw`\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff`,
].join(":");
/** Tells the kernel about qemu, for programs of this user namespace alone, and starts one of them. */
const ENTER = `set -e
mount -t binfmt_misc none /proc/sys/fs/binfmt_misc
echo "$1" > /proc/sys/fs/binfmt_misc/register
mount --rbind /proc "$0/proc"
mount --rbind /dev "$0/dev"
folder=$0
shift
exec chroot "$folder" "$@"`;
/** Waits until the namespace has users; root of it gets its powers by the next exec. */
const WAIT = 'echo; read -r _; exec sh -c "$0" "$@"';

/** A machine of root's with glibc, the C++ library and nothing else. Needs root. */
export class Arm64Machine {
  readonly root: string;

  /** @param root the folder of the machine, an empty one */
  constructor(root: string) {
    this.root = root;
    for (const folder of ["lib/aarch64-linux-gnu", "usr/bin", "etc", "proc", "dev", "tmp"])
      mkdirSync(join(root, folder), { recursive: true, mode: 0o755 });
    copyFileSync(join(ARM64_LIBRARIES, "ld-linux-aarch64.so.1"), join(root, "lib/ld-linux-aarch64.so.1"));
    for (const name of ["c", "m", "dl", "pthread", "stdc++", "gcc_s", "atomic"])
      for (const file of globSync(`${ARM64_LIBRARIES}/lib${name}.so.[0-9]`))
        copyFileSync(file, join(root, "lib/aarch64-linux-gnu", basename(file)));
    writeFileSync(join(root, "etc/passwd"), "root:x:0:0::/:/bin/false\nnobody:x:65534:65534::/:/bin/false\n");
  }

  /**
   * Runs a program of the machine to its end.
   *
   * @param env beside PATH and HOME
   * @param words the program's path in the machine, and its arguments
   */
  async run(env: Readonly<Record<string, string>>, ...words: readonly string[]): Promise<Ended> {
    const enter = [this.root, `:arm64:M::${MAGIC}:${programFile("qemu-aarch64-static")}:F`, ...words];
    const namespaces = ["--user", "--mount", "--pid", "--fork", "--kill-child"];
    const child = spawn("unshare", [...namespaces, "sh", "-c", WAIT, ENTER, ...enter], {
      env: { PATH: "/usr/sbin:/usr/bin:/sbin:/bin", HOME: "/", ...env },
      stdio: "pipe",
    });
    const printed = Promise.all([text(child.stdout), text(child.stderr)]);
    const ended = new Promise<number | null>((resolve) => child.once("close", resolve));
    child.stdout.once("data", () => {
      for (const map of ["uid_map", "gid_map"]) writeFileSync(`/proc/${child.pid}/${map}`, "0 0 70000");
      child.stdin.end("\n");
    });
    const [stdout, stderr] = await printed;
    return { code: (await ended) ?? 1, stdout: stdout.slice(1), stderr };
  }
}
