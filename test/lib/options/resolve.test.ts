import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import t from "tap";
import { agent } from "../../../lib/options/agent.ts";
import { contextLayer } from "../../../lib/options/contexts.ts";
import { choice, duration, flag, list, rate, size, text, whole } from "../../../lib/options/kinds.ts";
import { credentialsLayer, environmentLayer, fileLayer, flagsLayer } from "../../../lib/options/layers.ts";
import { group, required, requiredWhen } from "../../../lib/options/option.ts";
import { optionsFile } from "../../../lib/options/options-file.ts";
import { resolveOptions } from "../../../lib/options/resolve.ts";
import { secret, secretBytes } from "../../../lib/options/secrets.ts";
import { targetOptions } from "../../../lib/options/watch.ts";

const { apiKey: requiredKey, hubUrl, ...hostTable } = agent;
const { hostId, timeoutMs, allowDowngrade, keepReleases } = hostTable;
const table = { hostId, timeoutMs, allowDowngrade, keepReleases };

t.test("flags beat the environment, which beats the file, which beats defaults", async (t) => {
  const file = fileLayer({ host_id: "file", timeout: 5, keep_releases: 7 }, "sealift.yaml");
  const environment = environmentLayer({ SEALIFT_HOST_ID: "variable", SEALIFT_TIMEOUT: "6s" });
  const flags = flagsLayer({ "host-id": "flag" });
  const values = await resolveOptions(table, [flags, environment, file]);
  t.same(values, { hostId: "flag", timeoutMs: 6000, allowDowngrade: false, keepReleases: 7 });
  const empty = await resolveOptions(table, [environmentLayer({ SEALIFT_HOST_ID: "" }), file]);
  t.equal(empty.hostId, "file", "an empty variable is none");
  t.equal((await resolveOptions(table, [])).keepReleases, 3);
});

t.test("each kind reads what people and YAML write, and refuses the rest", async (t) => {
  const kinds = group("Kinds", {
    flag: flag({ help: "" }),
    choice: choice(["red", "green"], { help: "" }),
    whole: whole({ help: "", min: 1, max: 19 }),
    size: size({ help: "" }),
    rate: rate({ help: "", min: 1024 }),
    durationMs: duration({ name: "duration", help: "", minMs: 1000 }),
    list: list({ help: "" }, (item) => item.toUpperCase()),
    text: text({ help: "" }),
  });
  type Key = keyof typeof kinds;
  const one = async (key: Key, given: string | number | boolean | string[]): Promise<unknown> =>
    (await resolveOptions({ [key]: kinds[key] }, [flagsLayer({ [kinds[key].name]: given })]))[key];
  const good: [Key, string | number | boolean | string[], unknown][] = [
    ["flag", "yes", true],
    ["flag", "off", false],
    ["flag", true, true],
    ["choice", "green", "green"],
    ["whole", "19", 19],
    ["whole", 1, 1],
    ["size", "2K", 2048],
    ["size", "4GiB", 4 * 1024 ** 3],
    ["size", 5, 5],
    ["rate", "200KiB/s", 200 * 1024],
    ["rate", "200k", 200 * 1024],
    ["rate", 2048, 2048],
    ["durationMs", 90, 90_000],
    ["durationMs", "1.5s", 1500],
    ["durationMs", "2h", 7_200_000],
    ["durationMs", "90", 90_000],
    ["list", "a,b", ["A", "B"]],
    ["list", ["a,b", "c"], ["A,B", "C"]],
    ["text", 3, "3"],
  ];
  for (const [key, given, expected] of good) t.same(await one(key, given), expected, `${key} ${String(given)}`);
  const bad: [Key, string | number | boolean | string[], RegExp][] = [
    ["flag", "perhaps", /--flag is yes or no, not "perhaps"/],
    ["choice", "blue", /--choice is one of red, green, not "blue"/],
    ["whole", "20", /from 1 to 19/],
    ["whole", "1e1", /whole number/],
    ["whole", -1, /whole number/],
    ["size", "much", /such as 500M/],
    ["size", "1K/s", /such as 500M/],
    ["rate", "1023", /--rate is a rate of 1K or more in bytes a second such as 200K or 200KiB\/s, not "1023"/],
    ["rate", "200kbit/s", /such as 200K/],
    ["rate", "0", /1K or more/],
    ["durationMs", "soon", /such as 60, 90s/],
    ["durationMs", "0.5s", /1s or longer/],
    ["durationMs", 0.5, /1s or longer/],
    ["text", "", /empty/],
    ["text", ["a"], /one value/],
  ];
  for (const [key, given, message] of bad)
    await t.rejects(one(key, given), { code: "usage", exitCode: 2, message }, `${key} ${String(given)}`);
});

t.test("everything that is missing or wrong is told at once, with where it was given", async (t) => {
  const needed = { apiKey: requiredKey, hubUrl, keepReleases, hostId };
  const layers = [
    environmentLayer({ SEALIFT_KEEP_RELEASES: "0" }),
    fileLayer({ host_id: "no host\n" }, "sealift.yaml"),
  ];
  await t.rejects(resolveOptions(needed, layers), {
    code: "usage",
    message:
      /^3 options.*--api-key and --hub-url are missing.*SEALIFT_KEEP_RELEASES is a whole.*host_id in sealift.yaml/s,
    faults: { length: 3 },
  });
  await t.rejects(resolveOptions({ hubUrl }, []), {
    message: "--hub-url is missing.",
    hint: /SEALIFT_HUB_URL.*hub_url/,
  });
});

t.test("an option may be needed because of another one", async (t) => {
  const conditional = group("Conditional", {
    remote: flag({ help: "" }),
    key: requiredWhen(secret({ help: "" }), ({ remote }) => remote === true),
    place: requiredWhen(text({ help: "" }), ({ remote }) => remote === true),
  });
  const unread = await resolveOptions(conditional, [flagsLayer({ "key-file": "/nowhere", place: "here" })]);
  t.same(unread, { remote: false, place: "here" }, "a secret that is not needed is not read");
  await t.rejects(resolveOptions(conditional, [flagsLayer({ remote: true })]), {
    message: /--key and --place are missing/,
  });
  await t.rejects(resolveOptions(conditional, [flagsLayer({ remote: true, place: "here", "key-file": "/nowhere" })]), {
    code: "credential_unreadable",
  });
});

t.test("of a secret the stronger place counts, whether it is written out or in a file", async (t) => {
  const folder = t.testdir({ key: "of the file\n", "api-key": "of systemd\n", empty: "" });
  const file = join(folder, "key");
  const { apiKey } = group("Secrets", { apiKey: required(secret({ help: "" })) });
  const read = async (...layers: Parameters<typeof resolveOptions>[1]): Promise<string> =>
    (await resolveOptions({ apiKey }, layers)).apiKey;
  const credentials = credentialsLayer({ CREDENTIALS_DIRECTORY: folder });
  const written = environmentLayer({ SEALIFT_API_KEY: "variable" });
  t.equal(await read(flagsLayer({ "api-key-file": file }), written), "of the file");
  t.equal(await read(flagsLayer({ "api-key": "flag" }), environmentLayer({ SEALIFT_API_KEY_FILE: file })), "flag");
  t.equal(await read(credentials, fileLayer({ api_key: "written" }, "sealift.yaml")), "of systemd");
  t.equal(await read(fileLayer({ api_key_file: file }, "sealift.yaml")), "of the file");
  for (const path of [join(folder, "nowhere"), join(folder, "empty")])
    await t.rejects(read(flagsLayer({ "api-key-file": path }), written), {
      code: "credential_unreadable",
      exitCode: 2,
    });
  await t.rejects(read(), {
    message: "--api-key is missing.",
    hint: /SEALIFT_API_KEY.*--api-key-file PATH.*credential/,
  });
  const { seed } = group("Binary", { seed: secretBytes({ help: "", fileOnly: true }) });
  await writeFile(file, Buffer.from([255, 0, 10]));
  t.same((await resolveOptions({ seed }, [flagsLayer({ "seed-file": file })])).seed, Buffer.from([255, 0, 10]));
});

t.test("of a device or a wrong file no more is read than the largest secret", async (t) => {
  const large = join(t.testdir(), "large");
  await writeFile(large, "x".repeat(2 * 1024 * 1024));
  for (const path of [large, "/dev/zero"]) {
    const resolved = resolveOptions({ requiredKey }, [flagsLayer({ "api-key-file": path })]);
    await t.rejects(resolved, { code: "credential_unreadable", message: /cannot be read: it is larger than 1048576/ });
  }
});

t.test("standard input is read once, for one option, however often the options are resolved", async (t) => {
  const program = fileURLToPath(new URL("../../support/programs/read-secrets.ts", import.meta.url));
  const child = spawn(process.execPath, [program], { env: { PATH: process.env.PATH } });
  let printed = "";
  child.stdout.on("data", (chunk: Buffer) => (printed += chunk.toString()));
  child.stdin.end("the secret\n");
  t.same(await once(child, "close"), [0, null]);
  t.same(JSON.parse(printed), {
    "api-key": "the secret",
    "api-key of a target": "the secret",
    "signing-secret": "credential_unreadable",
    "api-key after a reload": "the secret",
    "signing-secret after a reload": "credential_unreadable",
  });
});

t.test("a file of options has known keys and plain values", async (t) => {
  const file = join(t.testdir({}), "sealift.yaml");
  const read = async (content: string) => {
    await writeFile(file, content);
    return optionsFile(file);
  };
  t.equal((await read("hub_url: http://hub\n"))!.get("hub-url"), "http://hub");
  t.equal((await read("# nothing yet\n"))!.get("hub-url"), undefined);
  await t.rejects(read("intervall: 3\nhub_url: http://hub\n"), { code: "config_invalid", faults: ["intervall"] });
  await t.rejects(read("hub_url: { a: 1 }\n"), { code: "config_invalid", message: /hub_url/ });
  await t.rejects(read("- hub_url\n"), { code: "config_invalid" });
  await t.rejects(optionsFile(join(file, "nowhere")), { code: "config_invalid" });
});

t.test("a public key by its name is not a secret", async (t) => {
  const { key } = group("Keys", { key: secretBytes({ help: "a key" }) });
  const file = join(t.testdir(), "signer.pub");
  await writeFile(file, "ab".repeat(32));
  await t.rejects(resolveOptions({ key }, [flagsLayer({ "key-file": file })]), {
    code: "key_file_invalid",
    message: /^--key-file \S+signer\.pub is a public key by its name/,
    hint: /signer\.key/,
  });
});

t.test(
  "a key of a login or of a bound environment goes to its own hub, also where a target names another one",
  async (t) => {
    const stored = { v: 1, current: "one", contexts: { one: { hub_url: "http://one", api_key: "k" } } } as const;
    const needed = { hubUrl: agent.hubUrl, apiKey: requiredKey };
    const bound = environmentLayer({ SEALIFT_API_KEY: "k", SEALIFT_API_KEY_HUB: "http://one/" });
    for (const layer of [contextLayer(stored, undefined, undefined), bound]) {
      const target = (hub_url: string) => [fileLayer({ hub_url }, "watch.yaml"), layer];
      t.match(await resolveOptions(needed, target("http://one")), { apiKey: "k" });
      await t.rejects(resolveOptions(needed, target("http://two")), { code: "usage" });
      await t.rejects(resolveOptions({ apiKey: requiredKey }, [layer], "http://two"), { code: "usage" });
    }
  },
);

t.test("a file of a secret holds it alone, or assigns it as `key create` prints it", async (t) => {
  const file = join(t.testdir(), "host.env");
  const { apiKey, deploymentCredential } = targetOptions.project;
  const layers = [flagsLayer({ "api-key-file": file, "deployment-credential-file": file })];
  await writeFile(file, "# a host\nSEALIFT_API_KEY=k1\nexport SEALIFT_DEPLOYMENT_CREDENTIAL='c1'\r\n");
  t.same(await resolveOptions({ apiKey, deploymentCredential }, layers), { apiKey: "k1", deploymentCredential: "c1" });
  await writeFile(file, "k2\n");
  t.same(await resolveOptions({ apiKey }, layers), { apiKey: "k2" });
  for (const content of ["SEALIFT_SIGNING_SECRET=s\n", "SEALIFT_API_KEY=\n", "two\nlines\n", "über\n"]) {
    await writeFile(file, content);
    const error = await resolveOptions({ apiKey }, layers).catch((thrown: unknown) => thrown);
    t.match(error, { code: "credential_unreadable" }, content);
    t.notMatch((error as Error).message, /lines|über/, "without the content");
  }
});
