// Holds: what a joining host believes of its hub (lib/agent/joining/join.ts)
import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import t, { type Test } from "tap";
import { COMMANDS } from "../../../commands/shell/registry.ts";
import { makeTerms } from "../../../lib/artifact/sealed/terms.ts";
import { MAX_TERMS_BYTES } from "../../../lib/contract/settings/limits.ts";
import { heldKey, rootChain } from "../../support/forged/roots.ts";
import { startHub } from "../../support/hub/harness.ts";
import { ownSecrets, signerHex } from "../../support/hub/joining.ts";
import { changes, type Lie, says, startLyingSettings } from "../../support/hub/lying-settings.ts";
import { runHere } from "../../support/programs/run-here.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const commands = COMMANDS.filter(({ paths }) => ["host", "join"].includes(paths?.[0]?.[0] ?? ""));

/** A hub with the project Harbour, and a proxy that lies to the hosts of its operator. */
async function lying(t: Test) {
  const folder = temporaryFolder(t);
  process.env["XDG_CONFIG_HOME"] = folder;
  const hub = await startHub(t);
  const named = async (name: string): Promise<string> =>
    (await hub.call("POST", "/devkeys/projects", { json: { name, kind: "project" } })).body.id as string;
  const [project, other] = [await named("Harbour"), await named("Lighthouse")];
  Object.assign(process.env, { SEALIFT_HUB_URL: hub.url, SEALIFT_API_KEY: hub.adminKey });
  const seed = randomBytes(32);
  const keyFile = join(folder, "operator.key");
  await writeFile(keyFile, seed.toString("hex"), { mode: 0o600 });
  const signer = signerHex();
  const run = (words: string) => runHere(commands, words.split(" "));
  /** Invites a host. @returns the file of the line, and the terms that the hub keeps with it */
  const invite = async (words: string, name = "Harbour") => {
    const made = await run(
      `host invite --project ${name} --signer-public-key ${signer} --operator-key ${keyFile} ${words}`,
    );
    if (made.code !== 0) throw new Error(made.stderr);
    const file = join(folder, `line-${randomBytes(4).toString("hex")}`);
    await writeFile(file, made.stdout);
    return file;
  };
  const wire = await startLyingSettings(t, hub.url);
  let count = 0;
  /** Joins through the proxy with a line, into a folder of its own. */
  const joinWith = async (file: string, lie: Lie, more = "") => {
    wire.lies = { join: lie };
    const out = join(folder, `host-${count++}`);
    const words = `join ${wire.url} --token-file ${file} --host-id pier-7 --out ${out} --project-root ${folder}/root`;
    const ended = await run(`${words} --yes --timeout 2s --wait 1s${more}`);
    const kept = ["host.env", "host.key", "host.card", "watch.yaml"].filter((name) => existsSync(join(out, name)));
    return { ...ended, kept, out };
  };
  return { hub, folder, project, other, seed, signer, run, invite, wire, joinWith };
}

const termsIn = (body: Record<string, unknown>): string => String(body["terms"]);

t.test("a join ends, and leaves nothing, where the hub's answer is not what the operator has signed", async (t) => {
  const { hub, project, other, seed, invite, joinWith, wire } = await lying(t);
  const facts = { project, labels: { env: "prod" }, uses: 1, pins: "ab".repeat(16) };
  const terms = (more: object = {}, of = seed) =>
    makeTerms({ ...facts, expires_at: new Date(Date.now() + 3_600_000).toISOString(), ...more }, of).text;
  const second = await invite("--label env=prod");
  const foreign = await invite("--label env=prod --uses 9", "Lighthouse");
  /** Answers by another line: the hub takes whatever token it likes. */
  const ofLine =
    (file: string): Lie =>
    async (response, _truth, request) => {
      const token = (await readFile(file, "utf8")).split(".")[0];
      const { body } = await hub.call("POST", "/devkeys/join", {
        ...{ key: null, json: { token, host_id: `pier-${randomBytes(3).toString("hex")}`, ...ownSecrets() } },
      });
      says(body)(response, undefined as never, request);
    };
  const root = rootChain().version(1, [heldKey()]);
  const LIES: [name: string, code: string, lie: Lie][] = [
    ["no terms", "terms_invalid", changes(({ terms: _terms, ...body }) => body)],
    ["terms of another invite of the operator", "terms_invalid", changes((body) => ({ ...body, terms: terms() }))],
    ["terms of another operator", "terms_invalid", changes((body) => ({ ...body, terms: terms({}, randomBytes(32)) }))],
    [
      "terms that were changed",
      "terms_invalid",
      changes((body) => ({ ...body, terms: termsIn(body).replace("prod", "test") })),
    ],
    [
      "terms without a signature",
      "terms_invalid",
      changes((body) => ({ ...body, terms: termsIn(body).replace(/"sig":"\w+"/, `"sig":"${"0".repeat(128)}"`) })),
    ],
    [
      "terms with a key twice",
      "terms_invalid",
      changes((body) => ({ ...body, terms: termsIn(body).replace('"v":1', '"v":1,"v":1') })),
    ],
    [
      "terms of a whole mebibyte",
      "bad_answer",
      changes((body) => ({ ...body, terms: termsIn(body) + " ".repeat(MAX_TERMS_BYTES) })),
    ],
    ["other labels", "terms_invalid", changes((body) => ({ ...body, labels: { env: "test" } }))],
    ["more labels", "terms_invalid", changes((body) => ({ ...body, labels: { env: "prod", site: "north" } }))],
    ["no labels", "terms_invalid", changes((body) => ({ ...body, labels: {} }))],
    ["another project", "terms_invalid", changes((body) => ({ ...body, project_id: other }))],
    ["a name that the operator has not signed", "terms_invalid", changes((body) => ({ ...body, host_id: "pier-8" }))],
    ["another signer", "signer_untrusted", changes((body) => ({ ...body, signers: [signerHex()] }))],
    [
      "a signer more",
      "signer_untrusted",
      changes((body) => ({ ...body, signers: [...(body["signers"] as string[]), signerHex()] })),
    ],
    ["no signer", "signer_untrusted", changes((body) => ({ ...body, signers: [] }))],
    ["a trust root in their place", "signer_untrusted", changes((body) => ({ ...body, signers: [], root }))],
    ["the answer to another line", "terms_invalid", ofLine(second)],
    ["the answer to a line of another project", "terms_invalid", ofLine(foreign)],
    ["a state that there is not", "bad_answer", changes((body) => ({ ...body, state: "welcome" }))],
    [
      "a page to sign in",
      "bad_answer",
      (response) => response.writeHead(200, { "content-type": "text/html" }).end("<p>"),
    ],
  ];
  for (const [name, code, lie] of LIES) {
    const ended = await joinWith(await invite("--label env=prod --host pier-7"), lie);
    t.match(ended, { code: code === "bad_answer" ? 1 : 4, kept: [] }, `${name}: ${ended.stderr}`);
    t.match(ended.stderr, `(${code})`, name);
    t.notMatch(ended.stdout + ended.stderr, /slk_|sdc_|sjt_/, name);
    await hub.call("DELETE", `/devkeys/projects/${project}/joined-hosts/pier-7`);
  }
  t.equal(wire.count("card"), 0);
});

t.test("a join that the hub holds up goes on later with the same keys, and sends no secret elsewhere", async (t) => {
  const { invite, joinWith, hub, project } = await lying(t);
  const heard: string[] = [];
  const elsewhere = createServer((request, response) => {
    request.setEncoding("utf8").on("data", (text: string) => heard.push(text));
    request.once("end", () => response.writeHead(200).end("{}"));
  });
  await new Promise<void>((resolve) => elsewhere.listen(0, "127.0.0.2", resolve));
  t.teardown(() => elsewhere.close());
  const to = `http://127.0.0.2:${(elsewhere.address() as AddressInfo).port}/join`;
  const line = () => invite("--label env=prod --host pier-7");
  const sent = await joinWith(await line(), (response) => response.writeHead(307, { location: to }).end());
  t.match(sent, { code: 1, stderr: /redirect_origin/ }, sent.stderr);
  t.strictSame(heard, []);
  const waiting = await joinWith(
    await line(),
    changes((body) => ({ ...body, state: "pending" })),
  );
  t.match(waiting, { code: 75, stderr: /host_pending/, kept: ["host.env", "host.key"] }, waiting.stderr);
  await hub.call("DELETE", `/devkeys/projects/${project}/joined-hosts/pier-7`);
  const away = await joinWith(await line(), (response) => response.writeHead(503).end());
  t.match(away, { code: 75, kept: ["host.env", "host.key"] }, away.stderr);
  const removed = await joinWith(await line(), says({ error: "gone", detail: "gone", code: "host_removed" }, 403));
  t.match(removed, { kept: [] }, "a hub that removes it for ever gets two keys and no more");
  t.not(removed.code, 0, removed.stderr);
});

t.test("a name that the hub gives where the operator has signed none is what the host's card says", async (t) => {
  const { invite, joinWith } = await lying(t);
  const renamed = await joinWith(
    await invite("--label env=prod"),
    changes((body) => ({ ...body, host_id: "pier-9", project_name: "Har\u001b[2Jbour" })),
  );
  t.match(renamed, { code: 0, stderr: /pier-9 has joined/ });
  t.notMatch(renamed.stderr, "\u001b");
  const { card } = JSON.parse(await readFile(join(renamed.out, "host.card"), "utf8")) as { card: string };
  t.match(JSON.parse(card), { signed: { name: "pier-9" } });
});
