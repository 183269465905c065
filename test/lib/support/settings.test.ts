import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import t from "tap";
import { type Flags, Settings } from "../../../lib/support/settings.ts";

const load = (flags: Flags, environment: NodeJS.ProcessEnv = {}, config: Flags = {}): Promise<Settings> =>
  Settings.load({ flags, config, environment, known: new Set(["hub-url"]) });

t.test("flags beat the environment, which beats the configuration", async (t) => {
  const config = { hub_url: "of the file", timeout: 5, host_id: "file" };
  const settings = await load({ "hub-url": "flag" }, { SEALIFT_HUB_URL: "variable", SEALIFT_HOST_ID: "host" }, config);
  t.equal(settings.text("hub-url"), "flag");
  t.equal(settings.text("host-id"), "host");
  t.equal(settings.duration("timeout", 1), 5000);
  t.equal((await load({}, { SEALIFT_HOST_ID: "" }, config)).text("host-id"), "file", "an empty variable is none");
});

t.test("a configuration that was read already replaces the file, and its keys are not looked at", async (t) => {
  const file = join(t.testdir({ "sealift.yaml": "hub_url: of the file\n" }), "sealift.yaml");
  const options = { flags: {}, known: new Set(["hub-url"]), environment: {} };
  t.equal((await Settings.load({ ...options, configFile: file })).text("hub-url"), "of the file");
  const given = await Settings.load({ ...options, configFile: file, config: { interval: 3 } });
  t.equal(given.text("hub-url"), undefined);
  t.equal(given.duration("interval", 0), 3000);
  await writeFile(file, "interval: 3\n");
  await t.rejects(Settings.load({ ...options, configFile: file }), { code: "config_invalid", faults: ["interval"] });
});

t.test("overrides beat flags, environment and configuration, and leave the settings themselves alone", async (t) => {
  const settings = await load({ "host-id": "flag", "allow-downgrade": true }, { SEALIFT_TIMEOUT: "7" }, { level: 3 });
  const own = settings.with({ "host-id": "own", "allow-downgrade": false, timeout: 9, level: 1, symlinks: undefined });
  t.same(
    [own.text("host-id"), own.flag("allow-downgrade"), own.duration("timeout", 0), own.integer("level", 0)],
    ["own", false, 9000, 1],
  );
  t.same(
    [settings.text("host-id"), settings.flag("allow-downgrade"), settings.duration("timeout", 0)],
    ["flag", true, 7000],
  );
  t.equal(settings.with({ "host-id": undefined }).text("host-id"), "flag", "what is not given overrides nothing");
});

t.test("an overriding secret replaces its other form, too", async (t) => {
  const folder = t.testdir({ key: "of the file\n" });
  const file = join(folder, "key");
  const written = await load({ "api-key": "written" }, { SEALIFT_API_KEY: "variable" });
  t.equal(written.with({ "api-key-file": file }).secret("api-key"), "of the file");
  const filed = await load({ "api-key-file": join(folder, "nowhere") });
  t.equal(filed.with({ "api-key": "written" }).secret("api-key"), "written");
  t.throws(() => filed.secret("api-key"), { code: "credential_unreadable", exitCode: 2 });
  await writeFile(file, "");
  t.throws(() => written.with({ "api-key-file": file }).secret("api-key"), { code: "credential_unreadable" });
});

t.test("standard input is read once, for one option, however often its settings are made", async (t) => {
  const program = fileURLToPath(new URL("../../support/programs/read-secrets.ts", import.meta.url));
  const child = spawn(process.execPath, [program], { env: { PATH: process.env.PATH } });
  let text = "";
  child.stdout.on("data", (chunk: Buffer) => (text += chunk.toString()));
  child.stdin.end("the secret\n");
  t.same(await once(child, "close"), [0, null]);
  t.same(JSON.parse(text), {
    "api-key": "the secret",
    "api-key of a target": "the secret",
    "signing-secret": "credential_unreadable",
    "api-key after a reload": "the secret",
    "signing-secret after a reload": "credential_unreadable",
  });
});
