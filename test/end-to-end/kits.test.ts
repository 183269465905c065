// Holds: a deployment from a kit opens no socket (lib/agent/sources/kits/origins.ts)
/** The built programs at a site without network: traced, in namespaces of their own, and read by another language. */
import { execFile, execFileSync } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import t from "tap";
import { hostKeyOf, newHostSeed } from "../../lib/artifact/sealed/host-key.ts";
import { hostLine } from "../../lib/contract/settings/host-line.ts";
import { type OfflineSite, offlineSite, sealift } from "../support/host/offline-site.ts";
import { builtFile } from "../support/programs/command-line.ts";
import { needs } from "../support/programs/optional.ts";

const run = promisify(execFile);

/** The words that deploy a project from a kit. */
const deploying = ({ target, root }: OfflineSite, kit: string, more: readonly string[] = []): string[] => [
  ...["--project-id", target.slug, "--signer-public-key", target.options["signer_public_key"]!, "--from", kit],
  ...["--host-key-file", "host.key", "--project-root", root, "--host-id", "pier-7", "--json", ...more],
];

/** The last event of `--json`. */
const resultIn = (stdout: string): object => JSON.parse(stdout.trim().split("\n").at(-1)!) as object;

t.test("strace sees no socket in a whole deployment from a kit", { skip: needs("strace") }, async (t) => {
  const site = await offlineSite(t);
  await site.target.publish("1.0.0");
  const kit = await site.make("kit");
  const trace = join(site.folder, "trace");
  const tracing = ["-f", "-qq", "-o", trace, "-e", "trace=socket,connect,sendto,bind"];
  const program = [process.execPath, builtFile("deploy-project"), ...deploying(site, kit)];
  const { stdout } = await run("strace", [...tracing, ...program], { cwd: site.folder });
  t.match(resultIn(stdout), { outcome: "deployed", version: "1.0.0" });
  t.strictSame(
    readFileSync(trace, "utf8")
      .split("\n")
      .filter((line) => /(socket|connect|sendto|bind)\(/.test(line)),
    [],
  );
  // The trace would show one: the same program without a kit asks the hub.
  const asking = [...program.slice(0, 2), "--project-id", site.target.slug, "--hub-url", site.hub.url, "--json"];
  const keys = ["--api-key-file", site.target.options["api_key_file"]!, "--deployment-credential-file"];
  const rest = [...keys, site.target.options["deployment_credential_file"]!, "--signer-public-key"];
  const signer = [site.target.options["signer_public_key"]!, "--project-root", join(site.folder, "other")];
  await run("strace", [...tracing, ...asking, ...rest, ...signer], { cwd: site.folder });
  t.match(readFileSync(trace, "utf8"), /socket\(AF_INET/);
});

t.test("what is on a stick when a command has ended stays there", { skip: needs("strace") }, async (t) => {
  const site = await offlineSite(t);
  const { hub, folder, target, key, root } = site;
  await target.publish("1.0.0");
  /** Runs a program, and returns what it has synced by the names in the folder. */
  const synced = async (program: string, words: readonly string[]): Promise<string[]> => {
    const trace = join(folder, "trace");
    const tracing = ["-f", "-y", "-qq", "-o", trace, "-e", "trace=fsync,fdatasync", process.execPath];
    await run("strace", [...tracing, builtFile(program), ...words], { cwd: folder });
    return [...readFileSync(trace, "utf8").matchAll(/sync\(\d+<([^>]*)>/g)].map(([, path]) =>
      path!.replace(folder, ""),
    );
  };
  const made = await synced("sealift", [
    ...["kit", "make", target.name, "--out", "stick/kit", "--host", `pier-7=${hostLine(key)}`],
    ...["--hub-url", hub.url, "--api-key-file", target.options["api_key_file"]!],
    ...["--deployment-credential-file", target.options["deployment_credential_file"]!],
  ]);
  for (const path of ["/stick/kit/artifact.bin", "/stick/kit/kit.json", "/stick/kit", "/stick"])
    t.ok(made.includes(path), `${path} of ${made.join(" ")}`);
  await synced("deploy-project", deploying(site, "stick/kit"));
  const collect = ["kit", "collect", "stick", "--host-key-file", "host.key", "--project-root", root];
  const collected = await synced("sealift", collect);
  const [report] = readdirSync(join(folder, "stick/reports"));
  for (const path of [`/stick/reports/${report}`, "/stick/reports", "/stick"])
    t.ok(collected.includes(path), `${path} of ${collected.join(" ")}`);
});

const isRoot = process.getuid?.() === 0;
t.test(
  "two hosts without network interfaces take three versions, go back once, and report",
  { skip: needs("unshare") || (!isRoot && "without a user namespace only root makes them") },
  async (t) => {
    const site = await offlineSite(t);
    const { hub, folder, target, make } = site;
    const seeds = [newHostSeed(), newHostSeed()];
    const names = ["ship-1", "ship-2"];
    for (const [index, name] of names.entries()) {
      await mkdir(join(folder, name));
      writeFileSync(join(folder, name, "host.key"), `${seeds[index]!.toString("hex")}\n`, { mode: 0o600 });
    }
    const lines = names.flatMap((name, index) => ["--host", `${name}=${hostLine(hostKeyOf(seeds[index]!))}`]);
    const on = async (name: string, program: string, words: readonly string[]): Promise<string> => {
      const args = ["-n", "--", process.execPath, builtFile(program), ...words];
      const { stdout } = await run("unshare", args, { cwd: join(folder, name) });
      return stdout;
    };
    const pub = join(folder, target.options["signer_public_key"]!);
    const words = (kit: string, name: string): string[] => [
      ...["--project-id", target.slug, "--signer-public-key", pub, "--from", kit, "--host-id", name, "--json"],
      ...["--host-key-file", "host.key", "--project-root", "root"],
    ];
    let stick = "";
    for (const version of ["1.0.0", "1.1.0", "1.2.0"]) {
      await target.publish(version);
      stick = await make(`stick-${version}`, lines);
      for (const name of names) {
        const done = await on(name, "deploy-project", words(stick, name));
        t.match(resultIn(done), { outcome: "deployed", version });
        if (version !== "1.1.0") continue;
        const back = await on(name, "sealift", ["rollback", target.name, "--project-root", "root", "--json"]);
        t.match(resultIn(back), { status: "success", version: "1.0.0" });
      }
    }
    for (const name of names) {
      const collecting = ["kit", "collect", stick, "--host-key-file", "host.key", "--project-root", "root"];
      await on(name, "sealift", collecting);
    }
    const handing = ["--hub-url", hub.url, "--api-key-file", target.options["api_key_file"]!];
    const submitted = await sealift(folder, ["kit", "submit", stick, ...handing]);
    t.match(submitted.result, { taken: 8, known: 0, refused: 0 }, "three deployments and the way back, of both");
    for (const name of names) {
      const host = (await hub.call("GET", `/app/deploy/v1/projects/${target.slug}/hosts/${name}`)).body;
      t.match(host, { running_version: "1.2.0", status: "success", by_kit: { kit: /^kit_/ } });
    }
  },
);

t.test("Python reads a kit from the contract alone", { skip: needs("python3-cryptography") }, async (t) => {
  const reader = join(import.meta.dirname, "../support/programs/read_kit.py");
  const project = await offlineSite(t);
  await project.target.publish("1.0.0");
  const kit = await project.make("kit");
  t.match((await project.deploy(kit)).result, { outcome: "deployed" });
  const seedOf = ({ folder }: OfflineSite): string => readFileSync(join(folder, "host.key"), "utf8").trim();
  const signer = readFileSync(join(project.folder, project.target.options["signer_public_key"]!), "utf8").trim();
  const read = (site: OfflineSite, from: string, by = signer) =>
    JSON.parse(execFileSync("python3", [reader, from, seedOf(site), by], { encoding: "utf8" })) as object;
  t.match(read(project, kit), {
    ...{ version: "1.0.0", magic: "28b52ffd", reports: ["success"], hub_key: await project.hubKey() },
  });
  t.equal(readdirSync(join(kit, "reports")).length, 1);
  const { hub_signature: other } = await project.kitText(await project.make("other"));
  const plugin = await offlineSite(t, "plugin");
  await plugin.target.publish("2.0.0");
  t.match(read(plugin, await plugin.make("kit")), { version: "2.0.0", magic: "504b0304", reports: [] });
  t.throws(() => read(plugin, kit), /for another host/);
  t.throws(() => read(project, kit, "ab".repeat(32)), /another signer/);
  const changed = await project.copy(kit, "changed");
  await project.writeKit(changed, { ...(await project.kitText(kit)), version: "6.6.6" });
  t.throws(() => read(project, changed), /the terms say otherwise/);
  await project.writeKit(changed, { ...(await project.kitText(kit)), hub_signature: other });
  t.throws(() => read(project, changed), /the hub has not signed it/);
});
