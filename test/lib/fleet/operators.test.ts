// Holds: which numbers settings get, and which rolls are read (lib/fleet/numbers.ts, lib/fleet/roll.ts)
import { randomBytes } from "node:crypto";
import { copyFile, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import t from "tap";
import { hostKeyOf, newHostSeed } from "../../../lib/artifact/sealed/host-key.ts";
import { MOST_AHEAD } from "../../../lib/contract/settings/limits.ts";
import { disbelief, isAheadOfRoll, nextNumber } from "../../../lib/fleet/numbers.ts";
import { Roll } from "../../../lib/fleet/roll.ts";
import { DOUBLE_PROJECT } from "../../support/hub/settings-double.ts";
import { settingsFleet, termsOf } from "../../support/hub/settings-fleet.ts";
import { errorOf } from "../../support/hub/surface-b.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const ALL = (value: string): string => `settings:\n  - apps: { web: { A: ${value} } }\n`;

t.test("of two operators who apply at once, the hub takes one and tells the other", async (t) => {
  const { seed, hub, folder, join: joins, write, apply } = await settingsFleet(t);
  write(ALL("one"));
  const host = joins("pier-7", termsOf(seed, { hosts: ["pier-7"] }));
  t.match(await apply(), { code: 0 });
  const before = await readFile(join(folder, "fleet.lock"), "utf8");
  write(ALL("two"));
  hub.rows.get("pier-7")!.number = 2;
  t.match(await apply(), { code: 1, stderr: /Somebody else has uploaded settings since .* for pier-7/ });
  hub.rows.get("pier-7")!.number = 1;
  // Between the list and the upload.
  hub.beforeUpload = () => (hub.rows.get("pier-7")!.number = 2);
  t.match(await apply(), { code: 1, stderr: /settings_conflict|Run the command again/ });
  t.equal(await readFile(join(folder, "fleet.lock"), "utf8"), before, "the roll is as it was");
  t.match(await apply("--replace"), { code: 0, stderr: /applied number 3/ });
  t.equal(host.document?.number, 3);
});

t.test("a hub that shows two operators one number each is found out by what the host signs", async (t) => {
  const { seed, hub, folder, join: joins, write, apply, answer } = await settingsFleet(t);
  write(ALL("one"));
  const host = joins("pier-7", termsOf(seed, { hosts: ["pier-7"] }));
  t.match(await apply(), { code: 0 });
  await copyFile(join(folder, "fleet.lock"), join(folder, "other.lock"));
  await copyFile(join(folder, "fleet.yaml"), join(folder, "other.yaml"));
  hub.takesAll = true;
  write(ALL("two"));
  t.match(await apply("--no-wait"), { code: 0 });
  const [mine] = hub.uploads.at(-1)!;
  hub.rows.get("pier-7")!.number = 1;
  hub.onUpload = () => {
    // The host gets the first operator's document, whatever the second one uploads.
    Object.assign(hub.rows.get("pier-7")!, { number: 2, sealed: mine!.sealed });
    answer(host);
  };
  await copyFile(join(folder, "other.lock"), join(folder, "fleet.lock"));
  hub.rows.get("pier-7")!.outcome = null;
  write(ALL("three"));
  t.match(await apply(), { code: 1, stderr: /pier-7 has another document with the number 2/ });
  t.match(await apply(), { code: 4, stderr: /pier-7 says that it has other settings with the number 2/ });
});

t.test("a restored hub is healed by one apply, and a host that is ahead is not locked out", async (t) => {
  const { seed, hub, join: joins, write, apply } = await settingsFleet(t);
  const host = joins("pier-7", termsOf(seed, { hosts: ["pier-7"] }));
  for (const value of ["one", "two", "three"]) {
    write(ALL(value));
    t.match(await apply(), { code: 0 });
  }
  Object.assign(hub.rows.get("pier-7")!, { number: 1, outcome: null, outcome_at: null });
  t.match(await apply(), { code: 0, stdout: "", stderr: /applied number 4/ });
  Object.assign(hub.rows.get("pier-7")!, { number: null, to: null, sealed: undefined, card: null, terms: null });
  t.match(await apply(), { code: 0, stderr: /applied number 5/ });
  t.equal(host.document?.number, 5);
});

t.test("an apply that ended in the middle goes on, and does not take its own upload for another's", async (t) => {
  const { seed, hub, folder, join: joins, write, apply } = await settingsFleet(t);
  write(ALL("one"));
  joins("pier-7", termsOf(seed, { hosts: ["pier-7"] }));
  t.match(await apply(), { code: 0 });
  const file = join(folder, "fleet.lock");
  const roll = JSON.parse(await readFile(file, "utf8")) as { hosts: Record<string, object> };
  const [fingerprint] = Object.keys(roll.hosts);
  // As it stands when the program ends after the hub has taken number 2.
  Object.assign(roll.hosts[fingerprint!]!, { pending: 2 });
  await writeFile(file, JSON.stringify(roll));
  hub.rows.get("pier-7")!.number = 2;
  t.match(await apply(), { code: 0, stderr: /applied number 3/ });
  t.notMatch(await readFile(file, "utf8"), /pending/);
});

t.test("another operator's key takes a roll over when it is told to", async (t) => {
  const { folder, seed, hub, join: joins, write, apply, keyFile, run, file } = await settingsFleet(t);
  write(ALL("one"));
  joins("pier-7", termsOf(seed, { hosts: ["pier-7"] }));
  t.match(await apply(), { code: 0 });
  const other = join(folder, "other.key");
  await writeFile(other, randomBytes(32).toString("hex"));
  hub.onUpload = () => {};
  const words = `settings apply ${file} --operator-key ${other} --no-wait`;
  t.match(await run(words), { code: 2, stderr: /was written with the operator key .*\n.*--new-operator/ });
  t.match(await run(`${words} --new-operator`), { code: 0, stdout: /~ web\.A/ });
  t.match(await apply("--no-wait"), { code: 2 });
  await writeFile(keyFile, "not a key");
  t.match(await apply(), { code: 2, stderr: /key_file_invalid|holds no|--operator-key/ });
});

t.test("numbers are one more than any that is known, and a hub cannot use them up", async (t) => {
  const key = hostKeyOf(newHostSeed());
  const { x25519, ed25519, fingerprint } = key;
  const facts = { x25519, ed25519, fingerprint, name: "pier-7", labels: {}, named: true, terms: null };
  const host = { ...facts, number: 5, document: "ab".repeat(32) };
  const row = { host_id: "pier-7", number: 5, to: key.fingerprint };
  const outcome = { number: 5, digest: host.document, state: "applied" as const, ignored: [] };
  const heard = { host, row, outcome };
  t.equal(nextNumber(heard), 6);
  t.notOk(isAheadOfRoll(heard));
  t.equal(nextNumber({ ...heard, row: { ...row, number: 8 } }), 9);
  t.ok(isAheadOfRoll({ ...heard, row: { ...row, number: 8 } }));
  t.notOk(isAheadOfRoll({ ...heard, row: { ...row, number: 8, to: "cd".repeat(32) } }), "of a former key");
  t.equal(nextNumber({ ...heard, row: { ...row, number: 8, to: "cd".repeat(32) } }), 9);
  t.equal(nextNumber({ ...heard, outcome: { ...outcome, number: 7 } }), 8);
  t.equal(disbelief(heard, false), undefined);
  const codeOf = (more: object, replaces = false) =>
    disbelief({ ...heard, outcome: { ...outcome, ...more } }, replaces)?.code;
  t.equal(codeOf({ number: 7 }), "outcome_invalid", "neither roll nor hub have it");
  t.equal(codeOf({ number: 7 }, true), undefined);
  t.equal(disbelief({ ...heard, row: { ...row, number: 7 }, outcome: { ...outcome, number: 7 } }, false), undefined);
  t.equal(codeOf({ digest: "ee".repeat(32) }), "outcome_invalid", "another document of the number");
  t.equal(codeOf({ number: 4, digest: "ee".repeat(32) }), undefined, "that of the number before");
  t.equal(codeOf({ number: 5 + MOST_AHEAD }, true), undefined);
  t.equal(codeOf({ number: 6 + MOST_AHEAD }, true), "outcome_invalid", "nobody comes to such a number");
  const stated = (number: number) => () => nextNumber({ ...heard, row: { ...row, number } });
  t.equal(stated(5 + MOST_AHEAD)(), 6 + MOST_AHEAD);
  t.throws(stated(6 + MOST_AHEAD), { code: "settings_conflict" }, "neither host nor roll know such a one");
  const greedy = { ...heard, row: { ...row, number: Number.MAX_SAFE_INTEGER } };
  t.throws(() => nextNumber(greedy), { code: "settings_conflict" });
  const last = { ...heard, host: { ...host, pending: Number.MAX_SAFE_INTEGER } };
  t.throws(() => nextNumber(last), { code: "settings_conflict" }, "no number is used that a roll cannot have");
});

t.test("a roll is refused that was changed by hand, merged, or of another project", async (t) => {
  const folder = temporaryFolder(t);
  const file = join(folder, "fleet.lock");
  const key = hostKeyOf(newHostSeed());
  const roll = await Roll.read(file, DOUBLE_PROJECT);
  const { x25519, ed25519, fingerprint } = key;
  roll.put({ fingerprint, name: "pier-7", x25519, ed25519, labels: {}, named: true, terms: null, number: 0 });
  await roll.save();
  const text = await readFile(file, "utf8");
  t.strictSame(
    (await Roll.read(file, DOUBLE_PROJECT)).hosts().map(({ name }) => name),
    ["pier-7"],
  );
  for (const [changed, message] of [
    [text.replace(x25519, "11".repeat(32)), /is not the fingerprint of its keys/],
    [`<<<<<<< HEAD\n${text}`, /not JSON, perhaps for the marks of a merge/],
    [text.replace('"number": 0', '"number": -1'), /number/],
    [text.replace('"v": 1', '"v": 2'), /v: /],
  ] as const) {
    await writeFile(file, changed);
    t.match(await errorOf(Roll.read(file, DOUBLE_PROJECT)), { code: "config_invalid", message });
  }
  await writeFile(file, text);
  t.match(await errorOf(Roll.read(file, "prj_another00001")), { message: /is of the project prj_harbour00001/ });
  t.match(await errorOf(Roll.readExisting(join(folder, "other.lock"), DOUBLE_PROJECT)), {
    ...{ code: "config_invalid", message: /other\.lock cannot be read: there is no such file/ },
  });
  const mine = await Roll.readExisting(file, DOUBLE_PROJECT);
  const { ino } = await stat(file);
  await mine.save();
  t.equal((await stat(file)).ino, ino, "nothing is written where nothing has changed");
  await writeFile(file, `${text} `);
  mine.remove({ fingerprint, name: "pier-7", terms: null });
  t.match(await errorOf(mine.save()), { code: "settings_conflict", message: /written by another program/ });
});
