// Only in test:all: six deployments of an application by the built programs.
/** An application of others, with its packages, on two hosts that have no network interface but loopback. */
import { execFile, spawn } from "node:child_process";
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import t, { type Test } from "tap";
import { copyWebExample } from "../../scripts/quickstart/web-packages.ts";
import { startHub } from "../support/hub/harness.ts";
import { builtFile } from "../support/programs/command-line.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { until } from "../support/until.ts";

const run = promisify(execFile);
const PORT = "3001";

/** A host in a network namespace of its own, in which `app serve` runs its applications. */
async function ship(t: Test, folder: string, name: string) {
  const place = join(folder, name);
  mkdirSync(place, { recursive: true });
  const script = 'ip link set lo up && exec "$0" "$@"';
  const program = (words: readonly string[]) => [process.execPath, builtFile("sealift"), ...words];
  const { stdout: line } = await run(process.execPath, [builtFile("sealift"), "host", "key", "--out", place]);
  const allowing = [
    "app",
    "allow",
    "web",
    "--listen",
    `http=${PORT}`,
    "--user",
    "nobody",
    "--project-root",
    join(place, "root"),
  ];
  await run(process.execPath, [builtFile("sealift"), ...allowing]);
  const served = spawn(
    "unshare",
    ["-n", "sh", "-c", script, ...program(["app", "serve", "--project-root", join(place, "root")])],
    {
      stdio: ["ignore", "pipe", "pipe"],
    },
  );
  t.teardown(async () => {
    served.kill("SIGTERM");
    await until(() => served.exitCode !== null || served.signalCode !== null);
  });
  let log = "";
  for (const stream of [served.stdout, served.stderr]) stream.on("data", (text: Buffer) => (log += String(text)));
  await until(() => /^ready/m.test(log));
  /** Runs a program in the namespace of the host. */
  const inside = async (...words: string[]): Promise<string> => {
    const { stdout } = await run("nsenter", ["-t", String(served.pid), "-n", ...words], { cwd: place });
    return stdout;
  };
  return {
    ...{ name, line: line.trim() },
    sealift: (...words: string[]) => inside(...program(words)),
    /** Returns what the application answers. */
    answer: () =>
      inside(process.execPath, "-e", `fetch("http://127.0.0.1:${PORT}/").then((it) => it.text()).then(console.log)`),
    interfaces: async () => (await inside("ip", "-o", "link")).trim().split("\n").length,
  };
}

t.test(
  "three versions of an application, once back, and the reports of both hosts stand in the fleet",
  { skip: process.getuid?.() !== 0 && "namespaces need root" },
  async (t) => {
    const folder = temporaryFolder(t);
    chmodSync(folder, 0o755);
    const hub = await startHub(t, { rateLimits: false });
    const env = { ...process.env, SEALIFT_HUB_URL: hub.url, SEALIFT_API_KEY: hub.adminKey };
    const sealift = async (words: readonly string[], cwd = folder, more = {}) =>
      (await run(process.execPath, [builtFile("sealift"), ...words], { cwd, env: { ...env, ...more } })).stdout.trim();
    const id = await sealift(["project", "create", "Shop"]);
    await sealift(["signer", "create", "--out", "keys"]);
    const maker = await sealift(["key", "create", "--name", "maker", "--project", id]);
    const [, credential] = /^SEALIFT_DEPLOYMENT_CREDENTIAL=(.*)$/m.exec(maker)!;
    copyWebExample(join(folder, "web"));
    await sealift(["app", "init", "--project-id", id], join(folder, "web"));
    const ships = [await ship(t, folder, "ship-1"), await ship(t, folder, "ship-2")];
    const hosts = ships.flatMap(({ name, line }) => ["--host", `${name}=${line}`]);
    let stick = "";
    for (const version of ["1.0.0", "1.1.0", "1.2.0"]) {
      const described = join(folder, "web/package.json");
      const facts = JSON.parse(readFileSync(described, "utf8")) as object;
      writeFileSync(described, JSON.stringify({ ...facts, version }));
      const publishing = [
        "project",
        "publish",
        ".",
        "--version",
        version,
        "--signing-key-file",
        "../../keys/signer.key",
      ];
      await sealift(publishing, join(folder, "web/deploy"));
      stick = join(folder, "sticks", version);
      await sealift(["kit", "make", `project:${id}`, ...hosts, "--out", stick], folder, {
        SEALIFT_DEPLOYMENT_CREDENTIAL: credential,
      });
      for (const { name, sealift: there, answer, interfaces } of ships) {
        t.equal(await interfaces(), 1, "loopback alone");
        const pinned = ["--project-id", id, "--signer-public-key", join(folder, "keys/signer.pub")];
        const own = ["--host-key-file", "host.key", "--project-root", "root", "--host-id", name];
        await there("deploy-project", "--from", stick, ...pinned, ...own);
        t.match(await answer(), `Hello from ${version}`);
        if (version !== "1.1.0") continue;
        await there("rollback", `project:${id}`, "--project-root", "root");
        t.match(await answer(), "Hello from 1.0.0");
      }
    }
    for (const { sealift: there } of ships)
      await there("kit", "collect", stick, "--host-key-file", "host.key", "--project-root", "root");
    t.match(await sealift(["kit", "submit", stick]), /taken, ship-1[^]*taken, ship-2|taken, ship-2[^]*taken, ship-1/);
    for (const { name } of ships) {
      const host = (await hub.call("GET", `/app/deploy/v1/projects/${id}/hosts/${name}`)).body;
      t.match(host, { running_version: "1.2.0", status: "success", by_kit: { kit: /^kit_/ } });
    }
  },
);
