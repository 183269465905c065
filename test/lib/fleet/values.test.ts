import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import t, { type Test } from "tap";
import { hostKeyOf, newHostSeed } from "../../../lib/artifact/sealed/host-key.ts";
import { openSettings, sealSettings } from "../../../lib/artifact/sealed/settings.ts";
import { publicKeyOf } from "../../../lib/artifact/signatures/ed25519.ts";
import type { ValueSource } from "../../../lib/contract/files/fleet.ts";
import { readFleetFile } from "../../../lib/fleet/fleet-file.ts";
import { ValueSources } from "../../../lib/fleet/sources.ts";
import { errorOf } from "../../support/hub/surface-b.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const PEM = `-----BEGIN PRIVATE KEY-----\n${"MC4CAQAwBQYDK2VwBCIEIAECAwQ\n".repeat(20)}-----END PRIVATE KEY-----`;

function sourcesOf(t: Test, { runsCommands = true, commandTimeoutMs = 20_000 } = {}) {
  const folder = temporaryFolder(t);
  const options = { file: "fleet.yaml", folder, env: { TOKEN: "of the operator" }, runsCommands, commandTimeoutMs };
  const sources = new ValueSources(options);
  return { folder, read: (source: Exclude<ValueSource, null>) => sources.value(source, "settings.0.apps.web.A") };
}

const node = (program: string): ValueSource & object => ({ command: [process.execPath, "-e", program] });

t.test("values reach a host as they are: quotes, keys, emoji, and what looks like JSON", async (t) => {
  const { folder, read } = sourcesOf(t);
  const key = hostKeyOf(newHostSeed());
  const seed = Buffer.alloc(32, 1);
  const operators = [Buffer.from(publicKeyOf(seed)).toString("hex")];
  const project = "prj_harbour00001";
  for (const value of [
    ...[
      "",
      " ",
      "a'b",
      'a"b',
      '{"a":"b"}',
      "it's 100 %",
      "$HOME `id` \\n",
      "🦦",
      PEM,
      "x".repeat(60_000),
      "\t",
      "a\nb",
    ],
    ...["-1", "null", "a=b", "# no comment", "'", '"', "\\"],
  ]) {
    await writeFile(join(folder, "value"), `${value}\n`);
    t.equal(await read(value), value);
    const facts = { project, to: key.fingerprint, number: 1, made_at: new Date().toISOString() };
    const { sealed } = sealSettings({ ...facts, apps: { web: { A: value } } }, key.x25519, seed);
    t.equal(openSettings(sealed, { key, project, operators }).signed.apps["web"]!["A"], value);
  }
  await writeFile(join(folder, "value"), "with two\n\n");
  t.equal(await read({ file: "value" }), "with two\n", "one line break at the end goes");
  t.equal(await read({ env: "TOKEN" }), "of the operator");
  t.equal(await read(node("console.log(process.cwd())")), folder);
});

t.test("values that systemd and Node would read differently are refused before anything is sealed", async (t) => {
  const { folder, read } = sourcesOf(t);
  const odd = ["a\r\nb", "a\0b", "\u001b[31m", `both ' and " and \\`, "\ud800", '{"it\'s": "a\\nb"}'];
  for (const [index, value] of odd.entries()) {
    const error = await errorOf(read(value));
    t.match(error, { code: "settings_unreadable", message: /^fleet\.yaml: settings\.0\.apps\.web\.A: / });
    t.notOk(error.message.includes(value), "the value is not in the message");
    if (index === 1) await writeFile(join(folder, "value"), value);
  }
  t.match(await errorOf(read({ file: "value" })), { code: "settings_unreadable" });
  await writeFile(join(folder, "bytes"), Buffer.from([0xff, 0xfe]));
  t.match(await errorOf(read({ file: "bytes" })), { message: /is not text in UTF-8/ });
});

t.test("files, variables and commands that give nothing are named, and never what they gave", async (t) => {
  const { folder, read } = sourcesOf(t);
  await writeFile(join(folder, "large"), Buffer.alloc(64 * 1024 + 1, 97));
  for (const [source, message] of [
    [{ file: "nowhere" }, /nowhere cannot be read: there is no such file/],
    [{ file: "large" }, /it is larger than 65536 bytes/],
    [{ file: "." }, /it is a folder/],
    [{ env: "NOT_SET" }, /the variable NOT_SET is not set/],
    [{ command: ["/nowhere/program"] }, /the command \/nowhere\/program could not be started \(ENOENT\)/],
    [node("console.log('secret'); process.exit(3)"), /failed with exit code 3/],
    [node("process.kill(process.pid, 'SIGTERM')"), /was ended by a signal/],
    [node("process.stdout.write('s'.repeat(8e6)); setInterval(() => {}, 1000)"), /printed more than 65536 bytes/],
  ] as const) {
    const error = await errorOf(read(source as Exclude<ValueSource, null>));
    t.match(error, { code: "settings_unreadable", exitCode: 2, message });
    t.notMatch(error.message, /secret|ssss/);
  }
});

t.test("a command that does not end in time is ended, also one that keeps its output open", async (t) => {
  const { read } = sourcesOf(t, { commandTimeoutMs: 1000 });
  const began = performance.now();
  const error = await errorOf(read(node("console.log('secret'); setInterval(() => {}, 1000)")));
  t.match(error, { code: "settings_unreadable", exitCode: 2, message: /took longer than 1 s/ });
  t.notMatch(error.message, /secret/);
  // A child of its own holds the output open.
  const holds = "require('child_process').spawn('sleep', ['30'], { stdio: 'inherit' }); setInterval(() => {}, 1000)";
  t.match(await errorOf(read(node(holds))), { message: /took longer than 1 s/ });
  t.ok(performance.now() - began < 20_000);
});

t.test("a dry run runs no command, and a value is asked for once", async (t) => {
  const dry = sourcesOf(t, { runsCommands: false });
  t.equal(await dry.read(node("require('fs').writeFileSync('ran', '')")), undefined);
  t.match(await errorOf(dry.read({ file: "ran" })), { message: /no such file/ });
  const { folder, read } = sourcesOf(t);
  const append = node("require('fs').appendFileSync('runs', 'x'); console.log('v')");
  t.strictSame(await Promise.all([read(append), read(append)]), ["v", "v"]);
  t.equal(await read({ file: join(folder, "runs") }), "x");
});

t.test("every fault of a fleet.yaml is named with its line", async (t) => {
  const file = join(temporaryFolder(t), "fleet.yaml");
  const faultsOf = async (yaml: string) => {
    await writeFile(file, yaml);
    return (await errorOf(readFleetFile(file))).message;
  };
  const entry = (apps: string) => `project: Shop\nsettings:\n  - apps:\n      web: ${apps}\n`;
  for (const name of ["NODE_OPTIONS", "LD_PRELOAD", "PORT", "PORT_ADMIN", "HOST", "SEALIFT_X", "PATH", "HOME"])
    t.match(await faultsOf(entry(`{ ${name}: x }`)), /must not be a name that the host gives itself/, name);
  t.match(await faultsOf(entry("{ A: 5 }")), /settings\.0\.apps\.web\.A.*must be a text/);
  t.match(await faultsOf(entry("{ A: { file: x, env: Y } }")), /settings\.0\.apps\.web\.A/);
  t.match(await faultsOf(entry("{ A: { command: op read } }")), /settings\.0\.apps\.web\.A/);
  t.match(await faultsOf(entry("{ A: one, A: two }")), /unique|twice|duplicat/i);
  t.match(await faultsOf(entry("{ __proto__: x }")), /__proto__/);
  t.match(await faultsOf(entry("{ 2A: x }")), /must be a variable name/);
  t.match(
    await faultsOf(`${entry("{ A: x }")}    matches: { env: prod }\n`),
    /unknown key "matches".*did you mean match/,
  );
  t.match(await faultsOf("project: Shop\nsettings: []\n"), /settings/);
  t.match(await faultsOf("settings:\n  - apps: {}\n"), /project: is missing/);
  t.match(await faultsOf("project: Shop\nsettings:\n  - match: { site: 7 }\n    apps: {}\n"), /match\.site/);
});
