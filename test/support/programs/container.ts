/** Containers of an OCI image, run by crun: its own user, a read-only root, and the network of the host. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { chownSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

interface Mount {
  destination: string;
  type: string;
  source: string;
  options: string[];
}

interface Bundle {
  process: {
    user: { uid: number; gid: number };
    args: string[];
    env?: string[];
    terminal: boolean;
    capabilities?: object;
  };
  root: { path: string; readonly?: boolean };
  mounts: Mount[];
  linux: { namespaces: { type: string; path?: string }[] };
}

/** Debian's crun takes the mixed hierarchies of older hosts for none. */
const CRUN = `umount -R /sys/fs/cgroup && mount -t cgroup2 none /sys/fs/cgroup || exit
exec crun --cgroup-manager=disabled run --bundle "$0" "$1"`;

/** A machine of its own: a folder for data that outlives its containers, and their environment. */
export interface Machine {
  data: string;
  env: Record<string, string>;
  /** Running container whose processes another one sees, as with `--pid container:NAME`; default: none. */
  beside?: ChildProcess | undefined;
}

/** Rights that engines leave a root user, as far as they are needed here. */
const OF_ROOT = ["CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FOWNER", "CAP_KILL", "CAP_SETGID", "CAP_SETUID"];

/** Returns the first process of a container. @param child crun */
function firstProcessOf({ pid }: ChildProcess): string {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, "latin1").trim().split(" ")[0]!;
}

/** Containers of this process: crun keeps their names for the whole machine. */
let count = 0;

/** An image that is unpacked. Needs root, umoci and crun. */
export class ContainerImage {
  readonly #folder: string;
  readonly #bundle: Bundle;

  /** @param archive an OCI layout as a tar @param folder an empty one */
  constructor(archive: string, tag: string, folder: string) {
    this.#folder = folder;
    const layout = join(folder, "layout");
    mkdirSync(layout);
    execFileSync("tar", ["--extract", "--file", archive, "--directory", layout]);
    const umoci = ["unpack", "--image", `${layout}:${tag}`, join(folder, "bundle")];
    execFileSync("umoci", umoci, { stdio: ["ignore", "ignore", "inherit"] });
    this.#bundle = JSON.parse(readFileSync(join(folder, "bundle/config.json"), "utf8")) as Bundle;
    this.machine("data");
  }

  /** Makes a machine whose containers share nothing with those of others but the image and the network. */
  machine(name: string): Machine {
    const data = join(this.#folder, name);
    mkdirSync(data);
    chownSync(data, this.user.uid, this.user.gid);
    return { data, env: {} };
  }

  /** The folder of the image on this machine. */
  get root(): string {
    return join(this.#folder, "bundle/rootfs");
  }

  /** The data of its containers that are of no other machine. */
  get data(): string {
    return join(this.#folder, "data");
  }

  get user(): { uid: number; gid: number } {
    return this.#bundle.process.user;
  }

  /** Starts a container; signals to the child reach its first process. @param words instead of the image's own */
  start(...words: string[]): ChildProcess {
    return this.startOn({ data: this.data, env: {} }, ...words);
  }

  /** Starts a container on a machine, whose data it finds in its working folder. */
  startOn({ data, env, beside }: Machine, ...words: string[]): ChildProcess {
    const name = `sealift-test-${process.pid}-${count++}`;
    const folder = join(this.#folder, name);
    const { process: first, mounts, linux } = this.#bundle;
    const isOurs = ({ destination }: Mount): boolean => !/^\/sys|^\/var/.test(destination);
    const namespaces = linux.namespaces.filter(({ type }) => type !== "network");
    const isRoot = this.user.uid === 0;
    const rights = isRoot ? { bounding: OF_ROOT, effective: OF_ROOT, permitted: OF_ROOT } : {};
    const config = {
      ...this.#bundle,
      process: {
        ...{ ...first, terminal: false, capabilities: rights, rlimits: [], noNewPrivileges: !isRoot },
        args: words.length > 0 ? [first.args[0], ...words] : first.args,
        env: [...(first.env ?? []), ...Object.entries(env).map(([variable, value]) => `${variable}=${value}`)],
      },
      root: { path: this.root, readonly: true },
      mounts: [
        ...mounts.filter(isOurs),
        { destination: "/tmp", type: "tmpfs", source: "tmpfs", options: ["nosuid", "nodev", "mode=1777"] },
        { destination: "/var/lib/sealift", type: "bind", source: data, options: ["bind", "rw"] },
      ],
      linux: {
        ...linux,
        namespaces: namespaces.map((each) =>
          each.type === "pid" && beside !== undefined
            ? { ...each, path: `/proc/${firstProcessOf(beside)}/ns/pid` }
            : each,
        ),
      },
    };
    mkdirSync(folder);
    writeFileSync(join(folder, "config.json"), JSON.stringify(config));
    return spawn("unshare", ["--mount", "--propagation", "private", "sh", "-c", CRUN, folder, name], {
      stdio: ["ignore", "pipe", "pipe"],
    });
  }
}
