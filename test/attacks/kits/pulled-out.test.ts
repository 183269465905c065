/** A stick that is pulled out while a kit is made, deployed from, or given reports. */
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync, readdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { hostLine } from "../../../lib/contract/settings/host-line.ts";
import { mountFat } from "../../support/host/loop-file-system.ts";
import { offlineSite, sealift } from "../../support/host/offline-site.ts";
import { builtFile } from "../../support/programs/command-line.ts";
import { needs } from "../../support/programs/optional.ts";
import { until } from "../../support/until.ts";

const skip = needs("mkfs.vfat", "fusefat");

/** Starts a built program. */
function started(cwd: string, program: string, words: readonly string[]) {
  const child = spawn(process.execPath, [builtFile(program), ...words, "--json"], { cwd });
  let stdout = "";
  child.stdout.on("data", (text: Buffer) => (stdout += String(text)));
  child.stderr.resume();
  return {
    said: () => stdout,
    /** Returns its last event. */
    async result(): Promise<object> {
      await until(() => child.exitCode !== null);
      return JSON.parse(stdout.trim().split("\n").at(-1)!) as object;
    },
  };
}

t.test("whatever is under way ends with a code, and goes on with the stick", { skip }, async (t) => {
  const { hub, folder, target, key, root, make, deploy } = await offlineSite(t);
  const stick = await mountFat(t, 100 * 1024 * 1024);
  await target.publish("1.0.0", { "plugins/tides/chart": randomBytes(20_000_000).toString("base64") });
  const kit = join(stick.folder, "kit");
  const option = (name: string): string => target.options[name]!;
  const making = started(folder, "sealift", [
    ...["kit", "make", target.name, "--out", kit, "--host", `pier-7=${hostLine(key)}`, "--hub-url", hub.url],
    ...["--api-key-file", option("api_key_file"), "--deployment-credential-file", option("deployment_credential_file")],
  ]);
  const bytes = join(kit, "artifact.bin");
  await until(() => existsSync(bytes) && statSync(bytes).size > 0);
  await stick.pullOut();
  t.match(await making.result(), {
    error: { code: "kit_unwritable", message: /artifact\.bin cannot be written: the device does not answer\.$/ },
  });
  const { items } = (await hub.call("GET", `/devkeys/projects/${target.slug}/kits?live=true`)).body as {
    items: object[];
  };
  t.strictSame(items, [], "the hub ends a kit that came onto no stick");

  await stick.putIn();
  rmSync(kit, { recursive: true, force: true });
  await make(kit);
  const deploying = started(folder, "deploy-project", [
    ...["--project-id", target.slug, "--signer-public-key", option("signer_public_key"), "--from", kit],
    ...["--host-key-file", "host.key", "--project-root", root, "--host-id", "pier-7"],
  ]);
  await until(() => deploying.said().includes('"event":"fetch.progress"'));
  await stick.pullOut();
  t.match(await deploying.result(), {
    outcome: "failed",
    error: { code: "kit_unreadable", message: /does not answer/ },
  });
  const collect = ["kit", "collect", stick.folder, "--host-key-file", "host.key", "--project-root", root];
  await stick.putIn();
  t.match((await deploy(kit)).result, { outcome: "deployed" }, "no version was blamed");
  t.match((await sealift(folder, collect)).result, { written: 2 });
  t.equal(readdirSync(join(stick.folder, "reports")).length, 2);
});
