import { readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import t from "tap";
import { hostKeyOf, newHostSeed } from "../../../lib/artifact/sealed/host-key.ts";
import { hostLine } from "../../../lib/contract/settings/host-line.ts";
import { settingsFleet, termsOf } from "../../support/hub/settings-fleet.ts";

const PROD = `settings:
  - match: { env: prod }
    apps:
      web: { LOG_LEVEL: info, DATABASE_URL: { file: db } }
`;

const named = (name: string, labels: Record<string, string> = { env: "prod" }) => ({ hosts: [name], uses: 1, labels });

t.test("each host gets its own settings, sealed to it, and a second apply uploads nothing", async (t) => {
  const { seed, folder, hub, join: joins, write, apply, lock } = await settingsFleet(t);
  await writeFile(join(folder, "db"), "postgres://secret\n");
  write(`${PROD}  - match: { site: north }
    apps: { web: { REGION: north, LOG_LEVEL: null } }
`);
  const seven = joins("pier-7", termsOf(seed, named("pier-7")));
  const eight = joins("pier-8", termsOf(seed, named("pier-8", { env: "prod", site: "north" })));
  const first = await apply();
  t.match(first, { code: 0, stdout: /1 host: pier-7\n {2}\+ web\.DATABASE_URL\n {2}\+ web\.LOG_LEVEL\n/ });
  t.notMatch(`${first.stdout}${first.stderr}`, /secret/, "never a value");
  t.match(first.stderr, /Uploaded for 1 host \(wave 1 of 2\)\.\n✓ pier-7: applied number 1\n/);
  t.match(seven.document, { number: 1, apps: { web: { LOG_LEVEL: "info", DATABASE_URL: "postgres://secret" } } });
  t.strictSame(eight.document?.apps, { web: { DATABASE_URL: "postgres://secret", REGION: "north" } });
  const roll = await lock();
  t.equal(Object.keys(roll.hosts).length, 2);
  t.notMatch(await readFile(join(folder, "fleet.lock"), "utf8"), /secret|postgres|pending/);
  const uploads = hub.uploads.length;
  const [text, { ino }] = [await readFile(join(folder, "fleet.lock"), "utf8"), await stat(join(folder, "fleet.lock"))];
  t.match(await apply(), { code: 0, stderr: "No host needs new settings.\n" });
  t.equal(hub.uploads.length, uploads);
  t.equal(await readFile(join(folder, "fleet.lock"), "utf8"), text, "byte for byte, as git compares it");
  t.equal((await stat(join(folder, "fleet.lock"))).ino, ino, "and it was not written");
  await writeFile(join(folder, "db"), "postgres://rotated");
  t.match(await apply("--dry-run"), {
    code: 0,
    stdout: "1 host: pier-7\n  ~ web.DATABASE_URL\n1 host: pier-8\n  ~ web.DATABASE_URL\n",
  });
  t.equal(hub.uploads.length, uploads, "a dry run uploads nothing");
  t.match(await apply("--only pier-8"), { code: 0 });
  t.equal(seven.document?.number, 1);
  t.match(eight.document, { number: 2, apps: { web: { DATABASE_URL: "postgres://rotated" } } });
  t.match(await apply("--only pier-9"), { code: 2, stderr: /There is no host pier-9 .*\n.*Did you mean pier-[78]\?/ });
});

t.test("a host gets settings of 200 applications and 64 KiB at most", async (t) => {
  const { seed, hub, join: joins, write, apply } = await settingsFleet(t);
  joins("pier-7", termsOf(seed, named("pier-7")));
  write(`settings:\n  - apps: { ${Array.from({ length: 201 }, (_, index) => `a${index}: { A: one }`).join(", ")} }\n`);
  t.match(await apply("--accept-new"), { code: 2, stderr: /have 201 applications, and a host takes 200/ });
  write(`settings:\n  - apps: { web: { A: ${"x".repeat(65_536)} } }\n`);
  t.match(await apply("--accept-new"), { code: 2, stderr: /are 66\d+ bytes, and a host takes 65536/ });
  t.strictSame(hub.uploads, []);
});

t.test("a slip in a label takes no values away", async (t) => {
  const { seed, hub, join: joins, write, apply } = await settingsFleet(t);
  write("settings:\n  - match: { env: prod }\n    apps: { web: { A: one } }\n");
  joins("pier-7", termsOf(seed, named("pier-7")));
  t.match(await apply(), { code: 0 });
  hub.uploads.length = 0;
  write("settings:\n  - match: { env: prd }\n    apps: { web: { A: one } }\n");
  const refused = await apply();
  t.match(refused, {
    code: 2,
    stderr: /1 host would lose values, and settings\.0 applies to no host: no host has env=prd/,
  });
  t.match(refused.stderr, /did you mean prod\. Nothing was uploaded/);
  t.strictSame(hub.uploads, []);
  t.match(await apply("--dry-run"), { code: 0, stdout: /- web\.A/ });
  write("settings:\n  - match: { env: prod }\n    apps: { web: { B: one } }\n");
  t.match(await apply(), { code: 0 }, "what is meant to go, goes");
  write(
    "settings:\n  - match: { env: prod }\n    apps: { web: { C: one } }\n  - match: { env: canary }\n    apps: { web: { D: one } }\n",
  );
  const later = await apply();
  t.match(
    later,
    { code: 0, stderr: /warning: settings\.1 applies to no host: no host has env=canary/ },
    "so does it beside an entry for hosts to come",
  );
});

t.test("a host whose application is stopped is no first host: it tries nothing", async (t) => {
  const { seed, hub, join: joins, hosts, write, apply } = await settingsFleet(t);
  write("settings:\n  - apps: { web: { A: one } }\n");
  const terms = termsOf(seed, { uses: 12 });
  for (let index = 0; index < 12; index++) joins(`pier-${String(index).padStart(2, "0")}`, terms);
  const ignored = [{ name: "web", code: "app_stopped" }];
  const stopped = { state: "applied", code: null, ignored } as const;
  for (const name of ["pier-00", "pier-01"]) hosts.get(name)!.answers = stopped;
  const sizes = (): number[] => hub.uploads.splice(0).map((documents) => documents.length);
  const first = await apply("--accept-new");
  t.match(first, { code: 0, stderr: /pier-00 has not tried its settings \(app_stopped\): another one is the first/ });
  t.match(first.stderr, /pier-01 has not tried .*\nUploaded for 1 host \(wave 3 of 5\)/);
  t.strictSame(sizes(), [1, 1, 1, 1, 8], "pier-02 is the first that tries them");

  write("settings:\n  - apps: { web: { A: two } }\n");
  t.match(await apply(), { code: 0 });
  const order = hub.uploads.splice(0).map((documents) => documents.map(({ host_id: host }) => host));
  t.strictSame([order.length, order.at(-1)!.slice(-2).toSorted()], [3, ["pier-00", "pier-01"]], "they come last");

  write("settings:\n  - apps: { web: { A: three } }\n");
  for (const { name } of hosts.values()) hosts.get(name)!.answers = stopped;
  const none = await apply();
  t.match(none, { code: 0, stderr: /pier-\d\d has not tried its settings .*: the others follow all the same/ });
  t.strictSame(sizes(), [1, 1, 1, 1, 8], "at most three are asked alone");
  t.equal(none.stderr.match(/has not tried/g)?.length, 3);
});

t.test("waves stop at the first host that cannot use its settings, and the next apply begins there", async (t) => {
  const { seed, hub, join: joins, hosts, write, apply } = await settingsFleet(t);
  write("settings:\n  - apps: { web: { A: one } }\n");
  const terms = termsOf(seed, { uses: 20 });
  for (let index = 0; index < 20; index++) joins(`pier-${String(index).padStart(2, "0")}`, terms);
  hosts.get("pier-02")!.answers = { state: "failed", code: "health_failed" };
  const failed = await apply("--accept-new");
  t.equal(failed.code, 1);
  t.match(failed.stderr, /wave 1 of 3[^]*wave 2 of 3[^]*pier-02 could not use its settings \(health_failed\)/);
  t.match(failed.stderr, /17 hosts of later waves were left as they are/);
  t.strictSame(
    hub.uploads.map((documents) => documents.length),
    [1, 2],
  );
  t.match(await apply(), { code: 1, stderr: /Uploaded for 1 host \(wave 1 of 3\)\.\n✗ pier-02/ });
  t.equal(hub.uploads.length, 3, "the host that failed is tried first, and alone");
  t.match(await apply("--all-at-once"), { code: 1, stderr: /Uploaded for 18 hosts\.[^]*pier-02 could not/ });
  t.equal(hosts.get("pier-19")!.document?.number, 1);
  hosts.get("pier-02")!.answers = { state: "applied", code: null };
  t.match(await apply(), { code: 0, stderr: /✓ pier-02: applied number 4/ });
  hosts.get("pier-05")!.answers = undefined;
  write("settings:\n  - apps: { web: { A: two } }\n");
  t.match(await apply("--all-at-once --wait 100ms"), { code: 75, stderr: /pier-05 did not say within 0\.1 s/ });
  t.match(await apply("--no-wait"), { code: 0, stderr: "No host needs new settings.\n" });
});

t.test("new hosts of a shared invite wait for a person, and no more come in than it lets in", async (t) => {
  const { seed, hub, join: joins, write, apply, run, file, lock } = await settingsFleet(t);
  write("settings:\n  - apps: { web: { A: one } }\n");
  const shared = termsOf(seed, { uses: 2 });
  joins("pier-1", shared);
  const shut = await apply("--no-wait");
  t.match(shut, { code: 2, stderr: /1 new host got nothing[^]*There is no host in/ });
  t.match(await apply("--accept-new"), { code: 0, stderr: /new: pier-1 / });
  joins("pier-2", shared);
  joins("pier-3", shared);
  t.match(await apply("--accept-new"), {
    code: 4,
    stderr: /The invite of pier-[23] lets in 2, and 3 hosts came with it/,
  });
  t.equal(Object.keys((await lock()).hosts).length, 1);
  hub.rows.delete("pier-3");
  t.match(await apply("--accept-new"), { code: 0, stderr: /new: pier-2 / });
  const strangers = termsOf(Buffer.alloc(32, 7), named("pier-4"));
  joins("pier-4", strangers);
  t.match(await apply(), { code: 4, stderr: /another operator has invited its host/ });
  hub.rows.delete("pier-4");
  joins("pier-5", undefined);
  t.match(await run(`settings show --fleet ${file}`), { stdout: /pier-5 +no invite: accept its line/ });
});

t.test("a host whose invite was for it alone comes in beside others that wait for a person", async (t) => {
  const { seed, join: joins, write, apply, lock } = await settingsFleet(t);
  write("settings:\n  - apps: { web: { A: one } }\n");
  joins("pier-1", termsOf(seed, named("pier-1")));
  joins("pier-2", termsOf(seed, { uses: 2 }));
  t.match(await apply(), { code: 0, stderr: /new: pier-1 [^]*✓ pier-1: applied number 1/ });
  t.strictSame(
    Object.values((await lock()).hosts).map(({ name }) => name),
    ["pier-1"],
  );
});

t.test("a key under another's name, before and after it came in, gets nothing", async (t) => {
  const { seed, hub, join: joins, write, apply, run, file } = await settingsFleet(t);
  const shared = termsOf(seed, { uses: 5, labels: { env: "prod" } });
  joins("pier-1", shared);
  const forged = joins("pier-7", shared);
  write("settings:\n  - match: { hosts: [pier-7] }\n    apps: { web: { SECRET: for-7 } }\n");
  t.match(await apply("--accept-new"), { code: 2, stderr: /pier-7 came with an invite for several hosts/ });
  t.equal(forged.document, undefined);
  write("settings:\n  - match: { env: prod }\n    apps: { web: { A: one } }\n");
  t.match(await apply("--accept-new"), { code: 0 });
  const thief = joins("pier-7", shared);
  const changed = await apply("--accept-new");
  t.match(changed, { code: 4, stderr: /pier-7 has the key [0-9a-f]{16}… at the hub, and [0-9a-f]{16}… in the roll/ });
  t.equal(thief.document, undefined);
  const own = hub.rows.get("pier-1")!;
  hub.rows.set("pier-8", { ...own, host_id: "pier-8" });
  t.match(await apply(), { code: 4, stderr: /pier-8 is another name of a host: its key is that of pier-1/ });
  hub.rows.delete("pier-8");
  const line = hostLine(thief.key);
  t.match(await run(`settings accept pier-7 ${line} --fleet ${file}`), { code: 0, stderr: /former key .* for good/ });
  t.match(await apply(), { code: 0, stderr: /pier-7: applied number/ });
  t.match(thief.document, { apps: { web: { A: "one" } } }, "labels are those of the former entry");
  const mine = await run(`settings accept pier-7 ${hostLine(forged.key)} --fleet ${file}`);
  t.match(mine, { code: 2, stderr: /was removed for good/ });
  joins("pier-9", termsOf(seed, { uses: 1 }), hostKeyOf(newHostSeed()), "pier-10");
  t.match(await apply("--accept-new"), {
    code: 4,
    stderr: /pier-10 is another name of a host: its card has the name pier-9/,
  });
});

t.test("a removed host gets nothing, whatever the hub shows again", async (t) => {
  const { seed, hub, join: joins, write, apply, run, file } = await settingsFleet(t);
  write("settings:\n  - apps: { web: { A: one, B: two } }\n");
  const host = joins("pier-7", termsOf(seed, named("pier-7")));
  joins("pier-8", termsOf(seed, named("pier-8")));
  t.match(await apply(), { code: 0 });
  const shown = { ...hub.rows.get("pier-7")! };
  const removed = await run(`settings remove pier-7 --fleet ${file}`);
  t.match(removed, { code: 0, stdout: "web.A\nweb.B\n", stderr: /Change them, and apply/ });
  t.notOk(hub.rows.has("pier-7"));
  hub.rows.set("pier-7", shown);
  write("settings:\n  - apps: { web: { A: changed } }\n");
  t.match(await apply("--accept-new"), { code: 0, stdout: /^1 host: pier-8\n/ });
  t.equal(host.document?.number, 1);
  t.match(await run(`settings show --fleet ${file}`), { stdout: /pier-7 +removed for good/ });
});

t.test("a host of before comes in by its line, with labels that a person gives", async (t) => {
  const { join: joins, write, apply, run, file } = await settingsFleet(t);
  write("settings:\n  - match: { env: prod, hosts: [pier-7] }\n    apps: { web: { A: one } }\n");
  const host = joins("pier-7", undefined);
  const accepted = await run(`settings accept pier-7 ${hostLine(host.key)} --label env=prod --fleet ${file}`);
  t.match(accepted, { code: 0, stderr: new RegExp(`Accepted pier-7 \\(env=prod\\): ${host.key.fingerprint}`) });
  t.match(await apply(), { code: 0, stderr: /✓ pier-7: applied number 1/ });
  t.match(host.document, { apps: { web: { A: "one" } } });
  const again = await run(
    `settings accept pier-7 ${hostLine(host.key)} --label env=prod --label site=north --fleet ${file}`,
  );
  t.match(again, { code: 0, stderr: /^Accepted pier-7 \(env=prod, ?site=north\): \w{64}\nNext/ });
  t.notMatch(await apply(), "number 2", "the same key has what it had");
  for (const line of [
    "shk1.x",
    hostLine({ ...host.key, x25519: "00".repeat(32) }),
    hostLine({ ...host.key, ed25519: "00".repeat(32) }),
  ])
    t.match(await run(`settings accept pier-8 ${line} --fleet ${file}`), { code: 2, stderr: /not the line of a host/ });
});

t.test("a person at a terminal is asked about new hosts, and a program is not", async (t) => {
  const { seed, join: joins, write, run, lock, file, keyFile } = await settingsFleet(t);
  write("settings:\n  - apps: { web: { A: one } }\n");
  joins("pier-1", termsOf(seed, named("pier-1")));
  joins("pier-2", termsOf(seed, { uses: 2 }));
  const words = `settings apply ${file} --operator-key ${keyFile}`;
  const hosts = async () => Object.values((await lock()).hosts).map(({ name }) => name);
  t.match(await run(words, { typed: "n\n" }), {
    ...{ code: 0, stderr: /New hosts[^]*pier-2 [^]*Take 1 host into fleet\.lock\? \[y\/N\]/ },
  });
  t.strictSame(await hosts(), ["pier-1"]);
  const json = await run(`${words} --json`, { typed: "y\n" });
  t.match(json, { code: 0, stdout: /1 new host got nothing/ });
  t.notMatch(json.stderr, "Take 1 host");
  t.strictSame(await hosts(), ["pier-1"]);
  t.match(await run(words, { typed: "y\n" }), { code: 0, stderr: /new: pier-2 / });
  t.strictSame(await hosts(), ["pier-1", "pier-2"]);
});

t.test("a host is accepted by its name, and shown with no number before its first settings", async (t) => {
  const { hub, join: joins, write, run, file } = await settingsFleet(t);
  write("settings:\n  - apps: { web: { A: one } }\n");
  const host = joins("pier-7", undefined);
  const accept = (name: string) => run(`settings accept ${name} ${hostLine(host.key)} --fleet ${file}`);
  t.match(await accept("pier\n7"), { code: 2, stderr: /"pier\\n7" is not a name of a host/ });
  t.match(await accept("pier-7"), { code: 0 });
  t.match(await run(`settings show --fleet ${file}`), { code: 0, stdout: /^pier-7 +none yet/ });
  for (const status of [403, 404]) {
    hub.refuses["GET /joined-hosts"] = status;
    t.match(await run(`settings show --fleet ${file}`), { code: 0, stdout: /^pier-7 / }, `labels are ${status}`);
  }
  hub.refuses["GET /joined-hosts"] = 422;
  t.match(await run(`settings show --fleet ${file}`), { code: 1 });
});
