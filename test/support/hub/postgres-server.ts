import { execFile, spawn } from "node:child_process";
import { chmod, chown, mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import pg from "pg";
import type { Test } from "tap";

const run = promisify(execFile);

/** PostgreSQL refuses to run as root; `nobody` will do. */
const NOBODY = { uid: 65534, gid: 65534 };

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** Starts a PostgreSQL of its own for the test. @returns its URL, or undefined where PostgreSQL is not installed */
export async function startPostgres(t: Test): Promise<string | undefined> {
  const identity = userInfo().uid === 0 ? NOBODY : {};
  const folder = await mkdtemp(join(tmpdir(), "sealift-pg-"));
  const data = join(folder, "data");
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  if (userInfo().uid === 0) await chown(folder, NOBODY.uid, NOBODY.gid);
  await chmod(folder, 0o700);
  try {
    // A default collation that is not bytewise: the hub must sort by bytes nevertheless.
    const collation = ["--locale-provider=icu", "--icu-locale=en-US", "--locale=C.UTF-8"];
    await run("initdb", ["-D", data, "-U", "hub", "-A", "trust", "--no-sync", ...collation], {
      ...identity,
      cwd: folder,
    });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
  const port = await freePort();
  const server = spawn(
    "postgres",
    ["-D", data, "-p", String(port), "-k", folder, "-c", "fsync=off", "-h", "127.0.0.1"],
    {
      ...identity,
      cwd: folder,
      stdio: "ignore",
    },
  );
  t.teardown(async () => {
    const ended = new Promise((resolve) => server.once("exit", resolve));
    server.kill("SIGINT");
    await ended;
  });
  const url = `postgres://hub@127.0.0.1:${port}/postgres`;
  for (let attempt = 0; attempt < 600; attempt++) {
    const client = new pg.Client({ connectionString: url });
    try {
      await client.connect();
      await client.end();
      return url;
    } catch {
      await delay(100);
    }
  }
  throw new Error("PostgreSQL did not start");
}
