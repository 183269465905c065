// Only in test:all: tools of a hub, each by the real program.
import { createPrivateKey, createPublicKey, sign } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { appendFile, mkdir, stat, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import t from "tap";
import { hmacOf } from "../support/hub/archives.ts";
import {
  createProject,
  newSigner,
  publication,
  type RunningHub,
  type Signer,
  startHub,
} from "../support/hub/harness.ts";
import { builtProgram, commandLine, type Ended } from "../support/programs/command-line.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

/** The operator's day at a hub, by the names that things have. */

/** Runs `sealift` with the administrator's key. The pages' commands are typed with the built program. */
const sealift = (hub: RunningHub, ...words: string[]): Promise<Ended> =>
  commandLine(words, {
    env: {
      PATH: process.env.PATH,
      XDG_CONFIG_HOME: "/nowhere",
      SEALIFT_HUB_URL: hub.url,
      SEALIFT_API_KEY: hub.adminKey,
    },
  });

t.test("versions, names, owners and keys of a project by its name", async (t) => {
  const hub = await startHub(t, { rateLimits: false });
  const project = await createProject(hub);
  await project.publish(publication("1.0.0"));
  await project.publish(publication("1.1.0"));
  t.match(await sealift(hub, "project", "rename", project.id, "Harbour"), { stderr: /is called Harbour now\.\n$/ });

  const yanked = await sealift(hub, "version", "yank", "harbour", "1.1.0", "--reason", "loses data");
  t.match(yanked, { code: 0, stderr: "harbour 1.1.0 is yanked.\n" });
  const listed = await sealift(hub, "version", "list", "Harbour");
  t.match(listed.stdout, /^1\.1\.0 .* yanked: loses data\n1\.0\.0 .* latest\n$/);
  t.match(await sealift(hub, "version", "unyank", "Harbour", "1.1.0"), { stderr: /no longer yanked/ });
  const advise = ["version", "deprecate", "Harbour", "1.0.0", "--message", "slow", "--replaced-by"];
  t.match(await sealift(hub, ...advise, "7.0.0"), { code: 1, stderr: /7\.0\.0 is not another published version/ });
  t.match(await sealift(hub, ...advise, "1.1.0"), { code: 0, stderr: "Harbour 1.0.0 is advised against.\n" });
  t.match((await sealift(hub, "version", "list", "Harbour")).stdout, /^1\.0\.0 .* deprecated: slow \(take 1\.1\.0\)$/m);
  t.match(await sealift(hub, "version", "delete", "Harbour", "1.1.0"), { code: 2, stderr: /--reason is missing/ });
  const deleted = await sealift(hub, "version", "delete", "Harbour", "1.1.0", "--reason", "a password");
  t.match(deleted, { code: 0, stderr: "Deleted Harbour 1.1.0.\n" });
  const fields = await sealift(hub, "project", "versions", "Harbour", "--fields", "version,is_latest");
  t.equal(fields.stdout, '{"version":"1.0.0","is_latest":true}\n');
  t.match(await sealift(hub, "version", "list", "Harbuor"), {
    code: 1,
    stderr: /\(not_found\).*\n {2}Did you mean "Harbour"\?/,
  });

  const key = await sealift(hub, "key", "create", "--name", "ci", "--project", "Harbour", "--json");
  t.equal((JSON.parse(key.stdout) as { key: { project_id: string } }).key.project_id, project.id);
  t.match(
    (await sealift(hub, "key", "list")).stdout,
    /^ci +slk_\S+… +live +admin +Harbour +any +\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ +never +deploy, report, read +key_/m,
  );
  const told = await sealift(hub, "key", "revoke", "ci", "--dry-run", "--json");
  t.match(JSON.parse(told.stdout), { key: { name: "ci", last_used_at: null }, dry_run: true });
  t.match(await sealift(hub, "key", "revoke", "ci"), { code: 0, stderr: /^Revoked key_/ });
  t.match(await sealift(hub, "key", "revoke", "ci"), { code: 1, stderr: /\(not_found\)/ });

  t.match(await sealift(hub, "fleet", "Harbour", "--json"), { code: 0, stdout: `project:${project.id}` });
  t.match(await sealift(hub, "fleet", "project:Harbour"), { code: 0 });
  const source = temporaryFolder(t);
  await mkdir(join(source, "plugins/tides"), { recursive: true });
  await writeFile(join(source, "plugins/tides/plugin.yaml"), "name: tides\nversion: 1.0.0\n");
  const plan = join(source, "deployment/install.yaml");
  t.match(await sealift(hub, "plan", "init", "harbour", "--kind", "project", "--out", plan), { code: 0 });
  t.match(readFileSync(plan, "utf8"), `project_id: ${project.id}`);
  const alone = { ...hub, url: "" };
  const asked = await sealift(alone, "plan", "init", "Harbour", "--kind", "project", "--out", plan);
  t.match(asked, { code: 2, stderr: /--hub-url/ });
  const quota = ["--data-dir", hub.dataDir, "--project", "harbour"];
  const limited = await sealift(hub, "hub", "quota", "set", ...quota, "--max-versions", "9");
  t.match(limited.stdout, new RegExp(`^project/${project.id} +\\d+ bytes \\(no limit\\), 1 of 9 versions`));
  const both = await sealift(hub, "hub", "quota", "set", ...quota, "--max-bytes", "1G");
  t.match(both, { code: 0, stdout: /of 1073741824 bytes, \d of 9 versions/ }, "the other limit stays");
  t.match(await sealift(hub, "hub", "quota", "remove", ...quota), { code: 0 });
  t.match(await sealift(hub, "hub", "quota", "set", "--data-dir", hub.dataDir, "--project", "Depot"), { code: 2 });
  t.match(await sealift(hub, "fleet", "project:Depot"), { code: 1, stderr: /\(not_found\)/ });
  const built = [
    "deploy-publish",
    join(import.meta.dirname, "../../examples/harbour"),
    "--version",
    "9.0.0",
    "--dry-run",
  ];
  t.match(await sealift(hub, ...built, "--project-id", "Harbour", "--json"), { stdout: project.id });

  await sealift(hub, "key", "create", "--name", "alice", "--owner", "alice");
  const moved = await sealift(hub, "project", "transfer", "Harbour", "alice");
  t.match(moved, { code: 0, stderr: "Harbour belongs to alice now. 1 key was revoked.\n" });
  t.match((await sealift(hub, "project", "list")).stdout, /^project +Harbour +1\.0\.0 +alice +prj_/);
});

t.test("a name that several have is refused with their ids; a kind or an id decides", async (t) => {
  const hub = await startHub(t, { rateLimits: false });
  await sealift(hub, "project", "create", "Tide");
  await sealift(hub, "project", "create", "Tide", "--kind", "plugin", "--slug", "tide");
  const both = await sealift(hub, "version", "list", "Tide");
  t.match(both, { code: 2, stderr: /\(usage\).*plugin:tide \(plg_\w+\), prj_.*Give the id/s });
  t.match(await sealift(hub, "version", "list", "plugin:Tide"), { code: 0, stderr: /No version has been published/ });
  t.match(await sealift(hub, "version", "list", "tide"), { code: 0 }, "a slug comes before a name");

  t.match(await sealift(hub, "grant", "list", "tide"), { code: 0, stderr: "Nobody but its owner.\n" });
  t.match(await sealift(hub, "grant", "add", "tide", "bob"), { code: 0, stderr: "bob may see plugin:tide.\n" });
  t.match((await sealift(hub, "grant", "list", "tide")).stdout, /^bob {2}\d{4}-/);
  t.match(await sealift(hub, "grant", "remove", "tide", "bob", "--dry-run"), { code: 0 });
  t.match(await sealift(hub, "grant", "remove", "tide", "carol", "--dry-run"), { code: 1, stderr: /\(not_found\)/ });
  t.match(await sealift(hub, "grant", "remove", "tide", "bob"), {
    code: 0,
    stderr: "bob no longer sees plugin:tide.\n",
  });
  t.match(await sealift(hub, "grant", "remove", "tide", "bob"), { code: 1, stderr: /^error \(not_found\)/ });
  t.match(await sealift(hub, "grant", "add", "project:Tide", "bob"), {
    code: 2,
    stderr: /"project:Tide" is a project; grants are for plugins and services/,
  });
});

t.test(
  "a plugin goes from its scaffold to the marketplace in two commands, without what is its author's",
  async (t) => {
    const hub = await startHub(t, { rateLimits: false });
    const cwd = temporaryFolder(t);
    await writeFile(join(cwd, "secret"), "a developer's own secret");
    const folder = join(cwd, "greeter");
    await sealift(hub, "project", "create", "Greeter", "--kind", "plugin", "--slug", "greeter");
    const words = ["plugin", "init", "greeter", "--language", "typescript"];
    t.match(await builtProgram(words, { cwd, env: {} }), { code: 0 });
    t.ok(existsSync(join(folder, ".sealift/tsconfig.json")));
    const publish = ["plugin", "publish", folder, "--signing-secret-file", join(cwd, "secret")];
    t.match(await sealift(hub, ...publish), {
      code: 0,
      stdout: /^published greeter 0\.1\.0 \(\d+ bytes, sha256 \w{16}…\)\n$/,
    });
    t.match(await sealift(hub, ...publish), { code: 0 }, "the same bytes again change nothing");
    const help = await sealift(hub, "plugin", "publish", "--help");
    t.match(help.stdout, /--visibility[^]*?public at\s+first/, "the help says who may see a new one");
    const seen = await hub.call("GET", "/app/marketplace/plugins/greeter", { key: null });
    t.match(seen, { status: 200, body: { visibility: "public" } }, "everybody may");
    const install = await hub.call("GET", "/app/marketplace/plugins/greeter/install");
    t.equal(install.headers.get("x-signature"), hmacOf(install.bytes, "a developer's own secret"));
    t.ok(install.bytes.includes("greeter/plugin.yaml"));
    t.notOk(install.bytes.includes(".sealift"));
    await appendFile(join(folder, "plugin.yaml"), "# changed\n");
    t.match(await sealift(hub, ...publish), { code: 5, stderr: /version_exists/ });
  },
);

t.test("a host's files are written ready to run: its key, its watch and its plans", async (t) => {
  const hub = await startHub(t, { rateLimits: false });
  const project = await createProject(hub);
  const out = join(temporaryFolder(t), "host");
  const create = ["key", "create", "--name", "host-1", "--project", project.id, "--out", out];
  const created = await sealift(hub, ...create, "--json");
  t.notMatch(created.stdout, /slk_\w{20}/, "the secret is in the file alone");
  t.equal((await stat(join(out, "host.env"))).mode & 0o777, 0o600);
  const keys = async () => (await sealift(hub, "key", "list", "--fields", "name")).stdout;
  const before = await keys();
  t.match(await sealift(hub, ...create), { code: 2, stderr: /\(usage\)/ });
  t.equal(await keys(), before, "no key is made that would be lost");

  const root = join(out, "root");
  const here = ["--project-root", relative(process.cwd(), root), "--host-id", "pier-7"];
  const init = ["watch", "init", project.id, "plugin:tide-table", "--out", out, ...here];
  const made = await sealift(hub, ...init, "--json");
  t.equal(made.code, 0, made.stdout);
  t.match(JSON.parse(made.stdout || "{}"), { missing: ["signer.pub", "signing.secret"] });
  t.equal((await sealift(hub, ...init)).code, 2, "files are never replaced");
  const text = readFileSync(join(out, "watch.yaml"), "utf8");
  t.match(text, "host_id: pier-7");
  t.match(text, `project_root: ${root}\n`, "a path of the command line starts where the command runs");
  t.notMatch(text, "supervisor", "what nobody has given stays at its default");
  const other = join(out, "other");
  const runtime = [...create.slice(0, -1), other, "--json"];
  t.equal((await sealift(hub, ...runtime)).code, 0);
  const supervised = await sealift(hub, ...init.slice(0, 3), "--out", other, "--supervisor", "runtime", "--json");
  t.match(JSON.parse(supervised.stdout || "{}"), { missing: ["signer.pub", "plugin.key"] });
  t.match(readFileSync(join(other, "watch.yaml"), "utf8"), "plugin_key_file: plugin.key");
  await writeFile(join(out, "signing.secret"), "0123456789abcdef");
  await writeFile(join(out, "signer.pub"), "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a");
  const watched = await sealift(hub, "watch", "--config", join(out, "watch.yaml"), "--once", "--json");
  t.not(watched.code, 2, "the configuration is taken; nothing is published yet");
  t.match(watched.stdout, '"exit_code"');
});

t.test("a name that another project has is refused, unless it is asked for all the same", async (t) => {
  const hub = await startHub(t, { rateLimits: false });
  const create = ["project", "create", "Fleet", "--kind", "project"];
  const [id] = (await sealift(hub, ...create)).stdout.split("\n");
  const taken = { code: 1, stderr: new RegExp(`\\(name_taken\\).*${id} has the name "Fleet"[^]*--same-name`) };
  t.match(await sealift(hub, ...create), taken);
  t.match(await sealift(hub, "project", "create", "FLEET", "--kind", "project"), taken, "in other letters");
  t.equal((await sealift(hub, "project", "create", "Fleet", "--kind", "plugin", "--slug", "fleet")).code, 0);
  t.equal((await sealift(hub, "project", "create", "Other", "--kind", "project")).code, 0);
  t.match(await sealift(hub, "project", "rename", "Other", "Fleet"), taken);
  t.equal((await sealift(hub, "project", "rename", "project:Fleet", "fleet")).code, 0, "it may keep its letters");
  const again = await sealift(hub, ...create, "--if-missing");
  t.match(again, { code: 0, stderr: "The project fleet is there.", stdout: `${id}\n` });
  t.match(JSON.parse((await sealift(hub, ...create, "--if-missing", "--json")).stdout), { created: false });
  t.match(await sealift(hub, "project", "create", "fleet", "--kind", "plugin", "--slug", "fleet", "--if-missing"), {
    code: 0,
  });
  const elsewhere = ["project", "create", "fleet", "--kind", "plugin", "--slug", "other", "--if-missing"];
  t.match(await sealift(hub, ...elsewhere), { code: 1, stderr: "name_taken" }, "the name is of another slug");
  const made = await sealift(hub, "project", "create", "New", "--if-missing", "--json");
  t.match(JSON.parse(made.stdout), { created: true, project: { name: "New" } });
  t.equal((await sealift(hub, ...create, "--same-name")).code, 0);
  t.equal((await sealift(hub, "project", "list", "--fields", "kind")).stdout.match(/project/g)?.length, 4);
});

/** The signer whose files a command has written. */
function signerIn(folder: string): Signer {
  const key = createPrivateKey(readFileSync(join(folder, "signer.key")));
  const spki = createPublicKey(key).export({ format: "der", type: "spki" });
  return { publicKey: spki.subarray(-32), sign: (bytes) => sign(null, bytes, key) };
}

t.test("a rotation of signers waits for the last host, tells with --dry-run what ends, and ends it", async (t) => {
  const hub = await startHub(t, { rateLimits: false });
  const project = await createProject(hub);
  const out = join(temporaryFolder(t), "keys");
  const old = newSigner();
  const bearer = await project.session();
  const runs = async (host_id: string, version: string) => {
    const times = { started_at: "2026-01-01T00:00:00Z", completed_at: "2026-01-01T00:00:01Z" };
    const json = {
      project_id: project.id,
      version,
      status: "success",
      host_id,
      ...times,
      deployment_id: "",
      plugins: [],
    };
    const answer = await hub.call("POST", "/app/deploy/v1/deployments/report", { bearer, json });
    t.ok(answer.status < 300, JSON.stringify(answer.body));
  };
  const states = async () =>
    (await sealift(hub, "signer", "list", project.id, "--fields", "public_key,state")).stdout.trim().split("\n");
  const stateOf = (signer: Signer, state: string) =>
    JSON.stringify({ public_key: signer.publicKey.toString("hex"), state });
  await project.publish(publication("1.0.0", { signer: old }));
  for (const host of ["north", "south"]) await runs(host, "1.0.0");

  t.match(await sealift(hub, "signer", "rotate", project.id, "--out", out, "--dry-run"), { code: 2 });
  t.match(await sealift(hub, "signer", "rotate", project.id, "--out", out), { code: 0, stderr: /--finish/ });
  const fresh = signerIn(out);
  t.strictSame(new Set(await states()), new Set([stateOf(old, "active"), stateOf(fresh, "active")]));
  const finish = ["signer", "rotate", project.id, "--finish", join(out, "signer.pub")];
  t.equal((await project.publish(publication("1.1.0", { signer: fresh }))).status, 201);
  await runs("north", "1.1.0");
  t.match(await sealift(hub, ...finish), { code: 2, stderr: /: south\.\n.*fleet forget/s }, "one host is late");
  t.ok((await states()).includes(stateOf(old, "active")));
  await runs("south", "1.1.0");
  const told = await sealift(hub, ...finish, "--dry-run");
  t.match(told, { code: 0, stderr: `would retire ${old.publicKey.toString("hex")}\n` });
  t.ok((await states()).includes(stateOf(old, "active")), "nothing has changed");
  t.match(await sealift(hub, ...finish), { code: 0 });
  t.strictSame(new Set(await states()), new Set([stateOf(old, "retired"), stateOf(fresh, "active")]));
});

t.test("a transfer, a forgotten signing secret and a logout are told by --dry-run, and nothing ends", async (t) => {
  const hub = await startHub(t, { rateLimits: false });
  const project = await createProject(hub);
  await sealift(hub, "key", "create", "--name", "alice", "--owner", "alice");
  const { stdout: before } = await sealift(hub, "key", "list", "--json");
  const transfer = ["project", "transfer", project.id, "alice", "--dry-run"];
  t.match(await sealift(hub, ...transfer), { code: 0, stderr: `would revoke the key ${project.keyId} (all)\n` });
  t.match(await sealift(hub, ...transfer, "--keep-keys"), { code: 0, stderr: /would keep the key key_/ });
  t.equal((await sealift(hub, "key", "list", "--json")).stdout, before);
  t.match((await sealift(hub, "project", "list")).stdout, /^project +Demo +– +admin /);

  const secret = join(temporaryFolder(t), "secret");
  const forget = ["marketplace", "signing-key", "--forget", "--dry-run"];
  t.match(await sealift(hub, ...forget, "--json"), { code: 0, stdout: '"registered":false' });
  await writeFile(secret, "a developer's own secret");
  t.match(await sealift(hub, "marketplace", "signing-key", "--signing-secret-file", secret), { code: 0 });
  t.match(await sealift(hub, ...forget), { code: 0, stderr: /^would forget the signing secret of admin/ });
  const status = await sealift(hub, "marketplace", "signing-key", "--status", "--json");
  t.match(status.stdout, '"registered":true');
  t.match(await sealift(hub, "marketplace", "signing-key", "--status", "--dry-run"), { code: 2 });
});
