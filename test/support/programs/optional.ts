/**
 * Programs that are not part of Node.js and that a machine may lack. A test that needs some skips by what
 * {@link needs} returns; `.ci/run` installs all of them, lets no test skip, and runs the tests that may skip once more
 * where none of the programs is there.
 */
import { spawnSync } from "node:child_process";
import { existsSync, globSync } from "node:fs";
import { userInfo } from "node:os";
import { delimiter, join } from "node:path";

interface Optional {
  /** Debian's package. */
  package: string;
  /** Arguments with which the program ends with exit code 0 where it works. */
  probe: readonly string[];
  /** The program that is run, where it goes by another name. */
  program?: string;
  /** It works for users only whom the machine has a name for. */
  forNamedUsers?: true;
}

const from = (name: string, ...probe: string[]): Optional => ({
  package: name,
  probe: probe.length > 0 ? probe : ["--version"],
});

function hasName(): boolean {
  try {
    return userInfo().username !== "";
  } catch {
    return false;
  }
}

/** The Python that has Debian's packages: another one may come first on the path. */
export const PYTHON3 = "/usr/bin/python3";

/** Folder of the arm64 libraries that Debian has for compilers of other machines. */
export const ARM64_LIBRARIES = "/usr/aarch64-linux-gnu/lib";

/** Begins a probe for a program that the kernel is to start for others, in a namespace. */
const FOR_ITSELF = [
  ...["--user", "--map-root-user", "--mount", "--fork", "sh", "-c"],
  'mount -t binfmt_misc none /proc/sys/fs/binfmt_misc && "$0" --version',
];

/** Mounts a small FAT in a folder that goes with it: in containers there may be no FUSE, and only root unmounts. */
const MOUNTS_FAT = [
  'd=$(mktemp -d) && trap "rm -rf $d" EXIT && mkdir $d/m && truncate -s 1M $d/i && PATH=$PATH:/usr/sbin:/sbin',
  "mkfs.vfat $d/i && fusefat $d/i $d/m -o rw+ && mountpoint -q $d/m && umount $d/m",
].join(" && ");

/** Words by which `unshare` makes namespaces for this user. */
const NAMESPACES = process.getuid?.() === 0 ? [] : ["--map-current-user", "--keep-caps"];

/** Every program that tests may start and that is neither part of Node.js nor of each Debian. */
export const OPTIONAL = {
  "aarch64-linux-gnu-strip": from("binutils-aarch64-linux-gnu"),
  age: from("age"),
  "ansible-playbook": from("ansible-core"),
  apparmor_parser: from("apparmor"),
  "apt-ftparchive": from("apt-utils"),
  "apt-get": from("apt"),
  "arm64-libatomic": { ...from("libatomic1-arm64-cross", "-e", `${ARM64_LIBRARIES}/libatomic.so.1`), program: "test" },
  "arm64-libstdc": { ...from("libstdc++6-arm64-cross", "-e", `${ARM64_LIBRARIES}/libstdc++.so.6`), program: "test" },
  bsdtar: from("libarchive-tools"),
  buildah: from("buildah"),
  // On some machines the program is there, and may make no namespaces.
  bwrap: from("bubblewrap", "--ro-bind", "/", "/", "--unshare-all", "--die-with-parent", "true"),
  caddy: from("caddy", "version"),
  chromium: from("chromium"),
  crun: from("crun"),
  curl: from("curl"),
  "dpkg-deb": from("dpkg"),
  filefrag: from("e2fsprogs", "-V"),
  fish: from("fish"),
  fusefat: { ...from("fusefat", "-c", MOUNTS_FAT), program: "sh" },
  git: from("git"),
  go: from("golang-go", "version"),
  gpg: from("gpg"),
  gpgv: from("gpgv"),
  haproxy: from("haproxy", "-v"),
  ip: from("iproute2", "-V"),
  initdb: { ...from("postgresql"), forNamedUsers: true },
  man: from("man-db"),
  "mkfs.btrfs": from("btrfs-progs"),
  "mkfs.vfat": from("dosfstools", "--help"),
  "mkfs.xfs": from("xfsprogs", "-V"),
  openssl: from("openssl", "version"),
  pip: from("python3-pip"),
  pkcheck: from("polkitd"),
  promtool: from("prometheus"),
  python3: from("python3"),
  "python3-apt": { ...from("python3-apt", "-c", "import apt"), program: PYTHON3 },
  "python3-cryptography": { ...from("python3-cryptography", "-c", "import cryptography"), program: "python3" },
  "python3-nacl": { ...from("python3-nacl", "-c", "import nacl"), program: PYTHON3 },
  "python3-securesystemslib": { ...from("python3-securesystemslib", "-cimport securesystemslib"), program: PYTHON3 },
  // The kernel has to let a namespace have interpreters of its own, as Linux 6.7 and later do.
  "qemu-aarch64-static": { ...from("qemu-user-static", ...FOR_ITSELF, "qemu-aarch64-static"), program: "unshare" },
  "redis-server": from("redis-server"),
  strace: from("strace", "-V"),
  strip: from("binutils"),
  "systemd-analyze": from("systemd"),
  "systemd-notify": from("systemd"),
  "systemd-nspawn": from("systemd-container"),
  "systemd-socket-activate": from("systemd"),
  "systemd-tmpfiles": from("systemd"),
  tar: from("tar"),
  tmux: from("tmux", "-V"),
  umoci: from("umoci"),
  // In some containers root may make no namespaces, and on some machines no ordinary user may.
  unshare: from("util-linux", ...NAMESPACES, "--net", "--uts", "true"),
  unzip: from("unzip", "-v"),
  zip: from("zip", "-v"),
  zsh: from("zsh"),
  zstd: from("zstd"),
} as const satisfies Record<string, Optional>;

export type OptionalProgram = keyof typeof OPTIONAL;

/** Folders in which distributions keep programs that are on no ordinary user's path. */
const FURTHER = ["/usr/sbin", "/sbin", ...globSync("/usr/lib/postgresql/*/bin").toSorted().reverse()];

/** Every file of a program, on the path and where distributions keep it. @public `.ci/as-user` asks */
export function programFiles(name: string): string[] {
  const folders = [...(process.env["PATH"] ?? "").split(delimiter), ...FURTHER];
  return folders.map((folder) => join(folder, name)).filter(existsSync);
}

/** The file of a program that is started; its bare name where it is nowhere. */
export const programFile = (name: string): string => programFiles(name)[0] ?? name;

const seen = new Map<OptionalProgram, boolean>();

function works(name: OptionalProgram): boolean {
  const known = seen.get(name);
  if (known !== undefined) return known;
  const { probe, forNamedUsers, program = name }: Optional = OPTIONAL[name];
  const { status } = spawnSync(programFile(program), probe, { stdio: "ignore", timeout: 20_000 });
  const isWorking = status === 0 && (forNamedUsers === undefined || hasName());
  seen.set(name, isWorking);
  return isWorking;
}

/**
 * For tap's `skip`: false where every one of the programs works, else a text that names those that do not. Each is run
 * once in a process to find out.
 */
export function needs(...names: readonly OptionalProgram[]): string | false {
  const missing = names.filter((name) => !works(name)).map((name) => titleOf(name));
  return missing.length > 0 && `needs ${missing.join(", ")}`;
}

const titleOf = (name: OptionalProgram): string =>
  OPTIONAL[name].package === name ? name : `${OPTIONAL[name].package} (${name})`;

/** Debian's packages of the programs that do not work here. @public `.ci/run` asks */
export const missingPackages = (): string[] => [
  ...new Set(
    Object.entries(OPTIONAL)
      .filter(([name]) => !works(name as OptionalProgram))
      .map(([, { package: wanted }]) => wanted),
  ),
];
