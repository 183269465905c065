// Only in test:all: a source host, and archives of every kind.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import t, { type Test } from "tap";
import { zipFolder } from "../../scripts/quickstart/zip-folder.ts";
import { World } from "../support/host/world.ts";
import { makeCertificate } from "../support/hub/certificate.ts";

const SECRET = "the developer's own secret";

interface SourceHost {
  origin: string;
  /** The certificate that the hub must trust. */
  certificate: string;
  /** Archives by URL path. */
  archives: Map<string, Buffer>;
}

/** A source host of the test's own, with https as hub-serve asks for. */
async function sourceHost(t: Test): Promise<SourceHost> {
  const folder = t.testdir();
  const certificate = join(folder, "cert.pem");
  const made = makeCertificate();
  await writeFile(certificate, made.cert);
  const archives = new Map<string, Buffer>();
  const server = createServer(made, (request, response) => {
    const archive = archives.get(request.url!);
    response.writeHead(archive === undefined ? 404 : 200).end(archive);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.teardown(() => void server.close());
  return { origin: `https://127.0.0.1:${(server.address() as AddressInfo).port}`, certificate, archives };
}

/** A plugin's archive of some version. */
async function archiveOf(world: World, version: string, note = ""): Promise<Buffer> {
  const folder = world.path(`tide-${version}${note}`);
  await mkdir(folder);
  await writeFile(join(folder, "plugin.yaml"), `name: tide\nversion: ${version}\ndescription: "${note}"\n`);
  await zipFolder(folder, `tide-${version}`, `${folder}.zip`);
  return readFile(`${folder}.zip`);
}

/** The program as a person runs it: everything it prints, and its exit code. */
async function spoken(
  args: readonly string[],
  environment: Record<string, string>,
  input = "",
): Promise<{ output: string; code: number | null }> {
  const file = fileURLToPath(new URL("../../dist/bin/sealift.js", import.meta.url));
  const child = spawn(process.execPath, [file, ...args], { env: { PATH: process.env.PATH, ...environment } });
  child.stdin.end(input);
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "close")]);
  return { output: stdout + stderr, code: child.exitCode };
}

t.test(
  "a hub imports an archive from its source host and signs it with the developer's registered secret",
  async (t) => {
    const source = await sourceHost(t);
    await using world = await World.make(["--import-host", `github=${source.origin}`], {
      NODE_EXTRA_CA_CERTS: source.certificate,
    });
    const { admin, programs } = world;
    await programs.run("sealift", ["project", "create", "Tide", "--kind", "plugin", "--slug", "tide"], admin);
    source.archives.set("/acme/tide/archive/refs/tags/v1.0.0.zip", await archiveOf(world, "1.0.0"));
    const importing = (version: string, tag: string, ...more: string[]) =>
      programs.run<{ release: { version: string; repo: string } }>(
        "sealift",
        ["marketplace", "publish", "tide", "--version", version, "--import", "--repo", `acme/tide@${tag}`, ...more],
        admin,
      );
    const status = () =>
      programs.run<{ registered: boolean }>("sealift", ["marketplace", "signing-key", "--status"], admin);

    await t.test("without a registered secret it says which command registers one", async (t) => {
      t.match(await status(), { registered: false });
      await t.rejects(
        importing("1.0.0", "v1.0.0"),
        /registered no signing secret[\s\S]*sealift marketplace signing-key/,
      );
    });

    await t.test(
      "the secret is registered from a file, standard input or the environment, and is never printed",
      async (t) => {
        const file = world.path("secret.txt");
        await writeFile(file, `${SECRET}\n`);
        for (const { args, environment = {}, input = "" } of [
          { args: ["--signing-secret-file", file] },
          { args: ["--signing-secret-file", "-", "--json"], input: SECRET },
          { args: [], environment: { SEALIFT_SIGNING_SECRET: SECRET } },
        ]) {
          const said = await spoken(["marketplace", "signing-key", ...args], { ...admin, ...environment }, input);
          t.equal(said.code, 0, said.output);
          t.notMatch(said.output, SECRET);
          t.match(await status(), { registered: true });
        }
        t.match(await spoken(["marketplace", "signing-key", "--status"], admin), { output: /is registered since 20/ });
      },
    );

    await t.test(
      "a secret that is too short, two orders at once, and a key without the right are refused",
      async (t) => {
        const short = await spoken(["marketplace", "signing-key", "--signing-secret", "short"], admin);
        t.match(short, { code: 2, output: /16 to 4096 characters/ });
        t.match(await spoken(["marketplace", "signing-key", "--status", "--forget"], admin), { code: 2 });
        t.match(await spoken(["marketplace", "signing-key"], admin), { code: 2, output: /SEALIFT_SIGNING_SECRET/ });
        const host = { ...admin, SEALIFT_API_KEY: world.hostKey.key };
        t.match(await spoken(["marketplace", "signing-key", "--signing-secret", SECRET], host), { code: 3 });
      },
    );

    await t.test("what it has imported verifies on a host with the same secret", async (t) => {
      const { release } = await importing("1.0.0", "v1.0.0", "--visibility", "private");
      t.match(release, { version: "1.0.0", repo: "acme/tide@v1.0.0" });
      const plan = world.path("plan.yaml");
      await programs.run("sealift", ["plan", "init", "tide", "--out", plan], {});
      const root = world.path("host");
      const deploy = (secret: string) =>
        programs.run("deploy-marketplace", ["tide", "--install-plan", plan, "--project-root", root], {
          ...admin,
          SEALIFT_SIGNING_SECRET: secret,
        });
      await t.rejects(deploy("some other developer's"), { code: "signature_invalid" });
      t.match(await deploy(SECRET), { outcome: "deployed", version: "1.0.0" });
      t.match(await readFile(join(root, "plugins/tide/plugin.yaml"), "utf8"), /1\.0\.0/);
    });

    await t.test("the same archive again is the same release; other bytes under its version are refused", async (t) => {
      t.match((await importing("1.0.0", "v1.0.0")).release, { version: "1.0.0" });
      source.archives.set("/acme/tide/archive/refs/tags/v1.0.0.zip", await archiveOf(world, "1.0.0", "moved tag"));
      await t.rejects(importing("1.0.0", "v1.0.0"), { code: "version_exists" });
    });

    await t.test(
      "a tag that is not there, a host that is not on the list and bytes that are not ZIP are refused",
      async (t) => {
        await t.rejects(importing("2.0.0", "v2.0.0"), {
          code: "publish_refused",
          message: /has no acme\/tide@v2\.0\.0/,
        });
        await t.rejects(importing("2.0.0", "v2.0.0", "--host", "github.com"), {
          code: "publish_refused",
          message: /imports from 127\.0\.0\.1/,
        });
        source.archives.set("/acme/tide/archive/refs/tags/v2.0.0.zip", Buffer.from("not a ZIP"));
        await t.rejects(importing("2.0.0", "v2.0.0"), { code: "publish_refused", message: /ZIP/ });
      },
    );

    await t.test("a forgotten secret signs nothing any more", async (t) => {
      t.match(await programs.run("sealift", ["marketplace", "signing-key", "--forget"], admin), { registered: false });
      t.match(await status(), { registered: false });
      await t.rejects(importing("3.0.0", "v1.0.0"), { code: "conflict" });
      await t.rejects(programs.run("sealift", ["marketplace", "signing-key", "--forget"], admin), {
        code: "not_found",
      });
    });
  },
);
