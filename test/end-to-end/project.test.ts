import { spawn } from "node:child_process";
import { createPublicKey } from "node:crypto";
import { once } from "node:events";
import { access, chmod, mkdir, readdir, readFile, stat, symlink, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import t from "tap";
import { installedFiles, World } from "../support/host/world.ts";

const bin = (name: string): string => fileURLToPath(new URL(`../../dist/bin/${name}.js`, import.meta.url));

interface Ended {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** Runs a built program as a shell would: flags, environment, working directory, standard input. */
async function shell(
  program: string,
  args: readonly string[],
  { env = {}, cwd, stdin = "" }: { env?: Record<string, string>; cwd?: string; stdin?: string } = {},
): Promise<Ended> {
  const child = spawn(process.execPath, [bin(program), ...args], {
    env: { PATH: process.env.PATH, ...env },
    ...(cwd && { cwd }),
  });
  let stdout = "";
  let stderr = "";
  child.stdout.on("data", (chunk: Buffer) => (stdout += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (stderr += chunk.toString()));
  child.stdin.end(stdin);
  const [code] = (await once(child, "close")) as [number | null];
  return { code, stdout, stderr };
}

const events = (text: string): { event: string; [field: string]: unknown }[] =>
  text
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as { event: string });

t.test("a project goes from a source tree to a host through the real programs", async (t) => {
  await using world = await World.make();
  const root = world.path("host");
  const deploy = (args: string[] = [], env: Record<string, string> = {}) =>
    shell("deploy-project", [...world.deployArgs(root), ...args], { env: { ...world.hostSecrets(), ...env } });

  await t.test("publishing prints one line, and the same tree again is unchanged", async (t) => {
    await world.setVersion("1.0.0");
    const first = await shell("deploy-publish", world.publishArgs("1.0.0"), { env: world.admin });
    t.equal(first.code, 0, first.stderr);
    t.match(first.stdout, /^published 1\.0\.0 as \S+\n$/);
    const again = await shell("deploy-publish", world.publishArgs("1.0.0"), { env: world.admin });
    t.equal(again.code, 0);
    t.match(again.stdout, /^unchanged/);
    const json = events(
      (await shell("deploy-publish", [...world.publishArgs("1.0.0"), "--json"], { env: world.admin })).stdout,
    );
    t.match(json.at(-1), { v: 1, event: "result", status: "success", outcome: "unchanged" });
  });

  await t.test("other content under a published version is refused with exit code 5", async (t) => {
    await writeFile(world.path("source", "plugins", "tide-table", "extra.txt"), "x");
    const refused = await shell("deploy-publish", [...world.publishArgs("1.0.0"), "--json"], { env: world.admin });
    t.equal(refused.code, 5);
    t.equal(refused.stderr, "", "with --json stderr is empty");
    t.match(events(refused.stdout).at(-1), {
      event: "result",
      status: "failed",
      error: { kind: "PublishError", code: "version_exists", status: 409 },
    });
  });

  await t.test("a dry run lists what would be packed and what is left out, and sends nothing", async (t) => {
    await writeFile(world.path("source", "plugins", "tide-table", "notes.key"), "k");
    const listed = await shell("deploy-publish", [...world.publishArgs("9.9.9"), "--dry-run", "--json"], {
      env: { SEALIFT_API_KEY: "slk_none" },
    });
    t.equal(listed.code, 0, listed.stdout);
    const seen = events(listed.stdout);
    t.ok(seen.some(({ event, path }) => event === "file" && path === "plugins/tide-table/src/main.js"));
    t.ok(seen.some(({ event, path }) => event === "left_out" && path === "plugins/tide-table/notes.key"));
    t.match(seen.at(-1), { content_sha256: /^[0-9a-f]{64}$/, artifact_bytes: null, deltas: null });
    t.match(
      seen.at(-1),
      { manifest: { project_name: "source" } },
      "without a key that the hub takes, the name of the folder",
    );
    const sized = await shell("deploy-publish", [...world.publishArgs("9.9.9"), "--dry-run", "--json"], {
      env: world.admin,
    });
    t.match(events(sized.stdout).at(-1), { manifest: { project_name: "Harbour" } }, "as the hub calls it");
    t.match(events(sized.stdout).at(-1), { artifact_bytes: Number, deltas: [] }, "the hub and the key tell sizes");
    const included = await shell(
      "deploy-publish",
      [...world.publishArgs("9.9.9"), "--dry-run", "--include", "*.key"],
      {},
    );
    t.match(included.stdout, /brought back {2}plugins\/tide-table\/notes\.key/);
  });

  await t.test(
    "a host that would deploy a deprecated version warns, and says nothing once that is taken back",
    async (t) => {
      const version = ["version", "deprecate", "Harbour", "1.0.0"];
      const advise = [...version, "--message", "loses\u001b[2Jdata"];
      t.equal((await shell("sealift", advise, { env: world.admin })).code, 0);
      const warned = await deploy(["--dry-run"]);
      t.match(warned, { code: 0, stderr: /1\.0\.0 is deprecated: loses/ });
      t.notMatch(warned.stderr, /\u001b\[2J/, "a terminal obeys nothing of it");
      const undone = version.with(1, "undeprecate");
      t.match(await shell("sealift", undone, { env: world.admin }), { code: 0, stderr: /no longer advised against/ });
      t.notMatch((await deploy(["--dry-run"])).stderr, /deprecated/);
    },
  );

  await t.test("deploying installs it, and a second run changes nothing and says so", async (t) => {
    const first = await deploy();
    t.equal(first.code, 0, first.stderr);
    t.equal(first.stdout, "deployed 1.0.0\n");
    const files = await installedFiles(root);
    t.ok("plugins/tide-table/src/main.js" in files && "extensions/harbour-clock/src/main.js" in files);
    t.equal(
      (await stat(world.path("host", "plugins", "berth-board.env"))).mode & 0o777,
      0o600,
      "the environment file is private",
    );
    const second = await deploy(["--json"]);
    t.equal(second.code, 0);
    t.match(events(second.stdout).at(-1), {
      event: "result",
      status: "success",
      outcome: "unchanged",
      version: "1.0.0",
    });
    t.same(await installedFiles(root), files);
    const reports = await readdir(world.path("host", ".sealift", "reports", `project-${world.projectId}`));
    t.equal(reports.length, 2, "every run has its report");
  });

  await t.test("a dry run fetches and verifies the next version, and leaves the host as it was", async (t) => {
    t.equal((await world.publish("1.1.0")).outcome, "published");
    const reports = world.path("host", ".sealift", "reports", `project-${world.projectId}`);
    const before = [await installedFiles(root), await readdir(world.path("host", ".sealift")), await readdir(reports)];
    const TMPDIR = world.path("temporary");
    await mkdir(TMPDIR);
    const json = await deploy(["--dry-run", "--json"], { TMPDIR });
    t.equal(json.code, 0, json.stdout + json.stderr);
    const lines = events(json.stdout);
    t.equal(lines.length, 1, "one line");
    t.match(lines[0], {
      ...{ event: "result", status: "success", dry_run: true, outcome: "would_deploy" },
      ...{ version: "1.1.0", previous_version: "1.0.0" },
      fetched: { bytes: Number, delta_from: "1.0.0", full_bytes: Number },
      installed: ["extensions/harbour-clock", "plugins/tide-table", "plugins/berth-board"],
      files: { added: 1, changed: 1, removed: 0 },
    });
    const spoken = await deploy(["--dry-run"], { TMPDIR });
    t.match(spoken.stdout, /^would deploy 1\.1\.0 over 1\.0\.0\n {2}fetch +\S+ \w+ as a delta from 1\.0\.0 instead of/);
    t.match(spoken.stdout, /^ {4}~ plugins\/tide-table\/plugin\.yaml \(/m);
    t.match(spoken.stderr, /Verified the signature.*Verified the manifest.*Verified the plan/s);
    t.same([await installedFiles(root), await readdir(world.path("host", ".sealift")), await readdir(reports)], before);
    t.same(await readdir(TMPDIR), [], "nothing is left");
    const refused = await deploy(["--dry-run", "--json"], { SEALIFT_API_KEY: "slk_wrong" });
    t.equal(refused.code, 3);
    t.match(events(refused.stdout), [{ dry_run: true, outcome: "failed", error: { code: "key_rejected" } }]);
    t.equal((await deploy()).stdout, "deployed 1.1.0 over 1.0.0\n");
    await t.test("two versions of the hub are compared, whole or by their indexes", async (t) => {
      const compare = (given: string[], env: Record<string, string>) =>
        shell("sealift", ["version", "diff", ...given], { env: { ...env, TMPDIR } });
      const target = `project:${world.projectId}`;
      const signer = ["--signer-public-key", world.path("keys", "signer.pub")];
      const whole = await compare([target, "1.0.0", "1.1.0", ...signer], world.hostSecrets());
      t.equal(whole.code, 0, whole.stderr);
      t.same(whole.stdout.split("\n"), [
        "+ plugins/tide-table/extra.txt (1 B)",
        "~ plugins/tide-table/plugin.yaml (196 B → 196 B)",
        "",
      ]);
      const key = ["--signing-key-file", world.path("keys", "signer.key")];
      const indexes = await compare([target, "1.0.0", ...key, "--json"], world.admin);
      t.match(events(indexes.stdout), [
        {
          event: "difference",
          what: "file",
          path: "plugins/tide-table/extra.txt",
          change: "added",
          before: null,
          after: 1,
        },
        { path: "plugins/tide-table/plugin.yaml" },
        { event: "result", from: "1.0.0", to: "1.1.0", differences: 2 },
      ]);
      t.match(await compare([target, "1.0.0"], world.admin), { code: 2, stderr: /needs --deployment-credential/ });
      t.same(await readdir(TMPDIR), []);
    });
    const fresh = ["--project-id", world.projectId, "--trust-on-first-use", "--project-root", world.path("fresh")];
    t.equal((await shell("deploy-project", [...fresh, "--dry-run"], { env: world.hostSecrets() })).code, 0);
    await t.rejects(access(world.path("fresh")), "no signer is remembered, no folder made");
  });

  await t.test(
    "settings come from flags before environment before file, and secrets from files and standard input",
    async (t) => {
      const cwd = world.path("ci");
      await mkdir(cwd);
      await writeFile(world.path("ci", "api.key"), `${world.hostKey.key}\n`);
      await writeFile(
        world.path("ci", "sealift.yaml"),
        `hub_url: http://127.0.0.1:9\nproject_id: ${world.projectId}\nsigner_public_key: ${world.path("keys", "signer.pub")}\nproject_root: ${root}\napi_key_file: api.key\n`,
      );
      const fromFile = await shell("deploy-project", ["--deployment-credential-file", "-"], {
        cwd,
        env: { SEALIFT_HUB_URL: world.hubUrl, SEALIFT_TRUST_FOLDER: "yes" },
        stdin: `${world.hostKey.deployment_credential}\n`,
      });
      t.equal(fromFile.code, 0, fromFile.stderr);
      const flagWins = await shell("deploy-project", ["--hub-url", world.hubUrl], {
        cwd,
        env: {
          SEALIFT_HUB_URL: "http://127.0.0.1:9",
          SEALIFT_TRUST_FOLDER: "yes",
          SEALIFT_DEPLOYMENT_CREDENTIAL: world.hostKey.deployment_credential,
        },
      });
      t.equal(flagWins.code, 0, flagWins.stderr);
      await writeFile(world.path("ci", "sealift.yaml"), "hub_urll: x\n");
      const unknown = await shell("deploy-project", [], { cwd });
      t.equal(unknown.code, 2);
      t.match(unknown.stderr, /config_invalid.*hub_urll/s);
      await mkdir(world.path("credentials"));
      await writeFile(world.path("credentials", "api-key"), world.hostKey.key);
      await writeFile(world.path("credentials", "deployment-credential"), world.hostKey.deployment_credential);
      const systemd = await shell("deploy-project", world.deployArgs(root), {
        env: { SEALIFT_HUB_URL: world.hubUrl, CREDENTIALS_DIRECTORY: world.path("credentials") },
      });
      t.equal(systemd.code, 0, systemd.stderr);
    },
  );

  await t.test("usage errors end with 2 before anything is requested", async (t) => {
    const secrets = world.hostSecrets();
    const cases: [string[], Record<string, string>, RegExp][] = [
      [["--no-such-option"], secrets, /usage/],
      [["--project-id", world.projectId], secrets, /signer-public-key is missing/],
      [
        ["--project-id", world.projectId, "--signer-public-key", "abc"],
        secrets,
        /abc: there is no such file\..*Give the path of signer\.pub/s,
      ],
      [["--project-id", world.projectId, "--signer-public-key", "00".repeat(32)], secrets, /key_file_invalid/],
      [world.deployArgs(root), {}, /--hub-url .*missing/],
      [[...world.deployArgs(root), "--supervisor", "upstart"], secrets, /--supervisor is one of/],
      [[...world.deployArgs(root), "--provisioners-config", "/nowhere.yaml"], secrets, /cannot be read/],
      [[...world.deployArgs(root), "--keep-releases", "0"], secrets, /--keep-releases/],
      [[...world.deployArgs(root), "--trust-on-first-use"], secrets, /contradict/],
    ];
    for (const [args, env, text] of cases) {
      const ended = await shell("deploy-project", args, { env });
      t.equal(ended.code, 2, args.join(" "));
      t.match(ended.stderr, text);
      t.equal(ended.stdout, "");
    }
  });

  await t.test("a rejected key ends with 3, an absent hub with 75, each with a report", async (t) => {
    const before = (await readdir(world.path("host", ".sealift", "reports", `project-${world.projectId}`))).length;
    const rejected = await deploy(["--json"], { SEALIFT_API_KEY: "slk_wrong" });
    t.equal(rejected.code, 3);
    t.match(events(rejected.stdout).at(-1), {
      error: { kind: "AuthenticationError", code: "key_rejected", status: 401 },
    });
    t.notOk(rejected.stdout.includes("slk_wrong"), "the key is in no output");
    const gone = await deploy([], { SEALIFT_HUB_URL: "http://127.0.0.1:9" });
    t.equal(gone.code, 75);
    t.match(gone.stderr, /connection_failed/);
    const after = (await readdir(world.path("host", ".sealift", "reports", `project-${world.projectId}`))).length;
    t.equal(after - before, 2);
  });

  await t.test("a revoked key is refused at once", async (t) => {
    const key = await world.newKey("short-lived", ["deploy", "report", "read"]);
    await world.programs.run("sealift", ["key", "revoke", key.id], world.admin);
    const refused = await deploy([], { SEALIFT_API_KEY: key.key });
    t.equal(refused.code, 3);
  });

  await t.test("trust on first use remembers the signer and refuses another one", async (t) => {
    const args = ["--project-id", world.projectId, "--trust-on-first-use", "--project-root", world.path("tofu")];
    const first = await shell("deploy-project", args, { env: world.hostSecrets() });
    t.equal(first.code, 0, first.stderr);
    await world.programs.run("sealift", ["signer", "create", "--out", world.path("other-keys")], {});
    await world.setVersion("1.5.0");
    const other = world.publishArgs("1.5.0").map((arg) => arg.replace("/keys/", "/other-keys/"));
    t.equal((await shell("deploy-publish", other, { env: world.admin })).code, 0);
    const changed = await shell("deploy-project", [...args, "--json"], { env: world.hostSecrets() });
    t.equal(changed.code, 4);
    t.match(events(changed.stdout).at(-1), { error: { kind: "ArtifactError", code: "trust_changed" } });
    const pinned = await deploy(["--json"]);
    t.equal(pinned.code, 4);
    t.match(events(pinned.stdout).at(-1), { error: { code: "signer_untrusted" } });
    t.match(
      (await installedFiles(root))["plugins/tide-table/plugin.yaml"],
      /^[0-9a-f]{64}$/,
      "the old release is still there",
    );
  });

  await t.test("a link in the source tree is refused by name", async (t) => {
    await symlink("plugin.yaml", world.path("source", "plugins", "tide-table", "alias.yaml"));
    const refused = await shell("deploy-publish", world.publishArgs("2.0.0"), { env: world.admin });
    t.equal(refused.code, 2);
    t.match(refused.stderr, /source_link.*plugins\/tide-table\/alias\.yaml/);
  });
});

t.test("an artifact kept with --output opens offline", async (t) => {
  await using world = await World.make();
  await world.setVersion("1.0.0");
  const file = world.path("artifact.xdeploy");
  const built = await shell("deploy-publish", [...world.publishArgs("1.0.0"), "--output", file], {});
  t.equal(built.code, 0, built.stderr);
  t.match(built.stdout, /^built /);
  t.equal((await stat(`${file}.json`)).mode & 0o777, 0o600, "what opens it is private");
  const pub = world.path("keys", "signer.pub");
  const pem = createPublicKey(await readFile(pub)).export({ format: "jwk" }).x!;
  await writeFile(world.path("keys", "ours"), Buffer.from(pem, "base64url").toString("hex"));
  const asPrivate = world.publishArgs("1.0.0").map((arg) => arg.replace(/signer\.key$/, "ours"));
  t.match(await shell("deploy-publish", [...asPrivate, "--output", world.path("forged")], {}), {
    code: 2,
    stderr: /key_file_invalid.*ours holds the public key of signer\.pub/,
  });
  const opened = await shell("sealift", ["open", file, "--signer-public-key", pub, "--out", world.path("tree")], {});
  t.equal(opened.code, 0, opened.stderr);
  t.match(JSON.parse(opened.stdout), { project_id: world.projectId, version: "1.0.0" });
  await access(world.path("tree", "plugins", "tide-table", "src", "main.js"));
  const again = await shell("sealift", ["open", file, "--signer-public-key", pub, "--out", world.path("tree")], {});
  t.equal(again.code, 2, "an existing folder is not replaced");
  const bytes = await readFile(file);
  bytes[bytes.length >> 1]! ^= 1;
  await chmod(file, 0o600);
  await writeFile(file, bytes);
  const flipped = await shell("sealift", ["open", file, "--signer-public-key", pub, "--json"], {});
  t.equal(flipped.code, 4);
  t.match(events(flipped.stdout).at(-1), { error: { code: "signature_invalid" } });
});

t.test("a publisher killed in the middle leaves nothing visible on the hub", async (t) => {
  await using world = await World.make();
  await world.setVersion("1.0.0");
  const { randomBytes } = await import("node:crypto");
  await writeFile(world.path("source", "plugins", "tide-table", "large.bin"), randomBytes(64 * 1024 * 1024));
  const child = spawn(process.execPath, [bin("deploy-publish"), ...world.publishArgs("1.0.0"), "--json"], {
    env: { PATH: process.env.PATH, ...world.admin },
  });
  let seen = "";
  for await (const chunk of child.stdout as AsyncIterable<Buffer>) {
    seen += chunk.toString();
    if (seen.includes("upload.progress")) child.kill("SIGKILL");
  }
  t.notMatch(seen, /"outcome":"published"/, "it was killed while it uploaded");
  const deployed = await shell("deploy-project", world.deployArgs(world.path("host")), { env: world.hostSecrets() });
  t.equal(deployed.code, 1);
  t.match(deployed.stderr, /404/);
  const stored = await readdir(world.path("hub"), { recursive: true, withFileTypes: true });
  const sizes = await Promise.all(
    stored.filter((entry) => entry.isFile()).map(({ parentPath, name }) => stat(`${parentPath}/${name}`)),
  );
  t.ok(Math.max(...sizes.map(({ size }) => size)) < 8 * 1024 * 1024, "nothing of the upload is left");
  const again = await shell("deploy-publish", world.publishArgs("1.0.0"), { env: world.admin });
  t.equal(again.code, 0, "and the version is still free");
});

t.test("every program explains itself", async (t) => {
  for (const program of ["sealift", "hub-serve", "deploy-publish", "deploy-project"]) {
    const help = await shell(program, ["--help"], { env: { TERM: "xterm-256color", COLORTERM: "truecolor" } });
    t.equal(help.code, 0, program);
    t.match(help.stdout, /Sealift|━━━|Usage|\$/);
    t.notMatch(help.stdout, /\u001b\[/, "a pipe gets no colour");
    t.equal(help.stderr, "");
  }
});
