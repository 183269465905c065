// Holds: which kit of a hub comes onto a stick (lib/fleet/kits/make-kit.ts)
/** A hub answers `kit make` with something else than it was asked for: people believe what the command prints. */
import { readdir } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import t, { type Test } from "tap";
import type { MadeKit } from "../../../lib/contract/kits/records.ts";
import { hostLine } from "../../../lib/contract/settings/host-line.ts";
import { offlineSite, sealift } from "../../support/host/offline-site.ts";

type Lie = (made: MadeKit) => object;

/** Headers of one connection, which no proxy hands on. */
const OF_THE_WIRE = /^(?:host|connection|keep-alive|content-length|transfer-encoding|(?:accept|content)-encoding)$/;

const NOBODY = "ab".repeat(32);
const IN_SEVENTY_YEARS = { made_at: "2096-01-01T00:00:00.000Z", ends_at: "2096-01-08T00:00:00.000Z" };

const LIES: Record<string, Lie> = {
  "leaves the host out": (made) => ({ ...made, hosts: {} }),
  "seals to another one": (made) => ({ ...made, hosts: { [NOBODY]: Object.values(made.hosts)[0] } }),
  "seals to one more": (made) => ({ ...made, hosts: { ...made.hosts, [NOBODY]: Object.values(made.hosts)[0] } }),
  "lets it end in seventy years": (made) => ({ ...made, ends_at: IN_SEVENTY_YEARS.ends_at }),
  "lets it end at once": (made) => ({ ...made, ends_at: made.made_at }),
  "has made it in seventy years": (made) => ({ ...made, ...IN_SEVENTY_YEARS }),
  "has signed something else": (made) => ({ ...made, says: made.says.replace('"facts":{', '"facts":{"more":1,') }),
  "names another key": (made) => ({ ...made, hub_signature: { ...made.hub_signature, key: NOBODY } }),
  "says nothing that is JSON": (made) => ({ ...made, says: "{" }),
  "says what no host can read": (made) => ({ ...made, says: '{"facts":null}' }),
};

/** Starts a proxy of a hub that tells lies about the kits that it makes. @returns its URL */
async function lyingAbout(t: Test, hubUrl: string, lie: Lie): Promise<string> {
  const server = createServer((request, response) => {
    void (async () => {
      const body = await buffer(request);
      const { method = "GET", url = "" } = request;
      const asked = Object.entries(request.headers).filter(([name]) => !OF_THE_WIRE.test(name));
      const headers = Object.fromEntries(asked) as Record<string, string>;
      const answer = await fetch(`${hubUrl}${url}`, { method, headers, ...(body.length > 0 && { body }) });
      const bytes = Buffer.from(await answer.arrayBuffer());
      const isKit = answer.ok && method === "POST" && url.endsWith("/kits");
      const sent = isKit ? JSON.stringify(lie(JSON.parse(bytes.toString()) as MadeKit)) : bytes;
      const kept = [...answer.headers].filter(([name]) => !OF_THE_WIRE.test(name));
      response.writeHead(answer.status, Object.fromEntries(kept)).end(sent);
    })();
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  t.teardown(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

t.test("kit make compares the answer with what it asked for", async (t) => {
  const { hub, target, key, folder } = await offlineSite(t);
  await target.publish("1.0.0");
  const make = async (name: string, lie: Lie) =>
    sealift(folder, [
      ...["kit", "make", target.name, "--out", name, "--host", `pier-7=${hostLine(key)}`],
      ...["--hub-url", await lyingAbout(t, hub.url, lie), "--api-key-file", target.options["api_key_file"]!],
      ...["--deployment-credential-file", target.options["deployment_credential_file"]!],
    ]);
  t.match((await make("true", (made) => made)).result, { status: "success" });
  for (const [name, lie] of Object.entries(LIES)) {
    const { result } = await make(name, lie);
    t.match(result, { status: "failed", error: { code: "bad_answer" } }, `a hub that ${name}`);
    t.same(await readdir(join(folder, name)), [], "nothing is left that people could take for a kit");
  }
  const { items } = (await hub.call("GET", `/devkeys/projects/${target.slug}/kits?live=true`)).body as { items: [] };
  t.equal(items.length, 1, "and every other one was ended at the hub");
});

const OTHER_BYTES: Record<string, Record<string, Lie>> = {
  project: { "has the digest of other bytes": (made) => ({ ...made, digest: NOBODY }) },
  plugin: {
    "has the digest of other bytes": (made) => ({ ...made, digest: NOBODY }),
    "has the digest of another archive": (made) => ({
      ...made,
      says: made.says.replace(/("archive":.*?"sha256":")[0-9a-f]{64}/, `$1${NOBODY}`),
    }),
  },
};

for (const kind of ["project", "plugin"] as const)
  t.test(`kit make compares the bytes of a ${kind} with what the hub says of them`, async (t) => {
    const { hub, target, key, folder } = await offlineSite(t, kind);
    const credential = target.options["deployment_credential_file"];
    const make = async (name: string, lie: Lie) =>
      sealift(folder, [
        ...["kit", "make", target.name, "--out", name, "--host", `pier-7=${hostLine(key)}`],
        ...["--hub-url", await lyingAbout(t, hub.url, lie), "--api-key-file", target.options["api_key_file"]!],
        ...(credential === undefined ? [] : ["--deployment-credential-file", credential]),
      ]);
    const none = kind === "plugin" ? "no_version" : "not_found";
    t.match((await make("early", (made) => made)).result, { error: { code: none } }, "nothing is published yet");
    await target.publish("1.0.0");
    for (const [what, lie] of Object.entries(OTHER_BYTES[kind]!)) {
      const { result } = await make(what, lie);
      t.match(result, { status: "failed", error: { code: "artifact_changed" } }, `a hub that ${what}`);
      t.same(await readdir(join(folder, what)), []);
    }
    t.match((await make("true", (made) => made)).result, { status: "success" });
  });
