import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import t, { type Test } from "tap";
import { call } from "../../support/hub/harness.ts";

const PROGRAM = join(import.meta.dirname, "../../../dist/bin/sealift.js");

function start(t: Test, args: string[]): { child: ChildProcess; stderr: () => string } {
  const child = spawn(process.execPath, [PROGRAM, ...args], { stdio: ["ignore", "pipe", "pipe"] });
  let stderr = "";
  child.stderr?.on("data", (chunk) => (stderr += String(chunk)));
  t.teardown(() => child.kill("SIGKILL"));
  return { child, stderr: () => stderr };
}

async function exitOf(child: ChildProcess): Promise<number | null> {
  if (child.exitCode !== null) return child.exitCode;
  const [code] = (await once(child, "exit")) as [number | null];
  return code;
}

t.test("hub-serve says when it is ready, and SIGTERM ends it with 0", async (t) => {
  const dataDir = join(t.testdir(), "hub");
  const { child, stderr } = start(t, ["hub-serve", "--data-dir", dataDir, "--listen", "127.0.0.1:0", "--json"]);
  const events: Record<string, unknown>[] = [];
  const lines = createInterface({ input: child.stdout! });
  const ready = new Promise<string>((resolve) => {
    lines.on("line", (line) => {
      const event = JSON.parse(line) as Record<string, unknown>;
      events.push(event);
      if (event["event"] === "ready") resolve(event["url"] as string);
    });
  });
  const url = await ready;
  const key = (await readFile(join(dataDir, "admin.key"), "utf8")).trim();
  t.equal((await call(`${url}/devkeys/api-keys`, "GET", { key })).status, 200);

  const rotation = start(t, ["hub", "rotate-kek", "--data-dir", dataDir, "--json"]);
  t.equal(await exitOf(rotation.child), 0);

  child.kill("SIGTERM");
  t.equal(await exitOf(child), 0);
  t.match(events, [
    { v: 1, event: "ready", url: /^http:\/\/127\.0\.0\.1:\d+$/ },
    { v: 1, event: "result", status: "success" },
  ]);
  t.equal(stderr(), "", "with --json stderr is silent");
});

t.test("without --json the ready line is the only output, and logs are on stderr", async (t) => {
  const dataDir = join(t.testdir(), "hub");
  const { child, stderr } = start(t, ["hub-serve", "--data-dir", dataDir, "--listen", "127.0.0.1:0"]);
  const [line] = (await once(createInterface({ input: child.stdout! }), "line")) as [string];
  t.match(line, /^ready http:\/\/127\.0\.0\.1:\d+$/);
  const url = line.slice("ready ".length);
  await call(`${url}/devkeys/projects`, "POST", { json: {} });
  child.kill("SIGINT");
  t.equal(await exitOf(child), 0);
  t.match(stderr(), /"path":"\/devkeys\/projects"/);
});

t.test("options that cannot be used end it with 2", async (t) => {
  const folder = t.testdir();
  for (const args of [
    ["hub-serve", "--listen", "nonsense"],
    ["hub-serve", "--listen", "127.0.0.1:70000"],
    ["hub-serve", "--import-host", "gitea=http://plain.example"],
    ["hub-serve", "--public-url", "ftp://x"],
    ["hub-serve", "--web-oidc-grant", "ops=acme:fly"],
    ["hub-serve", "--web-oidc-issuer", "https://login.example"],
    ["hub-serve", "--data-dir", join(folder, "a"), "--blob-url", "s3://bucket"],
    ["hub", "rotate-kek", "--data-dir", join(folder, "none")],
  ]) {
    const { child, stderr } = start(t, args);
    t.equal(await exitOf(child), 2, args.join(" "));
    t.match(stderr(), /^error \(/);
  }
});
