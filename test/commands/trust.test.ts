// Holds: who agrees to a root that one key alone may change (commands/trust/consent.ts)
/** `sealift trust start | show | change | sign | publish`, as people type it. */
import { existsSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import t, { type Test } from "tap";
import { COMMANDS } from "../../commands/shell/registry.ts";
import { publicRootKey } from "../../lib/artifact/trust/keys.ts";
import { anchoredRoot, nextRoot } from "../../lib/artifact/trust/root.ts";
import { p256Key } from "../support/forged/p256-roots.ts";
import { createProject, startHub } from "../support/hub/harness.ts";
import { runHere } from "../support/programs/run-here.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const commands = COMMANDS.filter(({ paths }) => ["trust", "signer"].includes(paths?.[0]?.[0] ?? ""));

/** A folder with key pairs by their holders' names, and the commands in it. */
async function holders(t: Test) {
  const folder = temporaryFolder(t);
  process.env["XDG_CONFIG_HOME"] = folder;
  for (const name of ["SEALIFT_HUB_URL", "SEALIFT_API_KEY"]) delete process.env[name];
  /** Words with an `@` in front are paths in the folder. */
  const words = (line: string): string[] =>
    line.split(" ").map((word) => (word.startsWith("@") ? join(folder, word.slice(1)) : word));
  const run = (line: string, where = {}) => runHere(commands, words(line), where);
  for (const name of ["signer", "laptop", "alice", "bob", "carol", "dave"]) {
    const { code, stderr } = await run(`signer create --out @${name}`);
    if (code !== 0) throw new Error(stderr);
  }
  const file = (name: string): string => join(folder, name);
  const read = (name: string): Promise<string> => readFile(file(name), "utf8");
  const json = async (line: string) => {
    const { code, stdout } = await run(`${line} --json`);
    return { code, ...(JSON.parse(stdout.trim().split("\n").at(-1)!) as Record<string, unknown>) };
  };
  const hexOf = async (name: string): Promise<string> => {
    const key = publicRootKey(Buffer.from(await read(`${name}/signer.pub`)), name);
    return key.keyval.public;
  };
  return { run, file, read, json, hexOf };
}

const ROOT_KEYS = "--root-key @alice/signer.pub --root-key @bob/signer.pub --root-key @carol/signer.pub";

t.test("from today's signer to a laptop's new key", async (t) => {
  const { run, read, json, file, hexOf } = await holders(t);
  const started = await run(`trust start @1.root.json --from-signer @signer/signer.key ${ROOT_KEYS}`);
  t.match(started, {
    code: 0,
    stderr: /Wrote \S+1\.root\.json: version 1 of rt_\w{32}\. 2 of its root keys sign it now/,
  });
  t.match(await json("trust show @1.root.json"), {
    code: 0,
    root: {
      ...{ version: 1, threshold: 2, root_keys: [{ name: "alice" }, { name: "bob" }, { name: "carol" }] },
      signers: [{ name: "today's signer", type: "ed25519" }],
      signed: [{ by: "itself", signatures: 0, threshold: 2 }],
    },
    files: [],
  });
  const once = await run("trust sign @1.root.json --key @alice/signer.key");
  t.match(once, { code: 0, stdout: /✓ alice .*\n.* {2}bob .*\n(?:.*\n)*signed +by 1 of the 2 that it demands itself/ });
  t.notMatch(once.stderr, /Next: sealift trust publish/);
  const twice = await run("trust sign @1.root.json --key @bob/signer.key");
  t.match(twice, { code: 0, stdout: /countersigned by the signer \w{64}/, stderr: /Next: sealift trust publish/ });
  const first = anchoredRoot(await read("1.root.json"), "1");

  const changed = await json(
    "trust change @1.root.json --remove-signer @signer/signer.pub --add-signer @laptop/signer.pub",
  );
  t.match(changed, { code: 0, root_id: first.id, version: 2, file: file("2.root.json") });
  await writeFile(file("copy.json"), await read("2.root.json"));
  t.match(await json("trust sign @copy.json --base @1.root.json --key @carol/signer.key"), {
    signed: [
      { by: "itself", signatures: 1 },
      { by: "the version before", signatures: 1, threshold: 2 },
    ],
  });
  t.match(await run("trust sign @2.root.json --key @bob/signer.key"), { code: 0 });
  t.match(await run("trust sign @2.root.json --base @1.root.json --signatures-of @copy.json"), {
    ...{ code: 0, stdout: /signed +by 2 of the 2 that the version before demands/ },
    stderr: /Next: sealift trust publish/,
  });
  const second = nextRoot(first, await read("2.root.json"), "2");
  t.strictSame(second.signers, [await hexOf("laptop")]);
  t.match(await run("trust show @2.root.json --base @1.root.json"), { code: 0, stdout: /laptop {2}\w{64}/ });
});

t.test("a key whose signature would count nowhere is refused, with the keys that could sign", async (t) => {
  const { run, read } = await holders(t);
  await run(`trust start @1.root.json --from-signer @signer/signer.key ${ROOT_KEYS}`);
  const [first, hint] = [await read("1.root.json"), /These could sign it: alice \(\w{16}…\), bob \(.*, carol \(/];
  const refused = await run("trust sign @1.root.json --key @dave/signer.key");
  t.match(refused, { code: 2, stderr: /trust_key_unnamed.*dave\/signer\.key is no key of \S+1\.root\.json/ });
  t.match(refused.stderr.replaceAll(/\s+/g, " "), hint);
  t.notMatch(refused.stderr, "--base", "there is no version before the first");
  t.match(await run("trust sign @1.root.json --key @laptop/signer.key --json"), {
    ...{ code: 2, stdout: /"code":"trust_key_unnamed"/ },
  });
  t.equal(await read("1.root.json"), first, "the file is as it was");
  t.match(
    await run("trust sign @1.root.json --key @signer/signer.key"),
    { code: 0 },
    "a signer countersigns version 1",
  );
  for (const name of ["alice", "bob"]) await run(`trust sign @1.root.json --key @${name}/signer.key`);

  await run("trust change @1.root.json --remove-root-key bob --add-root-key @dave/signer.pub");
  for (const name of ["alice", "dave"]) await run(`trust sign @2.root.json --key @${name}/signer.key`);
  const former = await run("trust sign @2.root.json --key @bob/signer.key");
  t.match(former.stderr.replaceAll(/\s+/g, " "), /A key of version 1 signs with --base 1\.root\.json/);
  t.match(await run("trust sign @2.root.json --base @1.root.json --key @bob/signer.key"), { code: 0 });
  const other = await run("trust sign @2.root.json --base @1.root.json --key @signer/signer.key");
  t.match(other, { code: 2, stderr: /These could sign it/ });
  t.notMatch(other.stderr, /signs with --base/, "it was given");
  t.match(
    await run("trust sign @2.root.json --base @1.root.json --key @laptop/signer.key"),
    { code: 2 },
    "once done, too",
  );
});

t.test("keys are taken out by file, name, id and value, and put in by value", async (t) => {
  const { run, json, hexOf } = await holders(t);
  const laptop = await hexOf("laptop");
  await run(`trust start @1.root.json ${ROOT_KEYS} --add-signer @signer/signer.pub --add-signer ${laptop}`);
  const { root } = (await json("trust show @1.root.json")) as unknown as { root: { root_keys: { id: string }[] } };
  const id = root.root_keys[0]!.id;
  t.match(
    await json(
      `trust change @1.root.json --remove-root-key ${id} --remove-root-key bob --remove-signer ${laptop} --out @a.json --yes --threshold 1`,
    ),
    { code: 0, version: 2 },
  );
  t.match(await json("trust show @a.json"), {
    root: { threshold: 1, root_keys: [{ name: "carol" }], signers: [{ name: "signer" }] },
  });
  t.match(await json("trust change @1.root.json --add-root-key @dave/signer.pub --threshold 3 --out @b.json"), {
    code: 0,
  });
  t.match(await json("trust show @b.json"), { root: { threshold: 3, root_keys: { length: 4 } } });
});

t.test("a root key may be P-256, a signer may not", async (t) => {
  const { run, file, json } = await holders(t);
  const { privateKey, key } = p256Key();
  await writeFile(file("card.pem"), key.keyval.public);
  await writeFile(file("card.key"), privateKey.export({ format: "pem", type: "sec1" }));
  const keys = "--root-key @card.pem --root-key @alice/signer.pub --root-key @bob/signer.pub";
  t.match(await run(`trust start @1.root.json ${keys} --add-signer @signer/signer.pub`), { code: 0 });
  t.match(await run("trust sign @1.root.json --key @card.key"), { code: 0, stdout: /✓ card {2}P-256, id \w{64}/ });
  t.match(await json("trust show @1.root.json"), { root: { root_keys: [{ type: "ecdsa", name: "card" }, {}, {}] } });
  const refused = await run(`trust start @x.json ${ROOT_KEYS} --add-signer @card.pem`);
  t.match(refused, { code: 2, stderr: /its signers of versions are Ed25519 keys only/ });
  t.notOk(existsSync(file("x.json")));
});

t.test("what is wrong is said, and nothing is written", async (t) => {
  const { run, file, read } = await holders(t);
  const start = `trust start @x.json ${ROOT_KEYS}`;
  await run(`trust start @1.root.json ${ROOT_KEYS} --add-signer @signer/signer.pub`);
  await run(`trust start @other.json ${ROOT_KEYS} --add-signer @signer/signer.pub`);
  await writeFile(file("page.html"), "<html>");
  await writeFile(file("large.json"), " ".repeat(70_000));
  await mkdir(file("folder"));
  const before = await read("1.root.json");
  const cases: [line: string, says: RegExp, code?: number][] = [
    [start, /A root names at least one signer of versions/],
    [`${start} --add-signer @missing.pub`, /--add-signer \S+missing\.pub cannot be read/],
    [`${start} --add-signer @signer/signer.key`, /signer\.key/],
    [`${start} --add-signer @alice/signer.pub`, /A signer of versions is one of the root keys, too/],
    [`${start} --from-signer @alice/signer.key`, /A signer of versions is one of the root keys, too/],
    [`${start} --from-signer @signer/signer.pub`, /signer/],
    [`${start} --root-key @alice/signer.pub --add-signer @signer/signer.pub`, /the role root has one key twice/],
    [`${start} --threshold 4 --add-signer @signer/signer.pub`, /--threshold 4 is more than the root keys .* \(3\)/],
    [`${start} --threshold 0 --add-signer @signer/signer.pub`, /threshold/],
    [
      `${start} --threshold 1 --add-signer @signer/signer.pub`,
      /only a visit takes them back(?:.|\s)*Add --yes to say so in a script/,
    ],
    [
      "trust start @x.json --root-key @alice/signer.pub --add-signer @signer/signer.pub",
      /A root has 3 keys, of which 2/,
    ],
    ["trust start @x.json --add-signer @signer/signer.pub", /root-key/],
    [`trust start @1.root.json ${ROOT_KEYS} --add-signer @signer/signer.pub`, /1\.root\.json/],
    ["trust change @1.root.json --remove-signer nobody", /--remove-signer nobody is not a key of the root/],
    ["trust change @1.root.json --remove-signer signer", /Without a signer nobody could publish/],
    ["trust change @1.root.json --remove-root-key alice --remove-root-key bob", /--threshold 2 is more than/],
    ["trust change @1.root.json --threshold 1", /only a visit takes them back/],
    ["trust change @missing.json --add-signer @laptop/signer.pub", /missing\.json cannot be read/],
    ["trust change @folder --add-signer @laptop/signer.pub", /folder cannot be read/],
    ["trust change @large.json --add-signer @laptop/signer.pub", /large\.json cannot be read/],
    ["trust change @page.html --add-signer @laptop/signer.pub", /page\.html is not a trust root/, 4],
    ["trust sign @1.root.json", /Nothing to sign with/],
    ["trust sign @1.root.json --key @missing.key", /--key \S+missing\.key cannot be read/],
    ["trust sign @1.root.json --key @alice/signer.pub", /signer/],
    ["trust sign @1.root.json --signatures-of @other.json", /The two files are not copies of one root/],
    ["trust sign @missing.json --key @alice/signer.key", /missing\.json cannot be read/],
    ["trust show @missing.json", /There is no file \S+missing\.json, and no hub was named/],
    ["trust show @page.html", /page\.html is not a trust root/, 4],
    ["trust show @1.root.json --out @1.root.json", /1\.root\.json/],
    ["trust publish @page.html --hub-url http://127.0.0.1:9 --api-key slk_x", /./],
  ];
  for (const [line, says, code = 2] of cases) {
    const ended = await run(line);
    t.equal(ended.code, line.startsWith("trust publish") ? ended.code : code, `${line}: ${ended.stderr}`);
    t.match(ended.stderr, says, line);
    t.notMatch(ended.stderr, /internal/i, line);
    const { stdout } = await run(`${line} --json`);
    t.match(
      JSON.parse(stdout.trim().split("\n").at(-1)!),
      { status: "failed", error: { kind: String, code: String } },
      `${line} --json`,
    );
  }
  t.notOk(existsSync(file("x.json")));
  t.notOk(existsSync(file("2.root.json")));
  t.equal(await read("1.root.json"), before);
});

t.test("--yes stands for the question about a threshold of 1", async (t) => {
  const { run, json } = await holders(t);
  const words = "--root-key @alice/signer.pub --add-signer @signer/signer.pub --threshold 1 --yes";
  t.match(await run(`trust start @1.root.json ${words}`), { code: 0 });
  t.match(await run("trust change @1.root.json --add-signer @laptop/signer.pub"), { code: 0 }, "not asked once more");
  t.match(await json("trust show @2.root.json"), { root: { threshold: 1, signers: { length: 2 } } });
});

t.test("a person at a terminal is asked about a threshold of 1, and only yes goes on", async (t) => {
  const { run, file } = await holders(t);
  const line = "trust start @1.root.json --root-key @alice/signer.pub --add-signer @signer/signer.pub --threshold 1";
  for (const typed of ["n\n", "\n", ""]) {
    const asked = await run(line, { typed });
    t.match(asked, { code: 2, stderr: /only a visit takes them back\. Go on\? \[y\/N\](?:.|\s)*Nothing was done/ });
    t.notOk(existsSync(file("1.root.json")));
  }
  t.match(await run(line, { typed: "y\n" }), { code: 0 });
});

t.test("a root is published for targets, shown and written from the hub", async (t) => {
  const { run, read, json, file } = await holders(t);
  const hub = await startHub(t);
  const { id } = await createProject(hub);
  Object.assign(process.env, { SEALIFT_HUB_URL: hub.url, SEALIFT_API_KEY: hub.adminKey });
  t.match(await run(`trust show project:${id}`), { code: 1, stderr: /follows no trust root at this hub/ });
  await run(`trust start @1.root.json ${ROOT_KEYS} --add-signer @signer/signer.pub`);
  t.match(await run(`trust publish @1.root.json project:${id}`), {
    code: 4,
    stderr: /0 of 2 signatures by its own keys/,
  });
  for (const name of ["alice", "bob"]) await run(`trust sign @1.root.json --key @${name}/signer.key`);
  t.match(await run("trust publish @1.root.json"), {
    code: 0,
    stderr: /0 targets follow it\.\n.*Nobody follows it yet/,
  });
  const published = await run(`trust publish @1.root.json project:${id}`);
  t.match(published, { code: 0, stderr: /The hub has version 1 of rt_\w{32}\. 1 target follows it/ });
  t.match(await json(`trust publish @1.root.json project:${id}`), { code: 0, root: { version: 1, targets: [id] } });
  await run("trust change @1.root.json --add-signer @laptop/signer.pub");
  t.match(await run("trust publish @2.root.json"), { code: 4, stderr: /trust show FILE --base BEFORE/ });
  for (const name of ["alice", "carol"]) await run(`trust sign @2.root.json --key @${name}/signer.key`);
  t.match(await run("trust publish @2.root.json"), { code: 0, stderr: /version 2/ });
  t.match(await json(`trust show project:${id}`), {
    root: { version: 2, signed: [{ signatures: 2 }, { by: "the version before", signatures: 2 }] },
  });
  await mkdir(file("kit"));
  t.match(await json(`trust show project:${id} --out @kit`), {
    files: [file("kit/1.root.json"), file("kit/2.root.json")],
  });
  for (const name of ["1.root.json", "2.root.json"]) t.equal(await read(`kit/${name}`), await read(name));
  t.match(await run(`trust show project:${id} --out @newest.json`), { code: 0 });
  t.equal(await read("newest.json"), await read("2.root.json"));
  t.match(await run("trust publish @1.root.json project:prj_0000000000"), { code: /[1-9]/, stderr: /./ });
});
