import { randomBytes } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import t, { type Test } from "tap";
import { COMMANDS } from "../../../commands/shell/registry.ts";
import { makeCard } from "../../../lib/artifact/sealed/card.ts";
import { hostKeyOf, newHostSeed } from "../../../lib/artifact/sealed/host-key.ts";
import { openSettings, signOutcome } from "../../../lib/artifact/sealed/settings.ts";
import { termsOfLine } from "../../../lib/artifact/sealed/terms.ts";
import { publicKeyOf } from "../../../lib/artifact/signatures/ed25519.ts";
import { OwnSettingsClient } from "../../../lib/client/settings.ts";
import type { JoinAnswer } from "../../../lib/contract/joining/records.ts";
import { joinTokenIn } from "../../../lib/contract/joining/token.ts";
import { startHub } from "../../support/hub/harness.ts";
import { ownSecrets, signerHex } from "../../support/hub/joining.ts";
import { runHere } from "../../support/programs/run-here.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const commands = COMMANDS.filter(({ paths }) => ["host", "settings"].includes(paths?.[0]?.[0] ?? ""));

/** A hub with the project Harbour, an operator, and hosts that join by his invites. */
async function harbour(t: Test) {
  const folder = temporaryFolder(t);
  const hub = await startHub(t);
  const { body } = await hub.call("POST", "/devkeys/projects", { json: { name: "Harbour", kind: "project" } });
  const project = body.id as string;
  Object.assign(process.env, { SEALIFT_HUB_URL: hub.url, SEALIFT_API_KEY: hub.adminKey, XDG_CONFIG_HOME: folder });
  const seed = randomBytes(32);
  const operators = [Buffer.from(publicKeyOf(seed)).toString("hex")];
  const keyFile = join(folder, "operator.key");
  await writeFile(keyFile, seed.toString("hex"));
  const file = join(folder, "fleet.yaml");
  const run = (words: string) => runHere(commands, words.split(" "));
  const signer = signerHex();

  /** Joins as a host does: with the line, its own secrets and its card. */
  const joinAs = async (name: string, words: string) => {
    const { stdout } = await run(
      `host invite --project Harbour --signer-public-key ${signer} --operator-key ${keyFile} ${words}`,
    );
    const line = joinTokenIn(stdout)!;
    const secrets = ownSecrets();
    const joined = await hub.call("POST", "/devkeys/join", {
      ...{ key: null, json: { token: line.token, host_id: name, ...secrets } },
    });
    const terms = termsOfLine((joined.body as unknown as JoinAnswer).terms, line.operator!);
    const key = hostKeyOf(newHostSeed());
    const client = new OwnSettingsClient({ hubUrl: hub.url, apiKey: secrets.key, timeoutMs: 10_000 }, project);
    const card = makeCard({ project, name }, key, { digest: terms.digest, seed: line.operator!.seed });
    await client.sendCard({ card, terms: terms.text });
    const take = async () => {
      const own = (await client.read())!;
      const settings = openSettings(Buffer.from(own.sealed, "base64"), { key, project, operators });
      const { number } = settings.signed;
      const facts = { project, to: key.fingerprint, number, digest: settings.digest, ignored: [] };
      const at = new Date().toISOString();
      await client.sendOutcome(signOutcome({ ...facts, state: "applied", code: null, at }, key));
      return settings.signed;
    };
    return { take, key };
  };
  /** Goes on with a key that has no more than these rights. */
  const withScopes = async (scopes: readonly string[]) => {
    const made = await hub.call("POST", "/devkeys/api-keys", { json: { name: "ci", scopes, project_id: project } });
    process.env["SEALIFT_API_KEY"] = String((made.body as { key?: string }).key);
  };
  return { hub, folder, project, run, keyFile, file, joinAs, withScopes };
}

t.test("settings go from a file to hosts through a hub that cannot read them", async (t) => {
  const { hub, folder, run, keyFile, file, joinAs, project, withScopes } = await harbour(t);
  const seven = await joinAs("pier-7", "--host pier-7 --label env=prod");
  const eight = await joinAs("pier-8", "--label env=prod");
  await writeFile(
    file,
    "project: Harbour\nsettings:\n  - match: { env: prod }\n    apps: { web: { SECRET: swordfish, LEVEL: info } }\n" +
      "  - match: { hosts: [pier-7] }\n    apps: { web: { LEVEL: debug } }\n",
  );
  await withScopes(["settings", "read"]);
  const apply = `settings apply ${file} --operator-key ${keyFile}`;
  t.match(await run(`${apply} --no-wait --accept-new`), { code: 0, stderr: /Uploaded for 2 hosts\./ });
  t.match(await seven.take(), { number: 1, apps: { web: { SECRET: "swordfish", LEVEL: "debug" } } });
  t.match(await run(`settings show --fleet ${file}`), {
    code: 0,
    stdout: /pier-7 +1 +applied +env=prod\npier-8 +1 +not heard yet/,
  });
  t.match((await eight.take()).apps, { web: { LEVEL: "info" } });
  t.notMatch((await run(`settings show --fleet ${file}`)).stderr, /other labels/, "nobody has heard of them yet");
  t.match(await run(apply), { code: 0, stderr: "No host needs new settings.\n" });
  const lock = await readFile(join(folder, "fleet.lock"), "utf8");

  // Another operator with the same key and an older clone of the files.
  await writeFile(file, (await readFile(file, "utf8")).replace("swordfish", "herring"));
  t.match(await run(`${apply} --no-wait`), { code: 0 });
  t.match((await seven.take()).number, 2);
  await writeFile(join(folder, "fleet.lock"), lock);
  t.match(await run(`${apply} --no-wait`), { code: 1, stderr: /Somebody else has uploaded[^]*--replace/ });
  t.match(await run(`${apply} --no-wait --replace`), { code: 0 });
  t.match(await seven.take(), { number: 3, apps: { web: { SECRET: "herring" } } });

  t.match(await run(`settings remove pier-7 --fleet ${file}`), { code: 0, stdout: "web.LEVEL\nweb.SECRET\n" });
  t.match(await run(apply), { code: 2, stderr: /settings\.1\.match\.hosts: no host is called pier-7/ });
  await writeFile(file, "project: Harbour\nsettings:\n  - apps: { web: { SECRET: cod } }\n");
  t.match(await run(`${apply} --no-wait`), { code: 0, stdout: /^1 host: pier-8/ });
  const { status, body } = await hub.call("GET", `/devkeys/projects/${project}/settings?host_id=pier-7`);
  t.match({ status, body }, { status: 200, body: { items: [] } });
});
