// Holds: `kit show` says of a kit what its host would say (lib/agent/sources/kits/host-kit.ts)
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import t from "tap";
import { hostKeyOf, newHostSeed } from "../../../lib/artifact/sealed/host-key.ts";
import { hostLine } from "../../../lib/contract/settings/host-line.ts";
import { remadeKit } from "../../support/forged/kits.ts";
import { offlineSite, sealift } from "../../support/host/offline-site.ts";
import { commandLine } from "../../support/programs/command-line.ts";

t.test("with the host's key, a kit is shown to be for it, for others, changed or ended", async (t) => {
  const { hub, folder, target, key, make, copy, hubKey, kitText, writeKit } = await offlineSite(t);
  await target.publish("1.0.0");
  const good = await make("good");
  const text = await kitText(good);
  const show = async (kit: string) =>
    (await sealift(folder, ["kit", "show", kit, "--host-key-file", "host.key"])).result;
  t.match(await show(good), { is_for_this_host: true, has_ended: false });

  const others = await make("others", ["--host", `pier-8=${hostLine(hostKeyOf(newHostSeed()))}`]);
  t.match(await show(others), { is_for_this_host: false });

  const sibling = await kitText(await make("sibling"));
  const facts = text["facts"] as object;
  for (const [name, change] of Object.entries({
    version: { version: "9.9.9" },
    end: { ends_at: "2099-01-01T00:00:00.000Z" },
    approval: { facts: { ...facts, approved_at: "2020-01-01T00:00:00.000Z" } },
    terms: { hosts: sibling["hosts"] },
  })) {
    const kit = await copy(good, `another ${name}`);
    await writeKit(kit, { ...text, ...change });
    t.match(await show(kit), { error: { code: "kit_changed" } }, name);
  }
  const cut = await copy(good, "cut");
  await writeFile(join(cut, "artifact.bin"), "short");
  t.match(await show(cut), { error: { code: "kit_changed", message: /artifact\.bin has 5 bytes/ } });

  const times = { made_at: "2020-01-01T00:00:00.000Z", ends_at: "2020-01-08T00:00:00.000Z" };
  const ended = await copy(good, "ended");
  await writeKit(ended, remadeKit(text, times, key));
  t.match(await show(ended), { is_for_this_host: true, has_ended: true });
  const { stdout } = await commandLine(["kit", "show", ended], { cwd: folder, env: process.env });
  t.match(stdout, /ended 2020-01-08/);
  const own = await hubKey();
  t.equal((await show(good))["hub_key"], own);
  t.not((await show(ended))["hub_key"], own, "a kit that somebody else has made names another key");
  const { stdout: shown } = await commandLine(["kit", "show", good], { cwd: folder, env: process.env });
  t.match(shown, `signed with the key ${own}`);
  const borrowed = await copy(good, "borrowed");
  await writeKit(borrowed, { ...remadeKit(text, times, key), hub_signature: { key: own, sig: "00".repeat(64) } });
  const claims = { code: "kit_changed", message: /the hub's signature/ };
  t.match((await sealift(folder, ["kit", "show", borrowed])).result, { error: claims }, "nobody borrows the hub's key");
  const { api_key_file: api } = target.options;
  const asked = await sealift(folder, ["kit", "key", "--hub-url", hub.url, "--api-key-file", api!]);
  t.match(asked.result, { status: "success", hub_key: own });
});

t.test(
  "the hub is named as a key's source where it is one, and a host without a key where it is to send it",
  async (t) => {
    const { hub, folder, target, key, made } = await offlineSite(t);
    await target.publish("1.0.0");
    const { api_key_file: api, deployment_credential_file: credential } = target.options;
    const to = ["--hub-url", hub.url, "--api-key-file", api!, "--deployment-credential-file", credential!];
    const line = `pier-7=${hostLine(key)}`;
    const byLine = await commandLine(["kit", "make", target.name, "--host", line, "--out", "by-line", ...to], {
      ...{ cwd: folder, env: process.env },
    });
    t.match(byLine, { code: 0, stdout: /for pier-7, until/ });
    t.notMatch(byLine.stderr, /said whose key/, "every line was given by hand");
    const unknown = await made("unknown", ["--host", "pier-9"]);
    t.match(unknown.result, { error: { code: "usage", hint: /sends its key when its watch runs/ } });
  },
);
