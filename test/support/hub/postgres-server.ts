import { type ChildProcess, execFile, spawn } from "node:child_process";
import { rmSync } from "node:fs";
import { chown, cp, mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import pg from "pg";
import type { Test } from "tap";
import { freePort } from "../free-port.ts";
import { needs, programFile } from "../programs/optional.ts";

const run = promisify(execFile);

/** PostgreSQL refuses to run as root; `nobody` will do. */
const NOBODY = { uid: 65534, gid: 65534 };
const USER = process.getuid?.() === 0 ? NOBODY : {};

async function ownedByUser(folder: string): Promise<void> {
  if (USER !== NOBODY) return;
  for (const path of [".", ...(await readdir(folder, { recursive: true }))])
    await chown(join(folder, path), NOBODY.uid, NOBODY.gid);
}

/** Folder of a database cluster that nothing has used, made once in a process: each server starts with a copy. */
let emptyCluster: Promise<string> | undefined;

async function makeCluster(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "sealift-pg-"));
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  await ownedByUser(folder);
  const data = join(folder, "data");
  // A default collation that is not bytewise: the hub must sort by bytes nevertheless.
  const collation = ["--locale-provider=icu", "--icu-locale=en-US", "--locale=C.UTF-8"];
  const options = ["-D", data, "-U", "hub", "-A", "trust", "--no-sync", ...collation];
  await run(programFile("initdb"), options, { ...USER, cwd: folder });
  return data;
}

/** A PostgreSQL of a test. */
export interface PostgresServer {
  url: string;
  port: number;
  start(): Promise<void>;
  /** Ends it at once: every connection is lost. */
  stop(): Promise<void>;
  /** Has it and all its processes stand still. @returns what has them go on */
  freeze(): Promise<() => Promise<void>>;
  /** Runs one statement after the other as its superuser. */
  run(...statements: string[]): Promise<void>;
}

/** Starts a PostgreSQL of its own for the test. @returns its URL, or undefined where PostgreSQL is not installed */
export async function startPostgres(t: Test): Promise<string | undefined> {
  return (await startPostgresServer(t))?.url;
}

/** Starts a PostgreSQL of its own for the test. @returns undefined where PostgreSQL is not installed */
export async function startPostgresServer(t: Test): Promise<PostgresServer | undefined> {
  if (needs("initdb") !== false) return undefined;
  const folder = await mkdtemp(join(tmpdir(), "sealift-pg-"));
  const data = join(folder, "data");
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  await cp(await (emptyCluster ??= makeCluster()), data, { recursive: true });
  await ownedByUser(folder);
  const inFolder = { ...USER, cwd: folder };
  const port = await freePort();
  const url = `postgres://hub@127.0.0.1:${port}/postgres`;
  let server: ChildProcess | undefined;
  const stop = async (): Promise<void> => {
    if (server === undefined) return;
    const ended = new Promise((resolve) => server?.once("exit", resolve));
    server.kill("SIGINT");
    await ended;
    server = undefined;
  };
  t.teardown(stop);
  const start = async (): Promise<void> => {
    const options = ["-D", data, "-p", String(port), "-k", folder, "-c", "fsync=off", "-h", "127.0.0.1"];
    server = spawn(programFile("postgres"), options, { ...inFolder, stdio: "ignore" });
    for (let attempt = 0; attempt < 600; attempt++) {
      const client = new pg.Client({ connectionString: url });
      try {
        await client.connect();
        await client.end();
        return;
      } catch {
        await delay(50);
      }
    }
    throw new Error("PostgreSQL did not start");
  };
  await start();
  return {
    url,
    port,
    start,
    stop,
    async freeze() {
      const { pid } = server!;
      // The postmaster first: it starts no more.
      const signalAll = async (signal: NodeJS.Signals): Promise<void> => {
        process.kill(pid!, signal);
        const children = await readFile(`/proc/${pid}/task/${pid}/children`, "utf8");
        for (const child of children.trim().split(" ").filter(Boolean)) {
          try {
            process.kill(Number(child), signal);
          } catch (error) {
            // A worker of the server may have ended meanwhile.
            if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
          }
        }
      };
      await signalAll("SIGSTOP");
      return () => signalAll("SIGCONT");
    },
    async run(...statements) {
      // It may write also where others may not.
      const client = new pg.Client({ connectionString: url, options: "-c default_transaction_read_only=off" });
      await client.connect();
      try {
        for (const statement of statements) await client.query(statement);
      } finally {
        await client.end();
      }
    },
  };
}
