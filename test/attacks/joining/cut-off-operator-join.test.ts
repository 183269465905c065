// Only in test:all: a join is killed at each of its writes.
// Holds: what a killed join of an operator's invite leaves (lib/agent/joining/host-secrets.ts)
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import t, { type Test } from "tap";
import { COMMANDS } from "../../../commands/shell/registry.ts";
import { readCard } from "../../../lib/artifact/sealed/card.ts";
import { hostKeyOf } from "../../../lib/artifact/sealed/host-key.ts";
import { publicKeyOf } from "../../../lib/artifact/signatures/ed25519.ts";
import { startHub } from "../../support/hub/harness.ts";
import { signerHex } from "../../support/hub/joining.ts";
import { runHere } from "../../support/programs/run-here.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const commands = COMMANDS.filter(({ paths }) => ["host", "join"].includes(paths?.[0]?.[0] ?? ""));
const PROGRAM = join(import.meta.dirname, "../../support/programs/join-and-die.ts");

/** A project whose operator invites hosts. */
async function inviting(t: Test) {
  const folder = temporaryFolder(t);
  const hub = await startHub(t);
  const { body } = await hub.call("POST", "/devkeys/projects", { json: { name: "Harbour", kind: "project" } });
  Object.assign(process.env, { SEALIFT_HUB_URL: hub.url, SEALIFT_API_KEY: hub.adminKey, XDG_CONFIG_HOME: folder });
  const seed = randomBytes(32);
  const keyFile = join(folder, "operator.key");
  await writeFile(keyFile, seed.toString("hex"), { mode: 0o600 });
  const signer = signerHex();
  const invite = async (words: string): Promise<string> => {
    const { stdout } = await runHere(
      commands,
      `host invite --project Harbour --signer-public-key ${signer} --operator-key ${keyFile} ${words}`.split(" "),
    );
    const file = join(folder, `line-${randomBytes(4).toString("hex")}`);
    await writeFile(file, stdout);
    return file;
  };
  const words = (line: string, name: string): string[] => [
    ...["join", hub.url, "--token-file", line, "--host-id", name, "--out", join(folder, name)],
    ...["--project-root", join(folder, "root"), "--yes", "--wait", "0"],
  ];
  const operator = Buffer.from(publicKeyOf(seed)).toString("hex");
  return { folder, hub, at: `/devkeys/projects/${body.id}`, invite, words, operator };
}

t.test("a join that is killed at any write goes on with its key, and its card is that key's", async (t) => {
  const { folder, hub, at, invite, words, operator } = await inviting(t);
  const flags = process.execArgv.filter((flag) => flag.startsWith("--import=") && flag.includes("tsx"));
  let isWhole = false;
  let moment = 0;
  for (; !isWhole; moment++) {
    const name = `pier-${moment}`;
    const line = await invite(`--host ${name}`);
    const child = spawn(process.execPath, [...flags, PROGRAM, String(moment), ...words(line, name)], {
      env: { PATH: process.env.PATH, XDG_CONFIG_HOME: folder },
      stdio: "ignore",
    });
    isWhole = await new Promise<boolean>((resolve) => child.once("close", (code) => resolve(code === 0)));
    const out = join(folder, name);
    const left = await readdir(out).catch((): string[] => []);
    const kept = left.includes("host.key") ? await readFile(join(out, "host.key"), "utf8") : undefined;
    const again = await runHere(commands, words(line, name));
    t.equal(again.code, 0, `${moment}: ${again.stderr}`);
    const seed = await readFile(join(out, "host.key"), "utf8");
    if (kept !== undefined) t.equal(seed, kept, `${moment}: the key stays`);
    t.equal((await stat(join(out, "host.key"))).mode & 0o777, 0o600);
    const { card } = JSON.parse(await readFile(join(out, "host.card"), "utf8")) as { card: string };
    const { fingerprint } = readCard(card);
    t.equal(fingerprint, hostKeyOf(Buffer.from(seed.trim(), "hex")).fingerprint);
    t.match(await readFile(join(out, "watch.yaml"), "utf8"), operator);
    t.strictSame(
      (await readdir(out)).filter((file) => /\.(?:tmp|new|old)$/.test(file)),
      [],
      "nothing is left",
    );
    t.match((await hub.call("GET", `${at}/joined-hosts?host_id=${name}`)).body.items, [{ state: "joined" }]);
  }
  t.ok(moment > 5, `${moment} moments`);
});

t.test("a host that is renamed while it waits joins with the card of its new name, or not at all", async (t) => {
  const { folder, hub, at, invite, words } = await inviting(t);
  const renamed = async (line: string, name: string) => {
    t.match(await runHere(commands, words(line, name)), { code: 75, stderr: /host_pending/ });
    const rename = await hub.call("PATCH", `${at}/joined-hosts/${name}`, { json: { host_id: `${name}-b` } });
    t.ok(rename.status < 300, JSON.stringify(rename.body));
    t.equal((await hub.call("POST", `${at}/joined-hosts/${name}-b/approve`)).status, 204);
    return runHere(commands, words(line, name));
  };
  t.match(await renamed(await invite("--approve"), "pier-7"), { code: 0, stderr: /pier-7-b has joined/ });
  const { card } = JSON.parse(await readFile(join(folder, "pier-7/host.card"), "utf8")) as { card: string };
  t.match(JSON.parse(card), { signed: { name: "pier-7-b" } });
  const bound = await renamed(await invite("--approve --host pier-8"), "pier-8");
  t.match(bound, { code: 4, stderr: /terms_invalid/ });
});
