import { mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import t, { type Test } from "tap";
import { COMMANDS } from "../../commands/shell/registry.ts";
import type { NewInvite } from "../../lib/contract/joining/records.ts";
import { newSigner, publication, publishForm, type RunningHub, startHub } from "../support/hub/harness.ts";
import { askAsClones, signerHex } from "../support/hub/joining.ts";
import { offlineHost } from "../support/hub/kits.ts";
import { runHere } from "../support/programs/run-here.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const commands = COMMANDS.filter(({ paths }) => ["host", "invite", "join"].includes(paths?.[0]?.[0] ?? ""));

/** A hub with the project Harbour, and the commands of its operator and of its hosts. */
async function harbour(t: Test) {
  const folder = temporaryFolder(t);
  process.env["XDG_CONFIG_HOME"] = folder;
  const hub = await startHub(t);
  const { body } = await hub.call("POST", "/devkeys/projects", { json: { name: "Harbour", kind: "project" } });
  const id = body.id as string;
  const signer = signerHex();
  await hub.call("POST", `/devkeys/projects/${id}/signers`, { json: { public_key: signer } });
  Object.assign(process.env, { SEALIFT_HUB_URL: hub.url, SEALIFT_API_KEY: hub.adminKey });
  const run = (line: string) => runHere(commands, line.split(" "));
  const invited = async (more = ""): Promise<string> => {
    const { stdout } = await run(`host invite --project Harbour${more}`);
    const file = join(folder, `token-${Math.random()}`);
    await writeFile(file, stdout);
    return file;
  };
  const out = (host: string): string => join(folder, host);
  const joinAs = (host: string, file: string, more = "") =>
    run(
      `join ${hub.url} --token-file ${file} --host-id ${host} --out ${out(host)} --project-root ${folder}/root --yes${more}`,
    );
  return { hub, id, signer, folder, run, invited, joinAs, out };
}

const keysOf = async (hub: RunningHub): Promise<(string | null)[]> =>
  ((await hub.call("GET", "/devkeys/api-keys")).body.items as { host: string | null }[]).map(({ host }) => host);

t.test("a project root inside the host's private folder is warned of", async (t) => {
  const { hub, run, invited, joinAs, out } = await harbour(t);
  const warning = /warning: The project root \S+pier-8\/root is inside .*pier-8, which only you may enter/;
  const inside = `--project-root ${out("pier-8")}/root --yes`;
  const joined = await run(
    `join ${hub.url} --token-file ${await invited()} --host-id pier-8 --out ${out("pier-8")} ${inside}`,
  );
  t.match(joined, { code: 0, stderr: warning });
  t.notMatch((await joinAs("pier-9", await invited())).stderr, /warning/);
});

t.test("a host joins with the line of an invite, and has all that its watch needs", async (t) => {
  const { hub, id, signer, run, invited, joinAs, out, folder } = await harbour(t);
  const file = await invited(" --uses 2 --label env=prod");
  t.match(await readFile(file, "utf8"), /^sjt_[\w-]{43}\.[0-9a-f]{32}\n$/);
  const began = performance.now();
  const ended = await joinAs("pier-7", file, " --supervisor runtime --runtime-url http://127.0.0.1:9000");
  t.ok(performance.now() - began < 2000, "within two seconds");
  t.match(ended, {
    code: 0,
    stdout: /host\.env\n.*host\.key\n.*signer\.pub\n.*host\.card\n.*watch\.yaml\n/,
    stderr: /pier-7 has joined Harbour/,
  });
  for (const secret of ["host.env", "host.key"])
    t.equal((await stat(join(out("pier-7"), secret))).mode & 0o777, 0o600, secret);
  t.equal(await readFile(join(out("pier-7"), "signer.pub"), "utf8"), `${signer}\n`);
  const watch = await readFile(join(out("pier-7"), "watch.yaml"), "utf8");
  for (const line of [
    `project_root: ${folder}/root`,
    `  - target: project:${id}`,
    // At the target, where no variable or flag of a shell beats them.
    `    hub_url: ${hub.url}`,
    "    api_key_file: host.env",
    "    host_id: pier-7",
    "    supervisor: runtime",
    "      - env=prod",
    "    signer_public_key: signer.pub",
  ])
    t.match(watch, `${line}\n`);
  t.match(await run("host list Harbour"), { stdout: /pier-7 +joined .*never .* +127\.0\.0\.1/ });
  const again = await joinAs("pier-7", file, " --supervisor runtime --runtime-url http://127.0.0.1:9000");
  t.match(again, { code: 0, stderr: /has joined/ });
  t.strictSame((await keysOf(hub)).filter(Boolean), ["pier-7"], "the same command once more makes no second key");
  t.match((await run("invite list Harbour")).stdout, / open +1 of 2 .* env=prod/);
});

t.test("a host waits until somebody approves it, under the name that it is given", async (t) => {
  const { run, invited, joinAs, out } = await harbour(t);
  const file = await invited(" --approve");
  t.match(await joinAs("localhost", file, " --wait 1s"), {
    code: 75,
    stderr: /waits until somebody approves[^]*host_pending/,
  });
  const waiting = joinAs("localhost", file);
  t.match(await run("host list Harbour"), { stdout: /localhost +waits for approval/ });
  t.match(await run("host rename Harbour localhost pier-7"), { code: 0, stderr: /host_id: pier-7/ });
  t.match(await run("host approve Harbour pier-7"), { code: 0 });
  t.match(await waiting, { code: 0, stderr: /pier-7 has joined/ });
  t.match(await readFile(join(out("localhost"), "watch.yaml"), "utf8"), "host_id: pier-7\n");
});

t.test("the list names the machines that speak for one host, and what to do about it", async (t) => {
  const { hub, run, invited, joinAs, out } = await harbour(t);
  const file = await invited(" --uses 2");
  for (const host of ["pier-7", "pier-8"]) t.equal((await joinAs(host, file)).code, 0);
  t.notMatch((await run("host list Harbour")).stderr, "machines");
  const [, key] = /^SEALIFT_API_KEY=(.*)$/m.exec(await readFile(join(out("pier-7"), "host.env"), "utf8"))!;
  await askAsClones(hub, key!, "pier-7");
  await hub.hub.upkeep.run();
  const { stderr } = await run("host list Harbour");
  const machine = /127\.0\.0\.1 \(last 2[-0-9]+ [:0-9]+Z\)/.source;
  t.match(stderr, new RegExp(`^2 machines speak for pier-7: ${machine}, ${machine}\\. Remove it, .*docs enrolling`));
  t.notMatch(stderr, "pier-8");
});

t.test("hosts and invites are removed, with a look first", async (t) => {
  const { hub, id, folder, run, invited, joinAs } = await harbour(t);
  const kept = async (name: string, text: unknown) => {
    await writeFile(join(folder, name), String(text), { mode: 0o600 });
    return join(folder, name);
  };
  const file = await invited(" --uses 9");
  await joinAs("pier-7", file);
  const issued = { name: "maker", project_id: id, scopes: ["publish", "deploy"] };
  const { key, deployment_credential: credential } = (await hub.call("POST", "/devkeys/api-keys", { json: issued }))
    .body;
  const signer = newSigner();
  const public_key = Buffer.from(signer.publicKey).toString("hex");
  await hub.call("POST", `/devkeys/projects/${id}/signers`, { json: { public_key } });
  const form = publishForm(publication("1.0.0", { signer }));
  const published = await hub.call("POST", `/app/deploy/v1/projects/${id}/publish`, { key: key as string, form });
  t.equal(published.status, 201, published.bytes.toString());
  const json = { version: "1.0.0", hosts: [offlineHost("pier-7").named], deployment_credential: credential };
  const kit = await hub.call("POST", `/devkeys/projects/${id}/kits`, { key: key as string, json });
  const { items } = (await hub.call("GET", "/devkeys/audit?action=invite.create")).body;
  const { invite_id: invite } = (items as { facts: { invite_id: string } }[])[0]!.facts;
  t.match(await run("host remove Harbour pier-7 --dry-run"), { stderr: /would remove pier-7/ });
  const scopes = ["keys", "projects"];
  const blind = (await hub.call("POST", "/devkeys/api-keys", { json: { name: "blind", owner: "admin", scopes } })).body;
  const asBlind = await run(
    `host remove ${id} pier-7 --dry-run --api-key-file ${await kept("blind.key", blind["key"])}`,
  );
  t.match(asBlind, { code: 0, stderr: /This API key may not list kits[^`]*`sealift kit list project:/ });
  t.strictSame((await keysOf(hub)).filter(Boolean), ["pier-7"]);
  const removed = await run("host remove Harbour pier-7");
  t.match(removed, { code: 0, stderr: new RegExp(`came with ${invite}`) });
  t.match(removed.stderr, `It can open these kits until they end: ${kit.body["id"] as string} of project:${id}.`);
  t.match(await run("host remove Harbour pier-7"), { code: 1, stderr: /not_found/ });
  t.match(await joinAs("pier-8", file), { code: 0 });
  t.match(await run(`invite revoke Harbour ${invite} --dry-run`), {
    stderr: /would revoke[^]*Came with it: pier-8/,
  });
  t.match(await run(`invite revoke Harbour ${invite}`), { code: 0 });
  t.match(await joinAs("pier-9", file), { code: 3, stderr: /invite_ended[^]*revoked/ });
});

t.test("an invite names the signers: those given, the register's, or that of the latest version", async (t) => {
  const { hub, run } = await harbour(t);
  const given = signerHex();
  const { stdout } = await run(`host invite --project Harbour --json --signer-public-key ${given}`);
  const { invite } = JSON.parse(stdout) as { invite: NewInvite };
  t.strictSame(invite.signers, [given]);
  await hub.call("POST", "/devkeys/projects", { json: { name: "Empty", kind: "project" } });
  t.match(await run("host invite --project Empty"), { code: 2, stderr: /Nobody has signed the project yet/ });
});

t.test("a join without a terminal asks for --yes, and one without a token for that", async (t) => {
  const { hub, invited, out, run } = await harbour(t);
  const line = `join ${hub.url} --token-file ${await invited()} --host-id pier-7 --out ${out("x")}`;
  t.match(await run(line), { code: 2, stderr: /Nothing was done[^]*--yes/ });
  t.match(await run(`join ${hub.url} --yes`), { code: 2, stderr: /--token-file is missing[^]*SEALIFT_TOKEN/ });
  t.match(await run(`join ftp://hub --yes --token-file ${await invited()}`), { code: 2, stderr: /HUB is an http/ });
  process.env["SEALIFT_TOKEN"] = "slk_not-a-token";
  t.teardown(() => delete process.env["SEALIFT_TOKEN"]);
  t.match(await run(`join ${hub.url} --yes`), { code: 2, stderr: /not a token of `sealift host invite`/ });
});

/** Has systemd's programs write down how they are called. @returns what they heard */
async function fakeSystemd(t: Test, folder: string, status = 0): Promise<() => Promise<string>> {
  const [programs, log] = [join(folder, "programs"), join(folder, "called.log")];
  await mkdir(programs, { recursive: true });
  for (const name of ["systemctl", "systemd-sysusers", "systemd-tmpfiles"])
    await writeFile(join(programs, name), `#!/bin/sh\necho "${name} $*" >>${log}\nexit ${status}\n`, { mode: 0o755 });
  const { PATH } = process.env;
  process.env["PATH"] = `${programs}:${PATH}`;
  t.teardown(() => (process.env["PATH"] = PATH));
  return () => readFile(log, "utf8").catch(() => "");
}

t.test("with --systemd the watch is a service, whose secrets are credentials", async (t) => {
  const { hub, id, signer, run, invited, folder } = await harbour(t);
  const called = await fakeSystemd(t, folder);
  const image = join(folder, "image");
  const file = await invited();
  const line = `join ${hub.url} --token-file ${file} --host-id pier-7 --systemd blue --project-root /srv/app --yes`;
  const ended = await run(`${line} --root ${image}`);
  t.match(ended, { code: 0, stderr: /Its watch runs as sealift-watch@blue/ });
  t.equal(await called(), `systemctl --root=${image} enable sealift-watch@blue\n`);
  const units = join(image, "etc/systemd/system");
  const dropIn = await readFile(join(units, "sealift-watch@blue.service.d/50-join.conf"), "utf8");
  const keys = "/etc/sealift/watch/blue.env";
  t.match(dropIn, `[Service]\nLoadCredential=api-key:${keys}\nLoadCredential=deployment-credential:${keys}\n`);
  t.match(await readFile(join(units, "sealift-watch@.service"), "utf8"), "\nReadWritePaths=/srv/app\n");
  const own = join(image, "etc/sealift/watch");
  t.strictSame((await readdir(own)).sort(), ["blue.card", "blue.env", "blue.key", "blue.pub", "blue.yaml"]);
  const modes = await Promise.all([".", "blue.env", "blue.pub", "blue.yaml"].map((name) => stat(join(own, name))));
  t.strictSame(
    modes.map(({ mode }) => (mode & 0o777).toString(8)),
    ["755", "600", "644", "644"],
    "the unit's user reads all but the secrets",
  );
  t.equal(await readFile(join(own, "blue.pub"), "utf8"), `${signer}\n`);
  const watch = await readFile(join(own, "blue.yaml"), "utf8");
  t.match(watch, `  - target: project:${id}\n    hub_url: ${hub.url}\n`);
  t.match(watch, "    signer_public_key: blue.pub\n");
  t.notMatch(watch, /key_file|credential_file/);
  for (const path of ended.stdout.trim().split("\n")) t.ok((await stat(path)).isFile(), path);
  t.notMatch(ended.stdout + ended.stderr + dropIn + watch, /slk_|sdc_/);

  t.match(await run(`${line} --root ${image}`), { code: 0 }, "the same command once more changes nothing");
  t.strictSame((await keysOf(hub)).filter(Boolean), ["pier-7"]);
  const other = `join ${hub.url} --token-file ${await invited()} --host-id pier-8 --systemd green --yes --root ${image}`;
  t.match(await run(`${other} --project-root /srv/other`), { code: 2, stderr: /sealift systemd install watch/ });
  t.match(await run(`${other.replace("green", "../x")} --project-root /srv/app`), {
    code: 2,
    stderr: /not a name of a unit/,
  });
  t.strictSame((await keysOf(hub)).filter(Boolean), ["pier-7"], "what cannot be a service does not join");
});

t.test("a join whose unit does not start says so, and is gone on with", async (t) => {
  const { hub, run, invited, folder } = await harbour(t);
  const called = await fakeSystemd(t, folder, 1);
  const file = await invited();
  const line = `join ${hub.url} --token-file ${file} --host-id pier-7 --systemd blue --root ${folder}/image --yes`;
  t.match(await run(line), { code: 1, stderr: /supervisor_failed[^]*systemctl --root=.* enable sealift-watch@blue/ });
  const before = await called();
  await fakeSystemd(t, folder);
  t.match(await run(line), { code: 0 });
  t.equal(await called(), before.repeat(2));
  t.strictSame((await keysOf(hub)).filter(Boolean), ["pier-7"]);
});

t.test(
  "a removed host comes back by the same command with another invite, and keeps its old files aside",
  async (t) => {
    const { hub, run, invited, joinAs, out } = await harbour(t);
    await joinAs("pier-7", await invited());
    const key = await readFile(join(out("pier-7"), "host.env"), "utf8");
    const watch = join(out("pier-7"), "watch.yaml");
    const edited = `${await readFile(watch, "utf8")}# edited\n`;
    await writeFile(watch, edited);
    t.match(await run("host remove Harbour pier-7"), { code: 0 });
    const back = await joinAs("pier-7", await invited());
    t.match(back, {
      code: 0,
      stderr: /has removed this host before: .*host\.env holds a new key.*has joined Harbour/s,
    });
    t.not(await readFile(join(out("pier-7"), "host.env"), "utf8"), key);
    t.equal(await readFile(`${watch}.old`, "utf8"), edited);
    t.strictSame((await keysOf(hub)).filter(Boolean), ["pier-7", "pier-7"], "the old one is revoked");
    t.match(await run("host list Harbour"), { stdout: /pier-7 +joined/ });
  },
);
