// Holds: every tampering of a kit is refused with a code, and blames no version (lib/agent/sources/kits/host-kit.ts)
import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdir, readdir, readFile, rename, rm, symlink, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import t from "tap";
import { hostKeyOf, newHostSeed } from "../../../lib/artifact/sealed/host-key.ts";
import { openKitTerms, sealKitTerms } from "../../../lib/artifact/sealed/kit.ts";
import { blamesVersion } from "../../../lib/contract/blame.ts";
import type { KitTerms } from "../../../lib/contract/kits/texts.ts";
import { hostLine } from "../../../lib/contract/settings/host-line.ts";
import { targetName } from "../../../lib/contract/target.ts";
import { layoutOf } from "../../../lib/releases/layout.ts";
import { readQuarantine } from "../../../lib/releases/quarantine.ts";
import { remadeKit } from "../../support/forged/kits.ts";
import { offlineSite } from "../../support/host/offline-site.ts";

t.test("a kit that was changed is refused with a code, and the right one is taken afterwards", async (t) => {
  const site = await offlineSite(t);
  const { hub, target, other, key, make, made, deploy, copy, kitText, writeKit } = site;
  await target.publish("1.0.0");
  await other.publish("1.0.0");
  const good = await make("good");
  const sibling = await make("sibling");
  const foreign = await make("foreign", [], other);
  const stranger = hostKeyOf(newHostSeed());
  const others = await make("others", ["--host", `pier-8=${hostLine(stranger)}`]);
  const text = await kitText(good);
  const hosts = text["hosts"] as Record<string, string>;
  const terms = openKitTerms(hosts[key.fingerprint]!, key);
  const bytes = await readFile(join(good, "artifact.bin"));
  const project = text["project"] as Record<string, unknown>;
  const flipped = Buffer.from(bytes);
  flipped[Math.floor(bytes.length / 2)]! ^= 1;
  const resealed = (more: Partial<KitTerms>): Record<string, string> => {
    const { t: _t, v: _v, ...facts } = { ...terms, ...more };
    return { [key.fingerprint]: sealKitTerms(facts, key.x25519) };
  };
  const sibs = await kitText(sibling);
  const signature = text["hub_signature"] as { key: string; sig: string };
  const publicHex = stranger.ed25519;

  /** Changes of a copy, each with the code of its refusal. */
  const cases: [name: string, code: string, change: (kit: string) => Promise<unknown>][] = [
    ["kit.json is gone", "kit_unreadable", (kit) => rm(join(kit, "kit.json"))],
    ["artifact.bin is gone", "kit_unreadable", (kit) => rm(join(kit, "artifact.bin"))],
    ["the folder is gone", "kit_unreadable", (kit) => rm(kit, { recursive: true })],
    ["kit.json is cut", "kit_unreadable", (kit) => truncate(join(kit, "kit.json"), 300)],
    ["kit.json is empty", "kit_unreadable", (kit) => truncate(join(kit, "kit.json"), 0)],
    ["kit.json is not JSON", "kit_unreadable", (kit) => writeFile(join(kit, "kit.json"), randomBytes(500))],
    ["kit.json is too large", "kit_unreadable", (kit) => truncate(join(kit, "kit.json"), 17 * 1024 * 1024)],
    [
      "a key stands twice",
      "kit_unreadable",
      async (kit) => writeFile(join(kit, "kit.json"), JSON.stringify(text).replace("{", '{"version":"9.9.9",')),
    ],
    ["a field is added", "kit_unreadable", (kit) => writeKit(kit, { ...text, more: 1 })],
    ["a field is missing", "kit_unreadable", (kit) => writeKit(kit, { ...text, digest: undefined })],
    ["it is of a newer form", "kit_unreadable", (kit) => writeKit(kit, { ...text, v: 2 })],
    ["it has an archive, too", "kit_unreadable", (kit) => writeKit(kit, { ...text, archive: project })],
    ["it has no facts", "kit_unreadable", (kit) => writeKit(kit, { ...text, project: undefined })],
    [
      "a number is rounded",
      "kit_unreadable",
      (kit) => writeFile(join(kit, "kit.json"), JSON.stringify(text).replace(/"v":1,/, '"v":1.0,')),
    ],
    ["artifact.bin is cut", "kit_changed", (kit) => truncate(join(kit, "artifact.bin"), bytes.length - 1)],
    [
      "artifact.bin is longer",
      "kit_changed",
      (kit) => writeFile(join(kit, "artifact.bin"), Buffer.concat([bytes, bytes])),
    ],
    ["a bit of artifact.bin is another", "kit_changed", (kit) => writeFile(join(kit, "artifact.bin"), flipped)],
    [
      "artifact.bin is of another kit",
      "kit_changed",
      async (kit) => writeFile(join(kit, "artifact.bin"), await readFile(join(foreign, "artifact.bin"))),
    ],
    [
      "artifact.bin is a link",
      "kit_unreadable",
      async (kit) => {
        await rename(join(kit, "artifact.bin"), join(kit, "else"));
        await symlink("else", join(kit, "artifact.bin"));
      },
    ],
    [
      "kit.json is a link",
      "kit_unreadable",
      async (kit) => {
        await rm(join(kit, "kit.json"));
        await symlink(join(good, "kit.json"), join(kit, "kit.json"));
      },
    ],
    [
      "artifact.bin is a pipe",
      "kit_unreadable",
      async (kit) => {
        await rm(join(kit, "artifact.bin"));
        execFileSync("mkfifo", [join(kit, "artifact.bin")]);
      },
    ],
    [
      "kit.json is a folder",
      "kit_unreadable",
      async (kit) => {
        await rm(join(kit, "kit.json"));
        await mkdir(join(kit, "kit.json"));
      },
    ],
    ["two names differ in their case", "kit_unreadable", (kit) => writeFile(join(kit, "KIT.JSON"), "{}")],
    [
      "the hub's signature is of another kit",
      "kit_changed",
      (kit) => writeKit(kit, { ...text, hub_signature: sibs["hub_signature"] }),
    ],
    [
      "the hub's signature is by another key than it names",
      "kit_changed",
      (kit) => writeKit(kit, { ...text, hub_signature: { ...signature, key: publicHex } }),
    ],
    ["it has no signature of a hub", "kit_unreadable", (kit) => writeKit(kit, { ...text, hub_signature: undefined })],
    ["the version is another", "kit_changed", (kit) => writeKit(kit, { ...text, version: "9.9.9" })],
    ["the end is later", "kit_changed", (kit) => writeKit(kit, { ...text, ends_at: "2099-01-01T00:00:00.000Z" })],
    ["it is made later", "kit_changed", (kit) => writeKit(kit, { ...text, made_at: "2099-01-01T00:00:00.000Z" })],
    ["the digest is another", "kit_changed", (kit) => writeKit(kit, { ...text, digest: "ab".repeat(32) })],
    ["the id is another", "kit_changed", (kit) => writeKit(kit, { ...text, id: sibs["id"] })],
    ["the hub is another", "kit_changed", (kit) => writeKit(kit, { ...text, hub: "https://elsewhere.example" })],
    ["the target is another", "kit_foreign", (kit) => writeKit(kit, { ...text, target: other.name })],
    ["the size is another", "kit_changed", (kit) => writeKit(kit, { ...text, project: { ...project, size_bytes: 5 } })],
    [
      "the digest of its content is another",
      "kit_changed",
      (kit) => writeKit(kit, { ...text, project: { ...project, content_sha256: "ab".repeat(32) } }),
    ],
    ["the terms are of another kit", "kit_changed", (kit) => writeKit(kit, { ...text, hosts: sibs["hosts"] })],
    [
      "the terms are another host's, under this one's name",
      "kit_changed",
      async (kit) => {
        const theirs = (await kitText(others))["hosts"] as Record<string, string>;
        await writeKit(kit, { ...text, hosts: { [key.fingerprint]: theirs[stranger.fingerprint] } });
      },
    ],
    [
      "the terms are edited",
      "kit_changed",
      (kit) => {
        const sealed = Buffer.from(hosts[key.fingerprint]!, "base64");
        sealed[sealed.length - 20]! ^= 1;
        return writeKit(kit, { ...text, hosts: { [key.fingerprint]: sealed.toString("base64") } });
      },
    ],
    [
      "the terms name another host",
      "kit_changed",
      (kit) => writeKit(kit, { ...text, hosts: resealed({ to: stranger.fingerprint }) }),
    ],
    [
      "the key is another",
      "kit_changed",
      (kit) => writeKit(kit, { ...text, hosts: resealed({ key: randomBytes(32).toString("base64") }) }),
    ],
    [
      "the terms say more",
      "kit_unreadable",
      (kit) => writeKit(kit, { ...text, hosts: resealed({ more: 1 } as unknown as Partial<KitTerms>) }),
    ],
    [
      "the signature is another",
      "kit_changed",
      (kit) => writeKit(kit, { ...text, project: { ...project, signature: randomBytes(64).toString("base64") } }),
    ],
    [
      "the signer is another",
      "kit_changed",
      (kit) =>
        writeKit(kit, { ...text, project: { ...project, signer_public_key: randomBytes(32).toString("base64") } }),
    ],
  ];
  for (const [index, [name, code, change]] of cases.entries()) {
    const kit = await copy(good, `case-${index}`);
    await change(kit);
    const { result, stdout, stderr } = await deploy(kit);
    t.match(result, { status: "failed", error: { code } }, `${name}: ${stdout.slice(-600)} ${stderr}`);
    t.notOk(blamesVersion(code), `${name}: no rollout halts`);
  }
  const layout = layoutOf(site.root);
  t.strictSame(await readQuarantine(layout, targetName({ kind: "project", slug: target.slug })), []);
  t.match((await deploy(foreign)).result, { error: { code: "kit_foreign" } }, "a kit of another project");
  t.match((await deploy(others)).result, { error: { code: "kit_foreign", message: /1 other host, and this one has/ } });
  t.match((await deploy(good, ["--version", "2.0.0"])).result, { error: { code: "kit_foreign" } });
  t.match((await deploy(good, ["--hub-url", "https://elsewhere.example"])).result, { error: { code: "kit_foreign" } });
  t.match((await made("good")).result, { error: { code: "usage" } }, "no kit is written over another one");
  t.match((await deploy(good, ["--hub-url", `${hub.url}/`])).result, { outcome: "deployed", version: "1.0.0" });
});

t.test("names in other letters, and whatever else lies on a stick, do not matter", async (t) => {
  const { target, make, deploy } = await offlineSite(t);
  await target.publish("1.0.0");
  const kit = await make("kit");
  await rename(join(kit, "kit.json"), join(kit, "KIT.JSON"));
  await rename(join(kit, "artifact.bin"), join(kit, "Artifact.Bin"));
  await mkdir(join(kit, "REPORTS"));
  await writeFile(join(kit, "AUTORUN.INF"), "x");
  t.match((await deploy(kit)).result, { outcome: "deployed" });
  t.equal((await readdir(join(kit, "REPORTS"))).length, 1);
});

t.test("an end binds, and an older kit stays older, whatever the clock shows", async (t) => {
  const { root, target, make, copy, deploy, kitText, writeKit, key } = await offlineSite(t);
  await target.publish("1.0.0");
  const good = await make("good");
  const text = await kitText(good);
  /** A kit as a hub would have made it at another time. */
  const madeAt = async (name: string, made_at: string, ends_at: string): Promise<string> => {
    const kit = await copy(good, name);
    await writeKit(kit, remadeKit(text, { made_at, ends_at }, key));
    return kit;
  };
  const ended = await madeAt("ended", "2020-01-01T00:00:00.000Z", "2020-01-08T00:00:00.000Z");
  t.match((await deploy(ended)).result, { error: { code: "kit_ended", message: /ended at 2020-01-08/ } });
  const allowed = await deploy(ended, ["--allow-ended"]);
  t.match(allowed.result, { outcome: "deployed" });
  t.ok(allowed.events.some(({ event, message }) => event === "warning" && /ended at 2020/.test(String(message))));
  t.match((await deploy(good)).result, { outcome: "unchanged" });
  const backwards = await madeAt("backwards", "2098-01-01T00:00:00.000Z", "2097-01-01T00:00:00.000Z");
  t.match((await deploy(backwards)).result, { error: { code: "kit_ended" } }, "it ended before it was made");
  await target.publish("1.1.0");
  const next = await make("next");
  t.match((await deploy(next)).result, { outcome: "deployed", version: "1.1.0" });
  t.match((await deploy(good)).result, { error: { code: "kit_older" } });
  t.match((await deploy(ended, ["--allow-ended"])).result, { error: { code: "kit_older" } });
  const state = join(root, ".sealift/state", `project-${target.slug}.kit.json`);
  t.match(JSON.parse(await readFile(state, "utf8")), { v: 1, made_at: (await kitText(next))["made_at"] });
});
