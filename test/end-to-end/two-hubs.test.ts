// Only in test:all: two hubs, and servers around them.
/**
 * Two hubs on one PostgreSQL and one bucket behind HAProxy: what breaks is met by the other parts, and nothing is lost.
 */
import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import t, { type Test } from "tap";
import { DeployClient } from "../../lib/client/deploy-client.ts";
import { publishArtifact } from "../../lib/client/publish-client.ts";
import { repeated } from "../../lib/client/retry.ts";
import { SealiftError } from "../../lib/contract/errors.ts";
import { freePort } from "../support/free-port.ts";
import { startBalancer } from "../support/hub/balancer.ts";
import { createProject, hubAt, type ProjectAccess, publication, sha256 } from "../support/hub/harness.ts";
import { type PostgresServer, startPostgresServer } from "../support/hub/postgres-server.ts";
import { startS3 } from "../support/hub/s3-server.ts";
import { startWire } from "../support/hub/wire.ts";
import { type Running, start } from "../support/programs/watch-program.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { until } from "../support/until.ts";

const run = promisify(execFile);
const SEALIFT = fileURLToPath(new URL("../../dist/bin/sealift.js", import.meta.url));

const WRITERS = 2;
const AGENTS = 6;
/** All is well again this long after a trouble at the latest. Generous: the machine may be loaded. */
const RECOVERY_MS = 60_000;
/** Silence that clients wait for. */
const TIMEOUT_MS = 30_000;
/** The failures that a watch answers with another check. */
const TRANSIENT = ["connection_failed", "timed_out", "hub_unavailable", "rate_limited", "download_incomplete"];

interface Hub {
  url: string;
  dataDir: string;
  running: Running;
  start(): Promise<void>;
}

async function hubOf(t: Test, folder: string, shared: readonly string[]): Promise<Hub> {
  const listen = `127.0.0.1:${await freePort()}`;
  const args = ["--data-dir", folder, "--listen", listen, "--rate-limit", "0", "--json", ...shared];
  const hub: Hub = {
    url: `http://${listen}`,
    dataDir: folder,
    running: undefined as unknown as Running,
    start: async () => {
      hub.running = start(t, "hub-serve", args, { env: process.env as Record<string, string> });
      await hub.running.untilEvent("ready");
    },
  };
  await hub.start();
  return hub;
}

/** Failures of writers or agents, and the versions that were acknowledged with the digest of their bytes. */
interface Work {
  acknowledged: Map<string, string>;
  /** Codes of failed checks, with the phase that they fell into. */
  failures: { phase: string; code: string; message: string }[];
  checks: number;
  phase: string;
  signal: AbortSignal;
}

const noted = (work: Work, thrown: unknown): void => {
  if (work.signal.aborted) return;
  const { code, message } = thrown instanceof SealiftError ? thrown : { code: "internal", message: String(thrown) };
  work.failures.push({ phase: work.phase, code, message });
};

async function write(
  work: Work,
  project: ProjectAccess,
  hubUrl: string,
  folder: string,
  writer: number,
): Promise<void> {
  for (let number = 0; !work.signal.aborted; number++) {
    const what = publication(`1.${writer}.${number}`, { size: 64 * 1024 });
    const file = join(folder, `artifact-${writer}`);
    await writeFile(file, what.bytes);
    const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString("base64");
    const fields = {
      version: what.version,
      project_name: "Demo",
      content_sha256: what.contentSha256,
      dek: base64(what.dek),
      signature: base64(what.signature),
      signer_public_key: base64(what.publicKey),
    };
    const target = { hubUrl, apiKey: project.key, projectId: project.id, timeoutMs: TIMEOUT_MS, signal: work.signal };
    // As an operator's pipeline does: again until it is published.
    for (let done = false; !done && !work.signal.aborted;) {
      try {
        await repeated(() => publishArtifact(target, fields, file), { signal: work.signal, onRetry: () => {} });
        work.acknowledged.set(what.version, sha256(what.bytes));
        done = true;
      } catch (error) {
        noted(work, error);
        await sleep(200);
      }
    }
    await sleep(30);
  }
}

async function follow(work: Work, project: ProjectAccess, hubUrl: string): Promise<void> {
  const client = new DeployClient(project.id, {
    hubUrl,
    apiKey: project.key,
    timeoutMs: TIMEOUT_MS,
    signal: work.signal,
  });
  while (!work.signal.aborted) {
    try {
      const version = await client.latestVersion();
      const location = await client.locate(version);
      const bytes: Buffer[] = [];
      for await (const chunk of client.download(version, location, { maxBytes: 1e6 })) bytes.push(chunk);
      const digest = sha256(Buffer.concat(bytes));
      const expected = work.acknowledged.get(version);
      // An upload is visible a moment before its publisher hears of it.
      if (expected !== undefined && digest !== expected) throw new Error(`${version} has other bytes`);
      work.checks++;
    } catch (error) {
      noted(work, error);
    }
    await sleep(50);
  }
}

/** Makes a trouble, and waits until writers and agents get on again. @returns milliseconds that took */
async function meet(work: Work, phase: string, trouble: () => Promise<void>): Promise<number> {
  work.phase = phase;
  await trouble();
  const over = performance.now();
  const [checks, versions] = [work.checks + AGENTS * 2, work.acknowledged.size + WRITERS * 2];
  while (work.checks < checks || work.acknowledged.size < versions) {
    if (performance.now() - over > RECOVERY_MS) throw new Error(`${phase}: no recovery; ${JSON.stringify(work)}`);
    await sleep(20);
  }
  work.phase = "between";
  return Math.round(performance.now() - over);
}

const readOnly = (postgres: PostgresServer, on: boolean): Promise<void> =>
  postgres.run(
    `ALTER SYSTEM SET default_transaction_read_only = ${on ? "on" : "off"}`,
    "SELECT pg_reload_conf()",
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND usename = 'hub'",
  );

t.test("two hubs behind HAProxy lose nothing and fail no agent, whatever breaks", async (t) => {
  const postgres = await startPostgresServer(t);
  if (postgres === undefined) return void t.plan(0, "PostgreSQL is not installed");
  const folder = temporaryFolder(t);
  const s3 = await startS3(t, join(folder, "objects"));
  const bucket = await startWire(t, Number(new URL(s3.endpoint).port));
  const blobUrl = s3
    .url()
    .replace(encodeURIComponent(s3.endpoint), encodeURIComponent(`http://127.0.0.1:${bucket.port}`));
  const kek = await run(process.execPath, [SEALIFT, "hub", "create-kek"]);
  await writeFile(join(folder, "kek.json"), kek.stdout, { mode: 0o600 });

  const shared = [
    ...["--database-url", postgres.url, "--blob-url", blobUrl, "--kek-file", join(folder, "kek.json")],
    ...["--trusted-proxy", "127.0.0.1"],
  ];
  const a = await hubOf(t, join(folder, "a"), shared);
  const b = await hubOf(t, join(folder, "b"), shared);
  const url = await startBalancer(t, [a.url, b.url]);
  if (url === undefined) return void t.plan(0, "HAProxy is not installed");
  const admin = hubAt(url, (await readFile(join(a.dataDir, "admin.key"), "utf8")).trim());
  const project = await createProject(admin);

  t.equal((await project.publish(publication("0.0.1"))).status, 201);
  const stopping = new AbortController();
  const work: Work = {
    ...{ acknowledged: new Map(), failures: [], checks: 0, phase: "between" },
    signal: stopping.signal,
  };
  const working = [
    ...Array.from({ length: WRITERS }, (_, writer) => write(work, project, url, folder, writer)),
    ...Array.from({ length: AGENTS }, () => follow(work, project, url)),
  ];
  const took: Record<string, number> = {};
  took["quiet"] = await meet(work, "quiet", async () => {});
  took["a hub is killed"] = await meet(work, "a hub is killed", async () => {
    b.running.child.kill("SIGKILL");
    await b.running.ended;
  });
  await b.start();
  await until(async () => (await fetch(`${url}/healthz`)).headers.get("x-served-by") === "b");
  took["rolling restart"] = await meet(work, "rolling restart", async () => {
    for (const [name, hub] of Object.entries({ a, b })) {
      hub.running.child.kill("SIGTERM");
      t.equal((await hub.running.ended).code, 0, "it drains and ends");
      await hub.start();
      await until(async () => (await fetch(`${url}/healthz`)).headers.get("x-served-by") === name);
    }
  });
  took["PostgreSQL restarts"] = await meet(work, "PostgreSQL restarts", async () => {
    await postgres.stop();
    await sleep(500);
    await postgres.start();
  });
  took["read-only spell"] = await meet(work, "read-only spell", async () => {
    await readOnly(postgres, true);
    const checks = work.checks;
    await until(() => work.checks >= checks + AGENTS * 3);
    await readOnly(postgres, false);
  });
  took["silent bucket"] = await meet(work, "silent bucket", async () => {
    bucket.mode = "silent";
    await sleep(2500);
    bucket.mode = "open";
    bucket.cut();
  });
  stopping.abort();
  await Promise.allSettled(working);
  t.comment(`milliseconds until all was well again: ${JSON.stringify(took)}; ${work.checks} checks`);

  const seen = new Map<string, number>();
  for (const { phase, code } of work.failures) seen.set(`${phase}: ${code}`, (seen.get(`${phase}: ${code}`) ?? 0) + 1);
  t.comment(`failed checks and uploads: ${JSON.stringify(Object.fromEntries(seen))}`);
  const unexpected = work.failures.filter(({ code }) => !TRANSIENT.includes(code));
  t.same(unexpected, [], "every failure says to try again");
  const harmless = ["quiet", "between", "a hub is killed", "rolling restart"];
  t.same(
    work.failures.filter(({ phase }) => harmless.includes(phase)),
    [],
    "a hub that dies or restarts fails nobody",
  );

  t.ok(work.acknowledged.size >= 10);
  const bearer = await project.session();
  for (const [version, digest] of work.acknowledged) {
    for (const hub of [a, b]) {
      const path = `/app/deploy/v1/projects/${project.id}/artifacts/${version}`;
      const location = await hubAt(hub.url, admin.adminKey).call("GET", path, { bearer });
      t.equal(location.status, 200, `${version} was acknowledged`);
      const answer = await fetch((location.body as { download_url: string }).download_url);
      t.equal(sha256(new Uint8Array(await answer.arrayBuffer())), digest, `${version} is what was published`);
    }
  }
});
