/**
 * A reader's shell: the programs on the path, an empty home and folder, and one bash that the blocks of a page are
 * typed into.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  constants,
  copyFileSync,
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import type { Writable } from "node:stream";
import { repository } from "./pages.ts";

export interface Printed {
  text: string;
  /** Undefined when the shell itself has ended. */
  code: number | undefined;
}

/** A user and a group by their numbers. */
export interface User {
  uid: number;
  gid: number;
}

/**
 * Puts the built programs into a folder under the names that an installation gives them, and Node.js beside them.
 * `SEALIFT_ONE_FILE` names a single executable, which is then all of them.
 */
export function installPrograms(folder: string, checkout = repository, node = process.execPath): void {
  mkdirSync(folder, { recursive: true });
  const { bin } = JSON.parse(readFileSync(join(repository, "package.json"), "utf8")) as { bin: Record<string, string> };
  for (const [name, file] of Object.entries({ ...bin, node: "" })) {
    const path = join(folder, name);
    const oneFile = process.env["SEALIFT_ONE_FILE"];
    if (file !== "" && oneFile !== undefined) {
      symlinkSync(oneFile, path);
      continue;
    }
    const program = file === "" ? node : `${node} ${join(checkout, file)}`;
    writeFileSync(path, `#!/bin/sh\nexec ${program} "$@"\n`);
    chmodSync(path, 0o755);
  }
}

/**
 * Copies what the pages use of a checkout to a place that every user can read, and Node.js.
 *
 * @returns the path of Node.js
 */
export function copyCheckout(folder: string): string {
  mkdirSync(folder, { recursive: true });
  for (const part of ["dist", "examples", "test/docs", "package.json"])
    cpSync(join(repository, part), join(folder, part), { recursive: true });
  const node = join(folder, "node");
  copyFileSync(process.execPath, node, constants.COPYFILE_FICLONE);
  return node;
}

/** The environment of a reader's programs: nothing of this process's own settings. */
export function readerEnvironment(home: string, programs: string): NodeJS.ProcessEnv {
  const path = [programs, "/usr/local/bin", "/usr/bin", "/bin", "/usr/sbin", "/sbin"].join(":");
  return { PATH: path, HOME: home, TMPDIR: process.env["TMPDIR"] ?? "/tmp", LANG: "C.UTF-8", USER: "reader" };
}

/** Aborts with its scope. */
class AbortScope extends AbortController implements Disposable {
  [Symbol.dispose](): void {
    this.abort();
  }
}

/**
 * Reads the names of files from descriptor 3 and runs them one after the other, as if typed. Job control for `kill %1`;
 * the first command that fails ends the shell. Programs do not see the descriptor: some would change how it is read.
 * Nor do they see the options of Node.js by which a test runner follows its children.
 */
const LOOP = `exec 2>&1; unset NODE_OPTIONS; set -m -e -o pipefail
while IFS=" " read -r -u 3 mark file; do . "$file" 3<&-; printf '%s\\n' "$mark"; done`;

/**
 * Returns the words that start a program on a machine of its own, whose name comes next: without any network interface
 * but a loopback that is down. An ordinary user needs the rights to bring that up.
 */
const withoutNetwork = (user: User | undefined): string[] => [
  ...["unshare", "--net", "--uts"],
  ...(user === undefined && process.getuid?.() === 0 ? [] : ["--map-current-user", "--keep-caps"]),
  ...["sh", "-c", 'hostname "$0" && exec "$@"'],
];

export class Shell implements AsyncDisposable {
  readonly #bash: ChildProcess;
  readonly #folder: string;
  #count = 0;
  #text = "";

  /**
   * @param folder where the shell starts; what is typed is kept beside it
   * @param user who types; only root can be somebody else
   * @param machine name of a machine without network that it is typed on; without it this one
   */
  constructor(folder: string, environment: NodeJS.ProcessEnv, user?: User, machine?: string) {
    this.#folder = folder;
    const bash = ["bash", "--noprofile", "--norc", "-c", LOOP];
    const [program, ...words] = machine === undefined ? bash : [...withoutNetwork(user), machine, ...bash];
    // A session of its own, so that whatever a page leaves running ends with it.
    this.#bash = spawn(program!, words, {
      cwd: folder,
      env: environment,
      stdio: ["ignore", "pipe", "ignore", "pipe"],
      detached: true,
      ...user,
    });
    // A shell that has ended is found out when it is waited for.
    this.#input.on("error", () => {});
    this.#bash.stdout!.setEncoding("utf8").on("data", (text: string) => (this.#text += text));
  }

  get #input(): Writable {
    return this.#bash.stdio[3] as Writable;
  }

  /** Types commands and waits until they have ended. @param limitMs then the shell is killed */
  async type(commands: string, limitMs: number): Promise<Printed> {
    const file = `${this.#folder}.typed-${this.#count++}.sh`;
    const mark = `\u0001typed-${this.#count}\u0001`;
    writeFileSync(file, `${commands}\n`);
    this.#text = "";
    this.#input.write(`${mark} ${file}\n`);
    const timer = setTimeout(() => this.#kill(), limitMs);
    try {
      while (!this.#text.includes(mark)) {
        if (this.#bash.exitCode !== null || this.#bash.signalCode !== null)
          return { text: this.#text, code: undefined };
        await this.#news();
      }
      return { text: this.#text.slice(0, this.#text.indexOf(mark)), code: 0 };
    } finally {
      clearTimeout(timer);
    }
  }

  /** Waits for output or the end. */
  async #news(): Promise<void> {
    using done = new AbortScope();
    const { signal } = done;
    await Promise.race([once(this.#bash.stdout!, "data", { signal }), once(this.#bash, "close", { signal })]);
  }

  /**
   * With job control each job is a process group, but all of them are of the session that bash was made the leader of.
   */
  #kill(): void {
    for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
      try {
        const [, , , session] = readFileSync(`/proc/${pid}/stat`, "latin1").split(") ").at(-1)!.split(" ");
        if (session === String(this.#bash.pid)) process.kill(Number(pid), "SIGKILL");
      } catch {
        // It has ended meanwhile.
      }
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed =
      this.#bash.exitCode === null && this.#bash.signalCode === null ? once(this.#bash, "exit") : Promise.resolve();
    const file = `${this.#folder}.typed-last.sh`;
    writeFileSync(file, "set +e; kill $(jobs -p) 2>/dev/null; wait; exit 0\n");
    this.#input.end(`end ${file}\n`);
    const timer = setTimeout(() => this.#kill(), 20_000);
    await closed;
    clearTimeout(timer);
    this.#kill();
  }
}
